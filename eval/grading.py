"""The judge in Python: from a model and how it is to be prompted to verdicts on responses or records.

judge = Judge.from_pretrained("path/or/hub-id")
verdict = judge.grade(instruction, response, criteria, scores=[one text for each of 1 to 5], reference=reference)
verdict.score, verdict.feedback, verdict.expected_score
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from core.errors import DataError
from core.length import TOO_LONG, Fitted, fit
from core.progress import warn
from core.prompt import check_template, parse_verdict
from core.prompt_spec import FILE, PromptSpec, load_prompt_spec
from core.records import JudgeRecord, Prediction, parse_row
from core.verdict import Verdict
from eval.backends.completion import Completion
from eval.backends.transformers import Sampling, TransformersBackend
from train.generation import batches, prediction
from train.load import load_model, load_tokenizer


@dataclass(frozen=True)
class GradedVerdict:
    """A judge's verdict on one response; unscored (``score`` None) with the reason in ``failure``.

    ``expected_score`` is Σ s·p(s) / Σ p(s) over the tokens of 1 to 5 and ``score_mass`` is Σ p(s); both are None when
    unscored and where the score's digit is not one token.
    """

    score: int | None
    feedback: str
    failure: str | None
    expected_score: float | None
    score_mass: float | None


class Judge:
    """A language model that writes verdicts, with its tokenizer and the way it is to be prompted."""

    def __init__(self, backend: TransformersBackend, spec: PromptSpec, name: str, batch_size: int = 8) -> None:
        self.backend, self.spec, self.name, self.batch_size = backend, spec, name, batch_size

    @classmethod
    def from_pretrained(
        cls,
        model_name_or_path: str | Path,
        template: str | None = None,
        with_reference: bool | None = None,
        max_length: int | None = None,
        chat_template: str | None = None,
        name: str | None = None,
        batch_size: int = 8,
        max_new_tokens: int = 512,
        dtype: str = "auto",
        device: str = "auto",
        sampling: Sampling | None = None,
    ) -> Self:
        """A judge from a model folder, adapter folder or Hub id. What is left None comes from its judge.json.

        ``chat_template`` names one for a base model, which has none. Raises ModelError and ConfigError.
        """
        tokenizer = load_tokenizer(model_name_or_path, chat_template)
        spec = prompt_spec(model_name_or_path, template, with_reference, max_length)
        model = load_model(model_name_or_path, dtype, device)
        backend = TransformersBackend(model, tokenizer, max_new_tokens, sampling)
        return cls(backend, spec, name or default_name(model_name_or_path), batch_size)

    def grade(
        self,
        instruction: str,
        response: str,
        criteria: str,
        scores: Sequence[str] | Mapping[Any, str],
        reference: str | None = None,
    ) -> GradedVerdict:
        """The verdict on one response; ``scores`` says what earns 1 to 5, as five texts or by the keys 1 to 5.

        Raises DataError where a text is missing, also the reference where the judge is prompted with one.
        """
        row: dict[str, Any] = {"id": "graded", "item_id": "graded", "language": "unnamed", "instruction": instruction}
        row |= {"response": response, "criteria": criteria, "reference_answer": reference}
        record = parse_row(row | _score_descriptions(scores), JudgeRecord, "grade()")
        verdict = self.grade_records([record])[0]
        return GradedVerdict(
            verdict.score, verdict.feedback, verdict.failure, verdict.expected_score, verdict.score_mass
        )

    def grade_records(self, records: Sequence[JudgeRecord]) -> list[Prediction]:
        """One prediction for each record, in their order. Raises DataError as ``core.length.fit`` does."""
        fitted = fit_records(records, self.backend.tokenizer, self.spec)
        by_row: dict[int, Prediction] = {}
        for number, rows in enumerate(batches(fitted, self.batch_size)):
            by_row |= zip(rows, self.predict([fitted[row] for row in rows], number), strict=True)
        return [by_row[row] for row in range(len(records))]

    def predict(self, batch: Sequence[Fitted], number: int = 0) -> list[Prediction]:
        """The predictions for one batch of fitted prompts; those refused as too long are not generated for."""
        prompts = [one.prompt for one in batch if one.prompt is not None]
        completions = iter(self.backend.complete(prompts, number) if prompts else [])
        return [self._prediction(one, None if one.prompt is None else next(completions)) for one in batch]

    def _prediction(self, fitted: Fitted, completion: Completion | None) -> Prediction:
        verdict = parse_verdict(completion.text) if completion else Verdict(None, "", TOO_LONG)
        expected = completion.expected_score(verdict.digit_offset) if completion else None
        raw = completion.text if completion else ""
        return prediction(fitted, self.name, self.spec.template, verdict, raw, *(expected or ()))


def fit_records(records: Sequence[JudgeRecord], tokenizer: Any, spec: PromptSpec) -> list[Fitted]:
    """Each record's prompt within the length policy. Raises DataError for a record that lacks the reference to show."""
    return [fit(record, tokenizer, spec.max_length, spec.template, spec.with_reference) for record in records]


def prompt_spec(
    model: str | Path, template: str | None = None, with_reference: bool | None = None, max_length: int | None = None
) -> PromptSpec:
    """How to prompt a judge: as its judge.json says where a field is left None, else as given, which is said in one line.

    Raises ConfigError for an unknown template, ModelError for a judge.json that cannot be read.
    """
    stored = stored_spec(model)
    fields: dict[str, Any] = {"template": template, "with_reference": with_reference, "max_length": max_length}
    given = {name: value for name, value in fields.items() if value is not None}
    if stored:
        trained = stored._asdict()
        other = [
            f"{name} {value} (trained: {trained[name]})" for name, value in given.items() if value != trained[name]
        ]
        if other:
            warn(f"{model} is prompted otherwise than it was trained: {', '.join(other)}")
    spec = (stored or PromptSpec())._replace(**given)
    check_template(spec.template)
    return spec


def stored_spec(model: str | Path) -> PromptSpec | None:
    """The judge.json of a model folder or Hub id, or None where it has none."""
    if Path(model).is_dir():
        return load_prompt_spec(model)
    try:
        return load_prompt_spec(Path(hf_hub_download(str(model), FILE)).parent)
    except LocalEntryNotFoundError:
        warn(
            f"the Hub cannot be asked for the {FILE} of {model}; set template, with_reference and max_length if it has one"
        )
    except EntryNotFoundError:
        pass
    return None


def default_name(model: str | Path) -> str:
    """A judge's name where none is given: the last part of its folder or Hub id."""
    return Path(model).resolve().name if Path(model).is_dir() else str(model).split("/")[-1]


def _score_descriptions(scores: Sequence[str] | Mapping[Any, str]) -> dict[str, str]:
    by_score: Mapping[Any, str] = scores if isinstance(scores, Mapping) else dict(enumerate(scores, start=1))
    texts = {f"score{score}_description": by_score.get(score, by_score.get(str(score))) for score in range(1, 6)}
    found = {name: text for name, text in texts.items() if text is not None}
    if isinstance(scores, str) or len(by_score) != 5 or len(found) != 5:
        raise DataError("grade(): scores must describe 1, 2, 3, 4 and 5; give five texts or a dict with these keys")
    return found
