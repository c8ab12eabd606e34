"""Counts what each item of a cell earned of an outcome, through the cell's `aggregate` and `all_of`.

What makes one score of an item's answers makes one of every outcome of them in the same way, so that a rate
is of the same attempts as the score beside it. `pass_at` and `pass_all` take the share of draws in which one
answer or more counts, or every one; `majority` takes the answer that was given most often; items of one
group (`all_of`) have the least that one of them earns.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.points import Vote, attempt_scores, majority
from gridc.compiler.instrument.setting import Setting
from gridc.runtime.store.store import Store
from gridc.schema.effects import Attempts
from gridc.statistics.arrays import Flags, Whole

ItemReading = tuple[str, int | None, int]
"""An item, what an answer to it was read to (None: unreadable), and how many of its answers were."""


class RateCounts(NamedTuple):
    """What N rows add to the counts of a rate: the item of each, its `counts`, (N, K), in units of 1 / the
    rate's scale under the setting, and whether it is readable, (N,). An item has one row, or one for each of
    its readings where these only add up."""

    items: list[str]
    counts: Whole
    read: Flags


def readings_of(store: Store, stamp: str, cell: Cell, number: str | None) -> Iterator[ItemReading]:
    """What the answers of a cell were read to, of the samples that have an outcome, or the `number` of this
    name that a function gave; of a majority the one answer that it is."""
    if cell.setting.aggregate != "majority":
        yield from store.choices_of(stamp, cell.key, number)
        return
    for item, rows in groupby(store.votes_of(stamp, cell.key), itemgetter(0)):
        votes = [(Vote(answer, score), choice) for _, answer, score, choice in rows]
        chosen = majority((vote for vote, _ in votes), cell.setting.ties)
        yield item, None if chosen is None else dict(votes)[chosen], 1


def item_groups(setting: Setting, items: Mapping[str, Item]) -> dict[str, str]:
    """The group of each item that earns together with others; none without `all_of`."""
    level = setting.all_of
    return {} if level is None else {name: item.at(level) for name, item in items.items()}


def rate_scale(setting: Setting, scale: int) -> int:
    """The unit of a rate's counts under a setting; of single answers it is `scale`."""
    return setting.item_scale if isinstance(setting.aggregate, Attempts) else scale


def counted_items(
    setting: Setting,
    readings: Iterable[ItemReading],
    parts: Callable[[str, int | None], tuple[int, ...]],
    groups: Mapping[str, str],
) -> RateCounts:
    """What the readings of a cell count of an outcome that fits the setting. `parts` says what a reading of
    an item adds: of what is drawn from or joined (earned, possible). `groups` has the items of the setting's
    `all_of` by group."""
    rows = list(readings)
    names = [item for item, _, _ in rows]
    alone = np.array([parts(item, choice) for item, choice, _ in rows], dtype=np.int64)
    samples = np.array([count for *_, count in rows], dtype=np.int64)
    read = np.array([choice is not None for _, choice, _ in rows], dtype=np.bool_)
    if isinstance(setting.aggregate, Attempts) and rows:
        items, place = np.unique(names, return_inverse=True)
        earned, possible, answers, readable = np.zeros((4, len(items)), dtype=np.int64)
        np.add.at(earned, place, alone[:, 0] * samples)
        np.maximum.at(possible, place, alone[:, 1])
        np.add.at(answers, place, samples)
        np.add.at(readable, place, read * samples)
        shares = [attempt_scores(setting.aggregate, count) for count in answers.tolist()]
        drawn = [share.earned[hits] for share, hits in zip(shares, earned.tolist(), strict=True)]
        counts = np.column_stack([drawn, possible * [share.scale for share in shares]])
        return RateCounts(items.tolist(), counts, readable > 0)
    if setting.all_of is not None:
        return _least_of_groups(names, alone, read, parts, groups)
    return RateCounts(names, alone * samples[:, None], read)


def _least_of_groups(
    names: list[str],
    alone: Whole,
    read: Flags,
    parts: Callable[[str, int | None], tuple[int, ...]],
    groups: Mapping[str, str],
) -> RateCounts:
    """Every item that counts has the least of those of its group that do, which is unreadable where one of
    them is."""
    about = np.array([any(parts(item, choice)[1] for choice in (None, 0)) for item in names], np.bool_)
    least: dict[str, int] = {}
    lost: set[str] = set()
    for item, counts, asks, readable in zip(
        names, alone.tolist(), about.tolist(), read.tolist(), strict=True
    ):
        if asks:
            group = groups[item]
            least[group] = min(least.get(group, counts[0]), counts[0])
            lost |= set() if readable else {group}
    joined = np.array(
        [
            (0, 0)
            if not asks
            else parts(item, None)
            if groups[item] in lost
            else (least[groups[item]], own[1])
            for item, asks, own in zip(names, about.tolist(), alone.tolist(), strict=True)
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    return RateCounts(names, joined, np.array([groups[item] not in lost for item in names], np.bool_))
