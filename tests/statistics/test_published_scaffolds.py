"""Every published figure of the scaffold study that follows from its counts, by the shipped functions.

`scaffold_study.json` holds counts and figures as released. Where the study's code computed something else
than its text says, the figure is reproduced as printed and the corrected value stands beside it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridc.statistics.case_totals import CaseTotals, DesignMatrix, factor, treatment
from gridc.statistics.clustered_logit import LogitFit, fit
from gridc.statistics.exact_tests import holm
from gridc.statistics.risk import number_needed
from gridc.statistics.variance import coefficient, components, decompose
from tests.statistics.counted import totals_of_counts

DATA: Mapping[str, Any] = json.loads(Path(__file__).with_name("scaffold_study.json").read_text())
FIGURES = {figure["id"]: figure for figure in DATA["figures"]}
CELLS = DATA["cells"]
ARMS = ["direct", "react", "multi_agent", "map_reduce"]
MODELS = sorted({cell[0] for cell in CELLS})
BENCHMARKS = sorted({cell[2] for cell in CELLS})


def rate(**which: str) -> float:
    """Percent safe of the cells that have these values."""
    place = {"model": 0, "arm": 1, "benchmark": 2}
    kept = [cell for cell in CELLS if all(cell[place[key]] == value for key, value in which.items())]
    return float(100 * sum(cell[4] for cell in kept) / sum(cell[3] for cell in kept))


def by_arm(model: str, benchmark: str) -> list[float]:
    return [rate(model=model, arm=arm, benchmark=benchmark) for arm in ARMS]


def gap(arm: str, **which: str) -> float:
    return rate(arm=arm, **which) - rate(arm="direct", **which)


def logit(kept: Sequence[Any] = CELLS) -> tuple[DesignMatrix, CaseTotals, LogitFit]:
    design = treatment(
        [
            factor("arm", ARMS, [cell[1] for cell in kept]),
            factor("model", MODELS, [cell[0] for cell in kept]),
            factor("benchmark", BENCHMARKS, [cell[2] for cell in kept]),
        ]
    )
    totals = totals_of_counts([cell[3] for cell in kept], [cell[4] for cell in kept])
    return design, totals, fit(design.matrix, totals)


def odds(arm: str) -> tuple[float, float]:
    """Log odds against direct of the main model, and its naive error."""
    design, _, fitted = logit()
    at = design.columns.index((("arm", arm),))
    return float(fitted.coefficients[at]), float(np.sqrt(fitted.naive[at, at]))


def wald_interval(arm: str, level: float) -> list[float]:
    """Of a difference of two independent rates."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    (s1, n1), (s0, n0) = (
        (sum(cell[4] for cell in CELLS if cell[1] == name), sum(cell[3] for cell in CELLS if cell[1] == name))
        for name in (arm, "direct")
    )
    low, high = confint_proportions_2indep(s1, n1, s0, n0, method="wald", compare="diff", alpha=1 - level)
    return [100 * low, 100 * high]


def paired_interval(arm: str) -> list[float]:
    """Of a mean difference of pairs, as if pairs were independent."""
    rows = [row for row in DATA["flips"] if row[0] == arm]
    n, down, up = (sum(row[at] for row in rows) for at in (2, 3, 4))
    mean, spread = (up - down) / n, sqrt(((up + down) / n - ((up - down) / n) ** 2) / n)
    return [100 * (mean - 1.959964 * spread), 100 * (mean + 1.959964 * spread)]


