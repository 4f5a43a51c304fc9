"""merge.publish on pico judges: what goes to the Hub, what is refused before, and uploads that are cut anywhere."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from core.config import exit_status, parse_config
from core.errors import HubError
from core.hub import content_tag, local_file
from core.prompt_spec import PromptSpec
from core.run import read_manifest
from merge.lineage import read_lineage
from merge.publish import PublishConfig, judge_files, licence_of_judge, main, push
from tests.hub_repo import Repo
from tests.hub_server import Fault, HubServer
from tests.merge.checkpoints import adapter, judge, read

NAME = "org/judge-hi"
BASE = "google/gemma-2b"
FILES = {
    *("README.md", "NOTICE.txt", "config.json", "generation_config.json", "judge.json", "model.safetensors"),
    *("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"),
}
TRAINING = {
    "command": "train.sft",
    "status": "done",
    "seed": 42,
    "config": {
        "train_file": ["/home/someone/train.jsonl"],
        "use_peft": False,
        "max_steps": -1,
        "num_train_epochs": 3.0,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
        "learning_rate": 1e-5,
        "lr_scheduler_type": "cosine",
    },
    "counts": {"hi": {"examples": 1234, "shortened": 0, "refused": 0}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A judge as a training leaves it, with what must stay here beside it. Its generation stops at the end of turn."""
    return stopping(judge(tmp_path / "hi"))


def stopping(folder: Path) -> Path:
    """Give a judge what train.sft gives: stops, and files that stay."""
    (folder / "generation_config.json").write_text('{"eos_token_id": [2, 6]}', "utf-8")
    (folder / "manifest.json").write_text(json.dumps(TRAINING), "utf-8")
    (folder / "training_args.bin").write_bytes(b"pickle")
    (folder / "trainer_state.json").write_text('{"best_model_checkpoint": "/home/someone/runs/hi"}', "utf-8")
    (folder / "README.md").write_text("base_model: /home/someone/base", "utf-8")
    (folder / "checkpoint-4").mkdir()
    return folder


def publish(folder: Path, **changes: Any) -> int:
    """The command's exit status."""
    fields: dict[str, Any] = {"model": folder, "repo_id": NAME, "base": BASE} | changes
    argv = [word for name, value in fields.items() if value is not None for word in (f"--{name}", str(value))]
    return exit_status(lambda: main(parse_config(PublishConfig, argv)))


def prepared(folder: Path, **changes: Any) -> tuple[PublishConfig, dict[str, Path]]:
    """What ``push`` takes, without the check of the judge before."""
    config = PublishConfig(**({"model": folder, "repo_id": NAME, "base": BASE} | changes))
    lineage = read_lineage(folder, config.base)
    written = folder.parent / "written"
    written.mkdir(exist_ok=True)
    return config, judge_files(config, lineage, licence_of_judge(config, lineage), PromptSpec(), written)


