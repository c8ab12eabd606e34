"""Measured doses and difficulty: how much of a task scaffolds keep, beside what they change, and whether hard
items change otherwise than easy ones.

The dose of a sample is the share of its task's parts (system prompt, options, format and safety instruction,
as far as it has them) that its sub-calls were sent word for word; a plain call keeps all of it. Gringras 2026
drew this dose from judgement (figure 3); here it is counted on the stored calls. Difficulty is an item's pass
rate without a scaffold, on other models than those whose change is looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from gridc.reports.findings.exposure import mean_of
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.steps import PLAIN, READ, Counterpart, ReadSample, item_scores, place_of
from gridc.schema.canonical import digest
from gridc.statistics.arrays import Floats
from gridc.statistics.difficulty import DifficultyEffect, difficulty_effect
from gridc.statistics.digits import digits
from gridc.statistics.direction import Direction
from gridc.statistics.unit_intervals import UnitEstimate, smooth, unit_totals


@dataclass(frozen=True, slots=True)
class ScaffoldDose:
    """A scaffold, or the plain call: how many items of a model, the mean dose and the mean score."""

    scaffold: str
    items: int
    dose: float
    score: UnitEstimate


@dataclass(frozen=True, slots=True)
class DoseFinding:
    """The scaffolds of a benchmark from the smallest dose to the largest, over the items of a model that all
    were asked. `slope` is what the score gains from none of the task's parts to all of them, within items of
    one model; of `pairs` of scaffolds with other doses, `reversed` have the better score at the smaller one.
    """

    benchmark: str
    scaffolds: tuple[ScaffoldDose, ...]
    slope: UnitEstimate
    pairs: int
    reversed: int
    rows: str


@dataclass(frozen=True, slots=True)
class DifficultyFinding:
    """A scaffold beside the plain call, over the items that every model was asked both ways."""

    benchmark: str
    scaffold: str
    effect: DifficultyEffect
    rows: str


@dataclass(frozen=True, slots=True)
class ItemDose:
    """One item in one cell, over its replicates: its score, and the mean dose, not a number of a task without
    any part."""

    place: Counterpart
    scaffold: str
    item: str
    unit: int
    plain: bool
    dose: float
    score: float

    @property
    def row(self) -> tuple[str, ...]:
        """What a digest is of, to ten places."""
        model, benchmark, levels = self.place
        values = (f"{value:.10g}" for value in (self.dose, self.score))
        return (model, benchmark, str(levels), self.scaffold, self.item, *values)


def item_doses(record: RunRecord) -> list[ItemDose]:
    """Of every item in every complete cell of a study with scaffolds."""
    spec, samples = record.plan.study.spec, record[READ]
    if not samples:
        return []
    scores = item_scores(record)
    by_item: dict[tuple[str, str], list[ReadSample]] = {}
    for sample in samples:
        by_item.setdefault((sample.cell.key, sample.item.id), []).append(sample)
    rows = []
    for key, own in by_item.items():
        first, doses = own[0], [dose_of(sample) for sample in own]
        plain = first.cell.setting.scaffolding is None
        dose = float(np.mean([dose for dose in doses if dose is not None])) if None not in doses else np.nan
        name = PLAIN if plain else first.scaffold
        place = place_of(spec, first.cell)
        rows.append(ItemDose(place, name, first.item.id, first.unit, plain, dose, scores[key]))
    return rows


def dose_of(sample: ReadSample) -> float | None:
    """The share of the task's parts that the sub-calls of a sample kept; None of a task without any part."""
    if sample.cell.setting.scaffolding is None:
        return 1.0
    states = [state for reply in sample.replies for state in reply.kept.values() if state != "absent"]
    return sum(state == "kept" for state in states) / len(states) if states else None


def dose_findings(record: RunRecord) -> tuple[DoseFinding, ...]:
    """Of every benchmark with a scaffold that loses something."""
    findings = []
    for benchmark in record.plan.study.spec.benchmark:
        rows = [row for row in record[ITEM_DOSES] if row.place[1] == benchmark.id]
        names = {row.scaffold for row in rows}
        kept: dict[tuple[Counterpart, str], set[str]] = {}
        for row in rows:
            if not np.isnan(row.dose):
                kept.setdefault((row.place, row.item), set()).add(row.scaffold)
        rows = [row for row in rows if kept.get((row.place, row.item)) == names]
        if any(row.dose < 1 for row in rows):
            findings.append(_dose(benchmark.id, rows, Direction.of(benchmark.direction)))
    return tuple(findings)


