"""A study from its spec to its findings, as Python. The command line stands on this and on nothing below it.

    study = gridc.open("gridcard.toml")
    study.run()
    study.samples().to_pandas()

Every call reads the files as they are now, as a command does, and imports what it needs when it is made. What
cannot be done is a `GridcError` with diagnostics; no other exception says that a spec, a store or a file is
wrong. docs/python.md lists the columns of the tables.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.study.failures import coded, coded_calls
from gridc.study.place import Place, RayCluster, place_of, spec_in

if TYPE_CHECKING:
    import pyarrow

    from gridc.compiler.preflight.consent import Consentable
    from gridc.reports.exchange.printed_figures import PrintedTable
    from gridc.study.auditing import DrawnSheet, SampleDecision, TakenLabels
    from gridc.study.comparing import StudyDiff
    from gridc.study.formatting import FormattedSpec
    from gridc.study.framings import Measurand
    from gridc.study.gate import ExitCodes, ReleaseReport, WrittenBaseline
    from gridc.study.planning import DesignAnswer, PlanReport
    from gridc.study.recorded import LogReport
    from gridc.study.reporting import (
        AttachedCards,
        CertificateReport,
        CheckedCards,
        FindingsReport,
        StudiesReport,
        StudyChecklist,
        WrittenReport,
    )
    from gridc.study.running import RaceReport, RunReport, RunStep, StatusReport
    from gridc.study.scaffolding import Propagation, ScaffoldReport
    from gridc.study.scores import ScoreboardReport
    from gridc.study.showing import Showing
    from gridc.study.sql import QueryResult
    from gridc.study.stamping import AnchorReport, StampCheck, StampDeviations, StampReport
    from gridc.study.tables import TableName
    from gridc.study.task_search import FoundTasks
    from gridc.study.validation import ValidationReport
    from gridc.study.verifying import Verification
    from gridc.study.viewing import ExportedPages

__all__ = [
    "AnyPath",
    "OpenStudy",
    "RayCluster",
    "Trust",
    "assert_not_worse",
    "baseline",
    "certify",
    "check_figures",
    "coded",
    "compare",
    "diff",
    "measurands",
    "open",
    "propagation",
    "report_all",
    "spec_in",
    "tasks",
    "validate_all",
    "view",
    "view_pages",
]

AnyPath = str | PathLike[str]


def _ignore(*_: object) -> None:
    """A callback that does nothing."""


def _nobody_consents(what: "Consentable") -> bool:
    """Nobody is there to be asked."""
    return False


@coded_calls
class OpenStudy:
    """A study by its spec. Make one with `gridc.open`."""

    def __init__(
        self,
        spec: AnyPath,
        data: AnyPath | None = None,
        results: AnyPath | None = None,
        trust: Trust = NOBODY,
        models: AnyPath | None = None,
    ) -> None:
        self._place: Place = place_of(spec, data, results, trust, models)

    def __repr__(self) -> str:
        return f"gridc.open({str(self.spec)!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the figures of its results, or why there are none."""
        from html import escape

        from gridc.diagnostics.errors import GridcError

        try:
            return self.findings().plots_html()
        except GridcError as error:
            found = error.diagnostics[0]
            why = f"{found.message}; {found.help}" if found.help else found.message
            return f"<p><code>{escape(repr(self))}</code>: no figures yet, because {escape(why)}</p>"

    @property
    def spec(self) -> Path:
        """The path of its spec."""
        return self._place.spec

    @property
    @coded()
    def store(self) -> Path:
        """The path of its store, whether or not there is one yet."""
        return self._place.store(self._place.compiled())

    def validate(
        self, check: bool = False, progress: "Callable[[RunStep], None]" = _ignore
    ) -> "ValidationReport":
        """Check the spec and that what it names is there. With `check` the data are read too, and the
        instrument is tried on responders whose scores are known; `progress` is told what is being done.

        Raises `SpecError`, or with `check` `HazardError`, with all findings of the first stage to fail.
        """
        from gridc.study.validation import validate

        return validate(self._place, check, progress)

    def expanded(self) -> str:
        """The spec as one text, with what it extends written out."""
        from gridc.study.validation import expanded

        return expanded(self._place)

    def format(self, check: bool = False) -> "FormattedSpec":
        """Write the spec in one way of writing it: its values, comments and stamp stay. With `check` nothing
        is written. Raises `SpecError` for a text that is no TOML."""
        from gridc.study.formatting import format_spec

        return format_spec(self._place, check)

    def plan(self, against: str | None = None) -> "PlanReport":
        """What a run would execute, and what it will cost. `against` is a stamp (its first letters) or the
        path of a lock to compare with."""
        from gridc.study.planning import plan

        return plan(self._place, against)

    def design(
        self,
        decide: Sequence[str],
        power: float = 0.8,
        usd: float | None = None,
        tokens: float | None = None,
        hours: float | None = None,
        effect: float | Mapping[str, float] | None = None,
        changing: float = 0.2,
    ) -> "DesignAnswer":
        """The cheapest design of items, configurations and replicates in which each hypothesis of `decide` is
        decided with probability `power` where it is true, and costs no more than `usd`, `tokens` and `hours`.
        `effect` is what is to be found, in percentage points: of all hypotheses without a margin to show, or
        by id. `changing` is the share of items on which answers under two levels are assumed to differ.

        Raises `UsageError`: GC324 for a hypothesis without a power, GC325 for a limit that no price or time
        is known for, GC326 while the items are absent.
        """
        from gridc.study.planning import design

        stated = {"usd": usd, "tokens": tokens, "hours": hours}
        limits: Any = {name: limit for name, limit in stated.items() if limit is not None}
        return design(self._place, decide, power, limits, effect, changing)

    def show(
        self,
        item: str | None = None,
        where: Sequence[str] = (),
        diff: Sequence[str] = (),
        every: bool = False,
        replicate: int = 0,
        tokens: bool = False,
    ) -> "Showing":
        """What an item (its id, or its number from 1) is asked in the first cell that `where` selects, such
        as `["few_shot=3", "model=qwen2"]`: prompt, candidates, stop rules, what synthetic responders come to,
        and the answer where the store has it. No call is made.

        With `every` one cell is shown for each different prompt; `diff` names the levels of a configuration
        to compare with; `tokens` loads the tokenizer of a local model. Raises `UsageError` for what is not
        there.
        """
        from gridc.study.showing import show

        return show(self._place, item, where, diff, every, replicate, tokens)

    def stamp(
        self, supersede: bool = False, progress: "Callable[[RunStep], None]" = _ignore
    ) -> "StampReport":
        """Fix the spec and every input under one digest, in the lock beside the spec. Uses the network where
        a model or a dataset has to be pinned. `progress` hears what is being done.

        Raises `StampError` where another stamp is there; `supersede` replaces it and keeps it in the chain.
        """
        from gridc.study.stamping import stamp

        return stamp(self._place, supersede, progress)

    def check_stamp(self) -> "StampCheck":
        """Whether the lock is what the spec says; nothing is written. Raises `StampError` with each departure
        that the deviation log does not explain."""
        from gridc.study.stamping import check_stamp

        return check_stamp(self._place)

    def anchor(self, key: AnyPath | None = None, tsa: str | None = None) -> "AnchorReport":
        """Tie the lock, and the results of a finished run, to a key and a time: sign with the ssh `key`, have
        the RFC 3161 authority at the address `tsa` time-stamp them. What has its evidence is left alone."""
        from gridc.study.stamping import anchor

        return anchor(self._place, None if key is None else Path(key), tsa)

    def deviations(
        self, write: bool = False, registered: str | PathLike[str] | None = None
    ) -> "StampDeviations":
        """The study against its stamp, path by path, and the log that explains the difference. With `write`
        the log gets the entries and values that it lacks. `registered` is the spec of the registration, where
        that is another file than the study's own: its lock counts, or what it says now if it has none."""
        from gridc.study.stamping import deviations

        return deviations(self._place, write, None if registered is None else spec_in(Path(registered)))

    def run(
        self,
        shard: str | None = None,
        progress: "Callable[[RunStep], None]" = _ignore,
        notify: Callable[[str], None] = _ignore,
        ray: RayCluster | None = None,
        acknowledge: Collection[str] = (),
        allow: Collection[str] = (),
        ask: "Callable[[Consentable], bool] | None" = None,
        references: int | None = None,
        serve: Mapping[str, str] = MappingProxyType({}),
        go_on: bool = False,
    ) -> "RunReport":
        """Execute the plan into the store. What was answered before is not asked again, so that a run which
        was interrupted is resumed by running again.

        `shard` is a part of the run like `2/3`, for `merge` to join. `progress` is called after every batch,
        `notify` with what a person should know before the first call. A study without a lock is stamped.
        With `ray` local models are replicated on a cluster; `acknowledge=["environments"]` lets machines that
        differ take part, which is recorded as an observed deviation.

        `allow` has the hosts that may get prompts, each with the variable whose value may go there as a key:
        `["api.openai.com:OPENAI_API_KEY", "127.0.0.1:8000"]`. `ask` is called for each that is not allowed,
        and what it allows is kept in the person's configuration folder. Raises `UsageError` (GC643) where
        something else would leave, before anything is written.

        `references` calls of each model whose weights are known are made once more in fp32 on this machine,
        and `progress` is told how the answers differ. Without a number it is 8 of each model behind a server,
        once the study is complete and if memory suffices; 0 leaves it out. `serve` has, for a model behind an
        address of this machine, the command that starts its server, which runs as long as the run.

        Raises `UnreadError` (GC623) where most of the first fifty answers of a model or a judge cannot be
        read, unless it is told to `go_on`.
        """
        from gridc.study.running import run

        return run(
            self._place,
            shard,
            progress,
            notify,
            ray,
            acknowledge,
            allow,
            ask or _nobody_consents,
            references,
            serve,
            go_on,
        )

    def merge(
        self,
        stores: Iterable[AnyPath],
        acknowledge: Collection[str] = (),
        notify: Callable[[str], None] = _ignore,
    ) -> "RunReport":
        """Take the answers of other stores of the study into its store, all or nothing. `notify` is told
        which of them no digest is of. Raises `StoreError` where one is damaged or of another study, two
        disagree about an answer, or were computed in environments that differ, unless `acknowledge` has
        `environments`."""
        from gridc.study.running import merge

        return merge(self._place, [Path(store) for store in stores], acknowledge, notify)

    def status(self) -> "StatusReport":
        """How far the run is, and what it took."""
        from gridc.study.running import status

        return status(self._place)

    def sql(self, statement: str) -> "QueryResult":
        """What a statement selects from the store, which nothing can change through it. `samples` and `calls`
        are views with names in the place of digests; docs/tables.md lists all tables. Raises `UsageError` for
        a statement that SQLite refuses."""
        from gridc.study.sql import sql

        return sql(self._place, statement)

    def scaffolds(self) -> "ScaffoldReport":
        """What the stored sub-calls of the study's scaffolds show: which parts of a task reached each step,
        whether a scaffold went to work, and what leaked into divided tasks."""
        from gridc.study.scaffolding import scaffolds

        return scaffolds(self._place)

    def scoreboard(self) -> "ScoreboardReport":
        """What each model scores on each benchmark under the anchor, with its interval, its range over the
        envelope, the score of chance and what could not be read. Nothing is written."""
        from gridc.study.scores import scoreboard

        return scoreboard(self._place)

    def findings(self) -> "FindingsReport":
        """What the store shows now. Nothing is written; `report` also records that somebody looked."""
        from gridc.study.reporting import findings

        return findings(self._place)

    def report(
        self,
        figures: bool = False,
        pdf: bool = False,
        attribution: bool = False,
        with_answers: bool = False,
        most: int = 200,
    ) -> "WrittenReport":
        """Write certificate, GRID card and page beside the store, and with `figures` or `pdf` every figure.
        `attribution` explains by axis what moves the scores (needs lightgbm). `with_answers` also writes the
        page with the prompts and responses on which two models differ, at most `most` items of a pair. A
        report on an incomplete run is recorded as an interim look."""
        from gridc.study.reporting import report

        return report(self._place, figures, pdf, attribution, most if with_answers else None)

    def checklist(self) -> "StudyChecklist":
        """What published checklists ask of a report, with what the study shows of it."""
        from gridc.study.reporting import study_checklist

        return study_checklist(self._place)

    def certify(self) -> "CertificateReport":
        """Which orders and reversals the items certify, from what the store has."""
        from gridc.study.reporting import certify

        return certify(self._place)

    def certify_until_decided(
        self,
        progress: Callable[[str, int, int], None] = _ignore,
        notify: Callable[[str], None] = _ignore,
        allow: Collection[str] = (),
        ask: "Callable[[Consentable], bool] | None" = None,
    ) -> "RaceReport":
        """Ask only what certifies reversals, and stop. `progress` is told the benchmark, how many of its
        items were asked, and how many there are; `notify`, `allow` and `ask` as in `run`."""
        from gridc.study.running import certify_until_decided

        return certify_until_decided(self._place, progress, notify, allow, ask or _nobody_consents)

    def audit_sample(self, responses: int = 100, configurations: Sequence[str] = ()) -> "DrawnSheet":
        """Draw a blinded sheet of at most so many responses for people to label, and write it beside the
        store: the same items of all models, in the anchor's configuration or in these (`all`: in every one).

        Raises `IncompleteError` (GC660) where the run is not finished, or no answer is a text.
        """
        from gridc.study.auditing import audit_sample

        return audit_sample(self._place, responses, configurations)

    def audit_decide(self, configurations: Sequence[str] = ()) -> "SampleDecision":
        """How many labels of people the gap of each pair needs, in the anchor's configuration or in these
        (`all`: in every one). Draws nothing.

        Raises `IncompleteError` (GC660) where the run is not finished, or no gap could be corrected.
        """
        from gridc.study.auditing import audit_decide

        return audit_decide(self._place, configurations)

    def audit_read(self, labels: AnyPath, *others: AnyPath) -> "TakenLabels":
        """Take the labels of a sheet back, of one person or of several, and say how far they agree with the
        study's own. Raises `FileError` with everything that is wrong in the files."""
        from gridc.study.auditing import audit_read

        return audit_read(self._place, [Path(file) for file in (labels, *others)])

    def verify(
        self,
        rerun: float | None = None,
        rerun_seed: str | None = None,
        notify: Callable[[str], None] = _ignore,
    ) -> "Verification":
        """Recompute everything from the spec, the lock and the store. `rerun` is the share (above 0, at most
        1) of the calls that are made again too; they are drawn now, or by the seed (hex) that an earlier
        verification printed. `notify` is told before the hub is asked for files of their models. Raises
        `VerificationError` with everything that differs."""
        from gridc.study.verifying import verify

        return verify(self._place, rerun, rerun_seed, notify)

    def scores(self) -> "pyarrow.Table":
        """The score of every cell, with what it is made of and its sampling error. One row for each cell."""
        from gridc.study.tables import table

        return table(self._place, "scores", None)

    def samples(self, columns: Sequence[str] | None = None) -> "pyarrow.Table":
        """Every sample with its outcome: one row for each cell, item and replicate. `columns` chooses
        some."""
        from gridc.study.tables import table

        return table(self._place, "samples", columns)

    def calls(self, columns: Sequence[str] | None = None) -> "pyarrow.Table":
        """Every distinct call with its answer. `columns` chooses some: prompts and answers are long."""
        from gridc.study.tables import table

        return table(self._place, "calls", columns)

    def pairs(self) -> "pyarrow.Table":
        """The certificate's pairs: one row for each pair of models in each scope of each benchmark."""
        from gridc.study.tables import of_certificate

        return of_certificate(self._place, "pairs")

    def hypotheses(self) -> "pyarrow.Table":
        """The certificate's hypotheses, decided."""
        from gridc.study.tables import of_certificate

        return of_certificate(self._place, "hypotheses")

    def statistics(self) -> "pyarrow.Table":
        """The certificate's statistics that the spec states, of each model under each configuration."""
        from gridc.study.tables import of_certificate

        return of_certificate(self._place, "statistics")

    def batches(
        self, table: "TableName", columns: Sequence[str] | None = None, rows: int = 65_536
    ) -> "pyarrow.RecordBatchReader":
        """`scores`, `samples` or `calls` in batches of so many rows, for stores larger than the memory."""
        from gridc.study.tables import reader

        return reader(self._place, table, columns, rows)

    def bundle(self, to: AnyPath | None = None) -> Path:
        """Write all that `verify` needs to check the study offline into one new folder, by default beside the
        results. The path of the folder, which `gridc.open` opens too."""
        return self.export("bundle", to)

    def export(
        self,
        form: str,
        to: AnyPath | None = None,
        force: bool = False,
        columns: Sequence[str] | None = None,
        producer: str | None = None,
    ) -> Path:
        """Write the study in a form of `gridc export`, or one of its tables into a .parquet, .csv or .arrow
        file, by default beside the results. `force` overwrites the file of a table, and `columns` chooses
        some of it; `producer` is who publishes, in a form that names them. The path of what was written."""
        from gridc.study.exports import TABLES
        from gridc.study.reporting import export
        from gridc.study.tables import export_table

        if form in TABLES:
            return export_table(self._place, form, None if to is None else Path(to), force, columns)
        return export(self._place, form, None if to is None else Path(to), producer)

    def log_to(self, tracker: str, project: str | None = None) -> list[str]:
        """Log one run for each model to an experiment tracker, `mlflow` or `wandb`: its scores with their
        intervals, what is set, and the certificate and cards as JSON. The tracker's own environment variables
        say where and as whom; `project` is the study's id by default. Where each run can be seen."""
        from gridc.study.reporting import log_to

        return log_to(self._place, tracker, project)

    def attach_card(
        self,
        readme: AnyPath,
        model: str | None = None,
        link: str | None = None,
        deck: AnyPath | None = None,
    ) -> "AttachedCards":
        """Write the GRID cards of one model into a model card, between markers. `deck` is a gridcard.json, or
        a folder or bundle with one; by default the study's results."""
        from gridc.study.reporting import attach_card

        return attach_card(self._place, Path(readme), None if deck is None else Path(deck), model, link)

    def check_card(self, readme: AnyPath, deck: AnyPath | None = None) -> "CheckedCards":
        """The cards that a model card agrees with, checked against the store or the bundle that they come
        from. Raises `VerificationError` with all that differs."""
        from gridc.study.reporting import check_card

        return check_card(self._place, Path(readme), None if deck is None else Path(deck))


