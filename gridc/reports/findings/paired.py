"""What changes between two versions of the same cells, as SafetyRepro app. O reports it.

The two sides are two precisions of a study, or two stores (`gridc diff`): one report serves both. |delta| is
the change of a cell's score, and an ordering is that of all models under one configuration of one benchmark.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from gridc.compiler.grid.cells import ONLY
from gridc.reports.findings.run_record import Finding
from gridc.reports.findings.scores import CellScore
from gridc.schema.canonical import digest
from gridc.schema.certificate import ChangeRow, MovedRow, PairedRow, ReorderedRow
from gridc.schema.spec import Level, Spec
from gridc.statistics.envelope import Direction, model_order
from gridc.statistics.paired_runs import Delta, GridPoint, Pairing, pair_levels, summarise_differences

LARGEST = 5
"""How many of the largest changes are named."""


def paired_row(
    pairing: Pairing,
    left: str,
    right: str,
    axis: str | None = None,
    rows: str | None = None,
    directions: Mapping[str, Direction] = {},
) -> PairedRow:
    """The paired report of cells whose place names their `model`; `rows` is the digest of those cells, and
    `directions` says by benchmark which score is the better one: the higher, where it is not named."""
    deltas = pairing.deltas
    models = list(dict.fromkeys(delta.place["model"] for delta in deltas))
    orderings = _orderings(deltas, directions)
    moved = [delta for delta in deltas if delta.delta]
    reordered = tuple(ordering for ordering in orderings if ordering.left != ordering.right)
    return PairedRow(
        axis=axis,
        left=left,
        right=right,
        rows=rows,
        unpaired=len(pairing.only_before) + len(pairing.only_after),
        overall=change_row([delta.delta for delta in deltas]) if deltas else None,
        by_model={
            model: change_row([delta.delta for delta in deltas if delta.place["model"] == model])
            for model in models
        },
        largest=tuple(
            MovedRow.of(cell=_named(delta.place), left=delta.before, right=delta.after)
            for delta in sorted(moved, key=lambda delta: -abs(delta.delta))[:LARGEST]
        ),
        orderings=len(orderings),
        same_order=len(orderings) - len(reordered),
        flips=sum(len(ordering.flips) for ordering in reordered),
        reordered=reordered,
    )


def _rows(scores: Sequence[CellScore], axis: str, *levels: str) -> str:
    return digest([score.rows for score in scores if score.cell.levels[axis] in levels])


def change_row(deltas: Sequence[Fraction]) -> ChangeRow:
    """How far at least one pair of cells moved."""
    summary = summarise_differences(deltas)
    return ChangeRow.of(summary, cells=summary.n)


def _named(place: GridPoint) -> str:
    """A place as a cell's key, without what the sides do not share: `model/benchmark/axis=level,...`."""
    head = [place[key] for key in ("model", "benchmark") if key in place]
    levels = ",".join(
        f"{axis}={level}" for axis, level in place.items() if axis not in ("model", "benchmark")
    )
    return "/".join([*head, levels or ONLY])


def _orderings(deltas: Sequence[Delta], directions: Mapping[str, Direction]) -> list[ReorderedRow]:
    """The orders, best first, of every configuration in which all models of its benchmark are paired."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, Delta]] = {}
    rosters: dict[str | None, dict[str, None]] = {}
    for delta in deltas:
        rosters.setdefault(delta.place.get("benchmark"), {})[delta.place["model"]] = None
        where = tuple((key, name) for key, name in delta.place.items() if key != "model")
        rows.setdefault(where, {})[delta.place["model"]] = delta
    orderings = []
    for where, row in rows.items():
        models = list(rosters[dict(where).get("benchmark")])
        if len(row) < len(models) or len(models) < 2:
            continue
        good = directions.get(dict(where).get("benchmark", ""), Direction()).good
        left = {model: good(row[model].before) for model in models}
        right = {model: good(row[model].after) for model in models}
        flips = tuple(
            (a, b) for a, b in combinations(models, 2) if (left[a] - left[b]) * (right[a] - right[b]) < 0
        )
        orderings.append(
            ReorderedRow(
                configuration=_named(dict(where)),
                left=model_order(left),
                right=model_order(right),
                flips=flips,
            )
        )
    return orderings


def precision_reports(spec: Spec, scores: Sequence[CellScore]) -> tuple[PairedRow, ...]:
    """The paired report of every two levels of an axis that differ in precision alone, over all
    benchmarks."""
    scored = [
        ({"model": score.cell.model, "benchmark": score.cell.benchmark, **score.cell.levels}, score.score)
        for score in scores
        if score.score is not None
    ]
    return tuple(
        paired_row(
            pair_levels(scored, axis.id, a.id, b.id),
            a.id,
            b.id,
            axis.id,
            _rows(scores, axis.id, a.id, b.id),
            {benchmark.id: Direction.of(benchmark.direction) for benchmark in spec.benchmark},
        )
        for axis in spec.axis
        for a, b in combinations(axis.level, 2)
        if a.precision != b.precision and _other_effects(a) == _other_effects(b)
    )


def _other_effects(level: Level) -> dict[str, object]:
    """What a level does to a call beside its precision."""
    return {key: value for key, value in level.stated().items() if key != "precision"}


PRECISIONS: Finding[tuple[PairedRow, ...]] = Finding(
    "precisions",
    lambda record: precision_reports(record.plan.study.spec, record.scores),
    (),
    about="What changes between two precisions of one model, item by item.",
)
