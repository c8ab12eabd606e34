"""Where two documents differ, path by path: two JSON values, two specs, two locks, or a spec and a lock."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridc.compiler.frontend.each import for_each
from gridc.compiler.frontend.extends import expanded
from gridc.compiler.frontend.measurands import expand
from gridc.compiler.frontend.source import Source, read
from gridc.compiler.frontend.validate import typed
from gridc.compiler.grid.behaviour import behaviour
from gridc.compiler.lock.lock import read_lock
from gridc.diagnostics.errors import Diagnostic, StampError
from gridc.diagnostics.places import KeyPath


class _Absent:
    """Stands for a value on the side of a difference that does not have it."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


def differences(before: Any, after: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """(path, value before, value after) wherever two JSON documents differ.

    Lists of tables with an `id` are compared by id, so that an insertion is one difference.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        changed: list[tuple[str, Any, Any]] = []
        for key in sorted(before.keys() | after.keys()):
            inner = f"{path}.{key}" if path else key
            changed += differences(before.get(key, ABSENT), after.get(key, ABSENT), inner)
        return changed
    if isinstance(before, list) and isinstance(after, list) and _has_ids(before) and _has_ids(after):
        by_id = [{row["id"]: row for row in side} for side in (before, after)]
        changed = []
        for name in dict.fromkeys([*by_id[0], *by_id[1]]):
            old, new = (side.get(name, ABSENT) for side in by_id)
            changed += differences(old, new, f"{path}[{name}]")
        old, new = ([name for name in side if name in by_id[0].keys() & by_id[1]] for side in by_id)
        return changed if old == new else [*changed, (f"{path} (order)", old, new)]
    return [] if before == after else [(path, before, after)]


def behaviour_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The parts of gridc's own code whose versions differ, as (path, before, after)."""
    parts = sorted(before.keys() | after.keys())
    sides = ((part, before.get(part, ABSENT), after.get(part, ABSENT)) for part in parts)
    return [(f"behaviour[{part}]", old, new) for part, old, new in sides if old != new]


def brief(value: Any, length: int = 60) -> str:
    """A value as it is told in a message; what is absent is told as such."""
    if value is ABSENT:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _has_ids(rows: list[Any]) -> bool:
    return all(isinstance(row, dict) and "id" in row for row in rows)


@dataclass(frozen=True, slots=True)
class PathDifference:
    """A path whose value differs. `stamped` says whether it is part of what a stamp covers; `places` where
    each side writes it, as `file:line`, if one of them extends another file. A value that one side does not
    have is `ABSENT`."""

    path: str
    a: Any
    b: Any
    stamped: bool = True
    places: tuple[str | None, str | None] = (None, None)

    def as_json(self) -> dict[str, Any]:
        sides = {name: value for name, value in (("a", self.a), ("b", self.b)) if value is not ABSENT}
        written = {f"{name}_at": place for name, place in zip("ab", self.places, strict=True) if place}
        return {"path": self.path, **sides, **written, "stamped": self.stamped}


@dataclass(frozen=True, slots=True)
class Document:
    """A spec or a lock, as plain JSON: `spec`, and of a lock `inputs` too. `loose` is what a stamp leaves
    out; a lock has none of it. `behaviour` holds the versions of gridc's own code: of a spec those of
    now, of a lock that an older gridc wrote None."""

    path: Path
    spec: dict[str, Any]
    inputs: dict[str, Any] | None = None
    behaviour: Mapping[str, object] | None = None
    loose: dict[str, Any] | None = None
    source: Source | None = None

    def written(self, path: str) -> str | None:
        """`file:line` of what a path of a difference names; None where no file of the spec says it."""
        where = None if self.source is None else _key_path(path.removesuffix(" (order)"), self.source.values)
        if self.source is None or where is None:
            return None
        file, there = self.source.origin(where)
        span = file.value(there)
        return None if span is None else f"{file.path}:{span.line}"


def _key_path(path: str, values: Any) -> KeyPath | None:
    """`axis[template].level[T1].prompt` as keys and places in lists; None where the values do not have it."""
    if not path:
        return ()
    if isinstance(values, list):
        names = {f"[{row.get('id')}]": number for number, row in enumerate(values) if isinstance(row, dict)}
    else:
        names = {key: key for key in values} if isinstance(values, dict) else {}
    for name, part in names.items():
        if path == name or (path.startswith(name) and path[len(name)] in ".["):
            rest = _key_path(path[len(name) :].removeprefix("."), values[part])
            return None if rest is None else (part, *rest)
    return None


def read_document(path: Path) -> Document:
    """The spec or lock at `path`. Raises `SpecError` or `StampError` when it is none."""
    if path.suffix != ".lock":
        source = expanded(read(path))
        spec, source = for_each(expand(typed(source), source), source)
        stamped = spec.stamped()
        every = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        loose = {key: every[key] for key in every if key not in stamped}
        return Document(path, stamped, behaviour=behaviour(spec), loose=loose, source=source)
    lock = read_lock(path)
    if lock is None:
        raise StampError([Diagnostic("GC403", "there is no lock here", str(path))])
    return Document(path, lock.content["spec"], lock.content["inputs"], lock.content.get("behaviour"))


def compare(a: Document, b: Document) -> list[PathDifference]:
    """Every path at which the two differ, the stamped ones first. Of inputs and of what no stamp covers only
    what both have is compared."""
    changed = [PathDifference(*difference) for difference in differences(a.spec, b.spec)]
    if a.inputs is not None and b.inputs is not None:
        changed += [
            PathDifference(f"inputs.{path}", *sides) for path, *sides in differences(a.inputs, b.inputs)
        ]
    changed += [PathDifference(*entry) for entry in _behaviour(a, b)]
    if a.loose is not None and b.loose is not None:
        changed += [
            PathDifference(*difference, stamped=False) for difference in differences(a.loose, b.loose)
        ]
    if not any(side.source is not None and side.source.others for side in (a, b)):
        return changed  # each side is one file, in which a path is found by its name
    return [
        replace(difference, places=(a.written(difference.path), b.written(difference.path)))
        for difference in changed
    ]


def _behaviour(a: Document, b: Document) -> list[tuple[str, Any, Any]]:
    """How gridc's own code differs between the two. A lock that does not cover it differs in that from one
    that does, and a spec says nothing of it."""
    old, new = (ABSENT if side.behaviour is None else "covered" for side in (a, b))
    if old != new:
        return [("behaviour", old, new)] if a.inputs is not None and b.inputs is not None else []
    return behaviour_differences(a.behaviour or {}, b.behaviour or {})
