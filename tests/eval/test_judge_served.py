"""A judge behind real servers gives the verdicts that it gives in process, and vLLM's log-probabilities its expected scores."""

import re
from pathlib import Path

import pytest

from core.records import JudgeRecord, Prediction, read_records, read_rows, write_records
from eval.judge import JudgeConfig, main
from tests.conftest import REPO
from tests.eval.pico_judge import RECORDS, record, save_judge
from tests.eval.served import transformers_serve, vllm_serve

pytestmark = pytest.mark.slow
ROWS, SCORED = 40, 30


def records() -> list[JudgeRecord]:
    """Those that the judge was taught, and others like them."""
    words = ["bad", "juste", "good answer", "fair", "complete"]
    others = [record(f"o{n}", f"{words[n % 5]} " * (1 + n), language=("fr", "hi")[n % 2]) for n in range(ROWS - 4)]
    return [*RECORDS, *others]


@pytest.fixture(scope="module", params=["pico", "quickstart"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge, its records, and its predictions in process. vLLM has no kernels for the heads of smaller pico judges."""
    folder = tmp_path_factory.mktemp("served")
    if request.param == "pico":
        save_judge(folder / "judge", steps=100, head_dim=32)
        write_records(records(), folder / "records.jsonl")
    else:
        trained = REPO / "runs" / "quickstart"
        if not (trained / "fr-full").is_dir():
            pytest.skip("the quickstart's judge is absent: run make quickstart first")
        (folder / "judge").symlink_to(trained / "fr-full", target_is_directory=True)
        write_records(read_records(trained / "records" / "heldout.jsonl")[:ROWS], folder / "records.jsonl")
    judge(folder, "in-process", dtype="float32", device="cpu")
    return folder


def judge(folder: Path, output: str, **where: object) -> None:
    fields = {"model_name_or_path": str(folder / "judge"), "input": folder / "records.jsonl", "max_new_tokens": 48}
    if "base_url" in where:
        fields |= {"store": folder / f"answers-{output}", "concurrency": 4, "timeout": 300.0}
    main(JudgeConfig(**{**fields, "output": folder / output, **where}))


def predictions(folder: Path, output: str) -> list[Prediction]:
    rows = read_rows(folder / output / "predictions.jsonl", Prediction)
    assert len(rows) == ROWS
    assert sum(row.score is not None for row in rows) >= SCORED
    return rows


def same_verdicts(served: list[Prediction], here: list[Prediction]) -> list[tuple[Prediction, Prediction]]:
    """The pairs that agree up to and with the verdict; kernels round differently, so a few near ties may part.

    Servers leave special tokens out of their text; a judge that is hardly trained writes Gemma's <unused…> among its words.
    """

    def told(row: Prediction) -> tuple[str, int | None, str | None]:
        return " ".join(re.sub(r"<unused\d+>", " ", row.feedback).split()), row.score, row.failure

    assert [(row.id, row.prompt_tokens, row.shortened) for row in served] == [
        (row.id, row.prompt_tokens, row.shortened) for row in here
    ]
    pairs = list(zip(served, here, strict=True))
    same = [(a, b) for a, b in pairs if told(a) == told(b)]
    assert len(same) >= 0.9 * ROWS
    return same


def test_transformers_serve_gives_the_same_verdicts(folder: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra `serving` is not installed")
    with transformers_serve(folder / "judge", folder / "transformers.log") as base_url:
        judge(folder, "transformers", base_url=base_url, top_logprobs=0)
    same_verdicts(predictions(folder, "transformers"), predictions(folder, "in-process"))


def test_vllm_gives_the_verdicts_and_expected_scores(folder: Path) -> None:
    with vllm_serve(folder / "judge", folder / "vllm.log") as base_url:
        judge(folder, "vllm", base_url=base_url, top_logprobs=20)
    same = same_verdicts(predictions(folder, "vllm"), predictions(folder, "in-process"))
    scored = [(a, b) for a, b in same if a.score is not None]
    assert len(scored) >= 0.8 * SCORED
    for a, b in scored:
        assert a.expected_score == pytest.approx(b.expected_score, abs=1e-3)
        assert a.score_mass == pytest.approx(b.score_mass, abs=1e-3)