@coded()
def open(
    spec: AnyPath = "gridcard.toml",
    data: AnyPath | None = None,
    out: AnyPath | None = None,
    trust: Trust = NOBODY,
    models: AnyPath | None = None,
) -> OpenStudy:
    """A study by the path of its spec, or of the folder that holds its gridcard.toml.

    `data` is the folder of `data:` sources (default: GRIDC_DATA), `out` the results folder (default:
    `results/STUDY` beside the spec), `trust` whom you believe where evidence is checked, `models` the
    folder of `models:` sources (default: GRIDC_MODELS). Raises `SpecError`
    where there is no spec that can be read as TOML.
    """
    from gridc.compiler.frontend.source import read_source

    study = OpenStudy(spec, data, out, trust, models)
    read_source(study.spec)
    return study


@coded()
def diff(a: AnyPath, b: AnyPath) -> "StudyDiff":
    """What differs between two specs, two locks, a spec and a lock, or two stores. A store that
    holds several studies is followed by @STAMP, the first letters of one."""
    from gridc.study.comparing import diff

    return diff(str(a), str(b))


class LogOptions(TypedDict, total=False):
    """How logs of other packages are read and compared, in `certify` and `compare` alike: `benchmarks` names
    tasks that ask the same items in several ways, and `models` models that packages call by several names;
    `axes` are the columns of tables that make configurations, and `ignore` those that are not read; `unit` is
    the column, or the field of an item as a dotted path, that says what it was made from: items of one unit
    are one independent draw, and `category` the same of what kind of item it is. `counting` are the files
    that count where one model was run several times in one configuration, or `all`, which takes the runs as
    repetitions. `may_differ` is what models, or runs, may differ in throughout and still be compared. An item
    that a model or a run lacks failed there, unless `common_only`; a benchmark has `total` items where no log
    names all. `statistics` are those that `certify` computes, each as a line: `pass_at_3`, `tokens`,
    `tokens / score`, `NAME=FORMULA`."""

    benchmarks: Mapping[str, Sequence[str]]
    models: Mapping[str, Sequence[str]]
    axes: Sequence[str]
    ignore: Sequence[str]
    unit: str | None
    category: str | None
    counting: Sequence[str]
    may_differ: Sequence[str]
    common_only: bool
    total: int | None
    statistics: Sequence[str]


