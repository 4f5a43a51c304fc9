"""The checks of one translation from English: each a small function that says why it must not be accepted, or None.

They look for what models do instead of translating: cut, refuse, answer, echo, leave parts in English, talk around the
translation, change code, markers or numbers. Well-known personal names are compared where the target has Latin script;
elsewhere they are transliterated, and only the way back into English (``back_translation_fault``) can tell.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from core.joins import nfc
from core.languages import Language
from core.request import Answer
from data_prep.name_check import changed_names, is_name
from data_prep.number_check import changed_numbers
from data_prep.protected_items import Protected, changed_items, protected
from data_prep.written_language import left_in_english, other_language, reads_as, words, wrong_script

_REFUSAL = re.compile(
    r"\b(?:I['’]?m|I am) (?:\w+ )?(?:sorry|unable|not able)|\bI (?:can['’]?t|cannot|can not|won['’]t|must decline|apologi[sz]e)"
    r"|\b(?:as|I['’]?m|I am) an? (?:AI|artificial|large language|language) |\b(?:unable|not able) to (?:assist|help|comply)",
    re.IGNORECASE,
)
_REGRET = re.compile(
    r"sorry|apolog|regret|unfortunate|sad|pardon|excuse|forgiv|cannot|can['’]?t|can not|unable|not able|won['’]t|afraid"
    r"|could(?:n['’]t| not)|alas|sympath|condolence|decline|\bAI\b|language model",
    re.IGNORECASE,
)
_PREFACE = re.compile(
    r"\W{0,3}(?:(?:sure|certainly|of course)\b[^\n]{0,80}?[:!.]|(?:ok|okay|absolutely)\b[^\n]{0,60}\btranslat[^\n]{0,40}:"
    r"|(?:here|below|this|the following)\b[^\n]{0,60}\btranslat[^\n]{0,60}?:|(?:\w+ )?translat(?:ion|ed)[^\n:]{0,60}:)",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"\n\W{0,3}(?:(?:translator['’]?s )?note|n\.b\.|explanation|nota|anmerkung|hinweis|remarque|not|kumbuka|примітка"
    r"|नोट|टिप्पणी|নোট|টীকা|గమనిక|نوٹ|ملاحظة|注|注意|备注|说明)(?!\w)[^\n]{0,20}[:：]|let me know if|i hope this helps"
    r"|\(translated from",
    re.IGNORECASE,
)
_NOTES = re.compile(
    r"\b(?:notes?|remarks?|notice|hints?|reminder|remember|comments?|explanation|caution|warning|tip)\b", re.IGNORECASE
)
_QUESTION = re.compile(r"\?[*_\s]*\Z")  # one that is quoted may be told in other words
_ASKS = re.compile(r"[?？؟;]|か[。」\s]*(?:\Z|\n)|か。")
_QUOTES = re.compile(r"[\"“„«‘'「『].*[\"”“»’'」』]", re.DOTALL)
ENOUGH_TO_REPEAT = 16  # characters; many languages double a word to make another of it


class Fault(NamedTuple):
    """``kind`` is what faults are counted by; ``reason`` is for the model that is asked again, and for people."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Pair:
    """A source text in English and its translation, taken apart once for all checks."""

    source: str
    translation: str
    language: Language

    @cached_property
    def before(self) -> Protected:
        return protected(self.source)

    @cached_property
    def after(self) -> Protected:
        return protected(self.translation)


def answer_fault(answer: Answer) -> Fault | None:
    """What is wrong with an answer whatever it says: cut, filtered, refused, empty."""
    if answer.error is not None:
        return Fault("error", answer.error)
    if answer.refusal:
        return Fault("refusal", f"the model refused: {_short(answer.refusal)}")
    if answer.finish_reason == "content_filter":
        return Fault("filter", "the server's filter held the answer back (finish_reason content_filter)")
    if answer.text is None or not answer.text.strip():
        return Fault("empty", f"the answer was empty (finish_reason {answer.finish_reason})")
    if answer.finish_reason not in ("stop", "eos", None):
        return Fault("finish", f"the answer was cut off before its end (finish_reason {answer.finish_reason})")
    return None


def translation_faults(source: str, translation: str, language: Language) -> list[Fault]:
    """All that speaks against a translation; none where it can be accepted."""
    if not translation.strip():
        return [Fault("empty", "the answer holds no translation")]
    pair = Pair(source, translation, language)
    if same := identical(pair):
        as_it_should = not needs_translation(pair) or reads_as(pair.before.prose, language)
        return [] if as_it_should else [Fault("identical", same)]
    if words(source) and not any(letter.isalnum() for letter in translation):
        return [Fault("empty", "the answer holds no word")]
    found = ((kind, check(pair)) for kind, check in CHECKS.items())
    return [Fault(kind, reason) for kind, reason in found if reason is not None]


def identical(pair: Pair) -> str | None:
    same = _folded(pair.source) == _folded(pair.translation)
    return "the English text itself came back; it must be translated" if same else None


def needs_translation(pair: Pair) -> bool:
    """Whether a text has more than code, URLs, numbers, names and single letters (x = 3), which may stay as they are."""
    prose = [word for word in words(pair.before.prose) if len(word) > 1]
    return bool(prose) and not is_name(pair.before.prose.strip(), prose)


