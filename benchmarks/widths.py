"""Widths and coverage of the intervals of scores and of paired gaps, beside those of the bootstrap that they
replace: `python -m benchmarks.widths [STUDIES]` prints a table in Markdown.

The bootstrap drew units n of n, and its percentiles were expanded to the width that Student's t asks for
(Hesterberg 2015, "What teachers should know about the bootstrap", sec. 5.3); where no unit differed from
another it printed nothing of a gap, and of a score the exact limit of a rate of 0 or 1. Each unit of several
items has a rate of its own, with a correlation of .2 within units; the second model's rate is 5 points lower,
with the same luck on half of the items. Coverage is of the intervals that are printed, and of all studies in
brackets, where one that is not printed covers.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import ndtr, stdtrit
from scipy.stats import beta

from gridc.statistics.arrays import Floats
from gridc.statistics.unit_intervals import Ends, at_bound, change, gains_and_losses, share, unit_totals

LEVEL, RESAMPLES, SEED, STUDIES = 0.95, 1999, 68, 300
WITHIN, BEHIND, TOGETHER = 0.2, 0.05, 0.5
SINGLE = tuple((units, 1, rate) for units in (300, 1000) for rate in (0.3, 0.5, 0.8))
RATES = 0.05, 0.5, 0.8, 0.95
IN_UNITS = tuple(
    (units, items, rate) for units in (5, 12, 25, 60, 150) for items in (1, 8, 32) for rate in RATES
)


def bootstrap(values: Floats, sizes: Floats, random: np.random.Generator) -> Ends | None:
    """Of the sum of units' values over their sizes, (G,) both."""
    units = len(values)
    drawn = random.integers(0, units, (RESAMPLES, units))
    means = np.sort(values[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    if units < 2 or means[-1] - means[0] < 1e-12:
        return None
    tail = float(ndtr(-sqrt(units / (units - 1)) * stdtrit(units - 1, (1 + LEVEL) / 2)))
    skipped = min(int(tail * RESAMPLES), (RESAMPLES - 1) // 2)
    return float(means[skipped]), float(means[RESAMPLES - 1 - skipped])


@dataclass(slots=True)
class Tally:
    """Of the intervals of one kind: their widths, and how many miss."""

    widths: list[float]
    missed: int = 0
    studies: int = 0

    def add(self, ends: Ends | None, truth: float) -> None:
        self.studies += 1
        if ends is not None:
            self.widths.append(ends[1] - ends[0])
            self.missed += not ends[0] - 1e-9 <= truth <= ends[1] + 1e-9

    @property
    def covered(self) -> str:
        """Of those printed, and of all, where one that is not printed covers."""
        printed = f"{1 - self.missed / len(self.widths):.3f}" if self.widths else "-"
        return f"{printed} ({1 - self.missed / self.studies:.3f})"

    @property
    def width(self) -> float:
        return 100 * float(np.mean(self.widths)) if self.widths else np.nan


def tallies(units: int, items: int, rate: float, studies: int) -> Iterator[tuple[str, Tally, Tally]]:
    """Of scores and of gaps: the intervals that are printed, and the bootstrap's."""
    random = np.random.default_rng((SEED, units, items, round(100 * rate)))
    of, sizes = np.repeat(np.arange(units), items), np.full(units, float(items))
    behind = max(rate - BEHIND, 0.0)
    found = {name: (Tally([]), Tally([])) for name in ("score", "gap")}
    spread = 1 / WITHIN - 1
    for _ in range(studies):
        place = random.random(units)
        own, other = (
            beta.ppf(place, mean * spread, (1 - mean) * spread)[of] if items > 1 and mean else mean
            for mean in (rate, behind)
        )
        luck, apart = random.random((2, len(of)))
        first = luck < own
        second = np.where(random.random(len(of)) < TOGETHER, luck, apart) < other
        points = np.bincount(of, first, units).astype(np.float64)
        new, old = found["score"]
        new.add(share(unit_totals(of, np.column_stack([np.ones(len(of)), first]))).interval, rate)
        old.add(bootstrap(points, sizes, random) or at_bound(points, sizes, LEVEL), rate)
        moved = first.astype(float) - second
        new, old = found["gap"]
        new.add(change(unit_totals(of, gains_and_losses(moved))).interval, rate - behind)
        old.add(bootstrap(np.bincount(of, moved, units).astype(np.float64), sizes, random), rate - behind)
    yield from ((name, *both) for name, both in found.items())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.widths", description=__doc__)
    parser.add_argument("studies", type=int, nargs="?", default=STUDIES, help="studies of each row")
    studies = parser.parse_args().studies
    print("| interval | units x items | rate | width, pp | bootstrap's | ratio | covers | bootstrap |")
    print("|---|---|---|---|---|---|---|---|")
    for units, items, rate in (*SINGLE, *IN_UNITS):
        for name, new, old in tallies(units, items, rate, studies):
            ratio = new.width / old.width
            widths = f"{new.width:.1f} | {old.width:.1f} | {ratio:.2f} | {new.covered} | {old.covered}"
            print(f"| {name} | {units:,} x {items} | {rate:g} | {widths} |", flush=True)


if __name__ == "__main__":
    main()
