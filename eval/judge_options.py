"""The fields of ``eval.judge``: whom to judge, how the judge is prompted, and where it runs."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from core.config import CommandConfig, IfExists
from core.errors import ConfigError
from core.server import ServerOptions, keep_apart
from eval.backends.completion import Sampling
from eval.backends.openai import TOP_LOGPROBS, request_parameters
from eval.backends.transformers import TOKEN_BUDGET
from eval.device import Device

IN_PROCESS = ("dtype", "device", "directions", "method", "strength", "scale", "allow_other_model")
ON_SERVER = ("tokenizer", "system_role", "top_logprobs", "parameters", "batch", "batch_dir")


class JudgeConfig(CommandConfig):
    """Fields of eval.judge."""

    model_name_or_path: str = Field(
        description="model folder, adapter folder or Hub id; with base_url the server's name"
    )
    input: Path = Field(description="records.jsonl")
    output: Path = Field(description="run folder to make")
    if_exists: IfExists = Field("fail", description="what to do with an output folder that exists")
    language: list[str] | str | None = Field(None, description="judge the records of these languages only")
    max_samples: int | None = Field(None, ge=1, description="judge this many records, drawn with the seed; null: all")
    min_scored: float = Field(0.0, ge=0, le=1, description="fail where a smaller share of the verdicts can be read")
    template: str | None = Field(
        None, description="prompt template; null: as the model's judge.json says, else default"
    )
    with_reference: bool | None = Field(None, description="show the reference answer; null: as judge.json, else true")
    max_length: int | None = Field(
        None, gt=512, description="tokens of prompt and verdict; null: as judge.json, else 4096"
    )
    chat_template: str | None = Field(None, description="chat template by name, for a base model without one")
    judge: str | None = Field(None, description="name written in the rows; null: last part of the model's name")
    max_new_tokens: int = Field(512, ge=1, description="longest verdict, in tokens")
    do_sample: bool = Field(False, description="draw tokens instead of greedy decoding")
    temperature: float = Field(1.0, gt=0, description="of drawing; needs do_sample")
    top_p: float = Field(1.0, gt=0, le=1, description="of drawing; needs do_sample")
    seed: int = Field(42, description="of drawing, and of max_samples")
    batch_size: int = Field(8, ge=1, description="in process: most records generated for at once")
    token_budget: int = Field(
        TOKEN_BUDGET, ge=1, description="in process: most tokens of a batch, padded, new ones counted"
    )
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        "auto", description="in process: auto is as the weights are stored"
    )
    device: Device = Field(None, description="in process: null is this process's GPU where there is one")
    directions: Path | None = Field(None, description="in process: steer with the directions of this folder")
    method: Literal["vector", "map"] = Field("vector", description="how to steer")
    strength: float | None = Field(None, description="how far to steer; positive is toward the pivot")
    scale: Literal["relative", "raw"] = Field("relative", description="unit of a vector's strength")
    allow_other_model: bool = Field(
        False, description="steer with directions learned on another model, such as the base"
    )
    base_url: str | None = Field(
        None, description="judge on this OpenAI-compatible server, e.g. http://localhost:8000/v1; null: in process"
    )
    api_key_env: str = Field(
        "OPENAI_API_KEY", description="environment variable with the key; a server at home needs none"
    )
    tokenizer: str | None = Field(
        None,
        description="server: the judge's tokenizer and judge.json, folder or Hub id; null: of a model folder, else none",
    )
    system_role: bool = Field(
        True, description="server, without tokenizer: false puts the system text in the user turn"
    )
    top_logprobs: int = Field(TOP_LOGPROBS, ge=0, le=20, description="server: tokens to list at each step; 0: none")
    parameters: dict[str, Any] = Field(
        {}, description="server: further request parameters; null leaves one of ours out"
    )
    concurrency: int = Field(16, ge=1, le=1000, description="server: requests in flight at once")
    timeout: float = Field(120.0, gt=0, description="server: seconds that one try may take")
    retries: int = Field(6, ge=0, description="server: tries after the first, for failures that may pass")
    store: Path = Field(Path("data/answers"), description="server: folder of answers, shared by all runs")
    batch: Literal["none", "files", "submit"] = Field("none", description="server: ask now, or through batch files")
    batch_dir: Path | None = Field(None, description="server: folder of batch files; needed with batch")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.directions is None) != (self.strength is None):
            raise ConfigError("directions and strength steer together; set both or neither")
        if not self.do_sample and (self.temperature, self.top_p) != (1.0, 1.0):
            raise ConfigError("temperature and top_p need do_sample: true; set it or leave them out")
        without_use = IN_PROCESS if self.base_url else ON_SERVER
        if given := [name for name in without_use if name in self.model_fields_set]:
            where = "in process: leave out base_url" if self.base_url else "on a server: set base_url"
            raise ConfigError(f"{', '.join(given)} only counts for a judge {where}, or leave out {given[0]}")
        if self.base_url:
            keep_apart(self.output, self.store, self.batch_dir)
        return self

    def source(self) -> str | None:
        """Whose tokenizer and judge.json say how the judge is prompted; None where none is at hand."""
        in_reach = not self.base_url or Path(self.model_name_or_path).is_dir()
        return self.tokenizer or (self.model_name_or_path if in_reach else None)

    def sampling(self) -> Sampling | None:
        """How to draw, or None for greedy decoding."""
        return Sampling(self.temperature, self.top_p, self.seed) if self.do_sample else None

    def server(self) -> ServerOptions:
        """Where and how the judge is asked."""
        names = [name for name in ServerOptions.model_fields if name != "model"]
        return ServerOptions(model=self.model_name_or_path, **{name: getattr(self, name) for name in names})

    def request_parameters(self) -> dict[str, Any]:
        """What is sent beside the messages."""
        return request_parameters(self.max_new_tokens, self.sampling(), self.seed, self.top_logprobs, self.parameters)

    def identity(self) -> dict[str, Any]:
        """The config as the run folder keeps it: a server may move while a run goes on, but not give way to another backend."""
        return self.model_dump(mode="json") | {"backend": "server" if self.base_url else "in process"}
