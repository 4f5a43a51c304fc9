"""What filled sheets say: how many translations are valid, how far reviewers agree, what is still unfilled."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.agreement import Figure
from core.annotators import krippendorff_alpha, leave_one_out, pairwise_exact, pairwise_pearson, wilson
from data_prep.review_sheets.judgements import Judgement
from data_prep.review_sheets.sample import DrawnSample

RECORD = "record"
"""The name of the figure over whole records: valid where every text of it is."""


def measure(
    sample: DrawnSample,
    judgements: Sequence[Judgement],
    expected: Mapping[str, Sequence[str]],
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """The content of metrics.json: for all languages, and by language, reviewer and field."""
    kind = sample.about.kind
    came_back = {(judgement.language, judgement.reviewer) for judgement in judgements}
    missing = [f"{code}/{name}" for code, names in expected.items() for name in names if (code, name) not in came_back]
    by_language = {
        code: _language(kind, [one for one in judgements if one.language == code], resamples, seed)
        for code in dict.fromkeys(judgement.language for judgement in judgements)
    }
    return {
        "kind": kind,
        "sample": sample.about.sample,
        "sheets_missing": missing,
        "all": _counts(judgements) | ({"valid": _valid_by_majority(judgements)} if kind == "translation" else {}),
        "by_language": by_language,
    }


def _language(kind: str, judgements: Sequence[Judgement], resamples: int, seed: int) -> dict[str, Any]:
    by_reviewer: dict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        by_reviewer[judgement.reviewer].append(judgement)
    group: dict[str, Any] = _counts(judgements)
    if kind == "translation":
        group["valid"] = _valid_by_majority(judgements)
    group["by_reviewer"] = {name: _reviewer(kind, own) for name, own in by_reviewer.items()}
    if kind != "translate":
        group["agreement"] = {
            field: _agreement(
                kind, [one for one in judgements if one.field == field], list(by_reviewer), resamples, seed
            )
            for field in dict.fromkeys(judgement.field for judgement in judgements)
        }
    return group


def _reviewer(kind: str, judgements: Sequence[Judgement]) -> dict[str, Any]:
    group: dict[str, Any] = _counts(judgements)
    if kind == "translation":
        group["valid"] = _valid_by_majority(judgements)
    if kind == "score":
        scores = Counter(judgement.score for judgement in judgements)
        group["by_score"] = {str(score): scores[score] for score in range(1, 6)}
    return group


def _counts(judgements: Sequence[Judgement]) -> dict[str, int]:
    """Rows, questions about them by all reviewers, those left unfilled, and texts written."""
    return {
        "rows": len({(judgement.language, judgement.row) for judgement in judgements}),
        "questions": len(judgements),
        "unfilled": sum(not judgement.answered for judgement in judgements),
        "written": sum(judgement.written is not None for judgement in judgements),
    }


def _valid_by_majority(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Share of texts of each field, and of whole records, that more than half of those who judged them call valid.

    With one reviewer this is what they say. A text that nobody judged is unscored, and so is a record with such a text.
    """
    votes: dict[tuple[str, str], dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for judgement in judgements:
        given = votes[judgement.language, judgement.row][judgement.field]
        given += [] if judgement.valid is None else [judgement.valid]
    verdicts = [{field: _majority(given) for field, given in fields.items()} for fields in votes.values()]
    names = dict.fromkeys(field for fields in verdicts for field in fields)
    shares = {name: _share(fields[name] for fields in verdicts if name in fields) for name in names}
    whole = [None if None in fields.values() else all(fields.values()) for fields in verdicts]
    return {name: figure.to_json() for name, figure in (shares | {RECORD: _share(whole)}).items()}


def _majority(votes: Sequence[bool]) -> bool | None:
    return 2 * sum(votes) > len(votes) if votes else None


def _share(verdicts: Iterable[bool | None]) -> Figure:
    found = list(verdicts)
    judged = [verdict for verdict in found if verdict is not None]
    return wilson(sum(judged), len(judged), len(found) - len(judged))


def _agreement(
    kind: str, judgements: Sequence[Judgement], reviewers: Sequence[str], resamples: int, seed: int
) -> dict[str, Any]:
    """Agreement of the reviewers of one language on one question; intervals resample items, the same for every figure."""
    cells = {(judgement.row, judgement.reviewer): judgement for judgement in judgements}
    items = {judgement.row: judgement.item_id for judgement in judgements}
    ratings = [[_rating(cells.get((row, reviewer))) for reviewer in reviewers] for row in items]
    clusters = list(items.values())
    exact = pairwise_exact(ratings, clusters, resamples, seed).to_json()
    if kind == "translation":
        return {
            "alpha_nominal": krippendorff_alpha(ratings, "nominal", clusters, resamples, seed).to_json(),
            "exact": exact,
        }
    alphas = {
        "alpha_ordinal": krippendorff_alpha(ratings, "ordinal", clusters, resamples, seed).to_json(),
        "alpha_interval": krippendorff_alpha(ratings, "interval", clusters, resamples, seed).to_json(),
    }
    pearson = pairwise_pearson(ratings, clusters, resamples, seed)
    ceiling = leave_one_out(ratings, clusters, resamples, seed)
    return alphas | {
        "exact": exact,
        "pearson": {f"{reviewers[a]} ~ {reviewers[b]}": figure.to_json() for (a, b), figure in pearson.pairs.items()},
        "pearson_mean": pearson.mean._asdict(),
        "one_against_the_others": {
            "mean": ceiling.mean.to_json(),
            "by_reviewer": {name: figure.to_json() for name, figure in zip(reviewers, ceiling.by_rater, strict=True)},
        },
    }


def _rating(judgement: Judgement | None) -> float | None:
    if judgement is None:
        return None
    answer = judgement.valid if judgement.score is None else judgement.score
    return None if answer is None else float(answer)
