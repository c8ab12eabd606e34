"""What people's labels correct: scores, rates and gaps of the configurations that they labelled.

A sheet holds the same items of all models of a configuration, each drawn with the same chance, or responses
that people labelled outside of gridc, which are taken as drawn so. What people gave a response earns what the
study's own rules give for that label; where several people labelled it, the mean of these.
`statistics.labelled` makes the corrected numbers of it, with strata by what the machine said: its label where
all items have the same ones, else what it earned, and whether it was stated or inferred.

A claim of a pair then needs the items' own test and the corrected gap, in every configuration that it is
about (`certification`). Only means over responses are corrected: no pass@k, no item that earns with others,
and no preference between two responses, of which people see one.
"""

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from statistics import mean

import numpy as np

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.labels import SHEETS, label_points
from gridc.reports.findings.rates import RateDefinition, countable_rates
from gridc.reports.findings.run_record import Finding
from gridc.reports.findings.scores import Outcomes
from gridc.runtime.blinding import (
    Sheet,
    SheetDesign,
    auditable,
    blinded_name,
    drawn_rows,
    is_given,
    labels_of,
    places_of,
)
from gridc.runtime.store.reader import Labels
from gridc.runtime.store.store import Store
from gridc.schema.audit import CorrectedGapRow, CorrectedValueRow
from gridc.schema.canonical import digest
from gridc.statistics.labelled import (
    LabelledRows,
    corrected_gap,
    corrected_share,
    gap_p,
)
from gridc.statistics.reproducibility import digits

SCORE = "score"
"""In place of a rate."""

ItemReplicate = tuple[str, int]
"""Item and replicate: a response of a cell."""


@dataclass(frozen=True, slots=True)
class BenchmarkAudit:
    """What people's labels correct on one benchmark. `configurations` were audited; those that are `exempt`
    labels do not correct: nothing is read to a label there, or the score is no mean over responses.
    `annotators` people labelled; `rows` is the digest of their labels. Where it is `given`, people labelled
    some of the responses outside of gridc, which are taken as drawn at random. The labels of `unreturned`
    sheets never came back."""

    benchmark: str
    sheets: tuple[str, ...]
    annotators: int
    configurations: tuple[str, ...]
    exempt: tuple[str, ...]
    values: tuple[CorrectedValueRow, ...]
    gaps: tuple[CorrectedGapRow, ...]
    given: bool
    unreturned: int
    rows: str

    @property
    def blinded(self) -> bool:
        """Whether gridc drew all that people labelled, and showed no condition."""
        return not any(map(is_given, self.sheets))

    def scores(self) -> Iterator[CorrectedValueRow]:
        return (each for each in self.values if each.what == SCORE)

    def score_of(self, model: str, configuration: str) -> CorrectedValueRow | None:
        """The corrected score of one cell."""
        key = model, configuration
        return next((each for each in self.scores() if (each.model, each.configuration) == key), None)

    def score_gap(self, a: str, b: str, configuration: str) -> CorrectedGapRow | None:
        """The corrected gap of two models' scores, named in this order."""
        return self.gap(SCORE, a, b, configuration)

    def gap(self, what: str, a: str, b: str, configuration: str) -> CorrectedGapRow | None:
        """The same of a rate."""
        key = what, a, b, configuration
        return next(
            (each for each in self.gaps if (each.what, each.a, each.b, each.configuration) == key), None
        )

    def p_values(self, a: str, b: str, configuration: str, what: str = SCORE) -> tuple[float, float]:
        """What the labels allow for a claim of either direction: 1 where nobody looked."""
        if configuration in self.exempt:
            return 0.0, 0.0
        gap = self.gap(what, a, b, configuration)
        return (1.0, 1.0) if gap is None else (gap.p_plus, gap.p_minus)


@dataclass(frozen=True, slots=True, eq=False)
class _CellRows:
    """The rows of one cell, and of each quantity what they earned and earn by people's labels; of a rate
    those rows alone that have it. Of the rows that were drawn, `said` are those of which people said
    something: no response came of the others."""

    cell: Cell
    sheets: tuple[str, ...]
    said: frozenset[ItemReplicate]
    rows: Mapping[str, tuple[ItemReplicate, ...]]
    labelled: Mapping[str, LabelledRows]


