"""The power of each hypothesis by the test that will decide it, at the planned items.

Levels are those at the family's strictest step. What is assumed of the answers is said once, in `ASSUMED`;
benchmarks count with their own numbers of units.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from gridc.compiler.grid.configurations import graded
from gridc.compiler.grid.hypothesis_kinds import kind_of, rate_of, strictest_level, untested
from gridc.compiler.inputs.units import Group
from gridc.schema.inference import AnyHypothesis, ContrastHypothesis, RankingHypothesis
from gridc.schema.spec import Spec
from gridc.statistics import margins
from gridc.statistics.expected_power import (
    BASE,
    Assumed,
    DecidingTest,
    Layout,
    OrderTest,
    Stratum,
    margin_error,
    order_power,
    power,
    smallest,
    smallest_gap,
)

CHANGING = (0.1, 0.3)
"""Shares of items whose answers differ between two levels, or two models, for which power is given."""
TOGETHER = 0.1
"""The correlation of answers to a unit that differ in more than the level, over that of those that do not."""
NOT_MEANS = ("bias_ambiguous", "bias_disambiguated", "bias_magnitude")
"""Outcomes that no estimator reads: they are no means over items."""
FEW = 30
"""Units below which a power is approximate: the tests' errors are then too."""


def assumed_words(*changing: float) -> str:
    """What a power assumes, where so large a share of the items changes."""
    return (
        f"rates near {BASE:.0%}; answers under two levels, the item and all else the same, differ on "
        f"{' or '.join(f'{share:.0%}' for share in changing)} of the items beside what the effect moves; "
        f"answers to a unit that differ in more (model, other axes, item) correlate {TOGETHER:g} times as "
        "much; of several levels or parts one differs; every answer is readable, and replicates add nothing"
    )


ASSUMED = assumed_words(*CHANGING)
"""What the powers of a plan assume."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a hypothesis is tested on in one benchmark: how many items each unit has, each counted once, and
    in how many cells each combination of compared levels is. `names` are those of the units where benchmarks
    share some (`inputs.units.one_group`): the same name is the same unit."""

    sizes: tuple[int, ...]
    cells: Mapping[tuple[str, ...], int]
    names: tuple[Group, ...] = ()

    @property
    def items(self) -> int:
        return sum(self.sizes)

    @property
    def units(self) -> int:
        return len(self.sizes)


def numbers_of(parts: Collection[Part]) -> tuple[tuple[int, ...], ...]:
    """The number of each unit of each part; without them where no two parts share a unit."""
    names = list(chain.from_iterable(part.names for part in parts))
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if len(number) == len(names):
        return tuple(() for _ in parts)
    return tuple(tuple(number[name] for name in part.names) for part in parts)


def units_of(parts: Collection[Part]) -> int:
    """How many units several parts have."""
    unnamed = sum(part.units for part in parts if not part.names)
    return len({*chain.from_iterable(part.names for part in parts)}) + unnamed


@dataclass(frozen=True, slots=True)
class DesignPower:
    """What a hypothesis's own test can show.

    `test` says which it is, `alpha` at which level (None: a ranking that is not tested). `detectable_pp` is
    the smallest effect that is found 4 times in 5, in percentage points rounded up to a tenth, by the share
    of `CHANGING`; of equivalence and noninferiority the smallest margin that is shown where there is no
    difference.
    `together_pp` is the same where all answers to a unit that differ in more than the level move as one; None
    where each unit has one such answer. `power_at_margin` is the probability of finding a difference of the
    stated margin, or of showing the margin where there is none. Of a ranking all of these are at least so
    large, however its configurations depend on each other. None: not at all, or not known. `error` is the
    largest Monte Carlo standard error of the power 0.8, where it is simulated.
    """

    test: str
    alpha: float | None
    detectable_pp: Mapping[str, float | None] | None = None
    together_pp: Mapping[str, float | None] | None = None
    power_at_margin: Mapping[str, float] | None = None
    error: float | None = None


