"""Makes rows of the estimates document for scores, effects of hypotheses, changed answers and bits per
byte."""

from collections.abc import Iterator
from typing import Any

from gridc.numbers import counted
from gridc.reports.estimates import ESTIMATES
from gridc.reports.estimates.scaffolds import of_units
from gridc.reports.findings.answers import ANSWER_SHIFTS, TEXT_LIKELIHOODS
from gridc.reports.findings.changes import ScoreDifference, sensitivities
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, at_margin, pairs_words
from gridc.reports.findings.summaries import SUMMARIES
from gridc.reports.quantities import (
    INDEPENDENT,
    QUANTITIES,
    RATE_LIMITS,
    SHARE_LIMITS,
    estimate_row,
    interval_assumption,
    needed_rows,
)
from gridc.reports.scorecard.validity import integrity
from gridc.schema.estimates import EstimateRow
from gridc.schema.hypotheses import (
    ContrastRow,
    EffectRow,
    OddsRow,
    RateChangeRow,
    RecoveryRow,
    TestRow,
    TrendRow,
)

RESAMPLED = "percentiles of resampled units, moved apart for their number (Hesterberg 2015)"
SCORE = "mean over items and replicates, an unreadable answer with its credit (intention to treat)"
CHANGE = "difference of two scores on the same items, positive for the better, as the fraction that it is"


@ESTIMATES.add("scores", 10)
def score_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """The score of every complete cell of a benchmark's envelope."""
    for benchmark in findings.benchmarks:
        intervals = benchmark.intervals
        for score in benchmark.cells:
            cell = score.cell
            if not cell.shared or score.score is None:
                continue
            interval = intervals.scores.get((cell.model, cell.configuration))
            yield estimate_row(
                "score",
                id=f"score/{cell.key}",
                about=f"score of {cell.model} on {cell.benchmark} under {cell.configuration}",
                estimate=float(score.score),
                interval=interval,
                level=intervals.level,
                method=SCORE,
                interval_assumes=interval_assumption(intervals.unit),
                rows=score.rows,
                n=score.scored,
            )


@ESTIMATES.add("rates", 12)
def rate_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every rate and every outcome of the spec, in each complete cell."""
    for benchmark in findings.benchmarks:
        digests = {(score.cell.model, score.cell.configuration): score.rows for score in benchmark.cells}
        for rate in benchmark.rates:
            for (model, configuration), found in rate.values.items():
                yield estimate_row(
                    "rate",
                    id=f"rate/{rate.name}/{model}/{benchmark.benchmark}/{configuration}",
                    about=f"{rate.name} of {model} on {benchmark.benchmark} under {configuration}",
                    estimate=None if found.value is None else float(found.value),
                    interval=found.interval,
                    method=rate.formula,
                    made=SHARE_LIMITS,
                    interval_assumes=interval_assumption(benchmark.intervals.unit),
                    rows=digests[model, configuration],
                    n=found.outcomes,
                    error="undefined: nothing to divide by",
                )


@ESTIMATES.add("statistics", 14)
def statistic_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every statistic of the spec, of each model under each configuration."""
    for summary in findings[SUMMARIES]:
        for model, values in summary.values.items():
            for configuration, found in values.items():
                unit = "" if summary.unit in ("", "%", "pp") else f", in {summary.unit}"
                where = f"under {configuration}, on {', '.join(summary.benchmarks)}{unit}"
                none = "no interval: " if found.interval is None and found.note else ""
                said = (summary.formula, found.of_answers, f"{none}{found.note}")
                yield estimate_row(
                    summary.kind,
                    id=f"statistic/{summary.id}/{model}/{configuration}",
                    about=f"{summary.id} of {model} {where}",
                    estimate=found.value,
                    interval=found.interval,
                    method="; ".join(filter(None, said if found.value is not None else said[:1])),
                    made=found.method,
                    interval_assumes=INDEPENDENT,
                    rows=found.rows,
                    n=found.responses,
                    error=f"undefined: {found.note}",
                )


