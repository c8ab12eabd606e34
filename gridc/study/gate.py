"""Two runs -> whether the second is worse by more than a margin: the comparison behind `gridc compare`, and
the file of `gridc baseline`, which keeps the first one."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from gridc.compiler.frontend.source import Source, read_source
from gridc.compiler.frontend.validate import did_you_mean, typed_as
from gridc.compiler.inputs.logs import require_matched
from gridc.compiler.inputs.logs.files import TableColumns
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.diagnostics.errors import Diagnostic, FileError, StampError, UsageError
from gridc.diagnostics.sarif import repository_root, sarif
from gridc.files import require_unlinked, write_atomic
from gridc.reports.comparison import decision, document, words
from gridc.reports.comparison import document as written
from gridc.reports.comparison.baseline import NAME as BASELINE
from gridc.reports.comparison.baseline import WrittenBaseline, is_baseline, read_baseline, write_baseline
from gridc.reports.comparison.instrument import nameable, under_one_name, unnamed
from gridc.reports.comparison.run import READING, ComparedRun, LogSelection, logged_run, stored_run
from gridc.schema.comparison import (
    AbsentGate,
    Aspect,
    ComparedBenchmark,
    FlippedItem,
    Policy,
    RunComparison,
)
from gridc.study import LogOptions
from gridc.study.place import operand
from gridc.study.recorded import by_alias, is_log_path, recorded_logs, require_countable

__all__ = [
    "AbsentGate",
    "ComparedBenchmark",
    "ExitCodes",
    "FlippedItem",
    "GivenPolicy",
    "ReleaseReport",
    "RunComparison",
    "WrittenBaseline",
    "baseline",
    "compare",
    "points",
    "words",
]

ExitCodes = Literal["gridc", "nel"]
FORMS = {
    "markdown": "compare.md",
    "json": "compare.json",
    "junit": "compare.junit.xml",
    "sarif": "compare.sarif",
}
"""What a comparison is written as, and the file of each in a folder of all."""


@dataclass(frozen=True, slots=True, repr=False)
class ReleaseReport:
    """Two runs, compared, and how that is written down."""

    comparison: RunComparison
    policy: Source | None = field(default=None, repr=False)
    read_as: Sequence[str] = field(default=(), repr=False)
    """The options that say how logs are read, as a command line has them."""

    @property
    def verdict(self) -> str:
        return self.comparison.verdict

    @property
    def exit_code(self) -> int:
        return self.comparison.exit_code

    @property
    def view_command(self) -> str | None:
        """The command that shows the answers of the first baseline and the candidate side by side; None where
        no benchmark was compared, or a run is a file that keeps no texts."""
        runs = (*self.comparison.a, self.comparison.b)
        if not self.comparison.benchmarks or any(is_baseline(Path(run.name)) for run in runs if run.kept):
            return None
        a, b = self.comparison.a[0].name, self.comparison.b.name
        return shlex.join(("gridc", "view", a, "--with", b, *self.read_as))

    def as_json(self) -> dict[str, Any]:
        return self.comparison.model_dump(mode="json")

    def __repr__(self) -> str:
        return f"{self.verdict}: {'; '.join(words.grounds(self.comparison))}"

    def _repr_html_(self) -> str:
        return written.comparison_html(self.comparison, self.view_command)

    def written(self, form: str) -> str:
        """The text of a file: `markdown`, `json`, `junit` or `sarif`."""
        if form == "markdown":
            return written.comparison_markdown(self.comparison, self.view_command)
        if form == "junit":
            return written.junit(self.comparison)
        if form == "json":
            return _json(self.as_json())
        if form != "sarif":
            message = f"`{form}` is no form of a comparison"
            raise UsageError([Diagnostic("GC000", message, help=f"known: {', '.join(FORMS)}")])
        folder = Path.cwd() if self.policy is None else self.policy.path.parent
        found = written.gate_diagnostics(self.comparison, self.policy)
        return _json(sarif(found, repository_root(folder)))

    def write(self, form: str, path: Path) -> Path:
        """Write one file, whole or not at all; its path."""
        write_atomic(path, self.written(form))
        return path

    def write_all(self, folder: Path) -> list[Path]:
        """Every form, into a folder. Raises `OSError` where it is a link."""
        require_unlinked(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return [self.write(form, folder / name) for form, name in FORMS.items()]


def forget_verdict(folder: Path | None, files: Iterable[Path]) -> None:
    """Remove what an earlier comparison wrote into a folder and into single files. Raises `OSError` where the
    folder is a link."""
    if folder is not None:
        require_unlinked(folder)
        files = (*files, *(folder / name for name in FORMS.values()))
    for file in files:
        file.unlink(missing_ok=True)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class GivenPolicy:
    """What a person says beside a policy, or in its place: the `margin` in points, the reading of logs that
    counts, of all benchmarks (under the empty name) or of one, and the other `options`."""

    margin: float | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    options: LogOptions = field(default_factory=LogOptions)

    @property
    def may_differ(self) -> Sequence[str]:
        return self.options.get("may_differ", ())

    def over(self, policy: Policy) -> Policy:
        """The policy, with what is given in the place of what it states."""
        stated = {
            "margin": self.margin,
            "total": self.options.get("total"),
            "common_only": self.options.get("common_only") or None,
            "may_differ": tuple(dict.fromkeys([*policy.may_differ, *self.may_differ])),
        }
        return policy.model_copy(update={name: value for name, value in stated.items() if value is not None})

    def read_as(self, policy: Policy) -> Iterator[str]:
        """How logs are read, in options that `compare` and `view` both have."""
        tasks = {one.id: one.tasks for one in policy.benchmark if one.tasks}
        for option, named in (
            ("benchmark", tasks | dict(self.options.get("benchmarks", {}))),
            ("model", dict(policy.models) | dict(self.options.get("models", {}))),
        ):
            yield from (f"--{option}={name}={','.join(several)}" for name, several in named.items())
        yield from (f"--axis={axis}" for axis in [*policy.axes, *self.options.get("axes", ())])
        yield from (f"--ignore={column}" for column in [*policy.ignore, *self.options.get("ignore", ())])
        if unit := self.options.get("unit") or policy.unit:
            yield f"--unit={unit}"
        yield from (f"--run={name}" for name in self.options.get("counting", ()))

    def selection(self, policy: Policy) -> LogSelection:
        """What counts in logs."""
        stated = {one.id: one.reading for one in policy.benchmark if one.reading is not None}
        own = {name: reading for name, reading in self.readings.items() if name}
        given = self.options
        tasks = {one.id: one.tasks for one in policy.benchmark} | dict(given.get("benchmarks", {}))
        return LogSelection(
            self.readings.get("", policy.reading),
            (stated if "" not in self.readings else {}) | own,
            by_alias(tasks),
            by_alias(dict(policy.models) | dict(given.get("models", {}))),
            TableColumns.stated(
                [*policy.axes, *given.get("axes", ())],
                [*policy.ignore, *given.get("ignore", ())],
                given.get("unit") or policy.unit,
            ),
            given.get("counting", ()),
        )


def compare(
    baselines: Sequence[str],
    candidate: str,
    policy: Path | None,
    exit_codes: ExitCodes,
    given: GivenPolicy,
    trust: Trust = NOBODY,
) -> ReleaseReport:
    """What is `given` stands in the place of the policy's. Where `trust` names signers, each file of `gridc
    baseline` must have the signature of one. Raises `UsageError` for what is no run, or is read
    in several ways, and `SpecError` for a policy that cannot be."""
    stated, source = Policy(policy=1), None
    if policy is not None:
        source = read_source(policy)
        stated = typed_as(Policy, "policy", source)
    stated = given.over(stated)
    require_countable([stated.total, *(one.total for one in stated.benchmark)])
    selection = given.selection(stated)
    *firsts, second = (_run(path, selection, trust) for path in (*baselines, candidate))
    for run in firsts:
        if trust.signers and run.kept is None:  # else whoever swaps the file for a log escapes the signature
            message = (
                "--signer says who should have signed the baseline, and this is no file of `gridc baseline`"
            )
            help = "keep the run in one: gridc baseline RUN --to base.gridc --key KEY"
            raise StampError([Diagnostic("GC406", message, run.name, help=help)])
    if source is not None:
        decision.check_columns(stated, source, selection.columns)
    selection.columns.check()
    runs = (*firsts, second)
    nowhere = [name for name in selection.counting if all(name in run.unmatched for run in runs if run.files)]
    require_matched(nowhere, [path for run in runs for path in run.files])
    _require_read(given.readings, runs)
    firsts = under_one_name(firsts, second)
    settings = nameable([*firsts, second])
    for one in unnamed(given.may_differ, settings):
        help = did_you_mean(one, settings, get_args(Aspect))
        raise UsageError([Diagnostic("GC000", f"no run records `{one}`, which may differ", help=help)])
    if source is not None:
        known = [name for run in (*firsts, second) for _, name in run.benchmarks]
        decision.check_policy(stated, source, list(dict.fromkeys(known)), settings)
    name = None if policy is None else str(policy)
    comparison = document.compare_runs(firsts, second, stated, name, exit_codes)
    return ReleaseReport(comparison, source, tuple(given.read_as(stated)))


def baseline(
    run: str, to: Path, policy: Path | None, given: GivenPolicy, key: Path | None = None
) -> WrittenBaseline:
    """Keep a run in a file, for later comparisons (`compare` says what is raised for the run)."""
    stated = Policy(policy=1) if policy is None else typed_as(Policy, "policy", read_source(policy))
    selection = given.selection(given.over(stated))
    chosen = _run(run, selection, NOBODY)
    selection.columns.check()
    _require_read(given.readings, [chosen])
    if chosen.files:
        require_matched(chosen.unmatched, chosen.files)
    if not chosen.benchmarks:
        message = "this run has no items that a later one could be compared with"
        raise UsageError([Diagnostic("GC000", message, run, help="run the study, or name other logs")])
    return write_baseline(chosen, to, key)


def _require_read(readings: Mapping[str, str], runs: Sequence[ComparedRun]) -> None:
    """Raise `UsageError` for a reading that counts in no run."""
    read = {
        (name, str(settings[READING]))
        for run in runs
        for (_, name), benchmark in run.benchmarks.items()
        for settings in benchmark.settings.values()
        if READING in settings
    }
    for benchmark, stated in readings.items():
        of = [reading for name, reading in read if benchmark in ("", name)]
        if not any(stated in (reading, reading.partition(",")[0]) for reading in of):
            whose = f"of {benchmark} " if benchmark else ""
            help = did_you_mean(stated, sorted(set(of)))
            raise UsageError([Diagnostic("GC000", f"no log {whose}has the reading `{stated}`", help=help)])


def _run(text: str, selection: LogSelection, trust: Trust) -> ComparedRun:
    """A store, or the folder with one; @STAMP chooses a study of it. Or logs of another package, what
    `gridc certify --out` wrote of them, or a file of `gridc baseline`."""
    if is_baseline(Path(text)):
        return read_baseline(Path(text), text, trust)
    if is_log_path(Path(text)):
        return logged_run(selection.read([Path(text)]), text, selection)
    path, stamp = operand(text)
    if not path.is_file():
        folder = Path(text).is_dir()
        message = "no store and no logs in this folder" if folder else "there is no such file or folder"
        help = "name results of `gridc run`, or logs; a run that was killed may have written none"
        raise FileError([Diagnostic("GC671", message, text, help=help)])
    if path.suffix == ".toml":
        message = f"`{text}` is a spec, not what came of it"
        help = "name the results folder or the store.sqlite of a run"
        raise UsageError([Diagnostic("GC000", message, help=help)])
    try:
        logs = recorded_logs(path)
    except UsageError as error:
        beside = path.with_name(BASELINE)
        if not is_baseline(beside):
            raise
        kept = read_baseline(beside, text, trust)
        why = f"{error.diagnostics[0].message}: {beside.name} beside it is read, which has no texts"
        return replace(kept, warnings=(*kept.warnings, why))
    if logs is None:
        return stored_run(path, stamp, text)
    return logged_run(selection.read(logs), text, selection)


def points(text: str) -> float:
    """`5pp`, `5 pp` or `5` as points. Raises `ValueError` where it is none, below 0 or 100 and more."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:pp)?\s*", text)
    if match is None or not float(match[1]) < 100:
        raise ValueError(f"{text} is no margin: write 5pp for five percentage points")
    return float(match[1])
