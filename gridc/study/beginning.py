"""The first spec of a study, and the schema beside it."""

import re
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, assert_never, get_args

from gridc.compiler import draft, draft_files
from gridc.compiler.frontend.lint import lint
from gridc.compiler.frontend.read import asked_tasks
from gridc.compiler.inputs.loaders.gold import WORDS, short
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.inputs.task_index import INSTALL, is_installed
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import COMPARISONS, right_answers
from gridc.compiler.instrument.scaffolds.turns import transcript
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.open_points import BEHAVIOUR, COLUMN, COLUMNS, MEANING, AnswerWay, OpenPoint
from gridc.compiler.preflight.consent import asked_of_hub
from gridc.compiler.preflight.task_files import make_task_files, read_with_tasks
from gridc.diagnostics.errors import Diagnostic, GridcError, HazardError, UsageError
from gridc.files import write_atomic
from gridc.schema import jsonschema
from gridc.schema.effects import Match, MatchKind
from gridc.schema.items import LOADER_KINDS, Loading, OptionLabels
from gridc.schema.models import engine_for, engine_kind
from gridc.study.machine import advice, memory_of
from gridc.study.place import SPEC_NAME, place_of

__all__ = [
    "BEHAVIOUR",
    "BENCHMARKS",
    "COLUMN",
    "COLUMNS",
    "ENCODINGS",
    "GOLD_RULES",
    "MATCHES",
    "MEANING",
    "MODELS",
    "OPTION_LABELS",
    "TASK_MODELS",
    "TITLE",
    "AnswerWay",
    "Beginning",
    "DraftReport",
    "FileStatements",
    "OpenPoint",
]

ENCODINGS = draft_files.ENCODINGS
TITLE, MODELS, BENCHMARKS = draft.TITLE, draft.MODELS, draft.BENCHMARKS
"""What a first study is of, where nothing else is asked for."""
TASK_MODELS = MODELS[:2]
"""The models of a first study of tasks."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The two files of a study that begins."""

    spec: Path
    schema: Path

    @classmethod
    def at(cls, out: Path) -> "Beginning":
        """`out` is the spec to write, or its folder."""
        spec = out if out.suffix == ".toml" and not out.is_dir() else out / SPEC_NAME
        return cls(spec, spec.with_name(jsonschema.file_name("gridcard")))

    def require_free(self) -> None:
        """Raise `UsageError` where a spec, or another schema, is there already."""
        files = {self.schema: jsonschema.schema_text(), self.spec: ""}
        taken = [path for path, text in files.items() if path.exists() and path.read_bytes() != text.encode()]
        if taken:
            help = "--force overwrites it; --out names another file"
            raise UsageError(
                Diagnostic("GC000", "there is a file here already", str(path), help=help) for path in taken
            )

    def write(
        self,
        title: str,
        models: Sequence[str],
        benchmarks: Sequence[str],
        statements: "FileStatements | None" = None,
        tasks: Sequence[str] = (),
        accept: "Callable[[DraftReport], bool]" = lambda report: True,
    ) -> "DraftReport | None":
        """Write both, once the spec is known to be valid and `accept` takes it; None where it does not.

        Raises `UsageError` for a source that stands for nothing and `SpecError` for what is wrong with what
        it leads to; then nothing is written, as where it is not accepted. What a person can settle is an
        `OpenPoint`."""
        folder = self.spec.absolute().parent
        statements = statements or FileStatements()
        told, made = list[str](), list[Path]()
        if statements.copy:
            benchmarks, files, told = draft_files.copied(benchmarks, folder, statements.encoding)
            made = [path for path in files if not path.exists()]
        new_folder = not self.spec.parent.exists()
        self.spec.parent.mkdir(parents=True, exist_ok=True)
        report = None
        try:
            for path in made:
                write_atomic(path, files[path])
            report = self._written(folder, title, models, benchmarks, statements, tasks, told, accept)
        finally:
            if report is None:
                for path in made:
                    path.unlink(missing_ok=True)
                if new_folder:
                    self.spec.parent.rmdir()
        return report

    def _written(
        self,
        folder: Path,
        title: str,
        models: Sequence[str],
        benchmarks: Sequence[str],
        statements: "FileStatements",
        tasks: Sequence[str],
        told: Sequence[str],
        accept: "Callable[[DraftReport], bool]",
    ) -> "DraftReport | None":
        stated = statements.stated(benchmarks)
        first = draft.draft(
            folder,
            title,
            tuple(models),
            tuple(benchmarks),
            stated,
            statements.gold,
            statements.judge,
            statements.match,
            statements.how,
            tuple(tasks),
        )
        tried = self.spec.with_name(f".{secrets.token_hex(8)}.toml")
        try:
            write_atomic(tried, first.text())
            known = [benchmark.recognised for benchmark in first.benchmarks if benchmark.recognised]
            if first.tasks:
                ahead, stamped = _rendered(tried, self.spec)
                rows: tuple[ReadRow, ...] = ()
            else:
                ahead, stamped, rows = _compiled(tried, self.spec, known)
        finally:
            tried.unlink(missing_ok=True)
        seen = [*told, *(benchmark.said for benchmark in first.benchmarks if benchmark.said)]
        seen += [task.said for task in first.tasks]
        needed = [*_to_install(models), *(_to_install_tasks() if first.tasks else ())]
        validated = not (first.tasks and ahead)
        columns = {each.id: each.columns for each in first.benchmarks if each.columns}
        report = DraftReport((*seen, *stamped), ahead, tuple(needed), validated, rows, columns)
        if not accept(report):
            return None
        write_atomic(self.schema, jsonschema.schema_text())
        write_atomic(self.spec, first.text())
        return report


