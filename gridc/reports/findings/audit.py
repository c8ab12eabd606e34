"""What people say of the responses that a study scored: agreement, and who is more lenient.

The labels that count in the study and those of people are compared on the responses of a sheet, which were
drawn by cell. Kappa is Cohen's with its interval; leniency is the mean of what the
study gave less what people gave, towards the benchmark's good end, with an interval that is exact for
responses drawn independently: `statistics.raters.leniency`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from gridc.compiler.grid.cell import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.score import earned
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.run_record import Finding
from gridc.runtime.blinding import UNREADABLE, auditable, labels_of, sheets
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.spec import Spec
from gridc.statistics.direction import Direction
from gridc.statistics.raters import Kappa, Leniency, kappa, leniency

ALL = "all"
"""In place of a benchmark: all of a sheet's responses."""


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One sheet on one benchmark, or on `ALL`: the labels that count beside those of people. `rows` is the
    digest of the UUIDs with both labels. Under a target there is no
    leniency: it has no end to be kind to."""

    sheet: str
    benchmark: str
    agreement: Kappa
    leniency: Leniency | None
    rows: str

    @property
    def gained(self) -> float | None:
        """How many points the study gives more than people do."""
        return None if self.leniency is None else self.leniency.mean

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Labelled:
    uuid: str
    benchmark: str
    study: str
    people: str
    unit: tuple[str, str]
    gained: Fraction | None  # what the study gave less what people gave, towards the good end; None: a target


def audits(plan: Plan, store: Store) -> Iterator[AuditFinding]:
    """Every sheet whose labels were taken back: all its responses, and where there are several each
    benchmark."""
    for sheet in sheets(plan, store):
        given = store.labels(plan.study_digest, sheet.about)
        if not given:
            continue
        places = {place: uuid for uuid, place in sheet.blind.places.items()}
        labelled = []
        for cell in auditable(plan):
            mine = {place for place in places if place[0] == cell.key}
            items = {item.id: item for item in plan.items(cell)} if mine else {}
            units = plan.study.items[cell.benchmark].units if mine else {}
            for item, replicate, choice, *_ in store.sample_rows(plan.study_digest, cell.key) if mine else ():
                if (cell.key, item, replicate) in mine:
                    uuid = places[cell.key, item, replicate]
                    unit = cell.benchmark, units[item]
                    labelled.append(
                        _labelled(plan.study.spec, cell, items[item], unit, uuid, choice, given[uuid])
                    )
        benchmarks = dict.fromkeys(response.benchmark for response in labelled)
        yield _finding(sheet.about, ALL, labelled)
        if len(benchmarks) > 1:
            for benchmark in benchmarks:
                yield _finding(sheet.about, benchmark, [x for x in labelled if x.benchmark == benchmark])


def _labelled(
    spec: Spec, cell: Cell, item: Item, unit: tuple[str, str], uuid: str, choice: int | None, label: str
) -> _Labelled:
    known = labels_of(spec, cell, item)
    human = known.index(label) if label in known else None
    more = _points(cell, item, choice, known) - _points(cell, item, human, known)
    sign = Direction.of(
        next(benchmark.direction for benchmark in spec.benchmark if benchmark.id == cell.benchmark)
    ).sign
    gained = sign * more if sign else None
    given = UNREADABLE if choice is None else known[choice]
    return _Labelled(uuid, cell.benchmark, given, label, unit, gained)


def _points(cell: Cell, item: Item, choice: int | None, known: Sequence[str]) -> Fraction:
    setting = cell.setting
    points = setting.credit if choice is None else earned(setting, item, choice, known)
    return Fraction(points, setting.scale)


def _finding(sheet: str, benchmark: str, labelled: Sequence[_Labelled]) -> AuditFinding:
    rows = sorted((response.uuid, response.study, response.people) for response in labelled)
    gained = [response.gained for response in labelled]
    return AuditFinding(
        sheet,
        benchmark,
        kappa([x.study for x in labelled], [x.people for x in labelled], [x.unit for x in labelled]),
        None if None in gained else leniency([float(points) for points in gained if points is not None]),
        digest([list(row) for row in rows]),
    )


AUDITS: Finding[tuple[AuditFinding, ...]] = Finding(
    "audits", lambda record: tuple(audits(record.plan, record.store)), (), tuple[AuditFinding, ...]
)
