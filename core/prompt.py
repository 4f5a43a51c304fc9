"""The judge's prompt: named templates, the same for data building, training, evaluation and the card.

``default`` is this project's. ``hercule`` is what the released ai4bharat/hercule-* checkpoints were trained on; its
text is an interoperability fact from https://github.com/AI4Bharat/CIA (scripts/translate/compile_train_val.py, MIT):
one user turn, four spaces before every line of the task after the first, criteria without brackets. CIA published no
text for judges without reference; ``hercule`` without one drops the reference section and its mention.
"""

from typing import Any, NamedTuple

from core.errors import ConfigError, DataError
from core.records import JudgeRecord
from core.verdict import Verdict, build_verdict, parse_verdict

__all__ = ["TEMPLATES", "Verdict", "build_messages", "build_verdict", "parse_verdict"]

_SYSTEM = (
    "You are a strict and fair judge. You read an instruction and a response, which may be in any language, and a "
    "rubric in English. You write your feedback in English and end with a score."
)
_TASK = """\
Judge the response by the rubric alone{by_reference}.
First write feedback in English that says how the response meets or misses the rubric, then the marker and one score. \
Write nothing else. The format is:
(feedback in English) [RESULT] (an integer from 1 to 5)

### Instruction
{instruction}

### Response to judge
{response}
{reference}
### Rubric
{criteria}
Score 1: {score1_description}
Score 2: {score2_description}
Score 3: {score3_description}
Score 4: {score4_description}
Score 5: {score5_description}"""

_HERCULE_SYSTEM = (
    "You are a fair judge assistant tasked with providing clear, objective feedback based on specific criteria, "
    "ensuring each assessment reflects the absolute standards set for performance."
)
_HERCULE_TASK = """\
###Task Description:
    An instruction (might include an Input inside it), a response to evaluate,{by_reference} and a score rubric \
representing a evaluation criteria are given.
    1. Write a detailed feedback that assess the quality of the response strictly based on the given score rubric, not \
evaluating in general.
    2. After writing a feedback, write a score that is an integer between 1 and 5. You should refer to the score rubric.
    3. The output format should look as follows: "Feedback: (write a feedback for criteria) [RESULT] (an integer \
number between 1 and 5)"
    4. Please do not generate any other opening, closing, and explanations.

    ###The instruction to evaluate:
    {instruction}

    ###Response to evaluate:
    {response}
{reference}
    ###Score Rubrics:
    {criteria}
Score 1: {score1_description}
Score 2: {score2_description}
Score 3: {score3_description}
Score 4: {score4_description}
Score 5: {score5_description}


    ###Feedback: """


class Template(NamedTuple):
    """A prompt: the system text (``system_role`` False puts it in the user turn), the task, and its reference section."""

    system: str
    system_role: bool
    task: str
    by_reference: str
    reference: str


TEMPLATES = {
    "default": Template(
        system=_SYSTEM,
        system_role=True,
        task=_TASK,
        by_reference=", with the reference answer as an example of a response that earns a 5",
        reference="\n### Reference answer (score 5)\n{reference_answer}\n",
    ),
    "hercule": Template(
        system=_HERCULE_SYSTEM,
        system_role=False,
        task=_HERCULE_TASK,
        by_reference=" a reference answer that gets a score of 5,",
        reference="\n    ###Reference Answer (Score 5):\n    {reference_answer}\n",
    ),
}
_FIELDS = ("instruction", "response", "criteria", *(f"score{n}_description" for n in range(1, 6)))


def build_messages(record: JudgeRecord, template: str = "default", with_reference: bool = True) -> list[dict[str, str]]:
    """The chat messages that ask for a verdict on one record.

    Raises ConfigError for an unknown template, DataError for a record without reference under a template with one.
    """
    check_template(template)
    chosen = TEMPLATES[template]
    values: dict[str, Any] = {name: getattr(record, name) for name in _FIELDS}
    values |= {"by_reference": "", "reference": ""}
    if with_reference:
        if not record.reference_answer:
            raise DataError(
                f"record {record.id} has no reference_answer, which template {template!r} shows; "
                "add one or choose the template without (with_reference: false)"
            )
        values["by_reference"] = chosen.by_reference
        values["reference"] = chosen.reference.format(reference_answer=record.reference_answer)
    task = chosen.task.format(**values)
    if chosen.system_role:
        return [{"role": "system", "content": chosen.system}, {"role": "user", "content": task}]
    return [{"role": "user", "content": f"{chosen.system}\n\n{task}"}]


def check_template(template: str) -> None:
    """Raises ConfigError for a template that does not exist."""
    if template not in TEMPLATES:
        raise ConfigError(f"template {template!r} is unknown; use one of {', '.join(TEMPLATES)}")