def design_power(spec: Spec, hypothesis: AnyHypothesis, parts: Mapping[str, Part] | None) -> DesignPower:
    """By the planned units of each benchmark; without them (None) the test alone is named."""
    if isinstance(hypothesis, RankingHypothesis):
        return _ranking(spec, hypothesis, parts)
    alpha = strictest_level(spec, hypothesis)
    about_margin = hypothesis.kind in ("equivalence", "noninferiority")
    if why := undecidable(spec, hypothesis):
        return DesignPower(f"none, since {why}", alpha)
    test = deciding_test(hypothesis, alpha)
    if parts is None or not parts or min(part.units for part in parts.values()) == 0:
        return DesignPower(_words(spec, hypothesis, None), alpha)
    layout = layout_of(spec, hypothesis, parts)

    def effects(together: float) -> dict[str, float | None]:
        return {str(share): _points(smallest(test, layout, Assumed(share, together))) for share in CHANGING}

    at_margin = None
    if test.margin:
        size = 0.0 if about_margin else test.margin
        at_margin = {
            str(share): round(power(test, layout, Assumed(share, TOGETHER), size), 4) for share in CHANGING
        }
    several = float(layout.by_unit.sum(axis=1).max()) > 1 and hypothesis.kind != "interaction"
    return DesignPower(
        _words(spec, hypothesis, layout),
        alpha,
        effects(TOGETHER),
        effects(1.0) if several else None,
        at_margin,
        round(margin_error(test, layout), 3) if about_margin else None,
    )


def undecidable(spec: Spec, hypothesis: AnyHypothesis) -> str | None:
    """Why no test decides a hypothesis; None where one does."""
    if isinstance(hypothesis, RankingHypothesis):
        if spec.analysis.evidence == "descriptive":
            return "the scores on the items that are asked decide"
        return "nothing is tested of distances from a target" if untested(hypothesis, spec) else None
    if rate_of(hypothesis) in NOT_MEANS:
        return f"{rate_of(hypothesis)} is no mean over items"
    if hypothesis.kind not in ("equivalence", "noninferiority") and spec.analysis.estimator == "none":
        return "[analysis] declares no estimator"
    return None


def power_at(
    stated: Spec,
    cut: Spec,
    hypothesis: AnyHypothesis,
    parts: Mapping[str, Part] | None,
    effect: float,
    assumed: Assumed,
) -> float:
    """The probability that a hypothesis of the spec `stated` is decided where it is true, by the cells of
    `cut`: that a difference of `effect`, a proportion, is found; that a margin is shown where there is no
    difference; and of a null_control the smaller of both."""
    if not parts or min(part.units for part in parts.values()) < 2:
        return 0.0
    alpha = strictest_level(stated, hypothesis)
    if isinstance(hypothesis, RankingHypothesis):
        tests, sizes = order_tests(cut, hypothesis, parts)
        kind = order_test(stated, parts)
        found, _ = order_power(kind, tests, alpha, sizes, assumed.changing, assumed.together, effect)
        return max(found, 0.0)
    test, layout = deciding_test(hypothesis, alpha), layout_of(cut, hypothesis, parts)
    if hypothesis.kind in ("equivalence", "noninferiority"):
        return power(test, layout, assumed, 0.0)
    found = power(test, layout, assumed, effect)
    if test.claim != "no_effect":
        return found
    return min(found, power(replace(test, claim="equivalence"), layout, assumed, 0.0))


def deciding_test(hypothesis: AnyHypothesis, alpha: float) -> DecidingTest:
    rule = kind_of(hypothesis).rule
    assert rule is not None
    stated = rule(hypothesis, alpha)
    claim = "interaction" if hypothesis.kind == "interaction" else stated.claim
    return DecidingTest(claim, stated.side, alpha, stated.margin)


def layout_of(spec: Spec, hypothesis: AnyHypothesis, parts: Mapping[str, Part]) -> Layout:
    """What its test compares. Of the cells under each compared level the fewest count: the others have no
    partner there."""
    compared = kind_of(hypothesis).compared(hypothesis, spec, next(iter(parts.values())).cells)
    blocks = 1 if compared.by == "benchmark" else compared.by
    strata = []
    for part, numbers in zip(parts.values(), numbers_of(parts.values()), strict=True):
        by_level = [
            sum(count for combination, count in part.cells.items() if combination[0] == level)
            for level in compared.levels
        ]
        answers = tuple(size * min(by_level) / blocks for size in part.sizes)
        strata.append(Stratum(answers, numbers))
    by: int | Literal["stratum"] = "stratum" if compared.by == "benchmark" else compared.by
    return Layout(tuple(strata), len(compared.levels), by, compared.doses)


