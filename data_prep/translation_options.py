"""The fields of ``data_prep.translate``."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from core.config import IfExists
from core.errors import ConfigError
from core.server import ServerOptions
from data_prep.translation import TranslationOptions


class TranslateConfig(ServerOptions, TranslationOptions):
    """What to translate into which language, how it is checked, and how the model is asked."""

    input: Path = Field(description="records.jsonl in English")
    language: str = Field(description="language to translate into")
    output: Path | None = Field(None, description="run folder to make; needed without plan")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    reference: Literal["english", "target"] = Field(
        "english",
        description="target: translate the reference answer too (the ablation); rubric and feedback never are",
    )
    mark_ids: bool = Field(
        False, description="add __LANGUAGE to each id, for sets of several languages that are read together"
    )
    max_rejected: float = Field(
        0.5, ge=0, le=1, description="fail, with all files kept, where a larger share of the records is rejected"
    )
    plan: bool = Field(False, description="print rows, unique texts, tokens and price, and stop")
    tokenizer: str | None = Field(None, description="tokenizer that the plan counts with; null: estimate by characters")
    prices: Path | None = Field(Path("configs/data_prep/prices.yaml"), description="price table that the plan reads")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.output is None and not self.plan:
            raise ConfigError("output is not set; pass --output FOLDER, or --plan true to see what would be asked")
        if self.language == "en":
            raise ConfigError("language en is that of the source; name the language to translate into")
        return self

    def fields(self) -> tuple[str, ...]:
        """The fields of a record that are translated."""
        return ("instruction", "response", *(("reference_answer",) if self.reference == "target" else ()))
