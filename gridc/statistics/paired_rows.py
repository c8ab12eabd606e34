"""Answers that are compared in pairs: an item counts under all compared levels or under none.

Whether an answer can be read may depend on the level and on the item. Leaving out each unreadable answer by
itself then compares other items under one level than under the other, and finds a difference where there is
none. So an item (of one model, all else the same) is left out as a whole where it has no answer that counts
under one of the levels, and weighs the same under all of them where it has unequally many.
"""

import numpy as np

from gridc.statistics.arrays import Floats, Whole


def paired(counts: Whole, earned: Floats) -> tuple[Whole, Floats]:
    """What counts of B items under A levels, (B, A): how many answers, and what they earned, at most 1 each.

    Items without an answer under one of the levels have none left. Where the others have not the same
    numbers of answers throughout (in one proportion: one level may be asked three times as often as another),
    each weighs as many answers as it has under the level with the fewest, with its mean under every level.
    """
    least = counts.min(axis=1, initial=np.iinfo(np.int64).max)
    whole = least > 0
    if not whole.any():
        return np.zeros_like(counts), np.zeros_like(earned)
    first = counts[whole][0]
    if (counts[whole] * first[0] == counts[whole][:, :1] * first).all():
        return np.where(whole[:, None], counts, 0), np.where(whole[:, None], earned, 0.0)
    weights = np.where(whole[:, None], least[:, None], 0) + np.zeros_like(counts)
    means: Floats = np.divide(earned * weights, counts, out=np.zeros_like(earned), where=weights > 0)
    return weights, means
