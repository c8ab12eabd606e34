"""Tests the claims of a study: which reversals and orders hold for new items, and not only for those asked.

Where people labelled responses of a benchmark, every p-value of a configuration is the larger one of two: of
the items' test, and of the gap as their labels correct it (`corrected`), which is 1 where nobody looked. So a
claim needs both at the same step of Holm's method, which spends no alpha twice.

Two strengths (`gridc.schema.rows`), each with families of its own at level alpha over the whole study: every
pair x benchmark on the full envelope; every pair on every other scope that was named before the data; every
strict order of all models; and every configuration of every pair, by direction, which gives the *names*. "a
reverses with b" is one claim a pair and "one scores higher throughout" two. A scope that was chosen after the
data were seen has no claims of its own: it holds what the names of the full envelope imply, so that no choice
of scope can buy a claim. Where joint flips would be more than `MOST_FLIPPED` products they are not made, and
there is no claim of that strength.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations, islice, repeat
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridc.reports.findings.scores import Outcomes, sum_units
from gridc.schema.base import ALPHA
from gridc.schema.rows import (
    CarrierRow,
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
from gridc.statistics import betting, exact_tests, sign_flips
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.exact_tests import holm
from gridc.statistics.reproducibility import digits


@dataclass(frozen=True, slots=True)
class DirectionEvidence:
    """p-values of "this model scores higher somewhere" and "everywhere" in a part of the envelope, what
    shows it best, and what is named for it."""

    somewhere: float
    everywhere: float
    best: CarrierRow | None
    named: tuple[str, ...]
    levels: tuple[str, ...] = ()


NOTHING = DirectionEvidence(1.0, 1.0, None, ())


@dataclass(frozen=True, slots=True)
class Weight:
    """Both directions of a pair (a, b) in a part of the envelope, at one strength: `plus` is a > b."""

    plus: DirectionEvidence
    minus: DirectionEvidence

    @property
    def reversal(self) -> float:
        """p-value of "each scores higher somewhere" (intersection-union)."""
        return max(self.plus.somewhere, self.minus.somewhere)

    @property
    def order(self) -> float:
        """p-value of the order that is the likelier of the two."""
        return min(self.plus.everywhere, self.minus.everywhere)


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """The tests of a pair (a, b) on the full envelope of a benchmark.

    `differences` (configurations, units) are those of all replicates, in units of 1 / `span`: a unit's
    difference is at most 1. Rows that are not measured are 0, which shows nothing.
    """

    outcomes: Outcomes
    a: str
    b: str

    @cached_property
    def measured(self) -> NDArray[np.bool_]:
        return self.outcomes.both(self.a, self.b)

    @cached_property
    def span(self) -> int:
        sizes = np.bincount(self.outcomes.units, minlength=1)
        return int(np.lcm.reduce(self.outcomes.replicates, initial=1) * sizes.max()) * self.outcomes.scale

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        return self.outcomes.whole(self.a, self.b)

    @cached_property
    def differences(self) -> Whole:
        return self._weighted(self._of(designated=False))

    def forget(self) -> None:
        """Let go of the differences, which are made again where somebody asks: all pairs have many."""
        self.__dict__.pop("differences", None)

    def flippable(self, at: Whole | slice) -> Whole:
        """The differences of these configurations that joint flips take: 0 where an outcome is credited,
        because the worst case of one direction is not that of the other."""
        taken: Whole = self.differences[at] * self.whole[at, None]
        return taken

    def earned(self, model: str) -> Whole:
        """What units earned of which `differences` are the difference, (configurations, units)."""
        return self._weighted(sum_units(self.outcomes.points(model, False), self.outcomes.units))

    def _weighted(self, differences: Whole) -> Whole:
        weights = np.lcm.reduce(self.outcomes.replicates, initial=1) // self.outcomes.replicates
        weighted: Whole = differences * weights[:, None]
        return weighted

    @cached_property
    def by_people(self) -> tuple[Floats, Floats]:
        """The p-values of the corrected gaps by configuration, in both directions; 0 without an audit."""
        if self.outcomes.by_people is None:
            nothing = np.zeros(len(self.outcomes.configurations))
            return nothing, nothing
        return self.outcomes.by_people[self.a, self.b]

    @cached_property
    def tests(self) -> exact_tests.PairTests:
        """What certifies: the tests of the items, and where people labelled responses the corrected gap. The
        larger of both p-values is one of "both hold", whatever they have in common."""
        plus, minus = self.by_people
        of_items = self.item_tests
        return replace(
            of_items, plus=np.maximum(of_items.plus, plus), minus=np.maximum(of_items.minus, minus)
        )

    @cached_property
    def combined(self) -> exact_tests.PairTest:
        """How p-values of configurations are combined: the larger of two is 1 / e no more."""
        return self.item_tests.kind if self.outcomes.by_people is None else "mcnemar"

    @cached_property
    def item_tests(self) -> exact_tests.PairTests:
        """The exact tests of the items: McNemar's on replicate 0 where a unit is an item or a question that
        earns a point or none, else bets on all of it, which parts of points do not harm. Of a question the
        first copy counts; no direction is shown that the scores of all copies do not have. What is
        credited, without a score or unread, speaks against either direction."""
        tests = self._tests(self._of(designated=True), lambda: self.differences)
        if not self.whole.all():
            sides = (
                self._tests(self._claimed(first, True), partial(self._claimed, first, False))
                for first in (True, False)
            )
            tests = replace(tests, plus=next(sides).plus, minus=next(sides).minus)
        # Copies of one question taken as independent would make any p-value too small.
        if self.outcomes.copied:
            tests = replace(tests, plus=np.ones_like(tests.plus), minus=np.ones_like(tests.minus))
        return replace(tests, plus=p_digits(tests.plus), minus=p_digits(tests.minus))

    def _tests(self, designated: Whole, differences: Callable[[], Whole]) -> exact_tests.PairTests:
        """The tests of differences (configurations, units): McNemar's on those of replicate 0, or bets on
        those of all replicates, in units of 1 / `span`."""
        if self.outcomes.discordant_or_not:
            tests = exact_tests.mcnemar_tests(designated)
            if self.outcomes.designated is not None:
                ahead = differences().sum(axis=1)
                plus, minus = np.where(ahead > 0, tests.plus, 1.0), np.where(ahead < 0, tests.minus, 1.0)
                tests = replace(tests, plus=plus, minus=minus)
            return tests
        return exact_tests.betting_tests(differences(), self.span, self.outcomes.items_per_unit)

    @cached_property
    def discordance(self) -> Floats:
        """Share of units that differ, by configuration, in what the certified test reads."""
        share: Floats = (self.tests.ahead + self.tests.behind) / max(self.differences.shape[1], 1)
        return share

    def _claimed(self, first: bool, designated: bool) -> Whole:
        """The differences as they speak at least for the first model, or for the second."""
        pair = (self.a, self.b) if first else (self.b, self.a)
        claimed = self.outcomes.claimed(*pair, designated) * (1 if first else -1)
        measured = np.where(self.measured[:, None], claimed, 0)
        return measured if designated else self._weighted(measured)

    def _of(self, designated: bool) -> Whole:
        differences = self.outcomes.differences(self.a, self.b, designated)
        return np.where(self.measured[:, None], differences, 0)

    def places(self, configurations: Sequence[str]) -> Whole:
        """The positions of these configurations in the outcomes."""
        numbers = {name: number for number, name in enumerate(self.outcomes.configurations)}
        return np.array([numbers[name] for name in configurations], dtype=np.int64)

    def weight(self, at: Whole, plus: Floats, minus: Floats, alpha: float, chosen: bool) -> Weight:
        """What the exact tests say of these configurations. `plus` and `minus` are the study-wide adjusted
        p-values of all configurations, from which the names come, and of a part that was `chosen` after the
        data all else."""
        sides = []
        for p, adjusted in ((self.tests.plus, plus), (self.tests.minus, minus)):
            if chosen:
                sides.append(self.implied(at, adjusted, alpha))
                continue
            sides.append(
                DirectionEvidence(
                    exact_tests.somewhere(p[at], self.combined, len(at)),
                    exact_tests.everywhere(p[at]),
                    self._best(at, p[at]),
                    self._named(at, adjusted, alpha),
                )
            )
        return Weight(*sides)

    def implied(self, at: Whole, adjusted: Floats, alpha: float) -> DirectionEvidence:
        """What adjusted p-values of single configurations imply for a part that was chosen after the data: a
        direction holds somewhere as surely as its best configuration does, and everywhere as its worst."""
        return DirectionEvidence(
            float(adjusted[at].min()),
            float(adjusted[at].max()),
            self._best(at, adjusted[at]),
            self._named(at, adjusted, alpha),
        )

    def smallest_gap(self, at: Whole, level: float) -> tuple[float | None, float]:
        """The smallest gap that one configuration can certify at this level by the test that is used, at the
        median share of units that differ; and that share."""
        middle = int(at[np.argsort(self.discordance[at], kind="stable")[len(at) // 2]])
        share = float(self.discordance[middle])
        if self.tests.kind == "mcnemar":
            return exact_tests.mcnemar_gap(self.differences.shape[1], share, level), share
        staked = betting.stakes(self.outcomes.items_per_unit)
        return betting.betting_gap(self.differences[middle], self.span, level, staked), share

    def _best(self, at: Whole, p: Floats) -> CarrierRow | None:
        place = int(p.argmin())
        if p[place] >= 1:
            return None
        name = self.outcomes.configurations[at[place]]
        return CarrierRow(kind="configuration", name=name, p=digits(p[place]))

    def _named(self, at: Whole, adjusted: Floats, alpha: float) -> tuple[str, ...]:
        return tuple(self.outcomes.configurations[place] for place in at if adjusted[place] <= alpha)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The contrasts that joint flips test in a region of a benchmark: every configuration, then every level
    that several of them share and others do not. `groups`, (contrasts, configurations), has their weights,
    of the configurations `at` these places; of a part that was `chosen` after the data all of the full
    envelope."""

    at: Whole
    chosen: bool
    carriers: tuple[CarrierRow, ...]
    groups: Whole

    @classmethod
    def of(cls, outcomes: Outcomes, at: Whole, chosen: bool) -> "Contrasts":
        if chosen:
            return cls(at, True, (), np.eye(len(outcomes.configurations), dtype=np.int64))
        found = list(cls._found(outcomes, at))
        return cls(
            at,
            False,
            tuple(carrier for carrier, _ in found),
            np.array([weights for _, weights in found], dtype=np.int64),
        )

    @staticmethod
    def _found(outcomes: Outcomes, at: Whole) -> Iterator[tuple[CarrierRow, Whole]]:
        for weights in np.eye(len(at), dtype=np.int64):
            name = outcomes.configurations[at[int(weights.argmax())]]
            yield CarrierRow(kind="configuration", name=name, p=1.0), weights
        places = [outcomes.levels[place] for place in at]
        seen: set[bytes] = set()
        for axis in dict.fromkeys(name for place in places for name in place):
            for level in dict.fromkeys(place[axis] for place in places):
                weights = np.array([place[axis] == level for place in places], dtype=np.int64)
                if 1 < weights.sum() < len(at) and weights.tobytes() not in seen:
                    seen.add(weights.tobytes())
                    yield CarrierRow(kind="level", name=f"{axis}={level}", p=1.0), weights

    @property
    def searched(self) -> Whole | slice:
        """The configurations that the contrasts weigh."""
        return slice(None) if self.chosen else self.at


