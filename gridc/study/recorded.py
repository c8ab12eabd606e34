"""Logs of other packages -> what they certify: the call behind `gridc certify --from`."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridc import __version__
from gridc.compiler.inputs.logs import ReadLogs, holds_logs, read_logs, require_matched
from gridc.compiler.inputs.logs.files import LogFile, TableColumns
from gridc.compiler.inputs.logs.records import DESCRIPTION, MOST_ITEMS
from gridc.diagnostics.errors import Diagnostic, UsageError, visible
from gridc.files import require_unlinked, write_atomic
from gridc.outcomes import STATES
from gridc.reports.comparison.baseline import NAME as BASELINE
from gridc.reports.comparison.baseline import write_baseline
from gridc.reports.comparison.run import LogSelection, logged_run, package_of
from gridc.reports.recorded import words
from gridc.reports.recorded.cells import (
    RecordedBenchmark,
    RecordedCell,
    recorded_benchmarks,
    recorded_runs,
)
from gridc.reports.recorded.compared import ComparedCells, comparable_cells, study_parts
from gridc.reports.recorded.document import certificate
from gridc.reports.statements import standings
from gridc.runtime.recording import ImportedCell, ImportedItems, ImportedSample, new_store, record_store
from gridc.runtime.store.store import Store
from gridc.schema.base import ALPHA, Contradiction
from gridc.schema.call_numbers import CALL_NUMBERS
from gridc.schema.certificate import Certificate
from gridc.schema.recorded import LogBenchmarkRow, LogCertificate, RecordedRuns
from gridc.schema.statistics import Statistic, in_short
from gridc.study import LogOptions

if TYPE_CHECKING:
    from gridc.reports.findings.findings import Findings
    from gridc.reports.recorded.as_study import LogStudy
    from gridc.reports.recorded.study import ExportedRun

__all__ = ["LogBenchmarkRow", "LogCertificate", "LogReport", "certify", "standings", "words"]


@dataclass(frozen=True, slots=True, repr=False)
class LogReport:
    """What logs certify, and how that is written down."""

    certificate: LogCertificate
    _logs: ReadLogs
    _parts: Sequence[ComparedCells]
    _run: "ExportedRun | None" = None
    _reading: str | None = None
    _statistics: Sequence[Statistic] = ()

    @property
    def study(self) -> Certificate | None:
        """The certificate of the study that gridc exported as these logs, of their answers; None where they
        are of other packages."""
        return None if self._run is None else self._run.certificate

    def as_json(self) -> dict[str, Any]:
        """The document of the logs; under `study` the certificate of an exported study."""
        document = self.certificate.model_dump(mode="json")
        return document if self.study is None else {**document, "study": self.study.model_dump(mode="json")}

    def markdown(self) -> str:
        return words.log_markdown(self.certificate)

    def __repr__(self) -> str:
        return self.markdown()

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def write(self, folder: Path) -> list[Path]:
        """Write into a folder `logs.json`, `logs.md`, the answers as `store.sqlite` for `gridc view`, and the
        page, certificate, scorecard, cards and other reports of a study; where one reading counts,
        `baseline.gridc` for later comparisons too. Their paths. Raises `UsageError` where the store of a run
        is there, and `OSError` where the folder is a link."""
        require_unlinked(folder)
        store = folder / "store.sqlite"
        before = store.exists()
        reports = self.record(store)
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.certificate.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
        contents = {
            "logs.json": text,
            "logs.md": self.markdown(),
            **(reports if self._run is None else self._run.texts()),
        }
        if before:  # other logs were read into this folder: no report of them stays beside these
            from gridc.reports.files import NAMES

            for name in NAMES.keys() - contents.keys() - {store.name}:
                (folder / name).unlink(missing_ok=True)
        for name, content in contents.items():
            write_atomic(folder / name, content)
        written = [folder / name for name in (*contents, "store.sqlite")]
        with suppress(UsageError):  # several readings count, and a baseline has one
            run = logged_run(self._logs, str(folder), LogSelection(self._reading))
            written.append(write_baseline(run, folder / BASELINE).path)
        return written

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the reports of a study, and their store, leave out, with the reasons."""
        if self._run is not None:
            return ()
        others = (
            f"{part.name}: {name}: {why}" for part in self._parts for name, why in part.incomparable.items()
        )
        return tuple(dict.fromkeys((*study_parts(self._parts)[1], *others)))

    def record(self, path: Path) -> dict[str, str]:
        """Write the answers into a new store, which `gridc view` and `gridc sql` read. The reports of a study
        by the names of their files; none where there is no benchmark that a study can have."""
        about, items = self._about(), self._items()
        if self._in_study:
            from gridc.reports.files import file_texts

            with new_store(path) as draft:
                return file_texts(self._found(draft)[1])
        benchmarks = self._benchmarks
        columns = [
            run.column
            for one in benchmarks
            for cell in one.cells.values()
            for run in cell.runs
            if run.column is not None
        ]
        binary = all(np.isin(one.score[~np.isnan(one.score)], (0.0, 1.0)).all() for one in columns)
        cells = (
            ImportedCell(cell.model, one.name, cell.configuration, _samples(cell))
            for one in benchmarks
            for cell in one.cells.values()
            if cell.itemised
        )
        record_store(path, about, binary, items, cells)
        return {}

    @property
    def _benchmarks(self) -> list[RecordedBenchmark]:
        return list(dict.fromkeys(part.benchmark for part in self._parts))

    @property
    def _in_study(self) -> list[ComparedCells]:
        """What a study of these logs has; nothing where they come with their own."""
        return [] if self._run is not None else study_parts(self._parts)[0]

    def _runs(self) -> RecordedRuns:
        notes = [f"not in these reports: {what}" for what in self.left_out]
        notes += [
            f"{part.name} is compared apart from {part.why_separate}"
            for part in self._parts
            if part.why_separate
        ]
        printed, groups = self.certificate.printed, self.certificate.groups
        notes += [*words.printed_lines(printed), *words.group_lines(groups)]
        return recorded_runs(self._logs, self._benchmarks, notes, groups)

    def _about(self) -> dict[str, Any]:
        """What a store says of the logs."""
        return {
            "id": "logs",
            "title": "Imported logs",
            "package": package_of(self._logs),
            "provenance": self.certificate.provenance,
            **self._runs().model_dump(mode="json"),
            "gridc": __version__,
        }

    def _items(self) -> dict[str, ImportedItems]:
        return {
            part.name: ImportedItems(
                part.benchmark.lower, known.keys, known.ids, known.units, known.questions
            )
            for part in self._parts
            for known in [part.benchmark.items]
        }

    def _found(self, store: Path) -> "tuple[LogStudy, Findings]":
        """The study of what can be in one, written into a new store, and what that shows."""
        from gridc.reports.recorded.as_study import as_study

        groups = self.certificate.groups
        study = as_study(self._runs(), self._about(), self._in_study, groups, self._statistics)
        study.record(store, self._items())
        return study, study.find(store)

    def with_statistics(self, stated: Sequence[Statistic]) -> "LogReport":
        """The same with these statistics of every benchmark that a study can have."""
        from gridc.reports.recorded.as_study import statistic_rows

        report = replace(self, _statistics=stated)
        if not stated or not self._in_study:
            return report
        with tempfile.TemporaryDirectory(prefix="gridc-logs-") as folder:
            rows = tuple(statistic_rows(*report._found(Path(folder) / "store.sqlite")))
        certificate = self.certificate.model_copy(update={"statistics": rows})
        return replace(report, certificate=certificate.as_written())


