"""The claims of a study, weighed: which reversals and orders its items certify, and at which level.

Three families, each at level alpha over the whole study: every pair x benchmark on the full envelope; every
pair on every other scope (tiers, slices, measurands, parse-clean); and every strict order of all models.
In the first two, "a reverses with b" is one claim a pair and "one is higher throughout" two, adjusted
separately. A scope that was chosen after the data were seen (post hoc, parse-clean) pays for a choice among
all configurations of the envelope, so that no choice of scope can buy a certificate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gridc.reports.findings.outcomes import Outcomes
from gridc.schema.base import ALPHA
from gridc.statistics import exact_tests as evidence
from gridc.statistics.exact_tests import Identical, Named

EXCHANGES = 2000

Family = Literal["full envelope", "other scopes"]
Test = Literal["mcnemar", "sign_flip"]
Claimed = Literal["reversal", "order"]


@dataclass(frozen=True, slots=True)
class Region:
    """Configurations of a benchmark about which something is claimed. `fixed`: they were named before
    the data were seen."""

    benchmark: str
    configurations: tuple[str, ...]
    full: bool
    fixed: bool


@dataclass(frozen=True, slots=True)
class Carrier:
    """A configuration that carries a claim, and its one-sided p-value."""

    configuration: str
    p: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the items say of one pair (a, b) in one region.

    `reversal` and `order` are p-values, `*_adjusted` those after Holm over the `family` of `members`
    claims; `multiplicity` is the number of configurations among which witnesses were looked for. `first`
    is the model that the order claim puts first. `summed` is the adjusted reversal p-value on the sums of
    all replicates, approximate because it assumes symmetry; None where nothing is replicated. `named_plus`
    and `named_minus` are certified one by one (Holm at alpha / 2 in each direction within the pair), and
    `rho` is the interval that they give. `gap` is the smallest observed gap, as a share, that one
    configuration could certify here, at the median discordance of the region.
    """

    claim: Claimed | None
    alpha: float
    family: Family
    members: int
    test: Test
    units: int
    multiplicity: int
    reversal: float
    reversal_adjusted: float
    order: float
    order_adjusted: float
    first: str
    plus: Carrier | None
    minus: Carrier | None
    named_plus: tuple[str, ...]
    named_minus: tuple[str, ...]
    rho: tuple[Fraction, Fraction]
    summed: float | None
    identical: Identical
    gap: float | None
    gap_discordance: float


@dataclass(frozen=True, slots=True)
class OrderingClaim:
    """A strict order of all models and whether some configuration is certified to show it."""

    order: tuple[str, ...]
    p: float
    adjusted: float
    certified: bool


