"""How a hypothesis about an effect is decided: from tests to p-values for support and refutation, to a
verdict.

A report decides measured answers by these functions, and a plan asks them what some outcome would be
(`outcome_p_values`), so that both say the same. Answers lie in patterns (part, block, level): a part is a
benchmark, blocks are models or other levels inside each unit, and levels are those compared, the reference
first.

What n paired units can show is known before any data exist. A unit is an item, or a group of items, whose
outcome is compared with itself: under two levels of an axis, or for two models.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.arrays import Whole
from gridc.statistics.bounded_means import (
    Agreement,
    against_zero,
    agreed,
    contrast_weights,
    jointly,
    of_direction,
    slope,
)
from gridc.statistics.case_totals import CaseTable, DesignMatrix, distinct_rows, merged
from gridc.statistics.clustered_logit import Jackknife, NotEstimable, Spread, maximum, unit
from gridc.statistics.reproducibility import Verdict

Alternative = Literal["two-sided", "greater", "less"]

POWER = 0.8
"""The probability with which the smallest effect of a design is found."""


class RiseFall(NamedTuple):
    """How many of the units rise, and how many fall."""

    rise: int
    fall: int


def mcnemar_power(alpha: float, units: int, rise: float, fall: float) -> float:
    """The probability that the one-sided exact McNemar test finds a rise at `alpha`, where each of `units`
    rises with probability `rise` and falls with `fall`: exact up to the tails, of 1e-9, that are left out."""
    from scipy.stats import binom

    share = rise + fall
    if share == 0:
        return 0.0
    changed = _window(units, share)
    # The least count whose tail is alpha or less: isf gives the one below it.
    chance = binom.sf(binom.isf(alpha, changed, 0.5), changed, rise / share)
    return float((binom.pmf(changed, units, share) * chance).sum())


def _window(units: int, share: float) -> Whole:
    """The counts of Bin(units, share) but for tails of 1e-9."""
    from scipy.stats import binom

    low, high = binom.ppf(1e-9, units, share), binom.isf(1e-9, units, share)
    return np.arange(max(int(low) - 1, 0), min(int(high) + 1, units) + 1, dtype=np.int64)


def share_bounds(alpha: float, changed: int, units: int) -> tuple[float, float]:
    """Clopper-Pearson: both one-sided limits of a share, at alpha each."""
    from scipy.special import betaincinv

    least = 0.0 if changed == 0 else float(betaincinv(changed, units - changed + 1, alpha))
    most = 1.0 if changed == units else float(betaincinv(changed + 1, units - changed, 1 - alpha))
    return least, most


Tails = tuple[float, float]
"""p of: the odds rise, and of: they fall."""
Decided = Literal["supported", "refuted"]


def decided_verdict(support: float, refute: float, alpha: float, first: Decided = "supported") -> Verdict:
    """Open where neither is found at `alpha`; where both are, the one that comes `first`."""
    if min(support, refute) > alpha:
        return "open"
    if first == "refuted":
        return "refuted" if refute <= alpha else "supported"
    return "supported" if support <= alpha else "refuted"


def estimate_tails(ratio: float, p: float, enough: bool) -> Tails:
    """From an estimate over its error and the two-sided p; 1 where the units are too few to decide."""
    if not enough:
        return 1.0, 1.0
    near, far = p / 2, 1 - p / 2
    return (near, far) if ratio > 0 else (far, near)


AtBound = Callable[[CaseTable, int, int, float, float], float]
"""A test of a level's difference from a reference at a bound: see `statistics.margins`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of levels against a reference: `units` are those of the answers by arm, `levels` and
    `reference` their places; `p` is that of the test of all levels, and `sides` those of each. Over several
    levels a claim of every one is its largest p, and a claim of some one the smallest times their number.
    At a bound no unit is taken to change by more than `largest`."""

    units: CaseTable
    levels: Sequence[int]
    reference: int
    p: float
    sides: Sequence[Tails]
    largest: float = 1.0

    @property
    def rises(self) -> float:
        """p of: the odds rise under some level."""
        return self._some([up for up, _ in self.sides])

    @property
    def falls(self) -> float:
        """p of: the odds fall under some level."""
        return self._some([down for _, down in self.sides])

    def every(self, test: AtBound, bound: float) -> float:
        """p of: every level's difference lies as the test says."""
        return max(self._at(test, bound))

    def some(self, test: AtBound, bound: float) -> float:
        """p of: some level's difference lies so."""
        return self._some(self._at(test, bound))

    def _at(self, test: AtBound, bound: float) -> list[float]:
        return [test(self.units, level, self.reference, bound, self.largest) for level in self.levels]

    def _some(self, ps: Sequence[float]) -> float:
        return min(1.0, len(self.levels) * min(ps))


