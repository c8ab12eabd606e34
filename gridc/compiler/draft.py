"""A first spec, written from a few answers. It is commented, and what it says by default runs."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from gridc.compiler.frontend.source import basic_string
from gridc.compiler.inputs.loaders import LOADERS
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.schema import jsonschema
from gridc.schema.engines import FILES, engine_kind

MODELS = ("builtin:pocket-qwen2", "builtin:pocket-mistral", "builtin:pocket-llama")
BENCHMARKS = ("builtin:pocket_bbq.jsonl", "builtin:pocket_truthfulqa.json")
TITLE = "Do the models keep their order when only the harness changes?"
TEMPLATE = "gridcard.toml.jinja"

_FILES = ("data:", "path:", "builtin:")


@dataclass(frozen=True, slots=True)
class DraftModel:
    """A model, with the engine that its source needs."""

    id: str
    engine: str
    source: str


@dataclass(frozen=True, slots=True)
class DraftBenchmark:
    """A benchmark, with the format of its file."""

    id: str
    loader: str
    source: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What a first spec is written from."""

    id: str
    title: str
    models: tuple[DraftModel, ...]
    benchmarks: tuple[DraftBenchmark, ...]

    @property
    def local(self) -> bool:
        """Whether every model is run here, where likelihoods can be ranked."""
        return all(not engine_kind(model.engine).provider for model in self.models)

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


def draft(folder: str, title: str, models: Sequence[str], benchmarks: Sequence[str]) -> Draft:
    """The draft of a study in a folder of this name, from the sources of its models and benchmarks.

    A benchmark is `SOURCE` or `LOADER=SOURCE`. Raises `UsageError` where the format of a file is not known
    or a text is none, with every one of them.
    """
    found = [_benchmark(each) for each in benchmarks]
    unknown = [each for each in found if isinstance(each, Diagnostic)]
    for text in (title, *models, *benchmarks):
        if not text.strip() or any("\ud800" <= letter <= "\udfff" for letter in text):
            unknown.append(Diagnostic("GC000", f"{text!r} cannot be written as text"))
    if unknown:
        raise UsageError(unknown)
    taken = [each for each in found if isinstance(each, DraftBenchmark)]
    ids = _ids([each.source for each in taken])
    return Draft(
        _id(folder) or "study",
        unicodedata.normalize("NFC", title),
        tuple(
            DraftModel(name, "hf" if source.startswith(FILES) else "api", source)
            for name, source in zip(_ids(models), models, strict=True)
        ),
        tuple(DraftBenchmark(name, each.loader, each.source) for name, each in zip(ids, taken, strict=True)),
    )


def _benchmark(given: str) -> DraftBenchmark | Diagnostic:
    loader, equals, source = given.partition("=")
    if not equals or loader not in LOADERS:
        source = given
        named = [name for name in LOADERS if name.split("_")[0] in source.lower()]
        if len(named) != 1:
            message = f"the format of `{given}` is not known"
            help = f"give LOADER=SOURCE, where LOADER is one of {', '.join(LOADERS)}"
            return Diagnostic("GC000", message, help=help)
        (loader,) = named
    if not source.startswith(_FILES):
        return Diagnostic("GC000", f"`{source}` has no scheme", help="builtin:FILE, path:FILE or data:FILE")
    return DraftBenchmark("", loader, source)


def _ids(sources: Iterable[str]) -> list[str]:
    """A short name for each source, no two alike."""
    names: list[str] = []
    for source in sources:
        last = source.partition(":")[2] if source.startswith((*FILES, *_FILES)) else source
        name = _id(re.sub(r"\.(jsonl?|csv|parquet)$", "", last.rstrip("/").rsplit("/", 1)[-1])) or "unnamed"
        twins = sum(each == name or each.startswith(f"{name}-") for each in names)
        names.append(f"{name}-{twins + 1}" if name in names else name)
    return names


def _id(text: str) -> str:
    """The text as an id of the language: letters, digits, `_`, `.` and `-`."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-._").lower()[:60]
