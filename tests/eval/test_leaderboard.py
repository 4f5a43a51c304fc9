"""eval.leaderboard: means, tests, clusters, corrected means and orders, by hand, against scipy, and in broken cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from core.config import exit_status, parse_config
from core.errors import ConfigError, DataError
from core.jsonl import write_json
from core.records import JudgeRecord, Prediction, write_records, write_rows
from eval.leaderboard import LeaderboardConfig, main
from tests.eval.pico_judge import record
from tests.eval.predictions_for_tests import GOLD, JUDGE, rows
from tests.eval.predictions_for_tests import run as run_agree

Scores = dict[str, list[int | None]]


def verdicts(scores: Scores, judge: str = "j", language: str = "fr", per_item: int = 1) -> list[Prediction]:
    """Predictions on each system's responses; response n answers item n // per_item."""
    return [
        row.model_copy(update={"id": f"{language}-{system}-{n}", "item_id": f"i{n // per_item}"})
        for system, given in scores.items()
        for n, row in enumerate(rows(given, [None] * len(given), judge, language, system=system))
    ]


def records_of(predictions: list[Prediction], people: dict[str, list[float]] | None = None) -> list[JudgeRecord]:
    """The records of predictions, with the human scores of some by id."""
    return [
        record(
            row.id, "x", item_id=row.item_id, language=row.language, system=row.system,
            human_scores=(people or {}).get(row.id),
        )
        for row in predictions
    ]  # fmt: skip


def run(
    tmp_path: Path, *judges: list[Prediction], records: list[JudgeRecord] | None = None, **changes: Any
) -> dict[str, Any]:
    """metrics.json of a run over these rows, read by a strict parser."""
    changes["predictions"] = []
    for number, predictions in enumerate(judges):
        changes["predictions"].append(tmp_path / f"predictions{number}.jsonl")
        write_rows(predictions, changes["predictions"][-1])
    if records is not None:
        write_records(records, tmp_path / "records.jsonl")
        changes["records"] = [tmp_path / "records.jsonl"]
    main(LeaderboardConfig(**{"output": tmp_path / "out", "resamples": 400, **changes}))

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads((tmp_path / "out" / "metrics.json").read_text(), parse_constant=no_constant)


def systems(metrics: dict[str, Any], judge: str = "j") -> dict[str, dict[str, Any]]:
    return {entry["system"]: entry for entry in metrics["leaderboards"][judge]["all"]["systems"]}


def test_means_by_hand(tmp_path: Path) -> None:
    found = systems(run(tmp_path, verdicts({"low": [1, 2, 3, None], "high": [5, 4, 3, 4]})))
    assert list(found) == ["high", "low"]  # best first
    mean = found["low"]["mean"]
    assert (mean["value"], mean["n"], mean["n_unscored"]) == (2, 3, 1)
    assert 1 <= mean["low"] <= 2 <= mean["high"] <= 3
    assert found["low"]["bounds"] == [7 / 4, 11 / 4]  # the unscored one is 1, or 5
    assert found["high"]["bounds"] == [4, 4]
    assert [entry["rank"] for entry in found.values()] == [1, 2]
    assert found["low"]["corrected"] is found["low"]["people"] is None


def test_tests_are_on_common_prompts_and_holm_corrects_them(tmp_path: Path) -> None:
    high, low, other = [5, 4] * 10, [1, 2] * 10, [2, 1] * 10
    metrics = run(tmp_path, verdicts({"low": low, "other": other[:16], "high": high}), resamples=4000)
    (first, second, third) = metrics["leaderboards"]["j"]["all"]["comparisons"]
    assert [(row["a"], row["b"], row["n"]) for row in (first, second, third)] == [
        ("high", "low", 20), ("high", "other", 16), ("low", "other", 16),
    ]  # fmt: skip
    assert (first["difference"]["value"], third["difference"]["value"], third["p"]) == (3, 0, 1)
    smallest = 1 / 4001
    # All 20 differences are above 0: p is about 2 / 2²⁰, so the smallest there is; of three tests Holm makes it three times that.
    assert first["p"] == first["p_smallest"] == pytest.approx(smallest)
    assert first["p_holm"] == pytest.approx(3 * smallest)
    assert [entry["cluster"] for entry in systems(metrics).values()] == [1, 2, 2]
    assert [entry["rank"] for entry in systems(metrics).values()] == [1, 2, 2]
    note = "j: systems answered unequal prompts (16 to 20), so their means are over unequal prompts; the tests are on common ones"
    assert note in metrics["notes"]


