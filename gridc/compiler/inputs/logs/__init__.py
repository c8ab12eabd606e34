"""The logs that other packages wrote, read: one module a format, all giving the same records (`records`).

A format is a module of `gridc.adapters.logs` that calls `log_reader`. Files are a stranger's: they are read
within bounds (`files`), and a log that contradicts itself is refused as a whole. A format that is known and
not read is `REFUSED`: what its files lack, and where the score of each answer is.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gridc.compiler.inputs.logs.files import (
    UNFORESEEN,
    ZIPPED,
    LogFile,
    TableColumns,
    column_name,
    log_error,
    suffix_of,
)
from gridc.compiler.inputs.logs.gathering import GatheredRun, LogItems, gather_run, renumbered
from gridc.compiler.inputs.logs.records import LOG_READERS, LogReader, describes
from gridc.diagnostics.errors import Diagnostic, FileError, UsageError

AS_TABLE = "as a table with the columns model, item and score (docs/logs.md)"

AGGREGATED = "each eval passes its examples' scores to `common.aggregate_results`: write that list"


@dataclass(frozen=True, slots=True)
class RefusedFormat:
    """By the names of its files, or by keys that only they have at the beginning."""

    package: str
    names: tuple[str, ...]
    keys: frozenset[str]
    why: str
    help: str

    def is_one(self, file: LogFile) -> bool:
        if file.suffix not in (".json", ".jsonl", ".csv"):
            return False
        name = file.name.removesuffix(".gz")
        return any(fnmatchcase(name, pattern) for pattern in self.names) or file.head_keys >= self.keys


REFUSED = (
    RefusedFormat(
        "BFCL",
        ("BFCL_v*_score.json", "BFCL_v*_result.json"),
        frozenset(("accuracy", "correct_count", "total_count")),
        "a file of BFCL: its scores list only the entries that failed, and its results have no score",
        f"an id of BFCL_..._result.json scores 1 unless BFCL_..._score.json lists it: write that {AS_TABLE}",
    ),
    RefusedFormat(
        "MTEB",
        (),
        frozenset(("mteb_version", "scores")),
        "results of MTEB: one aggregate for each split and no score of an item",
        "run mteb with `--prediction-folder`, score the predictions one by one, and write the scores "
        f"{AS_TABLE}",
    ),
    RefusedFormat(
        "MTEB",
        ("*_predictions.json",),
        frozenset(("mteb_model_meta",)),
        "predictions of MTEB: they have no scores",
        f"score them one by one, and write the scores {AS_TABLE}",
    ),
    RefusedFormat(
        "simple-evals",
        (),
        frozenset(("score", "score:std")),
        "results of simple-evals: aggregates and no score of an item",
        f"{AGGREGATED} {AS_TABLE}",
    ),
    RefusedFormat(
        "simple-evals",
        ("*_allresults.json",),
        frozenset(("score", "metrics", "htmls", "convos")),
        "all results of simple-evals: they have the score of an item only within a page of HTML",
        f"{AGGREGATED} {AS_TABLE}",
    ),
    RefusedFormat(
        "DeepEval",
        (),
        frozenset(("testCases", "metricsScores")),
        "a test run of DeepEval, which need not say what model answered",
        "write each entry of `metricsData` in `testCases` as a row of a table with the columns model, "
        "question (`input`), reading (`name`) and score (docs/logs.md)",
    ),
    RefusedFormat(
        "AlpacaEval",
        (),
        frozenset(("win_rate", "standard_error", "n_wins", "n_total")),
        "a leaderboard of AlpacaEval: win rates and no preference",
        "`results/MODEL/ANNOTATOR/annotations.json` has them; without it write the scores of items "
        f"{AS_TABLE}",
    ),
)


SUFFIXES = (".json", ".jsonl", ".eval", ".csv", ".tsv", ".parquet", ZIPPED)
MOST_FILES = 100_000
ROUNDED = 0.0051
"""Two scores of one answer differ by less where a format has two digits of them."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read: its path, SHA-256, and what made it."""

    path: Path
    digest: str
    made_by: str


