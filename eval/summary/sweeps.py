"""What each summary is scored under: unsteered, its language's directions at every strength, and null draws of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from core.errors import ConfigError, DataError, UserError
from core.records import SummaryRecord
from eval.steering.directions import Directions
from eval.steering.hooks import check_steerable
from eval.steering.pair_states import PairStates, null_directions
from eval.steering.sweep import UNSTEERED, Sweep
from eval.summary.options import SummariesConfig, listed

Cell = tuple[str, str]


class Chosen(NamedTuple):
    """A point of the grid: the layers steered, and the strength."""

    layers: list[int]
    strength: float


class Sweeps:
    """The sweeps of each cell, a language and a dimension. Those of a language without directions are unsteered."""

    def __init__(self, config: SummariesConfig, directions: Mapping[str, tuple[Path, Directions]]) -> None:
        """Raises a UserError where directions lack the layers, maps, norms or pairs that the config needs."""
        self.config, self._directions = config, directions
        self._chosen: Mapping[Cell, Chosen | None] | None = None
        for folder, found in directions.values():
            with named(folder):
                check_steerable(found, config.method, config.scale)
            self._layer_sets(found, folder)
        # Made once each: sweeps are told apart by their directions.
        self._at = cache(lambda language, layers: directions[language][1].at_layers(list(layers)))
        # The draws of one language at a time: maps take some megabytes each.
        self._nulls = lru_cache(maxsize=1)(self._make_nulls)
        for language in directions if config.null_draws else ():
            if config.null_language is None or language in listed(config.null_language):
                self._pairs(language)

    def choose(self, chosen: Mapping[Cell, Chosen | None]) -> None:
        """From now on steer each cell at this point alone, and not at all where there is none."""
        self._chosen = chosen

    def of(self, record: SummaryRecord) -> list[Sweep]:
        """The sweeps that a record is scored under, unsteered first."""
        if record.language not in self._directions:
            return [UNSTEERED]
        cell = (record.language, record.dimension)
        nulls = self._nulls(record.language) if self.config.in_null(*cell) else []
        return [UNSTEERED, *self._real(*cell), *nulls]

    def _real(self, language: str, dimension: str) -> list[Sweep]:
        folder, directions = self._directions[language]
        if self._chosen is None:
            sets = self._layer_sets(directions, folder)
            return [self._sweep(self._at(language, tuple(layers))) for layers in sets]
        point = self._chosen.get((language, dimension))
        if point is None or not point.strength:
            return []
        return [self._sweep(self._at(language, tuple(point.layers)))._replace(strengths=(point.strength,))]

    def _make_nulls(self, language: str) -> list[Sweep]:
        folder, directions = self._directions[language]
        sets = self._layer_sets(directions, folder)
        used = directions.at_layers(sorted({layer for layers in sets for layer in layers}))
        states = self._pairs(language)
        draws = (null_directions(used, states, draw, self.config.seed) for draw in range(self.config.null_draws))
        return [self._sweep(null.at_layers(layers), draw) for draw, null in enumerate(draws) for layers in sets]

    def _pairs(self, language: str) -> PairStates:
        return PairStates.load(*self._directions[language])

    def _sweep(self, directions: Directions, draw: int | None = None) -> Sweep:
        config = self.config
        strengths = tuple(strength for strength in config.grid() if strength)
        return Sweep(directions, strengths, config.method, config.vector_scale(), draw, config.allow_other_model)

    def _layer_sets(self, directions: Directions, folder: Path) -> list[list[int]]:
        sets = self.config.layer_sets or [directions.layers]
        for layers in sets:
            if missing := sorted(set(layers) - set(directions.layers)):
                there = ", ".join(map(str, directions.layers))
                raise ConfigError(f"layer_sets names layer {missing[0]}, but {folder} has {there}; correct layer_sets")
        return [list(layers) for layers in dict.fromkeys(tuple(sorted(set(layers))) for layers in sets)]


@contextmanager
def named(folder: Path) -> Iterator[None]:
    """Errors of the user's say which folder of directions they are of."""
    try:
        yield
    except UserError as error:
        raise type(error)(f"{folder}: {error}") from None


def read_directions(folders: Sequence[Path]) -> dict[str, tuple[Path, Directions]]:
    """Directions by source language. Raises DataError where it is not known, ConfigError where two folders share it."""
    by_language: dict[str, tuple[Path, Directions]] = {}
    for folder in folders:
        directions = Directions.load(folder)
        source = directions.facts.source
        if source is None:
            raise DataError(f"{folder} does not say its source language; write it as source into directions.json")
        if source in by_language:
            raise ConfigError(f"two folders of directions are for {source}; name one for each language")
        by_language[source] = (folder, directions)
    return by_language
