"""What labels estimate: the agreement of judges and of people, and what judges guessed."""

from collections.abc import Iterator
from typing import Any

from gridc.reports.estimates import ESTIMATES
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.judges import JUDGE_BIASES
from gridc.reports.findings.labels import AUDITS, GUESSES, JUDGING, PairsFinding
from gridc.reports.quantities import estimate_row, interval_assumption
from gridc.reports.statements.labels import INDEPENDENT
from gridc.schema.estimates import EstimateRow
from gridc.schema.spec import Spec

EXACT = "exact interval (Clopper-Pearson)"
BOTH = "exact limits of the shares right and wrong, each at half of the error"


def index_asked(spec: Spec) -> bool:
    """Whether the spec asks for a blinding index."""
    blindings = (judge.blinding for judge in spec.declared_judges)
    return any(blinding is not None and blinding.index is not None for blinding in blindings)


@ESTIMATES.add("guesses", 120)
def guess_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Bang's index of every configuration where the spec asks for it, and the test of the guesses."""
    indexed = index_asked(findings.plan.study.spec)
    for guess in findings[GUESSES]:
        for arm in guess.arms if indexed else ():
            exact = arm.right + arm.wrong == arm.n
            yield estimate_row(
                "bang_index",
                id=f"blinding/{guess.where}/{arm.arm}/bang",
                about=f"right less wrong guesses of {arm.arm} on {guess.benchmark}; chance {arm.chance:.4g}",
                estimate=arm.index,
                interval=(arm.low, arm.high),
                method=f"Bang's blinding index; {EXACT if exact else BOTH}",
                assumption="guesses are independent of each other",
                rows=guess.rows,
                n=arm.n,
            )
        yield estimate_row(
            "chi_squared",
            id=f"blinding/{guess.where}/dependence",
            about=f"dependence of guesses on the configuration on {guess.benchmark}",
            estimate=guess.test.chi2,
            p=None if guess.test.chi2 is None else guess.test.p,
            method=f"Pearson's chi-squared test of independence, {guess.test.df} df"
            + ("; p of exchanging the guesses of each item" if guess.test.by_item else ""),
            assumption="guesses are independent of each other; expected counts are 5 or more",
            rows=guess.rows,
            n=guess.n,
            error="undefined: one configuration, or one guess",
        )


@ESTIMATES.add("audits", 110)
def audit_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """How people's labels compare with those that count: agreement and leniency, by sheet and benchmark."""
    for audit in findings[AUDITS]:
        agreement, lenient = audit.agreement, audit.leniency
        shared: dict[str, Any] = {
            "rows": audit.rows,
            "n": agreement.n,
            "assumption": "responses are drawn and labelled independently",
        }
        yield estimate_row(
            "cohen_kappa",
            id=f"audit/{audit.sheet}/{audit.benchmark}/kappa",
            about=f"agreement of people and study on {audit.sheet}, {audit.benchmark}",
            estimate=agreement.kappa,
            interval=agreement.interval,
            method="Cohen's kappa, unreadable being a label",
            error="undefined: both give one label throughout",
            **shared,
        )
        yield estimate_row(
            "leniency",
            id=f"audit/{audit.sheet}/{audit.benchmark}/leniency",
            about=f"score of the study less that of people on {audit.sheet}, {audit.benchmark}",
            estimate=None if lenient is None else lenient.mean,
            interval=None if lenient is None else (lenient.low, lenient.high),
            method="mean difference",
            error="undefined: a benchmark's best score is a target",
            **shared,
        )


@ESTIMATES.add("corrected", 112)
def corrected_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Scores, rates and gaps as people's labels correct them, for new items."""
    for benchmark in findings.benchmarks:
        audit = benchmark.audit
        if audit is None:
            continue
        shared: dict[str, Any] = {
            "method": "post-stratified on what was read; exact limits of each stratum, combined (MOVER)",
            "assumption": f"{interval_assumption(benchmark.unit)}; people's labels are right",
            "rows": audit.rows,
        }
        for value in audit.values:
            yield estimate_row(
                "corrected_score",
                id=f"corrected/{benchmark.benchmark}/{value.model}/{value.configuration}/{value.what}",
                about=f"{value.what} of {value.model} on {benchmark.benchmark} under {value.configuration}, "
                "by people's labels",
                estimate=value.corrected.value,
                interval=value.corrected.new,
                n=value.labelled,
                **shared,
            )
        for gap in audit.gaps:
            yield estimate_row(
                "corrected_gap",
                id=f"corrected/{benchmark.benchmark}/{gap.a}/{gap.b}/{gap.configuration}/{gap.what}",
                about=f"{gap.what} of {gap.a} less {gap.b} on {benchmark.benchmark} under "
                f"{gap.configuration}, by people's labels",
                estimate=gap.corrected.value,
                interval=gap.corrected.new,
                p=min(1.0, 2 * min(gap.p_plus, gap.p_minus)),
                n=gap.labelled,
                **shared,
            )


@ESTIMATES.add("judging", 60)
def judging_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """The agreement of each pair of judges, and of the second judge with the labels that count."""
    agreements = (
        (*agreement, judging.rows) for judging in findings[JUDGING] for agreement in judging.agreements
    )
    for left, right, agreement, rows in agreements:
        yield estimate_row(
            "cohen_kappa",
            id=f"kappa/{left.replace(' ', '_')}/{right}",
            about=f"agreement of {left} and {right}",
            estimate=agreement.kappa,
            interval=agreement.interval,
            method="Cohen's kappa",
            interval_assumes=INDEPENDENT,
            rows=rows,
            n=agreement.n,
            error="undefined: both gave one label throughout",
        )
    for judging in findings[JUDGING]:
        for pairs in judging.compared:
            yield from _of_pairs(pairs, judging.rows)
    for bias in findings[JUDGE_BIASES]:
        if bias.longer is not None:
            ahead = "preferences" if bias.compares else "better labels of two models' responses to an item"
            yield estimate_row(
                "longer",
                id=f"{'pairs' if bias.compares else 'labels'}/{bias.name}/longer",
                about=f"{ahead} for the longer response, of {bias.name}",
                estimate=bias.longer.share,
                interval=(bias.longer.low, bias.longer.high),
                method="a share",
                assumption=INDEPENDENT,
                rows=bias.rows,
                n=bias.longer.n,
            )


def _of_pairs(pairs: PairsFinding, rows: str) -> Iterator[EstimateRow]:
    """What the order of two responses does to a judge."""
    for kind, about, share in (
        ("swap_inconsistency", "preferences that change with the order", pairs.inconsistent),
        ("first_place", "preferences for the response that stands first", pairs.first),
    ):
        if share is not None:
            yield estimate_row(
                kind,
                id=f"pairs/{pairs.name}/{kind}",
                about=f"{about}, of {pairs.name}",
                estimate=share.share,
                interval=(share.low, share.high),
                method="a share",
                assumption=INDEPENDENT,
                rows=rows,
                n=share.n,
            )
