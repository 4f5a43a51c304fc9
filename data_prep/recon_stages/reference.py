"""Stage 2, f(P, C, 5) → the reference answer: a response that the rubric gives a 5."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from core.request import Request
from data_prep.recon_stages.prompts import RUBRIC, Prompt
from data_prep.recon_stages.rubric import shown_prompt
from data_prep.recon_stages.tasks import BadAnswer, PartTexts, Task, tagged
from data_prep.recon_stages.writer import Writer

STAGE = "reference"
PART = "reference_answer"
_SYSTEM = (
    "You write model answers: responses to an instruction that earn the highest score of a rubric. You write in English, "
    "unless the instruction asks for another language."
)


def reference_tasks(prompts: Sequence[Prompt], rubrics: Mapping[str, Mapping[str, Any]], writer: Writer) -> list[Task]:
    """One task for each prompt that has a rubric; it asks only where the prompt brings no reference."""
    return [
        Task(
            id=prompt.id,
            kept={} if prompt.reference_answer is None else {PART: prompt.reference_answer},
            request=None if prompt.reference_answer is not None else _request(prompt, rubrics[prompt.id], writer),
            read=partial(_read, instruction=prompt.instruction),
            facts={},
        )
        for prompt in prompts
        if prompt.id in rubrics
    ]


def shown_rubric(rubric: Mapping[str, Any]) -> str:
    """Criteria and the five descriptions as the writers are shown them."""
    steps = "\n".join(f"Score {score}: {rubric[name]}" for score, name in enumerate(RUBRIC[1:], start=1))
    return f"### Rubric\n{rubric['criteria']}\n{steps}"


def _read(text: str, instruction: str) -> PartTexts:
    answer = tagged(text, ["answer"])["answer"]
    if answer.strip() == instruction.strip():
        raise BadAnswer("it repeats the instruction")
    return {PART: answer}


def _request(prompt: Prompt, rubric: Mapping[str, Any], writer: Writer) -> Request:
    asked = (
        f"{shown_prompt(prompt.instruction, prompt.system_prompt)}\n\n{shown_rubric(rubric)}\n\n"
        "Write a response to the instruction that earns a 5. Say nothing of rubric or score in it. Put it between <answer> "
        "and </answer>, with nothing before or after."
    )
    return writer.request(STAGE, prompt.id, _SYSTEM, asked)
