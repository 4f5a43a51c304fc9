"""Publishes a judge on the Hub: its weights and what prompts them, a card with what was measured, in one tagged commit.

Run as:
    python -m merge.publish --config configs/merge/publish.yaml --model runs/ties --repo_id owner/Llama-3.1-judge

It prints which files would go up, and the card, and stops; --push true sends them. The model is a folder that train.sft,
merge.fold or merge.run wrote: full weights or an adapter. It is checked first (as train.check does). The repository is
private unless --private false. A push that failed is run again by the same command.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from huggingface_hub import HfApi
from huggingface_hub.utils import validate_repo_id
from pydantic import AfterValidator, Field, StringConstraints

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError, ModelError
from core.hub import CARD, Repository, Uploaded, plan, upload_once
from core.machine_paths import check_no_machine_path
from core.progress import say, warn
from core.prompt_spec import FILE as PROMPT_SPEC
from core.prompt_spec import PromptSpec, load_prompt_spec
from core.run import Run
from merge.card import Card, card_text
from merge.card_prompt import snippet
from merge.card_results import read_evaluation
from merge.card_training import training_text
from merge.licences import Licence, check_name, licence_of
from merge.lineage import Lineage, read_lineage, trained_languages
from merge.payload import REPLACES, lay_out, left_out
from merge.source import HUB_ID
from merge.staging import keep_inputs
from train.check import check_checkpoint, describe
from train.load import load_tokenizer


def _valid(repo_id: str) -> str:
    """What the Hub's client refuses, such as a--b or more than 96 characters, is refused before the plan."""
    validate_repo_id(repo_id)
    return repo_id


HubId = Annotated[str, StringConstraints(pattern=rf"^{HUB_ID}$"), AfterValidator(_valid)]
DataSet = Annotated[str, StringConstraints(pattern=r"^[\w-][\w.-]*(/[\w.-]+)?$")]


class PublishConfig(CommandConfig):
    """What to publish, what its card says, and where to."""

    model: Path = Field(description="folder of a judge: full weights or an adapter")
    repo_id: HubId = Field(description="owner/name on the Hub")
    output: Path | None = Field(
        None, description="run folder that keeps the card, the plan's files and a manifest; null: none"
    )
    if_exists: IfExists = Field("fail", description="what to do where the output exists")
    base: HubId | None = Field(
        None, description="Hub id of the checkpoint it was tuned from; null: as the folder records"
    )
    base_models: dict[str, HubId | None] = Field(
        {}, description="inputs of a merge: {expert or its path: Hub id}; null for one that is not published"
    )
    title: str | None = Field(None, min_length=1, description="the card's heading; null: the repository's name")
    description: str = Field("", description="the card's first paragraph")
    license: str | None = Field(None, min_length=1, description="licence identifier of the Hub; null: that of the base")
    license_name: str | None = Field(None, description="name of a licence that is other")
    license_link: str | None = Field(None, description="address of a licence that is not the base's")
    allow_name: bool = Field(False, description="take a name that the base's licence does not allow")
    languages: list[str] | None = Field(None, description="trained on; null: as judge.json says")
    datasets: list[DataSet] = Field([], description="Hub ids of the training data")
    sources: list[str] = Field([], description="what else the training data came from, with licences")
    metrics: list[str] = Field([], description="DATASET=FOLDER or FOLDER: runs of eval.agree that hold this judge")
    judge: str | None = Field(None, description="the judge's name in these metrics; null: the model folder's")
    tags: list[str] = Field([], description="further tags of the card")
    push: bool = Field(False, description="upload; false prints what would be uploaded")
    private: bool = Field(True, description="visibility; that of an existing repository must be the same")
    overwrite_card: bool = Field(False, description="replace a card that is there already")
    tag: str | None = Field(
        None, pattern=r"^\w[\w.-]*$", description="name for this version; null names it by its content"
    )

    @property
    def repository(self) -> Repository:
        """Where to."""
        return Repository(self.repo_id, "model", self.private, self.tag)


