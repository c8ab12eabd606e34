"""Drafts a first spec for `gridc init` from a few answers: models, benchmarks or tasks, and what columns
mean.

`draft` looks at the files and returns a `Draft`; `Draft.text` writes it as commented TOML that runs as it is.
"""

import os
import re
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from gridc.compiler.draft_files import (
    BRIEF,
    COPY,
    answers_begin,
    encodings_of,
    lists_of_questions,
    samples_of,
)
from gridc.compiler.draft_tasks import LOADER, DraftTask, named_tasks, task_in_file
from gridc.compiler.frontend.lookup import NotFound, fitting, is_pattern
from gridc.compiler.frontend.source import basic_string
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.inputs.dataset_hub import dataset_files
from gridc.compiler.inputs.loaders import load_items
from gridc.compiler.inputs.loaders.drafted_conversations import heard_column, replies_of
from gridc.compiler.inputs.loaders.drafted_fields import EXPECTED, guess, named_column, tells_right
from gridc.compiler.inputs.loaders.gold import short
from gridc.compiler.inputs.loaders.parsing import LOADERS, BadRow, File, Malformed
from gridc.compiler.inputs.loaders.records import (
    NO_LOADING,
    Records,
    at,
    records,
    whole_document,
)
from gridc.compiler.inputs.loaders.rows import GOLDS, are_lettered, likely_mark
from gridc.compiler.instrument.matching import behind_working
from gridc.compiler.open_points import AnswerWay, OpenPoint
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.files import open_regular
from gridc.numbers import counted
from gridc.schema import jsonschema
from gridc.schema.base import Contradiction
from gridc.schema.effects import MatchKind
from gridc.schema.items import (
    AT_LABELS,
    LOADER_KINDS,
    Fields,
    FieldValue,
    LoaderKind,
    Loading,
    OptionList,
    SplitColumn,
)
from gridc.schema.models import FILES, engine_for, engine_kind

MODELS = ("builtin:pocket-qwen2", "builtin:pocket-mistral", "builtin:pocket-llama")
BENCHMARKS = ("builtin:pocket_bbq.jsonl", "builtin:pocket_truthfulqa.json")
TITLE = "Do the models keep their order when only the way of asking changes?"
REFUSAL_TITLE = "Do the models differ in what they refuse?"
"""The default title of a study whose items are all prompts to comply with or to refuse."""
TASK_TITLE = "Do the models differ on these tasks?"
"""The default title of a study of tasks that are all asked in one way."""
TEMPLATE = "gridcard.toml.jinja"

