"""What configs/paper/steereval/steering.yaml holds: SteerEval's metrics and models, what is published, the commands of each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from core.config import CommandConfig, load_yaml, validate
from core.errors import ConfigError

FILE = "steering.yaml"
Published = dict[str, dict[str, float]]  # dimension → language → Pearson


class SteeringRow(CommandConfig):
    """A metric on a model. ``scores`` are the names that its cells bear in metrics.json; its own where there are none."""

    label: str
    metric: str
    scores: list[str] = Field([])
    name: str = Field(description="of its config and of its folders")
    model: str
    unsteered: Published = Field({})
    steered: Published = Field({}, description="at the strength that is best on the test scores")

    @property
    def score_names(self) -> list[str]:
        return self.scores or [self.metric]


class SteeringSetting(CommandConfig):
    """A way to steer, as cells name it, and the flags of eval.summaries that choose it."""

    name: str
    method: Literal["vector", "map"]
    scale: Literal["relative", "raw"] | None
    flags: str


class SteeringPaper(CommandConfig):
    """The tables of SteerEval: columns are languages, one table a dimension, each way to steer toward each pivot."""

    title: str
    languages: list[str] = Field(min_length=1)
    dimensions: list[str] = Field(min_length=1)
    pivots: list[str] = Field(min_length=1)
    remarks: list[str] = Field([], description="what the paper says without a place in the tables")
    settings: list[SteeringSetting] = Field(min_length=1)
    data: list[str] = Field(description="commands that make the files the others read")
    directions: str = Field(description="{language}, {pivot}; {name} and {model} are the row's")
    measure: str = Field(description="{pivot}, {setting}, {flags}; {name} and {metric} are the row's")
    similarity: str = Field(description="{pivot}, {name}")
    rows: list[SteeringRow] = Field(min_length=1)

    @model_validator(mode="after")
    def _places_are_known(self) -> "SteeringPaper":
        for row in self.rows:
            for published in (row.unsteered, row.steered):
                for dimension, values in published.items():
                    if dimension not in self.dimensions:
                        raise ConfigError(f"{row.label}: {dimension} is none of {', '.join(self.dimensions)}")
                    if unknown := [code for code in values if code not in self.languages]:
                        raise ConfigError(f"{row.label}: {unknown[0]} is none of {', '.join(self.languages)}")
        return self

    def commands(self, row: SteeringRow, pivots: dict[str, list[SteeringSetting]]) -> Iterator[str]:
        """What learns a row's directions and measures it, by pivot and setting; ``{language}`` stands for each language."""
        for pivot, settings in pivots.items():
            yield self._filled(self.directions, row, pivot)
            for one in settings:
                line = self._filled(self.measure, row, pivot)
                yield " ".join(line.replace("{flags}", one.flags).replace("{setting}", one.name).split())

    def similarity_commands(self, row: SteeringRow, pivot: str) -> list[str]:
        """What learns a model's directions toward a pivot and compares them."""
        return [self._filled(line, row, pivot) for line in (self.directions, self.similarity)]

    @staticmethod
    def _filled(line: str, row: SteeringRow, pivot: str) -> str:
        for name, value in (("name", row.name), ("model", row.model), ("metric", row.metric), ("pivot", pivot)):
            line = line.replace(f"{{{name}}}", value)
        return line


def read_steering_paper(folder: Path) -> SteeringPaper:
    """Read steering.yaml of a folder. Raises ConfigError where it is not right."""
    path = folder / FILE
    return validate(SteeringPaper, load_yaml(path), path)
