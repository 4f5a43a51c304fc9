"""A search that goes on from its trace asks for nothing twice and proposes what it would have proposed."""

import json
from pathlib import Path

import pytest

from core.errors import DataError
from merge.proposals import Candidate, Space, Step
from merge.trace import TRACE, Evaluation, best, explore, read_trace

SPACE = Space(("hi", "fr", "te"), total=1.0, densities=dict.fromkeys(("hi", "fr", "te"), 0.5), grid=(0.3, 0.5, 0.8))


class Judge:
    """Counts what it evaluates; the objective grows with te's weight and falls with hi's density. Cut after ``lives``."""

    def __init__(self, lives: int = 1000) -> None:
        self.lives, self.asked = lives, []  # type: int, list[int]

    def __call__(self, number: int, step: Step, candidate: Candidate) -> Evaluation:
        if self.lives == 0:
            raise KeyboardInterrupt
        self.lives -= 1
        self.asked.append(number)
        objective = candidate.weights["te"] - (candidate.densities or {})["hi"] / 10
        return Evaluation(
            number=number, step=step, weights=candidate.weights, densities=candidate.densities, objective=objective,
            kappa={}, n=4, n_unscored=0, seconds=1.0,
        )  # fmt: skip


def run(folder: Path, judge: Judge, seed: int = 0) -> list[Evaluation]:
    return explore(SPACE, draws=3, seed=seed, budget=12, evaluate=judge, folder=folder)


@pytest.mark.parametrize("lives", range(12))
def test_wherever_it_stops_it_goes_on_as_if_it_had_not(tmp_path: Path, lives: int) -> None:
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    whole = run(tmp_path / "whole", Judge())
    first, second = Judge(lives), Judge()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", first)
    assert run(tmp_path / "cut", second) == whole
    assert first.asked + second.asked == list(range(12))
    assert (tmp_path / "cut" / TRACE).read_bytes() == (tmp_path / "whole" / TRACE).read_bytes()


def test_a_row_that_was_cut_is_evaluated_again(tmp_path: Path) -> None:
    whole = run(tmp_path, Judge())
    file = tmp_path / TRACE
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:5]) + lines[5][:40])
    judge = Judge()
    assert run(tmp_path, judge) == whole
    assert judge.asked == list(range(5, 12))


def test_a_trace_of_another_search_is_refused(tmp_path: Path) -> None:
    run(tmp_path, Judge(), seed=1)
    with pytest.raises(DataError, match=r"trace\.jsonl row 2 is of another search; name another output folder"):
        run(tmp_path, Judge(), seed=2)
    (tmp_path / TRACE).write_text(json.dumps({"id": "x"}) + "\n", "utf-8")
    with pytest.raises(DataError, match="is no trace of a search"):
        read_trace(tmp_path)


def test_the_first_of_the_best_is_chosen(tmp_path: Path) -> None:
    found = run(tmp_path, Judge())
    assert best(found).objective == max(one.objective or 0 for one in found)
    level = [
        one.model_copy(update={"objective": value}) for one, value in zip(found, (0.1, None, 0.4, 0.4), strict=False)
    ]
    assert best(level).number == 2
    assert best([one.model_copy(update={"objective": None}) for one in found]).number == 0
