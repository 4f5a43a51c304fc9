"""English words that stand for a number, as their values: two, twenty-five, three million, third, dozen, May, XIV."""

import re

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
_MONTHS = "january february march april may june july august september october november december"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_VALUES = {
    **{word: value for value, word in enumerate(f"{_UNITS} eighteen nineteen".split())},
    **{word: value for value, word in enumerate(_ORDINALS.split())},
    **{word: value for value, word in enumerate(_MONTHS.split(), start=1)},
    **{word[:3]: value for value, word in enumerate(_MONTHS.split(), start=1) if word != "may"},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), start=2)},
    **dict.fromkeys(("once", "single"), 1),
    **dict.fromkeys(("twice", "double", "doubling", "both", "pair", "couple", "half"), 2),
    "triple": 3,
    "quarter": 4,
    "sept": 9,
    "decade": 10,
    "dozen": 12,
    "dozens": 12,
    "century": 100,
    "twentieth": 20,
    "thirtieth": 30,
}
_WORDS = re.compile(
    r"\b(?:" + "|".join(sorted((*_VALUES, *_SCALES, *(f"{s}s" for s in _SCALES)), key=len, reverse=True)) + r")\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?:[\s-]|\band\b)*", re.IGNORECASE)
_ROMAN = re.compile(r"(?<![A-Za-z])(?=[IVXLC])(X{0,4}|XL|LX{0,3}|XC)(IX|IV|V?I{0,3})(?![A-Za-z'’])")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def number_word_values(text: str) -> set[str]:
    """The values, as digits, of the number words in English text: each alone, and of words in a row together."""
    values: set[str] = set()
    total = part = 0
    end = -1
    for match in _WORDS.finditer(text):
        word = match[0].lower()
        if end >= 0 and not _BETWEEN.fullmatch(text, end, match.start()):
            values |= {str(total + part), str(part)}
            total = part = 0
        end = match.end()
        scale = _SCALES.get(word.removesuffix("s"))
        if scale is None:
            part += _VALUES[word]
            values.add(str(_VALUES[word]))
        elif scale == 100:
            part = (part or 1) * 100
            values.add("100")
        else:
            total, part = total + (part or 1) * scale, 0
            values.add(str(scale))
    values |= {str(total + part), str(part)} if end >= 0 else set()
    return values if re.search("zero", text, re.IGNORECASE) else values - {"0"}


def roman_values(text: str) -> set[str]:
    """The values, as digits, of Roman numerals up to 99 that stand as words; I is taken for the pronoun."""
    return {str(_roman(match[0])) for match in _ROMAN.finditer(text) if match[0] not in ("", "I", "L")}


def _roman(numeral: str) -> int:
    digits = [_ROMAN_DIGITS[letter] for letter in numeral]
    following = [*digits[1:], 0]
    return sum(-one if one < after else one for one, after in zip(digits, following, strict=True))