@coded()
def certify(
    logs: "AnyPath | Sequence[AnyPath]", reading: str | None = None, **options: Unpack[LogOptions]
) -> "LogReport":
    """What logs of other packages certify: files, or folders with them. `reading` is the metric, filter or
    scorer that counts where a log has it; `options` are those of `LogOptions`.

    Raises `FileError` for what is not a log, or wrong in one, and `UsageError` for a name that no log has.
    """
    from gridc.study.recorded import certify

    several = [logs] if isinstance(logs, str | PathLike) else logs
    return certify([Path(path) for path in several], reading, options)


@coded()
def compare(
    a: "AnyPath | Sequence[AnyPath]",
    b: AnyPath,
    margin: float | None = None,
    policy: AnyPath | None = None,
    exit_codes: "ExitCodes" = "gridc",
    reading: str | Mapping[str, str] | None = None,
    signers: Sequence[str] = (),
    **options: Unpack[LogOptions],
) -> "ReleaseReport":
    """Whether run `b` is worse than run `a`, or than several baselines, by more than a margin, and whether
    they are one instrument. A run is a store, or the folder with one, and may be followed by @STAMP; or logs;
    or a file of `baseline`, which one of the `signers` must have signed where some are named.

    `margin` is in percentage points and stands for every benchmark that the `policy`, a TOML file, states
    none of. Of logs, `reading` is the metric, filter or scorer that counts, of all benchmarks or by
    benchmark. `options` are those of `LogOptions`: `may_differ` beside model, environment and seed, and what
    a log is read by. Raises `StoreError` for what is no run, `UsageError` for logs that are read in several
    ways (GC767), and `SpecError` for a policy that cannot be.
    """
    from gridc.study.gate import GivenPolicy, compare

    several = [a] if isinstance(a, str | PathLike) else a
    given = GivenPolicy(margin, _by_benchmark(reading), options)
    stated, trust = None if policy is None else Path(policy), Trust(signers=tuple(signers))
    return compare([str(one) for one in several], str(b), stated, exit_codes, given, trust)


