"""Strict sign counts of a pair of models over an envelope (SafetyRepro, sec. 4, eq. 1 and Prop. 1).

Scores are exact fractions and are compared as such; no float decides a sign.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gridc.statistics.exact_tests import expected_until_both, minority_bound

ScoreByModel = Mapping[str, Fraction | None]
"""A model's score by configuration; None where it was not measured in full."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A configuration and the scores of both models under it."""

    configuration: str
    a: Fraction
    b: Fraction


@dataclass(frozen=True, slots=True)
class PairCounts:
    """N+, N- and N0 of the pair (a, b): in how many configurations a scores higher, lower, the same.

    `size` is |C|; `measured` counts the configurations in which both models have a score. The
    witnesses are the configurations with the largest gap in each direction.
    """

    a: str
    b: str
    size: int
    measured: int
    plus: int
    minus: int
    ties: int
    witness_plus: Witness | None
    witness_minus: Witness | None

    @property
    def complete(self) -> bool:
        return self.measured == self.size

    @property
    def rho_flip(self) -> Fraction:
        """The share of configurations whose verdict goes against the majority (eq. 2). Ties stay in
        the denominator. Of an incomplete envelope it is a lower bound."""
        return Fraction(min(self.plus, self.minus), self.size)

    @property
    def ceiling(self) -> Fraction:
        """The most that rho_flip could be with this many ties (Prop. 1 iii, as corrected)."""
        return Fraction((self.size - self.ties) // 2, self.size)

    @property
    def disagreement(self) -> Fraction | None:
        """The share of pairs of configurations with opposite verdicts: 2 N+ N- / (|C| (|C| - 1))."""
        if self.size < 2:
            return None
        return Fraction(2 * self.plus * self.minus, self.size * (self.size - 1))

    @property
    def minority_bound(self) -> int | None:
        """Of an incomplete envelope that shows one order: how many configurations could go against the order,
        had the measured ones been drawn at random (95 %)."""
        if self.complete or bool(self.plus) == bool(self.minus):
            return None
        return minority_bound(self.size, self.measured)

    @property
    def until_both(self) -> float | None:
        """Of a reversal in a complete envelope: how many configurations, asked in random order, show both
        signs, on average."""
        return expected_until_both(self.plus, self.minus, self.size) if self.complete else None

    @property
    def d1(self) -> bool | None:
        """No strict reversal: N+ = 0 or N- = 0. A reversal refutes it; without one, an incomplete
        envelope leaves it open (None)."""
        if self.plus and self.minus:
            return False
        return True if self.complete else None

    @property
    def d2(self) -> bool | None:
        """One sign verdict throughout: exactly one of N+, N-, N0 is not zero. None while open."""
        if sum(count > 0 for count in (self.plus, self.minus, self.ties)) > 1:
            return False
        return True if self.complete else None

    @property
    def majority(self) -> int:
        """1 where a scores higher in more configurations than b, -1 where b does, 0 where neither."""
        return (self.plus > self.minus) - (self.plus < self.minus)

    @property
    def verdicts(self) -> str:
        """The signs that occur, in the order -, 0, +."""
        counts = (("-", self.minus), ("0", self.ties), ("+", self.plus))
        return "".join(sign for sign, count in counts if count)

    @property
    def words(self) -> str:
        """The verdict in the words of the certificate."""
        if self.plus and self.minus:
            return "reversible"
        if not self.complete:
            return f"no reversal on {self.measured} of {self.size}"
        if self.d2:
            return "tied everywhere" if self.ties else "one order throughout"
        return "no strict reversal"


def count(a: str, b: str, scores_a: ScoreByModel, scores_b: ScoreByModel) -> PairCounts:
    """Count over the envelope, which is the configurations of `scores_a`; both mappings must have the
    same ones. Raises `ValueError` for an empty envelope or for two different ones."""
    if not scores_a or scores_a.keys() != scores_b.keys():
        raise ValueError("both models need scores for the same, non-empty envelope")
    both = [
        Witness(configuration, left, right)
        for configuration, left in scores_a.items()
        if left is not None and (right := scores_b[configuration]) is not None
    ]
    plus = [witness for witness in both if witness.a > witness.b]
    minus = [witness for witness in both if witness.a < witness.b]
    return PairCounts(
        a,
        b,
        size=len(scores_a),
        measured=len(both),
        plus=len(plus),
        minus=len(minus),
        ties=len(both) - len(plus) - len(minus),
        witness_plus=max(plus, key=lambda witness: witness.a - witness.b, default=None),
        witness_minus=max(minus, key=lambda witness: witness.b - witness.a, default=None),
    )
