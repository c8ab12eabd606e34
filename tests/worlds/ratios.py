"""Ratios of totals, gaps and consistency over levels, and functions of totals, in worlds in which their
intervals can miss."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy.special import expit, logit

from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.of_totals import of_totals
from gridc.statistics.strata import PartsStatistic
from gridc.statistics.total_ratios import ratio
from gridc.statistics.unit_intervals import Ends, change, gains_and_losses, share, unit_totals
from gridc.statistics.widest_gap import widest_gap
from tests.worlds.intervals import alike, missed, misses, of_units
from tests.worlds.scores import MANY, RARE, SEEN, UNSEEN
from tests.worlds.search import INTERVAL, Game, Range, World
from tests.worlds.studies import FLAG, SHARE

UNITS: Mapping[str, Range] = {
    "units": MANY, "items": Range(1, 8, logarithmic=True, whole=True),
    "pareto": Range(0, 1, plain=0.5), "giant": Range(0, 0.3, plain=0.5), "inside": SHARE,
}  # fmt: skip
SOME = 10
"""Units of a kind that are expected, where it is one that is seen."""
COSTS: Mapping[str, Range] = {
    **UNITS, "success": Range(0.02, 0.98), "skew": Range(0.1, 1.5), "together": SHARE,
    "dearer": Range(0.2, 5, logarithmic=True), "spread": Range(0, 1.5, plain=0.5),
}  # fmt: skip
"""How often rows succeed, the spread of log costs, the share of it that a unit's rows share, how many times
as much a failure costs as a success, and how success falls with the cost (log odds)."""
RARE_FAILURES = {
    "units": 66, "items": 8, "pareto": 0, "giant": 0, "inside": 1, "success": 0.98, "skew": 0.1,
    "together": 1, "dearer": 5, "spread": 0,
}  # fmt: skip
"""A unit in fifty fails, and costs five times as much."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def normal(random: np.random.Generator, of: Whole, units: int, together: float) -> Floats:
    """A normal number for each row, a share of whose variance is its unit's."""
    own = np.sqrt(together) * random.standard_normal(units)[of]
    drawn: Floats = own + np.sqrt(1 - together) * random.standard_normal(len(of))
    return drawn


def costs(world: World, hardness: Floats, luck: Floats) -> tuple[Floats, Flags]:
    """What rows cost, and whether they succeed."""
    won: Flags = luck < expit(logit(world["success"]) - world["spread"] * hardness)
    return np.exp(world["skew"] * hardness) * np.where(won, 1.0, world["dearer"]), won


def cost_per_success(world: World) -> float:
    rate = expit(logit(world["success"]) - world["spread"] * NODES)
    cost = np.exp(world["skew"] * NODES) * (rate + (1 - rate) * world["dearer"])
    return float(WEIGHTS @ cost / (WEIGHTS @ rate))


def seen(world: World, success: float) -> World:
    """The world, in which failures cost what successes do where few units are expected to fail or succeed."""
    rarer = world["units"] * min(success, 1 - success)
    return {**world, "dearer": world["dearer"] if rarer >= SOME else 1.0}


def cost(rare: bool) -> Game:
    def play(world: World, random: np.random.Generator) -> bool | None:
        world = world if rare else seen(world, world["success"])
        of, units = of_units(world)
        spent, won = costs(
            world, normal(random, of, units, world["together"]), alike(random, of, units, world["inside"])
        )
        found = ratio(of, spent, np.where(won, 1.0, 0.0), np.ones(len(of)))
        return missed(found.estimate(), cost_per_success(world))

    words = f"the interval of a cost per success misses{UNSEEN if rare else ''}"
    return Game(words, COSTS, play, INTERVAL, (RARE_FAILURES,))


