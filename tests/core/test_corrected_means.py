"""core.corrected_means: the difference estimator by hand, and its interval by simulation."""

import numpy as np
import pytest

from core.corrected_means import corrected_mean
from core.means import mean_figure


def test_by_hand() -> None:
    # Judge: (4 + 4 + 2 + 2 + 5 + 1) / 6 = 3. People on the first and third: (3 − 4) + (2 − 2) over 2 = −.5.
    figure = corrected_mean([4, 4, 2, 2, 5, 1, None], [3, None, 2, None, None, None, 4], list("abcdefg"), 500)
    assert (figure.value, figure.n, figure.n_unscored) == (2.5, 6, 1)
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low <= 2.5 <= figure.high


def test_all_scored_by_people_is_their_mean() -> None:
    assert corrected_mean([1, 5, 3], [2, 4, 4.5], list("abc"), 10).value == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("human", "clusters", "items"),
    [([None] * 4, "abcd", 0), ([3, None, None, None], "abcd", 1), ([3, 4, None, None], "aabc", 1)],
)
def test_fewer_than_two_human_scored_items_are_refused(human: list[float | None], clusters: str, items: int) -> None:
    figure = corrected_mean([1, 2, 3, 4], human, list(clusters), 10)
    assert (figure.value, figure.low, figure.n) == (None, None, 4)
    assert figure.reason == f"{items} human-scored items, 2 are the fewest"


def sample(rng: np.random.Generator, prompts: int, responses: int, by_people: int) -> tuple[list, list, list]:
    """Scores of a judge that is .8 too generous and noisy; people score all responses to some prompts. The true mean is 3."""
    prompt_effect = rng.normal(0, 0.7, prompts).repeat(responses)
    quality = 3 + prompt_effect + rng.normal(0, 0.7, prompts * responses)
    judge = quality + 0.8 + rng.normal(0, 0.5, len(quality))
    clusters = np.arange(prompts).repeat(responses)
    people = [q if c < by_people else None for q, c in zip(quality, clusters, strict=True)]
    return judge.tolist(), people, clusters.tolist()


@pytest.mark.parametrize("responses", [1, 3])
def test_its_interval_covers_the_truth_where_the_judges_own_does_not(responses: int) -> None:
    rng = np.random.default_rng(5)
    covered = alone = 0
    width, people_width = [], []
    for repeat in range(200):
        judge, people, clusters = sample(rng, 200, responses, 40)
        figure = corrected_mean(judge, people, clusters, 400)
        assert figure.low is not None
        assert figure.high is not None
        covered += figure.low <= 3 <= figure.high
        if repeat % 10 == 0:
            by_judge, by_people = (mean_figure(scores, clusters, 400) for scores in (judge, people))
            alone += (by_judge.low or 0) <= 3
            width.append(figure.high - figure.low)
            people_width.append((by_people.high or 0) - (by_people.low or 0))
    assert 180 <= covered <= 198
    assert alone == 0
    # The judge follows quality closely, so that its scores on the other prompts narrow the interval.
    assert np.mean(width) < 0.75 * np.mean(people_width)
