"""Tests at a margin in worlds of their own: single items, units whose changes have a bound, fixed units."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.paired_runs import PairedUnits, p_not_worse, p_worse
from tests.worlds.search import Game, Play, Range, World
from tests.worlds.studies import SHARE, UNITS, Bench, bench, sizes_of

ALPHA = 0.05
ITEMS: Mapping[str, Range] = {
    "units": Range(10, 300, logarithmic=True, whole=True),
    "margin": Range(2, 20),
    "changing": SHARE,
    "one_way": SHARE,
}
"""Single items: a share `changing` of those that can change for no reason do, or with `one_way` some of these
only fall."""
BOUNDED: Mapping[str, Range] = {
    "units": Range(6, 120, logarithmic=True, whole=True),
    "items": Range(4, 32, logarithmic=True, whole=True),
    "pareto": Range(0, 1, plain=0.5),
    "giant": UNITS["giant"],
    "margin": Range(2, 20),
    "odd": Range(0.3, 40, logarithmic=True),
    "deep": SHARE,
    "noise": SHARE,
}
"""Units of which so many `odd` ones, on average, lose a share `deep` of what a unit can lose, while the
others gain what makes up for it; `noise` is how far luck moves them within the bound."""
FIXED: Mapping[str, Range] = {
    "units": Range(2, 40, logarithmic=True, whole=True),
    "items": Range(1, 32, logarithmic=True, whole=True),
    "pareto": Range(0, 1, plain=0.5),
    "giant": UNITS["giant"],
    "margin": Range(2, 20),
    "apart": SHARE,
    "changing": SHARE,
}
"""Units that are the same in every study: `apart` is how differently they change, `changing` which share of
what their items could change for no reason does."""
Draw = Callable[[World, np.random.Generator, float], Whole | None]
"""Answers of a study, (repeats, models, levels, items), whose difference is minus the number, in expectation;
None where units of these sizes cannot lose as much."""


def single_items(world: World, random: np.random.Generator, loss: float) -> Whole:
    items = int(world["units"])
    gain = world["changing"] * (1 - loss) / 2 * (1 - world["one_way"])
    draw = random.random(items)
    gained, lost = draw < gain, draw > 1 - gain - loss
    before = np.where(gained, 0, np.where(lost, 1, random.random(items) < 0.5))
    after = np.where(gained, 1, np.where(lost, 0, before))
    return np.stack([before, after]).astype(np.int64)[None, None]


def bounded(largest: float) -> Draw:
    def draw(world: World, random: np.random.Generator, loss: float) -> Whole | None:
        sizes = sizes_of(world)
        units, most = len(sizes), np.floor(largest * sizes + 1e-9)
        bound = float((most / sizes).min())  # of a mean that all of them can have
        if bound <= loss:
            return None
        rare = min(0.5, world["odd"] / units)
        deep = loss + world["deep"] * (bound - loss)
        deep = min(deep, (bound * (1 - rare) + loss) / rare)
        rest = (rare * deep - loss) / (1 - rare)
        mean = np.where(random.random(units) < rare, -deep, rest) * sizes
        spread = world["noise"] * np.minimum(most - mean, most + mean)
        moved = mean + spread * random.choice([-1, 1], units)
        whole = np.floor(moved) + (random.random(units) < moved - np.floor(moved))
        return changed(sizes, whole.clip(-most, most))

    return draw


def fixed_units(world: World, random: np.random.Generator, loss: float) -> Whole:
    sizes = sizes_of(world)
    of = np.repeat(np.arange(len(sizes)), sizes)
    made = np.random.default_rng([round(1e6 * value) for value in world.values()])
    own = made.normal(size=len(sizes)) * world["apart"]
    change = np.clip(own - own @ sizes / sizes.sum() - loss, -1, 1)
    for _ in range(60):  # so that the items' mean is the loss in spite of the ends
        change = np.clip(change - loss - change @ sizes / sizes.sum(), -1, 1)
    share = (np.abs(change) + world["changing"] * (1 - np.abs(change)))[of]
    gain = (share + change[of]) / 2
    draw = random.random(len(of))
    gained, lost = draw < gain, draw > 1 - (share - gain)
    before = np.where(gained, 0, 1)
    return np.stack([before, np.where(lost, 0, 1)]).astype(np.int64)[None, None]


def changed(sizes: Whole, by: Floats) -> Whole:
    """Units in which so many items rise or fall, one way."""
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    moves, way = place < np.repeat(np.abs(by), sizes), np.repeat(by, sizes)
    before = np.where(moves & (way > 0), 0, 1)
    return np.stack([before, np.where(moves & (way < 0), 0, 1)]).astype(np.int64)[None, None]


KINDS: tuple[tuple[str, str, str, Mapping[str, Any]], ...] = (
    ("equivalence is supported at", "equivalence", "supported", {}),
    ("equivalence is refuted within", "equivalence", "refuted", {}),
    ("non-inferiority is supported at", "noninferiority", "supported", {"side": "greater"}),
    ("non-inferiority of harm is supported at", "noninferiority", "supported", {"side": "less"}),
    ("non-inferiority is refuted within", "noninferiority", "refuted", {"side": "greater"}),
    ("a null control is supported at", "null_control", "supported", {}),
)
WORLDS: tuple[tuple[str, Mapping[str, Range], Draw, Mapping[str, Any]], ...] = (
    ("single items", ITEMS, single_items, {}),
    ("no unit changes by more than 25", BOUNDED, bounded(0.25), {"largest_change": 25}),
    ("no unit changes by more than 50", BOUNDED, bounded(0.5), {"largest_change": 50}),
    ("on these units", FIXED, fixed_units, {"about": "these_units"}),
)
ANALYSIS = {"estimator": "none", "bootstrap": {"unit": "cluster", "resamples": 199, "seed": 1}}
Decide = Callable[[Bench, Whole], Sequence[Any]]


def games(decide: Decide, contrast: Callable[..., dict[str, Any]]) -> Iterator[Game]:
    """Of every kind in every world, decided as studies are."""
    for where, ranges, draw, stated in WORLDS:
        for name, kind, verdict, more in KINDS:
            words = f"{name} its margin, {where}"
            yield Game(words, ranges, _study(decide, contrast, draw, stated, kind, verdict, more))
    for words, test in (("passed", p_not_worse), ("refused", p_worse)):
        yield Game(f"a build is {words} at its margin, single items", ITEMS, _release(test))


def _study(
    decide: Decide,
    contrast: Callable[..., dict[str, Any]],
    draw: Draw,
    stated: Mapping[str, Any],
    kind: str,
    verdict: str,
    more: Mapping[str, Any],
) -> Play:
    def play(world: World, random: np.random.Generator) -> bool:
        inside = 1e-6 if verdict == "refuted" else 0.0
        right = draw(world, random, world["margin"] / 100 - inside)
        if right is None:
            return False
        right = right[:, :, ::-1] if more.get("side") == "less" else right
        hypothesis = contrast(kind, margin={"pp": world["margin"], **stated}, **more)
        sizes = sizes_of(world).tolist() if "items" in world else [1] * int(world["units"])
        study = bench(tuple(sizes), 1, 1, 2, repr({"hypothesis": [hypothesis], "analysis": ANALYSIS}))
        return any(found.verdict == verdict for found in decide(study, right))

    return play


def _release(test: Callable[[PairedUnits, float], float]) -> Play:
    def play(world: World, random: np.random.Generator) -> bool:
        margin = world["margin"] / 100
        before, after = single_items(world, random, margin)[0, 0].astype(np.float64)
        sides = (np.column_stack([side, side]) for side in (before, after))
        return test(PairedUnits(np.ones(len(before), np.int64), *sides), margin) <= ALPHA

    return play
