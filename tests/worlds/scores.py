"""Scores and what is made of them, with the intervals that a report prints: gaps, changes, numbers needed,
means over many levels, and the scores of logs. Each is asked of the function that a document calls."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import expit, logit

from gridc.reports.findings.changes import ScoreChange, changes, shared_cells
from gridc.reports.findings.components import many_levels
from gridc.reports.findings.scores import cell_scores, unit_intervals
from gridc.reports.findings.summaries import ERROR
from gridc.reports.recorded.cells import score_limits
from gridc.schema.hypotheses import NumberNeededRow
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.envelope import Direction
from gridc.statistics.exact_tests import mcnemar_two_sided
from gridc.statistics.unit_intervals import share_limits, unit_totals
from tests.worlds.intervals import misses, one_sided
from tests.worlds.search import INTERVAL, VERDICT, Game, Range, World
from tests.worlds.studies import ANSWERS, FLAG, SHARE, UNITS, Bench, answers, bench, outcomes_of, sizes_of

ALPHA = 0.05
Ends = tuple[float, float] | None
SEEN = Range(10, 60, logarithmic=True)
"""What is rare is seen: ten units of it or more are expected."""
RARE = Range(0.3, 10, logarithmic=True)
UNSEEN, FEW_UNITS = ", of which few units say how it varies", ", of few units"
MANY = Range(20, 300, logarithmic=True, whole=True)
FEW = Range(1, 20, logarithmic=True, whole=True)
RATES: Mapping[str, Range] = {**UNITS, **ANSWERS, "base": Range(0.01, 0.99), "loss": Range(0, 0.3)}
HALF_ALIKE = {
    "units": 27, "items": 11, "pareto": 0, "giant": 0, "base": 0.95, "spread": 0, "odd": 10, "depth": 0,
    "mirror": 0, "turned": 0, "alike": 0, "inside": 0.5, "even": 0, "tied": 0, "repeats": 1, "again": 1,
    "loss": 0,
}  # fmt: skip
"""Templates half of which answer as one."""
PLAIN = {**HALF_ALIKE, "units": 250, "items": 1, "base": 0.98, "inside": 0}
"""Four failures of 250 against none."""
FOUR = {**HALF_ALIKE, "units": 4, "items": 8, "base": 0.7}
HARD = (HALF_ALIKE, PLAIN, FOUR)


def mean_rate(world: World) -> float:
    """The expected rate of the reference, in `answers`."""
    return reference_rate(world, 0.0)


def reference_rate(world: World, loss: float) -> float:
    """The same where a level loses so much of it."""
    from scipy.special import ndtri

    normal = ndtri((np.arange(4_000) + 0.5) / 4_000)
    rate = float(expit(logit(world["base"]) + world["spread"] * normal).clip(loss, 1).mean())
    return 1 - rate + loss if world["mirror"] else rate


def plain_bench(world: World, models: int, levels: int) -> Bench:
    """A study without hypotheses."""
    return bench(tuple(sizes_of(world).tolist()), int(world["repeats"]), models, levels, repr({}))


def drawn(world: World, random: np.random.Generator, blocks: int) -> Whole:
    """Answers, (repeats, blocks, 2, items): in each block the second side loses `loss` of its rate."""
    shift = np.tile([0.0, -world["loss"]], (blocks, 1))
    return answers(world, random, sizes_of(world), shift, up=False)


Of = Callable[[World, np.random.Generator], bool | None]


def of_models(what: str) -> Of:
    """Two models under one configuration or, of a mean gap, some."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        blocks = int(world["configurations"]) if what == "mean gap" else 1
        right = drawn(world, random, blocks).transpose(0, 2, 1, 3)
        if what == "score":  # of the second model, whose odd units lose theirs
            right = right[:, 1:]
        names = "ab"[: right.shape[1]]
        study = plain_bench(world, len(names), 1)
        axes = {f"c{at}": {"axis": f"c{at}"} for at in range(blocks)}
        made = unit_intervals(
            study.spec, study.plan.study.items["b"], outcomes_of(names, axes, right, sizes_of(world))
        )
        if what == "mean gap":
            return misses(made.gaps[0].mean.interval, world["loss"])
        if what == "gap":
            return misses(made.gaps[0].by_configuration["c0"].interval, world["loss"])
        return misses(made.scores["a", "c0"], reference_rate(world, world["loss"]) - world["loss"])

    return play


