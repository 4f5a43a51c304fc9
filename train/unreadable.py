"""What libraries raise over a model's files that hold what they should not: for the user to mend, so one line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.errors import StrictDataclassError
from jinja2 import TemplateError
from peft.utils.error import PeftError
from safetensors import SafetensorError

from core.errors import ModelError

# transformers and peft check few of the values that they read, and stumble wherever a wrong one is used first.
UNREADABLE = (
    OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError, ImportError,
    NotImplementedError, SafetensorError, StrictDataclassError, PeftError, TemplateError,
)  # fmt: skip

_NO_MEMORY = re.compile(r"out of memory|(allocate|enough) memory")


@contextmanager
def one_line(what: str, mend: str) -> Iterator[None]:
    """Whatever a library raises inside the block is a ModelError ``what`` (reason); ``mend``, but for lack of memory."""
    try:
        yield
    except (*UNREADABLE, RuntimeError) as error:
        if _NO_MEMORY.search(str(error)):  # the machine's, no fault of the files
            raise
        raise ModelError(f"{what} ({reason(error)}); {mend}") from None


def reason(error: Exception) -> str:
    """The first words of an error, with its kind where they are a bare name."""
    line = " ".join(str(error).split())[:200]
    return f"{type(error).__name__} {line}".strip() if isinstance(error, LookupError) or not line else line
