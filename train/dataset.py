"""From records to token ids and labels: read, checked, fitted into max_length, with loss on the verdict alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from datasets import Dataset

from core.chat import Example, encode_example
from core.errors import DataError, ModelError
from core.length import VERDICT_TOKENS, fit
from core.overlap import check_disjoint
from core.progress import say, track
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, check_unique, read_records
from core.verdict import build_verdict, parse_verdict
from train.arguments import DataArguments
from train.score_sentence import strip_score_sentence

MASKED = -100
REFUSED_SHOWN = 10


class Encoded(NamedTuple):
    """Columns input_ids and labels, in the order of the records; counts by language; why which id was refused."""

    dataset: Dataset
    counts: dict[str, dict[str, int]]
    refused: dict[str, str]


def read_sets(data: DataArguments, spec: PromptSpec) -> tuple[list[JudgeRecord], list[JudgeRecord]]:
    """Training and validation records (the latter maybe none) of the languages asked for, each fit to learn from.

    Raises DataError for rows that cannot be read, lack a feedback, a score or the reference that the prompt shows, for
    a language that is absent, and for items that two of the training, validation and test sets hold.
    """
    train = _read(data.train_file, data.language, spec)
    validation = _read(data.validation_file or [], data.language, spec)
    test = [record for file in data.test_file or [] for record in read_records(file)]
    sets = {"train_file": train, "validation_file": validation, "test_file": test}
    check_disjoint(sets, allow=data.allow_overlap)
    return train, validation


def encode_sets(
    train: Sequence[JudgeRecord],
    validation: Sequence[JudgeRecord],
    tokenizer: Any,
    spec: PromptSpec,
    strip_score: bool = False,
    max_refused: float = 1.0,
) -> tuple[Encoded, Encoded | None]:
    """Both sets encoded, their counts printed.

    Raises DataError where none fits, where a larger share of a language's training records than ``max_refused`` does
    not, and where a validation record does not.
    """
    train_set = encode(train, tokenizer, spec, "training", strip_score)
    _report(train_set, "training")
    _check_refused(train_set, max_refused)
    if not validation:
        return train_set, None
    validation_set = encode(validation, tokenizer, spec, "validation", strip_score)
    _report(validation_set, "validation")
    if validation_set.refused:
        record, reason = next(iter(validation_set.refused.items()))
        raise DataError(
            f"{len(validation_set.refused)} validation records are refused ({record}: {reason}), and figures on the rest "
            "would be another set's; raise max_length or leave them out"
        )
    return train_set, validation_set


def encode(
    records: Sequence[JudgeRecord], tokenizer: Any, spec: PromptSpec, what: str, strip_score: bool = False
) -> Encoded:
    """Token ids of prompt and verdict; labels are −100 except on the verdict and its stop token.

    Prompts are shortened as the length policy says. A record whose prompt still does not fit, or whose verdict is
    longer than the 512 tokens kept for it, is refused and counted. ``strip_score`` takes the sentence that says the
    score out of each feedback, and refuses one that holds nothing else. Raises DataError where none is left.
    """
    counted = ("examples", "shortened", "refused", *(("stripped", "nothing to strip") if strip_score else ()))
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(counted, 0))
    refused: dict[str, str] = {}
    columns: dict[str, list[np.ndarray]] = {"input_ids": [], "labels": []}
    for record in track(records, len(records), f"tokenize {what}"):
        count = counts[record.language]
        shown = _without_score(record) if strip_score else record
        fitted = fit(shown, tokenizer, spec.max_length, spec.template, spec.with_reference)
        example = _example(fitted.record, tokenizer, spec)
        reason = _too_long(fitted.prompt, fitted.tokens, example, spec.max_length)
        if not fitted.record.feedback:
            reason = "its feedback says the score and nothing else"
        if reason:
            refused[record.id] = reason
            count["refused"] += 1
            continue
        columns["input_ids"].append(np.array(example.prompt + example.completion, np.int32))
        columns["labels"].append(np.array([MASKED] * len(example.prompt) + example.completion, np.int32))
        count["examples"] += 1
        count["shortened"] += fitted.shortened
        if strip_score:
            count["nothing to strip" if fitted.record.feedback == record.feedback else "stripped"] += 1
    if not columns["input_ids"]:
        raise DataError(
            f"none of the {len(records)} {what} records fits max_length {spec.max_length} "
            f"({next(iter(refused.values()))}); raise max_length"
        )
    return Encoded(Dataset.from_dict(columns), dict(sorted(counts.items())), refused)


def check_vocabulary(sets: Sequence[Encoded | None], tokenizer: Any, pad_token: str | None, config: Any) -> None:
    """Raises ModelError for a token of the data or the padding that the model has no embedding of."""
    rows = config.get_text_config().vocab_size
    ids = [pc.max(pc.list_flatten(one.dataset.with_format("arrow")[:]["input_ids"])).as_py() for one in sets if one]
    highest = max(*ids, tokenizer.convert_tokens_to_ids(pad_token or tokenizer.pad_token))
    if highest >= rows:
        raise ModelError(
            f"{tokenizer.name_or_path} has token {highest} ({tokenizer.convert_ids_to_tokens(highest)}) and its model "
            f"embeddings for {rows}; take the tokenizer that belongs to the model, or name another pad_token"
        )


def show_example(dataset: Dataset, tokenizer: Any) -> None:
    """Print the first example as the model reads it, with the part that it learns to write set apart."""
    row = dataset[0]
    learned = [label for label in row["labels"] if label != MASKED]
    say("first example, read by the model:\n" + tokenizer.decode(row["input_ids"][: -len(learned)]))
    say(f"learned ({len(learned)} of {len(row['labels'])} tokens):\n{tokenizer.decode(learned)}\n")


def _read(files: Sequence[str], languages: Sequence[str] | None, spec: PromptSpec) -> list[JudgeRecord]:
    records = [record for file in files for record in read_records(file)]
    names = ", ".join(files)
    check_unique([record.id for record in records], names)
    held = Counter(record.language for record in records)
    if absent := [code for code in languages or [] if records and code not in held]:
        raise DataError(f"{names} has no record in {', '.join(absent)}; its languages are {', '.join(sorted(held))}")
    chosen = [record for record in records if languages is None or record.language in languages]
    _refuse(chosen, lambda r: not (r.feedback or "").strip(), names, "have no feedback; add it or leave them out")
    _refuse(chosen, lambda r: r.score is None, names, "have no score; add it or leave them out")
    if spec.with_reference:
        mend = "have no reference_answer; add it, leave them out, or pass --reference none"
        _refuse(chosen, lambda r: not (r.reference_answer or "").strip(), names, mend)
    mend = "hold half of a character (a lone surrogate, \\ud800 to \\udfff), which no tokenizer takes; mend the text"
    _refuse(chosen, lambda r: not _is_text(r), names, mend)
    mend = "have a feedback that reads as another verdict (it holds [RESULT] or an end-of-turn token); remove that"
    _refuse(chosen, lambda r: parse_verdict(_verdict(r)).score != r.score, names, mend)
    return chosen


def _report(encoded: Encoded, what: str) -> None:
    for language, count in encoded.counts.items():
        say(f"{what} {language}: " + ", ".join(f"{number} {name}" for name, number in count.items()))
    for record, reason in list(encoded.refused.items())[:REFUSED_SHOWN]:
        say(f"{what}: refused {record}: {reason}")
    if len(encoded.refused) > REFUSED_SHOWN:
        say(f"{what}: {len(encoded.refused) - REFUSED_SHOWN} more refused; the manifest names all")


def _refuse(records: Sequence[JudgeRecord], wrong: Callable[[JudgeRecord], bool], names: str, mend: str) -> None:
    if ids := [record.id for record in records if wrong(record)]:
        raise DataError(f"{names}: {len(ids)} records ({', '.join(ids[:5])}{', …' if len(ids) > 5 else ''}) {mend}")


def _is_text(record: JudgeRecord) -> bool:
    try:
        "".join(value for value in record.__dict__.values() if isinstance(value, str)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _verdict(record: JudgeRecord) -> str:
    assert record.feedback is not None
    assert record.score is not None
    return build_verdict(record.feedback, record.score)


def _example(record: JudgeRecord, tokenizer: Any, spec: PromptSpec) -> Example:
    messages = build_messages(record, spec.template, spec.with_reference)
    example = encode_example(tokenizer, messages, _verdict(record))
    written = tokenizer.decode(example.completion[:-1])
    if parse_verdict(written).score != record.score:
        raise ModelError(
            f"{tokenizer.name_or_path} writes the verdict of {record.id} as {written[-60:]!r}, which is not its score "
            f"{record.score}; mend its chat template, or name another with chat_template"
        )
    return example


def _without_score(record: JudgeRecord) -> JudgeRecord:
    assert record.feedback is not None
    assert record.score is not None
    return record.model_copy(update={"feedback": strip_score_sentence(record.feedback, record.score)})


def _check_refused(encoded: Encoded, most: float) -> None:
    for language, count in encoded.counts.items():
        share = count["refused"] / (count["examples"] + count["refused"])
        if share > most:
            raise DataError(
                f"{count['refused']} training records in {language} are refused ({next(iter(encoded.refused.values()))}), "
                f"{share:.0%} of them and more than max_refused {most}; raise max_length, or max_refused to train on the rest"
            )


def _too_long(prompt: list[int] | None, tokens: int, example: Example, max_length: int) -> str | None:
    if prompt is None:
        return f"prompt of {tokens} tokens, budget {max_length - VERDICT_TOKENS}"
    if len(example.completion) > VERDICT_TOKENS:
        return f"verdict of {len(example.completion)} tokens, budget {VERDICT_TOKENS}"
    if prompt != example.prompt:  # what is trained on is what is judged on
        raise ModelError("the chat template renders one chat in two ways, as one that says the time does; mend it")
    return None
