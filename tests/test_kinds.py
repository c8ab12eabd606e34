"""Nobody but the modules of a family asks for one of its kinds by name: a hypothesis, a scoring method, a
reader, a scaffold, an engine, a loader, an estimator, an outcome, a direction or a kind of call. A kind of
hypothesis that leaves something undecided cannot be imported."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from gridc.compiler.hypotheses import KINDS
from gridc.compiler.instrument.methods import METHODS, Reads
from gridc.compiler.instrument.readers import READERS
from gridc.compiler.lowering.calls import CallKind
from gridc.reports.findings.hypotheses import DECISIONS
from gridc.schema.certificate import BenchmarkRow
from gridc.schema.effects import TAKES
from gridc.schema.inference import HYPOTHESIS_KINDS, RATES, Analysis
from gridc.schema.items import LOADER_KINDS
from gridc.schema.models import ENGINES
from tests.replaced import replaced

ROOT = Path(__file__).resolve().parents[1]
SHELVES = ("gridc/compiler/hypotheses", "gridc/reports/findings/hypotheses")
DOCUMENT = (ROOT / "docs" / "statistics.md").read_text("utf-8")


@dataclass(frozen=True)
class Family:
    """Names of kinds, the files and folders that may tell them apart, and the modules and names of types that
    do. A name that every family may have counts only beside the family's own `word`."""

    names: frozenset[str]
    own: tuple[str, ...]
    types: str
    word: str

    def may(self, path: str) -> bool:
        return any(path == own or path.startswith(f"{own}/") for own in self.own)


def family(*own: str, names: Iterable[str], types: str = "", word: str = r"(?!)") -> Family:
    """One whose types are those of its folders, or `types`."""
    folders = "|".join(path.replace("/", r"\.") for path in own if not path.endswith(".py"))
    return Family(frozenset(names), own, types or rf"({folders or '(?!)'})\..* \w+", word)


INSTRUMENT, SCHEMA, FINDINGS = "gridc/compiler/instrument", "gridc/schema", "gridc/reports/findings"
FAMILIES = {
    "hypothesis": family(
        f"{SCHEMA}/inference.py", *(f"{shelf}/{kind}.py" for shelf in SHELVES for kind in HYPOTHESIS_KINDS),
        names=HYPOTHESIS_KINDS,
        types=r"gridc\.schema\.inference \w+Hypothesis|gridc\.compiler\.hypotheses\b.* \w+",
    ),
    "method": family(
        f"{INSTRUMENT}/methods.py", f"{INSTRUMENT}/score.py",
        names={*METHODS, *get_args(Reads)} - {*get_args(CallKind)},
    ),
    "reader": family(f"{INSTRUMENT}/readers.py", names=READERS),
    "scaffold": family(
        f"{SCHEMA}/effects.py", f"{INSTRUMENT}/scaffolds", "gridc/adapters/frameworks.py", names=TAKES,
    ),
    "engine": family(f"{SCHEMA}/models.py", "gridc/runtime/engines", names=ENGINES),
    "loader": family(
        f"{SCHEMA}/items.py", "gridc/adapters/benchmarks", "gridc/compiler/inputs/loaders", names=LOADER_KINDS
    ),
    "estimator": family(
        f"{SCHEMA}/inference.py", "gridc/compiler/hypotheses/tested.py", f"{SHELVES[1]}/regression.py",
        names=get_args(Analysis.model_fields["estimator"].annotation), word=r"\bestimator\b",
    ),
    "outcome": family(
        f"{SCHEMA}/inference.py", "gridc/compiler/inputs/rates.py", f"{FINDINGS}/rates.py",
        f"{FINDINGS}/observations.py",
        names=RATES,
    ),
    "direction": family(
        f"{SCHEMA}/spec.py", "gridc/statistics/envelope.py",
        names=get_args(BenchmarkRow.model_fields["direction"].annotation),
    ),
    "call": family("gridc/runtime/engines/protocol.py", names=get_args(CallKind)),
}  # fmt: skip
SHARED = frozenset(("none",))
"""Names that many families have."""
ELSEWHERE = {
    ("method", "gridc/compiler/lock/lock.py"): "a key of a lock",
    ("loader", "gridc/reports/exchange/bundle.py"): "a key of a bundle's list",
    ("method", "gridc/compiler/instrument/setting.py"): "keys of a call, two of them named as methods",
    ("outcome", "gridc/compiler/instrument/setting.py"): "what a key of a call changes",
    ("outcome", "gridc/reports/exchange/tables.py"): "columns of a table",
    ("outcome", "gridc/reports/findings/falsification.py"): "the `statistic` of a criterion",
    ("call", "gridc/runtime/store/checks.py"): "a column of the store, which knows no calls",
}
"""Where a name means something else, by family and file."""
CAPABILITIES = {"gridc.runtime.engines.api.attempts PaidEngine"}
"""Protocols: they ask what an engine can do, and not which one it is."""


