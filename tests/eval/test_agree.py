"""eval.agree: figures, groups, baselines, comparisons and joins, against hand-worked values, scipy and the real Recon."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from core.agreement import agreement
from core.config import exit_status
from core.errors import ConfigError, DataError, RunFolderError
from core.jsonl import read_jsonl
from core.records import JudgeRecord, write_records
from core.run import read_manifest
from eval.agree import AgreeConfig, main
from eval.agree_table import number, tables
from tests.eval.pico_judge import record
from tests.eval.predictions_for_tests import GOLD, JUDGE, records, rows, run


def test_figures_of_a_judge(tmp_path: Path) -> None:
    metrics = run(tmp_path, rows(JUDGE, GOLD))
    figures = metrics["judges"]["j"]["all"]
    assert figures["kappa"]["value"] == pytest.approx(0.675325, abs=1e-6)
    assert figures["kappa_quadratic"]["value"] == pytest.approx(0.864865, abs=1e-6)
    assert figures["kappa_unweighted"]["value"] == pytest.approx(0.375, abs=1e-6)
    assert figures["exact"]["value"] == 0.5
    assert figures["kappa"]["low"] < 0.675 < figures["kappa"]["high"]
    assert figures["pearson"]["value"] == pytest.approx(stats.pearsonr(GOLD, JUDGE).statistic)
    # Gold 1: 1, 2; gold 2: 3, 2; gold 3: 3, 2; gold 4: 4, 5; gold 5: 4, 5.
    expected = [[1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 0]]
    assert figures["confusion"] == expected
    differences = {"-4": 0, "-3": 0, "-2": 0, "-1": 2, "0": 5, "1": 3, "2": 0, "3": 0, "4": 0}
    assert figures["differences"] == differences
    assert figures["failures"] == {}
    manifest = read_manifest(tmp_path / "out")
    assert manifest is not None
    assert manifest["status"] == "done"
    assert (tmp_path / "out" / "table.md").read_text() == tables(metrics)


def test_unscored_rows_are_counted(tmp_path: Path) -> None:
    # Case 23: the headline puts the two unscored rows farthest from gold 2 and 1, at 5.
    figures = run(tmp_path, rows([5, 4, 3, 2, 1, 5, 4, 3, None, None], [5, 4, 3, 2, 1, 5, 4, 3, 2, 1]))["judges"]["j"][
        "all"
    ]
    assert figures["kappa"]["value"] == pytest.approx(0.5783, abs=1e-4)
    assert figures["kappa_scored"]["value"] == 1
    assert (figures["unscored_rate"]["value"], figures["unscored_rate"]["n_unscored"]) == (0.2, 2)
    assert figures["failures"] == {"no [RESULT] marker": 2}
    assert [row[5] for row in figures["confusion"]] == [1, 1, 0, 0, 0]
    assert sum(figures["differences"].values()) == 8


def test_groups_are_the_figures_of_their_rows(tmp_path: Path) -> None:
    judged = [
        one.model_copy(update={"capability": "reason" if n < 5 else None, "source": "ab"[n % 2], "language": language})
        for n, (one, language) in enumerate(zip(records(GOLD), ["fr"] * 6 + ["hi"] * 4, strict=True))
    ]
    french, hindi = rows(JUDGE, GOLD)[:6], rows(JUDGE, GOLD, language="hi")[6:]
    judge = run(tmp_path, french + hindi, judged=judged)["judges"]["j"]

    def kappa(some: slice) -> float | None:
        return agreement(GOLD[some], JUDGE[some], resamples=0).kappa.value

    assert list(judge["by_language"]) == ["fr", "hi"]
    assert judge["by_language"]["fr"]["kappa"]["value"] == kappa(slice(6))
    assert judge["by_language"]["hi"]["kappa"]["value"] == kappa(slice(6, 10))
    assert list(judge["by_capability"]) == ["reason"]
    assert judge["by_capability"]["reason"]["n"] == 5
    assert judge["by_source"]["a"]["kappa"]["value"] == kappa(slice(0, 10, 2))


def test_rows_of_one_item_are_resampled_together(tmp_path: Path) -> None:
    # One item: there is nothing to resample.
    figures = run(tmp_path, rows(JUDGE, GOLD, item_id="one"))["judges"]["j"]["all"]
    assert figures["kappa"]["value"] == pytest.approx(0.675325, abs=1e-6)
    assert figures["kappa"]["low"] is figures["unscored_rate"]["low"] is None


def test_judges_are_compared_on_common_items(tmp_path: Path) -> None:
    a, b = rows(JUDGE, GOLD, "a"), rows(list(reversed(JUDGE)), GOLD, "b")[2:]
    metrics = run(tmp_path, a, b, resamples=500)
    (comparison,) = metrics["comparisons"]
    on_common = [agreement(GOLD[2:], scores[2:], resamples=0).kappa.value for scores in (JUDGE, JUDGE[::-1])]
    assert None not in on_common
    assert (comparison["a"], comparison["b"], comparison["statistic"], comparison["n"]) == ("a", "b", "kappa", 8)
    assert comparison["difference"]["value"] == pytest.approx(on_common[0] - on_common[1])  # type: ignore[operator]
    assert comparison["p_smallest"] == pytest.approx(1 / 501)
    assert comparison["p_smallest"] <= comparison["p"] <= 1
    assert "a (10 rows) and b (8) are compared on 8 in common" in metrics["notes"]


def test_judges_without_a_common_item_are_not_compared(tmp_path: Path) -> None:
    other = [one.model_copy(update={"id": f"s{n}"}) for n, one in enumerate(rows(JUDGE, GOLD, "b"))]
    (comparison,) = run(tmp_path, rows(JUDGE, GOLD, "a"), other)["comparisons"]
    assert (comparison["n"], comparison["difference"]["value"], comparison["p"]) == (0, None, None)


def test_one_judge_in_several_files_and_several_judges_in_one(tmp_path: Path) -> None:
    first, second = rows(JUDGE, GOLD), rows(JUDGE, GOLD, "k")
    metrics = run(tmp_path, first[:4], first[4:] + second)
    assert {name: judge["all"]["n"] for name, judge in metrics["judges"].items()} == {"j": 10, "k": 10}


def test_baselines_stand_beside_the_judge(tmp_path: Path) -> None:
    # Longer is better here, so that length knows gold in all but the folds' edges.
    gold = [1] * 10 + [2] * 10 + [3] * 10 + [4] * 10 + [5] * 10
    metrics = run(tmp_path, rows(gold, gold), judged=records(gold))
    assert set(metrics["baselines"]) == {"length", "majority"}
    assert metrics["baselines"]["length"]["all"]["kappa"]["value"] > 0.9
    majority = metrics["baselines"]["majority"]["all"]
    # Left out of its own fold, the most frequent score of the others is never that of most rows tested.
    assert majority["exact"]["value"] <= 0.2
    assert majority["kappa"] == {
        "value": None,
        "low": None,
        "high": None,
        "n": 50,
        "n_unscored": 0,
        "reason": "this baseline stands beside exact accuracy only",
    }
    assert [(row["a"], row["b"]) for row in metrics["comparisons"]] == [("j", "length baseline")]
    assert any(note.startswith("no baseline overlap") for note in metrics["notes"])


def test_overlap_stands_where_response_and_reference_share_a_language(tmp_path: Path) -> None:
    judged = records(GOLD, reference_answer="x" * 10, reference_language="fr")
    metrics = run(tmp_path, rows(JUDGE, GOLD), judged=judged)
    assert set(metrics["baselines"]) == {"length", "overlap", "majority"}


def test_baselines_learn_in_each_language_by_itself(tmp_path: Path) -> None:
    # Hindi responses are ten times as long; learned together, length would see nothing but the language.
    gold = [1, 2, 3, 4, 5] * 6
    french = [record(f"f{n}", "x" * (10 * g + n % 7), g, instruction=f"q{n}") for n, g in enumerate(gold)]
    hindi = [
        record(f"h{n}", "x" * 10 * (10 * g + n % 7), g, language="hi", instruction=f"q{n}") for n, g in enumerate(gold)
    ]
    predictions = [
        rows([1], [one.score])[0].model_copy(update={"id": one.id, "item_id": one.item_id, "language": one.language})
        for one in [*french, *hindi]
    ]
    (tmp_path / "both").mkdir()
    (tmp_path / "alone").mkdir()
    both = run(tmp_path / "both", predictions, judged=french + hindi)["baselines"]["length"]
    alone = run(tmp_path / "alone", predictions[:30], judged=french)["baselines"]["length"]
    assert both["by_language"]["fr"]["confusion"] == alone["all"]["confusion"]
    assert both["by_language"]["hi"]["kappa"]["value"] > 0.8


def test_length_control_needs_records(tmp_path: Path) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    gold = GOLD * 4
    scores = JUDGE * 4
    control = run(tmp_path / "with", rows(scores, gold), judged=records(gold))["judges"]["j"]["all"]["length_control"]
    assert control["partial_spearman"]["n"] == 40
    assert [quartile["kappa"]["n"] for quartile in control["kappa_by_quartile"]] == [10, 10, 10, 10]
    assert all(q["null_low"] <= q["null_mean"] <= q["null_high"] for q in control["kappa_by_quartile"])
    without = run(tmp_path / "without", rows(scores, gold))
    assert without["judges"]["j"]["all"]["length_control"] is None
    assert without["baselines"] == {}
    assert without["notes"] == ["no baseline length, overlap, majority: it reads --records"]


def test_gold_may_come_from_the_records_and_rows_without_are_left_out(tmp_path: Path) -> None:
    gold: list[int | None] = [*GOLD[:8], None, None]
    metrics = run(tmp_path, rows(JUDGE, [None] * 10), judged=records(gold))
    assert metrics["judges"]["j"]["all"]["n"] == 8
    assert "j: 2 of 10 rows have no gold and were left out" in metrics["notes"]


def test_a_mean_of_annotators_has_no_kappa_and_is_compared_by_pearson(tmp_path: Path) -> None:
    gold = [1.5, *GOLD[1:]]
    metrics = run(tmp_path, rows(JUDGE, gold, "a"), rows(JUDGE[::-1], gold, "b"))
    figures = metrics["judges"]["a"]["all"]
    assert (figures["kappa"]["value"], figures["kappa"]["reason"]) == (None, "gold is not an integer")
    assert figures["confusion"] is figures["differences"] is None
    assert figures["pearson"]["value"] == pytest.approx(stats.pearsonr(gold, JUDGE).statistic)
    assert metrics["comparisons"][0]["statistic"] == "pearson"


@pytest.mark.parametrize("scores", [[3, 3], [None, None], [5, 5]])
def test_two_rows_constant_or_unscored_are_valid_json(tmp_path: Path, scores: list[int | None]) -> None:
    metrics = run(tmp_path, rows(scores, [3, 3]), judged=records([3, 3]))
    assert metrics["judges"]["j"]["all"]["pearson"]["value"] is None
    if scores == [3, 3]:
        kappa = metrics["judges"]["j"]["all"]["kappa"]
        assert (kappa["value"], kappa["reason"], kappa["n"]) == (None, "one label", 2)


def test_ids_meet_whatever_their_unicode_form(tmp_path: Path) -> None:
    def named(row: Any, form: Any) -> Any:
        texts = {"id": f"café {row.id}", "item_id": f"café {row.item_id}"}
        return row.model_copy(update={name: unicodedata.normalize(form, text) for name, text in texts.items()})

    predictions = [named(row, "NFD") for row in rows(JUDGE, GOLD)]
    metrics = run(tmp_path, predictions, judged=[named(one, "NFC") for one in records(GOLD, capability="c")])
    assert metrics["judges"]["j"]["by_capability"]["c"]["n"] == 10
    assert [row["n"] for row in metrics["comparisons"]] == [10]
    other_form = [named(row, "NFC") for row in rows(JUDGE, GOLD, "k")]
    (comparison,) = run(tmp_path, predictions, other_form, output=tmp_path / "two")["comparisons"]
    assert comparison["n"] == 10


def test_wrong_joins_are_refused(tmp_path: Path) -> None:
    good = rows(JUDGE, GOLD)
    with pytest.raises(DataError, match="predictions of judge j: 1 ids occur more than once"):
        run(tmp_path, good + good[:1])
    with pytest.raises(DataError, match=r"predictions1.jsonl: judge j has r0 in .*predictions0.jsonl too; give every"):
        run(tmp_path, good, good[:1])
    with pytest.raises(DataError, match="1 rows have no counterpart in the records"):
        run(tmp_path, good, judged=records(GOLD)[:9])
    with pytest.raises(DataError, match=r"r0 has gold 1.0, its record 2.0"):
        run(tmp_path, good, judged=records([2, *GOLD[1:]]))
    with pytest.raises(DataError, match="r0 has item_id i0, its record other"):
        run(tmp_path, good, judged=records(GOLD, item_id="other"))
    with pytest.raises(DataError, match="r0 has language fr, its record hi"):
        run(tmp_path, good, judged=records(GOLD, language="hi"))
    with pytest.raises(DataError, match="r0 has language fr in judge j and hi in judge k"):
        run(tmp_path, good, rows(JUDGE, GOLD, "k", "hi"))
    with pytest.raises(DataError, match=r"predictions0.jsonl: r0 has gold 0; gold is a number from 1 to 5"):
        run(tmp_path, rows(JUDGE, [0, *GOLD[1:]]))
    with pytest.raises(DataError, match="r3 has gold 4 in judge j and 5 in judge k"):
        run(tmp_path, good, rows(JUDGE, [1, 2, 3, 5, 5, 3, 2, 4, 5, 1], "k"))
    with pytest.raises(DataError, match="judge j: no row has gold"):
        run(tmp_path, rows(JUDGE, [None] * 10))
    assert not (tmp_path / "out").exists()


def test_records_trained_on_are_refused_unless_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged = records(GOLD, instruction="Décris.")
    train = tmp_path / "train.jsonl"
    write_records([record("t", "y", 1, instruction=unicodedata.normalize("NFD", "Décris."))], train)
    with pytest.raises(DataError, match="share 1 instructions"):
        run(tmp_path, rows(JUDGE, GOLD), judged=judged, train_records=[train])
    assert not (tmp_path / "out").exists()
    run(tmp_path, rows(JUDGE, GOLD), judged=judged, train_records=[train], allow_overlap=True)
    assert "share 1 instructions" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="set records too"):
        AgreeConfig(predictions=[train], output=tmp_path, train_records=[train])


def test_an_existing_folder_is_refused_and_a_missing_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, rows(JUDGE, GOLD))
    with pytest.raises(RunFolderError):
        run(tmp_path, rows(JUDGE, GOLD))
    assert exit_status(lambda: main(AgreeConfig(predictions=[Path("absent")], output=tmp_path / "new"))) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: absent cannot be read")


def test_the_table_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = run(tmp_path, rows(JUDGE, GOLD, "my|judge"), judged=records(GOLD))
    said = capsys.readouterr().out
    assert said.rstrip("\n") == (tmp_path / "out" / "table.md").read_text().rstrip("\n")
    lines = said.splitlines()
    cells = [[cell.strip() for cell in line.split(" | ")] for line in lines[:5]]
    assert cells[0] == ["| judge", "n", "unscored", "kappa", "pearson", "spearman", "kendall", "exact |"]
    kappa = metrics["judges"]["my|judge"]["all"]["kappa"]
    assert cells[2][:4] == [r"| my\|judge", "10", "0", f".68 [{number(kappa['low'])}, {number(kappa['high'])}]"]
    assert [row[0] for row in cells[3:]] == ["| length baseline", "| majority baseline"]
    assert len({len(line) for line in lines[:5]}) == 1
    assert any(line.startswith("- no baseline overlap") for line in lines)


@pytest.mark.real
@pytest.mark.parametrize(("language", "kappa"), [("en", 0.64), ("es", 0.61)])
def test_length_baseline_on_the_real_recon(shared_data: Path, tmp_path: Path, language: str, kappa: float) -> None:
    raw = [row for _, row in read_jsonl(shared_data / f"recon_{language}.jsonl")]
    fields = [name for name in JudgeRecord.model_fields if name in raw[0]]
    judged = [
        JudgeRecord(**{name: row[name] for name in fields}, language=language, reference_language="en") for row in raw
    ]
    predictions = [
        row.model_copy(update={"id": one.id, "item_id": one.item_id})
        for row, one in zip(rows([3] * len(raw), [one.gold for one in judged], language=language), judged, strict=True)
    ]
    metrics = run(tmp_path, predictions, judged=judged, resamples=1000)
    assert metrics["baselines"]["length"]["all"]["kappa"]["value"] == pytest.approx(kappa, abs=0.02)
    assert ("overlap" in metrics["baselines"]) == (language == "en")
    assert metrics["judges"]["j"]["all"]["kappa"]["value"] == pytest.approx(0)  # a constant judge
    assert len(metrics["judges"]["j"]["by_source"]) == len({row["source"] for row in raw})