MANY_LETTERS = 4
"""A format may be recognised by the first word of its name alone where that has more letters than this:
`truthfulqa` says enough, and the `or` of or_bench does not."""
ENDING = re.compile(r"\.(jsonl?|csv|tsv|parquet)$", re.IGNORECASE)
"""Endings of file names, which do not become part of an id."""
BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key of TOML that needs no quotes."""
HUB = "hf:"
SAMPLE = 40
"""Items that a first study asks of a benchmark."""

_FILES = ("data:", "path:", "builtin:")
_FORMATS = tuple(name for name, kind in LOADER_KINDS.items() if not (kind.mapped or kind.task))


@dataclass(frozen=True, slots=True)
class DraftModel:
    """A model, with the engine that its source needs."""

    id: str
    engine: str
    source: str


StatementKind = Literal["field", "constant", "label", "split", "speaker"]


@dataclass(frozen=True, slots=True)
class ColumnStatement:
    """What `gridc init` is told about the columns of a file, as KEY=VALUE: a field and its column (`field`),
    a field and its value in every row (`constant`), a word of a column and its meaning (`label`), or a column
    of right answers or options and what stands between several (`split`; `none`: nothing does), or who a
    speaker of its conversations is (`speaker`). It is about the file `name`, or where that is None about the
    only one."""

    kind: StatementKind
    name: str | None
    key: str
    value: str

    @classmethod
    def read(cls, kind: StatementKind, text: str, names: Collection[str]) -> "ColumnStatement":
        """`[NAME:]KEY=VALUE`, with NAME one of those. Raises `UsageError`."""
        key, equals, value = text.partition("=")
        name, colon, rest = key.rpartition(":")
        given = bool(colon) and name in names
        # A mark may be a word with spaces around it: `Bergen or Oregon`.
        value = (
            value if kind == "split" and value.strip() not in ("", ONE_ANSWER, AT_LABELS) else value.strip()
        )
        statement = cls(kind, name if given else None, (rest if given else key).strip(), value)
        if kind in OF_FIELDS:
            statement = replace(statement, key=ALIASES.get(statement.key, statement.key))
        if not equals or not statement.key or not statement.value:
            help = f"--{kind} {EXAMPLES[kind]}"
            raise UsageError([Diagnostic("GC000", f"`--{kind} {text}` is not KEY=VALUE", help=help)])
        if kind in OF_FIELDS and statement.key not in Fields.model_fields:
            help = did_you_mean(statement.key, Fields.model_fields)
            raise UsageError([Diagnostic("GC000", f"no field is called `{statement.key}`", help=help)])
        return statement


ALIASES = {"question": "query", "prompt": "query", "answer": "gold"}
"""Other names of a field that people use."""
EXAMPLES = {
    "field": "query=COLUMN",
    "constant": "expected=refuse",
    "label": "harmful=refuse",
    "split": "'COLUMN=;'",
    "speaker": "Bot=assistant",
}
ONE_ANSWER = "none"
"""Said of a column of which each text is one right answer, whatever marks it has."""
OF_FIELDS = ("field", "constant")
"""Statements about a field."""
OF_WORDS = ("label",)
"""Statements about a word in a field."""
LISTS = ("options", "references", "tags")
"""Fields that several columns make up."""


@dataclass(frozen=True, slots=True)
class DraftBenchmark:
    """A benchmark of the draft, with the format of its file.

    For a file with columns of its own, `fields` says which column is what and `rows` how many rows it has.
    `gold` says how the gold column names an option, where that is stated; `gold_after` is the text after
    which the answer stands, where right answers show their working. `recognised` says by which columns the
    format was known, or why it was not taken. `lettered`: the options are nothing but letters. `labels` says
    what becomes of labels in the texts of options, where that is stated. `answers` are the right answers in
    free text, and `columns` all columns with what the first row has there, of a file with columns of its own.
    """

    id: str
    loader: str
    source: str
    fields: Fields | None = None
    rows: int | None = None
    gold: str | None = None
    gold_after: str | None = None
    how: Loading = NO_LOADING
    recognised: str | None = None
    lettered: bool = False
    answers: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> LoaderKind:
        """The row of its loader."""
        return LOADER_KINDS[self.loader]

    @property
    def prompts(self) -> bool:
        """Whether its items are prompts to comply with or to refuse."""
        return self.kind.prompts or (self.fields is not None and self.fields.expected is not None)

    @property
    def free_text(self) -> bool:
        """Whether its items have right answers in free text."""
        return self.fields is not None and bool(self.fields.references) and not self.fields.options

    @property
    def sample(self) -> int | None:
        """How many items are drawn; None where all of them are asked."""
        return SAMPLE if self.rows is None or self.rows > SAMPLE else None

    @property
    def loading(self) -> str | None:
        """The value of `loading` in the spec; None where the loader needs none."""
        how = self.how.model_dump(exclude_defaults=True, mode="json")
        kept = how if self.kind.mapped else {key: how[key] for key in ("malformed",) if key in how}
        gold = {"gold": self.gold} if self.gold in self.kind.gold else {}
        settings = {**kept, **gold, **({} if self.fields is None else {"fields": self._stated})}
        return _toml(settings) if settings else None

    @property
    def said(self) -> str | None:
        """What each column was taken for, in a sentence."""
        if self.fields is None:
            return self.recognised
        columns = (f"{key} is {_in_words(value)}" for key, value in self._stated.items())
        read = f"{self.source} has {counted(self.rows or 0, 'row')}; {'; '.join(columns)}"
        return f"{self.recognised}; {read}" if self.recognised else read

    @property
    def _stated(self) -> dict[str, Any]:
        """The field map, as it is written."""
        return {} if self.fields is None else self.fields.model_dump(exclude_defaults=True, mode="json")


@dataclass(frozen=True, slots=True)
class Draft:
    """What a first spec is written from."""

    id: str
    title: str
    models: tuple[DraftModel, ...]
    benchmarks: tuple[DraftBenchmark, ...]
    judge: str | None = None
    match: MatchKind | None = None
    tasks: tuple[DraftTask, ...] = ()

    @property
    def shots(self) -> tuple[int, ...]:
        """The numbers of exemplars that the tasks are asked with."""
        return tuple(sorted({shots for task in self.tasks for shots in task.shots}))

    @property
    def not_asked(self) -> list[tuple[DraftTask, int]]:
        """(task, number of exemplars) for each number that other tasks are asked with and this task is
        not."""
        return [(task, shots) for task in self.tasks for shots in self.shots if shots not in task.shots]

    @property
    def yes_when(self) -> str | None:
        """The condition for the answer "yes" to the title's question; None where the user wrote the title."""
        titles = {TITLE: "order_holds", REFUSAL_TITLE: "models_differ", TASK_TITLE: "models_differ"}
        return titles.get(self.title)

    @property
    def free(self) -> bool:
        """Whether a benchmark has items without options."""
        return any(benchmark.prompts or benchmark.free_text for benchmark in self.benchmarks)

    @property
    def prompts(self) -> bool:
        """Whether a benchmark has prompts to comply with or to refuse."""
        return any(benchmark.prompts for benchmark in self.benchmarks)

    @property
    def shipped(self) -> bool:
        """Whether all models are those that ship with gridc, which follow no instructions."""
        return all(model.source in MODELS for model in self.models)

    @property
    def asks_for_form(self) -> bool:
        """Whether answers are asked for in a form: those to a file of the user's own."""
        own = any(benchmark.fields is not None and not benchmark.prompts for benchmark in self.benchmarks)
        return own and not self.shipped

    @property
    def turned(self) -> bool:
        """Whether a benchmark has several turns of the user."""
        return any(benchmark.fields is not None and benchmark.fields.turns for benchmark in self.benchmarks)

    @property
    def lists_options(self) -> bool:
        """Whether the questions of a benchmark list their options themselves."""
        return any(benchmark.lettered for benchmark in self.benchmarks)

    @property
    def ranked(self) -> bool:
        """Whether likelihoods can be ranked: every model is run here, and every item has options."""
        return not self.free and all(not engine_kind(model.engine).provider for model in self.models)

    def text(self) -> str:
        """The spec."""
        from jinja2 import Environment, StrictUndefined

        environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
        environment.filters["toml"] = basic_string
        source = resources.files("gridc").joinpath("templates", TEMPLATE).read_text("utf-8")
        inclusion = "language models that ship with gridc" if self.shipped else "chosen by hand"
        schema_file = jsonschema.file_name("gridcard")
        return environment.from_string(source).render(
            draft=self, inclusion=inclusion, schema_file=schema_file, task_loader=LOADER
        )


