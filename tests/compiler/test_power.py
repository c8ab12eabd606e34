"""What an outcome says: asked of the functions that a report decides by, so that plan and report agree."""

from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from gridc.compiler.hypotheses import KINDS, strictest_level
from gridc.compiler.hypotheses.kind import CHANGING, TOGETHER, assumed_words
from gridc.compiler.hypotheses.tested import TestedKind
from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import prospects
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.hypotheses import DECISIONS
from gridc.reports.findings.hypotheses.finding import MeasuredStudy
from gridc.reports.findings.observations import Samples
from gridc.schema.inference import ContrastHypothesis
from gridc.statistics.expected_power import DecidingTest, Layout, Stratum, assumed_design, coefficients_of
from gridc.statistics.verdicts import AskedItems, RiseFall, Rule, mcnemar_power, outcome_p_values, witnesses
from tests.compiler.test_design_power import SIZES, TO, plan_of, spec_of


def rule_of(kind: str, side: str, margin: float | None) -> Rule:
    stated: dict[str, Any] = {
        "id": "H",
        "kind": kind,
        "axis": "x",
        "reference": "r",
        "level": "a",
        "side": side,
    }
    stated |= {} if margin is None else {"margin": {"pp": 100 * margin}}
    hypothesis, known = ContrastHypothesis.model_validate(stated), KINDS[kind]
    assert isinstance(known, TestedKind)
    return known.rule(hypothesis, 0.05)


def asked(sizes: tuple[int, ...]) -> tuple[AskedItems, Any, list[int]]:
    layout, test = Layout((Stratum(tuple(map(float, sizes))),), 2), DecidingTest("effect", "two-sided", 0.05)
    design = assumed_design(test, layout)
    return AskedItems((sizes,), ((),), (1.0,), 2), design, coefficients_of(test, layout, design)


@pytest.mark.parametrize(
    ("kind", "p", "expected"),
    [
        ("difference", (0.01, 0.01), "supported"),
        ("null_control", (0.01, 0.01), "refuted"),
        ("equivalence", (0.2, 0.03), "refuted"),
        ("noninferiority", (0.06, 0.06), "open"),
        ("trend", (0.01, 0.002), "supported"),
        ("interaction", (0.01, 1.0), "supported"),
        ("ranking", (0.01, 0.002), "refuted"),
        ("ranking", (0.06, 0.06), "open"),
    ],
)
def test_what_is_found_comes_first(kind: str, p: tuple[float, float], expected: str) -> None:
    assert KINDS[kind].verdict(*p, 0.05) == expected


@pytest.mark.parametrize("kind", ["difference", "null_control", "equivalence", "noninferiority"])
@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("margin", [None, 0.1, 0.4])
@pytest.mark.parametrize("sizes", [(1,) * 40, (5, 4, 3, 3, 3, 2, 2) * 4])
def test_no_outcome_with_fewer_changes_reaches_a_verdict(
    kind: str, side: str, margin: float | None, sizes: tuple[int, ...]
) -> None:
    """One way, and as many up as down: what is searched in steps, one by one."""
    if kind in ("equivalence", "noninferiority") and margin is None:
        return
    if (kind, side) == ("noninferiority", "two-sided"):
        return
    rule, about = rule_of(kind, side, margin), asked(sizes)
    ways = [RiseFall(n, 0) for n in range(13)] + [RiseFall(0, n) for n in range(13)]
    ways += [RiseFall(n, n) for n in range(7)]
    found = witnesses(rule, *about)
    for outcome in ways:
        reached = rule.verdict(*outcome_p_values(rule, *about, *outcome))
        assert sum(found[reached]) <= sum(outcome), (outcome, reached)
    for reached, outcome in found.items():
        assert rule.verdict(*outcome_p_values(rule, *about, *outcome)) == reached


def test_an_equivalence_whose_units_hold_several_items_can_be_shown() -> None:
    """60 items in 23 templates, 15 pp: each answer counts in its unit's mean, and not the unit once."""
    sizes = (3,) * 14 + (2,) * 9
    rule = rule_of("equivalence", "two-sided", 0.15)
    assert witnesses(rule, *asked(sizes))["supported"] == RiseFall(0, 0)


