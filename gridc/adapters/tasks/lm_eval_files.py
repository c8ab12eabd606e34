"""Which files a task of lm-evaluation-harness consists of, and what they configure.

Nothing here runs code of a task: YAML files are read with the names of their functions in place of them.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

DEEPEST = 20
"""Groups in groups at most."""

_FUNCTION = "!function"
_NAMING = re.compile(
    rb"""^["']?(?:task|group|tag)["']?[ \t]*:[ \t]*(.*(?:\n(?:[ \t].*|-.*|))*)""", re.MULTILINE
)
_INCLUDING = re.compile(rb"""^["']?include["']?[ \t]*:[ \t]*(.*(?:\n(?:[ \t].*|-.*|))*)""", re.MULTILINE)
_BETWEEN = re.compile(r"""[\s"',\[\]{}]+""")


class Refused(ValueError):
    """A task that gridc does not take. The message is a sentence that names it."""


@dataclass(frozen=True)
class Leaf:
    """A task, as configured in its file, the files that it includes and the groups that it is asked in."""

    name: str
    config: Mapping[str, Any]
    """Functions are texts, such as `FOLDER/utils.process_docs`."""


@dataclass
class TaskSource:
    """A task, a group or a tag. `index` has what lm_eval registers of its names, `paths` every file."""

    entry: Any
    index: dict[str, Any]
    leaves: list[Leaf] = field(default_factory=list)
    paths: set[Path] = field(default_factory=set)


def find_task(source: str, folder: Path, overrides: Mapping[str, Any]) -> TaskSource:
    """What is registered as `source`, or configured in the YAML file of that path in the folder. `overrides`
    are keys of the configuration that every task of it gets. Raises `Refused`."""
    from lm_eval.tasks._index import TaskIndex

    if Path(source).suffix in (".yaml", ".yml"):
        path = (folder / source).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise Refused(f"the task file {source} lies outside the folder of the spec")
        if not path.is_file():
            raise Refused(f"there is no task file {source} in the folder of the spec")
        config = _config(path)
        if not _names_itself(config):
            raise Refused(f"the task file {source} names no task and no group")
        alone: dict[str, Any] = {}
        TaskIndex.process_cfg(config, path, alone)
        entry = next(held for held in alone.values() if held.yaml_path is not None)  # the others are tags
        found = TaskSource(entry, registered(_children(config)))
    else:
        index = registered([source])
        if source not in index:
            raise Refused(f"lm_eval has no task, group or tag {source}")
        found = TaskSource(index[source], index)
    found.leaves = list(_leaves(found, found.entry, overrides, 0))
    if not found.leaves:
        raise Refused(f"the group {source} has no tasks")
    for path in sorted(found.paths):
        for base, function in _functions(path):
            found.paths |= _modules(base, function)
    return found


