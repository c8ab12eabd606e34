"""Every registry and what is in it: each thing stands in the docs and is tried by a test, and what looks like
one is registered. docs/registries.md is written from the registries, so that a thing which is taken out is
missed there.
"""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from gridc.compiler.inputs.loaders.parsing import LOADERS
from gridc.compiler.inputs.logs.records import LOG_READERS
from gridc.compiler.instrument.readers import READERS
from gridc.compiler.instrument.scaffolds import PROCEDURES
from gridc.compiler.instrument.versions import PARTS
from gridc.registry import Registry
from gridc.reports.estimates import ESTIMATES
from gridc.reports.exchange import EXPORTS, TRACKERS
from gridc.reports.findings.run_record import FINDINGS, Finding, reported
from gridc.reports.statements.statement import SHELF
from gridc.runtime.engines import OPENERS
from gridc.viewer.pages import PAGES
from tests.compiler.test_gold import FORMATS
from tests.compiler.test_log_scores import LOGS
from tests.reports.test_estimates import WORLDS
from tests.reports.test_statements import CORNERS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "registries.md"


def same(thing: Any) -> Any:
    return thing


class Look(NamedTuple):
    """How the functions of a registry look: the folder or file where they stand, the annotations of what they
    take (`*` marks what one need not take) and of what they give (empty: anything)."""

    place: str
    takes: tuple[str, ...]
    gives: str


@dataclass(frozen=True)
class Kept:
    """A registry, or a table of what is imported late: the names of its things that a test tries one by one,
    how its functions look, and the page of the docs that tells users of each, by what it is `called` there.
    `code` is what a thing does, and the first clause of that what it `says` of itself, unless another is
    stated. The page lists things by `group`: by their names where they are `plain`, or users have a page."""

    things: Mapping[str, Any]
    tried: Callable[[], Collection[str]]
    look: Look | None = None
    page: str = ""
    called: Callable[[str], str] = lambda name: f"`{name}`"
    code: Callable[[Any], Any] = same
    says: Callable[[Any], str] | None = None
    group: Callable[[Any], str] = lambda thing: ""
    plain: bool = False


def constants() -> dict[str, str]:
    """The constant of each finding, by its name."""
    return {
        thing.name: constant
        for module in {sys.modules[finding.compute.__module__] for finding in FINDINGS.values()}
        for constant, thing in vars(module).items()
        if isinstance(thing, Finding)
    }


def imported_by_tests() -> set[str]:
    """The findings of reports that a test imports, or what computes them; and all others."""
    names = {
        (node.module, each.name)
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gridc.reports.findings.")
        for each in node.names
    }
    by_name = constants()

    def tried(finding: Finding[Any]) -> bool:
        code = finding.compute.__code__
        own = {by_name[finding.name], code.co_name, *code.co_names}
        return any((finding.compute.__module__, name) in names for name in own)

    return {name for name, finding in FINDINGS.items() if finding.on_request or tried(finding)}


def versioned(kind: str) -> set[str]:
    """The parts of the instrument that `tests/instrument` traces."""
    return {part.partition(":")[2] for part in PARTS if part.startswith(f"{kind}:")}


def mentioned(things: Mapping[str, Any], form: str) -> set[str]:
    """Those of which a test says so."""
    texts = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for name in things if re.search(form.replace("{}", name), texts)}