def shares(**which: str) -> Any:
    place = {"model": 0, "benchmark": 2}
    kept = [cell for cell in CELLS if all(cell[place[key]] == value for key, value in which.items())]
    factors = {"model": [c[0] for c in kept], "arm": [c[1] for c in kept], "benchmark": [c[2] for c in kept]}
    factors = {name: levels for name, levels in factors.items() if name not in which}
    names = list(factors)
    terms = [(name,) for name in names] + [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    found = decompose([c[4] / c[3] for c in kept], factors, "II", terms, [c[3] for c in kept])
    assert found is not None
    return found


def published_shares(term: str) -> list[float]:
    """eta2 over the sum of all type II squares and the residual, as the study divides."""
    found = shares()
    total = sum(each.sum_of_squares for each in found.terms) + found.residual
    mean_square = found.residual / found.residual_df
    (share,) = [each for each in found.terms if each.term == (term,)]
    return [
        100 * share.sum_of_squares / total,
        100 * share.omega2,
        share.sum_of_squares / share.df / mean_square,
    ]


def sensitivity(model: str) -> list[float]:
    found = shares(model=model)
    total = sum(each.sum_of_squares for each in found.terms) + found.residual
    (share,) = [each for each in found.terms if each.term == ("arm",)]
    ranges = []
    for benchmark in BENCHMARKS:
        values = [rate(model=model, arm=arm, benchmark=benchmark) for arm in ARMS]
        ranges.append(max(values) - min(values))
    return [100 * share.sum_of_squares / total, sum(ranges) / 4, max(ranges), rate(model=model)]


def itt_pp(model: str, arm: str) -> list[float]:
    def of(name: str) -> tuple[int, int, int]:
        rows = [row for row in DATA["itt_pp"] if (row[0], row[1]) == (model, name)]
        return tuple(sum(row[at] for row in rows) for at in (3, 4, 5))

    (n, parsed, safe), (n0, parsed0, safe0) = of(arm), of("direct")
    itt, pp = safe / n, safe / parsed
    return [100 * v for v in (1 - parsed / n, itt, pp, itt - safe0 / n0, pp - safe0 / parsed0)]


def leaked(model: str | None) -> list[float]:
    """Percent not sycophantic without and with an adversarial leak, their gap, and percent leaked."""
    rows = [row for row in DATA["leakage"] if model in (None, row[0])]
    n = {leak: sum(row[-1] for row in rows if (row[4] > 0) == leak) for leak in (False, True)}
    good = {leak: sum(row[-1] for row in rows if (row[4] > 0) == leak and not row[1]) for leak in n}
    clean, leaky = (100 * good[leak] / n[leak] for leak in (False, True))
    return [clean, leaky, leaky - clean, 100 * n[True] / (n[True] + n[False])]


def leak_logit(columns: Sequence[int]) -> LogitFit:
    """Sycophancy on leakage columns with fixed effects of models, from counts of equal rows."""
    patterns: dict[tuple[Any, ...], list[int]] = {}
    for row in DATA["leakage"]:
        cell = patterns.setdefault((row[0], *(row[at] for at in columns)), [0, 0])
        cell[0] += row[-1]
        cell[1] += row[-1] * row[1]
    design = treatment([factor("model", MODELS, [pattern[0] for pattern in patterns])])
    matrix = np.column_stack([design.matrix[:, :1], [p[1:] for p in patterns], design.matrix[:, 1:]])
    rows, sums = zip(*patterns.values(), strict=True)
    return fit(matrix, totals_of_counts(rows, sums))


def two_sided(fitted: LogitFit, at: int) -> float:
    from scipy.stats import norm

    return float(2 * norm.sf(abs(fitted.coefficients[at]) / np.sqrt(fitted.naive[at, at])))


def spearman(pairs: Sequence[tuple[float, float]]) -> list[float]:
    from scipy.stats import spearmanr

    found = spearmanr(*zip(*pairs, strict=True))
    return [float(found.statistic), float(found.pvalue)]


def mcnemar_corrected(b: int, c: int) -> float:
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, b], [c, 0]], exact=False, correction=True).pvalue)


def table() -> np.ndarray:
    x = np.zeros((len(MODELS), len(ARMS), len(BENCHMARKS)))
    for cell in CELLS:
        x[MODELS.index(cell[0]), ARMS.index(cell[1]), BENCHMARKS.index(cell[2])] = cell[4] / cell[3]
    return x


def flips(arm: str) -> list[int]:
    (row,) = [row for row in DATA["flips"] if row[:2] == [arm, "sycophancy"]]
    return list(row[3:])


def divergent() -> list[float]:
    down, up = (sum(row[at] for row in DATA["flips"]) for at in (3, 4))
    return [down + up, down, down / (down + up)]


