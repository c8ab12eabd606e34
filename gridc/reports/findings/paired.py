"""What changes between two versions of the same cells, as SafetyRepro app. O reports it.

The two sides are two precisions of a study, or two stores (`gridc diff`): one report serves both. |delta| is
the change of a cell's score, and an ordering is that of all models under one configuration of one benchmark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from gridc.reports.findings.run_record import Finding
from gridc.reports.findings.scores import CellScore
from gridc.schema.canonical import digest
from gridc.schema.spec import Level, Spec
from gridc.statistics.contrasts import Delta, GridPoint, Pairing, Summary, pair_levels, summarise
from gridc.statistics.direction import Direction
from gridc.statistics.orderings import Order, order_of

LARGEST = 5
"""How many of the largest changes are named."""


@dataclass(frozen=True, slots=True)
class Reordered:
    """A place (benchmark and configuration) in which the order of the models is not the same on both sides.
    `flips` are the pairs of models whose strict order is reversed."""

    place: GridPoint
    left: Order
    right: Order
    flips: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PairedReport:
    """The change from `left` to `right`; `axis` is the axis whose levels they are, None for two stores.

    `unpaired` counts measured cells without a measured partner; `orderings` the configurations in which
    every model is paired, and `reordered` those of them whose order changes.
    """

    axis: str | None
    left: str
    right: str
    rows: str | None
    unpaired: int
    change: Summary | None
    by_model: Mapping[str, Summary]
    largest: tuple[Delta, ...]
    orderings: int
    reordered: tuple[Reordered, ...]

    @property
    def same_order(self) -> int:
        """In how many configurations the order of the models is exactly the same, ties being ties."""
        return self.orderings - len(self.reordered)

    @property
    def flips(self) -> int:
        """How many strict orders of a pair are reversed, over all configurations."""
        return sum(len(reordered_pair.flips) for reordered_pair in self.reordered)


def report(
    pairing: Pairing,
    left: str,
    right: str,
    axis: str | None = None,
    rows: str | None = None,
    directions: Mapping[str, Direction] = {},
) -> PairedReport:
    """The paired report of cells whose place names their `model`; `rows` is the digest of those cells, and
    `directions` says by benchmark which score is the better one: the higher, where it is not named."""
    deltas = pairing.deltas
    models = list(dict.fromkeys(delta.place["model"] for delta in deltas))
    orderings = _orderings(deltas, models, directions)
    moved = [delta for delta in deltas if delta.delta]
    return PairedReport(
        axis=axis,
        left=left,
        right=right,
        rows=rows,
        unpaired=len(pairing.only_before) + len(pairing.only_after),
        change=_change(deltas),
        by_model={
            model: summarise([delta.delta for delta in deltas if delta.place["model"] == model])
            for model in models
        },
        largest=tuple(sorted(moved, key=lambda delta: -abs(delta.delta))[:LARGEST]),
        orderings=len(orderings),
        reordered=tuple(ordering for ordering in orderings if ordering.left != ordering.right),
    )


def _rows(scores: Sequence[CellScore], axis: str, *levels: str) -> str:
    return digest([score.rows for score in scores if score.cell.levels[axis] in levels])


def _change(deltas: Sequence[Delta]) -> Summary | None:
    return summarise([delta.delta for delta in deltas]) if deltas else None


def _orderings(
    deltas: Sequence[Delta], models: Sequence[str], directions: Mapping[str, Direction]
) -> list[Reordered]:
    """The orders, best first, of every configuration in which all models are paired."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, Delta]] = {}
    for delta in deltas:
        where = tuple((key, name) for key, name in delta.place.items() if key != "model")
        rows.setdefault(where, {})[delta.place["model"]] = delta
    orderings = []
    for where, row in rows.items():
        if len(row) < len(models) or len(models) < 2:
            continue
        good = directions.get(dict(where).get("benchmark", ""), Direction()).good
        left = {model: good(row[model].before) for model in models}
        right = {model: good(row[model].after) for model in models}
        flips = tuple(
            (a, b) for a, b in combinations(models, 2) if (left[a] - left[b]) * (right[a] - right[b]) < 0
        )
        orderings.append(Reordered(dict(where), order_of(left), order_of(right), flips))
    return orderings


def precision_reports(spec: Spec, scores: Sequence[CellScore]) -> tuple[PairedReport, ...]:
    """The paired report of every two levels of an axis that differ in precision alone, over all
    benchmarks."""
    scored = [
        ({"model": score.cell.model, "benchmark": score.cell.benchmark, **score.cell.levels}, score.score)
        for score in scores
        if score.score is not None
    ]
    return tuple(
        report(
            pair_levels(scored, axis.id, a.id, b.id),
            a.id,
            b.id,
            axis.id,
            _rows(scores, axis.id, a.id, b.id),
            {benchmark.id: Direction.of(benchmark.direction) for benchmark in spec.benchmark},
        )
        for axis in spec.axis
        for a, b in combinations(axis.level, 2)
        if a.precision != b.precision and _rest(a) == _rest(b)
    )


def _rest(level: Level) -> dict[str, object]:
    """What a level does to a call beside its precision."""
    return {key: value for key, value in level.stated().items() if key != "precision"}


PRECISIONS: Finding[tuple[PairedReport, ...]] = Finding(
    "precisions", lambda record: precision_reports(record.plan.study.spec, record.scores), ()
)
