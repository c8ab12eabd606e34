"""The power that a plan promises, beside the share of simulated studies in which the deciding code has it."""

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import f, ncf, nct, t

from gridc.compiler.hypotheses import strictest_level
from gridc.compiler.hypotheses.kind import TOGETHER
from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import manifest, prospects
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.hypotheses import DECISIONS
from gridc.reports.findings.hypotheses.finding import MeasuredStudy
from gridc.reports.findings.observations import Samples
from gridc.schema.spec import Spec
from gridc.statistics.case_totals import case_table, collapse
from gridc.statistics.clustered_logit import Jackknife, NotEstimable, fit, maximum
from gridc.statistics.expected_power import (
    FLIPPED,
    Assumptions,
    DecidingTest,
    Layout,
    Stratum,
    _rates,
    assumed_design,
    detectable_gap,
    power,
    smallest,
)
from gridc.statistics.verdicts import POWER

SIZES = {"one": 90, "two": 160}
MODELS = ("ant", "bee", "cat")
ARMS = ("plain", "a", "b", "c")
TO = {"axis": "arm", "reference": "plain"}


def spec_of(**hypothesis: Any) -> Spec:
    """Three models, two benchmarks and four levels; one hypothesis in a family of two."""
    second = {"id": "other", "kind": "difference", "level": "b", **TO, "family": "all"}
    return Spec.model_validate(
        {
            "gridcard": 1,
            "study": {"id": "s", "title": "S", "purpose": "comparative", "not_varied": ["x"]},
            "model": [{"id": name, "engine": "hf", "source": "builtin:none"} for name in MODELS],
            "benchmark": [
                {"id": name, "loader": "truthfulqa_mc1", "source": "builtin:none", "option_order": "file",
                 "direction": "higher_is_better"}
                for name in SIZES
            ],
            "harness": {"prompt": "{{ question }}", "method": "extract"},
            "axis": [
                {"id": "arm", "level": [
                    {"id": arm, "tier": "core", "provenance": "x", "prompt": f"{arm} {{{{ question }}}}"}
                    for arm in ARMS
                ]}
            ],
            "family": [{"id": "all", "correction": "holm", "alpha": 0.05}],
            "hypothesis": [{"id": "H", "family": "all", **hypothesis}, second],
            "analysis": {"estimator": "cluster_logit"},
        }
    )  # fmt: skip


def items_of(benchmark: str, size: int) -> Items:
    names = [f"{benchmark}{number:04}" for number in range(size)]
    items = tuple(Item(name, f"{name}?", ("yes", "no"), 0, name) for name in names)
    return Items(items, (), LoadedItems(items, {"items": "0" * 64}))


def plan_of(spec: Spec) -> Plan:
    items = {name: items_of(name, size) for name, size in SIZES.items()}
    weights = ModelIdentity("builtin:none", files=(("weights", "0" * 64),))
    return Plan(Study(spec, prompts={}, items=items, absent={}, models=dict.fromkeys(MODELS, weights)))


def answers(random: Any, size: int, rates: Any, changing: float) -> Any:
    """Right or wrong, (items, models, levels), by `rates` (models, levels). Answers under two levels differ
    for a share `changing`, beside those that their rates make differ; two models share what they draw for an
    item a tenth of the time."""
    models, levels = rates.shape
    shared = random.random((size, models, 1)) < sqrt(TOGETHER)

    def drawn(width: int) -> Any:
        return np.where(shared, random.random((size, 1, width)), random.random((size, models, width)))

    place, turns = drawn(1), drawn(levels) < 0.5
    return changed(place, turns, rates, changing)


def changed(place: Any, turns: Any, rates: Any, changing: float) -> Any:
    """What lies below its level's rate is right. Half of the levels exchange as much below all rates for as
    much above them: two of an item do so apart half of the time."""
    low, high = rates.min(axis=-1, keepdims=True), rates.max(axis=-1, keepdims=True)
    loses, gains = (low - changing <= place) & (place < low), (high <= place) & (place < high + changing)
    return np.where(turns & loses, False, np.where(turns & gains, True, place < rates))


def rates_of(kind: str, effect: float, down: bool) -> dict[str, Any]:
    """By benchmark: rates of models and levels."""
    low, high = 0.5 - effect / 2, 0.5 + effect / 2
    low, high = (high, low) if down else (low, high)
    rates = {name: np.full((len(MODELS), len(ARMS)), low) for name in SIZES}
    for name, own in rates.items():
        if kind == "trend":
            odds = (
                np.log(low / (1 - low))
                + (np.log(high / (1 - high)) - np.log(low / (1 - low))) * np.arange(4) / 3
            )
            own[:] = 1 / (1 + np.exp(-odds))
        elif kind == "by model":
            own[-1, -1] = high
        elif kind != "by benchmark" or name == "one":
            own[:, -1] = high
    return rates


