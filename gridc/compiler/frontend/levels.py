"""Levels of an axis that are no tables of their own: `values` of one key, and rows of a file (`levels`).

They are written out before the spec is validated, so that everything else sees levels as if they had been
typed: selectors and reports name them, a stamp covers them, a deviation is one of a level. What is wrong with
one is shown where the spec names its column, with the row of the file.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gridc.compiler.frontend.locate import NotFound, Places
from gridc.compiler.frontend.placed import PlacedValue, entry_id, placed, text_at
from gridc.compiler.frontend.source import MAX_BYTES, Source
from gridc.compiler.frontend.validate import did_you_mean, key_meant
from gridc.diagnostics.errors import Diagnostic, SpecError
from gridc.diagnostics.places import KeyPath
from gridc.files import csv_records, read_regular
from gridc.schema.base import ID
from gridc.schema.canonical import canonical
from gridc.schema.effects import Effects
from gridc.schema.spec import TIERS, LevelFile

SHARED = ("tier", "provenance")
"""Keys of an axis that its `values` have, and rows of a file that has no column for them."""
STATED = {"values", "levels", *SHARED}
PARTED = ("prompt", "system", "vars")
"""Keys whose value is a table of parts, none of them a list: as in `vars = { length = [4, 8] }`."""
LONGEST = 40
"""Characters of a value that names itself."""


class _Refused(Exception):
    """Levels that cannot be written out: what is wrong."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics


def states_levels(values: Mapping[str, Any]) -> bool:
    """Whether an axis of a document has levels that are to be written out."""
    axes = values.get("axis")
    return isinstance(axes, list) and any(isinstance(axis, dict) and STATED & axis.keys() for axis in axes)


def with_levels(tree: PlacedValue, top: Source) -> tuple[PlacedValue, list[Source]]:
    """The document with all levels written out, and the files that hold some. What has no shape that the
    language knows is left as it is: validation says what is wrong with it. Raises `SpecError`."""
    axes = tree.value.get("axis")
    if axes is None or not isinstance(axes.value, list):
        return tree, []
    wrong: list[Diagnostic] = []
    files: dict[Path, Source] = {}
    rules: list[PlacedValue] = []
    written: list[PlacedValue] = []
    for axis in axes.value:
        try:
            written.append(_written(axis, tree, top.path.parent, files, rules))
        except _Refused as refused:
            wrong += refused.diagnostics
    if wrong:
        raise SpecError(wrong)
    merged = {**tree.value, "axis": PlacedValue(written, axes.source, axes.path)}
    if rules:
        before = tree.value.get("exclude", placed([], top, ("exclude",)))
        merged["exclude"] = PlacedValue([*before.value, *rules], before.source, before.path)
    return PlacedValue(merged, tree.source, tree.path), list(files.values())


def _written(
    axis: PlacedValue, tree: PlacedValue, folder: Path, files: dict[Path, Source], rules: list[PlacedValue]
) -> PlacedValue:
    """An axis with its levels written out. Files that hold some are added to `files`, and exclusions that
    keep a level to its benchmark to `rules`."""
    if not isinstance(axis.value, dict) or not STATED & axis.value.keys():
        return axis
    listed = axis.value.get("level", placed([], axis.source, axis.path))
    values, file = axis.value.get("values"), axis.value.get("levels")
    if not isinstance(listed.value, list):
        return axis
    if values is None and file is None:
        key = next(key for key in SHARED if key in axis.value)
        message = f"`{key}` of an axis is that of its `values` and of levels in a file"
        help = f"write `{key}` in each [[axis.level]]"
        raise _Refused(axis.source.diagnose("GC105", axis.value[key].path, message, help, at_key=True))
    made: list[PlacedValue] = list(listed.value)
    if values is not None:
        if not isinstance(values.value, dict) or len(values.value) != 1:
            return axis
        made += _of_values(axis, values)
    if file is not None:
        if not isinstance(file.value, dict):
            return axis
        try:
            stated = LevelFile.model_validate(file.plain())
        except ValidationError:
            return axis
        made += _of_file(axis, file, stated, tree, folder, files, rules)
    kept = {key: node for key, node in axis.value.items() if key not in STATED}
    return PlacedValue(
        {**kept, "level": PlacedValue(made, listed.source, listed.path)}, axis.source, axis.path
    )