@dataclass(slots=True)
class ReadLogs:
    """All that some logs say: runs with their answers, the items of each benchmark, the files, and what was
    left out, or is not a log, in sentences. `described` are the folders beside them that describe a study,
    and `unmatched` names that were to count and are of no run."""

    runs: list[GatheredRun] = field(default_factory=list)
    items: dict[str, LogItems] = field(default_factory=dict)
    files: list[ReadFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    described: list[Path] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)


def holds_logs(path: Path) -> bool:
    """Whether a path is a log, or a folder with one: of a folder only names are looked at."""
    if path.is_dir():
        return next(_files(path), None) is not None
    return suffix_of(path) in SUFFIXES


def read_logs(
    paths: Sequence[Path],
    benchmarks: Mapping[str, str] | None = None,
    models: Mapping[str, str] | None = None,
    columns: TableColumns | None = None,
    counting: Sequence[str] = (),
) -> ReadLogs:
    """Read every log among these files and folders. `benchmarks` gives tasks another name: several tasks of
    one name are one benchmark, asked in several ways. So does `models`: packages name a model their own way.
    `columns` says what the columns of tables are, and what field of an item is its unit. `counting` names the
    files whose runs count where one thing was run several times, or `all` (`_choose_runs`).

    What in a folder is not a log is listed in the notes. Raises `FileError`: GC671 where a folder has no log,
    or a file that was named is none; GC672 to GC678 for what is wrong in one. Then nothing is read of any."""
    logs = ReadLogs()
    tasks, names = benchmarks or {}, models or {}
    strays: list[Stray] = []
    for place in paths:
        count, before = len(logs.runs), len(strays)
        for path in _files(place, logs.described):
            file = LogFile(path, columns)
            reader = _reader(file, strays if place.is_dir() else None)
            if reader is None:
                continue
            with _package_errors(reader, path):
                made_by = _gather_all(reader, file, tasks, names, logs)
            logs.files.append(ReadFile(path, file.digest, made_by))
        if place.is_dir() and len(logs.runs) == count:
            raise _no_log(place, strays[before:])
    if not logs.runs:
        help = "name its folder, so that what belongs to it is read with it"
        raise log_error("GC671", "this file alone holds no run", paths[0], help=help)
    logs.notes += _listed(strays)
    _join_unnamed(logs, columns or TableColumns())
    _drop_forms(logs)
    _drop_duplicates(logs)
    _drop_attempts(logs)
    _choose_runs(logs, counting)
    logs.notes[:] = dict.fromkeys(logs.notes)
    for benchmark, items in logs.items.items():
        became = items.match_packages()
        if became is not None:
            logs.runs[:] = [
                renumbered(run, became) if run.run.benchmark == benchmark else run for run in logs.runs
            ]
    if columns is not None and columns.unit is not None:
        logs.notes += _units(logs, columns.unit)
    return logs


def _units(logs: ReadLogs, unit: str) -> Iterator[str]:
    """What is to be said of the stated units. Raises `FileError` (GC677) for a benchmark of which some items
    have them and others not."""
    for benchmark, items in logs.items.items():
        without = np.flatnonzero(~np.array(items.has_unit, bool))
        if 0 < len(without) < len(items.ids):
            paths = (
                gathered.run.path
                for gathered in logs.runs
                if gathered.run.benchmark == benchmark
                and any(without[0] in column.item for column in gathered.columns.values())
            )
            path = next(paths, logs.runs[0].run.path)
            message = f"{benchmark}: {len(without):,} of {len(items.ids):,} items have no `{unit}`"
            help = "name a column or field that all items have, or write it for the others"
            raise log_error("GC677", f"{message}, such as item {items.ids[without[0]]}", path, help=help)
        if len(without):
            yield f"{benchmark}: no item has `{unit}`, so that each is a unit of its own"
        elif items.ids:
            yield f"{benchmark}: units are what items have as `{unit}`"


