"""What is said of an effect: the verdict, the effect with its interval, the test and what it assumes."""

from collections.abc import Iterator

from gridc.numbers import bracketed, counted, figures, hundredths, number, p_value, percent, points
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.reports.quantities import number_needed
from gridc.schema.hypotheses import ContrastRow, EffectRow, RateChangeRow, RecoveryRow, SpreadRow

INDEPENDENT = "which assumes that units are independent"
PER_PROTOCOL = (
    "Per protocol compares the items that are readable under every level compared: no causal effect of the "
    "level where being readable depends on it."
)
CORRECTED = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "uncorrected"}


def at_margin(effect: EffectRow) -> str:
    """What decides at a margin; of several levels the same but where they lack answers of their own."""
    return " and ".join(dict.fromkeys(contrast.change.method for contrast in effect.contrasts))


def readings(finding: HypothesisFinding) -> str:
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


def change_words(contrast: ContrastRow, effect: EffectRow, complete: bool) -> str:
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
        more.append(f"at the margin's level {bracketed(change.limits, points)}")
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
        more.append(number_needed.in_words(contrast.number_needed))
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
    needed = "" if recovery.number_needed is None else f", {number_needed.in_words(recovery.number_needed)}"
    yield f"left against {recovery.control} {points_words(recovery.left)}{needed}"


def points_words(change: RateChangeRow) -> str:
    """`-7.3 pp [-8.6, -6.0]`."""
    difference = f"{points(change.difference or 0)} pp"
    if change.interval is not None:
        return f"{difference} {bracketed(change.interval, points)}"
    return f"{difference} ({change.no_interval}, so no interval)"


def spread_words(spread: SpreadRow, units: int) -> str:
    """`23 units worth 11.4 equal ones, the largest with 30 %`, where they are not as good as equal."""
    return (
        f"{counted(units, 'unit')} worth {number(spread.effective, 1)} equal ones, the largest with "
        f"{percent(spread.largest, 0)}"
    )