def on_units(what: str) -> Of:
    """For new items of the same units, which differ in their rates."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        sizes = sizes_of(world)
        same = np.random.default_rng([round(1e6 * value) for value in world.values()])
        rate = expit(logit(world["base"]) + world["spread"] * same.standard_normal(len(sizes)))
        loss = world["loss"] * same.random(len(sizes))
        rates = np.stack([rate, np.maximum(rate - loss, 0.0)])
        of = np.repeat(np.arange(len(sizes)), sizes)
        luck = random.random((2, len(of)))
        luck[1] = np.where(random.random(len(of)) < world["tied"], luck[0], luck[1])
        right = (luck < rates[:, of]).astype(np.int64)[None, :, None]
        study = plain_bench({**world, "repeats": 1}, 2, 1)
        found = outcomes_of("ab", {"c0": {"axis": "c0"}}, right, sizes)
        made = unit_intervals(study.spec, study.plan.study.items["b"], found)
        means = rates @ sizes / sizes.sum()
        if what == "gap":
            return misses(made.gaps[0].mean.on_units, float(means[0] - means[1]))
        return misses(made.on_units.get(("b", "c0")), float(means[1]))

    return play


def contradicted(world: World, random: np.random.Generator) -> bool | None:
    """Whether the interval of a gap excludes 0 where the exact test of the pair does not reject, of single
    items that are asked once."""
    world = {**world, "items": 1, "pareto": 0, "giant": 0, "repeats": 1}
    first, second = drawn(world, random, 1)[0, 0]
    study = plain_bench(world, 2, 1)
    found = outcomes_of(
        "ab", {"c0": {"axis": "c0"}}, np.stack([first, second])[None, :, None], sizes_of(world)
    )
    made = unit_intervals(study.spec, study.plan.study.items["b"], found)
    ends = made.gaps[0].by_configuration["c0"].interval
    if ends is None:
        return None
    p = mcnemar_two_sided(int((first > second).sum()), int((first < second).sum()))
    return (ends[0] > 0 or ends[1] < 0) and p > ALPHA


def change_of(world: World, random: np.random.Generator) -> ScoreChange:
    """Of one model under the second of two levels."""
    study = plain_bench(world, 1, 2)
    right = drawn(world, random, 1)
    unit = np.repeat(random.random(len(sizes_of(world))), sizes_of(world))
    read = (random.random(right.shape) >= world["missing"] * unit).astype(np.int64)
    samples = study.samples(right, read)
    cells = cell_scores(study.plan, samples.stored)
    items = study.plan.study.items["b"]
    (found,) = changes(shared_cells(study.spec, items, cells, samples.stored, Direction()))
    return found


def of_change(what: str, world: World, random: np.random.Generator) -> bool | None:
    # What cannot be read is wrong under intention to treat, on either side alike.
    missing = world["missing"] if what == "per protocol" else 0.0
    found = change_of({**world, "missing": missing}, random)
    if what == "number needed":
        return number_misses(found.itt.number_needed(), -world["loss"], found.itt.interval)
    side = found.pp if what == "per protocol" else found.itt
    return None if side is None else misses(side.interval, -world["loss"])


def number_misses(row: NumberNeededRow, truth: float, ends: Ends) -> bool | None:
    """The number of a true difference, better upwards, against the interval of the number: from `low` to
    `high`, or from `harm` through infinity to `benefit`."""
    if ends is None:
        return None
    number = 1 / abs(truth) if truth else np.inf
    if row.low is not None:
        right_kind = (truth < 0) == (row.kind == "harm")
        high = np.inf if row.high is None else row.high
        return not (right_kind and row.low - 1e-6 <= number <= high + 1e-6)
    least = row.harm if truth < 0 else row.benefit
    return bool(truth) and (least is None or number < least - 1e-6)


def of_levels(world: World, random: np.random.Generator) -> bool | None:
    """The mean over many levels, half of which lose."""
    levels = 6
    shift = np.zeros((1, levels))
    shift[0, levels // 2 :] = -world["loss"]
    right = answers(world, random, sizes_of(world), shift, up=False)
    study = plain_bench(world, 1, levels)
    samples = study.samples(right)
    record: Any = SimpleNamespace(
        plan=study.plan, samples=samples, complete=True, scores=cell_scores(study.plan, samples.stored)
    )
    with patch("gridc.reports.findings.components.exchanged_range"):  # most of the time, and not the interval
        (found,) = many_levels(record)
    # With more than two levels `mirror` gains what otherwise is lost.
    moved = (1 if world["mirror"] else -1) * world["loss"] / 2
    start = 1 - reference_rate({**world, "mirror": 0}, world["loss"]) if world["mirror"] else None
    rate = reference_rate(world, world["loss"]) if start is None else start
    return misses(found.models[0].interval, rate + moved)


def of_log(world: World, random: np.random.Generator) -> bool | None:
    """The mean of a log's scores, some of which are not there."""
    sizes = sizes_of(world)
    points = drawn(world, random, 1)[:, 0, 1].mean(axis=0)
    of = np.repeat(np.arange(len(sizes)), sizes)
    there = random.random(len(points)) >= world["missing"] * random.random(len(sizes))[of]
    scores: Floats = np.where(there, points, np.nan)
    return misses(score_limits(scores, of), reference_rate(world, world["loss"]) - world["loss"])


