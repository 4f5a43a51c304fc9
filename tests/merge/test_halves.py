"""How validation records are split: by item, languages evenly, and nothing on both sides."""

from collections import Counter
from typing import Any

import pytest

from core.errors import DataError
from core.records import JudgeRecord
from merge.halves import Halves, split
from tests.eval.pico_judge import record


def records(items: int, languages: str = "hi fr", **changes: Any) -> list[JudgeRecord]:
    """Each item in every language, with its own instruction and gold scores from 1 to 5 in turn."""
    return [
        record(f"{item}-{language}", "r", item % 5 + 1, item_id=f"{item}", language=language, instruction=f"i{item}")
        for item in range(items)
        for language in languages.split()
    ]


def items(half: list[JudgeRecord]) -> set[str]:
    return {one.item_id for one in half}


def test_an_item_is_on_one_side_in_all_its_languages() -> None:
    halves = split(records(20), ["hi", "fr"], seed=0)
    assert not items(halves.search) & items(halves.held_out)
    assert (len(halves.search), len(halves.held_out)) == (20, 20)
    assert Counter(one.language for one in halves.search) == {"hi": 10, "fr": 10}
    assert [one.id for half in halves for one in half] != [one.id for one in records(20)]
    assert split(records(20), ["hi", "fr"], seed=0) == halves
    assert split(records(20), ["hi", "fr"], seed=1) != halves


def test_languages_of_their_own_items_are_each_halved() -> None:
    """9 and 7 items: 5 and 4, then the turn goes on with the other half: 3 and 4. Together 8 and 8."""
    own = records(9, "hi") + [
        one.model_copy(update={"id": f"f{one.id}", "item_id": f"f{one.item_id}", "instruction": f"f{one.instruction}"})
        for one in records(7, "fr")
    ]
    for seed in range(5):
        halves = split(own, ["hi", "fr"], seed)
        counts = [Counter(one.language for one in half) for half in halves]
        assert {counts[0]["hi"], counts[1]["hi"]} == {4, 5}
        assert {counts[0]["fr"], counts[1]["fr"]} == {3, 4}
        assert len(halves.search) == len(halves.held_out) == 8


def test_items_of_one_instruction_stay_together() -> None:
    """One instruction composed and decomposed, under two ids: NFC makes them one."""
    pair = [
        record("a", "r", 1, instruction="caf\u00e9", language="hi"),
        record("b", "r", 2, instruction="cafe\u0301", language="hi"),
    ]
    for seed in range(8):
        halves = split([*records(10, "hi"), *pair], ["hi"], seed)
        assert {"a", "b"} <= items(halves.search) or {"a", "b"} <= items(halves.held_out)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (records(3, "hi"), r"^hi has 1 items in the held-out half, fewer than 2; add records"),
        (records(8, "fr"), r"^hi has 0 items in the search half"),
        ([one.model_copy(update={"score": 3}) for one in records(8, "hi")], r"^every record of hi .* gold 3, so that"),
        ([one.model_copy(update={"instruction": "x"}) for one in records(8, "hi")], r"hi has 0 items in the held-out"),
    ],
)
def test_what_cannot_be_searched_on_is_refused(rows: list[JudgeRecord], message: str) -> None:
    with pytest.raises(DataError, match=message):
        split(rows, ["hi"], seed=0)


def test_both_halves_hold_all_records() -> None:
    rows = records(13)
    halves: Halves = split(rows, ["hi", "fr"], seed=3)
    assert sorted(one.id for half in halves for one in half) == sorted(one.id for one in rows)
