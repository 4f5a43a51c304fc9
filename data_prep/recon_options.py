"""The fields of ``data_prep.recon``."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from core.config import IfExists
from core.errors import ConfigError
from core.languages import language
from core.server import ServerOptions
from data_prep.recon_stages.capability import CAPABILITIES
from data_prep.recon_stages.records import SOURCE_LANGUAGE
from data_prep.recon_stages.writer import Writer
from data_prep.translation import TranslationOptions


class ReconConfig(ServerOptions, TranslationOptions):
    """What to make a set of, in which languages, and how the model is asked."""

    input: list[Path] = Field(min_length=1, description="tables of prompts: JSON Lines, JSON, CSV, TSV or parquet")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    columns: dict[str, str] = Field({}, description="field: column, e.g. {instruction: input, rubric: specific_rubric}")
    quoting: Literal["csv", "none"] | None = Field(
        None, description="whether quotes enclose fields; null is csv for .csv and none for .tsv"
    )
    prompts: int | None = Field(None, ge=1, description="use a seeded draw of so many prompts (null: all)")
    languages: list[str] = Field(
        [], description="translate instruction and response into these; the English set comes too"
    )
    rubric_temperature: float = Field(0.7, ge=0, description="of the rubric's writer")
    reference_temperature: float = Field(0.0, ge=0, description="of the reference's writer")
    response_temperature: float = Field(0.5, ge=0, description="of the responses' and their feedback's writer")
    writer_tokens: int = Field(2048, ge=1, description="longest rubric, reference or response with feedback, in tokens")
    json_mode: bool = Field(
        True, description="ask the server for JSON where JSON is expected; false where it does not know how"
    )
    capabilities: list[str] = Field(
        list(CAPABILITIES), description="one is chosen for a prompt that brings none; [] leaves it without"
    )
    length_control: bool = Field(
        False, description="ask for responses whose length is drawn without regard to their score"
    )
    seed: int = Field(42, description="of draws, target lengths, the selection and the order of the set")
    plan: bool = Field(False, description="print requests, tokens and price a stage, and stop")
    prices: Path | None = Field(Path("configs/data_prep/prices.yaml"), description="price table that the plan reads")

    @field_validator("languages")
    @classmethod
    def _known(cls, codes: list[str]) -> list[str]:
        """Raises ConfigError for a language that is not known, named twice, or the prompts' own."""
        if len(set(codes)) < len(codes) or SOURCE_LANGUAGE in codes:
            raise ConfigError(
                "languages: name each once, and not en, the language of the prompts, whose set comes anyway"
            )
        return [language(code).code for code in codes]

    def writer(self, temperature: float, json: bool = False) -> Writer:
        """How a stage asks; ``parameters`` of the config win."""
        chosen: dict[str, Any] = {"temperature": temperature, "max_tokens": self.writer_tokens}
        if json and self.json_mode:
            chosen["response_format"] = {"type": "json_object"}
        chosen |= self.parameters
        return Writer({name: value for name, value in chosen.items() if value is not None}, self.system_role)
