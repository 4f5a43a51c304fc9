"""A command that asks for many texts, to be killed by tests.

Run as: python -m tests.core.client_child BASE_URL STORE TEXTS CONCURRENCY
"""

import sys
from pathlib import Path

from core.client import Client
from core.config import exit_status
from tests.core.client_for_tests import ask_all, options


def main() -> None:
    base_url, store, texts, concurrency = sys.argv[1:]
    with Client(options(Path(store), base_url, concurrency=int(concurrency))) as client:
        ask_all(client, [f"text {number};" for number in range(int(texts))])


if __name__ == "__main__":
    sys.exit(exit_status(main))
