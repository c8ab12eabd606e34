"""Shares of responses that a machine read, corrected by the labels that people gave to some of them.

The machine labels all N rows, people n of them, drawn with the same chance each. Rows with the same label of
the machine are a stratum: its size is known, and the share of its points is estimated from its drawn rows
alone. The strata together are the corrected share (post-stratification). Where labels are few kinds this is
what prediction-powered inference with its best weight estimates (Angelopoulos, Duchi and Zrnic 2023).

Each stratum has exact limits of its own, and those of the share are as far away as the root of the sum of the
squares of how far each moves it (MOVER, as in `strata`). A normal error covers .60 to .85 where rates are
near 0 or 1 and labels are few.

Two quantities have limits. *Here*: the share of these very rows, of which only the unlabelled ones are open,
so that limits shrink with them (`SPARE`) and are none where people labelled all. *New*: the share of rows of
new units. There the sizes of the strata are a draw too, which moves the share by limits of its own; and what
counts is units, because rows of one unit are alike. Units of which the machine says more are often those that
earn more of what it misses too, so the sizes go along with the rates of the strata as far as units show.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import sqrt
from statistics import NormalDist

import numpy as np

from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.clustered_logit import effective_number
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.strata import PartShare, correlations
from gridc.statistics.unit_intervals import Ends, share_limit, share_limits

SMALL = 10
"""Drawn rows that a stratum is expected to have at least; smaller ones are pooled."""
SPARE = 4
"""Rows by which more of a stratum count as open than people left, if they left any. By sqrt(1 - n / N) alone
limits of the share of N rows cover .93 where half of 20 are labelled and .83 where all but one of 300 are; so
they cover .946 and more of any number up to 300 (one stratum, all draws counted)."""
ERRORS = np.geomspace(0.5, 1e-9, 175)
"""One-sided errors, twenty to a factor of ten, at which a claim is tried: its p-value is one of these."""
FIRST = 26
"""The place of the first one that is tried, .025."""
GUESSES = 4
"""Errors that are tried by a guess, before what is left is halved."""


@dataclass(frozen=True, slots=True)
class CorrectedShare:
    """A corrected share or gap, and its limits for these rows and for rows of new units."""

    value: float
    here: Ends
    new: Ends


@dataclass(frozen=True, slots=True)
class StratumCounts:
    """A stratum: its rows, how many of them people labelled, and what their labels earn in all."""

    rows: int
    labelled: int
    points: float


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """N rows: what the machine said of each, (N,) numbers from 0, and how much it `earned` by that; the unit
    of each; which people labelled; and what it earns by their labels, read only there. All earnings are from
    0 to 1."""

    said: Whole
    earned: Floats
    units: Whole
    labelled: Flags
    points: Floats

    def less(self, other: "LabelledRows") -> "LabelledRows":
        """The same rows of two models, as (1 + mine - theirs) / 2; a stratum is what the machine said of
        both."""
        said = self.said * (int(other.said.max(initial=0)) + 1) + other.said
        gain = (1 + self.earned - other.earned) / 2
        points = (1 + self.points - other.points) / 2
        return LabelledRows(said, gain, self.units, self.labelled & other.labelled, points)

    def at(self, places: Sequence[int]) -> "LabelledRows":
        """Some of the rows."""
        at = np.array(places, np.int64)
        return LabelledRows(
            self.said[at], self.earned[at], self.units[at], self.labelled[at], self.points[at]
        )

    @cached_property
    def strata(self) -> tuple[Whole, ...]:
        """The rows of each stratum. Those of which fewer than `SMALL` drawn rows are expected are pooled with
        others that the machine gave as much, and if that is too few with all such. How many are expected is
        known before anybody looks at the draw, so that pooling favours no label."""
        expected = float(self.labelled.mean()) if len(self.labelled) else 0.0
        if not expected:
            return (np.arange(len(self.said)),) if len(self.said) else ()
        left, found = np.ones(len(self.said), dtype=np.bool_), []
        for of in (self.said, self.earned):
            for value in np.unique(of[left]).tolist():
                rows = np.flatnonzero(left & (of == value))
                if len(rows) * expected >= SMALL:
                    found.append(rows)
                    left[rows] = False
        return (*found, np.flatnonzero(left)) if left.any() else tuple(found)

    @cached_property
    def counts(self) -> tuple[StratumCounts, ...]:
        """The strata, as far as they can be recounted from labels."""
        drawn = [rows[self.labelled[rows]] for rows in self.strata]
        return tuple(
            StratumCounts(len(rows), len(seen), digits(float(self.points[seen].sum())))
            for rows, seen in zip(self.strata, drawn, strict=True)
        )

    @property
    def effective(self) -> float:
        """How many labelled units of one size would tell as much."""
        return effective_number(np.bincount(self.units[self.labelled])) if self.labelled.any() else 0.0

    @cached_property
    def rates(self) -> Floats:
        """The share of each stratum; the machine's own where people labelled none of it."""
        return np.array(
            [
                float((self.points if seen.any() else self.earned)[rows[seen] if seen.any() else rows].mean())
                for rows, seen in ((rows, self.labelled[rows]) for rows in self.strata)
            ]
        )

    @cached_property
    def weights(self) -> Floats:
        """The part of the rows that each stratum has."""
        return np.array([len(rows) for rows in self.strata]) / max(len(self.said), 1)

    @property
    def value(self) -> float:
        return float(self.weights @ self.rates)

    def here(self, level: float = LEVEL) -> Ends:
        """The limits of the share of these rows."""
        moves = []
        for rows, rate, weight in zip(self.strata, self.rates, self.weights, strict=True):
            seen = rows[self.labelled[rows]]
            left, low, high = len(rows) - len(seen), 0.0, 1.0
            if len(seen):
                low, high = share_limits(np.ones(len(seen)), self.points[seen], level)
            open_part = weight * sqrt(min(1.0, (left + SPARE) / len(rows))) if left else 0.0
            moves.append((open_part * (rate - low), open_part * (high - rate)))
        down, up = np.sqrt((np.array(moves) ** 2).sum(axis=0)).tolist()
        # No unlabelled row earns less than nothing or more than a point.
        least = float(self.points[self.labelled].sum()) / len(self.said)
        most = least + float((~self.labelled).mean())
        return digits(max(self.value - down, least)), digits(min(self.value + up, most))

    def new(self, level: float = LEVEL) -> Ends:
        """The limits of the share of rows of new units."""
        return self._end(level, 0), self._end(level, 1)

    def above_half(self) -> float:
        """The p-value of "of new units the share is above 1/2": the smallest of `ERRORS` at which the lower
        limit is."""
        return self._beyond_half(0)

    def below_half(self) -> float:
        """The p-value of "of new units the share is below 1/2"."""
        return self._beyond_half(1)

    def _beyond_half(self, end: int) -> float:
        """The next error that is tried is where limits would reach 1/2 if they were a normal's."""
        away = (0.5 - self.value) if end else (self.value - 0.5)
        if away <= 0:
            return 1.0
        low, high, place = 0, len(ERRORS), FIRST
        for tries in count():
            error = float(ERRORS[place])
            limit = self._end(1 - 2 * error, end)
            low, high = (place + 1, high) if (limit < 0.5 if end else limit > 0.5) else (low, place)
            if low == high:
                break
            reach, normal = abs(self.value - limit), NormalDist().inv_cdf(1 - error)
            guess = (low + high) // 2
            if tries < GUESSES and reach > 0 and normal > 0:
                guess = int(np.searchsorted(-ERRORS, -NormalDist().cdf(-normal * away / reach)))
            place = min(max(guess, low), high - 1)
        return digits(float(ERRORS[low - 1])) if low else 1.0

    def _end(self, level: float, end: int) -> float:
        """A limit of the share of new units."""
        moves = np.array([part.weight * part.reach(level, end) for part in self._parts])
        reach = sqrt(max(float(moves @ self._together @ moves), 0.0))
        return digits(min(self.value + reach, 1.0) if end else max(self.value - reach, 0.0))

    @cached_property
    def _parts(self) -> "tuple[_Part, ...]":
        """What moves the share of new units: the share of each stratum, and last the sizes of the strata,
        which vary as much as the machine's labels of all rows do over units."""
        units, expected, parts = int(self.units.max(initial=-1)) + 1, np.empty(len(self.said)), []
        for rows, rate, weight in zip(self.strata, self.rates, self.weights, strict=True):
            expected[rows] = rate
            seen = rows[self.labelled[rows]]
            sizes = np.bincount(self.units[seen], minlength=units).astype(np.float64)
            points = np.bincount(self.units[seen], self.points[seen], units).astype(np.float64)
            parts.append(_Part(float(weight), float(rate), sizes, points))
        least, most = float(self.rates.min(initial=1.0)), float(self.rates.max(initial=0.0))
        if most > least:
            # Whatever the sizes, the share lies between the least and the most of a stratum.
            scaled = (expected - least) / (most - least)
            sizes = np.bincount(self.units, minlength=units).astype(np.float64)
            points = np.bincount(self.units, scaled, units).astype(np.float64)
            parts.append(_Part(most - least, float(scaled.mean()), sizes, points))
        return tuple(parts)

    @cached_property
    def _together(self) -> Floats:
        """The correlation of each two parts. Strata are correlated where units have rows in several of them,
        and with the sizes as far as units show."""
        found = np.eye(len(self._parts))
        seen = np.array([bool(part.rows.any()) for part in self._parts], np.bool_)
        if seen.any():
            known, most = correlations([part.share for part in self._parts if part.rows.any()])
            if len(self._parts) > len(self.strata):
                most[-1], most[:, -1] = 0.0, 0.0
            found[np.ix_(seen, seen)] = known + most
        return found


