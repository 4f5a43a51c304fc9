"""Fields of merge.search: a merge's recipe, and how its weights are chosen."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from core.length import VERDICT_TOKENS
from merge.recipe import MergeConfig
from merge.selection import Objective

Density = Annotated[float, Field(gt=0, le=1)]


class SearchConfig(MergeConfig):
    """Config of merge.search. Of the recipe's weights the sum is kept, 1.0 for each expert without one."""

    records: list[Path] = Field(min_length=1, description="validation records with gold scores, in every language")
    train_records: list[Path] = Field([], description="training files; refused where they share an item with records")
    allow_overlap: bool = Field(False, description="allow items that were trained on")
    languages: list[str] | None = Field(None, description="of the objective; null: the experts' names")
    objective: Objective = Field("mean", description="linear kappa: its mean over the languages, or the worst's")
    evaluations: int = Field(
        20, ge=1, description="merges judged in all; the first has uniform weights; a resumed search may be given more"
    )
    draws: int = Field(6, ge=0, description="how many of them are drawn at random, before moves from the best")
    densities: list[Density] = Field(
        [0.2, 0.35, 0.5, 0.7, 0.9], description="densities tried where the method takes one; []: the recipe's stands"
    )
    template: str | None = Field(None, description="prompt template; null: as the judges' judge.json says")
    with_reference: bool | None = Field(None, description="show the reference answer; null: as judge.json")
    batch_size: int = Field(8, ge=1, description="records generated for at once")
    max_new_tokens: int | None = Field(None, ge=1, description=f"longest verdict, in tokens; null: {VERDICT_TOKENS}")
    resamples: int = Field(10_000, ge=1, description="bootstrap resamples and permutations")
    merge_best: bool = Field(False, description="merge the chosen recipe too, into output_dir/merged")
    plan: bool = Field(False, description="check everything, say what the search takes, and stop")

    @property
    def verdict_tokens(self) -> int:
        """The longest verdict, in tokens."""
        return self.max_new_tokens or VERDICT_TOKENS
