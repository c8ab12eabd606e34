"""What a plan promises of several coefficients, and what studies that are drawn answer by answer keep."""

from math import sqrt

import numpy as np
import pytest

from gridc.statistics.arrays import Floats
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.clustered_logit import Jackknife, maximum, unit
from gridc.statistics.expected_power import (
    BASE,
    Assumptions,
    ClaimKind,
    DecidingTest,
    Layout,
    Stratum,
    assumed_design,
    coefficients_of,
    power,
    smallest,
)

STUDIES = 600
DESIGNS: tuple[tuple[str, ClaimKind, Layout, float], ...] = (
    ("three levels, 60 items", "effect", Layout((Stratum((1.0,) * 60),), 4), 0.3),
    ("three levels, 295 items", "effect", Layout((Stratum((1.0,) * 295),), 4), 0.1),
    ("three levels, 30 units of 4, 2 models", "effect", Layout((Stratum((4.0,) * 30),), 4, 2), 0.3),
    ("6 models x 3 contrasts, 295 items", "crossed", Layout((Stratum((1.0,) * 295),), 4, 6), 0.3),
    ("6 models x 3 contrasts, 40 units of 8", "crossed", Layout((Stratum((8.0,) * 40),), 4, 6), 0.3),
    ("3 models x 1 contrast, 25 units of 4", "crossed", Layout((Stratum((4.0,) * 25),), 2, 3), 0.3),
)


def drawn(
    layout: Layout, crossed: bool, assumed: Assumptions, effect: float, random: np.random.Generator
) -> Floats:
    """Right answers by unit, (units, blocks, levels), the last level (`crossed`: of the last block alone)
    higher. An answer is its unit's with the root of `together`, else its item's under its block. Under two
    levels it is one draw, or made anew so often that a share `changing` differs beside what the rates make
    differ; a unit's is made anew as one."""
    units, items, blocks, levels = layout.units, int(layout.by_unit.max()), layout.blocks, layout.levels
    low, high = BASE - effect / 2, BASE + effect / 2
    rates, stays = np.full((blocks, levels), low), np.full((blocks, levels), 1.0)
    stays[:] = sqrt(1 - assumed.changing / (2 * low * (1 - low)))
    higher = (-1 if crossed else slice(None)), -1
    rates[higher] = high
    anew = assumed.changing / (low * (1 - high) + high * (1 - low) - effect)
    stays[higher] = (1 - anew) / stays[0, 0]

    def draws(*shape: int) -> Floats:
        kept = random.random((*shape, levels)) < stays[:, None]
        return np.where(kept, random.random((*shape, 1)), random.random((*shape, levels)))

    of_unit = random.random((units, blocks, items, 1)) < sqrt(assumed.together)
    shared = np.where(
        random.random((units, 1, 1, levels)) < stays[:, None],
        random.random((units, 1, 1, 1)),
        random.random((units, 1, 1, levels)),
    )
    answers = np.where(of_unit, shared, draws(units, blocks, items))
    sums: Floats = (answers < rates[:, None]).sum(axis=2).astype(np.float64)
    return sums


@pytest.mark.slow
@pytest.mark.parametrize(("name", "claim", "layout", "changing"), DESIGNS, ids=[each[0] for each in DESIGNS])
def test_promised_power_is_kept(name: str, claim: ClaimKind, layout: Layout, changing: float) -> None:
    test, assumed = DecidingTest(claim, "two-sided", 0.05), Assumptions(changing, 0.1)
    effect = smallest(test, layout, assumed)
    assert effect is not None
    design = assumed_design(test, layout)
    tested = unit(coefficients_of(test, layout, design), len(design.columns))
    random, found = np.random.default_rng(1), 0
    for _ in range(STUDIES):
        sums = drawn(layout, claim == "crossed", assumed, effect, random).reshape(layout.units, -1)
        rows = np.repeat(layout.by_unit, sums.shape[1], axis=1)
        table = CaseTable(rows, sums, np.ones(len(sums), dtype=np.int64))
        errors = Jackknife(design.matrix, table, maximum(design.matrix, table))
        found += errors.joint(tested).p <= test.alpha
    promised, kept = power(test, layout, assumed, effect), found / STUDIES
    print(f"{name}: {100 * effect:.1f} pp, promised {promised:.3f}, kept {kept:.3f}")
    assert kept == pytest.approx(promised, abs=0.05 + 2 * sqrt(0.16 / STUDIES))