def error(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of an error."""
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    return line


def ours(repo: Repo) -> list[str]:
    return [commit.sha for commit in repo.commits if commit.message.startswith("Upload judge")]


def test_the_plan_shows_what_would_go_up_and_sends_nothing(
    hub: HubServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, output=folder.parent / "plan") == 0
    said = capsys.readouterr().out
    assert hub.requests == []
    card = (folder.parent / "plan/files/README.md").read_text("utf-8")
    assert f"----- README.md\n{card}" in said
    assert f"{len(FILES)} files" in said
    assert f"to private model {NAME}, tag files-" in said
    for name in FILES - {"README.md", "NOTICE.txt", "judge.json"}:
        assert f"{(folder / name).stat().st_size:>14,}  {name}\n" in said
    assert "left out: checkpoint-4/, manifest.json, trainer_state.json, training_args.bin\n" in said
    assert "licence: gemma, Gemma Terms of Use" in said
    assert "nothing was sent" in said
    assert (read_manifest(folder.parent / "plan") or {})["status"] == "done"


def test_a_push_is_one_private_tagged_commit_without_a_path_of_this_machine(
    hub: HubServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, push=True, tag="v1") == 0
    repo = hub.repos["model", NAME]
    there = {name: blob.data for name, blob in repo.commits[-1].files.items()}
    assert set(there) == {*FILES, ".gitattributes"}
    assert repo.private
    assert repo.tags == {"v1": repo.commits[-1].sha}
    assert [commit.message for commit in repo.commits] == ["initial commit", "Upload judge judge-hi"]
    assert there["model.safetensors"] == (folder / "model.safetensors").read_bytes()
    assert json.loads(there["judge.json"]) == {**read(folder / "judge.json"), "languages": ["hi"], "base_model": BASE}
    assert there["NOTICE.txt"].startswith(b"Gemma is provided under and subject to the Gemma Terms of Use")
    assert not [name for name, data in there.items() if str(folder.parent).encode() in data or b"/home/" in data]

    assert publish(folder, push=True, tag="v1") == 0
    assert "all files were there already" in capsys.readouterr().out
    assert len(repo.commits) == 2


@pytest.mark.parametrize("how", ["refuse", "lost"])
def test_case_35_an_upload_cut_at_any_request_is_whole_after_a_rerun(
    hub: HubServer, tmp_path: Path, how: Fault
) -> None:
    """Three shards and an index; each rerun ends with one commit of ours and every file right."""
    model = stopping(judge(tmp_path / "hi", max_shard_size="60KB"))
    config, files = prepared(model)
    assert len([name for name in files if name.startswith("model-")]) > 2
    push(config, files)
    requests = len(hub.requests)
    for at in range(1, requests + 1):
        hub.repos.clear()
        hub.large.clear()
        hub.fail(at, how)
        with suppress(HubError):
            push(config, files)
        hub.fail()
        done = push(config, files)
        repo = hub.repos["model", NAME]
        assert ours(repo) == [done.commit]
        assert repo.private
        there = {name: blob.data for name, blob in repo.commits[-1].files.items() if name != ".gitattributes"}
        assert there == {name: path.read_bytes() for name, path in files.items()}
        assert repo.tags == {content_tag({name: local_file(path) for name, path in files.items()}): done.commit}


def test_case_17_an_older_layout_on_the_hub_goes_in_the_same_commit(hub: HubServer, folder: Path) -> None:
    """transformers would prefer a stale model.safetensors, and load an adapter that is still there on top."""
    stale = [
        *("model-00001-of-00002.safetensors", "model.safetensors.index.json", "pytorch_model.bin"),
        *("adapter_config.json", "adapter_model.safetensors", "added_tokens.json"),
    ]
    kept = {"figure.svg": b"<svg/>", "onnx/model.onnx": b"x"}
    repo = hub.add("model", NAME, {**dict.fromkeys(stale, b"old"), **kept}, private=True)
    push(*prepared(folder))
    assert set(repo.commits[-1].files) == {*FILES, *kept, ".gitattributes"}
    assert len(ours(repo)) == 1


def stale_single_file(folder: Path) -> None:
    judge(folder.parent / "shards", max_shard_size="60KB")
    for path in (folder.parent / "shards").glob("model*"):
        shutil.copy(path, folder)


def lost_shard(folder: Path) -> None:
    stale_single_file(folder)
    (folder / "model.safetensors").unlink()
    (folder / "model-00002-of-00003.safetensors").unlink()


def stale_index(folder: Path) -> None:
    stale_single_file(folder)
    for path in folder.glob("model-0*"):
        path.unlink()


def one_nan(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] = torch.nan
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def adapter_beside(folder: Path) -> None:
    for path in adapter(folder.parent / "lora", judge(folder.parent / "base")).glob("adapter*"):
        shutil.copy(path, folder)


def tokenizer_path(folder: Path) -> None:
    config = read(folder / "tokenizer_config.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "name_or_path": "/cluster/x/base"}, indent=1))


def truncated(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-40])


UNSOUND: dict[str, tuple[Callable[[Path], object], str]] = {
    "both layouts": (stale_single_file, "weight files model.safetensors are of another save"),
    "a shard is missing": (lost_shard, "model-00002-of-00003.safetensors are of another save, or missing"),
    "a stale index": (stale_index, "are of another save, or missing"),
    "NaN": (one_nan, "model.norm.weight holds NaN"),
    "a cut file": (truncated, "cannot be read"),
    "adapter and full weights": (adapter_beside, "holds an adapter (adapter_model.safetensors) and full weights"),
    "a path of this machine": (
        tokenizer_path,
        "tokenizer_config.json names a path of this machine on line 16 (/cluster/x/base",
    ),
    "languages that are no list": (
        lambda folder: PromptSpec().save(folder, languages="hi"),
        "judge.json: languages is 'hi'; make it a list of codes",
    ),
    "a recipe without experts": (
        lambda folder: (folder / "merge.yaml").write_text("experts: [hi, fr]"),
        "merge.yaml does not name the experts with their models",
    ),
    "no judge.json": (lambda folder: (folder / "judge.json").unlink(), "has no judge.json"),
    "no tokenizer": (lambda folder: (folder / "tokenizer_config.json").unlink(), "has no tokenizer"),
    "no stop": (
        lambda folder: (folder / "generation_config.json").write_text('{"eos_token_id": 2}'),
        "lacks the end-of-turn",
    ),
    "no folder": (lambda folder: shutil.rmtree(folder), "does not exist"),
}


@pytest.mark.parametrize("fault", UNSOUND)
def test_cases_17_and_36_an_unsound_folder_is_one_line_and_nothing_is_sent(
    hub: HubServer, folder: Path, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    spoil, message = UNSOUND[fault]
    spoil(folder)
    assert publish(folder, push=True) == 2
    assert message in error(capsys)
    assert hub.requests == []


@pytest.mark.parametrize(
    "fields",
    [
        {"tag": "a b"},
        {"tag": ""},
        {"repo_id": "org/a--b"},
        {"repo_id": f"org/{'x' * 97}"},
        {"datasets": "./data"},
    ],
)
def test_what_the_hub_would_refuse_is_refused_in_the_plan(
    hub: HubServer, folder: Path, capsys: pytest.CaptureFixture[str], fields: dict[str, str]
) -> None:
    assert publish(folder, **fields) == 2
    assert next(iter(fields)) in error(capsys)


def test_the_plan_is_not_kept_inside_the_model(
    hub: HubServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(folder, output=folder / "plan") == 2
    assert f"output {folder / 'plan'} is inside the input {folder}" in error(capsys)
    assert not (folder / "plan").exists()


def test_case_35_what_is_on_the_hub_is_not_exposed_or_overwritten(hub: HubServer, folder: Path) -> None:
    public = hub.add("model", NAME, {"a.txt": b"a"}, private=False)
    with pytest.raises(HubError, match="org/judge-hi is public and private was asked for; nothing was uploaded"):
        push(*prepared(folder))
    mine = hub.add("model", "org/mine", {"README.md": b"# Mine\n"}, private=True)
    with pytest.raises(HubError, match=r"has a card \(README.md\) already; pass --overwrite_card true"):
        push(*prepared(folder, repo_id="org/mine"))
    assert {request.split()[0] for request in hub.requests} == {"GET"}
    push(*prepared(folder, repo_id="org/mine", overwrite_card=True))
    push(*prepared(folder, private=False))
    assert (len(ours(mine)), len(ours(public))) == (1, 1)


def test_case_35_a_refusal_is_one_line(hub: HubServer, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.fail(at=1)
    assert publish(folder, push=True) == 2
    assert "the Hub refused org/judge-hi (403): this login may not write there" in error(capsys)


def test_case_35_a_commit_of_someone_else_meanwhile_is_not_built_over(hub: HubServer, folder: Path) -> None:
    repo = hub.add("model", NAME, {"a.txt": b"a"}, private=True)
    hub.before_commit = lambda: repo.add("someone else", dict(repo.commits[-1].files))
    with pytest.raises(HubError, match="changed while files were sent; run the command again"):
        push(*prepared(folder))
    assert ours(repo) == []
    hub.before_commit = None
    done = push(*prepared(folder))
    assert ours(repo) == [done.commit]


def test_case_36_an_adapter_names_its_base_by_hub_id(
    hub: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lora = stopping(adapter(tmp_path / "hi", judge(tmp_path / "base")))
    assert publish(lora, base=None) == 2
    assert f"adapter_config.json names its base as {tmp_path}/base, a folder of this machine; set base" in error(capsys)
    assert publish(lora, push=True) == 0
    there = hub.repos["model", NAME].commits[-1].files
    assert {"adapter_model.safetensors", "adapter_config.json", "tokenizer.json"} < there.keys()
    assert not {"config.json", "model.safetensors"} & there.keys()
    assert json.loads(there["adapter_config.json"].data)["base_model_name_or_path"] == BASE
    front = yaml.safe_load(there["README.md"].data.split(b"---\n")[1])
    assert (front["base_model"], front["base_model_relation"], front["library_name"]) == ([BASE], "adapter", "peft")
