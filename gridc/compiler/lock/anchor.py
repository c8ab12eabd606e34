"""How strongly a file is tied to a time or a person, from the evidence that lies beside it.

    gridcard.lock       committed to git, and unchanged since     git
    gridcard.lock.sig   an ssh signature of the lock's bytes      signed
    gridcard.lock.tsr   an RFC 3161 token for the lock's bytes    timestamped
    gridcard.lock.doi   the DOI of a registry's entry             registered

Evidence is checked each time that a strength is said, against whom the verifier believes (`Trust`): a key, a
root certificate or a record that lies beside the lock was put there by whoever made the lock. What fits the
lock and is vouched for by nobody whom the verifier named is said, and is no strength. Evidence that does not
fit is an error (GC406), never a weaker anchor.

A registry's record is plain JSON that nobody signed, so one that comes with a study shows nothing. One that
the verifier fetched (`curl https://api.osf.io/v2/registrations/ID/`, or zenodo.org/api/records/ID) is the
registry's word, and whether it holds this study can then be checked offline. docs/stamps.md says what a
record must hold.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from gridc.compiler.frontend.extends import spec_files
from gridc.compiler.lock.evidence import beside, misfit, read_evidence
from gridc.compiler.lock.git import repository_of
from gridc.compiler.lock.lock import read_lock
from gridc.compiler.lock.signature import signatures
from gridc.compiler.lock.time_stamp import tokens
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.schema.base import Strength
from gridc.schema.canonical import digest_bytes

_DOI = re.compile(r"10\.\d{4,9}/[\w.()/:;+-]+")


@dataclass(frozen=True, slots=True)
class Record:
    """What is read of a record. `time` is that of its last change: what it holds may have been added then."""

    registry: str
    doi: str
    time: str


def registrations(lock_path: Path, trust: Trust) -> Iterator[tuple[str, str | None, str | None]]:
    """Each DOI that is claimed or recorded, who vouches for it, and since when the record is as it is. Raises
    `StampError` (GC406) where what was named is not a record of this lock."""
    path = beside(lock_path, ".doi")
    given = read_evidence(path)
    claimed = None if given is None else given.decode("utf-8", "replace").strip()
    if claimed is not None:
        claimed = claimed.removeprefix("https://doi.org/")
        if not _DOI.fullmatch(claimed):
            help = "write the DOI alone, such as 10.17605/OSF.IO/AB123"
            raise misfit(path, f"{claimed[:40]!r} is not a DOI", help)
    held = [_checked(download, lock_path, trust) for download in trust.records]
    for record in held:
        yield record.doi, f"at {record.registry}, last changed {record.time},", record.time
    if claimed is not None and claimed.lower() not in {record.doi.lower() for record in held}:
        yield claimed, None, None


def _checked(path: Path, lock_path: Path, trust: Trust) -> Record:
    """The record, when it holds the stamp and the digest of the lock's bytes."""
    help = "fetch it from the registry as `gridc docs stamps` says"
    data = trust.read(path)
    try:
        document = json.loads(data)
        record = _read(document)
        if not _DOI.fullmatch(record.doi):
            raise ValueError(f"{record.doi[:40]!r} is not a DOI")
        text = json.dumps(document, ensure_ascii=False)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise misfit(path, f"not a registry's record ({type(error).__name__}: {error})", help) from None
    lock = read_lock(lock_path)
    wanted = {
        "stamp": lock.stamp if lock else "",
        "SHA-256 of the lock": digest_bytes(lock_path.read_bytes()),
    }
    for what, value in wanted.items():
        if not value or value not in text:
            raise misfit(path, f"the record does not hold the {what} ({value[:12]}...)", help)
    return record


def _read(document: Mapping[str, Any]) -> Record:
    """A record of OSF's API (v2) or of Zenodo's. Raises `ValueError` for anything else."""
    data = document.get("data")
    if isinstance(data, dict) and data.get("type") == "registrations":
        attributes = data["attributes"]
        _require_none(attributes, "withdrawn", "pending_registration_approval", "archiving")
        dates = [attributes["date_registered"], attributes.get("date_modified")]
        return Record("OSF", f"10.17605/OSF.IO/{str(data['id']).upper()}", _last(dates))
    if "created" in document and "doi" in document and "metadata" in document:
        if document.get("state", "done") != "done" or document.get("status", "published") != "published":
            raise ValueError("the record is not published")
        _require_none(document, "is_draft")
        dates = [document["created"], document.get("modified"), document.get("updated")]
        return Record("Zenodo", str(document["doi"]), _last(dates))
    raise ValueError("neither OSF's registration nor Zenodo's record")


