"""Sentences and a table about the order of models: who is told apart, who is tied, who can stand where."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from gridc.numbers import bracketed, counted, number, p_value, with_sign
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.statements.statement import Statement, of_benchmark
from gridc.schema.rows import StandingsRow

SHOWN = 6
"""Up to how many tie groups are listed. More overlap so much that the places of models say more."""
LISTED = 8
"""The largest tie group of which every model is named."""
COLUMNS = ("place", "model", "score [95 %]", "can be", "to the next", "units -/+", "p", "p (Holm)", "apart?")


@of_benchmark("standings", "leading", 75)
def order_of_models(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """How much of the order of three or more models holds for new items."""
    row = benchmark.standings
    if row is not None and len(row.order) > 2:
        told = list(sentences(row))
        yield Statement(
            f"On {benchmark.benchmark}, {'; '.join(told)}.",
            "certified" if any(each.apart for each in row.neighbours) else "descriptive",
            (benchmark.benchmark,),
            short=f"On {benchmark.benchmark}, {told[0]}.",
        )


def sentences(row: StandingsRow) -> Iterator[str]:
    """How much of the order stands."""
    apart = [(each.a, each.b) for each in row.neighbours if each.apart]
    averaged = f", averaged over {len(row.over):,} configurations" if len(row.over) > 1 else ""
    yield (
        f"{len(apart):,} of {counted(len(row.neighbours), 'pair')} of neighbours in the order of scores can "
        f"be told apart (Holm){averaged}"
    )
    if row.left_out:
        yield f"the order leaves out {'; '.join(row.left_out)}: some model gave no readable answer there"
    if row.unplaced:
        yield f"without a place, because no answer could be read: {', '.join(row.unplaced)}"
    if row.tie_groups:
        groups = ["{" + ", ".join(_abridged(group)) + "}" for group in row.tie_groups]
        listed = (
            "; ".join(groups) if len(groups) <= SHOWN else f"{len(groups):,}, shown by the places of models"
        )
        yield f"tie groups (no two told apart, all pairs in both directions, Holm): {listed}"
    tied = {pair for group in row.tie_groups for pair in combinations(group, 2)}
    both = [f"{a} and {b}" for a, b in apart if (a, b) in tied]
    if both:
        pairs = len(row.order) * (len(row.order) - 1) // 2
        yield (
            f"told apart as neighbours and yet in one tie group: {'; '.join(both[:SHOWN])} (all {pairs:,} "
            f"pairs in both directions ask more than {counted(len(row.neighbours), 'pair')} of neighbours)"
        )


def _abridged(group: Sequence[str]) -> Sequence[str]:
    return group if len(group) <= LISTED else (*group[:3], f"{len(group) - 6} more", *group[-3:])


def table(row: StandingsRow) -> list[tuple[str, ...]]:
    """The order, each model with the test against the next one; its columns are `COLUMNS`."""
    cells: list[tuple[str, ...]] = []
    for each, test in zip(row.order, (*row.neighbours, None), strict=True):
        interval = "" if each.interval is None else f" {bracketed(each.interval, number)}"
        begin = (f"{each.place}", each.model, f"{number(each.score)}{interval}", each.can_be)
        if test is None:
            cells.append((*begin, "", "", "", "", ""))
            continue
        units = f"{test.b_ahead:,} / {test.a_ahead:,}"
        p = p_value(test.p), p_value(test.p_holm)
        cells.append((*begin, with_sign(test.gap, 3), units, *p, "yes" if test.apart else "no"))
    return cells
