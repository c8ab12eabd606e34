"""The stamp of a study, and the study's deviations from it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.lint import lint
from gridc.compiler.lock.attestation import (
    Attestation,
    attestations,
    attestations_beside,
    evidence_path,
    in_words,
    sign,
    strongest_attestation,
    time_stamp,
)
from gridc.compiler.lock.deviations import (
    Reconciliation,
    reconcile,
    require_current,
    require_same,
    shortened_json,
)
from gridc.compiler.lock.lock import Lock, create_lock, make_lock, read_lock, stamp_of, write_lock
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.consent import consent_sentences, missing_keys
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.compiler.preflight.providers import require_taken
from gridc.diagnostics.errors import Diagnostic, StampError, StoreError, UnavailableError
from gridc.files import write_atomic
from gridc.reports.ties import FINISH, finish_text, last_finish
from gridc.runtime.run import RunStep, Watch, preflight
from gridc.runtime.store.earlier import earlier_answers
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest_bytes
from gridc.schema.deviation import EarlierAnswersRow
from gridc.study.notebook import InNotebook
from gridc.study.place import Place

__all__ = [
    "StampCheck",
    "StampDeviations",
    "StampReport",
    "check_stamp",
    "deviations",
    "make_stamp",
    "shortened_json",
    "stamp",
]


STAMPED = "stamped"
"""The news of a stamp that is new."""


@dataclass(frozen=True, slots=True)
class StampReport(InNotebook):
    """A stamp and the lock that holds it. `news` says whether it is new; `anchors` is what ties it to a time;
    `unpinned` names the inputs that are not here, with the reason. `earlier` is what the study's store has
    answered already of its items by its models, under other stamps. `notes` say how the items were read."""

    stamp: str
    lock: Path
    news: str
    anchors: tuple[Attestation, ...]
    unpinned: Mapping[str, str]
    earlier: tuple[EarlierAnswersRow, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        evidence = [tie.as_json() for tie in self.anchors]
        return {"stamp": self.stamp, "lock": str(self.lock), "news": self.news, "anchors": evidence}


@dataclass(frozen=True, slots=True)
class StampCheck(InNotebook):
    """A lock that is what the spec says, or from which every departure is explained in `log`. `unchecked`
    names the inputs that are not here, with the reason, and `uncovered` says what a lock of an older format
    does not cover."""

    stamp: str
    lock: Path
    log: Path
    explained: tuple[str, ...]
    unchecked: Mapping[str, str]
    uncovered: str | None = None

    @property
    def current(self) -> bool:
        return not self.explained

    def as_json(self) -> dict[str, Any]:
        document = {"stamp": self.stamp, "lock": str(self.lock), "current": self.current}
        document |= {"explained": list(self.explained), "unchecked": dict(self.unchecked)}
        return {**document, "uncovered": self.uncovered}


@dataclass(frozen=True, slots=True)
class StampDeviations(InNotebook):
    """The study against its stamp. `observed` is what a run observed, None where there is no run of the study
    as it is now; `added` counts the entries that were written into the log, None where none was asked for.
    `uncovered` says what a lock of an older format does not cover, and `unstamped` is the registered spec
    where it has no lock, so that it is compared as it is now. `earlier` is what the store had answered of its
    items by its models, under other stamps, before its own first call."""

    stamp: str
    log: Path
    reconciled: Reconciliation
    observed: tuple[str, ...] | None
    added: int | None = None
    uncovered: str | None = None
    unstamped: Path | None = None
    earlier: tuple[EarlierAnswersRow, ...] = ()

    def require_explained(self) -> None:
        """Raise `StampError` with every difference that the log does not explain one to one."""
        if self.reconciled.findings:
            raise StampError(self.reconciled.findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "stamp": self.stamp,
            "deviations": self.reconciled.manifest(),
            "observed": None if self.observed is None else list(self.observed),
            "diagnostics": [finding.as_json() for finding in self.reconciled.findings],
            "uncovered": self.uncovered,
            "unstamped": None if self.unstamped is None else str(self.unstamped),
            "earlier": [row.model_dump(mode="json") for row in self.earlier],
        }


def stamp(place: Place, supersede: bool, watch: Watch) -> StampReport:
    """Fix the spec and every input under one digest. What a run would refuse and only another spec can
    correct is refused here. Raises `StampError` over a lock that differs, unless it may be superseded."""
    watch(RunStep("", 0, 0, "reading the items"))
    compiled = place.compiled(online=True)
    watch(RunStep("", 0, 0, "trying the instrument"))
    prove_hazards(compiled.study, compiled.source)
    notes = [
        *consent_sentences(compiled.spec, compiled.study.scorers.files.values()),
        *missing_keys(compiled.spec),
        *lint(compiled.spec),
        *compiled.study.notes(),
        *_tokenized(compiled, watch),
    ]
    lock, news = make_stamp(compiled, supersede)
    earlier: tuple[EarlierAnswersRow, ...] = ()
    if news == STAMPED:
        with suppress(StoreError):  # the lock is written: what is wrong with the store, a run says
            earlier = _earlier(compiled, lock, place.store(compiled))
    ties = tuple(attestations(compiled.lock_path, place.spec, place.trust))
    if (uncovered := lock.uncovered()) is not None:
        notes.append(uncovered)
    unpinned = compiled.study.unpinned()
    return StampReport(lock.stamp, compiled.lock_path, news, ties, unpinned, earlier, tuple(notes))


def _tokenized(compiled: Compiled, watch: Watch) -> Iterator[str]:
    """Why the prompts could not be tokenized here, if so. Raises `HazardError` for one that cannot be asked:
    its repair would change the stamp, as that of a missing package or too little memory does not."""
    try:
        preflight(compiled, load=False, watch=watch)
    except UnavailableError as error:
        yield from (f"prompts were not tokenized: {diagnostic.message}" for diagnostic in error.diagnostics)


def make_stamp(compiled: Compiled, supersede: bool) -> tuple[Lock, str]:
    """The lock of a spec, written when there is none or when the old one may be superseded."""
    old = compiled.lock
    if old is not None and not supersede:
        require_same(old, compiled.study, compiled.lock_path)
        return old, "already stamped"
    require_taken(compiled.spec, compiled.source)
    study = replace(compiled.study, covers_behaviour=True, decides_by="limits")
    lock = make_lock(study, compiled.source.path, old)
    if old is None:
        written = create_lock(lock, compiled.lock_path)
        if written is not lock:
            require_same(written, compiled.study, compiled.lock_path)
        return written, STAMPED if written is lock else "already stamped"
    if old.stamp == lock.stamp:
        return old, "already stamped"
    if read_lock(compiled.lock_path) != old:
        message, help = "another process replaced the lock meanwhile", "look at it, and run the command again"
        raise StampError([Diagnostic("GC401", message, str(compiled.lock_path), help=help)])
    write_lock(lock, compiled.lock_path)
    return lock, STAMPED


def check_stamp(place: Place) -> StampCheck:
    """Whether the lock is what the spec says. Raises `StampError` with each unexplained departure."""
    compiled, lock = place.stamped()
    departures = require_current(lock, compiled.study, place.log).departures
    explained = tuple(departure.path for departure in departures)
    unpinned = compiled.study.unpinned()
    return StampCheck(lock.stamp, compiled.lock_path, place.log, explained, unpinned, lock.uncovered())


def deviations(place: Place, write: bool, registered: Path | None = None) -> StampDeviations:
    """The study against its stamp, path by path, or against that of the spec that was `registered`: its lock,
    or what it says now where it has none. With `write` the log gets what it lacks."""
    if registered is None:
        compiled, lock = place.stamped()
    else:
        compiled, before = place.compiled(), replace(place, spec=registered).compiled()
        lock = before.lock or make_lock(before.study, registered)
    unstamped = None if registered is None or before.lock is not None else registered
    added = None
    result = reconcile(lock, compiled.study, place.log)
    if write:
        from gridc.compiler.lock.deviations import write_log

        added = write_log(result, place.log)
        result = reconcile(lock, compiled.study, place.log)
    path = place.store(compiled)
    observed, earlier = _observed(compiled, path), _earlier(compiled, lock, path)
    return StampDeviations(
        lock.stamp, place.log, result, observed, added, lock.uncovered(), unstamped, earlier
    )


def _observed(compiled: Compiled, path: Path) -> tuple[str, ...] | None:
    if not path.is_file():
        return None
    with Store.open(path) as store:
        digest = stamp_of(compiled.study)
        return tuple(store.observed(digest)) if digest in store.stamps() else None


def _earlier(compiled: Compiled, lock: Lock, path: Path) -> tuple[EarlierAnswersRow, ...]:
    """What a store has answered under other stamps than this study's."""
    if not path.is_file():
        return ()
    with Store.open(path) as store:
        return earlier_answers(store, Plan(compiled.study), lock)


