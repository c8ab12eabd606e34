"""Bounds on a pair of models whose unread answers are open: the least and the most that their scores can be,
and what holds in between."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from gridc.compiler.instrument.methods import METHODS
from gridc.reports.findings.scores import CellScore, counts_against
from gridc.schema.rows import EvidenceRow, UnreadRow
from gridc.statistics.envelope import PairCounts, count_orders


def readings_disagree(one: PairCounts, other: PairCounts) -> bool:
    """Whether two ways of counting disagree on the majority, on D1 or on D2."""
    stated = ((one.d1, other.d1), (one.d2, other.d2))
    return one.majority != other.majority or any(None not in both and both[0] != both[1] for both in stated)


def pair_unread(
    a: Sequence[CellScore], b: Sequence[CellScore], counts: PairCounts, evidence: EvidenceRow
) -> UnreadRow:
    """Of both models' cells, in the same order of configurations."""
    least, most = (_counts(a, b, end) for end in (0, 1))
    gaps = [
        (one.ends[0] - other.ends[1], one.ends[1] - other.ends[0])
        for one, other in zip(a, b, strict=True)
        if one.ends is not None and other.ends is not None
    ]
    read = [score for score in (*a, *b) if score.cell.setting.reads_text]
    (unread_a, answers_a), (unread_b, answers_b) = (_unread(read, cells[0].cell.model) for cells in (a, b))
    return UnreadRow(
        unread_a=unread_a,
        answers_a=answers_a,
        unread_b=unread_b,
        answers_b=answers_b,
        judged=all(METHODS[score.cell.setting.method].judged for score in read),
        measured=len(gaps),
        low=_mean([low for low, _ in gaps]),
        high=_mean([high for _, high in gaps]),
        plus=least.plus,
        minus=most.minus,
        ties=sum(low == high == 0 for low, high in gaps),
        agrees=not (readings_disagree(counts, least) or readings_disagree(counts, most)),
        claim=_claim(least.plus, most.minus, counts, evidence),
        beyond=tuple(_beyond(a, b)),
    )


def _mean(gaps: Sequence[Fraction]) -> float | None:
    return float(sum(gaps, Fraction(0)) / len(gaps)) if gaps else None


def _counts(a: Sequence[CellScore], b: Sequence[CellScore], end: int) -> PairCounts:
    """The counts where what is unread earned least for a and most for b (`end` 0), or the reverse."""
    ends = [
        {score.cell.configuration: None if score.ends is None else score.ends[at] for score in cells}
        for cells, at in ((a, end), (b, 1 - end))
    ]
    return count_orders(a[0].cell.model, b[0].cell.model, *ends)


def _unread(read: Sequence[CellScore], model: str) -> tuple[int, int]:
    """How many answers of a model are unread, and of how many."""
    own = [score for score in read if score.cell.model == model]
    return sum(score.unread for score in own), sum(score.trials for score in own)


def _claim(plus: int, minus: int, counts: PairCounts, evidence: EvidenceRow) -> bool | None:
    """Whether a claim has the signs that it is about where so many are sure."""
    strength = evidence.certified if evidence.certified.claim else evidence.supported
    if strength.claim is None:
        return None
    if strength.claim == "reversal":
        return plus > 0 and minus > 0
    return (plus if strength.first == counts.a else minus) == counts.size


def _beyond(a: Sequence[CellScore], b: Sequence[CellScore]) -> Iterator[str]:
    for one, other in zip(a, b, strict=True):
        if any(counts_against(score.unread, score.trials) for score in (one, other)):
            yield one.cell.configuration
