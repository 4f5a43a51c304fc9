"""The fields of ``data_prep.convert``, which every format reads from one config."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from core.config import CommandConfig, IfExists
from core.errors import ConfigError
from core.languages import language

FormatName = Literal["feedback-collection", "recon", "mjudge", "cia-tsv", "beyond-ngrams", "parallel-text", "columns"]


class ConvertConfig(CommandConfig):
    """What to convert, how, and where to."""

    input: str = Field(description="a file or folder, or the id of a data set on the Hub")
    format: FormatName = Field(description="how the input is laid out")
    output: Path = Field(description="the JSON Lines file to write; its manifest goes beside it")
    if_exists: IfExists = Field("fail", description="what to do where the output exists")
    language: list[str] | str | None = Field(
        None, description="the rows' language where the data do not say it; where they do, keep these languages only"
    )
    reference_language: str = Field("en", description="language of the reference answers where the rows do not say it")
    hub_config: str | None = Field(
        None, description="configuration of the Hub data set; {language} stands for language"
    )
    split: str = Field("train", description="split of the Hub data set")
    revision: str | None = Field(None, description="commit or tag of the Hub data set, for a run that can be repeated")
    rubric: Literal["specific", "general"] = Field("specific", description="cia-tsv: the rubric to judge by")
    to: Literal["records", "summaries", "parallel"] = Field("records", description="columns: the kind of row to write")
    columns: dict[str, str | list[str]] = Field(
        {}, description="columns: field: source column, or several whose values are joined by '-'"
    )
    constants: dict[str, Any] = Field({}, description="field: value for every row, e.g. {source: intel}")
    quoting: Literal["csv", "none"] | None = Field(
        None, description="columns: whether quotes enclose fields; null is csv for .csv and none for .tsv"
    )
    files: dict[str, str] = Field({}, description="parallel-text: language: file in the input folder")
    documents: Path | None = Field(None, description="parallel-text: file with the document id of every line")
    holdout_items: int = Field(0, ge=0, description="items (with all their rows) to write to holdout_output instead")
    holdout_output: Path | None = Field(None, description="file for the rows of the items held out")
    seed: int = Field(42, description="seed of the draw of items held out")

    def languages(self) -> list[str]:
        """The codes asked for, none where no language is set. Raises ConfigError for one that is not known."""
        codes = [self.language] if isinstance(self.language, str) else self.language or []
        return [language(code).code for code in codes]

    def one_language(self) -> str:
        """The language of rows that do not say theirs. Raises ConfigError unless exactly one is set."""
        codes = self.languages()
        if len(codes) != 1:
            raise ConfigError(f"the rows of {self.input} do not say their language; pass one, e.g. --language hi")
        return codes[0]
