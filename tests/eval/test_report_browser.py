"""The report and the paper's tables in a real browser: search and filters, narrow and dark screens, contrast, hostile text, size."""

import json
import time
from itertools import product
from pathlib import Path

import pytest

from core.records import write_records, write_rows
from core.run import Run
from eval.agree import AgreeConfig
from eval.agree import main as agree
from eval.paper_tables import PaperTablesConfig
from eval.paper_tables import main as paper_tables
from eval.report import ReportConfig, main
from tests.browser import Browser
from tests.conftest import REPO
from tests.eval.report_for_tests import prediction, record
from tests.eval.steering_for_tests import cell, directions_run, similarity_run, summaries_run, unsteered_cell

pytestmark = pytest.mark.slow

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\"> & \"q\" 'a'"
URDU = "یہ اردو میں لکھا ہوا ایک عام جملہ ہے"
# The lowest contrast of text in a cell, by WCAG 2: 4.5 to 1.
LEGIBLE = 4.5


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judges on 40 records in Hindi and Urdu: <a> is 4 too high on the first four, b 3 too low on the last two, one is unscored."""
    root = tmp_path_factory.mktemp("report")
    golds = [1, 1, 1, 1, *([3, 2, 4, 5, 1, 2, 4, 3] * 4), 5, 5, 4, 4]
    texts = {0: HOSTILE, 2: URDU + "\n\nprint('x').", 38: "café " * 2_000}
    records = [
        record(n, gold, instruction=f"{texts.get(n, 'question')} {n}", response="word " * (gold * 5 + n % 7))
        for n, gold in enumerate(golds)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        write_records(records, "records.jsonl")
        a = [prediction(n, gold, 5 if n < 4 else gold, judge="<a>", text=HOSTILE) for n, gold in enumerate(golds)]
        b = [
            prediction(n, gold, None if n == 5 else gold - 3 if n > 37 else gold, judge="b")
            for n, gold in enumerate(golds)
        ]
        for name, rows in (("a", a), ("b", b)):
            with Run(name, "eval.judge", {"input": "records.jsonl"}, ["records.jsonl"]) as run:
                write_rows(rows, run.path / "predictions.jsonl")
        files = {
            "predictions": [Path("a/predictions.jsonl"), Path("b/predictions.jsonl")],
            "records": [Path("records.jsonl")],
        }
        agree(AgreeConfig(**files, output=Path("agree"), resamples=50))
        main(ReportConfig(runs=[Path("agree"), Path("a")], output=Path("report")))
    return root / "report" / "report.html"


def listed(browser: Browser) -> list[str]:
    return browser.run("[...document.querySelectorAll('#verdicts > .verdict')].filter(d => d.checkVisibility()).map(d => d.querySelector('bdi + bdi, small > bdi').textContent)")  # fmt: skip


def choose(browser: Browser, **fields: str) -> None:
    for name, value in fields.items():
        browser.run(
            f"(() => {{ const field = document.querySelector('#filter').elements[{name!r}];"
            f" field.value = {json.dumps(value)}; field.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
        )


def test_search_and_filters_show_what_they_say(browser: Browser, page: Path) -> None:
    browser.resize(1280, 900)
    browser.requests.clear()
    browser.open(page)
    assert browser.run("document.title") == "Cross-lingual judges"  # no script of a model ran
    assert browser.run("document.querySelectorAll('script').length") == 1
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert listed(browser) == ["r0", "r1", "r2", "r3", "r38", "r39", "r5"]
    choose(browser, judge="<a>")
    assert listed(browser) == ["r0", "r1", "r2", "r3"]
    assert browser.run("document.querySelector('#shown').textContent") == "4 of 7 listed"
    choose(browser, language="hi")
    assert listed(browser) == ["r1", "r3"]
    choose(browser, judge="", language="", kind="too low")
    assert listed(browser) == ["r38", "r39"]
    choose(browser, kind="unscored")
    assert listed(browser) == ["r5"]
    # Words in any order, case and normal form: é is e + ´ here.
    choose(browser, kind="", text="38  CAFE\u0301")
    assert listed(browser) == ["r38"]
    choose(browser, text="اردو")
    assert listed(browser) == ["r2"]
    choose(browser, text="nothing like this")
    assert listed(browser) == []
    choose(browser, text="")
    assert browser.run("document.querySelector('#shown').textContent") == "7 listed"
    addresses = {address for address in browser.requests if not address.startswith("data:")}
    assert addresses == {page.resolve().as_uri()}


def test_a_text_runs_from_its_own_side(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelectorAll('.verdict').forEach(d => d.open = true)")
    style = "getComputedStyle([...document.querySelectorAll('.instruction .model')].find(d => d.textContent.startsWith('یہ')))"
    assert browser.run(f"{style}.direction") == "rtl"
    assert browser.run(f"{style}.unicodeBidi") == "plaintext"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_the_page_keeps_within_the_screen_with_all_open(browser: Browser, page: Path, width: int, scheme: str) -> None:
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.resize(width, 900)
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run(CONTRAST) >= LEGIBLE


# The least contrast of a heat map's and a confusion matrix's cells: their text against their own background.
CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const luminance = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const cells = [...document.querySelectorAll(".heat td.shade, .confusion td")];
  return cells.length < 10 ? 0 : Math.min(...cells.map((cell) => {
    const style = getComputedStyle(cell);
    const pair = [luminance(style.color), luminance(style.backgroundColor)].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
  }));
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_steering_keeps_within_the_screen_and_its_cells_are_legible(
    browser: Browser, steering: list[Path], tmp_path: Path, width: int, scheme: str
) -> None:
    main(ReportConfig(runs=steering, output=tmp_path / "report"))
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.resize(width, 900)
    browser.open(tmp_path / "report" / "report.html")
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run(CONTRAST) >= LEGIBLE
    assert browser.run("[...document.querySelectorAll('figure svg')].every(s => s.getBoundingClientRect().width > 200)")


@pytest.fixture(scope="module")
def steering(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two languages that gain and lose most at both ends of the shades, directions, and vectors alike and apart."""
    root = tmp_path_factory.mktemp("steering")
    cells = [cell(), cell("ur", pearson={-0.3: -0.4, -0.1: 0.1, 0.0: 0.2, 0.1: 0.4, 0.3: 0.8}), unsteered_cell()]
    return [summaries_run(root / "s", *cells), directions_run(root / "d"), similarity_run(root / "v")]


