"""Expands a spec: writes out its base, its short forms and the files that hold its levels.

This happens before validation, so that everything later sees tables as if they had been typed: selectors and
reports name them, a stamp covers them, and a change of one is a deviation.

One table can stand for several: `id = ["ant", "bee"]` is one table for each id. They share its other keys,
and `{id}` in a text becomes the id. Levels of an axis can be stated in short, as `values` of one key or as
the rows of a file (`levels`). Levels without a `tier` or `provenance` take that of the axis. An error in a
row is shown where the spec names its column, with the row of the file.

A spec that extends another one (`extends = "base.toml"`) states only what differs. Its tables are written
over those of the base:

    a table ([study], [analysis], ...)         key by key
    entries with an `id` ([[model]], ...)      into the base's entry of that id, or else added after them
    entries without one ([[exclude]], ...)     added after the base's
    any other value                            in the place of the base's
    remove = ["axis.template.level.T2"]        left out of the base first

The result is what is validated, stamped and run. Every finding is shown in the file that has the line.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from gridc.compiler.frontend.foreign_words import key_meant
from gridc.compiler.frontend.lookup import NotFound, ReferenceFolders
from gridc.compiler.frontend.source import MAX_BYTES, STDIN, Source, near_files, read_source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.diagnostics.errors import Diagnostic, KeyPath, SpecError
from gridc.files import csv_records, is_there, read_regular
from gridc.schema.base import ID
from gridc.schema.canonical import canonical, digest_bytes
from gridc.schema.effects import Effects
from gridc.schema.shorthand import ITS_ID, KIND_BY_ID, OF_AXIS, SEVERAL
from gridc.schema.spec import TIERS, LevelFile
from gridc.schema.statistics import kind_of_id


@dataclass(frozen=True)
class PlacedValue:
    """A value (a table, a list or a plain value) with the place where it is written. `row` says which row of
    a file holds it where the spec only names the column."""

    value: Any
    source: Source
    path: KeyPath
    row: str = ""

    def plain(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: inner.plain() for key, inner in self.value.items()}
        return [inner.plain() for inner in self.value] if isinstance(self.value, list) else self.value


@dataclass(frozen=True)
class ExpandedSpec(Source):
    """A spec with its bases and the levels of its axes written out. `path` and `text` are those of the
    extending file; `files` has all files, that one first."""

    files: tuple[Source, ...] = field(repr=False)
    tree: PlacedValue = field(repr=False)

    @cached_property
    def _written(self) -> Mapping[KeyPath, PlacedValue]:
        return dict(_nodes(self.tree, ()))

    def origin(self, path: KeyPath) -> tuple[Source, KeyPath]:
        path = self.as_written(path)
        for length in range(len(path), 0, -1):
            node = self._written.get(path[:length])
            if node is not None:
                return node.source, (*node.path, *path[length:])
        return self, path

    def diagnose(
        self, code: str, path: KeyPath, message: str, help: str | None = None, *, at_key: bool = False
    ) -> Diagnostic:
        meant = self._meant(path) if code == "GC103" else None
        if row := self._row(self.as_written(path)):
            message += f" ({row})"
        return super().diagnose(code, path, message, meant or help, at_key=at_key)

    def _row(self, path: KeyPath) -> str:
        """The row of a file that a value comes from."""
        nodes = (self._written.get(path[:length]) for length in range(len(path), 0, -1))
        nearest = next((node for node in nodes if node is not None), None)
        return "" if nearest is None else nearest.row

    def _meant(self, path: KeyPath) -> str | None:
        """For an entry that lacks what it needs: the entry of a base whose id it may have misspelt."""
        node, siblings = self._written.get(path), self._written.get(path[:-1])
        if node is None or siblings is None or entry_id(node) is None or not isinstance(siblings.value, list):
            return None
        base_ids = [
            name
            for sibling in siblings.value
            if sibling.source is not node.source and (name := entry_id(sibling))
        ]
        near = did_you_mean(f"{entry_id(node)}", base_ids) if base_ids else ""
        return f"it is a new entry: {near}" if near.startswith("did you mean") else None

    @property
    def others(self) -> tuple[Source, ...]:
        return self.files[1:]


def placed(value: Any, source: Source, path: KeyPath) -> PlacedValue:
    """A value with the places of all that it holds."""
    if isinstance(value, dict):
        value = {key: placed(inner, source, (*path, key)) for key, inner in value.items()}
    elif isinstance(value, list):
        value = [placed(inner, source, (*path, number)) for number, inner in enumerate(value)]
    return PlacedValue(value, source, path)


def _nodes(node: PlacedValue, path: KeyPath) -> Iterator[tuple[KeyPath, PlacedValue]]:
    """Every part of a tree, with its path in the whole tree."""
    yield path, node
    if isinstance(node.value, dict):
        for key, inner in node.value.items():
            yield from _nodes(inner, (*path, key))
    elif isinstance(node.value, list):
        for number, inner in enumerate(node.value):
            yield from _nodes(inner, (*path, number))


def entry_id(entry: PlacedValue) -> str | None:
    """The id of an entry; None where it has none that is a text."""
    return text_at(entry, "id")


def text_at(entry: PlacedValue, key: str) -> str | None:
    """The text at a key of a table; None where there is none."""
    node = entry.value.get(key) if isinstance(entry.value, dict) else None
    return node.value if node is not None and isinstance(node.value, str) else None


STATED = {"values", "levels", *OF_AXIS}
PARTED = ("prompt", "system", "vars")
"""Keys whose value is a table of parts. No part is a list, so a list in one states levels: as in
`vars = { length = [4, 8] }`."""
LONGEST = 40
"""Characters of a value that names itself."""


class _Refused(Exception):
    """Raised for levels that cannot be written out; it carries what is wrong."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics


