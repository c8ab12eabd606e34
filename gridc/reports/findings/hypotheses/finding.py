"""What decides a hypothesis: what is read from a study, what is found, and how an effect is described.

Hypotheses of a family share one error rate. A verdict claims something either way, and one level covers the
claims of both directions: the chance that *some* decided verdict of a family is false is at most alpha
(Holm), or of a hypothesis by itself. What is claimed when a hypothesis is refuted is what refutes it
(`statistics.verdicts.Rule`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gridc.compiler.hypotheses import claims_in, kind_of, sharing_level
from gridc.numbers import bracketed, counted, figures, hundredths, in_points, number, p_value, percent
from gridc.reports import quantities
from gridc.reports.findings.certification import ClaimEvidence
from gridc.reports.findings.noise import Floors, all_must_hold, one_must_hold
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.scores import CellScore, Outcomes
from gridc.runtime.store.store import Store
from gridc.schema.base import ALPHA
from gridc.schema.hypotheses import (
    ContrastRow,
    EffectRow,
    RankingRow,
    RateChangeRow,
    RecoveryRow,
    SpreadRow,
    Standing,
    StatisticContrastRow,
)
from gridc.schema.inference import AnyHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.reproducibility import Verdict

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
    count = claims_in(sharing_level(spec, hypothesis))
    level = alpha if alpha is not None else spec.analysis.alpha or ALPHA
    return Rate(hypothesis.family, "holm" if count > 1 else "none", level, count)


def corrected_p_values(spec: Spec, p: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The p-values of support and of refutation of each hypothesis, by id, corrected together over all claims
    of its family; of a hypothesis without one over its own. A member that has none counts with p = 1."""
    groups: list[tuple[Correction, list[AnyHypothesis]]] = [
        (family.correction, [declared for declared in spec.hypothesis if declared.family == family.id])
        for family in spec.family
        if family.correction != "none"
    ]
    of_families = {member.id for _, members in groups for member in members}
    without = [
        sharing_level(spec, declared) for declared in spec.hypothesis if declared.id not in of_families
    ]
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
class MeasuredStudy:
    """A study as far as it is measured: scores by cell, samples, `outcomes` by benchmark, and what the items
    say of other items. `inside` are the cells that may be read, by key; None: all. `final` says whether the
    run is complete; `store` holds single answers, None where there are none to read."""

    spec: Spec
    samples: Samples
    scores: Sequence[CellScore]
    floors: Floors
    weighed: ClaimEvidence
    final: bool
    inside: Collection[str] | None = None
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    store: Store | None = None


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
    statistic: StatisticContrastRow | None = None
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


INDEPENDENT = "which assumes that units are independent"
PER_PROTOCOL = (
    "Per protocol compares the items that are readable under every level compared: no causal effect of the "
    "level where being readable depends on it."
)
CORRECTED = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "uncorrected"}


def at_margin(effect: EffectRow) -> str:
    """What decides at a margin; of several levels the same but where they lack answers of their own."""
    return " and ".join(dict.fromkeys(contrast.change.method for contrast in effect.contrasts))


def readings_words(finding: HypothesisFinding) -> str:
    """`supported where they count, open where they are left out`."""
    counted_so = finding.effect is not None and finding.effect.reading == "itt"
    verdicts = (finding.verdict, finding.otherwise) if counted_so else (finding.otherwise, finding.verdict)
    return f"{verdicts[0]} where they count, {verdicts[1]} where they are left out"


def correction_words(finding: HypothesisFinding) -> str:
    """How its p-values are corrected: `Holm over the 5 claims of family main`."""
    if finding.correction == "none":
        return CORRECTED["none"]
    own = "" if finding.family is None else f" of family {finding.family}"
    claims = counted(finding.members, "claim")
    return f"{CORRECTED[finding.correction]} over {'the ' if own else ''}{claims}{own}"


