"""Kappa, Bang's index and the test of guesses, against their definitions and by simulation."""

from typing import Any

import numpy as np
import pytest

from gridc.statistics.raters import bang, guesses_independent, kappa, label_table, leniency, unit_share


def test_kappa_is_that_of_its_definition_and_its_interval_covers() -> None:
    first = ["a", "a", "b", "b", "c", "a", "b", "c"]
    second = ["a", "b", "b", "b", "c", "a", "a", "b"]
    agreed = sum(x == y for x, y in zip(first, second, strict=True)) / 8
    chance = sum(first.count(label) * second.count(label) for label in "abc") / 64
    found = kappa(first, second)
    assert found.kappa == pytest.approx((agreed - chance) / (1 - chance))
    assert found.agreement == agreed
    random = np.random.default_rng(3)
    hits, runs = 0, 400
    for _ in range(runs):
        truth = random.random(150) < 0.4
        one, two = (np.where(random.random(150) < 0.15, ~truth, truth) for _ in range(2))
        found = kappa([str(v) for v in one], [str(v) for v in two])
        p = 0.4 * 0.85 + 0.6 * 0.15
        agree, by_chance = 0.85**2 + 0.15**2, p**2 + (1 - p) ** 2
        true = (agree - by_chance) / (1 - by_chance)
        assert found.low is not None and found.high is not None
        hits += found.low <= true <= found.high
    assert hits / runs >= 0.95 - 0.025


def test_raters_without_a_label_in_common_agree_as_by_chance() -> None:
    found = kappa(["A", "B"], ["C", "D"])
    assert (found.agreement, found.kappa, found.low, found.error) == (0, 0, 0, 0)


def test_constant_raters_have_no_kappa() -> None:
    assert kappa(["a"] * 5, ["a"] * 5).kappa is None
    assert kappa(["a"] * 5, ["a", "a", "b", "a", "a"]).kappa == pytest.approx(0)
    with pytest.raises(ValueError, match="same responses"):
        kappa(["a"], [])
    assert label_table(["x", "y"], ["y", "y"]).tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("arms", [2, 4])
def test_a_judge_who_guesses_lies_at_chance_and_one_who_knows_at_one(arms: int) -> None:
    random = np.random.default_rng(arms)
    n = 40_000
    found = bang("direct", (random.integers(0, arms, n) == 0).tolist(), arms)
    assert found.chance == pytest.approx(2 / arms - 1)
    assert found.low <= found.chance <= found.high
    assert found.corrected == pytest.approx(0, abs=0.02)
    knows = bang("direct", [True] * 50, arms)
    assert (knows.index, knows.corrected) == (1, 1)
    silent = bang("direct", [None] * 50, arms)
    assert (silent.index, silent.chance) == (0, 0)
    with pytest.raises(ValueError, match="no guess"):
        bang("direct", [], arms)


def test_the_interval_of_bangs_index_covers() -> None:
    random = np.random.default_rng(5)
    draws = random.multinomial(120, [0.5, 0.3, 0.2], size=1000)
    found = [bang("a", [True] * r + [False] * w + [None] * u, 3) for r, w, u in draws.tolist()]
    assert np.mean([each.low <= 0.2 <= each.high for each in found]) >= 0.95 - 0.02


def test_a_habit_of_guessing_is_no_knowledge() -> None:
    random = np.random.default_rng(9)
    p = []
    for _ in range(300):
        truth = random.choice(["a", "b", "c", "d"], 200)
        guess = random.choice(["a", "b", "c", "d"], 200, p=[0.7, 0.1, 0.1, 0.1])
        p.append(guesses_independent(truth.tolist(), guess.tolist()).p)
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.03)
    knows = guesses_independent(["a", "b"] * 50, ["a", "b"] * 50)
    assert knows.p < 1e-10 and knows.df == 1
    assert guesses_independent(["a"] * 5, ["a", "b", "a", "b", "a"]).chi2 is None


def test_guesses_that_an_item_decides_are_no_more_than_their_items() -> None:
    """Each of 12 items is asked up to ten times, under arms that differ between items, and always answered
    alike: Pearson's p is at most .05 in most studies, that of exchanges within items in at most .05."""
    random, plain, by_item = np.random.default_rng(4), 0, 0
    for _ in range(60):
        items = np.repeat(np.arange(12), 10)
        leaning = random.random(12)[items]
        truth = np.where(random.random(120) < leaning, "a", "b").tolist()
        guess = random.choice(["a", "b"], 12)[items].tolist()
        plain += guesses_independent(truth, guess).p <= 0.05
        found = guesses_independent(truth, guess, items.tolist())
        by_item += found.p <= 0.05
        assert found.by_item and found.p == 1
    assert plain >= 20 and by_item == 0
    knows = guesses_independent(["a", "b"] * 30, ["a", "b"] * 30, np.repeat(np.arange(30), 2).tolist())
    assert knows.p == pytest.approx(1 / 2000)


@pytest.mark.parametrize("shares", [(0.02, 0.01), (0.3, 0.1), (0.0, 0.2)])
@pytest.mark.parametrize("whole", [True, False])
def test_leniency_holds_what_it_says(shares: tuple[float, float], whole: bool) -> None:
    random = np.random.default_rng(11)
    size = 1.0 if whole else 0.5
    hits, runs = 0, 400
    for _ in range(runs):
        draws = random.choice([size, -size, 0.0], p=[*shares, 1 - sum(shares)], size=80)
        found = leniency(draws.tolist())
        assert found.low <= found.mean <= found.high
        hits += found.low <= size * (shares[0] - shares[1]) <= found.high
    assert hits / runs >= 0.95 - 0.02
    none = leniency([0.0] * 30)
    assert (none.mean, none.higher, none.lower) == (0, 0, 0)
    assert none.high == -none.low == pytest.approx(1 - 0.0125 ** (1 / 30)), "no disagreement is no proof"
    with pytest.raises(ValueError, match="no response"):
        leniency([])
    with pytest.raises(ValueError, match="more than one"):
        leniency([1.5])


