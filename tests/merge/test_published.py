"""From training to the Hub and back: a published judge, loaded by its id by plain transformers, gives the same verdicts."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.config import parse_config
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord
from eval.grading import Judge
from merge import run as merge_run
from merge.card_prompt import EXAMPLE
from merge.publish import PublishConfig, main
from merge.recipe import MergeConfig
from tests.conftest import REPO
from tests.hub_server import HubServer
from tests.merge.checkpoints import adapter, judge
from tests.train.pico_training import make_folder, records, train

# In a process of its own, which knows the judge by its id alone: verdicts by transformers, and by eval.judge.
READER = """
import json, sys
from transformers import AutoModelForCausalLM, AutoTokenizer
from core.prompt import build_messages
from eval.judge import Judge
from tests.train.pico_training import records

name = sys.argv[1]
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, dtype="auto")
plain = []
for one in records(range(9, 10)):
    inputs = tokenizer.apply_chat_template(
        build_messages(one), add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    written = model.generate(**inputs, max_new_tokens=60, do_sample=False)
    plain.append(tokenizer.decode(written[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
judge = Judge.from_pretrained(name, max_new_tokens=60)
verdicts = judge.grade_records(records(range(9, 10)))
print(json.dumps({"plain": plain, "judge": [[one.raw, one.score] for one in verdicts]}))
"""


def python(hub: HubServer, folder: Path, *words: str) -> str:
    """What a python process that speaks to this Hub alone prints."""
    settings = {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(folder / "hf"),
        "HF_TOKEN": "hf_test",
        "PYTHONPATH": str(REPO),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def publish(*words: str) -> None:
    """Publish with a base of this Hub, in this process."""
    main(parse_config(PublishConfig, [*words, "--base", "org/base", "--license", "apache-2.0", "--push", "true"]))


def read_back(hub: HubServer, folder: Path, name: str) -> dict[str, Any]:
    return dict(json.loads(python(hub, folder, "-c", READER, name).splitlines()[-1]))


def card_code(hub: HubServer, name: str) -> str:
    """The snippet as it stands on the card."""
    card = hub.repos["model", name].commits[-1].files["README.md"].data.decode()
    code = re.search(r"```python\n(import re\n.*?)```", card, re.DOTALL)
    assert code is not None
    return code[1]


def same_verdicts(read: dict[str, Any], local: Judge) -> None:
    wanted = local.grade_records(records(range(9, 10)))
    assert read["plain"] == [one.raw for one in wanted]
    assert read["judge"] == [[one.raw, one.score] for one in wanted]
    assert all(one.raw for one in wanted)


@pytest.mark.slow
def test_a_judge_trained_merged_and_published_gives_the_same_verdicts_by_its_id(hub: HubServer, tmp_path: Path) -> None:
    make_folder(tmp_path)
    experts = {}
    for language in ("hi", "fr"):
        shared: dict[str, Any] = {"language": language, "max_steps": 12, "save_strategy": "no"}
        experts[language] = str(train(tmp_path, language, **shared))
    recipe = {"merge_method": "linear", "experts": experts, "weight": 0.5, "dtype": "float32"}
    merge_run.main(MergeConfig.model_validate({**recipe, "output_dir": str(tmp_path / "merged")}))
    inputs = ["--base_models", "{hi: org/judge-hi, fr: null}"]
    publish("--model", str(tmp_path / "merged"), "--repo_id", "org/judge", *inputs)
    files = hub.repos["model", "org/judge"].commits[-1].files
    assert not [name for name, blob in files.items() if str(tmp_path).encode() in blob.data]
    assert json.loads(files["judge.json"].data)["languages"] == ["hi", "fr"]
    same_verdicts(read_back(hub, tmp_path, "org/judge"), Judge.from_pretrained(tmp_path / "merged", max_new_tokens=60))
    example = JudgeRecord(id="x", item_id="x", language="fr", **EXAMPLE)  # type: ignore[arg-type]
    (verdict,) = Judge.from_pretrained(tmp_path / "merged").grade_records([example])
    assert verdict.score is not None
    assert python(hub, tmp_path, "-c", card_code(hub, "org/judge")) == f"{verdict.raw}\nscore: {verdict.score}\n"


@pytest.mark.slow
def test_a_published_adapter_gives_the_same_verdicts_by_its_id(hub: HubServer, tmp_path: Path) -> None:
    base = judge(tmp_path / "base")
    lora = adapter(tmp_path / "hi", base)
    PromptSpec().save(lora, languages=["hi"], base_model=str(base))
    (lora / "generation_config.json").write_text('{"eos_token_id": [2, 6]}', "utf-8")
    hub.add("model", "org/base", {path.name: path.read_bytes() for path in base.iterdir()})
    publish("--model", str(lora), "--repo_id", "org/lora")
    same_verdicts(read_back(hub, tmp_path, "org/lora"), Judge.from_pretrained(lora, max_new_tokens=60))
    assert "\nscore: " in python(hub, tmp_path, "-c", card_code(hub, "org/lora"))
