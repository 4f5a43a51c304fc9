"""What a choice gains, on verdicts written down here: kappas by hand, and the optimism of a choice among noise."""

import random

import pytest

from core.records import Prediction
from merge.selection import compare, gain, language_kappas, objective_value, optimism

LANGUAGES = ["hi", "fr"]


def rows(gold: str, scores: str, language: str = "hi", half: str = "s") -> list[Prediction]:
    """One row a character; ``-`` is an unscored verdict."""
    return [
        Prediction(
            id=f"{half}{language}{n}", item_id=f"{half}{n}", language=language, system=None, judge="j", template="default",
            gold=float(g), score=None if s == "-" else int(s), expected_score=None, score_mass=None,
            failure="no marker" if s == "-" else None, feedback="", raw="", prompt_tokens=1, shortened=False,
        )
        for n, (g, s) in enumerate(zip(gold, scores, strict=True))
    ]  # fmt: skip


def test_kappas_and_objectives_by_hand() -> None:
    """hi: all right, 1. fr: gold 1 1 5 5, scores 1 5 1 5: distances 0 4 4 0, sum 8; expected by chance 4·4·(2·2+2·2)/16 = 8:
    0. Mean .5, worst 0.
    """
    both = [*rows("1155", "1155"), *rows("1155", "1515", "fr")]
    kappas = language_kappas(both, LANGUAGES, resamples=200, seed=0)
    assert {name: figure.value for name, figure in kappas.items()} == pytest.approx({"hi": 1.0, "fr": 0.0})
    assert {name: figure.n for name, figure in kappas.items()} == {"hi": 4, "fr": 4}
    assert objective_value(kappas, "mean") == pytest.approx(0.5)
    assert objective_value(kappas, "worst") == pytest.approx(0.0)


def test_an_unscored_verdict_counts_as_the_farthest() -> None:
    """gold 1 1 5 5, the last two unscored, so 1: distances 0 0 4 4; by chance 4·(2·4)/4 = 8: kappa 0, and not 1."""
    kappas = language_kappas(rows("1155", "11--"), ["hi"], resamples=50, seed=0)
    assert kappas["hi"].value == pytest.approx(0.0)
    assert kappas["hi"].n_unscored == 2


def test_no_objective_where_a_language_has_no_kappa() -> None:
    kappas = language_kappas([*rows("33", "33"), *rows("15", "15", "fr")], LANGUAGES, resamples=50, seed=0)
    assert kappas["hi"].value is None
    assert objective_value(kappas, "mean") is None
    assert objective_value(kappas, "worst") is None


def test_the_gain_is_of_the_objective() -> None:
    """From hi 1, fr 0 to both 1: mean .5 → 1, worst 0 → 1. The pooled difference is another number: of 8 rows, gold 1 and 5
    alike, two wrong by 4 of expected 16: kappa .5 → 1.
    """
    uniform = [*rows("1155", "1155"), *rows("1155", "1515", "fr")]
    chosen = [*rows("1155", "1155"), *rows("1155", "1155", "fr")]
    for objective, value in (("mean", 0.5), ("worst", 1.0)):
        compared, gained = compare(uniform, chosen, LANGUAGES, objective, resamples=500, seed=0)  # type: ignore[arg-type]
        assert gained.figure.value == pytest.approx(value)
        assert compared["chosen"]["objective"] - compared["uniform"]["objective"] == pytest.approx(value)
        assert compared["difference"]["by_language"]["fr"]["difference"]["value"] == pytest.approx(1.0)
        assert compared["difference"]["by_language"]["hi"]["difference"]["value"] == pytest.approx(0.0)
        assert compared["difference"]["all"]["difference"]["value"] == pytest.approx(0.5)
        assert compared["gain"]["low"] <= value <= compared["gain"]["high"]


def test_the_interval_of_the_gain_resamples_items_not_rows() -> None:
    """Copies of an item in two languages that err together widen the interval of their mean; copies on items of their own
    do not.
    """
    rng = random.Random(0)
    gold = "".join(rng.choice("12345") for _ in range(60))
    noisy = "".join(g if rng.random() < 0.5 else rng.choice("12345") for g in gold)

    def width(other_half: str) -> float:
        uniform = [*rows(gold, noisy), *rows(gold, noisy, "fr", other_half)]
        chosen = [*rows(gold, gold), *rows(gold, gold, "fr", other_half)]
        figure = gain(uniform, chosen, LANGUAGES, "mean", resamples=2000, seed=0).figure
        assert figure.low is not None
        assert figure.high is not None
        return figure.high - figure.low

    assert width("s") > 1.2 * width("other")


def test_the_best_of_many_noisy_ones_gains_nothing_but_optimism() -> None:
    """Twelve judges that guess: the best on one half gains there, and on average over draws all of it is optimism."""
    found = []
    for seed in range(20):
        rng = random.Random(seed)
        gold = "12345" * 8
        judges = [{half: "".join(rng.choice("12345") for _ in gold) for half in "sh"} for _ in range(12)]
        halves = {half: [rows(gold, judge[half], half=half) for judge in judges] for half in "sh"}
        kappas = [
            objective_value(language_kappas(judge, ["hi"], resamples=0, seed=0), "mean") or 0.0 for judge in halves["s"]
        ]
        best = max(range(12), key=lambda judge: kappas[judge])
        gains = {half: gain(halves[half][0], halves[half][best], ["hi"], "mean", resamples=1, seed=0) for half in "sh"}
        on_search, flattery = gains["s"].figure.value, optimism(gains["s"], gains["h"]).value
        assert on_search is not None
        assert flattery is not None
        assert on_search >= 0
        found.append((on_search, flattery))
    mean_gain, mean_optimism = (sum(values) / len(found) for values in zip(*found, strict=True))
    assert mean_gain > 0.1
    assert mean_optimism == pytest.approx(mean_gain, abs=0.08)


def test_optimism_is_the_difference_of_the_gains() -> None:
    search = gain(rows("1155", "1515"), rows("1155", "1155"), ["hi"], "mean", resamples=300, seed=0)
    held_out = gain(rows("1155", "1155"), rows("1155", "1155"), ["hi"], "mean", resamples=300, seed=0)
    figure = optimism(search, held_out)
    assert (search.figure.value, held_out.figure.value, figure.value) == pytest.approx((1.0, 0.0, 1.0))
    assert figure.n == 8
    undefined = gain(rows("33", "33"), rows("33", "33"), ["hi"], "mean", resamples=300, seed=0)
    assert undefined.figure.value is None
    assert optimism(search, undefined).value is None
