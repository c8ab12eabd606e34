"""Rates and outcomes of cells, their gaps, and shares over units that judges and raters come to."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gridc.reports.findings.rates import NAMED, RateDefinition, UnitCounts, _gaps, _value
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.raters import bang, kappa, leniency, unit_share
from gridc.statistics.unit_intervals import unit_totals
from tests.worlds.intervals import alike, misses, of_units
from tests.worlds.scores import FEW, FEW_UNITS, MANY
from tests.worlds.search import INTERVAL, Game, Play, Range, World
from tests.worlds.studies import SHARE, UNITS

BY_NAME: Mapping[str, RateDefinition] = {rate.name: rate for rate in NAMED}
TWO: Mapping[str, Range] = {
    **UNITS, "inside": SHARE, "alike": SHARE, "rate": Range(0.01, 0.99), "loss": Range(0, 0.3),
}  # fmt: skip
"""Two models, the second of which does something less often by `loss`; of how many units all answers of a
model are one, and in how many the luck of both is."""
ABOUT: Mapping[str, Range] = {"about": Range(0.03, 1, logarithmic=True), "whole": SHARE}
"""Which share of the items has the outcome, and in how many units all of them or none."""
_TWO = {"items": 1, "pareto": 0, "giant": 0, "inside": 0, "alike": 0, "loss": 0, "whole": 0}
RARELY_ASKED = tuple(
    {**_TWO, "units": units, "rate": rate, "about": 0.05}
    for units in (100, 200, 295)
    for rate in (0.5, 0.8, 0.95)
)
MOSTLY_OPEN = tuple(
    {**_TWO, "units": units, "known": 0.02, "biased": biased, "unread": 0}
    for units in (100, 200)
    for biased in (0.5, 0.9)
)


def lucks(world: World, random: np.random.Generator, unit: Whole, units: int) -> tuple[Floats, Floats]:
    """That of the answers of two models."""
    first, own = (alike(random, unit, units, world["inside"]) for _ in range(2))
    same = (random.random(units) < world["alike"])[unit]
    return first, np.where(same, first, own)


def hits(world: World, random: np.random.Generator) -> tuple[Whole, Whole]:
    """The counts of a rate by unit for both models, (units, 2)."""
    unit, units = of_units(world)
    asked = alike(random, unit, units, world["whole"]) < world["about"]
    chances = world["rate"], max(world["rate"] - world["loss"], 0.0)
    one, other = (
        unit_totals(unit, np.column_stack([asked & (luck < chance), asked])).astype(np.int64)
        for luck, chance in zip(lucks(world, random, unit, units), chances, strict=True)
    )
    return one, other


def biases(world: World, random: np.random.Generator) -> tuple[Whole, Whole]:
    """The counts of a bias score by unit for both models, (units, 4): the second one has none."""
    unit, units = of_units(world)
    found = []
    for luck, biased in zip(lucks(world, random, unit, units), (world["biased"], 0.5), strict=True):
        known, side = luck < world["known"], luck < world["known"] * biased
        read = random.random(len(unit)) >= world["unread"]
        right = ~known & read
        columns = [side & read, known & read, right, np.ones(len(unit))]
        found.append(unit_totals(unit, np.column_stack(columns)).astype(np.int64))
    return found[0], found[1]


def counted(
    name: str,
    counts: Callable[[World, np.random.Generator], tuple[Whole, Whole]],
    truth: Callable[[World], float],
    second: Callable[[World], World],
) -> tuple[Play, Play]:
    """Of a rate with such counts, whose first model has the `truth`, and whose second one has that of another
    world: of a cell, and of the gap of both."""
    rate = BY_NAME[name]

    def cell(world: World, random: np.random.Generator) -> bool | None:
        one, _ = counts(world, random)
        return misses(_value(rate, UnitCounts(one, 1, False, None)).interval, truth(world))

    def both(world: World, random: np.random.Generator) -> bool | None:
        by_model = {
            name: UnitCounts(own, 1, False, None)
            for name, own in zip("ab", counts(world, random), strict=True)
        }
        for found in _gaps(rate, "c", by_model):
            return misses(found.interval, truth(world) - truth(second(world)))
        return None

    return cell, both


def ambiguous(world: World) -> float:
    share = 1 - (1 - world["known"]) * (1 - world["unread"])
    return share * (2 * world["biased"] - 1)


def less(world: World) -> World:
    return {**world, "rate": max(world["rate"] - world["loss"], 0.0)}


def unbiased(world: World) -> World:
    return {**world, "biased": 0.5}


RATE, GAP = counted("over_refusal", hits, lambda world: world["rate"], less)
OPEN, OPEN_GAP = counted("bias_ambiguous", biases, ambiguous, unbiased)
SETTLED, SETTLED_GAP = counted("bias_disambiguated", biases, lambda world: 2 * world["biased"] - 1, unbiased)


def rater(world: World, random: np.random.Generator) -> bool | None:
    """Two raters who err alike or apart on items that are asked in several configurations."""
    of, units = of_units(world)
    same = (random.random(units) < world["inside"])[of]
    label = np.where(same, random.random(units)[of], random.random(len(of))) < world["rare"]
    said = []
    for _ in range(2):
        slip = np.where(same, random.random(units)[of], random.random(len(of))) < world["wrong"]
        said.append((label != slip).astype(int).astype(str).tolist())
    found = kappa(said[0], said[1], of.tolist())
    one = world["rare"] * (1 - world["wrong"]) + (1 - world["rare"]) * world["wrong"]
    agree, chance = world["wrong"] ** 2 + (1 - world["wrong"]) ** 2, one**2 + (1 - one) ** 2
    return misses(found.interval, (agree - chance) / (1 - chance))


def of_orders(what: str) -> Play:
    """A judge who sees two responses in both orders and takes the first one in `first` of the pairs, whatever
    it is, and else the better one."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        by_place = alike(random, of, units, world["inside"]) < world["first"]
        better = random.random(len(of)) < 0.5
        straight, turned = by_place | better, by_place | ~better
        if what == "inconsistent":
            found = unit_share((straight == turned).tolist(), of.tolist())
            return misses((found.low, found.high), world["first"])
        views = np.concatenate([straight, turned]).tolist()
        found = unit_share(views, np.concatenate([of, of]).tolist())
        return misses((found.low, found.high), (1 + world["first"]) / 2)

    return play