def draft(
    folder: Path,
    title: str,
    models: Sequence[str],
    benchmarks: Sequence[str],
    stated: Sequence[ColumnStatement] = (),
    gold: str | None = None,
    judge: str | None = None,
    match: MatchKind | None = None,
    how: Loading = NO_LOADING,
    tasks: Sequence[str] = (),
) -> Draft:
    """The draft of a study in a folder, from the sources of its models and of either benchmarks or tasks. A
    benchmark that is a task file counts as a task.

    A benchmark is `SOURCE` or `LOADER=SOURCE`. A source without a scheme may be the path of a file or folder
    that exists. `stated` says what the columns of files are, and `gold` how they name the right option. Free
    text is compared with right answers by the model `judge` or by the rule `match`. `how` says what else
    files are read by: where their rows are, and what becomes of malformed ones and of labels of options.

    Raises `UsageError` with every source whose format is not known and every text that cannot be written.
    """
    models = [_relative_source(model, folder) for model in models]
    judge = None if judge is None else _relative_source(judge, folder)
    task_files = _own_tasks(benchmarks, folder)
    if tasks or task_files:
        taken_tasks = (*named_tasks(tuple(tasks)), *task_files.values())
        benchmark_sources = [benchmark for benchmark in benchmarks if benchmark not in task_files]
        about = (*stated, *filter(None, (gold, judge, match)), *how.model_dump(exclude_defaults=True))
        return _draft_of_tasks(folder, title, models, taken_tasks, benchmark_sources, bool(about))
    unnamed = [statement for statement in stated if statement.name is None]
    if unnamed and len(benchmarks) > 1:
        first = unnamed[0]
        help = f"name its file: --{first.kind} {Path(benchmarks[0]).name}:{first.key}={first.value}"
        problem = f"`--{first.kind} {first.key}={first.value}` belongs to which of the benchmarks?"
        raise UsageError([Diagnostic("GC000", problem, help=help)])
    read = [
        _benchmark(
            benchmark,
            folder,
            [statement for statement in stated if statement.name in (None, *data_names(benchmark))],
            gold,
            how,
        )
        for benchmark in benchmarks
    ]
    unknown = [diagnostic for diagnostic in read if isinstance(diagnostic, Diagnostic)]
    taken = [benchmark for benchmark in read if isinstance(benchmark, DraftBenchmark)]
    if gold is not None and not unknown and not any(gold in benchmark.kind.gold for benchmark in taken):
        formats = " and ".join(dict.fromkeys(benchmark.loader for benchmark in taken))
        unknown.append(Diagnostic("GC000", f"{formats} cannot be told `--gold {gold}`", help="leave it out"))
    free_text = any(benchmark.free_text for benchmark in taken)
    if free_text and (judge is None) is (match is None):
        help = (
            "--match number, text, contains or exact, by a rule; or --judge MODEL: a builtin:, path:, hf: or "
            "litellm name, of none of the models that are compared"
        )
        which = "is not said" if judge is None else "is stated twice: by a rule, and by a judge"
        message = f"how answers in free text are compared {which}"
        ways = _comparisons(taken) if judge is None else ()
        unknown.append(OpenPoint("GC000", message, help=help, ways=ways))
    unknown += _above((*models, *(benchmark.source for benchmark in taken)))
    unknown += _unwritable((title, *models, *benchmarks, *([] if judge is None else [judge])))
    if unknown:
        raise UsageError(unknown)
    if title == TITLE and all(benchmark.prompts for benchmark in taken):
        title = REFUSAL_TITLE
    ids = _ids([benchmark.source for benchmark in taken])
    return Draft(
        _id(folder.name) or "study",
        unicodedata.normalize("NFC", title),
        _draft_models(models),
        tuple(replace(benchmark, id=name, how=how) for name, benchmark in zip(ids, taken, strict=True)),
        judge if free_text else None,
        match,
    )