def corrections(plan: Plan, store: Store, drawn: Sequence[Sheet]) -> tuple[BenchmarkAudit, ...]:
    """The audit of every benchmark of which people labelled responses that were drawn for it, or given."""
    audited = _audited_sheets(plan, store, drawn)
    by_benchmark: dict[str, list[_CellRows]] = {}
    for cell in correctable(plan):
        rows = _audited(plan, store, cell, audited)
        if rows is not None:
            by_benchmark.setdefault(cell.benchmark, []).append(rows)
    given = {each.sheet.about: each.labels for each in audited}
    out = [sheet.design for sheet in drawn if not store.labels(plan.study_digest, sheet.about)]
    audits = (_audit(plan, name, cells, given, out) for name, cells in by_benchmark.items())
    return tuple(audits)


def pairs_read(
    plan: Plan, store: Store, drawn: Sequence[Sheet], configurations: Container[str]
) -> Iterator[tuple[Cell, Cell, LabelledRows, LabelledRows]]:
    """The responses of every two models in one of these configurations, on the rows that both have: what they
    earned, and earn by people's labels where there are any."""
    audited = _audited_sheets(plan, store, drawn)
    by_place: dict[tuple[str, str], list[_CellRows]] = {}
    for cell in correctable(plan):
        if cell.configuration in configurations:
            rows = _audited(plan, store, cell, audited) or _rows(plan, store, cell, ())
            if rows is not None:
                by_place.setdefault((cell.benchmark, cell.configuration), []).append(rows)
    for cells in by_place.values():
        for one, other in combinations(cells, 2):
            yield one.cell, other.cell, *_of_both(one, other, SCORE)


def correctable(plan: Plan) -> Iterator[Cell]:
    """The cells whose scores people's labels can correct."""
    return (cell for cell in auditable(plan) if cell.shared and _is_mean(plan, cell))


@dataclass(frozen=True, slots=True)
class _AuditedSheet:
    """A sheet with labels, and by cell key how many responses it has."""

    sheet: Sheet
    labels: Labels
    responses: Mapping[str, int]


def _audited_sheets(plan: Plan, store: Store, drawn: Sequence[Sheet]) -> list[_AuditedSheet]:
    """Those with labels, of which every response had the same chance, or is taken as if it had."""
    audited = (
        _AuditedSheet(
            sheet,
            store.labels(plan.study_digest, sheet.about),
            Counter(key for key, *_ in sheet.blind.places.values()),
        )
        for sheet in drawn
        if sheet.design.given or sheet.design.configurations
    )
    return [each for each in audited if each.labels]


def _audited(plan: Plan, store: Store, cell: Cell, audited: Sequence[_AuditedSheet]) -> _CellRows | None:
    """The rows of a cell with the labels of all sheets that have responses to its configuration: rows that
    were drawn once more are as many more. What people labelled outside of gridc counts where no sheet does:
    it may have been chosen."""
    keys = [replace(cell, model=model.id).key for model in plan.study.spec.model]
    here = [each for each in audited if any(each.responses.get(key) for key in keys)]
    drawn = [each for each in here if not each.sheet.design.given]
    return _rows(plan, store, cell, drawn or here) if here else None


def _is_mean(plan: Plan, cell: Cell) -> bool:
    """Whether a cell's score is the mean of what its responses earn, each read alone."""
    judge = plan.study.spec.judge_called(cell.setting.judge)
    compares = METHODS[cell.setting.method].judged and judge is not None and judge.compares is not None
    return cell.setting.aggregate == "mean" and cell.setting.all_of is None and not compares


def _rows(plan: Plan, store: Store, cell: Cell, audited: Sequence[_AuditedSheet]) -> _CellRows | None:
    """None while a response has no outcome, and where people labelled none of the sheets. Without a sheet
    nobody labelled."""
    spec = plan.study.spec
    items = {item.id: item for item in plan.items(cell)}
    names = METHODS[cell.setting.method].names(spec.verdicts(cell.setting.judge), cell.setting.scores)
    stored = [
        _ReadAnswer(items[item], replicate, choice, score, _confidence(evidence))
        for item, replicate, choice, score, evidence, *_ in store.sample_rows(plan.study_digest, cell.key)
    ]
    if any(answer.score is None for answer in stored):
        return None
    by_people: dict[ItemReplicate, list[int | None]] = {}
    drawn: set[ItemReplicate] = set()
    for each in audited:
        drawn |= _drawn(plan, store, cell, each.sheet, each.labels)
        for row, choices in _by_people(plan, cell, each.sheet, each.labels, stored):
            by_people.setdefault(row, []).extend(choices)
    said = frozenset(by_people)
    if audited and not said:
        return None
    for answer in stored:
        row = answer.item.id, answer.replicate
        if row in drawn and row not in said:
            by_people[row] = [answer.choice]  # a failed call has no response, and nothing was read of it
    quantities: list[tuple[str, Callable[[_ReadAnswer, int | None], float | None]]] = [
        (SCORE, partial(_score, plan, cell))
    ]
    quantities += [
        (rate.name, partial(_hit, rate, names)) for rate in countable_rates(plan, cell) if _is_share(rate)
    ]
    units = plan.study.items[cell.benchmark].units
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units.values()))}
    made = {
        what: _labelled(stored, by_people, names is not None, units, numbers, earns)
        for what, earns in quantities
    }
    return _CellRows(
        cell,
        tuple(each.sheet.about for each in audited),
        said,
        {what: rows for what, (rows, _) in made.items() if rows},
        {what: found for what, (rows, found) in made.items() if rows},
    )


