"""The judge in Python: from a model, or a server that has it, and how it is to be prompted to verdicts on responses or records.

judge = Judge.from_pretrained("path/or/hub-id")
judge = Judge.from_server("http://localhost:8000/v1", "path/or/hub-id")
verdict = judge.grade(instruction, response, criteria, scores=[one text for each of 1 to 5], reference=reference)
verdict.score, verdict.feedback, verdict.expected_score
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from core.errors import ConfigError, DataError
from core.length import TOO_LONG, Fitted, fit
from core.progress import warn
from core.prompt import build_messages, check_template, parse_verdict
from core.prompt_spec import FILE, PromptSpec, load_prompt_spec
from core.records import JudgeRecord, Prediction, parse_row
from core.server import ServerOptions
from core.verdict import NO_MARKER
from eval.backends.completion import Backend, Completion, Sampling
from eval.backends.openai import TOP_LOGPROBS, OpenAIBackend, request_parameters
from eval.backends.transformers import TOKEN_BUDGET, TransformersBackend
from train.generation import prediction
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
    """A language model that writes verdicts, in process or on a server, and the way it is to be prompted."""

    def __init__(self, backend: Backend, spec: PromptSpec, name: str) -> None:
        self.backend, self.spec, self.name = backend, spec, name

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
        token_budget: int = TOKEN_BUDGET,
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
        backend = TransformersBackend(model, tokenizer, max_new_tokens, sampling, batch_size, token_budget)
        return cls(backend, spec, name or default_name(model_name_or_path))

    @classmethod
    def from_server(
        cls,
        base_url: str,
        model: str,
        tokenizer: str | Path | None = None,
        template: str | None = None,
        with_reference: bool | None = None,
        max_length: int | None = None,
        chat_template: str | None = None,
        name: str | None = None,
        max_new_tokens: int = 512,
        sampling: Sampling | None = None,
        top_logprobs: int = TOP_LOGPROBS,
        parameters: Mapping[str, Any] | None = None,
        system_role: bool = True,
        **server: Any,
    ) -> Self:
        """A judge that an OpenAI-compatible server knows as ``model``.

        ``tokenizer`` is the judge's own, a folder or Hub id, with judge.json if it has one; left None it is that of
        ``model`` where this is a folder, and else nothing is shortened: the server's own limit decides. ``parameters`` go
        with each request, None leaves one of ours out. ``server`` takes the other fields of ServerOptions (``store``,
        ``concurrency``, ``api_key_env``, ...). Raises ModelError and ConfigError.
        """
        source = tokenizer or (model if Path(model).is_dir() else None)
        spec = prompt_spec(source, template, with_reference, max_length)
        options = ServerOptions(model=model, base_url=base_url, **server)
        asked = request_parameters(max_new_tokens, sampling, 42, top_logprobs, parameters)
        loaded = load_tokenizer(source, chat_template) if source else None
        return cls(OpenAIBackend(options, asked, loaded, system_role), spec, name or default_name(model))

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
        """One prediction for each record, in their order. Raises DataError as ``core.length.fit`` does, and what the
        backend raises."""
        fitted = fit_records(records, self.backend.tokenizer, self.spec)
        by_row: dict[int, Prediction] = {}
        for number, rows in self.backend.plan(fitted):
            by_row |= {rows[at]: made for at, made in self.predict([fitted[row] for row in rows], number)}
        return [by_row[row] for row in range(len(records))]

    def predict(self, group: Sequence[Fitted], number: int = 0) -> Iterator[tuple[int, Prediction]]:
        """The predictions for a group of fitted prompts, each with its position, as they come.

        Those refused as too long are not generated for.
        """
        shown = [at for at, one in enumerate(group) if one.prompt is not None]
        for at in set(range(len(group))) - set(shown):
            yield at, self._prediction(group[at], Completion("", [], TOO_LONG))
        if shown:
            for at, completion in self.backend.answers([group[at] for at in shown], self.spec, number):
                yield shown[at], self._prediction(group[shown[at]], completion)

    def _prediction(self, fitted: Fitted, completion: Completion) -> Prediction:
        verdict = parse_verdict(completion.text)
        if verdict.failure == NO_MARKER and completion.failure:
            verdict = verdict._replace(failure=completion.failure)
        expected = completion.expected_score(verdict.digit_offset)
        if completion.prompt_tokens is not None:
            fitted = fitted._replace(tokens=completion.prompt_tokens)
        return prediction(fitted, self.name, self.spec.template, verdict, completion.text, *(expected or ()))


def fit_records(records: Sequence[JudgeRecord], tokenizer: Any, spec: PromptSpec) -> list[Fitted]:
    """Each record's prompt within the length policy; whole and uncounted where there is no tokenizer to count with.

    Raises DataError for a record that lacks the reference to show.
    """
    if tokenizer is None:
        for record in records:
            build_messages(record, spec.template, spec.with_reference)
        return [Fitted(record, [], 0, False) for record in records]
    return [fit(record, tokenizer, spec.max_length, spec.template, spec.with_reference) for record in records]


def prompt_spec(
    model: str | Path | None,
    template: str | None = None,
    with_reference: bool | None = None,
    max_length: int | None = None,
) -> PromptSpec:
    """How to prompt a judge: as its judge.json says where a field is left None, else as given, which is said in one line.

    ``model`` is None for a judge on a server whose folder is not at hand. Raises ConfigError for an unknown template and
    for a ``max_length`` that nothing can count, ModelError for a judge.json that cannot be read.
    """
    if model is None and max_length is not None:
        raise ConfigError(
            "max_length is counted with the judge's tokenizer; name that too (tokenizer), or leave it out"
        )
    stored = None if model is None else stored_spec(model)
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
