"""A type name means one thing: one module of gridc defines it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

GRIDC = Path(__file__).resolve().parents[1] / "gridc"
CAMEL_CASE = re.compile(r"_?[A-Z]\w*[a-z]\w*")


def type_names(tree: ast.Module) -> Iterator[str]:
    """The classes of a module, and its aliases of types: CamelCase names of a subscript or a union."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Subscript | ast.BinOp):
            for target in statement.targets:
                if isinstance(target, ast.Name) and CAMEL_CASE.fullmatch(target.id):
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
    assert not shared, f"name each for what it holds: {shared}"


def test_classes_and_aliases_are_seen() -> None:
    sources = {
        "a.py": "class Cell: ...\nRow = dict[str, int]\nLIMIT = sizes[0]\nclass _Own: ...\n",
        "b.py": "def f():\n    class Cell: ...\nRow = int | str\nLIMIT = sizes[1]\nclass _Own: ...\n",
    }
    assert modules_by_name(sources) == {name: {"a.py", "b.py"} for name in ("Cell", "Row", "_Own")}