def _by_people(
    plan: Plan, cell: Cell, sheet: Sheet, labels: Labels, stored: Sequence["_ReadAnswer"]
) -> Iterator[tuple[ItemReplicate, list[int | None]]]:
    """By row the choices that people said, None of an unreadable one."""
    for answer in stored:
        row = answer.item.id, answer.replicate
        known = labels_of(plan.study.spec, cell, answer.item)
        uuid = blinded_name(sheet.blind.nonce, plan.study_digest, sheet.about, (cell.key, *row))
        said = labels.get(uuid, {}).values()
        if said:
            yield row, [known.index(label) if label in known else None for label in said]


def _drawn(plan: Plan, store: Store, cell: Cell, sheet: Sheet, labels: Labels) -> set[ItemReplicate]:
    """The rows of a cell that a sheet has, whether or not a response came of the call. Of a given one it is
    known only where every response has a label: it has all."""
    stamp, about, nonce = plan.study_digest, sheet.about, sheet.blind.nonce
    if not sheet.design.given:
        return drawn_rows(plan, store, about, nonce, sheet.design, cell)
    places = places_of(plan, store, cell)
    if not all(blinded_name(nonce, stamp, about, place) in labels for place in places):
        return set()
    return {row[:2] for row in store.answers(stamp, cell.key)}


@dataclass(frozen=True, slots=True)
class _ReadAnswer:
    """A stored response: its item and replicate, what was read of it and earned, and how it was read."""

    item: Item
    replicate: int
    choice: int | None
    score: int | None
    confidence: str


def _confidence(evidence: str | None) -> str:
    """Whether the label was stated or inferred; of other readings nothing is said."""
    said = json.loads(evidence or "{}").get("confidence")
    return said if isinstance(said, str) else ""


def _score(plan: Plan, cell: Cell, answer: _ReadAnswer, choice: int | None) -> float | None:
    known = labels_of(plan.study.spec, cell, answer.item)
    if choice == answer.choice and answer.score is not None:
        return answer.score / cell.setting.scale
    return float(label_points(cell, answer.item, choice, known))


def _is_share(rate: RateDefinition) -> bool:
    """Whether a rate is a share of responses with a label."""
    return rate.number is None and rate.folded is None and len(rate.shares) == 1


def _hit(
    rate: RateDefinition, names: Sequence[str] | None, answer: _ReadAnswer, choice: int | None
) -> float | None:
    """What a response adds to a rate, as a share; None where it is none of the rate's."""
    ((above, below),) = rate.shares
    counted = rate.parts(answer.item, choice, names)
    if not counted[below]:
        return None
    return float(rate.of_shares(np.array([[counted[above] / counted[below]]]))[0])


def _labelled(
    stored: Sequence[_ReadAnswer],
    by_people: Mapping[ItemReplicate, Sequence[int | None]],
    named: bool,
    units: Mapping[str, str],
    numbers: Mapping[str, int],
    earns: Callable[[_ReadAnswer, int | None], float | None],
) -> tuple[tuple[ItemReplicate, ...], LabelledRows]:
    """The rows that have the quantity. None where a label can move a row in or out of it."""
    kept = [(answer, earned) for answer in stored if (earned := earns(answer, answer.choice)) is not None]
    rows = tuple((answer.item.id, answer.replicate) for answer, _ in kept)
    said: dict[tuple[object, ...], int] = {}
    states = [
        (answer.choice if named else earned, answer.confidence if answer.choice is not None else "unread")
        for answer, earned in kept
    ]
    people = [
        [earns(answer, choice) for choice in by_people.get(row, ())]
        for row, (answer, _) in zip(rows, kept, strict=True)
    ]
    unread = sum(earns(answer, None) is not None for answer in stored)
    if unread != len(kept) or any(points is None for given in people for points in given):
        rows, kept, states, people = (), [], [], []
    found = LabelledRows(
        said=np.array([said.setdefault(state, len(said)) for state in states], np.int64),
        earned=np.array([earned for _, earned in kept], np.float64),
        units=np.array([numbers[units[answer.item.id]] for answer, _ in kept], np.int64),
        labelled=np.array([bool(given) for given in people], np.bool_),
        points=np.array([mean(points or 0.0 for points in given) if given else 0.0 for given in people]),
    )
    return rows, found


