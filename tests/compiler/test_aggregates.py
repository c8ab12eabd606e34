"""What an item's answers become, against counting every draw by itself."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from gridc.compiler.instrument.points import Vote, attempt_scores, item_score, majority
from gridc.compiler.instrument.setting import Setting
from gridc.schema.effects import Attempts


@pytest.mark.parametrize("n", range(1, 8))
def test_a_share_of_draws_is_what_counting_every_draw_gives(n: int) -> None:
    for k in range(1, n + 1):
        for right in range(n + 1):
            answers = [1] * right + [0] * (n - right)
            draws = list(combinations(answers, k))
            passed = Fraction(sum(any(draw) for draw in draws), len(draws))
            every = Fraction(sum(all(draw) for draw in draws), len(draws))
            some, whole = attempt_scores(Attempts(pass_at=k), n), attempt_scores(Attempts(pass_all=k), n)
            assert Fraction(some.earned[right], some.scale) == passed
            assert Fraction(whole.earned[right], whole.scale) == every


@pytest.mark.parametrize(("share", "k"), [(0.1, 5), (0.5, 2), (0.03, 10)])
def test_it_is_unbiased_and_the_naive_estimate_is_not(share: float, k: int) -> None:
    """Over the binomial distribution of right answers, exactly: the mean is 1 - (1 - p)^k."""
    n = 20
    chances = [comb(n, right) * share**right * (1 - share) ** (n - right) for right in range(n + 1)]
    scores = attempt_scores(Attempts(pass_at=k), n)
    mean = np.dot(chances, np.array(scores.earned) / scores.scale)
    truth = 1 - (1 - share) ** k
    assert mean == pytest.approx(truth, abs=1e-4)
    naive = np.dot(chances, [1 - (1 - right / n) ** k for right in range(n + 1)])
    assert abs(naive - truth) > 5e-3, "1 - (1 - c/n)^k is biased"


def test_shares_without_a_small_common_denominator_are_rounded_to_a_ten_thousandth() -> None:
    scores = attempt_scores(Attempts(pass_at=10), 200)
    assert scores.scale == 10_000
    for right in (0, 1, 7, 120, 200):
        exact = 1 - Fraction(comb(200 - right, 10), comb(200, 10))
        assert abs(Fraction(scores.earned[right], 10_000) - exact) <= Fraction(1, 20_000)
    assert (scores.earned[0], scores.earned[-1]) == (0, 10_000)


def test_the_majority_is_the_most_frequent_readable_answer() -> None:
    worth = {"a": 1, "b": 0, "c": 0}
    for answers in product(["a", "b", "c", None], repeat=5):
        votes = [Vote(answer, 0 if answer is None else worth[answer]) for answer in answers]
        counts = Counter(answer for answer in answers if answer is not None)
        chosen = majority(votes, "against_gold")
        if not counts:
            assert chosen is None
            assert item_score("majority", votes, "against_gold", 0) == 0
            continue
        most = {answer for answer, count in counts.items() if count == max(counts.values())}
        assert chosen is not None and chosen.answer in most
        assert chosen.score == min(worth[answer] for answer in most)
        given = [answer for answer in answers if answer in most]
        first, last = majority(votes, "first"), majority(votes, "last")
        assert first is not None and first.answer == given[0]
        assert last is not None and last.answer == given[-1]


def test_wrong_answers_that_differ_are_no_majority_together() -> None:
    """Three of seven give the right number, and four give two wrong ones."""
    votes = [Vote("42", 1)] * 3 + [Vote("41", 0)] * 2 + [Vote("40", 0)] * 2
    assert item_score("majority", votes, "against_gold", 0) == 1


@pytest.mark.parametrize("aggregate", ["mean", "majority", Attempts(pass_at=2), Attempts(pass_all=3)])
def test_what_an_item_can_earn_is_between_nothing_and_one(aggregate: object) -> None:
    setting = Setting("x", "extract", temperature=0.7, replicates=4, aggregate=aggregate)  # type: ignore[arg-type]
    most = setting.outcomes_of_item * setting.item_scale
    assert setting.item_score([Vote(0, 1)] * 4) == most
    assert setting.item_score([Vote(1, 0)] * 4) == 0
