"""Numbers of a source and its translation: what counts as the same."""

import pytest

from data_prep.number_check import changed_numbers
from data_prep.number_words import number_word_values, roman_values


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("4 of 5", "५ में से ४"),
        ("4", "৪"),
        ("3", "౩"),
        ("4", "٤"),
        ("1,000 men", "1.000 hommes"),
        ("1,000 men", "1 000 hommes"),
        ("1,000 men", "1\u00a0000 hommes"),
        ("1,000 men", "1000 hommes"),
        ("1,000,000", "10,00,000"),
        ("1 000 000", "1000000"),
        ("3.5", "3,5"),
        ("3.5", "٣٫٥"),
        ("1,2,3", "1, 2, 3"),
        ("1. a\n2. b", "1) a\n2) b"),
        ("x² and 10^2", "x^2 et 10²"),
        ("½ cup", "1/2 tasse"),
        ("two dogs", "2 chiens"),
        ("twenty-five dogs", "25 chiens"),
        ("one hundred and fifty", "150"),
        ("two million", "2.000.000"),
        ("a dozen", "12"),
        ("May 12, 2020", "2020年5月12日"),
        ("May 12, 2020", "12.05.2020"),
        ("2.5 million people", "25 लाख लोग"),
        ("10 million people", "1 करोड़ लोग"),
        ("10,000 people", "1万人"),
        ("the 1st time", "pour la première fois"),
        ("the 1st time", "पहली बार"),
        ("the 19th century", "le XIXe siècle"),
        ("the 19th century", "el siglo XIX"),
        ("Louis XIV", "लुई 14"),
        ("3 books", "三冊の本"),
        ("no number", "sans"),
    ],
)
def test_the_same(source: str, translation: str) -> None:
    assert changed_numbers(source, translation) is None


@pytest.mark.parametrize(
    ("source", "translation", "reason"),
    [
        ("60 km", "80 km", "60 missing; 80 added"),
        ("60 km", "km", "60 missing"),
        ("km", "60 km", "60 added"),
        ("6 and 6", "6", "6 missing"),
        ("6", "6 et 6", "6 added"),
        ("12", "21", "12 missing; 21 added"),
        ("1,000", "100", "1000 missing; 100 added"),
        ("10,000", "1,000", "10000 missing; 1000 added"),
        ("two dogs", "3 chiens", "3 added"),
        ("I saw him", "1 homme", "1 added"),
        ("5 5 5", "5", "5 (2 times) missing"),
        ("4", "५", "4 missing; 5 added"),
    ],
)
def test_changed(source: str, translation: str, reason: str) -> None:
    assert changed_numbers(source, translation) == f"numbers were changed: {reason}"


def test_number_words() -> None:
    # 2 × 10⁶ + 3 × 100 × 10³ = 2,300,000, besides each word by itself.
    assert {"2", "1000000", "2300000"} <= number_word_values("two million three hundred thousand")
    assert number_word_values("no such word, someone, tent, maybe") == set()
    assert roman_values("World War II, Louis XIV, chapter IX, and I") == {"2", "14", "9"}