def _comparisons(benchmarks: Sequence[DraftBenchmark]) -> tuple[AnswerWay, ...]:
    """The ways to compare free answers. One is likely where all right answers are numbers, or short."""
    answers = [answer for benchmark in benchmarks for answer in benchmark.answers]
    numeric = bool(answers) and all(NUMERIC.fullmatch(answer.strip()) for answer in answers)
    brief = bool(answers) and not numeric and all(len(answer.split()) <= BRIEF for answer in answers)
    return (
        AnswerWay("as a number, however it is written", "--match number", likely=numeric, unasked=numeric),
        AnswerWay(
            "as a text, without case, punctuation and articles", "--match text", likely=brief, unasked=brief
        ),
        AnswerWay("the response contains it somewhere", "--match contains"),
        AnswerWay("character by character", "--match exact"),
        AnswerWay("another model judges whether the response says the same", "--judge MODEL"),
    )


NUMERIC = re.compile(r"[-+]?[$€£]?\d[\d,.]*\s*%?")


def _own_tasks(benchmarks: Sequence[str], folder: Path) -> dict[str, DraftTask]:
    """The benchmarks that are task files, by the argument as it was given. Raises `UsageError`."""
    tasks: dict[str, DraftTask] = {}
    for given in benchmarks:
        source = _relative_source(given.removeprefix(f"{LOADER}="), folder)
        try:
            task = task_in_file(source, folder)
        except OSError as error:
            message = f"`{source}` cannot be read: {error.strerror}"
            raise UsageError([Diagnostic("GC000", message)]) from None
        if task is not None:
            tasks[given] = task
    return tasks


def _draft_of_tasks(
    folder: Path,
    title: str,
    models: Sequence[str],
    tasks: Sequence[DraftTask],
    others: Sequence[str],
    stated: bool,
) -> Draft:
    """The draft of a study of tasks. Raises `UsageError` for `others`, benchmarks that need a prompt template
    where a task brings its own, and where something is `stated` about columns or scoring."""
    problems = [
        Diagnostic("GC000", f"`{other}` is not a task, and a first study has tasks alone or none", help=SPLIT)
        for other in others
    ]
    if stated:
        help = "leave these options out: the task says which column is what, and how answers are scored"
        problems.append(Diagnostic("GC000", "columns and scoring of a task cannot be stated", help=help))
    sources = (*models, *(task.source for task in tasks))
    problems += [*_unwritable((title, *sources)), *_above(sources)]
    if problems:
        raise UsageError(problems)
    if title == TITLE and all(task.shots == (0,) for task in tasks):
        title = TASK_TITLE
    return Draft(
        _id(folder.name) or "study",
        unicodedata.normalize("NFC", title),
        _draft_models(models),
        (),
        tasks=tuple(
            replace(task, id=name)
            for name, task in zip(_ids([task.id for task in tasks]), tasks, strict=True)
        ),
    )


SPLIT = "begin one study of them, and write the other benchmarks into its spec"


def _draft_models(models: Sequence[str]) -> tuple[DraftModel, ...]:
    return tuple(
        DraftModel(name, engine_for(source), source)
        for name, source in zip(_ids(models), models, strict=True)
    )


def _above(sources: Iterable[str]) -> Iterator[Diagnostic]:
    """A finding for each source that lies above the spec's folder: a spec cannot name it."""
    for source in sources:
        if source.startswith("path:../"):
            help = "--copy copies it there; or put it into that folder, or let --out name a spec beside it"
            message = f"`{source.removeprefix('path:')}` is not below the folder of the spec"
            yield OpenPoint("GC000", message, help=help, ways=(COPY,))


