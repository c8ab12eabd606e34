"""What paired units can show: verdicts against scipy's tests, witnesses against all outcomes, errors and
power by summing over every outcome."""

from itertools import product
from math import comb

import pytest
from scipy.stats import binomtest

from gridc.statistics.power import Outcome, Rule, interval, mcnemar_power, p_value, verdict, witnesses

CLAIMS = ("effect", "no_effect", "equivalence", "noninferiority")
RULES = [
    Rule(claim, side, alpha, margin)  # type: ignore[arg-type]
    for claim, side, alpha, margin in product(
        CLAIMS, ("two-sided", "greater", "less"), (0.05, 0.05 / 3), (None, 0.02, 0.1, 0.4, 1.0)
    )
    if (claim, side) != ("noninferiority", "two-sided")
]


@pytest.mark.parametrize("outcome", [(0, 0), (1, 0), (5, 0), (0, 7), (9, 3), (4, 4), (2, 30)])
@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_the_test_is_exact_mcnemar(side: str, outcome: tuple[int, int]) -> None:
    rise, fall = outcome
    rule = Rule("effect", side, 0.05, None)  # type: ignore[arg-type]
    expected = binomtest(rise, rise + fall, alternative=side).pvalue if rise + fall else 1.0
    assert p_value(rule, Outcome(rise, fall)) == pytest.approx(expected)


@pytest.mark.parametrize("outcome", [(0, 0), (3, 0), (7, 4), (20, 0)])
def test_the_interval_is_made_of_clopper_and_pearsons_limits(outcome: tuple[int, int]) -> None:
    limits = [binomtest(changed, 20).proportion_ci(1 - 0.05) for changed in outcome]
    (rise, fall) = limits
    low, high = interval(0.05, Outcome(*outcome), 20)
    assert (low, high) == pytest.approx((rise.low - fall.high, rise.high - fall.low))


@pytest.mark.parametrize("units", [1, 4, 10, 59, 200])
def test_witnesses_are_the_fewest_changes_among_all_outcomes(units: int) -> None:
    """One way, and as many up as down: what the search looks at in steps of its own, one by one."""
    ways = [
        each
        for changed in range(units + 1)
        for each in (Outcome(changed, 0), Outcome(0, changed), Outcome(changed, changed))
        if sum(each) <= units
    ]
    ways.sort(key=lambda each: (sum(each), each.fall))
    for rule in RULES:
        found: dict[str, Outcome] = {}
        for each in ways:
            found.setdefault(verdict(rule, each, units), each)
        assert witnesses(rule, units) == found, rule


def chance_of(said: str, rule: Rule, up: float, down: float, units: int) -> float:
    """The probability of a verdict where each unit rises with probability `up` and falls with `down`."""
    return sum(
        comb(units, rise) * comb(units - rise, fall) * up**rise * down**fall
        * (1 - up - down) ** (units - rise - fall)
        for rise in range(units + 1)
        for fall in range(units + 1 - rise)
        if verdict(rule, Outcome(rise, fall), units) == said
    )  # fmt: skip


@pytest.mark.parametrize(("units", "up", "down"), [(10, 0.05, 0.10), (25, 0.0, 0.03), (25, 0.3, 0.35)])
def test_noninferiority_is_seldom_supported_where_it_is_false(units: int, up: float, down: float) -> None:
    assert chance_of("supported", Rule("noninferiority", "greater", 0.05, 0.02), up, down, units) <= 0.05


@pytest.mark.parametrize(("units", "up", "down"), [(10, 0.05, 0.03), (25, 0.0, 0.0199), (25, 0.4, 0.38)])
def test_equivalence_is_seldom_refuted_where_it_holds(units: int, up: float, down: float) -> None:
    assert chance_of("refuted", Rule("equivalence", "two-sided", 0.05, 0.02), up, down, units) <= 0.05


@pytest.mark.parametrize(("units", "up", "down"), [(25, 0.2, 0.0), (25, 0.35, 0.15)])
def test_equivalence_is_seldom_supported_at_its_margin(units: int, up: float, down: float) -> None:
    assert chance_of("supported", Rule("equivalence", "two-sided", 0.05, 0.2), up, down, units) <= 0.05


def test_an_effect_with_a_side_is_refuted_by_the_other_side_and_one_without_a_side_by_nothing() -> None:
    assert witnesses(Rule("effect", "greater", 0.05, None), 100)["refuted"] == Outcome(0, 5)
    assert witnesses(Rule("effect", "less", 0.05, None), 100)["refuted"] == Outcome(5, 0)
    assert "refuted" not in witnesses(Rule("effect", "two-sided", 0.05, None), 100)
    assert witnesses(Rule("effect", "two-sided", 0.05, 0.05), 100)["refuted"] == Outcome(0, 0)


@pytest.mark.parametrize("claim", ["equivalence", "noninferiority", "no_effect"])
@pytest.mark.parametrize(
    ("units", "margin", "able"),
    [(4, 0.02, False), (10, 0.30, False), (10, 0.31, True), (71, 0.05, False), (72, 0.05, True)],
)
def test_a_margin_needs_units_enough(claim: str, units: int, margin: float, able: bool) -> None:
    """Nothing changed in n units: up to 1 - (alpha / 2)^(1/n) of them may fall."""
    assert (1 - 0.025 ** (1 / units) < margin) is able
    found = witnesses(Rule(claim, "greater", 0.05, margin), units)  # type: ignore[arg-type]
    assert (found.get("supported") == Outcome(0, 0)) is able
    if not able:
        assert "supported" not in found or (claim == "noninferiority" and sum(found["supported"]) > 0)


def test_a_control_without_a_margin_can_only_fail() -> None:
    found = witnesses(Rule("no_effect", "two-sided", 0.05, None), 1000)
    assert set(found) == {"refuted", "open"}
    assert set(witnesses(Rule("no_effect", "two-sided", 0.05, 0.02), 1000)) == {
        "supported",
        "refuted",
        "open",
    }


def test_no_difference_lies_outside_a_margin_of_everything() -> None:
    assert "refuted" not in witnesses(Rule("equivalence", "two-sided", 0.05, 1.0), 300)


def test_what_changes_both_ways_leaves_a_prediction_open() -> None:
    """With 2,617 units one direction is found or within the margin; only changes both ways are neither."""
    found = witnesses(Rule("effect", "two-sided", 0.05 / 3, 0.02), 2617)["open"]
    assert found.rise == found.fall > 0


def test_any_number_of_units_is_answered() -> None:
    assert witnesses(Rule("effect", "two-sided", 0.05, 0.02), 10**9)["supported"] == Outcome(6, 0)


@pytest.mark.parametrize(("up", "down"), [(0.3, 0.1), (0.1, 0.1), (0.05, 0.4), (0.0, 0.0), (0.4, 0.0)])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3])
def test_mcnemars_power_is_the_sum_over_every_outcome_that_it_finds(
    alpha: float, up: float, down: float
) -> None:
    rule = Rule("effect", "greater", alpha, None)
    exact = chance_of("supported", rule, up, down, 35)
    assert mcnemar_power(alpha, 35, up, down) == pytest.approx(exact, abs=1e-7)
