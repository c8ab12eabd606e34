"""Lists of what was resolved, in SWE-bench's style: `report.json` with `resolved_ids`, or `results.json` with
`resolved`. Items are instance ids; the lists have no content.

A list that names only what was resolved leaves the rest out: an instance that another list or another run
names, or that there are more of by `total_instances`, it did not resolve.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from gridc.compiler.inputs.logs.files import LogFile, log_error
from gridc.compiler.inputs.logs.records import (
    MOST_ITEMS,
    LogAnswer,
    LogRun,
    PrintedScore,
    log_axis,
    log_reader,
)
from gridc.schema.comparison import AnswerState

PACKAGE = "resolved list"
NAMES: tuple[str, ...] = ()
SHAPES: tuple[frozenset[str], ...] = (frozenset(("resolved",)), frozenset(("resolved_ids",)))
log_reader(__name__, 100)
SCORED: Mapping[str, tuple[float | None, AnswerState]] = {
    "resolved": (1.0, "read"),
    "resolved_ids": (1.0, "read"),
    "unresolved_ids": (0.0, "read"),
    "empty_patch_ids": (0.0, "unreadable"),
    "no_generation": (0.0, "unreadable"),
    "error_ids": (None, "failed"),
    "incomplete_ids": (None, "unscored"),
    "completed_ids": (0.0, "read"),
    "submitted_ids": (0.0, "read"),
    "generated": (0.0, "read"),
    "no_logs": (0.0, "read"),
}
"""What an id in a list earns. An id in several lists earns what the first of them says."""
UNKNOWN = ("what is asked: items match by id", "prompts", "decoding", "answers", "versions")


def claims(file: LogFile) -> bool:
    return file.suffix == ".json" and bool(file.keys & {"resolved", "resolved_ids"})


def belongs(file: LogFile) -> bool:
    return False


def runs(file: LogFile) -> Iterator[LogRun]:
    document = file.document
    lists = {name: document[name] for name in SCORED if name in document}
    for name, ids in lists.items():
        if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
            raise log_error("GC672", f"`{name}` is not a list of ids", file.path)
        if len(set(ids)) < len(ids):
            raise log_error("GC675", f"`{name}` has an id twice", file.path)
    stated = document.get("resolved_instances")
    resolved = lists.get("resolved_ids", lists.get("resolved", []))
    if isinstance(stated, int) and stated != len(resolved):
        message = f"it counts {stated:,} resolved instances, and lists {len(resolved):,}"
        raise log_error("GC674", message, file.path)
    total = document.get("total_instances")
    total = total if isinstance(total, int) else None
    named = len({id for ids in lists.values() for id in ids})
    if total is not None and total < named:
        raise log_error("GC674", f"it counts {total:,} instances, and names {named:,}", file.path)
    if total is not None and total > MOST_ITEMS:
        message = f"it counts {total:,} instances, and at most {MOST_ITEMS:,} are read"
        raise log_error("GC673", message, file.path, help="if the count is a mistake, correct it there")
    every = "unresolved_ids" in document
    unknown = UNKNOWN if every else (*UNKNOWN, "what is not resolved: it is only left out")
    model, benchmark = _names(file)
    yield LogRun(
        path=file.path,
        package=PACKAGE,
        version=str(document.get("schema_version", "unknown")),
        digest=file.digest,
        model=model,
        benchmark=benchmark,
        axes={"task": log_axis("prompt", benchmark)},
        readings=("resolved",),
        samples=partial(_answers, lists),
        printed={"resolved": PrintedScore(None, total)},
        unlisted=None if every else 0.0,
        total=total,
        unknown=unknown,
    )


def _names(file: LogFile) -> tuple[str, str]:
    """`SPLIT/SUBMISSION/results/results.json`, or `MODEL.RUN.json`."""
    folder = file.path.resolve().parent
    if folder.name == "results":
        return folder.parent.name, folder.parent.parent.name
    model = file.name.removesuffix(".json").partition(".")[0]
    return (folder.name, folder.parent.name) if model in ("results", "report") else (model, folder.name)


def _answers(lists: Mapping[str, list[Any]]) -> Iterator[LogAnswer]:
    seen: set[str] = set()
    for name, ids in lists.items():
        score, state = SCORED[name]
        for id in ids:
            if id not in seen:
                seen.add(id)
                yield LogAnswer(id, None, 0, {"resolved": score}, state)
