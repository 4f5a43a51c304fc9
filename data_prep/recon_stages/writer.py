"""How the writing model is asked: one wording version, one way to put a system text, the parameters of a stage."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from core.request import Message, Request

# Raise it when any prompt of these stages changes: answers to the old wording are then asked for anew.
PROMPT_VERSION = "recon-1"


class Writer(NamedTuple):
    """``system_role`` False folds the system text into the first user turn, for models whose chat template knows no system."""

    parameters: Mapping[str, Any]
    system_role: bool = True

    def request(self, stage: str, name: str, system: str, *turns: str) -> Request:
        """The request for one part: user and assistant turns take turns, and a user's is last."""
        roles = ("user", "assistant")
        messages: list[Message] = [{"role": roles[place % 2], "content": turn} for place, turn in enumerate(turns)]
        if self.system_role:
            messages.insert(0, {"role": "system", "content": system})
        else:
            messages[0]["content"] = f"{system}\n\n{messages[0]['content']}"
        return Request(f"{stage}-{name}", tuple(messages), stage, PROMPT_VERSION, "en", self.parameters)
