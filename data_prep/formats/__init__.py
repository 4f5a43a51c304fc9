"""The formats that the converting commands read: one adapter a file, each a function from the config to rows."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from data_prep.formats.beyond_ngrams import beyond_ngrams
from data_prep.formats.cia_tsv import cia_tsv
from data_prep.formats.columns import parallel_columns, record_columns, summary_columns
from data_prep.formats.feedback_collection import feedback_collection
from data_prep.formats.flores import flores
from data_prep.formats.mjudge import mjudge
from data_prep.formats.recon import recon
from data_prep.formats.text_files import text_files
from data_prep.rows import AnyRow


class Format(NamedTuple):
    """An adapter and the options it heeds, besides input, output and language."""

    rows: Callable[[Any], Iterator[AnyRow]]
    options: frozenset[str]


_HUB = {"hub_config", "split", "revision"}
_TABLE = _HUB | {"columns", "quoting"}
_RECORDS = {"constants", "reference_language"}

RECORDS: dict[str, Format] = {
    "feedback-collection": Format(feedback_collection, frozenset(_HUB | _RECORDS)),
    "recon": Format(recon, frozenset(_HUB | _RECORDS)),
    "mjudge": Format(mjudge, frozenset(_HUB | _RECORDS)),
    "cia-tsv": Format(cia_tsv, frozenset(_RECORDS | {"rubric"})),
    "columns": Format(record_columns, frozenset(_TABLE | _RECORDS)),
}
SUMMARIES: dict[str, Format] = {
    "beyond-ngrams": Format(beyond_ngrams, frozenset({"constants"})),
    "columns": Format(summary_columns, frozenset(_TABLE | {"constants"})),
}
PARALLEL: dict[str, Format] = {
    "flores": Format(flores, frozenset({"split", "revision"})),
    "ntrex": Format(text_files, frozenset({"files", "documents"})),
    "text": Format(text_files, frozenset({"files", "documents"})),
    "columns": Format(parallel_columns, frozenset(_TABLE | {"header"})),
}
