"""The tasks of lm-evaluation-harness that are installed here, by name, read from its files as text.

Nothing of the package is imported or run: of each YAML file the few keys at its top level are read that say
what it is, and files that it includes are followed. That is a small part of YAML, and all that an index
needs.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from gridc.compiler.frontend.validate import did_you_mean
from gridc.diagnostics.errors import Diagnostic, UnavailableError, UsageError
from gridc.files import open_regular

PACKAGE = "lm_eval"
INSTALL = "pip install 'gridc[lm-eval]'"

TaskSort = Literal["group", "tag", "task"]
"""A group names its members and may have a score of its own; a tag is what tasks have in common."""
SORTS: tuple[TaskSort, ...] = get_args(TaskSort)

_NOT_LOOKED_AT = ("__pycache__", ".ipynb_checkpoints")
_KEYS = (
    "task", "group", "tag", "include", "output_type", "class", "num_fewshot", "metric_list",
    "metric", "dataset_path",
)  # fmt: skip
_KEY = re.compile(rf"""^(["']?)({"|".join(_KEYS)})\1[ \t]*:(?=[ \t\r\n]|\Z)[ \t]*""", re.MULTILINE)
_END = re.compile(r"^(?![ \t\r\n#]|-[ \t\r\n]|\])", re.MULTILINE)
"""Where the value of a key has ended: a line that begins at the left and is no part of a list."""
_ITEM = re.compile(r"^([ \t]*)-(?:[ \t]+|$)", re.MULTILINE)
_SCALAR = re.compile(
    r"""!function[ \t]+["']?([^\s"']+)["']?"""
    r"""|"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'"""
    r"|([^#\n]*?)[ \t\r]*(?:[ \t]#.*)?(?:\n|\Z)"
)
_FLOW = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,\[\]]+?))\s*(?:,|\Z)""")
_NOTHING = ("", "null", "Null", "NULL", "~")

YamlValue = str | list["YamlValue"] | dict[str, "YamlValue"] | None


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """A name that lm-evaluation-harness knows. `file` is relative to the folder that holds the package; a tag
    has none. `output_type`, `metrics` and `shots` are what the file of a task says; `members` are the names
    that a group lists (of a member without one its data set), and the tasks that have a tag."""

    name: str
    sort: TaskSort
    file: str | None = None
    output_type: str | None = None
    metrics: tuple[str, ...] = ()
    shots: int | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskIndex:
    """Every name with its entry, groups first, then tags and tasks. `unread` are the files that could not be
    read, with the reason."""

    entries: Mapping[str, TaskEntry]
    unread: tuple[str, ...] = ()

    def named(self, name: str) -> TaskEntry:
        """The entry of this name. Raises `UsageError` with near names."""
        found = self.entries.get(name)
        if found is None:
            message = f"lm_eval has no task, group or tag `{name}`"
            raise UsageError([Diagnostic("GC000", message, help=self.near(name))])
        return found

    def near(self, name: str) -> str:
        """Names that may be meant, in a line of help."""
        alike = [known for known in self.entries if known.lower() == name.lower()]
        parts = [known for known in self.entries if name and name.lower() in known.lower()]
        if alike or not parts:
            near = did_you_mean(name, alike or self.entries)
            return (
                near
                if near.startswith("did you mean")
                else "`gridc tasks WORD` lists names with WORD in them"
            )
        shown = ", ".join(f"`{known}`" for known in parts[:NEAR])
        more = (
            "" if len(parts) <= NEAR else f" and {len(parts) - NEAR:,} more: `gridc tasks {name}` lists them"
        )
        return f"there is {shown}{more}"

    def search(self, words: Sequence[str]) -> list[TaskEntry]:
        """The entries whose name has every word in it, whatever the case; a word with `*`, `?` or `[` is a
        pattern for the whole name. A name that is the one word stands first. Raises `UsageError` where
        there is none."""
        wanted = [word.lower() for word in words]
        found = [
            entry for entry in self.entries.values() if all(_has(entry.name.lower(), word) for word in wanted)
        ]
        if not found:
            asked = " ".join(words)
            raise UsageError(
                [Diagnostic("GC000", f"no name in lm_eval has `{asked}` in it", help=self.near(asked))]
            )
        return sorted(found, key=lambda entry: [entry.name.lower()] != wanted)


NEAR = 4
"""Names with a word in them that a line of help lists."""


def _has(name: str, word: str) -> bool:
    return fnmatchcase(name, word) if any(mark in word for mark in "*?[") else word in name


def is_installed() -> bool:
    """Whether there is such a package, which is not imported."""
    return find_spec(PACKAGE) is not None


def package_folder() -> Path:
    """Where lm-evaluation-harness is installed. Raises `UnavailableError` where it is not."""
    found = find_spec(PACKAGE)
    folders = [] if found is None else list(found.submodule_search_locations or ())
    for folder in map(Path, folders):
        if (folder / "tasks").is_dir():
            return folder
    message = "lm-evaluation-harness (lm_eval) is not installed here"
    raise UnavailableError([Diagnostic("GC604", message, help=INSTALL)])


def installed_tasks() -> TaskIndex:
    """The index of the package that is installed. Raises `UnavailableError` where none is."""
    return read_tasks(package_folder())


def read_tasks(package: Path) -> TaskIndex:
    """The index of the YAML files in `tasks` of a package's folder. As in lm_eval, files are read in the
    order of their paths, and of two with one name the first counts; a file that names neither a task nor a
    group is one that others include."""
    reading = _Reading()
    entries: dict[str, TaskEntry] = {}
    tags: dict[str, list[str]] = {}
    unread: list[str] = []
    beside = len(str(package.parent)) + 1
    for path in sorted(_yaml_files(str(package / "tasks"))):
        file = path[beside:].replace(os.sep, "/")
        try:
            entry, own_tags = _entry(reading.merged(path), file)
        except (OSError, UnicodeDecodeError, RecursionError) as error:
            unread.append(f"{file}: {_why(error)}")
            continue
        if entry is None or entry.name in entries or entry.name in tags:
            continue
        entries[entry.name] = entry
        if entry.sort == "task":
            for tag in own_tags:
                tags.setdefault(tag, []).append(entry.name)
    for tag, members in tags.items():
        entries.setdefault(tag, TaskEntry(tag, "tag", members=tuple(members)))
    ordered = sorted(entries.values(), key=lambda entry: (SORTS.index(entry.sort), entry.name))
    return TaskIndex({entry.name: entry for entry in ordered}, tuple(unread))


def _why(error: Exception) -> str:
    """Why a file is not read."""
    if isinstance(error, OSError):
        return f"{os.path.basename(error.filename)}: {error.strerror}"  # noqa: PTH119  # a text, as the others
    return "it includes itself" if isinstance(error, RecursionError) else "it is not UTF-8"


def own_task(path: str) -> TaskEntry | None:
    """The task or group that a YAML file of one's own names; None where it names none. What it includes and
    cannot be read here is left to lm_eval. Raises `OSError`."""
    with open_regular(Path(path)) as opened:
        text = opened.read().decode("utf-8", "replace")
    try:
        stated = _Reading().merged(path)
    except (OSError, UnicodeDecodeError, RecursionError):
        stated = _keys(text)
    return _entry(stated, os.path.basename(path))[0]  # noqa: PTH119  # a text, as the others


def _yaml_files(folder: str) -> Iterator[str]:
    """Text and not `Path`: there are many thousands."""
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NOT_LOOKED_AT]
        yield from (f"{here}/{name}" for name in names if name.endswith(".yaml"))


def _entry(stated: Mapping[str, YamlValue], file: str) -> tuple[TaskEntry | None, list[str]]:
    """What a file names, and its tags."""
    group, task = stated.get("group"), stated.get("task")
    name = group if group is not None and "class" not in stated else task
    if not isinstance(name, str):
        return None, []
    if name is group:
        return TaskEntry(
            name, "group", file, members=tuple(_names(task, "group", "task", "dataset_path"))
        ), []
    output, shots = stated.get("output_type"), stated.get("num_fewshot")
    entry = TaskEntry(
        name,
        "task",
        file,
        output if isinstance(output, str) else None,
        tuple(metric.rpartition(".")[2] for metric in _names(stated.get("metric_list"), "metric")),
        int(shots) if isinstance(shots, str) and shots.isdecimal() else None,
    )
    return entry, list(_names(stated.get("tag")))


def _names(value: YamlValue, *keys: str) -> Iterator[str]:
    """The texts of a value that is one or a list of them; of a table in the list the first of these keys."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, Mapping):
            each = next((each[key] for key in keys if each.get(key) is not None), None)
        if isinstance(each, str):
            yield each


