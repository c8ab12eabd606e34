"""Hypotheses that share one error rate: their p-values, corrected as the spec declares.

A verdict claims something either way. One level covers the claims of both directions: the chance that *some*
decided verdict of a family is false is at most alpha (Holm), or of a hypothesis by itself. What is claimed
when a hypothesis is refuted is what refutes it (`statistics.verdicts.Rule`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gridc.compiler.hypotheses import claims_in, kind_of, sharing
from gridc.schema.base import ALPHA
from gridc.schema.inference import AnyHypothesis
from gridc.schema.spec import Spec

Correction = Literal["holm", "bh", "none"]
Side = Literal["support", "refute"]
Claim = tuple[str, Side]
"""A hypothesis, by id, and which way."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The error rate that a hypothesis is held to: its level, how p-values are corrected for it, and over how
    many claims (`claims_in`)."""

    family: str | None
    correction: Correction
    alpha: float
    members: int


def rate_of(spec: Spec, hypothesis: AnyHypothesis) -> Rate:
    """The rate of the declared family; without one, of the hypothesis alone, and of a ranking of all rankings
    without a family."""
    for family in spec.family:
        if family.id == hypothesis.family and family.correction != "none":
            members = [member for member in spec.hypothesis if member.family == family.id]
            return Rate(family.id, family.correction, family.alpha, claims_in(members, family.correction))
    alpha = next((declared.alpha for declared in spec.family if declared.id == hypothesis.family), None)
    count = claims_in(sharing(spec, hypothesis))
    level = alpha if alpha is not None else spec.analysis.alpha or ALPHA
    return Rate(hypothesis.family, "holm" if count > 1 else "none", level, count)


def corrected(spec: Spec, p: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The p-values of support and of refutation of each hypothesis, by id, corrected together over all claims
    of its family; of a hypothesis without one over its own. A member that has none counts with p = 1."""
    groups: list[tuple[Correction, list[AnyHypothesis]]] = [
        (family.correction, [declared for declared in spec.hypothesis if declared.family == family.id])
        for family in spec.family
        if family.correction != "none"
    ]
    of_families = {member.id for _, members in groups for member in members}
    without = [sharing(spec, declared) for declared in spec.hypothesis if declared.id not in of_families]
    groups += [("holm", members) for members in {members[0].id: members for members in without}.values()]
    by_hypothesis: dict[str, tuple[float, float]] = {}
    for correction, members in groups:
        claims: dict[Claim, float] = {
            (member.id, side): p.get(member.id, (1.0, 1.0))[side == "refute"]
            for member in members
            for side in kind_of(member).claims(member).sides
        }
        at_once = {member.id: kind_of(member).claims(member).at_once for member in members}
        adjusted = CORRECTIONS[correction](claims, at_once)
        for hypothesis in members:
            if hypothesis.id in p:
                support, refute = (adjusted.get((hypothesis.id, side), 1.0) for side in ("support", "refute"))
                by_hypothesis[hypothesis.id] = support, refute
    return by_hypothesis


def step_down(p: Mapping[Claim, float], at_once: Mapping[str, int]) -> dict[Claim, float]:
    """Holm's step-down method with Shaffer's first bound (1986): at each step the p-value is multiplied by
    how many of the claims that are left can be false at once, `at_once` of each hypothesis at most."""
    left: dict[str, int] = {}
    for name, _ in p:
        left[name] = left.get(name, 0) + 1
    adjusted: dict[Claim, float] = {}
    running = 0.0
    for claim in sorted(p, key=lambda member: p[member]):
        count = sum(min(at_once[name], claims) for name, claims in left.items())
        running = max(running, min(1.0, count * p[claim]))
        adjusted[claim] = running
        left[claim[0]] -= 1
    return {claim: adjusted[claim] for claim in p}


def benjamini_hochberg(p: Mapping[Claim, float], at_once: Mapping[str, int]) -> dict[Claim, float]:
    """Benjamini and Hochberg (1995) over all claims: adjusted p-values that hold the false discovery rate."""
    from scipy.stats import false_discovery_control

    if not p:
        return {}
    return dict(zip(p, false_discovery_control(list(p.values())).tolist(), strict=True))


Corrected = Callable[[Mapping[Claim, float], Mapping[str, int]], dict[Claim, float]]
CORRECTIONS: Mapping[Correction, Corrected] = {"holm": step_down, "bh": benjamini_hochberg}
"""By the `correction` of the language; of `none` each hypothesis is a family of its own."""
