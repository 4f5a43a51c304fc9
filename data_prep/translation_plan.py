"""What a translation would ask for, before anything is paid: rows, unique texts, tokens and price."""

import math
from collections.abc import Callable
from typing import Any

from core.answer_store import AnswerStore
from core.errors import ModelError
from core.languages import Language
from data_prep.prices import price_line
from data_prep.translation import translation_request
from data_prep.translation_options import TranslateConfig
from data_prep.translation_records import Survey, unique_texts

ENGLISH_CHARACTERS_PER_TOKEN = 4.0
# Tokens a character of translation in tokenizers of 2024 and later (o200k and the like).
_TOKENS_PER_CHARACTER = {"Latn": 0.3, "Hans": 0.8, "Jpan": 0.8}
_TOKENS_ELSEWHERE = 0.45


def plan_text(config: TranslateConfig, target: Language, survey: Survey) -> str:
    """The plan as lines of text. What the store holds already is not counted as asked for."""
    store = AnswerStore(config.store)
    count = token_counter(config.tokenizer)
    asked = stored = prompt_tokens = answer_tokens = 0
    for text in unique_texts(config.input, config.fields()):
        request = translation_request(text.text, target, text.kind, config)
        if store.get(request.task, request.language, request.key(config.model)) is not None:
            stored += 1
            continue
        asked += 1
        prompt_tokens += sum(count(message["content"]) for message in request.messages)
        answer_tokens += translation_tokens(text.text, target)
    kinds = ", ".join(f"{number} {kind}s" for kind, number in survey.texts.items())
    how = f"by the tokenizer {config.tokenizer}" if config.tokenizer else "estimated at 4 characters each"
    return "\n".join(
        (
            f"{config.input}: {survey.rows} rows; into {target.name} ({target.code}) {kinds}, each text once",
            f"requests: {asked}; {stored} texts have an answer in {config.store} already",
            f"tokens: {prompt_tokens:,} of prompts ({how}), about {answer_tokens:,} of answers (estimated from characters)",
            price_line(config.prices, config.model, prompt_tokens, answer_tokens, config.batch != "none"),
        )
    )


def token_counter(tokenizer: str | None) -> Callable[[str], int]:
    """Counts the tokens of a text: by a tokenizer's name or folder, or an estimate where there is none.

    Raises ModelError where the tokenizer cannot be loaded.
    """
    if tokenizer is None:
        return lambda text: math.ceil(len(text) / ENGLISH_CHARACTERS_PER_TOKEN)
    from transformers import AutoTokenizer

    try:
        loaded: Any = AutoTokenizer.from_pretrained(tokenizer)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"tokenizer {tokenizer} cannot be loaded ({str(error).splitlines()[0]}); name another"
        ) from None
    return lambda text: len(loaded(text, add_special_tokens=False)["input_ids"])


def translation_tokens(text: str, target: Language) -> int:
    """Tokens that the translation of an English text will take, about."""
    return math.ceil(len(text) * target.length * _TOKENS_PER_CHARACTER.get(target.script, _TOKENS_ELSEWHERE))
