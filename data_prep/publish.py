"""Publishes judge records as a data set on the Hub: parquet files, a card with a configuration a language, one tagged commit.

Run as:
    python -m data_prep.publish --config configs/data_prep/publish.yaml --input hi=data/hi/records.jsonl hi:test=data/hi/test.jsonl \
        --repo_id owner/name --output runs/publish/name

It prints which files would go up, and the card, and stops; --push true sends them (with --if_exists overwrite, as the plan has
made the folder). The repository is private unless --private false. A push that failed is run again by the same command.
Summaries and parallel sentences are not published: their sources forbid it or have no licence.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError, HubError
from core.hub import CARD, Repository, plan, upload_once
from core.jsonl import atomic
from core.machine_paths import check_no_machine_path
from core.progress import say, warn
from core.run import Run
from data_prep.hub_card import card
from data_prep.hub_files import Facts, Part, Shape, manifest_of, parse_part, survey, write_parquet


class PublishConfig(CommandConfig):
    """What to publish, what its card says, and where to."""

    input: list[str] = Field(
        min_length=1, description="CONFIG=records.jsonl or CONFIG:SPLIT=records.jsonl; split is train"
    )
    repo_id: str = Field(pattern=r"^[\w.-]+/[\w.-]+$", description="owner/name on the Hub")
    output: Path = Field(description="the folder to lay the files out in")
    if_exists: IfExists = Field("fail", description="what to do where the output exists")
    shape: Shape = Field("intel", description="columns of ai4bharat/intel, or the fields of a record")
    title: str = Field(min_length=1, description="the card's heading")
    description: str = Field("", description="the card's first paragraph")
    license: str = Field(min_length=1, description="licence identifier of the Hub, e.g. cc-by-4.0")
    sources: list[str] = Field(min_length=1, description="what the records were made from, with licences")
    push: bool = Field(False, description="upload; false prints what would be uploaded")
    private: bool = Field(True, description="visibility; that of an existing repository must be the same")
    overwrite_card: bool = Field(False, description="replace a card that is there already")
    tag: str | None = Field(None, description="name for this version; null names it by its content")

    @field_validator("input")
    @classmethod
    def _each_part_once(cls, words: list[str]) -> list[str]:
        files = [parse_part(word).file for word in words]
        twice = next((file for file in files if files.count(file) > 1), None)
        if twice:
            raise ConfigError(f"input names {twice.removesuffix('.parquet')} twice; give each split one file")
        return words

    @property
    def repository(self) -> Repository:
        """Where to."""
        return Repository(self.repo_id, "dataset", self.private, self.tag)


def main(config: PublishConfig) -> None:
    """Check the records, lay out the files, print the plan, and upload where asked."""
    parts = [parse_part(word) for word in config.input]
    facts = {part: survey(part, config.shape) for part in parts}
    manifests = {part: manifest_of(part) for part in parts}
    shown = config.model_dump(mode="json") | {"input": {part.file: str(part.source) for part in parts}}
    with Run(config.output, "data_prep.publish", shown, [part.source for part in parts], config.if_exists) as run:
        files = lay_out(config, facts, manifests, run.path / "files")
        check_no_machine_path(files)
        say(plan(config.repository, files))
        for part in (part for part, manifest in manifests.items() if manifest is None):
            warn(f"{part.source} has no manifest, so the card cannot say how it was made")
        if config.push:
            push(config, files, facts, run)
        else:
            say("nothing was sent; to upload: the same command with --push true --if_exists overwrite")


def lay_out(
    config: PublishConfig,
    facts: Mapping[Part, Facts],
    manifests: Mapping[Part, dict[str, Any] | None],
    folder: Path,
) -> dict[str, Path]:
    """Write all files as they will stand in the repository; their paths there and here."""
    for part in facts:
        write_parquet(part, config.shape, folder / part.file)
    with atomic(folder / CARD) as handle:
        handle.write(
            card(
                config.title,
                config.description,
                config.license,
                config.sources,
                config.shape,
                facts,
                manifests,
                config.repo_id,
            )
        )
    return {name: folder / name for name in (CARD, *(part.file for part in facts))}


def push(config: PublishConfig, files: Mapping[str, Path], facts: Mapping[Part, Facts], run: Run) -> None:
    """Upload, verify, tag, and read every configuration back."""
    from huggingface_hub import HfApi

    rows = sum(one.rows for one in facts.values())
    message = f"Upload {rows} records in {len(facts)} splits"
    done = upload_once(HfApi(), config.repository, files, message, overwrite_card=config.overwrite_card)
    run.note(uploaded=done._asdict())
    read_back(config.repo_id, done.commit, facts)
    sent = f"{len(done.sent)} files sent" if done.sent else "all files were there already"
    say(f"{config.repo_id}: {sent}, commit {done.commit}, tag {done.tag}; {rows} rows read back")


def read_back(repo_id: str, commit: str, facts: Mapping[Part, Facts]) -> None:
    """Load each split as its users will. Raises HubError where it does not hold the rows that were sent."""
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    with tempfile.TemporaryDirectory() as cache:
        for part, expected in facts.items():
            try:
                data = load_dataset(repo_id, part.config, split=part.split, revision=commit, cache_dir=cache)
            except (OSError, ValueError, RuntimeError, DatasetsError) as error:
                reason = " ".join(str(error).split())[:200]
                raise HubError(
                    f"{repo_id} {part.config} {part.split} was uploaded but cannot be loaded ({reason}); run this again"
                ) from None
            if len(data) != expected.rows:
                raise HubError(f"{repo_id} {part.config} {part.split} has {len(data)} rows, not {expected.rows}")


if __name__ == "__main__":
    run_command(main, PublishConfig)