@ESTIMATES.add("changes", 20)
def change_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """The difference of every measured configuration from the reference, by every reading, with the number
    needed; and the scores over readable answers only."""
    for benchmark in findings.benchmarks:
        cells = {(cell.cell.model, cell.cell.configuration): cell for cell in benchmark.cells}
        assumed = interval_assumption(benchmark.intervals.unit)
        for score in benchmark.cells:
            if score.cell.shared and score.per_protocol is not None:
                yield estimate_row(
                    "score_per_protocol",
                    id=f"per_protocol/{score.cell.key}",
                    about=f"score of {score.cell.model} on {score.cell.benchmark} under "
                    f"{score.cell.configuration}, unreadable answers left out",
                    estimate=float(score.per_protocol),
                    method="mean over readable answers",
                    rows=score.rows,
                    n=score.parsed,
                )
        for change in benchmark.changes:
            score = cells[change.model, change.configuration]
            about = (
                f"score of {change.model} on {benchmark.benchmark} under {change.configuration} less that "
                f"under {change.reference}, in points of the better direction"
            )
            if change.common is not None:
                about += f", on the {counted(change.common, 'item')} that both ask"
            name, n = f"change/{score.cell.key}", change.n
            yield _change_row(name, about, change.itt, assumed, change.rows, n)
            yield from needed_rows(name, f"from the {about}", change.itt.number_needed(), change.rows, n)
            if change.pp is not None:
                text = f"{about}, unreadable answers left out"
                yield _change_row(f"{name}/per_protocol", text, change.pp, assumed, change.rows, n)


def _change_row(
    name: str, about: str, moved: ScoreDifference, assumed: str, rows: str, n: int
) -> EstimateRow:
    return estimate_row(
        "risk_difference",
        id=name,
        about=about,
        estimate=float(moved.difference),
        interval=moved.interval,
        method=CHANGE,
        interval_assumes=assumed,
        rows=rows,
        n=n,
    )


SENSITIVITY = ("share", "mean_range", "max_range", "rate")


@ESTIMATES.add("sensitivity", 50)
def sensitivity_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """How sensitive each model is to the configuration, and changes measured in two ways."""
    directions = {benchmark.benchmark: benchmark.direction for benchmark in findings.benchmarks}
    cells = [score for benchmark in findings.benchmarks for score in benchmark.cells]
    for model, sensitivity in sensitivities(cells, directions).items():
        n = sum(score.scored for score in cells if score.cell.shared and score.cell.model == model)
        for key in SENSITIVITY:
            method = QUANTITIES[f"sensitivity_{key}"].what
            value = getattr(sensitivity, key)
            yield estimate_row(
                f"sensitivity_{key}",
                id=f"sensitivity/{model}/{key}",
                about=f"{method}, of {model}",
                estimate=value,
                method=method,
                rows=sensitivity.rows,
                n=n,
                error="not_defined: its shares or its good end do not exist here",
            )
    for number, row in enumerate(integrity(findings)):
        changed = ",".join(f"{axis}={level}" for axis, level in row.change.items())
        for side, way, value, ends in (
            ("left", row.left, row.by_left, row.left_interval),
            ("right", row.right, row.by_right, row.right_interval),
        ):
            yield estimate_row(
                "risk_difference",
                id=f"integrity/{row.model}/{row.benchmark}/{number}/{side}",
                about=f"difference of {row.model} on {row.benchmark}, {changed}, measured by {way}",
                estimate=value,
                interval=ends,
                method=CHANGE,
                interval_assumes=INDEPENDENT,
                rows=row.rows,
                n=row.n,
            )


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
            yield from rows.of_test()


