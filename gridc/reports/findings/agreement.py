"""The same responses, scored two ways: how far two scoring rules agree on them.

Levels of an axis that send the very same calls differ in scoring alone: two readers, two normalisations of
a likelihood, keywords for refusals beside a judge. What they make of each item (replicate 0) is compared
within every other configuration. Descriptive: configurations share their items, so no error is stated.
Kappa is Cohen's over all of them; there is none where both rules give every item the same score, so that
chance explains all.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gridc.reports.findings.outcomes import Outcomes
from gridc.reports.findings.scores import CellScore
from gridc.schema.canonical import digest
from gridc.schema.spec import Axis
from gridc.schema.spread import AgreementRow
from gridc.statistics.raters import cohen


def agreements(
    axes: Sequence[Axis], cells: Sequence[CellScore], outcomes: Outcomes
) -> Iterator[AgreementRow]:
    """Every pair of levels that scores the same calls on a benchmark, by axis and model. Of its shared
    cells those without all their outcomes are left out."""
    for axis in axes:
        rows: dict[str, dict[tuple[str, ...], dict[str, CellScore]]] = {}
        for score in cells:
            levels = score.cell.levels
            rest = tuple(level for name, level in levels.items() if name != axis.id)
            rows.setdefault(score.cell.model, {}).setdefault(rest, {})[levels[axis.id]] = score
        for model, places in rows.items():
            for left, right in combinations([level.id for level in axis.level], 2):
                pairs = [
                    (place[left], place[right])
                    for place in places.values()
                    if left in place and right in place and _same_calls(place[left], place[right])
                ]
                if pairs:
                    yield _agreement(model, axis.id, left, right, pairs, outcomes)


def _same_calls(left: CellScore, right: CellScore) -> bool:
    """Whether two rules score the same answers, each alone and with a point or none: kappa is about two
    classes."""
    one, other = left.cell.setting, right.cell.setting
    whole = left.scale == right.scale == 1 and one.alone and other.alone
    return whole and left.complete and right.complete and one.asked == other.asked


def _table(left: CellScore, right: CellScore, outcomes: Outcomes) -> NDArray[np.int64]:
    """Items by what two rules make of them, shape (2, 2): rows the left rule, columns the right one, a point
    first."""
    model = outcomes.models.index(left.cell.model)
    row, column = (outcomes.configurations.index(score.cell.configuration) for score in (left, right))
    given_to_both = outcomes.asked[row] & outcomes.asked[column]
    one, other = (outcomes.first[model, place, given_to_both] == outcomes.scale for place in (row, column))
    counts = [(one & other).sum(), (one & ~other).sum(), (~one & other).sum(), (~one & ~other).sum()]
    return np.array(counts, dtype=np.int64).reshape(2, 2)


def _agreement(
    model: str,
    axis: str,
    left: str,
    right: str,
    pairs: Sequence[tuple[CellScore, CellScore]],
    outcomes: Outcomes,
) -> AgreementRow:
    tables = [_table(*pair, outcomes) for pair in pairs]
    whole: NDArray[np.int64] = np.sum(tables, axis=0)
    single = [value for value in map(cohen, tables) if value is not None]
    both, left_only, right_only, neither = (int(count) for count in whole.flat)
    return AgreementRow(
        model=model,
        axis=axis,
        left=left,
        right=right,
        configurations=len(tables),
        both=both,
        left_only=left_only,
        right_only=right_only,
        neither=neither,
        kappa=cohen(whole),
        least=min(single, default=None),
        greatest=max(single, default=None),
        rows=digest([score.rows for pair in pairs for score in pair]),
    )
