"""The formats that ``data_prep.convert`` reads: one adapter a file, each a function from the config to rows."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from data_prep.formats.beyond_ngrams import beyond_ngrams
from data_prep.formats.cia_tsv import cia_tsv
from data_prep.formats.columns import columns
from data_prep.formats.feedback_collection import feedback_collection
from data_prep.formats.mjudge import mjudge
from data_prep.formats.parallel_text import parallel_text
from data_prep.formats.recon import recon
from data_prep.options import ConvertConfig
from data_prep.rows import AnyRow


class Format(NamedTuple):
    """An adapter and the options it heeds, besides input, output and language."""

    rows: Callable[[ConvertConfig], Iterator[AnyRow]]
    options: frozenset[str]


_HUB = {"hub_config", "split", "revision"}
_RECORDS = {"constants", "reference_language"}

FORMATS: dict[str, Format] = {
    "feedback-collection": Format(feedback_collection, frozenset(_HUB | _RECORDS)),
    "recon": Format(recon, frozenset(_HUB | _RECORDS)),
    "mjudge": Format(mjudge, frozenset(_HUB | _RECORDS)),
    "cia-tsv": Format(cia_tsv, frozenset(_RECORDS | {"rubric"})),
    "beyond-ngrams": Format(beyond_ngrams, frozenset({"constants"})),
    "parallel-text": Format(parallel_text, frozenset({"files", "documents"})),
    "columns": Format(columns, frozenset(_HUB | _RECORDS | {"to", "columns", "quoting"})),
}
