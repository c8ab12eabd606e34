"""What is said of an effect: the verdict, the effect with its interval, the test and what it assumes."""

from collections.abc import Iterator, Sequence
from math import isinf

from gridc.reports.findings.hypotheses.effects import (
    Change,
    Contrast,
    Effect,
    Failure,
    Needed,
    Recovery,
    Spread,
)
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.reports.findings.intervals import Ends
from gridc.reports.words import KINDS, counted, p_value, told_p, with_sign
from gridc.schema.hypotheses import NumberNeededRow, RateChangeRow
from gridc.schema.inference import ContrastHypothesis

ASSUMES = {
    "cluster_logit": f"a logit with errors by leaving out units, which assumes independent units, {KINDS}",
    "glmm": "a logit with a normal random intercept by unit, which assumes independent units and that model",
}
"""What the test of an estimator rests on."""
AT_MARGIN = "Gaffke's test on units, which assumes that they are independent"
"""What p-values at a margin rest on."""
PER_PROTOCOL = (
    "Per protocol compares the items that are readable under every level compared: no causal effect of the "
    "level where being readable depends on it."
)
CORRECTED = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "uncorrected"}


def effect_sentence(finding: HypothesisFinding, complete: bool) -> str:
    """The verdict on an effect, of a complete run or an unfinished one; then every level against the
    reference."""
    effect = finding.effect
    if effect is None:
        raise ValueError(f"{finding.id} is not about an effect")
    name = f"{finding.id} ({finding.kind} of {effect.outcome}{_claimed(finding)})"
    shown = [_change_words(each, effect, complete) for each in effect.contrasts[:3]]
    if len(effect.contrasts) > 3:
        shown.append(f"{len(effect.contrasts) - 3} further levels stand in the table")
    told = [_verdict_words(name, finding, effect, complete)]
    if shown:
        told.append(f"{'; '.join(shown)}.")
    told += _readable_words(effect)
    told += _both_words(finding, effect)
    if finding.depends:
        told.append(
            f"Whether unreadable answers count or are left out decides this verdict: {_readings(finding)}."
        )
    return " ".join(told)


def _readings(finding: HypothesisFinding) -> str:
    """`supported where they count, open where they are left out`."""
    counted_so = finding.effect is not None and finding.effect.reading == "itt"
    verdicts = (finding.verdict, finding.otherwise) if counted_so else (finding.otherwise, finding.verdict)
    return f"{verdicts[0]} where they count, {verdicts[1]} where they are left out"


def _claimed(finding: HypothesisFinding) -> str:
    """The margin and the axis of a claim that means nothing without them; of non-inferiority its side,
    whichever score is the better one."""
    hypothesis = finding.hypothesis
    if not isinstance(hypothesis, ContrastHypothesis) or hypothesis.kind == "difference":
        return ""
    margin = "" if hypothesis.margin is None else f"{hypothesis.margin.pp:g} pp"
    between = f" between levels of {hypothesis.axis}"
    if hypothesis.kind == "noninferiority":
        by = f" by {margin}" if margin else ""
        return f", that it does not {'fall' if hypothesis.side == 'greater' else 'rise'}{by}{between}"
    return f" within {margin}{between}" if margin else between


def verdict_lines(hypotheses: Sequence[HypothesisFinding], complete: bool) -> Iterator[str]:
    """How many hypotheses met which end, and each effect in one line."""
    ends = {
        verdict: [each.id for each in hypotheses if each.verdict == verdict]
        for verdict in ("supported", "refuted", "open")
    }
    told = [f"{len(names)} {verdict} ({', '.join(names)})" for verdict, names in ends.items() if names]
    if told:
        so_far = (
            "" if complete else " so far, and beyond these items none is decided before the run is complete"
        )
        yield f"Of {counted(len(hypotheses), 'hypothesis', 'hypotheses')}, {', '.join(told)}{so_far}."
    parted = [f"{each.id}: {_readings(each)}" for each in hypotheses if each.depends]
    if parted:
        about = "; ".join(parted)
        yield f"Whether unreadable answers count or are left out decides a verdict ({about})."
    lines = [_line(each, each.effect, complete) for each in hypotheses if each.effect is not None]
    if lines:
        assumed = f"intervals and p-values assume independent units, {KINDS}"
        yield f"Effects ({assumed}): {'; '.join(lines)}."
    untested: dict[Failure, list[str]] = {}
    for each in hypotheses:
        if complete and each.effect is not None and each.effect.failure is not None:
            untested.setdefault(each.effect.failure, []).append(each.id)
    if untested:
        why = (f"{', '.join(names)} ({each.code}: {each.words})" for each, names in untested.items())
        yield f"Without the estimator's test: {'; '.join(why)}."


