"""A first spec, written from a few answers. It is commented, and what it says by default runs."""

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from gridc.compiler.frontend.source import basic_string
from gridc.compiler.inputs.loaders import LOADERS, load_items
from gridc.compiler.inputs.loaders.columns import EXPECTED, GOLDS, guess, says_what_earns
from gridc.compiler.inputs.loaders.errors import Malformed
from gridc.compiler.inputs.loaders.files import File
from gridc.compiler.inputs.loaders.records import Records, records
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.files import open_regular
from gridc.schema import jsonschema
from gridc.schema.engines import FILES, engine_for, engine_kind
from gridc.schema.items import LOADER_KINDS, Fields, LoaderKind, Loading

MODELS = ("builtin:pocket-qwen2", "builtin:pocket-mistral", "builtin:pocket-llama")
BENCHMARKS = ("builtin:pocket_bbq.jsonl", "builtin:pocket_truthfulqa.json")
TITLE = "Do the models keep their order when only the harness changes?"
TEMPLATE = "gridcard.toml.jinja"

MANY_LETTERS = 4
"""A first word with more letters names its format alone: `truthfulqa`, and not `or`."""
ENDING = re.compile(r"\.(jsonl?|csv|tsv|parquet)$", re.IGNORECASE)
"""Of a file's name: no part of the id of what it holds."""
SAMPLE = 40
"""Items that a first study asks of a benchmark."""

_FILES = ("data:", "path:", "builtin:")
_FORMATS = tuple(name for name, kind in LOADER_KINDS.items() if not kind.mapped)


@dataclass(frozen=True, slots=True)
class DraftModel:
    """A model, with the engine that its source needs."""

    id: str
    engine: str
    source: str


@dataclass(frozen=True, slots=True)
class DraftBenchmark:
    """A benchmark, with the format of its file; of a file with columns of its own, which column is what, and
    how many rows there are."""

    id: str
    loader: str
    source: str
    fields: Fields | None = None
    rows: int | None = None

    @property
    def kind(self) -> LoaderKind:
        """The row of its loader."""
        return LOADER_KINDS[self.loader]

    @property
    def prompts(self) -> bool:
        """Whether its items are prompts to comply with or to refuse."""
        return self.kind.prompts or (self.fields is not None and self.fields.expected is not None)

    @property
    def sample(self) -> int | None:
        """How many items are drawn; None where there are no more."""
        return SAMPLE if self.rows is None or self.rows > SAMPLE else None

    @property
    def loading(self) -> str | None:
        """What the loader has to know, as the spec writes it."""
        if self.kind.chooses_gold:
            return '{ gold = "not_matching" }'
        if self.fields is None:
            return None
        stated = self.fields.model_dump(exclude_defaults=True, mode="json")
        pairs = (f"{key} = {_toml(value)}" for key, value in stated.items())
        return f"{{ fields = {{ {', '.join(pairs)} }} }}"

    @property
    def said(self) -> str | None:
        """What was taken for what."""
        if self.fields is None:
            return None
        stated = self.fields.model_dump(exclude_defaults=True, mode="json")
        columns = (f"{key} is {', '.join(_texts(value))}" for key, value in stated.items())
        return f"{self.source} has {self.rows:,} {'row' if self.rows == 1 else 'rows'}; {'; '.join(columns)}"


@dataclass(frozen=True, slots=True)
class Draft:
    """What a first spec is written from."""

    id: str
    title: str
    models: tuple[DraftModel, ...]
    benchmarks: tuple[DraftBenchmark, ...]

    @property
    def prompts(self) -> bool:
        """Whether a benchmark has prompts to comply with or to refuse."""
        return any(benchmark.prompts for benchmark in self.benchmarks)

    @property
    def ranked(self) -> bool:
        """Whether likelihoods can be ranked: every model is run here, and every item has options."""
        return not self.prompts and all(not engine_kind(model.engine).provider for model in self.models)

    def text(self) -> str:
        """The spec."""
        from jinja2 import Environment, StrictUndefined

        environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
        environment.filters["toml"] = basic_string
        source = resources.files("gridc").joinpath("templates", TEMPLATE).read_text("utf-8")
        shipped = all(model.source in MODELS for model in self.models)
        inclusion = "language models that ship with gridc" if shipped else "chosen by hand"
        schema_file = jsonschema.file_name("gridcard")
        return environment.from_string(source).render(
            draft=self, inclusion=inclusion, schema_file=schema_file
        )


def draft(folder: Path, title: str, models: Sequence[str], benchmarks: Sequence[str]) -> Draft:
    """The draft of a study in a folder, from the sources of its models and benchmarks.

    A benchmark is `SOURCE` or `LOADER=SOURCE`. A source without a scheme that is a file or a folder here is
    that one. Raises `UsageError` where the format of a file is not known or a text is none, with every one
    of them.
    """
    models = [_here(model, folder) for model in models]
    found = [_benchmark(benchmark, folder) for benchmark in benchmarks]
    unknown = [diagnostic for diagnostic in found if isinstance(diagnostic, Diagnostic)]
    taken = [benchmark for benchmark in found if isinstance(benchmark, DraftBenchmark)]
    for source in (*models, *(benchmark.source for benchmark in taken)):
        if source.startswith("path:../"):
            help = "put it into that folder, or let --out name a spec beside it"
            message = f"`{source.removeprefix('path:')}` is not below the folder of the spec"
            unknown.append(Diagnostic("GC000", message, help=help))
    for text in (title, *models, *benchmarks):
        if not text.strip() or any("\ud800" <= letter <= "\udfff" for letter in text):
            unknown.append(Diagnostic("GC000", f"{text!r} cannot be written as text"))
    if unknown:
        raise UsageError(unknown)
    ids = _ids([benchmark.source for benchmark in taken])
    return Draft(
        _id(folder.name) or "study",
        unicodedata.normalize("NFC", title),
        tuple(
            DraftModel(name, engine_for(source), source)
            for name, source in zip(_ids(models), models, strict=True)
        ),
        tuple(replace(benchmark, id=name) for name, benchmark in zip(ids, taken, strict=True)),
    )