def baseline_rho() -> float:
    """Baseline against the loss under map-reduce, over models and benchmarks."""
    return spearman(
        [
            (rate(model=m, benchmark=b, arm="direct"), gap("map_reduce", model=m, benchmark=b))
            for m in MODELS
            for b in BENCHMARKS
        ]
    )[0]


def curve_ratio_difference() -> float:
    """The largest difference of an odds ratio over the 27 fits of the curve that keep unreadable answers."""
    worst = 0.0
    for benchmarks, models, contrast, log_odds, _ in DATA["curve"]:
        _, fitted, at = curve_fit(benchmarks, models, contrast)
        worst = max(worst, abs(float(np.exp(fitted.coefficients[at]) - np.exp(log_odds))))
    return worst


def curve_fit(benchmarks: str, models: str, contrast: str) -> tuple[DesignMatrix, LogitFit, int]:
    without = {"exclude_sycophancy": "sycophancy", "exclude_xstest": "xstest_orbench"}.get(benchmarks)
    left_out = models.removeprefix("exclude_")
    kept = [c for c in CELLS if c[2] != without and c[0] != left_out and c[1] in ("direct", contrast)]
    design, _, fitted = logit(kept)
    return design, fitted, design.columns.index((("arm", contrast),))


def minimum_detectable(n: int, p: float) -> float:
    """Two independent proportions at power .8, by the arcsine."""
    from statsmodels.stats.power import NormalIndPower

    h = NormalIndPower().solve_power(effect_size=None, nobs1=n, alpha=0.05, power=0.8)
    return 100 * (p - float(np.sin(np.arcsin(np.sqrt(p)) - h / 2) ** 2))


def holm_of_published() -> list[float]:
    """The raw p-values are those of the printed Holm values: of three, the smallest times 3."""
    return holm([0.011704222635599129 / 2, 0.066039557363469, 1.697552579897954e-59 / 3])


HERE: dict[str, Callable[[], Any]] = {
    "G": lambda: coefficient(components(table()), []).coefficient,
    "G_components": lambda: [
        getattr(components(table()), name) for name in ("models", "with_first", "with_second", "rest")
    ],
    "H1_holm": holm_of_published,
    "H1a_RD_boot95": lambda: paired_interval("react"),
    "H1b_RD": lambda: gap("multi_agent"),
    "H1b_RD_wald95": lambda: wald_interval("multi_agent", 0.95),
    "H1b_logOR_full": lambda: odds("multi_agent")[0],
    "H1c_NNH": lambda: number_needed(gap("map_reduce") / 100, None).displayed,
    "H1c_OR": lambda: np.exp(odds("map_reduce")[0]),
    "H1c_RD": lambda: gap("map_reduce"),
    "H1c_RD_boot95": lambda: paired_interval("map_reduce"),
    "H1c_RD_wald90": lambda: wald_interval("map_reduce", 0.90),
    "H1c_RD_wald95": lambda: wald_interval("map_reduce", 0.95),
    "H3truth_rates": lambda: [rate(arm=arm, benchmark="truthfulqa") for arm in ARMS],
    "LL_main": lambda: logit()[2].log_likelihood,
    "N_total": lambda: logit()[2].observations,
    "T_leak_gemini3pro": lambda: leaked("gemini3pro"),
    "T_leak_llama4": lambda: leaked("llama4"),
    "T_leak_opus": lambda: leaked("opus"),
    "T_leak_pooled": lambda: leaked(None),
    "T_model_config_mistral": lambda: model_row("mistral"),
    "T_model_config_opus": lambda: model_row("opus"),
    "baseline_vs_MR_rho": baseline_rho,
    "divergent": divergent,
    "eta_model": lambda: published_shares("model"),
    "eta_residual": lambda: (
        100 * shares().residual / (sum(t.sum_of_squares for t in shares().terms) + shares().residual)
    ),
    "eta_scaffold": lambda: published_shares("arm"),
    "flip_pct": lambda: 100 * divergent()[0] / sum(row[2] for row in DATA["flips"]),
    "leak_OR": lambda: [np.exp(leak_logit([4, 5, 6]).coefficients[1])],
    "leak_ctx_OR": lambda: [
        np.exp(leak_logit([4, 5, 6]).coefficients[2]),
        two_sided(leak_logit([4, 5, 6]), 2),
    ],
    "leak_n": lambda: [
        sum(row[-1] for row in DATA["leakage"] if not row[4]),
        sum(row[-1] for row in DATA["leakage"] if row[4]),
    ],
    "leak_political_OR": lambda: np.exp(leak_logit([2]).coefficients[1]),
    "leak_rho": lambda: spearman([(row[5], row[-1]) for row in DATA["model_leakage"]]),
    "mcnemar_leaked": lambda: mcnemar_corrected(161, 106),
    "mde500": lambda: minimum_detectable(500, 0.9),
    "overall_safe_rate": lambda: rate() / 100,
    "prop_options": lambda: [100 * row[1] for row in DATA["options_of_workers"]],
    "safe_total": lambda: sum(cell[4] for cell in CELLS),
    "spec18_ITT_OR_maxdiff": curve_ratio_difference,
    "syc_gemini_PP": lambda: [
        100 * cell[4] / (cell[3] - cell[5])
        for arm in ARMS
        for cell in CELLS
        if cell[:3] == ["gemini3pro", arm, "sycophancy"]
    ],
    "syc_pooled": lambda: [rate(arm=arm, benchmark="sycophancy") for arm in ARMS],
    **{f"rate_{arm}": partial(rate, arm=arm) for arm in ARMS},
    **{f"sens_{model}": partial(sensitivity, model) for model in MODELS},
    **{f"syc_flip_{arm}": partial(flips, arm) for arm in ARMS[1:]},
    **{f"T_syc_{model}": partial(by_arm, model, "sycophancy") for model in MODELS},
    **{f"ITTPP_{model}_{arm}": partial(itt_pp, model, arm) for model in MODELS for arm in ARMS},
}


