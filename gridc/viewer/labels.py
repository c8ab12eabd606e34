"""Labels and comments that people give answers in the viewer: a file beside the store, one for each study, in
the form of labels from elsewhere that `gridc audit read` takes.

A line is a JSON object with one person's label of one answer, or their comment, or both. The store is never
written. Whoever writes has the folder locked, reads the file as it is by then, and replaces it whole; a label
that another tab or another viewer gave since the page was made is not written over unseen.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from gridc.diagnostics.errors import Diagnostic, FileError, GridcError, json_text
from gridc.files import read_regular, write_atomic
from gridc.viewer.store import StoredCell

LONGEST_COMMENT, LONGEST_NAME = 4_000, 100
"""Characters of a comment, and of a person's name."""

MOST = 2**26
"""Bytes of the file."""

LabelPlace = tuple[str, str, str, str, int, str]
"""Model, benchmark, configuration, item, replicate, and who labelled."""


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """What one person said of one answer; `label` is empty of a comment alone. `line` is as the file has
    it."""

    place: LabelPlace
    label: str
    comment: str
    line: str

    @property
    def annotator(self) -> str:
        return self.place[-1]

    @property
    def seen(self) -> str:
        """What a page holds to tell whether it is still the same."""
        return sha256(self.line.encode()).hexdigest()[:16]


LabelsByAnswer = dict[tuple[str, str, str, str, int], list[GivenLabel]]


class ChangedMeanwhileError(Exception):
    """Somebody else labelled the answer since the page was made."""


class LabelFile:
    """The labels of one study. `allowed` are the labels that an answer can have, by cell key and item; none
    where people cannot label it. `command` reads them back, and `annotator` is who labelled last."""

    def __init__(
        self, path: Path, stamp: str, allowed: Callable[[str, str], tuple[str, ...]], command: str = ""
    ) -> None:
        self.path, self.stamp, self.allowed, self.command, self.annotator = path, stamp, allowed, command, ""
        self._lock = Lock()
        self._known: tuple[object, LabelsByAnswer] = (None, {})

    def by_answer(self) -> LabelsByAnswer:
        """What people said of each answer. Raises as `given`."""
        try:
            found = self.path.stat()
            state: object = (found.st_ino, found.st_size, found.st_mtime_ns)
        except OSError:
            state = None
        if state is None or state != self._known[0]:
            answers: LabelsByAnswer = {}
            for each in self.given().values():
                answers.setdefault(each.place[:-1], []).append(each)
            self._known = state, answers
        return self._known[1]

    def given(self) -> dict[LabelPlace, GivenLabel]:
        """All of them, in the order in which they were first given. Raises `FileError` (GC679) where the file
        is none that labels can be read from."""
        try:
            text = read_regular(self.path, MOST).decode()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._unusable(str(error)) from None
        found: dict[LabelPlace, GivenLabel] = {}
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    each = _read(line)
                except (ValueError, LookupError, TypeError, RecursionError) as error:
                    raise self._unusable(f"line {number} is no label ({error})") from None
                if each.place in found:
                    raise self._unusable(f"line {number} is about the same answer as an earlier line")
                found[each.place] = each
        return found

    def of(self, cell: StoredCell, item: str, replicate: int) -> list[GivenLabel]:
        """Of one answer. Raises as `given`."""
        place = (cell.model, cell.benchmark, cell.configuration, item, replicate)
        return self.by_answer().get(place, [])

    def give(
        self, cell: StoredCell, item: str, replicate: int, annotator: str, label: str, comment: str, seen: str
    ) -> None:
        """Put a label, a comment or both in the place of what the page showed (`seen`, "" for nothing);
        without either there is none any more.

        Raises `ChangedMeanwhileError` where something else is there by now, and `FileError` (GC679) where the
        file cannot be read or written, or the label is none of the answer's.
        """
        allowed = self.allowed(cell.key, item)
        annotator, comment = " ".join(annotator.split()), comment.replace("\r\n", "\n").strip()
        if label and label not in allowed:
            raise _refused(f"`{label[:40]}` is none of its labels", f"one of: {', '.join(allowed)}")
        for what, text, most in (("comment", comment, LONGEST_COMMENT), ("name", annotator, LONGEST_NAME)):
            if len(text) > most:
                raise _refused(f"the {what} has {len(text):,} characters", f"at most {most:,}")
        place = (cell.model, cell.benchmark, cell.configuration, item, replicate, annotator)
        with self._lock, self._folder_locked():
            lines = self.given()
            before = lines.get(place)
            if before is not None and before.seen != seen:
                if (before.label, before.comment) == (label, comment):
                    return
                raise ChangedMeanwhileError
            if label or comment:
                lines[place] = _made(place, label, comment)
            elif before is not None:
                del lines[place]
            text = "".join(f"{each.line}\n" for each in lines.values())
            try:
                write_atomic(self.path, text)
            except OSError as error:
                raise self._unusable(error.strerror or str(error)) from None
            self.annotator = annotator

    @contextmanager
    def _folder_locked(self) -> Iterator[None]:
        """Other viewers of the same study wait meanwhile. Where a system has no such lock there is none."""
        try:
            import fcntl
        except ImportError:
            yield
            return
        try:
            handle = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        try:
            with suppress(OSError):  # a file system without locks, where one viewer at a time is to write
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _unusable(self, why: str) -> FileError:
        message = f"the labels cannot be read or written: {why}"
        help = "nothing was changed; mend the file, or put it somewhere else to begin a new one"
        return FileError([Diagnostic("GC679", message, str(self.path), help=help)])


def _refused(message: str, help: str) -> GridcError:
    return FileError([Diagnostic("GC679", message, help=help)])


def _read(line: str) -> GivenLabel:
    """A line of the file. Raises `ValueError`, `LookupError` or `TypeError` for what is none."""
    document: Mapping[str, Any] = json.loads(line)
    names = ("model", "benchmark", "configuration", "item")
    model, benchmark, configuration, item = (document[name] for name in names)
    annotator, label, comment = (document.get(name, "") for name in ("annotator", "label", "comment"))
    texts = (model, benchmark, configuration, item, annotator, label, comment)
    replicate = document.get("replicate", 0)
    if not all(isinstance(text, str) for text in texts) or type(replicate) is not int:
        raise ValueError("a value has another type")
    return GivenLabel((model, benchmark, configuration, item, replicate, annotator), label, comment, line)


def _made(place: LabelPlace, label: str, comment: str) -> GivenLabel:
    names = ("model", "benchmark", "configuration", "item", "replicate", "annotator")
    document = dict(zip(names, place, strict=True)) | {"label": label, "comment": comment}
    document["given"] = datetime.now(UTC).isoformat(timespec="seconds")
    return GivenLabel(place, label, comment, json_text(document))
