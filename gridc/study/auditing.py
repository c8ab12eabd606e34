"""Hand out responses to people, and read their labels back."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.grid.cells import Cell, anchored
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, IncompleteError, UsageError
from gridc.files import write_atomic
from gridc.numbers import counted
from gridc.reports.exchange.audit_sheet import (
    are_votes,
    as_csv,
    as_page,
    labels_in,
    read_people,
)
from gridc.reports.exchange.votes import ReadVotes, votes_in
from gridc.reports.findings.corrected import pairs_read
from gridc.reports.findings.labels import AuditFinding, audits
from gridc.reports.statements.labels import audit_sentences
from gridc.runtime.blinding import Sheet, SheetDesign, auditable, sheets
from gridc.runtime.judging import NO_TEXT, begin_sheet, require_finished, take_labels, take_votes
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer
from gridc.statistics.labelled import LabelledRows
from gridc.statistics.labels_needed import POWER, as_audited, labels_needed, with_errors
from gridc.statistics.reproducibility import digits
from gridc.study.notebook import InNotebook
from gridc.study.place import Place


@dataclass(frozen=True, slots=True)
class DrawnSheet(InNotebook):
    """A sheet of `responses` blinded responses: the CSV and the page, and the digest of the sealed map."""

    sheet: str
    responses: int
    seal: str
    csv: Path
    page: Path

    def as_json(self) -> dict[str, Any]:
        about = {"sheet": self.sheet, "responses": self.responses, "seal": self.seal}
        return {**about, "csv": str(self.csv), "page": str(self.page)}


@dataclass(frozen=True, slots=True)
class TakenLabels(InNotebook):
    """What came of the labels of a sheet, for all its responses and for each benchmark."""

    sheet: str
    findings: tuple[AuditFinding, ...]
    sentences: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"sheet": self.sheet, "findings": [audit.as_json() for audit in self.findings]}


ASSUMED = (0.05, 0.1, 0.2)
"""Shares of responses that the machine reads wrongly, where nobody has looked."""


@dataclass(frozen=True, slots=True)
class LabelsNeeded:
    """How many labels of either model the corrected gap of a less b needs, by the share that the machine
    reads wrongly, or where an audit shows what people say by that alone (`audited`); None: not even labels of
    all `responses` are enough. `gap` is that of the scores as the machine read them."""

    benchmark: str
    configuration: str
    a: str
    b: str
    gap: float
    responses: int
    audited: bool
    labels: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class SampleDecision(InNotebook):
    """How many labels claims need in these configurations, with this `power`, if the machine reads one of
    these shares wrongly. `responses` is the size of a
    sheet for the pair that needs most, if one in ten is read wrongly or as the audit shows."""

    configurations: tuple[str, ...]
    power: float
    wrong: tuple[float, ...]
    pairs: tuple[LabelsNeeded, ...]
    responses: int | None

    @property
    def any_audited(self) -> bool:
        return any(pair.audited for pair in self.pairs)

    @property
    def all_audited(self) -> bool:
        return all(pair.audited for pair in self.pairs)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


ALL = "all"
"""In place of a configuration: every one."""


def audit_sample(place: Place, responses: int, configurations: Sequence[str]) -> DrawnSheet:
    """Draw a sheet, seal its map, and write it beside the store."""
    compiled, _ = place.stamped()
    plan, path = Plan(compiled.study), place.store(compiled)
    with Store.open(path) as store:
        store.require(plan.study_digest)
    with Writer(path) as writer:
        sheet = begin_sheet(plan, writer, _design(plan, responses, configurations))
    csv, page = (path.parent / f"{sheet.about}.{form}" for form in ("csv", "html"))
    write_atomic(csv, as_csv(sheet))
    write_atomic(page, as_page(sheet))
    return DrawnSheet(sheet.about, len(sheet.rows), sheet.blind.seal, csv, page)


def audit_decide(place: Place, configurations: Sequence[str]) -> SampleDecision:
    """How many labels of people each pair needs. Nothing is drawn."""
    compiled, _ = place.stamped()
    plan = Plan(compiled.study)
    with Store.open(place.store(compiled)) as store:
        store.require(plan.study_digest)
        require_finished(plan, store)
        chosen = _design(plan, 1, configurations).configurations
        drawn = list(sheets(plan, store))
        pairs = tuple(_needed(*pair) for pair in pairs_read(plan, store, drawn, chosen))
    if not pairs:
        message = "no two models have answers there whose gap people's labels could correct"
        raise IncompleteError([Diagnostic("GC660", message)])
    cells = sum(cell.configuration in chosen for cell in auditable(plan))
    likely = [pair.labels[0 if pair.audited else ASSUMED.index(0.1)] for pair in pairs]
    most = max((labels for labels in likely if labels is not None), default=None)
    return SampleDecision(chosen, POWER, ASSUMED, pairs, None if most is None else most * cells)


def _needed(a: Cell, b: Cell, mine: LabelledRows, theirs: LabelledRows) -> LabelsNeeded:
    rows = mine.less(theirs)
    audited = bool(rows.labelled.any())
    worlds = [as_audited(rows)] if audited else [with_errors(mine, theirs, wrong) for wrong in ASSUMED]
    return LabelsNeeded(
        a.benchmark,
        a.configuration,
        a.model,
        b.model,
        digits(float(2 * rows.earned.mean() - 1)),
        len(rows.said),
        audited,
        tuple(labels_needed(world) for world in worlds),
    )


def _design(plan: Plan, responses: int, configurations: Sequence[str]) -> SheetDesign:
    """So many responses in all, at least one of each cell. Without configurations they are those of the
    anchor. Raises `UsageError` (GC000) for an unknown one, and `IncompleteError` (GC660) where no answer is a
    text."""
    cells = list(auditable(plan))
    known = tuple(dict.fromkeys(cell.configuration for cell in cells))
    if not cells:
        raise IncompleteError([Diagnostic("GC660", NO_TEXT)])
    unknown = [name for name in configurations if name != ALL and name not in known]
    if unknown:
        message = f"`{unknown[0]}` is no configuration with texts that people could label"
        raise UsageError(
            [Diagnostic("GC000", message, help=f"one of: {', '.join(known)}; or `{ALL}` of them")]
        )
    # Where no anchor is declared reports take the first configuration for it.
    first = {cell.benchmark: cell for cell in reversed(cells) if anchored(plan.study.spec, cell)}
    reference = {cell.configuration for cell in first.values()}
    chosen = set(known) if ALL in configurations else set(configurations) or reference or set(known)
    drawn = [cell for cell in cells if cell.configuration in chosen]
    rows = max(1, responses // len(drawn))
    return SheetDesign(rows, tuple(name for name in known if name in chosen))


def audit_read(place: Place, files: Sequence[Path]) -> TakenLabels:
    """Take the labels of a sheet back, lock them and open its map; or labels that people gave outside of
    gridc, which is what the columns say."""
    compiled, _ = place.stamped()
    plan, path = Plan(compiled.study), place.store(compiled)
    with Store.open(path) as store:
        store.require(plan.study_digest)
    filled, given = read_people(files), ""
    with Writer(path) as writer:
        drawn = list(sheets(plan, writer))
        if are_votes(filled):
            read = votes_in(plan, writer, filled, drawn)
            sheet = take_votes(plan, writer, read.votes)
            given = _given(sheet, read)
        else:
            taken = {each.about for each in drawn if writer.labels(plan.study_digest, each.about)}
            sheet, labels = labels_in(filled, drawn, taken)
            take_labels(plan, writer, sheet, labels)
        found = tuple(audits(plan, writer, [sheet]))
    sentences = [text for audit in found for text in audit_sentences(audit)]
    return TakenLabels(sheet.about, found, (*filter(None, [given]), *sentences))


def _given(sheet: Sheet, read: ReadVotes) -> str:
    people = len({annotator for given in read.votes.values() for annotator in given})
    labels = counted(sum(len(given) for given in read.votes.values()), "label")
    labels = labels if people == 1 else f"{labels} by {people:,} people"
    before = f"; {counted(read.before, 'label')} read before" if read.before else ""
    comments = f"; {counted(read.comments, 'comment')} without a label" if read.comments else ""
    return (
        f"{sheet.about}: {labels}, of {counted(len(sheet.rows), 'response')} that gridc did not draw; where "
        "a model has responses without a label, those with one are taken as drawn at random"
        f"{before}{comments}"
    )
