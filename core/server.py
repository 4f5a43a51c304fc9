"""One call to an OpenAI-compatible server: how long it may take, which failures are tried again and when, which end the run."""

import asyncio
import ipaddress
import itertools
import math
import os
import random
import time
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlparse

import openai
from pydantic import Field, model_validator

from core.config import CommandConfig
from core.errors import ConfigError, ServerError
from core.progress import warn
from core.request import Answer, Request, read_completion

OPENAI = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
FIRST_WAIT, LONGEST_WAIT, LONGEST_RETRY_AFTER = 0.5, 30.0, 300.0
SECONDS_BETWEEN_WARNINGS = 30.0
CONNECTIONS_A_POOL = (
    16  # each request looks at every connection of its pool: with one pool of 64 that is a third of the work
)
_TRY_AGAIN = {408, 409, 425, 429}
_REQUEST_WRONG = {400, 413, 422}


class ServerOptions(CommandConfig):
    """Where models are asked, and where answers are kept. A command's config inherits this in place of CommandConfig."""

    model: str = Field(description="the model's name, as the server knows it")
    base_url: str | None = Field(
        None, description="an OpenAI-compatible server, e.g. http://localhost:8000/v1; null: OpenAI"
    )
    api_key_env: str = Field(
        "OPENAI_API_KEY", description="environment variable with the key; a server at home needs none"
    )
    concurrency: int = Field(16, ge=1, le=1000, description="requests in flight at once")
    timeout: float = Field(120.0, gt=0, description="seconds that one try may take")
    retries: int = Field(6, ge=0, description="tries after the first, for failures that may pass")
    store: Path = Field(
        Path("data/answers"), description="folder of answers, shared by all runs: none is asked for twice"
    )
    batch: Literal["none", "files", "submit"] = Field(
        "none", description="none: ask now; files: write batch files; submit: have the server work through batch files"
    )
    batch_dir: Path | None = Field(None, description="folder of batch files and their results; needed with batch")

    @model_validator(mode="after")
    def _answers_outlive_the_run(self) -> Self:
        keep_apart(getattr(self, "output", None), self.store, self.batch_dir)
        return self


def keep_apart(output: Path | None, store: Path, batch_dir: Path | None) -> None:
    """Raises ConfigError where what was paid for would lie in the output folder of the command, which overwrite empties."""
    for name, folder in (("store", store), ("batch_dir", batch_dir)):
        if output is None or folder is None:
            continue
        place = folder.resolve()
        if output.resolve() in (place, *place.parents):
            raise ConfigError(
                f"{name} {folder} lies in output {output}, which --if_exists overwrite empties; name a folder beside it"
            )


class NoAnswer(Exception):
    """A request stays without an answer, and the run goes on. ``refused``: the server found fault with the request itself."""

    def __init__(self, reason: str, refused: bool) -> None:
        super().__init__(reason)
        self.refused = refused