@dataclass(frozen=True, slots=True)
class AnchorReport(InNotebook):
    """What ties the lock, and the record of a finished run's results, to a key and a time. `lock_sha256` is
    the digest of the lock's bytes, which a registration must hold beside the stamp."""

    stamp: str
    lock: Path
    lock_sha256: str
    lock_ties: tuple[Attestation, ...]
    results: Path | None
    results_ties: tuple[Attestation, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The strength of each in words."""
        files = [(self.lock, self.lock_ties)]
        if self.results is not None:
            files.append((self.results, self.results_ties))
        return tuple(f"{path}: {_words(held)}" for path, held in files)

    def as_json(self) -> dict[str, Any]:
        held = {"lock": self.lock_ties, "results": self.results_ties}
        made = {what: [tie.as_json() for tie in ties] for what, ties in held.items()}
        return {"stamp": self.stamp, "lock_sha256": self.lock_sha256, "anchors": made}


def anchor(place: Place, key: Path | None, tsa: str | None) -> AnchorReport:
    """Sign and time-stamp what has no signature or token yet, and say what ties there are."""
    compiled, lock = place.stamped()
    results = _record_of_results(compiled, place.store(compiled))
    for path in (compiled.lock_path, *([results] if results else [])):
        if key is not None and not evidence_path(path, ".sig").exists():
            sign(path, key)
        if tsa is not None and not evidence_path(path, ".tsr").exists():
            time_stamp(path, tsa)
    return AnchorReport(
        lock.stamp,
        compiled.lock_path,
        digest_bytes(compiled.lock_path.read_bytes()),
        tuple(attestations(compiled.lock_path, place.spec, place.trust)),
        results,
        tuple(attestations_beside(results, place.trust)) if results else (),
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


def _words(ties: tuple[Attestation, ...]) -> str:
    return (
        f"{strongest_attestation(ties).strength}: {in_words(ties)}"
        if ties
        else "unanchored: no signature, no token"
    )
