"""From chat messages to token ids, in one way for training and judging: one BOS, one folding of the system text.

The tokenizer is given; nothing here loads one or imports torch.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import ConfigError, ModelError

Messages = list[dict[str, str]]
# The day that Llama's templates are told: 3.2's else says today, and a judge reads one prompt whenever it is trained and
# judges. It is the one that 3.1's falls back to.
THE_DAY = "26 Jul 2024"
TEMPLATE_FOLDER = Path(__file__).parent / "chat_templates"


class Example(NamedTuple):
    """Token ids of a training example: ``prompt`` is exactly what the judge is given, ``completion`` ends with the stop token."""

    prompt: list[int]
    completion: list[int]


def set_chat_template(tokenizer: Any, name: str | None) -> None:
    """Give a base model's tokenizer the chat template of that name (a file in core/chat_templates).

    Raises ConfigError for an unknown name, ModelError where there is no template at all or the tokenizer lacks one of
    the template's tokens.
    """
    if isinstance(tokenizer.chat_template, dict):  # several for several uses, as Cohere's have
        tokenizer.chat_template = tokenizer.chat_template.get("default")
    if name is None:
        if tokenizer.chat_template is None:
            raise ModelError(
                f"{tokenizer.name_or_path} has no chat template; choose one by name with "
                f"chat_template: {' | '.join(chat_template_names())}"
            )
        return
    if name not in chat_template_names():
        raise ConfigError(f"chat template {name!r} is unknown; use one of {', '.join(chat_template_names())}")
    text = (TEMPLATE_FOLDER / f"{name}.jinja").read_text(encoding="utf-8")
    if tokenizer.chat_template not in (None, text):
        raise ConfigError(
            f"{tokenizer.name_or_path} brings its own chat template; leave chat_template out, so that it is kept"
        )
    tokenizer.chat_template = text
    stop_token_id(tokenizer)


def chat_template_names() -> list[str]:
    """The names that ``chat_template`` takes in a config."""
    return sorted(path.stem for path in TEMPLATE_FOLDER.glob("*.jinja"))


def encode_prompt(tokenizer: Any, messages: Messages) -> list[int]:
    """Token ids of the prompt up to where the judge writes, rendered and tokenized in one step (so exactly one BOS)."""
    return _encode(tokenizer, fold_system(tokenizer, messages), add_generation_prompt=True)


def encode_example(tokenizer: Any, messages: Messages, verdict: str) -> Example:
    """Token ids of prompt and supervised verdict. The completion is the verdict and its stop token, nothing after.

    Raises ModelError where the chat template renders the prompt differently once an answer follows.
    """
    messages = fold_system(tokenizer, messages)
    prompt = _encode(tokenizer, messages, add_generation_prompt=True)
    full = _encode(tokenizer, [*messages, {"role": "assistant", "content": verdict}], add_generation_prompt=False)
    if full[: len(prompt)] != prompt:
        raise ModelError(
            f"the chat template of {tokenizer.name_or_path} renders another prompt before an answer than before a "
            "generation, so training would not match judging; use a template whose generation prompt is a prefix"
        )
    completion = full[len(prompt) :]
    return Example(prompt, completion[: completion.index(stop_token_id(tokenizer)) + 1])


def fold_system(tokenizer: Any, messages: Messages) -> Messages:
    """The messages as the template takes them: where it refuses a system role, its text opens the first user turn."""
    if messages[0]["role"] != "system" or _takes_system(tokenizer, tokenizer.chat_template):
        return messages
    return fold(messages)


def fold(messages: Messages) -> Messages:
    """The messages with the system text at the start of the first user turn."""
    system, user, *rest = messages
    return [{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *rest]


def stop_token_id(tokenizer: Any) -> int:
    """The token that ends the assistant's turn in this chat template, found by rendering one.

    Raises ModelError where the turn ends in plain text, which no generation could stop at.
    """
    return _stop_token_id(tokenizer, tokenizer.chat_template)


@lru_cache(maxsize=64)
def _stop_token_id(tokenizer: Any, chat_template: str) -> int:
    word = "x"
    user = {"role": "user", "content": word}
    full = _encode(tokenizer, [user, {"role": "assistant", "content": word}], add_generation_prompt=False)
    prompt = _encode(tokenizer, [user], add_generation_prompt=True)
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    stops = [token for token in full[len(prompt) :] if token in special]
    if not stops:
        raise ModelError(
            f"the chat template of {tokenizer.name_or_path} ends an answer without a special token, so a judge could "
            "not learn to stop; use a template that closes the turn, or a tokenizer that has its end-of-turn token"
        )
    return int(stops[0])


def stop_token_ids(tokenizer: Any, generation_config: Any = None) -> list[int]:
    """All tokens a generation stops at: the template's end-of-turn token, the tokenizer's EOS and the config's own."""
    configured = getattr(generation_config, "eos_token_id", None)
    listed = configured if isinstance(configured, list) else [configured]
    stops = {stop_token_id(tokenizer), tokenizer.eos_token_id, *listed}
    return sorted(int(token) for token in stops if token is not None)


@lru_cache(maxsize=64)
def _takes_system(tokenizer: Any, chat_template: str) -> bool:
    marker = "system text"
    messages = [{"role": "system", "content": marker}, {"role": "user", "content": "x"}]
    try:
        return marker in tokenizer.apply_chat_template(messages, tokenize=False)
    except Exception as error:  # jinja2 raises TemplateError; the template's own raise_exception is one of them
        if type(error).__module__.startswith("jinja2"):
            return False
        raise


@lru_cache(maxsize=64)
def _control_token(tokenizer: Any, chat_template: str) -> re.Pattern[str]:
    """Finds every text that transformers' ``sanitize_control_tokens`` may take for a control token."""
    named = set(getattr(tokenizer, "chat_control_tokens", None) or ())
    added = tokenizer.added_tokens_decoder.values()
    texts = [
        one.content
        for one in added
        if one.special or one.content in named or (one.content in chat_template and not one.content.isspace())
    ]
    return re.compile("|".join(map(re.escape, texts)) or r"(?!)")


def _encode(tokenizer: Any, messages: Sequence[dict[str, str]], add_generation_prompt: bool) -> list[int]:
    """Token ids of rendered messages. Only the template writes control tokens: a response that spells one, to forge the end
    of its turn, is read as the characters that it is made of.
    """
    control_token = _control_token(tokenizer, tokenizer.chat_template)
    rendered = tokenizer.apply_chat_template(
        list(messages),
        tokenize=True,
        add_generation_prompt=add_generation_prompt,
        return_dict=True,
        # The tokenizer's own search for them takes 30 times as long as encoding a prompt.
        sanitize_control_tokens=any(control_token.search(message["content"]) for message in messages),
        date_string=THE_DAY,
    )
    ids = list(rendered["input_ids"])
    bos = tokenizer.bos_token_id
    if bos is not None and ids[:2] == [bos, bos]:
        raise ModelError(
            f"the chat template of {tokenizer.name_or_path} and its tokenizer both add {tokenizer.bos_token!r}; "
            "remove it from one of them"
        )
    return ids
