"""How answers of served and quantised models differ from those of the same weights in fp32."""

from dataclasses import dataclass

from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.runtime.store.events import ReferenceCompared


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A model of the study, and what came of repeating a sample of its calls."""

    model: str
    precision: str
    compared: ReferenceCompared


def _references(record: RunRecord) -> tuple[ModelReference, ...]:
    """The last comparison of each model at each precision."""
    names = {identity.digest: name for name, identity in record.plan.study.models.items()}
    last = {(noted.identity, noted.precision): noted for noted in record.store.references()}
    return tuple(
        ModelReference(names[identity], precision, noted)
        for (identity, precision), noted in last.items()
        if identity in names
    )


REFERENCES: Finding[tuple[ModelReference, ...]] = Finding("references", _references, ())