def _shared(axis: PlacedValue, stated: set[str]) -> dict[str, PlacedValue]:
    """What levels have of the axis: tier and provenance, where they state none."""
    lacking = [key for key in SHARED if key not in stated and key not in axis.value]
    if lacking:
        message = f"levels of {_called(axis)} lack {' and '.join(f'`{key}`' for key in lacking)}"
        help = f"write {' and '.join(_EXAMPLES[key] for key in lacking)} in the axis"
        raise _Refused(axis.source.diagnose("GC103", axis.path, message, help, at_key=True))
    return {key: axis.value[key] for key in SHARED if key not in stated}


_EXAMPLES = {"tier": 'tier = "core"', "provenance": 'provenance = "where the choice comes from"'}


def _called(axis: PlacedValue) -> str:
    return f"`axis[{entry_id(axis) or axis.path[-1]}]`"


# values of one key


def _of_values(axis: PlacedValue, values: PlacedValue) -> Iterator[PlacedValue]:
    ((key, held),) = values.value.items()
    here = held.source
    if key not in Effects.model_fields:
        help = key_meant(("values",), key) or did_you_mean(key, Effects.model_fields)
        message = f"unknown key `{key}` in the values of {_called(axis)}"
        raise _Refused(here.diagnose("GC101", held.path, message, help, at_key=True))
    part = _varied_part(key, held)
    if part is not None:
        named = [(_name(part, node), _of_part(part, node)) for node in held.value[part].value]
    elif isinstance(held.value, dict):
        named = list(held.value.items())
    elif isinstance(held.value, list):
        named = [(_name(key, node), node) for node in held.value]
    else:
        message = f"`{key}` of `values` must be a list, or a table of names"
        shown = json.dumps(held.value, ensure_ascii=False)
        raise _Refused(here.diagnose("GC102", held.path, message, f"values = {{ {key} = [{shown}] }}"))
    if not named:
        help = "name two or more, or leave the axis out: [harness] says what every call has"
        raise _Refused(here.diagnose("GC104", held.path, f"`{key}` of `values` has none", help))
    shared = _shared(axis, set())
    for number, (name, node) in enumerate(named):
        if name in dict(named[:number]):
            help = f"leave one out, or name each: values = {{ {key} = {{ NAME = ..., OTHER = ... }} }}"
            raise _Refused(here.diagnose("GC201", node.path, f"two values are called `{name}`", help))
        level = {"id": PlacedValue(name, node.source, node.path), **shared, key: node}
        yield PlacedValue(level, node.source, node.path)


def _varied_part(key: str, held: PlacedValue) -> str | None:
    """The part of a key whose values are listed; None where the key's own values are named."""
    if key not in PARTED or not isinstance(held.value, dict):
        return None
    listed = [part for part, node in held.value.items() if isinstance(node.value, list)]
    if listed and len(held.value) > 1:
        help = (
            f"an axis for each; or name the levels: {key} = {{ NAME = {{ {listed[0]} = ... }}, OTHER = ... }}"
        )
        message = f"several parts of `{key}` vary in one axis"
        raise _Refused(held.source.diagnose("GC104", held.path, message, help))
    return listed[0] if listed else None


def _of_part(part: str, node: PlacedValue) -> PlacedValue:
    return PlacedValue({part: node}, node.source, node.path)


def _name(key: str, node: PlacedValue) -> str:
    """What a value is called that has no name: a number as canonical JSON writes it, so that 0 and 0.0 are
    one; a text with a dash in place of what an id cannot have."""
    value = node.plain()
    text = re.sub(r"[^A-Za-z0-9_.\-]+", "-", value) if isinstance(value, str) else ""
    if isinstance(value, bool | int | float):
        text = canonical(value).decode()
    text = text.strip("-")
    if re.fullmatch(ID, text) is None or len(text) > LONGEST:
        message = f"this value of `{key}` gives no short name for its level"
        help = f"name each: values = {{ {key} = {{ NAME = ..., OTHER = ... }} }}"
        raise _Refused(node.source.diagnose("GC104", node.path, message, help))
    return text


