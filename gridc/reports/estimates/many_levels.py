"""What an axis of many levels does to scores, as rows of the document of estimates."""

from collections.abc import Iterator
from typing import Any

from gridc.numbers import number
from gridc.reports.estimates import ESTIMATES
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.many_levels import MANY_LEVELS, ManyLevels, ModelOverLevels
from gridc.reports.quantities import INDEPENDENT, INTERVAL_METHOD, estimate
from gridc.schema.estimates import EstimateRow

CHOSEN = (
    "none: of several levels the one that came out so; with as many more items it lies nearer to the mean"
)
DESCRIBES = "none: it describes the levels that were run"
SHARED_ITEMS = "none: it describes the levels that were run, which share their items"


@ESTIMATES.add("many_levels", 80)
def level_estimates(findings: Findings) -> Iterator[EstimateRow]:
    """Every number about axes of many levels."""
    for finding in findings[MANY_LEVELS]:
        name = f"levels/{finding.benchmark}/{finding.axis}"
        for model in finding.models:
            yield from _of_model(finding, model, name)
        if finding.agreement is not None:
            yield estimate(
                "kendall_w",
                id=f"{name}/kendall_w",
                about=f"how far the {finding.levels} levels of {finding.axis} put the models in one "
                f"order, on {finding.benchmark}",
                estimate=finding.agreement.w,
                method="Kendall's W of the models' ranks under each level, ties corrected",
                assumption=SHARED_ITEMS,
                rows=finding.rows,
                n=finding.levels,
            )


def _of_model(finding: ManyLevels, model: ModelOverLevels, name: str) -> Iterator[EstimateRow]:
    where = f"over the {finding.levels} levels of {finding.axis}, {model.model} on {finding.benchmark}"
    chance, test = model.range_by_chance, model.test
    shared: dict[str, Any] = {"rows": finding.rows, "n": finding.units}
    yield estimate(
        "levels_mean", id=f"{name}/{model.model}/mean", about=f"mean score {where}",
        estimate=float(model.mean), interval=model.interval,
        method=f"mean of the levels; {INTERVAL_METHOD}", assumption=INDEPENDENT, **shared,
    )  # fmt: skip
    for kind, level in (("worst", model.worst), ("best", model.best)):
        yield estimate(
            f"levels_{kind}", id=f"{name}/{model.model}/{kind}", about=f"{kind} score {where}: {level.level}",
            estimate=float(level.score), method=f"the {kind} of the levels", assumption=CHOSEN, **shared,
        )  # fmt: skip
    yield estimate(
        "levels_range", id=f"{name}/{model.model}/range", about=f"highest less lowest score {where}",
        estimate=float(model.range), p=chance.p,
        method=f"beside it, levels that change places within each unit, {chance.draws} times: mean "
        f"{number(chance.mean, 4)}, 95 % below {number(chance.upper, 4)}",
        assumption=INDEPENDENT, **shared,
    )  # fmt: skip
    yield estimate(
        "levels_saturation", id=f"{name}/{model.model}/saturation", about=f"saturation {where}",
        estimate=float(model.saturation), method="1 - (best - mean) (Mizrahi et al. 2024)",
        assumption=DESCRIBES, **shared,
    )  # fmt: skip
    yield estimate(
        "friedman_chi2", id=f"{name}/{model.model}/friedman", about=f"Friedman's chi-squared {where}",
        estimate=None if test is None else test.chi2, p=None if test is None else test.p,
        method=f"ranks of levels within each unit, ties corrected, {finding.levels - 1} degrees of freedom",
        assumption=f"{INDEPENDENT}, and many", error="undefined: no unit tells two levels apart",
        **shared,
    )  # fmt: skip
