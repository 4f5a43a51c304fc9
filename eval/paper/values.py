"""What was measured, as the paper's tables ask for it: figures by judge, language and kind of gold, from runs of eval.agree."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from core.errors import DataError
from eval.reporting.runs import RunRead

Gold = Literal["score", "people"]


class Found(NamedTuple):
    """Figures of one judge (or of the annotators) in one language, and the run that they are of."""

    run: str
    figures: dict[str, Any]


class Measured:
    """The figures of several runs. Raises DataError where two runs measure one judge, language and kind of gold unlike."""

    def __init__(self, runs: Sequence[RunRead]) -> None:
        self._judges: dict[tuple[str, str, Gold], Found] = {}
        self._annotators: dict[str, Found] = {}
        self._means: dict[tuple[str, frozenset[str], Gold], dict[str, Any]] = {}
        for run in runs:
            for judge, entry in run.metrics["judges"].items():
                golds = {_gold(run, figures) for figures in entry["by_language"].values()}
                if "mean_over_languages" in entry and len(golds) == 1:
                    self._means[judge, frozenset(entry["by_language"]), golds.pop()] = entry["mean_over_languages"]
                for language, figures in entry["by_language"].items():
                    gold = _gold(run, figures)
                    statistic = "pearson" if gold == "people" else "kappa"
                    found = Found(run.name, figures)
                    _put(self._judges, (judge, language, gold), found, statistic, f"judge {judge} in {language}")
            annotators = run.metrics.get("annotators") or {}
            for language, figures in annotators.get("by_language", {}).items():
                _put(
                    self._annotators,
                    language,
                    Found(run.name, figures),
                    "pairwise_pearson",
                    f"the annotators, {language}",
                )

    def figure(self, judge: str | None, language: str, gold: Gold, statistic: str) -> tuple[str, dict[str, Any]] | None:
        """The run and the figure of a judge, or without a judge of the annotators; None where nobody measured it."""
        found = self._annotators.get(language) if judge is None else self._judges.get((judge, language, gold))
        return (found.run, found.figures[statistic]) if found and statistic in found.figures else None

    def interval(
        self, judge: str | None, languages: Iterable[str], gold: Gold, statistic: str
    ) -> tuple[float | None, float | None]:
        """The interval of a judge's mean over exactly these languages, where one run measured it in them all."""
        mean = self._means.get((judge or "", frozenset(languages), gold), {}).get(statistic, {})
        return mean.get("low"), mean.get("high")

    def judges_besides(self, named: Iterable[str]) -> list[str]:
        """The judges that the runs hold and ``named`` lacks."""
        return sorted({judge for judge, _, _ in self._judges} - set(named))


def _gold(run: RunRead, figures: dict[str, Any]) -> Gold:
    """A mean of people's scores, which is seldom an integer in all rows, has no table of gold by score."""
    against = run.manifest["config"].get("against")
    return "people" if against == "annotators" or figures["confusion"] is None else "score"


def _put(place: dict[Any, Found], key: Any, found: Found, statistic: str, what: str) -> None:
    other = place.setdefault(key, found)
    ours, theirs = (one.figures[statistic] for one in (found, other))
    if (ours["value"], ours["n"]) != (theirs["value"], theirs["n"]):
        raise DataError(
            f"{what} is measured in {other.run} (n {theirs['n']}) and, otherwise, in {found.run} (n {ours['n']}); "
            "name the run that the tables are to show"
        )