def assert_not_worse(
    a: "AnyPath | Sequence[AnyPath]",
    b: AnyPath,
    margin: float | None = None,
    policy: AnyPath | None = None,
    reading: str | Mapping[str, str] | None = None,
    undecided: Literal["fail", "skip", "pass"] = "fail",
    **options: Unpack[LogOptions],
) -> "ReleaseReport":
    """In a test: run `b` is shown not to be worse than `a` by the margin, in percentage points. Raises
    `AssertionError` with what was found otherwise.

    `undecided` says whether the test fails, is skipped by pytest, or passes where there are too few items to
    tell. A candidate with missing or too many unreadable answers always fails, and so do runs that are not
    one instrument. Everything else is as in `compare`.
    """
    __tracebackhide__ = True  # pytest shows the line that asserts
    report = compare(a, b, margin, policy, reading=reading, **options)
    too_few = report.comparison.too_few
    if report.verdict == "GO" or (too_few and undecided == "pass"):
        return report
    found = "\n".join(filter(None, [repr(report), report.view_command]))
    if too_few and undecided == "skip":
        import pytest

        pytest.skip(found)
    raise AssertionError(found)


@coded()
def baseline(
    run: AnyPath,
    to: AnyPath,
    policy: AnyPath | None = None,
    reading: str | Mapping[str, str] | None = None,
    key: AnyPath | None = None,
    **options: Unpack[LogOptions],
) -> "WrittenBaseline":
    """Keep a run in one small file, with which later runs are compared: its items, scores, states and
    instrument, without texts. `key` is a private ssh key that signs it. `run`, `policy`, `reading` and
    `options` are those of `compare`, which says what is raised for them; for the key `StampError` (GC406)
    and `UnavailableError` (GC604)."""
    from gridc.study.gate import GivenPolicy, baseline

    given = GivenPolicy(None, _by_benchmark(reading), options)
    stated, secret = (None if path is None else Path(path) for path in (policy, key))
    return baseline(str(run), Path(to), stated, given, secret)


