"""What a run does not do at its start, its end and in between, so that a small one takes little."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

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
import sqlite_utils.db
import transformers.loss.loss_for_object_detection as loss
assert "pandas" not in sys.modules and "scipy.optimize" not in sys.modules
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
