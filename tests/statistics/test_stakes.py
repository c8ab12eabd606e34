"""A stranger computes a certified p-value again from what docs/certificates.md says of the bets, and from
nothing else of gridc."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gridc.statistics.exact_tests import betting_tests

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "certificates.md"


def stakes(items: float) -> list[Fraction]:
    """The stakes that the document states for units of so many items on average."""
    text = " ".join(DOCUMENT.read_text("utf-8").split())
    (stated,) = re.findall(
        r"Stakes are 1 − v\^k for v = (\d+)/(\d+), (\d+)/\2, …, (\d+)/\2, where k is "
        r"(\d+) \+ log₂\(n\) / (\d+), at most (\d+),",
        text,
    )
    first, of, second, last, constant, divisor, most = map(int, stated)
    k = min(constant + math.log2(items) / divisor, most)
    return [1 - Fraction((v / of) ** k) for v in range(first, last + 1, second - first)]


def wealth(sums: list[int], largest: int, items: float) -> Fraction:
    """For each stake the product over units of 1 + stake x sum / largest; the mean over stakes."""
    by_stake = [
        math.prod((1 + stake * Fraction(total, largest) for total in sums), start=Fraction(1))
        for stake in stakes(items)
    ]
    return sum(by_stake, Fraction(0)) / len(by_stake)


@pytest.mark.parametrize("sizes", [[1] * 25, [8] * 25, [2, 3, 8, 5] * 6, [40] * 12])
def test_the_document_states_the_stakes(sizes: list[int]) -> None:
    random = np.random.default_rng(sum(sizes))
    sums = np.array([[random.integers(-(size // 2), size + 1) for size in sizes] for _ in range(3)])
    items = sum(sizes) / len(sizes)
    expected = [float(1 / wealth(row.tolist(), max(sizes), items)) for row in sums]
    assert betting_tests(sums, max(sizes), items).plus == pytest.approx(expected, rel=1e-9)