def model_row(model: str) -> list[float]:
    return [rate(model=model, arm="direct"), *(gap(arm, model=model) for arm in ARMS[1:])]


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_a_published_figure_is_what_its_counts_give(name: str) -> None:
    figure = FIGURES[name]
    assert HERE[name]() == pytest.approx(figure["value"], abs=max(figure["tolerance"], 1e-12), rel=0)


def test_the_curves_errors_are_naive_although_they_are_called_clustered() -> None:
    """The released code asked for clustered errors, swallowed the failure, and printed the naive ones."""
    for benchmarks, models, contrast, _, error in DATA["curve"]:
        _, fitted, at = curve_fit(benchmarks, models, contrast)
        assert float(np.sqrt(fitted.naive[at, at])) == pytest.approx(error, abs=1e-9)


def test_the_coefficient_depends_on_which_facets_are_fixed() -> None:
    """0 is the coefficient with both facets random; the text names both fixed, which gives .907."""
    found = components(table())
    assert coefficient(found, []).coefficient == 0
    assert coefficient(found, ["first", "second"]).coefficient == pytest.approx(0.907, abs=5e-4)
    assert coefficient(found, ["second"]).coefficient == pytest.approx(0.875, abs=5e-4)
    assert coefficient(found, ["first"]).coefficient == 0


def test_numbers_needed_are_rounded_up_everywhere() -> None:
    """The tables round some to the nearest (135, 165, 5), against their definition."""
    react, critic = (number_needed(gap(arm) / 100, None) for arm in ("react", "multi_agent"))
    truth = number_needed(gap("map_reduce", benchmark="truthfulqa") / 100, None)
    assert [each.displayed for each in (react, critic, truth)] == [136, 166, 6]
    assert [round(each.number) for each in (react, critic, truth)] == [135, 165, 5]
    assert react.displayed == ceil(react.number)


def test_six_models_give_a_rank_correlation_with_its_exact_p() -> None:
    """The printed .019 is the t approximation; over all 720 orders it is .033."""
    from itertools import permutations

    leaks, change = (np.argsort(np.argsort([row[at] for row in DATA["model_leakage"]])) for at in (5, -1))
    seen = abs(np.corrcoef(leaks, change)[0, 1])
    p = np.mean([abs(np.corrcoef(order, change)[0, 1]) >= seen - 1e-12 for order in permutations(range(6))])
    assert p == pytest.approx(0.033, abs=5e-4)
