"""The scores of a study's cells, exact, with their sampling error and the digest of their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.grid.cell import Cell
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.item_outcomes import out_of_bounds
from gridc.schema.canonical import canonical_row, digest_bytes
from gridc.schema.spec import Spec


@dataclass(frozen=True, slots=True)
class CellScore:
    """One cell's outcome. Counts are over the outcomes of its items (`Setting.outcomes_of_item`: items x
    replicates, unless these are aggregated); `correct` is the sum of their scores, in units of 1 / `scale`,
    and an unreadable one earned `credit` of it.

    `standard_error` is of the mean over items, robust to the dependence of items of one unit; None while the
    cell is incomplete, has a single unit, or has the same outcome on every item (a spread of zero in the
    sample is no evidence of none). `rows` is the digest of the item outcomes.
    """

    cell: Cell
    trials: int
    scored: int
    parsed: int
    correct: int
    standard_error: float | None
    rows: str

    @property
    def complete(self) -> bool:
        return self.scored == self.trials

    @property
    def score(self) -> Fraction | None:
        """Mean score of all answers, the unreadable ones with what the spec gives them (intention to treat).
        None while a single sample is missing."""
        return Fraction(self.correct, self.trials * self.scale) if self.complete else None

    @property
    def scale(self) -> int:
        return self.cell.setting.item_scale

    @property
    def credit(self) -> int:
        return self.cell.setting.item_credit

    @property
    def points(self) -> Fraction:
        """The sum of the scores."""
        return Fraction(self.correct, self.scale)

    @property
    def readable_points(self) -> Fraction:
        """The sum of the scores of readable answers."""
        return Fraction(self.correct - self.credit * (self.scored - self.parsed), self.scale)

    @property
    def parse_rate(self) -> Fraction | None:
        """Share of readable answers. A likelihood ranking has nothing to read, so it has no rate."""
        if self.cell.setting.ranks or not self.complete:
            return None
        return Fraction(self.parsed, self.trials)

    @property
    def per_protocol(self) -> Fraction | None:
        """Mean score of the readable answers, of which there are `parsed`. None where nothing is read from
        text, while a sample is missing, and when no answer is readable."""
        return self.readable_points / self.parsed if self.parse_rate else None

    @property
    def of_readable(self) -> Fraction | None:
        """The per-protocol score; where nothing is read from text there is nothing to leave out."""
        return self.score if self.cell.setting.ranks else self.per_protocol


def cell_scores(plan: Plan, stored: Mapping[str, CellOutcomes]) -> list[CellScore]:
    """Every cell of the plan, with what the store has of it (by cell key). Raises `StoreError` (GC605) when
    the store holds another plan under this stamp."""
    units = {name: items.units for name, items in plan.study.items.items()}
    try:
        return [score_of(cell, stored[cell.key], units[cell.benchmark]) for cell in plan.cells()]
    except KeyError as error:
        message = f"the store holds another plan under this stamp: {error} is in one of the two alone"
        raise StoreError([Diagnostic("GC605", message)]) from None


def by_benchmark(spec: Spec, scores: Sequence[CellScore]) -> dict[str, list[CellScore]]:
    """The cells of each benchmark of the spec, in its order."""
    return {
        benchmark.id: [score for score in scores if score.cell.benchmark == benchmark.id]
        for benchmark in spec.benchmark
    }


def units_of(items: tuple[str, ...], units: Mapping[str, str]) -> NDArray[np.int64]:
    """The number of each item's unit, counted from 0 in the order in which units appear."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(units[item], len(numbers)) for item in items], dtype=np.int64)


def standard_error(correct: NDArray[np.int64], most: int, units: NDArray[np.int64]) -> float | None:
    """Standard error of the mean of correct / most (by item), `most` being all that an item can earn
    (outcomes of an item x scale), items of one unit not being
    independent: sqrt(G / (G - 1) * sum_g (sum_{i in g} (x_i - mean))^2) / n.

    All sums are of whole numbers, so the result does not depend on their order. None with fewer than
    two units, and when no unit differs from another: a spread of zero in the sample is no evidence of
    none.
    """
    items = len(correct)
    sizes = np.bincount(units)
    sums = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(sums, units, correct)
    deviations = items * sums - sizes * int(correct.sum())  # of a unit's sum, times items
    spread = int((deviations * deviations).sum())
    groups = len(sizes)
    if groups < 2 or spread == 0:
        return None
    return sqrt(Fraction(groups * spread, (groups - 1) * items**4 * most**2))


def score_of(cell: Cell, outcomes: CellOutcomes, units: Mapping[str, str]) -> CellScore:
    """The score of one cell, of what the store has of it; `units` gives the unit of each item. Raises
    `StoreError` (GC605) for scores that no answer can earn."""
    setting = cell.setting
    if (outcomes.correct < 0).any() or (outcomes.correct > outcomes.scored * setting.item_scale).any():
        raise out_of_bounds(cell)
    counts = (outcomes.trials, outcomes.scored, outcomes.parsed, outcomes.correct)
    trials, scored, parsed, correct = (int(column.sum()) for column in counts)
    columns = (column.tolist() for column in (*counts, outcomes.first))
    rows = canonical_row([cell.key, list(zip(outcomes.items, *columns, strict=True))])
    error = None
    if scored == trials:
        most = setting.outcomes_of_item * setting.item_scale
        error = standard_error(outcomes.correct, most, units_of(outcomes.items, units))
    return CellScore(cell, trials, scored, parsed, correct, error, digest_bytes(rows))
