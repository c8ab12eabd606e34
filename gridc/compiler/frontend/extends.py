"""`extends = "base.toml"`: a spec that says only in what it differs from another one.

The base's tables stand, and the extension's are written over them:

    a table ([study], [analysis], ...)         key by key
    entries with an `id` ([[model]], ...)      into the base's entry of that id, or else added behind
    entries without one ([[exclude]], ...)     added behind the base's
    any other value                            in the place of the base's
    remove = ["axis.template.level.T2"]        left out of the base first

What is validated, stamped and run is the result. Every finding is shown in the file that has the line.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from gridc.compiler.frontend.levels import states_levels, with_levels
from gridc.compiler.frontend.placed import Expanded, PlacedValue, entry_id, placed, text_at
from gridc.compiler.frontend.source import STDIN, Source, near_files, read
from gridc.compiler.frontend.validate import did_you_mean
from gridc.diagnostics.errors import Diagnostic, SpecError
from gridc.files import is_there
from gridc.schema.canonical import digest_bytes

EXTENDS, REMOVE = "extends", "remove"
MOST_FILES = 8


def expanded(source: Source) -> Source:
    """The spec with what it extends and the levels of its axes written out; itself where there is nothing to
    write out. Raises `SpecError`."""
    extends = EXTENDS in source.values or REMOVE in source.values
    if not extends and not states_levels(source.values):
        return source
    files: list[Source] = []
    tree = _expand(source, files)
    tree, listed = with_levels(tree, source)
    return Expanded(source.path, source.text, tree.plain(), (*files, *listed), tree)


def expanded_text(source: Source) -> str:
    """The spec as one text: as it is written, or, where there is something to write out, written out."""
    if not isinstance(source, Expanded):
        return source.text
    import tomlkit

    return tomlkit.dumps(source.values)


def spec_files(path: Path) -> dict[Path, str]:
    """The files that a spec is written in, itself first, with their digests: those that can be read."""
    digests: dict[Path, str] = {}
    with suppress(SpecError, OSError):
        source = read(path)
        digests[path] = digest_bytes(source.text.encode())
        for base in expanded(source).others:
            digests[base.path] = digest_bytes(base.text.encode())
    return digests


def _expand(source: Source, above: list[Source]) -> PlacedValue:
    """The tree of a spec. `above` has the files that extend it, and gets it and its bases."""
    above.append(source)
    written = {key: value for key, value in source.values.items() if key not in (EXTENDS, REMOVE)}
    tree = placed(written, source, ())
    if EXTENDS not in source.values:
        if REMOVE in source.values:
            message, help = "`remove` says what is left out of a base", 'name it: extends = "base.toml"'
            raise SpecError([source.diagnose("GC105", (REMOVE,), message, help, at_key=True)])
        return tree
    base = whole = _expand(_base(source, above), above)
    findings = list(_idle(base, tree))
    for number, name in enumerate(_removed(source)):
        base, problem = _without(base, name)
        if problem is not None:
            message, help = problem
            findings.append(source.diagnose("GC202", (REMOVE, number), message, help))
    if findings:
        raise SpecError(findings)
    emptied = {key for key, node in base.value.items() if node.value == [] != whole.value[key].value}
    base = _with(base, {key: node for key, node in base.value.items() if key not in emptied})
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
    return read(path)


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
        elif _rows(below) and _rows(node):
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
            and _rows(below)
            and _rows(node)
            and all(map(entry_id, below.value + node.value))
        )
        merged[key] = _entries(below, node) if below is not None and named else node
    return PlacedValue(merged, top.source, top.path)


def _entries(base: PlacedValue, top: PlacedValue) -> PlacedValue:
    merged: list[PlacedValue] = list(base.value)
    places = {entry_id(entry): place for place, entry in enumerate(merged) if entry_id(entry)}
    for entry in top.value:
        place = places.pop(entry_id(entry), None)  # a second entry of an id is added, and refused as a twin
        if place is None:
            merged.append(entry)
        else:
            merged[place] = _table(merged[place], entry)
    return PlacedValue(merged, top.source, top.path)


def _rows(node: PlacedValue) -> bool:
    return isinstance(node.value, list) and all(isinstance(entry.value, dict) for entry in node.value)


# removing


def _without(node: PlacedValue, path: str) -> tuple[PlacedValue, tuple[str, str] | None]:
    """The tree without what a path names, as in `binds`: keys, and ids of entries (a waiver's code). A name
    may hold dots, so the longest that fits is meant. With a problem and a way out where nothing fits."""
    parts = _parts(node)
    fits = [name for name in parts if path == name or path.startswith(f"{name}.")]
    if not fits:
        wrong = path.partition(".")[0]
        return node, (f"the base has no `{wrong}` to remove", did_you_mean(wrong, parts))
    name = max(fits, key=len)
    rest = path[len(name) + 1 :]
    if not rest:
        if isinstance(node.value, dict):
            return _with(node, {key: inner for key, inner in node.value.items() if key != name}), None
        return _with(node, [entry for entry in node.value if _called(entry) != name]), None
    inner, problem = _without(parts[name], rest)
    if isinstance(node.value, dict):
        return _with(node, {**node.value, name: inner}), problem
    return _with(node, [inner if entry is parts[name] else entry for entry in node.value]), problem


def _parts(node: PlacedValue) -> Mapping[str, PlacedValue]:
    if isinstance(node.value, dict):
        return node.value
    if not isinstance(node.value, list):
        return {}
    return {name: entry for entry in node.value if (name := _called(entry)) is not None}


def _called(entry: PlacedValue) -> str | None:
    return entry_id(entry) or text_at(entry, "code")


def _with(node: PlacedValue, value: Any) -> PlacedValue:
    return PlacedValue(value, node.source, node.path)


def base_digests(path: Path) -> dict[str, str]:
    """By name, the files that a spec is written in, as a lock names them; nothing of a spec in one file."""
    files = spec_files(path)
    return {file.name: value for file, value in files.items()} if len(files) > 1 else {}