def _gather_all(
    reader: LogReader, file: LogFile, tasks: Mapping[str, str], names: Mapping[str, str], logs: ReadLogs
) -> str:
    """What made the log, whose runs are read."""
    made_by = reader.PACKAGE
    for run in reader.runs(file):
        benchmark = tasks.get(run.benchmark, run.benchmark)
        renamed = replace(
            run,
            benchmark=benchmark,
            named=run.named or run.benchmark in tasks,
            model=names.get(run.model, run.model),
            called=run.model,
            task=run.benchmark,
        )
        logs.runs.append(gather_run(renamed, logs.items.setdefault(benchmark, LogItems()), file.columns))
        made_by = run.made_by
        if run.not_read:
            logs.notes.append(f"not read of {file.path}: {', '.join(run.not_read)}")
    return made_by


class Stray(NamedTuple):
    """A file of a folder that is not read, and why; `known` says that it is a log of a format that has no
    answers one by one."""

    path: Path
    why: str
    known: bool = False


def _reader(file: LogFile, strays: list[Stray] | None) -> LogReader | None:
    """Who reads a file; nobody what is read with another file, nor a stray one, which is added to `strays`.
    Without these, because the file was named, it is an error."""
    try:
        for reader in LOG_READERS.values():
            with _package_errors(reader, file.path):
                if reader.claims(file):
                    return reader
        if any(reader.belongs(file) for reader in LOG_READERS.values()):
            return None
        refused, why = _refused(file), "no log of a known format"
    except FileError as error:
        refused, why = _refused(file), error.diagnostics[0].message
        if refused is None and (strays is None or _is_damaged(file)):
            raise
    if strays is None:
        raise _not_a_log(file.path, refused)
    reason = why if refused is None else f"{refused.why}; {refused.help}"
    strays.append(Stray(file.path, reason, refused is not None))
    return None


@contextmanager
def _package_errors(reader: LogReader, path: Path) -> Iterator[None]:
    """Raises `FileError` for what a reader did not foresee (GC672)."""
    try:
        yield
    except UNFORESEEN as error:
        message = f"not a log of {reader.PACKAGE}: {type(error).__name__} {str(error)[:200]}"
        raise log_error("GC672", message, path) from None


def _refused(file: LogFile) -> RefusedFormat | None:
    return next((refused for refused in REFUSED if refused.is_one(file)), None)


def _is_damaged(file: LogFile) -> bool:
    """Whether a file that cannot be parsed was a log: such a one is never left out."""
    keys = file.head_keys
    keys |= set(map(column_name, keys))
    return any(
        any(fnmatchcase(file.name.removesuffix(".gz"), name) for name in reader.NAMES)
        or any(len(keys & shape) >= min(2, len(shape)) for shape in reader.SHAPES)
        for reader in LOG_READERS.values()
    )


MOST_LISTED = 20


def _listed(strays: Sequence[Stray]) -> Iterator[str]:
    """A line for each stray file, those first that are logs of a known format."""
    ordered = sorted(strays, key=lambda stray: not stray.known)
    yield from (f"not read: {stray.path}: {stray.why}" for stray in ordered[:MOST_LISTED])
    rest = ordered[MOST_LISTED:]
    if rest:
        yield f"not read: {len(rest):,} more files, such as {rest[0].path}: {rest[0].why}"


def _not_a_log(path: Path, refused: RefusedFormat | None) -> FileError:
    if refused is not None:
        return log_error("GC671", refused.why, path, help=refused.help)
    what = "not a log" if path.exists() else "there is no such file"
    return log_error("GC671", what, path, help=_known())


