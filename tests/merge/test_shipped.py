"""The shipped recipes as they stand: six folders in, one command, one judge out."""

from pathlib import Path

import pytest

from core.config import parse_config
from merge.experts import ExpertsConfig
from merge.experts import main as compare
from merge.recipe import MergeConfig
from merge.run import main
from tests.conftest import REPO
from tests.merge.checkpoints import adapter, judge, read

LANGUAGES = ["bn", "de", "fr", "hi", "te", "ur"]
BASE = "meta-llama/Llama-3.1-8B-Instruct"


@pytest.fixture
def experts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six experts where the recipes look for them, one of them an adapter, on a base in a folder named as on the Hub."""
    monkeypatch.chdir(tmp_path)
    judge(Path(BASE), chat_template=None)
    runs = Path("runs/hercule-llama-3.1-8b")
    for seed, language in enumerate(LANGUAGES[:-1], start=1):
        judge(runs / language, seed=seed)
    adapter(runs / "ur", Path(BASE), seed=6)
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["linear", "ties", "dare_ties"])
def test_the_papers_merge_is_one_command(experts: Path, recipe: str) -> None:
    output = experts / recipe
    main(
        parse_config(MergeConfig, ["--config", str(REPO / f"configs/merge/{recipe}.yaml"), "--output_dir", str(output)])
    )
    assert read(output / "manifest.json")["status"] == "done"
    assert read(output / "judge.json")["languages"] == LANGUAGES
    assert read(output / "config.json")["dtype"] == "bfloat16"
    assert set(read(output / "manifest.json")["seconds"]) == {"check", "fold", "merge"}


@pytest.mark.slow
def test_the_comparison_of_the_six_is_one_command(experts: Path) -> None:
    output = experts / "experts"
    config = ["--config", str(REPO / "configs/merge/experts.yaml"), "--output_dir", str(output)]
    compare(parse_config(ExpertsConfig, config))
    result = read(output / "experts.json")
    assert list(result["experts"]) == LANGUAGES
    assert len(result["all"]["pairs"]) == 15
