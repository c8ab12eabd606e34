"""What the scores of an item's replicates become: one score of the item.

Pure, and of whole numbers: what an aggregate gives is a whole number of a common unit, so that sums and tests
of it are exact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm
from typing import NamedTuple

from gridc.schema.effects import Aggregate, Attempts, Ties
from gridc.schema.scores import DIGITS


@dataclass(frozen=True, slots=True)
class AttemptScores:
    """What an item earns by how many of its answers are right, `earned` (n + 1,) in units of 1 / `scale`."""

    scale: int
    earned: tuple[int, ...]


@lru_cache(maxsize=256)
def attempt_scores(attempts: Attempts, answers: int) -> AttemptScores:
    """The share of draws of k of an item's answers, without replacement, in which one is right or more
    (`pass_at`: 1 - C(n - c, k) / C(n, k); Chen et al. 2021, eq. 1) or all are (`pass_all`: C(c, k) / C(n, k);
    Yao et al. 2024, sec. 5). Both are unbiased for k new answers.

    Exact where the shares have a common denominator of at most 10,000, as every score has; else each is
    rounded to the nearest ten-thousandth, half to even.
    """
    n, k = answers, attempts.draws
    draws = max(comb(n, k), 1)
    shares = [
        Fraction(draws - comb(n - right, k) if attempts.pass_at else comb(right, k), draws)
        for right in range(n + 1)
    ]
    scale = min(lcm(*(share.denominator for share in shares)), 10**DIGITS)
    return AttemptScores(scale, tuple(round(share * scale) for share in shares))


class Vote(NamedTuple):
    """One of an item's answers and its score: the number of the option or label that was read, of free text
    what it was read to; None where nothing was."""

    answer: int | str | None
    score: int


def item_score(aggregate: Aggregate, votes: Sequence[Vote], ties: Ties, credit: int) -> int:
    """What an item earns by its answers, `votes` in the order of the replicates: their sum under `mean`. Of
    `credit`, what an unreadable answer earned, where a majority has no readable one."""
    if aggregate == "majority":
        chosen = majority(votes, ties)
        return credit if chosen is None else chosen.score
    earned = sum(vote.score for vote in votes)
    return earned if aggregate == "mean" else attempt_scores(aggregate, len(votes)).earned[earned]


def majority(votes: Iterable[Vote], ties: Ties) -> Vote | None:
    """The answer that was read most often, of votes in the order of the replicates. An unreadable answer has
    no vote; None where there is none. Of answers that are equally frequent, with `against_gold` one that
    earns least, else the one that was given `first` or `last`."""
    numbers: dict[Vote, int] = {}
    latest: dict[Vote, int] = {}
    for place, vote in enumerate(vote for vote in votes if vote.answer is not None):
        numbers[vote] = numbers.get(vote, 0) + 1
        latest[vote] = place
    tied = [vote for vote, number in numbers.items() if number == max(numbers.values())]
    if not tied:
        return None
    if ties == "against_gold":
        return min(tied, key=lambda vote: vote.score)
    return tied[0] if ties == "first" else max(tied, key=lambda vote: latest[vote])