def dearer_by() -> Game:
    """Of two models, of which in how many units hardness and luck are one (`alike`)."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        rates = world["success"], world["other"]
        world = seen(world, min(rates, key=lambda rate: min(rate, 1 - rate)))
        of, units = of_units(world)
        same = (random.random(units) < world["alike"])[of]
        hard, luck = normal(random, of, units, world["together"]), alike(random, of, units, world["inside"])
        found: list[PartsStatistic] = []
        truth: list[float] = []
        for rate, times in zip(rates, (world["times"], 1.0), strict=True):
            own = {**world, "success": rate}
            own_hard = np.where(same, hard, normal(random, of, units, world["together"]))
            own_luck = np.where(same, luck, alike(random, of, units, world["inside"]))
            own_spent, own_won = costs(own, own_hard, own_luck)
            found.append(ratio(of, times * own_spent, np.where(own_won, 1.0, 0.0), np.ones(len(of))))
            truth.append(times * cost_per_success(own))
        return missed(found[0].minus(found[1]), truth[0] - truth[1])

    ranges = {**COSTS, "other": Range(0.02, 0.98), "times": Range(0.5, 3), "alike": SHARE}
    return Game("the interval of a difference of two costs per success misses", ranges, play, INTERVAL)


def weighted_recall(rare: bool) -> Game:
    """Of findings that weigh 1, and so many units, on average, whose findings weigh more."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        share_of = min(world["heavy"] / units, 0.5)
        heavy = alike(random, of, units, world["whole"]) < share_of
        chances = world["of_heavy"], world["of_light"]
        found = recall_of(world, heavy, of, alike(random, of, units, world["inside"]), chances)
        return missed(found.estimate(), true_recall(world, share_of, chances))

    ranges = {
        **UNITS, "heavy": RARE if rare else SEEN, "weight": Range(1, 10), "whole": FLAG,
        "of_heavy": SHARE, "of_light": SHARE,
    }  # fmt: skip
    words = f"the interval of a weighted recall misses{UNSEEN if rare else ''}"
    hard = {
        "units": 300, "items": 1, "pareto": 0, "giant": 0, "inside": 0, "heavy": 1, "weight": 10, "whole": 0,
        "of_heavy": 0, "of_light": 1,
    }  # fmt: skip
    return Game(words, ranges, play, INTERVAL, (hard,))


def recall_of(
    world: World, heavy: Flags, of: Whole, luck: Floats, chances: tuple[float, float]
) -> PartsStatistic:
    """What is found of findings that are heavy or light, of either with its chance."""
    weight = np.where(heavy, world["weight"], 1.0)
    found = np.where(luck < np.where(heavy, *chances), weight, 0.0)
    return ratio(of, found, weight, np.ones(len(of)), part_of=True)


def true_recall(world: World, share_of: float, chances: tuple[float, float]) -> float:
    weights = np.array([share_of * world["weight"], 1 - share_of])
    return float(weights @ chances / weights.sum())


def recall_gap() -> Game:
    """Of two models on the same findings, of which in how many units luck is one."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        share_of = min(world["heavy"] / units, 0.5)
        heavy = alike(random, of, units, world["whole"]) < share_of
        both = world["of_heavy"], world["of_light"]
        chances = both, (both[0] * world["less"], both[1] * world["less"])
        luck = [alike(random, of, units, world["inside"]) for _ in chances]
        luck[1] = np.where((random.random(units) < world["alike"])[of], *luck)
        one, other = (recall_of(world, heavy, of, own, each) for own, each in zip(luck, chances, strict=True))
        truths = [true_recall(world, share_of, each) for each in chances]
        return missed(one.minus(other), truths[0] - truths[1])

    ranges = {
        **UNITS, "heavy": SEEN, "weight": Range(1, 10), "whole": FLAG, "of_heavy": SHARE, "of_light": SHARE,
        "less": SHARE, "alike": SHARE,
    }  # fmt: skip
    return Game("the interval of a difference of two weighted recalls misses", ranges, play, INTERVAL)


LEVELS: Mapping[str, Range] = {
    **UNITS, "levels": Range(2, 8, whole=True), "base": Range(0.01, 0.99),
    "apart": Range(0, 0.5, plain=0.4), "one": FLAG, "tied": SHARE,
}  # fmt: skip
"""So many levels, the rate of the first, how far the last lies from it, whether it is the only one that does
(else they lie at even distances), and how many items have one luck under all levels."""


def under_levels(world: World, random: np.random.Generator) -> tuple[Whole, Flags, Floats]:
    """The unit of each item, (N,), what is right under each level, (L, N), and the levels' rates, (L,)."""
    of, units = of_units(world)
    levels = int(world["levels"])
    step = np.arange(levels) == levels - 1 if world["one"] else np.arange(levels) / (levels - 1)
    way = -1 if world["base"] > 0.5 else 1
    rates = np.clip(world["base"] + way * world["apart"] * step, 0, 1)
    own = np.stack([alike(random, of, units, world["inside"]) for _ in range(levels)])
    tied = alike(random, of, units, world["inside"]) < world["tied"]
    return of, np.where(tied, own[0], own) < rates[:, None], rates


