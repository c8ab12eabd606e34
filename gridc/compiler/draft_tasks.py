"""Finds the tasks of lm-evaluation-harness for a first spec: by name, or in the user's own task file."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gridc.compiler.inputs.task_index import (
    TaskEntry,
    TaskIndex,
    installed_tasks,
    own_task,
)
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.numbers import counted

LOADER = "lm-eval"
SCHEME = f"{LOADER}:"
FILE_ENDS = (".yaml", ".yml")
SHOTS = 5
"""Exemplars of a task that does not say how many it has."""


@dataclass(frozen=True, slots=True)
class DraftTask:
    """A task as a benchmark. `shots` are the numbers of exemplars that it can be asked with, only 0 for a
    task that states to have none. `said` is a sentence on what was found."""

    id: str
    source: str
    shots: tuple[int, ...]
    said: str


def named_tasks(given: tuple[str, ...]) -> tuple[DraftTask, ...]:
    """The tasks, groups and tags of the installed lm_eval that are named `NAME` or `lm-eval:NAME`. Raises
    `UsageError` with every name that there is not, and `UnavailableError` where lm_eval is not installed."""
    if not given:
        return ()
    index = installed_tasks()
    tasks, unknown = [], list[Diagnostic]()
    for name in (text.removeprefix(SCHEME) for text in given):
        try:
            tasks.append(_of_entry(index.named(name), index))
        except UsageError as error:
            way = f"--benchmark {name} takes a task file" if name.endswith(FILE_ENDS) else None
            unknown += (
                error.diagnostics
                if way is None
                else [Diagnostic("GC000", f"`{name}` is a file, and not the name of a task", help=way)]
            )
    if unknown:
        raise UsageError(unknown)
    return tuple(tasks)


def task_in_file(source: str, folder: Path) -> DraftTask | None:
    """The task of a `path:` source that is a YAML file below a folder; None for any other source. Raises
    `UsageError` where the file names no task, and `OSError` where it cannot be read."""
    if not (source.startswith("path:") and source.endswith(FILE_ENDS)):
        return None
    name = source.removeprefix("path:")
    path = os.path.normpath(folder / name)
    if not os.path.isfile(path):  # noqa: PTH113  # `Path.is_file` raises where a name is too long
        return None
    entry = own_task(path)
    if entry is None:
        help = "a task file of lm-evaluation-harness has one; items lie in JSON, JSONL, CSV, TSV or Parquet"
        raise UsageError(
            [Diagnostic("GC000", f"`{name}` has no `task` and no `group` at its top level", help=help)]
        )
    return DraftTask(entry.name, source, _shots([entry]), f"{name}: {_found(entry)}")


def _of_entry(entry: TaskEntry, index: TaskIndex) -> DraftTask:
    leaves = list(dict.fromkeys(_tasks_of(entry, index, set())))
    settings = _found(entry) if entry.file is None else f"{_found(entry)}, from {entry.file}"
    return DraftTask(entry.name, f"task:{entry.name}", _shots(leaves or [entry]), settings)


def _tasks_of(entry: TaskEntry, index: TaskIndex, seen: set[str]) -> Iterator[TaskEntry]:
    """The tasks that a name stands for. A group may list what has no name of its own, which is left out."""
    if entry.name in seen:
        return
    seen.add(entry.name)
    if entry.sort == "task":
        yield entry
    for name in entry.members:
        if name in index.entries:
            yield from _tasks_of(index.entries[name], index, seen)


def _shots(tasks: list[TaskEntry]) -> tuple[int, ...]:
    """0, and each number that tasks state. Of tasks that are stated to have none lm_eval changes nothing."""
    settings = {SHOTS if task.shots is None else task.shots for task in tasks}
    return (0, *sorted(settings - {0}))


def _found(entry: TaskEntry) -> str:
    """What the files say of a name."""
    if entry.sort == "tag":
        return f"{entry.name} is a tag of {counted(len(entry.members), 'task')}"
    if entry.sort == "group":
        return f"{entry.name} is a group of {counted(len(entry.members), 'member')}"
    facts = [entry.output_type or "", ", ".join(entry.metrics)]
    facts.append("" if entry.shots is None else counted(entry.shots, "exemplar"))
    names = "; ".join(filter(None, facts))
    return f"{entry.name} is a task ({names})" if names else f"{entry.name} is a task"
