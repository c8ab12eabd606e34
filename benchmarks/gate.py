"""How often the gate of `gridc compare` decides falsely, and how often rightly, over simulated pairs of runs.

    python -m benchmarks.gate [ITEMS ...]     # or: make bench-gate

The first table has beside it the rule of NeMo Evaluator's gate, as its documentation has it: exact McNemar
refuses, and a build passes whose paired interval lies above minus the margin, or in which nothing flipped. A
tenth of the answers changes for no reason, half of them each way; a planted loss comes on top. Each row is of
20,000 pairs, each item being a unit.

In the other tables answers are missing or unreadable, or items come in families of four, of which three
quarters change as a whole. `compare` estimates the difference in a population in which a missing answer is a
failed one: a GO is false where that difference is minus the margin or lower, and a NO-GO where it is minus
the margin or higher. Both are also held against the difference that complete data would have, in worlds where
that one is just minus the margin. An unreadable answer is there and wrong, so it has one truth only, and a
verdict that too many of them bar is not a false one.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binomtest

from gridc.reports.comparison import decision
from gridc.reports.comparison.decision import Gate, ItemScores, TestedGate, margin_tests, paired_units
from gridc.schema.comparison import UNREADABLE, ReleaseVerdict, StateCounts
from gridc.statistics.arrays import Floats
from gridc.statistics.paired_runs import PairedUnits, detectable

ITEMS = (12, 30, 100, 300, 1_000, 5_000)
ALPHA, MARGIN, CHANGING = 0.05, 0.03, 0.1
PAIRS = 20_000
Verdict = Literal["GO", "NO-GO"]
Rule = Callable[[int, int, int], ReleaseVerdict]
"""(lost, won, items) -> what is decided."""


def decided(units: PairedUnits, margin: float, a: StateCounts, b: StateCounts) -> ReleaseVerdict:
    """The verdict of `compare` on one benchmark at a margin in points, where the answers ended so."""
    gate = Gate(margin, True, decision.UNNAMED)
    row = TestedGate(*margin_tests(units, margin), gate, decision.why_not_passing(UNREADABLE, a, b))
    (p,) = decision.holm_p_values([row])
    return decision.release_verdict(True, [decision.regression(p, row, ALPHA, ALPHA)])


def units(lost: int, won: int, items: int) -> PairedUnits:
    """Single items that were right and are wrong, the other way round, and right twice."""
    first, second = np.ones(items), np.ones(items)
    second[:lost] = 0
    first[lost : lost + won] = 0
    return PairedUnits(np.ones(items, np.int64), np.c_[first, first], np.c_[second, second])


def gridc(lost: int, won: int, items: int) -> ReleaseVerdict:
    read = StateCounts(read=items)
    return decided(units(lost, won, items), 100 * MARGIN, read, read)


def nel(lost: int, won: int, items: int) -> ReleaseVerdict:
    if lost == won == 0:
        return "GO"
    if lost > won and binomtest(lost, lost + won, 0.5).pvalue <= ALPHA:
        return "NO-GO"
    change = (won - lost) / items
    error = np.sqrt(max((lost + won) / items - change**2, 0) / items)
    return "GO" if change - 1.96 * error >= -MARGIN else "INCONCLUSIVE"


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
    for verdict, loss in PLANTED.values():
        cells += [_short(shares(rule, items, loss)[verdict]) for rule in (gridc, nel)]
    seen = detectable([1] * items, MARGIN, ALPHA, ALPHA, CHANGING, 0.0).loss
    cells += (
        ["none", ""] if seen is None else [f"{100 * seen:.1f}", _short(shares(gridc, items, seen)["NO-GO"])]
    )
    return f"| {' | '.join(cells)} |"


def _short(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")


WORLD_ITEMS, MARGINS, MISSING = (12, 30, 60, 200, 1_000), (5.0, 20.0), (0.1, 0.3)
"""Items; margins in points, of which 12 items can show the wide one alone; shares of one side's answers."""
DRAWS, AGAIN = 2_000, 20_000
"""Pairs of runs in a world, and in one whose rate is above alpha, which is then drawn anew: the largest of
many rates is above it by chance."""
RIGHT, SIZE, WHOLE = 0.6, 4, 0.75
"""How often the base is right; items of a family; the share of families that change as a whole."""
OUTCOMES = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
"""Whether base and candidate are right, of each kind of item, (4, 2)."""
PLACES = {
    "at random": np.ones(4),
    "where the candidate is wrong": 1 - OUTCOMES[:, 1],
    "where the base is right": OUTCOMES[:, 0],
}
Truth = Literal["as failed", "complete"]
"""The difference where what is missing or unreadable is wrong, and that of complete data."""
TRUTHS: tuple[Truth, ...] = ("as failed", "complete")