@ESTIMATES.add("statistic_effects", 31)
def statistic_differences(findings: Findings) -> Iterator[EstimateRow]:
    """The difference of a statistic that each hypothesis about one is of, with its p-values."""
    for finding in findings.hypotheses:
        row = finding.statistic
        if row is None:
            continue
        name, n = f"hypothesis/{finding.id}", row.samples
        unit = "" if row.unit in ("", "%", "pp") else f", in {row.unit}"
        about = f"{row.statistic} under {row.level} less that under {row.reference}{unit}"
        yield estimate_row(
            "statistic_difference",
            id=f"{name}/statistic_difference",
            about=about,
            estimate=row.difference,
            interval=row.interval,
            method="; ".join(filter(None, (row.what, row.note if row.interval is None else ""))),
            made=row.method,
            interval_assumes=INDEPENDENT,
            rows=row.rows,
            n=n,
            error=f"undefined: {row.note or 'not determined'}",
        )
        corrected = (
            f"by the interval of the difference; corrected by {finding.correction} over {finding.members}"
        )
        sides = (("support", "p of what it predicts", row.support, finding.support),
                 ("refute", "p of what refutes it", row.refute, finding.refute))  # fmt: skip
        for side, words, alone, after in sides:
            if after is not None:
                yield estimate_row(
                    f"p_{side}", id=f"{name}/{side}", about=f"{words}, {finding.id} ({about})",
                    estimate=alone, p=alone, corrected_p=after, method=corrected, assumption=INDEPENDENT,
                    rows=row.rows, n=n,
                )  # fmt: skip


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
            differences = "difference of two differences of rates"
            yield self._row(name, "divergence", about, contrast.divergence, differences, n=change.samples)
        if contrast.odds is not None:
            yield from self._odds(name, about, contrast.odds)
        if contrast.risk_ratio is not None:
            ends = contrast.risk_ratio_interval
            method = "ratio of means" + ("" if ends else "; no interval: one of the rates is 0")
            yield self._row(
                name, "risk_ratio", about, contrast.risk_ratio, method,
                interval=ends, n=change.samples, assumption=INDEPENDENT,
            )  # fmt: skip
        if contrast.number_needed is not None:
            yield from needed_rows(name, about, contrast.number_needed, self._effect.rows, change.samples)
        for part in contrast.parts:
            yield from self._change(f"{name}/part/{part.part}", part, self._effect.reading)
        if contrast.flips is not None:
            moved = contrast.flips
            method = "pairs of answers" + ("" if moved.p is None else "; p by exact McNemar")
            answers = moved.gained + moved.lost + moved.same
            yield self._row(name, "churn", about, moved.churn, method, p=moved.p, n=answers)
        if contrast.recovery is not None:
            yield from self._recovery(name, about, contrast.recovery, change)

    def _odds(self, name: str, about: str, odds: OddsRow) -> Iterator[EstimateRow]:
        terms = ", ".join(self._effect.adjusted_for) or "nothing"
        method = f"{self._effect.estimator} of {self._effect.outcome}, adjusted for {terms}"
        words = f"log odds, {about}"
        yield self._tested(name, "log_odds", about, odds.log_odds, method, p=odds.p, about=words)
        yield self._tested(name, "standard_error", about, odds.error, method)
        yield self._tested(name, "odds_ratio", about, odds.ratio, method, interval=odds.interval, p=odds.p)
        if odds.agrees is not None:
            method = "Gaffke's test of units, one-sided; p of the log odds is no smaller than twice it"
            own = f"{name}/agrees"
            yield self._tested(name, "agreement_p", about, odds.agrees, method, p=odds.agrees, id=own)

    def of_test(self) -> Iterator[EstimateRow]:
        """The test and the trend."""
        effect, finding, name = self._effect, self._found, self._name
        hypothesis = f"{finding.id} ({finding.kind})"
        corrected = f"corrected by {finding.correction} over {finding.members}"
        if effect.test is not None or effect.failure is not None:
            yield self._test(effect.test, f"corrected p is of support, {corrected}")
        elif finding.support is not None:
            yield self._tested(
                name, "p_support", "", effect.support, f"{at_margin(effect)}, at the margin; {corrected}",
                p=effect.support, corrected_p=finding.support,
                id=f"{name}/support", about=f"p of what {hypothesis} predicts",
            )  # fmt: skip
        if finding.refute is not None:
            yield self._tested(
                name, "p_refute", "", effect.refute, f"by the rule of its kind; {corrected}",
                p=effect.refute, corrected_p=finding.refute,
                id=f"{name}/refute", about=f"p of what refutes {hypothesis}",
            )  # fmt: skip
        if effect.trend is not None:
            yield from self._trend(effect.trend)

    def _test(self, test: TestRow | None, corrected: str) -> EstimateRow:
        finding, failure = self._found, self._effect.failure
        words, kind = "no test", "no_test"
        if test is not None:
            kind = test.name
            freedom = (
                f"{test.df} degrees of freedom" if test.above is None else counted(test.df, "coefficient")
            )
            words = f"{kind} of {self._effect.estimator}, {freedom}"
        return self._tested(
            self._name, kind, "", None if test is None else test.statistic, f"{words}; {corrected}",
            p=None if test is None else test.p, corrected_p=finding.support,
            error=None if failure is None else f"{failure.code}: {failure.words}",
            id=f"{self._name}/test", about=f"test of {finding.id} ({finding.kind})",
        )  # fmt: skip

    def _trend(self, line: TrendRow) -> Iterator[EstimateRow]:
        name, n = f"{self._name}/trend", self._effect.samples
        for kind, rates, method in (
            ("rate", line.rates, "mean of samples"),
            ("isotonic_rate", line.isotonic, "nearest rates that move one way (PAVA)"),
        ):
            for level, rate in rates.items():
                about = f"{kind.replace('_', ' ')} under {level}"
                yield self._row(name, kind, "", rate, method, n=n, id=f"{name}/{kind}/{level}", about=about)
        for kind, method in BY_RANKS.items():
            p = getattr(line, kind)
            about = f"p of the trend by ranks of {self._found.id}"
            yield self._row(name, kind, "", p, method, p=p, n=n, about=about)

    def _change(self, name: str, change: RateChangeRow, reading: str) -> Iterator[EstimateRow]:
        where = "" if change.part is None else f" in {change.part}"
        about = f"{change.level} against {change.reference}{where}, {reading}"
        if change.pairs is not None:
            about = f"{about} {pairs_words(change)}"
        for level, rate in ((change.level, change.rate), (change.reference, change.reference_rate)):
            yield self._row(
                name, "rate", "", rate, "mean of samples that have a partner", n=change.samples,
                id=f"{name}/rate/{level}",
                about=f"rate of {self._effect.outcome} under {level}{where}, {reading}",
            )  # fmt: skip
        difference = f"difference of two rates, {about}"
        yield self._row(
            name, "risk_difference", "", change.difference, "difference of means", about=difference,
            interval=change.interval, made=RATE_LIMITS, n=change.samples, interval_assumes=INDEPENDENT,
        )  # fmt: skip
        for margin in change.margins:
            yield self._row(
                name, "p_within", "", margin.p, f"{change.method}, at both sides of the margin",
                p=margin.p, n=change.samples, assumption=INDEPENDENT,
                id=f"{name}/within/{margin.pp:g}pp", about=f"p of: smaller than {margin.pp:g} pp, {about}",
            )  # fmt: skip
        if change.limits is not None:
            yield self._row(
                name, "risk_difference", "", change.difference, "difference of means",
                interval=change.limits, level=1 - 2 * self._found.alpha,
                made=f"limits where {change.method} has p {self._found.alpha:g}",
                n=change.samples, assumption=INDEPENDENT, id=f"{name}/limits_at_margin",
                about=f"{difference}, with the limits that its margin is compared with",
            )  # fmt: skip

    def _recovery(
        self, name: str, about: str, recovery: RecoveryRow, change: RateChangeRow
    ) -> Iterator[EstimateRow]:
        yield self._row(
            name, "recovery", "", recovery.share,
            f"ratio of two differences; {recovery.no_interval or RESAMPLED}",
            interval=recovery.interval, n=change.samples, assumption=INDEPENDENT,
            error="no_loss: the interval of the loss holds 0",
            about=f"share of the change from {recovery.control} taken back, {about}",
        )  # fmt: skip
        if recovery.fieller is not None:
            yield self._row(
                name, "recovery", "", recovery.share, "ratio of two means of units (Fieller 1954)",
                interval=recovery.fieller, n=change.samples, assumption=INDEPENDENT,
                id=f"{name}/recovery_fieller", about=f"the same with Fieller's interval, {about}",
            )  # fmt: skip
        yield from self._change(f"{name}/loss", recovery.loss, self._effect.reading)
        yield from self._change(f"{name}/left", recovery.left, self._effect.reading)
        if recovery.number_needed is not None:
            left = f"what is left of the loss, {about}"
            samples = recovery.left.samples
            yield from needed_rows(f"{name}/left", left, recovery.number_needed, self._effect.rows, samples)

    def _tested(
        self, name: str, kind: str, where: str, value: float | None, method: str, **more: Any
    ) -> EstimateRow:
        """Of all samples of the hypothesis."""
        more |= {"n": self._effect.samples, "assumption": INDEPENDENT}
        return self._row(name, kind, where, value, method, **more)

    def _row(
        self, name: str, kind: str, where: str, value: float | None, method: str, **more: Any
    ) -> EstimateRow:
        """Of the rows of the hypothesis, called after its quantity where `id` and `about` say no more."""
        own = {"id": f"{name}/{kind}", "about": f"{QUANTITIES[kind].what}, {where}"}
        more["error"] = more.get("error") or "rows: no sample counts there"
        return estimate_row(kind, estimate=value, method=method, rows=self._effect.rows, **own | more)


