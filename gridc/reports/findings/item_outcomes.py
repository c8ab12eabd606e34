"""What every item came to in every cell: the outcomes of its replicates, or the one that is made of them."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from gridc.compiler.grid.cell import Cell
from gridc.compiler.instrument.aggregates import Vote
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.runtime.store.rows import CellOutcomes
from gridc.runtime.store.store import Store


def item_outcomes(cells: Iterable[Cell], store: Store, stamp: str) -> dict[str, CellOutcomes]:
    """The outcomes of a study by item, by cell key, as `Store.outcomes` has them of the replicates. Where a
    cell aggregates otherwise than by the mean, an item has one outcome: it is there once all its replicates
    have theirs, readable where one of them is, and scored in units of 1 / `Setting.item_scale`. Raises
    `StoreError` (GC605) for scores that no answer can earn."""
    stored = store.outcomes(stamp)
    for cell in cells:
        if cell.setting.aggregate != "mean" and cell.key in stored:
            stored[cell.key] = _aggregated(cell, stored[cell.key], store, stamp)
    return stored


def out_of_bounds(cell: Cell) -> StoreError:
    """What is wrong with a cell whose answers earn less than nothing or more than everything."""
    message = f"a score of {cell.key} in the store is not between 0 and 1"
    return StoreError([Diagnostic("GC605", message, help="`gridc verify` says what else is wrong with it")])


def _aggregated(cell: Cell, replicates: CellOutcomes, store: Store, stamp: str) -> CellOutcomes:
    setting, scored = cell.setting, replicates.scored == replicates.trials
    possible = replicates.scored * setting.scale
    if (replicates.correct < 0).any() or (replicates.correct > possible).any():
        raise out_of_bounds(cell)
    by_item = groupby(store.votes_of(stamp, cell.key), itemgetter(0))
    votes = {item: [Vote(answer, score) for _, answer, score in rows] for item, rows in by_item}
    scores = {item: setting.item_score(of_item) for item, of_item in votes.items()}
    earned = np.array([scores.get(item, 0) for item in replicates.items], dtype=np.int64) * scored
    return replace(
        replicates,
        trials=np.ones_like(replicates.trials),
        scored=scored.astype(np.int64),
        parsed=(scored & (replicates.parsed > 0)).astype(np.int64),
        correct=earned,
        first=np.where(scored, earned, -1),
    )