def _samples(cell: RecordedCell) -> Iterator[ImportedSample]:
    """Every answer of a cell, with its texts, which are read from the log again."""
    for run in cell.runs:
        if run.column is not None and run.gathered.run.samples is not None:
            columns = (run.column.item.tolist(), run.column.state.tolist(), run.column.score.tolist())
            for answer, item, state, score in zip(run.answers(), *columns, strict=True):
                value = None if isnan(score) else score
                yield ImportedSample(item, value, STATES[state], answer.prompt, answer.answer, answer.took)


def is_log_path(path: Path) -> bool:
    """Whether what a person names in the place of a run is a log of another package, or a folder of them: a
    store and a spec are looked for first."""
    asked = any((path / name).is_file() for name in ("store.sqlite", "gridcard.toml"))
    return not asked and path.exists() and holds_logs(path)


def recorded_logs(path: Path) -> list[Path] | None:
    """The logs that a store was made of by `gridc certify --out`; None of the store of a run. Raises
    `UsageError` where one of them is not there any more, or not as it was."""
    if not path.is_file():
        return None
    with Store.open(path) as store:
        document = store.logs()
    if document is None:
        return None
    for file in document["files"]:
        log = Path(file["path"])
        if not log.is_file() or LogFile(log).digest != file["sha256"]:
            what = "has changed since" if log.is_file() else "is not here"
            message = f"the answers were taken from `{log}`, which {what}"
            help = (
                "name the logs themselves, or run `gridc certify --from LOGS --out FOLDER` again, from here"
            )
            raise UsageError([Diagnostic("GC000", message, str(path), help=help)])
    return [Path(file["path"]) for file in document["files"]]