def _unwritable(texts: Iterable[str]) -> Iterator[Diagnostic]:
    """A finding for each text that is blank or that TOML cannot hold."""
    for text in texts:
        # Surrogates stand for bytes of the command line that are not UTF-8.
        if not text.strip() or any("\ud800" <= letter <= "\udfff" for letter in text):
            yield Diagnostic("GC000", f"{text!r} cannot be written as text")


def data_names(benchmark: str) -> tuple[str, ...]:
    """What a statement may call the file of a benchmark: as it was given, and by its name alone."""
    return (benchmark, benchmark.rpartition("/")[2], Path(benchmark).stem)


def _benchmark(
    given: str, folder: Path, stated: Sequence[ColumnStatement], gold: str | None, how: Loading
) -> DraftBenchmark | Diagnostic:
    loader, equals, source = given.partition("=")
    chosen = bool(equals) and loader in LOADERS
    if not chosen:
        source, loader = given, ""
    source = _relative_source(source, folder)
    if not source.startswith((*_FILES, HUB)):
        help = "builtin:FILE, path:FILE, data:FILE or hf:OWNER/NAME/FILE; or the path of a file that is there"
        return Diagnostic("GC000", f"`{source}` has no scheme", help=help)
    try:
        files = _files(source, folder)
    except OSError as error:
        return Diagnostic("GC000", f"`{source}` cannot be read: {error.strerror}")
    if stated and not files:
        help = "leave the statement out" if source.startswith("builtin:") else "name a file that is here"
        return Diagnostic("GC000", f"the columns of `{source}` cannot be looked at, nor stated", help=help)
    if stated and chosen and not LOADER_KINDS[loader].mapped:
        help = f"leave `{loader}=` out, or the statement about its columns"
        return Diagnostic("GC000", f"the columns of `{loader}` are known, and cannot be stated", help=help)
    recognised, items = None, None
    own = how.rows is not None or how.header is not None
    if not (chosen or stated or own or gold in LOADER_KINDS["rows"].gold):
        format_ = _format(given, source, files)
        if isinstance(format_, Diagnostic):
            return format_
        loader, items, recognised = format_
    elif loader and not (stated or own):
        items = _items_of(loader, files)
    unknown = not loader or LOADER_KINDS[loader].mapped
    if unknown and files:
        rows = _own_rows(source, files, stated, gold, how)
        if isinstance(rows, Diagnostic):
            way = f"correct that; or, as plain rows: {rows.help}"
            rows = replace(rows, message=recognised, help=way) if recognised else rows
            return replace(rows, about=given) if isinstance(rows, OpenPoint) else rows
        return replace(rows, recognised=recognised)
    if loader and LOADER_KINDS[loader].sentences:
        message = "pairs of sentences are compared, not asked, which this first study does not do"
        return Diagnostic(
            "GC000", message, help="begin with `gridc docs benchmarks`, which shows `pair_likelihood`"
        )
    below = folder / source.removeprefix("path:")
    if unknown and source.startswith("path:") and os.path.isdir(below):  # noqa: PTH112  # see `_here`
        return Diagnostic(
            "GC000", f"`{given}` is a folder", help=f"name a file in it, or `{given.rstrip('/')}/*.csv`"
        )
    if unknown and source.startswith(HUB):
        repository = source.removeprefix(HUB).partition("?")[0].partition("@")[0]
        repository = "/".join(repository.split("/")[:2])
        help = f"download it first: hf download {repository} --repo-type dataset; or give LOADER={source}"
        return Diagnostic("GC000", f"`{source}` is not in the hub's cache here", help=help)
    if unknown:
        message = f"the format of `{given}` is not known"
        formats = ", ".join(name for name in _FORMATS if not LOADER_KINDS[name].sentences)
        help = f"give LOADER=SOURCE, where LOADER is one of {formats}; or a path:FILE that is there"
        return Diagnostic("GC000", message, help=help)
    if LOADER_KINDS[loader].chooses_gold and gold not in LOADER_KINDS[loader].gold:
        message = (
            f"`{source}`, read as {loader}, says which answer matches a behaviour, and not which is right"
        )
        help = (
            "--gold not_matching where a model should not show the behaviour, --gold matching where it should"
        )
        return Diagnostic("GC000", message, help=help)
    return DraftBenchmark("", loader, source, rows=items, gold=gold, recognised=recognised)


