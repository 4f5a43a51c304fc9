"""A writer for the scripted server: a right answer to each request of data_prep.recon, told apart by what is asked.

``translate`` answers a translation with a pseudo-translation: letters in the script asked for, all else as it is.

Run as: python -m tests.data_prep.scripted_writer 8000 0.1
with the port and the share of bad answers; languages to translate into: bn.
"""

import hashlib
import json
import re
import sys
import threading
from typing import Any

from data_prep.protected_items import protected
from data_prep.recon_stages.prompts import RUBRIC
from tests.scripted_server import Answers, ScriptedServer

_CONSONANTS = "কখগঘঙচছজঝঞটঠডঢণতথদধনপফবভমযরলশষসহ"
_BENGALI = str.maketrans({chr(first + n): _CONSONANTS[n] for first in (ord("a"), ord("A")) for n in range(26)})
_FENCED = re.compile(r"<(source\d*)>\n(.*)\n</\1>", re.DOTALL)
WORDS = [
    "plain",
    "words",
    "that",
    "say",
    "something",
    "about",
    "it",
    "and",
    "then",
    "a",
    "little",
    "more",
    "so",
    "that",
    "the",
    "text",
    "has",
    "some",
    "length",
]


def write(body: dict[str, Any]) -> str | None:
    """The answer to one chat request; None for one that is not recon's."""
    message = str(body["messages"][-1]["content"])
    mark = hashlib.sha256(message.split("### Rubric")[0].encode()).hexdigest()[:8]
    fenced = _FENCED.search(message)
    if fenced:
        return translate(fenced[2])
    if "Write the rubric." in message:
        return json.dumps({name: f"{name} of {mark}" for name in RUBRIC})
    if "Which capability" in message:
        return "planning"
    if "earns a 5." in message:
        return f"<answer>\nThe model answer {mark}: {' '.join(WORDS)}.\n</answer>"
    score = re.search(r"earns (?:exactly )?the score ([1-5])\b", message)
    if score is None:
        return None
    texts = {
        "response": f"Response {mark}: {' '.join(WORDS[: 3 * int(score[1])])}.",
        "feedback": f"It meets {score[1]} of the points.",
    }
    return "\n".join(f"<{name}>{text}</{name}>" for name, text in texts.items() if f"and </{name}>" in message)


def translate(text: str) -> str:
    """Bengali letters for Latin ones, outside what must stay as it is."""
    items = sorted({item for _, item in protected(text).items}, key=len, reverse=True)
    if not items:
        return text.translate(_BENGALI)
    parts = re.split(f"({'|'.join(map(re.escape, items))})", text)
    return "".join(part if place % 2 else part.translate(_BENGALI) for place, part in enumerate(parts))


if __name__ == "__main__":
    with ScriptedServer(Answers(write, bad_share=float(sys.argv[2])), port=int(sys.argv[1])) as server:
        print(f"serving at {server.base_url}", flush=True)
        threading.Event().wait()