def _by_benchmark(reading: str | Mapping[str, str] | None) -> Mapping[str, str]:
    """Readings by benchmark; one of all benchmarks under the empty name."""
    return {"": reading} if isinstance(reading, str) else reading or {}


@coded()
def view(
    path: AnyPath = "gridcard.toml",
    compare: AnyPath | None = None,
    port: int = 8417,
    ready: Callable[[str], None] = _ignore,
    data: AnyPath | None = None,
    out: AnyPath | None = None,
    models: AnyPath | None = None,
    logs: LogOptions | None = None,
) -> None:
    """Show a store in the browser until Ctrl-C, on this machine alone, and another one to compare with.
    `path` is a store, which `@` and the first letters of a stamp follow where it holds several studies, a
    folder with one, a bundle, a spec, or logs, which are read as `logs` says. `ready` is told the address."""
    from gridc.study.viewing import serve_pages

    others = [] if compare is None else [place_of(compare, data, None, NOBODY, models)]
    serve_pages([place_of(path, data, out, NOBODY, models), *others], port, ready, logs)


@coded()
def view_pages(
    to: AnyPath,
    path: AnyPath = "gridcard.toml",
    compare: AnyPath | None = None,
    pages: int = 5_000,
    progress: Callable[[int], None] = _ignore,
    data: AnyPath | None = None,
    out: AnyPath | None = None,
    models: AnyPath | None = None,
    logs: LogOptions | None = None,
) -> "ExportedPages":
    """Write the pages of `view` as files into a new folder, at most so many, those near the start first.
    `progress` is told how many are written."""
    from gridc.study.viewing import write_pages

    others = [] if compare is None else [place_of(compare, data, None, NOBODY, models)]
    places = [place_of(path, data, out, NOBODY, models), *others]
    return write_pages(places, Path(to), pages, progress, logs)


