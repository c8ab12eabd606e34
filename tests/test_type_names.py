"""A public type name means one thing: one module of gridc defines it, or it stands below with the reason."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

GRIDC = Path(__file__).resolve().parents[1] / "gridc"

JSON = "published JSON schemas name both"
KIND = "a kind of hypothesis in the compiler, and what the reports find of one"
SHARED = {
    "Change": "an entry [[change]] of a deviation file, and the change of a rate that a hypothesis is about",
    "ChangeRow": JSON,
    "ClaimRow": JSON,
    "Contrast": KIND,
    "Engine": "the spec's table [engine], and what plug-ins implement",
    "Failure": "why a fit has no number, and a sample on which an oracle failed",
    "Part": "the base of all rows of documents, and what a hypothesis is tested on in one benchmark",
    "Ranking": KIND,
    "RankingRow": JSON,
    "Spread": "how cases carry an estimate, and the same as a finding, with whether they suffice",
    "Tested": "a tested combination of coefficients, and what kinds with a test have in common",
}
"""By name: what its definitions are."""


def type_names(tree: ast.Module) -> Iterator[str]:
    """The public classes of a module, and its aliases of types: CamelCase names of a subscript or a union."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Subscript | ast.BinOp):
            for target in statement.targets:
                if isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper():
                    yield target.id


def modules_by_name(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """The modules that define each name, of texts by module."""
    modules = defaultdict(set)
    for module, source in sources.items():
        for name in type_names(ast.parse(source)):
            modules[name].add(module)
    return modules


def test_a_type_name_has_one_meaning() -> None:
    sources = {str(path.relative_to(GRIDC)): path.read_text("utf-8") for path in GRIDC.rglob("*.py")}
    modules = modules_by_name(sources)
    assert len(modules) > 900
    shared = {name: sorted(places) for name, places in modules.items() if len(places) > 1}
    added = {name: places for name, places in shared.items() if name not in SHARED}
    assert not added, f"name each for what it holds: {added}"
    assert SHARED.keys() <= shared.keys(), "defined once by now: take it off the list"


def test_classes_and_aliases_are_seen() -> None:
    sources = {
        "a.py": "class Cell: ...\nRow = dict[str, int]\nLIMIT = sizes[0]\nclass _Own: ...\n",
        "b.py": "def f():\n    class Cell: ...\nRow = int | str\nLIMIT = sizes[1]\nclass _Own: ...\n",
    }
    assert modules_by_name(sources) == {"Cell": {"a.py", "b.py"}, "Row": {"a.py", "b.py"}}
