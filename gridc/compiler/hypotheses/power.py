"""The power of each hypothesis by the test that will decide it, at the planned items.

Levels are those at the family's strictest step. What is assumed of the answers is said once, in `ASSUMED`;
benchmarks count with their own numbers of units.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain

from gridc.schema.spec import Spec
from gridc.statistics.expected_power import BASE

CHANGING = (0.1, 0.3)
"""Shares of items whose answers differ between two levels, or two models, for which power is given."""
TOGETHER = 0.1
"""The correlation of answers to a unit that differ in more than the level, over that of those that do not."""


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
class BenchmarkUnits:
    """What a hypothesis is tested on in one benchmark: how many items each unit has, each counted once, and
    in how many cells each combination of compared levels is. `names` are those of the units where benchmarks
    share some (`inputs.units.one_group`): the same name is the same unit."""

    sizes: tuple[int, ...]
    cells: Mapping[tuple[str, ...], int]
    names: tuple[tuple[str, str], ...] = ()

    @property
    def items(self) -> int:
        return sum(self.sizes)

    @property
    def units(self) -> int:
        return len(self.sizes)


def numbers_of(parts: Collection[BenchmarkUnits]) -> tuple[tuple[int, ...], ...]:
    """The number of each unit of each part; without them where no two parts share a unit."""
    names = list(chain.from_iterable(part.names for part in parts))
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if len(number) == len(names):
        return tuple(() for _ in parts)
    return tuple(tuple(number[name] for name in part.names) for part in parts)


def replicates_of(spec: Spec) -> int:
    """The most answers to an item in a cell."""
    stated = [level.replicates for level in spec.levels if level.replicates is not None]
    return max([*stated, spec.harness.replicates or 1])


def units_of(parts: Collection[BenchmarkUnits]) -> int:
    """How many units several parts have."""
    unnamed = sum(part.units for part in parts if not part.names)
    return len({*chain.from_iterable(part.names for part in parts)}) + unnamed


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """What a hypothesis is tested on, at a `level`: the cells of `spec`, in `parts` by benchmark (None where
    the number of items is not known; then `many` are assumed, to see what is possible at all). `graded` says
    whether a response of the study can earn a part of a point."""

    spec: Spec
    level: float
    graded: bool
    parts: Mapping[str, BenchmarkUnits] | None
    many: Mapping[str, BenchmarkUnits] = field(default_factory=dict)

    @property
    def known(self) -> Mapping[str, BenchmarkUnits]:
        return self.many if self.parts is None else self.parts

    @property
    def replicates(self) -> int:
        """How many answers an item has at most that count as answers of their own."""
        return 1 if self.spec.aggregated else replicates_of(self.spec)

    @property
    def whole(self) -> bool:
        """Whether an item has one such answer in every cell, which earns 0 or 1."""
        return self.replicates == 1 and not self.graded

    @property
    def empty(self) -> bool:
        """Whether some benchmark has no unit, or no number of them is known."""
        return not self.parts or min(part.units for part in self.parts.values()) == 0


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


def points(difference: float | None) -> float | None:
    """A proportion in percentage points, rounded up."""
    return None if difference is None else rounded_up(100 * difference)


def rounded_up(points: float) -> float:
    """Percentage points to a tenth, never fewer than are needed."""
    return math.ceil(round(10 * points, 3)) / 10