@dataclass(frozen=True, eq=False)
class JointFlips:
    """Some pairs of a benchmark under joint flips of their units by `signs`, (units, flips). What is summed
    of all of them is summed in one product of matrices. `of_models` has the sums of what each model earned,
    where these are held."""

    pairs: Sequence[PairEvidence]
    signs: sign_flips.Signs
    of_models: Mapping[str, Floats] | None = None
    by_flip: sign_flips.Signs | None = None

    @cached_property
    def sums(self) -> Floats:
        """Of every configuration, (pairs, configurations, flips)."""
        if self.of_models is not None:
            # Of whole numbers, so that the difference of two sums is the sum of the differences.
            sums = np.array([self.of_models[pair.a] - self.of_models[pair.b] for pair in self.pairs])
            for own, pair in zip(sums, self.pairs, strict=True):
                own[~pair.measured] = 0.0
            return sums
        rows = np.concatenate([pair.differences for pair in self.pairs])
        return sign_flips.flipped_sums(rows, self.signs).reshape(len(self.pairs), -1, self.signs.shape[1])

    def weights(self, contrasts: Contrasts, members: int, alpha: float) -> Iterator[Weight]:
        """What is supported of each pair over the configurations of these contrasts and the levels of their
        axes. A name pays for both directions and for the `members` pairs of its family. Of a part that was
        chosen after the data only what single configurations of the full envelope imply."""
        able = [_can_support(pair) for pair in self.pairs]
        alone = [
            self._of_one(pair, sums, contrasts) if tested else None
            for pair, sums, tested in zip(self.pairs, self.sums, able, strict=True)
        ]
        rows = [
            sign_flips.cubes(pair.flippable(contrasts.searched), contrasts.groups)
            for pair, tested, known in zip(self.pairs, able, alone, strict=True)
            if tested and known is None
        ]
        cubes = iter(
            sign_flips.flipped(np.concatenate(rows), self.signs).reshape(len(rows), -1, self.signs.shape[1])
            if rows
            else ()
        )
        for pair, sums, tested, known in zip(self.pairs, self.sums, able, alone, strict=True):
            if not tested:
                yield Weight(NOTHING, NOTHING)
                continue
            differences, groups, found = pair.flippable(contrasts.searched), contrasts.groups, known
            if found is None:
                own_sums = sums[contrasts.searched] * pair.whole[contrasts.searched, None]
                found = sign_flips.max_t(differences, own_sums, groups, next(cubes))
            yield _supported(
                pair, contrasts, sign_flips.where_seen(found, differences, groups, pair.span), members, alpha
            )

    def _of_one(self, pair: PairEvidence, sums: Floats, contrasts: Contrasts) -> sign_flips.MaxT | None:
        """What flips find of a pair where one configuration is all that is searched."""
        at = contrasts.searched
        differences, own_sums = pair.flippable(at), sums[at] * pair.whole[at, None]
        if self.by_flip is None or contrasts.groups.shape != (1, 1):
            return None
        return sign_flips.of_one_contrast(differences[0], own_sums[0], self.by_flip)

    def identical(self, at: Whole) -> Iterator[sign_flips.IdenticalModels]:
        """The reference beside the observed rho_flip of these configurations, of each pair."""
        for pair, sums in zip(self.pairs, self.sums, strict=True):
            signs = np.sign(pair.differences[at].sum(axis=1))
            observed = Fraction(int(min((signs > 0).sum(), (signs < 0).sum())), len(at))
            yield sign_flips.identical(sums[at], observed)


