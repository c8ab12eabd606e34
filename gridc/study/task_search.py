"""The tasks of lm-evaluation-harness that can be benchmarks, by name."""

from collections.abc import Sequence
from dataclasses import dataclass

from gridc.compiler.inputs.task_index import TaskEntry, installed_tasks

__all__ = ["FoundTasks", "TaskEntry", "search_tasks"]


@dataclass(frozen=True, slots=True)
class FoundTasks:
    """What a search found, groups before tags before tasks, of how many `names` there are of each sort, and
    the files of the package that could not be read."""

    found: tuple[TaskEntry, ...]
    names: dict[str, int]
    unread: tuple[str, ...]


def search_tasks(words: Sequence[str]) -> FoundTasks:
    """The names that have every word in them; all of them where there is no word. Raises `UsageError` where
    none has, and `UnavailableError` where lm_eval is not installed."""
    index = installed_tasks()
    names = {"group": 0, "tag": 0, "task": 0}
    for entry in index.entries.values():
        names[entry.sort] += 1
    return FoundTasks(tuple(index.search(words)), names, index.unread)