def _line(finding: HypothesisFinding, effect: Effect, complete: bool) -> str:
    shown = [
        f"{each.change.level} against {each.change.reference} {_points(each.change)}"
        for each in effect.contrasts[:1]
        if each.change.difference is not None
    ]
    more = len(effect.contrasts) - 1
    claimed = _claimed(finding)
    name = f"{finding.id} ({finding.kind}{claimed})" if claimed else finding.id
    told = ", ".join(
        [f"{name} {finding.verdict}", *shown, *([counted(more, "more level")] if more > 0 else [])]
    )
    if not complete or finding.support is None or finding.refute is None:
        return told
    if effect.failure is not None and not effect.tested:
        return f"{told}, not tested"
    side, p = ("refutation ", finding.refute) if finding.verdict == "refuted" else ("", finding.support)
    return f"{told}, {side}{told_p(p)} ({correction_words(finding)})"


def _verdict_words(name: str, finding: HypothesisFinding, effect: Effect, complete: bool) -> str:
    if not complete or finding.support is None or finding.refute is None:
        return f"{name} is open while the run is incomplete."
    failure = effect.failure
    if failure is not None and not effect.tested:
        return f"{name} is open, because nothing is tested ({failure.code}: {failure.words})."
    return (
        f"{name} is {finding.verdict} (p of support {p_value(finding.support)}, p of refutation "
        f"{p_value(finding.refute)}, {correction_words(finding)} at level {finding.alpha:g}; "
        f"{_basis(finding, effect)})."
    )


def correction_words(finding: HypothesisFinding) -> str:
    """How its p-values are corrected: `Holm over the 5 claims of family main`."""
    if finding.correction == "none":
        return CORRECTED["none"]
    own = "" if finding.family is None else f" of family {finding.family}"
    claims = counted(finding.members, "claim")
    return f"{CORRECTED[finding.correction]} over {'the ' if own else ''}{claims}{own}"


def _basis(finding: HypothesisFinding, effect: Effect) -> str:
    """What the p-values rest on."""
    if finding.kind in ("equivalence", "noninferiority"):
        return AT_MARGIN
    test = ASSUMES.get(effect.estimator, AT_MARGIN)
    if effect.failure is not None:
        test = f"the estimator has no test here, {effect.failure.code}: {effect.failure.words}"
    margins = any(each.change.margins for each in effect.contrasts)
    return f"{test}; at the margin {AT_MARGIN}" if margins else test


def _change_words(contrast: Contrast, effect: Effect, complete: bool) -> str:
    change = contrast.change
    here = "" if complete else "so far "
    if change.difference is None or change.rate is None or change.reference_rate is None:
        return f"{change.level} against {change.reference}: no answer counts under one of them"
    moved = f"{here}{change.level} against {change.reference}: {_points(change)}"
    rates = f"{100 * change.reference_rate:.1f} % to {100 * change.rate:.1f} %"
    more = [rates, "intention to treat" if change.pairs is None else f"per protocol, {pairs_words(change)}"]
    if contrast.other is None:
        more.append("per protocol not defined, as nothing is readable under one of them")
    elif contrast.divergence is not None and abs(contrast.divergence) >= 0.0005:
        other = contrast.other
        told = f"per protocol, {pairs_words(other)}," if other.pairs else "by intention to treat"
        more.append(f"{told} {_points(other)}")
    if contrast.flips is not None and min(contrast.flips.gained, contrast.flips.lost) > 0:
        flips = contrast.flips
        total = flips.gained + flips.lost + flips.same
        more.append(f"{flips.gained:,} of {counted(total, 'answer')} gained and {flips.lost:,} lost")
    if change.limits is not None and change.interval is not None:
        more.append(f"at the margin's level {_ends(change.limits)}")
    if contrast.odds is not None:
        low, high = contrast.odds.interval
        more.append(f"adjusted odds ratio {contrast.odds.ratio:.3g} [{low:.3g}, {high:.3g}]")
        if contrast.odds.spread is not None:
            more.append(spread_words(contrast.odds.spread, change.units))
    if contrast.number_needed is not None:
        more.append(needed_words(contrast.number_needed))
    if contrast.recovery is not None:
        more += _recovery_words(contrast.recovery, change.reference)
    return f"{moved} ({'; '.join(more)})"