@dataclass(frozen=True, slots=True)
class FileStatements:
    """What is said of files whose columns do not say it: `[FILE:]FIELD=COLUMN`, `[FILE:]FIELD=TEXT` of what
    is the same in every row, `[FILE:]WORD=MEANING`, how the gold column names an option, who or what
    compares free text, whether malformed rows are left out, what becomes of labels in options, and whether
    files that lie elsewhere or are not UTF-8 are copied beside the spec. `[FILE:]COLUMN=MARK` says what
    stands between several right answers or options in a text, and `[FILE:]NAME=ROLE` who speaks in a
    conversation. Without a header the first row is data; `rows` is the list in a record that holds the rows,
    and `encoding` that of a file that is copied."""

    fields: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    gold: str | None = None
    judge: str | None = None
    match: MatchKind | None = None
    leave_out: bool = False
    option_labels: OptionLabels | None = None
    copy: bool = False
    splits: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    no_header: bool = False
    rows: str | None = None
    encoding: str | None = None

    @property
    def how(self) -> Loading:
        """What files are read by beside their columns."""
        return Loading(
            malformed="leave_out" if self.leave_out else "error",
            labels=self.option_labels,
            header="none" if self.no_header else None,
            rows=self.rows,
        )

    def saying(self, words: Sequence[str], about: str) -> "FileStatements":
        """These with what the options of an answer say, of the benchmark `about` where it is about one."""
        file = f"{Path(about).name}:" if about else ""
        changed: dict[str, Any] = {}
        rest = iter(words)
        for word in rest:
            key = word.removeprefix("--").replace("-", "_")
            several = f"{key}s"
            if hasattr(self, several):  # such as --field, which can be given many times
                before = changed.get(several, getattr(self, several))
                changed[several] = (*before, f"{file}{next(rest)}")
            else:
                changed[key] = True if isinstance(getattr(self, key), bool) else next(rest)
        return replace(self, **changed)

    def stated(self, benchmarks: Sequence[str]) -> list[draft.ColumnStatement]:
        """The statements. Raises `UsageError`."""
        names = {name for benchmark in benchmarks for name in draft.data_names(benchmark)}
        return [
            *(draft.ColumnStatement.read("field", text, names) for text in self.fields),
            *(draft.ColumnStatement.read("constant", text, names) for text in self.constants),
            *(draft.ColumnStatement.read("label", text, names) for text in self.labels),
            *(draft.ColumnStatement.read("split", text, names) for text in self.splits),
            *(draft.ColumnStatement.read("speaker", text, names) for text in self.speakers),
        ]


GOLD_RULES = tuple(dict.fromkeys(rule for kind in LOADER_KINDS.values() for rule in kind.gold))
"""How a gold column may name an option, or which answer earns the point where none is called right."""
OPTION_LABELS: tuple[OptionLabels, ...] = get_args(OptionLabels)
MATCHES: tuple[MatchKind, ...] = tuple(kind for kind in get_args(MatchKind) if not COMPARISONS[kind].as_it_is)
"""As what free text may be compared."""


@dataclass(frozen=True, slots=True)
class DraftReport:
    """What was seen in the files, in sentences, what has to be settled before a plan (`ahead`), what has to
    be installed before a model can be asked (`install`), and whether the spec was `validated`. `rows` are
    the first of each benchmark, as they were read, and `columns` those of its file with a value of each."""

    seen: tuple[str, ...]
    ahead: tuple[Diagnostic, ...]
    install: tuple[str, ...]
    validated: bool = True
    rows: tuple["ReadRow", ...] = ()
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadRow:
    """An item of a benchmark: the prompt that the first configuration asks, with all that is said before and
    after it where it is a conversation, and what earns the point."""

    benchmark: str
    item: str
    prompt: str
    right: str