ENGINE = ("str", "ModelIdentity", "str", "EngineSettings", "frozenset[str]")
PACKAGES = {
    "lm_eval": "lm-evaluation-harness", "inspect_ai": "Inspect", "resolved": "lists in SWE-bench's style",
    "plain": "tables",
}  # fmt: skip
"""What docs/logs.md calls the packages that `gridc` prints under a shorter name."""
REGISTRIES = {
    "findings": Kept(
        FINDINGS,
        tried=imported_by_tests,
        code=lambda finding: finding.compute,
        says=lambda finding: finding.about or about(finding.compute),
        group=lambda finding: "On request" if finding.on_request else "In every report",
    ),
    "estimates": Kept(
        ESTIMATES,
        tried=lambda: WORLDS,
        look=Look("gridc/reports/estimates", ("Findings",), "Iterator[EstimateRow]"),
        plain=True,
    ),
    "statements": Kept(
        SHELF,
        tried=lambda: CORNERS,
        look=Look("gridc/reports/statements", ("Findings", "*BenchmarkFinding"), "Iterator[Statement]"),
        code=lambda row: row.say,
        group=lambda row: str(row.part).capitalize(),
        plain=True,
    ),
    "loaders": Kept(
        LOADERS,
        tried=lambda: {each.loader for each in FORMATS},
        look=Look("gridc/adapters/benchmarks", ("File", "Loading"), "list[Item]"),
        page="benchmarks.md",
    ),
    "log readers": Kept(
        LOG_READERS,
        tried=lambda: LOGS,
        look=Look("gridc/adapters/logs", ("LogFile",), "Iterator[LogRun]"),
        page="logs.md",
        called=lambda name: f"| {PACKAGES.get(name, LOG_READERS[name].PACKAGE)}",
    ),
    "readers of answers": Kept(
        READERS,
        tried=lambda: versioned("reader"),
        look=Look(
            "gridc/compiler/instrument/readers.py",
            ("str", "Sequence[str]", "Sequence[str]", "str"),
            "Extraction",
        ),
        page="measurands.md",
    ),
    "scaffolds": Kept(
        PROCEDURES,
        tried=lambda: versioned("scaffold"),
        look=Look("gridc/compiler/instrument/scaffolds/procedures.py", ("Scaffold", "Task", "*str"), "Steps"),
        page="scaffolds.md",
        code=lambda procedure: procedure.run,
    ),
    "engines": Kept(
        OPENERS,
        tried=lambda: mentioned(OPENERS, 'engine"?(?: =|:) "{}"'),
        look=Look("gridc/runtime/engines/__init__.py", ENGINE, ""),
    ),
    "exports": Kept(
        EXPORTS,
        tried=lambda: mentioned(EXPORTS, r'"?export"?[(,]\s+"{}"|export\("{}"'),
        page="sharing.md",
        called=lambda name: f"gridc export {name}",
        look=Look("gridc/adapters/exports", ("Compiled", "Lock", "Path", "Path"), "Path"),
        code=lambda form: import_module(f"gridc.{form.module}").export,
        says=lambda form: form.help,
    ),
    "trackers": Kept(
        TRACKERS,
        tried=lambda: mentioned(TRACKERS, r'log_to\("{}"|"export", "{}"'),
        page="sharing.md",
        called=lambda name: f"gridc export {name}",
        look=Look("gridc/adapters/exports", ("Sequence[TrackedRun]", "Sequence[Path]", "str"), "list[str]"),
        code=lambda tracker: import_module(f"gridc.{tracker.module}").log,
        says=lambda tracker: tracker.help,
    ),
    "pages": Kept(
        PAGES,
        tried=lambda: mentioned(PAGES, 'addresses\\.{}\\(|"/{}"'),
        look=Look("gridc/viewer", ("View",), "dict[str, Any]"),
        plain=True,
    ),
}
"""By the heading of docs/registries.md."""


def alike(look: Look) -> Iterator[str]:
    """The public functions that look so."""
    needed = tuple(taken for taken in look.takes if not taken.startswith("*"))
    every = tuple(taken.removeprefix("*") for taken in look.takes)
    place = ROOT / look.place
    for path in sorted(place.glob("*.py")) if place.is_dir() else (place,):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.returns and not node.name.startswith("_"):
                taken = tuple(ast.unparse(each.annotation) for each in node.args.args if each.annotation)
                if look.gives in ("", ast.unparse(node.returns)) and taken in (needed, every):
                    module = str(path.relative_to(ROOT).with_suffix("")).removesuffix("/__init__")
                    yield f"{module}.{node.name}".replace("/", ".")


def about(code: Any) -> str:
    """What something says of itself, else of its module, in a clause."""
    own = None if isinstance(code, ModuleType) else inspect.getdoc(code)
    return clause(own or sys.modules[module_of(code)].__doc__ or "")


def clause(text: str) -> str:
    """The first sentence of a text, without what a mark or a word adds to it."""
    sentence = re.split(r"(?<=\.)(?<!app\.)(?<!al\.)\s", " ".join(text.split()))[0].rstrip(".")
    for mark in ENDS.finditer(sentence):
        if len(sentence[: mark.start()].split()) >= SHORT:
            return sentence[: mark.start()].strip()
    return sentence


ENDS = re.compile(
    r"[:;] | \(|, (?:for|with|by|over|under|and (?:how|what|which|whether)|(?:i|o)n every|where|because) "
)
SHORT = 3
"""A clause that stands alone has at least so many words."""


def module_of(code: Any) -> str:
    return str(code.__name__ if isinstance(code, ModuleType) else code.__module__)


def rows(kept: Kept) -> str:
    """By group: the names alone, or one line for each thing."""
    lines: list[str] = []
    for group in dict.fromkeys(map(kept.group, kept.things.values())):
        things = {name: thing for name, thing in kept.things.items() if kept.group(thing) == group}
        lines += [""] if lines else []
        if kept.page or kept.plain:
            lines += [f"*{group}*: " * bool(group) + ", ".join(f"`{name}`" for name in things)]
            continue
        lines += [f"*{group}*", ""] if group else []
        lines += [
            f"- `{name}`: {clause(kept.says(thing)) if kept.says else about(kept.code(thing))}"
            for name, thing in things.items()
        ]
    return "\n".join([*lines, ""])


