"""Intervals of the statistics that a spec states, and criteria of them, in worlds in which they can miss."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from gridc.statistics import corpus, totals
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.envelope import LEVEL
from gridc.statistics.strata import PartsStatistic
from gridc.statistics.unit_intervals import UnitEstimate
from tests.worlds import studies
from tests.worlds.intervals import one_sided
from tests.worlds.scores import FEW, FEW_UNITS, MANY
from tests.worlds.search import INTERVAL, VERDICT, Game, Play, Range, World
from tests.worlds.studies import FLAG, SHARE, sizes_of

ERROR = 0.05
"""Of a criterion that is called met, or failed."""
UNITS: Mapping[str, Range] = {
    **studies.UNITS, "inside": Range(0, 1, plain=0.3), "odd": Range(0, 0.1, plain=0.5),
}  # fmt: skip
"""Units as in other studies; in which share of them all answers are one, and which share is all wrong."""
CLASSES = {
    **UNITS,
    "positive": Range(0.02, 0.98),
    "whole": Range(0, 1, plain=0.5),
    "found": SHARE,
    "cleared": SHARE,
}
"""The share of positive items, in which share of units all are of one class, and how often either class is
right."""

Study = Callable[[World, np.random.Generator, float], tuple[UnitEstimate, float]]
"""What is printed at a level, and the truth."""


def printed(study: Study) -> Play:
    """Whether an interval misses; in worlds with a `side` whether a criterion, which bounds the statistic
    where it truly is, is decided by the limit at that side."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        side = world.get("side")
        found, truth = study(world, random, LEVEL if side is None else 1 - 2 * ERROR)
        return one_sided(found.interval, truth, side)

    return play


def units_of(world: World) -> tuple[Whole, int]:
    sizes = sizes_of({"pareto": 0, "giant": 0, **world})
    return np.repeat(np.arange(len(sizes)), sizes), len(sizes)


def luck(world: World, random: np.random.Generator, of: Whole, units: int) -> Floats:
    """From 0 to 1; in some units one for all rows. That of an odd unit is 1, the worst."""
    alike = (random.random(units) < world["inside"])[of]
    drawn = np.where(alike, random.random(units)[of], random.random(len(of)))
    return np.where((random.random(units) < world["odd"])[of], 1.0, drawn)


def classes(world: World, random: np.random.Generator) -> tuple[Whole, Flags, Floats]:
    """The unit of each row, whether it is positive, and its luck."""
    of, units = units_of(world)
    whole = (random.random(units) < world["whole"])[of]
    drawn = np.where(whole, random.random(units)[of], random.random(len(of)))
    return of, drawn < world["positive"], luck(world, random, of, units)


def right(world: World) -> tuple[float, float, float]:
    """How often items are positive, and either class is right."""
    return world["positive"], world["found"] * (1 - world["odd"]), world["cleared"] * (1 - world["odd"])


