"""How far one model's score moves over an envelope: range, SDI and CFR (SafetyRepro, sec. 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

SMALL_MEAN = Fraction(1, 20)
"""Below this mean the SDI is unstable and is flagged."""


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Least, greatest and mean score over `n` configurations."""

    n: int
    least: Fraction
    greatest: Fraction
    mean: Fraction

    @property
    def sdi(self) -> Fraction | None:
        """Score Dispersion Index: (max - min) / mean. None when the mean is 0; it is not invariant to
        a shift of the scores, so the range is always printed beside it."""
        return (self.greatest - self.least) / self.mean if self.mean else None

    @property
    def unstable(self) -> bool:
        return self.mean < SMALL_MEAN


@dataclass(frozen=True, slots=True)
class FlipRate:
    """Compliance flip rate at a pass mark: how often two configurations disagree on pass or fail."""

    threshold: Fraction
    n: int
    passing: int

    @property
    def rate(self) -> Fraction | None:
        """2 k (n - k) / (n (n - 1)) for k of n passing; undefined for a single configuration."""
        if self.n < 2:
            return None
        return Fraction(2 * self.passing * (self.n - self.passing), self.n * (self.n - 1))

    @property
    def ceiling(self) -> Fraction | None:
        """The most that n configurations can reach: n / (2 (n - 1)), or (n + 1) / (2 n) for odd n."""
        if self.n < 2:
            return None
        half = self.n // 2
        return Fraction(2 * half * (self.n - half), self.n * (self.n - 1))


def disperse(scores: Sequence[Fraction]) -> Dispersion:
    """The dispersion of at least one score. Raises `ValueError` when there is none."""
    if not scores:
        raise ValueError("no scores")
    return Dispersion(len(scores), min(scores), max(scores), sum(scores, Fraction(0)) / len(scores))


def flip_rate(
    scores: Sequence[Fraction], threshold: float | Fraction, lower_is_better: bool = False
) -> FlipRate:
    """CFR at `threshold`, which a score passes that is at least as good. A float is taken at its decimal
    value: 0.7 means 7/10, and a score of exactly 7/10 passes."""
    mark = threshold if isinstance(threshold, Fraction) else Fraction(str(threshold))
    passing = sum(score <= mark if lower_is_better else score >= mark for score in scores)
    return FlipRate(mark, len(scores), passing)
