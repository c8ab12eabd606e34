"""Which pairs of models of a benchmark a report tells one by one, where there are many."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from gridc.numbers import counted
from gridc.schema.certificate import BenchmarkRow, PairGapsRow, PairRow
from gridc.schema.rows import EvidenceRow

if TYPE_CHECKING:
    from gridc.reports.findings.findings import BenchmarkFinding, PairFinding

MOST = 40
"""Pairs of a benchmark that a report tells one by one. certificate.json always has every pair."""


def strength(evidence: EvidenceRow, rho_flip: Fraction | float) -> tuple[int, int, Fraction | float]:
    """The stronger, the greater: certified before supported, reversals before orders, then by how much
    reverses."""
    claim = evidence.certified.claim or evidence.supported.claim
    tiers = ("descriptive", "supported", "certified")
    return tiers.index(evidence.tier), (None, "order", "reversal").index(claim), rho_flip


def told(benchmark: "BenchmarkFinding") -> list[int]:
    """The places of the pairs that are told, in the order in which they are told: of up to `MOST` all, and of
    more those with the strongest claims, of equal claims those with the closest scores."""
    rows = [
        (pair.counts.a, pair.counts.b, strength(pair.evidence, pair.counts.rho_flip))
        for pair in benchmark.full.pairs
    ]
    return _first(rows, benchmark.intervals.gaps)


def told_rows(row: BenchmarkRow) -> list[PairRow]:
    """The same of a benchmark of a certificate."""
    pairs = row.scopes[0].pairs
    rows = [(pair.a, pair.b, strength(pair.evidence, pair.rho_flip)) for pair in pairs]
    return [pairs[place] for place in _first(rows, row.intervals.gaps)]


def _first(
    pairs: Sequence[tuple[str, str, tuple[int, int, Fraction | float]]], gaps: Sequence[PairGapsRow]
) -> list[int]:
    places = list(range(len(pairs)))
    if len(pairs) <= MOST:
        return places
    apart = {(gap.a, gap.b): abs(gap.mean.value) for gap in gaps}

    def order(place: int) -> tuple[float, ...]:
        a, b, strong = pairs[place]
        return *(-float(part) for part in strong), apart.get((a, b), inf)

    return sorted(places, key=order)[:MOST]


def untold(benchmark: str, pairs: "Sequence[PairFinding] | Sequence[PairRow]") -> str:
    """How many more pairs there are, and where; nothing where all are told."""
    if len(pairs) <= MOST:
        return ""
    return (
        f"Of {counted(len(pairs), 'pair')} of models on {benchmark}, {MOST} are told one by one: those with "
        "the strongest claims, and of equal claims those with the closest scores. certificate.json has the "
        f"other {len(pairs) - MOST:,} too."
    )


def named(names: Sequence[str]) -> str:
    """Pairs by name, or where the names are if there are many."""
    return "; ".join(names) if len(names) <= MOST else "certificate.json names each"
