"""Inputs by Hub id, over HTTP from a Hub on loopback: fetched with all that a merge needs, or refused in one line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import huggingface_hub.utils
import pytest
import torch
from safetensors.torch import load_file, save

from core.errors import ModelError
from merge.preflight import read_source
from merge.recipe import MergeConfig
from merge.run import main
from merge.source import hub_commit, local_folder
from tests import pico
from tests.hub_server import HubServer
from tests.merge.checkpoints import adapter, judge, read
from train.load import adapter_folder, load_model, load_tokenizer


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A Hub that all of huggingface_hub and transformers is told of, and an empty cache."""
    constants = huggingface_hub.constants
    with HubServer() as server:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", server.endpoint)
        resolve = server.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", resolve)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(huggingface_hub.utils._http.time, "sleep", lambda _: None)
        huggingface_hub.utils.close_session()
        yield server
        huggingface_hub.utils.close_session()


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_experts_by_hub_id_are_fetched_and_pinned(hub: HubServer, tmp_path: Path) -> None:
    judges = {name: judge(tmp_path / name, seed=seed) for seed, name in enumerate(("hi", "fr"))}
    made = {name: hub.add("model", f"me/{name}", {**files(folder), "big.bin": b"x"}) for name, folder in judges.items()}
    values: dict[str, Any] = {"merge_method": "linear", "weight": 1.0, "dtype": "float32"}
    outputs = {"local": {name: str(folder) for name, folder in judges.items()}, "hub": {"hi": "me/hi", "fr": "me/fr"}}
    for output, experts in outputs.items():
        main(MergeConfig(**values, experts=experts, output_dir=str(tmp_path / output)))
    local, fetched = (tmp_path / name / "model.safetensors" for name in outputs)
    assert local.read_bytes() == fetched.read_bytes()
    pins = {name: f"me/{name}@{repo.commits[-1].sha}" for name, repo in made.items()}
    assert read(tmp_path / "hub" / "manifest.json")["revisions"] == pins
    for pin in pins.values():
        assert pin in (tmp_path / "hub" / "merge.yaml").read_text("utf-8")
    assert not list((tmp_path / "cache").rglob("big.bin"))
    first = made["hi"].commits[-1].sha
    hub.add("model", "me/hi", files(judges["fr"]))
    assert local_folder(f"me/hi@{first}").name == first
    assert hub_commit(local_folder(f"me/hi@{first}")) == f"me/hi@{first}"


def test_an_adapter_by_hub_id_is_read_with_its_base(hub: HubServer, tmp_path: Path) -> None:
    base = judge(tmp_path / "base")
    hub.add("model", "me/base", files(base))
    source = adapter(tmp_path / "hi", base)
    config = source / "adapter_config.json"
    config.write_text(config.read_text("utf-8").replace(str(base), "me/base"), "utf-8")
    hub.add("model", "me/hi", files(source))
    found = read_source("hi", "me/hi")
    assert found.is_adapter
    assert (hub_commit(found.weights) or "").startswith("me/base@")


def test_a_judge_by_the_hub_id_of_an_adapter_is_whole_or_refused(hub: HubServer, tmp_path: Path) -> None:
    """Case 9 by Hub id, where transformers attaches what there is: here through train.load, as eval.judge does."""
    base = judge(tmp_path / "base")
    source = adapter(tmp_path / "hi", base)
    ids = torch.tensor([[1, 5, 7]])
    wanted = load_model(source)(input_ids=ids).logits
    content = files(source)
    hub.add("model", "me/hi", content)
    assert torch.equal(load_model("me/hi")(input_ids=ids).logits, wanted)
    assert load_tokenizer("me/hi").chat_template == pico.CHAT_TEMPLATE
    hub.add("model", "me/bare", {name: value for name, value in content.items() if "token" not in name})
    assert load_tokenizer("me/bare").chat_template == pico.CHAT_TEMPLATE  # its base's
    weights = load_file(source / "adapter_model.safetensors")
    lost = next(name for name in weights if "lora_B" in name)
    del weights[lost]
    hub.add("model", "me/part", {**content, "adapter_model.safetensors": save(weights)})
    with pytest.raises(ModelError, match=r"lacks 1 of 28 weights .* so it would judge as its base does"):
        load_model("me/part")
    hub.add("model", "me/whole", files(base))
    assert adapter_folder("me/whole") is None


def test_what_the_hub_refuses_is_one_line(hub: HubServer, tmp_path: Path) -> None:
    """A 404, a gate, a 403, a revision that is not there, a repository without a model, and one cut off on the way."""
    content = files(judge(tmp_path / "hi"))
    hub.add("model", "me/hi", content)
    hub.add("model", "me/gated", content, gated=True)
    hub.add("model", "me/hidden", content, private=True)
    hub.add("model", "me/data", {"data.json": b"{}"})
    lines = {
        "me/none": "the Hub has no model me/none for this login",
        "me/hidden": "the Hub has no model me/hidden for this login",
        "me/gated": "model me/gated is gated; ask for access at",
        "me/hi@v9": "model me/hi has no revision v9",
        "me/data": "me/data on the Hub has no config.json and no adapter_config.json",
        "a/b/c": "model a/b/c is neither a folder nor a Hub id",
    }
    for model, message in lines.items():
        with pytest.raises(ModelError) as refused:
            local_folder(model)
        assert message in str(refused.value)
    hub.fail(at=1)
    with pytest.raises(ModelError, match=r"the Hub refused model me/hi \(403\)"):
        local_folder("me/hi")
    hub.fail(at=4)
    with pytest.raises(ModelError, match="me/hi could not be fetched whole from the Hub"):
        local_folder("me/hi")
    hub.fail()
    assert (local_folder("me/hi") / "config.json").is_file()


def test_a_base_that_is_gated_names_adapter_and_base(hub: HubServer, tmp_path: Path) -> None:
    base = judge(tmp_path / "base")
    hub.add("model", "me/base", files(base), gated=True)
    source = adapter(tmp_path / "hi", base)
    config = source / "adapter_config.json"
    config.write_text(config.read_text("utf-8").replace(str(base), "me/base"), "utf-8")
    with pytest.raises(ModelError, match=rf"the base of adapter {source}: model me/base is gated"):
        read_source("hi", str(source))