def test_p_is_scipys_exact_one(tmp_path: Path) -> None:
    a, b = [3, 4, 5, 2, 4, 5, 3, 4, 2, 5], [2, 4, 3, 2, 5, 3, 3, 2, 1, 4]

    def difference(x: Any, y: Any, axis: int = -1) -> Any:
        return (x - y).mean(axis=axis)

    exact = stats.permutation_test((a, b), difference, permutation_type="samples", n_resamples=2000)
    metrics = run(tmp_path, verdicts({"a": [*a], "b": [*b]}), resamples=20_000)
    (row,) = metrics["leaderboards"]["j"]["all"]["comparisons"]
    assert row["difference"]["value"] == pytest.approx(0.8)
    assert row["p"] == pytest.approx(exact.pvalue, abs=0.01)


def test_several_responses_to_a_prompt_are_one_cluster_and_one_pair(tmp_path: Path) -> None:
    # Two prompts of two responses each: item means 2 and 4 against 1 and 1.
    metrics = run(tmp_path, verdicts({"a": [1, 3, 3, 5], "b": [1, 1, 1, 1]}, per_item=2), resamples=4000)
    found = systems(metrics)
    assert (found["a"]["mean"]["n"], found["a"]["n_items"]) == (4, 2)
    # Only 2, 3 and 4 can be drawn; single responses would reach 1 and 5.
    assert (found["a"]["mean"]["low"], found["a"]["mean"]["high"]) == (2, 4)
    (row,) = metrics["leaderboards"]["j"]["all"]["comparisons"]
    assert (row["n"], row["difference"]["value"]) == (2, 2)
    # Signs of 1 and 3: the mean is as far as 2 in 2 of 4 permutations.
    assert row["p"] == pytest.approx(0.5, abs=0.03)


def test_an_unscored_prompt_is_left_out_of_the_pair_and_counted(tmp_path: Path) -> None:
    metrics = run(tmp_path, verdicts({"a": [5, None, 3], "b": [1, 1, None]}))
    (row,) = metrics["leaderboards"]["j"]["all"]["comparisons"]
    difference = row["difference"]
    assert (difference["value"], difference["n"], difference["n_unscored"]) == (4, 1, 2)


def test_languages_share_the_prompt_as_cluster(tmp_path: Path) -> None:
    both = [*verdicts({"a": [1, 5], "b": [2, 2]}), *verdicts({"a": [5, 1], "b": [2, 4]}, language="hi")]
    metrics = run(tmp_path, both)
    entry = systems(metrics)["a"]
    # Each item is 1 in one language and 5 in the other.
    assert (entry["mean"]["value"], entry["mean"]["low"], entry["mean"]["high"]) == (3, 3, 3)
    by_language = metrics["leaderboards"]["j"]["by_language"]
    assert {code: board["systems"][0]["system"] for code, board in by_language.items()} == {"fr": "a", "hi": "a"}
    assert metrics["leaderboards"]["j"]["all"]["comparisons"][0]["n"] == 4
    table = (tmp_path / "out" / "table.md").read_text()
    assert "j: mean (cluster) by language" in table


def test_corrected_means_by_hand(tmp_path: Path) -> None:
    predictions = verdicts({"a": [5, 5, 4, 4], "b": [2, 3, 2, 3]})
    people: dict[str, list[float]] = {"fr-a-0": [3, 4], "fr-a-2": [4, 4, 4], "fr-b-0": [1]}
    metrics = run(tmp_path, predictions, records=records_of(predictions, people))
    entry = systems(metrics)["a"]
    # 4.5 + ((3.5 − 5) + (4 − 4)) / 2 = 3.75; people alone: (3.5 + 4) / 2.
    assert (entry["corrected"]["value"], entry["people"]["value"], entry["n_items_people"]) == (3.75, 3.75, 2)
    refused = systems(metrics)["b"]["corrected"]
    assert (refused["value"], refused["reason"]) == (None, "1 human-scored items, 2 are the fewest")
    assert "j: fewer than 30 prompts scored by people (a 2): intervals too narrow" in metrics["notes"]


def test_orders_of_judges_people_and_gold(tmp_path: Path) -> None:
    scores: Scores = {"a": [1, 2], "b": [3, 3], "c": [5, 4]}
    turned: Scores = {"a": [1, 2], "b": [5, 5], "c": [3, 3]}
    first = verdicts(scores)
    people: dict[str, list[float]] = {row.id: [6.0 - (row.score or 0)] for row in first}
    metrics = run(tmp_path, first, verdicts(turned, judge="k"), records=records_of(first, people))
    found = {(row["a"], row["b"]): row for row in metrics["orders"]}
    assert list(found) == [("j", "k"), ("j", "people"), ("k", "people")]
    # Means 1.5, 3, 4.5 and 1.5, 5, 3: tau 1/3, rho .5. People turn j's order round.
    assert found["j", "k"]["kendall"]["value"] == pytest.approx(1 / 3)
    assert found["j", "k"]["spearman"]["value"] == pytest.approx(0.5)
    assert found["j", "people"]["kendall"]["value"] == pytest.approx(-1)
    assert (found["j", "k"]["n_rows"], found["j", "k"]["kendall"]["n"]) == (6, 3)


