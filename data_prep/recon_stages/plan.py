"""What a run would ask for: requests, tokens and price a stage, before any is paid for."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from core.languages import Language, language
from core.request import Request
from data_prep.prices import price_line
from data_prep.recon_options import ReconConfig
from data_prep.recon_stages.capability import capability_tasks
from data_prep.recon_stages.prompts import RUBRIC, SCORES, Prompt
from data_prep.recon_stages.reference import PART, reference_tasks
from data_prep.recon_stages.responses import response_tasks
from data_prep.recon_stages.rubric import rubric_tasks
from data_prep.recon_stages.tasks import Task
from data_prep.recon_stages.writer import Writer
from data_prep.translation import Kind, translation_request
from data_prep.translation_plan import ENGLISH_CHARACTERS_PER_TOKEN, token_counter, translation_tokens

# Mean characters of the published Recon, which stand in for parts that are not made yet.
_RUBRIC, _REFERENCE, _RESPONSE, _FEEDBACK = 1150, 1600, 860, 500
_CAPABILITY = 20


class StagePlan(NamedTuple):
    """Requests of one stage if every first answer can be used, and their tokens, estimated from characters."""

    stage: str
    requests: int
    prompt_tokens: int
    answer_tokens: int


def plan_text(prompts: Sequence[Prompt], config: ReconConfig) -> str:
    """The plan as a Markdown table, with its sum and what that costs. What the store holds already is not taken off."""
    plans = [*_made(prompts, config), *(_translated(prompts, config, language(code)) for code in config.languages)]
    total = StagePlan(
        "all",
        sum(plan.requests for plan in plans),
        sum(plan.prompt_tokens for plan in plans),
        sum(plan.answer_tokens for plan in plans),
    )
    lines = ["| stage | requests | prompt tokens | answer tokens |", "|---|---:|---:|---:|"]
    lines += [
        f"| {stage} | {requests:,} | {asked:,} | {given:,} |" for stage, requests, asked, given in [*plans, total]
    ]
    price = price_line(config.prices, config.model, total.prompt_tokens, total.answer_tokens, config.batch != "none")
    return "\n".join([*lines, "Tokens are estimated from characters; each bad answer costs its request again.", price])


def _made(prompts: Sequence[Prompt], config: ReconConfig) -> list[StagePlan]:
    """The stages that make what the prompts lack."""
    text = "x" * (_RUBRIC // len(RUBRIC))
    rubrics = {prompt.id: {**dict.fromkeys(RUBRIC, text), **prompt.rubric} for prompt in prompts}
    references = {prompt.id: {PART: prompt.reference_answer or "x" * _REFERENCE} for prompt in prompts}
    writer = Writer({})
    length_seed = config.seed if config.length_control else None
    return [
        _stage("capability", capability_tasks(prompts, config.capabilities, writer), _CAPABILITY),
        _stage("rubric", rubric_tasks(prompts, writer), _RUBRIC),
        _stage("reference", reference_tasks(prompts, rubrics, writer), _REFERENCE),
        _stage(
            "response", response_tasks(prompts, rubrics, references, {}, writer, length_seed), _RESPONSE + _FEEDBACK
        ),
    ]


def _stage(stage: str, tasks: Sequence[Task], characters: int) -> StagePlan:
    requests = [task.request for task in tasks if task.request is not None]
    answers = len(requests) * math.ceil(characters / ENGLISH_CHARACTERS_PER_TOKEN)
    return StagePlan(stage, len(requests), _prompt_tokens(requests), answers)


def _translated(prompts: Sequence[Prompt], config: ReconConfig, target: Language) -> StagePlan:
    """Instructions and one response a prompt into one language."""
    texts: list[tuple[Kind, str]] = [("instruction", prompt.instruction) for prompt in prompts]
    for place, prompt in enumerate(prompts):
        texts.append(("response", prompt.responses.get(SCORES[place % len(SCORES)], "x" * _RESPONSE)))
    requests = [translation_request(text, target, kind, config) for kind, text in texts]
    answers = sum(translation_tokens(text, target) for _, text in texts)
    return StagePlan(f"translate {target.code}", len(requests), _prompt_tokens(requests), answers)


def _prompt_tokens(requests: Sequence[Request]) -> int:
    count = token_counter(None)
    return sum(count(message["content"]) for request in requests for message in request.messages)
