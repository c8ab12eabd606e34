"""Which of two scores of a benchmark is the better one."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Direction:
    """More is better; less is, where `lower`; or, where there is a `target`, the nearest to it is best."""

    lower: bool = False
    target: Fraction | None = None

    @classmethod
    def of(cls, stated: str | float) -> "Direction":
        """As a spec or a store states it. A float is taken at its decimal value: 0.7 means 7/10."""
        text = str(stated)
        if text.endswith("_is_better"):
            return cls(lower=text == "lower_is_better")
        return cls(target=Fraction(text))

    @property
    def sign(self) -> int:
        """1 where the higher of any two scores is the better one, -1 where the lower is, 0 under a target,
        where that depends on the scores."""
        return 0 if self.target is not None else -1 if self.lower else 1

    def good(self, score: Fraction) -> Fraction:
        """How good a score is: higher is better. Under a target the distance from it, less than 0."""
        if self.target is not None:
            return -abs(score - self.target)
        return -score if self.lower else score
