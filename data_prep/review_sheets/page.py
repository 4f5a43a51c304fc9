"""A sheet as one HTML page that needs nothing else: no network, kept in the browser while it is filled, saved as CSV."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from core.languages import LANGUAGES
from data_prep.review_sheets.questions import blocks
from data_prep.review_sheets.sample import Sample, SampleRow

TEMPLATES = Path(__file__).parent.parent / "review_templates"
TITLES = {
    "translation": "Is the translation valid?",
    "score": "Score the responses",
    "translate": "Translate the texts",
}


def render(about: Sample, rows: list[SampleRow], language: str, reviewer: str) -> str:
    """The page of one reviewer for the rows of one language. The same sample gives the same text."""
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    asked = [question for row in rows for block in blocks(about.kind, row) for question in block.asked]
    return env.get_template("sheet.html.jinja").render(
        title=TITLES[about.kind],
        about=about,
        language=language,
        reviewer=reviewer,
        direction=direction,
        name_of=name_of,
        rows=[(row, blocks(about.kind, row)) for row in rows],
        columns=[
            "row",
            *dict.fromkeys(question.column for question in asked),
            "comment",
            "language",
            "reviewer",
            "sample",
        ],
    )


def direction(language: str) -> str:
    """Which way a language is written, as the dir attribute says it; by its letters where it is not known."""
    if language not in LANGUAGES:
        return "auto"
    return "rtl" if LANGUAGES[language].right_to_left else "ltr"


def name_of(language: str) -> str:
    """The English name of a language, its code where it is not known."""
    return LANGUAGES[language].name if language in LANGUAGES else language


def instructions(kind: str) -> str:
    """What annotators are told, unless the run brings its own text."""
    return (TEMPLATES / f"{kind}.txt").read_text(encoding="utf-8")
