"""Item ids for rows without: the same over languages, subsets and Unicode forms."""

from data_prep.items import ItemNames


def test_languages_and_subsets_agree() -> None:
    english, hindi = ItemNames(), ItemNames()
    english_ids = [english.item_id(f"Question {n}", "Is it right?", f"Right {n}.") for n in range(4)]
    # The Hindi set lacks the first prompt, as translated sets do where a translation failed.
    hindi_ids = [hindi.item_id(f"प्रश्न {n}", "Is it right?", f"Right {n}.") for n in range(1, 4)]
    assert hindi_ids == english_ids[1:]
    assert len(set(english_ids)) == 4


def test_two_translations_of_one_prompt_are_one_item() -> None:
    names = ItemNames()
    assert names.item_id("Un día", "c", "ref") == names.item_id("Una jornada", "c", "ref")


def test_the_same_instruction_in_either_unicode_form_is_one_item() -> None:
    names = ItemNames()
    assert names.item_id("\u0958लम", "c", "first") == names.item_id("\u0915\u093cलम", "c", "second")


def test_criteria_alone_do_not_make_an_item() -> None:
    names = ItemNames()
    assert names.item_id("one", "c", None) != names.item_id("two", "c", None)


def test_white_space_does_not_matter() -> None:
    assert ItemNames().item_id("x", "Is it\nright? ", "r") == ItemNames().item_id("x", "Is it right?", " r")


def test_rows_of_an_item_are_counted_by_language() -> None:
    names = ItemNames()
    assert [names.row_id("i", code) for code in ("hi", "hi", "te")] == ["i__hi__1", "i__hi__2", "i__te__1"]
