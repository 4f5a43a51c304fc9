"""Half of a character is refused by id; whole ones of any script are not."""

import json

import pytest

from core.errors import DataError
from eval.characters import check_characters


def test_half_of_a_character_is_refused_by_id() -> None:
    """The escaped pair \\ud83d\\ude00 is one character, either half alone is none, in a nested text too."""
    texts = ['"\\ud83d\\ude00"', '"मرחe\\u0301"', '"a\\ud83d"', '{"of": ["\\ude00"]}']
    rows = [{"id": f"r{n}", "text": json.loads(text)} for n, text in enumerate(texts)]
    check_characters(rows[:2], "in.jsonl")
    with pytest.raises(DataError, match=r"in.jsonl: 2 rows hold half of a character \('r2', 'r3'\)"):
        check_characters(rows, "in.jsonl")
