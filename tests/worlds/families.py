"""Families of statements: studies of the papers' sizes, and how often every kind of interval misses there.

No world is sought: each family has the items of one benchmark, and numbers from anywhere in the ranges of the
games. What misses too often is simulated anew, because of thousands of shares some are large by luck.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tests.worlds.search import Game, Share, World, simulate

SHAPES: Mapping[str, World] = {
    "XSTest": {"units": 450, "items": 1, "pareto": 0},
    "MMLU": {"units": 1000, "items": 1, "pareto": 0},
    "TruthfulQA": {"units": 817, "items": 1, "pareto": 0},
    "SafetyBench": {"units": 700, "items": 2, "pareto": 0},
    "295 items": {"units": 295, "items": 1, "pareto": 0},
    "BBQ": {"units": 325, "items": 8, "pareto": 0},
    "BBQ by question template": {"units": 130, "items": 16, "pareto": 0.3},
    "292 items in templates": {"units": 27, "items": 11, "pareto": 0},
    "a pilot": {"units": 60, "items": 4, "pareto": 0},
}
"""Units, items of each, and how unequal they are. Where a statistic is of other things, such as several
benchmarks, its game says how many."""
MODELS = 3, 6
AGAIN = 5
"""How many times as many studies say whether a share is large by luck."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One kind of interval in one family, and its share of misses; anew where it was large."""

    game: Game
    family: str
    world: World
    share: Share

    def __str__(self) -> str:
        world = ", ".join(f"{name} {value:g}" for name, value in self.world.items())
        return f"{self.game.name}: {self.share} ({self.family}; {world})"


def families(games: Sequence[Game], count: int, studies: int, seed: int) -> Iterator[Statement]:
    """Every game in `count` families, of so many studies each."""
    for number in range(count):
        random = np.random.default_rng((seed, number))
        name = str(random.choice(list(SHAPES)))
        models = int(random.integers(MODELS[0], MODELS[1] + 1))
        places: dict[str, float] = {}
        for game in games:
            world = _world(game, SHAPES[name], models, places, random)
            share = simulate(game, world, range(studies), seed)
            if share.printed and share.of_printed > game.most:
                share = simulate(game, world, range(AGAIN * studies), seed + 1)
            yield Statement(game, f"{name}, {models} models", world, share)


def _world(
    game: Game, shape: World, models: int, places: dict[str, float], random: np.random.Generator
) -> World:
    """The numbers of a family, which lie at the same `places` of their ranges in all of its games."""
    found: dict[str, float] = {}
    for name, each in game.ranges.items():
        found[name] = each.at(places.setdefault(name, float(random.random())))
    if "pareto" in found or "units" in found:
        found |= {name: value for name, value in shape.items() if name in found}
        found |= {"giant": 0.0} if "giant" in found else {}
        found["most"] = 1e9
    if "models" in found:
        found["models"] = float(models)
    return found
