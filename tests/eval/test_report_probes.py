"""What eval.probes and eval.leaderboard found, on the page of eval.report."""

from pathlib import Path

import pytest

from core.records import Prediction, read_records, write_records, write_rows
from eval.leaderboard import LeaderboardConfig
from eval.leaderboard import main as leaderboard
from eval.probes import ProbesConfig
from eval.probes import main as probes
from eval.reporting.page import render
from eval.reporting.runs import RunRead, read_run
from eval.reporting.verdicts import Gathered
from tests.eval.report_for_tests import Page, plain, prediction, record, rows


def verdict(of: str, item: str, language: str, score: int, gold: float | None) -> Prediction:
    return prediction(0, gold, score, judge="<judge>", id=of, item_id=item, language=language, system=None)


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> RunRead:
    """A judge that gives 2 to every original and 4 to everything altered."""
    root = tmp_path_factory.mktemp("probes")
    originals = [record(n, 1 + n % 5, capability="ab"[n // 4], reference_answer=f"reference {n}") for n in range(8)]
    write_records(originals, root / "records.jsonl")
    probes(ProbesConfig(action="make", input=[root / "records.jsonl"], output=root / "made"))
    made = read_records(root / "made" / "records.jsonl")
    judged = [verdict(one.id, one.item_id, one.language, 4 if "#" in one.id else 2, one.gold) for one in made]
    write_rows(judged, root / "p.jsonl")
    files = {"predictions": [root / "p.jsonl"], "records": [root / "made" / "records.jsonl"]}
    probes(ProbesConfig(action="read", output=root / "read", resamples=50, **files))
    return read_run(root / "read")


def page_of(run: RunRead) -> str:
    return render([run], "t", None, Gathered([], []), 0)


def test_every_probe_has_its_shift(probed: RunRead) -> None:
    html = page_of(probed)
    table = rows(html, 'id="run-1"')
    assert table[0][:4] == ["Probe", "n", "Unscored", "Shift in score"]
    kinds = probed.metrics["probes"]["<judge>"]
    assert [row[0] for row in table[1:]] == [kind.replace("_", " ") for kind in kinds]
    assert len(table) > 4
    # 4 − 2 for all; 0 of them unmoved, all moved up.
    assert {row[3] for row in table[1:]} == {"2.00 [2.00, 2.00]"}
    assert {row[5][:4] for row in table[1:]} == {"0.00"}
    assert {row[6][:4] for row in table[1:]} == {"1.00"}
    assert "&lt;judge&gt;" in html
    by_language = rows(html, "<caption>Shift in score by language")
    assert by_language[0] == ["Probe", "hi", "ur"]
    assert rows(html, "<caption>Share unmoved by capability")[0] == ["Probe", "a", "b"]
    assert "What moves a judge" in plain(html)


def test_injected_texts_are_shown_as_text(probed: RunRead) -> None:
    page = Page(page_of(probed))
    assert probed.metrics["attacks"]
    texts = [text for attack in probed.metrics["attacks"].values() for text in attack.values() if isinstance(text, str)]
    assert texts
    assert all(text in page.text for text in texts)


def test_systems_stand_in_order_with_their_tests(tmp_path: Path) -> None:
    means = {"good": 5, "poor <b>": 1}
    judged, records = [], []
    for n in range(12):
        for name, score in means.items():
            language = "hi" if n % 2 else "ur"
            one = {"id": f"{name}-{n}", "item_id": f"p{n}", "system": name, "language": language}
            judged.append(prediction(n, None, score, judge="j", **one))
            records.append(record(n, 3, **one, human_scores=[float(score), 3.0]))
    write_rows(judged, tmp_path / "p.jsonl")
    write_records(records, tmp_path / "r.jsonl")
    files = {"predictions": [tmp_path / "p.jsonl"], "records": [tmp_path / "r.jsonl"]}
    leaderboard(LeaderboardConfig(**files, output=tmp_path / "board", resamples=999))
    html = page_of(read_run(tmp_path / "board"))
    table = rows(html, 'id="run-1"')
    assert [row[0] for row in table[1:]] == ["good", "poor &lt;b&gt;"]
    assert [row[1] for row in table[1:]] == ["1 A", "2 B"]
    assert [row[4] for row in table[1:]] == ["5.00 [5.00, 5.00]", "1.00 [1.00, 1.00]"]
    # People gave 5 and 3, or 1 and 3: means 4 and 2, which the correction reaches where all rows have people.
    assert [row[5][:4] for row in table[1:]] == ["4.00", "2.00"]
    tests = rows(html, "<summary>Each two systems")
    assert tests[1][:3] == ["good", "poor &lt;b&gt;", "4.00 [4.00, 4.00]"]
    assert rows(html, "<summary>By language</summary>")[0] == ["System", "hi", "ur"]
    assert rows(html, "<caption>Do two orders of systems agree?")[0][3] == "Systems"
