"""Hypotheses that share one error rate: their p-values, corrected as the spec declares."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gridc.schema.base import ALPHA
from gridc.schema.inference import AnyHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.exact_tests import holm

Correction = Literal["holm", "bh", "none"]


@dataclass(frozen=True, slots=True)
class Rate:
    """The error rate that a hypothesis is held to: its level, how p-values are corrected for it, and over how
    many members of its family."""

    family: str | None
    correction: Correction
    alpha: float
    members: int


def rate_of(spec: Spec, hypothesis: AnyHypothesis) -> Rate:
    """The rate of the declared family; without one, of the hypothesis alone."""
    for family in spec.family:
        if family.id == hypothesis.family:
            members = sum(each.family == family.id for each in spec.hypothesis)
            return Rate(family.id, family.correction, family.alpha, members)
    return Rate(None, "none", spec.analysis.alpha or ALPHA, 1)


def corrected(spec: Spec, p: Mapping[str, float]) -> dict[str, float]:
    """The p-value of each hypothesis, by id, corrected over all members of its family. A member that has none
    counts with p = 1."""
    found = dict(p)
    for family in spec.family:
        members = [each.id for each in spec.hypothesis if each.family == family.id]
        values = CORRECTIONS[family.correction]([p.get(name, 1.0) for name in members])
        found |= {name: value for name, value in zip(members, values, strict=True) if name in p}
    return found


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg (1995): adjusted p-values that hold the false discovery rate."""
    from scipy.stats import false_discovery_control

    return [float(value) for value in false_discovery_control(p)] if len(p) else []


CORRECTIONS: Mapping[Correction, Callable[[Sequence[float]], list[float]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": list,
}
"""By the `correction` of the language."""
