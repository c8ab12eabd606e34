"""Whether items were written from templates: how much of its wording each shares with another one.

A phrase is four words in a row, a number being any number. An item shares its wording where at least half of
its phrases stand in another item too; phrases that most items have, such as an instruction, are nobody's.
Paraphrases that share no phrase are not found."""

import re
from collections.abc import Sequence

import numpy as np

from gridc.statistics.arrays import Whole

WORDS = 4
WORD = re.compile(r"[^\W\d_]+|\d+")
LONGEST = 4_000
"""Characters of a text that are looked at."""
FEWEST, MOST = 10, 5_000
"""Items from which a share says something, and of which it is taken: the first ones, where families stand
together."""


def phrases(text: str) -> Whole:
    """The different phrases of a text, by numbers that hold within this process."""
    words = ["#" if word.isdecimal() else word for word in WORD.findall(text[:LONGEST].lower())]
    several = set(zip(*(words[start:] for start in range(WORDS)), strict=False))
    return np.fromiter(map(hash, several), np.int64, len(several))


def share_with_shared_wording(items: Sequence[Whole]) -> float:
    """Of items by their phrases: the share of those that share their wording with another one."""
    if len(items) < FEWEST:
        return 0.0
    _, which, counts = np.unique(np.concatenate(items), return_inverse=True, return_counts=True)
    times = counts[which]
    own = times <= len(items) / 2
    of_item = np.repeat(np.arange(len(items)), [len(some) for some in items])
    counted = np.bincount(of_item, own, len(items))
    shared = np.bincount(of_item, own & (times > 1), len(items))
    return float(((shared >= counted / 2) & (counted > 0)).mean())