def _require_none(attributes: Mapping[str, Any], *states: str) -> None:
    """Raise `ValueError` where a record is in a state in which it registers nothing."""
    for state in states:
        if attributes.get(state):
            raise ValueError(f"it is no registration that stands: its `{state}` is {attributes[state]!r}")


def _last(dates: list[str | None]) -> str:
    times = [datetime.fromisoformat(date) for date in dates if date]
    aware = [time if time.tzinfo else time.replace(tzinfo=UTC) for time in times]
    return max(aware).isoformat(timespec="seconds")


STRENGTHS: tuple[Strength, ...] = get_args(Strength)
AnchorEvidence = Literal["none", "commit", "signature", "token", "registration"]
REACH: dict[AnchorEvidence, Strength] = {
    "none": "unanchored",
    "commit": "git",
    "signature": "signed",
    "token": "timestamped",
    "registration": "registered",
}
UNCOMMITTED = "the lock is not committed"
CHANGED = "the spec or the lock differs from what is committed"
SUFFIXES = (".sig", ".tsr", ".doi")
"""Of the files of evidence beside a lock or a record of results."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """One tie. `fact` is what the evidence says by itself: a commit, a key, a token's time, a DOI. `by` says
    who vouches for it among those whom the verifier named; without one the evidence is no strength. `time` is
    what a third party says that it vouches for, ISO 8601."""

    evidence: AnchorEvidence
    fact: str
    by: str | None = None
    time: str | None = None

    @property
    def strength(self) -> Strength:
        return REACH[self.evidence] if self.by is not None or self.evidence == "commit" else "unanchored"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"strength": self.strength, "detail": self.detail}

    @property
    def detail(self) -> str:
        """The tie in words."""
        if self.evidence == "none":
            return self.fact
        if self.evidence == "commit":
            return f"commit {self.fact}, whose dates are its author's word"
        if self.by is None:
            return {
                "signature": f"a signature by {self.fact} is given; whose key it is was not checked",
                "token": f"a token of {self.fact} is given; its authority was not checked",
                "registration": f"DOI {self.fact} given, not checked",
            }[self.evidence]
        return {
            "signature": f"by {self.by}, {self.fact}",
            "token": f"{self.fact}, by an authority under {self.by}",
            "registration": f"https://doi.org/{self.fact}, whose record {self.by} holds the stamp",
        }[self.evidence]


def anchors(lock_path: Path, spec_path: Path, trust: Trust = NOBODY) -> list[Anchor]:
    """Every tie that the lock has, and the reason when it has no commit. Raises `StampError` (GC406) where
    evidence does not fit the lock."""
    registered = (Anchor("registration", *registration) for registration in registrations(lock_path, trust))
    return [_commit(lock_path, spec_path), *ties(lock_path, trust), *registered]


def ties(path: Path, trust: Trust = NOBODY) -> list[Anchor]:
    """The signature and the token beside a file."""
    signed = (Anchor("signature", *signature) for signature in signatures(path, trust))
    return [*signed, *(Anchor("token", *token) for token in tokens(path, trust))]


def strongest(shown: Sequence[Anchor]) -> Anchor:
    """The strongest tie, the first of those that are equal."""
    return max(shown, key=lambda anchor: STRENGTHS.index(anchor.strength))


def in_words(shown: Sequence[Anchor]) -> str:
    """The strongest tie, and what else is given and was not checked."""
    first = strongest(shown)
    rest = [anchor.detail for anchor in shown if anchor is not first and anchor.strength == "unanchored"]
    given = [text for text in rest if text not in (UNCOMMITTED, CHANGED)]
    return "; ".join([first.detail, *given])


def _commit(lock_path: Path, spec_path: Path) -> Anchor:
    repository = repository_of(lock_path.parent)
    commit = repository.last_change(lock_path) if repository else None
    if repository is None or commit is None:
        return Anchor("none", UNCOMMITTED)
    if not all(map(repository.holds, (lock_path, spec_path, *spec_files(spec_path)))):
        return Anchor("none", CHANGED)
    return Anchor("commit", commit)
