"""Writes the power of the certificate's tests into docs/certificates.md: python -m tools.certificates.power

The numbers are simulated with the shipped tests, so the document can be made again and compared.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.exact_tests import mcnemar_gap, mcnemar_tests, somewhere
from gridc.statistics.sign_flips import max_t_alone, random_signs
from tools.certificates.simulate import pair_world

DOCUMENT = Path(__file__).parents[2] / "docs" / "certificates.md"
ALPHA, FAMILY, FLIPS = 0.05, 15, 999
DEPENDENCE = ((0.4, 0.3),)
"""Shares of the latent variance: of an item for everybody, and of an item for one model everywhere."""


def axes() -> dict[str, NDArray[np.int64]]:
    """The level of every configuration, by axis: 48 configurations, 36 free-form and 12 by log-likelihood."""
    template, decoding, shots = (each.ravel() for each in np.indices((4, 4, 3)))
    return {
        "template": template,
        "decoding": np.minimum(decoding, 2),
        "few_shot": shots,
        "scoring": (decoding == 3).astype(np.int64),
    }


def groups() -> NDArray[np.int64]:
    """Every configuration and every level of every axis, (contrasts, configurations)."""
    levels = [np.where(axis == level, 1, 0) for axis in axes().values() for level in np.unique(axis)]
    return np.vstack([np.eye(48, dtype=np.int64), *levels])


def worlds() -> dict[str, NDArray[np.float64]]:
    """True gaps by configuration, in units of the gap named."""
    few = np.where(np.arange(48) < 3, -1.0, 1.0)
    found = axes()
    return {
        "templates, half and half": np.where(found["template"] < 2, 1.0, -1.0),
        "3 against 45": few,
    }


def curve(runs: int) -> Iterator[str]:
    """The table's lines: each share alone and in a family, for each level of dependence."""
    names = [f"{strength}, {own:.2f}" for _, own in DEPENDENCE for strength in ("certified", "supported")]
    yield f"| true gaps | items | {' | '.join(names)} |"
    yield f"|---|---:|{'---:|' * len(names)}"
    for items, gap in ((295, 0.08), (295, 0.10), (817, 0.03), (817, 0.05)):
        for name, pattern in worlds().items():
            shares = [power(pattern * gap, items, runs, item, own) for item, own in DEPENDENCE]
            shown = [f"{alone:.2f} → {family:.2f}" for found in shares for alone, family in found]
            yield f"| ±{100 * gap:.0f} pp, {name} | {items} | {' | '.join(shown)} |"


def power(
    gaps: NDArray[np.float64], items: int, runs: int, item: float, own: float, seed: int = 1
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Share of runs that show the reversal, alone and in a family: certified, and supported."""
    random, world = np.random.default_rng(seed), pair_world(gaps, item=item, own=own)
    contrasts, found = groups(), np.zeros((2, 2))
    for run in range(runs):
        a, b = world.outcomes(items, random)
        exact = mcnemar_tests(a - b)
        certified = max(somewhere(p, "mcnemar", len(gaps)) for p in (exact.plus, exact.minus))
        signs = random_signs(items, FLIPS, run)
        drawn = max_t_alone(a - b, contrasts, signs)
        supported = max(float(drawn.plus.min()), float(drawn.minus.min()))
        for place, p in enumerate((certified, supported)):
            found[place] += (p <= ALPHA, FAMILY * p <= ALPHA)
    (one, many), (other, others) = (found / runs).tolist()
    return (one, many), (other, others)


def gaps() -> Iterator[str]:
    """What one configuration can certify, by item count and discordance."""
    yield "| items | discordant | one claim | family of 15 |"
    yield "|---:|---:|---:|---:|"
    for items in (295, 817, 2617):
        for discordance in (0.1, 0.3):
            levels = (ALPHA / 48, ALPHA / 48 / FAMILY)
            found = [mcnemar_gap(items, discordance, level) for level in levels]
            shown = ["none" if gap is None else f"{100 * gap:.1f} pp" for gap in found]
            yield f"| {items} | {discordance:.0%} | {shown[0]} | {shown[1]} |"


def replaced(text: str, name: str, lines: Iterator[str]) -> str:
    """The text with what stands between the markers of `name` replaced."""
    body = "\n".join(lines)
    pattern = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
    return re.sub(pattern, lambda found: found[1] + body + found[2], text, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    lines = list(curve(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
    text = replaced(DOCUMENT.read_text("utf-8"), "power", iter(lines))
    DOCUMENT.write_text(replaced(text, "gaps", gaps()), "utf-8")