def test_a_judge_that_equals_gold_still_has_its_order_beside(tmp_path: Path) -> None:
    predictions = [
        row.model_copy(update={"gold": float(row.score or 0)}) for row in verdicts({"a": [1, 2], "b": [3, None]})
    ]
    predictions[3] = predictions[3].model_copy(update={"gold": 3.0})
    (row,) = run(tmp_path, predictions)["orders"]
    assert (row["a"], row["b"], row["n_rows"], row["n_unscored"]) == ("j", "gold", 4, 1)
    assert row["kendall"]["value"] == pytest.approx(1)


def test_judges_of_unequal_rows_are_ordered_on_common_ones(tmp_path: Path) -> None:
    j = verdicts({"a": [1, 5], "b": [2, 2]})
    (row,) = run(tmp_path, j, [one.model_copy(update={"judge": "k"}) for one in j if one.item_id == "i0"])["orders"]
    assert (row["n_rows"], row["kendall"]["value"]) == (2, pytest.approx(1))


def test_rows_meet_whatever_their_unicode_form(tmp_path: Path) -> None:
    j = verdicts({"a": [1, 5, 4], "b": [2, 2, 4]})
    composed, decomposed = "caf\u00e9", "cafe\u0301"

    def named(rows: list[Prediction], form: str, **changes: Any) -> list[Prediction]:
        ids = [{"id": f"{form} {row.id}", "item_id": f"{form} {row.item_id}"} for row in rows]
        return [row.model_copy(update={**new, **changes}) for row, new in zip(rows, ids, strict=True)]

    mixed = [*named(j[:3], composed), *named(j[3:], decomposed)]
    metrics = run(tmp_path, mixed, named(j, decomposed, judge="k"))
    assert metrics["orders"][0]["n_rows"] == 6
    assert metrics["leaderboards"]["j"]["all"]["comparisons"][0]["n"] == 3


def test_orders_of_the_judges_on_two_test_sets(tmp_path: Path) -> None:
    (tmp_path / "agree").mkdir()
    judges = [rows(scores, GOLD, name) for name, scores in (("x", GOLD), ("y", JUDGE), ("z", [3] * 10))]
    run_agree(tmp_path / "agree", *judges)  # kappa 1, .675 and 0
    write_json({"z": 0.1, "x": 0.5, "y": 0.7, "w": 0.2}, tmp_path / "wild.json")
    metrics = run(tmp_path, orders=[f"recon={tmp_path}/agree/out/metrics.json", f"wild={tmp_path}/wild.json"])
    (row,) = metrics["judge_orders"]
    assert (row["a"], row["b"], row["group"], row["judges"], row["by"]) == (
        "recon", "wild", "all", ["x", "y", "z"], ["kappa", "value"],
    )  # fmt: skip
    # Orders 3, 2, 1 and 2, 3, 1.
    assert row["kendall"]["value"] == pytest.approx(1 / 3)
    assert row["kendall"]["reason"] == "no interval: there are no items to resample"
    assert "order of judges by" in (tmp_path / "out" / "table.md").read_text()


