"""Whether a translation holds the numbers of its source, each as often, whatever their script and grouping.

Numbers are compared by their digits alone: ४ is 4, and 1,000 = 1.000 = 1 000, 3.5 = 3,5. What stood as a word in English
(two, third, May, million) may come as digits; an ordinal or century (1st, 19th) may come as a word or in Roman numerals.
"""

import re
from collections import Counter
from itertools import product
from unicodedata import digit

from data_prep.number_words import number_word_values, roman_values

_NUMBER = re.compile(r"[0-9]+(?:[.,'’\u066b\u066c\u00a0\u202f\u2009][0-9]+)*")
_FRACTIONS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4"}
_DIGITS = re.compile(r"[\d²³¹⁰⁴-⁹₀-₉①-⑨½⅓⅔¼¾]+")
_ORDINAL = re.compile(r"(?<![0-9.,])([0-9]{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
# Words that move the decimal point: a million is 10 lakh, 100 万, a thousand may be mil or हज़ार.
_SCALE_WORDS = re.compile(
    r"lakh|crore|mil(?:l|ione|iard|\b)|mio\b|mrd\b|tausend|bin\b|elfu|laki|ẹgbẹ|thousand|billion|\d ?[kKmM]\b|[万萬億亿千百兆]"
    r"|लाख|करोड़|करोड|हज़ार|हजार|अरब|কোটি|লাখ|লক্ষ|হাজার|లక్ష|కోట|వేల|వెయ్యి|لاکھ|کروڑ|ہزار|ارب|ألف|مليون|مليار|тис|млн|мільйон|мільярд"
    r"|લાખ|કરોડ|હજાર|ಲಕ್ಷ|ಕೋಟಿ|ಸಾವಿರ|ലക്ഷ|കോടി|ആയിര|ਲੱਖ|ਕਰੋੜ|ਹਜ਼ਾਰ|லட்ச|கோடி|ஆயிர|אלף|מיליון|מיליארד",
    re.IGNORECASE,
)
_CJK = dict(zip("一二三四五六七八九十两", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2), strict=True))


def changed_numbers(source: str, translation: str) -> str | None:
    """Why the numbers of a translation are not those of its English source; None where they are."""
    source, translation = _ascii_digits(source), _ascii_digits(translation)
    before, after = _numbers(source), _numbers(translation)
    if before == after:
        return None
    missing, added = before - after, after - before
    words = number_word_values(source) | roman_values(source)
    _pair_regrouped(missing, added, words)
    _pair_scaled(missing, added, words, source, translation)
    added = _without(added, {number for number in added if number.lstrip("0") in words})
    ordinals = {match[1] for match in _ORDINAL.finditer(source)}
    numerals = roman_values(translation) | {str(_CJK[letter]) for letter in translation if letter in _CJK}
    missing = _without(missing, ordinals | numerals)
    parts = [f"{_list(counted)} {verb}" for counted, verb in ((missing, "missing"), (added, "added")) if counted]
    return f"numbers were changed: {'; '.join(parts)}" if parts else None


def _numbers(text: str) -> Counter[str]:
    return Counter(n if n.isdecimal() else "".join(filter(str.isdecimal, n)) for n in _NUMBER.findall(text))


def _pair_regrouped(missing: Counter[str], added: Counter[str], words: set[str]) -> None:
    """Take out what is the same digits in other groups: 1000 for 1 000, 1,2,3 for 1, 2, 3, 12.05.2020 for May 12, 2020."""
    spelt = Counter({number: 1 for word in words for number in (word, word.zfill(2))})
    for whole, parts, free in ((missing, added, Counter()), (added, missing, spelt)):
        for number in list(whole.elements()):
            split = _split(number, parts + free)
            if split is not None:
                whole[number] -= 1
                parts -= Counter(split)
    _drop_paired(missing, added)


def _split(number: str, parts: Counter[str]) -> list[str] | None:
    """The number as two or more of the parts in a row, or None."""
    for end in range(len(number) - 1, 0, -1):
        head, rest = number[:end], number[end:]
        if parts[head] > 0:
            left = parts.copy()
            left[head] -= 1
            tail = [rest] if left[rest] > 0 else _split(rest, left)
            if tail is not None:
                return [head, *tail]
    return None


def _pair_scaled(missing: Counter[str], added: Counter[str], words: set[str], source: str, translation: str) -> None:
    """Take out pairs that differ in zeros at the end, where a side names a scale: 10 million is 1 करोड़, 10,000 is 1万."""
    if not (_SCALE_WORDS.search(translation) or _SCALE_WORDS.search(source)):
        return
    for one, other in product(list(missing), list(added)):
        if one.strip("0") == other.strip("0") and one.strip("0"):
            pairs = min(missing[one], added[other])
            missing[one] -= pairs
            added[other] -= pairs
    spelt = {word.strip("0") for word in words} - {""}
    for number in [number for number in added if number.strip("0") in spelt]:
        del added[number]
    _drop_paired(missing, added)


def _drop_paired(*counters: Counter[str]) -> None:
    for counted in counters:
        for number in [number for number, count in counted.items() if count <= 0]:
            del counted[number]


def _without(counted: Counter[str], numbers: set[str]) -> Counter[str]:
    return Counter({number: count for number, count in counted.items() if number not in numbers})


def _ascii_digits(text: str) -> str:
    """Text with ASCII for the digits of all scripts, full-width, raised, lowered and circled ones."""
    return text if text.isascii() else _DIGITS.sub(lambda match: "".join(map(_ascii_digit, match[0])), text)


def _ascii_digit(letter: str) -> str:
    return _FRACTIONS.get(letter) or str(digit(letter))


def _list(counted: Counter[str]) -> str:
    shown = [number if count == 1 else f"{number} ({count} times)" for number, count in list(counted.items())[:5]]
    return ", ".join(shown) + (", …" if len(counted) > 5 else "")
