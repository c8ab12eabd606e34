"""How many labels of people a gap of two models needs, from what the machine said of all rows.

Given the machine's labels, what a corrected gap comes to is open only in the draw of the rows and in what
people say of them. So it is expected at the mean of what they would say, with the variance of each stratum
over its labels (post-stratification); and its limits, which also hold for new units, are those of an audit in
which every stratum has its labels in the proportions that are expected. Limits are computed and not taken as
1.96 errors: where labels are few or errors rare they are far wider, and half of the labels of the normal
formula are missing.

What people would say is assumed, or what an earlier audit shows. Of one test alone: a step of Holm's among
several needs more.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.labelled import LabelledRows

POWER = 0.8
"""The chance with which so many labels are to show the gap."""
LEAST = 10
"""Labels of a model that are tried at least."""
STEP = 1.05
"""From one number of labels that is tried to the next."""


def with_errors(one: LabelledRows, other: LabelledRows, wrong: float) -> LabelledRows:
    """The rows of both models as `LabelledRows.less` makes them, and what people would say of all where the
    machine is wrong on this share of either model's rows, whatever it said of them, and of either by itself.
    Where it is wrong a row earns all that it did not, or nothing."""
    pair = one.less(other)
    points, order = np.empty(len(pair.said)), np.random.default_rng(0).permutation(len(pair.said))
    flipped = [np.where(rows.earned < 0.5, 1.0, 0.0) for rows in (one, other)]
    kinds = [
        ((1 + mine - theirs) / 2, mine_wrong * theirs_wrong)
        for mine, mine_wrong in ((one.earned, 1 - wrong), (flipped[0], wrong))
        for theirs, theirs_wrong in ((other.earned, 1 - wrong), (flipped[1], wrong))
    ]
    ends = np.cumsum([share for _, share in kinds])[:-1]
    for value in np.unique(pair.said):
        rows = order[pair.said[order] == value]
        kind = np.searchsorted(ends, _quantiles(len(rows)), side="right")
        points[rows] = np.array([gain for gain, _ in kinds])[kind, rows]
    return replace(pair, labelled=np.ones(len(points), np.bool_), points=points)


def as_audited(rows: LabelledRows) -> LabelledRows:
    """What people would say of all rows where each stratum is as those of it that they labelled."""
    points, order = rows.earned.copy(), np.random.default_rng(0).permutation(len(rows.said))
    for stratum in rows.strata:
        seen = np.sort(rows.points[stratum[rows.labelled[stratum]]])
        if len(seen):
            mixed = order[np.isin(order, stratum)]
            points[mixed] = seen[(_quantiles(len(mixed)) * len(seen)).astype(np.int64)]
    return replace(rows, labelled=np.ones(len(points), np.bool_), points=points)


def chance_of_gap(rows: LabelledRows, labels: int) -> float:
    """The chance that so many labels of either model leave 0 out of the corrected gap of new units, where
    people say of `rows` what stands there."""
    from scipy.special import ndtr

    audit = _drawn(rows, labels)
    low, high = audit.new()
    reach = audit.value - low if _is_ahead(rows) else high - audit.value
    spread = sqrt(sum(_variances(rows, audit.strata, labels / len(rows.said))))
    beyond = abs(float(rows.points.mean()) - 0.5) - reach
    return float(ndtr(beyond / spread)) if spread else float(beyond > 0)


def labels_needed(rows: LabelledRows, power: float = POWER) -> int | None:
    """The least number of labels of either model, in steps of a twentieth, with this chance of a gap; None
    where not even labels of all rows have it."""
    most = len(rows.said)
    tried = np.unique(np.append(np.ceil(LEAST * STEP ** np.arange(300)), most)).astype(np.int64)
    tried = tried[tried <= most]
    low, high = 0, len(tried) - 1
    if chance_of_gap(rows, most) < power:
        return None
    while low < high:
        middle = (low + high) // 2
        enough = chance_of_gap(rows, int(tried[middle])) >= power
        low, high = (low, middle) if enough else (middle + 1, high)
    return int(tried[low])


def error_found(units: Whole, labels: int, power: float = POWER) -> float | None:
    """The least share of rows, in hundredths, that so many labels of either model find with this chance where
    the machine gives too much for them to one of two models that it scores alike, and all else is right."""
    rows = len(units)
    order, alike = np.random.default_rng(0).permutation(rows), np.full(rows, 0.5)
    for hundredths in range(1, 101):
        points = alike.copy()
        points[order[: round(rows * hundredths / 100)]] = 0.0
        world = LabelledRows(np.zeros(rows, np.int64), alike, units, np.ones(rows, np.bool_), points)
        if chance_of_gap(world, labels) >= power:
            return hundredths / 100
    return None


def _is_ahead(rows: LabelledRows) -> bool:
    return float(rows.points.mean()) > 0.5


def _quantiles(count: int) -> Floats:
    """The middles of so many equal parts of 0 to 1."""
    return (np.arange(count) + 0.5) / count


def _drawn(rows: LabelledRows, labels: int) -> LabelledRows:
    """The rows with so many labels, of each stratum as many, and of these as many of each points, as it has
    a part of all."""
    order = np.random.default_rng(1).permutation(len(rows.said))
    order = order[np.lexsort((rows.points[order], rows.said[order]))]
    labelled = np.zeros(len(order), np.bool_)
    labelled[order[(_quantiles(labels) * len(order)).astype(np.int64)]] = True
    return replace(rows, labelled=labelled)


def _variances(rows: LabelledRows, strata: Sequence[Whole], part: float) -> list[float]:
    """What each stratum adds to the variance of the share, with this part of its rows labelled."""
    weights = [len(each) / len(rows.said) for each in strata]
    return [
        weight**2 * float(rows.points[each].var()) / (part * len(each))
        for each, weight in zip(strata, weights, strict=True)
    ]
