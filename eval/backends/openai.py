"""Judging by any OpenAI-compatible server (vLLM, transformers serve, OpenAI, Gemini): one request a prompt, by core.client.

Answers are kept in the store and never asked for twice; with ``batch`` they come through batch files.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from core.chat import fold, fold_system
from core.client import Answer, Client, Counters, Request, ServerOptions
from core.errors import ServerError, StoreError
from core.length import TOO_LONG, Fitted
from core.progress import warn
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from eval.backends.completion import CUT, Completion, Sampling
from eval.backends.logprobs import digit_steps

TASK, PROMPT_VERSION = "judge", "judge-1"
TOP_LOGPROBS = 10
REFUSED = "refused by the server"
_LONG = re.compile(r"context.length|too long|maximum.{0,30}(length|tokens)|exceeds?.{0,40}tokens", re.IGNORECASE)
_ENDS = {"length": CUT, "content_filter": "content filter"}


def request_parameters(
    max_new_tokens: int = 512,
    sampling: Sampling | None = None,
    seed: int = 42,
    top_logprobs: int = TOP_LOGPROBS,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What is sent beside the messages: greedy unless told otherwise. ``parameters`` add to it or, where None, leave one out."""
    asked: dict[str, Any] = {"temperature": 0.0, "seed": seed, "max_tokens": max_new_tokens}
    if sampling:
        asked |= sampling._asdict()
    if top_logprobs:
        asked |= {"logprobs": True, "top_logprobs": top_logprobs}
    return {name: value for name, value in (asked | dict(parameters or {})).items() if value is not None}


class OpenAIBackend:
    """A judge on a server. ``tokenizer``, where the judge's own is at hand, serves the length policy and says whether the
    chat template takes a system role; without one ``system_role`` False has its text open the user turn.

    ``counters`` are those of the last call of ``answers``.
    """

    def __init__(
        self, options: ServerOptions, parameters: Mapping[str, Any], tokenizer: Any = None, system_role: bool = True
    ) -> None:
        self.options, self.parameters, self.tokenizer, self.system_role = options, parameters, tokenizer, system_role
        self.counters = Counters()
        self._tally: Counter[bool] = Counter()  # answers without and with log-probabilities
        self._known_to_answer = False

    def plan(self, fitted: Sequence[Fitted], done: Collection[str] = ()) -> list[tuple[int, list[int]]]:
        """All that is left, as one group: the client bounds what is in flight."""
        self._known_to_answer = bool(done)
        rows = [row for row, one in enumerate(fitted) if one.record.id not in done]
        return [(0, rows)] if rows else []

    def answers(self, shown: Sequence[Fitted], spec: PromptSpec, number: int = 0) -> Iterator[tuple[int, Completion]]:
        """The completions, as they come.

        A request that the server refuses (its text is too long or not wanted) is an unscored completion once the server has
        answered another. Raises ServerError where it refuses all, and at the end where requests failed after all tries;
        AnswersMissing where answers wait in batch files.
        """
        refused: list[tuple[int, Answer]] = []
        failed: list[str] = []
        with Client(self.options) as client:
            self.counters = client.counters
            for row, answer in self._ask(client, shown, spec):
                if answer.refused:
                    refused.append((row, answer))
                elif answer.error and not answer.queued:
                    failed.append(f"{shown[row].record.id}: {answer.error}")
                elif not answer.queued:
                    self._tally[answer.logprobs is not None] += 1
                    yield row, _completion(answer)
            if refused:
                self._check_refusals(shown[refused[0][0]].record.id, [answer for _, answer in refused])
                yield from ((row, _refusal(answer)) for row, answer in refused)
            self._tell_missing_logprobs()
            client.finish()
        if failed:
            raise ServerError(
                f"{len(failed)} of {len(shown)} requests failed ({failed[0]}); what was answered is kept: see to the "
                "server, then go on with --if_exists resume"
            )

    def _ask(self, client: Client, shown: Sequence[Fitted], spec: PromptSpec) -> Iterator[tuple[int, Answer]]:
        async def ask(row: int) -> Answer:
            return await client.answer(self._request(shown[row], spec))

        try:
            yield from client.map(range(len(shown)), ask, "judge")
        except StoreError:
            raise
        except ServerError as error:
            raise ServerError(f"{error}{self._hint(str(error))}") from None

    def _request(self, shown: Fitted, spec: PromptSpec) -> Request:
        messages = build_messages(shown.record, spec.template, spec.with_reference)
        if self.tokenizer is not None:
            messages = fold_system(self.tokenizer, messages)
        elif not self.system_role and messages[0]["role"] == "system":
            messages = fold(messages)
        record = shown.record
        return Request(record.id, tuple(messages), TASK, PROMPT_VERSION, record.language, self.parameters)

    def _check_refusals(self, first: str, refused: Sequence[Answer]) -> None:
        """Raises ServerError where nothing was ever answered: then it is not these texts that the server does not take."""
        reason = f"{first}: {refused[0].error}"
        if not self._known_to_answer and not any(self._tally.values()):
            raise ServerError(
                f"the server refused all {len(refused)} requests ({reason}); mend the parameters{self._hint(reason)}"
            )
        warn(f"the server refused {len(refused)} requests, which are unscored (the first: {reason})")

    def _hint(self, reason: str) -> str:
        """How to do without the parameters that a refusal names."""
        named = [name for name in self.parameters if re.search(rf"\b{name}\b", reason)]
        without = [f"{name}: null" for name in named]
        if "max_tokens" in named:
            without.append(f"max_completion_tokens: {self.parameters['max_tokens']}")
        hints = [f"--parameters '{{{', '.join(without)}}}'"] if without else []
        if re.search("system.{0,20}role", reason, re.IGNORECASE):
            hints.append("--system_role false")
        return f" (such as {' '.join(hints)})" if hints else ""

    def _tell_missing_logprobs(self) -> None:
        without, all_answers = self._tally[False], self._tally.total()
        if without and self.parameters.get("logprobs"):
            warn(f"{without} of {all_answers} answers came without log-probabilities: their expected_score is null")


def _completion(answer: Answer) -> Completion:
    text = answer.text or ""
    failure = _ENDS.get(answer.finish_reason or "")
    if answer.refusal:
        text, failure = text or answer.refusal, "refusal"
    return Completion(text, digit_steps(text, answer.logprobs), failure, answer.prompt_tokens)


def _refusal(answer: Answer) -> Completion:
    return Completion("", [], TOO_LONG if _LONG.search(answer.error or "") else REFUSED)