def _no_log(folder: Path, strays: Sequence[Stray]) -> FileError:
    shown = [stray for stray in strays if stray.known] or strays
    such = [f"{stray.path.relative_to(folder)}: {stray.why}" for stray in shown[:3]]
    return log_error("GC671", "; ".join(["no log in this folder", *such]), folder, help=_known())


def _known() -> str:
    packages = ", ".join(reader.PACKAGE for reader in LOG_READERS.values())
    return f"known are logs of {packages}: docs/logs.md says which file of each is read"


def _files(path: Path, described: list[Path] | None = None) -> Iterator[Path]:
    """What could be a log, in order of names. Links within a folder are not followed; folders that describe a
    study are added to `described`."""
    if not path.is_dir():
        yield path
        return
    count = 0
    for folder, inner, names in os.walk(path):
        studies = [Path(folder) / name for name in sorted(inner) if describes(Path(folder) / name)]
        inner[:] = sorted({*inner} - {study.name for study in studies})
        if described is not None:
            described += studies
        for name in sorted(names):
            file = Path(folder) / name
            if suffix_of(file) in SUFFIXES and not file.is_symlink():
                count += 1
                if count > MOST_FILES:
                    raise log_error("GC673", f"more than {MOST_FILES:,} files", path)
                yield file


def _join_unnamed(logs: ReadLogs, author: TableColumns) -> None:
    """Files that name no benchmark, one or more for each model, are one benchmark where they share items.
    Where they have a model in common they are that model's benchmarks."""
    models = {
        name: {gathered.run.model for gathered in logs.runs if gathered.run.benchmark == name}
        for name in logs.items
        if not any(gathered.run.named for gathered in logs.runs if gathered.run.benchmark == name)
    }
    if len(set().union(*models.values())) < sum(map(len, models.values())):
        return
    joined: list[list[str]] = []
    for name in models:
        shares = [group for group in joined if any(_share_items(logs, name, other) for other in group)]
        joined = [group for group in joined if group not in shares]
        joined.append([*(other for group in shares for other in group), name])
    for first, *rest in joined:
        if not rest:
            continue
        items = logs.items[first]
        for place, gathered in enumerate(logs.runs):
            if gathered.run.benchmark in rest:
                logs.runs[place] = gather_run(replace(gathered.run, benchmark=first), items, author)
        for name in rest:
            del logs.items[name]
        logs.notes.append(
            f"{', '.join([first, *rest])} name no benchmark and share items, and no model is in two of "
            f"them: they are one benchmark, {first} (a column `benchmark` or --benchmark NAME=FILE says else)"
        )
    if len(joined) > 1:
        names = ", ".join(group[0] for group in joined)
        logs.notes.append(f"{names} name no benchmark and share no item: each is a benchmark of its own")


def _share_items(logs: ReadLogs, first: str, second: str) -> bool:
    return not logs.items[first].numbers.keys().isdisjoint(logs.items[second].numbers)


def _drop_duplicates(logs: ReadLogs) -> None:
    """One run that is there twice (a copy, or two formats of one log) counts once. One evaluation that was
    scored twice is no copy: which scores count is for `_choose_runs`."""
    kept: defaultdict[object, list[GatheredRun]] = defaultdict(list)
    for gathered in logs.runs:
        run = gathered.run
        same = run.id or gathered.texts or run.digest
        earlier = kept[run.model, run.benchmark, run.readings, _instrument(gathered), same]
        first = next((copy for copy in earlier if _scores_equal(copy, gathered)), None)
        if first is None:
            earlier.append(gathered)
        else:
            logs.notes.append(_duplicate_note(gathered, first))
    logs.runs[:] = [gathered for several in kept.values() for gathered in several]


def _instrument(gathered: GatheredRun) -> tuple[object, ...]:
    """What a run was made with, and its seeds."""
    run = gathered.run
    axes = tuple((name, setting.value) for name, setting in sorted(run.axes.items()))
    return axes, tuple(sorted((name, str(value)) for name, value in run.seeds.items()))