def pairs_words(change: Change | RateChangeRow) -> str:
    """`of 412 of 450 pairs (readable: 91.2 % under cot, 99.0 % under direct)`."""
    pairs = change.pairs
    if pairs is None or pairs.compared == pairs.asked:
        return "every pair readable"
    own = f"{100 * pairs.readable:.1f} % under {change.level}"
    others = f"{100 * pairs.reference_readable:.1f} % under {change.reference}"
    return f"of {pairs.compared:,} of {counted(pairs.asked, 'pair')} (readable: {own}, {others})"


def _readable_words(effect: Effect) -> Iterator[str]:
    """What a per-protocol difference is of, wherever one is told and some pair is left out."""
    told = [change for each in effect.contrasts for change in (each.change, each.other) if change is not None]
    if any(each.pairs is not None and each.pairs.compared < each.pairs.asked for each in told):
        yield PER_PROTOCOL


def _recovery_words(found: Recovery, reference: str) -> Iterator[str]:
    """`recovery 58 % [40, 77] of what map_reduce loses against direct`, and what is left of the loss."""
    if found.share is None:
        yield f"recovery open, as {found.control} against {reference} may not differ: {_points(found.loss)}"
    else:
        ends = (
            "" if found.interval is None else " [{:.0f}, {:.0f}]".format(*(100 * e for e in found.interval))
        )
        yield (
            f"recovery {100 * found.share:.0f} %{ends} of the difference of {found.control} and {reference}, "
            f"{_points(found.loss)}"
        )
    if found.left.difference is None:
        return
    needed = "" if found.number_needed is None else f", {needed_words(found.number_needed)}"
    yield f"left against {found.control} {_points(found.left)}{needed}"


def _points(change: Change) -> str:
    """`-7.3 pp [-8.6, -6.0]`."""
    difference = f"{with_sign(100 * (change.difference or 0))} pp"
    if change.interval is not None:
        return f"{difference} {_ends(change.interval)}"
    if change.limits is not None:
        return (
            f"{difference} {_ends(change.limits)} (at the margin's level, as there is {change.no_interval})"
        )
    return f"{difference} ({change.no_interval}, so no interval)"


def _ends(interval: Ends) -> str:
    low, high = (with_sign(100 * end) for end in interval)
    return f"[{low}, {high}]"


def spread_words(spread: Spread, units: int) -> str:
    """`23 units worth 11.4 equal ones, the largest with 30 %`, where they are not as good as equal."""
    return (
        f"{counted(units, 'unit')} worth {spread.effective:.1f} equal ones, the largest with "
        f"{100 * spread.largest:.0f} %"
    )


def needed_words(needed: Needed | NumberNeededRow) -> str:
    """`number needed to harm 14 [11, 17]`; in Altman's form where the difference may be 0."""
    if needed.kind == "none":
        told = "no number needed to harm or benefit, as there is no difference"
    else:
        told = f"number needed to {needed.kind} {needed.displayed:,}"
    if needed.low is not None:
        return f"{told} [{needed.low:.1f}, {_end(needed.high)}]"
    if needed.harm is not None or needed.benefit is not None:
        ends = f"{_end(needed.harm)} to harm through infinity to {_end(needed.benefit)} to benefit"
        return f"{told}, 95 % from {ends}"
    return told


def _end(value: float | None) -> str:
    return "infinity" if value is None or isinf(value) else f"{value:.1f}"


def _both_words(finding: HypothesisFinding, effect: Effect) -> Iterator[str]:
    """A difference that is found and lies within the margin is said to be both."""
    if finding.verdict != "supported" or finding.kind != "difference":
        return
    inside: Sequence[Contrast] = [
        each for each in effect.contrasts if each.change.margins and each.change.margins[0].holds
    ]
    if inside:
        names, first = ", ".join(each.change.level for each in inside), inside[0].change
        told = told_p(max(each.change.margins[0].p for each in inside))
        yield (
            f"It is found and smaller than the margin: {names} and {first.reference} are equivalent within "
            f"{first.margins[0].pp:g} pp ({told}, uncorrected)."
        )