def states_levels(values: Mapping[str, Any]) -> bool:
    """Whether an axis of a document has levels that are to be written out."""
    return any(STATED & axis.keys() for axis in _tables(values, "axis"))


def states_several(values: Mapping[str, Any]) -> bool:
    """Whether a table of a document stands for several, or a statistic says its kind by its id."""
    several = any(isinstance(row.get("id"), list) for table in SEVERAL for row in _tables(values, table))
    return several or any("kind" not in row for row in _tables(values, KIND_BY_ID[0]))


def _tables(values: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    listed = values.get(name)
    return [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []


_ITS_ID = re.compile(rf"(?<!\{{){re.escape(ITS_ID)}(?!\}})")


def one_each(tree: PlacedValue) -> PlacedValue:
    """The document with one table for each id where one table has several."""
    merged = dict(tree.value)
    for table in SEVERAL:
        listed = merged.get(table)
        if listed is not None and isinstance(listed.value, list):
            rows = [row for merged_row in listed.value for row in _for_each_id(merged_row, table)]
            merged[table] = _with_value(listed, rows)
    return _with_value(tree, merged)


def _for_each_id(row: PlacedValue, table: str) -> Iterator[PlacedValue]:
    ids = row.value.get("id") if isinstance(row.value, dict) else None
    if ids is None:
        yield row
        return
    if not isinstance(ids.value, list) or not ids.value:
        yield row if table != KIND_BY_ID[0] else _with_value(row, {**_its_kind(ids), **row.value})
        return
    shared = {key: node for key, node in row.value.items() if key != "id"}
    length = len(json.dumps(_with_value(row, shared).plain(), default=str))
    if len(ids.value) * length > MAX_BYTES:
        message = f"written out, this table would be {len(ids.value):,} tables of {length:,} characters"
        raise SpecError([row.source.diagnose("GC104", ids.path, message, "name fewer ids in one table")])
    for name in ids.value:
        kind = _its_kind(name) if table == KIND_BY_ID[0] else {}
        yield _with_value(row, {**kind, **_named(_with_value(row, shared), name.value).value, "id": name})


def _its_kind(name: PlacedValue) -> dict[str, PlacedValue]:
    """A statistic that says no kind is of the kind of its id, which may say `k` too."""
    kind = kind_of_id(name.value) if isinstance(name.value, str) else {}
    return {key: _with_value(name, value) for key, value in kind.items()}


def _named(node: PlacedValue, name: Any) -> PlacedValue:
    """A value with the id in the place of each `{id}`."""
    if isinstance(node.value, dict):
        return _with_value(node, {key: _named(inner, name) for key, inner in node.value.items()})
    if isinstance(node.value, list):
        return _with_value(node, [_named(inner, name) for inner in node.value])
    if isinstance(node.value, str):
        return _with_value(node, _ITS_ID.sub(lambda _: str(name), node.value))
    return node


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
    shared = {key: axis.value[key] for key in OF_AXIS if key in axis.value}
    for key, node in shared.items():
        if node.value == "":  # where every level states its own, validation would never see this one
            message = f"`{key}` of {_called(axis)} is empty"
            raise _Refused(node.source.diagnose("GC104", node.path, message, f"write {_EXAMPLES[key]}"))
    made: list[PlacedValue] = [
        _with_value(level, {**shared, **level.value}) if isinstance(level.value, dict) else level
        for level in listed.value
    ]
    if values is not None:
        if not isinstance(values.value, dict) or len(values.value) != 1:
            return axis
        made += _of_values(axis, values)
    if file is not None:
        if not isinstance(file.value, dict):
            return axis
        try:
            level_file = LevelFile.model_validate(file.plain())
        except ValidationError:
            return axis
        made += _of_file(axis, file, level_file, tree, folder, files, rules)
    kept = {key: node for key, node in axis.value.items() if key not in STATED}
    return PlacedValue(
        {**kept, "level": PlacedValue(made, listed.source, listed.path)}, axis.source, axis.path
    )


def _shared(axis: PlacedValue, stated_keys: set[str]) -> dict[str, PlacedValue]:
    """What levels have of the axis: tier and provenance, where they state none."""
    lacking = [key for key in OF_AXIS if key not in stated_keys and key not in axis.value]
    if lacking:
        message = f"levels of {_called(axis)} lack {' and '.join(f'`{key}`' for key in lacking)}"
        help = f"write {' and '.join(_EXAMPLES[key] for key in lacking)} in the axis"
        raise _Refused(axis.source.diagnose("GC103", axis.path, message, help, at_key=True))
    return {key: axis.value[key] for key in OF_AXIS if key not in stated_keys}


_EXAMPLES = {"tier": 'tier = "core"', "provenance": 'provenance = "where the choice comes from"'}


def _called(axis: PlacedValue) -> str:
    return f"`axis[{entry_id(axis) or axis.path[-1]}]`"


# values of one key


def _of_values(axis: PlacedValue, values: PlacedValue) -> Iterator[PlacedValue]:
    ((key, varied),) = values.value.items()
    source = varied.source
    if key not in Effects.model_fields:
        meant = key_meant(varied.path[:-1], key, varied.plain(), source.values, Effects.model_fields)
        help = meant or did_you_mean(key, Effects.model_fields)
        message = f"unknown key `{key}` in the values of {_called(axis)}"
        raise _Refused(source.diagnose("GC101", varied.path, message, help, at_key=True))
    part = _varied_part(key, varied)
    if part is not None:
        named = [(_name(part, node), _of_part(part, node)) for node in varied.value[part].value]
    elif isinstance(varied.value, dict):
        named = list(varied.value.items())
    elif isinstance(varied.value, list):
        named = [(_name(key, node), node) for node in varied.value]
    else:
        message = f"`{key}` of `values` must be a list, or a table of names"
        shown = json.dumps(varied.value, ensure_ascii=False)
        raise _Refused(source.diagnose("GC102", varied.path, message, f"values = {{ {key} = [{shown}] }}"))
    if not named:
        help = "name two or more, or leave the axis out: [harness] says what every call has"
        raise _Refused(source.diagnose("GC104", varied.path, f"`{key}` of `values` has none", help))
    shared = _shared(axis, set())
    for number, (name, node) in enumerate(named):
        if name in dict(named[:number]):
            help = f"leave one out, or name each: values = {{ {key} = {{ NAME = ..., OTHER = ... }} }}"
            raise _Refused(source.diagnose("GC201", node.path, f"two values are called `{name}`", help))
        level = {"id": PlacedValue(name, node.source, node.path), **shared, key: node}
        yield PlacedValue(level, node.source, node.path)


def _varied_part(key: str, varied: PlacedValue) -> str | None:
    """The part of a key whose values are listed; None where the key's own values are named."""
    if key not in PARTED or not isinstance(varied.value, dict):
        return None
    listed = [part for part, node in varied.value.items() if isinstance(node.value, list)]
    if listed and len(varied.value) > 1:
        help = (
            f"an axis for each; or name the levels: {key} = {{ NAME = {{ {listed[0]} = ... }}, OTHER = ... }}"
        )
        message = f"several parts of `{key}` vary in one axis"
        raise _Refused(varied.source.diagnose("GC104", varied.path, message, help))
    return listed[0] if listed else None


def _of_part(part: str, node: PlacedValue) -> PlacedValue:
    return PlacedValue({part: node}, node.source, node.path)


def _name(key: str, node: PlacedValue) -> str:
    """The name of a level that is stated only by its value: a number as canonical JSON writes it, so that 0
    and 0.0 have one name; a text with dashes for characters that an id cannot have."""
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
    level_file: LevelFile,
    tree: PlacedValue,
    folder: Path,
    files: dict[Path, Source],
    rules: list[PlacedValue],
) -> list[PlacedValue]:
    name = level_file.source.removeprefix("path:")
    path, text = _read(level_file.source, file, folder)
    files[path] = Source(path, text, {})
    rows = list(_rows(name, text, file))
    columns = {column for _, row in rows for column in row}
    of_columns, fixed = _columns(file, columns, _tiers(tree), name)
    shared = {**_shared(axis, {*of_columns, *fixed} & set(OF_AXIS)), **fixed}
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
    without_level = [benchmark for benchmark in _benchmarks(tree) if benchmark not in tied]
    if (
        without_level
        and sum(map(len, tied.values())) == len(levels)
        and not {"level", "values"} & axis.value.keys()
    ):
        node, help = file.value["benchmark"], "an empty field: a level of every benchmark"
        message = f"no level of {_called(axis)} is one of `{without_level[0]}`"
        raise _Refused(node.source.diagnose("GC301", node.path, message, help))
    rules += _kept_apart(axis, file, tied, tree, name)
    return levels


def _read(reference: str, file: PlacedValue, folder: Path) -> tuple[Path, str]:
    """A file beside the spec, and its text."""
    where = file.value["source"]
    try:
        path = ReferenceFolders(folder).listing(reference)
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

    number = levels = 0
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
                    levels += 1
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
                raise refuse(number, "it is not an object with keys")
            levels += 1
            yield number, row
    if not levels:
        raise refuse(1, "no row holds a level")


def _columns(
    file: PlacedValue, columns: set[str], tiers: tuple[str, ...], name: str
) -> tuple[dict[str, PlacedValue], dict[str, PlacedValue]]:
    """For each key the column that holds it, and what is the same in every row."""
    wrong = []
    of_columns: dict[str, PlacedValue] = {}
    fixed: dict[str, PlacedValue] = {}
    for key, node in file.value.items():
        if key == "source":
            continue
        if key == "tier" and node.value in tiers:
            fixed[key] = node
            continue
        of_columns[key] = node
        for column in node.value.values() if isinstance(node.value, dict) else [node]:
            if column.value not in columns:
                message = f"`{name}` has no column `{column.value}`"
                help = did_you_mean(column.value, [*sorted(columns), *(tiers if key == "tier" else ())])
                if key in OF_AXIS and help.startswith("known"):
                    help += f"; or leave it out here and write {_EXAMPLES[key]} in the axis"
                wrong.append(column.source.diagnose("GC202", column.path, message, help))
    if wrong:
        raise _Refused(*wrong)
    return of_columns, fixed


def _cell(node: PlacedValue, row: Mapping[str, Any], at: str) -> PlacedValue | None:
    """What a row has in a column, or in those of a table; None where the field is empty."""
    if isinstance(node.value, dict):
        parts = {part: _cell(column, row, at) for part, column in node.value.items()}
        filled = {part: value for part, value in parts.items() if value is not None}
        return PlacedValue(filled, node.source, node.path, at) if filled else None
    value = row.get(node.value)
    return None if value in (None, "") else _placed_in_row(value, node, at)


def _placed_in_row(value: Any, node: PlacedValue, at: str) -> PlacedValue:
    """A value of a row at the place of its column."""
    # JSON rows often number their levels, and an id is text.
    if node.path[-1] == "id" and isinstance(value, int):
        value = str(value)
    return PlacedValue(value, node.source, node.path, at)


def _tiers(tree: PlacedValue) -> tuple[str, ...]:
    study = tree.value.get("study")
    declared = study.plain().get("tiers") if study is not None and isinstance(study.value, dict) else None
    return tuple(map(str, declared)) if isinstance(declared, list) else TIERS


# levels of one benchmark


def _benchmarks(tree: PlacedValue) -> list[str]:
    listed = tree.value.get("benchmark")
    entries = listed.value if listed is not None and isinstance(listed.value, list) else []
    return [name for entry in entries if (name := text_at(entry, "id")) is not None]


def _require_benchmark(benchmark: PlacedValue, tree: PlacedValue, file: PlacedValue) -> None:
    declared = _benchmarks(tree)
    if benchmark.value not in declared:
        message = f"no benchmark is called `{benchmark.value}` ({benchmark.row})"
        help = did_you_mean(str(benchmark.value), declared)
        raise _Refused(benchmark.source.diagnose("GC202", benchmark.path, message, help))


def _kept_apart(
    axis: PlacedValue, file: PlacedValue, tied: Mapping[str, list[str]], tree: PlacedValue, name: str
) -> Iterator[PlacedValue]:
    """An exclusion for each benchmark that has levels of its own: no other benchmark is asked with them."""
    for benchmark, ids in tied.items():
        if {benchmark} == set(_benchmarks(tree)):
            continue  # there is no other
        node = file.value["benchmark"]
        when = {str(entry_id(axis)): ids, "benchmark": {"not": benchmark}}
        rule = placed({"when": when, "why": f"they are levels of `{benchmark}` ({name})"}, node.source, ())
        yield _placed(rule, node.path)


def _placed(node: PlacedValue, path: KeyPath) -> PlacedValue:
    """A generated table, placed where the key that generates it stands: it is written nowhere itself."""
    value = node.value
    if isinstance(value, dict):
        value = {key: _placed(inner, path) for key, inner in value.items()}
    elif isinstance(value, list):
        value = [_placed(inner, path) for inner in value]
    return PlacedValue(value, node.source, path)


EXTENDS, REMOVE = "extends", "remove"
MOST_FILES = 8


def expanded(source: Source) -> Source:
    """The spec with what it extends and the levels of its axes written out; itself where there is nothing to
    write out. Raises `SpecError`."""
    extends = EXTENDS in source.values or REMOVE in source.values
    if not (extends or states_levels(source.values) or states_several(source.values)):
        return source
    files: list[Source] = []
    tree = _expand(source, files)
    tree, listed = with_levels(tree, source)
    return ExpandedSpec(source.path, source.text, tree.plain(), (*files, *listed), tree)


def expanded_text(source: Source) -> str:
    """The spec as one text: as it is written, or, where there is something to write out, written out."""
    if not isinstance(source, ExpandedSpec):
        return source.text
    import tomlkit

    return tomlkit.dumps(source.values)


def spec_files(path: Path) -> dict[Path, str]:
    """The files that a spec is written in, itself first, with their digests. Files that cannot be read are
    left out: who asks has a lock or a report to make, and the spec's errors are shown elsewhere."""
    digests: dict[Path, str] = {}
    with suppress(SpecError, OSError):
        source = read_source(path)
        digests[path] = digest_bytes(source.text.encode())
        for base in expanded(source).others:
            digests[base.path] = digest_bytes(base.text.encode())
    return digests


def _expand(source: Source, above: list[Source]) -> PlacedValue:
    """The tree of a spec, on top of its bases. `above` has the files that extend it; the spec and its bases
    are added to it."""
    above.append(source)
    written = {key: value for key, value in source.values.items() if key not in (EXTENDS, REMOVE)}
    tree = one_each(placed(written, source, ()))
    if EXTENDS not in source.values:
        if REMOVE in source.values:
            message, help = "`remove` says what is left out of a base", 'name it: extends = "base.toml"'
            raise SpecError([source.diagnose("GC105", (REMOVE,), message, help, at_key=True)])
        return tree
    base = whole = _expand(_base(source, above), above)
    findings = list(_idle(base, tree))
    for number, name in enumerate(_removed(source)):
        base, problem = _tree_without(base, name)
        if problem is not None:
            message, help = problem
            findings.append(source.diagnose("GC202", (REMOVE, number), message, help))
    if findings:
        raise SpecError(findings)
    emptied = {key for key, node in base.value.items() if node.value == [] != whole.value[key].value}
    base = _with_value(base, {key: node for key, node in base.value.items() if key not in emptied})
    return _document(base, tree)


def _base(source: Source, above: Sequence[Source]) -> Source:
    """The file that a spec extends, which lies beside it."""

    def refuse(code: str, message: str, help: str) -> SpecError:
        return SpecError([source.diagnose(code, (EXTENDS,), message, help)])

    name = source.values[EXTENDS]
    if not isinstance(name, str):
        raise refuse("GC102", "`extends` must be text", 'the file that it extends: extends = "base.toml"')
    folder = Path() if source.path == STDIN else source.path.parent
    path = folder / name
    parts = PurePosixPath(name)
    inside = len(parts.parts) == 1 and parts.name not in ("", "..") and "\\" not in name and "\0" not in name
    if not inside:
        raise refuse(
            "GC308", f"`{name}` is not a file beside the spec", "a base lies in the spec's own folder"
        )
    if not is_there(path, Path.is_file):
        help = near_files(path, beside=source.path) or "it is looked up beside the spec"
        raise refuse("GC309", f"`{name}` is not a file", help)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise refuse("GC308", f"`{name}` leads outside the spec's folder", "put a copy beside the spec")
    if path.resolve() in [file.path.resolve() for file in above]:
        names = " -> ".join([*(file.path.name for file in above), name])
        raise refuse("GC320", f"`extends` is circular: {names}", "a base extends none of those above it")
    if len(above) >= MOST_FILES:
        message = f"`extends` goes through more than {MOST_FILES} files"
        raise refuse("GC320", message, "`gridc validate --expanded` writes a base out as one file")
    return read_source(path)


def _removed(source: Source) -> list[str]:
    names = source.values.get(REMOVE, [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        help = 'remove = ["axis.template.level.T2", "benchmark.bbq.exemplars"]'
        raise SpecError([source.diagnose("GC102", (REMOVE,), "`remove` must be a list of paths", help)])
    return names


def _idle(base: PlacedValue, top: PlacedValue) -> Iterator[Diagnostic]:
    """An empty list where the base has entries would add none, and reads as if it took them away."""
    for key, node in top.value.items():
        if node.value == [] and key in base.value and base.value[key].value:
            help = f'remove = ["{key}"] leaves the base\'s out'
            message = f"`{key} = []` adds nothing to the base's `{key}`"
            yield node.source.diagnose("GC105", node.path, message, help, at_key=True)


# merging


def _document(base: PlacedValue, top: PlacedValue) -> PlacedValue:
    merged = dict(base.value)
    for key, node in top.value.items():
        below = base.value.get(key)
        if below is None:
            merged[key] = node
        elif isinstance(below.value, dict) and isinstance(node.value, dict):
            merged[key] = _table(below, node)
        elif _is_table_array(below) and _is_table_array(node):
            merged[key] = _entries(below, node)
        else:
            merged[key] = node
    return PlacedValue(merged, top.source, top.path)


def _table(base: PlacedValue, top: PlacedValue) -> PlacedValue:
    merged = dict(base.value)
    for key, node in top.value.items():
        below = base.value.get(key)
        named = (
            below is not None
            and _is_table_array(below)
            and _is_table_array(node)
            and all(map(entry_id, below.value + node.value))
        )
        merged[key] = _entries(below, node) if below is not None and named else node
    return PlacedValue(merged, top.source, top.path)


def _entries(base: PlacedValue, top: PlacedValue) -> PlacedValue:
    merged: list[PlacedValue] = list(base.value)
    places = {entry_id(entry): place for place, entry in enumerate(merged) if entry_id(entry)}
    for entry in top.value:
        place = places.pop(entry_id(entry), None)  # a second entry with this id is added, and refused later
        if place is None:
            merged.append(entry)
        else:
            merged[place] = _table(merged[place], entry)
    return PlacedValue(merged, top.source, top.path)


def _is_table_array(node: PlacedValue) -> bool:
    return isinstance(node.value, list) and all(isinstance(entry.value, dict) for entry in node.value)


# removing


def _tree_without(node: PlacedValue, path: str) -> tuple[PlacedValue, tuple[str, str] | None]:
    """The tree without what a path names by keys and ids of entries (a waiver's code); and where nothing
    fits, a problem and a way out. Ids may hold dots, so the longest name that fits is taken."""
    parts = _parts(node)
    fits = [name for name in parts if path == name or path.startswith(f"{name}.")]
    if not fits:
        wrong = path.partition(".")[0]
        return node, (f"the base has no `{wrong}` to remove", did_you_mean(wrong, parts))
    name = max(fits, key=len)
    rest = path[len(name) + 1 :]
    if not rest:
        if isinstance(node.value, dict):
            return _with_value(node, {key: inner for key, inner in node.value.items() if key != name}), None
        return _with_value(node, [entry for entry in node.value if _entry_name(entry) != name]), None
    inner, problem = _tree_without(parts[name], rest)
    if isinstance(node.value, dict):
        return _with_value(node, {**node.value, name: inner}), problem
    return _with_value(node, [inner if entry is parts[name] else entry for entry in node.value]), problem


def _parts(node: PlacedValue) -> Mapping[str, PlacedValue]:
    if isinstance(node.value, dict):
        return node.value
    if not isinstance(node.value, list):
        return {}
    return {name: entry for entry in node.value if (name := _entry_name(entry)) is not None}


def _entry_name(entry: PlacedValue) -> str | None:
    return entry_id(entry) or text_at(entry, "code")


def _with_value(node: PlacedValue, value: Any) -> PlacedValue:
    return PlacedValue(value, node.source, node.path)


def base_digests(path: Path) -> dict[str, str]:
    """SHA-256 of the files that a spec is written in, by name, as a lock holds them; empty where the spec is
    one file, which the stamp covers already."""
    files = spec_files(path)
    return {file.name: value for file, value in files.items()} if len(files) > 1 else {}
