"""The fields of ``data_prep.review``, and which of them each action takes."""

from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from core.config import CommandConfig, IfExists
from core.errors import ConfigError
from core.languages import language
from data_prep.review_sheets.reviewers import Reviewers

Action = Literal["draw", "read", "apply"]
Kind = Literal["translation", "score", "translate"]
Stratum = Literal["source", "capability", "score", "system"]


class Uses(NamedTuple):
    """The fields that an action needs, and those that it takes beside them."""

    needs: frozenset[str]
    takes: frozenset[str]


USES: dict[Action, Uses] = {
    "draw": Uses(
        frozenset({"kind", "input", "reviewers"}),
        frozenset({"source", "language", "per_language", "strata", "seed", "instructions"}),
    ),
    "read": Uses(frozenset({"sample", "sheets"}), frozenset({"reviewers", "resamples", "seed"})),
    "apply": Uses(frozenset({"judgements", "input"}), frozenset({"prefer", "language"})),
}
_EVERY_ACTION = {"action", "output", "if_exists"}


class ReviewConfig(CommandConfig):
    """What people are asked, about which rows, and what becomes of their answers."""

    action: Action = Field(description="draw a sample and its sheets, read filled sheets, or apply what was read")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    kind: Kind | None = Field(
        None,
        description="draw: is a translation valid (translation), how good is a response (score), translate this (translate)",
    )
    input: list[Path] = Field([], description="draw: records to draw from; apply: records to write back to")
    source: list[Path] = Field(
        [],
        description="draw, kind translation: the English records, joined by id; else extra.instruction_en and the like",
    )
    language: list[str] | str | None = Field(
        None,
        description="draw: languages to draw (null: all in the input); kind translate: languages to translate into",
    )
    reviewers: Reviewers = Field(
        [], description="names, the same for every language; in YAML also {hi: [asha, ravi], ur: [sana]}"
    )
    per_language: int = Field(100, ge=1, description="draw: rows for each language")
    strata: list[Stratum] = Field(
        ["source", "capability", "score"], description="draw: fields to keep in proportion, the first one first"
    )
    instructions: Path | None = Field(None, description="draw: a text file with your own instructions to annotators")
    sample: Path | None = Field(None, description="read: the folder that draw made")
    sheets: list[Path] = Field([], description="read: filled CSV files, or folders of them")
    resamples: int = Field(10_000, ge=1, description="read: bootstrap resamples of the agreement figures")
    judgements: Path | None = Field(None, description="apply: judgements.jsonl that read wrote")
    prefer: list[str] = Field([], description="apply: whose text counts where two reviewers wrote different ones")
    seed: int = Field(42, description="draw: of the sample; read: of the bootstrap")

    def check_action(self) -> None:
        """Raises ConfigError for a field that the action needs and lacks, or does not use."""
        uses = USES[self.action]
        for name in sorted(uses.needs):
            if not getattr(self, name):
                raise ConfigError(f"action {self.action} needs {name}; pass --{name}")
        for name in sorted(self.model_fields_set - uses.needs - uses.takes - _EVERY_ACTION):
            raise ConfigError(f"action {self.action} does not use {name}; leave it out")
        if self.source and self.kind != "translation":
            raise ConfigError(f"kind {self.kind} shows no source beside the text; leave source out")
        if self.action == "draw" and self.kind == "translate" and not self.languages():
            raise ConfigError("kind translate needs the languages to translate into; pass e.g. --language sw")

    def languages(self) -> list[str]:
        """The codes asked for, none where no language is set. Raises ConfigError for one that is not known."""
        codes = [self.language] if isinstance(self.language, str) else self.language or []
        return [language(code).code for code in codes]