def _words(spec: Spec, hypothesis: AnyHypothesis, layout: Layout | None) -> str:
    """Which test decides, in words."""
    few = "" if layout is None or layout.units >= FEW else f" (approximate: {layout.units} units)"
    if isinstance(hypothesis, ContrastHypothesis) and hypothesis.kind in ("equivalence", "noninferiority"):
        sides = "both sides of" if hypothesis.kind == "equivalence" else "one side of"
        each = f", all {len(hypothesis.levels)} levels" if len(hypothesis.levels) > 1 else ""
        return f"{margins.METHOD}, at {sides} the margin{each}{few}"
    name = (
        "the clustered logit"
        if spec.analysis.estimator == "cluster_logit"
        else "the logit with random intercepts, taken to have the power of the clustered one"
    )
    several = len(hypothesis.levels) if isinstance(hypothesis, ContrastHypothesis) else 1
    sided = isinstance(hypothesis, ContrastHypothesis) and (
        hypothesis.side != "two-sided" and hypothesis.kind == "difference"
    )
    if hypothesis.kind == "interaction":
        what = "joint test of the interactions"
    elif hypothesis.kind == "trend":
        what = "one-sided test of the slope"
    elif sided:
        what = "one-sided test" + (f", for the best of {several} levels" if several > 1 else "")
    else:
        what = f"joint test of {several} levels" if several > 1 else "two-sided test"
    return f"{what}, {name}{few}"


def _ranking(spec: Spec, hypothesis: RankingHypothesis, parts: Mapping[str, Part] | None) -> DesignPower:
    if spec.analysis.evidence == "descriptive":
        return DesignPower("none: the scores on the items that are asked decide", None)
    if untested(hypothesis, spec):
        return DesignPower("none of distances from a target", None)
    alpha = strictest_level(spec, hypothesis)
    kind = order_test(spec, parts)
    test = f"{_ORDER_TESTS[kind]} for every step in every configuration"
    if not parts or min(part.units for part in parts.values()) == 0:
        return DesignPower(test, alpha)
    tests, sizes = order_tests(spec, hypothesis, parts)
    gaps = {str(share): smallest_gap(kind, tests, alpha, sizes, share, TOGETHER) for share in CHANGING}
    effects = {share: _points(found.gap) for share, found in gaps.items()}
    error = max(found.error for found in gaps.values())
    return DesignPower(f"{test} ({tests})", alpha, effects, error=round(error, 3) if error else None)


def order_tests(
    spec: Spec, hypothesis: RankingHypothesis, parts: Mapping[str, Part]
) -> tuple[int, tuple[int, ...]]:
    """How many steps in how many configurations are tested, and the units of the smallest benchmark."""
    steps = len(hypothesis.order) - 1
    tests = sum(steps * max(1, sum(part.cells.values()) // len(spec.model)) for part in parts.values())
    return tests, min(parts.values(), key=lambda part: part.units).sizes


_ORDER_TESTS: Mapping[OrderTest, str] = {
    "mcnemar": "exact McNemar",
    "bets": "bets on units",
    "flips": "sign flips of units",
}


def order_test(spec: Spec, parts: Mapping[str, Part] | None) -> OrderTest:
    """The test of a step in a configuration, as `PairEvidence` chooses it."""
    if spec.analysis.evidence == "supported":
        return "flips"
    single = parts is not None and all(part.items == part.units for part in parts.values())
    return "mcnemar" if single and not graded(spec) else "bets"


def _points(difference: float | None) -> float | None:
    return None if difference is None else rounded_up(100 * difference)


def rounded_up(points: float) -> float:
    """Percentage points to a tenth, never fewer than are needed."""
    return math.ceil(round(10 * points, 3)) / 10
