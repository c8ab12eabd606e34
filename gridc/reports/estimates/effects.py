"""What hypotheses about effects estimate, as rows of the versioned document of estimates."""

from collections.abc import Iterator
from typing import Any

from gridc.numbers import counted
from gridc.reports.estimates import ESTIMATES
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.reports.findings.hypotheses.sentences import at_margin, pairs_words
from gridc.reports.quantities import INDEPENDENT, INTERVAL_METHOD, RATE_LIMITS, estimate
from gridc.reports.quantities.number_needed import needed_row
from gridc.schema.estimates import EstimateRow
from gridc.schema.hypotheses import ContrastRow, EffectRow, RateChangeRow, RecoveryRow

BY_RANKS = {
    "page_p": "Page's test of the levels' ranks within each unit, one-sided",
    "jonckheere_terpstra_p": "Jonckheere and Terpstra's test of levels as independent groups, one-sided",
}


@ESTIMATES.add("effects", 30)
def effect_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number of every hypothesis about an effect: by contrast, then of its test and its trend."""
    for finding in findings.hypotheses:
        if finding.effect is not None:
            rows = _HypothesisRows(finding, finding.effect)
            for contrast in finding.effect.contrasts:
                yield from rows.contrast(contrast)
            yield from rows.whole()


class _HypothesisRows:
    """Rows of one hypothesis, which share their origin."""

    def __init__(self, finding: HypothesisFinding, effect: EffectRow) -> None:
        self._found, self._effect, self._name = finding, effect, f"hypothesis/{finding.id}"

    def contrast(self, contrast: ContrastRow) -> Iterator[EstimateRow]:
        change, other = contrast.change, contrast.other
        several = len(self._effect.contrasts) > 1 or len(contrast.parts) > 0
        name = f"{self._name}/{change.level}" if several else self._name
        about = f"{change.level} against {change.reference}"
        yield from self._change(name, change, self._effect.reading)
        if other is not None:
            yield from self._change(
                f"{name}/other_reading", other, "pp" if self._effect.reading == "itt" else "itt"
            )
            yield self._row(
                f"{name}/divergence",
                "divergence",
                f"difference, ITT less per protocol, {about}",
                contrast.divergence,
                "difference of two differences of rates",
                n=change.samples,
            )
        if contrast.odds is not None:
            odds = contrast.odds
            terms = ", ".join(self._effect.adjusted_for) or "nothing"
            method = f"{self._effect.estimator} of {self._effect.outcome}, adjusted for {terms}"
            yield self._tested(
                f"{name}/log_odds",
                "log_odds",
                f"log odds, {about}",
                odds.log_odds,
                method,
                p=odds.p,
            )
            yield self._tested(
                f"{name}/standard_error",
                "standard_error",
                f"standard error of the log odds, {about}",
                odds.error,
                method,
            )
            yield self._tested(
                f"{name}/odds_ratio",
                "odds_ratio",
                f"odds ratio, {about}",
                odds.ratio,
                method,
                interval=odds.interval,
                p=odds.p,
            )
            if odds.agrees is not None:
                yield self._tested(
                    f"{name}/agrees",
                    "agreement_p",
                    f"p of what no unit goes against, {about}",
                    odds.agrees,
                    "Gaffke's test of units, one-sided; p of the log odds is no smaller than twice it",
                    p=odds.agrees,
                )
        if contrast.risk_ratio is not None:
            yield self._row(
                f"{name}/risk_ratio",
                "risk_ratio",
                f"ratio of both rates, {about}",
                contrast.risk_ratio,
                "ratio of means"
                if contrast.risk_ratio_interval
                else "ratio of means; no interval: few units carry one of the rates",
                interval=contrast.risk_ratio_interval,
                n=change.samples,
                assumption=INDEPENDENT,
            )
        if contrast.number_needed is not None:
            yield needed_row(name, about, contrast.number_needed, self._effect.rows, change.samples)
        for part in contrast.parts:
            yield from self._change(f"{name}/part/{part.part}", part, self._effect.reading)
        if contrast.flips is not None:
            moved = contrast.flips
            yield self._row(
                f"{name}/churn",
                "churn",
                f"share of single answers that become right or wrong, {about}",
                moved.churn,
                "pairs of answers" + ("" if moved.p is None else "; p by exact McNemar"),
                p=moved.p,
                n=moved.gained + moved.lost + moved.same,
            )
        if contrast.recovery is not None:
            yield from self._recovery(name, about, contrast.recovery, change)

    def whole(self) -> Iterator[EstimateRow]:
        """The test and the trend."""
        effect, finding = self._effect, self._found
        failure = effect.failure
        corrected = f"corrected by {finding.correction} over {finding.members}"
        if effect.test is not None or failure is not None:
            test = effect.test
            words = (
                "no test"
                if test is None
                else f"{test.name} of {effect.estimator}, {counted(test.df, 'coefficient')}"
                if test.above is not None
                else f"{test.name} of {effect.estimator}, {test.df} degrees of freedom"
            )
            yield self._tested(
                f"{self._name}/test",
                "no_test" if test is None else test.name,
                f"test of {finding.id} ({finding.kind})",
                None if test is None else test.statistic,
                f"{words}; corrected p is of support, {corrected}",
                p=None if test is None else test.p,
                corrected_p=finding.support,
                error=None if failure is None else f"{failure.code}: {failure.words}",
            )
        elif finding.support is not None:
            yield self._tested(
                f"{self._name}/support",
                "p_support",
                f"p of what {finding.id} ({finding.kind}) predicts",
                effect.support,
                f"{at_margin(effect)}, at the margin; {corrected}",
                p=effect.support,
                corrected_p=finding.support,
            )
        if finding.refute is not None:
            yield self._tested(
                f"{self._name}/refute",
                "p_refute",
                f"p of what refutes {finding.id} ({finding.kind})",
                effect.refute,
                f"by the rule of its kind; {corrected}",
                p=effect.refute,
                corrected_p=finding.refute,
            )
        line = effect.trend
        if line is None:
            return
        for kind, rates in (("rate", line.rates), ("isotonic_rate", line.isotonic)):
            for level, rate in rates.items():
                yield self._row(
                    f"{self._name}/trend/{kind}/{level}",
                    kind,
                    f"{kind.replace('_', ' ')} under {level}",
                    rate,
                    "mean of samples" if kind == "rate" else "nearest rates that move one way (PAVA)",
                    n=effect.samples,
                )
        for kind, method in BY_RANKS.items():
            p = getattr(line, kind)
            yield self._row(
                f"{self._name}/trend/{kind}",
                kind,
                f"p of the trend by ranks of {finding.id}",
                p,
                method,
                p=p,
                n=effect.samples,
            )

    def _change(self, name: str, change: RateChangeRow, reading: str) -> Iterator[EstimateRow]:
        where = "" if change.part is None else f" in {change.part}"
        about = f"{change.level} against {change.reference}{where}, {reading}"
        if change.pairs is not None:
            about = f"{about} {pairs_words(change)}"
        sides = (
            (f"rate/{change.level}", change.level, change.rate),
            (f"rate/{change.reference}", change.reference, change.reference_rate),
        )
        for key, level, rate in sides:
            yield self._row(
                f"{name}/{key}",
                "rate",
                f"rate of {self._effect.outcome} under {level}{where}, {reading}",
                rate,
                "mean of samples that have a partner",
                n=change.samples,
            )
        yield self._row(
            f"{name}/risk_difference",
            "risk_difference",
            f"difference of two rates, {about}",
            change.difference,
            "difference of means",
            interval=change.interval,
            made=RATE_LIMITS,
            n=change.samples,
            interval_assumes=INDEPENDENT,
        )
        for margin in change.margins:
            yield self._row(
                f"{name}/within/{margin.pp:g}pp",
                "p_within",
                f"p of: smaller than {margin.pp:g} pp, {about}",
                margin.p,
                f"{change.method}, at both sides of the margin",
                p=margin.p,
                n=change.samples,
                assumption=INDEPENDENT,
            )
        if change.limits is not None:
            yield self._row(
                f"{name}/limits_at_margin",
                "risk_difference",
                f"difference of two rates, {about}, with the limits that its margin is compared with",
                change.difference,
                "difference of means",
                interval=change.limits,
                made=f"limits where {change.method} has p {self._found.alpha:g}",
                level=1 - 2 * self._found.alpha,
                n=change.samples,
                assumption=INDEPENDENT,
            )

    def _recovery(
        self, name: str, about: str, recovery: RecoveryRow, change: RateChangeRow
    ) -> Iterator[EstimateRow]:
        yield self._row(
            f"{name}/recovery",
            "recovery",
            f"share of the change from {recovery.control} taken back, {about}",
            recovery.share,
            f"ratio of two differences; {recovery.no_interval or INTERVAL_METHOD}",
            interval=recovery.interval,
            n=change.samples,
            assumption=INDEPENDENT,
            error="no_loss: the interval of the loss holds 0",
        )
        if recovery.fieller is not None:
            yield self._row(
                f"{name}/recovery_fieller",
                "recovery",
                f"the same with Fieller's interval, {about}",
                recovery.share,
                "ratio of two means of units (Fieller 1954)",
                interval=recovery.fieller,
                n=change.samples,
                assumption=INDEPENDENT,
            )
        yield from self._change(f"{name}/loss", recovery.loss, self._effect.reading)
        yield from self._change(f"{name}/left", recovery.left, self._effect.reading)
        if recovery.number_needed is not None:
            left = f"what is left of the loss, {about}"
            samples = recovery.left.samples
            yield needed_row(f"{name}/left", left, recovery.number_needed, self._effect.rows, samples)

    def _tested(
        self, name: str, kind: str, about: str, value: float | None, method: str, **more: Any
    ) -> EstimateRow:
        """Of all samples of the hypothesis."""
        return self._row(
            name, kind, about, value, method, n=self._effect.samples, assumption=INDEPENDENT, **more
        )

    def _row(
        self, name: str, kind: str, about: str, value: float | None, method: str, **more: Any
    ) -> EstimateRow:
        """Of the rows of the hypothesis."""
        more["error"] = more.get("error") or "rows: no sample counts there"
        rows = self._effect.rows
        return estimate(kind, id=name, about=about, estimate=value, method=method, rows=rows, **more)