def echoed(pair: Pair) -> str | None:
    """The source's words came back with other marks between them. One or two words may be the same in both languages."""
    before, after = words(_folded(pair.before.prose)), words(_folded(pair.after.prose))
    if len(before) < 3 or before != after or not needs_translation(pair) or reads_as(pair.before.prose, pair.language):
        return None
    return "the English words themselves came back; they must be translated"


def repeated(pair: Pair) -> str | None:
    """A translation that is one text over and over, while its source is not."""
    if _repeats(pair.translation) and not _repeats(pair.source):
        return "the same text stands there more than once"
    return None


def refused(pair: Pair) -> str | None:
    """A refusal in English or the target language. A source that is itself sorry or unable is given the benefit."""
    start = pair.translation[:200]
    apology = pair.language.apology
    found = _REFUSAL.search(start) or (apology and re.match(rf"\W*(?:{apology})", start, re.IGNORECASE))
    if not found or _REGRET.search(pair.source):
        return None
    return f"it reads as a refusal: {_short(start)}"


def script(pair: Pair) -> str | None:
    return wrong_script(pair.before.prose, pair.after.prose, pair.language)


def written_in(pair: Pair) -> str | None:
    return other_language(pair.after.prose, pair.language)


def untranslated(pair: Pair) -> str | None:
    return left_in_english(pair.before.prose, pair.after.prose)


def length(pair: Pair) -> str | None:
    """Length against what is usual for the language; the tolerance is wide for a word and narrows for long texts."""
    size, found = (len(" ".join(parts.prose.split())) for parts in (pair.before, pair.after))
    if not size:
        return None
    expected, width = size * pair.language.length, 1.5 + 5 / size**0.5
    if expected / width - 10 <= found <= expected * width + 20:
        return None
    short_or_long = "too short: a part is missing" if found < expected else "too long: something was added"
    return f"{short_or_long} ({found} characters, about {expected:.0f} expected)"


def answered(pair: Pair) -> str | None:
    """Signs that the text was obeyed: a question that came back as a statement, one line that became a list."""
    if _QUESTION.search(pair.source[-20:]) and not _ASKS.search(pair.translation):
        return "the question was not translated as a question; it must not be answered"
    before, after = _lines(pair.source), _lines(pair.translation)
    if after >= 2 * before + 1 and after >= before + 2:
        return f"{before} lines became {after}; the text must be translated, not answered"
    if before >= 4 and 2 * after < before:
        return f"{before} lines became {after}; a part is missing or lines were joined"
    return None


def talked_around(pair: Pair) -> str | None:
    """Words of the model's own before, after or around the translation."""
    if (match := _PREFACE.match(pair.translation)) and not _PREFACE.match(pair.source):
        return f"words of your own before the translation: {_short(match[0])}"
    word, start = pair.language.translation, pair.translation[:80].split("\n")[0]
    if word and re.search(rf"(?i:{word})[^\n]{{0,20}}[:：]", start) and "translat" not in pair.source.lower():
        return f"words of your own before the translation: {_short(start)}"
    if (match := _NOTE.search(pair.translation[-600:])) and not (
        _NOTE.search(pair.source) or _NOTES.search(pair.source)
    ):
        return f"words of your own after the translation: {_short(match[0])}"
    if _QUOTES.fullmatch(pair.translation.strip()) and not re.search(r"[\"“”„«»‘’']", pair.source):
        return "quotes were put around the translation"
    return None


def items(pair: Pair) -> str | None:
    return changed_items(pair.before, pair.after)


def numbers(pair: Pair) -> str | None:
    return changed_numbers(pair.before.prose, pair.after.prose)


def names(pair: Pair) -> str | None:
    return changed_names(pair.before.prose, pair.after.prose) if pair.language.script == "Latn" else None


def broken(pair: Pair) -> str | None:
    found = "\ufffd" in pair.translation and "\ufffd" not in pair.source
    return "it holds broken characters (U+FFFD)" if found else None


CHECKS: dict[str, Callable[[Pair], str | None]] = {
    "identical": echoed,
    "repeated": repeated,
    "refusal": refused,
    "script": script,
    "language": written_in,
    "english": untranslated,
    "length": length,
    "answered": answered,
    "around": talked_around,
    "items": items,
    "numbers": numbers,
    "names": names,
    "broken": broken,
}


def back_translation_fault(source: str, back: str, least: float) -> Fault | None:
    """chrF of the translation's way back into English against the source, and the source's names, which must be there again."""
    from sacrebleu.metrics.chrf import CHRF  # slow to load, and only this option needs it

    score = float(CHRF().sentence_score(back, [source]).score)
    if score < least:
        return Fault(
            "back-translation", f"translated back into English it is another text (chrF {score:.0f} < {least:.0f})"
        )
    lost = changed_names(protected(source).prose, back)
    return Fault("names", f"translated back into English, {lost}") if lost else None


def _folded(text: str) -> str:
    return " ".join(nfc(text).casefold().split())


def _repeats(text: str) -> bool:
    text = "".join(text.split())
    return len(text) >= ENOUGH_TO_REPEAT and (text + text).find(text, 1) < len(text)


def _lines(text: str) -> int:
    return sum(1 for line in text.split("\n") if line.strip())


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:59]}…"
