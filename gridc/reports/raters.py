"""People's labels, and judges' guesses of the configuration -> sentences and estimates."""

from collections.abc import Iterator, Sequence
from typing import Any

from gridc.reports.findings.audit import ALL, AUDITS, AuditFinding
from gridc.reports.findings.blinding import GUESSES, GuessFinding
from gridc.reports.findings.findings import Findings
from gridc.reports.templates import number, percent
from gridc.reports.words import KAPPA_INTERVAL, told_p, with_sign
from gridc.schema.estimates import EstimateRow, estimate_row
from gridc.schema.spec import Spec

EXACT = "exact interval (Clopper-Pearson)"
BOTH = "exact limits of the shares right and wrong, each at half of the error"


def audit_sentences(found: Sequence[AuditFinding]) -> Iterator[str]:
    """What people say of the labels that count: how far they agree, and who gives more."""
    for each in found:
        where = "" if each.benchmark == ALL else f" on {each.benchmark}"
        agreement, lenient = each.agreement, each.leniency
        kappa = kappa_words(agreement.kappa, agreement.low, agreement.high)
        same = f"give {agreement.n} responses the same label in {percent(agreement.agreement)} of cases"
        yield f"{each.sheet}{where}: people and the study {same}; {kappa}."
        if lenient is None:
            yield (
                f"{each.sheet}{where}: who is more lenient is not said, because a benchmark's best score "
                "there is a target."
            )
            continue
        more = "more" if lenient.mean > 0 else "less"
        apart = f"{100 * abs(lenient.mean):.1f} pp {more} lenient than people"
        apart = apart if lenient.mean else "as lenient as people on average"
        limits = f"95 % interval {signed(lenient.low)} to {signed(lenient.high)} pp"
        yield (
            f"{each.sheet}{where}: the study is {apart} ({limits}), "
            f"kinder to {lenient.higher} responses and harsher to {lenient.lower}; the interval "
            "takes responses as drawn independently."
        )


def guess_sentences(found: Sequence[GuessFinding]) -> Iterator[str]:
    """Whether the judge could tell the configuration from what it was shown."""
    for each in found:
        limits = f"95 % interval {percent(each.low)} to {percent(each.high)}"
        told = (
            f"On {each.benchmark} the judge was asked which of {len(each.arms)} configurations made each of "
            f"{each.n} responses, and named the right one in {percent(each.right / each.n)} of cases "
            f"({limits}; chance {percent(each.chance)})"
        )
        test = each.test
        if test.chi2 is None:
            yield f"{told}; all guesses or all responses are of one configuration, so nothing can be tested."
            continue
        rough = ", roughly, because expected counts are below 5" if (test.least or 0) < 5 else ""
        shown = f"chi-squared {test.chi2:.1f} with {test.df} df, {told_p(test.p)}{rough}"
        if each.found:
            depend = "at the 5 % level its guesses depend on the configuration"
            yield f"{told}: {depend} ({shown}), so it was not blind."
        else:
            shows = "its guesses show no dependence on the configuration"
            yield f"{told}: {shows} ({shown}), which does not prove that it was blind."


def index_asked(spec: Spec) -> bool:
    """Whether the spec asks for a blinding index."""
    judge = spec.judge
    return judge is not None and judge.blinding is not None and judge.blinding.index is not None


def guess_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Bang's index of every configuration where the spec asks for it, and the test of the guesses."""
    indexed = index_asked(findings.plan.study.spec)
    for found in findings[GUESSES]:
        for arm in found.arms if indexed else ():
            exact = arm.right + arm.wrong == arm.n
            yield estimate_row(
                id=f"blinding/{found.benchmark}/{arm.arm}/bang",
                kind="bang_index",
                about=f"right less wrong guesses of {arm.arm} on {found.benchmark}; chance {arm.chance:.4g}",
                estimate=arm.index,
                interval=(arm.low, arm.high),
                level=0.95,
                method=f"Bang's blinding index; {EXACT if exact else BOTH}",
                assumption="guesses are independent of each other",
                rows=found.rows,
                n=arm.n,
            )
        yield estimate_row(
            id=f"blinding/{found.benchmark}/dependence",
            kind="chi_squared",
            about=f"dependence of guesses on the configuration on {found.benchmark}",
            estimate=found.test.chi2,
            p=None if found.test.chi2 is None else found.test.p,
            method=f"Pearson's chi-squared test of independence, {found.test.df} df",
            assumption="guesses are independent of each other; expected counts are 5 or more",
            rows=found.rows,
            n=found.n,
            error=None if found.test.chi2 is not None else "undefined: one configuration, or one guess",
        )


def signed(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return with_sign(100 * value)


def kappa_words(kappa: float | None, low: float | None, high: float | None) -> str:
    """Cohen's kappa with its interval, or why there is none."""
    if kappa is None:
        return "both give every response one label, so kappa is not defined"
    if low is None or high is None:
        return f"kappa is {number(kappa, 2)}, without an interval, because one of them gives one label only"
    return f"kappa is {number(kappa, 2)} (95 % interval {number(low, 2)} to {number(high, 2)})"


def audit_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """What people's labels say of those that count: agreement and leniency, by sheet and benchmark."""
    for audit in findings[AUDITS]:
        found, lenient = audit.agreement, audit.leniency
        about: dict[str, Any] = {"rows": audit.rows, "n": found.n, "level": 0.95}
        about["assumption"] = "responses are drawn and labelled independently"
        stated = found.low is not None and found.high is not None
        yield estimate_row(
            id=f"audit/{audit.sheet}/{audit.benchmark}/kappa",
            kind="cohen_kappa",
            about=f"agreement of people and study on {audit.sheet}, {audit.benchmark}",
            estimate=found.kappa,
            interval=(found.low, found.high) if stated else None,
            method=f"Cohen's kappa, unreadable being a label; {KAPPA_INTERVAL}",
            error=None if found.kappa is not None else "undefined: both give one label throughout",
            **about | ({} if stated else {"level": None}),
        )
        yield estimate_row(
            id=f"audit/{audit.sheet}/{audit.benchmark}/leniency",
            kind="leniency",
            about=f"score of the study less that of people on {audit.sheet}, {audit.benchmark}",
            estimate=None if lenient is None else lenient.mean,
            interval=None if lenient is None else (lenient.low, lenient.high),
            method="mean difference; Clopper-Pearson limits of both shares at half the error",
            error="undefined: a benchmark's best score is a target" if lenient is None else None,
            **about | ({"level": None} if lenient is None else {}),
        )
