"""Chooses which pairs of models a report describes one by one where a benchmark has many."""

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
"""Pairs of a benchmark that a report tells one by one."""
MOST_ROWS = 5_000
"""Pairs of a benchmark of logs up to which certificate.json has all that is known of each: they take 4 kB."""


def strength(evidence: EvidenceRow, rho_flip: Fraction | float) -> tuple[int, int, Fraction | float]:
    """A sort key, larger for stronger evidence: certified above supported, a reversal above an order, then by
    rho_flip."""
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
    rest = f"has the other {len(pairs) - MOST:,} too"
    if len(pairs) > MOST_ROWS:
        rest = "has the tests and the gap of every pair, and all else of these and of neighbours by score"
    return (
        f"Of {counted(len(pairs), 'pair')} of models on {benchmark}, {MOST} are told one by one: those with "
        "the strongest claims, and of equal claims those with the closest scores. certificate.json "
        f"{rest}."
    )


def as_told(row: BenchmarkRow) -> BenchmarkRow:
    """The same without what is known beyond tests and gaps of pairs that are neither told nor neighbours in
    the order of scores, where there are more than `MOST_ROWS`."""
    if len(row.scopes[0].pairs) <= MOST_ROWS:
        return row
    kept = {frozenset((pair.a, pair.b)) for pair in told_rows(row)}
    if row.standings is not None:
        kept |= {frozenset((pair.a, pair.b)) for pair in row.standings.neighbours}
    scopes = tuple(
        scope.model_copy(
            update={"pairs": tuple(pair for pair in scope.pairs if frozenset((pair.a, pair.b)) in kept)}
        )
        for scope in row.scopes
    )
    between = tuple(each for each in row.between if frozenset((each.a, each.b)) in kept)
    return row.model_copy(update={"scopes": scopes, "between": between})


def pairs_by_name(names: Sequence[str]) -> str:
    """Pairs by name, or where the names are if there are many."""
    return "; ".join(names) if len(names) <= MOST else "certificate.json names each"
