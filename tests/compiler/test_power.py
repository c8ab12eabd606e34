"""What paired items can show: witnesses against the definitions of the tests, effects against the formula."""

from itertools import product

import pytest
from scipy.stats import binomtest, norm

from gridc.compiler.power import Outcome, Rule, detectable, witnesses


def significant(rule: Rule, outcome: Outcome) -> bool:
    """The exact McNemar test, by scipy, on the predicted side."""
    rise, fall = outcome
    if not rise + fall:
        return False
    alternative = {"two-sided": "two-sided", "greater": "greater", "less": "less"}[rule.side]
    return bool(binomtest(rise, rise + fall, alternative=alternative).pvalue <= rule.alpha)


@pytest.mark.parametrize(
    ("side", "alpha"), list(product(["two-sided", "greater", "less"], [0.05, 0.05 / 3, 0.001, 0.5]))
)
def test_an_effect_is_supported_by_the_fewest_items_that_mcnemar_finds(side: str, alpha: float) -> None:
    rule = Rule("effect", side, alpha, None)  # type: ignore[arg-type]
    found = witnesses(rule, 400)["supported"]
    assert significant(rule, found)
    one_less = Outcome(max(found.rise - 1, 0), max(found.fall - 1, 0))
    assert not significant(rule, one_less)
    assert bool(found.rise) is (side != "less")


def test_an_effect_with_a_side_is_refuted_by_the_other_side_and_one_without_a_side_by_nothing() -> None:
    assert witnesses(Rule("effect", "greater", 0.05, None), 100)["refuted"] == Outcome(0, 5)
    assert witnesses(Rule("effect", "less", 0.05, None), 100)["refuted"] == Outcome(5, 0)
    assert "refuted" not in witnesses(Rule("effect", "two-sided", 0.05, None), 100)
    assert witnesses(Rule("effect", "two-sided", 0.05, 0.05), 100)["refuted"] == Outcome(0, 0)


@pytest.mark.parametrize(("items", "margin", "able"), [(10, 0.25, False), (10, 0.26, True), (58, 0.05, False),
                                                        (59, 0.05, True), (3, 0.99, True)])  # fmt: skip
def test_equivalence_needs_items_enough_for_its_margin(items: int, margin: float, able: bool) -> None:
    """Nothing changed in n items: the upper limit of the share that changes is 1 - alpha^(1/n)."""
    assert (1 - 0.05 ** (1 / items) < margin) is able
    found = witnesses(Rule("equivalence", "two-sided", 0.05, margin), items)
    assert found.get("supported") == (Outcome(0, 0) if able else None)


def test_equivalence_is_refuted_where_the_interval_lies_outside() -> None:
    rule = Rule("equivalence", "two-sided", 0.05, 0.03)
    rise = witnesses(rule, 300)["refuted"].rise
    limits = [binomtest(k, 300, alternative="greater").proportion_ci(0.95).low for k in (rise - 1, rise)]
    assert limits[0] < 0.03 <= limits[1]
    assert "refuted" not in witnesses(Rule("equivalence", "two-sided", 0.05, 1.0), 300)


def test_a_control_without_a_margin_can_only_fail() -> None:
    found = witnesses(Rule("no_effect", "two-sided", 0.05, None), 1000)
    assert set(found) == {"refuted", "open"}
    assert set(witnesses(Rule("no_effect", "two-sided", 0.05, 0.02), 1000)) == {
        "supported",
        "refuted",
        "open",
    }


def test_noninferiority_looks_at_the_side_that_is_worse() -> None:
    found = witnesses(Rule("noninferiority", "greater", 0.05, 0.1), 100)
    assert found["supported"] == Outcome(0, 0)
    assert found["refuted"].fall > 10
    assert found["open"].fall < found["refuted"].fall
    assert witnesses(Rule("noninferiority", "less", 0.05, 0.1), 100)["refuted"].rise > 10


def test_what_changes_both_ways_leaves_a_prediction_open() -> None:
    """With 2,617 items one direction is found or within the margin; only changes both ways are neither."""
    found = witnesses(Rule("effect", "two-sided", 0.05 / 3, 0.02), 2617)["open"]
    assert abs(found.rise - found.fall) <= 1
    standard_error = sum(found) ** 0.5 / 2617
    assert norm.ppf(1 - 0.05 / 3) * standard_error >= 0.02


def test_the_smallest_effect_that_paired_items_find() -> None:
    """1.9 points for 2,617 items of which 12 % change (STATISTICS, power and MDE)."""
    rule = Rule("effect", "two-sided", 0.05, None)
    found = detectable(rule, 2617, 0.12)
    assert found == pytest.approx((norm.ppf(0.975) + norm.ppf(0.8)) * (0.12 / 2617) ** 0.5, rel=0.01)
    assert found is not None
    assert round(100 * found, 1) == 1.9


def test_few_items_that_seldom_change_find_nothing() -> None:
    assert detectable(Rule("effect", "two-sided", 0.05, None), 20, 0.1) is None
    assert detectable(Rule("effect", "two-sided", 0.05, None), 20, 0.5) is not None


def test_the_margin_that_can_be_shown() -> None:
    shown = detectable(Rule("equivalence", "two-sided", 0.05, 0.03), 300, 0.1)
    assert shown == pytest.approx((norm.ppf(0.95) + norm.ppf(0.9)) * (0.1 / 300) ** 0.5, rel=1e-4)
    one_side = detectable(Rule("noninferiority", "greater", 0.05, 0.03), 300, 0.1)
    assert one_side == pytest.approx((norm.ppf(0.95) + norm.ppf(0.8)) * (0.1 / 300) ** 0.5, rel=1e-4)
