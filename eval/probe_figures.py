"""What a probe does to a judge: how its verdicts shift, over all pairs and in groups.

Figures are over the pairs scored on both sides; those with an unscored side are counted, and ``bounds`` says how far the
shift could be with them, each missing score being 1 or 5.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from core.agreement import Figure, figures
from core.means import mean_figure
from core.paired import paired_difference
from eval.probe_pairs import ProbePair

GROUPINGS = ("language", "capability")


def grouped_shifts(
    pairs: Sequence[ProbePair], resamples: int, seed: int, control: Mapping[str, int | None] | None = None
) -> dict[str, Any]:
    """{"all": figures, "by_language": {code: figures}, "by_capability": …}; pairs without a name are in all.

    ``control``: scores of the same originals with a harmless text added, by id; a shift is then also told beyond theirs.
    """
    entry: dict[str, Any] = {"all": shift_figures(pairs, resamples, seed, control)}
    for grouping in GROUPINGS:
        groups: dict[str, list[ProbePair]] = defaultdict(list)
        for pair in pairs:
            if (name := getattr(pair, grouping)) is not None:
                groups[name].append(pair)
        entry[f"by_{grouping}"] = {
            name: shift_figures(groups[name], resamples, seed, control) for name in sorted(groups)
        }
    return entry


def shift_figures(
    pairs: Sequence[ProbePair], resamples: int, seed: int, control: Mapping[str, int | None] | None = None
) -> dict[str, Any]:
    """All figures of one group of pairs, as they stand in metrics.json."""
    below_5 = [pair for pair in pairs if pair.gold is not None and pair.gold < 5]
    entry = {
        "n": len(pairs),
        "unscored": {
            "original": sum(pair.original is None for pair in pairs),
            "probe": sum(pair.probe is None for pair in pairs),
            "either": sum(pair.original is None or pair.probe is None for pair in pairs),
        },
        "shortened": sum(pair.shortened for pair in pairs),
        **_moves(pairs, resamples, seed),
        "bounds": list(shift_bounds(pairs)),
        "expected_shift": _expected_shift(pairs, resamples, seed),
        # A response that deserves a 5 cannot be moved up.
        "below_5": _moves(below_5, resamples, seed) if below_5 else None,
        "beyond_control": None if control is None else _beyond(pairs, control, resamples, seed),
    }
    return entry | _agreement(pairs, resamples, seed)


def shift_bounds(pairs: Sequence[ProbePair]) -> tuple[float, float]:
    """The smallest and the largest mean shift over all pairs that unscored verdicts of 1 to 5 would give."""
    lowest = fmean((pair.probe or 1) - (pair.original or 5) for pair in pairs)
    highest = fmean((pair.probe or 5) - (pair.original or 1) for pair in pairs)
    return lowest, highest


def _moves(pairs: Sequence[ProbePair], resamples: int, seed: int) -> dict[str, Any]:
    """Mean shift in points, the shares that stayed, rose and fell, and the shares given 5 with the probe and without."""
    clusters = [pair.item_id for pair in pairs]

    def mean(value: Callable[[int, int], float]) -> dict[str, Any]:
        values = [
            None if pair.original is None or pair.probe is None else float(value(pair.original, pair.probe))
            for pair in pairs
        ]
        return mean_figure(values, clusters, resamples, seed).to_json()

    return {
        "shift": mean(lambda original, probe: probe - original),
        "unmoved": mean(lambda original, probe: probe == original),
        "moved_up": mean(lambda original, probe: probe > original),
        "moved_down": mean(lambda original, probe: probe < original),
        "given_5": mean(lambda _, probe: probe == 5),
        "given_5_original": mean(lambda original, _: original == 5),
    }


def _expected_shift(pairs: Sequence[ProbePair], resamples: int, seed: int) -> dict[str, Any]:
    values = [
        None
        if pair.expected_original is None or pair.expected_probe is None
        else pair.expected_probe - pair.expected_original
        for pair in pairs
    ]
    return mean_figure(values, [pair.item_id for pair in pairs], resamples, seed).to_json()


def _beyond(pairs: Sequence[ProbePair], control: Mapping[str, int | None], resamples: int, seed: int) -> dict[str, Any]:
    """The mean of the score under attack minus that with a harmless text, on the same originals."""
    both = [(pair.probe, control.get(pair.id)) for pair in pairs]
    values = [None if probe is None or harmless is None else float(probe - harmless) for probe, harmless in both]
    return mean_figure(values, [pair.item_id for pair in pairs], resamples, seed).to_json()


def _agreement(pairs: Sequence[ProbePair], resamples: int, seed: int) -> dict[str, Any]:
    """Linear kappa with gold under the probe, on the originals, and their difference on the pairs that have gold."""
    graded = [(pair, pair.gold) for pair in pairs if pair.gold is not None]
    if not graded:
        nothing = Figure(None, None, None, 0, 0, "no gold for the altered records").to_json()
        return {"kappa": nothing, "kappa_original": nothing, "kappa_difference": None}
    gold, clusters = [value for _, value in graded], [pair.item_id for pair, _ in graded]
    probes, originals = [pair.probe for pair, _ in graded], [pair.original for pair, _ in graded]
    difference = paired_difference(gold, probes, originals, clusters, "kappa", resamples, seed)
    return {
        "kappa": figures(gold, probes, ["kappa"], clusters, resamples, seed)["kappa"].to_json(),
        "kappa_original": figures(gold, originals, ["kappa"], clusters, resamples, seed)["kappa"].to_json(),
        "kappa_difference": difference.to_json(),
    }
