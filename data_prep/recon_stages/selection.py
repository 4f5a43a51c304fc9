"""Stage 5: one response a prompt, exactly balanced over the scores, drawn by a seed."""

import random
from collections import Counter
from collections.abc import Collection, Mapping

from data_prep.recon_stages.prompts import SCORES


def balanced(
    available: Mapping[str, Collection[int]], seed: int, chosen: Mapping[str, int] | None = None
) -> dict[str, int]:
    """A score for as many prompts as can have one, so that the counts of any two scores differ by at most 1.

    ``available`` says for which scores a prompt has a response. Choices in ``chosen`` that are still available are kept as
    far as balance allows, so that what was translated for them is not lost. No larger balanced choice exists: slots that
    prompts can fill form a transversal matroid (Edmonds and Fulkerson 1965), and slots are added score by score to a basis.
    """
    rng = random.Random(seed)
    names, scores = sorted(available), list(SCORES)
    rng.shuffle(names)
    rng.shuffle(scores)
    picked = {name: score for name, score in (chosen or {}).items() if score in available.get(name, ())}
    level = 1
    while True:
        for _ in range(2):
            counts = Counter(picked.values())
            short = [
                score for score in scores if counts[score] < level and not _fill(score, level, picked, names, available)
            ]
            if not short:
                break
            _trim(picked, level, names)
        if short:
            return picked
        level += 1


def _fill(
    score: int, level: int, picked: dict[str, int], names: list[str], available: Mapping[str, Collection[int]]
) -> bool:
    """Give the score prompts up to ``level``, moving prompts between other scores where need be. False where none is left."""
    while sum(other == score for other in picked.values()) < level:
        if not _add(score, picked, names, available):
            return False
    return True


def _add(score: int, picked: dict[str, int], names: list[str], available: Mapping[str, Collection[int]]) -> bool:
    """One more prompt for the score, along a shortest chain: a free prompt, or another score's that it can replace."""
    moves: dict[int, tuple[str, int]] = {}  # score: the prompt that it gives away, and to which score
    queue = [score]
    for needy in queue:
        for name in names:
            if needy not in available[name]:
                continue
            holder = picked.get(name)
            if holder is None:
                _shift(name, needy, moves, picked, score)
                return True
            if holder != score and holder not in moves:
                moves[holder] = (name, needy)
                queue.append(holder)
    return False


def _shift(free: str, needy: int, moves: Mapping[int, tuple[str, int]], picked: dict[str, int], score: int) -> None:
    picked[free] = needy
    while needy != score:
        name, needy = moves[needy]
        picked[name] = needy


def _trim(picked: dict[str, int], level: int, names: list[str]) -> None:
    """Take back what is above ``level``: the last drawn prompts of each score first."""
    counts = Counter(picked.values())
    for name in reversed(names):
        score = picked.get(name)
        if score is not None and counts[score] > level:
            del picked[name]
            counts[score] -= 1
