"""What a run does not do at its start, its end and in between, so that a small one takes little."""

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gridc import deferral
from gridc.runtime import run
from gridc.runtime.engines import _many_objects


def test_what_torch_makes_is_put_aside_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.unfreeze()
    try:
        monkeypatch.setitem(sys.modules, "torch", sys)
        with _many_objects():
            pass
        assert gc.get_freeze_count() == 0
        monkeypatch.delitem(sys.modules, "torch")
        with _many_objects():
            pass
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()


def test_all_cells_are_scored_in_one_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class OneStore:
        @contextmanager
        def all_or_nothing(self) -> Iterator[None]:
            done.append("begin")
            yield
            done.append("commit")

        def answers(self, *_: object) -> list[Any]:
            return []

        def score(self, cell: str, *_: object) -> None:
            done.append(cell)

    cells = [SimpleNamespace(key="a"), SimpleNamespace(key="b")]
    plan: Any = SimpleNamespace(cells=lambda: cells, items=lambda cell: [], study_digest="")
    monkeypatch.setattr(run, "_require_one_answer", lambda *_: None)
    monkeypatch.setattr(run, "is_judged", lambda cell: False)
    store: Any = OneStore()
    run.score_answers(plan, store)
    assert done == ["begin", "a", "b", "commit"]


DEFERRED = """
import sys
from gridc import deferral
deferral.put_off()
import httpx
import sqlite_utils.db
import transformers.loss.loss_for_object_detection as loss
import transformers.modeling_utils
assert not set(deferral.PUT_OFF.values()) & set(sys.modules)
rows, columns = loss.linear_sum_assignment([[1.0, 0.0], [0.0, 1.0]])
assert list(columns) == [1, 0] and "scipy.optimize" in sys.modules
database = sqlite_utils.Database(memory=True)
database["t"].insert({"a": 1})
import pandas
assert pandas.DataFrame(list(database["t"].rows)).a.tolist() == [1]
"""


def test_what_is_put_off_is_there_when_it_is_asked_for() -> None:
    pytest.importorskip("transformers")
    subprocess.run([sys.executable, "-c", DEFERRED], check=True)


Import = Callable[[str], ModuleType]


@pytest.fixture
def eager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Import]:
    """Imports a module of a text, for which `late` is put off."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(deferral, "PUT_OFF", {"eager": "late"})
    deferral.put_off()

    def of(text: str) -> ModuleType:
        (tmp_path / "eager.py").write_text(text, "utf-8")
        return import_module("eager")

    yield of
    for name in ("eager", "late"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("import late", False),
        ("from late import Base", False),
        ("import late, importlib.util\nassert importlib.util.find_spec('late')", False),
        ("from late import Base\nclass Own(Base): ...", True),
    ],
)
def test_a_module_that_wants_more_than_functions_gets_what_it_imports(
    eager: Import, tmp_path: Path, text: str, imported: bool
) -> None:
    (tmp_path / "late.py").write_text("class Base: ...\n", "utf-8")
    module = eager(text)
    assert ("late" in sys.modules) == imported
    if hasattr(module, "Base"):
        assert type(module.Base()).__name__ == "Base"


def test_nothing_stands_in_for_what_is_not_installed(eager: Import) -> None:
    assert eager("try: import late\nexcept ImportError: late = None\n").late is None