def questions(source: str, asked: Family) -> Iterator[tuple[int, str]]:
    """The lines of a module that ask for a kind: comparisons with one's name, matches, dictionaries by names,
    beginnings of names, and checks of types."""
    nodes = asking(source)
    imported = ((f"{node.module} {each.name}", each) for node in nodes if isinstance(node, ast.ImportFrom)
                for each in node.names)  # fmt: skip
    types = {
        each.asname or each.name
        for name, each in imported
        if name not in CAPABILITIES and re.fullmatch(asked.types, name)
    }

    def named(parts: Iterable[ast.AST | None], beside: ast.AST | None = None) -> int:
        about = beside is not None and re.search(asked.word, ast.unparse(beside))
        names = asked.names if about else asked.names - SHARED
        return sum(isinstance(part, ast.Constant) and part.value in names for part in parts)

    for node in nodes:
        if isinstance(node, ast.Compare):
            if named((part for side in (node.left, *node.comparators) for part in _listed(side)), node):
                yield node.lineno, "compares"
        elif isinstance(node, ast.Match):
            for case in node.cases:
                parts = list(ast.walk(case.pattern))
                if named(parts, node.subject) or types & _named(case.pattern):
                    yield case.pattern.lineno, "matches"
        elif isinstance(node, ast.Dict):
            alone = all(isinstance(key, ast.Constant) and key.value in asked.names for key in node.keys)
            if named(node.keys) > 1 or (alone and len(node.keys) > 1):
                yield node.lineno, "dictionary"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("startswith", "endswith") and named(node.args, node.func):
                yield node.lineno, "begins"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass") and types & _named(node.args[1]):
                yield node.lineno, "type"
            if node.func.id == "dict" and sum(each.arg in asked.names for each in node.keywords) > 1:
                yield node.lineno, "dictionary"


@cache
def asking(source: str) -> list[ast.AST]:
    """Every node of a module that could ask."""
    kinds = ast.ImportFrom | ast.Compare | ast.Match | ast.Dict | ast.Call
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]


def _listed(node: ast.expr) -> list[ast.expr]:
    """An operand, or the parts of a list of some."""
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def _named(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


@pytest.mark.parametrize("kind", FAMILIES)
def test_no_other_module_asks_for_a_kind_by_its_name(kind: str) -> None:
    asked = {
        f"{path.relative_to(ROOT)}:{line} {how}"
        for path in (ROOT / "gridc").rglob("*.py")
        if not FAMILIES[kind].may(name := str(path.relative_to(ROOT))) and (kind, name) not in ELSEWHERE
        for line, how in questions(path.read_text("utf-8"), FAMILIES[kind])
    }
    assert not asked


@pytest.mark.parametrize(
    ("kind", "source", "how"),
    [
        ("hypothesis", 'each.kind == "trend"', "compares"),
        ("hypothesis", '"trend" != each.kind', "compares"),
        ("hypothesis", 'each.kind in ("difference", "ranking")', "compares"),
        ("hypothesis", 'each.kind not in {"ranking"}', "compares"),
        ("hypothesis", 'match each.kind:\n    case "trend" | "ranking":\n        pass', "matches"),
        (
            "hypothesis",
            "from gridc.schema.inference import TrendHypothesis\n"
            "match each:\n    case TrendHypothesis():\n        pass",
            "matches",
        ),
        ("hypothesis", 'TESTS = {"trend": slope, "ranking": steps}', "dictionary"),
        ("hypothesis", "TESTS = dict(trend=slope, ranking=steps)", "dictionary"),
        (
            "hypothesis",
            "from gridc.schema.inference import TrendHypothesis as T\nisinstance(each, T | int)",
            "type",
        ),
        (
            "hypothesis",
            "from gridc.compiler.hypotheses.trend import Trend\nisinstance(kind, (Trend,))",
            "type",
        ),
        ("method", 'METHODS[setting.method].reads == "label"', "compares"),
        ("method", 'setting.method in ("judge", "extract")', "compares"),
        ("method", 'match method.reads:\n    case "label":\n        pass', "matches"),
        ("method", '{"behaviour": BEHAVIOURS, "label": judged}.get(reads)', "dictionary"),
        ("reader", 'setting.reader == "answer_line"', "compares"),
        ("scaffold", 'kind.startswith("map_reduce")', "begins"),
        ("scaffold", '"chain" == scaffold.kind', "compares"),
        (
            "engine",
            "from gridc.runtime.engines.hf.engine import HfEngine\nisinstance(engine, HfEngine)",
            "type",
        ),
        ("engine", 'engine != "hf"', "compares"),
        ("loader", 'loader in ("", "rows")', "compares"),
        ("estimator", 'spec.analysis.estimator == "none"', "compares"),
        ("estimator", '{"none": 0, "glmm": 1}[estimator]', "dictionary"),
        ("outcome", 'outcome == "score"', "compares"),
        ("outcome", '"over_refusal" if name == "attack_success" else name', "compares"),
        ("direction", 'benchmark.direction == "lower_is_better"', "compares"),
        ("call", 'call.kind == "generate"', "compares"),
    ],
)
def test_a_question_is_seen_however_it_is_asked(kind: str, source: str, how: str) -> None:
    assert [each for _, each in questions(source, FAMILIES[kind])] == [how]


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("estimator", 'family.correction == "none"'),
        (
            "engine",
            "from gridc.runtime.engines.api.attempts import PaidEngine\nisinstance(engine, PaidEngine)",
        ),
    ],
)
def test_a_shared_name_and_a_capability_are_no_kind(kind: str, source: str) -> None:
    assert not list(questions(source, FAMILIES[kind]))


