"""What reports say about the attestations of a study's lock and results: those that the event chain recorded,
compared with the evidence that lies there now.

An event can be written by whoever holds the store, so none is believed: evidence is checked again, under the
roots, signers and records that the verifier names.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gridc.compiler.lock.attestation import (
    NO_COMMIT,
    UNCOMMITTED,
    UNREAD_KEY,
    UNREAD_TIME,
    Attestation,
    attestations,
    attestations_beside,
    in_words,
    read_evidence,
    strongest_attestation,
)
from gridc.compiler.lock.git import COMMIT
from gridc.compiler.lock.trust import Trust
from gridc.diagnostics.errors import Diagnostic, StampError
from gridc.runtime.store.events import AnchorRecord, Event, InterimLook, RunFinished, steps_back

FINISH = "finish.json"
FORMAT = "gridc-finish/1"


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """What the evidence shows: findings that refute what is claimed, lines that say what was checked, and the
    ties of the lock and of the results."""

    findings: tuple[Diagnostic, ...]
    lines: tuple[str, ...]
    of_lock: tuple[Attestation, ...] = ()
    of_results: tuple[Attestation, ...] = ()


def check_ties(
    lock_path: Path, spec_path: Path, results: Path, events: Sequence[Event], stamp: str, trust: Trust
) -> ShownEvidence:
    """Check the evidence beside the lock and beside the record of results, and what the last report
    claims."""
    findings: list[Diagnostic] = []
    lines = []
    try:
        of_lock = attestations(lock_path, spec_path, trust)
        findings += finish_differs(results, events, stamp)
        of_results = attestations_beside(results / FINISH, trust) if (results / FINISH).exists() else []
    except StampError as error:
        return ShownEvidence((*findings, *error.diagnostics), ())
    lines.append(
        f"the lock is {strongest_attestation(of_lock).strength}, as checked here: {in_words(of_lock)}"
    )
    if of_results:
        strength = strongest_attestation(of_results).strength
        lines.append(f"the results are {strength}, as checked here: {in_words(of_results)}")
    else:
        lines.append("nothing ties the results to a time or a key (`gridc anchor` does)")
    back = steps_back(events)
    if back:
        lines.append(f"the clock was set back at event {back[0]}: dates in this store show no order")
    claims = [(claim, of_lock, lock_path) for claim in claimed_of_lock(events, stamp)]
    claims += [(claim, of_results, results / FINISH) for claim in claimed_of_results(events, stamp)]
    for claim, shown, path in claims:
        refuted, line = _against(claim, shown, path)
        findings += [Diagnostic("GC709", refuted, str(path))] if refuted else []
        lines += [line] if line else []
    findings += _expected([*of_lock, *of_results], trust, lock_path)
    return ShownEvidence(tuple(findings), tuple(lines), tuple(of_lock), tuple(of_results))


def anchor_record(anchor: Attestation) -> AnchorRecord:
    """A tie as an event keeps it."""
    return AnchorRecord(
        strength=anchor.strength, detail=anchor.detail, committed=anchor.time,
        evidence=anchor.evidence, fact=anchor.fact, by=anchor.by,
    )  # fmt: skip


def claimed_of_lock(events: Sequence[Event], stamp: str) -> tuple[Attestation, ...]:
    """The ties of the lock that the last report stated; none where there is no report."""
    look = _last_look(events, stamp)
    return () if look is None else tuple(_read(anchor) for anchor in look.anchors or [look.anchor])


def claimed_of_results(events: Sequence[Event], stamp: str) -> tuple[Attestation, ...]:
    """The ties of the results that the last report stated."""
    look = _last_look(events, stamp)
    return () if look is None else tuple(_read(anchor) for anchor in look.results_anchors)


def _last_look(events: Sequence[Event], stamp: str) -> InterimLook | None:
    looks = [
        event.body for event in events if isinstance(event.body, InterimLook) and event.body.stamp == stamp
    ]
    return looks[-1] if looks else None


def ties_of_results(
    results: Path, events: Sequence[Event], stamp: str, trust: Trust
) -> tuple[Attestation, ...]:
    """The ties of a study's results as they are now, from what lies in their folder. Raises `StampError`
    (GC406) where a signature or token is not one of the record there."""
    path = results / FINISH
    if not path.exists() or any(finish_differs(results, events, stamp)):
        return ()
    return tuple(attestations_beside(path, trust))


def finish_text(event: Event) -> str:
    """What stands for a run's results where they are signed or time-stamped: the `finish` event, whose digest
    seals every event before it, and the digests of results and answers in it."""
    body = event.body.as_json()
    document = {"format": FORMAT, **body, "at": event.at, "event": event.seq, "digest": event.digest}
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def last_finish(events: Sequence[Event], stamp: str) -> Event | None:
    """The last `finish` event of a study."""
    ends = [event for event in events if isinstance(event.body, RunFinished) and event.body.stamp == stamp]
    return ends[-1] if ends else None


def finish_differs(results: Path, events: Sequence[Event], stamp: str) -> Iterator[Diagnostic]:
    """The record of results that was signed or time-stamped, against the chain."""
    path = results / FINISH
    data = read_evidence(path)
    if data is None:
        return
    end = last_finish(events, stamp)
    if end is None or data != finish_text(end).encode():
        help = "`gridc anchor` writes the record of the results as they are now"
        yield Diagnostic("GC709", f"{FINISH} is not what the event chain recorded", str(path), help=help)


def _read(stated: AnchorRecord) -> Attestation:
    if stated.evidence is None:  # before gridc 0.2: the strength and a sentence
        git = stated.strength == "git"
        return Attestation("commit", stated.detail) if git else Attestation("none", UNCOMMITTED)
    return Attestation(stated.evidence, stated.fact, stated.by, _date(stated.committed))


def _date(text: str | None) -> str | None:
    """A date with its zone, as gridc writes one; what a forger wrote instead is not a date."""
    try:
        return text if text and datetime.fromisoformat(text).tzinfo else None
    except ValueError:
        return None


def _against(claim: Attestation, shown: Sequence[Attestation], path: Path) -> tuple[str | None, str | None]:
    """What refutes a claim about the file at `path`, or what is to be said of it where the evidence is there
    and shows less."""
    stated = f"the report says {claim.strength}: {claim.detail}"
    if not f"{claim.fact}{claim.by or ''}".isprintable():
        return f"the report says {claim.strength}, in words that gridc does not write", None
    if not _is_written(claim):
        dated = f", and dates it {claim.time}" if claim.time else ""
        return f"{stated}{dated}, which gridc does not write", None
    if claim in shown or claim.evidence == "none":
        return None, None
    if claim.evidence == "commit":
        return None, f"not shown here: {stated} (no repository here holds that commit)"
    unread = (UNREAD_KEY, UNREAD_TIME)
    same = [anchor for anchor in shown if anchor.evidence == claim.evidence]
    fits = [anchor for anchor in same if anchor.fact in (claim.fact, *unread) or claim.fact in unread]
    if not fits:
        return f"{stated}, and there is no such {claim.evidence} beside {path.name}", None
    if claim.by is None:
        return None, None
    yours = "its maker believed that; `--roots`, `--signer` and `--record` name whom you believe"
    return None, f"not shown here: {stated} ({yours})"


def _is_written(claim: Attestation) -> bool:
    """Whether gridc writes such a tie: only a third party gives a time, and a token its own."""
    if claim.evidence == "registration":
        return (claim.by is None) == (claim.time is None)
    if claim.evidence == "token":
        return claim.time == (None if claim.by is None else claim.fact)
    if claim.time is not None:
        return False
    if claim.evidence == "signature":
        return True
    if claim.evidence == "commit":
        return claim.by is None and COMMIT.fullmatch(claim.fact) is not None
    return claim.by is None and claim.fact in NO_COMMIT


def _expected(shown: Sequence[Attestation], trust: Trust, lock_path: Path) -> Iterator[Diagnostic]:
    """Whoever names a signer or a root expects a signature or a token of theirs."""
    held = {anchor.strength for anchor in shown}
    if trust.signers and "signed" not in held:
        yield Diagnostic("GC709", "no signature here is by a signer whom you named", str(lock_path))
    if trust.roots and "timestamped" not in held:
        yield Diagnostic(
            "GC709", "no time stamp here comes from an authority whose root you named", str(lock_path)
        )
