"""What a run would execute, and what it will cost."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.inputs.prices import paid_prices
from gridc.compiler.lock.lock import read_lock
from gridc.compiler.lock.plan_diff import Against
from gridc.compiler.lock.plan_diff import against as compare
from gridc.compiler.lowering.manifest import Manifest
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight import falsifiability
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.runtime.store.store import Store
from gridc.study.place import Place, require_lock


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan in numbers (`manifest`), what the hypotheses can come to (`prospects`), and what it gains and
    loses `against` an earlier stamp, where one was given."""

    manifest: Manifest
    prospects: Mapping[str, Any]
    against: Against | None

    def as_json(self) -> dict[str, Any]:
        """As `gridc plan --json` prints it."""
        earlier = {} if self.against is None else {"against": asdict(self.against)}
        return {**self.manifest.as_json(), **self.prospects, **earlier}

    def _repr_html_(self) -> str:
        from gridc.reports.notebook import plan_html

        return plan_html(self.as_json())


def plan(place: Place, against: str | None) -> PlanReport:
    """The plan of a study. `against` is a stamp (its first letters) or a lock file to compare with."""
    compiled = place.compiled()
    path, lowered = place.store(compiled), Plan(compiled.study)
    prices = paid_prices(compiled.spec, compiled.lock.prices if compiled.lock else None)
    if path.is_file():
        with Store.open(path) as store:
            manifest = lowered.manifest(store.answered(), store.speeds(), prices)
    else:
        manifest = lowered.manifest(prices=prices)
    compared = None if against is None else compare(compiled.study, *_earlier(compiled, against))
    return PlanReport(manifest, falsifiability.manifest(lowered), compared)


def _earlier(compiled: Compiled, name: str) -> tuple[str, Mapping[str, Any]]:
    """The stamp that `name` begins, or the lock that it is the path of, with its content."""
    if Path(name).is_file():
        lock = read_lock(Path(name)) or require_lock(compiled)
        return lock.stamp, lock.content
    lock = require_lock(compiled)
    for earlier in lock.chain:
        if earlier.stamp.startswith(name):
            return earlier.stamp, earlier.content
    known = ", ".join(earlier.stamp[:12] for earlier in lock.chain)
    raise UsageError([Diagnostic("GC000", f"no stamp or lock file is {name}", help=f"known: {known}")])
