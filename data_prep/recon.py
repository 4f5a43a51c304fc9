"""Builds a Recon-like test set from prompts: rubric, reference, scored responses with feedback, translations, a balanced set.

Run as:
    python -m data_prep.recon --config configs/data_prep/build-recon.yaml --input prompts.jsonl --languages hi te --output data/recon

Parts that a prompt brings (rubric, reference, responses, feedback, capability, system prompt) are kept byte for byte; only
missing ones are made. Writes a file for each stage (capabilities, rubrics, references, responses), records-<language>.jsonl
and hub-<language>.jsonl for each set, rejected.jsonl, metrics.json (length baseline), capabilities.md and .svg.
A run that was killed goes on with --if_exists resume; ``--plan true`` prints requests, tokens and price, and stops.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from core.client import Client
from core.config import run_command
from core.errors import DataError
from core.jsonl import atomic, write_json, write_jsonl
from core.progress import say, warn
from core.records import JudgeRecord, write_records
from core.run import Run
from data_prep.hub_rows import hub_row
from data_prep.recon_options import ReconConfig
from data_prep.recon_stages.making import make_parts
from data_prep.recon_stages.plan import plan_text
from data_prep.recon_stages.prompts import Prompt, kept_parts, read_prompts
from data_prep.recon_stages.records import SOURCE_LANGUAGE, Parts, records
from data_prep.recon_stages.set_report import (
    capability_counts,
    capability_table,
    figures_line,
    plot_capabilities,
    set_figures,
)
from data_prep.recon_stages.tasks import Rejected
from data_prep.recon_stages.translated import Selection, select_and_translate
from data_prep.recon_stages.writer import PROMPT_VERSION


def main(config: ReconConfig) -> None:
    """Make what is missing, select and translate, write the sets and say what they are like."""
    prompts = draw(read_prompts(config.input, config.columns, config.quoting), config.prompts, config.seed)
    say(f"{len(prompts)} prompts bring {', '.join(f'{name} {n}' for name, n in kept_parts(prompts).items())}")
    if config.plan:
        say(plan_text(prompts, config))
        return
    with (
        Client(config) as client,
        Run(config.output, "data_prep.recon", config, config.input, config.if_exists, config.seed) as run,
    ):
        parts, rejected = make_parts(prompts, config, client, run.path)
        write_rejected(rejected, run)
        selection = select_and_translate(parts, config.languages, client, config, config.seed)
        rejected += selection.rejected
        write_rejected(rejected, run)
        run.note(prompt_version=PROMPT_VERSION, requests=asdict(client.counters), kept=kept_parts(prompts))
        if not selection.picked:
            raise DataError(_nothing_made(len(prompts), rejected, run.path))
        sets = finished_sets(parts, selection, config)
        write_sets(sets, run, config)
        report(sets, len(prompts), rejected, run, config)


def draw(prompts: Sequence[Prompt], count: int | None, seed: int) -> list[Prompt]:
    """``count`` of the prompts in a seeded draw, in the order given; all where count is None or no less than there are."""
    if count is None or count >= len(prompts):
        return list(prompts)
    places = random.Random(seed).sample(range(len(prompts)), count)
    return [prompts[place] for place in sorted(places)]


def finished_sets(parts: Parts, selection: Selection, config: ReconConfig) -> dict[str, list[JudgeRecord]]:
    """The records by language: the same items and scores in each, in one shuffled order (the published set is sorted by score)."""
    order = sorted(selection.picked)
    random.Random(config.seed).shuffle(order)
    return {
        code: records(parts, selection.picked, order, code, selection.texts[code])
        for code in (SOURCE_LANGUAGE, *config.languages)
    }


def write_sets(sets: Mapping[str, Sequence[JudgeRecord]], run: Run, config: ReconConfig) -> None:
    """records-<language>.jsonl and, in the columns of the published set, hub-<language>.jsonl."""
    for code, rows in sets.items():
        write_records(rows, run.path / f"records-{code}.jsonl")
        write_jsonl(map(hub_row, rows), run.path / f"hub-{code}.jsonl")


def write_rejected(rejected: Sequence[Rejected], run: Run) -> None:
    """rejected.jsonl: every part that could not be made, with the reason of each attempt."""
    write_jsonl((part.to_json() for part in rejected), run.path / "rejected.jsonl")


def report(
    sets: Mapping[str, Sequence[JudgeRecord]], asked: int, rejected: Sequence[Rejected], run: Run, config: ReconConfig
) -> None:
    """Write and print the length baseline of each set, the capabilities, and what could not be made."""
    figures = {code: set_figures(rows, config.seed) for code, rows in sets.items()}
    by_stage = dict(sorted(Counter(part.stage for part in rejected).items()))
    capabilities = capability_counts(sets[SOURCE_LANGUAGE])
    write_json(
        {"prompts": asked, "sets": figures, "capabilities": capabilities, "rejected": by_stage},
        run.path / "metrics.json",
    )
    with atomic(run.path / "capabilities.md") as file:
        file.write(capability_table(capabilities))
    plot_capabilities(capabilities, run.path / "capabilities.svg")
    run.note(counts={"prompts": asked, "items": figures[SOURCE_LANGUAGE]["items"], "rejected": by_stage})
    say(capability_table(capabilities))
    for code, row in figures.items():
        say(figures_line(code, row))
    if rejected:
        counts = ", ".join(f"{stage} {count}" for stage, count in by_stage.items())
        warn(f"{len(rejected)} parts could not be made ({counts}); see {run.path / 'rejected.jsonl'}")
    if short := asked - figures[SOURCE_LANGUAGE]["items"]:
        warn(f"the set is {short} items short of the {asked} prompts")


def _nothing_made(asked: int, rejected: Sequence[Rejected], folder: Path) -> str:
    counts = Counter(part.stage for part in rejected).most_common()
    stages = ", ".join(f"{stage} {count}" for stage, count in counts)
    return (
        f"no item of {asked} prompts could be finished: {len(rejected)} parts failed ({stages}), the first because "
        f"{rejected[0].reasons[-1]}; see {folder / 'rejected.jsonl'}, or name a model that can write rubrics"
    )


if __name__ == "__main__":
    run_command(main, ReconConfig)