PValues = Callable[[Evidence, Alternative, float | None], tuple[float, float]]
"""p of what is predicted and of what refutes it, by the predicted side and the margin."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When an outcome supports or refutes a prediction about mean paired differences: each where its p, by
    `p_of`, is `alpha` or less, and where both are the one that comes `first`.

    `margin` is a proportion, not percentage points. `sided` says whether rises and falls of the same size
    decide differently. At the margin no unit is taken to change by more than `largest`; with `of_items` items
    are the units there.
    """

    p_of: PValues
    side: Alternative
    alpha: float
    margin: float | None
    sided: bool
    first: Decided = "supported"
    largest: float = 1.0
    of_items: bool = False

    def p_values(self, evidence: Evidence) -> tuple[float, float]:
        return self.p_of(replace(evidence, largest=self.largest), self.side, self.margin)

    def verdict(self, support: float, refute: float) -> Verdict:
        return decided_verdict(support, refute, self.alpha, self.first)


@dataclass(frozen=True, slots=True)
class AskedItems:
    """What is asked under every level: of each part (a benchmark) how many items each of its units has, and
    how often each is answered in each of `blocks`. `numbers` of the units of each part say which are one unit
    (`merged`)."""

    sizes: tuple[tuple[int, ...], ...]
    numbers: tuple[tuple[int, ...], ...]
    answers: tuple[float, ...]
    levels: int
    by: int | Literal["part"] = 1
    doses: tuple[float, ...] = ()
    interaction: bool = False

    @property
    def blocks(self) -> int:
        return 1 if self.by == "part" else self.by

    @property
    def changing(self) -> int:
        """How many items could change under a level; of an interaction as many can go either way."""
        return sum(map(sum, self.sizes)) // (3 if self.interaction else 1)