def _audit(
    plan: Plan,
    benchmark: str,
    cells: Sequence[_CellRows],
    given: Mapping[str, Labels],
    out: Sequence[SheetDesign],
) -> BenchmarkAudit:
    sheets = tuple(dict.fromkeys(sheet for each in cells for sheet in each.sheets))
    people = {name for sheet in sheets for labels in given[sheet].values() for name in labels}
    configurations = list(dict.fromkeys(each.cell.configuration for each in cells))
    cells = sorted(cells, key=lambda each: configurations.index(each.cell.configuration))
    corrects = {cell.key for cell in correctable(plan)}
    exempt = [
        cell.configuration
        for cell in plan.cells()
        if cell.benchmark == benchmark and cell.shared and cell.key not in corrects
    ]
    return BenchmarkAudit(
        benchmark,
        sheets,
        len(people),
        tuple(configurations),
        tuple(dict.fromkeys(exempt)),
        tuple(_values(cells)),
        tuple(_gaps(cells)),
        any(any(map(is_given, each.sheets)) and not each.labelled[SCORE].labelled.all() for each in cells),
        sum(not set(configurations).isdisjoint(design.configurations) for design in out),
        digest([given[sheet] for sheet in sheets]),
    )


def _values(cells: Iterable[_CellRows]) -> Iterator[CorrectedValueRow]:
    for each in cells:
        for what, rows in each.labelled.items():
            yield CorrectedValueRow.of(
                what=what,
                model=each.cell.model,
                configuration=each.cell.configuration,
                machine=digits(float(rows.earned.mean())),
                corrected=corrected_share(rows),
                responses=len(rows.said),
                labelled=len(each.said.intersection(each.rows[what])),
                strata=rows.counts,
            )


def _gaps(cells: Sequence[_CellRows]) -> Iterator[CorrectedGapRow]:
    """Of every two models that the same sheets have in one configuration, on the rows that both have; none
    where people labelled no row of both."""
    for one, other in combinations(cells, 2):
        if (one.cell.configuration, one.sheets) != (other.cell.configuration, other.sheets):
            continue
        said = one.said & other.said
        for what in [name for name in one.labelled if name in other.labelled]:
            mine, theirs = _of_both(one, other, what)
            rows, labelled = mine.less(theirs), len(said.intersection(one.rows[what], other.rows[what]))
            if not labelled:
                continue
            plus, minus = gap_p(rows)
            yield CorrectedGapRow.of(
                what=what,
                a=one.cell.model,
                b=other.cell.model,
                configuration=one.cell.configuration,
                machine=digits(float(2 * rows.earned.mean() - 1)),
                corrected=corrected_gap(rows),
                p_plus=plus,
                p_minus=minus,
                responses=len(rows.said),
                labelled=labelled,
                strata=rows.counts,
            )


def _of_both(one: _CellRows, other: _CellRows, what: str) -> tuple[LabelledRows, LabelledRows]:
    """The rows that both have."""
    both = set(one.rows[what]).intersection(other.rows[what])
    mine, theirs = (
        each.labelled[what].at([place for place, row in enumerate(each.rows[what]) if row in both])
        for each in (one, other)
    )
    return mine, theirs


def with_labels(outcomes: Outcomes, audit: BenchmarkAudit) -> Outcomes:
    """Outcomes of which claims need the labels of an audit too. What an unread answer is worth is known from
    these where people labelled, so it counts against nothing there."""
    found = {}
    for a, b in combinations(outcomes.models, 2):
        allowed = np.array([audit.p_values(a, b, name) for name in outcomes.configurations])
        found[a, b] = allowed[:, 0], allowed[:, 1]
    credited = outcomes.credited
    if credited is not None:
        open_still = np.array([name not in audit.configurations for name in outcomes.configurations])
        credited = credited * open_still[:, None]
    return replace(outcomes, by_people=found, credited=credited)


CORRECTED: Finding[tuple[BenchmarkAudit, ...]] = Finding(
    "corrected",
    lambda record: corrections(record.plan, record.store, record[SHEETS]),
    (),
    tuple[BenchmarkAudit, ...],
    about="What people's labels correct: scores, rates and gaps of the configurations that they labelled.",
)
INFERRED: Finding[dict[str, tuple[int, int]]] = Finding(
    "inferred",
    lambda record: record.store.inferred(record.plan.study_digest),
    {},
    about="Of each cell how many answers could be read, and of how many the reading was inferred.",
)
