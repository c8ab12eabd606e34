"""The claims of a study, weighed: which reversals and orders its items show beyond themselves, and how
strongly.

Two strengths (`gridc.schema.evidence`), each with families of its own at level alpha over the whole study:
every pair x benchmark on the full envelope; every pair on every other scope that was named before the data;
every strict order of all models; and every configuration of every pair, by direction, which gives the
*names*. "a reverses with b" is one claim a pair and "one scores higher throughout" two. A scope that was
chosen after the data were seen has no claims of its own: it holds what the names of the full envelope
imply, so that no choice of scope can buy a claim."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import ceil
from typing import Literal, NamedTuple

import numpy as np

from gridc.reports.findings.outcomes import Outcomes
from gridc.reports.findings.pair_evidence import JointFlips, PairEvidence, Weight, p_digits
from gridc.schema.base import ALPHA
from gridc.schema.evidence import (
    Claimed,
    ClaimFamily,
    ClaimTestRow,
    ConfigurationTestRow,
    EvidenceRow,
    IdenticalRow,
    OrderingClaimRow,
    PairTestsRow,
    SameModelRow,
    StrengthRow,
    Test,
)
from gridc.statistics import exact_tests, sign_flips
from gridc.statistics.arrays import Floats
from gridc.statistics.digits import digits
from gridc.statistics.exact_tests import holm

PairKey = tuple[str, str, str]
"""Benchmark, a, b."""
FULL: ClaimFamily = "full envelope"
CHOSEN: ClaimFamily = "chosen after the data"
ASKED: Literal["hypotheses"] = "hypotheses"


@dataclass(frozen=True, slots=True)
class Region:
    """Configurations of a benchmark about which something is claimed, and the family of the claim."""

    benchmark: str
    configurations: tuple[str, ...]
    family: ClaimFamily | Literal["hypotheses"]


@dataclass(frozen=True, slots=True)
class Weights:
    """A pair (a, b) in a region at both strengths, before any family."""

    certified: Weight
    supported: Weight


@dataclass(frozen=True, slots=True)
class Weighed:
    """The evidence of a study, by (region's benchmark and configurations, a, b); its ordering claims and
    the tests of single configurations, by benchmark."""

    pairs: Mapping[tuple[str, tuple[str, ...], str, str], EvidenceRow]
    orderings: Mapping[str, tuple[OrderingClaimRow, ...]]
    tests: Mapping[str, tuple[PairTestsRow, ...]]
    asked: Mapping[tuple[Region, str, str], Weights]


@dataclass(frozen=True, slots=True, eq=False)
class AdjustedPValues:
    """Adjusted p-values of every configuration of every pair, by direction, out of `among`: at most alpha
    names it. No name of the study is wrong, with error at most alpha."""

    among: int
    plus: Mapping[PairKey, Floats]
    minus: Mapping[PairKey, Floats]


class _Member(NamedTuple):
    """A pair in a region, weighed but for its family."""

    region: Region
    key: PairKey
    weights: Weights
    identical: sign_flips.Identical


def weigh(
    regions: Sequence[Region],
    outcomes: Mapping[str, Outcomes],
    alpha: float = ALPHA,
    seed: int = 0,
    final: bool = True,
    flips: int = sign_flips.FLIPS,
    hypothesis_regions: Sequence[Region] = (),
) -> Weighed:
    """The evidence on every pair in every region. Of an interim look (`final` false) nothing is claimed,
    because looking again is another chance. `flips` is the least number of joint flips; large families take
    more. Of `hypothesis_regions` the weights alone are given: hypotheses are a family of their
    own."""
    pairs = {
        (name, a, b): PairEvidence(outcome, a, b)
        for name, outcome in outcomes.items()
        for a, b in combinations(outcome.models, 2)
    }
    sizes: dict[str, int] = dict.fromkeys((FULL, "other scopes", CHOSEN, ASKED), 0)
    for region in (*regions, *hypothesis_regions):
        sizes[region.family] += sum(key[0] == region.benchmark for key in pairs)
    sizes[CHOSEN] = sizes[FULL]  # what is chosen rests on the full envelope
    names = exact_names(pairs)
    number = max(flips, ceil(2 * max(sizes.values()) / alpha) - 1)
    members: dict[ClaimFamily, list[_Member]] = {FULL: [], "other scopes": [], CHOSEN: []}
    raw: dict[tuple[Region, str, str], Weights] = {}
    for place, (name, benchmark_outcomes) in enumerate(outcomes.items()):
        signs = sign_flips.flips(benchmark_outcomes.unit_count, number, seed + place)
        for key, pair in pairs.items():
            if key[0] != name:
                continue
            flipped = JointFlips(pair, signs)
            for region in (*regions, *hypothesis_regions):
                if region.benchmark == name:
                    at, chosen = pair.places(region.configurations), region.family == CHOSEN
                    weights = Weights(
                        pair.weight(at, names.plus[key], names.minus[key], alpha, chosen),
                        flipped.weight(at, sizes[region.family], alpha, chosen),
                    )
                    raw[region, key[1], key[2]] = weights
                    if region.family != "hypotheses":
                        members[region.family].append(_Member(region, key, weights, flipped.identical(at)))
    rows = {}
    for family, inside in members.items():
        exact: list[Test] = [pairs[family_member.key].tests.kind for family_member in inside]
        joint: list[Test] = ["joint_flips"] * len(inside)
        certified = _strengths(
            [family_member.weights.certified for family_member in inside],
            inside,
            exact,
            alpha,
            final,
            names.among,
        )
        supported = _strengths(
            [family_member.weights.supported for family_member in inside],
            inside,
            joint,
            alpha,
            final,
            2 * sizes[family],
        )
        for member, proof, hint in zip(inside, certified, supported, strict=True):
            _, a, b = member.key
            paid = names.among if family == CHOSEN else len(inside) * len(member.region.configurations)
            rows[member.region.benchmark, member.region.configurations, a, b] = _row(
                pairs[member.key], member, family, proof, hint, alpha, alpha / paid
            )
    return Weighed(rows, _orderings(outcomes, pairs, alpha, final), _tests(outcomes, pairs, names), raw)


def exact_names(pairs: Mapping[PairKey, PairEvidence]) -> AdjustedPValues:
    """Holm at alpha / 2 in each direction over the configurations of all pairs, as adjusted p-values."""
    sides: list[dict[PairKey, Floats]] = []
    for side in ("plus", "minus"):
        values = [getattr(pair.tests, side).tolist() for pair in pairs.values()]
        adjusted = iter(holm([p for row in values for p in row]))
        halves = [
            p_digits(np.minimum(1.0, 2 * np.array(list(islice(adjusted, len(value)))))) for value in values
        ]
        sides.append(dict(zip(pairs, halves, strict=True)))
    return AdjustedPValues(2 * sum(len(p_values) for p_values in sides[0].values()), *sides)


def _strengths(
    weights: Sequence[Weight],
    members: Sequence[_Member],
    tests: Sequence[Test],
    alpha: float,
    final: bool,
    among: int,
) -> Iterator[StrengthRow]:
    """A row for each member of a family, at one strength: Holm over one reversal and two orders a member,
    or what names out of `among` imply for a scope that was chosen after the data."""
    reversals, orders = [strength.reversal for strength in weights], [strength.order for strength in weights]
    chosen = bool(members) and members[0].region.family == CHOSEN
    shared = (among, among) if chosen else (len(members), 2 * len(members))
    adjusted = (reversals, orders) if chosen else (holm(reversals), holm(orders, shared[1]))
    for weight, member, test, *both in zip(weights, members, tests, *adjusted, strict=True):
        reversal, order = map(digits, both)
        claim: Claimed | None = None
        if final and min(reversal, order) <= alpha:
            claim = "reversal" if reversal <= order else "order"
        higher = member.key[1] if weight.plus.everywhere <= weight.minus.everywhere else member.key[2]
        yield StrengthRow(
            claim=claim,
            first=higher if claim == "order" else None,
            test=test,
            reversal=ClaimTestRow(p=weight.reversal, adjusted=reversal, members=shared[0]),
            order=ClaimTestRow(p=weight.order, adjusted=order, members=shared[1]),
            plus=weight.plus.best,
            minus=weight.minus.best,
            named_plus=weight.plus.named if final else (),
            named_minus=weight.minus.named if final else (),
            levels_plus=weight.plus.levels if final else (),
            levels_minus=weight.minus.levels if final else (),
            named_among=among,
        )


def _row(
    pair: PairEvidence,
    member: _Member,
    family: ClaimFamily,
    certified: StrengthRow,
    supported: StrengthRow,
    alpha: float,
    level: float,
) -> EvidenceRow:
    at, size = pair.places(member.region.configurations), len(member.region.configurations)
    up, down = len(certified.named_plus), len(certified.named_minus)
    low, high = exact_tests.rho_interval(up, down, size, certified.claim == "reversal")
    gap, share = pair.smallest_gap(at, level)
    return EvidenceRow(
        tier="certified" if certified.claim else "supported" if supported.claim else "descriptive",
        alpha=alpha,
        family=family,
        units=pair.outcomes.unit_count,
        configurations=size,
        certified=certified,
        supported=supported,
        rho_low=float(low),
        rho_high=float(high),
        identical=IdenticalRow.model_validate(member.identical),
        same_model=SameModelRow.model_validate(
            sign_flips.same_model(int(pair.outcomes.sampled[at].sum()), size)
        ),
        smallest_gap=gap,
        discordance=share,
    )


def _orderings(
    outcomes: Mapping[str, Outcomes], pairs: Mapping[PairKey, PairEvidence], alpha: float, final: bool
) -> dict[str, tuple[OrderingClaimRow, ...]]:
    stated: list[tuple[str, tuple[str, ...], float]] = []
    for name, outcome in outcomes.items():
        plus: dict[tuple[str, str], Floats] = {}
        kind: exact_tests.PairTest = "mcnemar" if outcome.discordant_or_not else "betting"
        for a, b in combinations(outcome.models, 2):
            tests = pairs[name, a, b].tests
            plus[a, b], plus[b, a] = tests.plus, tests.minus
        for order in exact_tests.orderings(outcome.models):
            stated.append((name, order, exact_tests.ordering_p(order, plus, kind)))
    claims: dict[str, list[OrderingClaimRow]] = {name: [] for name in outcomes}
    for (name, order, p), adjusted in zip(stated, map(digits, holm([p for _, _, p in stated])), strict=True):
        claims[name].append(
            OrderingClaimRow(
                order=order,
                p=digits(p),
                adjusted=adjusted,
                members=len(stated),
                certified=final and adjusted <= alpha,
            )
        )
    return {name: tuple(sorted(rows, key=lambda row: row.p)) for name, rows in claims.items()}


def _tests(
    outcomes: Mapping[str, Outcomes], pairs: Mapping[PairKey, PairEvidence], names: AdjustedPValues
) -> dict[str, tuple[PairTestsRow, ...]]:
    rows: dict[str, list[PairTestsRow]] = {name: [] for name in outcomes}
    for key, pair in pairs.items():
        name, a, b = key
        tests, adjusted = pair.tests, (names.plus[key], names.minus[key])
        columns = (tests.ahead, tests.behind, tests.plus, tests.minus, *adjusted)
        rows[name].append(
            PairTestsRow(
                a=a,
                b=b,
                test=tests.kind,
                configurations=tuple(
                    ConfigurationTestRow(
                        configuration=configuration,
                        higher=higher,
                        lower=lower,
                        p_plus=digits(min(1.0, plus)),
                        p_minus=digits(min(1.0, minus)),
                        adjusted_plus=digits(adjusted_plus),
                        adjusted_minus=digits(adjusted_minus),
                    )
                    for configuration, higher, lower, plus, minus, adjusted_plus, adjusted_minus in zip(
                        pair.outcomes.configurations, *(column.tolist() for column in columns), strict=True
                    )
                ),
            )
        )
    return {name: tuple(test_rows) for name, test_rows in rows.items()}