def outcome_p_values(
    rule: Rule, planned: AskedItems, design: DesignMatrix, columns: Sequence[int], rise: int, fall: int
) -> tuple[float, float]:
    """p of support and of refutation where, from the reference to every level, `rise` items become right and
    `fall` wrong with all their answers, spread over the units as evenly as their sizes allow: along doses
    halfway, and of an interaction the other way round but for the last level in the last block or part. All
    else stays, half of it right and half wrong. Tested are `columns` of `design`, whose rows are patterns."""
    table = _table(planned, rise, fall)
    arms = np.tile(np.eye(planned.levels), (len(table.rows[0]) // planned.levels, 1))
    by_arm = CaseTable(table.rows @ arms, table.sums @ arms, table.cases)
    joint_p, sides = 1.0, [(1.0, 1.0)] * len(columns)
    try:
        coefficients = maximum(design.matrix, table)
        errors = Jackknife(design.matrix, table, coefficients)
        combinations = [errors.combination(unit(column, len(design.columns))) for column in columns]
        checks = [
            of_direction(_check(planned, by_arm, at), one.ratio) for at, one in enumerate(combinations, 1)
        ]
        each = [agreed(one.p, agrees) for one, agrees in zip(combinations, checks, strict=True)]
        sides = [
            estimate_tails(one.ratio, p, one.spread.enough) for one, p in zip(combinations, each, strict=True)
        ]
        if len(columns) == 1:
            joint_p = _decided(each[0], combinations[0].spread)
        else:
            joint = errors.joint(unit(list(columns), len(design.columns)))
            joint_p = _decided(jointly(joint.p, each, checks), joint.spread)
    except NotEstimable:
        pass
    if rule.of_items:
        single = tuple((1,) * sum(sizes) for sizes in planned.sizes)
        table = _table(replace(planned, sizes=single, numbers=tuple(() for _ in single)), rise, fall)
        by_arm = CaseTable(table.rows @ arms, table.sums @ arms, table.cases)
    return rule.p_values(Evidence(by_arm, range(1, planned.levels), 0, joint_p, sides))


def _check(planned: AskedItems, by_arm: CaseTable, level: int) -> Agreement:
    """What a report checks of a level, or of a slope; of an interaction nothing."""
    if planned.interaction:
        return None, None
    if planned.doses:
        return against_zero(by_arm, slope(planned.doses))
    return against_zero(by_arm, contrast_weights(planned.levels, level, 0))


def witnesses(
    rule: Rule, planned: AskedItems, design: DesignMatrix, columns: Sequence[int]
) -> Mapping[Verdict, RiseFall]:
    """For each verdict that some outcome reaches, the one with the fewest changes: all one way, or as many up
    as down. The deciding functions are asked on a grid of outcomes and, between two that differ, by
    halves."""

    @cache
    def reached(outcome: RiseFall) -> Verdict:
        support, refute = outcome_p_values(rule, planned, design, columns, *outcome)
        return rule.verdict(support, refute)

    named: dict[Verdict, RiseFall] = {}

    def look(way: RiseFall, most: int) -> None:
        before = 0
        for count in _grid(most):
            low, high, last = before, count, reached(RiseFall(way.rise * before, way.fall * before))
            if reached(RiseFall(way.rise * count, way.fall * count)) != last:
                while high - low > 1:
                    middle = (low + high) // 2
                    same = reached(RiseFall(way.rise * middle, way.fall * middle)) == last
                    low, high = (middle, high) if same else (low, middle)
            for place in (before, high):
                outcome = RiseFall(way.rise * place, way.fall * place)
                known = named.setdefault(reached(outcome), outcome)
                if sum(outcome) < sum(known):
                    named[reached(outcome)] = outcome
            before = count

    look(RiseFall(1, 0), planned.changing)
    if rule.sided:
        look(RiseFall(0, 1), planned.changing)
    if "open" not in named or sum(named["open"]) > 1:
        look(RiseFall(1, 1), planned.changing // 2)
    return named


def _grid(most: int) -> Iterator[int]:
    count = 1
    while count < most:
        yield count
        count = max(count + 1, count * 3 // 2)
    yield most


def _decided(p: float, spread: Spread) -> float:
    return p if spread.enough else 1.0


@lru_cache(maxsize=64)
def _order(sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """The unit of each item, in an order whose every beginning has each unit in proportion to its size."""
    units = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.repeat(np.r_[0, np.cumsum(sizes)[:-1]], sizes)
    turn = (np.arange(len(units)) - starts + 0.5) / np.repeat(sizes, sizes)
    ordered: NDArray[np.int64] = units[np.argsort(turn, kind="stable")]
    return ordered


def _table(planned: AskedItems, rise: int, fall: int) -> CaseTable:
    """The units by kind; patterns are (part, block, level)."""
    parts, width = len(planned.sizes), planned.blocks * planned.levels
    everything = sum(map(sum, planned.sizes))
    rows, sums, left = [], [], (rise, fall)
    for at, sizes in enumerate(planned.sizes):
        items, units, order = sum(sizes), len(sizes), _order(sizes)
        last = at == parts - 1
        own = left if last else (round(rise * items / everything), round(fall * items / everything))
        left = left[0] - own[0], left[1] - own[1]
        s = np.zeros((units, planned.blocks, planned.levels))
        n = np.broadcast_to(np.array(sizes, float)[:, None, None], s.shape)
        right = (items - own[0] + own[1]) // 2
        stays = np.diff(np.arange(items + 1) * right // items).astype(np.float64)
        for block in range(planned.blocks):
            s[:, block, 0] = np.bincount(order, stays, minlength=units)
            for level in range(1, planned.levels):
                if planned.doses and level < (planned.levels + 1) // 2:
                    s[:, block, level] = s[:, block, 0]
                    continue
                here = last if planned.by == "part" else block == planned.blocks - 1
                up, down = (
                    own if not planned.interaction or (here and level == planned.levels - 1) else own[::-1]
                )
                # Every level, and every part of an interaction, has items of its own that change.
                place = 0 if planned.doses else (block * planned.levels + level - 1) * (up + down)
                after = stays.copy()
                after[_cyclic_places(np.flatnonzero(stays == 0), place, up)] = 1.0
                after[_cyclic_places(np.flatnonzero(stays == 1), place, down)] = 0.0
                s[:, block, level] = np.bincount(order, after, minlength=units)
        rows.append((planned.answers[at] * n).reshape(units, width))
        sums.append((planned.answers[at] * s).reshape(units, width))
    both = np.hstack([merged(rows, planned.numbers), merged(sums, planned.numbers)])
    # As np.unique has them, which would sort all units to find the few kinds.
    kinds, of_unit = distinct_rows(both)
    ascending = np.lexsort(kinds.T[::-1])
    kinds, cases = kinds[ascending], np.bincount(of_unit)[ascending]
    return CaseTable(kinds[:, : parts * width], kinds[:, parts * width :], cases)


def _cyclic_places(places: NDArray[np.int64], first: int, count: int) -> NDArray[np.int64]:
    """So many of the places, from the `first` on and around their end."""
    count = min(count, len(places))
    return places[(first + np.arange(count)) % len(places)] if count else places[:0]
