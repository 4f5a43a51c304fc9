"""eval.probes: shifts worked by hand from scripted verdicts, and the three commands in a row on a pico judge."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from core.agreement import agreement
from core.config import exit_status, parse_config
from core.errors import ConfigError, DataError
from core.jsonl import write_json
from core.records import JudgeRecord, Prediction, read_records, read_rows, write_records, write_rows
from core.run import read_manifest
from eval.judge import JudgeConfig
from eval.judge import main as judge_main
from eval.probes import ProbesConfig, main
from tests.eval.pico_judge import RECORDS, record
from tests.eval.predictions_for_tests import rows

KINDS = ["injection_plea", "injection_control"]
# Gold of six records in two languages, the verdicts on them, under the plea, and under the control.
GOLD = [1, 2, 3, 4, 5, 5]
ORIGINAL = [1, 2, 3, None, 5, 5]
PLEA = [3, 2, 5, 5, 5, None]
CONTROL = [1, 2, 4, 4, 5, 5]


def originals(count: int = 6) -> list[JudgeRecord]:
    return [
        record(
            f"r{n}", f"response {n}", GOLD[n], item_id=f"i{n // 2}", language="fr" if n < 2 else "hi", capability="c",
            reference_answer=f"reference {n // 2}", reference_language="en",
        )
        for n in range(count)
    ]  # fmt: skip


def make(tmp_path: Path, records: list[JudgeRecord] | None = None, **changes: Any) -> list[JudgeRecord]:
    write_records(records or originals(), tmp_path / "records.jsonl")
    values = {"action": "make", "input": [tmp_path / "records.jsonl"], "output": tmp_path / "probes", "kinds": KINDS}
    main(ProbesConfig(**{**values, **changes}))
    return read_records(tmp_path / "probes" / "records.jsonl")


def verdicts(records: list[JudgeRecord], scores: Mapping[str, list[int | None]], **changes: Any) -> list[Prediction]:
    """Predictions on originals (under "") and on the copies of each kind."""
    of = {
        f"r{n}" + (f"#{kind}" if kind else ""): score for kind, all_ in scores.items() for n, score in enumerate(all_)
    }
    known = [one for one in records if one.id in of]
    return [
        row.model_copy(update={"id": one.id, "item_id": one.item_id, "language": one.language, **changes})
        for row, one in zip(rows([of[one.id] for one in known], [one.gold for one in known]), known, strict=True)
    ]


def read(tmp_path: Path, *files: list[Prediction], **changes: Any) -> dict[str, Any]:
    paths = [tmp_path / f"predictions{n}.jsonl" for n in range(len(files))]
    for path, predictions in zip(paths, files, strict=True):
        write_rows(predictions, path)
    values = {"predictions": paths, "records": [tmp_path / "probes" / "records.jsonl"], "output": tmp_path / "read"}
    main(ProbesConfig(**{"action": "read", "resamples": 200, **values, **changes}))

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads((tmp_path / "read" / "metrics.json").read_text(), parse_constant=no_constant)


def value(figure: dict[str, Any]) -> tuple[float, int, int]:
    return figure["value"], figure["n"], figure["n_unscored"]


def test_shifts_by_hand(tmp_path: Path) -> None:
    made = make(tmp_path)
    metrics = read(tmp_path, verdicts(made, {"": ORIGINAL, "injection_plea": PLEA, "injection_control": CONTROL}))
    entry = metrics["probes"]["j"]["injection_plea"]
    figures = entry["all"]
    # r3 lacks the original's score and r5 the probe's: the shifts are 2, 0, 2 and 0.
    assert (figures["n"], figures["unscored"]) == (6, {"original": 1, "probe": 1, "either": 2})
    assert value(figures["shift"]) == (1, 4, 2)
    assert figures["shift"]["low"] <= 1 <= figures["shift"]["high"]
    assert [value(figures[name])[0] for name in ("unmoved", "moved_up", "moved_down")] == [0.5, 0.5, 0]
    assert value(figures["given_5"]) == (0.5, 4, 2)
    assert value(figures["given_5_original"]) == (0.25, 4, 2)
    # With r3 from 0 to 4 and r5 from −4 to 0: (4 + 0 − 4) / 6 and (4 + 4 + 0) / 6.
    assert figures["bounds"] == pytest.approx([0, 8 / 6])
    # Gold below 5: r0, r1, r2.
    assert value(figures["below_5"]["shift"]) == (pytest.approx(4 / 3), 3, 1)
    assert value(figures["below_5"]["given_5"]) == (pytest.approx(1 / 3), 3, 1)
    # Against the control: 2, 0, 1, 1 and 0; r5 has no verdict under attack.
    assert value(figures["beyond_control"]) == (pytest.approx(4 / 5), 5, 1)
    assert metrics["probes"]["j"]["injection_control"]["all"]["beyond_control"] is None
    for name, scores in (("kappa", PLEA), ("kappa_original", ORIGINAL)):
        assert figures[name]["value"] == pytest.approx(agreement(GOLD, scores, resamples=1).kappa.value)
    difference = figures["kappa_difference"]["difference"]["value"]
    assert difference == pytest.approx(figures["kappa"]["value"] - figures["kappa_original"]["value"])
    assert value(entry["by_language"]["fr"]["shift"]) == (1, 2, 0)
    assert value(entry["by_language"]["hi"]["shift"]) == (1, 2, 2)
    assert entry["by_capability"]["c"]["n"] == 6
    assert metrics["attacks"]["injection_plea"]["place"] == "after"
    assert figures["expected_shift"]["value"] is None


def test_the_table_holds_the_shifts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = make(tmp_path)
    read(tmp_path, verdicts(made, {"": ORIGINAL, "injection_plea": PLEA, "injection_control": CONTROL}))
    table = (tmp_path / "read" / "table.md").read_text()
    assert table.strip() in capsys.readouterr().out
    head, _, row = (line.split("|") for line in table.splitlines()[:3])
    cells = {name.strip(): cell.strip() for name, cell in zip(head, row, strict=True)}
    assert (cells["j"], cells["n"], cells["unscored"], cells["given 5 (before)"]) == (
        "injection_plea",
        "6",
        "2",
        ".50 (.25)",
    )
    assert cells["shift"].startswith("1.00 [")
    assert "j: shift by language" in table


def test_clusters_are_items(tmp_path: Path) -> None:
    # Two rows an item; every item moves by 1 and 3, so that resampled items always move by 2.
    made = make(tmp_path)
    scores: dict[str, list[int | None]] = {"": [1, 1, 1, 1, 1, 1], "injection_plea": [2, 4, 2, 4, 2, 4]}
    shift = read(tmp_path, verdicts(made, scores))["probes"]["j"]["injection_plea"]["all"]["shift"]
    assert (shift["low"], shift["value"], shift["high"]) == (2, 2, 2)


def test_the_reference_as_response_has_no_gold(tmp_path: Path) -> None:
    made = make(tmp_path, kinds=["response_is_reference", "reference_other"])
    scores: dict[str, list[int | None]] = {
        "": ORIGINAL, "response_is_reference": [5, 5, 5, 5, 5, 4], "reference_other": [1, 2, 3, 4, 5, 5],
    }  # fmt: skip
    metrics = read(tmp_path, verdicts(made, scores))
    figures = metrics["probes"]["j"]["response_is_reference"]["all"]
    assert value(figures["given_5"]) == (pytest.approx(4 / 5), 5, 1)
    assert (figures["kappa"]["value"], figures["kappa"]["reason"]) == (None, "no gold for the altered records")
    assert figures["below_5"] is figures["kappa_difference"] is None
    other = metrics["probes"]["j"]["reference_other"]["all"]
    assert value(other["unmoved"]) == (1, 5, 1)
    assert other["kappa"]["value"] == 1
    note = "response_is_reference: 6 of 6 references are not known to be in the language of the response"
    assert note in metrics["notes"]


def test_expected_scores_shift_too(tmp_path: Path) -> None:
    made = make(tmp_path)
    before = verdicts(made, {"": [1] * 6}, expected_score=1.25)
    after = verdicts(made, {"injection_plea": [1] * 6}, expected_score=2.0)
    figures = read(tmp_path, before, after)["probes"]["j"]["injection_plea"]["all"]
    assert value(figures["expected_shift"]) == (0.75, 6, 0)
    assert value(figures["shift"]) == (0, 6, 0)


def test_verdicts_without_the_reference_are_one_more_kind(tmp_path: Path) -> None:
    made = make(tmp_path)
    without = tmp_path / "without.jsonl"
    write_rows(verdicts(made, {"": [2, 2, 2, 4, 4, 5]}), without)
    judged = verdicts(made, {"": ORIGINAL, "injection_plea": PLEA})
    metrics = read(tmp_path, judged, without_reference=[without])
    assert list(metrics["probes"]["j"]) == ["reference_none", "injection_plea"]
    # Shifts 1, 0, −1, –, −1, 0.
    assert value(metrics["probes"]["j"]["reference_none"]["all"]["shift"]) == (pytest.approx(-0.2), 5, 1)
    write_rows(verdicts(made, {"": ORIGINAL}, judge="k"), without)
    with pytest.raises(DataError, match="judge k has verdicts without the reference but none with"):
        read(tmp_path, judged, without_reference=[without], output=tmp_path / "again")


def test_runs_that_say_otherwise_are_refused(tmp_path: Path) -> None:
    made = make(tmp_path)
    judged = verdicts(made, {"": ORIGINAL, "injection_plea": PLEA})
    write_json(
        {"command": "eval.judge", "status": "done", "prompt": {"with_reference": True}}, tmp_path / "manifest.json"
    )
    with pytest.raises(DataError, match="was judged with the reference"):
        read(tmp_path, judged, without_reference=[tmp_path / "predictions0.jsonl"])
    write_json(
        {"command": "eval.judge", "status": "done", "prompt": {"with_reference": False}}, tmp_path / "manifest.json"
    )
    with pytest.raises(DataError, match="was judged without the reference"):
        read(tmp_path, judged)
    assert not (tmp_path / "read").exists()


def test_share_of_responses_that_are_their_reference(tmp_path: Path) -> None:
    records = originals()
    records[0] = records[0].model_copy(update={"response": " reference  0"})
    made = make(tmp_path, records)
    shares = read(tmp_path, verdicts(made, {"": ORIGINAL, "injection_plea": PLEA}))["response_equals_reference"]
    assert value(shares["all"]) == (pytest.approx(1 / 6), 6, 0)
    assert [value(shares["by_language"][code])[0] for code in ("fr", "hi")] == [0.5, 0]


def test_pairs_that_do_not_match_are_refused(tmp_path: Path) -> None:
    made = make(tmp_path)
    plea = verdicts(made, {"injection_plea": PLEA})
    with pytest.raises(DataError, match="judge j judged r0#injection_plea as injection_plea but not r0"):
        read(tmp_path, plea)
    with pytest.raises(DataError, match="judge j judged no probe"):
        read(tmp_path, verdicts(made, {"": ORIGINAL}))
    with pytest.raises(DataError, match="in template hercule and r0 in default"):
        read(tmp_path, verdicts(made, {"": ORIGINAL}), [row.model_copy(update={"template": "hercule"}) for row in plea])
    with pytest.raises(DataError, match="give every row its own id"):
        read(tmp_path, verdicts(made, {"": ORIGINAL}), plea, plea)


def test_probes_not_judged_or_shortened_are_noted(tmp_path: Path) -> None:
    made = make(tmp_path)
    scores = {"": ORIGINAL, "injection_plea": PLEA[:4]}
    cut = [row.model_copy(update={"shortened": row.id == "r1#injection_plea"}) for row in verdicts(made, scores)]
    notes = read(tmp_path, cut)["notes"]
    assert notes == [
        "j: 8 of 12 probes were not judged",
        "j, injection_plea: 1 prompts were shortened, which may have cut the probe itself",
    ]


@pytest.mark.parametrize("scores", [[None] * 6, [3] * 6])
def test_all_unscored_or_constant_is_valid_json(tmp_path: Path, scores: list[int | None]) -> None:
    made = make(tmp_path)
    figures = read(tmp_path, verdicts(made, {"": scores, "injection_plea": scores}))["probes"]["j"]["injection_plea"]
    assert figures["all"]["shift"]["value"] == (0 if scores[0] else None)
    assert figures["all"]["bounds"] == ([0, 0] if scores[0] else [-4, 4])


def test_fields_of_the_other_action_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="action read needs predictions"):
        main(ProbesConfig(action="read", output=tmp_path))
    with pytest.raises(ConfigError, match="action make does not use predictions"):
        main(ProbesConfig(action="make", input=[tmp_path], predictions=[tmp_path], output=tmp_path))
    with pytest.raises(ConfigError, match="template 'x' is unknown"):
        main(ProbesConfig(action="make", input=[tmp_path], template="x", output=tmp_path))


def test_a_sample_keeps_input_order_and_says_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = make(tmp_path, max_samples=3)
    drawn = [one.id for one in made[:3]]
    assert drawn == sorted(drawn)
    assert [one.id for one in made[3:6]] == [f"{name}#injection_plea" for name in drawn]
    assert "9 records to judge (3 original, 3 injection_plea, 3 injection_control)" in capsys.readouterr().out
    manifest = read_manifest(tmp_path / "probes")
    assert manifest is not None
    assert manifest["counts"] == {"original": 3, "injection_plea": 3, "injection_control": 3}


def test_make_judge_read_on_a_pico_judge(judge_folder: Path, tmp_path: Path) -> None:
    references = [one.model_copy(update={"reference_answer": f"reference {one.id}"}) for one in RECORDS]
    kinds = ["reference_other", "injection_result"]
    made = make(tmp_path, references, kinds=kinds)
    judged, without = tmp_path / "judged", tmp_path / "without"
    common = ["--model_name_or_path", str(judge_folder), "--max_new_tokens", "24", "--device", "cpu"]
    for folder, shown, source in (
        (judged, "true", tmp_path / "probes" / "records.jsonl"),
        (without, "false", tmp_path / "records.jsonl"),
    ):
        where = ["--input", str(source), "--output", str(folder), "--with_reference", shown]
        judge_main(parse_config(JudgeConfig, [*common, *where]))
    argv = ["--action", "read", "--resamples", "100", "--records", str(tmp_path / "probes" / "records.jsonl")]
    argv += ["--predictions", str(judged / "predictions.jsonl"), "--output", str(tmp_path / "read")]
    argv += ["--without_reference", str(without / "predictions.jsonl")]
    assert exit_status(lambda: main(parse_config(ProbesConfig, argv))) == 0
    metrics = json.loads((tmp_path / "read" / "metrics.json").read_text())
    found = metrics["probes"]["pico-judge"]
    assert list(found) == ["reference_none", *kinds]
    by_id = {row.id: row.score for row in read_rows(judged / "predictions.jsonl", Prediction)}
    assert len(by_id) == len(made) == 12
    pairs = [(by_id[one.id], by_id[f"{one.id}#injection_result"]) for one in RECORDS]
    shifts = [probe - before for before, probe in pairs if before is not None and probe is not None]
    shift = found["injection_result"]["all"]["shift"]
    assert (shift["n"], shift["n_unscored"]) == (len(shifts), 4 - len(shifts))
    assert shift["value"] == (pytest.approx(sum(shifts) / len(shifts)) if shifts else None)
