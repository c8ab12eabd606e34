"""Golden pairs: a spec in, what gridc answers out. `pytest tests/golden --update-golden` rewrites them.

`diagnostics/*.txt` hold specs, as changes of `base.toml`, each with what the command line prints; `cases.py`
says how they are written. `passes/name/` holds a spec, the cells after each lowering pass, and the plan.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gridc.cli import terminal
from gridc.compiler.compile import compile_spec
from gridc.compiler.grid.cells import PASSES, Cell, enumerate_grid
from gridc.compiler.lock.deviations import log_path, require_current
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.diagnostics.errors import CODES, GridcError
from tests.golden.cases import Case, cases

HERE = Path(__file__).parent
CASES = cases()
GRIDS = sorted(path for path in (HERE / "passes").iterdir() if path.is_dir())
SPEC = Path("gridcard.toml")

ELSEWHERE = {
    "GC000": "what is wrong is the command line",
    "GC005": "tests/compiler/test_source.py holds the characters",
    "GC318": "a grid of its size: tests/compiler/test_limits.py",
    "GC324": "tests/compiler/test_budget_design.py: what is wrong is the command line",
    "GC325": "tests/compiler/test_budget_design.py: what is wrong is the command line",
    "GC326": "tests/compiler/test_budget_design.py: what is wrong is the command line",
    "GC341": "it takes an installed package",
    "GC342": "it takes an installed package",
    "GC343": "tests/e2e/test_frameworks.py: it takes an installed package",
    "GC344": "tests/compiler/test_plugins.py: it takes an installed package",
    "GC347": "tests/compiler/test_task_files.py: it takes another package, or a file of its own",
    "GC351": "tests/compiler/test_providers.py: it takes litellm",
    "GC352": "tests/compiler/test_providers.py",
    "GC353": "tests/e2e/test_batches.py: what may go in batches",
    "GC354": "tests/e2e/test_consent.py",
    "GC406": "what is wrong lies beside the lock",
    "GC503": "it takes a tokenizer to see",
    "GC504": "it takes a tokenizer to see",
    "GC505": "it takes a tokenizer to see",
    "GC506": "it takes a tokenizer to see",
    "GC508": "a hazard with its exhibit in tests/museum",
    "GC509": "a hazard with its exhibit in tests/museum",
    "GC510": "it takes a tokenizer to see",
    "GC512": "it takes a tokenizer to see",
    "GC513": "a hazard with its exhibit in tests/museum",
    "GC514": "a hazard with its exhibit in tests/museum",
    "GC515": "a hazard with its exhibit in tests/museum",
    "GC516": "a hazard with its exhibit in tests/museum",
    "GC409": "it takes another version of gridc",
    "GC517": "a hazard with its exhibit in tests/museum",
    "GC521": "a hazard with its exhibit in tests/museum",
    "GC522": "a hazard with its exhibit in tests/museum",
    "GC529": "it takes a server",
    "GC530": "it takes a tokenizer to see",
    "GC531": "it takes a tokenizer to see",
    "GC540": "it takes a tokenizer to see",
    "GC541": "it takes a tokenizer to see",
    "GC542": "it takes a tokenizer to see",
    "GC547": "a hazard with its exhibit in tests/museum",
}
"""Codes below GC600 that no spec causes alone; other tests name them."""


@pytest.fixture(autouse=True)
def _no_optional_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """What gridc answers to a spec is the same whatever is installed beside it."""
    for name in ("torch", "transformers", "tokenizers", "huggingface_hub", "litellm", "lightgbm"):
        monkeypatch.setitem(sys.modules, name, None)


def answer(case: Case, folder: Path) -> str:
    """What gridc says to the case, in an empty folder that is the current one."""
    case.write(folder)
    if any(name.startswith("stamped/") for name in case.inputs):
        before = folder / "before"
        case.write(before)
        shutil.copytree(before / "stamped", before, dirs_exist_ok=True)
        lock = make_lock(compile_spec(before / SPEC).study, folder)
        shutil.rmtree(before)
        write_lock(lock, folder / "gridcard.lock")
    try:
        compiled = compile_spec(SPEC)
        prove_hazards(compiled.study, compiled.source)
        if compiled.lock is not None:
            require_current(compiled.lock, compiled.study, log_path(SPEC))
    except GridcError as error:
        return f"{terminal.diagnostic_text(error.diagnostics)}\n\nexit code {error.exit_code}\n"
    return "no finding\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_spec_is_answered_with_its_diagnostics(
    case: Case, golden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    programs = [content for name, content in case.inputs.items() if name.endswith(".py")]
    monkeypatch.setenv("GRIDC_ALLOW", ",".join(f"sha256:{sha256(text).hexdigest()}" for text in programs))
    text = answer(case, tmp_path)
    if golden.update:
        case.rewrite(text)
    else:
        assert text == case.answer, "pytest --update-golden rewrites it"
    if case.code in CODES:
        assert set(re.findall(r"^error\[(\w+)\]", text, re.MULTILINE)) == {case.code}


def test_an_answer_is_rewritten_in_its_place(tmp_path: Path) -> None:
    case = CASES[0]
    copy = replace(case, path=tmp_path / case.path.name)
    before = case.path.read_text("utf-8")
    copy.path.write_text(before)
    copy.rewrite(case.answer)
    assert copy.path.read_text("utf-8") == before
    copy.rewrite("another\n")
    assert copy.path.read_text("utf-8") == before.replace(f">>>\n{case.answer}", ">>>\nanother\n", 1)


@pytest.mark.parametrize("case", GRIDS, ids=lambda case: case.name)
def test_a_grid_is_lowered_pass_by_pass(case: Path, golden: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    study = compile_spec(SPEC).study
    for name, cells in stages(study.spec):
        golden.check(case / f"{name}.txt", "".join(f"{line(cell)}\n" for cell in cells))
    manifest = Plan(study).manifest().as_json()
    assert re.fullmatch(r"[0-9a-f]{64}", manifest.pop("stamp"))  # stamps.json has those that are promised
    golden.check(case / "plan.json", json.dumps(manifest, indent=1) + "\n")


def test_every_pass_changes_the_cells_of_some_golden_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = {each.__name__ for each in PASSES}
    for case in GRIDS:
        monkeypatch.chdir(case)
        results = [(name, [line(cell) for cell in cells]) for name, cells in stages(compile_spec(SPEC).spec)]
        idle -= {name for (_, before), (name, after) in pairwise(results) if before != after}
    assert not idle


def test_every_code_has_a_golden_pair_or_a_test_that_names_it() -> None:
    assert {path.suffix for path in (HERE / "diagnostics").iterdir()} == {".txt", ".toml"}
    pairs = {case.code for case in CASES}
    sources = [path for path in HERE.parent.rglob("*.py") if path != Path(__file__)]
    named = set(re.findall(r"\bGC\d{3}\b", "".join(path.read_text("utf-8") for path in sources)))
    assert CODES.keys() - pairs - named == set()
    from_specs = {code for code in CODES if code < "GC600"}
    assert from_specs - pairs == set(ELSEWHERE)
    assert pairs - CODES.keys() == {"explained", "many", "no"}


def stages(spec: Any) -> Iterator[tuple[str, list[Cell]]]:
    """The cells after the enumeration and after each pass."""
    cells = list(enumerate_grid(spec))
    yield enumerate_grid.__name__, cells
    for each in PASSES:
        cells = list(each(spec, iter(cells)))
        yield each.__name__, cells


def line(cell: Cell) -> str:
    shared = "shared" if cell.shared else "not shared"
    return f"{cell.key}  {cell.tier}  {shared}  {','.join(cell.slices) or '-'}"
