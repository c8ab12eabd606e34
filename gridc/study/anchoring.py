"""Tying the lock and the results to a key and a time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.lock.anchor import Anchor, anchors, in_words, strongest, ties
from gridc.compiler.lock.evidence import beside
from gridc.compiler.lock.lock import stamp_of
from gridc.compiler.lock.seal import sign, time_stamp
from gridc.files import write_atomic
from gridc.reports.claims import FINISH, finish_text, last_finish
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest_bytes
from gridc.study.place import Place


@dataclass(frozen=True, slots=True)
class AnchorReport:
    """What ties the lock, and the record of a finished run's results, to a key and a time. `lock_sha256` is
    the digest of the lock's bytes, which a registration must hold beside the stamp."""

    stamp: str
    lock: Path
    lock_sha256: str
    lock_ties: tuple[Anchor, ...]
    results: Path | None
    results_ties: tuple[Anchor, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The strength of each in words."""
        files = [(self.lock, self.lock_ties)]
        if self.results is not None:
            files.append((self.results, self.results_ties))
        return tuple(f"{path}: {_words(held)}" for path, held in files)

    def as_json(self) -> dict[str, Any]:
        held = {"lock": self.lock_ties, "results": self.results_ties}
        made = {what: [tie.as_json() for tie in found] for what, found in held.items()}
        return {"stamp": self.stamp, "lock_sha256": self.lock_sha256, "anchors": made}


def anchor(place: Place, key: Path | None, tsa: str | None) -> AnchorReport:
    """Sign and time-stamp what has no signature or token yet, and say what ties there are."""
    compiled, lock = place.stamped()
    results = _record_of_results(compiled, place.store(compiled))
    for path in (compiled.lock_path, *([results] if results else [])):
        if key is not None and not beside(path, ".sig").exists():
            sign(path, key)
        if tsa is not None and not beside(path, ".tsr").exists():
            time_stamp(path, tsa)
    return AnchorReport(
        lock.stamp,
        compiled.lock_path,
        digest_bytes(compiled.lock_path.read_bytes()),
        tuple(anchors(compiled.lock_path, place.spec, place.trust)),
        results,
        tuple(ties(results, place.trust)) if results else (),
    )


def _record_of_results(compiled: Compiled, path: Path) -> Path | None:
    """The file that stands for the results of a finished run, written from the store. None without one."""
    if not path.is_file():
        return None
    stamp = stamp_of(compiled.study)
    with Store.open(path) as store:
        end = last_finish(store.events(), stamp)
        complete = stamp in store.stamps() and store.progress(stamp).complete
    if end is None or not complete:
        return None
    record = path.with_name(FINISH)
    if not record.is_file() or record.read_text("utf-8") != finish_text(end):
        write_atomic(record, finish_text(end))
    return record


def _words(found: tuple[Anchor, ...]) -> str:
    return (
        f"{strongest(found).strength}: {in_words(found)}" if found else "unanchored: no signature, no token"
    )
