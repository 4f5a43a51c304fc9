"""What batches of like length save over judging one record after the other, in process on the CPU, with the same verdicts.

Run as: python tests/benchmarks/bench_judging.py [RECORDS [MODEL [RECORDS_FILE]]]

By default the quickstart's French judge on 16 of its held-out records in float32, some 90 s on two quiet cores. The two
ways take turns over groups of eight records, so that both meet the machine in the same state. Wanted: a ratio of 2 or more.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from core.length import Fitted
from core.records import Prediction, read_records
from eval.backends.transformers import TransformersBackend
from eval.grading import Judge, fit_records, prompt_spec
from train.load import load_model, load_tokenizer

MODEL, RECORDS = "runs/quickstart/fr-full", "runs/quickstart/records/heldout.jsonl"
GROUP, MAX_NEW_TOKENS = 8, 48


def main() -> None:
    count, model, file = [*sys.argv[1:], *["16", MODEL, RECORDS][len(sys.argv) - 1 :]]
    if not (Path(model).is_dir() and Path(file).is_file()):
        print(f"no {model} or no {file}: run make quickstart first, or name a judge and its records")
        return
    spec, tokenizer = prompt_spec(model), load_tokenizer(model)
    fitted = fit_records(read_records(file)[: int(count)], tokenizer, spec)
    loaded = load_model(model, "float32", "cpu")
    judges = {
        size: Judge(TransformersBackend(loaded, tokenizer, MAX_NEW_TOKENS, batch_size=size), spec, str(size))
        for size in (1, GROUP)
    }
    judged(judges[1], fitted[:1])  # what is loaded late is loaded
    seconds = dict.fromkeys(judges, 0.0)
    made: dict[int, list[Prediction]] = {size: [] for size in judges}
    for start in range(0, len(fitted), GROUP):
        for size, judge in judges.items():
            before = perf_counter()
            made[size] += judged(judge, fitted[start : start + GROUP])
            seconds[size] += perf_counter() - before
    for size in judges:
        print(f"batches of {size}: {len(fitted) / seconds[size]:.2f} records a second")
    same = sum(one.raw == other.raw for one, other in zip(made[1], made[GROUP], strict=True))
    scored = sum(one.score is not None for one in made[1])
    print(f"ratio {seconds[1] / seconds[GROUP]:.2f}; {same} of {len(fitted)} texts are the same ({scored} scored)")
    assert [one.score for one in made[1]] == [one.score for one in made[GROUP]]


def judged(judge: Judge, fitted: Sequence[Fitted]) -> list[Prediction]:
    found: dict[int, Prediction] = {}
    for number, rows in judge.backend.plan(fitted):
        found |= {rows[at]: made for at, made in judge.predict([fitted[row] for row in rows], number)}
    return [found[row] for row in range(len(fitted))]


if __name__ == "__main__":
    main()
