"""FLORES+ (openlanguagedata/flores_plus): one configuration a language, rows of the same id are the same sentence.

The set is gated and asks that it is not put elsewhere as plain text, so it is read from the Hub, or from a clone of it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from core.errors import ConfigError, DataError
from core.joins import join
from core.languages import language
from data_prep.options import ParallelConfig
from data_prep.rows import ParallelMaker, ParallelRow
from data_prep.tables import read_hub

_WAY_OUT = "; NTREX needs no login: python -m data_prep.parallel --config configs/data_prep/ntrex.yaml"


class _Sentence(NamedTuple):
    id: str
    text: str
    document: str | None


def flores(config: ParallelConfig) -> Iterator[ParallelRow]:
    """One row a sentence; the document is the page it was taken from.

    Raises ConfigError unless two languages or more are asked for, DataError where they do not hold the same sentences.
    """
    codes = config.languages()
    if len(codes) < 2:
        raise ConfigError("format flores reads one configuration a language; name two or more, e.g. --language en hi")
    maker = ParallelMaker(config)
    split = config.split or "dev"
    sentences = {code: _sentences(config, code, split) for code in codes}
    first, *others = codes
    matched = {code: _matched(sentences, first, code) for code in others}
    for number, sentence in enumerate(sentences[first]):
        texts = {first: sentence.text, **{code: matched[code][number].text for code in others}}
        values = {"id": f"{split}-{sentence.id}", "document_id": sentence.document, **texts}
        yield maker.make(values, f"{config.input} {split} id {sentence.id}")


def _sentences(config: ParallelConfig, code: str, split: str) -> list[_Sentence]:
    """The sentences of one language. facebook/flores names the text ``sentence`` and the page ``URL``."""
    found = []
    for where, row in read_hub(config.input, language(code).flores, split, config.revision, _WAY_OUT):
        text, page = row.get("text", row.get("sentence")), row.get("url", row.get("URL"))
        if row.get("id") is None or not isinstance(text, str):
            raise DataError(f"{where}: no id or no text; the row has {', '.join(row)}")
        found.append(_Sentence(str(row["id"]), text, page or None))
    return found


def _matched(sentences: dict[str, list[_Sentence]], first: str, code: str) -> list[_Sentence]:
    """The sentences of ``code`` in the order of the first language, by id."""
    pairs = join(sentences[first], sentences[code], lambda s: s.id, lambda s: s.id, names=(first, code))
    return [sentence for _, sentence in pairs]