def of_table(
    statistic: Callable[[Whole, Floats, float], PartsStatistic], true: Callable[..., float]
) -> Study:
    def study(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
        of, positive, drawn = classes(world, random)
        says = np.where(positive, drawn < world["found"], drawn >= world["cleared"]).astype(float)
        table = totals.two_classes(positive, says, np.ones(len(of)))
        share, found, cleared = right(world)
        cells = share * found, (1 - share) * (1 - cleared), share * (1 - found), (1 - share) * cleared
        return statistic(of, table, level).estimate(), true(*cells)

    return study


def precision(unit: Whole, table: Floats, level: float) -> PartsStatistic:
    return totals.share_of_rows(unit, table[:, 0] + table[:, 1], table[:, 0], level)


def recall(unit: Whole, table: Floats, level: float) -> PartsStatistic:
    return totals.share_of_rows(unit, table[:, 0] + table[:, 2], table[:, 0], level)


def true_recall(tp: float, fp: float, fn: float, tn: float) -> float:
    return tp / (tp + fn)


def true_precision(tp: float, fp: float, fn: float, tn: float) -> float:
    return tp / (tp + fp) if tp + fp else 0.0


def true_f1(tp: float, fp: float, fn: float, tn: float) -> float:
    return 2 * tp / (2 * tp + fp + fn)


def true_matthews(tp: float, fp: float, fn: float, tn: float) -> float:
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return float((tp * tn - fp * fn) / np.sqrt(below)) if below else 0.0


def area(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
    """Of a number that is 0 or 1."""
    of, positive, drawn = classes(world, random)
    says = np.where(positive, drawn < world["found"], drawn >= world["cleared"]).astype(float)
    _, found, cleared = right(world)
    return totals.area_under_curve(of, says, positive, ~positive, level).estimate(), (found + cleared) / 2


def area_of_normal(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
    """Of normal numbers; those of odd positive units lie below all others."""
    of, positive, drawn = classes(world, random)
    low = drawn == 1
    deviation = norm.ppf(np.clip(drawn, 1e-12, 1 - 1e-12))
    numbers = np.where(positive, world["spread"] * deviation + world["ahead"], deviation)
    numbers[low & positive] = -50
    numbers[low & ~positive] = norm.ppf(random.random(int((low & ~positive).sum())))
    truth = (1 - world["odd"]) * norm.cdf(world["ahead"] / np.hypot(1, world["spread"]))
    return totals.area_under_curve(of, numbers, positive, ~positive, level).estimate(), float(truth)


def macro(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
    """Of one small benchmark and others that are large; some units have items of all."""
    others = int(world["others"])
    sizes = [int(world["small"]), *[int(world["large"])] * others]
    rates = [world["of_small"], *[world["of_large"]] * others]
    tied = random.random(max(sizes)) < world["tied"]
    own = random.random(max(sizes))
    units, groups, earned, at = [], [], [], max(sizes)
    for place, (size, rate) in enumerate(zip(sizes, rates, strict=True)):
        drawn = np.where(tied[:size], own[:size], random.random(size))
        units.append(np.where(tied[:size], np.arange(size), at + np.arange(size)))
        groups.append(np.full(size, place))
        earned.append((drawn < rate).astype(float))
        at += size
    unit, group, points = (np.concatenate(each) for each in (units, groups, earned))
    found = totals.macro_mean(unit, group, len(sizes), np.ones(len(unit)), points, level).estimate()
    return found, float(np.mean(rates))


def brier(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
    """Of confidences that are all alike; odd units are wrong."""
    of, units = units_of(world)
    correct = np.where(luck(world, random, of, units) < world["right"], 1.0, 0.0)
    share, sure = world["right"] * (1 - world["odd"]), world["sure"]
    truth = share * (1 - sure) ** 2 + (1 - share) * sure**2
    return totals.share_of_rows(of, np.ones(len(of)), (sure - correct) ** 2, level).estimate(), float(truth)


def spread(which: str) -> Study:
    """Of replicates of items that earn a base or, some of them, another rate."""

    def study(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
        of, units = units_of(world)
        k = int(world["replicates"])
        alike = (random.random(units) < world["inside"])[of]
        other = np.where(alike, random.random(units)[of], random.random(len(of))) < world["others"]
        rate = np.where(other, world["other"], world["base"])
        share = (random.random((len(of), k)) < rate[:, None]).astype(float)
        values = world["least"] + (1 - world["least"]) * share
        item = np.repeat(np.arange(len(of)), k)
        of_items = totals.spread_within if which == "within" else totals.spread_between
        found = of_items(np.repeat(of, k), item, values.ravel(), level)
        weight, scale = world["others"], 1 - world["least"]
        base, there = world["base"], world["other"]
        variance = (1 - weight) * base * (1 - base) + weight * there * (1 - there)
        if which == "between":
            variance = weight * (1 - weight) * (base - there) ** 2
        return found, float(scale * np.sqrt(variance))

    return study


def strength(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
    """Of the strongest of players that are equally far apart, all of whom meet in some items."""
    players, units = int(world["players"]), int(world["units"])
    strong = world["apart"] * (np.arange(players)[::-1] - (players - 1) / 2)
    columns: tuple[list[Whole], ...] = ([], [], [])
    points: list[Floats] = []
    shared = random.random(units)
    alike = random.random(units) < world["inside"]
    for first in range(players):
        for second in range(first + 1, players):
            there = random.random(units) < world["meet"]
            drawn = np.where(alike, shared, random.random(units))
            won = (drawn < expit(strong[first] - strong[second])).astype(float)
            here = np.flatnonzero(there)
            pair = np.full(len(here), first), np.full(len(here), second)
            for column, values in zip(columns, (here, *pair), strict=True):
                column.append(values)
            points.append(won[here])
    (unit, one, other), won = (np.concatenate(column) for column in columns), np.concatenate(points)
    found = totals.player_strengths(unit, one, other, np.ones(len(won)), won, players, level)
    return found[0], float(strong[0])


@lru_cache
def attempts(every: bool) -> Study:
    """Of `draws` of an item's answers, of items that earn a base or, some of them, another rate."""

    def study(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
        of, units = units_of(world)
        n, k = int(world["replicates"]), int(min(world["draws"], world["replicates"]))
        alike = (random.random(units) < world["inside"])[of]
        other = np.where(alike, random.random(units)[of], random.random(len(of))) < world["others"]
        rate = np.where(other, world["other"], world["base"])
        right = (random.random((len(of), n)) < rate[:, None]).astype(float)
        item = np.repeat(np.arange(len(of)), n)
        found = totals.attempts(np.repeat(of, n), item, right.ravel(), k, every, level)
        rates, weights = np.array([world["base"], world["other"]]), (1 - world["others"], world["others"])
        passes = rates**k if every else 1 - (1 - rates) ** k
        return found, float(np.average(passes, weights=weights))

    return study


def pool(kind: str, spread: float) -> tuple[list[str], list[str], list[str]]:
    """Texts of words that are partly their references', others that are not at all, and the references."""
    random = np.random.default_rng(3)
    words = np.array([f"w{place:x}" for place in range(300)])
    texts, others, references = [], [], []
    for _ in range(400):
        length = int(np.clip(np.round(12 * np.exp(spread * random.standard_normal())), 3, 120))
        reference = random.choice(words, length)
        kept = random.random(length) < random.beta(8, 2)
        texts.append(" ".join(np.where(kept, reference, random.choice(words, length))))
        others.append(" ".join(["zzz"] * length))
        references.append(" ".join(reference))
    return texts, others, references


@lru_cache
def true_score(kind: str, spread: float, odd: float) -> float:
    texts, others, references = pool(kind, spread)
    beside = [[each] for each in references]
    good, bad = (corpus.of_texts(kind.lower(), some, beside).sum(axis=0) for some in (texts, others))
    return float(corpus.score_of_sums(kind.lower(), np.round(1e4 * ((1 - odd) * good + odd * bad))[None])[0])


def texts(kind: str) -> Study:
    def study(world: World, random: np.random.Generator, level: float) -> tuple[UnitEstimate, float]:
        good, bad, references = pool(kind, world["lengths"])
        picked = random.integers(0, len(good), int(world["units"]))
        odd = random.random(len(picked)) < world["odd"]
        said = [bad[at] if wrong else good[at] for at, wrong in zip(picked, odd, strict=True)]
        beside = [[references[at]] for at in picked]
        found = corpus.corpus_score(kind.lower(), np.arange(len(picked)), said, beside, level)
        return found, true_score(kind, world["lengths"], world["odd"])

    return study


SMALL = {
    "small": Range(3, 60, logarithmic=True, whole=True),
    "large": Range(30, 500, logarithmic=True, whole=True),
    "others": Range(1, 4, whole=True), "of_small": SHARE, "of_large": SHARE, "tied": Range(0, 1, plain=0.5),
}  # fmt: skip
ITEMS = {
    **{name: each for name, each in UNITS.items() if name != "odd"},
    "replicates": Range(2, 6, whole=True), "base": SHARE, "other": SHARE,
    "others": Range(0, 0.5, plain=0.1), "least": Range(0, 0.9, plain=0.5),
}  # fmt: skip
ATTEMPTS = {
    **{name: each for name, each in ITEMS.items() if name != "least"}, "draws": Range(1, 6, whole=True),
}  # fmt: skip
PLAYERS = {
    "units": Range(6, 200, logarithmic=True, whole=True), "players": Range(2, 5, whole=True),
    "apart": Range(0, 3), "meet": Range(0.2, 1), "inside": Range(0, 1, plain=0.5),
}  # fmt: skip
TEXTS = {
    "units": Range(20, 200, logarithmic=True, whole=True), "lengths": Range(0, 1), "odd": Range(0, 0.1)
}  # fmt: skip

STUDIES: Sequence[tuple[str, Mapping[str, Range], Study]] = (
    ("precision", CLASSES, of_table(precision, true_precision)),
    ("recall", CLASSES, of_table(recall, true_recall)),
    ("F1", CLASSES, of_table(totals.f1, true_f1)),
    ("Matthews' correlation", CLASSES, of_table(totals.matthews, true_matthews)),
    ("an AUROC of a binary number", CLASSES, area),
    ("an AUROC", {**CLASSES, "ahead": Range(-1, 4), "spread": Range(0.2, 3)}, area_of_normal),
    ("a macro mean", SMALL, macro),
    ("a Brier score", {**UNITS, "right": SHARE, "sure": SHARE}, brier),
    *((f"the spread {which} items", ITEMS, spread(which)) for which in ("within", "between")),
    ("pass@k", ATTEMPTS, attempts(every=False)),
    ("pass^k", ATTEMPTS, attempts(every=True)),
    ("a strength", PLAYERS, strength),
    *((kind, TEXTS, texts(kind)) for kind in ("chrF", "BLEU")),
)
_PLAIN = {"items": 1, "pareto": 0, "giant": 0, "inside": 0, "odd": 0, "whole": 0}
_MACRO = {"small": 20, "large": 500, "others": 1, "of_small": 0.9, "of_large": 0.7, "tied": 0}
RARE_CLASSES = (
    {**_PLAIN, "units": 300, "positive": 0.03, "found": 0.8, "cleared": 0.9},
    {**_PLAIN, "units": 200, "positive": 0.1, "found": 0.9, "cleared": 0.9},
    {**_PLAIN, "units": 100, "positive": 0.1, "found": 0.9, "cleared": 0.95},
    {**_PLAIN, "units": 60, "positive": 0.98, "found": 0.031, "cleared": 1},
)
HARD: Mapping[str, Sequence[World]] = {
    **dict.fromkeys((name for name, ranges, _ in STUDIES if "found" in ranges), RARE_CLASSES),
    "a macro mean": (_MACRO, {**_MACRO, "small": 30, "others": 2, "of_small": 0.95}),
}
"""Worlds in which a jackknife behind a gate printed mostly what misses."""
BOUNDED = "F1", "Matthews' correlation", "an AUROC of a binary number", "a macro mean", "a Brier score"
"""With a game of a criterion as well."""


def games() -> Iterator[Game]:
    for name, ranges, study in STUDIES:
        play, hard = printed(study), HARD.get(name, ())
        words = f"the interval of {name} misses"
        many = {**ranges, "units": MANY} if "units" in ranges else ranges
        yield Game(words, many, play, INTERVAL, hard)
        if "units" in ranges:
            yield Game(f"{words}{FEW_UNITS}", {**ranges, "units": FEW}, play, INTERVAL)
        if name in BOUNDED:
            yield Game(
                f"a criterion of {name} is decided wrongly", {**many, "side": FLAG}, play, VERDICT, hard
            )


STATED = tuple(games())
