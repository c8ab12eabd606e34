"""People's labels, and judges' guesses of the configuration -> sentences and estimates."""

from collections.abc import Iterator, Sequence
from typing import Any

from gridc.reports.findings.audit import ALL, AuditFinding
from gridc.reports.findings.findings import Findings
from gridc.reports.templates import number, percent
from gridc.schema.estimates import EstimateRow, estimate_row


def audit_sentences(found: Sequence[AuditFinding]) -> Iterator[str]:
    """What people say of the labels that count: how far they agree, and who gives more."""
    for each in found:
        where = "" if each.benchmark == ALL else f" on {each.benchmark}"
        agreement, lenient = each.agreement, each.leniency
        kappa = kappa_words(agreement.kappa, agreement.low, agreement.high)
        same = f"give {agreement.n} responses the same label in {percent(agreement.agreement)} of cases"
        yield f"{each.sheet}{where}: people and the study {same}; {kappa}."
        more = "more" if lenient.mean >= 0 else "less"
        limits = f"95 % interval {signed(lenient.low)} to {signed(lenient.high)} pp"
        yield (
            f"{each.sheet}{where}: the study is {100 * abs(lenient.mean):.1f} pp {more} lenient than people "
            f"({limits}), kinder to {lenient.higher} responses and harsher to {lenient.lower}; the interval "
            "takes responses as drawn independently."
        )


def signed(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * value:+.1f}"


def kappa_words(kappa: float | None, low: float | None, high: float | None) -> str:
    """Cohen's kappa with its interval, or why there is none."""
    if kappa is None:
        return "both give every response one label, so kappa is not defined"
    if low is None or high is None:
        return f"kappa is {number(kappa, 2)}, without an interval, because one of them gives one label only"
    return f"kappa is {number(kappa, 2)} (95 % interval {number(low, 2)} to {number(high, 2)})"


def audit_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """What people's labels say of those that count: agreement and leniency, by sheet and benchmark."""
    for audit in findings.audits:
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
            method="Cohen's kappa, unreadable being a label; large-sample interval (Fleiss, Cohen, Everitt)",
            error=None if found.kappa is not None else "undefined: both give one label throughout",
            **about | ({} if stated else {"level": None}),
        )
        yield estimate_row(
            id=f"audit/{audit.sheet}/{audit.benchmark}/leniency",
            kind="leniency",
            about=f"score of the study less that of people on {audit.sheet}, {audit.benchmark}",
            estimate=lenient.mean,
            interval=(lenient.low, lenient.high),
            method="mean difference; Clopper-Pearson limits of both shares at half the error",
            **about,
        )
