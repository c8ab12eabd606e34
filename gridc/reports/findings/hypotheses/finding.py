"""What is read of a study to decide a hypothesis, and what is found.

Hypotheses of a family share one error rate. A verdict claims something either way, and one level covers the
claims of both directions: the chance that *some* decided verdict of a family is false is at most alpha
(Holm), or of a hypothesis by itself. What is claimed when a hypothesis is refuted is what refutes it
(`statistics.verdicts.Rule`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gridc.compiler.hypotheses import claims_in, kind_of, sharing
from gridc.reports.findings.certification import Weighed
from gridc.reports.findings.noise import Floors, all_must_hold, one_must_hold
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.scores import CellScore
from gridc.schema.base import ALPHA
from gridc.schema.hypotheses import EffectRow, RankingRow, Standing
from gridc.schema.inference import AnyHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.decision import Verdict

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


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A study as far as it is measured: scores by cell, samples, and what the items say of other items.
    `inside` are the cells that may be read, by key; None: all. `final` says whether the run is complete."""

    spec: Spec
    samples: Samples
    scores: Sequence[CellScore]
    floors: Floors
    weighed: Weighed
    final: bool
    inside: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class HypothesisFinding:
    """The verdict on a hypothesis: a ranking of models, or an effect.

    `support` is the p-value of what it predicts and `refute` that of what refutes it, corrected together, as
    `correction` says, over `members` and compared with `alpha`: the claims of its family that can be false at
    once (`families`), of all rankings without one, or its own. None while the run is incomplete, and where
    descriptive evidence is enough. `otherwise` is the verdict on an effect by the other reading of unreadable
    answers, of all its family; None where no answer of it is unreadable, nothing is decided, or some were
    asked for.
    """

    hypothesis: AnyHypothesis
    family: str | None
    correction: Correction
    alpha: float
    members: int
    support: float | None
    refute: float | None
    ranking: RankingRow | None = None
    effect: EffectRow | None = None
    otherwise: Verdict | None = None

    @property
    def depends(self) -> bool:
        """Whether the verdict depends on how unreadable answers are read."""
        return self.otherwise is not None and self.otherwise != self.verdict

    @property
    def id(self) -> str:
        return self.hypothesis.id

    @property
    def kind(self) -> str:
        return self.hypothesis.kind

    @property
    def claim(self) -> str | None:
        return self.hypothesis.claim

    @property
    def verdict(self) -> Verdict:
        """By the strength of evidence, or by its kind (`compiler.hypotheses`)."""
        if self.ranking is not None and self.ranking.strength == "descriptive":
            return self.ranking.observed
        if self.support is None or self.refute is None:
            return "open"
        return kind_of(self.hypothesis).verdict(self.support, self.refute, self.alpha)

    @property
    def noise(self) -> Standing | None:
        """Whether batch shape alone could undo the verdict on a ranking: support falls with any step, a
        refutation stands with one reversed step. None while open, and for an effect."""
        if self.ranking is None or self.verdict == "open":
            return None
        holds = all_must_hold if self.verdict == "supported" else one_must_hold
        return holds(self.ranking.standings)
