"""Intervals of every score and of every gap between two models, over the units of a benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from gridc.compiler.inputs.items import Items
from gridc.compiler.inputs.units import BOOTSTRAP_LEVELS
from gridc.reports.findings.outcomes import Outcomes, sum_units
from gridc.reports.findings.scores import units_of
from gridc.schema.certificate import GapRow, PairGapsRow
from gridc.schema.items import UnitLevel
from gridc.schema.spec import Spec
from gridc.statistics.digits import digits
from gridc.statistics.resample import LEVEL, RESAMPLES
from gridc.statistics.unit_bootstrap import Ends, at_bound, draw_weights, intervals, resampled_means


@dataclass(frozen=True, slots=True)
class UnitIntervals:
    """What was resampled and how, and what came of it: the intervals of scores by (model, configuration)."""

    unit: UnitLevel
    units: int
    resamples: int
    seed: int
    level: float
    scores: Mapping[tuple[str, str], Ends | None]
    gaps: tuple[PairGapsRow, ...]


class Resampling(NamedTuple):
    """What is drawn as one, how often, and from which seed."""

    unit: UnitLevel
    resamples: int
    seed: int


def resampling_of(spec: Spec, items: Items) -> Resampling:
    """What `[analysis] bootstrap` says of unit, resamples and seed; without a unit of items it is the
    benchmark's."""
    stated = spec.analysis.bootstrap
    if stated is None:
        return Resampling(items.unit, RESAMPLES, spec.sampling.seed)
    return Resampling(BOOTSTRAP_LEVELS.get(stated.unit, items.unit), stated.resamples, stated.seed)


def unit_intervals(spec: Spec, items: Items, outcomes: Outcomes) -> UnitIntervals:
    """The intervals of one benchmark."""
    unit, resamples, seed = resampling_of(spec, items)
    names = {item.id: item.at(unit) for item in items.sampled}
    groups = units_of(outcomes.items, names)
    count = int(groups.max(initial=-1)) + 1
    if not count:
        return UnitIntervals(unit, 0, resamples, seed, LEVEL, {}, ())
    weights = draw_weights(count, resamples, seed)
    sums = sum_units(outcomes.correct, groups)
    most = outcomes.replicates[:, None] * outcomes.scale
    sizes = sum_units(outcomes.asked.astype(np.int64), groups) * most
    means = np.stack([resampled_means(rows, sizes, weights) for rows in sums])
    points = sums.sum(axis=-1) / np.maximum(sizes.sum(axis=-1), 1)
    measured = outcomes.measured
    scores = {}
    for number, model in enumerate(outcomes.models):
        ends = intervals(means[number], count, LEVEL)
        for place, name in enumerate(outcomes.configurations):
            exact = at_bound(sums[number, place], sizes[place], LEVEL)
            scores[model, name] = (ends[place] or exact) if measured[number, place] else None
    gaps = []
    for one, other in combinations(range(len(outcomes.models)), 2):
        at = np.flatnonzero(measured[one] & measured[other])
        if not len(at):
            continue
        # From the differences of the sums, which are whole: what is constant stays so to the last bit.
        differences = resampled_means((sums[one] - sums[other])[at], sizes[at], weights)
        own = (points[one] - points[other])[at]
        ends = intervals(differences, count, LEVEL)
        (overall,) = intervals(differences.mean(axis=1, keepdims=True), count, LEVEL)
        gaps.append(
            PairGapsRow(
                a=outcomes.models[one],
                b=outcomes.models[other],
                mean=_gap(own.mean(), overall),
                by_configuration={
                    outcomes.configurations[place]: _gap(value, end)
                    for place, value, end in zip(at, own, ends, strict=True)
                },
            )
        )
    return UnitIntervals(unit, count, resamples, seed, LEVEL, scores, tuple(gaps))


def _gap(value: float, interval: Ends | None) -> GapRow:
    return GapRow(value=digits(value), interval=interval)
