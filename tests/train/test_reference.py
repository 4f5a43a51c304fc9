"""The field reference: english, none or target, checked against what the records say."""

from pathlib import Path

import pytest

from core.config import exit_status
from core.errors import ConfigError, DataError
from core.prompt_spec import load_prompt_spec
from core.records import write_records
from tests.train.pico_training import make_folder, records, train
from train.arguments import parse_arguments
from train.reference import check_reference


def in_language(code: str | None) -> list:
    return [row.model_copy(update={"reference_language": code}) for row in records(range(2))]  # Hindi records


def test_english_takes_english_or_unsaid_and_target_only_the_records_language() -> None:
    for reference, code in [("english", "en"), ("english", None), ("target", "hi"), ("none", "fr"), ("none", None)]:
        check_reference(in_language(code), reference)
    for reference, code in [("english", "hi"), ("target", "en"), ("target", None)]:
        with pytest.raises(
            DataError, match=f"8 of 8 records .* have reference_language {code}, and reference is {reference}"
        ):
            check_reference(in_language(code), reference)


def test_training_without_reference_is_noted_for_judging(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_folder(tmp_path)
    write_records(
        [row.model_copy(update={"reference_answer": None}) for row in records(range(2))], tmp_path / "train.jsonl"
    )
    output = train(tmp_path, "out", reference="none", max_steps=1, save_strategy="no")
    spec = load_prompt_spec(output)
    assert spec is not None
    assert spec.with_reference is False
    assert exit_status(lambda: train(tmp_path, "other", reference="target", max_steps=1) and None) == 2


def test_a_word_that_is_none_of_the_three_is_refused_in_yaml_too(tmp_path: Path) -> None:
    needed = ["--model_name_or_path", "m", "--train_file", "t", "--output_dir", "o"]
    (tmp_path / "c.yaml").write_text("reference: englsh\n")
    with pytest.raises(ConfigError, match="reference is 'englsh'; use one of english, none, target"):
        parse_arguments(["--config", str(tmp_path / "c.yaml"), *needed])
    with pytest.raises(ConfigError, match="did you mean reference"):
        parse_arguments([*needed, "--with_reference", "false"])