@dataclass(slots=True)
class _Reading:
    """Files with what they include. A file that thousands include is read once."""

    included: dict[str, dict[str, YamlValue]] = field(default_factory=dict)

    def merged(self, path: str) -> dict[str, YamlValue]:
        """The keys of a file, and below them those of the files that it includes."""
        with open(path, "rb") as opened:  # noqa: PTH123  # half the time of `Path.read_text`
            stated = _keys(opened.read().decode("utf-8"))
        own: dict[str, YamlValue] = {}
        for include in _names(stated.pop("include", None)):
            other = os.path.normpath(f"{os.path.dirname(path)}/{include}")  # noqa: PTH120  # as above
            if other not in self.included:
                self.included[other] = self.merged(other)
            own |= self.included[other]
        return own | stated


def _keys(text: str) -> dict[str, YamlValue]:
    """The values of those keys that stand at the left of a YAML text."""
    stated: dict[str, YamlValue] = {}
    for found in _KEY.finditer(text):
        line_end = text.find("\n", found.end())
        first = text[found.end() :] if line_end < 0 else text[found.end() : line_end + 1]
        rest = "" if line_end < 0 else text[line_end + 1 :]
        more = _END.search(rest)
        stated[found[2]] = _value(first, rest[: more.start()] if more else rest)
    return stated


def _value(first: str, rest: str) -> YamlValue:
    """A value by what stands in the line of its key, and in the lines below."""
    if first.startswith("["):
        inner = (first + rest).partition("]")[0][1:]
        return [_plain(next(filter(None, found.groups()))) for found in _FLOW.finditer(inner)]
    scalar = _plain(first)
    if scalar is not None or not rest.strip():
        return scalar
    return list(_items(rest))


def _items(text: str) -> Iterator[YamlValue]:
    """The items of a list, which stand behind hyphens of one column."""
    first = _ITEM.search(text)
    if first is None:
        return
    starts = [found for found in _ITEM.finditer(text) if found[1] == first[1]]
    ends = [found.start() for found in starts[1:]] + [len(text)]
    for found, end in zip(starts, ends, strict=True):
        body = text[found.end() : end]
        indent = " " * (found.end() - found.start())
        table = _keys("\n".join(line.removeprefix(indent) for line in body.split("\n")))
        yield table or _plain(body)


def _plain(text: str) -> str | None:
    """A text, without quotes and without the comment behind it; the name of a function."""
    found = _SCALAR.match(text)
    if found is None:
        return None
    function, double, single, plain = found.groups()
    if plain is not None:
        return None if plain in _NOTHING or plain.startswith("#") else plain
    return function if function is not None else double if double is not None else single.replace("''", "'")
