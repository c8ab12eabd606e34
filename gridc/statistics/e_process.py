"""Witness-first: which fresh items to ask under which configurations, so that a reversal is certified early.

An error guarantee that survives stopping at any time. For each pair and each direction every configuration
has an e-process: the wealth of a bettor who stakes a share of it on each fresh item (or unit of items), mixed
evenly over stakes. Against "a is not better under c" the expected factor of a step is at most 1 whatever
the dependence between configurations; and so is that of the mean over configurations, as long as the
configurations that an item is asked under were chosen before it was seen. By Ville's inequality the mean
reaches m / alpha with probability at most alpha / m. A reversal is certified when both directions have
reached it: under "no reversal" one of the two is a true null. With m claims the study-wide error is at most
alpha, at whatever moment it is stopped.

Items that were used are not used again: they would be asked under configurations that were chosen because
of them. Replicate 0 is what is asked; nothing assumes symmetry, and families count as one step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import log

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.betting import STAKES, log_mean

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
    """One pair of models (numbers): both sides, and the evaluations of cells x units it has used."""

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
