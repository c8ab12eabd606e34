"""Item outcomes as arrays: cells that ask other items are put side by side by name."""

from dataclasses import replace

import numpy as np

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.setting import Setting
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.scores import gather_outcomes
from tests.reports.builders import held


def cell(model: str, level: str) -> Cell:
    return Cell(model, "b", {"x": level}, Setting(prompt="p", method="extract"))


def row(*scores: tuple[str, int]) -> CellOutcomes:
    first = np.array([score for _, score in scores])
    scored = (first >= 0).astype(np.int64)
    names = tuple(name for name, _ in scores)
    return CellOutcomes(names, np.ones_like(first), scored, scored, np.maximum(first, 0), first)


def test_a_configuration_that_asks_a_subset_differs_on_its_own_items_only() -> None:
    cells = [cell(model, level) for model in "mn" for level in ("all", "some")]
    stored = {
        "m/b/x=all": row(("q1", 1), ("q2", 0), ("q3", 1)),
        "m/b/x=some": row(("q2", 1)),
        "n/b/x=all": row(("q1", 0), ("q2", 0), ("q3", 1)),
        "n/b/x=some": row(("q2", 0)),
    }
    found = gather_outcomes(cells, stored, held(q1="f", q2="g", q3="g"))
    assert found.items == ("q1", "q2", "q3")
    assert found.asked.tolist() == [[True, True, True], [False, True, False]]
    assert found.measured.all()
    assert found.differences("m", "n", designated=True).tolist() == [[1, 0], [0, 1]]
    assert found.differences("n", "m", designated=False).tolist() == [[-1, 0], [0, -1]]


def test_what_has_no_outcome_is_not_measured_and_what_is_not_shared_is_left_out() -> None:
    cells = [cell("m", "1"), cell("n", "1"), replace(cell("m", "2"), shared=False)]
    stored = {
        "m/b/x=1": row(("q1", 1), ("q2", -1)),
        "n/b/x=1": row(("q1", 1), ("q2", 0)),
        "m/b/x=2": row(("q1", 1), ("q2", 1)),
    }
    found = gather_outcomes(cells, stored, held(q1="q1", q2="q2"))
    assert found.configurations == ("x=1",)
    assert found.measured.tolist() == [[False], [True]]
    assert found.both("m", "n").tolist() == [False]
