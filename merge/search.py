"""Choose a merge's weights, and densities, by the judges that they make: on validation records with gold scores.

Run as:
    python -m merge.search --config configs/merge/search.yaml --output_dir runs/search

Half of the validation items choose, the other half says what the choice is worth. Writes trace.jsonl (a row an evaluation),
verdicts/ (predictions.jsonl rows), recipe.yaml (for merge.run) and metrics.json (what was gained, and how much of it is
selection). A search that was stopped goes on with --if_exists resume.
"""

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from core.chat import stop_token_id
from core.config import run_command
from core.errors import AlreadyDone, ConfigError, DataError, RunFolderError
from core.jsonl import atomic, write_json
from core.overlap import check_disjoint
from core.progress import Progress, say, warn
from core.prompt import build_messages
from core.prompt_spec import PromptSpec, load_prompt_spec
from core.records import JudgeRecord, Prediction, check_unique, read_records, read_rows, write_rows
from core.run import Run, shown_path
from merge import run as merging
from merge.candidates import judged, remove_leftovers, with_settings
from merge.check import check_inputs
from merge.halves import Halves, split
from merge.preflight import Source, check_alike, warn_of_dtypes
from merge.proposals import Candidate, Space, Step
from merge.recipe import MergeConfig, check_method, method_parameters, recipe_values
from merge.search_config import SearchConfig
from merge.search_table import table
from merge.selection import compare, language_kappas, objective_value, optimism
from merge.staging import keep_inputs
from merge.trace import Evaluation, best, explore, read_trace
from train.load import load_tokenizer

RECIPE = "recipe.yaml"
VERDICTS = "verdicts"
MERGED = "merged"
_FOLDED = ".folded-"


def main(config: SearchConfig) -> None:
    """Search, measure the choice on the half held out, write the chosen recipe. Raises as merge.run does, and DataError."""
    space = search_space(config)
    check_method(with_settings(config, space.uniform))
    languages = list(dict.fromkeys(config.languages or config.experts))
    halves = read_halves(config, languages)
    sources = merging.read_sources(config)
    check_alike(config, sources)
    warn_of_dtypes(sources, config.dtype)
    check_prompts(config, sources[config.donor], [*halves.search, *halves.held_out])
    say(cost(config, halves))
    if config.plan:
        return
    folders = [folder for source in sources.values() for folder in {source.folder, source.weights}]
    keep_inputs(Path(config.output_dir), folders)
    inputs = [*config.records, *config.train_records, *folders]
    with Run(
        config.output_dir, "merge.search", config, inputs, config.if_exists, config.seed, grows="evaluations"
    ) as run:
        remove_leftovers(run.path)
        with TemporaryDirectory(dir=run.path, prefix=_FOLDED) as spare:
            sources = merging.fold_adapters(config, sources, Path(spare))
            check_inputs(sources)
            search = Search(config, languages, halves, sources, run.path)
            evaluations = search.explore(space)
            metrics = search.measure(evaluations)
        chosen = with_settings(config, best(evaluations).candidate)
        write_recipe(chosen, run.path / RECIPE)
        write_json(metrics, run.path / "metrics.json")
        if config.merge_best:
            merge_chosen(chosen, run.path / MERGED)
        run.note(chosen=best(evaluations).number, evaluations=len(evaluations))
    say(table(metrics))
    say(f"{run.path / RECIPE}: python -m merge.run --config {run.path / RECIPE} --output_dir DIR")


class Search:
    """One search's records, models and folder: what every evaluation takes."""

    def __init__(
        self,
        config: SearchConfig,
        languages: list[str],
        halves: Halves,
        sources: Mapping[str, Source],
        folder: Path,
    ) -> None:
        self.config, self.languages, self.halves, self.sources, self.folder = config, languages, halves, sources, folder
        self.stop_token = stop_token_id(load_tokenizer(sources[config.donor].folder))

    def explore(self, space: Space) -> list[Evaluation]:
        """All evaluations, those of an earlier start among them."""
        left = self.config.evaluations - len(read_trace(self.folder))
        with Progress(left, "evaluations") as progress:

            def evaluate(number: int, step: Step, candidate: Candidate) -> Evaluation:
                evaluation = self.evaluate(number, step, candidate)
                progress.update()
                return evaluation

            return explore(space, self.config.draws, self.config.seed, self.config.evaluations, evaluate, self.folder)

    def evaluate(self, number: int, step: Step, candidate: Candidate) -> Evaluation:
        """Merge a candidate and judge the search half with it."""
        start = time.monotonic()
        rows = self.verdicts(number, candidate, "search")
        kappas = language_kappas(rows, self.languages, self.config.resamples, self.config.seed)
        return Evaluation(
            number=number,
            step=step,
            weights=candidate.weights,
            densities=candidate.densities,
            objective=objective_value(kappas, self.config.objective),
            kappa={language: figure.to_json() for language, figure in kappas.items()},
            n=len(rows),
            n_unscored=sum(row.score is None for row in rows),
            seconds=round(time.monotonic() - start, 3),
        )

    def measure(self, evaluations: list[Evaluation]) -> dict[str, Any]:
        """The content of metrics.json: uniform and chosen on both halves, and the optimism of the choice."""
        chosen = best(evaluations)
        measured, gains = {}, {}
        for half in Halves._fields:
            uniform, other = (self.verdicts(one.number, one.candidate, half) for one in (evaluations[0], chosen))
            measured[half], gains[half] = compare(
                uniform, other, self.languages, self.config.objective, self.config.resamples, self.config.seed
            )
        return {
            "objective": self.config.objective,
            "evaluations": len(evaluations),
            "uniform": evaluations[0].candidate._asdict(),
            "chosen": {"number": chosen.number, **chosen.candidate._asdict()},
            "halves": measured,
            "optimism": optimism(gains["search"], gains["held_out"]).to_json(),
        }

    def verdicts(self, number: int, candidate: Candidate, half: str) -> list[Prediction]:
        """A candidate's verdicts on one half, judged once."""
        path, records = self.folder / VERDICTS / f"{half}-{number:03}.jsonl", getattr(self.halves, half)
        there = [row.id for row in read_rows(path, Prediction)] if path.is_file() else []
        if there != [record.id for record in records]:
            recipe = with_settings(self.config, candidate)
            judging = {name: getattr(self.config, name) for name in ("template", "with_reference", "batch_size")}
            judging |= {"name": f"candidate {number}", "max_new_tokens": self.config.verdict_tokens}
            write_rows(judged(recipe, self.sources, self.stop_token, records, self.folder, **judging), path)
        return read_rows(path, Prediction)