@coded()
def check_figures(table: AnyPath) -> "PrintedTable":
    """Which figures of a table no whole counts give: a CSV with `printed` and `n`, as docs/audit.md says."""
    from gridc.reports.exchange.printed_figures import check_table

    return check_table(Path(table))


@coded()
def measurands(name: str | None = None) -> "list[Measurand]":
    """The named measurands that ship, or the one of this name."""
    from gridc.study.framings import measurands

    return measurands(name)


@coded()
def tasks(words: Sequence[str] = ()) -> "FoundTasks":
    """The tasks, groups and tags of the lm_eval that is installed whose names have every word in them. Its
    files are read as text: none of its code runs. Raises `UnavailableError` where it is not installed."""
    from gridc.study.task_search import search_tasks

    return search_tasks(words)


@coded()
def propagation(
    calls: "AnyPath | Iterable[Mapping[str, Any]]", tasks: AnyPath | None = None
) -> "Propagation":
    """Which parts of a task reached each of these sub-calls: a JSONL file, or records. `tasks` is a JSONL
    file with the tasks by item, where the rows do not hold them; docs/scaffolds.md says what a row holds."""
    from gridc.study.scaffolding import propagation

    given = Path(calls) if isinstance(calls, str | PathLike) else calls
    return propagation(given, None if tasks is None else Path(tasks))


