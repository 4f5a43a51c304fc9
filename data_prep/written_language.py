"""Which language a translation is written in: by its script, by its common words, and by what it left in English."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

import regex  # type: ignore[import-untyped]  # Python's own re knows no scripts

from core.languages import LANGUAGES, Language

LEAST_SCRIPT_SHARE = 0.5
ENOUGH_LETTERS = 8  # a name or two says nothing of a text's script
NEIGHBOURS_SHARE = 0.02  # less may be a quotation, or a keyboard's
LEFT_WORDS = 6  # so many words of the source in a row are a part that was not translated
LEAST_KEPT_SHARE = 0.5
ENOUGH_WORDS = 8  # to tell a language by its common words
_SCRIPTS = {"Jpan": ("Hira", "Kana", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",), "Kore": ("Hang", "Hani")}
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*")
_LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]+")
_LONG_LOWER_CASE = re.compile(r"\b[a-z]{4,}\b")
_BETWEEN_BLANKS = re.compile(r"[^\s\d.,;:!?()\[\]\"“”„«»।،؛؟*_-]+")
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»\n]{1,300}[\"”“»]|(?<!\w)['‘][^'‘’\n]{1,300}['’](?!\w)")


def words(text: str) -> list[str]:
    """The words of a text, with their case."""
    return _WORD.findall(text)


def wrong_script(source: str, translation: str, language: Language) -> str | None:
    """Why too few letters are of the language's script, or some are of a third one; None where neither is so.

    Capitalised words of the source (names, abbreviations) may stay in Latin script and are not counted, and neither are
    Greek letters, which formulas have.
    """
    third = "".join(_foreign(language.script).findall(translation))
    strange = [letter for letter in third if letter not in source]
    neighbours = re.findall(f"[{language.never}]", translation) if language.never else []
    foreign = len(third)
    if language.script != "Latn":
        latin = [word for word in _LATIN_WORD.findall(translation) if word.islower() or word not in source]
        foreign += sum(map(len, latin))
    if not foreign and not neighbours and language.script != "Jpan":
        return None
    own = _count(_letters(language.script), translation)
    if own + foreign >= ENOUGH_LETTERS and own < LEAST_SCRIPT_SHARE * (own + foreign):
        share = own / (own + foreign)
        return f"only {share:.0%} of its letters are in the script of {language.name} ({language.script})"
    if len(neighbours) >= 3 and len(neighbours) > NEIGHBOURS_SHARE * own:
        strange += neighbours
    if len(strange) >= 2:
        return f"it holds letters that {language.name} does not use: {''.join(sorted(set(strange))[:20])}"
    if language.script == "Jpan" and own >= 20 and _count(_letters("Hani"), translation) > 0.95 * own:
        return "not Japanese: it holds no kana"
    return None


def other_language(translation: str, language: Language) -> str | None:
    """Why a text's common words are those of another language of the same script; None where they are not.

    Of two languages those words count that only one of them has.
    """
    if not language.common:
        return None
    found = _BETWEEN_BLANKS.findall(translation.lower())
    if len(found) < ENOUGH_WORDS:
        return None
    known = _common_words(language.script)
    groups = Counter(known[word] for word in found if word in known)
    for other in _languages_of(language.script):
        theirs = sum(number for codes, number in groups.items() if other in codes and language.code not in codes)
        if theirs >= max(3, 0.1 * len(found)):
            own = sum(number for codes, number in groups.items() if language.code in codes and other not in codes)
            if theirs > 2 * own:
                return f"it reads as {LANGUAGES[other].name}, not {language.name}"
    return None


def reads_as(text: str, language: Language) -> bool:
    """Whether a text is in the language already: by its script or, where English has the same, by words of this one alone."""
    if other_language(text, language) is not None:
        return False
    if language.script != "Latn":
        letters = _count(regex.compile(r"[\p{L}\p{M}]+"), text)
        return letters >= ENOUGH_LETTERS and _count(_letters(language.script), text) >= 0.9 * letters
    known = _common_words(language.script)
    alone = [known[word][0] for word in _BETWEEN_BLANKS.findall(text.lower()) if len(known.get(word, ())) == 1]
    own = alone.count(language.code)
    return own >= 2 and own > 2 * (len(alone) - own)


def left_in_english(source: str, translation: str) -> str | None:
    """Why a part of the English source stands in the translation as it was; None where none does.

    Text in quotes is left out where it is the smaller part, for an exercise may be about its English words.
    """
    if len(set(_LONG_LOWER_CASE.findall(source)).intersection(_LATIN_WORD.findall(translation.lower()))) < 3:
        return None
    unquoted = _QUOTED.sub(" ", source)
    if 2 * len(unquoted) > len(source):
        source, translation = unquoted, _QUOTED.sub(" ", translation)
    lower_case = set(_LONG_LOWER_CASE.findall(source))
    before, after = (_LATIN_WORD.findall(text.lower()) for text in (source, translation))
    kept = lower_case.intersection(after)
    run = _longest_run(before, after)
    if len(run) >= LEFT_WORDS and sum(word in lower_case for word in run) >= 3:
        return f"left in English: {' '.join(run[:8])}{' …' if len(run) > 8 else ''}"
    if len(lower_case) >= 6 and len(kept) > LEAST_KEPT_SHARE * len(lower_case):
        return f"left in English: {len(kept)} of {len(lower_case)} of the source's own words"
    return None


def _longest_run(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The longest run of words of ``after`` every LEFT_WORDS of which stand in a row in ``before``."""
    grams = set(zip(*(before[shift:] for shift in range(LEFT_WORDS)), strict=False))
    best: list[str] = []
    start = None
    for place, gram in enumerate(zip(*(after[shift:] for shift in range(LEFT_WORDS)), strict=False)):
        if gram not in grams:
            start = None
            continue
        start = place if start is None else start
        if place + LEFT_WORDS - start > len(best):
            best = list(after[start : place + LEFT_WORDS])
    return best


def _count(letters: "regex.Pattern[str]", text: str) -> int:
    return sum(map(len, letters.findall(text)))


@cache
def _letters(script: str) -> "regex.Pattern[str]":
    """Runs of letters and marks of a script."""
    return regex.compile(rf"[{_script_class(script)}&&[\p{{L}}\p{{M}}]]+", regex.V1)


@cache
def _foreign(script: str) -> "regex.Pattern[str]":
    """Runs of letters neither of the script nor Latin or Greek."""
    known = rf"\p{{Script=Latin}}\p{{Script=Greek}}\p{{Script=Common}}{_script_class(script)}"
    return regex.compile(rf"[\p{{L}}--[{known}]]+", regex.V1)


def _script_class(script: str) -> str:
    return "".join(rf"\p{{Script={name}}}" for name in _SCRIPTS.get(script, (script,)))


@cache
def _languages_of(script: str) -> tuple[str, ...]:
    return tuple(row.code for row in LANGUAGES.values() if row.script == script and row.common)


@cache
def _common_words(script: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code in _languages_of(script):
        for word in LANGUAGES[code].common.split():
            found[word] = (*found.get(word, ()), code)
    return found