@dataclass(frozen=True, slots=True)
class Weighed:
    """The evidence of a study, by (region's benchmark and configurations, a, b), and its ordering claims by
    benchmark."""

    pairs: Mapping[tuple[str, tuple[str, ...], str, str], Evidence]
    orderings: Mapping[str, tuple[OrderingClaim, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """The raw p-values of a pair on a benchmark, by configuration; NaN-free: 1 where not measured."""

    plus: NDArray[np.float64]
    minus: NDArray[np.float64]
    summed_plus: NDArray[np.float64]
    summed_minus: NDArray[np.float64]
    totals: NDArray[np.int8]
    discordance: NDArray[np.float64]
    measured: NDArray[np.bool_]
    signs: NDArray[np.int8]
    units: int
    test: Test


def weigh(
    regions: Sequence[Region],
    outcomes: Mapping[str, Outcomes],
    alpha: float = ALPHA,
    seed: int = 0,
    final: bool = True,
    exchanges: int = EXCHANGES,
) -> Weighed:
    """The evidence on every pair in every region. Of an interim look (`final` false) nothing is
    certified, because looking again is another chance."""
    raw = {}
    for number, (name, found) in enumerate(outcomes.items()):
        units = int(found.units.max(initial=-1)) + 1
        swaps = evidence.exchanges(units, exchanges, seed + number)
        for a, b in combinations(found.models, 2):
            raw[name, a, b] = _pair(found, a, b, swaps)
    pairs: dict[tuple[str, tuple[str, ...], str, str], Evidence] = {}
    families: tuple[tuple[Family, bool], ...] = (("full envelope", True), ("other scopes", False))
    for family, full in families:
        chosen = [
            (region, key)
            for region in regions
            if region.full is full
            for key in raw
            if key[0] == region.benchmark
        ]
        claims = [
            _claim(outcomes[region.benchmark], region, key, raw[key], (alpha, family, len(chosen)))
            for region, key in chosen
        ]
        reversals = evidence.holm([each.reversal for each in claims])
        orders = evidence.holm([each.order for each in claims], 2 * len(claims))
        sums = evidence.holm([each.reversal if each.summed is None else each.summed for each in claims])
        for (region, (_, a, b)), claim, reversal, order, summed in zip(
            chosen, claims, reversals, orders, sums, strict=True
        ):
            held: Claimed | None = None
            if final and min(reversal, order) <= alpha:
                held = "reversal" if reversal <= order else "order"
            pairs[region.benchmark, region.configurations, a, b] = replace(
                claim,
                claim=held,
                reversal_adjusted=reversal,
                order_adjusted=order,
                summed=None if claim.summed is None else summed,
            )
    return Weighed(pairs, _orderings(outcomes, raw, alpha, final))


def _pair(found: Outcomes, a: str, b: str, swaps: NDArray[np.float32]) -> _Pair:
    measured = found.both(a, b)
    first = np.where(measured[:, None], found.differences(a, b, designated=True), 0)
    sums = np.where(measured[:, None], found.differences(a, b, designated=False), 0)
    plus, minus = evidence.one_sided(first)
    summed_plus, summed_minus = evidence.one_sided(sums)
    units = first.shape[1]
    return _Pair(
        plus=np.where(measured, plus, 1.0),
        minus=np.where(measured, minus, 1.0),
        summed_plus=np.where(measured, summed_plus, 1.0),
        summed_minus=np.where(measured, summed_minus, 1.0),
        totals=np.sign(sums.sum(axis=1)).astype(np.int8),
        discordance=(first != 0).sum(axis=1) / max(units, 1),
        measured=measured,
        signs=evidence.exchanged_signs(sums, swaps),
        units=units,
        test="mcnemar" if units == len(found.items) else "sign_flip",
    )


def _claim(
    found: Outcomes, region: Region, key: tuple[str, str, str], pair: _Pair, family: tuple[float, Family, int]
) -> Evidence:
    """The evidence on one pair in one region, before it is adjusted for its family."""
    alpha, name, members = family
    places = {each: number for number, each in enumerate(found.configurations)}
    at = np.array([places[each] for each in region.configurations], dtype=np.int64)
    size = len(at)
    multiplicity = size if region.fixed else len(found.configurations)
    plus, minus = pair.plus[at], pair.minus[at]
    up, down = evidence.order_p(plus, size), evidence.order_p(minus, size)
    totals = pair.totals[at]
    observed = Fraction(int(min((totals > 0).sum(), (totals < 0).sum())), size)
    summed = None
    if bool((found.replicates[at] > 1).any()):
        summed = evidence.reversal_p(pair.summed_plus[at], pair.summed_minus[at], multiplicity)
    named = evidence.named_witnesses(plus, minus, alpha)
    if not region.fixed:  # what is certified one by one in the envelope is so in every part of it
        whole, inside = evidence.named_witnesses(pair.plus, pair.minus, alpha), at.tolist()
        sides = ([each for each in side if each in inside] for side in (whole.plus, whole.minus))
        named = Named(*(tuple(inside.index(each) for each in side) for side in sides))
    discordance = float(np.sort(pair.discordance[at])[size // 2])

    def carrier(p: NDArray[np.float64]) -> Carrier | None:
        place = int(p.argmin())
        return Carrier(region.configurations[place], float(p[place])) if p[place] < 1 else None

    return Evidence(
        claim=None,
        alpha=alpha,
        family=name,
        members=members,
        test=pair.test,
        units=pair.units,
        multiplicity=multiplicity,
        reversal=evidence.reversal_p(plus, minus, multiplicity),
        reversal_adjusted=1.0,
        order=min(up, down),
        order_adjusted=1.0,
        first=key[1] if up <= down else key[2],
        plus=carrier(plus),
        minus=carrier(minus),
        named_plus=tuple(region.configurations[place] for place in named.plus),
        named_minus=tuple(region.configurations[place] for place in named.minus),
        rho=evidence.rho_interval(named, size),
        summed=summed,
        identical=evidence.identical(pair.signs[at], observed),
        gap=evidence.smallest_gap(pair.units, discordance, alpha / members / multiplicity),
        gap_discordance=discordance,
    )


def _orderings(
    outcomes: Mapping[str, Outcomes], raw: Mapping[tuple[str, str, str], _Pair], alpha: float, final: bool
) -> dict[str, tuple[OrderingClaim, ...]]:
    rows: list[tuple[str, tuple[str, ...], float]] = []
    for name, found in outcomes.items():
        plus = {}
        for a, b in combinations(found.models, 2):
            plus[a, b], plus[b, a] = raw[name, a, b].plus, raw[name, a, b].minus
        for order in evidence.orderings(found.models):
            rows.append((name, order, evidence.ordering_p(order, plus, len(found.configurations))))
    adjusted = evidence.holm([p for _, _, p in rows])
    claims: dict[str, list[OrderingClaim]] = {name: [] for name in outcomes}
    for (name, order, p), value in zip(rows, adjusted, strict=True):
        claims[name].append(OrderingClaim(order, p, value, final and value <= alpha))
    return {name: tuple(sorted(each, key=lambda claim: claim.p)) for name, each in claims.items()}