def repeated(units: int, times: int, alike: bool, random: np.random.Generator) -> tuple[Any, Any]:
    """Labels of two raters of `units` that are asked `times` each, (units, times): the same every time, or
    with a chance of its own for each unit."""
    if alike:
        first = random.random((units, 1)) < 0.4
        agree = random.random((units, 1)) < 0.8
        return np.repeat(first, times, 1), np.repeat(np.where(agree, first, ~first), times, 1)
    first = random.random((units, times)) < random.beta(0.3, 0.5, (units, 1))
    agree = random.random((units, times)) < random.beta(0.4, 0.1, (units, 1))
    return first, np.where(agree, first, ~first)


@pytest.mark.slow
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize(("units", "times"), [(10, 15), (20, 15), (60, 5)])
def test_the_interval_of_kappa_covers_where_items_repeat(units: int, times: int, alike: bool) -> None:
    """Limits of all responses as if each were drawn alone cover .34 to .75 of the time here."""
    random = np.random.default_rng(11)
    first, second = (list(map(str, each.ravel())) for each in repeated(200_000, 1, alike, random))
    true = kappa(first, second).kappa
    assert true is not None
    runs = 400
    held = {"units": 0, "responses": 0}
    for _ in range(runs):
        one, two = (list(map(str, each.ravel())) for each in repeated(units, times, alike, random))
        for name, of in (("units", [at // times for at in range(units * times)]), ("responses", None)):
            found = kappa(one, two, of)
            held[name] += found.low is None or found.low <= true <= (found.high or 1)
    error = 3 * (0.05 * 0.95 / runs) ** 0.5
    assert held["units"] / runs >= 0.95 - error - (0.02 if units == 10 else 0)
    assert held["responses"] / runs < 0.85


def test_responses_of_units_of_their_own_have_the_exact_limits() -> None:
    first, second = ["a", "b"] * 20, ["a", "b", "b", "b"] * 10
    assert kappa(first, second, range(40)) == kappa(first, second)
    same = kappa(["a", "b"] * 20, ["a", "b"] * 20, [at // 10 for at in range(40)])
    assert same.low is not None and same.low < 0, "four units that agree are no more than four"


def luck(random: np.random.Generator, units: int, times: int, alike: float) -> Any:
    """From 0 to 1 for each of a unit's answers, (units, times): one for all in a share of units."""
    whole = random.random((units, 1)) < alike
    return np.where(whole, random.random((units, 1)), random.random((units, times)))


@pytest.mark.slow
@pytest.mark.parametrize(("units", "times", "rare", "wrong", "alike"), [
    (64, 9, 0.03, (0.05, 0.02), 0.5), (60, 10, 0.02, (0.02, 0.02), 1.0), (72, 10, 0.1, (0.02, 0.02), 0.5),
])  # fmt: skip
def test_the_interval_of_kappa_holds_where_few_units_carry_it(
    units: int, times: int, rare: float, wrong: tuple[float, float], alike: float
) -> None:
    """Worlds that a search found: as many independent responses as vary like kappa alone miss .12 to .19."""
    random, missed, printed = np.random.default_rng(68), 0, 0
    agree = (1 - wrong[0]) * (1 - wrong[1]) + wrong[0] * wrong[1]
    one, two = (rare * (1 - each) + (1 - rare) * each for each in wrong)
    chance = one * two + (1 - one) * (1 - two)
    of = np.repeat(np.arange(units), times).tolist()
    for _ in range(300):
        label = luck(random, units, times, alike) < rare
        first, second = (
            [str(said) for said in (label != (luck(random, units, times, alike) < each)).ravel().tolist()]
            for each in wrong
        )
        found = kappa(first, second, of)
        if found.interval is not None:
            printed += 1
            missed += not found.interval[0] <= (agree - chance) / (1 - chance) <= found.interval[1]
    assert missed / printed <= 0.08


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.5, 1.0])
@pytest.mark.parametrize("shares", [(0.1, 0.0), (0.3, 0.25), (0.02, 0.0)])
def test_shares_bangs_index_and_leniency_hold_where_units_repeat(
    shares: tuple[float, float], alike: float
) -> None:
    """30 units, six answers each. The limits of 180 answers miss up to .29 (leniency, the index) and .37."""
    random, runs = np.random.default_rng(68), 200
    of = np.repeat(np.arange(30), 6).tolist()
    truth = shares[0] - shares[1]
    missed = {"share": 0, "bang": 0, "sure": 0, "leniency": 0}
    for _ in range(runs):
        drawn = luck(random, 30, 6, alike).ravel()
        first, other = (drawn < shares[0]).tolist(), (drawn > 1 - shares[1]).tolist()
        share = unit_share(first, of)
        index = bang("a", [True if a else False if b else None for a, b in zip(first, other, strict=True)],
                     4, of)  # fmt: skip
        sure = bang("a", list(first), 4, of)
        given = leniency([float(a) - float(b) for a, b in zip(first, other, strict=True)], of)
        missed["share"] += not share.low <= shares[0] <= share.high
        missed["bang"] += not index.low <= truth <= index.high
        missed["sure"] += not sure.low <= 2 * shares[0] - 1 <= sure.high
        missed["leniency"] += not given.low <= truth <= given.high
    assert max(missed.values()) / runs <= 0.08, missed
