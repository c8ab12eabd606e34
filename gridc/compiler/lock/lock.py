"""The lock of a study: everything that was fixed before there were data, under one digest, the stamp.

`make_lock` makes it from a compiled study, `write_lock` and `read_lock` keep it in `gridcard.lock`. Locks of
older versions of gridc are read as they are, because a stamp cannot be renewed once there are data.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gridc import __version__
from gridc.compiler.frontend.expansion import base_digests, spec_files
from gridc.compiler.inputs.prices import TokenPrice, price_manifest, prices_of
from gridc.compiler.inputs.resolve import RULES, Study, parts_lacking
from gridc.compiler.lock.git import git_repository
from gridc.diagnostics.errors import Diagnostic, StampError
from gridc.files import read_regular, write_atomic, write_new
from gridc.schema.canonical import digest, each_key_once

FORMAT = "gridc-lock/5"
"""The newest format. Its stamps hold the rules by which criteria are decided."""
NUMBERED = "gridc-lock/4"
"""The format whose stamps hold the version of each part of gridc's own code, and no rules."""
TRACED = "gridc-lock/3"
"""The format whose stamps hold a fingerprint of each part of gridc's own code instead of its version."""
BEFORE = "gridc-lock/2"
"""The format whose stamps do not cover what gridc's own code does. Such locks stay valid."""
SUFFIX = ".lock"
MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Superseded:
    """A stamp that a later one replaced, with the content that it covered."""

    stamp: str
    created: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lock:
    """A stamp with everything it covers. `content` is the resolved spec and the input digests.

    `supersedes` holds the stamps that it replaced, the oldest first; `files` the digests of the files that
    the spec is written in, by name, where it extends another one; `prices` what tokens cost when it was
    made, by model, which is beside the stamp.
    """

    stamp: str
    content: Mapping[str, Any]
    created: str
    gridc: str
    commit: str | None
    dirty: bool | None
    supersedes: tuple[Superseded, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """The lock as it is written: sorted, one key a line, so that a diff is readable."""
        return json.dumps(self.as_json(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def as_json(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "stamp": self.stamp,
            "created": self.created,
            "gridc": self.gridc,
            "git": None if self.commit is None else {"commit": self.commit, "dirty": self.dirty},
            "supersedes": [
                {"stamp": earlier.stamp, "created": earlier.created, "content": earlier.content}
                for earlier in self.supersedes
            ],
            **({"prices": self.prices} if self.prices else {}),
            "content": self.content,
        } | ({"files": self.files} if self.files else {})

    @property
    def format(self) -> str:
        """The format that a lock of this content is written in."""
        if not self.covers_behaviour:
            return BEFORE
        if holds_fingerprints(self.content):
            return TRACED
        return FORMAT if "rules" in self.content else NUMBERED

    @property
    def covers_behaviour(self) -> bool:
        """Whether the stamp covers what gridc's own code does, and the files of plug-ins."""
        return "behaviour" in self.content

    def uncovered(self) -> str | None:
        """What the stamp does not cover and a new one would, in a sentence; None where there is nothing."""
        if self.covers_behaviour:
            lacking = ", ".join(parts_lacking(self.content))
            return f"the stamp does not cover what gridc's own code does in {lacking}" if lacking else None
        return (
            f"the lock has the format {BEFORE} of an older gridc: its stamp does not cover what gridc's own "
            "code does (scaffolds, layout, reading, scoring, sanitising), nor the files of plug-ins other "
            "than scaffolds; before there are data, `gridc stamp --supersede` makes one that does"
        )

    def pins(self) -> dict[str, str]:
        """The hub commits that were resolved, by model id, and by source for the files of benchmarks."""
        inputs: dict[str, dict[str, dict[str, Any]]] = self.content["inputs"]
        identities = {**inputs["models"], **inputs.get("judges", {})}
        files = {name: identity.get("weights", identity) for name, identity in identities.items()}
        models = {name: identity["revision"] for name, identity in files.items() if "revision" in identity}
        hosted = (benchmark["hub"] for benchmark in inputs["benchmarks"].values() if "hub" in benchmark)
        return models | {repository["source"]: repository["revision"] for repository in hosted}

    @property
    def chain(self) -> tuple[Superseded, ...]:
        """Every stamp that the study ever had, the oldest first and this one last."""
        return (*self.supersedes, Superseded(self.stamp, self.created, self.content))


def holds_fingerprints(content: Mapping[str, Any]) -> bool:
    """Whether a stamp holds fingerprints of gridc's own code, as gridc wrote before it numbered versions."""
    versions = content.get("behaviour")
    return isinstance(versions, dict) and any(isinstance(version, str) for version in versions.values())


def lock_path(spec_path: Path) -> Path:
    """`gridcard.toml` has its lock in `gridcard.lock`, `x.toml` in `x.lock`, in the same folder."""
    return spec_path.with_suffix(SUFFIX)


def stamp_of(study: Study) -> str:
    """The digest that names the study: same meaning and same inputs, same stamp."""
    return digest(study.stamped())


def make_lock(study: Study, spec_path: Path, replaced: Lock | None = None) -> Lock:
    """A new lock for the study, noting the git commit that is checked out and whether the spec differs from
    it."""
    repository = git_repository(spec_path.parent)
    commit = dirty = None
    if repository is not None:
        commit, dirty = repository.head, not all(map(repository.holds, spec_files(spec_path) or (spec_path,)))
    created = datetime.now(UTC).isoformat(timespec="seconds")
    chain = replaced.chain if replaced is not None else ()
    files, prices = base_digests(spec_path), price_manifest(prices_of(study.spec))
    return Lock(stamp_of(study), study.stamped(), created, __version__, commit, dirty, chain, files, prices)


def write_lock(lock: Lock, path: Path) -> None:
    """Replace the lock file in one step, so that a reader sees the old one or the new one."""
    write_atomic(path, lock.text())


def create_lock(lock: Lock, path: Path) -> Lock:
    """Write a study's first lock. Where several processes stamp at once, one writes it and the others get
    that lock, because the study's store notes the digest of the file's bytes."""
    try:
        write_new(path, lock.text())
    except FileExistsError:
        return read_lock(path) or create_lock(lock, path)  # None where the file was removed meanwhile
    return lock


def read_lock(path: Path) -> Lock | None:
    """The lock at `path`, or None when there is none.

    Raises `StampError` when it is damaged (GC403), or of a format that this gridc does not read (GC404), and
    `PermissionError`.
    """
    try:
        document = json.loads(read_regular(path, MAX_BYTES), object_pairs_hook=each_key_once)
        _require_format(document["format"], path)
        git_state = document["git"] or {}
        # Fields are read one by one, and a strange file fails as `LookupError` or `TypeError` below.
        chain = tuple(
            Superseded(replaced["stamp"], replaced["created"], replaced["content"])
            for replaced in document["supersedes"]
        )
        lock = Lock(
            document["stamp"], document["content"], document["created"], document["gridc"],
            git_state.get("commit"), git_state.get("dirty"), chain, dict(document.get("files", {})),
            document.get("prices", {}),
        )  # fmt: skip
        stamps = [(earlier.stamp, digest(earlier.content)) for earlier in lock.chain]
        if not all(isinstance(stated, str) for stated, _ in stamps):
            raise ValueError("a stamp is not a text")
        lock.pins()
        _require_tables(lock.content)
        prices = {name: TokenPrice(**price) for name, price in lock.prices.items()}
        # Computed once here: a text in place of a number would otherwise fail in the middle of a report.
        if any(
            type(way.usd(1, 1, 1)) is not float
            for price in prices.values()
            for way in (price, price.in_batches)
        ):
            raise ValueError("a price is not a number")
        # No stamp covers keys that gridc does not know, so a reader must not find any in a lock.
        if document != lock.as_json():
            raise ValueError("it holds what gridc does not write there")
    except FileNotFoundError:
        return None
    except (PermissionError, StampError):  # a lock that the user may not read is not damaged
        raise
    except RecursionError:
        raise _unreadable(path, "it is nested too deeply") from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    except ValueError as error:
        raise _unreadable(path, str(error)) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise _unreadable(path, f"something is missing or of another kind: {error}") from None
    for stated, actual in stamps:
        if stated != actual:
            message = f"the content of the lock hashes to {actual[:12]}, not to its stamp {stated[:12]}"
            raise StampError([Diagnostic("GC403", message, str(path), help="restore the lock from git")])
    return lock


def _require_tables(content: Mapping[str, Any]) -> None:
    """Raise `TypeError` unless the spec and the versions, where there are any, are tables, and `ValueError`
    where the rules are not those of now."""
    if content.get("rules", RULES) != RULES:
        raise ValueError("it holds a rule that this gridc does not know")
    for name in ("spec", "behaviour"):
        if not isinstance(content.get(name, {}), dict):
            raise TypeError(f"`{name}` is not a table")


def _unreadable(path: Path, why: str) -> StampError:
    help = "restore the lock from git"
    return StampError([Diagnostic("GC403", f"not a readable lock: {why}", str(path), help=help)])


def _require_format(stated_format: object, path: Path) -> None:
    if stated_format in (FORMAT, NUMBERED, TRACED, BEFORE):
        return
    name, _, version = str(stated_format).partition("/")
    older = name == "gridc-lock" and version.isdecimal() and int(version) < int(BEFORE.partition("/")[2])
    help = "a newer gridc wrote it: upgrade gridc to read it"
    if older:
        help = "an older gridc wrote it: keep it in git, move it away, and run `gridc stamp` again"
    message = f"the lock has format {stated_format!r}, this gridc reads {BEFORE!r} to {FORMAT!r}"
    raise StampError([Diagnostic("GC404", message, str(path), help=help)])