def search_space(config: SearchConfig) -> Space:
    """What of the recipe is searched. Raises ConfigError for a method without weights, for one expert, and for weights that
    are no positive numbers.
    """
    takes = method_parameters(config.merge_method)
    if "weight" not in takes:
        raise ConfigError(f"{config.merge_method} takes no weights, so there is nothing to search; run merge.run")
    if len(config.experts) < 2:
        raise ConfigError("one expert alone has no weights to search; name two or more, or run merge.run")
    settings = {name: config.settings(name) for name in config.experts}
    weights = [setting.get("weight", 1.0) for setting in settings.values()]
    if any(not isinstance(weight, int | float) or weight <= 0 for weight in weights):
        raise ConfigError(f"weights {weights}: the search keeps their sum, so they have to be numbers above 0")
    densities = None
    if "density" in takes and config.densities:
        default = takes["density"].default
        densities = {name: setting.get("density", default) for name, setting in settings.items()}
        if any(not isinstance(density, int | float) for density in densities.values()):
            raise ConfigError("density is a list over the layers; give a number, or densities: [] to keep the lists")
    searched = {"weight"} if densities is None else {"weight", "density"}
    for given in (config.parameters, *(expert.parameters for expert in config.experts.values())):
        if hidden := sorted(searched & given.keys()):
            raise ConfigError(
                f"{hidden[0]} stands under parameters, where it would overrule what the search sets; write it as "
                f"{hidden[0]}: {given[hidden[0]]}, outside parameters"
            )
    return Space(list(config.experts), math.fsum(weights), densities, sorted(config.densities))


def read_halves(config: SearchConfig, languages: list[str]) -> Halves:
    """The validation records of the languages in two halves. Raises DataError where they cannot be searched on."""
    records = [record for path in config.records for record in read_records(path)]
    where = ", ".join(map(str, config.records))
    check_unique([record.id for record in records], where)
    there = {record.language for record in records}
    if absent := [language for language in languages if language not in there]:
        raise DataError(
            f"{where}: no records of {', '.join(absent)}, in which experts judge; add some, or name the languages to search "
            "on with languages"
        )
    if others := sorted(there - set(languages)):
        warn(f"records of {', '.join(others)} are left out of the search; name them in languages to search on them too")
    records = [record for record in records if record.language in languages]
    if lacking := [record.id for record in records if record.score is None]:
        raise DataError(
            f"{where}: {len(lacking)} records have no score ({', '.join(lacking[:3])}); a search needs gold, whole from 1 to 5"
        )
    for path in config.train_records:
        check_disjoint({"the validation records": records, str(path): read_records(path)}, config.allow_overlap)
    return split(records, languages, config.seed)


def check_prompts(config: SearchConfig, donor: Source, records: list[JudgeRecord]) -> None:
    """Build every prompt once, before the first merge. Raises DataError for a record without the reference to show."""
    spec = load_prompt_spec(donor.folder) or PromptSpec()
    shows = spec.with_reference if config.with_reference is None else config.with_reference
    for record in records:
        build_messages(record, config.template or spec.template, shows)


def cost(config: SearchConfig, halves: Halves) -> str:
    """The line that says what a search will take."""
    moves = max(config.evaluations - 1 - config.draws, 0)
    return (
        f"search: {config.evaluations} merges (1 uniform, {min(config.draws, config.evaluations - 1)} draws, {moves} moves), "
        f"{len(halves.search)} verdicts each; then 2 merges, {len(halves.held_out)} verdicts each, on the half held out"
    )


def write_recipe(recipe: MergeConfig, path: Path) -> None:
    """The recipe as merge.run reads it: models named as the user named them."""
    with atomic(path) as handle:
        handle.write(f"# python -m merge.run --config {shown_path(path)} --output_dir DIR\n")
        handle.write(yaml.safe_dump(recipe_values(recipe), sort_keys=False, allow_unicode=True))


def merge_chosen(recipe: MergeConfig, folder: Path) -> None:
    """The chosen recipe's merge, by merge.run; it replaces that of an earlier choice."""
    recipe = recipe.model_copy(update={"output_dir": str(folder), "if_exists": "resume"})
    try:
        with suppress(AlreadyDone):
            merging.main(recipe)
    except RunFolderError:
        merging.main(recipe.model_copy(update={"if_exists": "overwrite"}))


if __name__ == "__main__":
    run_command(main, SearchConfig)