def of_criterion(world: World, random: np.random.Generator) -> bool | None:
    """A score that is bounded where it truly is, by the limits that decide its criterion."""
    sizes = sizes_of(world)
    points = drawn(world, random, 1)[:, 0, 1]
    rows = np.column_stack([np.full(points.shape[1], len(points)), points.sum(axis=0)])
    totals = unit_totals(np.repeat(np.arange(len(sizes)), sizes), rows)
    ends = share_limits(totals[:, 0], totals[:, 1], 1 - 2 * ERROR)
    return one_sided(ends, reference_rate(world, world["loss"]) - world["loss"], world["side"])


KINDS: Mapping[str, tuple[Of, Mapping[str, Range]]] = {
    "a score": (of_models("score"), {}),
    "a gap": (of_models("gap"), {}),
    "a mean gap": (of_models("mean gap"), {"configurations": Range(2, 4, whole=True)}),
    "a change": (partial(of_change, "itt"), {}),
    "a change per protocol": (partial(of_change, "per protocol"), {"missing": SHARE}),
    "a number needed": (partial(of_change, "number needed"), {}),
    "a mean over many levels": (of_levels, {}),
    "a log's score": (of_log, {"missing": Range(0, 0.5)}),
}


OF_FEW = "a score", "a gap", "a change per protocol"
"""What is searched where units are few, too: the others have the same limits."""
HIDDEN = "a score", "a gap", "a change"
"""Of these worlds are searched too whose rare kinds are not seen, where intervals miss (docs/sizes.md)."""


def games() -> Iterator[Game]:
    """Of each kind where units are many and rare ones are seen, where they are few, and where rare ones are
    not seen."""
    for kind, (play, more) in KINDS.items():
        words = f"the interval of {kind} misses"
        ranges = {**RATES, **more, "odd": SEEN}
        yield Game(words, {**ranges, "units": MANY}, play, INTERVAL, HARD)
        if kind in OF_FEW:
            yield Game(f"{words}{FEW_UNITS}", {**ranges, "units": FEW}, play, INTERVAL, HARD)
        if kind in HIDDEN:
            yield Game(f"{words}{UNSEEN}", {**ranges, "units": MANY, "odd": RARE}, play, INTERVAL, HARD)


ON_UNITS: Mapping[str, Range] = {
    **UNITS, "units": FEW, "base": RATES["base"], "spread": Range(0, 3), "tied": SHARE, "loss": RATES["loss"],
}  # fmt: skip
SCORES = (
    *games(),
    *(
        Game(f"the interval of a {what} on these units misses", ON_UNITS, on_units(what), INTERVAL)
        for what in ("score", "gap")
    ),
    Game(
        "the interval of a gap contradicts its test",
        {**RATES, "units": Range(1, 300, logarithmic=True, whole=True), "odd": SEEN},
        contradicted,
        0.0,
        HARD,
    ),
    Game(
        "a criterion of a score is decided wrongly",
        {**RATES, "units": Range(1, 300, logarithmic=True, whole=True), "odd": SEEN, "side": FLAG},
        of_criterion,
        VERDICT,
        HARD,
    ),
)
