"""The cheap judges: hand-worked cuts and folds, and the figures known for real Recon."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from core.agreement import figures
from core.baselines import (
    gold_share_cuts,
    length_baseline,
    length_ratio,
    majority_baseline,
    out_of_fold,
    overlap_baseline,
)
from core.errors import DataError


def record(item_id="a", response="x", reference="xx", gold=3, language="en", reference_language="en"):
    return SimpleNamespace(
        item_id=item_id, language=language, response=response, reference_answer=reference,
        reference_language=reference_language, gold=gold,
    )  # fmt: skip


def test_length_ratio_counts_characters():
    assert length_ratio("नमस्ते", "hello, you") == 0.6  # six code points over ten
    assert length_ratio("hello", None) == length_ratio("hello", "") == 5.0


def test_cuts_give_the_training_values_their_gold_shares():
    values, gold = [10, 1, 2, 9, 3, 8, 4, 7, 5, 6], [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    # Cumulative shares .2 .4 .6 .8 of 10 sorted values: places 1.8, 3.6, 5.4, 7.2 from 0.
    cuts = gold_share_cuts(values, gold)
    assert_allclose(cuts, [2.8, 4.6, 6.4, 8.2])
    assert (1 + np.searchsorted(cuts, range(1, 11))).tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_scores_that_no_gold_reaches_are_never_given():
    cuts = gold_share_cuts([1, 2, 3, 4], [3, 3, 4, 4])
    assert cuts.tolist() == [-np.inf, -np.inf, 2.5, np.inf]
    assert (1 + np.searchsorted(cuts, [-100, 1, 3, 100])).tolist() == [3, 3, 4, 4]


def test_mean_gold_counts_as_the_nearest_score():
    assert_allclose(gold_share_cuts([1, 2, 3, 4], [4 / 3, 2.5, 8 / 3, 5]), gold_share_cuts([1, 2, 3, 4], [1, 3, 3, 5]))


def test_verdicts_do_not_depend_on_the_gold_of_their_own_group():
    rng = np.random.default_rng(0)
    values, gold = rng.random(60).tolist(), rng.integers(1, 6, 60).tolist()
    groups = [f"item {row // 3}" for row in range(60)]
    before = out_of_fold(values, gold, groups)
    changed = [5 if group == "item 4" else score for group, score in zip(groups, gold, strict=True)]
    assert out_of_fold(values, changed, groups)[12:15] == before[12:15]
    assert out_of_fold(values, changed, groups) != before
    assert out_of_fold(values, gold, groups, seed=1) != before


def test_folds_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    values, gold = rng.random(40).tolist(), rng.integers(1, 6, 40).tolist()
    groups = [f"item {row // 2}" for row in range(40)]
    forward = out_of_fold(values, gold, groups)
    assert out_of_fold(values[::-1], gold[::-1], groups[::-1]) == forward[::-1]


def test_each_of_two_groups_is_judged_by_the_other():
    # Trained on a: both gold 1, so b is 1; trained on b (5, 5), a is 5.
    assert out_of_fold([1, 2, 3, 4], [1, 1, 5, 5], ["a", "a", "b", "b"]) == [5, 5, 1, 1]
    with pytest.raises(DataError, match="at least two"):
        out_of_fold([1, 2], [1, 2], ["a", "a"])


def test_length_baseline_uses_one_measure_for_the_whole_set():
    # By ratio the responses are all 1.0; by characters they rise with gold.
    records = [record(f"i{k}", "x" * k, "y" * k, 1 if k <= 10 else 5) for k in range(1, 21)]
    by_ratio, by_characters = length_baseline(records), length_baseline([*records, record("z", "xxx", None)])
    assert set(by_ratio.verdicts) == {1}
    assert by_characters.verdicts[:8] == [1] * 8
    assert by_characters.verdicts[13:20] == [5] * 7


def test_records_without_gold_are_not_judged():
    records = [record("a", gold=None, reference=None), record("b", "x"), record("c", "xx"), record("d", gold=None)]
    assert length_baseline(records).rows == majority_baseline(records).rows == [1, 2]
    assert length_baseline([record("a"), record("a")]) is None
    assert majority_baseline([]) is None


def test_overlap_judges_only_where_response_and_reference_share_a_language():
    good, bad = "the cat sat on the mat", "0123456789"
    records = [record(f"i{k}", good if k % 2 else bad, good, 5 if k % 2 else 1) for k in range(20)]
    hindi = [record(f"h{k}", good, good, 1, language="hi") for k in range(5)]
    found = overlap_baseline([*hindi, *records])
    assert found.rows == list(range(5, 25))
    assert found.verdicts[1::2] == [5] * 10
    assert found.verdicts[0::2] == [1] * 10
    assert overlap_baseline(hindi) is None
    assert overlap_baseline([record("a", reference=None), record("b", reference=None)]) is None


def test_majority_is_the_most_frequent_score_of_the_other_folds():
    records = [record(f"i{k}", gold=4) for k in range(5)] + [record("rare", gold=1)]
    assert majority_baseline(records).verdicts == [4] * 6
    # Each of two items learns from the other alone; equals go to the lower score.
    assert majority_baseline([record("a", gold=2), record("b", gold=5)]).verdicts == [5, 2]
    assert majority_baseline([*[record("a", gold=g) for g in (4, 4, 3, 3)], record("b", gold=1)]).verdicts[4] == 3


@pytest.mark.real
@pytest.mark.parametrize(("language", "kappa", "lowest", "highest"), [("en", 0.639, 0.636, 0.642), ("es", 0.613, 0.602, 0.621)])  # fmt: skip
def test_length_baseline_of_real_recon(shared_data: Path, language, kappa, lowest, highest):
    lines = (shared_data / f"recon_{language}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    records = [record(row["item_id"], row["response"], row["reference_answer"], row["score"], language) for row in rows]
    gold = [row["score"] for row in rows]
    kappas = [
        figures(gold, length_baseline(records, seed).verdicts, ["kappa"], resamples=0)["kappa"].value
        for seed in range(10)
    ]
    assert_allclose([np.mean(kappas), min(kappas), max(kappas)], [kappa, lowest, highest], atol=0.0006)
    assert_allclose(kappas[0], {"en": 0.64, "es": 0.61}[language], atol=0.02)
