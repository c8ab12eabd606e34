"""The type `Hazard`: a setting under which a run would finish without an error and measure something else."""

from collections.abc import Mapping
from dataclasses import dataclass

from gridc.diagnostics.errors import KeyPath
from gridc.schema.spec import Spec, Waive


@dataclass(frozen=True, slots=True)
class Hazard:
    """A hazard at a place of the grid (dimension -> name), with the way out, the cell that shows it, the path
    of the spec that is to blame, and an item that shows it, each where there is one."""

    code: str
    problem: str
    where: Mapping[str, str]
    cell: str | None
    help: str | None
    path: KeyPath | None = None
    item: str | None = None

    def waived(self, spec: Spec) -> bool:
        return any(self.waived_by(waive) for waive in spec.waive)

    def waived_by(self, waive: Waive) -> bool:
        return waive.code == self.code and waive.where.matches(self.where)
