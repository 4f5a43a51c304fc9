"""Stage 4 with 5: what was selected is translated, and what cannot be translated is selected anew, the same in all languages."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.client import Client
from data_prep.recon_stages.records import SOURCE_LANGUAGE, Parts, Texts
from data_prep.recon_stages.responses import RESPONSE, pair_id
from data_prep.recon_stages.selection import balanced
from data_prep.recon_stages.tasks import Rejected
from data_prep.translation import Kind, TranslationOptions, translate_texts


@dataclass
class Selection:
    """``picked`` is the score of each item selected; ``texts`` hold what they need in each language."""

    picked: dict[str, int] = field(default_factory=dict)
    texts: dict[str, Texts] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)


def select_and_translate(
    parts: Parts, languages: Sequence[str], client: Client, options: TranslationOptions, seed: int
) -> Selection:
    """One response a prompt, balanced over the scores, of which instruction and response stand in every language.

    A prompt whose instruction fails in a language leaves all; one whose response fails may be taken at another score. So
    each round translates only what it newly selected. Raises AnswersMissing where translations wait in batch files.
    """
    available = parts.available()
    translations: dict[str, dict[Kind, dict[str, str]]] = {code: defaultdict(dict) for code in languages}
    selection = Selection()
    while True:
        selection.picked = balanced(available, seed, selection.picked)
        wanted = _wanted(parts, selection.picked)
        failed = [
            rejected
            for code in languages
            for kind in wanted
            for rejected in _translate_missing(wanted[kind], code, kind, client, options, translations[code][kind])
        ]
        client.finish()
        selection.rejected += failed
        if not failed:
            selection.texts = {SOURCE_LANGUAGE: wanted, **translations}
            return selection
        for part in failed:
            _withdraw(part, parts, available)


def _wanted(parts: Parts, picked: Mapping[str, int]) -> Texts:
    pairs = [pair_id(item, score) for item, score in sorted(picked.items())]
    return {
        "instruction": {item: parts.prompts[item].instruction for item in sorted(picked)},
        "response": {pair: parts.responses[pair][RESPONSE] for pair in pairs},
    }


def _translate_missing(
    wanted: Mapping[str, str],
    code: str,
    kind: Kind,
    client: Client,
    options: TranslationOptions,
    have: dict[str, str],
) -> list[Rejected]:
    """Translate into ``have`` what it lacks; returns what failed."""
    missing = {name: text for name, text in wanted.items() if name not in have}
    failed = []
    for name, result in translate_texts(missing, code, kind, client, options).items() if missing else ():
        if result.text is not None:
            have[name] = result.text
        elif not result.queued:
            failed.append(Rejected(name, _stage(kind, code), tuple(result.reasons)))
    return failed


def _stage(kind: Kind, code: str) -> str:
    return f"translate-{kind}-{code}"


def _withdraw(failed: Rejected, parts: Parts, available: dict[str, set[int]]) -> None:
    if failed.stage.startswith("translate-instruction-"):
        available[failed.id] = set()
    else:
        row = parts.responses[failed.id]
        available[row["item_id"]].discard(row["score"])
