"""Cheap metrics of summaries that stand beside every other: length, overlap with the reference, and who wrote it."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import fmean

from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU
from sacrebleu.metrics.chrf import CHRF

from core.languages import LANGUAGES
from core.records import SummaryRecord

# Scripts written without spaces between words: there a character is a word.
_UNSPACED_NAMES = ("CJK", "HIRAGANA", "KATAKANA")
_UNSPACED_SCRIPTS = ("Hans", "Jpan")


def baseline_scores(records: Sequence[SummaryRecord]) -> dict[str, list[float | None]]:
    """Scores of each record by baseline; None where the summary is empty or what the baseline reads is missing.

    ``length`` is in characters; ``chrf`` (Popović 2015), ``rouge_l`` (F-measure, Lin 2004) and ``bleu`` (of one sentence,
    Papineni et al. 2002, effective order) are against the reference; ``system`` is the mean human score of the summary's system.
    """
    overlaps: dict[str, Callable[[SummaryRecord, str], float]] = {"chrf": _chrf, "rouge_l": _rouge_l, "bleu": _bleu}
    scores: dict[str, list[float | None]] = {
        "length": [float(len(record.summary)) if record.summary.strip() else None for record in records]
    }
    for name, overlap in overlaps.items():
        scores[name] = [
            overlap(record, record.reference) if record.reference and record.summary.strip() else None
            for record in records
        ]
    return scores | {"system": system_means(records)}


def system_means(records: Sequence[SummaryRecord]) -> list[float | None]:
    """The mean human score of all summaries of each record's system.

    Own scores are not left out of the mean: systems that differ little would then correlate with human scores at up to −1.
    So k equal systems are expected at a correlation of about √((k−1)/(n−1)), not 0.
    """
    by_system: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record.system is not None and record.human_score is not None:
            by_system[record.system].append(record.human_score)
    return [
        fmean(by_system[record.system]) if record.system in by_system and record.summary.strip() else None
        for record in records
    ]


def words(text: str) -> list[str]:
    """Lower-cased words of any script, marks kept with their letters; a Chinese or Japanese character is a word."""
    found: list[str] = []
    joined = False
    for character in unicodedata.normalize("NFC", text).lower():
        in_word = unicodedata.category(character)[0] in "LMN"
        alone = in_word and unicodedata.name(character, "").startswith(_UNSPACED_NAMES)
        if in_word and joined and not alone:
            found[-1] += character
        elif in_word:
            found.append(character)
        joined = in_word and not alone
    return found


class _Words:
    """The tokenizer that rouge-score asks for; its own drops every script but Latin."""

    def tokenize(self, text: str) -> list[str]:
        return words(text)


@lru_cache(maxsize=1)
def _rouge() -> RougeScorer:
    return RougeScorer(["rougeL"], tokenizer=_Words())


@lru_cache(maxsize=1)
def _chrf_metric() -> CHRF:
    return CHRF()


@lru_cache
def _bleu_metric(language: str) -> BLEU:
    unspaced = language in LANGUAGES and LANGUAGES[language].script in _UNSPACED_SCRIPTS
    return BLEU(effective_order=True, tokenize="char" if unspaced else "13a")


def _chrf(record: SummaryRecord, reference: str) -> float:
    return float(_chrf_metric().sentence_score(record.summary, [reference]).score)


def _rouge_l(record: SummaryRecord, reference: str) -> float:
    return float(_rouge().score(reference, record.summary)["rougeL"].fmeasure)


def _bleu(record: SummaryRecord, reference: str) -> float:
    return float(_bleu_metric(record.language).sentence_score(record.summary, [reference]).score)