@dataclass(frozen=True, eq=False)
class _Part:
    """A share that counts `weight` in the whole, with the `rows` and their `points` of each unit, (G,)."""

    weight: float
    rate: float
    rows: Floats
    points: Floats

    @property
    def share(self) -> PartShare:
        influences = (self.points - self.rate * self.rows) / self.rows.sum()
        return PartShare(self.rate, (self.rate, self.rate), self.rows, influences)

    def reach(self, level: float, end: int) -> float:
        """How far one of its limits is away; everything is possible where there is no row."""
        limit = share_limit(self.rows, self.points, level, end) if self.rows.any() else float(end)
        return abs(limit - self.rate)


def corrected_share(rows: LabelledRows) -> CorrectedShare:
    """The share by people's labels."""
    return CorrectedShare(digits(rows.value), rows.here(), rows.new())


def corrected_gap(rows: LabelledRows) -> CorrectedShare:
    """The share of one model less that of another one, of what `LabelledRows.less` made of both."""
    found = corrected_share(rows)
    return CorrectedShare(digits(2 * rows.value - 1), _as_gap(found.here), _as_gap(found.new))


def gap_p(rows: LabelledRows) -> tuple[float, float]:
    """The p-values of "the first model's share is higher of new units" and of "the second one's is"."""
    return rows.above_half(), rows.below_half()


def _as_gap(ends: Ends) -> Ends:
    return digits(2 * ends[0] - 1), digits(2 * ends[1] - 1)
