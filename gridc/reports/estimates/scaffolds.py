"""What scaffolds estimate, as rows of the document."""

from collections.abc import Iterator
from typing import Any

from gridc.reports.estimates import ESTIMATES
from gridc.reports.findings.exposure import (
    DIFFICULTIES,
    DOSES,
    EXPOSURES,
    MEDIATIONS,
    DifficultyFinding,
    DoseFinding,
    ExposureFinding,
    MediationFinding,
)
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.scaffolds import STEPS, StepFindings
from gridc.reports.quantities import INDEPENDENT, estimate_row
from gridc.schema.estimates import EstimateRow
from gridc.statistics.unit_intervals import UnitEstimate

WITHIN = "nothing makes an item both lose its options and change, and losing them acts alike on all items"
BETWEEN = "the two scaffolds differ in the options of the parts alone, and losing them acts alike in both"
SPLIT = "where nothing turns on difficulty, what ties answers is alike in both arms"
BY_WORDS = (
    "what leaked is found by rules of words; items whose parts leak differ in nothing else that matters"
)


@ESTIMATES.add("scaffolds", 130)
def scaffold_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number of the tables about scaffolds."""
    if (steps := findings[STEPS]) is not None:
        yield from _step_rows(steps)
    for exposure in findings[EXPOSURES]:
        yield from _exposure_rows(exposure)
    for mediation in findings[MEDIATIONS]:
        yield from _mediation_rows(mediation)
    for dose in findings[DOSES]:
        yield from _dose_rows(dose)
    for difficulty in findings[DIFFICULTIES]:
        yield from _difficulty_rows(difficulty)


def of_units(kind: str, value: UnitEstimate, n: int, **stated: Any) -> EstimateRow:
    """A row of a value over units: without an interval it says why."""
    return estimate_row(
        kind, estimate=value.value, interval=value.interval, n=n,
        method=stated.pop("method") + ("" if value.interval else f"; no interval: {value.no_interval}"),
        made=f"interval: {value.method}", interval_assumes=INDEPENDENT,
        error="undefined: these rows do not determine it", **stated,
    )  # fmt: skip


def _step_rows(steps: StepFindings) -> Iterator[EstimateRow]:
    for outcome in steps.outcomes:
        name = f"step/{outcome.model}/{outcome.benchmark}/{outcome.scaffold}/{outcome.step}".replace(" ", "_")
        about = f"replies to {outcome.step} of {outcome.scaffold} on {outcome.benchmark}, {outcome.model}"
        for kind, value in (
            ("step_readable", outcome.readable), ("step_score", outcome.score),
            ("step_refusals", outcome.refusals),
        ):  # fmt: skip
            if value is not None:
                yield of_units(kind, value, outcome.replies, id=f"{name}/{kind.removeprefix('step_')}",
                          about=about, method="share of the replies", rows=outcome.rows)  # fmt: skip
    for change in steps.changes:
        name = f"change/{change.model}/{change.benchmark}/{change.scaffold}/{change.before}/{change.after}"
        about = (
            f"{change.after} less {change.before}, {change.scaffold} on {change.benchmark}, {change.model}"
        )
        yield of_units("answer_change", change.net, change.samples, id=name.replace(" ", "_"), about=about,
                  method="mean difference of scores", rows=change.rows)  # fmt: skip
    for row in steps.refusals:
        name = f"refusals/{row.model}/{row.benchmark}/{row.scaffold}/ratio".replace(" ", "_")
        about = f"refusals of sub-calls over answers', {row.scaffold} on {row.benchmark}, {row.model}"
        yield of_units("refusal_ratio", row.ratio, row.subcalls + row.answers, id=name, about=about,
                       method="ratio of two shares", rows=row.rows)  # fmt: skip


def _exposure_rows(finding: ExposureFinding) -> Iterator[EstimateRow]:
    where, base = (
        f"{finding.scaffold} on {finding.benchmark}",
        f"leakage/{finding.benchmark}/{finding.scaffold}",
    )
    shared: dict[str, Any] = {"rows": finding.rows, "assumption": BY_WORDS}
    for row in finding.leakage:
        name, about = f"{base}/{row.model}".replace(" ", "_"), f"{where}, {row.model}"
        for key, words, value, n in (
            ("plain", "without a scaffold", row.plain, row.items),
            ("clean", "where nothing adversarial leaked", row.clean, row.items - row.leaked),
            ("exposed", "where an adversarial feature leaked", row.exposed, row.leaked),
        ):
            yield of_units("exposed_score", value, n, id=f"{name}/{key}", about=f"score {words}, {about}",
                      method="mean score", **shared)  # fmt: skip
        about = f"score where something leaked less where nothing did, {about}"
        yield of_units("exposed_gap", row.gap, row.items, id=f"{name}/gap", about=about,
                       method="difference of means", **shared)  # fmt: skip
    for at, dose in enumerate(finding.doses):
        yield of_units("exposed_score", dose.score, dose.items, id=f"{base}/dose/{at}",
                  about=f"score, {dose.dose}, {where}", method="mean score", **shared)  # fmt: skip
    for odds in finding.odds:
        problem = odds.problem and f": {odds.problem}"
        yield estimate_row(
            "exposed_odds",
            id=f"{base}/odds/{odds.exposure.replace(' ', '_')}",
            about=f"odds of a bad answer, {odds.exposure}, {where}",
            estimate=odds.ratio,
            interval=odds.interval,
            p=odds.p,
            method=f"logit with fixed effects of models, cluster jackknife{problem}",
            error=f"undefined: {odds.problem}",
            n=finding.leakage[0].items,
            **shared,
        )
    for flip in finding.flips:
        key = "exposed" if flip.exposed else "clean"
        about = f"where {'something' if flip.exposed else 'nothing'} adversarial leaked, {where}"
        yield of_units("exposed_change", flip.change, flip.items, id=f"{base}/change/{key}",
                  about=f"score less the plain one, {about}", method="mean difference", **shared)  # fmt: skip
        yield estimate_row(
            "mcnemar_p", id=f"{base}/mcnemar/{key}", estimate=flip.p, p=flip.p, rows=finding.rows,
            error="undefined: units have several answers",
            about=f"{flip.less} answers earn less than the plain one, {flip.more} more, {about}",
            method="McNemar's test, exact and two-sided", n=flip.items,
            assumption="all answers are independent of each other",
        )  # fmt: skip


def _mediation_rows(finding: MediationFinding) -> Iterator[EstimateRow]:
    by = finding.by or "within"
    base = f"mediation/{finding.benchmark}/{finding.scaffold}/{by}"
    where = f"{finding.scaffold} on {finding.benchmark}"
    assumption = BETWEEN if finding.by else WITHIN
    method = (
        f"slope of the difference from {finding.by} on that of the options"
        if finding.by
        else "slope on the options lost, within models"
    )
    effect = finding.effect
    shared: dict[str, Any] = {"rows": finding.rows, "assumption": assumption}
    yield of_units("options_lost", effect.lost, finding.items, id=f"{base}/lost", method="mean share",
              about=f"parts without options, {where}", rows=finding.rows)  # fmt: skip
    for key, words, value in (
        ("total", "effect", effect.total),
        ("through", "effect that goes through lost options", effect.through),
        ("rest", "effect that does not", effect.rest),
    ):
        yield of_units("mediated", value, finding.items, id=f"{base}/{key}", about=f"{words}, {where}",
                  method=method, **shared)  # fmt: skip


def _dose_rows(finding: DoseFinding) -> Iterator[EstimateRow]:
    base = f"dose/{finding.benchmark}"
    for arm in finding.scaffolds:
        where = f"{arm.scaffold} on {finding.benchmark}"
        yield estimate_row(
            "dose", id=f"{base}/{arm.scaffold}/dose", about=f"parts of the task kept, {where}",
            estimate=arm.dose, method="mean over items of the share of parts that sub-calls kept",
            rows=finding.rows, n=arm.items,
        )  # fmt: skip
        yield of_units("dose_score", arm.score, arm.items, id=f"{base}/{arm.scaffold}/score",
                  about=f"score, {where}", method="mean score", rows=finding.rows)  # fmt: skip
    yield of_units(
        "dose_slope", finding.slope, sum(arm.items for arm in finding.scaffolds), id=f"{base}/slope",
        about=f"score from no part kept to all, {finding.benchmark}", rows=finding.rows,
        method="slope within items of one model, over scaffolds",
        assumption="scaffolds differ in nothing that matters but what they keep",
    )  # fmt: skip


def _difficulty_rows(finding: DifficultyFinding) -> Iterator[EstimateRow]:
    base, effect = f"difficulty/{finding.benchmark}/{finding.scaffold}", finding.effect
    where = f"{finding.scaffold} on {finding.benchmark}"
    shared: dict[str, Any] = {"rows": finding.rows, "n": effect.items}
    split = effect.split
    rows = (
        ("split", "pass rate of some models over both arms and change of the others", split.value,
         split.interval,
         f"mean Spearman coefficient over {effect.splits} ways to part {effect.models} models; groups of "
         "units left out", SPLIT),
        ("raw", "pass rate and change of the same answers: coupled", effect.raw, None, "Spearman", ""),
        ("raw_null", "the same where the answers of whole units are swapped", effect.raw_null, None,
         "mean Spearman coefficient over 99 random swaps", ""),
    )  # fmt: skip
    for key, words, value, interval, method, assumption in rows:
        yield estimate_row(
            "difficulty_correlation", id=f"{base}/{key}", about=f"{words}, {where}", estimate=value,
            interval=interval, method=method, assumption=assumption,
            error="undefined: one side does not vary", **shared,
        )  # fmt: skip
    for stratum in effect.strata:
        if stratum.items:
            name = f"{100 * stratum.low:.0f}-{100 * stratum.high:.0f}"
            yield of_units("difficulty_change", stratum.change, round(stratum.items), id=f"{base}/{name}",
                      about=f"change on items of which other models pass {name} %, {where}",
                      method="mean change over the ways to part the models", assumption=SPLIT,
                      rows=finding.rows)  # fmt: skip