def digests(found: TaskSource, folder: Path) -> dict[str, str]:
    """SHA-256 of every file by name: `lm_eval/tasks/...`, or its path in the folder. Raises `Refused`."""
    return {
        _name(path, folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(found.paths)
    }


def own(found: TaskSource, folder: Path) -> list[str]:
    """The names of the files that lie in the folder, and not in lm_eval."""
    return sorted(_name(path, folder) for path in found.paths if not path.is_relative_to(_package().parent))


def registered(names: Iterable[str]) -> dict[str, Any]:
    """What lm_eval's index has of these names and of all that they lead to. lm_eval reads 14,000 files for
    it; here only those are read as YAML that mention a name."""
    from lm_eval.tasks._index import TaskIndex

    mentions = _mentions()
    wanted, known = set(names), set[str]()
    index: dict[str, Any] = {}
    paths: set[Path] = set()
    while wanted > known:
        paths.update(path for name in wanted - known for path in mentions.get(name, ()))
        known |= wanted
        index = {}
        for path in sorted(paths, key=Path.as_posix):  # of two files with one name lm_eval takes the first
            config = _quietly(path)
            if config is not None:
                TaskIndex.process_cfg(config, path, index)
        for name in known & index.keys():
            entry = index[name]
            wanted |= set(_children(entry.cfg)) if entry.cfg else entry.tags
    return {name: entry for name, entry in index.items() if name in known}


def _children(config: Mapping[str, Any] | None) -> Iterator[str]:
    """The names that a group has in its list of tasks, also of the groups that are written out there."""
    listed = (config or {}).get("task")
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            named = item.get("group", item.get("task"))
            if isinstance(named, str):
                yield named
            if "group" in item:
                yield from _children(item)


def _leaves(found: TaskSource, entry: Any, overrides: Mapping[str, Any], depth: int) -> Iterator[Leaf]:
    """The tasks of an entry in lm_eval's order, with the keys that groups set for their members."""
    from lm_eval.tasks._index import Kind

    if depth > DEEPEST:
        raise Refused(f"the group {entry.name} lies more than {DEEPEST} groups deep")
    if entry.kind is Kind.TAG:
        for name in sorted(entry.tags & found.index.keys()):
            yield from _leaves(found, found.index[name], overrides, depth + 1)
        return
    config = _config(entry.yaml_path)
    found.paths |= _included(entry.yaml_path)
    if entry.kind is Kind.GROUP:
        yield from _members(found, entry.name, config, overrides, depth)
    else:
        merged = {**config, **overrides}
        yield Leaf(merged["task"], merged)


def _members(
    found: TaskSource, group: str, config: Mapping[str, Any], overrides: Mapping[str, Any], depth: int
) -> Iterator[Leaf]:
    from lm_eval.tasks._factory import GROUP_FIELD_NAMES
    from lm_eval.tasks._index import Kind

    shared = {key: value for key, value in config.items() if key not in GROUP_FIELD_NAMES} | dict(overrides)
    listed = config.get("task")
    for item in listed if isinstance(listed, list) else ():
        stated = {"task": item} if isinstance(item, str) else item
        if not isinstance(stated, dict) or not {"task", "group"} & stated.keys():
            raise Refused(f"the group {group} has a member without a name")
        if "group" in stated:
            name = stated["group"]
            if name in found.index:
                changed = {**shared, **{key: value for key, value in stated.items() if key != "group"}}
                yield from _leaves(found, found.index[name], changed, depth + 1)
            else:
                yield from _members(found, f"{group}::{name}", stated, shared, depth + 1)
            continue
        name = stated["task"]
        changed = shared if isinstance(item, str) else {**shared, **stated}
        if name not in found.index:
            if isinstance(item, str):
                raise Refused(f"the group {group} names {name}, which lm_eval does not have")
            yield Leaf(f"{group}::{name}", {**changed, "task": f"{group}::{name}"})
        elif found.index[name].kind is Kind.TAG:
            for member in sorted(found.index[name].tags & found.index.keys()):
                yield from _leaves(found, found.index[member], {"task": member, **changed}, depth + 1)
        else:
            changed = changed if found.index[name].kind is Kind.GROUP else {"task": name, **changed}
            yield from _leaves(found, found.index[name], changed, depth + 1)


def _config(path: Path) -> dict[str, Any]:
    """The configuration of a file and those that it includes. Raises `Refused`."""
    from lm_eval.tasks._yaml_loader import load_yaml

    try:
        config: dict[str, Any] = load_yaml(path, resolve_func=False)
    except Exception as error:  # whatever YAML, a missing file or a cycle comes to
        raise Refused(f"lm_eval cannot read the task file {path.name}: {words(error)}") from error
    return config


@cache
def _quietly(path: Path) -> dict[str, Any] | None:
    """The same of a file that lm_eval ships. One that it cannot read, or that names nothing, it skips."""
    try:
        config = _config(path)
    except Refused:
        return None
    return config if config.keys() & {"task", "group", "class"} and _names_itself(config) else None


def _names_itself(config: Mapping[str, Any]) -> bool:
    return isinstance(config.get("group" if "group" in config and "class" not in config else "task"), str)


def _included(path: Path) -> set[Path]:
    """A file and those that it includes."""
    from lm_eval.tasks._yaml_loader import load_yaml

    paths: set[Path] = set()
    load_yaml(path, resolve_func=False, _seen=paths)
    return paths


def _functions(path: Path) -> Iterator[tuple[Path, str]]:
    """The functions that a YAML file names, each with the folder of the file."""
    import yaml

    data = path.read_bytes()
    if path.suffix == ".py" or _FUNCTION.encode() not in data:
        return
    left = [yaml.compose(data, Loader=yaml.SafeLoader)]
    while left:
        node = left.pop()
        if isinstance(node, yaml.ScalarNode):
            if node.tag == _FUNCTION:
                yield path.parent, node.value
        elif isinstance(node, yaml.MappingNode):
            left += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            left += node.value


def _modules(base: Path, function: str) -> set[Path]:
    """The file of a function, and those of lm_eval's tasks that it imports. Raises `Refused`."""
    module = function.rpartition(".")[0]
    beside = (base / f"{module.replace('.', '/')}.py").resolve()
    first = beside if beside.is_file() else _shipped_module(module)
    if first is None:
        raise Refused(f"the function {function} lies in no file beside the task file that names it")
    found: set[Path] = set()
    left = [first]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += _imported(path)
    return found


@cache
def _imported(path: Path) -> list[Path]:
    """The files of lm_eval's tasks that a module imports."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # running it will say so
        return []
    named: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = node.module or ""
            if node.level:
                if not path.is_relative_to(_package()):
                    continue
                around = path.relative_to(_package().parent).parts[: -node.level]
                start = ".".join((*around, *([start] if start else [])))
            named += [start, *(f"{start}.{alias.name}" for alias in node.names)]
    return [found for name in named if (found := _shipped_module(name)) is not None]


def _shipped_module(name: str) -> Path | None:
    if not name.startswith("lm_eval.tasks."):
        return None
    stem = _package().parent.joinpath(*name.split("."))
    places = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
    return next((path.resolve() for path in places if path.is_file()), None)


def _package() -> Path:
    import lm_eval

    return Path(lm_eval.__file__).resolve().parent


def _name(path: Path, folder: Path) -> str:
    for root in (_package().parent, folder.resolve()):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    raise Refused(f"the file {path.name} of the task lies neither in lm_eval nor in the folder of the spec")


@cache
def _mentions() -> dict[str, list[Path]]:
    """The files that lm_eval ships, by each word that stands where a file names tasks, groups and tags."""
    from lm_eval.tasks._index import TaskIndex

    said: dict[Path, tuple[set[str], list[str]]] = {}

    def words_of(path: Path, depth: int = 0) -> set[str]:
        """What a file and those that it includes say."""
        if path not in said:
            try:
                data = path.read_bytes()
            except OSError:
                data = b""
            said[path] = _said(data, _NAMING), list(_said(data, _INCLUDING))
        found, includes = said[path]
        if depth < DEEPEST:
            for include in includes:
                found = found | words_of(path.parent / include, depth + 1)
        return found

    mentions: dict[str, list[Path]] = {}
    for path in TaskIndex._iter_yaml_files(_package() / "tasks"):
        for word in words_of(path):
            mentions.setdefault(word, []).append(path)
    return mentions


def _said(data: bytes, pattern: re.Pattern[bytes]) -> set[str]:
    """The words behind some keys, and their whole lines for names that hold a space."""
    found: set[str] = set()
    for match in pattern.finditer(data):
        text = match[1].decode("utf-8", "replace")
        found.update(_BETWEEN.split(text))
        found.update(line.strip(" \t\r-'\"") for line in text.split("\n"))
    return found - {"", "-"}


def words(error: BaseException) -> str:
    """What an exception says, in a line."""
    said = str(error).strip().split("\n")[0].strip()[:200]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
