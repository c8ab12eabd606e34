"""Betting e-values: of all units at once, and as a race that certifies a reversal early.

The e-value of all units shows a difference, assuming nothing but that units are independent. A bettor stakes
a share lambda of its wealth on each unit's difference X in [-1, 1]: the wealth prod_u (1 + lambda X_u) is
never negative, and where the differences are 0 or below on average it is expected to stay at 1 or below,
because E prod (1 + lambda X_u) = prod (1 + lambda E X_u) <= (1 + lambda mean_u E X_u)^n <= 1. Neither
symmetry nor equal distributions are needed. The stakes are constant and mixed evenly (Waudby-Smith & Ramdas
2024, sec. 4; Cover's universal portfolio), so the order of units does not matter and nothing is tuned to the
data. Such an e-value e gives the p-value 1 / e (Markov), and a mean of e-values is one, whatever their
dependence.

Stakes that follow the data, as most strategies of Waudby-Smith & Ramdas have them, need every unit's mean to
be 0 or below given the units before; so do a maximum over time and Orabona & Jun's portfolios. The bound of
Phan, Thomas & Learned-Miller (2021) needs units of one distribution. Neither holds where units are
independent and nothing else.

The race is witness-first: it chooses which fresh items to ask under which configurations, so that a reversal
is certified early. Its error guarantee survives stopping at any time. For each pair and each direction every
configuration has an e-process: the wealth of a bettor who stakes a share of it on each fresh item (or unit of
items), mixed evenly over stakes. Against "a is not better under c" the expected factor of a step is at most 1
whatever the dependence between configurations; and so is that of the mean over configurations, as long as the
configurations that an item is asked under were chosen before it was seen. By Ville's inequality the mean
reaches m / alpha with probability at most alpha / m. A reversal is certified when both directions have
reached it: under "no reversal" one of the two is a true null. With m claims the study-wide error is at most
alpha, at whatever moment it is stopped.

Items that were used are not used again: they would be asked under configurations that were chosen because of
them. Replicate 0 is what is asked; nothing assumes symmetry, and families count as one step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil, log, log2, sqrt

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_means import crossing
from gridc.statistics.reproducibility import digits

PLACES = np.arange(1, 40, 2) / 40
LEAST = 1e-300
"""No p-value is printed as 0."""
GRAIN = 2.0**-39
"""Smallest gaps are multiples of this, so that all machines agree on them."""


def stakes(items: float) -> Floats:
    """What is staked on units of `items` >= 1 items on average, a number that is known before the data:
    1 - v^k for v = 1/40, 3/40 .. 39/40, where k = 1 + log2(items) / 2, at most 4. The best constant stake is
    about the mean of the differences over that of their squares: small for single items, and as large as is
    allowed for units of many, whose differences scatter little. Any stakes are valid; these win."""
    if items <= 1:
        return PLACES  # as 1 - v has them, to the last digit: recorded races are replayed
    fractions: Floats = 1 - PLACES[::-1] ** min(1 + log2(items) / 2, 4)
    return fractions


STAKES = stakes(1)
"""On single items: evenly from 0 to 1."""


def log_e_values(differences: Whole, span: int, staked: Floats) -> Floats:
    """log of the e-value against "the mean difference is 0 or below", by configuration, for even wealth on
    each of the stakes.

    `differences` has shape (configurations, units), in units of 1 / `span`, none larger than `span`. Raises
    `ValueError` where one is.
    """
    if np.abs(differences).max(initial=0) > span:
        raise ValueError("a unit's difference is larger than its span")
    values, places = np.unique(differences, return_inverse=True)
    rows = np.arange(len(differences))[:, None] * len(values) + places.reshape(differences.shape)
    size = len(differences) * len(values)
    counts = np.bincount(rows.ravel(), minlength=size).reshape(len(differences), len(values))
    return log_mean(counts.astype(np.float64) @ np.log1p(values[:, None] * staked / span))


def p_of_e_values(log_e: Floats) -> Floats:
    """1 / e by configuration. They are not cut at 1: only so is their harmonic mean the p-value of the mean
    e-value."""
    p: Floats = np.exp(np.clip(-log_e, np.log(LEAST), 700))
    return p


def log_mean(values: Floats) -> Floats:
    """log of the mean of exponentials along the last axis."""
    top = values.max(axis=-1)
    mean: Floats = top + np.log(np.exp(values - top[..., None]).mean(axis=-1))
    return mean


def betting_gap(differences: Whole, span: int, level: float, staked: Floats) -> float | None:
    """The smallest mean difference, as a share, at which units that scatter like these (units,) reach an
    e-value of 1 / level: they are moved up together, no further than 1. None when even all at 1 would not
    do."""
    values, counts = np.unique(differences / span, return_counts=True)
    centred = values - float(values @ counts) / counts.sum()

    def moved(by: float) -> Floats:
        shifted: Floats = np.clip(centred + by, -1.0, 1.0)
        return shifted

    def beyond(by: float) -> float:
        wealth: Floats = counts.astype(np.float64) @ np.log1p(moved(by)[:, None] * staked)
        return float(log_mean(wealth)) + log(level)

    if beyond(2.0) < 0:
        return None
    # Of the multiples of `GRAIN` the least one at which it is certified, so that it is one number everywhere.
    usual = sqrt(max(float(centred**2 @ counts), 1e-12)) / counts.sum() * sqrt(-2 * log(level))
    exact = crossing(beyond, 0.0, 2.0, usual, -log(level) / usual)
    place = ceil(exact / GRAIN)
    while beyond(place * GRAIN) < 0:
        place += 1
    while place > 1 and beyond((place - 1) * GRAIN) >= 0:
        place -= 1
    return digits(float(moved(place * GRAIN) @ counts / counts.sum()))


BLOCK = 8
"""Items between two choices of configurations."""
ROUNDS = (None, 12, 8)
"""How many configurations a side keeps in the first blocks (None: all), before it is down to `KEEP`."""
KEEP = 4


@dataclass(frozen=True, slots=True)
class Block:
    """What to ask next: fresh units (groups of items), and the (model, configuration) numbers to ask
    each of them under."""

    units: tuple[int, ...]
    cells: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class DirectionWealth:
    """One direction of one pair: log wealth by configuration and stake, and whether it was certified."""

    wealth: Floats
    reached: int | None = None

    @property
    def by_configuration(self) -> Floats:
        """log e-value of each configuration, the stakes mixed evenly."""
        return log_mean(self.wealth)

    @property
    def log_e(self) -> float:
        """log of the mean e-value over configurations."""
        return float(log_mean(self.by_configuration))

    def bet(self, steps: Floats, at: Sequence[int]) -> None:
        """Take the differences of some configurations, (units, configurations), each in [-1, 1]."""
        self.wealth[list(at)] += np.log1p(steps[:, :, None] * STAKES).sum(axis=0)

    def best(self, keep: int | None) -> list[int]:
        """The numbers of the configurations that promise most."""
        # Rounded, so that equal histories are equal on every machine and go by their place.
        order = np.argsort(-np.round(self.by_configuration, 9), kind="stable")
        return [int(place) for place in order[:keep]]


@dataclass(slots=True)
class Duel:
    """One pair of models, by their numbers, and both sides of its bet."""

    a: int
    b: int
    plus: DirectionWealth
    minus: DirectionWealth
    hopeless: bool = False

    @property
    def certified(self) -> bool:
        return self.plus.reached is not None and self.minus.reached is not None

    @property
    def open(self) -> bool:
        return not self.certified and not self.hopeless


@dataclass(slots=True)
class Race:
    """The scheduler of one benchmark. Ask `next`, answer with `tell`, until `next` is None.

    `claims` is the number of pairs x benchmarks of the study, `span` the most that a unit's difference can
    be (the size of the largest family). The order of units is a permutation by `seed`.
    """

    models: int
    configurations: int
    units: int
    alpha: float
    claims: int
    seed: int
    span: int = 1
    blocks: int = 0
    evaluations: int = 0
    duels: list[Duel] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = (self.configurations, len(STAKES))
        self.queue = np.random.default_rng(self.seed).permutation(self.units).tolist()
        self.duels = [
            Duel(a, b, DirectionWealth(np.zeros(shape)), DirectionWealth(np.zeros(shape)))
            for a, b in combinations(range(self.models), 2)
        ]

    @property
    def bar(self) -> float:
        """log of the e-value that certifies a direction."""
        return log(self.claims / self.alpha)

    def next(self) -> Block | None:
        """The next block, or None when every pair is decided or the items are used up."""
        for duel in self.duels:
            duel.hopeless = duel.hopeless or not self._reachable(duel)
        chosen = self._chosen()
        if not chosen or not self.queue:
            return None
        cells = sorted(
            {(model, at) for duel, places in chosen for at in places for model in (duel.a, duel.b)}
        )
        return Block(tuple(self.queue[:BLOCK]), tuple(cells))

    def tell(self, block: Block, scores: Mapping[tuple[int, int], Whole]) -> None:
        """Take the scores of a block's units, by (model, configuration), each of shape (units,)."""
        self.queue = self.queue[len(block.units) :]
        self.evaluations += len(block.units) * len(block.cells)
        self.blocks += 1
        observed = set(block.cells)
        for duel in self.duels:
            at = [c for c in range(self.configurations) if {(duel.a, c), (duel.b, c)} <= observed]
            if not at or not duel.open:
                continue
            gaps = np.stack([scores[duel.a, c] - scores[duel.b, c] for c in at], axis=1) / self.span
            for side, sign in ((duel.plus, 1.0), (duel.minus, -1.0)):
                side.bet(sign * gaps, at)
                if side.reached is None and side.log_e >= self.bar:
                    side.reached = self.units - len(self.queue)

    def _chosen(self) -> list[tuple[Duel, list[int]]]:
        keep = ROUNDS[self.blocks] if self.blocks < len(ROUNDS) else KEEP
        return [
            (
                duel,
                sorted(
                    {at for side in (duel.plus, duel.minus) if side.reached is None for at in side.best(keep)}
                ),
            )
            for duel in self.duels
            if duel.open
        ]

    def _reachable(self, duel: Duel) -> bool:
        """Whether the items that are left could still decide, if each were all that a side hopes for."""
        most = len(self.queue) * float(np.log1p(STAKES[-1]))
        return all(
            side.reached is not None or side.log_e + most >= self.bar for side in (duel.plus, duel.minus)
        )