def _format(
    given: str, source: str, files: Sequence[File]
) -> tuple[str, int | None, str | None] | Diagnostic:
    """(format, number of items, remark) for files without a stated format. A published format is recognised
    by their columns, or else by their name. The format is empty where none fits, or where a column says more
    than the format reads."""
    alike = {name: _read_as(name, files) for name in _FORMATS if files and _has_columns(name, files)}
    fitting = [name for name, (count, _) in alike.items() if count and not _says_more(name, files)]
    if len(fitting) > 1:
        message = f"`{source}` has the columns of {' and of '.join(fitting)}"
        ways = [f"--benchmark {name}={source}" for name in (*fitting, "rows")]
        asked = (AnswerWay(f"it is {name}", f"--benchmark {name}={given}") for name in (*fitting, "rows"))
        help = f"say which it is: {', or '.join(ways)}"
        return OpenPoint("GC000", message, help=help, ways=tuple(asked), about=given)
    if fitting:
        (name,) = fitting
        plain = f"`--benchmark rows={source.removeprefix('path:')}` reads it as plain rows"
        return name, alike[name][0], f"{source} has the columns of {name}, and is read as that; {plain}"
    named = _named_for(given)
    items = _items_of(named[0], files) if len(named) == 1 and files else None
    if len(named) == 1 and (not files or (items is not None and not _says_more(named[0], files))):
        return named[0], items, None
    refusals = []
    for name, (count, bad) in alike.items():
        if not count and bad is not None:
            form = "`gridc docs benchmarks` says in which form its files are read"
            why = form if bad.help is None else f"{bad}; {bad.help}"
            refusals.append(f"{source} has the columns of {name}, and is not read as that ({why})")
    return "", None, "; ".join(refusals) or None


def _files(source: str, folder: Path) -> list[File]:
    """The files of a source on this machine; empty where there are none, or where its scheme looks for them
    elsewhere. Raises `OSError`."""
    if source.startswith(HUB):
        try:
            hosted = dataset_files(source, None, online=False)
        except NotFound:
            return []
        return [File(name, path.read_bytes()) for name, path in hosted.files]
    if not source.startswith("path:"):
        return []
    name = source.removeprefix("path:")
    path = Path(os.path.normpath(folder / name))  # the folder may not be there yet
    if is_pattern(name):
        return [File(path.name, path.read_bytes()) for path in fitting(folder, name)]
    if not os.path.isfile(path):  # noqa: PTH113  # see `_here`
        return []
    with open_regular(path) as opened:
        return [File(name, opened.read())]


def _named_for(source: str) -> list[str]:
    """The published formats that a file's name contains as whole words: `or-bench-80k.csv` does, and
    `harmful_behaviors.csv` does not."""
    text = f" {' '.join(re.findall('[a-z0-9]+', source.lower()))} "
    named = []
    for name in _FORMATS:
        first = name.partition("_")[0]
        ways = {name.replace("_", " "), name.replace("_", "")}
        ways |= {first} if len(first) > MANY_LETTERS else set()
        if any(f" {way} " in text for way in ways):
            named.append(name)
    return named


def _has_columns(loader: str, files: Sequence[File]) -> bool:
    """Whether every file has the columns by which a format is recognised."""
    try:
        tables = [set(records(file).names) for file in files]
    except Malformed:
        return False
    return any(all(names.issuperset(form) for names in tables) for form in LOADER_KINDS[loader].columns)


def _items_of(loader: str, files: Sequence[File]) -> int | None:
    """How many items files have in a published format; None where a row does not follow the format."""
    count, bad = _read_as(loader, files)
    return None if bad is not None or LOADER_KINDS[loader].mapped else count


def _read_as(loader: str, files: Sequence[File]) -> tuple[int, BadRow | None]:
    """How many items of a format files have, and the first row that does not follow it."""
    kind = LOADER_KINDS[loader]
    if kind.mapped:
        return 0, None
    loading = Loading(gold=kind.gold[0]) if kind.chooses_gold else Loading()
    count, bad = 0, list[BadRow]()
    for file in files:
        try:
            count += len(load_items(loader, file, loading))
        except Malformed as error:
            count += len(error.items)
            bad += error.rows
    return count, bad[0] if bad else None


def _says_more(loader: str, files: Sequence[File]) -> bool:
    """Whether a column that the format does not read says which responses earn a point. Then the file is not
    in that format, whatever its name says."""
    names = (*EXPECTED, *GOLDS) if LOADER_KINDS[loader].by_file else EXPECTED
    try:
        return any(named_column(records(file).names, names) is not None for file in files)
    except Malformed:
        return False