def share_decided(kind: str, stated: dict[str, Any], effect: float, changing: float, runs: int) -> float:
    """The share of simulated studies that decide for the claim (a control: against it), at the level of the
    family's strictest step."""
    spec = spec_of(**stated)
    plan, hypothesis = plan_of(spec), spec.hypothesis[0]
    level, cells = strictest_level(spec, hypothesis), list(plan.cells())
    down = stated.get("side") == "less" or stated.get("direction") == "decreasing"
    rates, random, found = rates_of(kind, effect, down), np.random.default_rng(7), 0
    for _ in range(runs):
        drawn = {name: answers(random, size, rates[name], changing) for name, size in SIZES.items()}
        stored = {}
        for cell in cells:
            right = drawn[cell.benchmark][:, MODELS.index(cell.model), ARMS.index(cell.levels["arm"])].astype(
                int
            )
            names = tuple(item.id for item in plan.study.items[cell.benchmark].sampled)
            ones = np.ones_like(right)
            stored[cell.key] = CellOutcomes(names, ones, ones, ones, right, right)
        nothing: Any = None
        measured = MeasuredStudy(spec, Samples(plan, stored), [], nothing, nothing, True)
        decided = DECISIONS[hypothesis.kind].decide(measured, hypothesis)
        p = decided.refute if hypothesis.kind == "null_control" else decided.support
        found += p <= level
    return found / runs


KINDS: dict[str, dict[str, Any]] = {
    "two-sided": {"kind": "difference", "level": "c", **TO},
    "one-sided": {"kind": "difference", "level": "c", "side": "greater", **TO},
    "omnibus": {"kind": "difference", "level": ["a", "b", "c"], **TO},
    "the best of three": {"kind": "difference", "level": ["a", "b", "c"], "side": "less", **TO},
    "by model": {"kind": "interaction", "axis": "arm", "by": "model"},
    "by benchmark": {"kind": "interaction", "axis": "arm", "by": "benchmark"},
    "trend": {"kind": "trend", "axis": "arm", "order": list(ARMS), "direction": "decreasing"},
    "control": {"kind": "null_control", "level": "c", "margin": {"pp": 2}, **TO},
    "equivalence": {"kind": "equivalence", "level": "c", "margin": {"pp": 2}, **TO},
    "equivalence of three": {"kind": "equivalence", "level": ["a", "b", "c"], "margin": {"pp": 2}, **TO},
    "noninferiority": {"kind": "noninferiority", "level": "c", "side": "less", "margin": {"pp": 2}, **TO},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "changing"), [*((kind, 0.3) for kind in KINDS), ("two-sided", 0.1), ("equivalence", 0.1)]
)
def test_what_a_plan_promises_is_decided_four_times_in_five(kind: str, changing: float) -> None:
    """Data by the assumptions, the decision by the code of the report. Promised is .80; the simulated share
    lies within four standard errors of it, and five points beside (Student's t of a linear statistic)."""
    stated, runs = KINDS[kind], 100
    (promised, _) = prospects(plan_of(spec_of(**stated)))
    points = (promised.power.detectable_pp or {})[str(changing)]
    assert points is not None
    shown = stated["kind"] in ("equivalence", "noninferiority")
    if shown:
        stated = stated | {"margin": {"pp": points}}
    share = share_decided(kind, stated, 0.0 if shown else points / 100, changing, runs)
    assert share == pytest.approx(POWER, abs=4 * sqrt(POWER * (1 - POWER) / runs) + 0.05), (points, share)


def test_one_level_of_one_model_is_the_paired_t_test() -> None:
    """Closed form: 400 pairs of which .2 change beside the effect d, so that a pair's variance is .2 + d -
    d^2; and with six models whose changes correlate a tenth, 1.5 / 6 of it."""
    for answered, spread in ((1, 1.0), (6, 1.5 / 6)):
        layout, assumed = Layout((Stratum((answered,) * 400),), 2), Assumptions(0.2, 0.1)
        for effect in (0.02, 0.05, 0.08):
            error = sqrt((0.2 + effect - effect**2) * spread / 400)
            cut = t.isf(0.025, 399)
            expected = nct.sf(cut, 399, effect / error) + nct.cdf(-cut, 399, effect / error)
            found = power(DecidingTest("effect", "two-sided", 0.05), layout, assumed, effect)
            assert found == pytest.approx(expected, abs=0.01)
            one_sided = power(DecidingTest("effect", "less", 0.05), layout, assumed, effect)
            assert one_sided == pytest.approx(nct.sf(t.isf(0.05, 399), 399, effect / error), abs=0.01)