def _dose(benchmark: str, rows: Sequence[ItemDose], direction: Direction) -> DoseFinding:
    units = np.array([row.unit for row in rows], dtype=np.int64)
    score, dose = np.array([row.score for row in rows]), np.array([row.dose for row in rows])
    scaffolds = []
    for name in dict.fromkeys(row.scaffold for row in rows):
        some = np.array([row.scaffold == name for row in rows])
        mean = mean_of(score, units, some)
        scaffolds.append(ScaffoldDose(name, int(some.sum()), digits(float(dose[some].mean())), mean))
    scaffolds.sort(key=lambda arm: arm.dose)
    _, item = np.unique([f"{row.place}\0{row.item}" for row in rows], return_inverse=True)
    count = np.bincount(item)

    def within(values: Floats) -> Floats:
        centred: Floats = values - (np.bincount(item, values) / count)[item]
        return centred

    away = within(dose)
    totals = unit_totals(units, np.column_stack([np.ones(len(rows)), away * within(score), away**2]))
    goods = [(arm.dose, direction.good(Fraction(arm.score.value or 0))) for arm in scaffolds]
    pairs = [(less, more) for less, more in combinations(goods, 2) if more[0] - less[0] > 1e-9]
    return DoseFinding(
        benchmark,
        tuple(scaffolds),
        smooth(totals, _slope, informs=(totals[:, 2],)),
        len(pairs),
        sum(less[1] > more[1] for less, more in pairs),
        digest(sorted(row.row for row in rows)),
    )


def _slope(sums: Floats) -> Floats:
    value: Floats = np.divide(sums[:, 1], sums[:, 2], out=np.full(len(sums), np.nan), where=sums[:, 2] > 1e-9)
    return value


def difficulties(record: RunRecord) -> tuple[DifficultyFinding, ...]:
    """Of every scaffold beside the plain calls, where two models or more answered both; of no benchmark whose
    best score is a target, where nothing passes."""
    seed, findings = record.plan.study.spec.sampling.seed, []
    for benchmark in record.plan.study.spec.benchmark:
        direction = Direction.of(benchmark.direction)
        if direction.target is not None:
            continue
        rows = [row for row in record[ITEM_DOSES] if row.place[1] == benchmark.id]
        plain = {(row.place, row.item): row for row in rows if row.plain}
        for scaffold in dict.fromkeys(row.scaffold for row in rows if not row.plain):
            items: dict[tuple[object, str], dict[str, tuple[ItemDose, ItemDose]]] = {}
            for row in rows:
                beside = plain.get((row.place, row.item))
                if row.scaffold == scaffold and beside is not None:
                    items.setdefault((row.place[2], row.item), {})[row.place[0]] = (beside, row)
            models = sorted({model for own in items.values() for model in own})
            whole = [own for own in items.values() if len(own) == len(models)]
            reference, arm = (
                np.array([[_passed(own[model][side], direction) for own in whole] for model in models])
                for side in (0, 1)
            )
            units = np.array([own[models[0]][1].unit for own in whole], dtype=np.int64)
            effect = difficulty_effect(reference, arm, units, seed) if whole else None
            if effect is not None:
                known = [row.row for own in whole for both in own.values() for row in both]
                findings.append(DifficultyFinding(benchmark.id, scaffold, effect, digest(sorted(known))))
    return tuple(findings)


def _passed(row: ItemDose, direction: Direction) -> float:
    """How much of an item passes: its score, or what is missing from it where lower is better."""
    return 1 - row.score if direction.lower else row.score


ITEM_DOSES: Finding[list[ItemDose]] = Finding("item_doses", item_doses, on_request=True)
DOSES: Finding[tuple[DoseFinding, ...]] = Finding("doses", dose_findings, (), tuple[DoseFinding, ...])
DIFFICULTIES: Finding[tuple[DifficultyFinding, ...]] = Finding(
    "difficulties", difficulties, (), tuple[DifficultyFinding, ...]
)
