"""What every test shares: no network, one thread, and the real data beside the checkout where it is present."""

import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("DS_ACCELERATOR", "cpu")

import pytest

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data for tests; the test is skipped, with the reason, where it is absent."""
    folder = REPO.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real data absent: no folder ../shared/data beside the checkout {REPO.name}")
    return folder
