"""A search for the world in which a verdict that must not be reached is reached most often.

A world is a number for each range of a game. Random worlds are tried with a few studies each, the worse half
goes on with twice as many (successive halving, Jamieson & Talwalkar 2016), and what is left is changed a
little at a time. The finalists have many studies, and the worst of them is then simulated anew, with other
seeds: the share in which it was found is the largest of many and therefore too large. The interval is
Clopper and Pearson's.
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


Play = Callable[[World, np.random.Generator], bool]
"""A study of a world: whether it comes to the verdict that is false there."""


@dataclass(frozen=True, slots=True)
class Game:
    """What a report prints and holds to the level `alpha`, the ranges of worlds in which it is false, and
    what plays a study of one."""

    name: str
    ranges: Mapping[str, Range]
    play: Play
    alpha: float = 0.05
    hard: Sequence[World] = ()
    """Worlds to begin with, beside those that are drawn; what one leaves out is drawn."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `studies` came to the false verdict."""

    false: int
    studies: int

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, Clopper and Pearson."""
        left = self.studies - self.false
        low = float(beta.ppf(0.025, self.false, left + 1)) if self.false else 0.0
        return low, float(beta.ppf(0.975, self.false + 1, left)) if left else 1.0

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.false / self.studies:.3f} [{low:.3f}, {high:.3f}] of {self.studies:,}"


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
    return Share(sum(outcomes), len(outcomes))


class _Search:
    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.seed, self.random = game, seed, np.random.default_rng(seed)
        self.tried: list[World] = []
        self.false: list[int] = []
        self.studies: list[int] = []
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
        self.false.append(0)
        self.studies.append(0)
        return len(self.tried) - 1

    def play(self, place: int, count: int) -> None:
        first = self.studies[place]
        share = simulate(self.game, self.tried[place], range(first, first + count), self.seed)
        self.false[place] += share.false
        self.studies[place] += count
        self.spent += count

    def badness(self, place: int) -> float:
        """The share that was false, drawn to the level where studies are few."""
        return (self.false[place] + 12 * self.game.alpha) / (self.studies[place] + 12)

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
    finalists = run.worst((at for at, count in enumerate(run.studies) if count >= CHILD), FINALISTS)
    for place in finalists:
        run.play(place, final // FINALISTS)
    (last,) = run.worst(finalists, 1)
    return Worst(
        game, run.tried[last], simulate(game, run.tried[last], range(afresh), seed + 1), budget, seed
    )
