"""Rosters: which models run a benchmark, and what is refused where too few do."""

from pathlib import Path

import pytest

from gridc.compiler.grid.cells import cells_of, rosters
from gridc.compiler.lowering.plan import Plan
from tests.compiler.edits import TESTED, Compile, Edits, assert_finding, findings

SECOND = """[[benchmark]]
id = "more"
loader = "truthfulqa_mc1"
source = "path:facts.json"
direction = "higher_is_better"
sample = { n = 3, seed = 2 }
option_order = "shuffled:1"
exemplars = { pool = "rest", seed = 1 }

"""
RANKED = (
    '[[hypothesis]]\nid = "H1"\nkind = "ranking"\norder = ["left", "right"]\n'
    'where = { benchmark = "facts" }\n'
)
RIGHT_ON_MORE = 'model = "right", benchmark = "more"'


def excluding(*parts: str) -> Edits:
    """A second benchmark, and exclusions of these parts of the grid."""
    rules = "".join(f'[[exclude]]\nwhen = {{ {part} }}\nwhy = "no licence"\n\n' for part in parts)
    return (("[harness]\n", f"{SECOND}[harness]\n"), ("[sampling]\n", f"{rules}[sampling]\n"))


def test_a_model_outside_a_roster_takes_nothing_from_the_envelope(compiled: Compile) -> None:
    study = compiled(*excluding(RIGHT_ON_MORE)).study
    assert rosters(study.spec) == {"facts": ("left", "right"), "more": ("left",)}
    cells = list(cells_of(study.spec))
    assert all(cell.shared for cell in cells)
    assert {cell.model for cell in cells if cell.benchmark == "more"} == {"left"}
    facts, more = Plan(study).survey.envelopes
    assert (more.size, more.cells, more.tiers, more.slices) == (
        facts.size, facts.cells // 2, facts.tiers, facts.slices,
    )  # fmt: skip
    assert (facts.not_asked, more.not_asked) == ({}, {"right": "no licence"})
    assert sum(more.excluded.values()) * 2 == sum(facts.excluded.values())


def test_a_ragged_grid_keeps_what_the_roster_shares(compiled: Compile) -> None:
    spec = compiled(*excluding(f'{RIGHT_ON_MORE}, template = "plain"')).study.spec
    assert rosters(spec)["more"] == ("left", "right")
    shared = {cell.levels["template"]: cell.shared for cell in cells_of(spec) if cell.benchmark == "more"}
    assert shared == {"plain": False, "file": True}


@pytest.mark.parametrize(
    ("parts", "more", "code", "caret", "help"),
    [
        pytest.param(
            ['model = "right"'], (), "GC301", "model", "leave the model out", id="a model without a benchmark"
        ),
        pytest.param(
            ['benchmark = "more"'], (), "GC301", "benchmark", "take one of them out", id="nobody runs it"
        ),
        pytest.param(
            [f'{RIGHT_ON_MORE}, template = "plain"', 'model = "left", benchmark = "more", template = "file"'],
            (), "GC301", "benchmark", "take one of them out", id="no configuration is shared",
        ),
        pytest.param(
            [RIGHT_ON_MORE], ((TESTED, '{ benchmark = "more" }'),), "GC307", '{ benchmark = "more" }',
            "is run by all of `left`, `right`", id="an order of models that never meet",
        ),
        pytest.param(
            [RIGHT_ON_MORE],
            (("[analysis]\n", '[[statistic]]\nid = "wins"\nkind = "win_rate"\n\n[analysis]\n'),),
            "GC105", '"win_rate"', "run the same benchmarks", id="a win rate of one model",
        ),
        pytest.param(
            [RIGHT_ON_MORE, 'model = "left", benchmark = "facts"'],
            (
                ("[analysis]\n", '[[statistic]]\nid = "mean"\nkind = "macro_mean"\n\n[analysis]\n'),
                (RANKED, ""),
            ),
            "GC105", '"macro_mean"', "name fewer in `benchmark`", id="a mean that no model has",
        ),
    ],
)  # fmt: skip
def test_what_too_few_models_run_is_refused(
    compiled: Compile, small: Path, parts: list[str], more: Edits, code: str, caret: str, help: str
) -> None:
    assert_finding(findings(compiled, *excluding(*parts), *more, data=small.parent), code, caret, help)
