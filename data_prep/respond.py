"""Responses of the models under evaluation to prompts in X, "in the wild": ready for annotation and for judging.

Run as:
    python -m data_prep.respond --config configs/data_prep/respond.yaml --input data/recon/records-hi.jsonl --output data/wild/hi

Writes records.jsonl (one row a prompt and system: ``system`` and ``response`` filled, ``score`` and ``feedback`` null), which
data_prep.review annotates and eval.judge judges, and rejected.jsonl with the prompts that a system gave no text for.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from core.client import Client
from core.config import CommandConfig, IfExists, run_command
from core.errors import AnswersMissing, ConfigError, DataError, ServerError, StoreError
from core.jsonl import write_jsonl
from core.progress import say, warn
from core.records import JudgeRecord, check_unique, read_records, write_records
from core.run import Run
from core.server import Server, ServerOptions, keep_apart
from data_prep.respond_draw import draw_prompts
from data_prep.respond_systems import System, ask_system, responded


class RespondConfig(CommandConfig):
    """Fields of data_prep.respond."""

    input: list[Path] = Field(
        min_length=1, description="records.jsonl whose prompts are asked, of one or more languages"
    )
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    systems: list[System] = Field(
        min_length=1, description="models under evaluation: name, model, base_url, api_key_env, parameters, system_role"
    )
    prompts: int = Field(100, ge=1, description="prompts drawn a language, stratified by source and capability")
    seed: int = Field(42, description="of the draw; the same items are drawn in all languages that have the same items")
    concurrency: int = Field(16, ge=1, description="requests in flight at once, to one system after the other")
    timeout: float = Field(120.0, gt=0, description="seconds that one try may take")
    retries: int = Field(6, ge=0, description="tries after the first, for failures that may pass")
    store: Path = Field(Path("data/answers"), description="folder of answers, shared by all runs")
    batch: Literal["none", "files", "submit"] = Field("none", description="ask now, or through batch files")
    batch_dir: Path | None = Field(None, description="folder of batch files, one folder a system in it")

    @field_validator("systems")
    @classmethod
    def _named_once(cls, systems: list[System]) -> list[System]:
        if len({system.name for system in systems}) < len(systems):
            raise ConfigError("two systems have the same name; ids are made of it, so give each its own")
        return systems

    @model_validator(mode="after")
    def _answers_outlive_the_run(self) -> Self:
        keep_apart(self.output, self.store, self.batch_dir)
        return self


def main(config: RespondConfig) -> None:
    """Draw the prompts, ask every system, write what came."""
    records = [record for path in config.input for record in read_records(path)]
    drawn = draw_prompts(records, config.prompts, config.seed)
    check_unique([record.id for record in drawn], ", ".join(map(str, config.input)))
    for system in config.systems:
        Server(_options(config, system))  # an address or a key that is wrong stops the run before any model is asked
    with Run(config.output, "data_prep.respond", _identity(config), config.input, config.if_exists, config.seed) as run:
        rows: list[JudgeRecord] = []
        rejected: list[dict[str, Any]] = []
        gone: list[str] = []
        for system in config.systems:
            made, lost, fault = _ask(config, system, drawn)
            rows += made
            rejected += lost
            gone += [fault] if fault else []
            say(_line(system, made, lost, len(drawn)))
        write_records(rows, run.path / "records.jsonl")
        write_jsonl(rejected, run.path / "rejected.jsonl")
        run.note(counts=_counts(rows, rejected))
        if gone:
            raise ServerError(f"{'; '.join(gone)}; the others' answers are kept: go on with --if_exists resume")
        if not rows:
            raise DataError(
                f"no system gave a response ({len(rejected)} refused or empty); see {config.output}/rejected.jsonl"
            )


def _identity(config: RespondConfig) -> dict[str, Any]:
    """The config with the systems' addresses apart, so that a server may move while a run is resumed."""
    values = config.model_dump(mode="json")
    where = {
        name: {system["name"]: system.pop(name) for system in values["systems"]} for name in ("base_url", "api_key_env")
    }
    return values | where


def _options(config: RespondConfig, system: System) -> ServerOptions:
    return ServerOptions(
        model=system.model,
        base_url=system.base_url,
        api_key_env=system.api_key_env,
        concurrency=config.concurrency,
        timeout=config.timeout,
        retries=config.retries,
        store=config.store,
        batch=config.batch,
        batch_dir=config.batch_dir / system.name if config.batch_dir is not None else None,
    )


def _ask(
    config: RespondConfig, system: System, drawn: Sequence[JudgeRecord]
) -> tuple[list[JudgeRecord], list[dict[str, Any]], str | None]:
    """One system's rows and the prompts it gave no text for, both in the order drawn, and the fault that stopped it."""
    rows: dict[str, JudgeRecord] = {}
    lost: dict[str, dict[str, Any]] = {}
    fault = None
    try:
        with Client(_options(config, system)) as client:
            for record, answer in ask_system(client, system, drawn):
                if answer.queued:
                    continue
                row = responded(record, system.name, answer)
                if isinstance(row, str):
                    lost[record.id] = {
                        "id": record.id,
                        "system": system.name,
                        "language": record.language,
                        "reason": row,
                    }
                else:
                    rows[record.id] = row
            client.finish()
    except StoreError:
        raise
    except (ServerError, AnswersMissing) as error:
        fault = f"system {system.name}: {error}"
        warn(fault)
    order = [record.id for record in drawn]
    return [rows[name] for name in order if name in rows], [lost[name] for name in order if name in lost], fault


def _line(system: System, rows: Sequence[JudgeRecord], lost: Sequence[dict[str, Any]], asked: int) -> str:
    cut = sum("finish_reason" in row.extra for row in rows)
    missing = asked - len(rows) - len(lost)
    return f"{system.name}: {len(rows)} of {asked} prompts answered ({cut} cut); {len(lost)} rejected" + (
        f"; {missing} not asked" if missing else ""
    )


def _counts(rows: Sequence[JudgeRecord], rejected: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def by(pairs: list[tuple[str | None, str]]) -> dict[str, int]:
        return {f"{system} {language}": count for (system, language), count in sorted(Counter(pairs).items(), key=str)}

    return {
        "responses": by([(row.system, row.language) for row in rows]),
        "cut": by([(row.system, row.language) for row in rows if "finish_reason" in row.extra]),
        "rejected": by([(row["system"], row["language"]) for row in rejected]),
    }


if __name__ == "__main__":
    run_command(main, RespondConfig)