@pytest.mark.parametrize(("kind", "path"), ELSEWHERE)
def test_what_means_something_else_is_still_there(kind: str, path: str) -> None:
    assert list(questions((ROOT / path).read_text("utf-8"), FAMILIES[kind]))


@pytest.mark.parametrize("kind", FAMILIES)
def test_no_template_asks_either(kind: str) -> None:
    names = "|".join(sorted(FAMILIES[kind].names - SHARED))
    asked = re.compile(rf"""(==|!=|\bin\b)\s*[\[(]?\s*["']({names})["']""")
    for path in (ROOT / "gridc" / "templates").rglob("*.jinja"):
        assert not asked.search(path.read_text("utf-8")), path


def test_every_module_of_a_kind_is_one_of_the_language() -> None:
    assert tuple(KINDS) == tuple(DECISIONS) == HYPOTHESIS_KINDS
    own = {name for name, kind in KINDS.items() if not kind.compares_levels}
    for shelf, constant, names in zip(SHELVES, ("KIND", "DECISION"), ({*HYPOTHESIS_KINDS}, own), strict=True):
        stating = re.compile(rf"^{constant} = ", re.MULTILINE)
        modules = {
            path.stem for path in (ROOT / shelf).glob("*.py") if stating.search(path.read_text("utf-8"))
        }
        assert modules == names


def test_the_document_says_of_every_kind_what_supports_and_what_refutes_it() -> None:
    rows = DOCUMENT.split("| kind | supported |")[1].split("\n\n")[0].splitlines()[2:]
    assert sorted(row.split("|")[1].strip() for row in rows) == sorted(HYPOTHESIS_KINDS)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with one more kind in the schema, and modules for it."""
    root = tmp_path_factory.mktemp("planted")
    shutil.copytree(ROOT / "gridc", root / "gridc", ignore=shutil.ignore_patterns("__pycache__"))
    schema = root / "gridc" / "schema" / "inference.py"
    schema.write_text(
        replaced(schema.read_text("utf-8"), ('Literal["difference", ', 'Literal["other", "difference", '))
    )
    for shelf in SHELVES:
        own = (root / shelf / "trend.py").read_text("utf-8")
        (root / shelf / "other.py").write_text(own.replace("hypotheses.trend", "hypotheses.other"))
    return root


def imported(root: Path) -> "subprocess.CompletedProcess[str]":
    """Of the reports' registry, which imports the compiler's."""
    program = "import gridc.reports.findings.hypotheses"
    command, environment = [sys.executable, "-c", program], {"PYTHONPATH": str(root)}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def test_a_planted_kind_is_imported_when_it_decides_everything(planted: Path) -> None:
    assert imported(planted).returncode == 0


@pytest.mark.parametrize("place", range(2))
@pytest.mark.parametrize("lacking", ["the module", "its constant", "an answer"])
def test_a_planted_kind_that_decides_too_little_cannot_be_imported(
    planted: Path, place: int, lacking: str
) -> None:
    constant, answer = (("KIND", "claims"), ("DECISION", "claimed"))[place]
    path = planted / SHELVES[place] / "other.py"
    whole = path.read_text("utf-8")
    try:
        if lacking == "the module":
            path.unlink()
        elif lacking == "its constant":
            path.write_text(whole.replace(f"{constant} = ", "OTHER = "))
        else:
            path.write_text(replaced(whole, (f"def {answer}(", f"def un{answer}(")))
        ended = imported(planted)
    finally:
        path.write_text(whole)
    assert ended.returncode != 0
    unmade, unstated = f"abstract method {answer}", "`other` is a hypothesis kind of the language"
    assert (unmade if lacking == "an answer" else unstated) in ended.stderr and constant in ended.stderr
