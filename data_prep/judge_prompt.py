"""Takes a published judge prompt (Prometheus, Hercule, mJudge) apart into the fields it was built from."""

import re

from core.errors import DataError

_INSTRUCTION = "###The instruction to evaluate:"
_RESPONSE = "###Response to evaluate:"
_REFERENCE = "###Reference Answer (Score 5):"
_RUBRIC = "###Score Rubrics:"
_FEEDBACK = "###Feedback:"


def parse_judge_prompt(prompt: str, where: str) -> dict[str, str | None]:
    """The fields of a judge record that a prompt holds, without the white space around them.

    Sections may be indented by four spaces, criteria may stand in brackets; without a reference its field is None.

    A header counts only as a whole line. The instruction's is the first, the rubric's and the feedback's the last, since
    the texts between may quote them. Raises DataError where a section is missing or a header between occurs twice.
    """
    text = _without_indent(prompt)
    instruction = _headers(_INSTRUCTION, text, 0, len(text))
    rubric = _headers(_RUBRIC, text, 0, len(text))
    if not instruction or not rubric or rubric[-1].start() < instruction[0].end():
        lacks = _RUBRIC if instruction else _INSTRUCTION
        raise DataError(f"{where}: the prompt has no line {lacks!r}; convert such rows with format columns")
    start, end = instruction[0].end(), rubric[-1].start()
    response = _only(_headers(_RESPONSE, text, start, end), _RESPONSE, where)
    if response is None:
        raise DataError(f"{where}: the prompt has no line {_RESPONSE!r}; convert such rows with format columns")
    reference = _only(_headers(_REFERENCE, text, response.end(), end), _REFERENCE, where)
    feedback = _headers(_FEEDBACK, text, rubric[-1].end(), len(text))
    rubric_text = text[rubric[-1].end() : feedback[-1].start() if feedback else len(text)]
    return {
        "instruction": text[start : response.start()].strip(),
        "response": text[response.end() : reference.start() if reference else end].strip(),
        "reference_answer": text[reference.end() : end].strip() if reference else None,
        **_rubric(rubric_text, where),
    }


def _headers(header: str, text: str, start: int, end: int) -> list[re.Match[str]]:
    pattern = re.compile(rf"^[ \t]*{re.escape(header)}[ \t\r]*$", re.MULTILINE)
    return [match for match in pattern.finditer(text) if start <= match.start() and match.end() <= end]


def _only(headers: list[re.Match[str]], header: str, where: str) -> re.Match[str] | None:
    if len(headers) > 1:
        raise DataError(f"{where}: the line {header!r} occurs {len(headers)} times, so the texts cannot be told apart")
    return headers[0] if headers else None


def _without_indent(prompt: str) -> str:
    """Four spaces off every line where all lines after the first have them; elsewhere an indent belongs to the texts."""
    first, *rest = prompt.split("\n")
    if rest and all(not line.strip() or line.startswith("    ") for line in rest):
        return "\n".join([first, *(line[4:] for line in rest)])
    return prompt


def _rubric(text: str, where: str) -> dict[str, str]:
    """Criteria and the five score descriptions. A label that stands twice in a row counts once."""
    starts: list[re.Match[str]] = []
    for score in range(1, 6):
        label = re.compile(rf"^[ \t]*(?:Score {score}:\s*)+", re.MULTILINE)
        match = label.search(text, starts[-1].end() if starts else 0)
        if match is None:
            raise DataError(f"{where}: the rubric has no line 'Score {score}:'; convert such rows with format columns")
        starts.append(match)
    ends = [*(match.start() for match in starts[1:]), len(text)]
    criteria = text[: starts[0].start()].strip()
    if criteria.startswith("[") and criteria.endswith("]"):
        criteria = criteria[1:-1].strip()
    texts = [text[match.end() : end].strip() for match, end in zip(starts, ends, strict=True)]
    return {"criteria": criteria} | {f"score{n}_description": text for n, text in enumerate(texts, start=1)}
