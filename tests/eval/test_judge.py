"""eval.judge and the Python Judge, on a pico judge that knows its records."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from core.config import exit_status
from core.errors import ConfigError, DataError, RunFolderError
from core.jsonl import read_jsonl, write_jsonl
from core.records import JudgeRecord, Prediction, read_rows, write_records
from core.run import read_manifest
from eval.backends.transformers import TransformersBackend
from eval.grading import fit_records, prompt_spec
from eval.judge import GradedVerdict, Judge, JudgeConfig, main, sample
from eval.steering.directions import Directions
from tests.conftest import REPO
from tests.eval.pico_judge import RECORDS, SPEC, record
from train.generation import batches
from train.load import load_tokenizer

GOLD = [one.score for one in RECORDS]


def config(folder: Path, tmp_path: Path, records: list[JudgeRecord] = RECORDS, **changes: Any) -> JudgeConfig:
    """A config that judges the records on the CPU in float32, from ``tmp_path`` to ``tmp_path``."""
    write_records(records, tmp_path / "records.jsonl")
    values = {"model_name_or_path": str(folder), "input": tmp_path / "records.jsonl", "output": tmp_path / "judged"}
    short = {"dtype": "float32", "device": "cpu", "max_new_tokens": 24, "batch_size": 3}
    return JudgeConfig(**{**values, **short, **changes})


def predictions(folder: Path) -> list[Prediction]:
    return read_rows(folder / "predictions.jsonl", Prediction)


def test_predictions_stand_in_input_order_with_every_field(judge_folder: Path, tmp_path: Path) -> None:
    main(config(judge_folder, tmp_path))
    rows = predictions(tmp_path / "judged")
    assert [row.id for row in rows] == ["a", "b", "c", "d"]
    assert [row.score for row in rows] == GOLD == [1, 4, 5, 2]
    first = rows[1]
    assert first.expected_score == pytest.approx(4, abs=0.5)
    assert 0.5 < (first.score_mass or 0) < 1
    prompt = fit_records([RECORDS[1]], load_tokenizer(judge_folder), SPEC)[0]
    assert first.model_dump(exclude={"expected_score", "score_mass"}) == {
        "id": "b",
        "item_id": "b",
        "language": "hi",
        "system": None,
        "judge": "pico-judge",
        "template": "default",
        "gold": 4.0,
        "score": 4,
        "failure": None,
        "feedback": "good feedback.",
        "raw": "good feedback. [RESULT] 4",
        "prompt_tokens": prompt.tokens,
        "shortened": False,
    }
    manifest = read_manifest(tmp_path / "judged")
    assert manifest is not None
    assert manifest["status"] == "done"
    assert manifest["prompt"] == {"template": "default", "with_reference": False, "max_length": 2048}
    assert manifest["counts"]["by_language"]["hi"] == {"rows": 2, "unscored": 0, "failures": {}, "shortened": 0}


def test_language_and_judge_name(judge_folder: Path, tmp_path: Path) -> None:
    main(config(judge_folder, tmp_path, language="hi", judge="mine"))
    assert [(row.id, row.judge) for row in predictions(tmp_path / "judged")] == [("b", "mine"), ("d", "mine")]


def test_a_sample_is_drawn_by_its_seed_and_stands_in_input_order(judge_folder: Path, tmp_path: Path) -> None:
    drawn = [[row.id for row in sample(RECORDS, 2, seed)] for seed in range(30)]
    assert all(ids == sorted(ids) and len(set(ids)) == 2 for ids in drawn)
    assert {i for ids in drawn for i in ids} == {"a", "b", "c", "d"}
    assert drawn == [[row.id for row in sample(RECORDS, 2, seed)] for seed in range(30)]
    main(config(judge_folder, tmp_path, max_samples=2, seed=3))
    assert [row.id for row in predictions(tmp_path / "judged")] == drawn[3]


def test_too_few_readable_verdicts_fail_and_are_kept(judge_folder: Path, tmp_path: Path) -> None:
    main(config(judge_folder, tmp_path, min_scored=1.0))
    with pytest.raises(RuntimeError, match=r"only 0 of 4 verdicts could be read, fewer than min_scored 0\.5"):
        main(config(judge_folder, tmp_path, output=tmp_path / "cut", min_scored=0.5, max_new_tokens=1))
    assert len(predictions(tmp_path / "cut")) == 4


def test_missing_gold_is_kept_as_null(judge_folder: Path, tmp_path: Path) -> None:
    main(config(judge_folder, tmp_path, [record("a", "bad")]))
    assert predictions(tmp_path / "judged")[0].gold is None


def test_too_long_is_unscored_and_the_others_are_judged(judge_folder: Path, tmp_path: Path) -> None:
    # The instruction is never shortened: 3,000 tokens do not fit 2,048 - 512.
    main(config(judge_folder, tmp_path, [record("long", "bad", 1, instruction="x " * 3000), *RECORDS]))
    rows = predictions(tmp_path / "judged")
    long = rows[0]
    assert (long.score, long.failure, long.raw, long.expected_score) == (None, "too long", "", None)
    assert long.prompt_tokens > 2048 - 512
    assert [row.score for row in rows[1:]] == GOLD
    manifest = read_manifest(tmp_path / "judged")
    assert manifest is not None
    assert manifest["counts"]["all"]["failures"] == {"too long": 1}


def test_resume_keeps_rows_and_judges_the_others(judge_folder: Path, tmp_path: Path) -> None:
    asked = config(judge_folder, tmp_path)
    main(asked)
    folder = tmp_path / "judged"
    whole = (folder / "predictions.jsonl").read_text()
    # As killed: one row from this process, one from a second process, and a row cut in its middle.
    kept = [{**row, "raw": "kept"} for _, row in read_jsonl(folder / "predictions.jsonl")]
    write_jsonl([kept[2]], folder / "predictions.jsonl")
    write_jsonl([kept[0]], folder / "predictions.1.jsonl")
    with open(folder / "predictions.jsonl", "a") as handle:
        handle.write('{"id": "b", "item')
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}))
    main(asked.model_copy(update={"if_exists": "resume"}))
    rows = predictions(folder)
    assert [(row.id, row.raw == "kept") for row in rows] == [("a", True), ("b", False), ("c", True), ("d", False)]
    assert [row.score for row in rows] == GOLD
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "predictions.jsonl"]
    assert exit_status(lambda: main(asked.model_copy(update={"if_exists": "resume"}))) == 0  # finished: nothing to do
    main(asked.model_copy(update={"if_exists": "overwrite"}))
    assert (folder / "predictions.jsonl").read_text() == whole


def test_a_record_without_reference_is_refused_before_the_model_loads(judge_folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in judge_folder.iterdir():
        (broken / file.name).write_bytes(b"no weights" if file.suffix == ".safetensors" else file.read_bytes())
    with pytest.raises(DataError, match="record a has no reference_answer"):
        main(config(broken, tmp_path, with_reference=True))
    assert not (tmp_path / "judged").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_name_or_path": "./absent"}, "model folder ./absent does not exist"),
        ({"input": Path("absent.jsonl")}, "absent.jsonl cannot be read"),
        ({"language": ["fr", "te"]}, "no record in te; it has fr, hi"),
        ({"template": "herkule"}, "template 'herkule' is unknown"),
        ({"directions": Path("absent"), "strength": 0.1}, "absent is no folder of directions"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    judge_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], words: str
) -> None:
    assert exit_status(lambda: main(config(judge_folder, tmp_path, **changes))) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("error: ")
    assert words in line
    assert not (tmp_path / "judged").exists()


def test_a_folder_without_weights_is_refused(judge_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_bytes((judge_folder / "config.json").read_bytes())
    assert exit_status(lambda: main(config(tmp_path / "empty", tmp_path))) == 2
    assert not (tmp_path / "judged").exists()


def test_an_existing_folder_is_refused(judge_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "judged").mkdir()
    (tmp_path / "judged" / "mine.txt").write_text("x")
    with pytest.raises(RunFolderError, match="exists"):
        main(config(judge_folder, tmp_path))


@pytest.mark.parametrize("changes", [{"strength": 0.1}, {"directions": Path("x")}, {"temperature": 0.5}])
def test_fields_that_mean_nothing_alone_are_refused(
    judge_folder: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=r"set both or neither|need do_sample"):
        config(judge_folder, tmp_path, **changes)


def test_the_prompt_comes_from_judge_json_and_a_contradiction_is_said(
    judge_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prompt_spec(judge_folder) == SPEC
    assert prompt_spec(judge_folder, with_reference=False) == SPEC
    assert capsys.readouterr().err == ""
    assert prompt_spec(judge_folder, "hercule", max_length=1024) == ("hercule", False, 1024)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "template hercule (trained: default), max_length 1024 (trained: 2048)" in said
    assert prompt_spec(tmp_path) == ("default", True, 4096)  # a folder without judge.json
    assert prompt_spec("nobody/judge") == ("default", True, 4096)  # offline: it cannot be known, which is said
    assert "the Hub cannot be asked for the judge.json of nobody/judge" in capsys.readouterr().err


def test_batches_are_of_like_length_and_hold_each_row_once(judge_folder: Path) -> None:
    fitted = fit_records(RECORDS, load_tokenizer(judge_folder), SPEC)
    # b is longest, then c, then a ("bad"), then d (no response).
    assert batches(fitted, 3) == [[1, 2, 0], [3]]


def test_grade_from_python(judge_folder: Path) -> None:
    judge = Judge.from_pretrained(judge_folder, dtype="float32", device="cpu", max_new_tokens=24)
    texts = ["1", "2", "3", "4", "5"]
    verdict = judge.grade("x", "juste " * 40, "fair", texts)
    assert verdict == GradedVerdict(4, "good feedback.", None, verdict.expected_score, verdict.score_mass)
    assert verdict.expected_score == pytest.approx(4, abs=0.5)
    assert judge.grade("x", "juste " * 40, "fair", dict(enumerate(texts, start=1))) == verdict
    assert [row.score for row in judge.grade_records(RECORDS)] == GOLD
    for scores in (texts[:4], {1: "1", 2: "2"}, "12345"):
        with pytest.raises(DataError, match="scores must describe 1, 2, 3, 4 and 5"):
            judge.grade("x", "y", "fair", scores)
    with pytest.raises(DataError, match="criteria"):
        judge.grade("x", "y", "", texts)


def test_grade_without_the_reference_it_is_prompted_with_is_an_error(judge_folder: Path) -> None:
    judge = Judge.from_pretrained(judge_folder, with_reference=True, device="cpu", max_new_tokens=2)
    with pytest.raises(DataError, match="no reference_answer"):
        judge.grade("x", "y", "fair", ["1", "2", "3", "4", "5"])
    assert judge.grade("x", "y", "fair", ["1", "2", "3", "4", "5"], reference="z").score is None


def test_a_base_model_takes_a_chat_template_by_name(judge_folder: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    for file in judge_folder.iterdir():
        if file.name != "chat_template.jinja":
            (base / file.name).write_bytes(file.read_bytes())
    with pytest.raises(Exception, match="has no chat template; choose one by name"):
        Judge.from_pretrained(base, device="cpu")
    with pytest.raises(ConfigError, match="unknown"):
        Judge.from_pretrained(base, device="cpu", chat_template="gema")
    judge = Judge.from_pretrained(base, device="cpu", chat_template="plain", max_new_tokens=2)
    assert judge.grade("x", "y", "fair", ["1", "2", "3", "4", "5"]).failure == "cut at max_new_tokens"


def test_an_adapter_folder_judges_without_folding(judge_folder: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    judge = Judge.from_pretrained(judge_folder, dtype="float32", device="cpu", max_new_tokens=24)
    plain = judge.grade_records(RECORDS)
    lora = get_peft_model(judge.backend.model, LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
    with torch.no_grad():
        for name, weight in lora.named_parameters():
            if "lora_B" in name:
                weight.fill_(1e-4)
    lora.save_pretrained(adapter)
    SPEC.save(adapter)
    adapted = Judge.from_pretrained(adapter, dtype="float32", device="cpu", max_new_tokens=24)
    rows = adapted.grade_records(RECORDS)
    assert adapted.name == "adapter"
    briefly = TransformersBackend(adapted.backend.model, adapted.backend.tokenizer, max_new_tokens=2)
    assert Judge(briefly, SPEC, "briefly").grade_records(RECORDS)[0].raw == "good feedback"  # two tokens
    assert [row.score for row in rows] == GOLD
    assert rows[0].expected_score == pytest.approx(plain[0].expected_score, abs=1e-2)
    assert rows[0].expected_score != plain[0].expected_score  # its logits are recorded, not the base's


def test_steered_verdicts(judge_folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    directions = Directions.from_vectors({1: torch.randn(32)}, mean_norms={1: 4.0})
    directions.save(tmp_path / "directions")
    main(config(judge_folder, tmp_path, output=tmp_path / "plain"))
    for name, strength in (("none", 0.0), ("much", 20.0)):
        asked = config(
            judge_folder, tmp_path, output=tmp_path / name, directions=tmp_path / "directions", strength=strength
        )
        main(asked)
    plain, none, much = (predictions(tmp_path / name) for name in ("plain", "none", "much"))
    assert [row.judge for row in none] == ["pico-judge vector +0"] * 4
    assert [row.model_copy(update={"judge": "pico-judge"}) for row in none] == plain
    assert [row.raw for row in much] != [row.raw for row in plain]


@pytest.mark.slow
def test_two_processes_write_what_one_writes(judge_folder: Path, tmp_path: Path) -> None:
    records = [one.model_copy(update={"id": f"{one.id}{n}"}) for n in range(3) for one in RECORDS]
    write_records(records, tmp_path / "records.jsonl")
    flags = ["--model_name_or_path", str(judge_folder), "--input", str(tmp_path / "records.jsonl")]
    flags += ["--max_new_tokens", "24", "--batch_size", "2"]
    launch = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0", "-m"]
    said = {}
    for name, start in (("one", []), ("two", launch)):
        command = [sys.executable, "-m", *start, "eval.judge", *flags, "--output", str(tmp_path / name)]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=REPO, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        said[name] = done
    assert (tmp_path / "one" / "predictions.jsonl").read_bytes() == (
        tmp_path / "two" / "predictions.jsonl"
    ).read_bytes()
    assert "12/12" in said["one"].stderr
    assert "6/6" in said["two"].stderr  # each did half of the batches
    assert said["two"].stdout.count("12 rows") == 1  # only rank 0 speaks
    assert not list((tmp_path / "two").glob("predictions.*.jsonl"))


@pytest.mark.real
@pytest.mark.slow
def test_a_real_model_judges_real_spanish_rows(embedded_model: Path, shared_data: Path, tmp_path: Path) -> None:
    rows = [row for _, row in read_jsonl(shared_data / "recon_es.jsonl")][:3]
    fields = [name for name in JudgeRecord.model_fields if name in rows[0]]
    records = [JudgeRecord(**{name: row[name] for name in fields}, language="es") for row in rows]
    main(config(embedded_model, tmp_path, records, chat_template="gemma", dtype="auto", max_new_tokens=64))
    judged = predictions(tmp_path / "judged")
    assert [row.id for row in judged] == [row["id"] for row in rows]
    assert [row.gold for row in judged] == [float(row["score"]) for row in rows]
    assert all(row.raw and (row.score is None) == (row.failure is not None) for row in judged)
    assert all((row.expected_score is None) == (row.score is None) for row in judged)
