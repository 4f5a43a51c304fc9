"""What the tests of the report share: a parser of its page, rows with hostile text, and real runs to show."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from core.records import JudgeRecord, Prediction, ScoreRow, SummaryRecord, write_records, write_rows
from core.run import Run
from eval.agree import AgreeConfig
from eval.agree import main as agree
from eval.reporting.page import render
from eval.reporting.runs import read_run
from eval.reporting.verdicts import Gathered, gather
from eval.summary.metrics import cells, strengths

HOSTILE = "<script>alert(1)</script> </script> {{7*7}} & \"quoted\" 'too'"
VOID = {"meta", "br", "hr", "img", "link", "input", "path", "circle", "use", "rect", "polyline"}
# Gold and score of ten rows: nine scored, of which row 2 is +2 and row 9 −3; row 3 is unscored.
JOINT = [(1, 1), (2, 2), (3, 5), (4, None), (5, 5), (1, 1), (2, 3), (3, 3), (4, 4), (5, 2)]
TIES = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (1, 1), (2, 2), (3, 3), (4, 4), (5, 4)]


class Page(HTMLParser):
    """A parsed page: its elements with their attributes, and the text of its body. Fails on unbalanced tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._open):
            self.text += data

    def tags(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def rows(html: str, start: str) -> list[list[str]]:
    """The cells of the first table at or after a piece of HTML (of the table itself for its caption), as text with single spaces."""
    at = html.index(start)
    at = html.rindex("<table", 0, at) if start.startswith("<caption") else at
    table = re.search(r"<table.*?</table>", html[at:], re.DOTALL)
    assert table
    found = re.findall(r"<tr.*?</tr>", table.group(), re.DOTALL)
    return [[plain(cell) for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.DOTALL)] for row in found]


def plain(html: str) -> str:
    """The text of a piece of HTML with single spaces, its entities left."""
    return " ".join(re.sub(r"<.*?>", "", html, flags=re.DOTALL).split())


def prediction(
    number: int, gold: float | None, score: int | None, judge: str = "joint", text: str = "Fine.", **changes: Any
) -> Prediction:
    """A verdict on record r{number}: odd ones are in Hindi, even ones in Urdu."""
    fixed: dict[str, Any] = {
        "id": f"r{number}",
        "item_id": f"p{number}",
        "language": "hi" if number % 2 else "ur",
        "system": "gpt",
        "judge": judge,
        "template": "default",
        "gold": gold,
        "score": score,
        "expected_score": None,
        "score_mass": None,
        "failure": None if score else "no [RESULT] marker",
        "feedback": text,
        "raw": f"{text} [RESULT] {score}" if score else text,
        "prompt_tokens": 10,
        "shortened": False,
    }
    return Prediction(**fixed | changes)


def record(number: int, gold: int, **changes: Any) -> JudgeRecord:
    rubric = {f"score{score}_description": str(score) for score in range(1, 6)}
    fixed: dict[str, Any] = {
        "id": f"r{number}",
        "item_id": f"p{number}",
        "language": "hi" if number % 2 else "ur",
        "instruction": f"q{number}",
        "response": "x" * (gold * 7 + number),
        "criteria": "c",
        "reference_answer": "reference",
        "reference_language": "en",
        "score": gold,
        "source": "test",
    }
    return JudgeRecord(**fixed | rubric | changes)


def summary(number: int, human: float | None) -> SummaryRecord:
    return SummaryRecord(
        id=f"s{number}",
        language="hi" if number < 6 else "ja",
        dimension="coherence",
        system="ab"[number % 2],
        document_id=f"d{number}",
        document="text",
        reference="a b c",
        summary="a b c d"[: number + 1],
        human_score=human,
    )


def score_row(number: int, strength: float, score: float) -> ScoreRow:
    how: dict[str, Any] = {"pivot": None, "method": None, "scale": None, "layers": None}
    if strength:
        how = {"pivot": "en", "method": "vector", "scale": "relative", "layers": [0, 1]}
    return ScoreRow(
        id=f"s{number}",
        document_id=f"d{number}",
        language="hi",
        dimension="coherence",
        metric="gptscore",
        model="models/pico",
        strength=strength,
        draw=None,
        score=score,
        **how,
    )


def steered(human: bool = True) -> dict[str, Any]:
    """A cell of six summaries. At strength 1 all scores fall by 9, far more than 3 standard deviations (1.9): broken."""
    records = [summary(n, float(n % 4) if human else None) for n in range(6)]
    shift = {-1.0: 0.1, 0.0: 0.0, 1.0: -9.0}
    scored = [
        score_row(n, strength, n + by + (n * strength % 3) / 9) for strength, by in shift.items() for n in range(6)
    ]
    return cells(records, scored, resamples=20, seed=0)[0]


def make_runs(root: Path) -> list[Path]:
    """Real runs below ``root``, which is the working folder: judge <joint> on ten rows, its agreement beside that of ties,
    and a steering run of two cells. Folders of eval.agree, eval.summaries, eval.judge.
    """
    joint = [prediction(n, gold, score, "joint <b>", HOSTILE) for n, (gold, score) in enumerate(JOINT)]
    ties = [prediction(n, gold, score, "ties") for n, (gold, score) in enumerate(TIES)]
    hostile = {"instruction": HOSTILE, "feedback": HOSTILE, "human_scores": [1.0, 2.0]}
    write_records(
        [record(n, gold, **hostile | {"instruction": f"{HOSTILE} {n}"}) for n, (gold, _) in enumerate(TIES)],
        root / "records.jsonl",
    )
    write_rows(ties, root / "ties.jsonl")
    config = {"model_name_or_path": "org/joint", "seed": 1, "input": "records.jsonl"}
    with Run(root / "judge", "eval.judge", config, [root / "records.jsonl"]) as run:
        write_rows(joint, run.path / "predictions.jsonl")
    files = [root / "judge" / "predictions.jsonl", root / "ties.jsonl"]
    agree(AgreeConfig(predictions=files, records=[root / "records.jsonl"], output=root / "agree", resamples=99))
    with Run(root / "summaries", "eval.summaries", {"model_name_or_path": "models/pico"}) as run:
        found = [steered(), steered(human=False)]
        metrics = {"cells": found, "strengths": strengths(found), "notes": ["a <note>"]}
        (run.path / "metrics.json").write_text(json.dumps(metrics))
    return [root / "agree", root / "summaries", root / "judge"]


class Shown:
    """The page of ``make_runs``, made once a test session."""

    def __init__(self, root: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(root)
            self.folders = make_runs(root)
            self.runs = [read_run(folder) for folder in self.folders]
            self.gathered: Gathered = gather(self.runs)
            self.html = render(self.runs, "Title <i>", "The <machinery>, not a result", self.gathered, 200)
        self.page = Page(self.html)