def main(config: PublishConfig) -> None:
    """Check the judge, lay out the files, print the plan, and upload where asked."""
    lineage = read_lineage(config.model, config.base, config.base_models)
    licence = licence_of_judge(config, lineage)
    spec = load_prompt_spec(config.model)
    if spec is None:
        raise ModelError(f"{config.model} has no {PROMPT_SPEC}, which says how to prompt it; take it from its training")
    with written_files(config) as (folder, run):
        files = judge_files(config, lineage, licence, spec, folder)
        check_no_machine_path(files)
        say(describe(config.model, check_checkpoint(config.model, is_judge=True)))
        say(plan(config.repository, files))
        say(f"left out: {', '.join(left_out(config.model, files)) or 'nothing'}")
        say(f"licence: {licence.id}, {licence.name} {licence.link}")
        if config.push:
            done = push(config, files)
            if run is not None:
                run.note(uploaded=done._asdict())
        else:
            say("nothing was sent; to upload: the same command with --push true")


def licence_of_judge(config: PublishConfig, lineage: Lineage) -> Licence:
    """The licence, with the name held to it. Raises ConfigError."""
    bases = list(dict.fromkeys([*lineage.base_models, lineage.base]))
    licence = licence_of(bases, config.license, config.license_name, config.license_link)
    fault = check_name(config.repo_id, licence)
    if fault and not config.allow_name:
        raise ConfigError(f"repo_id {config.repo_id}: {fault}, or --allow_name true")
    if fault:
        warn(f"repo_id {config.repo_id}: {fault}")
    return licence


@contextmanager
def written_files(config: PublishConfig) -> Iterator[tuple[Path, Run | None]]:
    """The folder for what is written for the upload alone: in the run folder, or one that goes at the end."""
    if config.output is None:
        with TemporaryDirectory() as spare:
            yield Path(spare), None
    else:
        inputs = [config.model, *(Path(word.rpartition("=")[2]) for word in config.metrics)]
        keep_inputs(config.output, inputs)
        with Run(config.output, "merge.publish", config, inputs, config.if_exists) as run:
            folder = run.path / "files"
            folder.mkdir(exist_ok=True)
            yield folder, run


def judge_files(
    config: PublishConfig, lineage: Lineage, licence: Licence, spec: PromptSpec, folder: Path
) -> dict[str, Path]:
    """Path there → path here of everything that goes up, the card first. Raises ConfigError, DataError and ModelError."""
    languages = config.languages or trained_languages(config.model)
    files = lay_out(config.model, lineage, languages, licence, folder)
    card = Card(
        repo_id=config.repo_id,
        title=config.title or config.repo_id.split("/")[1],
        description=config.description,
        languages=languages,
        lineage=lineage,
        licence=licence,
        spec=spec,
        datasets=config.datasets,
        sources=config.sources,
        tags=config.tags,
        evaluations=[read_evaluation(word, config.judge or config.model.resolve().name) for word in config.metrics],
        training=training_text(config.model, lineage),
        snippet=snippet(config.repo_id, spec, load_tokenizer(config.model)),
    )
    (folder / CARD).write_text(card_text(card), encoding="utf-8")
    return {CARD: folder / CARD, **files}


def push(config: PublishConfig, files: Mapping[str, Path]) -> Uploaded:
    """Upload in one commit, verify every file and tag the commit. Raises HubError."""
    message = f"Upload judge {config.repo_id.split('/')[1]}"
    done = upload_once(HfApi(), config.repository, files, message, REPLACES, config.overwrite_card)
    sent = f"{len(done.sent)} files sent" if done.sent else "all files were there already"
    gone = f", {len(done.deleted)} of an earlier version deleted" if done.deleted else ""
    say(f"{config.repo_id}: {sent}{gone}, commit {done.commit}, tag {done.tag}; every file is there as it is here")
    return done


if __name__ == "__main__":
    run_command(main, PublishConfig)