def _own_rows(
    source: str, files: Sequence[File], stated: Sequence[ColumnStatement], gold: str | None, how: Loading
) -> DraftBenchmark | Diagnostic:
    """The benchmark of files with columns of their own, or a finding where the columns do not say what they
    are."""
    try:
        tables = [records(file, how) for file in files]
    except Malformed as error:
        text = f"`{source}`, {error.rows[0]}"
        nested = lists_of_questions(source, [whole_document(file) for file in files], how)
        if nested is not None:
            return nested
        if not error.encoded:
            return Diagnostic("GC000", text, help=error.rows[0].help)
        return encodings_of(text, files[0], error.rows[0].help or "")
    names = tuple(dict.fromkeys(name for table in tables for name in table.names))
    table = Records(tuple(row for table in tables for row in table.rows), names)
    if not table.rows:
        return Diagnostic("GC000", f"`{source}` has no rows", help="name a file with items")
    if (
        not stated
        and (nested := lists_of_questions(source, [row for _, row in table.rows[:1]], how)) is not None
    ):
        return nested
    try:
        fields = guess(table, _stated_fields(stated, table))
    except Contradiction as error:
        return Diagnostic("GC000", str(error), help=error.help)
    except ValidationError as error:
        return Diagnostic("GC000", f"`{source}`: {error.errors()[0]['msg'].removeprefix('Value error, ')}",
                          help="`gridc docs benchmarks` says what each field may be")  # fmt: skip
    if not isinstance(fields, Fields):
        formats = [name for name in _FORMATS if not LOADER_KINDS[name].prompts and _items_of(name, files)]
        ways = [f"--benchmark {name}={source}, whose form the file has" for name in formats]
        help = "; ".join((*ways, fields.help))
        message, samples = f"`{source}`: {fields.problem}", samples_of(table)
        return OpenPoint("GC000", message, help=help, ways=fields.ways, samples=samples)
    answers = list(_right_texts(table, fields))
    if answers and all(ASSERTION.match(answer) for answer in answers):
        return Diagnostic(
            "GC000",
            f"`{source}`: the right answers are assertions of promptfoo "
            f"({short(answers[0])!r}), which would be compared word for word",
            help="let a column hold the right answer alone, and say how it is compared with --match; or run "
            "it in promptfoo, and read its results with `gridc certify --from`",
        )
    behind = answers_begin(answers)
    told = behind is not None or any(statement.kind == "split" for statement in stated)
    unsplit = None if told else _unsplit(table, fields)
    if unsplit is not None:
        return unsplit
    lettered = are_lettered(table, fields)
    if behind is not None:
        answers = [behind_working(answer, behind) for answer in answers]
    return DraftBenchmark(
        "", "rows", source, fields, len(table.rows), gold, behind,
        lettered=lettered, answers=tuple(answers), columns=samples_of(table),
    )  # fmt: skip


ASSERTION = re.compile(
    r"\s*(?:not-)?(?:equals|i?contains(?:-any|-all|-json)?|i?regex|starts-with|is-json|javascript|python|fn|"
    r"similar(?:\([\d.]+\))?|levenshtein(?:\([\d.]+\))?|llm-rubric|grade|factuality|answer-relevance):"
)
"""Begins an assertion of promptfoo in a column `__expected`."""


def _unsplit(table: Records, fields: Fields) -> OpenPoint | None:
    """Whether a text is one right answer or several is asked where many have a mark."""
    if not isinstance(fields.references, tuple) or len(fields.references) != 1:
        return None
    (name,) = fields.references
    mark, having = likely_mark([at(row, name) for _, row in table.rows])
    if not having:
        return None
    several, one = (f"--split {shlex.quote(f'{name}={value}')}" for value in (mark, ONE_ANSWER))
    return OpenPoint(
        "GC000",
        f"`{name}` has {mark!r} in {counted(having, 'row')}: several right answers, or one",
        help=f"{several} where it stands between several right answers, {one} where each text is one",
        ways=(
            AnswerWay(f"{mark!r} stands between several right answers", several, likely=True),
            AnswerWay("each text is one right answer", one, unasked=True),
        ),
    )


def _right_texts(table: Records, fields: Fields) -> Iterator[str]:
    """Every right answer in free text."""
    for _, row in table.rows:
        if isinstance(fields.references, SplitColumn):
            yield from str(at(row, fields.references.column)).split(fields.references.split)
            continue
        for name in fields.references:
            value = at(row, name)
            yield from map(str, value if isinstance(value, list) else [value])


