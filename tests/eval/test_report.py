"""eval.report: a page that needs nothing from outside, in which all text is data, and the files beside it."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import DataError
from core.run import Run
from eval.report import ReportConfig, main
from eval.reporting.environment import number, on_line, percent, signed, signed_number
from eval.reporting.page import labelled
from tests.eval.report_for_tests import HOSTILE, Shown


def test_page_needs_nothing_from_outside(shown: Shown) -> None:
    links = [value for _, attributes in shown.page.elements for name, value in attributes.items() if name.endswith(("src", "href"))]  # fmt: skip
    assert links
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert {"img", "iframe", "object"}.isdisjoint(tag for tag, _ in shown.page.elements)
    assert [tag["rel"] for tag in shown.page.tags("link")] == ["icon"]
    assert "@import" not in shown.html
    assert "://" not in shown.html
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", shown.html))
    policy = next(
        tag["content"] for tag in shown.page.tags("meta") if "content" in tag and "default-src" in tag["content"]
    )
    assert policy.startswith("default-src 'none';")


def test_the_pages_own_script_is_the_only_one(shown: Shown) -> None:
    assert shown.html.lower().count("<script") == shown.html.lower().count("</script") == 1
    assert shown.page.tags("script") == [{}]


def test_ids_are_unique_and_links_lead_somewhere(shown: Shown) -> None:
    ids = [attributes["id"] for _, attributes in shown.page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [
        value[1:]
        for _, attributes in shown.page.elements
        for name, value in attributes.items()
        if name.endswith("href") and value.startswith("#")
    ]
    assert {"run-1", "run-2", "disagreements", "provenance"} <= set(targets) <= set(ids)


def test_model_and_user_text_is_data(shown: Shown) -> None:
    # Three listed verdicts (+2, −3, unscored): instruction, gold feedback and feedback of each, and one raw output.
    assert shown.page.text.count(HOSTILE) == 3 * 3 + 1
    assert "Title <i>" in shown.page.text
    assert "The <machinery>, not a result" in shown.page.text
    assert "joint <b>" in shown.page.text
    assert "a <note>" in shown.page.text
    assert all("class" in attributes for attributes in shown.page.tags("i"))  # the page's own, none from the title


def test_null_figures_say_why(shown: Shown) -> None:
    reasons = {attributes["title"] for attributes in shown.page.tags("abbr")}
    assert "this baseline stands beside exact accuracy only" in reasons
    assert "no human scores" in reasons
    assert not re.search(r"\b(nan|None|inf)\b", shown.page.text)


def test_every_chart_says_what_it_is(shown: Shown) -> None:
    charts = [tag for tag in shown.page.tags("svg") if tag.get("aria-hidden") != "true"]
    assert len(charts) > 5
    assert all(tag["role"] == "img" and tag["aria-label"] for tag in charts)
    assert 'aria-label="a &lt;b&gt; &#34;"' in labelled('<svg role="img"><path/></svg>', 'a <b> "')


def test_provenance_names_model_seed_and_inputs(shown: Shown) -> None:
    manifest = json.loads((shown.folders[2] / "manifest.json").read_text())
    assert "org/joint" in shown.page.text
    assert "uncommitted changes" in shown.page.text
    assert all(hashed in shown.page.text for hashed in manifest["inputs"].values())


def test_main_writes_the_same_page_twice_and_the_rows(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shown.folders[0].parent)
    for name in ("one", "two"):
        main(ReportConfig(runs=shown.folders, output=tmp_path / name))
    assert (tmp_path / "one/report.html").read_bytes() == (tmp_path / "two/report.html").read_bytes()
    found = lines_of(tmp_path / "one/headline.csv")
    # Two judges and two baselines, each over all and in two languages.
    assert len(found) == 12
    ties = next(row for row in found if row["judge"] == "ties" and row["language"] == "all")
    assert (ties["baseline"], ties["n"], ties["n_unscored"], ties["exact"]) == ("False", "10", "0", "0.9")
    assert next(row for row in found if row["judge"] == "majority")["kappa"] == ""
    strengths = lines_of(tmp_path / "one/strengths.csv")
    assert [row["strength"] for row in strengths] == ["0.0", "-1.0", "1.0"] * 2
    assert [row["layers"] for row in strengths] == ["–", "0–1", "0–1"] * 2
    assert [row["broken"] for row in strengths] == ["False", "False", "True"] * 2
    off = lines_of(tmp_path / "one/disagreements.csv")
    assert [(row["id"], row["kind"], row["difference"]) for row in off] == [
        ("r9", "too low", "-3.0"),
        ("r2", "too high", "2.0"),
        ("r3", "unscored", ""),
    ]
    assert [row["gold_feedback"] for row in off] == [HOSTILE] * 3


def lines_of(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def wrong_folders(root: Path) -> Iterator[tuple[Path, str]]:
    yield root / "absent", "no run folder"
    with Run(root / "train", "train.sft", {}):
        pass
    yield root / "train", "a run of train.sft, which is not shown here"
    stopped = Run(root / "stopped", "eval.agree", {})
    yield stopped.path, "not finished"
    with Run(root / "empty", "eval.agree", {}):
        pass
    yield root / "empty", "metrics.json cannot be read"
    with Run(root / "made", "eval.probes", {"action": "make"}):
        pass
    yield root / "made", "holds records to judge; name the output folder of eval.probes --action read"
    for text in ("{}", "[]"):
        with Run(root / text, "eval.agree", {}) as run:
            (run.path / "metrics.json").write_text(text)
        yield root / text, "metrics.json lacks baselines, comparisons, judges, notes"
    with Run(root / "nan", "eval.agree", {}) as run:
        (run.path / "metrics.json").write_text('{"judges": NaN, "baselines": {}, "comparisons": [], "notes": []}')
    yield root / "nan", r"metrics.json cannot be read \(NaN is not JSON"
    with Run(root / "bare", "eval.agree", {}):
        pass
    (root / "bare" / "manifest.json").write_text('{"command": "eval.agree", "status": "done"}')
    yield root / "bare", "manifest.json lacks config, ended, git"
    with Run(root / "old", "eval.summaries", {}) as run:  # as it was before selection
        (run.path / "metrics.json").write_text('{"cells": [], "notes": []}')
    yield root / "old", "metrics.json lacks strengths; run eval.summaries again"


def test_wrong_run_folders_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    for folder, message in wrong_folders(tmp_path):
        with pytest.raises(DataError, match=message):
            main(ReportConfig(runs=[folder], output=tmp_path / "report"))
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("shown_as", "text"),
    [
        (number(-0.123), "−0.12"),
        (number(-0.001), "0.00"),
        (number(0.5, 3), "0.500"),
        (signed(-2.0), "−2"),
        (signed(1.5), "+1.5"),
        (signed(0.0), "0"),
        (signed_number(0.1), "+0.10"),
        (signed_number(-0.004), "0.00"),
        (signed_number(-33.4, 0), "−33"),
        (percent(0.0), "0 %"),
        (percent(0.004), "< 1 %"),
        (percent(0.125), "12 %"),
        (on_line(0.0), 60),
        (on_line(1.0), 160),
        (on_line(-0.9), 0),
    ],
)
def test_numbers_as_shown(shown_as: Any, text: Any) -> None:
    assert shown_as == text