def _can_support(pair: PairEvidence) -> bool:
    """Not of too few or too unequal units, unless each is an item, and not where copies are taken as
    independent."""
    outcomes = pair.outcomes
    return not outcomes.copied and sign_flips.can_support(outcomes.items_of_units)


def _supported(
    pair: PairEvidence, contrasts: Contrasts, found: sign_flips.MaxT, members: int, alpha: float
) -> Weight:
    people = pair.by_people
    if contrasts.chosen:
        each = len(pair.outcomes.configurations)
        paid = (
            np.minimum(1.0, 2 * members * np.maximum(p_digits(p), np.minimum(1.0, each * labels)))
            for p, labels in zip((found.plus, found.minus), people, strict=True)
        )
        return Weight(*(pair.implied(contrasts.at, adjusted, alpha) for adjusted in paid))
    sides = []
    flipped = (found.plus, found.plus_alone), (found.minus, found.minus_alone)
    for (raw, raw_alone), labels in zip(flipped, people, strict=True):
        # A level holds as surely as its worst configuration, and the search among all of them is paid for.
        worst = np.where(contrasts.groups > 0, labels[contrasts.at], 0.0).max(axis=1)
        p = np.maximum(p_digits(raw), np.minimum(1.0, len(contrasts.at) * worst))
        alone = p_digits(raw_alone)
        alone[: len(contrasts.at)] = np.maximum(alone[: len(contrasts.at)], labels[contrasts.at])
        place = int(p.argmin())
        best = contrasts.carriers[place].model_copy(update={"p": digits(p[place])}) if p[place] < 1 else None
        named: dict[str, list[str]] = {"configuration": [], "level": []}
        for carrier, own in zip(contrasts.carriers, p, strict=True):
            if 2 * members * own <= alpha:
                named[carrier.kind].append(carrier.name)
        everywhere = float(alone[: len(contrasts.at)].max(initial=0.0))
        sides.append(
            DirectionEvidence(
                float(p.min()), everywhere, best, tuple(named["configuration"]), tuple(named["level"])
            )
        )
    return Weight(*sides)


