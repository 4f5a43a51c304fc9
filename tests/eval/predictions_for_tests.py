"""Predictions and records with the same ids, and a run of eval.agree over them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.records import JudgeRecord, Prediction, write_records, write_rows
from eval.agree import AgreeConfig, main
from tests.eval.pico_judge import record

# Case 25: linear kappa .675325, quadratic .864865, unweighted .375.
GOLD = [1, 2, 3, 4, 5, 3, 2, 4, 5, 1]
JUDGE = [1, 3, 3, 4, 4, 2, 2, 5, 5, 2]


def rows(
    scores: Sequence[int | None], gold: Sequence[float | None], judge: str = "j", language: str = "fr", **changes: Any
) -> list[Prediction]:
    """Predictions r0, r1, … of items i0, i1, …"""
    fixed = {"system": None, "template": "default", "score_mass": None, "feedback": "", "raw": "", "prompt_tokens": 1}
    return [
        Prediction(
            **{
                **fixed,
                "id": f"r{n}",
                "item_id": f"i{n}",
                "language": language,
                "judge": judge,
                "gold": g,
                "score": score,
                "expected_score": None,
                "failure": None if score else "no [RESULT] marker",
                "shortened": False,
                **changes,
            }
        )
        for n, (score, g) in enumerate(zip(scores, gold, strict=True))
    ]


def records(gold: Sequence[int | None], **changes: Any) -> list[JudgeRecord]:
    """The records of ``rows``, each response longer than the one before."""
    return [
        record(f"r{n}", "x" * (n + 1), g, **{"item_id": f"i{n}", "instruction": f"question {n}", **changes})
        for n, g in enumerate(gold)
    ]


def run(
    tmp_path: Path, *judges: list[Prediction], judged: list[JudgeRecord] | None = None, **changes: Any
) -> dict[str, Any]:
    """metrics.json of a run over these files, read by a strict parser."""
    files = []
    for n, predictions in enumerate(judges):
        files.append(tmp_path / f"predictions{n}.jsonl")
        write_rows(predictions, files[-1])
    if judged is not None:
        write_records(judged, tmp_path / "records.jsonl")
        changes["records"] = [tmp_path / "records.jsonl"]
    main(AgreeConfig(**{"predictions": files, "output": tmp_path / "out", "resamples": 200, **changes}))

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads((tmp_path / "out" / "metrics.json").read_text(), parse_constant=no_constant)