def decided(stated: dict[str, Any], rise: int, fall: int) -> tuple[Any, Any]:
    """The hypothesis of a study in which so many items change under level c, for all models alike, decided by
    the report; and the plan's prospect of it."""
    spec = spec_of(**stated)
    plan, hypothesis, stored = plan_of(spec), spec.hypothesis[0], {}
    left = (rise, fall)
    changes = {}
    for at, (name, size) in enumerate(SIZES.items()):
        share = size / sum(SIZES.values())
        own = left if at == len(SIZES) - 1 else (round(rise * share), round(fall * share))
        left = left[0] - own[0], left[1] - own[1]
        right = np.diff(np.arange(size + 1) * ((size - own[0] + own[1]) // 2) // size)
        after = right.copy()
        after[np.flatnonzero(right == 0)[: own[0]]] = 1
        after[np.flatnonzero(right == 1)[: own[1]]] = 0
        changes[name] = right, after
    for cell in plan.cells():
        right = changes[cell.benchmark][cell.levels["arm"] == "c"]
        names = tuple(item.id for item in plan.study.items[cell.benchmark].sampled)
        ones = np.ones_like(right)
        stored[cell.key] = CellOutcomes(names, ones, ones, ones, right, right)
    nothing: Any = None
    measured = MeasuredStudy(spec, Samples(plan, stored), [], nothing, nothing, True)
    effect = DECISIONS[hypothesis.kind].decide(measured, hypothesis)
    level = strictest_level(spec, hypothesis)
    return KINDS[hypothesis.kind].verdict(effect.support, effect.refute, level), prospects(plan)[0]


@pytest.mark.parametrize(
    "stated",
    [
        {"kind": "difference", "level": "c", "margin": {"pp": 5}, **TO},
        {"kind": "difference", "level": "c", "side": "less", **TO},
        {"kind": "null_control", "level": "c", "margin": {"pp": 5}, **TO},
        {"kind": "equivalence", "level": "c", "margin": {"pp": 5}, **TO},
        {"kind": "noninferiority", "level": "c", "side": "greater", "margin": {"pp": 5}, **TO},
    ],
    ids=lambda stated: str(stated["kind"]),
)
def test_the_report_says_of_each_outcome_what_the_plan_says(stated: dict[str, Any]) -> None:
    """The counts in the plan's sentences, put into a study of three models and two benchmarks."""
    _, prospect = decided(stated, 0, 0)
    assert {"supported", "refuted", "open"} >= prospect.outcomes.keys() >= {"supported", "refuted"}
    for expected, words in prospect.outcomes.items():
        number = 0 if words == "nothing changes" else int(words.split(" of ")[0])
        if "as many up as down" in words:
            rise, fall = number // 2, number // 2
        else:
            rise, fall = (0, number) if "fall" in words and "none rises" in words else (number, 0)
        assert decided(stated, rise, fall)[0] == expected, (expected, words)


def test_an_item_of_two_benchmarks_is_one_unit_in_plan_and_report() -> None:
    """Ten items of one benchmark stand in the other too, under other ids."""
    spec = spec_of(kind="equivalence", level="c", margin={"pp": 5}, **TO)
    plan = plan_of(spec)
    one, two = (plan.study.items[name] for name in SIZES)
    texts = [
        replace(item, query=other.query) for item, other in zip(two.sampled, one.sampled[:10], strict=False)
    ]
    again = Items(items := (*texts, *two.sampled[10:]), (), LoadedItems(items, {"items": "0" * 64}))
    plan = Plan(replace(plan.study, items={"one": one, "two": again}))
    stored = {}
    for cell in plan.cells():
        names = tuple(item.id for item in plan.study.items[cell.benchmark].sampled)
        ones = np.ones(len(names), dtype=int)
        stored[cell.key] = CellOutcomes(names, ones, ones, ones, ones, ones)
    nothing: Any = None
    measured = MeasuredStudy(spec, Samples(plan, stored), [], nothing, nothing, True)
    effect: Any = DECISIONS["equivalence"].decide(measured, spec.hypothesis[0])
    prospect = prospects(plan)[0]
    assert prospect.units == effect.units == sum(SIZES.values()) - 10
    assert prospect.items == sum(SIZES.values())
    assert prospect.outcomes["supported"] == "nothing changes"
    apart = prospects(plan_of(spec))[0].power.detectable_pp
    assert apart is not None and prospect.power.detectable_pp is not None
    assert (prospect.power.detectable_pp["0.3"] or 0) >= (apart["0.3"] or 100)


def test_what_a_power_assumes_is_said_with_the_numbers_it_is_computed_with() -> None:
    assert (CHANGING, TOGETHER) == ((0.1, 0.3), 0.1)
    words = assumed_words(*CHANGING)
    assert words.startswith("rates near 50 %; ")
    assert " differ on 10 % or 30 % of the items beside what the effect moves; " in words
    assert " correlate 0.1 times as much; " in words
    assert " differ on 25 % of the items " in assumed_words(0.25)


def test_nothing_that_changes_shows_a_margin() -> None:
    """Nothing changes in 40 items: the chance of it if the difference were as large as the margin."""
    rule = rule_of("equivalence", "two-sided", 0.05)
    about, design, columns = asked((1,) * 40)
    support, refute = outcome_p_values(rule, about, design, columns, 0, 0)
    assert support == pytest.approx((1 - 0.05) ** 40) and refute > 0.9


@pytest.mark.parametrize(("up", "down"), [(0.3, 0.1), (0.1, 0.1), (0.05, 0.4), (0.0, 0.0), (0.4, 0.0)])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3])
def test_mcnemars_power_is_the_sum_over_every_outcome_that_it_finds(
    alpha: float, up: float, down: float
) -> None:
    n = 35
    exact = sum(
        comb(n, rise) * comb(n - rise, fall) * up**rise * down**fall * (1 - up - down) ** (n - rise - fall)
        for rise in range(n + 1)
        for fall in range(n + 1 - rise)
        if rise + fall and binom.sf(rise - 1, rise + fall, 0.5) <= alpha
    )
    assert mcnemar_power(alpha, n, up, down) == pytest.approx(exact, abs=1e-7)
