"""Paths and users of this machine are found in what would be published, and nothing else is."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from core.errors import HubError
from core.machine_paths import check_no_machine_path


def check(tmp_path: Path, text: str, name: str = "config.json") -> None:
    (tmp_path / name).write_text(f"first line\n{text}\n", encoding="utf-8")
    check_no_machine_path({name: tmp_path / name})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"base": "/home/someone/llama"', "/home/someone"),
        ('"base": "/cluster/users/x/llama"', "/cluster/users/x/llama"),
        ("model=/mnt/big", "/mnt/big"),
        ("see (/srv/models/base).", "/srv/models/base"),
        ("[log](file:///a/b)", "file:///a/b)"),
        ("from ~/models/base", "~/m"),
        ("from ~ana/models", "~ana/m"),
        ('"C:\\\\Users\\\\bob"', "C:\\\\Users"),
        ('"../scratch/ana/base"', '"../scratch/ana'),
        ("made by ana@node7", "ana@node7"),
        ("in {cwd}", "{cwd}"),
    ],
)
def test_what_names_this_machine_is_found_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, found: str
) -> None:
    monkeypatch.setenv("USER", "ana")
    with pytest.raises(HubError) as caught:
        check(tmp_path, text.format(cwd=Path.cwd()))
    assert f"config.json names a path of this machine on line 2 ({found.format(cwd=Path.cwd())}" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "https://huggingface.co/ana/judge and [x](http://localhost:8000/v1/chat)",
        "ana/judge was made by ana, 4/5 and/or data/ana-2",
        "</think></tool_call> {{ a ~ '/' ~ b }} <br/>text 1/2/3",
        '{"role": "user", "eos_token": "</s>"}',
    ],
)
def test_addresses_ids_and_markup_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("USER", "ana")
    check(tmp_path, text)


def test_entries_of_a_vocabulary_are_of_any_origin(tmp_path: Path) -> None:
    check(tmp_path, '"/home/x/y": 7', "tokenizer.json")


def test_the_notes_in_a_weight_file_are_read(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2)}, tmp_path / "model.safetensors", {"format": "pt"})
    check_no_machine_path({"model.safetensors": tmp_path / "model.safetensors"})
    save_file({"a": torch.zeros(2)}, tmp_path / "model.safetensors", {"source": "/scratch/ana/base"})
    with pytest.raises(HubError, match=r"model\.safetensors names a path of this machine"):
        check_no_machine_path({"model.safetensors": tmp_path / "model.safetensors"})
