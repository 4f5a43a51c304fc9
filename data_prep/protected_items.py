"""What a translation must leave as it is: code, URLs, addresses, placeholders, tags, and the markers of judge prompts."""

import re
from collections import Counter
from textwrap import dedent
from typing import NamedTuple

# Letters and digits are ASCII ones throughout: in a translation the next word may follow without a blank.
_WORD = "[A-Za-z0-9_]"
_BARE = rf"(?:\{{\{{[^{{}}\n]{{1,60}}\}}\}}|\$?\{{[A-Za-z_]{_WORD}{{0,40}}\}}|\{{[0-9]{{0,2}}\}})"
_FORMAT = rf"(?<![0-9%])%(?:\({_WORD}+\)|[0-9]+\$)?[-+#0]?[0-9]{{0,3}}(?:\.[0-9]+)?[sdifgeoxXcu](?![A-Za-z])"
_VARIABLE = rf"\$[A-Za-z_]{_WORD}{{0,40}}"
_TAG = (
    r"<\|[A-Za-z_]{1,30}\|>|</?[A-Za-z][\w:.-]{0,30}(?:\s+[\w:-]+\s*=\s*(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s>\"']+))*\s*/?>"
)
_HEADERS = (
    "Task Description:",
    "The instruction to evaluate:",
    "Instruction:",
    "Response to evaluate:",
    "Response:",
    "Reference Answer (Score 5):",
    "Score Rubrics:",
    "Feedback:",
)
# In this order: what stands in code is code, whatever it looks like. A fence that is never closed is code to the end.
_PROTECTED = re.compile(
    "|".join(
        (
            r"(?P<fence>^[ \t]*(?:```[^\n`]*\n.*?(?:```|\Z)|~~~[^\n~]*\n.*?(?:~~~|\Z))|```.+?```)",
            r"(?P<code>`[^`\n]+`)",
            r"(?P<url>(?:https?://|ftp://|www\.)[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+)",
            r"(?P<email>(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)",
            rf"(?P<placeholder>{_BARE}|{_FORMAT}|{_VARIABLE})",
            rf"(?P<tag>{_TAG})",
            r"(?P<marker>\[RESULT\]|^[ \t>*-]*Score[ ][0-9]{1,2}:|###(?:" + "|".join(map(re.escape, _HEADERS)) + "))",
        )
    ),
    re.DOTALL | re.MULTILINE,
)
_NAMES = {
    "fence": "code block",
    "code": "inline code",
    "url": "URL",
    "email": "e-mail address",
    "placeholder": "placeholder",
    "tag": "tag",
    "marker": "marker",
}
_CANDIDATE = re.compile(r"[`@{]|~~~|%[(0-9.+#a-zA-Z-]|\$[A-Za-z_]|<[/|A-Za-z]|\[RESULT\]|://|www\.|###|Score [0-9]")


class Protected(NamedTuple):
    """``items`` counts (kind, text); ``prose`` is the text with a blank in the place of each."""

    items: Counter[tuple[str, str]]
    prose: str


def protected(text: str) -> Protected:
    """Take a text apart into what must stay as it is and the prose to translate."""
    items: Counter[tuple[str, str]] = Counter()
    if not _CANDIDATE.search(text):
        return Protected(items, text)

    def take(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        item, rest = _item(kind, match[0])
        items[kind, item] += 1
        return f" {rest}"

    return Protected(items, _PROTECTED.sub(take, text))


def changed_items(source: Protected, translation: Protected) -> str | None:
    """Why the protected items of a translation are not those of its source, each as often; None where they are."""
    if source.items == translation.items:
        return None
    missing, added = source.items - translation.items, translation.items - source.items
    parts = [f"{_list(counted)} {verb}" for counted, verb in ((missing, "missing"), (added, "added")) if counted]
    return f"protected items were changed: {'; '.join(parts)}"


def _item(kind: str, text: str) -> tuple[str, str]:
    """An item as it is compared, and what of the match was no part of it."""
    if kind == "url":
        item = text.rstrip(".,;:!?'\"*_")
        if item.endswith(")") and "(" not in item:
            item = item.rstrip(").,;:!?'\"*_")
        return item, text[len(item) :]
    if kind == "fence":
        return "\n".join(line.rstrip() for line in dedent(text).strip().split("\n")), ""
    return text.strip(" \t>*-") if kind == "marker" else text, ""


def _list(counted: Counter[tuple[str, str]]) -> str:
    shown = [f"{_NAMES[kind]} {_short(item)}" for (kind, item) in list(counted)[:3]]
    return ", ".join(shown) + (", …" if len(counted) > 3 else "")


def _short(item: str) -> str:
    item = " ".join(item.split())
    return item if len(item) <= 40 else f"{item[:39]}…"
