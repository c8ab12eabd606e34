"""The race on designs that ask parts of the items, in units of several items, and where lower is better."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.runtime.adaptive_race import from_store, race_sentence, race_study
from gridc.schema.items import UnitLevel
from tests.reports.builders import AXES, spec_of

PART: dict[str, list[dict[str, Any]]] = {
    "part": [{"id": "all"}, {"id": "some", "items": {"n": 30, "seed": 4}}]
}


def plan_of(unit: UnitLevel = "family", size: int = 1, direction: str = "higher_is_better") -> Plan:
    axes: dict[str, list[dict[str, Any]]] = {"frame": AXES["frame"], **PART}
    spec = spec_of({"a": None, "b": None}, axes=axes, direction=direction)
    items = tuple(
        Item(f"q{n:03d}", "?", ("yes", "no"), 0, template=f"t{n // size}" if size > 1 else "")
        for n in range(160)
    )
    loaded = {"facts": Items(items, (), LoadedItems(items, {"items": "0" * 64}), unit=unit)}
    return Plan(Study(spec, {}, loaded, {}, {}))


def outcomes(plan: Plan, of: Any) -> dict[str, CellOutcomes]:
    stored = {}
    for cell in plan.cells():
        names = sorted(item.id for item in plan.items(cell))
        first = np.array([of(cell, name) for name in names], dtype=np.int64)
        one = np.ones_like(first)
        stored[cell.key] = CellOutcomes(tuple(names), one, one, one, first, first)
    return stored


def apart(cell: Cell, item: str) -> int:
    """a is right where the prompt is plain, b where it is an exam."""
    return int((cell.model == "a") == (cell.levels["frame"] == "plain"))


@pytest.mark.parametrize(("unit", "size"), [("family", 1), ("template", 4)])
@pytest.mark.parametrize("direction", ["higher_is_better", "lower_is_better"])
def test_levels_that_ask_a_part_of_the_items_are_raced(unit: UnitLevel, size: int, direction: str) -> None:
    plan = plan_of(unit, size, direction)
    asked: dict[str, set[str]] = {}
    answer = from_store(outcomes(plan, apart))

    def ask(wanted: Any) -> Any:
        wanted = list(wanted)
        for cell, items in wanted:
            assert not asked.get(cell.key, set()) & items, "no item is used twice"
            asked.setdefault(cell.key, set()).update(items)
        return answer(wanted)

    (watched,) = race_study(plan, ask)
    (verdict,) = watched.verdicts
    assert verdict.outcome == "reversal certified"
    assert verdict.of_items == 160 // size
    allowed = {cell.key: {item.id for item in plan.items(cell)} for cell in plan.cells()}
    assert all(asked[key] <= allowed[key] for key in asked)
    assert watched.evaluations == sum(map(len, asked.values()))
    assert watched.of_evaluations == sum(map(len, allowed.values()))
    words = race_sentence(verdict)
    assert "a scores higher under" in words and "better" not in words


def test_what_a_configuration_does_not_ask_says_nothing_of_it() -> None:
    """Only the part that is asked everywhere differs, and there equally often either way."""
    plan = plan_of()
    (watched,) = race_study(plan, from_store(outcomes(plan, lambda cell, item: 1)))
    assert watched.verdicts[0].outcome == "undecided"
    assert watched.verdicts[0].e_plus == watched.verdicts[0].e_minus == 1


def test_a_store_without_what_is_asked_is_refused() -> None:
    plan = plan_of()
    stored = outcomes(plan, apart)
    lacking = {key: replace(row, first=np.full_like(row.first, -1)) for key, row in stored.items()}
    with pytest.raises(KeyError):
        race_study(plan, from_store(lacking))