def kinds(loss: float) -> Floats:
    """(4,): the chance of each kind of item, where the candidate is right so much less often."""
    lost, won = CHANGING / 2 + max(loss, 0.0), CHANGING / 2 + max(-loss, 0.0)
    return np.array([RIGHT - lost, lost, won, 1 - RIGHT - won])


@dataclass(frozen=True, slots=True)
class DrawnRuns:
    """What `compare` reads from two runs: the scores of items, and how the answers of each ended."""

    scores: ItemScores
    a: StateCounts
    b: StateCounts

    def verdict(self, margin: float) -> ReleaseVerdict:
        return decided(paired_units(self.scores, 1), margin, self.a, self.b)


@dataclass(frozen=True, slots=True)
class GateWorld:
    """A `share` of the answers of one `side`, 0 being the base, `ends` so in one of `PLACES`, or none does;
    items are in families or not, and `compare` is told so (`named`) or not."""

    ends: Literal["absent", "unreadable"] | None = None
    side: int = 1
    place: str = "at random"
    share: float = 0.0
    families: bool = False
    named: bool = False

    def lacking(self, loss: float) -> Floats:
        """(4,): the chance that an item of each kind has no answer, or no readable one, on that side."""
        at = PLACES[self.place]
        chances: Floats = min(1.0, self.share / float(kinds(loss) @ at)) * at
        return chances

    def loss(self, truth: Truth, points: float) -> float:
        """How much less often the candidate is right where it loses so many points in truth."""

        def beyond(loss: float) -> float:
            counted = OUTCOMES.copy()
            if truth == "as failed":
                counted[:, self.side] *= 1 - self.lacking(loss)
            return float(kinds(loss) @ (counted[:, 1] - counted[:, 0])) + points / 100

        return float(brentq(beyond, RIGHT - 1 + CHANGING / 2, RIGHT - CHANGING / 2))

    def draw(self, loss: float, items: int, draws: int, rng: np.random.Generator) -> Iterator[DrawnRuns]:
        chances, lacking = kinds(loss), self.lacking(loss)
        family = np.arange(items) // SIZE
        units = (family if self.named else np.arange(items)).astype(np.float64)
        for _ in range(draws):
            kind = rng.choice(4, items, p=chances)
            if self.families:
                whole = rng.random(family[-1] + 1) < WHOLE
                kind = np.where(whole[family], kind[family * SIZE], kind)
            without = rng.random(items) < lacking[kind]
            # (sides, items, least and most)
            ends = np.repeat(OUTCOMES[kind].T[:, :, None], 2, axis=2)
            ends[self.side, without] = (0.0, 1.0) if self.ends == "absent" else 0.0
            count = int(without.sum())
            states = [StateCounts(read=items), StateCounts(read=items)]
            states[self.side] = StateCounts.model_validate(
                {"read": items - count, self.ends or "absent": count}
            )
            yield DrawnRuns(ItemScores(units, *ends), *states)

    def decides(
        self, loss: float, margin: float, items: int, draws: int, rng: np.random.Generator
    ) -> dict[Verdict, float]:
        """How often each is given at a margin in points."""
        counts = Counter(pair.verdict(margin) for pair in self.draw(loss, items, draws, rng))
        return {"GO": counts["GO"] / draws, "NO-GO": counts["NO-GO"] / draws}


