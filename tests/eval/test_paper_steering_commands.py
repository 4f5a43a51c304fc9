"""configs/paper/steereval: the published values against a second transcription, and commands that make what the next reads."""

import fnmatch
import importlib
import shlex
import typing
from typing import Any

import pytest

from core.config import CommandConfig, parse_config
from eval.paper.spec import LANGUAGE
from eval.paper.steering_spec import SteeringRow, read_steering_paper
from tests.conftest import REPO

PAPER = read_steering_paper(REPO / "configs/paper/steereval")


def test_published_values_are_those_of_the_facts() -> None:
    """A second transcription, by metric and model: coherence / completeness by language."""
    written = {
        ("comet", "wmt22-comet-da"): "yo -.05/-.04 ar -/.27 ja -/.23",
        ("direct", "Bloom-7B"): "zh .08/- ar -/-.14",
        ("direct", "Llama-3-8B-Instruct"): "ja .24/.29 he -.05/-.08 es .15/-",
        ("gptscore", "Llama-3-8B-Instruct"): "es .23/- zh .22/- yo -.06/-",
        ("gptscore", "Aya-expanse-32B"): "ja -/.34 yo -/-.07",
    }
    for row in PAPER.rows:
        words = written.get((row.metric, row.label), "").split()
        pairs = dict(zip(words[::2], (word.split("/") for word in words[1::2]), strict=True))
        for at, dimension in enumerate(("coherence", "completeness")):
            expected = {code: float(pair[at]) for code, pair in pairs.items() if pair[at] != "-"}
            assert row.unsteered.get(dimension, {}) == expected, row.label
    assert [row.steered for row in PAPER.rows if row.steered] == [{"coherence": {"es": 0.2}}]
    assert max(v for row in PAPER.rows for by in row.unsteered.values() for v in by.values()) == 0.34


@pytest.mark.parametrize("row", PAPER.rows, ids=[f"{row.metric} {row.name}" for row in PAPER.rows])
def test_a_rows_commands_make_what_the_next_reads(row: SteeringRow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    lines = [*PAPER.data, *PAPER.commands(row, dict.fromkeys(PAPER.pivots, PAPER.settings))]
    lines += PAPER.similarity_commands(row, "fr")
    made: dict[str, None] = {}
    measured = set()
    for line in lines:
        for language in ("tr", "uk") if LANGUAGE in line else ("",):
            module, config = parsed(line.replace(LANGUAGE, language), made)
            found = typing.cast(Any, config)
            if module == "data_prep.parallel":
                assert {*PAPER.languages, *PAPER.pivots} == set(found.language)
            if module == "eval.directions":
                assert found.maps
                assert found.held_out
            if module in ("eval.directions", "eval.summaries"):
                assert str(found.input) in made
                assert found.model_name_or_path == row.model
            if module in ("eval.summaries", "eval.vector_similarity"):
                assert [path.name[:2] for path in found.directions] == ["tr", "uk"]
                assert str(found.output) not in made
            if module == "eval.summaries":
                assert found.metric == row.metric
                measured.add((found.method, found.scale if found.method == "vector" else None))
            made[str(found.output)] = None
    assert measured == {(one.method, one.scale) for one in PAPER.settings}


def parsed(command: str, made: dict[str, None]) -> tuple[str, CommandConfig]:
    """The module that a command line runs and the config that it reads, with ``*`` expanded to what was made as a shell does."""
    words = [path for word in shlex.split(command) for path in (fnmatch.filter(made, word) if "*" in word else [word])]
    module, argv = words[2], words[3:]
    main = importlib.import_module(module).main
    (kind,) = (kind for kind in typing.get_type_hints(main).values() if kind is not type(None))
    return module, parse_config(kind, [*argv, "--if_exists", "resume"])