def test_the_papers_tables_keep_within_a_narrow_screen(
    browser: Browser, steering: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPO)
    paper_tables(PaperTablesConfig(output=tmp_path / "cia"))
    tables = Path("configs/paper/steereval")
    paper_tables(PaperTablesConfig(runs=steering, tables=tables, output=tmp_path / "steereval"))
    for paper, width in product(("cia", "steereval"), (1280, 420)):
        browser.resize(width, 900)
        browser.open(tmp_path / paper / "tables.html")
        browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")


def test_many_verdicts_make_a_small_page_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three judges on 1,500 records in each of six languages, a third of the verdicts far off, texts of Recon's length."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "instruction": URDU * 15,
        "response": URDU * 40,
        "reference_answer": "word " * 300,
        "feedback": "word " * 150,
    }
    codes = ("bn", "de", "fr", "hi", "te", "ur")
    ids = [{"id": f"{code}-{n}", "item_id": f"p{n}", "language": code} for code in codes for n in range(1_500)]
    golds = [1 + at % 5 for at in range(len(ids))]
    write_records([record(0, gold, **one, **texts) for one, gold in zip(ids, golds, strict=True)], "records.jsonl")
    for judge in "abc":
        rows = [
            prediction(0, gold, 3, judge=judge, text="word " * 150, **one) for one, gold in zip(ids, golds, strict=True)
        ]
        with Run(judge, "eval.judge", {"input": "records.jsonl"}, ["records.jsonl"]) as run:
            write_rows(rows, run.path / "predictions.jsonl")
    start = time.process_time()
    main(ReportConfig(runs=[Path(judge) for judge in "abc"], output=Path("report")))
    assert time.process_time() - start < 30
    assert Path("report/report.html").stat().st_size < 3_000_000
    page = Path("report/report.html").read_text(encoding="utf-8")
    # Gold 1 and 5 are two off: two in five of 27,000.
    assert " of 10800 are listed here" in page
    assert page.count('class="verdict"') > 100
