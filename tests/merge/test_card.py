"""The card: what the Hub reads of it, and that every number on it is the evaluation's."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from core.errors import ConfigError, DataError
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord
from eval.agree import measure
from eval.judged import JudgedItem
from merge.card import Card, card_text
from merge.card_prompt import EXAMPLE, snippet
from merge.card_results import Evaluation, limits_text, read_evaluation
from merge.card_training import training_text
from merge.licences import licence_of
from merge.lineage import Lineage
from tests import pico
from tests.core.records_for_tests import record

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
# Gold and score; the last of Telugu is unscored.
HINDI = [(1, 2), (2, 2), (3, 4), (5, 5)]
TELUGU = [(2, 3), (4, None)]


def items(language: str, pairs: Sequence[tuple[int, int | None]]) -> list[JudgedItem]:
    return [
        JudgedItem(
            f"{language}{n}",
            f"i{n}",
            language,
            gold,
            score,
            None if score else "no [RESULT] marker",
            length_ratio=1 / (n + 1),
        )
        for n, (gold, score) in enumerate(pairs)
    ]


@pytest.fixture(scope="module")
def agree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of eval.agree with two judges, on records long enough for the length baseline."""
    folder = tmp_path_factory.mktemp("agree")
    rows = [*items("hi", HINDI), *items("te", TELUGU)]
    other = [row._replace(score=1, failure=None) for row in rows]
    records = [
        record(id=f"r{n}", item_id=f"r{n}", language="hi", score=n % 5 + 1, response="x" * (n + 1)) for n in range(20)
    ]
    metrics = measure({"mine": rows, "other": other}, records, resamples=50)
    (folder / "metrics.json").write_text(json.dumps(metrics), "utf-8")
    (folder / "manifest.json").write_text(json.dumps({"command": "eval.agree", "status": "done"}), "utf-8")
    return folder


def card(agree: Path, **changes: Any) -> Card:
    lineage = Lineage("merge", LLAMA, {"hi": "org/Llama-hi", "te": None}, {}, {"merge_method": "linear", "experts": {}})
    return replace(
        Card(
            repo_id="org/Llama-3.1-judge",
            title="A judge",
            description="Made for a test.",
            languages=["hi", "te", "ur"],
            lineage=lineage,
            licence=licence_of([LLAMA]),
            spec=PromptSpec(),
            datasets=["ai4bharat/intel"],
            sources=["Feedback-Collection (CC BY 4.0)"],
            tags=["mine"],
            evaluations=[read_evaluation(f"ai4bharat/recon={agree}", "mine")],
            training="| judge |",
            snippet="print(1)",
        ),
        **changes,
    )


def test_the_hub_reads_languages_base_licence_and_results(agree: Path) -> None:
    text = card_text(card(agree))
    data = ModelCard(text).data
    assert data.language == ["en", "hi", "te", "ur"]
    assert (data.base_model, data["base_model_relation"]) == (["org/Llama-hi"], "merge")
    assert (data.license, data.license_link) == ("llama3.1", licence_of([LLAMA]).link)
    assert data.datasets == ["ai4bharat/intel"]
    assert data.tags == ["llm-as-a-judge", "cross-lingual", "merge", "mergekit", "mine"]
    assert (data.pipeline_tag, data.library_name) == ("text-generation", "transformers")
    results = {(one.dataset_config, one.metric_type): one for one in data.eval_results or []}
    stored = json.loads((agree / "metrics.json").read_text())["judges"]["mine"]
    for config, figures in {"all": stored["all"], **stored["by_language"]}.items():
        kappa, result = figures["kappa"], results[config, "linear_weighted_kappa"]
        assert (result.dataset_type, result.metric_value) == ("ai4bharat/recon", round(kappa["value"], 4))
        assert result.metric_args == {
            "interval_95": [round(kappa["low"], 4), round(kappa["high"], 4)],
            "n": kappa["n"],
            "n_unscored": kappa["n_unscored"],
        }
    # Exact: 2 of 6, for an unscored verdict is no agreement.
    assert results["all", "accuracy"].metric_value == 0.3333
    assert results["te", "unscored_rate"].metric_value == 0.5


def test_people_read_notices_prompt_recipe_results_and_limits(agree: Path) -> None:
    text = card_text(card(agree))
    assert text.index("**Built with Llama**") < text.index("## How to prompt it")
    for line in (
        "# A judge",
        "Made for a test.",
        "trained on responses in Hindi, Telugu, Urdu",
        "```python\nprint(1)\n```",
        "- Data set: [ai4bharat/intel](https://huggingface.co/datasets/ai4bharat/intel)",
        "- Source: Feedback-Collection (CC BY 4.0)",
        "### ai4bharat/recon",
        "| this judge ",
        "| length baseline ",
        "[Llama 3.1 Community License](",
    ):
        assert line in text, line
    assert "| other " not in text
    assert text == card_text(card(agree))


