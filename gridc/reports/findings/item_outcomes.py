"""What every item came to in every cell: the outcomes of its replicates, or the one that is made of them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.grid.cell import Cell
from gridc.compiler.instrument.aggregates import Vote
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.outcomes import CellOutcomes
from gridc.runtime.store.store import Store


def item_outcomes(cells: Iterable[Cell], store: Store, stamp: str) -> dict[str, CellOutcomes]:
    """The outcomes of a study by item, by cell key, as `Store.outcomes` has them of the replicates. Where a
    cell aggregates otherwise than by the mean, an item has one outcome: it is there once all its replicates
    have theirs, readable where one of them is, and scored in units of 1 / `Setting.item_scale`. Under
    `all_of` an item has the least of its group, which is unreadable where one of it is. Raises `StoreError`
    (GC605) for scores that no answer can earn."""
    stored = store.outcomes(stamp)
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for cell in cells:
        if cell.setting.aggregate != "mean" and cell.key in stored:
            stored[cell.key] = _aggregated(cell, stored[cell.key], store, stamp)
        level = cell.setting.all_of
        if level is not None and cell.key in stored:
            key = cell.benchmark, level
            if key not in groups:
                groups[key] = store.groups_at(stamp, *key)
            stored[cell.key] = _together(cell, stored[cell.key], groups[key])
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


def _together(cell: Cell, alone: CellOutcomes, groups: Mapping[str, str]) -> CellOutcomes:
    """What items have that earn together: as many outcomes as before, one of each."""
    setting = cell.setting
    if (alone.correct < 0).any() or (alone.correct > alone.scored * setting.item_scale).any():
        raise out_of_bounds(cell)
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(groups[item], len(numbers)) for item in alone.items], np.int64)

    def least(of: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.full(len(numbers), np.iinfo(np.int64).max)
        np.minimum.at(found, group, of)
        return found[group]

    scored, parsed = least(alone.scored), least(alone.parsed)
    earned = np.where(parsed > 0, least(alone.correct), setting.item_credit) * scored
    return replace(
        alone, scored=scored, parsed=parsed, correct=earned, first=np.where(scored > 0, earned, -1)
    )