# rows of a file


def _of_file(
    axis: PlacedValue,
    file: PlacedValue,
    stated: LevelFile,
    tree: PlacedValue,
    folder: Path,
    files: dict[Path, Source],
    rules: list[PlacedValue],
) -> list[PlacedValue]:
    name = stated.source.removeprefix("path:")
    path, text = _read(stated.source, file, folder)
    files[path] = Source(path, text, {})
    rows = list(_rows(name, text, file))
    columns = {column for _, row in rows for column in row}
    of_columns, fixed = _columns(file, columns, _tiers(tree), name)
    shared = {**_shared(axis, {*of_columns, *fixed} & set(SHARED)), **fixed}
    tied: dict[str, list[str]] = {}
    levels = []
    for number, row in rows:
        at = f"{name}, row {number}"
        level = dict(shared)
        for key, node in of_columns.items():
            value = _cell(node, row, at)
            if value is not None:
                level[key] = value
        benchmark = level.pop("benchmark", None)
        if benchmark is not None:
            _require_benchmark(benchmark, tree, file)
            tied.setdefault(str(benchmark.value), []).append(str(level["id"].value) if "id" in level else "")
        levels.append(PlacedValue(level, file.source, file.path, at))
    others = [benchmark for benchmark in _benchmarks(tree) if benchmark not in tied]
    if others and sum(map(len, tied.values())) == len(levels) and not {"level", "values"} & axis.value.keys():
        node, help = file.value["benchmark"], "an empty field: a level of every benchmark"
        message = f"no level of {_called(axis)} is one of `{others[0]}`"
        raise _Refused(node.source.diagnose("GC301", node.path, message, help))
    rules += _kept_apart(axis, file, tied, tree, name)
    return levels


def _read(reference: str, file: PlacedValue, folder: Path) -> tuple[Path, str]:
    """A file beside the spec, and its text."""
    where = file.value["source"]
    try:
        path = Places(folder).listing(reference)
        return path, read_regular(path, MAX_BYTES).decode("utf-8-sig")
    except NotFound as error:
        code, message, help = error.code, error.problem, error.help
    except UnicodeDecodeError as error:
        code, message, help = "GC356", f"{path.name}: byte {error.start} is not UTF-8", "save it as UTF-8"
    except ValueError:
        code, message, help = "GC356", f"{path.name} is larger than {MAX_BYTES:,} bytes", "a smaller file"
    raise _Refused(where.source.diagnose(code, where.path, message, help))


_CSV = "its first row names the columns, each other row is a level; a text with a comma stands between quotes"
_JSONL = 'each line is a level: {"id": "a", "text": "{{ question }}"}'


