"""Differences of a statistic of two models on the same items, in worlds in which their intervals can miss."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gridc.statistics import totals
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.envelope import LEVEL
from gridc.statistics.strata import PartsStatistic
from tests.worlds.intervals import missed
from tests.worlds.scores import MANY
from tests.worlds.search import INTERVAL, Game, Play, Range, World
from tests.worlds.stated import (
    CLASSES,
    classes,
    luck,
    precision,
    recall,
    true_f1,
    true_matthews,
    true_precision,
    true_recall,
)
from tests.worlds.studies import SHARE

BOTH: Mapping[str, Range] = {
    **CLASSES, "units": MANY, "found_by_other": SHARE, "cleared_by_other": SHARE,
    "near": Range(0, 1, plain=0.3), "alike": SHARE,
}  # fmt: skip
"""How often either class is right with the other model, drawn by so much to how often it is with the first
one; and in which share of units both models have the same luck."""
OfTable = Callable[[Whole, Floats, float], PartsStatistic]


def rates(world: World, name: str) -> tuple[float, float]:
    """Of the first model and of the other."""
    first, other = world[name], world[f"{name}_by_other"]
    return first, first + world["near"] * (other - first)


def tables(
    world: World, random: np.random.Generator
) -> tuple[Whole, Flags, list[Floats], list[tuple[float, float, float, float]]]:
    """The unit of each row, whether it is positive, what each model says, and the true shares of the table
    of two classes."""
    of, positive, drawn = classes(world, random)
    units = int(of.max()) + 1
    same = (random.random(units) < world["alike"])[of]
    lucks = drawn, np.where(same, drawn, luck(world, random, of, units))
    says, cells = [], []
    share, kept = world["positive"], 1 - world["odd"]
    for own, found, cleared in zip(lucks, rates(world, "found"), rates(world, "cleared"), strict=True):
        says.append(np.where(positive, own < found, own >= cleared).astype(float))
        f, c = found * kept, cleared * kept
        cells.append((share * f, (1 - share) * (1 - c), share * (1 - f), (1 - share) * c))
    return of, positive, says, cells


def of_tables(statistic: OfTable, true: Callable[..., float]) -> Play:
    def play(world: World, random: np.random.Generator) -> bool | None:
        of, positive, says, cells = tables(world, random)
        one, other = (
            statistic(of, totals.two_classes(positive, own, np.ones(len(of))), LEVEL) for own in says
        )
        return missed(one.minus(other), true(*cells[0]) - true(*cells[1]))

    return play


def right_of_all(unit: Whole, table: Floats, level: float) -> PartsStatistic:
    return totals.share_of_rows(unit, table.sum(axis=1), table[:, 0] + table[:, 3], level)


def true_right(tp: float, fp: float, fn: float, tn: float) -> float:
    return tp + tn


def of_areas(world: World, random: np.random.Generator) -> bool | None:
    """Of a number that is 0 or 1."""
    of, positive, says, cells = tables(world, random)
    one, other = (totals.area_under_curve(of, own, positive, ~positive, LEVEL) for own in says)
    true = [(tp / (tp + fn) + tn / (tn + fp)) / 2 for tp, fp, fn, tn in cells]
    return missed(one.minus(other), true[0] - true[1])


def of_macro_means(world: World, random: np.random.Generator) -> bool | None:
    """Of both classes, each a benchmark."""
    of, positive, says, cells = tables(world, random)
    one, other = (
        totals.macro_mean(of, positive.astype(int), 2, np.ones(len(of)), np.where(positive, own, 1 - own))
        for own in says
    )
    true = [(tp / (tp + fn) + tn / (tn + fp)) / 2 for tp, fp, fn, tn in cells]
    return missed(one.minus(other), true[0] - true[1])


_PLAIN = {
    "items": 1, "pareto": 0, "giant": 0, "inside": 0, "odd": 0, "whole": 0, "alike": 1, "positive": 0.5,
    "cleared": 1, "cleared_by_other": 1,
}  # fmt: skip
RARELY_APART = (
    {**_PLAIN, "units": 100, "found": 0.7, "near": 1, "found_by_other": 0.66},
    {**_PLAIN, "units": 20, "items": 8, "found": 1, "near": 1, "found_by_other": 0.97},
    {**_PLAIN, "units": 60, "found": 0.3, "near": 1, "found_by_other": 0.34, "positive": 0.2},
)
"""Both models answer alike, but for a unit in fifty."""
PLAYED: Mapping[str, Play] = {
    "means": of_tables(right_of_all, true_right),
    "recalls": of_tables(recall, true_recall),
    "precisions": of_tables(precision, true_precision),
    "F1": of_tables(totals.f1, true_f1),
    "Matthews' correlations": of_tables(totals.matthews, true_matthews),
    "AUROCs": of_areas,
    "macro means": of_macro_means,
}


def games() -> Iterator[Game]:
    for name, play in PLAYED.items():
        yield Game(f"the interval of a difference of two {name} misses", BOTH, play, INTERVAL, RARELY_APART)


DIFFERENCES = tuple(games())
