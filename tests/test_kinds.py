"""Nobody but a kind's own modules asks which kind a hypothesis is, and a kind that leaves something undecided
cannot be imported."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridc.compiler.hypotheses import KINDS
from gridc.reports.findings.hypotheses import DECISIONS
from gridc.schema.inference import HYPOTHESIS_KINDS
from tests.replaced import replaced

ROOT = Path(__file__).resolve().parents[1]
SHELVES = ("gridc/compiler/hypotheses", "gridc/reports/findings/hypotheses")
OWN = {"gridc/schema/inference.py", *(f"{shelf}/{kind}.py" for shelf in SHELVES for kind in HYPOTHESIS_KINDS)}
"""The schema that names the kinds, and their modules."""
TELLING = re.compile(r"gridc\.schema\.inference \w+Hypothesis|gridc\.compiler\.hypotheses\b.* \w+")
"""Modules and names of the types that tell one kind from another."""
DOCUMENT = (ROOT / "docs" / "statistics.md").read_text("utf-8")


def questions(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that ask for a kind: comparisons with one's name, matches, dictionaries by names,
    and checks of the types of hypotheses and kinds."""
    tree = ast.parse(source)
    types = {
        each.asname or each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if TELLING.fullmatch(f"{node.module} {each.name}")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(map(_names, (node.left, *node.comparators))):
            yield node.lineno, "compares"
        elif isinstance(node, ast.match_case) and any(
            _is_kind(part) or (isinstance(part, ast.Name) and part.id in types)
            for part in ast.walk(node.pattern)
        ):
            yield node.pattern.lineno, "matches"
        elif isinstance(node, ast.Dict) and sum(_is_kind(key) for key in node.keys) > 1:
            yield node.lineno, "dictionary"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass") and types & _named(node.args[1]):
                yield node.lineno, "type"
            if node.func.id == "dict" and sum(each.arg in HYPOTHESIS_KINDS for each in node.keywords) > 1:
                yield node.lineno, "dictionary"


def _is_kind(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in HYPOTHESIS_KINDS


def _names(node: ast.expr) -> bool:
    """Whether an operand is a kind's name, or a list of some."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return any(map(_is_kind, parts))


def _named(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def test_no_other_module_asks_for_the_kind_of_a_hypothesis() -> None:
    asked = {
        f"{path.relative_to(ROOT)}:{line} {how}"
        for path in (ROOT / "gridc").rglob("*.py")
        if str(path.relative_to(ROOT)) not in OWN
        for line, how in questions(path.read_text("utf-8"))
    }
    assert not asked


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ('each.kind == "trend"', "compares"),
        ('"trend" != each.kind', "compares"),
        ('each.kind in ("difference", "ranking")', "compares"),
        ('each.kind not in {"ranking"}', "compares"),
        ('match each.kind:\n    case "trend" | "ranking":\n        pass', "matches"),
        (
            "from gridc.schema.inference import TrendHypothesis\n"
            "match each:\n    case TrendHypothesis():\n        pass",
            "matches",
        ),
        ('TESTS = {"trend": slope, "ranking": steps}', "dictionary"),
        ("TESTS = dict(trend=slope, ranking=steps)", "dictionary"),
        ("from gridc.schema.inference import TrendHypothesis as T\nisinstance(each, T | int)", "type"),
        ("from gridc.compiler.hypotheses.trend import Trend\nisinstance(kind, (Trend,))", "type"),
    ],
)
def test_a_question_is_seen_however_it_is_asked(source: str, how: str) -> None:
    assert [each for _, each in questions(source)] == [how]


def test_no_template_asks_either() -> None:
    asked = re.compile(rf"""(==|!=|\bin\b)\s*[\[(]?\s*["']({"|".join(HYPOTHESIS_KINDS)})["']""")
    for path in (ROOT / "gridc" / "templates").rglob("*.jinja"):
        assert not asked.search(path.read_text("utf-8")), path


def test_every_module_of_a_kind_is_one_of_the_language() -> None:
    assert tuple(KINDS) == tuple(DECISIONS) == HYPOTHESIS_KINDS
    for shelf, constant in zip(SHELVES, ("KIND", "DECISION"), strict=True):
        stating = re.compile(rf"^{constant} = ", re.MULTILINE)
        modules = {
            path.stem for path in (ROOT / shelf).glob("*.py") if stating.search(path.read_text("utf-8"))
        }
        assert modules == {*HYPOTHESIS_KINDS}


def test_the_document_says_of_every_kind_what_supports_and_what_refutes_it() -> None:
    for head, others in (("| kind | supported |", {"ranking"}), ("| prediction | supported when |", set())):
        rows = DOCUMENT.split(head)[1].split("\n\n")[0].splitlines()[2:]
        named = [name for row in rows for name in row.split("|")[1].strip().split(", ")]
        assert sorted({*named} | others) == sorted(HYPOTHESIS_KINDS) and len(named) == len({*named})


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
        own = (root / shelf / "difference.py").read_text("utf-8")
        (root / shelf / "other.py").write_text(own.replace("hypotheses.difference", "hypotheses.other"))
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