def test_this_knows_every_registry() -> None:
    made = [
        (path, line)
        for path in (ROOT / "gridc").rglob("*.py")
        for line in re.findall(r"^\w+: .*= Registry\(.*", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(made) == sum(isinstance(kept.things, Registry) for kept in REGISTRIES.values())
    assert re.findall(r"^## (.*)$", PAGE.read_text("utf-8"), re.MULTILINE) == [
        name.capitalize() for name in REGISTRIES
    ]


@pytest.mark.parametrize("name", REGISTRIES)
def test_the_docs_list_what_is_registered(name: str, request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text("utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, _, rest = text.partition(begin)
    listed, _, after = rest.partition(end)
    now = rows(REGISTRIES[name])
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{before}{begin}{now}{end}{after}", "utf-8")
    else:
        assert listed == now, "pytest tests/test_registries.py --update-golden writes it"


@pytest.mark.parametrize("name", [name for name, kept in REGISTRIES.items() if kept.page])
def test_the_page_for_users_tells_of_each(name: str) -> None:
    kept = REGISTRIES[name]
    text = (ROOT / "docs" / kept.page).read_text("utf-8")
    assert [thing for thing in kept.things if kept.called(thing) not in text] == []


@pytest.mark.parametrize("name", REGISTRIES)
def test_each_is_tried(name: str) -> None:
    kept = REGISTRIES[name]
    assert set(kept.things) == set(kept.tried())


@pytest.mark.parametrize("name", [name for name, kept in REGISTRIES.items() if kept.look])
def test_what_looks_like_one_is_registered(name: str) -> None:
    kept = REGISTRIES[name]
    codes = map(kept.code, kept.things.values())
    registered = {
        f"{module_of(code)}.{'runs' if isinstance(code, ModuleType) else code.__name__}" for code in codes
    }
    assert kept.look is not None
    found = set(alike(kept.look))
    assert found - registered == set()
    assert len(found) > 1, "the functions look otherwise by now: say how"


def test_a_finding_is_made_where_the_registry_looks() -> None:
    for path in (ROOT / "gridc").rglob("*.py"):
        made = re.search(r"^\w+: Finding\[.*= Finding\(", path.read_text("utf-8"), re.MULTILINE)
        assert not made or path.parent == ROOT / "gridc" / "reports" / "findings", path


def test_every_finding_of_a_report_is_read_by_something_else() -> None:
    code = {path: path.read_text("utf-8") for path in (ROOT / "gridc").rglob("*.py")}
    templates = "".join(path.read_text("utf-8") for path in (ROOT / "gridc" / "templates").rglob("*.jinja"))
    by_name = constants()
    for finding in reported():
        own = Path(inspect.getfile(finding.compute))
        reads = re.compile(rf"\[{by_name[finding.name]}\]")
        assert f"computed.{finding.name}" in templates or any(
            path != own and reads.search(text) for path, text in code.items()
        ), finding.name


def test_a_registry_of_a_package_has_what_registers_in_its_modules_by_place_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = planted(tmp_path, monkeypatch, {
        "a": 'THINGS.add("late", 20)("a")\nTHINGS.add("y", 10)("a")', "b": 'THINGS.add("x", 10)("b")',
    })  # fmt: skip
    assert list(package.THINGS.items()) == [("x", "b"), ("y", "a"), ("late", "a")]
    with pytest.raises(ImportError, match=r"`stray` is registered by a module that is not one of planted"):
        package.THINGS.add("stray")("c")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ('THINGS.add("x")(1)\nTHINGS.add("x")(2)', "two things are registered as `x`: 1, 2"),
        ("len(THINGS)", "what registers in planted is read while it is imported"),
    ],
)
def test_a_name_that_is_taken_and_a_reading_that_is_too_early_are_errors(
    source: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = planted(tmp_path, monkeypatch, {"a": source})
    for _ in range(2):
        sys.modules.pop("planted.a", None)
        with pytest.raises(ImportError, match=re.escape(problem)):
            list(package.THINGS)
        package.THINGS._things.clear()


def planted(folder: Path, monkeypatch: pytest.MonkeyPatch, modules: dict[str, str]) -> Any:
    """A package with a registry `THINGS` of its modules."""
    (folder / "planted").mkdir()
    made = 'from gridc.registry import Registry\n\nTHINGS: Registry[object] = Registry("planted")\n'
    (folder / "planted" / "__init__.py").write_text(made)
    for name, source in modules.items():
        (folder / "planted" / f"{name}.py").write_text(f"from planted import THINGS\n\n{source}\n")
    monkeypatch.syspath_prepend(folder)
    for name in [each for each in sys.modules if each.partition(".")[0] == "planted"]:
        monkeypatch.delitem(sys.modules, name)
    import planted  # type: ignore[import-not-found]

    return planted