class Server:
    """The server and its model. ``retried`` counts the tries after the first."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self.retried = 0
        self._warned = -SECONDS_BETWEEN_WARNINGS
        pools = math.ceil(options.concurrency / CONNECTIONS_A_POOL)
        self._apis = [_connect(options) for _ in range(pools)]
        self._turns = itertools.cycle(self._apis)
        self.api = self._apis[0]

    async def ask(self, request: Request, key: str) -> Answer:
        """The server's answer. Raises NoAnswer after all tries or for a faulty request, ServerError where asking on is useless."""
        body = request.body(self._options.model)
        for attempt in range(self._options.retries + 1):
            try:
                async with asyncio.timeout(self._options.timeout):
                    # Plain JSON both ways: parameters of any server pass, and no model is built that nobody reads.
                    completion = await next(self._turns).post("/chat/completions", cast_to=object, body=body)
                return read_completion(completion, key, request.task, request.language, self._options.model)
            except (openai.APIError, TimeoutError, ValueError) as error:
                self._judge(error)
                reason = _reason(error)
                if attempt < self._options.retries:
                    await self._wait(reason, waiting_time(attempt, _retry_after(error)))
        raise NoAnswer(f"{reason} (after {self._options.retries + 1} tries)", refused=False)

    async def close(self) -> None:
        for api in self._apis:
            await api.close()

    def _judge(self, error: Exception) -> None:
        """Returns where another try may help."""
        if not isinstance(error, openai.APIStatusError):
            return
        status = error.status_code
        if status in _REQUEST_WRONG:
            raise NoAnswer(_reason(error), refused=True)
        if error.code == "insufficient_quota" or error.type == "insufficient_quota":
            raise ServerError(
                f"{self._name()}: {_reason(error)}; no quota is left: add credit, then run the command again"
            )
        if status >= 500 or status in _TRY_AGAIN:
            return
        mend = {
            401: f"check the key in {self._options.api_key_env}",
            403: f"check the key in {self._options.api_key_env}, and whether it may use the model",
            404: f"check base_url (it ends in /v1 for most servers) and whether it has the model {self._options.model}",
        }.get(status, "the server does not take such requests")
        raise ServerError(f"{self._name()}: {_reason(error)}; {mend}")

    async def _wait(self, reason: str, seconds: float) -> None:
        self.retried += 1
        if time.monotonic() - self._warned >= SECONDS_BETWEEN_WARNINGS:
            self._warned = time.monotonic()
            warn(f"{self._name()}: {reason}; trying again in {seconds:.1f} s ({self.retried} tries repeated so far)")
        await asyncio.sleep(seconds)

    def _name(self) -> str:
        return f"server {self._options.base_url or OPENAI}"

    def gone(self, failures: int, fault: NoAnswer) -> ServerError:
        """The error for a server that no longer answers anything, or takes no request as we write it."""
        mend = "check the parameters and the model" if fault.refused else "see to the server"
        return ServerError(
            f"{self._name()}: {failures} requests in a row failed, the last with: {fault}; "
            f"{mend}, then run the command again: what was answered is kept"
        )


def _connect(options: ServerOptions) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=_checked_url(options.base_url),
        api_key=_api_key(options),
        max_retries=0,  # the rules are here: openai's own stop at two minutes and know nothing of cut bodies
        timeout=openai.Timeout(options.timeout, connect=min(CONNECT_SECONDS, options.timeout)),
    )


def waiting_time(attempt: int, retry_after: float | None) -> float:
    """Seconds before the next try: twice as long each time, with jitter so that workers part; never less than the server asked."""
    backoff = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * random.uniform(0.5, 1.0)
    if retry_after is None:
        return backoff
    return min(LONGEST_RETRY_AFTER, retry_after) + backoff * 0.5


def parse_retry_after(value: str | None) -> float | None:
    """Seconds from a Retry-After header: a number or an HTTP date; None where there is none that can be read."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _retry_after(error: Exception) -> float | None:
    return (
        parse_retry_after(error.response.headers.get("retry-after"))
        if isinstance(error, openai.APIStatusError)
        else None
    )


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return "no answer in time"
    text = error.message if isinstance(error, openai.APIError) else str(error)
    cause = f" ({error.__cause__})" if isinstance(error, openai.APIConnectionError) and error.__cause__ else ""
    return " ".join(f"{text}{cause}".split())[:300]


def _checked_url(base_url: str | None) -> str:
    url = base_url or OPENAI
    if not url.startswith(("http://", "https://")) or not urlparse(url).hostname:
        raise ConfigError(f"base_url {url} is no address of a server; name one such as http://localhost:8000/v1")
    return url


def _api_key(options: ServerOptions) -> str:
    """The key from the environment, or the word none for a server on this machine or network. Raises ConfigError otherwise."""
    key = os.environ.get(options.api_key_env, "").strip()
    if key or options.batch == "files":  # files are written for others to ask
        return key or "none"
    host = urlparse(options.base_url or OPENAI).hostname or ""
    if not _is_private(host):
        raise ConfigError(
            f"{host} needs a key: set the environment variable {options.api_key_env}, or name another by api_key_env"
        )
    return "none"


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".local", ".internal", ".lan"))
