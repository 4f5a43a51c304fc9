"""The prompt of direct scoring: criteria, document and summary, and then the score, for a chat model or a base model.

The criteria come first, so that all strengths that steer the summary share them.
"""

from typing import Any

from core.chat import THE_DAY, fold_system
from core.errors import ConfigError
from eval.summary.prompt_tokens import opening_ids
from eval.summary.wordings import WORDINGS, Levels, Wording

# Private characters: they stand where document and summary go while a chat template is rendered.
_DOCUMENT, _SUMMARY = "\ue000", "\ue001"


def wording(language: str) -> Wording:
    """The words of a language. Raises ConfigError where it has none."""
    if language not in WORDINGS:
        raise ConfigError(
            f"no prompt is written in {language!r}; set prompt_language: en, or use one of {', '.join(sorted(WORDINGS))}"
        )
    return WORDINGS[language]


def prompt_parts(tokenizer: Any, dimension: str, language: str) -> tuple[list[int], list[int], list[int]]:
    """Token ids of what stands before the document, between it and the summary, and after the summary.

    A tokenizer with a chat template has them rendered as one user's turn, up to where the model answers; one without, as
    plain text. Document and summary are not rendered, so no template can trim them or read control tokens in them.
    Raises ConfigError where the language has no prompt.
    """
    words = wording(language)
    body = f"{_criteria(words, dimension)}\n\n{words.document}\n{_DOCUMENT}\n\n{words.summary}\n{_SUMMARY}\n\n{words.score}"
    opening: list[int] = []
    if tokenizer.chat_template is None:
        opening, rendered = opening_ids(tokenizer), f"{words.task}\n\n{body}"
    else:
        messages = [{"role": "system", "content": words.task}, {"role": "user", "content": body}]
        rendered = tokenizer.apply_chat_template(
            fold_system(tokenizer, messages), tokenize=False, add_generation_prompt=True, date_string=THE_DAY
        )
    before, rest = rendered.split(_DOCUMENT)
    between, after = rest.split(_SUMMARY)
    first, middle, last = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (before, between, after))
    return opening + list(first), list(middle), list(last)


def _criteria(words: Wording, dimension: str) -> str:
    """The question about a dimension, and what each score means."""
    asked: dict[str, tuple[str, Levels]] = {
        "coherence": (words.coherence, words.coherence_levels),
        "completeness": (words.completeness, words.completeness_levels),
    }
    question, levels = asked.get(dimension, (words.other.format(dimension=dimension), words.other_levels))
    return "\n".join([question, *(f"{score} = {meaning}" for score, meaning in enumerate(levels, start=1))])
