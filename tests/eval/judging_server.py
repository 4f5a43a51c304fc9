"""A scripted judge on a server: a verdict for each of tests.eval.pico_judge.RECORDS, with log-probabilities, as vLLM gives them."""

from pathlib import Path
from typing import Any

from core.server import ServerOptions
from tests.scripted_answers import Answers
from tests.scripted_server import Reply, ScriptedServer, error_reply

VERDICTS = {"\nbad\n": 1, "juste juste": 4, "good answer": 5}  # by what the prompt holds; else 2


class Verdicts(Answers):
    """Answers with log-probabilities: p(score) .5, p(score − 1) .25, nothing else listed."""

    def __init__(self, logprobs: bool = True, **fields: Any) -> None:
        super().__init__(table=self.verdict, **fields)
        self.logprobs = logprobs

    def verdict(self, body: dict[str, Any]) -> str:
        message = str(body["messages"][-1]["content"])
        return f"good feedback. [RESULT] {next((VERDICTS[one] for one in VERDICTS if one in message), 2)}"

    def completion(self, body: dict[str, Any]) -> dict[str, Any] | None:
        made = super().completion(body)
        if made and self.logprobs and body.get("logprobs"):
            choice = made["choices"][0]
            choice["logprobs"] = {"content": token_entries(choice["message"]["content"])}
        return made


def token_entries(text: str | None) -> list[dict[str, Any]]:
    """An entry a word, space before, and one for the end token, which is no part of the text."""
    words = [f" {word}" if at else word for at, word in enumerate((text or "").split(" "))]
    return [*(entry(word) for word in words), {"token": "<end>", "logprob": 0.0, "bytes": None, "top_logprobs": []}]


def entry(word: str) -> dict[str, Any]:
    listed = {word: -0.6931471805599453}  # log .5
    if word.strip().isdigit():
        listed[f" {int(word) - 1}"] = -1.3862943611198906  # log .25
    top = [{"token": token, "logprob": value, "bytes": list(token.encode())} for token, value in listed.items()]
    return {**top[0], "top_logprobs": top}


class JudgingServer(ScriptedServer):
    """Refuses, with HTTP 400, requests with a parameter in ``refuses`` and those that hold a text in ``refused_texts``; those
    that hold one of ``failing_texts`` meet HTTP 500."""

    def __init__(self, answers: Answers | None = None, **fields: Any) -> None:
        self.refuses: dict[str, str] = fields.pop("refuses", {})
        self.refused_texts: dict[str, str] = fields.pop("refused_texts", {})
        self.failing_texts: set[str] = fields.pop("failing_texts", set())
        super().__init__(answers or Verdicts(), **fields)

    async def _chat(self, body: dict[str, Any]) -> tuple[Reply, bool]:
        message = str(body["messages"][-1]["content"])
        faults = [text for name, text in self.refuses.items() if name in body]
        faults += [text for name, text in self.refused_texts.items() if name in message]
        if any(text in message for text in self.failing_texts):
            self.bodies.append(body)
            return error_reply(500), False
        if faults:
            self.bodies.append(body)
            return error_reply(400, faults[0]), False
        return await super()._chat(body)


def server_options(server: ScriptedServer, folder: Path, **changes: Any) -> ServerOptions:
    """Asked quickly, answers kept in ``folder``."""
    values = {"model": "judges/scripted", "base_url": server.base_url, "store": folder / "answers", "timeout": 5.0}
    return ServerOptions(**{**values, "retries": 2, **changes})
