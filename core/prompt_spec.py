"""How a judge is to be prompted, stored beside its weights (judge.json), so that judging asks as training did."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import ModelError
from core.jsonl import write_json

FILE = "judge.json"


class PromptSpec(NamedTuple):
    """Template name, whether it shows the reference, and the ``max_length`` of the length policy."""

    template: str = "default"
    with_reference: bool = True
    max_length: int = 4096

    def save(self, folder: str | Path, **facts: Any) -> None:
        """Write judge.json into a model folder, with further facts such as the languages trained on."""
        write_json({**self._asdict(), **facts}, Path(folder) / FILE)


def load_prompt_spec(folder: str | Path) -> PromptSpec | None:
    """The spec stored in a model folder, or None where there is none. Raises ModelError for one that cannot be read."""
    path = Path(folder) / FILE
    if not path.is_file():
        return None
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return PromptSpec(**{name: stored[name] for name in PromptSpec._fields})
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{path} is not a judge.json ({error}); take it from the checkpoint's original folder"
        ) from None
