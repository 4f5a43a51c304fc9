"""merge.search on pico judges: one expert is right and the other untaught, so that the search has something to find."""

import json
import os
import resource
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.config import exit_status, parse_config, validate
from core.errors import AlreadyDone, ConfigError, DataError, RunFolderError, UserError
from core.records import JudgeRecord, Prediction, read_rows, write_records
from merge.recipe import MergeConfig
from merge.run import main as merge_run
from merge.search import main
from merge.search_config import SearchConfig
from tests import pico
from tests.eval.pico_judge import record, save_judge
from tests.merge.checkpoints import adapter, judge, read, tensors
from tests.merge.test_kill import in_child

TEXTS = [("bad", 1), ("juste " * 40, 4), ("good answer " * 9, 5), ("", 2)]
RECORDS = [
    record(f"{language}{n}", text, gold, item_id=f"item {n}", instruction=f"i{n}", language=language)
    for language in ("hi", "fr")
    for n, (text, gold) in enumerate(TEXTS)
]


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """hi, taught all verdicts, and fr, what hi was before that with a little noise, as a judge of its own."""
    folder = tmp_path_factory.mktemp("judges")
    save_judge(folder / "hi", records=RECORDS[: len(TEXTS)])
    shutil.copytree(folder / "hi", folder / "fr")
    random = torch.Generator().manual_seed(0)
    untaught = {
        name: value + 0.01 * torch.randn(value.shape, generator=random)
        for name, value in pico.model("llama").state_dict().items()
        if name in load_file(folder / "hi" / "model.safetensors")
    }
    save_file(untaught, folder / "fr" / "model.safetensors", {"format": "pt"})
    return folder


def searched(tmp_path: Path, judges: Path, **changes: Any) -> SearchConfig:
    """The config of a small linear search, changed as asked, its records written beside it."""
    write_records(changes.pop("rows", RECORDS), tmp_path / "records.jsonl")
    values = {
        "merge_method": "linear",
        "experts": {name: str(judges / name) for name in ("hi", "fr")},
        "dtype": "float32",
        "records": [str(tmp_path / "records.jsonl")],
        "evaluations": 8,
        "draws": 2,
        "max_new_tokens": 20,
        "resamples": 100,
        "seed": 94,  # the search half has gold 1 and 5, of which fr's tenth spoils one; the second draw gives hi nine tenths
        "output_dir": str(tmp_path / "search"),
    }
    return validate(SearchConfig, {**values, **changes}, "test")


def trace(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "trace.jsonl").read_text("utf-8").splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_the_right_expert_is_found_and_the_recipe_runs(tmp_path: Path, judges: Path) -> None:
    main(searched(tmp_path, judges, merge_best=True))
    output = tmp_path / "search"
    rows, metrics = trace(output), read(output / "metrics.json")
    assert [row["step"] for row in rows] == ["uniform", "draw", "draw", *["move"] * 5]
    assert rows[0]["weights"] == {"hi": 1.0, "fr": 1.0}  # each 1.0 where the recipe names none
    best = max(rows, key=lambda row: row["objective"])
    assert metrics["chosen"]["number"] == best["number"] > 0
    assert best["weights"]["hi"] > 1.5
    assert best["objective"] == 1.0 > rows[0]["objective"] + 0.3
    assert {name: (figure["n"], figure["n_unscored"]) for name, figure in best["kappa"].items()} == {
        "hi": (2, 0),
        "fr": (2, 0),
    }
    # hi was taught the records of both halves. On the one held out uniform weights have nothing to gain: all is optimism.
    held_out = metrics["halves"]["held_out"]
    assert held_out["chosen"]["objective"] == 1.0
    assert held_out["gain"]["value"] == pytest.approx(1.0 - held_out["uniform"]["objective"])
    assert metrics["optimism"]["value"] == pytest.approx(
        metrics["halves"]["search"]["gain"]["value"] - held_out["gain"]["value"]
    )
    verdicts = [*(f"search-{n:03}" for n in range(8)), "held_out-000", f"held_out-{best['number']:03}"]
    assert sorted(path.stem for path in (output / "verdicts").iterdir()) == sorted(verdicts)
    assert len(read_rows(output / "verdicts" / "search-000.jsonl", Prediction)) == 4
    assert not list(output.glob(".candidate*"))
    recipe = parse_config(
        MergeConfig, ["--config", str(output / "recipe.yaml"), "--output_dir", str(tmp_path / "again")]
    )
    assert {name: expert.weight for name, expert in recipe.experts.items()} == best["weights"]
    merge_run(recipe)
    again, merged = tensors(tmp_path / "again"), tensors(output / "merged")
    assert all(torch.equal(again[name], merged[name]) for name in again)
    with pytest.raises(AlreadyDone):
        main(searched(tmp_path, judges, merge_best=True, if_exists="resume"))


