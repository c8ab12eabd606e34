"""Hand out responses to people, and read their labels back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.lowering.plan import Plan
from gridc.files import write_atomic
from gridc.reports.exchange.audit_sheet import as_csv, as_page, labels_in
from gridc.reports.findings.labels import AuditFinding, audits
from gridc.reports.statements.labels import audit_sentences
from gridc.runtime.blinding import sheets
from gridc.runtime.judging import begin_sheet, take_labels
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer
from gridc.study.place import Place


@dataclass(frozen=True, slots=True)
class DrawnSheet:
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
class TakenLabels:
    """What came of the labels of a sheet, for all its responses and for each benchmark."""

    sheet: str
    findings: tuple[AuditFinding, ...]
    sentences: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"sheet": self.sheet, "findings": [audit.as_json() for audit in self.findings]}


def audit_sample(place: Place, responses: int) -> DrawnSheet:
    """Draw a sheet, seal its map, and write it beside the store."""
    compiled, _ = place.stamped()
    plan, path = Plan(compiled.study), place.store(compiled)
    with Store.open(path) as store:
        store.require(plan.study_digest)
    with Writer(path) as writer:
        sheet = begin_sheet(plan, writer, responses)
    csv, page = (path.parent / f"{sheet.about}.{form}" for form in ("csv", "html"))
    write_atomic(csv, as_csv(sheet))
    write_atomic(page, as_page(sheet))
    return DrawnSheet(sheet.about, len(sheet.rows), sheet.blind.seal, csv, page)


def audit_read(place: Place, labels: Path) -> TakenLabels:
    """Take the labels of a sheet back, lock them and open its map."""
    compiled, _ = place.stamped()
    plan, path = Plan(compiled.study), place.store(compiled)
    with Store.open(path) as store:
        store.require(plan.study_digest)
    with Writer(path) as writer:
        drawn = list(sheets(plan, writer))
        taken = {each.about: writer.labels(plan.study_digest, each.about) for each in drawn}
        sheet, given = labels_in(labels, drawn, taken)
        take_labels(plan, writer, sheet, given)
        found = tuple(audit for audit in audits(plan, writer) if audit.sheet == sheet.about)
    return TakenLabels(sheet.about, found, tuple(text for audit in found for text in audit_sentences(audit)))