def require_countable(totals: Iterable[int | None]) -> None:
    """Raise `UsageError` where a benchmark is said to have more items than are counted."""
    most = max((total for total in totals if total is not None), default=0)
    if most > MOST_ITEMS:
        message = f"a benchmark of {most:,} items is stated, and at most {MOST_ITEMS:,} are counted"
        raise UsageError([Diagnostic("GC000", message, help="correct the number, or leave it out")])


OF_ANSWERS = ("score", *CALL_NUMBERS)
"""Outcomes that logs have of each answer."""


def stated_statistics(lines: Iterable[str]) -> list[Statistic]:
    """The statistics that lines state. Raises `UsageError` for one that is none, or is there twice, and for
    an outcome that no log has."""
    stated: dict[str, Statistic] = {}
    for line in lines:
        help = "--statistic pass_at_3, tokens, 'tokens / score', or NAME=FORMULA"
        try:
            one = in_short(line)
            unknown = [name for name in one.outcomes.values() if name not in OF_ANSWERS]
            if unknown:
                raise Contradiction(
                    f"logs do not have the outcome `{unknown[0]}`", f"known: {', '.join(OF_ANSWERS)}"
                )
            if one.id in stated:
                raise Contradiction(f"`{one.id}` is stated twice", "another name: NAME=...")
        except ValueError as error:
            message = str(error) if isinstance(error, Contradiction) else "it is no statistic"
            help = error.help if isinstance(error, Contradiction) else help
            place = f"--statistic {visible(line)}"
            raise UsageError([Diagnostic("GC000", f"{place}: {message}", help=help)]) from None
        stated[one.id] = one
    return list(stated.values())


def by_alias(named: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The name of each of the several that are listed under it."""
    return {alias: name for name, several in named.items() for alias in several}


def certify(logs: Sequence[Path], reading: str | None = None, options: LogOptions | None = None) -> LogReport:
    """Raises `UsageError` for a reading, a task, a model, an axis or a column that no log has, and
    `FileError` for what is wrong in a log. Logs that gridc exported come with their study, which is read
    unless something is chosen here that it says itself."""
    given: LogOptions = options or {}
    benchmarks, models = given.get("benchmarks", {}), given.get("models", {})
    may_differ, total = given.get("may_differ", ()), given.get("total")
    common_only = given.get("common_only", False)
    columns = TableColumns.stated(
        given.get("axes", ()), given.get("ignore", ()), given.get("unit"), given.get("category")
    )
    require_countable([total])
    statistics = stated_statistics(given.get("statistics", ()))
    read = read_logs(logs, by_alias(benchmarks), by_alias(models), columns, given.get("counting", ()))
    columns.check()
    require_matched(read.unmatched, [file.path for file in read.files])
    known_axes = {axis for gathered in read.runs for axis in gathered.run.axes}
    readings = {name for gathered in read.runs for name in (*gathered.run.readings, *gathered.columns)}
    names = {gathered.run.benchmark for gathered in read.runs}
    for stated, known, what in (
        ([] if reading is None else [reading], readings, "reading"),
        (may_differ, known_axes, "axis"),
        (benchmarks, names, "benchmark"),
        (models, {gathered.run.model for gathered in read.runs}, "model"),
    ):
        for name in stated:
            if name not in known:
                help = f"known: {', '.join(sorted(known)[:12])}"
                raise UsageError([Diagnostic("GC000", f"no log has the {what} `{name}`", help=help)])
    benchmarks_read = recorded_benchmarks(read, reading, may_differ, common_only, total)
    taken = {benchmark.name for benchmark in benchmarks_read}
    parts = [part for benchmark in benchmarks_read for part in comparable_cells(benchmark, taken)]
    run = _exported(logs, read, alone=len(logs) == 1 and reading is None and not any(given.values()))
    exported = None if run is None else (run.findings.stamp, run.provenance)
    report = LogReport(certificate(read, parts, ALPHA, common_only, exported), read, parts, run, reading)
    return report.with_statistics(statistics)


def _exported(logs: Sequence[Path], read: ReadLogs, alone: bool) -> "ExportedRun | None":
    """The study that goes with logs which are named `alone`, without anything that it says itself; None where
    they are of other packages."""
    if alone and logs[0] / DESCRIPTION in read.described:
        from gridc.reports.recorded.study import read_exported

        return read_exported(logs[0] / DESCRIPTION, read)
    read.notes += [
        f"the study that {folder} describes is not read: name {folder.parent} alone, without options of logs"
        for folder in read.described
    ]
    return None
