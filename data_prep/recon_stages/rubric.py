"""Stage 1, f(P) → criteria and rubric: six texts as one JSON object, asked with three in-context examples."""

import json
from collections.abc import Sequence

from core.request import Request
from data_prep.recon_stages.prompts import RUBRIC, Prompt
from data_prep.recon_stages.rubric_examples import EXAMPLES
from data_prep.recon_stages.tasks import BadAnswer, PartTexts, Task
from data_prep.recon_stages.writer import Writer

STAGE = "rubric"
_SYSTEM = (
    "You write rubrics for judging responses to an instruction. A rubric is a criterion, put as a question about exactly "
    "this instruction, and what a response does at each score from 1 (fails) to 5 (as good as can be). Each score is told "
    "apart from the next by what the response does, never by a word like good or very good alone, and never by length."
)
_FORMAT = (
    f"Answer with one JSON object and nothing else. Its keys are {', '.join(RUBRIC)}; every value is a text in English."
)


def rubric_tasks(prompts: Sequence[Prompt], writer: Writer) -> list[Task]:
    """For each prompt the parts of the rubric that it lacks; what it brings is shown to the model and kept."""
    return [
        Task(
            id=prompt.id,
            kept=prompt.rubric,
            request=None if len(prompt.rubric) == len(RUBRIC) else _request(prompt, writer),
            read=read_rubric,
            facts={},
        )
        for prompt in prompts
    ]


def read_rubric(text: str) -> PartTexts:
    """The six texts of an answer: one JSON object, alone or in a code fence. Raises BadAnswer for anything else."""
    try:
        value = json.loads(unfenced(text))
    except ValueError as error:
        raise BadAnswer(f"it is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise BadAnswer("it is not a JSON object")
    if set(value) != set(RUBRIC):
        wrong = ", ".join(sorted(set(RUBRIC) ^ set(value)))
        raise BadAnswer(f"its keys must be {', '.join(RUBRIC)}; wrong or missing: {wrong[:200]}")
    for name in RUBRIC:
        if not isinstance(value[name], str) or not value[name].strip():
            raise BadAnswer(f"{name} is not a text")
    descriptions = [value[name].strip() for name in RUBRIC[1:]]
    if len(set(descriptions)) < len(descriptions):
        raise BadAnswer("two scores have the same description")
    return {name: value[name] for name in RUBRIC}


def unfenced(text: str) -> str:
    """The answer without a code fence around all of it."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text[text.index("\n") : -3]
    return text


def shown_prompt(instruction: str, system_prompt: str | None) -> str:
    """A prompt as the writers are shown it, with the system prompt that the response is written under."""
    system = f"### System prompt\n{system_prompt}\n\n" if system_prompt else ""
    return f"{system}### Instruction\n{instruction}"


def _request(prompt: Prompt, writer: Writer) -> Request:
    shown = [
        turn
        for instruction, system_prompt, rubric in EXAMPLES
        for turn in (_asked(instruction, system_prompt), _shown(rubric))
    ]
    asked = _asked(prompt.instruction, prompt.system_prompt)
    if prompt.rubric:
        asked += f"\n\nThese values are written already; repeat them unchanged:\n{_shown(dict(prompt.rubric))}"
    return writer.request(STAGE, prompt.id, _SYSTEM, *shown, asked)


def _asked(instruction: str, system_prompt: str | None) -> str:
    return f"{shown_prompt(instruction, system_prompt)}\n\nWrite the rubric. {_FORMAT}"


def _shown(rubric: dict[str, str]) -> str:
    return json.dumps(rubric, ensure_ascii=False, indent=1)