@pytest.mark.slow
def test_a_finished_search_goes_on_where_it_is_given_more_evaluations(tmp_path: Path, judges: Path) -> None:
    whole, grown = tmp_path / "whole", tmp_path / "grown"
    main(searched(tmp_path, judges, output_dir=str(whole), merge_best=True))
    main(searched(tmp_path, judges, output_dir=str(grown), merge_best=True, evaluations=2))
    assert len(trace(grown)) == 2
    main(searched(tmp_path, judges, output_dir=str(grown), merge_best=True, if_exists="resume"))
    assert trace(grown) == trace(whole)
    assert read(grown / "metrics.json") == read(whole / "metrics.json")
    best, merged = tensors(whole / "merged"), tensors(grown / "merged")
    assert all(torch.equal(best[name], merged[name]) for name in best)
    with pytest.raises(RunFolderError, match=r"other config \(evaluations\)"):
        main(searched(tmp_path, judges, output_dir=str(grown), merge_best=True, evaluations=7, if_exists="resume"))


def test_the_plan_writes_nothing(tmp_path: Path, judges: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(searched(tmp_path, judges, plan=True))
    line = (
        "search: 8 merges (1 uniform, 2 draws, 5 moves), 4 verdicts each; then 2 merges, 4 verdicts each, on the half"
    )
    assert line in capsys.readouterr().out
    assert not (tmp_path / "search").exists()


def test_a_worst_language_is_what_the_objective_looks_at(tmp_path: Path, judges: Path) -> None:
    """fr's gold turned round, so that its kappa falls as hi's rises: the objective is fr's."""
    turned = [
        one.model_copy(update={"score": 6 - (one.score or 0)}) if one.language == "fr" else one for one in RECORDS
    ]
    main(searched(tmp_path, judges, rows=turned, objective="worst", evaluations=3))
    for row in trace(tmp_path / "search"):
        assert row["objective"] == min(figure["value"] for figure in row["kappa"].values())


def test_verdicts_that_are_not_of_every_record_are_judged_again(tmp_path: Path, judges: Path) -> None:
    main(searched(tmp_path, judges, evaluations=1, languages=["hi", "fr", "hi"]))
    output = tmp_path / "search"
    verdicts, whole = output / "verdicts" / "held_out-000.jsonl", read(output / "metrics.json")
    rows = verdicts.read_text("utf-8")
    verdicts.write_text(rows.partition("\n")[0] + "\n", "utf-8")
    (output / "manifest.json").write_text(
        (output / "manifest.json").read_text("utf-8").replace('"status": "done"', '"status": "failed"'), "utf-8"
    )
    main(searched(tmp_path, judges, evaluations=1, languages=["hi", "fr", "hi"], if_exists="resume"))
    assert (verdicts.read_text("utf-8"), read(output / "metrics.json")) == (rows, whole)
    assert list(whole["halves"]["search"]["uniform"]["by_language"]) == ["hi", "fr"]  # one named twice counts once


@pytest.mark.slow
def test_kill_9_and_resume_give_the_same_search(tmp_path: Path) -> None:
    """TIES with densities, and an adapter that is folded on the way; killed in its third evaluation, and while folding."""
    base = judge(tmp_path / "base")
    judge(tmp_path / "hi", seed=1)
    adapter(tmp_path / "fr", base)
    ties = {
        "merge_method": "ties", "base_model": str(base), "weight": 0.5, "density": 0.5, "tokenizer_from": "hi",
        "evaluations": 5, "max_new_tokens": 2, "with_reference": False,
    }  # fmt: skip

    def search(output: str, if_exists: str = "fail") -> int:
        config = searched(tmp_path, tmp_path, **ties, output_dir=str(tmp_path / output), if_exists=if_exists)
        return exit_status(lambda: main(config))

    assert search("whole") == 0
    whole = tmp_path / "whole"
    assert [row["step"] for row in trace(whole)] == ["uniform", "draw", "draw", "move", "move"]
    for rows in (0, 2):
        killed = tmp_path / f"killed-{rows}"
        child = in_child(lambda output=killed.name: search(output))  # type: ignore[misc]
        while not (killed / "manifest.json").exists() or len(lines(killed)) < rows:
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert len(lines(killed)) < 5
        assert not (killed / "recipe.yaml").exists()
        before = lines(killed)
        assert search(killed.name, "resume") == 0
        assert trace(killed) == trace(whole)
        assert lines(killed)[: len(before)] == before  # an evaluation that was done is not done again
        for name in ("recipe.yaml", "metrics.json"):
            assert (killed / name).read_bytes().partition(b"\n")[2] == (whole / name).read_bytes().partition(b"\n")[2]
        assert not list(killed.glob(".candidate*"))
        assert not list(killed.glob(".folded*"))
    assert search("killed-2", "resume") == 0
    with pytest.raises(RunFolderError, match=r"other config \(seed\)"):
        main(searched(tmp_path, tmp_path, **ties, output_dir=str(whole), if_exists="resume", seed=7))


def test_a_full_disk_is_said_and_the_search_goes_on(
    tmp_path: Path, judges: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def full() -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        return exit_status(lambda: main(searched(tmp_path, judges, evaluations=1)))

    assert os.waitstatus_to_exitcode(os.waitpid(in_child(full), 0)[1]) == 1
    assert "error: no space left to write" in capfd.readouterr().err
    assert not list((tmp_path / "search").glob(".candidate*"))
    main(searched(tmp_path, judges, evaluations=1, if_exists="resume"))


def lines(folder: Path) -> list[str]:
    file = folder / "trace.jsonl"
    return file.read_text("utf-8").splitlines() if file.exists() else []


def without(language: str) -> list[JudgeRecord]:
    return [one for one in RECORDS if one.language != language]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"rows": without("fr")},
            DataError,
            r"no records of fr, in which experts judge; add some, or name .* languages",
        ),
        (
            {"rows": [one.model_copy(update={"score": None, "human_scores": [1.5]}) for one in RECORDS]},
            DataError,
            r"8 records have no score \(hi0, hi1, hi2\)",
        ),
        ({"rows": [*without("fr"), *RECORDS[4:7]]}, DataError, r"fr has 1 items in the .* half, fewer than 2"),
        ({"evaluations": 0}, ConfigError, r"evaluations: Input should be greater than or equal to 1 \(got 0\)"),
        ({"merge_method": "karcher"}, ConfigError, r"karcher takes no weights, so there is nothing to search"),
        ({"merge_method": "tise"}, ConfigError, r"merge_method tise is unknown; did you mean ties"),
        ({"experts": {"hi": "runs/hi"}}, ConfigError, r"one expert alone has no weights to search"),
        ({"weight": 0.0}, ConfigError, r"weights \[0\.0, 0\.0\]: the search keeps their sum"),
        ({"merge_method": "ties"}, ConfigError, r"ties needs base_model"),
        # What stands under parameters wins over an expert's weight, so every candidate would be the same merge.
        (
            {"experts": {"hi": {"model": "runs/hi", "parameters": {"weight": 0.3}}, "fr": "runs/fr"}},
            ConfigError,
            r"weight stands under parameters.*write it as weight: 0\.3",
        ),
        ({"merge_method": "ties", "parameters": {"density": 0.3}}, ConfigError, r"density stands under parameters"),
        ({"merge_method": "ties", "densities": [0.0]}, ConfigError, r"densities\.0: Input should be greater than 0"),
        ({"train": True}, DataError, r"the validation records and .*train\.jsonl share 1 item ids \(item 0\)"),
        ({"template": "hercle"}, ConfigError, r"template 'hercle' is unknown"),
        ({"with_reference": True}, DataError, r"record hi\d has no reference_answer"),
    ],
)
def test_what_cannot_be_searched_is_said_before_anything_is_merged(
    tmp_path: Path, judges: Path, changes: dict[str, Any], error: type[UserError], message: str
) -> None:
    if changes.pop("train", False):
        write_records(RECORDS[:1], tmp_path / "train.jsonl")
        changes = {"train_records": [str(tmp_path / "train.jsonl")]}
    with pytest.raises(error, match=message):
        main(searched(tmp_path, judges, **changes))
    assert not (tmp_path / "search").exists()
