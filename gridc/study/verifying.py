"""Recompute everything that a study or a bundle claims."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, GridcError, UsageError, VerificationError
from gridc.reports.exchange.bundle import is_bundle, verify_bundle
from gridc.reports.verification import verify as recompute
from gridc.runtime.rerun import Repeated
from gridc.runtime.rerun import rerun as repeat
from gridc.runtime.store.store import Store
from gridc.study.place import Place


@dataclass(frozen=True, slots=True)
class Verification:
    """A study, by its stamp, or a bundle, by its folder, in which nothing differs: `checked` says what was
    looked at, a line each."""

    stamp: str | None
    bundle: Path | None
    checked: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        about = {"stamp": self.stamp} if self.bundle is None else {"bundle": str(self.bundle)}
        return {"verified": True, **about, "checked": list(self.checked)}


def verify(place: Place, rerun: float | None) -> Verification:
    """Recompute a study, or the bundle that its spec lies in. `rerun` is the share (0 to 1) of the calls that
    are made again too. Raises `VerificationError` with everything that differs, an invalid spec too."""
    folder = place.spec.parent
    if is_bundle(folder):
        if rerun is not None:
            help = "verify the study itself, where its models are"
            raise UsageError([Diagnostic("GC000", "a bundle has no models that could be asked", help=help)])
        return Verification(None, folder, tuple(verify_bundle(folder, place.trust)))
    try:
        compiled, lock = place.stamped()
    except GridcError as error:
        raise VerificationError(error.diagnostics) from None
    path = place.store(compiled)
    with Store.open(path) as store:
        checked = recompute(compiled, lock, store, path.parent, place.trust)
        if rerun is not None:
            checked += repeated(compiled, store, rerun)
    return Verification(lock.stamp, None, tuple(checked))


def repeated(compiled: Compiled, store: Store, share: float) -> list[str]:
    """What repeating a share of the calls came to, a line for each model and precision. Raises
    `VerificationError` (GC708) for calls whose answers are not those that are stored."""
    found, stamp = list(repeat(compiled, store, share)), Plan(compiled.study).study_digest
    wrong = [
        Diagnostic("GC708", f"{row.model} answers otherwise: {store.whereabouts(stamp, call)}")
        for row in found
        for call in row.differing
    ]
    if wrong:
        raise VerificationError(wrong)
    return [_line(row) for row in found]


def _line(row: Repeated) -> str:
    moved = ""
    if row.max_moved is not None:
        moved = f"; log-likelihoods moved by at most {row.max_moved:.1e} nats"
    ties = f", {row.ties} where a token choice was a near tie" if row.ties else ""
    return (
        f"{row.model} ({row.precision}): {row.calls:,} of {row.of:,} calls were made again; "
        f"{row.changed} of {row.texts} texts differ{ties}{moved}"
    )