def _scores_equal(first: GatheredRun, second: GatheredRun) -> bool:
    """Whether two runs have the same scores of the same answers, whatever their order."""
    if first.columns.keys() != second.columns.keys():
        return False
    for reading, a in first.columns.items():
        b = second.columns[reading]
        order, other_order = np.lexsort((a.epoch, a.item)), np.lexsort((b.epoch, b.item))
        places = ((a.item[order], b.item[other_order]), (a.epoch[order], b.epoch[other_order]))
        if not all(np.array_equal(*pair) for pair in places):
            return False
        if not np.array_equal(a.score[order], b.score[other_order], equal_nan=True):
            return False
    return True


def _duplicate_note(gathered: GatheredRun, first: GatheredRun) -> str:
    return f"{gathered.run.path} holds the run of {first.run.path} again: it counts once"


def _drop_forms(logs: ReadLogs) -> None:
    """One run that a package wrote in several formats: the same answers of one model to the same items, and
    nothing that both files say differs. It counts in the format that says most, the first of `SUFFIXES`."""
    alike: defaultdict[object, list[GatheredRun]] = defaultdict(list)
    for gathered in logs.runs:
        run = gathered.run
        alike[run.package, run.model, _what_came(gathered, logs.items[run.benchmark])].append(gathered)
    for several in alike.values():
        several.sort(key=lambda gathered: SUFFIXES.index(suffix_of(gathered.run.path)))
        for place, gathered in enumerate(several):
            first = next((earlier for earlier in several[:place] if _is_form_of(gathered, earlier)), None)
            if first is not None:
                logs.runs.remove(gathered)
                logs.notes.append(_duplicate_note(gathered, first))


def _what_came(gathered: GatheredRun, items: LogItems) -> object:
    """What two formats of one run have in common: its texts; where every answer failed, which items those
    are; and else nothing, so that the run is alone."""
    column = next(iter(gathered.columns.values()), None)
    if gathered.texts is not None or column is None or not np.isnan(column.score).all():
        return id(gathered) if gathered.texts is None else gathered.texts
    keys = items.keys
    return tuple(
        sorted((keys[number], epoch) for number, epoch in zip(column.item, column.epoch, strict=True))
    )


def _is_form_of(gathered: GatheredRun, first: GatheredRun) -> bool:
    """By labels: one format has the text of what another one only names. Scores may be rounded in one."""
    run, other = gathered.run, first.run
    shared_axes = run.axes.keys() & other.axes.keys()
    scores = [
        [np.sort(side.columns[reading].score) for side in (gathered, first)]
        for reading in gathered.columns.keys() & first.columns.keys()
    ]
    return (
        suffix_of(run.path) != suffix_of(other.path)
        and all(run.axes[name].label == other.axes[name].label for name in shared_axes)
        and all(np.allclose(a, b, atol=ROUNDED, equal_nan=True) for a, b in scores if len(a) == len(b))
    )


def _drop_attempts(logs: ReadLogs) -> None:
    """Of several attempts at one run, the last begun holds what the earlier ones had: it alone counts."""
    attempts: defaultdict[object, list[GatheredRun]] = defaultdict(list)
    for gathered in logs.runs:
        run = gathered.run
        attempts[run.package, run.model, run.benchmark, run.attempt_of or id(gathered)].append(gathered)
    logs.runs.clear()
    for several in attempts.values():
        last = max(several, key=lambda gathered: gathered.run.begun)
        logs.runs.append(last)
        logs.notes += [
            f"{gathered.run.path} is an earlier attempt at {last.run.path}: it is left out"
            for gathered in several
            if gathered is not last
        ]


EVERY_RUN = "all"
"""In place of a file: all runs of one thing count, as its repetitions."""