ROWS_SHOWN = 3
BUILTIN = "builtin:"


def _shown_rows(study: Study) -> Iterator[ReadRow]:
    """The first items of each benchmark whose items are here, but for those that ship with gridc."""
    plan = Plan(study)
    seen = {benchmark.id for benchmark in study.spec.benchmark if benchmark.source.startswith(BUILTIN)}
    for cell in plan.cells():
        if cell.benchmark in seen:
            continue
        seen.add(cell.benchmark)
        for sample in islice(plan.samples(cell), ROWS_SHOWN):
            messages = sample.requests[0].prompt.messages
            said = (*messages, *(("user", turn) for turn in sample.item.turns))
            prompt = messages[0][1] if len(said) == 1 else transcript(said)
            yield ReadRow(cell.benchmark, sample.item.id, prompt, _right(cell.setting, sample.item))


def _right(setting: Setting, item: Item) -> str:
    """What earns the point, in short: `A. Oslo`, `12 or twelve`, `a refusal`."""
    if item.expected is not None:
        return "a refusal" if item.expected == "refuse" else "an answer, no refusal"
    if item.right:
        labels = setting.labels_of(item)
        named = (
            f"{f'{labels[place]}. ' if labels else ''}{item.options[place]}" for place in sorted(item.right)
        )
        return " or ".join(named)
    compared = item.references if setting.match is None else right_answers(setting.match, item)
    return " or ".join(map(short, compared)) or "what a judge says"


def _rendered(tried: Path, spec: Path) -> tuple[tuple[Diagnostic, ...], list[str]]:
    """The same of a draft of tasks, which their package renders first. One that it does not render here yet
    is a draft all the same: what stands in the way is to be settled."""
    names = [request.name for request in asked_tasks(tried).values() if not request.beside]
    fetched = list(asked_of_hub(names))
    try:
        make_task_files(tried, online=True)
    except GridcError as error:
        return _moved(error, spec), fetched
    ahead, said, _ = _compiled(tried, spec, ())
    return ahead, [*fetched, *said]


def _to_install_tasks() -> Iterator[str]:
    if not is_installed():
        yield f"{INSTALL}: before tasks can be read, for lm_eval"


def _to_install(models: Sequence[str]) -> Iterator[str]:
    """For each engine that packages are missing for: which, and the command that installs them."""
    for name in dict.fromkeys(engine_for(source) for source in models):
        kind = engine_kind(name)
        missing = [package for package in kind.packages if find_spec(package) is None]
        if missing:
            yield f"{kind.install}: before models can be asked, for {', '.join(missing)}"


def _compiled(
    tried: Path, spec: Path, recognised: Sequence[str]
) -> tuple[tuple[Diagnostic, ...], list[str], tuple[ReadRow, ...]]:
    """The hazards of a draft, how its files were read, and their first rows. Raises `SpecError` where it is
    not valid; beside a row that does not follow its format stands how that was `recognised`."""
    place = place_of(tried)
    try:
        checked = read_with_tasks(tried, place.data, place.models)
        if checked.references.absent:
            names = ", ".join(sorted(checked.references.absent))
            return (), [f"not looked at, as its files are not here: {names}"], ()
        study = place.compiled().study
        needs = memory_of(Plan(study), calls=False)
        said = [*study.notes(), *lint(study.spec), *_earning(study), *advice(needs)]
        return (), said, tuple(_shown_rows(study))
    except HazardError as error:
        return _moved(error, spec), [], ()
    except GridcError as error:
        found = list(_moved(error, spec))
        if recognised and found[-1].code == "GC312":
            found[-1] = replace(found[-1], help="; ".join((*filter(None, [found[-1].help]), *recognised)))
        raise type(error)(found) from None


def _earning(study: Study) -> Iterator[str]:
    """For what an item of each benchmark earns a point, by the first one."""
    for benchmark in study.spec.benchmark:
        if benchmark.id not in study.items:
            yield f"{benchmark.id} is not looked at: {study.absent[benchmark.id]}"
            continue
        item = study.items[benchmark.id].sampled[0]
        if item.expected is not None:
            does = "refuses" if item.expected == "refuse" else "complies"
            earns = f"the model {does}"
        elif item.gold is None and item.matching is not None:
            right = " or ".join(f"`{short(item.options[place])}`" for place in sorted(item.right))
            earns = f"the answer is {right}"
        elif item.gold is not None:
            earns = f"the answer is `{short(item.options[item.gold])}`"
        elif item.references and benchmark.match is not None:
            earns = f"the response {_compared(benchmark.match, item)}"
        elif item.references:
            earns = f"the judge finds that the response says `{short(item.references[0])}`"
        else:
            continue
        first = f"`{short(item.query)}` ({item.id})"
        yield f"{benchmark.id} is read as {benchmark.loader}: {first} earns a point when {earns}"


