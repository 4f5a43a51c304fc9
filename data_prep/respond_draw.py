"""The prompts that are asked: so many a language, drawn by a seed, in proportion over source and capability."""

from collections import defaultdict
from collections.abc import Sequence

from core.progress import warn
from core.records import JudgeRecord
from data_prep.review_sheets.strata import Candidate, draw


def draw_prompts(records: Sequence[JudgeRecord], count: int, seed: int) -> list[JudgeRecord]:
    """``count`` prompts a language (all, with a warning, where there are fewer); the first record of an item stands for it.

    Languages that hold the same items get the same draw.
    """
    by_language: dict[str, dict[str, JudgeRecord]] = defaultdict(dict)
    for record in records:
        by_language[record.language].setdefault(record.item_id, record)
    drawn = []
    for code, prompts in sorted(by_language.items()):
        if len(prompts) < count:
            warn(f"{code}: {len(prompts)} prompts, fewer than the {count} asked for; all are taken")
        items = [Candidate(item, (str(row.source), str(row.capability))) for item, row in prompts.items()]
        drawn += [prompts[item] for item in draw(items, count, seed)]
    return drawn
