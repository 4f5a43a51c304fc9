"""Translates the instructions and responses of English records into another language; every translation is checked.

Run as:
    python -m data_prep.translate --config configs/data_prep/translate.yaml --input records.jsonl --language hi --output data/hi
    python -m data_prep.translate --input records.jsonl --language sw --base_url http://localhost:8000/v1 --model NAME \
        --concurrency 16 --output data/sw

Writes records.jsonl, hub.jsonl (the same in the columns of the published sets) and rejected.jsonl. Each unique text is asked
for once, in this run or any other (answers are kept in --store), so a run that was killed goes on with --if_exists resume.
Rubric and feedback stay English, and so does the reference answer unless --reference target. --plan true prints what would be
asked and what it costs, and stops.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from core.client import Client
from core.config import run_command
from core.errors import DataError
from core.languages import Language, language
from core.progress import say
from core.run import Run
from data_prep.translation import Translated, translate_text
from data_prep.translation_options import TranslateConfig
from data_prep.translation_plan import plan_text
from data_prep.translation_prompts import PROMPT_VERSION
from data_prep.translation_records import REJECTED, SourceText, Survey, Written, survey, unique_texts, write_translated
from data_prep.translation_table import TranslationTable

__all__ = ["TranslateConfig", "main"]


@dataclass
class Tally:
    """Texts by how they fared, and the faults found in their answers."""

    texts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, translated: Translated) -> None:
        self.texts["accepted" if translated.text is not None else "queued" if translated.queued else "rejected"] += 1
        self.texts["asked again"] += len(translated.rejected) + (translated.text is not None or translated.queued) > 1
        self.faults.update(fault.kind for faults in translated.rejected for fault in faults)


def main(config: TranslateConfig) -> None:
    """Check the records, ask for each text that the store lacks, and write what could be translated and what not."""
    target = language(config.language)
    found = survey(config.input, config.fields())
    if config.plan or config.output is None:
        say(plan_text(config, target, found))
        return
    with (
        Client(config) as client,
        Run(config.output, "data_prep.translate", config, [config.input], config.if_exists) as run,
        TranslationTable(run.path) as table,
    ):
        tally = translate_all(config, target, found, client, table)
        run.note(prompt_version=PROMPT_VERSION, requests=asdict(client.counters))
        client.finish()
        written = write_translated(config.input, run.path, target.code, config.fields(), table, config.mark_ids)
        run.note(counts={target.code: counts(found, tally, written)})
        report(config, target, found, tally, written, client)
        check_rejected(config, written)


def translate_all(
    config: TranslateConfig, target: Language, found: Survey, client: Client, table: TranslationTable
) -> Tally:
    """Put the translation of every unique text, or why there is none, into the table."""

    async def handle(text: SourceText) -> Translated:
        return await translate_text(text.text, target, text.kind, client, config)

    tally = Tally()
    texts = unique_texts(config.input, config.fields())
    for text, translated in client.map(texts, handle, f"translate into {target.name}", found.texts.total()):
        table.add(text.key, translated)
        tally.add(translated)
    return tally


def counts(found: Survey, tally: Tally, written: Written) -> dict[str, Any]:
    """What the manifest says of a language."""
    return {
        "rows": found.rows,
        "written": written.rows,
        "rejected": written.rejected,
        "rejected_by_fault": dict(written.by_fault.most_common()),
        "unique_texts": dict(found.texts),
        "texts": dict(tally.texts),
        "faults_of_answers": dict(tally.faults.most_common()),
    }


def report(
    config: TranslateConfig, target: Language, found: Survey, tally: Tally, written: Written, client: Client
) -> None:
    """Say how texts and records fared, what was asked, and last how many records are missing."""
    asked = client.counters
    say(
        f"{found.texts.total()} unique texts: {tally.texts['accepted']} accepted, {tally.texts['rejected']} rejected, "
        f"{tally.texts['asked again']} asked again; {asked.asked} requests, {asked.from_store} answers from {config.store}"
    )
    if tally.faults:
        say(f"faults of answers in {target.name}: {_listed(tally.faults)}")
    missing = f"; {written.rejected} missing ({_listed(written.by_fault)}), see {REJECTED}" if written.rejected else ""
    say(f"{config.output}: {written.rows} of {found.rows} records in {target.name}{missing}")


def check_rejected(config: TranslateConfig, written: Written) -> None:
    """Raises DataError where more records were rejected than ``max_rejected`` allows."""
    rows = written.rows + written.rejected
    if written.rejected > config.max_rejected * rows:
        raise DataError(
            f"{written.rejected} of {rows} records were rejected, more than max_rejected {config.max_rejected:g}; "
            f"{config.output} is written: see {REJECTED} there, then mend the model or its options"
        )


def _listed(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counted.most_common())


if __name__ == "__main__":
    run_command(main, TranslateConfig)