def test_orders_that_cannot_be_read_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"x": 0.1, "y": 0.2}, tmp_path / "one.json")
    write_json({"v": 0.1, "y": 0.2}, tmp_path / "two.json")
    write_json({"judges": {"x": {"all": {}}}}, tmp_path / "odd.json")
    (tmp_path / "text").write_text("x")
    (tmp_path / "nan").write_text('{"x": NaN, "y": 1}')
    (tmp_path / "huge").write_text(f'{{"x": 1{"0" * 400}, "y": 1}}')
    (tmp_path / "deep").write_text("[" * 100_000)
    of_nan = '{"judges": {"x": {"all": {"kappa": {"value": NaN}, "pearson": {"value": 1}}, "by_language": {}}}}'
    (tmp_path / "agree").write_text(of_nan)
    (tmp_path / "none").write_text('{"judges": {}}')
    one, two, odd = (f"{name}={tmp_path}/{name}.json" for name in ("one", "two", "odd"))
    for orders, message in (
        ([one, two], "orders one and two share 1 judges (x, y; v, y)"),
        ([one, odd], "odd.json is neither metrics.json of eval.agree nor an object of judge: number"),
        ([one, f"text={tmp_path}/text"], "text is not JSON"),
        ([one, f"nan={tmp_path}/nan"], "nan is neither metrics.json"),
        ([one, f"huge={tmp_path}/huge"], "huge is neither metrics.json"),
        ([one, f"deep={tmp_path}/deep"], "deep is not JSON"),
        ([one, f"agree={tmp_path}/agree"], "agree is neither metrics.json"),
        ([one, f"none={tmp_path}/none"], "orders one and none share 0 judges"),
        ([one, "absent=nowhere"], "nowhere cannot be read"),
        ([one, "two.json"], "'two.json' is not NAME=FILE"),
        ([one], "one order compares with nothing"),
        ([one, one], "one is named twice"),
        ([], "there is nothing to rank"),
    ):
        argv = ["--output", str(tmp_path / "out"), *(["--orders", *orders] if orders else [])]
        assert exit_status(lambda argv=argv: main(parse_config(LeaderboardConfig, argv))) == 2  # type: ignore[misc]
        (said,) = capsys.readouterr().err.splitlines()
        assert message in said
    assert not (tmp_path / "out").exists()


def test_one_row_a_system_gives_no_interval_and_says_so(tmp_path: Path) -> None:
    metrics = run(tmp_path, verdicts({"a": [5], "b": [1]}))
    found = systems(metrics)
    assert (found["a"]["mean"]["value"], found["a"]["mean"]["low"]) == (5, None)
    assert metrics["leaderboards"]["j"]["all"]["comparisons"][0]["p"] == 1
    assert [entry["cluster"] for entry in found.values()] == [1, 1]
    assert metrics["notes"] == ["j: a, b answered one prompt: no interval, and no test can tell it apart"]


def test_one_system_has_nothing_to_compare(tmp_path: Path) -> None:
    metrics = run(tmp_path, verdicts({"a": [5, 4, 3]}))
    assert metrics["leaderboards"]["j"]["all"]["comparisons"] == []
    assert metrics["notes"] == ["j: one system (a), so nothing to compare"]
    assert metrics["orders"] == []


def test_all_unscored_is_valid_json_and_last(tmp_path: Path) -> None:
    metrics = run(tmp_path, verdicts({"a": [None, None], "b": [1, 2]}))
    found = systems(metrics)
    assert list(found) == ["b", "a"]
    assert (found["a"]["mean"]["value"], found["a"]["bounds"]) == (None, [1, 5])
    assert [(entry["rank"], entry["cluster"]) for entry in found.values()] == [(1, 1), (None, None)]
    (row,) = metrics["leaderboards"]["j"]["all"]["comparisons"]
    assert (row["difference"]["value"], row["p"], row["p_holm"]) == (None, None, None)


def test_rows_without_a_system_or_with_another_are_refused(tmp_path: Path) -> None:
    named = verdicts({"a": [1, 2], "b": [3, 4]})
    nameless = [row.model_copy(update={"system": None}) for row in named]
    with pytest.raises(DataError, match=r"fr-a-0 names no system .*pass --records"):
        run(tmp_path, nameless)
    assert list(systems(run(tmp_path, nameless, records=records_of(named)))) == ["b", "a"]
    swapped = [one.model_copy(update={"system": "c"}) for one in records_of(named)]
    with pytest.raises(DataError, match="fr-a-0 has system a, its record c"):
        run(tmp_path, named, records=swapped, output=tmp_path / "new")
    other = [row.model_copy(update={"language": "hi"}) for row in verdicts({"a": [1, 2], "b": [3, 4]}, judge="k")]
    with pytest.raises(DataError, match="fr-a-0 has language fr in judge j and hi in judge k"):
        run(tmp_path, named, other, output=tmp_path / "new")
    with pytest.raises(DataError, match="a judge is named people"):
        run(tmp_path, verdicts({"a": [1]}, judge="people"), output=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_table_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, verdicts({"a": [1, 2, 3], "b": [3, 4, 5]}))
    said = capsys.readouterr().out
    assert said.rstrip("\n") == (tmp_path / "out" / "table.md").read_text().rstrip("\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in said.splitlines()[:3]]
    assert cells[0][:4] == ["j", "rank (cluster)", "n", "unscored"]
    assert cells[2][:4] == ["b", "1 (1)", "3", "0"]
    assert cells[2][5].startswith("4.00 [")


def test_config_fields_are_checked() -> None:
    with pytest.raises(ConfigError, match="there is nothing to rank"):
        LeaderboardConfig(output=Path("x"))