def test_limits_are_worked_by_hand(agree: Path) -> None:
    text = limits_text(card(agree).evaluations, ["hi", "ur"])
    # Score minus gold over the 5 scored rows: (1 + 0 + 1 + 0 + 1) / 5 = .6
    assert "Generosity on ai4bharat/recon: its scores are on average .60 points above gold (.60 [" in text
    assert "Unread on ai4bharat/recon: 1 of 6 verdicts had no score that could be read" in text
    assert "(1 no [RESULT] marker)" in text
    assert "with the length of the response held fixed" in text
    assert "Trained on but not tested here: Urdu." in text
    assert "Tested but not trained on: Telugu." in text


def test_a_judge_without_evaluation_says_so(agree: Path) -> None:
    text = card_text(card(agree, evaluations=[]))
    assert "was not evaluated for this card" in text
    assert ModelCard(text).data.eval_results is None
    assert "Trained on but not tested here: Hindi, Telugu, Urdu." in text


def test_metrics_have_to_be_of_a_finished_run_that_holds_the_judge(agree: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no judge min; set judge to its name there: did you mean mine"):
        read_evaluation(str(agree), "min")
    with pytest.raises(DataError, match=r"is no finished run of eval\.agree"):
        read_evaluation(f"recon={tmp_path}", "mine")
    assert read_evaluation(str(agree), "mine").dataset == agree.name


def test_a_licence_of_ones_own_is_named_and_linked(agree: Path) -> None:
    licence = licence_of(["org/model"], "other", "sarvam-research", "https://example.org/licence")
    data = ModelCard(card_text(card(agree, licence=licence))).data
    assert (data.license, data.license_name, data.license_link) == ("other", licence.name, licence.link)


@pytest.mark.parametrize("template", ["default", "hercule"])
@pytest.mark.parametrize("with_reference", [True, False])
@pytest.mark.parametrize("chat_template", [pico.CHAT_TEMPLATE, pico.NO_SYSTEM_TEMPLATE])
def test_the_snippet_asks_exactly_as_training_did(template: str, with_reference: bool, chat_template: str) -> None:
    """The code up to the messages runs here; what it renders is what core.prompt builds and core.chat folds."""
    tokenizer = pico.tokenizer(chat_template)
    spec = PromptSpec(template, with_reference)
    code = snippet("org/judge", spec, tokenizer)
    compile(code, "snippet", "exec")
    start, end = code.index("MODEL ="), code.index("inputs =")
    lines = [line for line in code[start:end].splitlines(keepends=True) if "from_pretrained" not in line]
    names: dict[str, Any] = {}
    exec("".join(lines), names)
    wanted = JudgeRecord(id="x", item_id="x", language="fr", **EXAMPLE)  # type: ignore[arg-type]
    messages = build_messages(wanted, template, with_reference)
    if chat_template == pico.NO_SYSTEM_TEMPLATE and len(messages) == 2:
        messages = [{"role": "user", "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}]
    assert names["messages"] == messages


def training(folder: Path, command: str, config: dict[str, Any], **more: Any) -> None:
    folder.mkdir(exist_ok=True)
    manifest = {"command": command, "status": "done", "seed": 42, "config": config, **more}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def test_the_training_of_every_expert_is_told_without_its_folder(tmp_path: Path) -> None:
    config = {"use_peft": True, "lora_r": 16, "lora_alpha": 32, "learning_rate": 5e-4, "lr_scheduler_type": "cosine"}
    config |= {
        "max_steps": -1,
        "num_train_epochs": 3.0,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
    }
    training(tmp_path / "hi-lora", "train.sft", config, counts={"hi": {"examples": 99952}})
    training(tmp_path / "hi", "merge.fold", {"adapter": str(tmp_path / "hi-lora")})
    packages = {
        "packages": {"torch": "2.13.0", "mergekit": "0.1.5"},
        "git": {"commit": "0123456789abcdef", "dirty": False},
    }
    training(tmp_path / "linear", "merge.run", {}, **packages)
    experts = {"hi": str(tmp_path / "hi"), "te": "org/Llama-te"}
    recipe = {"merge_method": "linear", "experts": {"hi": {"model": "unpublished"}}}
    text = training_text(
        tmp_path / "linear", Lineage("merge", LLAMA, {"hi": None, "te": "org/Llama-te"}, experts, recipe)
    )
    assert (
        "| hi: unpublished | hi 99,952 | LoRA, r 16, alpha 32 | 0.0005, cosine | 3 epochs | 4 × 2 a device | 42 |"
        in text
    )
    assert "| te: org/Llama-te | not recorded |" in text
    assert "```yaml\nmerge_method: linear\nexperts:\n  hi:\n    model: unpublished\n```" in text
    assert "Made with torch 2.13.0, mergekit 0.1.5; source commit 0123456789ab." in text
    assert str(tmp_path) not in text


def test_an_evaluation_without_lengths_has_no_length_limit() -> None:
    rows = [row._replace(length_ratio=None) for row in items("hi", HINDI)]
    metrics = measure({"this judge": rows}, [], resamples=20)
    assert "Length on" not in limits_text([Evaluation("recon", metrics)], ["hi"])
