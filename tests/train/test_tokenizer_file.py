"""A tokenizer that is read the quick way is the one that transformers reads."""

import gc
import json
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from tests import pico
from train.load import load_tokenizer
from train.tokenizer_file import added_tokens, uncollected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model folder whose tokenizer's class builds it anew from the file's parts, as Gemma's does."""
    pico.save(tmp_path, "gemma3")
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**config, "tokenizer_class": "GemmaTokenizer"}))
    return tmp_path


def test_nothing_differs(folder: Path) -> None:
    quick, slow = load_tokenizer(folder), AutoTokenizer.from_pretrained(folder)
    assert len(added_tokens(folder)["added_tokens_decoder"]) == len(pico.SPECIAL)
    assert type(quick).__name__ == "GemmaTokenizer"
    assert quick.backend_tokenizer.to_str() == slow.backend_tokenizer.to_str()
    assert str(quick) == str(slow)
    assert quick.init_kwargs == slow.init_kwargs
    assert quick.special_tokens_map == slow.special_tokens_map


def test_what_is_saved_of_it_does_not_differ(folder: Path, tmp_path: Path) -> None:
    load_tokenizer(folder).save_pretrained(tmp_path / "quick")
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "slow")
    for path in (tmp_path / "slow").iterdir():
        assert (tmp_path / "quick" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("special_tokens_map.json", "{}"),
        ("added_tokens.json", "{}"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {}}'),
        ("tokenizer_config.json", "["),
        ("tokenizer.json", '{"model": {"vocab": {"added_tokens": 3}}}'),
        ("tokenizer.json", '{"added_tokens": [{"content": "a"}]}'),
        ("tokenizer.json", '{"added_tokens": ["a"]}'),
    ],
)
def test_where_more_is_to_be_read_or_all_is_broken_transformers_reads_by_itself(
    folder: Path, file: str, content: str
) -> None:
    (folder / file).write_text(content, encoding="utf-8")
    assert added_tokens(folder) == {}


def test_garbage_is_collected_again_after_and_after_an_error() -> None:
    during: list[bool] = []

    @uncollected()
    def broken() -> None:
        during.append(gc.isenabled())
        raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert during == [False]
    assert gc.isenabled()