def _choose_runs(logs: ReadLogs, counting: Sequence[str]) -> None:
    """Of several runs of one model on one benchmark in one configuration, with the same seeds, one counts: of
    those that ended and have the most items the one that began last, or those whose files `counting` names.
    Runs with seeds of their own are repetitions, and all count. Raises `FileError` (GC678) where nothing says
    which one counts."""
    logs.unmatched = [
        name
        for name in counting
        if name != EVERY_RUN and not any(_is_named(gathered, name) for gathered in logs.runs)
    ]
    alike: defaultdict[object, list[GatheredRun]] = defaultdict(list)
    for gathered in logs.runs:
        run = gathered.run
        alike[run.package, run.model, run.benchmark, _instrument(gathered)].append(gathered)
    kept: set[int] = set()
    for several in alike.values():
        chosen = several if len(several) == 1 else _counting(several, counting)
        kept |= set(map(id, chosen))
        if len(several) > 1:
            logs.notes.append(_choice_note(several, chosen))
    logs.runs[:] = [gathered for gathered in logs.runs if id(gathered) in kept]


def require_matched(names: Sequence[str], runs: Sequence[Path]) -> None:
    """Raise `UsageError` where names that were to count are of no run; `runs` are the files of those."""
    if names:
        files = list(dict.fromkeys(path.name for path in runs))
        help = f"runs are in {', '.join(files[:5])}" + (" ..." if len(files) > 5 else "")
        message = f"`{names[0]}`, which --run names, holds no run that is read"
        raise UsageError([Diagnostic("GC000", message, help=help)])


def _is_named(gathered: GatheredRun, name: str) -> bool:
    return f"/{gathered.run.path.as_posix()}".endswith(f"/{name.removeprefix('./').lstrip('/')}")


def _counting(several: Sequence[GatheredRun], counting: Sequence[str]) -> list[GatheredRun]:
    if EVERY_RUN in counting:
        return list(several)
    if named := [gathered for gathered in several if any(_is_named(gathered, name) for name in counting)]:
        return named
    ended = [gathered for gathered in several if gathered.run.finished is not False] or list(several)
    most = max(_items_of(gathered) for gathered in ended)
    whole = [gathered for gathered in ended if _items_of(gathered) == most]
    begun = [gathered.run.begun for gathered in whole]
    last = [gathered for gathered in whole if gathered.run.begun == max(begun)]
    if len(last) == 1 and (len(whole) == 1 or all(begun)):
        return last
    run = last[0].run
    names = _apart([gathered.run.path for gathered in several])
    paths = ", ".join(sorted(names.values()))
    message = f"{run.model} was run on {run.benchmark} {len(several)} times in one configuration: {paths}"
    help = f"--run {names[run.path]} says which counts; --run {EVERY_RUN} takes them as repetitions"
    raise log_error("GC678", message, run.path, help=help)


def _apart(paths: Sequence[Path]) -> dict[Path, str]:
    """The name of each file, with as many of its folders as tell them apart."""
    for parts in range(1, max(len(path.parts) for path in paths)):
        names = {path: "/".join(path.parts[-parts:]) for path in paths}
        if len({*names.values()}) == len(names):
            return names
    return {path: str(path) for path in paths}


def _items_of(gathered: GatheredRun) -> int:
    return max((len(np.unique(column.item)) for column in gathered.columns.values()), default=0)


def _choice_note(several: Sequence[GatheredRun], chosen: Sequence[GatheredRun]) -> str:
    run = chosen[0].run
    what = f"{run.model} was run on {run.benchmark} {len(several)} times in one configuration"
    if len(chosen) == len(several):
        return f"{what}: each counts as a repetition, as --run says"
    left = ", ".join(str(gathered.run.path) for gathered in several if gathered not in chosen)
    counts = ", ".join(str(gathered.run.path) for gathered in chosen)
    return f"{what}: {counts} counts, and {left} is left out (--run FILE or --run {EVERY_RUN} says otherwise)"