def _benchmark(given: str, folder: Path) -> DraftBenchmark | Diagnostic:
    loader, equals, source = given.partition("=")
    stated = bool(equals) and loader in LOADERS
    if not stated:
        source = given
        named = _named_for(source)
        loader = named[0] if len(named) == 1 else ""
    source = _here(source, folder)
    if not source.startswith(_FILES):
        help = "builtin:FILE, path:FILE or data:FILE; or the path of a file that is there"
        return Diagnostic("GC000", f"`{source}` has no scheme", help=help)
    path = Path(os.path.normpath(folder / source.removeprefix("path:")))  # the folder may not be there yet
    is_file = source.startswith("path:") and os.path.isfile(path)  # noqa: PTH113  # see `_here`
    items = _items_of(loader, path) if loader and is_file else None
    if loader and not stated and is_file and (items is None or _says_more(loader, path)):
        loader = ""
    unknown = not loader or LOADER_KINDS[loader].mapped
    if unknown and is_file:
        return _own_rows(source, path)
    if loader and LOADER_KINDS[loader].sentences:
        message = "pairs of sentences are compared, not asked, which this first study does not do"
        return Diagnostic(
            "GC000", message, help="begin with docs/benchmarks.md, which shows `pair_likelihood`"
        )
    if unknown:
        message = f"the format of `{given}` is not known"
        others = ", ".join(name for name in _FORMATS if not LOADER_KINDS[name].sentences)
        help = f"give LOADER=SOURCE, where LOADER is one of {others}; or a path:FILE that is there"
        return Diagnostic("GC000", message, help=help)
    return DraftBenchmark("", loader, source, rows=items)


def _named_for(source: str) -> list[str]:
    """The published formats that it names in whole words: `or-bench-80k.csv`, not
    `harmful_behaviors.csv`."""
    text = f" {' '.join(re.findall('[a-z0-9]+', source.lower()))} "
    named = []
    for name in _FORMATS:
        first = name.partition("_")[0]
        ways = {name.replace("_", " "), name.replace("_", "")}
        ways |= {first} if len(first) > MANY_LETTERS else set()
        if any(f" {way} " in text for way in ways):
            named.append(name)
    return named


def _items_of(loader: str, path: Path) -> int | None:
    """How many items a file of a published format has; None where it does not have its columns."""
    if LOADER_KINDS[loader].mapped:
        return None
    loading = Loading(gold="not_matching") if LOADER_KINDS[loader].chooses_gold else Loading()
    try:
        with open_regular(path) as opened:
            file = File(path.name, opened.read())
        return len(load_items(loader, file, loading))
    except (OSError, Malformed):
        return None


def _says_more(loader: str, path: Path) -> bool:
    """Whether a column that the format does not read says which responses earn a point: what stands in a file
    weighs more than its name."""
    names = (*EXPECTED, *GOLDS) if LOADER_KINDS[loader].by_file else EXPECTED
    try:
        with open_regular(path) as opened:
            return says_what_earns(records(File(path.name, opened.read())), names)
    except (OSError, Malformed):
        return False


def _own_rows(source: str, path: Path) -> DraftBenchmark | Diagnostic:
    """A file with columns of its own: looked at, and refused where its columns do not say what they are."""
    try:
        with open_regular(path) as file:
            found: Records = records(File(path.name, file.read()))
    except OSError as error:
        return Diagnostic("GC000", f"`{source}` cannot be read: {error.strerror}")
    except Malformed as error:
        return Diagnostic("GC000", f"`{source}`, {error.rows[0]}", help=error.rows[0].help)
    if not found.rows:
        return Diagnostic("GC000", f"`{source}` has no rows", help="name a file with items")
    fields = guess(found)
    if fields is None:
        columns = ", ".join(f"`{name}`" for name in found.names[:12]) or "none"
        message = f"which columns of `{source}` are the question, the options and the right one is not clear"
        help = (
            f"its columns are {columns}; docs/language.md shows how `loading.fields` names them. "
            "Prompts without options have a column `expected`, with refuse or comply in every row"
        )
        return Diagnostic("GC000", message, help=help)
    return DraftBenchmark("", "rows", source, fields, len(found.rows))


def _here(source: str, folder: Path) -> str:
    """`path:` and the way from the spec's folder, for the path of something that is there."""
    there = os.path.exists(source)  # noqa: PTH110  # `Path.exists` raises where a name is too long
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", source) or not source.strip() or not there:
        return source
    return f"path:{Path(os.path.relpath(source, folder)).as_posix()}"


def _toml(value: object) -> str:
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else basic_string(str(value))


def _texts(value: object) -> list[str]:
    return [f"`{each}`" for each in (value if isinstance(value, list) else [value])]


def _ids(sources: Iterable[str]) -> list[str]:
    """A short name for each source, no two alike."""
    names: list[str] = []
    for source in sources:
        last = source.partition(":")[2] if source.startswith((*FILES, *_FILES)) else source
        name = _id(ENDING.sub("", last.rstrip("/").rsplit("/", 1)[-1])) or "unnamed"
        twins = sum(each == name or each.startswith(f"{name}-") for each in names)
        names.append(f"{name}-{twins + 1}" if name in names else name)
    return names


def _id(text: str) -> str:
    """The text as an id of the language: letters, digits, `_`, `.` and `-`."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-._").lower()[:60]
