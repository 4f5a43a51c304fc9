"""The client against the real `transformers serve` with a pico model: the protocol, not the answers."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.client import Client
from core.errors import ServerError
from tests import pico
from tests.core.client_for_tests import ask_all, options, request, stored_rows

pytestmark = pytest.mark.slow
STARTS_WITHIN_SECONDS = 180


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pico.save(tmp_path_factory.mktemp("serve") / "pico")


@pytest.fixture(scope="module")
def base_url(model: Path) -> Iterator[str]:
    pytest.importorskip("uvicorn", reason="the extra `serving` is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = open(model.parent / "log", "w")  # noqa: SIM115 (the server writes to it)
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(model), "--port", str(port)]
    server = subprocess.Popen([*command, "--device", "cpu"], stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}/health", server, model.parent / "log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()
        log.close()


def wait_until_healthy(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(2 * STARTS_WITHIN_SECONDS):
        assert server.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(url, timeout=1)
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(log.read_text())


def test_answers_come_with_reason_and_usage_and_are_asked_once(tmp_path: Path, base_url: str, model: Path) -> None:
    texts = ["good feedback", "bad feedback", "fair answer"]
    for run in range(2):
        with Client(options(tmp_path, base_url, model=str(model), timeout=60.0)) as client:

            async def handle(text: str) -> object:
                return await client.answer(request(text, max_tokens=8, temperature=0.0))

            answers = [answer for _, answer in client.map(texts, handle, "serve")]
        assert client.counters.asked == (0 if run else 3)
    rows = stored_rows(tmp_path)
    assert len(rows) == len(answers) == 3
    for row in rows:
        assert isinstance(row["text"], str)
        assert row["finish_reason"] in {"stop", "length"}
        assert row["prompt_tokens"] > 0
        assert 0 < row["completion_tokens"] <= 8


def test_a_wrong_address_is_one_line(tmp_path: Path, base_url: str, model: Path) -> None:
    with (
        Client(options(tmp_path, base_url.removesuffix("/v1"), model=str(model))) as client,
        pytest.raises(ServerError, match="it ends in /v1 for most servers"),
    ):
        ask_all(client, ["a"])
