"""Translate texts from English with checks: a rejected answer is asked for again with the reason, some times at most.

For other commands: ``translate_texts(texts by id, "hi", "instruction", client)`` → ``Translated`` by id.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import Field

from core.client import Answer, Client, Request
from core.config import CommandConfig
from core.joins import nfc
from core.languages import Language, language
from data_prep.translation_checks import Fault, answer_fault, back_translation_fault, translation_faults
from data_prep.translation_prompts import (
    PROMPT_VERSION,
    Kind,
    back_translation_messages,
    translation_messages,
    without_fence,
)

__all__ = ["Kind", "Translated", "TranslationOptions", "text_key", "translate_text", "translate_texts"]

# Tokens a character of text in tokenizers that know the script badly: a ceiling that stops loops, not an estimate.
_TOKENS_PER_CHARACTER = {"Latn": 0.7}
_TOKENS_ELSEWHERE = 2.0
_TOKENS_AT_LEAST = 256


class TranslationOptions(CommandConfig):
    """How texts are translated and checked; a command's config may inherit these fields."""

    attempts: int = Field(3, ge=1, le=10, description="times that a text is asked for before it is rejected")
    back_translation: float | None = Field(
        None,
        ge=0,
        le=100,
        description="also translate back into English, and reject below this chrF against the source",
    )
    max_tokens: int | None = Field(
        None, ge=1, description="longest answer in tokens; null: by the source's length and the language"
    )
    system_role: bool = Field(True, description="false: rules go into the user turn, for models without a system role")
    parameters: dict[str, Any] = Field(
        {},
        description="sent with every request besides temperature 0 and max_tokens, or in their place; null leaves one out",
    )


class Translated(NamedTuple):
    """``text`` is None where no answer could be accepted. ``rejected`` are the faults of each answer that was not, oldest
    first; ``last`` is the last answer. ``queued``: the next request waits in a batch file.
    """

    text: str | None
    rejected: tuple[tuple[Fault, ...], ...] = ()
    last: str | None = None
    queued: bool = False

    @property
    def reasons(self) -> list[str]:
        """Why answers were rejected, one text for each."""
        return ["; ".join(fault.reason for fault in faults) for faults in self.rejected]


def translate_texts(
    texts: Mapping[str, str],
    code: str,
    kind: Kind,
    client: Client,
    options: TranslationOptions | None = None,
) -> dict[str, Translated]:
    """Each text in a language, by its id. Equal texts (NFC) are asked for once, and none that is in the client's store.

    Raises ConfigError for an unknown language, ServerError where the run cannot go on. Where results are ``queued``, call
    ``client.finish()``.
    """
    target, chosen = language(code), options or TranslationOptions()
    unique: dict[bytes, str] = {}
    for text in texts.values():
        unique.setdefault(text_key(text), text)

    async def handle(item: tuple[bytes, str]) -> Translated:
        return await translate_text(item[1], target, kind, client, chosen)

    done = client.map(unique.items(), handle, f"translate {kind}s into {target.name}", len(unique))
    results = {key: result for (key, _), result in done}
    return {name: results[text_key(text)] for name, text in texts.items()}


async def translate_text(
    text: str, target: Language, kind: Kind, client: Client, options: TranslationOptions
) -> Translated:
    """One text, asked for until an answer passes the checks. A text without anything in it is its own translation."""
    if not text.strip():
        return Translated(text)
    attempt = Translated(None)
    while len(attempt.rejected) < options.attempts:
        answer = await client.answer(translation_request(text, target, kind, options, attempt))
        if answer.queued:
            return attempt._replace(queued=True)
        translation = without_fence(answer.text or "", text)
        fault = answer_fault(answer)
        faults = [fault] if fault else translation_faults(text, translation, target)
        if not faults and options.back_translation is not None:
            back = await client.answer(_back_request(text, translation, target, options))
            if back.queued:
                return attempt._replace(queued=True)
            faults = _faults_of_way_back(text, back, options.back_translation)
        if not faults:
            return attempt._replace(text=translation, last=answer.text)
        attempt = attempt._replace(rejected=(*attempt.rejected, tuple(faults)), last=answer.text or attempt.last)
        if answer.error is not None:  # the client has tried all it can
            break
    return attempt


def translation_request(
    text: str, target: Language, kind: Kind, options: TranslationOptions, earlier: Translated | None = None
) -> Request:
    """The request for a text, with the reasons why ``earlier`` answers were rejected.

    Each answer that was cut off doubles the tokens allowed.
    """
    earlier = earlier or Translated(None)
    cut = sum(fault.kind == "finish" for faults in earlier.rejected for fault in faults)
    tokens = options.max_tokens or answer_tokens(text, target)
    return Request(
        id=f"{kind}-{target.code}-{text_key(text).hex()}-{len(earlier.rejected) + 1}",
        messages=translation_messages(text, target, kind, earlier.reasons, options.system_role),
        task=f"translate-{kind}",
        prompt_version=PROMPT_VERSION,
        language=target.code,
        parameters=_parameters(tokens * 2**cut, options),
    )


def text_key(text: str) -> bytes:
    """What equal texts (after NFC) share: 16 bytes of a hash."""
    return hashlib.blake2b(nfc(text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def answer_tokens(text: str, target: Language) -> int:
    """The most tokens a translation may take, in steps of 256 so that the parameter seldom differs."""
    per_character = _TOKENS_PER_CHARACTER.get(target.script, _TOKENS_ELSEWHERE)
    tokens = len(text) * target.length * per_character + _TOKENS_AT_LEAST
    return math.ceil(tokens / _TOKENS_AT_LEAST) * _TOKENS_AT_LEAST


def _back_request(text: str, translation: str, target: Language, options: TranslationOptions) -> Request:
    return Request(
        id=f"back-{target.code}-{text_key(text).hex()}-{text_key(translation).hex()[:8]}",
        messages=back_translation_messages(translation, target, options.system_role),
        task="translate-back",
        prompt_version=PROMPT_VERSION,
        language=target.code,
        parameters=_parameters(options.max_tokens or len(text) // 256 * 256 + 512, options),
    )


def _faults_of_way_back(text: str, back: Answer, least: float) -> list[Fault]:
    fault = answer_fault(back)
    if fault is not None:
        return [Fault("back-translation", f"it could not be translated back: {fault.reason}")]
    fault = back_translation_fault(text, (back.text or "").strip(), least)
    return [] if fault is None else [fault]


def _parameters(tokens: int, options: TranslationOptions) -> dict[str, Any]:
    chosen = {"temperature": 0, "max_tokens": tokens, **options.parameters}
    return {name: value for name, value in chosen.items() if value is not None}
