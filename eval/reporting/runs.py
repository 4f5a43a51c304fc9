"""The runs a report shows, as read from their folders."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import DataError
from core.records import Prediction, read_rows
from core.run import MANIFEST, read_manifest, shown_path

FILES = {
    "eval.agree": "metrics.json", "eval.summaries": "metrics.json", "eval.judge": "predictions.jsonl",
    "eval.probes": "metrics.json", "eval.leaderboard": "metrics.json", "merge.experts": "experts.json",
    "eval.directions": "directions.json", "eval.vector_similarity": "similarity.json",
}  # fmt: skip
# What stands in every metrics.json, and in every manifest besides the command and the status.
PARTS = {
    "eval.agree": {"judges", "baselines", "comparisons", "notes"}, "eval.summaries": {"cells", "strengths", "notes"},
    "merge.experts": {"base_model", "experts", "density", "all", "layers", "notes"},
    "eval.probes": {"probes", "notes"}, "eval.leaderboard": {"leaderboards", "orders", "judge_orders", "notes"},
    "eval.directions": {"model", "source", "pivot", "pairs", "layers", "held_out", "held_out_pairs"},
    "eval.vector_similarity": {"languages", "pivot", "cosines"},
    "data_prep.tokens": {"policy", "rows"},
}  # fmt: skip
FACTS = {"config", "inputs", "packages", "git", "seed", "started", "ended"}


class RunRead(NamedTuple):
    """A finished run: its folder as named, its manifest, and its metrics or its predictions."""

    name: str
    manifest: dict[str, Any]
    metrics: dict[str, Any]
    predictions: list[Prediction]

    @property
    def command(self) -> str:
        return self.manifest["command"]


class Line(NamedTuple):
    """One judge or baseline of eval.agree, with its figures over all rows and by group."""

    name: str
    is_baseline: bool
    entry: dict[str, Any]


def read_run(folder: str | Path, files: Mapping[str, str] = FILES) -> RunRead:
    """Read a run folder. Raises DataError where it is no finished run of a command in ``files``, which names its results."""
    folder, known = Path(folder), ", ".join(files)
    manifest = read_manifest(folder)
    if manifest is None:
        raise DataError(f"{folder} is no run folder (no manifest.json in it); name output folders of {known}")
    command = manifest["command"]
    if command not in files:
        raise DataError(f"{folder} is a run of {command}, which is not shown here; name output folders of {known}")
    if manifest["status"] != "done":
        raise DataError(f"{folder} is not finished (status {manifest['status']}); run {command} again to its end first")
    if lacking := FACTS - manifest.keys():
        raise DataError(f"{folder / MANIFEST} lacks {', '.join(sorted(lacking))}; run {command} again")
    if command == "eval.probes" and manifest["config"].get("action") == "make":
        raise DataError(f"{folder} holds records to judge; name the output folder of eval.probes --action read")
    path = folder / files[command]
    if command == "eval.judge":
        return RunRead(shown_path(folder), manifest, {}, read_rows(path, Prediction))
    return RunRead(shown_path(folder), manifest, _metrics(path, command), [])


def _metrics(path: Path, command: str) -> dict[str, Any]:
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read ({error}); run {command} again") from None
    lacking = PARTS[command] - (metrics.keys() if isinstance(metrics, dict) else set())
    if lacking:
        raise DataError(f"{path} lacks {', '.join(sorted(lacking))}; run {command} again")
    return metrics


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def groups(metrics: dict[str, Any], kind: str) -> dict[str, int]:
    """The groups of one kind (by_language, by_capability, …) in eval.agree's figures, with the most items a judge has."""
    sizes: dict[str, int] = {}
    for judge in metrics["judges"].values():
        for name, figures in judge.get(kind, {}).items():
            sizes[name] = max(sizes.get(name, 0), figures["kappa"]["n"])
    return sizes


def has_values(entries: Iterable[dict[str, Any]], kind: str, statistic: str) -> bool:
    """Whether any judge or baseline has this figure in any group of a kind (kappa has none where gold is a mean)."""
    return any(group[statistic]["value"] is not None for entry in entries for group in entry.get(kind, {}).values())


def lines(metrics: dict[str, Any]) -> list[Line]:
    """The judges of eval.agree, then its baselines: the rows of every table."""
    kinds = ((False, metrics["judges"]), (True, metrics["baselines"]))
    return [Line(name, is_baseline, entry) for is_baseline, entries in kinds for name, entry in entries.items()]
