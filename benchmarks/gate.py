"""How often the gate of `gridc compare` decides falsely, and how often rightly, over simulated pairs of runs.

    python -m benchmarks.gate [ITEMS ...]     # or: make bench-gate

Beside it stands the rule of NeMo Evaluator's gate, as its documentation has it: exact McNemar refuses, and a
build passes whose paired interval lies above minus the margin, or in which nothing flipped. A tenth of the
answers changes for no reason, half of them each way; a planted loss comes on top. Each row of the Markdown
table is of 20,000 pairs, each item being a unit.
"""

import sys
from collections import Counter
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.stats import binomtest

from gridc.statistics.regressions import PairedUnits, p_not_worse, p_worse, sight

ITEMS = (12, 30, 100, 300, 1_000, 5_000)
ALPHA, MARGIN, CHANGING = 0.05, 0.03, 0.1
PAIRS = 20_000
Decision = Literal["NO-GO", "GO", "undecided"]
Rule = Callable[[int, int, int], Decision]
"""(lost, won, items) -> what is decided."""


def units(lost: int, won: int, items: int) -> PairedUnits:
    """Single items that were right and are wrong, the other way round, and right twice."""
    first, second = np.ones(items), np.ones(items)
    second[:lost] = 0
    first[lost : lost + won] = 0
    return PairedUnits(np.ones(items, np.int64), np.c_[first, first], np.c_[second, second])


def gridc(lost: int, won: int, items: int) -> Decision:
    pair = units(lost, won, items)
    if p_worse(pair, MARGIN) <= ALPHA:
        return "NO-GO"
    return "GO" if p_not_worse(pair, MARGIN) <= ALPHA else "undecided"


def nel(lost: int, won: int, items: int) -> Decision:
    if lost == won == 0:
        return "GO"
    if lost > won and binomtest(lost, lost + won, 0.5).pvalue <= ALPHA:
        return "NO-GO"
    change = (won - lost) / items
    error = np.sqrt(max((lost + won) / items - change**2, 0) / items)
    return "GO" if change - 1.96 * error >= -MARGIN else "undecided"


def shares(
    rule: Rule, items: int, loss: float, changing: float = CHANGING, pairs: int = PAIRS
) -> dict[str, float]:
    """How often each is decided where so much is lost."""
    lost, won = loss + changing / 2, changing / 2
    drawn = np.random.default_rng(items).multinomial(items, [lost, won, 1 - lost - won], pairs)
    counts = Counter(map(tuple, drawn[:, :2].tolist()))
    decided: Counter[str] = Counter()
    for (down, up), times in counts.items():
        decided[rule(down, up, items)] += times
    return {decision: decided[decision] / pairs for decision in ("NO-GO", "GO")}


PLANTED = {
    "NO-GO where half the margin is lost": ("NO-GO", MARGIN / 2),
    "GO where the margin is lost": ("GO", MARGIN),
    "GO where nothing is lost": ("GO", 0.0),
}
"""The columns of both rules: the first two decisions are false ones."""


def row(items: int) -> str:
    """Of the table; at its end the smallest loss that gridc says it finds 4 times in 5, in points, and how
    often it does."""
    cells = [f"{items:,}"]
    for decision, loss in PLANTED.values():
        cells += [_short(shares(rule, items, loss)[decision]) for rule in (gridc, nel)]
    seen = sight([1] * items, MARGIN, ALPHA, ALPHA, CHANGING, 0.0).loss
    cells += (
        ["none", ""] if seen is None else [f"{100 * seen:.1f}", _short(shares(gridc, items, seen)["NO-GO"])]
    )
    return f"| {' | '.join(cells)} |"


def _short(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")


def main(sizes: tuple[int, ...]) -> None:
    names = [name for column in PLANTED for name in (column, "the other rule")]
    print(f"| items | {' | '.join(names)} | loss that is said to be found | found |")
    print("|---" * (len(names) + 3) + "|")
    for items in sizes:
        print(row(items), flush=True)


if __name__ == "__main__":
    main(tuple(int(text) for text in sys.argv[1:]) or ITEMS)
