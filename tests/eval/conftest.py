"""What the tests of eval share."""

from pathlib import Path

import pytest

from tests.eval.pico_judge import save_judge
from tests.eval.report_for_tests import Shown


@pytest.fixture(scope="session")
def judge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pico judge, taught tests.eval.pico_judge.RECORDS."""
    return save_judge(tmp_path_factory.mktemp("models") / "pico-judge")


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A report of real runs, with hostile text in every place."""
    return Shown(tmp_path_factory.mktemp("report"))
