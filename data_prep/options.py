"""The fields of the commands that convert data sets: what all of them heed, and what each adds."""

from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, field_validator

from core.config import CommandConfig, IfExists
from core.errors import ConfigError
from core.languages import language

RecordsFormat = Literal["feedback-collection", "recon", "mjudge", "cia-tsv", "columns"]
SummariesFormat = Literal["beyond-ngrams", "columns"]
ParallelFormat = Literal["flores", "ntrex", "text", "columns"]
_FORMATS = {
    "data_prep.convert": get_args(RecordsFormat),
    "data_prep.summaries": get_args(SummariesFormat),
    "data_prep.parallel": get_args(ParallelFormat),
}


class SourceConfig(CommandConfig):
    """What to read, how, and where to."""

    input: str = Field(description="a file or folder, or the id of a data set on the Hub")
    format: str = Field(description="how the input is laid out")
    output: Path = Field(description="the JSON Lines file to write; its manifest goes beside it")
    if_exists: IfExists = Field("fail", description="what to do where the output exists")
    language: list[str] | str | None = Field(
        None, description="the rows' language where the data do not say it; where they do, keep these languages only"
    )
    hub_config: str | None = Field(
        None, description="configuration of the Hub data set; {language} stands for language"
    )
    split: str | None = Field(None, description="split of the Hub data set (null: train)")
    revision: str | None = Field(None, description="commit or tag of the Hub data set, for a run that can be repeated")
    columns: dict[str, str | list[str]] = Field(
        {}, description="columns: field: source column, or several whose values are joined by '-'"
    )
    quoting: Literal["csv", "none"] | None = Field(
        None, description="columns: whether quotes enclose fields; null is csv for .csv and none for .tsv"
    )
    holdout_items: int = Field(0, ge=0, description="items (with all their rows) to write to holdout_output instead")
    holdout_output: Path | None = Field(None, description="file for the rows of the items held out")
    seed: int = Field(42, description="seed of the draw of items held out")

    @field_validator("format", mode="before")
    @classmethod
    def _of_this_command(cls, name: Any) -> Any:
        """A format of another command is told from one that is unknown."""
        mine = get_args(cls.model_fields["format"].annotation)
        for command, names in _FORMATS.items():
            if name in names and name not in mine:
                raise ConfigError(f"format {name} is read by python -m {command}; this command reads {', '.join(mine)}")
        return name

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


class ConvertConfig(SourceConfig):
    """Judge records."""

    format: RecordsFormat = Field(description="how the input is laid out")
    reference_language: str = Field("en", description="language of the reference answers where the rows do not say it")
    constants: dict[str, Any] = Field({}, description="field: value for every row, e.g. {source: intel}")
    rubric: Literal["specific", "general"] = Field("specific", description="cia-tsv: the rubric to judge by")


class SummariesConfig(SourceConfig):
    """Summaries, with people's scores where there are any."""

    format: SummariesFormat = Field(description="how the input is laid out")
    constants: dict[str, Any] = Field({}, description="field: value for every row, e.g. {dimension: coherence}")


class ParallelConfig(SourceConfig):
    """Parallel sentences."""

    format: ParallelFormat = Field(description="how the input is laid out")
    language: list[str] | str | None = Field(
        None, description="the languages to keep, two or more (null: all there are)"
    )
    split: str | None = Field(None, description="flores: dev or devtest (null: dev); columns: split on the Hub")
    header: list[str] = Field(
        [], description="columns: names of the columns of a CSV or TSV whose first line is no header"
    )
    files: dict[str, str] = Field({}, description="text: language: file in the input folder")
    documents: Path | None = Field(None, description="text, ntrex: file with the document id of every line")
