"""Models that do not belong together are told apart from configs, tokenizers and headers, each with its reason."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from core.errors import ConfigError, ModelError, UserError
from core.prompt_spec import PromptSpec
from merge.preflight import check_alike, read_source
from merge.recipe import MergeConfig
from tests import pico
from tests.merge.checkpoints import judge


def compare(hi: Path, fr: Path, **changes: Any) -> None:
    values = {"merge_method": "linear", "experts": {"hi": str(hi), "fr": str(fr)}, "output_dir": "out", **changes}
    config = MergeConfig.model_validate(values)
    check_alike(config, {name: read_source(name, expert.model) for name, expert in config.experts.items()})


def test_two_judges_of_one_kind_are_alike(tmp_path: Path) -> None:
    compare(judge(tmp_path / "hi", seed=1), judge(tmp_path / "fr", seed=2))


def test_added_tokens_are_listed(tmp_path: Path) -> None:
    """Case 13: two tokens more in one of the vocabularies."""
    size = len(pico.tokenizer())
    hi, fr = judge(tmp_path / "hi"), judge(tmp_path / "fr", vocab_size=size + 2)
    more = pico.tokenizer()
    more.add_tokens(["<a>", "<b>"])
    more.save_pretrained(fr)
    with pytest.raises(ModelError) as refused:
        compare(hi, fr)
    assert f"2 tokens differ in id: '<a>' (absent / {size}), '<b>' (absent / {size + 1})" in str(refused.value)


def test_a_tokenizer_saved_another_way_is_the_same_vocabulary(tmp_path: Path) -> None:
    hi, fr = judge(tmp_path / "hi"), judge(tmp_path / "fr")
    config = fr / "tokenizer_config.json"
    config.write_text(config.read_text("utf-8").replace('"right"', '"left"'), "utf-8")
    assert '"left"' in config.read_text("utf-8")
    compare(hi, fr)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 400}, "differ in lm_head.weight: "),
        ({"rms_norm_eps": 1e-3}, "differ in their config: rms_norm_eps is 1e-06 and 0.001"),
        ({"tie_word_embeddings": True}, "differ in their config: tie_word_embeddings is False and True"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, "differ in their config: rope_parameters"),
    ],
)
def test_another_configuration_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as refused:
        compare(judge(tmp_path / "hi"), judge(tmp_path / "fr", **changes))
    assert message in str(refused.value)


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"different architectures \(llama and gemma3_text\)"):
        compare(judge(tmp_path / "hi"), pico.save(tmp_path / "fr", "gemma3"))


def test_a_judge_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"fr .* has no chat template"):
        compare(judge(tmp_path / "hi"), judge(tmp_path / "fr", chat_template=None))


def test_judges_trained_under_two_prompts_have_to_be_chosen_from(tmp_path: Path) -> None:
    hi, fr = judge(tmp_path / "hi"), judge(tmp_path / "fr")
    PromptSpec(template="hercule").save(fr)
    with pytest.raises(ConfigError, match=r"prompts \(judge.json\) differ \(fr from hi\)"):
        compare(hi, fr)
    compare(hi, fr, tokenizer_from="hi")


def test_one_folder_twice_is_refused(tmp_path: Path) -> None:
    hi = judge(tmp_path / "hi")
    (tmp_path / "fr").symlink_to(hi)
    with pytest.raises(ConfigError, match="hi and fr are the same folder"):
        compare(hi, tmp_path / "fr")


def _without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _cut(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:100])


def _without_config(folder: Path) -> None:
    (folder / "config.json").unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without_weights, "has no weights"),
        (_without_config, "has no config.json"),
        (_cut, "cannot be read"),
        (shutil.rmtree, "is neither a folder nor a Hub id"),
    ],
)
def test_a_broken_folder_is_refused(tmp_path: Path, damage: Any, message: str) -> None:
    hi, fr = judge(tmp_path / "hi"), judge(tmp_path / "fr")
    damage(fr)
    with pytest.raises(UserError, match=message):
        compare(hi, fr)


def test_a_name_that_the_hub_does_not_give_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="someone/no-such-judge is no folder, and not in the Hub's cache"):
        compare(judge(tmp_path / "hi"), Path("someone/no-such-judge"))