def gap_over_levels(world: World, random: np.random.Generator) -> bool | None:
    of, right, rates = under_levels(world, random)

    def limits(one: int, other: int, level: float) -> Ends | None:
        moved = right[one].astype(float) - right[other]
        return change(unit_totals(of, gains_and_losses(moved)), level).interval

    _, ends = widest_gap(right.mean(axis=1).tolist(), limits)
    return misses(ends, float(rates.max() - rates.min()))


def consistency(world: World, random: np.random.Generator) -> bool | None:
    """The share of items that are all right or all wrong."""
    of, right, rates = under_levels(world, random)
    same = right.all(axis=0) | ~right.any(axis=0)
    truth = world["tied"] * (rates.min() + 1 - rates.max())
    truth += (1 - world["tied"]) * (rates.prod() + (1 - rates).prod())
    return missed(share(unit_totals(of, np.column_stack([np.ones(len(of)), same]))), float(truth))


CLASSES: Mapping[str, Range] = {
    **UNITS, "pareto": Range(0, 0.5, plain=0.5), "giant": Range(0, 0), "positive": SHARE, "whole": FLAG,
    "found": Range(0.02, 0.98), "cleared": Range(0.02, 0.98),
}  # fmt: skip
"""The share of positive items, of which ten units or more are expected as of the others; whether all items of
a unit are of one class, and how often either class is right. Units are of about one size."""


def f_beta(sums: Floats) -> Floats:
    """With beta = 2, of true positives, false positives and false negatives."""
    tp, fp, fn = sums.T
    score: Floats = 5 * tp / (5 * tp + fp + 4 * fn)
    return score


def geometric(sums: Floats) -> Floats:
    """The geometric mean of two rates, of what is right in each class and its items."""
    one, ones, other, others = sums.T
    mean: Floats = np.sqrt(one / ones * other / others)
    return mean


def quotients(sums: Floats) -> Floats:
    """The cost per success in one class less that in the other."""
    cost, won, other_cost, other_won = sums.T
    difference: Floats = cost / won - other_cost / other_won
    return difference


def written(name: str, function: Callable[[Floats], Floats]) -> Game:
    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        least = SOME / units if units >= 2 * SOME else 0.5
        positive_share = float(np.clip(world["positive"], least, 1 - least))
        one, other = world["found"], world["cleared"]
        positive = alike(random, of, units, world["whole"]) < positive_share
        right = alike(random, of, units, world["inside"]) < np.where(positive, one, other)
        rest = 1 - positive_share
        if function is f_beta:
            columns = [positive & right, ~positive & ~right, positive & ~right]
            true = [positive_share * one, rest * (1 - other), positive_share * (1 - one)]
        elif function is geometric:
            columns = [positive & right, positive, ~positive & right, ~positive]
            true = [positive_share * one, positive_share, rest * other, rest]
        else:
            cost = np.exp(world["skew"] * random.standard_normal(len(of)))
            columns = [positive * cost, positive & right, ~positive * cost, ~positive & right]
            mean = float(np.exp(world["skew"] ** 2 / 2))
            true = [mean * positive_share, positive_share * one, mean * rest, rest * other]
        found = of_totals(function, unit_totals(of, np.column_stack(columns)))
        return missed(found, float(function(np.array([true]))[0]))

    ranges = {**CLASSES, "skew": SHARE} if function is quotients else CLASSES
    return Game(f"the interval of a function of totals misses ({name})", ranges, play, INTERVAL)


def games() -> Iterator[Game]:
    yield from (cost(rare) for rare in (False, True))
    yield dearer_by()
    yield from (weighted_recall(rare) for rare in (False, True))
    yield recall_gap()
    yield Game("the interval of the widest gap over levels misses", LEVELS, gap_over_levels, INTERVAL)
    yield Game("the interval of a consistency misses", LEVELS, consistency, INTERVAL)
    yield written("F2", f_beta)
    yield written("a geometric mean", geometric)
    yield written("a difference of quotients", quotients)


RATIOS = tuple(games())