def _add_speakers(fields: dict[str, Any], stated: Sequence[ColumnStatement], table: Records) -> None:
    """Put who speaks into the field for a conversation. Raises `Contradiction`."""
    roles = {each.key.casefold(): each.value for each in stated if each.kind == "speaker"}
    if not roles:
        return
    rows = [row for _, row in table.rows if isinstance(row, dict)]
    column = fields.get("messages")
    heard = heard_column(column, rows) if isinstance(column, str) else None
    if heard is None:
        raise Contradiction(
            "`--speaker` says who speaks in a conversation, and no column of conversations is named",
            "--field messages=COLUMN names the column in which two or three speakers take turns",
        )
    fields["messages"] = heard.with_roles(roles)
    if not {"gold", "expected", "references", "options"} & fields.keys():
        fields |= replies_of(heard, roles, tells_right(table.names))


def _stated_fields(stated: Sequence[ColumnStatement], table: Records) -> dict[str, Any]:
    """The fields that are stated, as the field map has them."""
    fields: dict[str, Any] = {}
    names = table.names
    for statement in stated:
        if statement.kind == "field" and statement.key in LISTS:
            whole = statement.value in names
            parts = [statement.value] if whole else [part.strip() for part in statement.value.split(",")]
            fields[statement.key] = tuple(parts)
        elif statement.kind == "field":
            fields[statement.key] = statement.value
        elif statement.kind == "constant" and statement.key == "options":
            fields["options"] = OptionList(
                constant=tuple(part.strip() for part in statement.value.split(","))
            )
        elif statement.kind == "constant":
            fields[statement.key] = FieldValue(constant=statement.value)
    for statement in stated:
        if statement.kind == "split":
            several = statement.value != ONE_ANSWER
            mark = statement.value.replace("\\n", "\n")
            if statement.key == fields.get("gold"):
                raise Contradiction(
                    f"`{statement.key}` names the right option, and a row with several cannot earn a point",
                    "--leave-out leaves such rows out, and counts them",
                )
            column = SplitColumn(column=statement.key, split=mark) if several else (statement.key,)
            fields["options" if fields.get("options") == (statement.key,) else "references"] = column
    _add_speakers(fields, stated, table)
    words = {statement.key: statement.value for statement in stated if statement.kind in OF_WORDS}
    if words:
        key = "expected" if isinstance(fields.get("expected"), str) else "gold"
        if not isinstance(fields.get(key), str):
            raise Contradiction(
                "`--label` says what a word of a column stands for, and no column is named",
                "--field expected=COLUMN, or --field gold=COLUMN, names it",
            )
        fields[key] = FieldValue(column=fields[key], map=words)
    return fields


def _relative_source(source: str, folder: Path) -> str:
    """`path:` and the path from the spec's folder, where the source is a path that exists; else unchanged."""
    exists = os.path.exists(source)  # noqa: PTH110  # `Path.exists` raises where a name is too long
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", source) or not source.strip() or not exists:
        return source
    return f"path:{Path(os.path.relpath(source, folder)).as_posix()}"


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        pairs = (
            f"{key if BARE.fullmatch(key) else basic_string(key)} = {_toml(inner)}"
            for key, inner in value.items()
        )
        return f"{{ {', '.join(pairs)} }}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else basic_string(str(value))


def _in_words(value: Any) -> str:
    """What a field was taken to be: columns by their names, a constant in every row, or words of a column."""
    if isinstance(value, Mapping) and "constant" in value:
        constant = value["constant"]
        texts = constant if isinstance(constant, list) else [constant]
        return f"{', '.join(map(repr, texts))} in every row"
    if isinstance(value, Mapping) and "split" in value:
        between = "labels" if value["split"] == AT_LABELS else f"{value['split']!r}"
        return f"`{value['column']}`, with {between} between several"
    if isinstance(value, Mapping) and "assistant" in value:
        return (
            f"`{value['column']}`, where {value['user']!r} is the user and {value['assistant']!r} the model"
        )
    if isinstance(value, Mapping):
        words = ", ".join(f"{word!r} stands for {meaning!r}" for word, meaning in value["map"].items())
        return f"`{value['column']}`, where {words}"
    return ", ".join(f"`{name}`" for name in (value if isinstance(value, list) else [value]))


def _ids(sources: Iterable[str]) -> list[str]:
    """A short name for each source, no two alike."""
    names: list[str] = []
    for source in sources:
        last = source.partition(":")[2] if source.startswith((*FILES, *_FILES)) else source
        last = re.sub(r"(@[^?/]*)?\?config=|(@[^?/]*)?\?|&?split=", "-", last)
        name = _id(ENDING.sub("", last.rstrip("/").rsplit("/", 1)[-1])) or "unnamed"
        twins = sum(taken == name or taken.startswith(f"{name}-") for taken in names)
        names.append(f"{name}-{twins + 1}" if name in names else name)
    return names


def _id(text: str) -> str:
    """The text as an id of the language: letters, digits, `_`, `.` and `-`."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-._").lower()[:60]
