"""Train and test do not meet, by item or by instruction, in any Unicode form."""

import pytest

from core.errors import DataError
from core.overlap import check_disjoint
from tests.core.records_for_tests import record

NFC, NFD = "Nomme un caf\u00e9.", "Nomme un cafe\u0301."


def test_sets_without_a_shared_item_or_instruction_pass() -> None:
    other = record(id="b", item_id="q2", instruction="Another.")
    check_disjoint({"train": [record()], "test": [other], "validation": []})


def test_a_shared_item_is_named_though_the_languages_differ() -> None:
    with pytest.raises(DataError, match=r"train and test share 1 item ids \(q1\); split the rows by item_id"):
        check_disjoint({"train": [record()], "test": [record(id="x", language="fr", instruction="Another.")]})


def test_equal_instructions_are_found_in_another_unicode_form() -> None:  # case 30
    assert NFC != NFD
    sets = {"train": [record(instruction=NFC)], "test": [record(item_id="q2", instruction=NFD)]}
    with pytest.raises(DataError, match=r"share 1 instructions \(q1\)"):
        check_disjoint(sets)


def test_allowed_overlap_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    check_disjoint({"train": [record()], "test": [record()]}, allow=True)
    assert "train and test share 1 item ids (q1); allowed" in capsys.readouterr().err
