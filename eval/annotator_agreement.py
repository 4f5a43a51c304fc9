"""How far the people who scored the records agree with one another: the ceiling for a judge measured against them."""

from collections.abc import Sequence
from typing import Any

from core.annotators import krippendorff_alpha, leave_one_out, mean_pairwise_pearson
from core.records import JudgeRecord


def annotator_agreement(records: Sequence[JudgeRecord], resamples: int, seed: int) -> dict[str, Any] | None:
    """{"all": …, "by_language": …} over the records with two or more human scores; None where there are none."""
    rated = [record for record in records if record.human_scores and len(record.human_scores) > 1]
    if not rated:
        return None
    languages = sorted({record.language for record in rated})
    return {
        "all": _figures(rated, resamples, seed),
        "by_language": {
            code: _figures([record for record in rated if record.language == code], resamples, seed)
            for code in languages
        },
    }


def _figures(rated: Sequence[JudgeRecord], resamples: int, seed: int) -> dict[str, Any]:
    """Raters are told apart by their place in the list; ``leave_one_out_pooled`` does not read it."""
    scores = [record.human_scores or [] for record in rated]
    raters = max(map(len, scores))
    ratings = [[*own, *[None] * (raters - len(own))] for own in scores]
    clusters = [record.item_id for record in rated]
    one_out = leave_one_out(ratings, clusters, resamples, seed)
    return {
        "raters": raters,
        "pairwise_pearson": mean_pairwise_pearson(ratings, clusters, resamples, seed).to_json(),
        "alpha": krippendorff_alpha(ratings, "interval", clusters, resamples, seed).to_json(),
        "leave_one_out": one_out.mean.to_json(),
        "leave_one_out_pooled": one_out.pooled.to_json(),
    }
