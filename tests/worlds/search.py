"""A search for the world in which a verdict that must not be reached is reached most often, or in which most
of the intervals that are printed miss.

A world is a number for each range of a game. Random worlds are tried with a few studies each, the worse half
goes on with twice as many (successive halving, Jamieson & Talwalkar 2016), and what is left is changed a
little at a time. The finalists have many studies, and the worst of them is then simulated anew, with other
seeds: the share in which it was found is the largest of many and therefore too large. The interval is
Clopper and Pearson's.

What is withheld is not false, and says nothing of what is printed: a share is of the studies that print.
Worlds are compared by that share, drawn to the level where few print; one where fewer than one in twenty does
is left alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

World = Mapping[str, float]
FIRST, STUDIES = 0.4, 2
"""The share of the budget that halving takes, and the studies of a world in its first round."""
CHILD, FRESH = 12, 0.25
"""The first studies of a changed world, and the share of such worlds that are new altogether."""
FINALISTS, FINAL, AFRESH = 5, 0.15, 0.25
"""How many worlds come into the last round, the share of the budget that they have there, and the share that
simulates the worst of them anew."""


@dataclass(frozen=True, slots=True)
class Range:
    """Values from `low` to `high`, on a logarithmic scale or not, whole or not. Ends are tried more often
    than what lies between them, because what is extreme is often worst; a share `plain` of draws is `low`."""

    low: float
    high: float
    logarithmic: bool = False
    whole: bool = False
    plain: float = 0.0

    def at(self, place: float) -> float:
        """The value at a place from 0 to 1."""
        if self.logarithmic:
            value = float(self.low * (self.high / self.low) ** place)
        else:
            value = self.low + (self.high - self.low) * place
        return float(round(value)) if self.whole else float(f"{value:.3g}")

    def draw(self, random: np.random.Generator) -> float:
        place = 0.0 if random.random() < self.plain else random.uniform(-0.5, 1.5)
        return self.at(float(np.clip(place, 0, 1)))

    def near(self, value: float, random: np.random.Generator) -> float:
        """A neighbour of a value, or now and then any other."""
        if random.random() < 0.2:
            return self.draw(random)
        width = self.high - self.low
        place = np.log(value / self.low) / np.log(self.high / self.low) if self.logarithmic else 0.0
        if not self.logarithmic:
            place = (value - self.low) / width if width else 0.0
        return self.at(float(np.clip(place + random.normal(0, 0.15), 0, 1)))


Play = Callable[[World, np.random.Generator], bool | None]
"""A study of a world: whether what it prints is false there; None where it prints nothing. A verdict that is
not reached is printed too, and is not false."""
VERDICT, INTERVAL = 0.05, 0.08
"""How many of the studies that print may be false: the level of a verdict, and what an interval of 95 % may
miss in the worst world that is found."""
DRAWN = 12
"""As many studies, false as often as the level says, are added to those of a world when it is compared."""
RARELY = 0.05
"""A world in which a smaller share of studies prints says nothing."""


@dataclass(frozen=True, slots=True)
class Game:
    """What a report prints, the ranges of worlds in which it can be false, what plays a study of one, and how
    many of the studies that print may be false."""

    name: str
    ranges: Mapping[str, Range]
    play: Play
    most: float = VERDICT
    hard: Sequence[World] = ()
    """Worlds to begin with, beside those that are drawn; what one leaves out is drawn."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `studies` printed, and what of that was false."""

    false: int
    printed: int
    studies: int

    @property
    def of_printed(self) -> float:
        return self.false / self.printed if self.printed else 0.0

    @property
    def of_all(self) -> float:
        return self.false / self.studies

    @property
    def interval(self) -> tuple[float, float]:
        """Of the share of what is printed: 95 %, Clopper and Pearson."""
        right = self.printed - self.false
        low = float(beta.ppf(0.025, self.false, right + 1)) if self.false else 0.0
        return low, float(beta.ppf(0.975, self.false + 1, right)) if right else 1.0

    @property
    def badness(self) -> float:
        """The share of what is printed, drawn to the level where that is little."""
        if not self.printed or self.printed < RARELY * self.studies:
            return 0.0
        return (self.false + DRAWN * VERDICT) / (self.printed + DRAWN)

    def __add__(self, other: "Share") -> "Share":
        return Share(self.false + other.false, self.printed + other.printed, self.studies + other.studies)

    def __str__(self) -> str:
        low, high = self.interval
        printed = f"{self.of_printed:.3f} [{low:.3f}, {high:.3f}] of {self.printed:,} printed"
        return f"{printed}, {self.of_all:.3f} of all {self.studies:,}"


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst world that was found, how often its verdict is false by studies that had no part in the
    search, how many studies the search had, and its seed."""

    game: Game
    world: World
    share: Share
    budget: int
    seed: int

    def __str__(self) -> str:
        world = ", ".join(f"{name} {value:g}" for name, value in self.world.items())
        return f"{self.game.name}: {self.share} ({world}; budget {self.budget:,}, seed {self.seed})"


def simulate(game: Game, world: World, seeds: Iterable[int], seed: int) -> Share:
    """Studies of one world, each with a seed of its own."""
    outcomes = [game.play(world, np.random.default_rng((seed, each))) for each in seeds]
    printed = [false for false in outcomes if false is not None]
    return Share(sum(printed), len(printed), len(outcomes))


class _Search:
    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.seed, self.random = game, seed, np.random.default_rng(seed)
        self.tried: list[World] = []
        self.shares: list[Share] = []
        self.spent = 0

    def any_world(self) -> World:
        return {name: each.draw(self.random) for name, each in self.game.ranges.items()}

    def begun(self, hard: World) -> World:
        """A stated world, as near as the ranges allow."""
        world = self.any_world()
        known = {name: each for name, each in self.game.ranges.items() if name in hard}
        return {**world, **{n: float(np.clip(hard[n], each.low, each.high)) for n, each in known.items()}}

    def child(self, parent: World) -> World:
        """The world with one to three numbers changed; now and then another one altogether."""
        if self.random.random() < FRESH:
            return self.any_world()
        ranges = self.game.ranges
        changed = set(self.random.choice(list(ranges), size=int(self.random.integers(1, 4))))
        return {
            name: each.near(parent[name], self.random) if name in changed else parent[name]
            for name, each in ranges.items()
        }

    def add(self, world: World) -> int:
        self.tried.append(world)
        self.shares.append(Share(0, 0, 0))
        return len(self.tried) - 1

    def play(self, place: int, count: int) -> None:
        first = self.shares[place].studies
        self.shares[place] += simulate(self.game, self.tried[place], range(first, first + count), self.seed)
        self.spent += count

    def badness(self, place: int) -> float:
        return self.shares[place].badness

    def worst(self, places: Iterable[int], count: int) -> list[int]:
        return sorted(places, key=self.badness, reverse=True)[:count]


def search(game: Game, budget: int, seed: int) -> Worst:
    """The worst world of a game within so many simulated studies."""
    run = _Search(game, seed)
    rounds = 4
    count = max(4, int(FIRST * budget / (STUDIES * rounds)))
    alive = [run.add(run.begun(world)) for world in game.hard]
    alive += [run.add(run.any_world()) for _ in range(count)]
    studies = STUDIES
    for _ in range(rounds):
        for place in alive:
            run.play(place, studies)
        alive = run.worst(alive, max(3, len(alive) // 2))
        studies *= 2
    afresh, final = int(AFRESH * budget), int(FINAL * budget)
    while run.spent < budget - afresh - final:
        parent = run.tried[alive[int(run.random.integers(len(alive)))]]
        child = run.add(run.child(parent))
        run.play(child, CHILD)
        rival = min(map(run.badness, alive))
        if run.badness(child) >= rival:
            run.play(child, 3 * CHILD)
        alive = run.worst({*alive, child}, 6)
        for place in alive[:2]:  # what leads by luck falls back
            run.play(place, CHILD // 2)
    finalists = run.worst((at for at, share in enumerate(run.shares) if share.studies >= CHILD), FINALISTS)
    for place in finalists:
        run.play(place, final // FINALISTS)
    (last,) = run.worst(finalists, 1)
    return Worst(
        game, run.tried[last], simulate(game, run.tried[last], range(afresh), seed + 1), budget, seed
    )
