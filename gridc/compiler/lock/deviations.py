"""Where two documents differ, path by path, and the log that explains each difference from a stamp.

The study is compared with its stamp, and the log explains each difference exactly once. The differences are
computed; a person gives the reasons. A difference without an entry stops a run (GC401); an entry without a
difference is refused too (GC402).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT, Table

from gridc.compiler.frontend.expansion import expanded
from gridc.compiler.frontend.measurands import expand
from gridc.compiler.frontend.read import for_each
from gridc.compiler.frontend.source import Source, read_source
from gridc.compiler.frontend.validate import typed, typed_as
from gridc.compiler.grid.cells import cells_of
from gridc.compiler.inputs.resolve import Study, behaviour, parts_lacking
from gridc.compiler.lock.lock import Lock, read_lock
from gridc.diagnostics.errors import Diagnostic, KeyPath, StampError
from gridc.files import write_atomic
from gridc.schema.canonical import digest
from gridc.schema.deviation import Change, Deviation, DeviationLog
from gridc.schema.spec import Spec


class _Absent:
    """Stands for a value on the side of a difference that does not have it."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


def json_differences(before: Any, after: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """(path, value before, value after) wherever two JSON documents differ.

    Lists of tables with an `id` are compared by id, so that an insertion is one difference.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        changed: list[tuple[str, Any, Any]] = []
        for key in sorted(before.keys() | after.keys()):
            inner = f"{path}.{key}" if path else key
            changed += json_differences(before.get(key, ABSENT), after.get(key, ABSENT), inner)
        return changed
    if isinstance(before, list) and isinstance(after, list) and _has_ids(before) and _has_ids(after):
        by_id = [{row["id"]: row for row in side} for side in (before, after)]
        changed = []
        for name in dict.fromkeys([*by_id[0], *by_id[1]]):
            old, new = (side.get(name, ABSENT) for side in by_id)
            changed += json_differences(old, new, f"{path}[{name}]")
        old, new = ([name for name in side if name in by_id[0].keys() & by_id[1]] for side in by_id)
        return changed if old == new else [*changed, (f"{path} (order)", old, new)]
    return [] if before == after else [(path, before, after)]


def behaviour_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The parts of gridc's own code whose versions differ, as (path, before, after)."""
    parts = sorted(before.keys() | after.keys())
    sides = ((part, before.get(part, ABSENT), after.get(part, ABSENT)) for part in parts)
    return [(f"behaviour[{part}]", old, new) for part, old, new in sides if old != new]


def shortened_json(value: Any, length: int = 60) -> str:
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
    now, of a lock that an older gridc wrote None. `rules` are those of a lock."""

    path: Path
    spec: dict[str, Any]
    inputs: dict[str, Any] | None = None
    behaviour: Mapping[str, object] | None = None
    rules: Mapping[str, object] | None = None
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
        source = expanded(read_source(path))
        spec, source = for_each(expand(typed(source), source), source)
        stamped = spec.stamped()
        every = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        loose = {key: every[key] for key in every if key not in stamped}
        return Document(path, stamped, behaviour=behaviour(spec), loose=loose, source=source)
    lock = read_lock(path)
    if lock is None:
        raise StampError([Diagnostic("GC403", "there is no lock here", str(path))])
    content = lock.content
    rules = content.get("rules", {})
    return Document(path, content["spec"], content["inputs"], content.get("behaviour"), rules)


def path_differences(a: Document, b: Document) -> list[PathDifference]:
    """Every path at which the two differ, the stamped ones first. Of inputs and of what no stamp covers only
    what both have is compared."""
    changed = [PathDifference(*difference) for difference in json_differences(a.spec, b.spec)]
    if a.inputs is not None and b.inputs is not None:
        changed += [
            PathDifference(f"inputs.{path}", *sides) for path, *sides in json_differences(a.inputs, b.inputs)
        ]
    changed += [PathDifference(*entry) for entry in _stated_behaviour(a, b)]
    if a.rules is not None and b.rules is not None:
        changed += [PathDifference(*entry) for entry in json_differences(a.rules, b.rules, "rules")]
    if a.loose is not None and b.loose is not None:
        changed += [
            PathDifference(*difference, stamped=False) for difference in json_differences(a.loose, b.loose)
        ]
    if not any(side.source is not None and side.source.others for side in (a, b)):
        return changed  # each side is one file, in which a path is found by its name
    return [
        replace(difference, places=(a.written(difference.path), b.written(difference.path)))
        for difference in changed
    ]


def _stated_behaviour(a: Document, b: Document) -> list[tuple[str, Any, Any]]:
    """How gridc's own code differs between the two. A lock that does not cover it differs in that from one
    that does, and a spec says nothing of it."""
    old, new = (ABSENT if side.behaviour is None else "covered" for side in (a, b))
    if old != new:
        return [("behaviour", old, new)] if a.inputs is not None and b.inputs is not None else []
    return behaviour_differences(a.behaviour or {}, b.behaviour or {})


@dataclass(frozen=True, slots=True)
class Departure:
    """One path at which the current study is not the stamped one. Of an input `detail` says which of its
    items and files differ, or that it is `absent`: not here now."""

    path: str
    registered: Any
    implemented: Any
    detail: str = ""
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Departures and the log that explains them. It is open while a departure lacks its explanation, an
    entry its departure, or an entry its reason."""

    departures: tuple[Departure, ...]
    log: DeviationLog
    findings: tuple[Diagnostic, ...]

    def entries(self) -> Iterator[tuple[Deviation, tuple[Departure, ...]]]:
        """Each deviation with the departures that it explains; none where it was resolved."""
        for entry in self.log.deviation:
            yield entry, tuple(departure for departure in self.departures if explains(entry, departure.path))

    def manifest(self) -> list[dict[str, Any]]:
        """The log as reports and events hold it, with the computed values."""
        return [
            {
                "id": entry.id,
                "element": entry.element,
                "changes": [change_table(departure) for departure in departures]
                or [change.model_dump(mode="json", exclude_none=True) for change in entry.change],
                "reason": entry.reason,
                "phase": entry.phase,
                "date": entry.date,
                "impact": entry.impact,
                "resolved": entry.resolved,
            }
            for entry, departures in self.entries()
        ]


def log_path(spec_path: Path) -> Path:
    """`gridcard.toml` has its log in `deviations.toml`, `x.toml` in `x.deviations.toml`."""
    name = "deviations.toml" if spec_path.stem == "gridcard" else f"{spec_path.stem}.deviations.toml"
    return spec_path.with_name(name)


def departures(stamped: Mapping[str, Any], current: Mapping[str, Any]) -> list[Departure]:
    """Where the current study departs from the stamped one.

    An input is a departure of its own only where the spec does not already say that it changed. What was
    stamped as absent and is here now was pinned on arrival; adding it is not a deviation.
    """
    changed = [Departure(*difference) for difference in json_differences(stamped["spec"], current["spec"])]
    paths = [departure.path for departure in changed]
    kinds = (
        ("templates", None), ("scorers", None), ("benchmarks", "benchmark"), ("models", "model"),
        ("plugins", None),
    )  # fmt: skip
    for kind, name in kinds:
        before, after = (content["inputs"].get(kind, {}) for content in (stamped, current))
        for key in sorted(before.keys() & after.keys()):
            old, new = _comparable(before[key], after[key])
            implied = name is not None and any(covers(f"{name}[{key}]", path) for path in paths)
            if old != new and not implied and not _unpinned(old):
                path = f"inputs.{kind}[{key}]"
                absent = _unpinned(new)
                detail = str(new["unpinned"]) if absent else _changed_inputs(old, new)
                changed.append(Departure(path, "as stamped", _difference(old, new), detail, absent))
    return [*changed, *_behaviour(stamped, current, alike=not paths)]


def _behaviour(stamped: Mapping[str, Any], current: Mapping[str, Any], alike: bool) -> Iterator[Departure]:
    """Where gridc's own code does something else than what was stamped. Where the specs are not `alike`, the
    parts that only one side uses follow from that, unless the stamped spec uses them too. A stamp that covers
    no behaviour says nothing of it."""
    before, after = (side.get("behaviour") for side in (stamped, current))
    if before is None or after is None:
        return
    lacking = [f"behaviour[{part}]" for part in parts_lacking(stamped)]
    for path, *sides in behaviour_differences(before, after):
        if alike or ABSENT not in sides or path in lacking:
            yield Departure(path, *sides)


NAMED = 8
"""How many items a message names."""


def _changed_inputs(before: Any, after: Any) -> str:
    """The items and files of a benchmark that are not the stamped ones; empty of what has none."""
    if not all(isinstance(side, dict) and "items" in side for side in (before, after)):
        return ""
    names = [
        name
        for order in before["items"].keys() & after["items"].keys()
        for name in {**before["items"][order], **after["items"][order]}
        if before["items"][order].get(name) != after["items"][order].get(name)
    ]
    items = sorted(dict.fromkeys(names))
    files = sorted(name for name in {**before["files"], **after["files"]}
                   if before["files"].get(name) != after["files"].get(name))  # fmt: skip
    more = f" and {len(items) - NAMED:,} more" if len(items) > NAMED else ""
    parts = [f"the items {', '.join(items[:NAMED])}{more}"] if items else []
    parts += [f"the file {name}" for name in files]
    return f"{' and '.join(parts)} differ{'' if len(items) + len(files) > 1 else 's'}" if parts else ""


def _comparable(before: Any, after: Any) -> tuple[Any, Any]:
    """Two manifests of an input. How many exemplars are drawn, and in which orders items are shown, follows
    from the spec: what both sides have is compared, and of a plug-in its files only where both stamps cover
    them."""
    sides = (before, after)
    if all(isinstance(side, dict) and "distribution" in side for side in sides):
        return _plugins(before, after)
    if not all(isinstance(side, dict) and "exemplars" in side for side in sides):
        return before, after
    orders = before["exemplars"].keys() & after["exemplars"].keys()
    shown = min((len(side["exemplars"][order]) for side in sides for order in orders), default=0)
    old, new = (
        side
        | {"exemplars": {order: side["exemplars"][order][:shown] for order in orders}}
        | {"items": {order: side["items"][order] for order in orders}}
        for side in sides
    )
    return old, new


def _plugins(before: dict[str, Any], after: dict[str, Any]) -> tuple[Any, Any]:
    if "code" in before and "code" in after:
        return before, after
    named = ("distribution", "version")
    old, new = ({key: plugin[key] for key in named if key in plugin} for plugin in (before, after))
    return old, new


def _difference(before: Any, after: Any) -> str:
    """How an input differs: digests by the hundred are counted, and the first is named."""
    changed = [path for path, _, _ in json_differences(before, after)]
    return f"{len(changed)} digests differ, first `{changed[0]}`" if changed[0] else "another text"


def reconcile(lock: Lock, study: Study, path: Path) -> Reconciliation:
    """The study against its stamp and the log at `path`. Raises `SpecError` when the log cannot be read."""
    departed = tuple(departures(lock.content, study.stamped()))
    if not path.is_file():
        log = DeviationLog(deviations=1)
        place = path if study.origin is None else study.origin.spec  # there is not a log to point at
        return Reconciliation(departed, log, tuple(_uncovered(departed, log, place)))
    source = read_source(path)
    log = typed_as(DeviationLog, "deviations", source)
    findings = [*_uncovered(departed, log, path), *_misplaced(departed, log, source)]
    return Reconciliation(departed, log, tuple(findings))


def require_reconciled(lock: Lock, study: Study, path: Path) -> Reconciliation:
    """The same, or `StampError` with everything that is not explained one to one."""
    result = reconcile(lock, study, path)
    if result.findings:
        raise StampError(result.findings)
    return result


def require_same(lock: Lock, study: Study, path: Path) -> None:
    """Raise `StampError`, naming each departure, unless the study is the one that was stamped."""
    departed = departures(lock.content, study.stamped())
    if not departed:
        return
    listed = [_departed(departure, path) for departure in departed]
    help = "undo the change, explain it in the deviation log, or `gridc stamp --supersede`"
    raise StampError([*listed[:-1], replace(listed[-1], help=help)])


def explains(entry: Deviation, path: str) -> bool:
    """Whether an entry that still stands is about a path."""
    return not entry.resolved and any(covers(change.path, path) for change in entry.change)


def covers(prefix: str, path: str) -> bool:
    """Whether `path` is `prefix` or lies below it: `axis[a].level` covers `axis[a].level[b].tier`."""
    return path == prefix or (path.startswith(prefix) and path[len(prefix)] in ".[ ")


def change_table(departure: Departure) -> dict[str, Any]:
    """A departure as a log's table; a side that is absent is left out."""
    sides = {"registered": departure.registered, "implemented": departure.implemented}
    return {"path": departure.path} | {key: value for key, value in sides.items() if value is not ABSENT}


def _unpinned(manifest: Any) -> bool:
    return isinstance(manifest, dict) and "unpinned" in manifest


def _departed(departure: Departure, path: Path) -> Diagnostic:
    before, now = shortened_json(departure.registered), shortened_json(departure.implemented)
    if departure.path.startswith("inputs."):
        text = departure.detail or str(departure.implemented)
        return Diagnostic("GC405", f"`{departure.path}` is not what was stamped: {text}", str(path))
    if departure.path.startswith("behaviour["):
        return Diagnostic("GC409", _version_words(departure), str(path))
    message = f"`{departure.path}` was {before} when it was stamped and is {now} now"
    return Diagnostic("GC401", message, str(path))


def _version_words(departure: Departure) -> str:
    """How a part of gridc's own code differs; of a fingerprint, as stamps held before, nobody can tell."""
    before, now = departure.registered, departure.implemented
    if isinstance(before, str) and now is not ABSENT:
        return (
            f"`{departure.path}` is version {now}, and the stamp holds a fingerprint of it ({before[:12]}) "
            "of before gridc numbered the versions of its parts: whether it does the same is not known"
        )
    sides = ("absent" if side is ABSENT else f"version {side}" for side in (before, now))
    moved = "`{}` was {} and is {}".format(departure.path, *sides)
    return f"gridc does something else than when the study was stamped: {moved}"


def _uncovered(departed: Sequence[Departure], log: DeviationLog, path: Path) -> Iterator[Diagnostic]:
    missing = [
        change for change in departed if not any(explains(entry, change.path) for entry in log.deviation)
    ]
    ways = (
        "undo it, or run `gridc deviations --write` and give the reason in the file that it writes; "
        "before there are data, `gridc stamp --supersede` makes a new stamp"
    )
    if any(change.path.startswith("behaviour[") for change in missing):
        ways = f"use the gridc that stamped it, which the lock names; {ways}"
    if any(change.absent for change in missing):
        ways = f"give the folder that it lies in (--data, --models); {ways}"
    for number, departure in enumerate(missing, start=1):
        yield replace(_departed(departure, path), help=ways if number == len(missing) else None)


def _misplaced(
    all_departures: Sequence[Departure], log: DeviationLog, source: Source
) -> Iterator[Diagnostic]:
    owner: dict[str, str] = {}
    for number, entry in enumerate(log.deviation):
        here = ("deviation", number)
        if not entry.reason.strip():
            yield source.diagnose("GC407", (*here, "reason"), f"`{entry.id}` has no reason", "say why")
        for rank, change in enumerate(entry.change):
            where = (*here, "change", rank, "path")
            departed = [departure for departure in all_departures if covers(change.path, departure.path)]
            if entry.resolved and departed:
                message = f"`{entry.id}` is resolved, and `{departed[0].path}` still differs"
                yield source.diagnose("GC402", where, message, "leave `resolved` out, or take it back")
            if not entry.resolved and not departed:
                message = f"`{change.path}` is as it was stamped: there is nothing to explain"
                help = "remove the entry, or set `resolved = true` if it was undone"
                yield source.diagnose("GC402", where, message, help)
            for departure in departed:
                if owner.setdefault(departure.path, entry.id) != entry.id:
                    message = f"`{departure.path}` is already explained by `{owner[departure.path]}`"
                    yield source.diagnose("GC402", where, message, "explain each difference once")
            if len(departed) == 1 and departed[0].path == change.path and not entry.resolved:
                yield from _stale(change, departed[0], source, (*here, "change", rank))


def _stale(
    change: Change, departure: Departure, source: Source, where: tuple[str | int, ...]
) -> Iterator[Diagnostic]:
    """The values that the log states are those that the diff gives."""
    for key in ("registered", "implemented"):
        stated, actual = getattr(change, key), getattr(departure, key)
        if stated != (None if actual is ABSENT else actual):
            message = f"`{key}` says {shortened_json(stated)}, the difference is {shortened_json(actual)}"
            help = "`gridc deviations --write` fills it in"
            yield source.diagnose("GC408", (*where, key), message, help)


def require_current(lock: Lock, study: Study, log: Path) -> Reconciliation:
    """The study against its stamp, or `StampError` with each departure that the log at `log` does not
    explain. Inputs that are not here cannot depart; `study.unpinned()` names them."""
    return require_reconciled(_without_absent(lock, study), study, log)


def _without_absent(lock: Lock, study: Study) -> Lock:
    """The lock as it would be if it had been made where these inputs are absent."""
    here = study.inputs()
    inputs: dict[str, Any] = dict(lock.content["inputs"])
    for kind in ("benchmarks", "models"):
        absent = {name: entry for name, entry in here[kind].items() if "unpinned" in entry}
        inputs[kind] = {name: absent.get(name, entry) for name, entry in inputs[kind].items()}
    content = {**lock.content, "inputs": inputs}
    return replace(lock, content=content, stamp=digest(content))


SHOWN = 20


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """Cells that are new, gone, or asked otherwise, by name and at most `SHOWN` of each, with their numbers;
    and every path of spec and inputs that differs."""

    stamp: str
    added: int
    removed: int
    changed: int
    cells: Mapping[str, tuple[str, ...]]
    paths: tuple[Departure, ...]


def against(study: Study, stamp: str, content: Mapping[str, Any]) -> PlanDifference:
    """The study against the content of an earlier stamp."""
    spec = Spec.model_validate_json(json.dumps(content["spec"]), strict=True)
    before, after = _settings(spec), _settings(study.spec)
    added = [key for key in after if key not in before]
    removed = [key for key in before if key not in after]
    changed = [key for key in after if key in before and before[key] != after[key]]
    return PlanDifference(
        stamp=stamp,
        added=len(added),
        removed=len(removed),
        changed=len(changed),
        cells={
            "added": tuple(added[:SHOWN]),
            "removed": tuple(removed[:SHOWN]),
            "changed": tuple(changed[:SHOWN]),
        },
        paths=tuple(departures(content, study.stamped())),
    )


def _settings(spec: Spec) -> dict[str, bytes]:
    return {cell.key: cell.setting.key for cell in cells_of(spec)}


HEADER = """\
#:schema ./deviations.v1.schema.json
# Why this study departs from its stamp. `gridc deviations --write` fills in paths and values;
# the reasons are yours. Every difference is explained exactly once.
"""


def write_log(result: Reconciliation, path: Path) -> int:
    """Add an entry for each departure that has none, and state the values of all others as they are.

    Comments, order and wording of the file stay. Gives how many entries were added.
    """
    text = path.read_text("utf-8") if path.is_file() else f"{HEADER}deviations = 1\n"
    document = tomlkit.parse(text)
    entries: Any = document.setdefault("deviation", tomlkit.aot())
    for entry in entries:
        if not entry.get("resolved", False):
            _refresh(entry, result.departures)
    missing = [departed for departed in result.departures if not _explained(result.log, departed)]
    taken = {str(entry["id"]) for entry in entries}
    for departure in missing:
        entries.append(_entry(departure, _free_id(taken)))
    if not entries:
        del document["deviation"]
    write_atomic(path, tomlkit.dumps(document))
    return len(missing)


def _explained(log: DeviationLog, departure: Departure) -> bool:
    return any(explains(entry, departure.path) for entry in log.deviation)


def _refresh(entry: Table, departures: Iterable[Departure]) -> None:
    """State what a change's difference is. A change that covers several differences has no one value."""
    for change in entry["change"]:
        covered = [departure for departure in departures if covers(str(change["path"]), departure.path)]
        values = change_table(covered[0]) if len(covered) == 1 and covered[0].path == change["path"] else {}
        for key in ("registered", "implemented"):
            if key in values:
                if change.get(key, ...) != values[key]:
                    change[key] = values[key]
            elif key in change:
                del change[key]


def _free_id(taken: set[str]) -> str:
    number = next(n for n in range(1, len(taken) + 2) if f"D-{n:03}" not in taken)
    taken.add(f"D-{number:03}")
    return f"D-{number:03}"


def _entry(departure: Departure, name: str) -> Table:
    entry = tomlkit.table()
    entry["id"] = name
    entry["element"] = departure.path
    entry["reason"] = ""
    changes: AoT = tomlkit.aot()
    change = tomlkit.table()
    for key, value in change_table(departure).items():
        change[key] = value
    changes.append(change)
    entry["change"] = changes
    return entry
