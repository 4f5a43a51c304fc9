"""A model under evaluation: where it is served, how it is asked a prompt, and what becomes of its answer."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from core.client import Client
from core.config import CommandConfig
from core.records import JudgeRecord
from core.request import Answer, Message, Request

TASK, PROMPT_VERSION = "respond", "respond-1"
# What data_prep.recon says of the response that the record held before.
_OF_OLD_RESPONSE = ("recon", "finish_reason")


class System(CommandConfig):
    """One model. ``parameters`` are sent as they are; ``system_role`` False folds a system prompt into the user turn."""

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    model: str
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    parameters: dict[str, Any] = Field(default_factory=dict)
    system_role: bool = True


def ask_system(client: Client, system: System, prompts: Sequence[JudgeRecord]) -> Iterator[tuple[JudgeRecord, Answer]]:
    """Each prompt with the system's answer, in the order they come."""

    async def ask(record: JudgeRecord) -> Answer:
        return await client.answer(_request(record, system))

    return client.map(prompts, ask, f"respond {system.name}", len(prompts))


def responded(record: JudgeRecord, system: str, answer: Answer) -> JudgeRecord | str:
    """The record of the answer, unscored, or the reason why there is none.

    An answer that did not end by itself (cut at its token limit, filtered) is kept, with ``extra.finish_reason``.
    """
    if answer.error:
        return f"the request failed ({answer.error})"
    if not answer.text or not answer.text.strip():
        why = f"refused: {answer.refusal}" if answer.refusal else f"finish reason {answer.finish_reason}"
        return f"empty answer ({why})"
    extra = {name: value for name, value in record.extra.items() if name not in _OF_OLD_RESPONSE}
    if answer.finish_reason not in ("stop", None):
        extra["finish_reason"] = answer.finish_reason
    return record.model_copy(
        update={
            "id": f"{record.id}-{system}",
            "system": system,
            "response": answer.text,
            "score": None,
            "feedback": None,
            "human_scores": None,
            "extra": extra,
        }
    )


def _request(record: JudgeRecord, system: System) -> Request:
    messages: tuple[Message, ...] = ({"role": "user", "content": record.instruction},)
    if record.system_prompt and system.system_role:
        messages = ({"role": "system", "content": record.system_prompt}, *messages)
    elif record.system_prompt:  # folded as core.chat folds it
        messages = ({"role": "user", "content": f"{record.system_prompt}\n\n{record.instruction}"},)
    return Request(f"{record.id}-{system.name}", messages, TASK, PROMPT_VERSION, record.language, system.parameters)
