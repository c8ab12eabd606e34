"""A registry's archived record of a registration, as the verifier took it from the registry.

A record is plain JSON that nobody signed, so one that comes with a study shows nothing. One that the verifier
fetched (`curl https://api.osf.io/v2/registrations/ID/`, `curl https://zenodo.org/api/records/ID`) is the
registry's word, and whether it holds this study can then be checked offline. docs/stamps.md says what a
record must hold.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gridc.compiler.lock.evidence import beside, misfit, read_evidence
from gridc.compiler.lock.lock import read_lock
from gridc.compiler.lock.trust import Trust
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
