"""The models of a benchmark in the order of their scores, and which places in it hold for new items.

Every two models are tested on the mean of their scores over the configurations that they share, in both
directions, as one family (Holm); where people labelled responses, by the corrected gaps too. A model can
stand behind all that are told apart as better, and before all that are told apart as worse. Models of which
no two are told apart are a tie group, and every two that are not told apart share one, so that the groups are
a compact letter display (Piepho 2004).
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from gridc.reports.findings.scores import Outcomes
from gridc.schema.rows import MajorityRow, NeighbourRow, PlaceRow, StandingsRow
from gridc.statistics.arrays import Flags, Floats
from gridc.statistics.bounded_means import mean_above_zero
from gridc.statistics.envelope import Direction
from gridc.statistics.exact_tests import holm
from gridc.statistics.reproducibility import decimals, digits
from gridc.statistics.unit_gaps import GapPValues, GapTest, gap_p_values, p_more
from gridc.statistics.unit_intervals import share_limits

MOST_SETS = 10_000
"""Sets of configurations that some models share which are looked at."""


def most_compared(held: Flags) -> tuple[list[int], list[int]]:
    """Of what each model has, (models, configurations): the configurations that are compared, and the models
    that have all of these, so that there are as many comparisons of two models as can be, of equally many
    those of more models."""
    own = [sum(1 << place for place in np.flatnonzero(row).tolist()) for row in held]
    shared: dict[int, None] = {}
    for one in dict.fromkeys(own):
        shared |= dict.fromkeys([*(one & other for other in shared), one])
        if len(shared) > MOST_SETS:
            break

    def comparisons(configurations: int) -> tuple[int, int, int]:
        size = configurations.bit_count()
        models = sum(configurations & each == configurations for each in own) if size else 0
        return models * (models - 1) * size, models, size

    best = max(shared, key=comparisons, default=0)
    over = [place for place in range(held.shape[1]) if best >> place & 1]
    return over, [place for place, each in enumerate(own) if best and best & each == best]


@dataclass(frozen=True, eq=False)
class MeanScores:
    """What the units earned over some configurations. Each configuration counts as much as another, however
    many items it asks. Higher is better: where a lower score is, points are what it lacks."""

    outcomes: Outcomes
    over: Sequence[int]
    lower: bool

    @cached_property
    def weights(self) -> Floats:
        """Of every item in each configuration, (configurations, items)."""
        asked = self.outcomes.asked[self.over].astype(np.float64)
        weights: Floats = asked * (asked.sum() / len(asked) / asked.sum(axis=1, keepdims=True))
        return weights

    @cached_property
    def rows(self) -> Floats:
        """How much each unit counts, (units,): its items, where every configuration asks them all."""
        return self._by_unit(self.weights)

    def good(self, model: str, earned: int | None = None) -> Floats:
        """How much of what is good each unit has, (units,), of what is credited as much as it `earned`."""
        most = (self.outcomes.replicates[self.over] * self.outcomes.scale)[:, None]
        had = self._by_unit(self.outcomes.points(model, False, earned)[self.over] / most * self.weights)
        return self.rows - had if self.lower else had

    def ends(self, model: str) -> tuple[Floats, Floats]:
        """The least and the most of it that each unit can have, (units,) each."""
        ends = (0, self.outcomes.scale)
        worst, best = (self.good(model, earned) for earned in (reversed(ends) if self.lower else ends))
        return worst, best

    def _by_unit(self, by_item: Floats) -> Floats:
        """The mean over the configurations, summed over the items of each unit."""
        sums = np.bincount(self.outcomes.units, by_item.mean(axis=0), self.outcomes.unit_count)
        return sums.astype(np.float64).round(9)

    @property
    def single(self) -> bool:
        """Whether each unit is one answer that earns a point or none."""
        alone = len(self.over) == 1 and self.outcomes.replicates[self.over[0]] == 1
        return bool(alone and self.outcomes.unit_is_item and self.outcomes.scale == 1)

    @property
    def test(self) -> GapTest:
        return "mcnemar" if self.single else "gaffke"

    def p_better(self, first: Floats, second: Floats) -> float:
        """One-sided p of a model whose units earned `first` being no better than one whose earned
        `second`."""
        if self.outcomes.copied:
            return 1.0
        if self.single:
            return p_more(first, second, self.rows, single=True)
        return digits(mean_above_zero(((first - second) / self.rows.max()).round(12), -1.0))

    def p_values(self, first: str, second: str, margin: float | None) -> GapPValues:
        """Of the first model being better, of the second, and of both being less than the margin apart."""
        return gap_p_values(self.ends(first), self.ends(second), self.rows, self.single, margin)

    def by_people(self, first: str, second: str) -> float:
        """What people's labels allow for "the first model is better": the mean is as surely higher as the
        score of the worst configuration; 0 without an audit."""
        pairs = self.outcomes.by_people
        if pairs is None:
            return 0.0
        plus, minus = pairs[first, second] if (first, second) in pairs else pairs[second, first][::-1]
        return float((minus if self.lower else plus)[self.over].max())


def standings(outcomes: Outcomes, direction: Direction, alpha: float) -> StandingsRow | None:
    """The order of the models of one benchmark, all of whose answers are there. None where the score nearest
    to a target is the best one, and where fewer than two models have a configuration in common."""
    over, places = most_compared(outcomes.readable)
    if direction.target is not None or len(places) < 2:
        return None
    means = MeanScores(outcomes, over, direction.lower)
    ends = {outcomes.models[place]: means.ends(outcomes.models[place]) for place in places}
    good = {model: means.good(model) for model in ends}
    points = {model: float(own.sum() / means.rows.sum()) for model, own in good.items()}
    order = sorted(points, key=lambda model: (-decimals(points[model]), model))
    # The one that stands behind is never shown to be better: its p is at least a half.
    p = {
        (a, b): max(means.p_better(ends[a][0], ends[b][1]), means.by_people(a, b))
        for a, b in combinations(order, 2)
    }
    adjusted = holm(list(p.values()), 2 * len(p))
    apart = {pair for pair, value in zip(p, adjusted, strict=True) if value <= alpha}
    scores = {model: decimals(1 - share if direction.lower else share) for model, share in points.items()}
    earned = {model: means.rows - own if direction.lower else own for model, own in good.items()}
    return StandingsRow(
        over=tuple(outcomes.configurations[at] for at in over),
        test=means.test,
        units=len(means.rows),
        grouped=not outcomes.unit_is_item,
        order=tuple(
            PlaceRow(
                model=model,
                place=place,
                best=1 + sum((other, model) in apart for other in order),
                worst=len(order) - sum((model, other) in apart for other in order),
                score=scores[model],
                interval=share_limits(means.rows, earned[model]),
                bounds=_bounds(ends[model], means.rows, direction.lower),
                constant=0 < decimals(points[model]) < 1 and _is_constant(good[model], means.rows),
            )
            for place, model in enumerate(order, start=1)
        ),
        neighbours=tuple(_neighbours(order, p, good, scores, alpha)),
        tie_groups=tuple(tie_groups(order, apart)),
        majorities=tuple(_majorities(order, good)),
        unplaced=tuple(model for model in outcomes.models if model not in ends),
        left_out=tuple(name for at, name in enumerate(outcomes.configurations) if at not in over),
    )


def _is_constant(good: Floats, rows: Floats) -> bool:
    """Whether each unit that is asked has the same part of a point."""
    asked = rows > 0
    return len(np.unique((good[asked] / rows[asked]).round(9))) == 1


def _bounds(ends: tuple[Floats, Floats], rows: Floats, lower: bool) -> tuple[float, float] | None:
    """The lowest and the highest score, from what a model has at worst and at best."""
    worst, best = (decimals(float(each.sum() / rows.sum())) for each in ends)
    if worst == best:
        return None
    return (decimals(1 - best), decimals(1 - worst)) if lower else (worst, best)


def _neighbours(
    order: Sequence[str],
    p: Mapping[tuple[str, str], float],
    good: Mapping[str, Floats],
    scores: Mapping[str, float],
    alpha: float,
) -> Iterator[NeighbourRow]:
    two_sided = [min(1.0, 2 * p[pair]) for pair in pairwise(order)]
    for (a, b), alone, adjusted in zip(pairwise(order), two_sided, holm(two_sided), strict=True):
        first, second = good[a], good[b]
        yield NeighbourRow(
            a=a,
            b=b,
            gap=decimals(scores[a] - scores[b]),
            a_ahead=int((first > second).sum()),
            b_ahead=int((first < second).sum()),
            p=alone,
            p_holm=adjusted,
            apart=adjusted <= alpha,
        )


def tie_groups(order: Sequence[str], apart: Container[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The longest runs of the order of which no two are told apart. Then, for two that are not told apart and
    share no run, both with every model in order that is told apart from none of the set so far."""
    runs = list(_runs(order, apart))
    sets, shared = list(runs), {pair for run in runs for pair in combinations(run, 2)}
    for pair in combinations(order, 2):
        if pair in shared or pair in apart:
            continue
        joined = set(pair)
        for model in order:
            if not any((model, each) in apart or (each, model) in apart for each in joined):
                joined.add(model)
        sets.append(tuple(model for model in order if model in joined))
        shared |= set(combinations(sets[-1], 2))
    kept = [one for one in sets if not any(set(one) < set(other) for other in sets)]
    places = {model: place for place, model in enumerate(order)}
    return sorted(kept, key=lambda group: [places[model] for model in group])


def _runs(order: Sequence[str], apart: Container[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    last = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not any((each, order[end]) in apart for each in order[start:end]):
            end += 1
        if end > max(start + 1, last):
            yield tuple(order[start:end])
            last = end


def _majorities(order: Sequence[str], good: Mapping[str, Floats]) -> Iterator[MajorityRow]:
    """Every two models of which the one with the lower mean does better on more than half of the units."""
    values = np.array([good[model] for model in order])
    for place, model in enumerate(order):
        ahead = (values[place + 1 :] > values[place]).sum(axis=1)
        for other in np.flatnonzero(2 * ahead > values.shape[1]).tolist():
            yield MajorityRow(higher=model, ahead_on_most=order[place + 1 + other], units=int(ahead[other]))
