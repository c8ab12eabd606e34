"""Writes the power curve of the certificate into docs/certificates.md: python -m tools.certificates.power

The numbers are simulated with the shipped tests, so the document can be made again and compared.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.exact_tests import named_witnesses, one_sided, reversal_p, rho_interval, smallest_gap
from tools.certificates.simulate import pair_world

DOCUMENT = Path(__file__).parents[2] / "docs" / "certificates.md"
CONFIGURATIONS, ALPHA, FAMILY = 48, 0.05, 15


def curve(runs: int) -> Iterator[str]:
    """The table's lines."""
    yield "| true gaps | items | certified, one claim | certified, 15 claims | width of the rho interval |"
    yield "|---|---:|---:|---:|---:|"
    half = np.repeat([1.0, -1.0], CONFIGURATIONS // 2)
    few = np.where(np.arange(CONFIGURATIONS) < 3, -1.0, 1.0)
    for items in (295, 817):
        for name, pattern, gap in (
            ("±5 pp, half and half", half, 0.05),
            ("±8 pp, half and half", half, 0.08),
            ("±10 pp, half and half", half, 0.10),
            ("±15 pp, half and half", half, 0.15),
            ("±10 pp, 3 against 45", few, 0.10),
            ("±15 pp, 3 against 45", few, 0.15),
        ):
            one, family, width = power(pattern * gap, items, runs)
            yield f"| {name} | {items} | {one:.3f} | {family:.3f} | {width:.2f} |"


def power(gaps: NDArray[np.float64], items: int, runs: int, seed: int = 1) -> tuple[float, float, float]:
    """Share of runs that certify the reversal alone and in a family, and the mean width of the interval."""
    random, world = np.random.default_rng(seed), pair_world(gaps)
    alone = together = width = 0.0
    for _ in range(runs):
        a, b = world.outcomes(items, random)
        plus, minus = one_sided(a - b)
        p = reversal_p(plus, minus, len(gaps))
        alone += p <= ALPHA
        together += FAMILY * p <= ALPHA
        low, high = rho_interval(named_witnesses(plus, minus, ALPHA), len(gaps))
        width += float(high - low)
    return alone / runs, together / runs, width / runs


def gaps() -> Iterator[str]:
    """What one configuration can certify, by item count and discordance."""
    yield "| items | discordant | one claim | family of 15 |"
    yield "|---:|---:|---:|---:|"
    for items in (80, 295, 817, 2617):
        for discordance in (0.1, 0.2, 0.3):
            levels = (ALPHA / CONFIGURATIONS, ALPHA / CONFIGURATIONS / FAMILY)
            found = [smallest_gap(items, discordance, level) for level in levels]
            shown = ["none" if gap is None else f"{100 * gap:.1f} pp" for gap in found]
            yield f"| {items} | {discordance:.0%} | {shown[0]} | {shown[1]} |"


def replaced(text: str, name: str, lines: Iterator[str]) -> str:
    """The text with what stands between the markers of `name` replaced."""
    body = "\n".join(lines)
    pattern = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
    return re.sub(pattern, lambda found: found[1] + body + found[2], text, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    text = DOCUMENT.read_text("utf-8")
    text = replaced(text, "power", curve(runs))
    DOCUMENT.write_text(replaced(text, "gaps", gaps()), "utf-8")