def _in_blocks(
    pairs: Sequence[PairEvidence], signs: sign_flips.Signs, contrasts: Iterable[Contrasts]
) -> Iterator[JointFlips]:
    """The pairs of a benchmark, as many at once as `HELD` bytes hold the flipped rows of."""
    configurations = len(pairs[0].outcomes.configurations)
    rows = configurations + max(len(each.groups) for each in contrasts)
    size = max(1, HELD // (8 * signs.shape[1] * rows))
    models = {name: pair for pair in pairs for name in (pair.a, pair.b)}
    of_models = None
    if len(models) < len(pairs) and len(models) * configurations <= HELD // (8 * signs.shape[1]):
        earned = np.concatenate([pair.earned(name) for name, pair in models.items()])
        sums = sign_flips.flipped_sums(earned, signs).reshape(len(models), -1, signs.shape[1])
        of_models = dict(zip(models, sums, strict=True))
    by_flip = (
        np.ascontiguousarray(signs.T) if any(each.groups.shape == (1, 1) for each in contrasts) else None
    )
    for at in range(0, len(pairs), size):
        yield JointFlips(pairs[at : at + size], signs, of_models, by_flip)


def p_digits(p: Floats) -> Floats:
    """`digits` of p-values, of which the smallest is chosen and all are compared with a level."""
    return np.array([digits(each) for each in p.flat]).reshape(p.shape)


PairKey = tuple[str, str, str]
"""Benchmark, a, b."""
MOST_FLIPPED = 500_000_000_000
"""Pairs x configurations x units x flips of a study up to which joint flips are made, in a minute or two."""
HELD = 200_000_000
"""Bytes of sums under flips that are held at once."""
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
class ClaimEvidence:
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
    identical: sign_flips.IdenticalModels


def claim_evidence(
    regions: Sequence[Region],
    outcomes: Mapping[str, Outcomes],
    alpha: float = ALPHA,
    seed: int = 0,
    final: bool = True,
    flips: int = sign_flips.FLIPS,
    hypothesis_regions: Sequence[Region] = (),
) -> ClaimEvidence:
    """The evidence on every pair in every region. Of an interim look (`final` false) nothing is claimed,
    because looking again is another chance. `flips` is the least number of joint flips; large families take
    more. Of `hypothesis_regions` the weights alone are given: hypotheses are a family of their
    own."""
    pairs = _evidence_of_pairs(outcomes)
    sizes: dict[str, int] = dict.fromkeys((FULL, "other scopes", CHOSEN, ASKED), 0)
    for region in (*regions, *hypothesis_regions):
        sizes[region.family] += sum(key[0] == region.benchmark for key in pairs)
    sizes[CHOSEN] = sizes[FULL]  # what is chosen rests on the full envelope
    names = exact_names(pairs)
    number = max(flips, ceil(2 * max(sizes.values()) / alpha) - 1)
    differences = sum(pair.outcomes.asked.shape[0] * pair.outcomes.unit_count for pair in pairs.values())
    flipped_too = differences * number <= MOST_FLIPPED
    number = number if flipped_too else flips
    members: dict[ClaimFamily, list[_Member]] = {FULL: [], "other scopes": [], CHOSEN: []}
    raw: dict[tuple[Region, str, str], Weights] = {}
    for place, (name, benchmark_outcomes) in enumerate(outcomes.items()):
        own = [pair for key, pair in pairs.items() if key[0] == name]
        sought = {
            region: Contrasts.of(
                benchmark_outcomes, own[0].places(region.configurations), region.family == CHOSEN
            )
            for region in (*regions, *hypothesis_regions)
            if own and region.benchmark == name
        }
        if not sought:
            continue
        signs = sign_flips.random_signs(benchmark_outcomes.unit_count, number, seed + place)
        for flipped in _in_blocks(own, signs, sought.values()):
            for region, contrasts in sought.items():
                hints = (
                    flipped.weights(contrasts, sizes[region.family], alpha)
                    if flipped_too
                    else repeat(Weight(NOTHING, NOTHING), len(flipped.pairs))
                )
                alike = flipped.identical(contrasts.at)
                for pair, weight, same in zip(flipped.pairs, hints, alike, strict=True):
                    key, chosen = (name, pair.a, pair.b), contrasts.chosen
                    exact = pair.weight(contrasts.at, names.plus[key], names.minus[key], alpha, chosen)
                    weights = Weights(exact, weight)
                    raw[region, pair.a, pair.b] = weights
                    if region.family != "hypotheses":
                        members[region.family].append(_Member(region, key, weights, same))
            for pair in flipped.pairs:
                pair.forget()
    rows = {}
    for family, inside in members.items():
        exact_kinds: list[Test] = [pairs[family_member.key].tests.kind for family_member in inside]
        joint: list[Test] = ["joint_flips" if flipped_too else "not_tested"] * len(inside)
        certified = _strengths(
            [family_member.weights.certified for family_member in inside],
            [family_member.key for family_member in inside],
            family,
            exact_kinds,
            alpha,
            final,
            names.among,
        )
        supported = _strengths(
            [family_member.weights.supported for family_member in inside],
            [family_member.key for family_member in inside],
            family,
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
            pairs[member.key].forget()
    return ClaimEvidence(rows, _orderings(outcomes, pairs, alpha, final), _tests(outcomes, pairs, names), raw)


def exact_claims(outcomes: Mapping[str, Outcomes], alpha: float) -> dict[PairKey, StrengthRow]:
    """What is certified of every pair on its full envelope; nothing is asked of what is supported."""
    pairs = _evidence_of_pairs(outcomes)
    names = exact_names(pairs)
    weights = [
        pair.weight(
            pair.places(pair.outcomes.configurations), names.plus[key], names.minus[key], alpha, False
        )
        for key, pair in pairs.items()
    ]
    tests: list[Test] = [pair.tests.kind for pair in pairs.values()]
    return dict(
        zip(pairs, _strengths(weights, list(pairs), FULL, tests, alpha, True, names.among), strict=True)
    )


def _evidence_of_pairs(outcomes: Mapping[str, Outcomes]) -> dict[PairKey, PairEvidence]:
    return {
        (name, a, b): PairEvidence(outcome, a, b)
        for name, outcome in outcomes.items()
        for a, b in combinations(outcome.models, 2)
    }


def exact_names(pairs: Mapping[PairKey, PairEvidence]) -> AdjustedPValues:
    """Holm at alpha / 2 in each direction over the configurations of all pairs, as adjusted p-values."""
    sides: list[dict[PairKey, Floats]] = []
    tests = []
    for pair in pairs.values():
        tests.append(pair.tests)
        pair.forget()
    for side in ("plus", "minus"):
        values = [getattr(own, side).tolist() for own in tests]
        adjusted = iter(holm([p for row in values for p in row]))
        halves = [
            p_digits(np.minimum(1.0, 2 * np.array(list(islice(adjusted, len(value)))))) for value in values
        ]
        sides.append(dict(zip(pairs, halves, strict=True)))
    return AdjustedPValues(2 * sum(len(p_values) for p_values in sides[0].values()), *sides)


def _strengths(
    weights: Sequence[Weight],
    pairs: Sequence[PairKey],
    family: ClaimFamily,
    tests: Sequence[Test],
    alpha: float,
    final: bool,
    among: int,
) -> Iterator[StrengthRow]:
    """A row for each member of a family, at one strength: Holm over one reversal and two orders a member,
    or what names out of `among` imply for a scope that was chosen after the data."""
    reversals, orders = [strength.reversal for strength in weights], [strength.order for strength in weights]
    shared = (among, among) if family == CHOSEN else (len(pairs), 2 * len(pairs))
    adjusted = (reversals, orders) if family == CHOSEN else (holm(reversals), holm(orders, shared[1]))
    for weight, (_, a, b), test, *both in zip(weights, pairs, tests, *adjusted, strict=True):
        reversal, order = map(digits, both)
        claim: Claimed | None = None
        if final and min(reversal, order) <= alpha:
            claim = "reversal" if reversal <= order else "order"
        higher = a if weight.plus.everywhere <= weight.minus.everywhere else b
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
            tests, kind = pairs[name, a, b].tests, pairs[name, a, b].combined
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
        tests, adjusted = pair.item_tests, (names.plus[key], names.minus[key])
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