def _rows(name: str, text: str, file: PlacedValue) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a file with their numbers; the header of CSV is row 1. Blank ones are passed over."""
    where = file.value["source"]

    def refuse(row: int, problem: str) -> _Refused:
        help = _CSV if name.endswith(".csv") else _JSONL
        return _Refused(where.source.diagnose("GC356", where.path, f"{name}, row {row}: {problem}", help))

    number = found = 0
    if name.endswith(".csv"):
        header: list[str] = []
        try:
            for number, record in enumerate(csv_records(text), start=1):
                if number == 1:
                    header = record
                    if len(set(header)) < len(header) or not header:
                        raise refuse(1, "it does not name each column once")
                elif record and len(record) != len(header):
                    raise refuse(number, f"{len(record)} fields, the header has {len(header)}")
                elif record:
                    found += 1
                    yield number, dict(zip(header, record, strict=True))
        except csv.Error as error:
            raise refuse(number + 1, str(error)) from None
    else:
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise refuse(number, f"not JSON: {error}") from None
            if not isinstance(row, dict):
                raise refuse(number, "it is no object with keys")
            found += 1
            yield number, row
    if not found:
        raise refuse(1, "no row holds a level")


def _columns(
    file: PlacedValue, columns: set[str], tiers: tuple[str, ...], name: str
) -> tuple[dict[str, PlacedValue], dict[str, PlacedValue]]:
    """For each key the column that holds it, and what is the same in every row."""
    wrong = []
    held: dict[str, PlacedValue] = {}
    fixed: dict[str, PlacedValue] = {}
    for key, node in file.value.items():
        if key == "source":
            continue
        if key == "tier" and node.value in tiers:
            fixed[key] = node
            continue
        held[key] = node
        for column in node.value.values() if isinstance(node.value, dict) else [node]:
            if column.value not in columns:
                message = f"`{name}` has no column `{column.value}`"
                help = did_you_mean(column.value, [*sorted(columns), *(tiers if key == "tier" else ())])
                if key in SHARED and help.startswith("known"):
                    help += f"; or leave it out here and write {_EXAMPLES[key]} in the axis"
                wrong.append(column.source.diagnose("GC202", column.path, message, help))
    if wrong:
        raise _Refused(*wrong)
    return held, fixed


def _cell(node: PlacedValue, row: Mapping[str, Any], at: str) -> PlacedValue | None:
    """What a row has in a column, or in those of a table; None where the field is empty."""
    if isinstance(node.value, dict):
        parts = {part: _cell(column, row, at) for part, column in node.value.items()}
        stated = {part: value for part, value in parts.items() if value is not None}
        return PlacedValue(stated, node.source, node.path, at) if stated else None
    value = row.get(node.value)
    return None if value in (None, "") else _placed_in_row(value, node, at)


def _placed_in_row(value: Any, node: PlacedValue, at: str) -> PlacedValue:
    """A value of a row at the place of its column; a whole number as an id is written out."""
    if node.path[-1] == "id" and isinstance(value, int):
        value = str(value)
    return PlacedValue(value, node.source, node.path, at)


def _tiers(tree: PlacedValue) -> tuple[str, ...]:
    study = tree.value.get("study")
    stated = study.plain().get("tiers") if study is not None and isinstance(study.value, dict) else None
    return tuple(map(str, stated)) if isinstance(stated, list) else TIERS


# levels of one benchmark


def _benchmarks(tree: PlacedValue) -> list[str]:
    listed = tree.value.get("benchmark")
    entries = listed.value if listed is not None and isinstance(listed.value, list) else []
    return [name for entry in entries if (name := text_at(entry, "id")) is not None]


def _require_benchmark(stated: PlacedValue, tree: PlacedValue, file: PlacedValue) -> None:
    known = _benchmarks(tree)
    if stated.value not in known:
        message = f"no benchmark is called `{stated.value}` ({stated.row})"
        help = did_you_mean(str(stated.value), known)
        raise _Refused(stated.source.diagnose("GC202", stated.path, message, help))


def _kept_apart(
    axis: PlacedValue, file: PlacedValue, tied: Mapping[str, list[str]], tree: PlacedValue, name: str
) -> Iterator[PlacedValue]:
    """For each benchmark that levels are of, the exclusion of them on the others."""
    for benchmark, ids in tied.items():
        if {benchmark} == set(_benchmarks(tree)):
            continue  # there is no other
        node = file.value["benchmark"]
        when = {str(entry_id(axis)): ids, "benchmark": {"not": benchmark}}
        rule = placed({"when": when, "why": f"they are levels of `{benchmark}` ({name})"}, node.source, ())
        yield _at(rule, node.path)


def _at(node: PlacedValue, path: KeyPath) -> PlacedValue:
    """What is written nowhere, at the place of what makes it."""
    value = node.value
    if isinstance(value, dict):
        value = {key: _at(inner, path) for key, inner in value.items()}
    elif isinstance(value, list):
        value = [_at(inner, path) for inner in value]
    return PlacedValue(value, node.source, path)