def _compared(match: Match, item: Item) -> str:
    """What of a response has to be what: "gives 8 as its number"."""
    answer = f"`{short(right_answers(match, item)[0])}`"
    behind = "" if match.after is None else f" behind `{match.after}`"
    match match.kind:
        case "number":
            return f"gives {answer} as its number{behind}"
        case "text":
            return f"is {answer}{behind}, whatever the case and punctuation"
        case "exact":
            return f"is exactly {answer}{behind}"
        case "contains":
            return f"contains {answer}{behind}"
        case "filtered":
            return f"is {answer} behind its filters"
    assert_never(match.kind)


def _moved(error: GridcError, spec: Path) -> tuple[Diagnostic, ...]:
    return tuple(
        replace(diagnostic, file=str(spec)) if diagnostic.file else diagnostic
        for diagnostic in map(_for_init, error.diagnostics)
    )


def _labels(match: re.Match[str]) -> str:
    """A map of words as the options of `init`."""
    words = (word.rpartition(" = ")[0].strip('"') for word in match[3].split(", "))
    return f"--field {match[1]}={match[2]} {' '.join(f'--label {shlex.quote(word)}=...' for word in words)}"


SAYS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"""(\w+) = \{ column = "([^"]+)", map = \{ (.*?) \} \}""", _labels),
    (r"""(\w+) = \{ constant = "([^"]*)" \}""", lambda at: f"--constant {at[1]}={at[2]}"),
    (
        r"""options = \[(.*?)\]""",
        lambda at: f"--field options={at[1].replace(', ', ',').replace(chr(34), '')}",
    ),
    (rf"""(?:loading\.)?gold = "({"|".join(GOLD_RULES)})\"""", lambda at: f"--gold {at[1]}"),
    (r"""(query|option_labels) = "([^"]+)\"""", lambda at: f"--field {at[1]}={at[2]}"),
    (
        r"""map "(.*?)" to "comply" or "refuse\"""",
        lambda at: f"--label {shlex.quote(at[1])}=comply or =refuse",
    ),
    (r"""loading\.rows = "([^"]+)\"""", lambda at: f"--rows {shlex.quote(at[1])}"),
    (r"""loading\.labels = "(remove|keep)\"""", lambda at: f"--option-labels {at[1]}"),
    (r"""`?loading\.malformed`? = "leave_out\"""", lambda at: "--leave-out"),
)
"""How `gridc init` is given what a spec would state: where nothing is written there is no spec to
edit."""


def _for_init(diagnostic: Diagnostic) -> Diagnostic:
    """A finding about a spec that is not written, with the way to say it to `gridc init`."""
    help = diagnostic.help
    if diagnostic.code == "GC332":  # a published format, which the file has in part
        help = f"--benchmark rows=FILE reads a file as plain rows, whose items stand alone; or {help}"
    for stated, option in SAYS if help is not None else ():
        help = re.sub(stated, option, help or "")
    ways = tuple(_ways_of(help or ""))
    if not ways:
        return replace(diagnostic, help=help)
    shown = asdict(diagnostic) | {"help": help, "span": diagnostic.span}
    return OpenPoint(**shown, ways=ways)


def _ways_of(help: str) -> Iterator[AnswerWay]:
    """The options of `init` that a help names, each as an answer."""
    for rule in dict.fromkeys(re.findall(r"--gold (\w+)\b(?! with)", help)):
        yield AnswerWay(f"the column names the right option by {WORDS.get(rule, rule)}", f"--gold {rule}")
    for kept in dict.fromkeys(re.findall(r"--option-labels (\w+)", help)):
        yield AnswerWay(f"{kept} the labels in the texts of options", f"--option-labels {kept}")
    for kind in dict.fromkeys(re.findall(r'as = "(text|exact)"', help)):
        yield AnswerWay("compare as text" if kind == "text" else "compare every character", f"--match {kind}")
    if "--leave-out" in help:
        rule = next(iter(re.findall(r"--gold (\w+) with --leave-out", help)), None)
        yield AnswerWay(
            "leave these rows out, and count them", f"--gold {rule} --leave-out" if rule else "--leave-out"
        )
