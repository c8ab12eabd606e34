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
    """The rate of the declared family; without one, of the hypothesis alone, and of a ranking Holm over two
    p-values for each ranking without a family."""
    for family in spec.family:
        if family.id == hypothesis.family:
            members = sum(each.family == family.id for each in spec.hypothesis)
            return Rate(family.id, family.correction, family.alpha, members)
    alpha = spec.analysis.alpha or ALPHA
    if without_family(hypothesis):
        return Rate(None, "holm", alpha, 2 * sum(map(without_family, spec.hypothesis)))
    return Rate(None, "none", alpha, 1)


def without_family(hypothesis: AnyHypothesis) -> bool:
    """Whether it is a ranking that declares no family: those share one."""
    return hypothesis.kind == "ranking" and hypothesis.family is None


def corrected(spec: Spec, p: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The p-values of support and of refutation of each hypothesis, by id, each corrected over all members of
    its family. A member that has none counts with p = 1. Of rankings without a family both are corrected
    together."""
    found = dict(p)
    for family in spec.family:
        members = [each.id for each in spec.hypothesis if each.family == family.id]
        correct = CORRECTIONS[family.correction]
        support, refute = (correct([p.get(name, (1.0, 1.0))[side] for name in members]) for side in (0, 1))
        both = zip(members, support, refute, strict=True)
        found |= {name: (yes, no) for name, yes, no in both if name in p}
    alone = [each.id for each in spec.hypothesis if without_family(each) and each.id in p]
    values = iter(holm([value for name in alone for value in p[name]]))
    return found | {name: (next(values), next(values)) for name in alone}


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