def guessed(world: World, random: np.random.Generator) -> bool | None:
    """Bang's index of an arm."""
    of, units = of_units(world)
    unknown = alike(random, of, units, world["inside"]) < world["unknown"]
    right = alike(random, of, units, world["inside"]) < world["right"]
    guesses = [None if out else bool(hit) for out, hit in zip(unknown, right, strict=True)]
    found = bang("a", guesses, 2, of.tolist())
    return misses((found.low, found.high), (1 - world["unknown"]) * (2 * world["right"] - 1))


def kinder(world: World, random: np.random.Generator) -> bool | None:
    """How much more one rater gives than another."""
    of, units = of_units(world)
    luck = alike(random, of, units, world["inside"])
    up = world["differ"] * world["up"]
    gained = (luck < up).astype(float) - (luck > 1 - (world["differ"] - up))
    found = leniency((gained * world["step"]).tolist(), of.tolist())
    return misses((found.low, found.high), world["step"] * (2 * up - world["differ"]))


BIAS: Mapping[str, Range] = {
    **UNITS, "inside": SHARE, "alike": SHARE, "known": Range(0.005, 1, logarithmic=True), "biased": SHARE,
    "unread": Range(0, 0.3),
}  # fmt: skip
ORDERS: Mapping[str, Range] = {**UNITS, "inside": SHARE, "first": Range(0.005, 0.99)}
_OF_CELLS = (
    ("a rate", RATE, {**TWO, **ABOUT}, RARELY_ASKED),
    ("a gap of rates", GAP, {**TWO, **ABOUT}, RARELY_ASKED),
    ("a bias score, left open", OPEN, BIAS, MOSTLY_OPEN),
    ("a gap of bias scores, left open", OPEN_GAP, BIAS, MOSTLY_OPEN),
    ("a bias score, settled", SETTLED, BIAS, MOSTLY_OPEN),
    ("a gap of bias scores, settled", SETTLED_GAP, BIAS, MOSTLY_OPEN),
    ("kappa", rater, {**UNITS, "inside": SHARE, "rare": Range(0.03, 0.5), "wrong": Range(0.01, 0.45)}, ()),
    ("a share of judgements that an order changes", of_orders("inconsistent"), ORDERS, ()),
    ("a preference for the first place", of_orders("first"), ORDERS, ()),
    ("Bang's index", guessed, {**UNITS, "inside": SHARE, "unknown": SHARE, "right": SHARE}, ()),
    ("leniency", kinder, {**UNITS, "inside": SHARE, "differ": SHARE, "up": SHARE, "step": Range(0.1, 1)}, ()),
)  # fmt: skip


def games() -> Iterator[Game]:
    for name, play, ranges, hard in _OF_CELLS:
        words = f"the interval of {name} misses"
        yield Game(words, {**ranges, "units": MANY}, play, INTERVAL, hard)
        yield Game(f"{words}{FEW_UNITS}", {**ranges, "units": FEW}, play, INTERVAL)


RATES = tuple(games())
