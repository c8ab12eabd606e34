"""Relates what scaffolds kept of a task, and what leaked into its parts, to how scores change.

The terms are those of epidemiology. A leak into a part of a divided task is an exposure. The options that a
part was shown are a mediator: the scaffold may change the score by losing them. A row is one item of one
model under a scaffold that divides tasks. Rules over words find the leaks (`instrument.propagation`), and
rather find too many than too few. Nothing here is randomised: items whose parts leak differ from others in
other ways too, and a fixed effect of the model does not remove that.

The dose of a sample is the share of its task's parts (system prompt, options, format and safety instruction,
as far as it has them) that its sub-calls were sent word for word; a plain call keeps all of it. Gringras 2026
estimated this dose by judgement (figure 3); here it is counted from the stored calls. Whether scaffolds
change hard items more than easy ones is read against difficulty: an item's pass rate without a scaffold, on
models other than the one whose change is looked at.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from gridc.compiler.instrument.propagation import GROUPS, leaked
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scaffolds import (
    PLAIN,
    POOLED,
    READ_SAMPLES,
    WORKS,
    Counterpart,
    ReadSample,
    cell_procedure,
    mean_item_scores,
    scaffold_counterpart,
)
from gridc.schema.canonical import digest
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.bounded_ratios import bounded_ratio
from gridc.statistics.envelope import Direction
from gridc.statistics.exact_tests import mcnemar_two_sided
from gridc.statistics.mediation import (
    DifficultyEffect,
    ExposureOdds,
    MediatedEffect,
    between_arms,
    difficulty_effect,
    exposure_odds,
    within_arm,
)
from gridc.statistics.reproducibility import decimals, digits
from gridc.statistics.strata import gap
from gridc.statistics.unit_intervals import (
    UnitEstimate,
    change,
    gains_and_losses,
    share,
    unit_totals,
)

CLASSES = tuple(dict.fromkeys(GROUPS.values()))
"""The classes of leakage: adversarial (first), contextual, identity."""
SHARES = ((0.0, 0.0), (0.0, 0.5), (0.5, 1.0))
"""Shares of the parts that leak: none, up to a half, more."""


@dataclass(frozen=True, slots=True)
class LeakageRow:
    """The items of one model, or of all, by whether an adversarial feature leaked: how many, their score
    without a scaffold (`plain`), their score under the scaffold where nothing leaked and where something did,
    and the gap between those two."""

    model: str
    items: int
    leaked: int
    plain: UnitEstimate
    clean: UnitEstimate
    exposed: UnitEstimate
    gap: UnitEstimate


@dataclass(frozen=True, slots=True)
class DoseRow:
    """The items with so many leaked features (`features`), or with such a share of leaking parts: their
    score."""

    dose: str
    items: int
    score: UnitEstimate


@dataclass(frozen=True, slots=True)
class FlipRow:
    """Answers beside the plain ones, of the items where nothing, or something, leaked: how many earn less and
    how many more under the scaffold, and the mean change. `p` is McNemar's, exact, which takes the answers as
    independent of each other: None where a unit has several."""

    exposed: bool
    items: int
    less: int
    more: int
    p: float | None
    change: UnitEstimate


@dataclass(frozen=True, slots=True)
class ExposureFinding:
    """One scaffold on one benchmark. `odds` are of a bad answer, by class and for the share of parts
    that leak an adversarial feature, each for one more feature (or for all of the parts), with fixed effects
    of models; none under a target, where no single answer is a bad one."""

    benchmark: str
    scaffold: str
    leakage: tuple[LeakageRow, ...]
    odds: tuple[ExposureOdds, ...]
    doses: tuple[DoseRow, ...]
    flips: tuple[FlipRow, ...]
    rows: str


@dataclass(frozen=True, slots=True)
class MediationFinding:
    """How much of the effect of a scaffold on a benchmark, all models together, goes through the options that
    its parts lose. `by` is the other scaffold that the slope comes from, None where it comes from the
    differences between the items of this one."""

    benchmark: str
    scaffold: str
    by: str | None
    items: int
    effect: MediatedEffect
    rows: str


@dataclass(frozen=True, slots=True)
class DividedItem:
    """One item of one model under a scaffold that divides, over its replicates: the mean score, that of the
    plain answer (not a number without one), how many features of each class leaked, and the shares of parts
    that leak an adversarial one and that keep the options (not a number of a task without options)."""

    place: Counterpart
    item: str
    unit: int
    score: float
    plain: float
    classes: Mapping[str, int]
    leaking: float
    kept: float

    @property
    def row(self) -> tuple[object, ...]:
        """The values that the digest covers, numbers to ten digits."""
        values = (self.score, self.plain, self.leaking, self.kept)
        counts = [self.classes.get(name, 0) for name in CLASSES]
        return (
            *self.place[:2],
            str(self.place[2]),
            self.item,
            *counts,
            *(f"{value:.10g}" for value in values),
        )


def divided(record: RunRecord) -> dict[tuple[str, str], list[DividedItem]]:
    """The rows of every scaffold that divides tasks, by benchmark and scaffold."""
    spec, samples = record.plan.study.spec, record[READ_SAMPLES]
    if not samples:
        return {}
    scores = mean_item_scores(record)
    plain = {
        (scaffold_counterpart(spec, sample.cell), sample.item.id): scores[sample.cell.key, sample.item.id]
        for sample in samples
        if sample.cell.setting.scaffolding is None
    }
    by_item: dict[tuple[str, str], list[ReadSample]] = {}
    for sample in samples:
        procedure = cell_procedure(sample.cell)
        if procedure is not None and procedure.divides and sample.subquestions:
            by_item.setdefault((sample.cell.key, sample.item.id), []).append(sample)
    rows: dict[tuple[str, str], list[DividedItem]] = {}
    for own in by_item.values():
        first = own[0]
        place = scaffold_counterpart(spec, first.cell)
        key = first.cell.key, first.item.id
        row = _divided(place, own, scores[key], plain.get((place, first.item.id), np.nan))
        rows.setdefault((first.cell.benchmark, first.scaffold), []).append(row)
    return rows


def _divided(place: Counterpart, samples: Sequence[ReadSample], score: float, plain: float) -> DividedItem:
    features: set[str] = set()
    leaking, kept = list[float](), list[float]()
    for sample in samples:
        own = [leaked(sample.item.stem, part) for part in sample.subquestions]
        features |= leaked(sample.item.stem, "\n".join(sample.subquestions))
        adversarial = [any(GROUPS[feature] == CLASSES[0] for feature in found) for found in own]
        leaking.append(sum(adversarial) / len(own))
        states = [reply.part_states["mc_option"] for reply in sample.replies if reply.step.startswith(WORKS)]
        # A task without options has none to keep or lose: it must not count as a task that lost all.
        if "absent" not in states:
            kept.append(sum(state == "kept" for state in states) / max(len(states), 1))
    return DividedItem(
        place,
        samples[0].item.id,
        samples[0].unit,
        score,
        plain,
        Counter(GROUPS[feature] for feature in features),
        float(np.mean(leaking)),
        float(np.mean(kept)) if kept else np.nan,
    )


def exposures(record: RunRecord) -> tuple[ExposureFinding, ...]:
    """Scores by what leaked into a task's parts, for every scaffold that divides tasks and benchmark where
    anything leaked."""
    directions = {
        benchmark.id: Direction.of(benchmark.direction) for benchmark in record.plan.study.spec.benchmark
    }
    return tuple(
        exposure_of(benchmark, scaffold, rows, directions[benchmark])
        for (benchmark, scaffold), rows in record[DIVIDED].items()
        if any(row.classes for row in rows)
    )


def exposure_of(
    benchmark: str, scaffold: str, rows: Sequence[DividedItem], direction: Direction
) -> ExposureFinding:
    models = list(dict.fromkeys(row.place[0] for row in rows))
    model = np.array([models.index(row.place[0]) for row in rows], dtype=np.int64)
    units = np.array([row.unit for row in rows], dtype=np.int64)
    score = np.array([row.score for row in rows])
    plain = np.array([row.plain for row in rows])
    classes = np.array([[row.classes.get(name, 0) for name in CLASSES] for row in rows], dtype=np.float64)
    leaking = np.array([row.leaking for row in rows])
    exposed = classes[:, 0] > 0
    of_models = [(POOLED, np.ones(len(rows), np.bool_))]
    of_models += [(name, model == at) for at, name in enumerate(models)] if len(models) > 1 else []
    names = [f"{name} feature" for name in CLASSES]
    bad = score if direction.lower else 1 - score
    odds = (
        *exposure_odds(names, classes, bad, model, units),
        *exposure_odds(["all parts leak"], leaking[:, None], bad, model, units),
    )
    return ExposureFinding(
        benchmark,
        scaffold,
        tuple(_leakage(name, some, units, score, plain, exposed) for name, some in of_models),
        odds if direction.target is None else (),
        tuple(_doses(classes[:, 0], leaking, units, score)),
        tuple(_flips(units, score, plain, exposed)),
        digest(sorted(map(repr, (row.row for row in rows)))),
    )


def mean_of(scores: Floats, units: Whole, some: Flags) -> UnitEstimate:
    """The mean score of the rows that `some` selects, with its error over units."""
    columns = np.column_stack([some.astype(np.float64), np.where(some, scores, 0.0)])
    return share(unit_totals(units, columns))


def _leakage(
    name: str, some: Flags, units: Whole, score: Floats, plain: Floats, exposed: Flags
) -> LeakageRow:
    clean, dirty = some & ~exposed, some & exposed
    columns = np.column_stack([clean, clean * score, dirty, dirty * score]).astype(np.float64)
    return LeakageRow(
        name,
        int(some.sum()),
        int(dirty.sum()),
        mean_of(plain, units, some & ~np.isnan(plain)),
        mean_of(score, units, clean),
        mean_of(score, units, dirty),
        gap(unit_totals(units, columns)),
    )


def _doses(features: Floats, leaking: Floats, units: Whole, score: Floats) -> Iterator[DoseRow]:
    for low, high, words in ((0, 0, "no feature"), (1, 1, "1 feature"), (2, 99, "2 features or more")):
        some = (features >= low) & (features <= high)
        yield DoseRow(words, int(some.sum()), mean_of(score, units, some))
    names = ("no part leaks", "up to half of the parts", "more than half of the parts")
    for (least, most), words in zip(SHARES, names, strict=True):
        # A share is a mean over replicates: rounding must not move it past a bound, or into two bins.
        above = leaking > least + 1e-9 if most else leaking >= least
        some = above & (leaking <= most + 1e-9)
        yield DoseRow(words, int(some.sum()), mean_of(score, units, some))


def _flips(units: Whole, score: Floats, plain: Floats, exposed: Flags) -> Iterator[FlipRow]:
    known = ~np.isnan(plain)
    for side in (False, True):
        some = known & (exposed == side)
        if not some.any():
            continue
        moved = score[some] - plain[some]
        # Scores are means in floating point: a difference that only rounding makes is no change.
        less, more = int((moved < -1e-9).sum()), int((moved > 1e-9).sum())
        alone = len(np.unique(units[some])) == len(moved)
        # The test takes answers as independent, which several answers of one unit are not.
        p = mcnemar_two_sided(less, more) if alone else None
        totals = unit_totals(units[some], gains_and_losses(moved))
        yield FlipRow(side, len(moved), less, more, p, change(totals))


def mediations(record: RunRecord) -> tuple[MediationFinding, ...]:
    """Effects through lost options, for every scaffold that divides tasks and loses options in their parts:
    against every scaffold that loses fewer, and within itself."""
    by_arm = record[DIVIDED]
    found = list[MediationFinding]()
    for (benchmark, scaffold), rows in by_arm.items():
        own = {(row.place, row.item): row for row in rows if not np.isnan(row.plain + row.kept)}
        if not any(row.kept < 1 for row in own.values()):
            continue
        for (where, other), theirs in by_arm.items():
            beside = {(row.place, row.item): row for row in theirs if not np.isnan(row.kept)}
            keys = [key for key in own if key in beside]
            if where != benchmark or other == scaffold or not keys:
                continue
            theirs_kept, own_kept = (
                decimals(float(np.mean([rows_of[key].kept for key in keys]))) for rows_of in (beside, own)
            )
            if theirs_kept > own_kept:
                found.append(_mediation(benchmark, scaffold, other, own, beside, keys))
        found.append(_mediation(benchmark, scaffold, None, own, own, list(own)))
    return tuple(found)


def _mediation(
    benchmark: str,
    scaffold: str,
    by: str | None,
    own: Mapping[tuple[Counterpart, str], DividedItem],
    beside: Mapping[tuple[Counterpart, str], DividedItem],
    keys: Sequence[tuple[Counterpart, str]],
) -> MediationFinding:
    units = np.array([own[key].unit for key in keys], dtype=np.int64)
    change, kept, other, still = (
        np.array(values)
        for values in (
            [own[key].score - own[key].plain for key in keys],
            [own[key].kept for key in keys],
            [beside[key].score - own[key].plain for key in keys],
            [beside[key].kept for key in keys],
        )
    )
    if by is None:
        models = list(dict.fromkeys(key[0] for key in keys))
        groups = np.array([models.index(key[0]) for key in keys], dtype=np.int64)
        effect = within_arm(change, 1 - kept, groups, units)
    else:
        effect = between_arms(change, 1 - kept, other, 1 - still, units)
    rows = digest(sorted(repr((own[key].row, beside[key].row)) for key in keys))
    return MediationFinding(benchmark, scaffold, by, len(keys), effect, rows)


DIVIDED: Finding[dict[tuple[str, str], list[DividedItem]]] = Finding("divided", divided, on_request=True)
EXPOSURES: Finding[tuple[ExposureFinding, ...]] = Finding(
    "exposures", exposures, (), tuple[ExposureFinding, ...]
)
MEDIATIONS: Finding[tuple[MediationFinding, ...]] = Finding(
    "mediations", mediations, (), tuple[MediationFinding, ...]
)


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
    """A scaffold compared with the plain call, over the items that every model was asked both ways."""

    benchmark: str
    scaffold: str
    effect: DifficultyEffect
    rows: str


@dataclass(frozen=True, slots=True)
class ItemDose:
    """One item in one cell: mean score and mean dose over replicates (dose NaN for a task without parts)."""

    place: Counterpart
    scaffold: str
    item: str
    unit: int
    plain: bool
    dose: float
    score: float

    @property
    def row(self) -> tuple[str, ...]:
        """The values that the digest covers, numbers to ten digits."""
        model, benchmark, levels = self.place
        values = (f"{value:.10g}" for value in (self.dose, self.score))
        return (model, benchmark, str(levels), self.scaffold, self.item, *values)


def item_doses(record: RunRecord) -> list[ItemDose]:
    """How much of the task every item kept, in every complete cell of a study with scaffolds."""
    spec, samples = record.plan.study.spec, record[READ_SAMPLES]
    if not samples:
        return []
    scores = mean_item_scores(record)
    by_item: dict[tuple[str, str], list[ReadSample]] = {}
    for sample in samples:
        by_item.setdefault((sample.cell.key, sample.item.id), []).append(sample)
    rows = []
    for key, own in by_item.items():
        first, doses = own[0], [dose_of(sample) for sample in own]
        plain = first.cell.setting.scaffolding is None
        dose = float(np.mean([dose for dose in doses if dose is not None])) if None not in doses else np.nan
        name = PLAIN if plain else first.scaffold
        place = scaffold_counterpart(spec, first.cell)
        rows.append(ItemDose(place, name, first.item.id, first.unit, plain, dose, scores[key]))
    return rows


def dose_of(sample: ReadSample) -> float | None:
    """The share of the task's parts that a sample's sub-calls kept; None for a task without parts."""
    if sample.cell.setting.scaffolding is None:
        return 1.0
    states = [state for reply in sample.replies for state in reply.part_states.values() if state != "absent"]
    return sum(state == "kept" for state in states) / len(states) if states else None


def dose_findings(record: RunRecord) -> tuple[DoseFinding, ...]:
    """How much of its task each scaffold kept, on every benchmark with a scaffold that loses something."""
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
    # Scores lie from 0 to 1, and those of one item are compared: half of what its doses differ is the most.
    columns = np.column_stack([away * within(score), away**2, np.abs(away) / 2])
    moved, squares, most = unit_totals(units, columns).T
    goods = [(arm.dose, direction.good(Fraction(arm.score.value or 0))) for arm in scaffolds]
    pairs = [(less, more) for less, more in combinations(goods, 2) if more[0] - less[0] > 1e-9]
    return DoseFinding(
        benchmark,
        tuple(scaffolds),
        bounded_ratio(moved, squares, -most, most),
        len(pairs),
        sum(less[1] > more[1] for less, more in pairs),
        digest(sorted(row.row for row in rows)),
    )


def difficulties(record: RunRecord) -> tuple[DifficultyFinding, ...]:
    """How each scaffold's effect depends on the difficulty of items, where two or more models answered both
    with and without it; not on a benchmark whose best score is a target, where nothing passes."""
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
    """The share of an item that passes: its score, or 1 less its score where lower is better."""
    return 1 - row.score if direction.lower else row.score


ITEM_DOSES: Finding[list[ItemDose]] = Finding("item_doses", item_doses, on_request=True)
DOSES: Finding[tuple[DoseFinding, ...]] = Finding("doses", dose_findings, (), tuple[DoseFinding, ...])
DIFFICULTIES: Finding[tuple[DifficultyFinding, ...]] = Finding(
    "difficulties", difficulties, (), tuple[DifficultyFinding, ...]
)
