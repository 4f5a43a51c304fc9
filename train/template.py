"""Whether a chat template shows a judge what it is given, and teaches it what it is to write: seen on one short chat."""

from typing import Any

from core.chat import THE_DAY, encode_prompt
from core.errors import ModelError
from core.progress import warn
from train.unreadable import one_line

_ASKED = {"role": "user", "content": "Which Colours?"}
_ANSWER = {"role": "assistant", "content": "A fair Answer. [RESULT] 4"}


def check_chat_template(tokenizer: Any) -> None:
    """Raises ModelError where the template cannot be rendered, loses or changes a text, or does not open the judge's turn
    with what stands before its answer.
    """
    whose = f"the chat template of {tokenizer.name_or_path}"
    if "strftime_now" in tokenizer.chat_template and "date_string" not in tokenizer.chat_template:
        warn(f"{whose} says the day, so a judge will read another prompt on each; take strftime_now out of it")
    with one_line(f"{whose} cannot be rendered", "mend it, or take the base with its own"):
        prompt = _render(tokenizer, [_ASKED], True)
        unopened = _render(tokenizer, [_ASKED], False)
        full = _render(tokenizer, [_ASKED, _ANSWER], False)
    for text, turn in ((prompt, _ASKED), (full, _ANSWER)):
        if turn["content"] not in text:
            raise ModelError(f"{whose} loses or changes the text of the {turn['role']}'s turn; mend it")
    if not full.startswith(prompt):
        raise ModelError(
            f"{whose} renders another prompt before an answer than before a generation, so training would not match "
            "judging; use a template whose generation prompt is a prefix"
        )
    if prompt == unopened and not full[len(prompt) :].lstrip().startswith(_ANSWER["content"]):
        raise ModelError(
            f"{whose} has no generation prompt, so a judge would learn to open its own turn "
            f"({full[len(prompt) :].split(_ANSWER['content'])[0]!r}); add it under add_generation_prompt"
        )


def check_renders(tokenizer: Any) -> None:
    """Raises ModelError where the chat template, or a setting of the tokenizer, lets no prompt be made at all."""
    with one_line(
        f"{tokenizer.name_or_path} makes no prompt of a chat", "mend its chat template or tokenizer_config.json"
    ):
        encode_prompt(tokenizer, [{"role": "user", "content": "x"}])


def _render(tokenizer: Any, messages: list[dict[str, str]], opened: bool) -> str:
    return str(
        tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=opened, date_string=THE_DAY)
    )
