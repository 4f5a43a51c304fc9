"""Requests and options that the tests of the client share."""

import json
from pathlib import Path
from typing import Any

from core.client import Answer, Client, Request, ServerOptions


def request(text: str, task: str = "translate", language: str | None = "hi", **parameters: Any) -> Request:
    messages = ({"role": "user", "content": f"Translate: {text}"},)
    return Request(text, messages, task, "1", language, parameters)


def options(store: Path, base_url: str | None = "http://127.0.0.1:9/v1", **changes: Any) -> ServerOptions:
    values = {"model": "scripted", "base_url": base_url, "store": store, "concurrency": 4, "timeout": 5.0}
    return ServerOptions(**{**values, **changes})


def ask_all(client: Client, texts: list[str]) -> dict[str, Answer]:
    async def handle(text: str) -> Answer:
        return await client.answer(request(text))

    return dict(client.map(texts, handle, "test"))


def stored_rows(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(store.glob("*.jsonl")) for line in path.read_text().splitlines()]
