"""The capability that a prompt tests, one of a list, for prompts that do not bring it."""

import re
from collections.abc import Sequence
from functools import partial

from core.request import Request
from data_prep.recon_stages.prompts import Prompt
from data_prep.recon_stages.rubric import shown_prompt
from data_prep.recon_stages.tasks import BadAnswer, PartTexts, Task
from data_prep.recon_stages.writer import Writer

STAGE = "capability"
# BiGGen Bench's (arXiv 2406.05761), spelled as its rows spell them; its ninth, multilingual, has no place among English prompts.
CAPABILITIES = (
    "instruction_following",
    "grounding",
    "reasoning",
    "planning",
    "refinement",
    "safety",
    "theory_of_mind",
    "tool_usage",
)
_SYSTEM = "You sort instructions by the one capability of a language model that they test most."


def capability_tasks(prompts: Sequence[Prompt], names: Sequence[str], writer: Writer) -> list[Task]:
    """One task a prompt; it asks only where the prompt brings no capability. Without names, only kept ones are rows."""
    return [
        Task(
            id=prompt.id,
            kept={STAGE: prompt.capability} if prompt.capability is not None else {},
            request=None if prompt.capability is not None else _request(prompt, names, writer),
            read=partial(read_capability, names=names),
            facts={},
        )
        for prompt in prompts
        if prompt.capability is not None or names
    ]


def read_capability(text: str, names: Sequence[str]) -> PartTexts:
    """The one name that the answer holds, whatever its case and marks. Raises BadAnswer for none or another."""
    name = re.sub(r"[^\w]+", "_", text.strip().lower()).strip("_")
    if name not in names:
        raise BadAnswer(f"{text.strip()[:40]!r} is not one of {', '.join(names)}")
    return {STAGE: name}


def _request(prompt: Prompt, names: Sequence[str], writer: Writer) -> Request:
    shown = shown_prompt(prompt.instruction, prompt.system_prompt)
    asked = (
        f"{shown}\n\nWhich capability does it test most? Answer with one of these and nothing else: {', '.join(names)}"
    )
    return writer.request(STAGE, prompt.id, _SYSTEM, asked)
