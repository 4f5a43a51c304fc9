"""A model folder appears whole or not at all."""

from pathlib import Path

import pytest

from merge.staging import staged


def test_files_appear_only_at_the_end_and_leftovers_go(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}", "utf-8")
    (tmp_path / "model-00001-of-00002.safetensors").write_text("old", "utf-8")
    (tmp_path / ".folded-x").mkdir()
    with staged(tmp_path) as folder:
        (folder / "config.json").write_text("{}", "utf-8")
        assert sorted(path.name for path in tmp_path.iterdir()) == [".partial", "manifest.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "manifest.json"]


def test_an_error_leaves_nothing(tmp_path: Path) -> None:

    def fail() -> None:
        with staged(tmp_path) as folder:
            (folder / "config.json").write_text("{}", "utf-8")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []
