"""What two runs show on one benchmark: scores, the change, flips, and the two tests at the margin."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridc.compiler.hypotheses.power import TOGETHER
from gridc.reports.comparison.pairing import PairedBenchmark, PairedItem
from gridc.reports.comparison.run import RunAnswer, RunItem
from gridc.schema.comparison import ChangeEstimate, ReleaseSight, StateCounts
from gridc.statistics.arrays import Floats
from gridc.statistics.digits import decimals, digits
from gridc.statistics.exact_tests import mcnemar_two_sided
from gridc.statistics.regressions import (
    PairedUnits,
    change_limits,
    p_not_worse,
    p_worse,
    sight,
    units_needed,
)

DIGITS = 12
"""Scores are means of few decimals: what differs further on is the last bit of a sum."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """Of the matched items, (N,): the unit of each by number, and its score in baselines and candidate, (N,
    2): at least and at most, which differ where answers are missing. As the benchmark has them."""

    units: Floats
    first: Floats
    second: Floats

    @property
    def complete(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Which have every answer in both."""
        whole: np.ndarray[tuple[int], np.dtype[np.bool_]] = (self.first[:, 0] == self.first[:, 1]) & (
            self.second[:, 0] == self.second[:, 1]
        )
        return whole

    def of_items(self, some: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> "ItemScores":
        return ItemScores(self.units[some], self.first[some], self.second[some])


def item_scores(pair: PairedBenchmark) -> ItemScores:
    """Every configuration counts alike, and in it every replicate; of several baselines every one."""
    numbers: dict[str, int] = {}
    units = [numbers.setdefault(unit, len(numbers)) for unit in _coarsest(pair.items)]
    first, second = np.zeros((len(units), 2)), np.zeros((len(units), 2))
    for row, item in enumerate(pair.items):
        second[row] = _ends(item.second, [configuration.second for configuration in pair.configurations])
        first[row] = np.mean(
            [
                _ends(one, [configuration.firsts[number] for configuration in pair.configurations])
                for number, one in enumerate(item.firsts)
            ],
            axis=0,
        )
    return ItemScores(np.array(units, np.float64), np.round(first, DIGITS), np.round(second, DIGITS))


def _coarsest(items: Sequence[PairedItem]) -> list[str]:
    """The unit of each item as the run has it that knows most of what belongs together."""
    sides = zip(*((item.second.unit, *(one.unit for one in item.firsts)) for item in items), strict=True)
    return list(min(sides, key=lambda units: len(set(units)), default=()))


def _ends(item: RunItem, configurations: Sequence[str]) -> tuple[float, float]:
    """The least and the largest score that an item can have, its missing answers being 0 or 1."""
    least = most = 0.0
    for name in configurations:
        scores = [answer.score for answer in item.answers.get(name, ())] or [None]
        known = sum(score for score in scores if score is not None)
        least += known / len(scores)
        most += (known + scores.count(None)) / len(scores)
    return least / len(configurations), most / len(configurations)


def paired_units(scores: ItemScores, sign: int) -> PairedUnits:
    """Items by unit, higher being better: where the lower score is (`sign` -1) a score s counts as 1 - s."""
    numbers = scores.units.astype(np.int64)
    _, of_item = np.unique(numbers, return_inverse=True)
    items = np.bincount(of_item)

    def earned(ends: Floats) -> Floats:
        good = ends if sign > 0 else 1 - ends[:, ::-1]
        return np.column_stack([np.bincount(of_item, good[:, end], len(items)) for end in (0, 1)])

    return PairedUnits(items, earned(scores.first), earned(scores.second))


def change(scores: ItemScores, sign: int, alpha: float) -> ChangeEstimate | None:
    """Both scores, what is missing being wrong, and the change with its limits, in points. Under a target
    (`sign` 0), where no score is simply wrong, of the items that are complete and without limits; None where
    there are none."""
    counted = scores if sign else scores.of_items(scores.complete)
    if not len(counted.units):
        return None
    limits = change_limits(paired_units(scores, sign), alpha) if sign else None
    if limits is not None and sign < 0:
        limits = -limits[1], -limits[0]
    a_bounds, b_bounds = (_points(side) for side in (counted.first, counted.second))
    a, b = a_bounds[_wrong(sign)], b_bounds[_wrong(sign)]
    low, high = (None, None) if limits is None else (100 * limits[0], 100 * limits[1])
    return ChangeEstimate(
        items=len(counted.units),
        a=a,
        b=b,
        a_bounds=a_bounds,
        b_bounds=b_bounds,
        change=b - a,
        low=low,
        high=high,
    )


def _points(ends: Floats) -> tuple[float, float]:
    return 100 * float(ends[:, 0].mean()), 100 * float(ends[:, 1].mean())


def _wrong(sign: int) -> int:
    """Which end of a score an answer has that is missing and counts as wrong."""
    return 1 if sign < 0 else 0


def improved(estimate: ChangeEstimate | None, sign: int) -> bool:
    """Whether the whole interval lies on the better side of 0."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return False
    return decimals(estimate.low) > 0 if sign > 0 else decimals(estimate.high) < 0


def flips(scores: ItemScores, sign: int) -> tuple[list[int], list[int]]:
    """The places of the items, complete in both, whose score is the worse one in the candidate, and of those
    whose is the better one; under a target lower and higher."""
    moved = np.round((scores.second - scores.first)[:, 0], DIGITS) * (sign or 1) * scores.complete
    return np.flatnonzero(moved < 0).tolist(), np.flatnonzero(moved > 0).tolist()


def mcnemar(scores: ItemScores) -> float | None:
    """Exact two-sided p of any change, where every item is a unit with 0 or 1 in both."""
    ends = np.concatenate([scores.first, scores.second])
    alone = len(set(scores.units.tolist())) == len(scores.units)
    if not alone or not len(ends) or not np.isin(ends, (0.0, 1.0)).all() or not scores.complete.all():
        return None
    lost, won = flips(scores, 1)
    return mcnemar_two_sided(len(lost), len(won))


def readable(pair: PairedBenchmark, sign: int, alpha: float) -> ChangeEstimate | None:
    """The change where all answers to an item in a configuration were read in every run; None where that is
    everywhere."""
    kept: list[PairedItem] = []
    left_out = False
    for item in pair.items:
        read = [name for name in pair.configurations if _read(item, name.firsts, name.second)]
        left_out = left_out or len(read) < len(pair.configurations)
        if read:
            firsts = tuple(
                _only(one, [name.firsts[number] for name in read], [name.second for name in read])
                for number, one in enumerate(item.firsts)
            )
            kept.append(PairedItem(firsts, _only(item.second, [name.second for name in read])))
    if not left_out or not kept:
        return None
    numbers: dict[str, int] = {}
    units = [numbers.setdefault(item.second.unit, len(numbers)) for item in kept]
    first = [np.mean([_ends(one, list(one.answers)) for one in item.firsts], axis=0) for item in kept]
    second = [_ends(item.second, list(item.second.answers)) for item in kept]
    scores = ItemScores(
        np.array(units, np.float64), np.round(np.array(first), DIGITS), np.round(np.array(second), DIGITS)
    )
    return change(scores, sign, alpha)


def _read(item: PairedItem, firsts: Sequence[str], second: str) -> bool:
    names = (*firsts, second)
    replicates = [
        one.answers.get(name, ()) for one, name in zip((*item.firsts, item.second), names, strict=True)
    ]
    return all(replicates) and all(answer.state == "read" for answers in replicates for answer in answers)


def _only(item: RunItem, names: Sequence[str], shown: Sequence[str] | None = None) -> RunItem:
    return RunItem(
        item.id, item.unit, {new: item.answers[name] for name, new in zip(names, shown or names, strict=True)}
    )


def states(pair: PairedBenchmark) -> tuple[StateCounts, StateCounts]:
    """How the answers to matched items ended, in all baselines together and in the candidate."""
    first, second = Counter[str](), Counter[str]()
    for item in pair.items:
        for configuration in pair.configurations:
            for one, name in zip(item.firsts, configuration.firsts, strict=True):
                first.update(_states(one.answers.get(name, ())))
            second.update(_states(item.second.answers.get(configuration.second, ())))
    return StateCounts(**first), StateCounts(**second)


def _states(answers: Sequence[RunAnswer]) -> Iterator[str]:
    return (answer.state for answer in answers) if answers else iter(("absent",))


def by_configuration(pair: PairedBenchmark, sign: int) -> tuple[int, int]:
    """In how many configurations the score, what is missing being wrong, is the worse one in the candidate,
    and in how many the better one; under a target of the items that are complete in it."""
    worse = better = 0
    for configuration in pair.configurations:
        moved = 0.0
        for item in pair.items:
            first = np.mean(
                [_ends(one, [name]) for one, name in zip(item.firsts, configuration.firsts, strict=True)],
                axis=0,
            )
            second = _ends(item.second, [configuration.second])
            if sign or (first[0] == first[1] and second[0] == second[1]):
                moved += (second[_wrong(sign)] - first[_wrong(sign)]) * (sign or 1)
        moved = round(moved, DIGITS - 3)
        worse, better = worse + (moved < 0), better + (moved > 0)
    return worse, better


def baseline_scores(pair: PairedBenchmark, sign: int) -> tuple[float, ...]:
    """The score of each baseline, in points, what is missing being wrong (under a target 0); of several
    alone."""
    if len(pair.firsts) < 2:
        return ()
    scores = []
    for number in range(len(pair.firsts)):
        names = [configuration.firsts[number] for configuration in pair.configurations]
        ends = [_ends(item.firsts[number], names) for item in pair.items]
        scores.append(_points(np.array(ends))[_wrong(sign)] if ends else 0.0)
    return tuple(scores)


def anchor_scores(pair: PairedBenchmark, sign: int) -> tuple[float, float] | None:
    """The scores of a and b under the anchor of both alone, in points, what is missing being wrong; None
    where the runs have no anchor in common, or no other configuration."""
    there = [
        one
        for one in pair.configurations
        if one.second == pair.second.anchor and one.firsts == tuple(run.anchor for run in pair.firsts)
    ]
    if not there or len(pair.configurations) < 2 or not pair.items:
        return None
    scores = item_scores(replace(pair, configurations=(there[0],)))
    return _points(scores.first)[_wrong(sign)], _points(scores.second)[_wrong(sign)]


def tests(units: PairedUnits, margin: float) -> tuple[float, float]:
    """p of: worse by more than the margin, in points; and of: not worse by as much."""
    return digits(p_worse(units, margin / 100)), digits(p_not_worse(units, margin / 100))


def seen(
    units: PairedUnits, margin: float | None, alpha: float, each: float, changing: float, undecided: bool
) -> ReleaseSight:
    """What so many units can show, in points; and where nothing was decided how many would."""
    sizes = units.items.tolist()
    share = None if margin is None else margin / 100
    shown = sight(sizes, share, alpha, each, changing, TOGETHER, units.whole)
    needed = (
        units_needed(sizes, share, alpha, changing, TOGETHER, units.whole) if undecided and share else None
    )
    return ReleaseSight(
        loss=None if shown.loss is None else 100 * shown.loss,
        margin=None if shown.margin is None else 100 * shown.margin,
        units_needed=needed,
    )


def mean_score(item: RunItem, configuration: str) -> float:
    """The score of an item in a configuration, what is missing being 0."""
    return round(_ends(item, [configuration])[0], DIGITS)
