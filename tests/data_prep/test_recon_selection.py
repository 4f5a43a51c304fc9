"""One response a prompt, balanced over the scores, as many prompts as can be."""

import itertools
import random
from collections import Counter

import pytest

from data_prep.recon_stages.prompts import SCORES
from data_prep.recon_stages.selection import balanced

ALL = set(SCORES)


def sizes(picked: dict[str, int]) -> list[int]:
    counts = Counter(picked.values())
    return [counts[score] for score in SCORES]


@pytest.mark.parametrize(
    ("prompts", "expected"), [(500, [100] * 5), (10, [2] * 5), (12, [3, 3, 2, 2, 2]), (3, [1, 1, 1, 0, 0])]
)
def test_every_prompt_has_a_score_and_counts_differ_by_one_at_most(prompts: int, expected: list[int]) -> None:
    picked = balanced({f"p{n}": ALL for n in range(prompts)}, seed=1)
    assert len(picked) == prompts
    assert sorted(sizes(picked), reverse=True) == expected


def test_the_seed_decides_which_prompt_gets_which_score() -> None:
    available = {f"p{n}": ALL for n in range(50)}
    assert balanced(available, 1) == balanced(dict(reversed(available.items())), 1)
    assert balanced(available, 1) != balanced(available, 2)


def test_prompts_move_between_scores_to_make_room() -> None:
    # c can only be a 3, d only a 1; so a and b, which can be anything, get 2, 4 or 5, and e whatever is left.
    available = {"a": ALL, "b": ALL, "c": {3}, "d": {1}, "e": ALL}
    picked = balanced(available, seed=0)
    assert picked["c"] == 3
    assert picked["d"] == 1
    assert sizes(picked) == [1, 1, 1, 1, 1]


def test_a_score_that_runs_out_keeps_the_others_down() -> None:
    # Only one prompt has a 5: no score may have more than two, so 9 of the 20 prompts are taken.
    available = {f"p{n}": {1, 2, 3, 4} for n in range(19)} | {"last": ALL}
    picked = balanced(available, seed=3)
    assert sizes(picked) == [2, 2, 2, 2, 1]
    assert picked["last"] == 5
    # No prompt has a 5: one each of the other four, since 2 against 0 differ by more than 1.
    assert sizes(balanced({f"p{n}": {1, 2, 3, 4} for n in range(19)}, seed=3)) == [1, 1, 1, 1, 0]
    assert balanced({}, seed=0) == {}
    assert balanced({"a": set()}, seed=0) == {}


def test_earlier_choices_are_kept_as_far_as_balance_allows() -> None:
    available = {f"p{n}": set(ALL) for n in range(100)}
    first = balanced(available, seed=5)
    withdrawn = sorted(first)[:4]
    for name in withdrawn:
        available[name].discard(first[name])
    second = balanced(available, seed=5, chosen=first)
    assert sizes(second) == [20] * 5
    # Each of the four prompts takes another's score at the least, and a chain between two scores has at most 5 links.
    changed = [name for name in first if first[name] != second[name]]
    assert set(withdrawn) <= set(changed)
    assert len(changed) <= 4 * 5


def largest(available: dict[str, set[int]]) -> int:
    """By trying all choices."""
    choices = itertools.product(*[(None, *scores) for scores in available.values()])
    counts = (Counter(score for score in choice if score) for choice in choices)
    balanced_ones = (c for c in counts if max(c[s] for s in SCORES) - min(c[s] for s in SCORES) <= 1)
    return max(sum(c.values()) for c in balanced_ones)


def test_no_larger_balanced_choice_exists() -> None:
    rng = random.Random(0)
    for trial in range(30):
        share = rng.choice([0.2, 0.5, 0.9])
        available = {f"p{n}": {s for s in SCORES if rng.random() < share} for n in range(rng.randint(1, 5))}
        chosen = {
            name: rng.choice(sorted(scores)) for name, scores in available.items() if scores and rng.random() < 0.5
        }
        picked = balanced(available, trial, chosen if trial % 2 else None)
        assert max(sizes(picked)) - min(sizes(picked)) <= 1
        assert all(score in available[name] for name, score in picked.items())
        assert len(picked) == largest(available)
