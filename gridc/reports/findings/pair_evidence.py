"""One pair of models on one benchmark: its tests, and what they say of any part of the envelope."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gridc.reports.findings.outcomes import Outcomes
from gridc.schema.evidence import CarrierRow
from gridc.statistics import betting, exact_tests, sign_flips
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.digits import digits


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
    def differences(self) -> Whole:
        weights = np.lcm.reduce(self.outcomes.replicates, initial=1) // self.outcomes.replicates
        weighted: Whole = self._of(designated=False) * weights[:, None]
        return weighted

    @cached_property
    def tests(self) -> exact_tests.PairTests:
        """The tests that certify: McNemar's on replicate 0 where a unit is an item that earns a point or
        none, else bets on all of it, which parts of points do not harm."""
        if self.outcomes.discordant_or_not:
            tests = exact_tests.mcnemar(self._of(designated=True))
        else:
            tests = exact_tests.bets(self.differences, self.span, self.outcomes.items_per_unit)
        return replace(tests, plus=p_digits(tests.plus), minus=p_digits(tests.minus))

    @cached_property
    def discordance(self) -> Floats:
        """Share of units that differ, by configuration, in what the certified test reads."""
        share: Floats = (self.tests.ahead + self.tests.behind) / max(self.differences.shape[1], 1)
        return share

    def _of(self, designated: bool) -> Whole:
        differences = self.outcomes.differences(self.a, self.b, designated)
        return np.where(self.measured[:, None], differences, 0)

    def places(self, configurations: Sequence[str]) -> Whole:
        """The numbers of these configurations."""
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
                    exact_tests.somewhere(p[at], self.tests.kind, len(at)),
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
            return exact_tests.smallest_gap(self.differences.shape[1], share, level), share
        staked = betting.stakes(self.outcomes.items_per_unit)
        return betting.smallest_gap(self.differences[middle], self.span, level, staked), share

    def _best(self, at: Whole, p: Floats) -> CarrierRow | None:
        place = int(p.argmin())
        if p[place] >= 1:
            return None
        name = self.outcomes.configurations[at[place]]
        return CarrierRow(kind="configuration", name=name, p=digits(p[place]))

    def _named(self, at: Whole, adjusted: Floats, alpha: float) -> tuple[str, ...]:
        return tuple(self.outcomes.configurations[place] for place in at if adjusted[place] <= alpha)


@dataclass(frozen=True, eq=False)
class JointFlips:
    """A pair under joint flips of its units by `signs`, (units, flips): `sums` of every configuration,
    (configurations, flips)."""

    pair: PairEvidence
    signs: sign_flips.Signs

    @cached_property
    def sums(self) -> Floats:
        return sign_flips.flipped_sums(self.pair.differences, self.signs)

    def weight(self, at: Whole, members: int, alpha: float, chosen: bool) -> Weight:
        """What is supported over these configurations and the levels of the axes in them. A name pays for
        both directions and for the `members` pairs of its family. Of a part that was `chosen` after the
        data only what single configurations of the full envelope imply. Nothing of too few or too unequal
        units, unless each is an item."""
        outcomes = self.pair.outcomes
        if not sign_flips.can_support(outcomes.items_of_units):
            return Weight(NOTHING, NOTHING)
        if chosen:
            every = np.eye(len(self.sums), dtype=np.int64)
            whole = self._max_t(slice(None), every)
            paid = (np.minimum(1.0, 2 * members * p_digits(p)) for p in (whole.plus, whole.minus))
            return Weight(*(self.pair.implied(at, adjusted, alpha) for adjusted in paid))
        contrasts = list(self._contrasts(at))
        groups = np.array([weights for _, weights in contrasts], dtype=np.int64)
        max_t = self._max_t(at, groups)
        sides = []
        for raw, alone in ((max_t.plus, max_t.plus_alone), (max_t.minus, max_t.minus_alone)):
            p, alone = p_digits(raw), p_digits(alone)
            place = int(p.argmin())
            best = contrasts[place][0].model_copy(update={"p": digits(p[place])}) if p[place] < 1 else None
            named: dict[str, list[str]] = {"configuration": [], "level": []}
            for (carrier, _), own in zip(contrasts, p, strict=True):
                if 2 * members * own <= alpha:
                    named[carrier.kind].append(carrier.name)
            everywhere = float(alone[: len(at)].max(initial=0.0))
            sides.append(
                DirectionEvidence(
                    float(p.min()), everywhere, best, tuple(named["configuration"]), tuple(named["level"])
                )
            )
        return Weight(*sides)

    def _max_t(self, at: Whole | slice, groups: Whole) -> sign_flips.MaxT:
        differences = self.pair.differences[at]
        found = sign_flips.max_t(differences, self.sums[at], groups, self.signs)
        return sign_flips.where_seen(found, differences, groups, self.pair.span)

    def identical(self, at: Whole) -> sign_flips.Identical:
        """The reference beside the observed rho_flip of these configurations."""
        signs = np.sign(self.pair.differences[at].sum(axis=1))
        observed = Fraction(int(min((signs > 0).sum(), (signs < 0).sum())), len(at))
        return sign_flips.identical(self.sums[at], observed)

    def _contrasts(self, at: Whole) -> Iterator[tuple[CarrierRow, Whole]]:
        """Every configuration, then every level that several of them share and others do not, with the
        weights of the configurations."""
        for weights in np.eye(len(at), dtype=np.int64):
            name = self.pair.outcomes.configurations[at[int(weights.argmax())]]
            yield CarrierRow(kind="configuration", name=name, p=1.0), weights
        places = [self.pair.outcomes.levels[place] for place in at]
        seen: set[bytes] = set()
        for axis in dict.fromkeys(name for place in places for name in place):
            for level in dict.fromkeys(place[axis] for place in places):
                weights = np.array([place[axis] == level for place in places], dtype=np.int64)
                if 1 < weights.sum() < len(at) and weights.tobytes() not in seen:
                    seen.add(weights.tobytes())
                    yield CarrierRow(kind="level", name=f"{axis}={level}", p=1.0), weights


def p_digits(p: Floats) -> Floats:
    """`digits` of p-values, of which the smallest is chosen and all are compared with a level."""
    return np.array([digits(each) for each in p.flat]).reshape(p.shape)