KEPT: dict[str, tuple[tuple[float, ...], float]] = {
    "30 x 4": ((4.0,) * 30, 0.3),
    "60 x 8": ((8.0,) * 60, 0.3),
    "60 x 1": ((1.0,) * 60, 0.3),
    "295 x 1": ((1.0,) * 295, 0.1),
    "817 x 1": ((1.0,) * 817, 0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KEPT)
def test_a_difference_is_found_as_often_as_was_promised(name: str) -> None:
    """Answers rise with the effect and half of what changes, and fall with the other half: as the plan says
    it in words, and not as it computes it."""
    sizes, changing = KEPT[name]
    test, assumed = DecidingTest("effect", "two-sided", 0.05), Assumptions(changing, 0.1)
    effect = smallest(test, Layout((Stratum(sizes),), 2), assumed)
    assert effect is not None
    random, runs, found = np.random.default_rng(21), 1500, 0
    unit_of = np.repeat(np.arange(len(sizes)), np.array(sizes, int))
    for _ in range(runs):
        together = random.random(len(unit_of)) < sqrt(0.1)
        moves, stays = (
            np.where(together, random.random(len(sizes))[unit_of], random.random(len(unit_of)))
            for _ in range(2)
        )
        rises, falls = moves < changing / 2 + effect, moves > 1 - changing / 2
        right = stays < (0.5 - effect / 2 - changing / 2) / (1 - changing - effect)
        answered = np.concatenate([np.where(rises, 0, falls | right), np.where(falls, 0, rises | right)])
        table = case_table(np.tile(unit_of, 2), np.repeat([0, 1], len(unit_of)), answered.astype(float), 2)
        design = np.array([[1.0, 0.0], [1.0, 1.0]])
        try:
            one = Jackknife(design, table, maximum(design, table)).combination([0, 1])
        except NotEstimable:
            continue
        found += one.p <= 0.05 and one.spread.enough
    print(f"{name}: {100 * effect:.1f} pp, kept {found / runs:.3f}")
    assert found / runs == pytest.approx(POWER, abs=0.05 if len(sizes) == 30 else 0.03)


def test_an_interaction_of_benchmarks_compares_their_differences() -> None:
    """Four groups of 100 pairs of which one rises by d: the spread of four means about their mean, by Box's F
    of their variances, which are .3 a pair, and .3 + d - d^2 in the group that rises."""
    layout, effect = Layout((Stratum((1,) * 100),) * 4, 2, by="stratum"), 0.1
    found = power(DecidingTest("crossed", "two-sided", 0.05), layout, Assumptions(0.3, 0.0), effect)
    about = np.eye(4) - 1 / 4
    own = about @ np.diag([0.3 + effect - effect**2, 0.3, 0.3, 0.3]) @ about / 100
    shift = about @ np.array([effect, 0, 0, 0])
    above = np.trace(own) ** 2 / np.trace(own @ own)
    spread = above * float(shift @ shift) / np.trace(own)
    assert found == pytest.approx(
        ncf.sf(f.isf(0.05, above, 397 * above), above, 397 * above, spread), abs=0.01
    )


def test_more_of_everything_is_more_power() -> None:
    """More units and more answers that are not the same find less; more changes find more only."""
    test, few = DecidingTest("effect", "two-sided", 0.05), Layout((Stratum((2,) * 100),), 3)
    least = smallest(test, few, Assumptions(0.1, 0.1))
    assert least is not None
    for layout, assumed in (
        (Layout((Stratum((2,) * 200),), 3), Assumptions(0.1, 0.1)),
        (Layout((Stratum((6,) * 100),), 3), Assumptions(0.1, 0.1)),
        (few, Assumptions(0.1, 0.0)),
        (few, Assumptions(0.05, 0.1)),
    ):
        less = smallest(test, layout, assumed)
        assert less is not None and less < least
    as_one = smallest(test, few, Assumptions(0.1, 1.0))
    assert as_one == pytest.approx(
        smallest(test, Layout((Stratum((1,) * 100),), 3), Assumptions(0.1, 1.0)), rel=0.01
    )
    assert (
        smallest(
            DecidingTest("crossed", "two-sided", 0.05),
            Layout((Stratum((1,) * 5),), 4, by=4),
            Assumptions(0.3, 0.1),
        )
        is None
    )


@pytest.mark.parametrize("kind", ["bets", "flips"])
def test_the_gap_of_an_order_is_found_in_fresh_studies(kind: Any) -> None:
    """Units of three items: what the simulation finds is found again with other draws."""
    from gridc.statistics.betting import log_e_values, p_of_e_values, stakes
    from gridc.statistics.sign_flips import max_t_alone, random_signs

    sizes, tests = (3,) * 60, 4
    found = detectable_gap(kind, tests, 0.025, sizes, 0.3, 0.1)
    assert found.gap is not None and 0 < found.error < 0.05
    random, runs = np.random.default_rng(99), 4000 if kind == "bets" else 400
    toward = (max(0.3, found.gap) + found.gap) / 2
    away = toward - found.gap
    shared = random.random((runs, 60, 1))
    drawn = np.where(random.random((runs, 60, 3)) < sqrt(0.1), shared, random.random((runs, 60, 3)))
    units = ((drawn < toward).astype(int) - (drawn > 1 - away)).sum(axis=2)
    if kind == "bets":
        p = p_of_e_values(log_e_values(units, 3, stakes(3)))
    else:
        signs, one = random_signs(60, 1999, 5), np.ones((1, 1), dtype=int)
        p = np.array([max_t_alone(row[None], one, signs).plus_alone[0] for row in units])
    share = (p <= 0.025).mean()
    both = sqrt(found.error**2 + tests**2 * share * (1 - share) / runs)
    assert 1 - tests * (1 - share) == pytest.approx(POWER, abs=3 * both + tests / FLIPPED)


def test_a_plan_says_what_decides_and_at_which_level() -> None:
    told = manifest(plan_of(spec_of(**KINDS["omnibus"])))
    assert "rates near 50 %" in told["assumed"]
    one, other = (each["power"] for each in told["hypotheses"])
    assert one["test"] == "joint test of 3 levels, the clustered logit" and one["alpha"] == 0.025
    assert other["test"] == "two-sided test, the clustered logit"
    assert one["detectable_pp"]["0.1"] < one["together_pp"]["0.1"]
    without = spec_of(**KINDS["two-sided"])
    silent = replace_estimator(without)
    (first, _) = prospects(plan_of(silent))
    assert first.power.test == "none, since [analysis] declares no estimator"
    assert first.power.detectable_pp is None
    (shown, _) = manifest(plan_of(silent))["hypotheses"]
    assert [*shown["outcomes"]] == ["open"], "no verdict is promised that no test can give"


def replace_estimator(spec: Spec) -> Spec:
    return spec.model_copy(update={"analysis": spec.analysis.model_copy(update={"estimator": "none"})})


def test_the_simulated_design_is_the_one_that_is_fitted() -> None:
    """One level of one part moves."""
    layout, interaction = (
        Layout((Stratum((1,) * 10), Stratum((1,) * 5)), 3, by=2),
        DecidingTest("crossed", "two-sided", 0.05),
    )
    assert (_rates(interaction, layout, 0.2) == 0.6).sum() == 2
    by_stratum = replace(layout, by="stratum")
    rates = _rates(interaction, by_stratum, 0.2)
    assert rates[1, 0, 2] == 0.6 and (rates == 0.6).sum() == 1
    assert len(assumed_design(interaction, layout).places("axis", "block")) == 2


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [2.0, 1.5])
def test_units_of_unequal_sizes_keep_what_is_promised_of_them(exponent: float) -> None:
    """Sixty units of 8 items on average; an effect for equal units of that mean is found far less often."""
    random, runs = np.random.default_rng(3), 400
    drawn = random.pareto(exponent, 60) + 1
    sizes = np.maximum(1, np.round(8 * drawn / drawn.mean())).astype(int)
    test, assumed = DecidingTest("effect", "two-sided", 0.05), Assumptions(0.2, 0.1)
    found = smallest(test, Layout((Stratum(tuple(map(float, sizes))),), 2), assumed)
    equal = smallest(test, Layout((Stratum((float(sizes.mean()),) * 60),), 2), assumed)
    assert found is not None and equal is not None

    def share(effect: float) -> float:
        unit_of = np.repeat(np.arange(60), sizes)
        items, decided = len(unit_of), 0
        patterns = np.repeat([0, 1], items)
        for _ in range(runs):
            together = random.random(items) < sqrt(TOGETHER)
            place, *turns = (
                np.where(together, random.random(60)[unit_of], random.random(items))[:, None]
                for _ in range(3)
            )
            rates = np.array([0.5 - effect / 2, 0.5 + effect / 2])
            right = changed(place, np.hstack(turns) < 0.5, rates, 0.2).T
            answered = np.tile(unit_of, 2), patterns, np.concatenate(right).astype(float), 2
            design = [[1, 0], [1, 1]]
            errors = Jackknife(design, case_table(*answered), fit(design, collapse(*answered)).coefficients)
            one = errors.combination([0, 1])
            decided += one.p <= 0.05 and one.spread.enough
        return decided / runs

    assert share(found) >= POWER - 0.06 and share(equal) < POWER - 0.05
