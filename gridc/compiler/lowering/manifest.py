"""The plan in numbers: what `gridc plan` prints, as a versioned document."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gridc.compiler.grid.grid_counts import Envelope
from gridc.compiler.grid.specifications import PlannedCurve
from gridc.compiler.lowering.call_counts import CallCounts
from gridc.compiler.lowering.estimate import Estimate

FORMAT = "gridc-plan/3"


@dataclass(frozen=True, slots=True)
class Primary:
    """The cells that tests are made on; `observations` is None while the number of items is unknown."""

    cells: int
    observations: int | None


@dataclass(frozen=True, slots=True)
class AskedEnvelope(Envelope):
    """A benchmark's part of the grid with the items it asks and items x runs; None where unknown."""

    items: int | None
    observations: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A plan in numbers. `counts` and `estimates` (by model) are None without items; they are of the calls
    that are known before the run. What follows from answers, as all that judges are asked, is bounded in
    `later` of each. `unpinned` lists inputs that are not here, with the reason."""

    stamp: str
    study: str
    models: tuple[str, ...]
    cells: int
    runs: int
    observations: int | None
    primary: Primary
    envelopes: tuple[AskedEnvelope, ...]
    curves: Mapping[str, PlannedCurve]
    counts: CallCounts | None
    estimates: Mapping[str, Estimate] | None
    unpinned: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """As `gridc plan --json` prints it."""
        document = {"format": FORMAT, **asdict(self)}
        return {**document, "models": list(self.models), "envelopes": list(document["envelopes"])}
