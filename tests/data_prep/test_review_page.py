"""The page that people fill: what it holds, and a real browser that opens, fills, saves and opens it again."""

import json
import re
from pathlib import Path

import pytest

from data_prep.review_sheets.cells import guard
from tests.browser import Browser
from tests.data_prep.review_for_tests import draw, jsonl, lines_of, review, translated
from tests.data_prep.test_review_cells import TEXTS

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)> {{ 7*7 }} & \"q\" 'a'"


def test_a_page_is_whole_in_itself(tmp_path: Path) -> None:
    folder = draw(tmp_path, "translation", "--reviewers", "asha")
    page = (folder / "sheets" / "he" / "asha.html").read_text(encoding="utf-8")
    assert re.findall(r"https?:|\ssrc=|@import|url\(", page) == []
    assert re.findall(r'href="[^"]*"', page) == ['href="data:,"']
    assert "default-src 'none'" in page
    assert page.count("__s") == 0  # ids of records tell scores
    assert 'lang="he" dir="rtl">-נא' in page
    assert 'lang="en" dir="ltr">=Name' in page
    assert "כחול 1 &lt;b&gt;&amp;&lt;/b&gt; אדום" in page
    again = draw(tmp_path / "again", "translation", "--reviewers", "asha")
    assert (again / "sheets" / "he" / "asha.html").read_text(encoding="utf-8") == page


def test_texts_reviewers_and_instructions_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "how.txt").write_text(f"Read.\n\n{HOSTILE}", encoding="utf-8")
    rows = [row.model_copy(update={"response": HOSTILE, "criteria": HOSTILE}) for row in translated()]
    folder = draw(tmp_path, "score", "--reviewers", "O'Brien & co", "--instructions", tmp_path / "how.txt", rows=rows)
    page = (folder / "sheets" / "he" / "O'Brien & co.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<img" not in page
    assert page.count("{{ 7*7 }}") == 2 * 6 + 1


def text(browser: Browser, selector: str) -> str:
    return browser.run(f"document.querySelector({json.dumps(selector)}).textContent")


def click(browser: Browser, selector: str) -> None:
    browser.run(f"document.querySelector({json.dumps(selector)}).click()")


@pytest.mark.slow
def test_a_translation_page_is_filled_saved_and_read_back(tmp_path: Path, browser: Browser) -> None:
    folder = draw(tmp_path, "translation", "--reviewers", "asha", "--per_language", 3)
    page = folder / "sheets" / "he" / "asha.html"
    browser.requests.clear()
    browser.open(page)
    # By the keyboard: valid, not valid; Enter goes on to the next question, Delete clears.
    click(browser, "#next")
    for key in ("y", "Enter", "n", "Enter", "n", "Delete"):
        browser.press(key)
    assert text(browser, "#count") == "1 of 3 done"
    # The correction opened with "not valid"; its text starts as the translation and is written on.
    assert browser.run("document.querySelector('#he_001 [data-column=corrected_response]').closest('details').open")
    click(browser, "#he_001 .copy[data-from=response]")
    browser.type(' =תוספת, "x";\nשורה')
    browser.run("document.querySelector('#he_002 [data-column=comment]').focus()")
    browser.type("=cmd|' /C calc'!A0")
    click(browser, "#he_003 input[value=valid]")

    click(browser, "#save")
    assert text(browser, "#unfilled-title") == "2 of 3 rows are not filled"
    assert text(browser, "#unfilled-rows") == "he_002he_003"
    click(browser, "#anyway")
    saved = browser.downloaded()
    assert saved.name == "he-asha.csv"
    assert saved.read_bytes().startswith(b"\xef\xbb\xbfrow,")
    assert lines_of(saved)[1]["comment"] == "'=cmd|' /C calc'!A0"

    given = ["--sample", folder, "--sheets", saved, "--output", tmp_path / "read"]
    assert review("--action", "read", *given) == 0
    shown = {row["id"]: row["record"] for row in jsonl(folder / "sample.jsonl")}
    answers = {(row["row"], row["field"]): row for row in jsonl(tmp_path / "read" / "judgements.jsonl")}
    assert {key: row["valid"] for key, row in answers.items()} == {
        ("he_001", "instruction"): True,
        ("he_001", "response"): False,
        ("he_002", "instruction"): None,
        ("he_002", "response"): None,
        ("he_003", "instruction"): True,
        ("he_003", "response"): None,
    }
    assert answers["he_001", "response"]["written"] == shown["he_001"]["response"] + ' =תוספת, "x";\nשורה'
    assert answers["he_002", "response"]["comment"] == "=cmd|' /C calc'!A0"

    # The answers are there when the page is opened again, and after they were wiped, from the file.
    browser.open(page)
    assert text(browser, "#count") == "1 of 3 done"
    before = saved.read_bytes().decode("utf-8")
    assert browser.run("csv()") == before
    assert browser.run(f"{json.dumps(TEXTS)}.map(guard)") == [guard(one) for one in TEXTS]
    assert browser.run(f"{json.dumps(TEXTS)}.map(guard).map(unguard)") == TEXTS
    browser.run("localStorage.clear(), fill({})")
    assert text(browser, "#count") == "0 of 3 done"
    browser.run(f"openFile(new File([{json.dumps(before)}], 'he-asha.csv'))")
    assert browser.run("csv()") == before
    assert {address for address in browser.requests if not address.startswith(("blob:", "data:"))} == {
        page.resolve().as_uri()
    }


@pytest.mark.slow
def test_a_score_page_is_filled_on_a_narrow_screen(tmp_path: Path, browser: Browser) -> None:
    folder = draw(tmp_path, "score", "--reviewers", "רוני", "--per_language", 3)
    browser.resize(360, 700)
    browser.open(folder / "sheets" / "he" / "רוני.html")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run("getComputedStyle(document.querySelector('.response .words')).direction") == "rtl"
    click(browser, "#next")
    for key, code in (
        ("4", "Digit4"),
        ("Enter", ""),
        ("६", "Digit6"),
        ("२", "Digit2"),
        ("Enter", ""),
        ("5", "Numpad5"),
    ):
        browser.press(key, code)
    assert text(browser, "#count") == "3 of 3 done"
    assert browser.run("document.getElementById('next').disabled")
    assert browser.run("scrollY > 0")
    click(browser, "#save")  # nothing is unfilled, so nothing is asked
    saved = browser.downloaded()
    assert review("--action", "read", "--sample", folder, "--sheets", saved, "--output", tmp_path / "read") == 0
    assert [row["score"] for row in jsonl(tmp_path / "read" / "judgements.jsonl")] == [4, 2, 5]


@pytest.mark.slow
def test_a_translator_fills_the_page(tmp_path: Path, browser: Browser) -> None:
    folder = draw(tmp_path, "translate", "--reviewers", "dana", "--per_language", 1)
    browser.open(folder / "sheets" / "he" / "dana.html")
    click(browser, "#next")
    browser.type("- שלום")
    browser.press("Enter", modifiers=2)
    assert text(browser, "#count") == "0 of 1 done"
    browser.type("\u200fשורה\nשורה")
    assert text(browser, "#count") == "1 of 1 done"
    assert browser.run("getComputedStyle(document.activeElement).direction") == "rtl"
    click(browser, "#save-end")
    saved = browser.downloaded()
    assert review("--action", "read", "--sample", folder, "--sheets", saved, "--output", tmp_path / "read") == 0
    written = [row["written"] for row in jsonl(tmp_path / "read" / "judgements.jsonl")]
    assert written == ["- שלום", "\u200fשורה\nשורה"]
