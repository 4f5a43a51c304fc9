"""The finished parts of every item, and the records that a selection of them becomes in each language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.records import JudgeRecord
from data_prep.recon_stages.capability import STAGE as CAPABILITY
from data_prep.recon_stages.prompts import RUBRIC, SCORES, Prompt
from data_prep.recon_stages.reference import PART as REFERENCE
from data_prep.recon_stages.responses import FEEDBACK, pair_id
from data_prep.translation import Kind

SOURCE_LANGUAGE = "en"
Texts = Mapping[Kind, Mapping[str, str]]
"""``instruction`` by item id and ``response`` by pair id, in one language."""

Rows = Mapping[str, Mapping[str, Any]]
"""The rows of a stage by id."""


@dataclass(frozen=True)
class Parts:
    """All parts that were kept or made: rows by item id, those of ``responses`` by ``pair_id``."""

    prompts: Mapping[str, Prompt]
    capabilities: Rows
    rubrics: Rows
    references: Rows
    responses: Rows

    def available(self) -> dict[str, set[int]]:
        """For each item the scores that it has a response for."""
        return {item: {score for score in SCORES if pair_id(item, score) in self.responses} for item in self.prompts}

    def record(self, item: str, score: int, language: str, instruction: str, response: str) -> JudgeRecord:
        """The record of an item's response for a score, with instruction and response as they stand in the language.

        ``extra`` says which parts were made, and the length asked for.
        """
        prompt, scored = self.prompts[item], self.responses[pair_id(item, score)]
        capability = self.capabilities.get(item, {}).get(CAPABILITY)
        rows = (self.capabilities.get(item, {}), self.rubrics[item], self.references[item], scored)
        facts: dict[str, Any] = {"made": [name for row in rows for name in row.get("made", ())]}
        if "target_words" in scored:
            facts["target_words"] = scored["target_words"]
        return JudgeRecord(
            id=f"{item}__{language}",
            item_id=item,
            language=language,
            instruction=instruction,
            response=response,
            **{name: self.rubrics[item][name] for name in RUBRIC},
            reference_answer=self.references[item][REFERENCE],
            reference_language=SOURCE_LANGUAGE,
            feedback=scored[FEEDBACK],
            score=score,
            source=prompt.source,
            capability=capability,
            system_prompt=prompt.system_prompt,
            extra={**prompt.extra, "recon": facts},
        )


def records(
    parts: Parts, picked: Mapping[str, int], order: Sequence[str], language: str, texts: Texts
) -> list[JudgeRecord]:
    """The set in one language, in the order given. ``texts`` are ``instruction`` by item and ``response`` by pair."""
    return [
        parts.record(
            item, picked[item], language, texts["instruction"][item], texts["response"][pair_id(item, picked[item])]
        )
        for item in order
    ]
