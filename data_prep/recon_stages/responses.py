"""Stage 3, f(P, C, R_ref, i) → a response that earns the score i, and the feedback that says why."""

import math
import random
import re
from collections.abc import Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

from core.verdict import MARKER
from data_prep.recon_stages.prompts import SCORES, Prompt
from data_prep.recon_stages.reference import PART, shown_rubric
from data_prep.recon_stages.rubric import shown_prompt
from data_prep.recon_stages.tasks import BadAnswer, PartTexts, Task, tagged
from data_prep.recon_stages.writer import Writer

STAGE = "response"
RESPONSE, FEEDBACK = "response", "feedback"
# With length control a response is asked to have between half and one and a half times the words of the reference.
LENGTH_RATIOS = (0.5, 1.5)
_FEWEST_WORDS = 10
_SYSTEM = (
    "You write responses of a stated quality, from which a judge is trained, and the judge's feedback on them. A response "
    "with a low score is an honest try that falls short as its description says; it does not announce its faults."
)
_STATED_SCORE = re.compile(
    r"\b(?:score[ds]?|rat(?:ed|ing)|grade[ds]?)\b(?:\s+(?:of|is|as|at|would be|will be|should be|a|an))*\s*[:=]?\s*"
    r"([1-5])\b(?![.,]\d|\s*%)",
    re.IGNORECASE,
)


def pair_id(item_id: str, score: int) -> str:
    """The id of a prompt's response for a score."""
    return f"{item_id}__s{score}"


def response_tasks(
    prompts: Sequence[Prompt],
    rubrics: Mapping[str, Mapping[str, Any]],
    references: Mapping[str, Mapping[str, Any]],
    finished: Mapping[str, Mapping[str, Any]],
    writer: Writer,
    length_seed: int | None = None,
) -> list[Task]:
    """Five tasks for each prompt that has rubric and reference; each asks for response or feedback where it is missing.

    With ``length_seed`` each response has a target length that is drawn without regard to its score. ``finished`` are the
    rows that an earlier run made: no later response may repeat one.
    """
    tasks = []
    for prompt in (prompt for prompt in prompts if prompt.id in rubrics and prompt.id in references):
        reference = references[prompt.id][PART]
        taken = _taken(prompt, reference, finished)
        for score in SCORES:
            given = {RESPONSE: prompt.responses.get(score), FEEDBACK: prompt.feedback.get(score)}
            kept = {name: text for name, text in given.items() if text is not None}
            missing = [name for name in (RESPONSE, FEEDBACK) if name not in kept]
            words = None
            if length_seed is not None and RESPONSE in missing:
                words = target_words(prompt.id, score, len(reference.split()), length_seed)
            facts = {"item_id": prompt.id, "score": score} | ({"target_words": words} if words else {})
            shown = f"{shown_prompt(prompt.instruction, prompt.system_prompt)}\n\n{shown_rubric(rubrics[prompt.id])}"
            asked = f"{shown}\n\n### Reference answer (score 5)\n{reference}\n\n{_task(score, kept, missing, words)}"
            request = writer.request(STAGE, pair_id(prompt.id, score), _SYSTEM, asked) if missing else None
            read = partial(_read, missing=missing, score=score, taken=taken)
            tasks.append(Task(pair_id(prompt.id, score), kept, request, read, facts))
    return tasks


def target_words(item_id: str, score: int, reference_words: int, seed: int) -> int:
    """Words to ask for: the reference's times a ratio that is log-uniform over LENGTH_RATIOS, the same in law for all scores."""
    low, high = map(math.log, LENGTH_RATIOS)
    ratio = math.exp(random.Random(f"{seed} {pair_id(item_id, score)}").uniform(low, high))
    return max(_FEWEST_WORDS, round(ratio * reference_words))


def _taken(prompt: Prompt, reference: str, finished: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Texts that a new response may not repeat, each with what it is."""
    ids = {score: pair_id(prompt.id, score) for score in SCORES}
    earlier = {score: finished[name][RESPONSE] for score, name in ids.items() if name in finished}
    responses = {**earlier, **prompt.responses}
    return {
        prompt.instruction.strip(): "the instruction",
        **{text.strip(): f"the response with score {score}" for score, text in responses.items()},
        reference.strip(): "the reference answer",
    }


def _task(score: int, kept: Mapping[str, str], missing: Sequence[str], words: int | None) -> str:
    """What is asked: response and feedback, or the one of them that the source lacks."""
    lines = []
    if RESPONSE in missing:
        lines.append(f"Write a response to the instruction that earns exactly the score {score} by the rubric.")
        lines.append("Do not copy the reference answer, and say nothing of rubric or score in the response.")
    else:
        lines.append(f"This response earns the score {score}:\n{kept[RESPONSE]}\n\nWrite the feedback on it.")
    if words is not None:
        lines.append(f"The response has about {words} words, whatever its score: its quality shows in what it says.")
    if FEEDBACK in missing:
        lines.append(
            f"The feedback, in English, says how the response meets and misses the rubric, so that it fits the score {score} "
            "and no other. It does not name a score."
        )
    else:
        lines.append(f"The response must be one that this feedback describes:\n{kept[FEEDBACK]}\n")
    form = ", then ".join(f"the {name} between <{name}> and </{name}>" for name in missing)
    return "\n".join([*lines, f"Give {form}, and nothing else."])


def _read(text: str, missing: Sequence[str], score: int, taken: MutableMapping[str, str]) -> PartTexts:
    parts = tagged(text, missing)
    if FEEDBACK in parts:
        check_feedback(parts[FEEDBACK], score)
    if RESPONSE in parts:
        same = taken.setdefault(parts[RESPONSE].strip(), f"the response with score {score}")
        if same != f"the response with score {score}":
            raise BadAnswer(f"the response is {same} over again")
    return parts


def check_feedback(feedback: str, score: int) -> None:
    """Raises BadAnswer where the feedback holds the verdict's marker, or names another score than the response's."""
    if MARKER in feedback:
        raise BadAnswer(f"the feedback holds {MARKER}")
    others = sorted({int(digit) for digit in _STATED_SCORE.findall(feedback)} - {score})
    if others:
        raise BadAnswer(f"the feedback names the score {others[0]}, but the response was to earn {score}")