def contrast_words(contrast: ContrastRow, effect: EffectRow, complete: bool) -> str:
    change = contrast.change
    here = "" if complete else "so far "
    if change.difference is None or change.rate is None or change.reference_rate is None:
        return f"{change.level} against {change.reference}: no answer counts under one of them"
    moved = f"{here}{change.level} against {change.reference}: {points_words(change)}"
    rates = f"{percent(change.reference_rate)} to {percent(change.rate)}"
    more = [rates, "intention to treat" if change.pairs is None else f"per protocol, {pairs_words(change)}"]
    if contrast.other is None:
        more.append("per protocol not defined, as nothing is readable under one of them")
    elif contrast.divergence is not None and abs(contrast.divergence) >= 0.0005:
        other = contrast.other
        text = f"per protocol, {pairs_words(other)}," if other.pairs else "by intention to treat"
        more.append(f"{text} {points_words(other)}")
    if contrast.flips is not None and min(contrast.flips.gained, contrast.flips.lost) > 0:
        flips = contrast.flips
        total = flips.gained + flips.lost + flips.same
        more.append(f"{flips.gained:,} of {counted(total, 'answer')} gained and {flips.lost:,} lost")
    if change.limits is not None and change.interval is not None:
        more.append(f"at the margin's level {bracketed(change.limits, in_points)}")
    if change.untested:
        more.append(f"not tested at the margin: {change.untested}")
    if contrast.odds is not None:
        odds = f"{figures(contrast.odds.ratio)} {bracketed(contrast.odds.interval, figures)}"
        more.append(f"adjusted odds ratio {odds}")
        if contrast.odds.spread is not None:
            more.append(spread_words(contrast.odds.spread, change.units))
        if contrast.odds.agrees is not None:
            more.append(
                f"no unit goes against it, so Gaffke's test, which needs to see none, has to "
                f"agree: p {p_value(min(1.0, 2 * contrast.odds.agrees))}"
            )
    if contrast.number_needed is not None:
        more.append(quantities.needed_words(contrast.number_needed))
    if contrast.recovery is not None:
        more += _recovery_words(contrast.recovery, change.reference)
    return f"{moved} ({'; '.join(more)})"


def pairs_words(change: RateChangeRow) -> str:
    """`of 412 of 450 pairs (readable: 91.2 % under cot, 99.0 % under direct)`."""
    pairs = change.pairs
    if pairs is None or pairs.compared == pairs.asked:
        return "every pair readable"
    own = f"{percent(pairs.readable)} under {change.level}"
    others = f"{percent(pairs.reference_readable)} under {change.reference}"
    return f"of {pairs.compared:,} of {counted(pairs.asked, 'pair')} (readable: {own}, {others})"


def readable_words(effect: EffectRow) -> Iterator[str]:
    """What a per-protocol difference is of, wherever one is told and some pair is left out."""
    changes = [
        change
        for contrast in effect.contrasts
        for change in (contrast.change, contrast.other)
        if change is not None
    ]
    if any(change.pairs is not None and change.pairs.compared < change.pairs.asked for change in changes):
        yield PER_PROTOCOL


def _recovery_words(recovery: RecoveryRow, reference: str) -> Iterator[str]:
    """`recovery 58 % [40, 77] of what map_reduce loses against direct`, and what is left of the loss."""
    if recovery.share is None:
        loss = points_words(recovery.loss)
        yield f"recovery open, as {recovery.control} against {reference} may not differ: {loss}"
    else:
        ends = f" (no interval: {recovery.no_interval})"
        if recovery.interval is not None:
            ends = f" {bracketed(recovery.interval, hundredths, 0)}"
        yield (
            f"recovery {percent(recovery.share, 0)}{ends} of the difference of {recovery.control} and "
            f"{reference}, {points_words(recovery.loss)}"
        )
    if recovery.left.difference is None:
        return
    needed = "" if recovery.number_needed is None else f", {quantities.needed_words(recovery.number_needed)}"
    yield f"left against {recovery.control} {points_words(recovery.left)}{needed}"


def points_words(change: RateChangeRow) -> str:
    """`-7.3 pp [-8.6, -6.0]`."""
    difference = f"{in_points(change.difference or 0)} pp"
    if change.interval is not None:
        return f"{difference} {bracketed(change.interval, in_points)}"
    return f"{difference} ({change.no_interval}, so no interval)"


def spread_words(spread: SpreadRow, units: int) -> str:
    """`23 units worth 11.4 equal ones, the largest with 30 %`, where they are not as good as equal."""
    return (
        f"{counted(units, 'unit')} worth {number(spread.effective, 1)} equal ones, the largest with "
        f"{percent(spread.largest, 0)}"
    )