@ESTIMATES.add("text_likelihoods", 90)
def text_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Bits per byte for every model and configuration, and their differences for every pair of models."""
    for found in findings[TEXT_LIKELIHOODS]:
        where = f"on {found.benchmark} under {found.configuration}"
        for model in found.models:
            name = f"bits_per_byte/{model.model}/{found.benchmark}/{found.configuration}"
            yield of_units("bits_per_byte", model.value, model.texts, id=name, rows=found.rows,
                           about=f"bits per byte of {model.model} {where}",
                           method="bits of all texts over their bytes in UTF-8")  # fmt: skip
        for gap in found.gaps:
            name = f"bits_per_byte_gap/{gap.a}/{gap.b}/{found.benchmark}/{found.configuration}"
            yield of_units("bits_per_byte_gap", gap.value, gap.texts, id=name, rows=found.rows,
                           about=f"bits per byte of {gap.a} less those of {gap.b} {where}",
                           method="the same texts, bits of one less those of the other")  # fmt: skip


@ESTIMATES.add("answers", 40)
def answer_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number about answers that change between two levels."""
    for shift in findings[ANSWER_SHIFTS]:
        name = f"hypothesis/{shift.hypothesis}/{shift.level}"
        where = f"{shift.level} against {shift.reference}, {shift.hypothesis}"
        for kind, about, value, n, method in (
            ("answer_changes", "answers that change", shift.changed, shift.compared,
             "share of the items with a readable answer under both"),
            ("likelihood_shift", "distance of log-likelihoods", shift.shift, shift.ranked,
             "mean over candidates and items"),
            ("answer_divergence", "divergence of the candidates' shares", shift.divergence, shift.ranked,
             "mean over items of D(reference || level)"),
        ):  # fmt: skip
            if value is not None:
                yield of_units(kind, value, n, id=f"{name}/{kind}", about=f"{about}, {where}",
                               method=method, rows=shift.rows)  # fmt: skip
