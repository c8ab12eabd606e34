"""Power at a margin where nothing differs, beside Gaffke's test of units that can lose everything and beside
Student's t, which assumes that what is rare was seen: `python -m benchmarks.margin_power`."""

from math import sqrt

import numpy as np
from scipy.stats import t

from gridc.statistics import margins
from gridc.statistics.bounded_means import mean_above_zero
from gridc.statistics.case_totals import CaseTable

ALPHA, CHANGING, SEED = 0.05, 0.1, 5
DESIGNS: tuple[tuple[str, int, int, float, float, bool], ...] = (
    ("60 x 1", 60, 1, 10, 1, False),
    ("295 x 1", 295, 1, 5, 1, False),
    ("817 x 1", 817, 1, 3, 1, False),
    ("2,617 x 1", 2617, 1, 1.5, 1, False),
    ("25 x 32", 25, 32, 8, 1, False),
    ("25 x 32, largest change 50", 25, 32, 8, 0.5, False),
    ("40 x 8, largest change 50", 40, 8, 6, 0.5, False),
    ("60 x 8", 60, 8, 5, 1, False),
    ("40 x 8, these units", 40, 8, 6, 1, True),
    ("25 x 32, these units", 25, 32, 8, 1, True),
)
"""Units, items of each, the margin in points, the largest change, and whether it is about these units."""


def main() -> None:
    random = np.random.default_rng(SEED)
    for name, units, items, points, largest, of_items in DESIGNS:
        margin, studies = points / 100, 150 if units < 1000 else 60
        shown = np.zeros(3)
        for _ in range(studies):
            draw = random.random((units, items))
            moved = (draw < CHANGING / 2).astype(np.int64) - (draw > 1 - CHANGING / 2)
            tested = moved.reshape(-1, 1) if of_items else moved
            by_unit, means = tested.sum(axis=1), moved.mean(axis=1)
            sums = np.column_stack([np.maximum(-by_unit, 0), np.maximum(by_unit, 0)]).astype(np.float64)
            rows = np.full(sums.shape, float(tested.shape[1]))
            table = CaseTable(rows, sums, np.ones(len(sums), np.int64))
            ratio = (means.mean() + margin) / (means.std(ddof=1) / sqrt(units) + 1e-12)
            shown += (
                margins.above(table, 1, 0, -margin, largest) <= ALPHA,
                mean_above_zero(np.round(means + margin, 12), margin - 1) <= ALPHA,
                ratio > t.isf(ALPHA, units - 1),
            )
        power = " | ".join(f"{share:.2f}" for share in shown / studies)
        print(f"| {name} | {points:g} pp | {power} |", flush=True)


if __name__ == "__main__":
    main()
