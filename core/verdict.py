"""The verdict: how a judge writes feedback and score, and the one rule by which that text is read again."""

import re
from typing import NamedTuple

MARKER = "[RESULT]"


class Verdict(NamedTuple):
    """A score from 1 to 5 with its feedback; unscored (``score`` None) with the reason in ``failure``.

    ``digit_offset`` is where the score's digit stands in the parsed text (None when unscored): the token that holds
    it is the one whose probabilities give the expected score.
    """

    score: int | None
    feedback: str
    failure: str | None
    digit_offset: int | None = None


NO_MARKER = "no [RESULT] marker"
OPEN_REASONING = "reasoning block never closed"
NO_NUMBER = "no number after the marker"
NOT_INTEGER = "not an integer"
NOT_SINGLE = "more than one score"
WRONG_SCALE = "another scale"
OUT_OF_RANGE = "out of range"

# End-of-turn tokens of the chat templates in use, as they print when special tokens are kept.
_END_OF_TURN = re.compile(
    r"<\|eot_id\|>|<\|end_of_text\|>|<\|im_end\|>|<\|endoftext\|>|<\|END_OF_TURN_TOKEN\|>|<\|end\|>|<\|return\|>"
    r"|<end_of_turn>|<turn\|>|<eos>|</s>|<end>"
)
_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_REASONING_OPEN = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
# Some templates open the block in the prompt, so that only its end is generated.
_REASONING_END = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_INVISIBLE = dict.fromkeys(
    map(ord, "\u200b\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"), " "
)

_MARKER = re.compile(r"\\?\[\s*RESULT\s*\\?\]", re.IGNORECASE)
_BRACKETED = re.compile(r"[\s\"'*_`:]*(?:\(([^)\n]{0,80})\)|<([^>\n]{0,80})>|\{([^}\n]{0,80})\})")
_WHOLE_SCALE = re.compile(r"\b1\s*(?:to|and|through|[-–—])\s*5\b")
_LEAD = re.compile(r"(?:[\s*_`~#>:=\"'(\[{<|\\]|\bscore\b)*", re.IGNORECASE)
_NUMBER = re.compile(r"[-−–+]?\s*(?:\d+(?:[.,٫]\d+)?|[.,٫]\d+)")
_CLOSE = r"[^\S\n]*[*_`)\]}\"'>]*[^\S\n]*"
_OUT_OF = re.compile(_CLOSE + r"(?:[/⁄∕／]|(?:out\s+)?of\b)\s*(\d+(?:[.,]\d+)?)", re.IGNORECASE)
_MORE = re.compile(_CLOSE + r"(?:(?:[-–—~]|to\b|or\b|and\b|&)[^\S\n]*[*_`(\[]*\d|\d+[/⁄]\d)", re.IGNORECASE)
_PERCENT = re.compile(r"\s*[%٪]")


def build_verdict(feedback: str, score: int) -> str:
    """The text a judge is trained to write: the feedback, the marker, the score. Raises ValueError off the scale."""
    if score not in (1, 2, 3, 4, 5):
        raise ValueError(f"a verdict's score is 1 to 5, not {score!r}")
    return f"{feedback.strip()} {MARKER} {score}"


def parse_verdict(text: str) -> Verdict:
    """Read one verdict from generated text.

    Only text up to the first end-of-turn token counts, without closed reasoning blocks. The first marker decides; one
    followed by the format line's placeholder is an echo and is passed over. Everything that is not exactly one integer
    from 1 to 5 is unscored, with the reason.
    """
    end = _END_OF_TURN.search(text)
    spoken = _without_reasoning(text[: end.start()] if end else text)
    if _REASONING_OPEN.search(spoken):
        return Verdict(None, "", OPEN_REASONING)
    visible = spoken.translate(_INVISIBLE)
    for marker in _MARKER.finditer(visible):
        tail = visible[marker.end() :]
        if not _is_echo(tail):
            score, failure, at = _score(tail)
            feedback = _feedback(spoken[: marker.start()])
            return Verdict(score, feedback, failure, None if at is None else marker.end() + at)
    return Verdict(None, _feedback(spoken), NO_MARKER)


def _without_reasoning(text: str) -> str:
    """Reasoning blanked rather than cut, so that offsets stay those of the text as generated."""
    text = _REASONING.sub(lambda block: " " * len(block.group()), text)
    return _REASONING_END.sub(lambda block: " " * len(block.group()), text)


def _is_echo(tail: str) -> bool:
    """Whether what follows a marker is the format line's placeholder: "(an integer number between 1 and 5)", "(1 to 5)"."""
    bracketed = _BRACKETED.match(tail)
    if bracketed is None:
        return False
    inner = next(group for group in bracketed.groups() if group is not None)
    names_score = re.search(r"integer|number|score", inner, re.IGNORECASE) and not re.search(r"\d", inner)
    return bool(_WHOLE_SCALE.search(inner) or names_score)


def _score(tail: str) -> tuple[int | None, str | None, int | None]:
    """The score that opens ``tail``: (score, None, its offset) or (None, reason, None)."""
    lead = _LEAD.match(tail)
    number = _NUMBER.match(tail, lead.end() if lead else 0)
    if number is None:
        return None, NO_NUMBER, None
    sign_and_digits = re.sub(r"\s", "", number.group()).translate(str.maketrans("−–,٫", "--.."))
    value = float(sign_and_digits)  # float reads decimal digits of every script
    rest = tail[number.end() :]
    out_of = _OUT_OF.match(rest)
    if _PERCENT.match(rest) or (out_of and float(out_of.group(1).replace(",", ".")) != 5):
        return None, WRONG_SCALE, None
    if not out_of and _MORE.match(rest):
        return None, NOT_SINGLE, None
    if value != int(value) or (rest[:1].isnumeric() and not rest[:1].isdecimal()):
        return None, NOT_INTEGER, None
    if not 1 <= value <= 5:
        return None, OUT_OF_RANGE, None
    digit = next(i for i, c in enumerate(number.group()) if c.isdecimal() and int(c) == value)
    return int(value), None, number.start() + digit


def _feedback(text: str) -> str:
    text = re.sub(r"^[#*_\s]*feedback\b[*_\s]*:?[*_\s]*", "", text.strip(), flags=re.IGNORECASE)
    return text.rstrip("*_`#\\ \n")
