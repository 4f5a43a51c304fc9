"""The dear step of a search: merge one candidate into a temporary folder, let it judge the records, remove it."""

import gc
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core.records import JudgeRecord, Prediction
from eval.grading import Judge
from merge.preflight import Source
from merge.proposals import Candidate
from merge.recipe import MergeConfig
from merge.run import finish, merge
from train.checkpoint import room_to_write


def with_settings(recipe: MergeConfig, candidate: Candidate) -> MergeConfig:
    """The recipe with a candidate's weights and densities. Raises ConfigError as MergeConfig does."""
    values = recipe.model_dump(include=set(MergeConfig.model_fields))
    values["weight"] = None
    if candidate.densities is not None:
        values["density"] = None
    for name, expert in values["experts"].items():
        expert["weight"] = candidate.weights[name]
        if candidate.densities is not None:
            expert["density"] = candidate.densities[name]
    return MergeConfig.model_validate(values)


def judged(
    recipe: MergeConfig,
    sources: Mapping[str, Source],
    stop_token: int,
    records: Sequence[JudgeRecord],
    scratch: Path,
    **judging: Any,
) -> list[Prediction]:
    """The verdicts of a recipe's merge on the records; ``judging`` goes to Judge.from_pretrained.

    The merge lies in a folder of ``scratch`` while it judges, so that the disk holds one at a time. Raises as merging does.
    """
    with TemporaryDirectory(dir=scratch, prefix=".candidate-") as name, room_to_write(Path(name)):
        folder = Path(name)
        merge(recipe, sources, folder)
        finish(recipe, sources, folder, stop_token)
        rows = Judge.from_pretrained(folder, **judging).grade_records(list(records))
    gc.collect()  # else this model may stand in memory beside the next
    return rows


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed search left half-merged or folded: the hidden folders."""
    for path in folder.glob(".*/"):
        shutil.rmtree(path)