@coded()
def report_all(
    specs: Sequence[AnyPath],
    to: AnyPath | None = None,
    data: AnyPath | None = None,
    models: AnyPath | None = None,
    trust: Trust = NOBODY,
    figures: bool = False,
    pdf: bool = False,
    attribution: bool = False,
    with_answers: bool = False,
    most: int = 200,
) -> "StudiesReport":
    """Report each of several studies as `report` does, and write one report over all of them into the folder
    `to` (default: the one in which the results of the first lie): which sample each claim rests on, which
    items they share, how cells that two of them ran differ, and one error budget."""
    from gridc.study.reporting import report_all

    places = [place_of(spec, data, None, trust, models) for spec in specs]
    return report_all(
        places, None if to is None else Path(to), figures, pdf, attribution, most if with_answers else None
    )


def validate_all(
    specs: Sequence[AnyPath],
    data: AnyPath | None = None,
    check: bool = False,
    models: AnyPath | None = None,
    progress: "Callable[[RunStep], None]" = _ignore,
) -> "Iterator[ValidationReport]":
    """A verdict on each spec; what is wrong with one is in its `diagnostics`."""
    from gridc.study.validation import validate_all

    with coded():
        places = [place_of(spec, data, None, NOBODY, models) for spec in specs]
        yield from validate_all(places, check, progress)
