"""What must not leave this machine in a file that is published: its absolute paths and the names of its users."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from core.errors import HubError

_TEXT = (".md", ".json", ".jsonl", ".yaml", ".yml", ".txt", ".jinja")
# Their entries are pieces of text of any origin.
_VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt", "merges.txt")
_WEIGHTS = ".safetensors"
_HEADER_SIZE = 8
# No path of this machine begins in the middle of an address, a word, a relative path or a tag such as </think>.
_START = r"(?<![\w./:<>~-])"
_ROOTS = "home|root|Users|mnt|media|scratch|work|workspace|tmp|var|opt|data|nfs|lustre|gpfs|projects|proj"
_PATH = (
    rf"{_START}/(?:{_ROOTS})/[\w.-]+|{_START}/\w[\w.-]*(?:/[\w.-]+)+"  # a folder of users or data; any other with a path in it
    r"|\bfile://\S+|(?<![\w~])~\w*/[\w.]|\b[A-Za-z]:[\\/]+(?:Users|Documents)\b"
)
_EVERYWHERE = ("root", "user")  # accounts that name nobody, and words of any text


def check_no_machine_path(files: Mapping[str, Path]) -> None:
    """Raises HubError, with file and line, where a text file or the notes in a weight file name a path of this machine or,
    in a path or an address, one of its users. ``files`` are path there → path here.
    """
    pattern = _pattern()
    for name, path in files.items():
        for number, line in enumerate(_lines(path), start=1):
            for found in pattern.finditer(line):
                raise HubError(
                    f"{name} names a path of this machine on line {number} ({found.group()[:80]}); take it out before "
                    "anything is uploaded"
                )


def _lines(path: Path) -> Iterator[str]:
    if path.suffix == _WEIGHTS:
        yield _notes(path)
    elif path.suffix.lower() in _TEXT and path.name not in _VOCABULARIES:
        yield from path.read_text(encoding="utf-8", errors="replace").splitlines()


def _notes(path: Path) -> str:
    """The start of a weight file, where its notes are (https://github.com/huggingface/safetensors#format)."""
    with open(path, "rb") as handle:
        size = int.from_bytes(handle.read(_HEADER_SIZE), "little")
        header = handle.read(min(size, 2**26)).decode("utf-8", errors="replace")
    found = re.search(r'"__metadata__":\{[^}]*\}', header)
    return found.group() if found else ""


def _pattern() -> re.Pattern[str]:
    here = [re.escape(str(place)) for place in (Path.home(), Path.cwd()) if len(place.parts) > 1]
    names = {Path.home().name, os.environ.get("USER", ""), os.environ.get("LOGNAME", "")} - {"", *_EVERYWHERE}
    users = [
        rf"(?<!\S)(?!\S*://)\S*[/\\~]{re.escape(name)}(?=[/\\\"'\s]|$)|(?<![\w.]){re.escape(name)}@[\w-]+"
        for name in sorted(names)
    ]
    return re.compile("|".join([*(rf"{_START}{place}\b" for place in here), _PATH, *users]))
