"""{language} in file names, and what only looks like it."""

import pytest

from core.errors import ConfigError
from train.arguments import parse_arguments
from train.placeholders import expand


def test_each_language_has_its_file() -> None:
    assert expand("train_file", ["{language}/a.jsonl", "b.jsonl"], ["hi", "fr"]) == [
        "hi/a.jsonl",
        "fr/a.jsonl",
        "b.jsonl",
    ]
    with pytest.raises(ConfigError, match="needs a language"):
        expand("train_file", "{language}.jsonl", None)


@pytest.mark.parametrize("field", ["train_file", "validation_file", "output_dir"])
def test_a_misspelt_placeholder_makes_no_folder_of_that_name(field: str) -> None:
    given = {"model_name_or_path": "m", "train_file": "t.jsonl", "output_dir": "out", field: "runs/{langage}"}
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    with pytest.raises(ConfigError, match=rf"{field} runs/{{langage}}: .*{{langage}} is unknown; .*{{language}}"):
        parse_arguments([*words, "--language", "hi"])
