"""The trace of a search: one row an evaluation in trace.jsonl, from which a search that was stopped goes on as if it had not."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import DataError
from core.jsonl import Appender, read_jsonl
from merge.proposals import Candidate, Space, Step, proposals

TRACE = "trace.jsonl"


class Evaluation(BaseModel):
    """What one candidate reached on the search half: kappa by language as a figure with interval and n, and the objective
    (None where a language has no kappa).
    """

    model_config = ConfigDict(extra="forbid")

    number: int
    step: Step
    weights: dict[str, float]
    densities: dict[str, float] | None
    objective: float | None
    kappa: dict[str, dict[str, Any]]
    n: int
    n_unscored: int
    seconds: float

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.weights, self.densities)


Evaluate = Callable[[int, Step, Candidate], Evaluation]


def read_trace(folder: Path) -> list[Evaluation]:
    """The evaluations that a folder holds, in order. Raises DataError for a row that is none."""
    path = folder / TRACE
    if not path.is_file():
        return []
    try:
        return [Evaluation.model_validate(row) for _, row in read_jsonl(path)]
    except ValidationError:
        raise DataError(f"{path} is no trace of a search; name another output folder") from None


def explore(space: Space, draws: int, seed: int, budget: int, evaluate: Evaluate, folder: Path) -> list[Evaluation]:
    """Evaluate up to ``budget`` candidates, each written to the folder's trace as soon as it is done.

    Those that the trace holds are not evaluated again; they answer the proposals, so that the same candidates follow.
    Raises DataError where the trace is of another search.
    """
    done = read_trace(folder)
    asked = proposals(space, draws, seed)
    found: list[Evaluation] = []
    with Appender(folder / TRACE) as out:
        while len(found) < budget:
            try:
                step, candidate = asked.send(found[-1].objective if found else None)
            except StopIteration:
                break
            if len(found) < len(done):
                evaluation = done[len(found)]
                if evaluation.candidate != candidate:
                    raise DataError(
                        f"{out.path} row {len(found) + 1} is of another search; name another output folder, or pass "
                        "--if_exists overwrite"
                    )
            else:
                evaluation = evaluate(len(found), step, candidate)
                out.write(evaluation.model_dump(mode="json"))
            found.append(evaluation)
    return found


def best(evaluations: Sequence[Evaluation]) -> Evaluation:
    """The first of those with the greatest objective; the first of all where none has one."""
    return max(evaluations, key=lambda one: float("-inf") if one.objective is None else one.objective)