WORLDS = {
    "nothing missing": GateWorld(),
    **{
        f"absent in {name}, {place}": GateWorld("absent", side, place)
        for (side, name), place in product(((1, "the candidate"), (0, "the base")), PLACES)
    },
    "unreadable in the candidate, at random": GateWorld("unreadable"),
    "unreadable in the candidate, where it is wrong": GateWorld(
        "unreadable", place="where the candidate is wrong"
    ),
    "unreadable in the base, at random": GateWorld("unreadable", side=0),
    "families, `--unit`": GateWorld(families=True, named=True),
    "families, `--unit`, absent in the candidate where it is wrong": GateWorld(
        "absent", place="where the candidate is wrong", families=True, named=True
    ),
    "families, without `--unit`": GateWorld(families=True),
}
Place = tuple[Truth, bool, Verdict]
"""By which truth, whether the margin is lost or nothing, and what is decided."""
FALSE: tuple[Place, ...] = tuple(
    (truth, *decision) for truth in TRUTHS for decision in ((True, "GO"), (True, "NO-GO"), (False, "NO-GO"))
)
RIGHTLY: Place = ("as failed", False, "GO")


def rates(name: str, items: int) -> dict[Place, float]:
    """How often each verdict is given: the largest over margins and shares."""
    rng = np.random.default_rng([20261127, list(WORLDS).index(name), items])
    world, largest = WORLDS[name], dict[Place, float]()
    for share, margin, truth, lost in product(
        MISSING if world.ends else (0.0,),
        MARGINS,
        TRUTHS if world.ends == "absent" else TRUTHS[:1],
        (True, False),
    ):
        one = replace(world, share=share)
        loss = one.loss(truth, margin if lost else 0.0)
        found = one.decides(loss, margin, items, DRAWS, rng)
        if any(found[verdict] > ALPHA for *at, verdict in FALSE if at == [truth, lost]):
            found = one.decides(loss, margin, items, AGAIN, rng)
        for verdict, rate in found.items():
            place = truth, lost, verdict
            largest[place] = max(largest.get(place, 0.0), rate)
    return largest


def worlds(sizes: tuple[int, ...]) -> None:
    """Print the rates of every world, and of each kind and size the largest false ones."""
    places = list(product(WORLDS, sizes))
    false = "false GO", "false NO-GO", "NO-GO where equal"
    names = ["", "items", *false, *(f"complete data: {name}" for name in false), "GO where equal"]
    print(f"\n| {' | '.join(names)} |")
    print("|---" * len(names) + "|")
    short: dict[str, list[str]] = {name: [] for name in WORLDS}
    with ProcessPoolExecutor() as pool:
        for (name, items), found in zip(places, pool.map(rates, *zip(*places, strict=True)), strict=True):
            cells = [_short(found[place]) if place in found else "" for place in (*FALSE, RIGHTLY)]
            print(f"| {name} | {items:,} | {' | '.join(cells)} |", flush=True)
            worst = [max(found.get(one, 0.0) for one in FALSE if one[2] == made) for made in ("GO", "NO-GO")]
            short[name].append(", ".join(map(_short, worst)))
    print(f"\n| false GO, false NO-GO | {' | '.join(f'{items:,} items' for items in sizes)} |")
    print("|---" * (len(sizes) + 1) + "|")
    for name, row in short.items():
        print(f"| {name} | {' | '.join(row)} |")


def main(sizes: tuple[int, ...]) -> None:
    """Print both, of so many items."""
    names = [name for column in PLANTED for name in (column, "the other rule")]
    print(f"| items | {' | '.join(names)} | loss that is said to be found | found |")
    print("|---" * (len(names) + 3) + "|")
    for items in sizes or ITEMS:
        print(row(items), flush=True)
    worlds(sizes or WORLD_ITEMS)


if __name__ == "__main__":
    main(tuple(int(text) for text in sys.argv[1:]))
