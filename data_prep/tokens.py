"""What languages cost in tokens, for a set of tokenizers: fertility, prompt lengths, and what the length policy would do.

Run as: python -m data_prep.tokens --config configs/data_prep/tokens.yaml --output runs/tokens

Writes tokens.json, tokens.csv, tokens.svg and tokens.png, and prints the table.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from pydantic import Field, model_validator

from core.chat import chat_template_names
from core.config import CommandConfig, IfExists, run_command
from core.errors import ConfigError
from core.languages import LANGUAGES, language
from core.length import VERDICT_TOKENS
from core.progress import say, track
from core.prompt import check_template
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, read_parallel, read_records
from core.run import Run, shown_path
from data_prep.fertility import Text, fertility
from data_prep.prompt_lengths import prompt_lengths
from data_prep.token_plot import draw
from data_prep.token_table import Cost, printed, write_csv, write_json
from data_prep.tokenizer import load_tokenizer

T = TypeVar("T")


class TokensConfig(CommandConfig):
    """Which tokenizers, which texts, and the judge's prompt."""

    tokenizers: list[str] = Field(min_length=1, description="folders or Hub ids")
    records: list[Path] = Field(
        [], description="records.jsonl files: fertility of instruction and response, and prompts"
    )
    parallel: list[Path] = Field(
        [], description="parallel.jsonl files: fertility on the same sentences in every language"
    )
    language: list[str] | str | None = Field(None, description="keep these languages only; null: all there are")
    output: Path = Field(description="the folder to write")
    if_exists: IfExists = Field("fail", description="what to do where the output exists")
    template: str = Field("default", description="the judge's prompt")
    with_reference: bool = Field(True, description="whether the prompt shows the reference answer")
    max_length: int = Field(
        4096, gt=VERDICT_TOKENS, description="of the length policy, which leaves 512 for the verdict"
    )
    chat_template: str | None = Field(
        None, description=f"for tokenizers that bring no chat template: {' | '.join(chat_template_names())}"
    )
    limits: list[int] = Field([1024, 2048, 4096, 8192], description="lengths to give the share of longer prompts for")
    max_samples: int | None = Field(None, ge=1, description="records a language, drawn with the seed; null: all")
    resamples: int = Field(2000, ge=0, description="bootstrap resamples of items or documents")
    seed: int = Field(42, description="of the draws")

    @model_validator(mode="after")
    def _something_to_read(self) -> "TokensConfig":
        if not self.records and not self.parallel:
            raise ConfigError("no texts; name records.jsonl files with --records, parallel.jsonl files with --parallel")
        check_template(self.template)
        self.languages()
        return self

    def languages(self) -> list[str]:
        """The codes asked for, none where all are kept. Raises ConfigError for one that is not known."""
        codes = [self.language] if isinstance(self.language, str) else self.language or []
        return [language(code).code for code in codes]


def main(config: TokensConfig) -> None:
    """Read the texts, count them with each tokenizer, write and print."""
    tokenizers = _tokenizers(config)
    records, sentences = _records(config), _sentences(config)
    missing = [code for code in config.languages() if code not in records and code not in sentences]
    if missing:
        raise ConfigError(f"no texts in {', '.join(missing)}; the files hold other languages")
    folders = [Path(name) for name in config.tokenizers if Path(name).is_dir()]
    inputs = [*config.records, *config.parallel, *folders]
    with Run(config.output, "data_prep.tokens", config, inputs, config.if_exists, config.seed) as run:
        cells = len(tokenizers) * (len(records) + len(sentences))
        costs = list(track(_costs(config, tokenizers, records, sentences), cells, "count tokens"))
        write_json(costs, config.max_length, run.path / "tokens.json")
        write_csv(costs, run.path / "tokens.csv")
        draw(costs, config.max_length - VERDICT_TOKENS, run.path)
    say(printed(costs, config.max_length))


def _tokenizers(config: TokensConfig) -> dict[str, Any]:
    """All tokenizers, loaded before anything is counted, by the name they are shown under."""
    names = [shown_path(name) for name in config.tokenizers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ConfigError(f"two tokenizers would both be shown as {twice}; name each once, or rename a folder")
    loaded = [load_tokenizer(name, config.chat_template, bool(config.records)) for name in config.tokenizers]
    return dict(zip(names, loaded, strict=True))


def _costs(
    config: TokensConfig,
    tokenizers: dict[str, Any],
    records: dict[str, list[JudgeRecord]],
    sentences: dict[str, list[Text]],
) -> Iterator[Cost]:
    """One row a tokenizer, kind of text and language."""
    spec = PromptSpec(config.template, config.with_reference, config.max_length)
    for name, tokenizer in tokenizers.items():
        for code, texts in sentences.items():
            found = fertility(texts, code, tokenizer, config.resamples, config.seed)
            yield Cost(name, code, "parallel", found, None)
        for code, rows in records.items():
            texts = [Text(text, row.item_id) for row in rows for text in (row.instruction, row.response)]
            found = fertility(texts, code, tokenizer, config.resamples, config.seed)
            yield Cost(name, code, "records", found, prompt_lengths(rows, tokenizer, spec, config.limits))


def _records(config: TokensConfig) -> dict[str, list[JudgeRecord]]:
    """Records by language, all or a draw."""
    found: dict[str, list[JudgeRecord]] = defaultdict(list)
    for path in config.records:
        for record in read_records(path):
            found[record.language].append(record)
    drawn = {code: _draw(rows, config.max_samples, config.seed) for code, rows in found.items()}
    return _kept(drawn, config)


def _sentences(config: TokensConfig) -> dict[str, list[Text]]:
    """Parallel sentences by language, each with its document, or itself where none is known."""
    found: dict[str, list[Text]] = defaultdict(list)
    for path in config.parallel:
        for row in read_parallel(path):
            for code in LANGUAGES:
                if row.get(code):
                    found[code].append(Text(row[code], f"{path.name} {row.get('document_id') or row['id']}"))
    return _kept(found, config)


def _draw(rows: list[JudgeRecord], count: int | None, seed: int) -> list[JudgeRecord]:
    if count is None or count >= len(rows):
        return rows
    chosen = Random(seed).sample(range(len(rows)), count)
    return [rows[at] for at in sorted(chosen)]


def _kept(found: dict[str, list[T]], config: TokensConfig) -> dict[str, list[T]]:
    """The languages asked for that are there, by code."""
    return {code: found[code] for code in config.languages() or sorted(found) if code in found}


if __name__ == "__main__":
    run_command(main, TokensConfig)
