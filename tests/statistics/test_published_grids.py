"""SafetyRepro's tables, recomputed by the shipped functions from grids of scores that show them.

The paper prints no cell, so `published_grids.json` holds grids that a search found: every printed number of
a table holds at once on one of them. A test here computes the table from the grid and compares it with
print, so it fails when the function that computes it is broken, and the grid itself shows that the tables
can all be true together. What no grid can show is listed in published.md beside this.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridc.reports.findings.paired import paired_row
from gridc.statistics.envelope import (
    PairCounts,
    concordance,
    count_orders,
    disperse,
    draws,
    flip_rate,
    max_statistic,
    mismatch,
    reachable,
    sdi_interval,
    sdi_values,
    tau_interval,
)
from gridc.statistics.paired_runs import Delta, by_level, pair_levels, summarise_differences
from gridc.statistics.variance import decompose
from tests.statistics.test_published import TABLES, printed

GRIDS: dict[str, Any] = json.loads(Path(__file__).with_name("published_grids.json").read_text())
MODELS = ("mistral", "qwen", "yi")
BENCHMARKS = {row["benchmark"]: row["C"] for row in TABLES["table2"]["rows"]}
KEYS = dict(zip(("BBQ", "CrowS-Pairs", "ToxiGen", "TruthfulQA", "XSTest"), sorted(
    row["benchmark"] for row in TABLES["appG_tauR"]["rows"]), strict=True))  # fmt: skip
SCOPES: dict[str, Callable[[str, bool, bool], bool]] = {
    "full": lambda path, t4, diverse: True,
    "mixed": lambda path, t4, diverse: True,
    "excl_T4": lambda path, t4, diverse: not t4,
    "excl_diverse": lambda path, t4, diverse: not diverse,
    "core": lambda path, t4, diverse: not (t4 or diverse),
    "free-form": lambda path, t4, diverse: path == "free-form",
    "logprob": lambda path, t4, diverse: path == "logprob",
}

Scores = dict[str, dict[str, Fraction | None]]


def grid(benchmark: str, scope: str) -> Scores:
    """Scores by model and configuration in a scope, in the orders of the grid."""
    scores: Scores = {model: {} for model in MODELS}
    strata = zip(GRIDS["strata"], GRIDS["orders"][benchmark], strict=True)
    for number, (stratum, orders) in enumerate(strata):
        for ranks, times in orders:
            for _ in range(times if SCOPES[scope](*stratum) else 0):
                name = f"{number}.{len(scores['yi'])}"
                for model, rank in zip(MODELS, ranks, strict=True):
                    scores[model][name] = Fraction(1 + rank, 5)
    return scores


def pairs(scores: Mapping[str, Mapping[str, Fraction | None]]) -> Iterator[PairCounts]:
    for one, other in (("mistral", "qwen"), ("mistral", "yi"), ("qwen", "yi")):
        yield count_orders(one, other, scores[one], scores[other])


def scopes() -> Iterator[tuple[str, str, float, int, int]]:
    for row in TABLES["table2"]["rows"]:
        yield row["benchmark"], "full", row["rho_max"], row["orderings"], row["C"]
    for row in TABLES["table3"]["rows"]:
        yield row["benchmark"], row["path"], row["rho_max"], row["orderings"], row["C"]
    for row in TABLES["table4"]["rows"]:
        for scope, sizes in TABLES["table4"]["C"].items():
            size = sizes[row["benchmark"] == "CrowS-Pairs"]
            yield row["benchmark"], scope, row[scope]["rho_max"], row[scope]["orderings"], size


@pytest.mark.parametrize(("benchmark", "scope", "rho", "orderings", "size"), list(scopes()))
def test_tables_2_to_4(benchmark: str, scope: str, rho: float, orderings: int, size: int) -> None:
    scores = grid(benchmark, scope)
    found = list(pairs(scores))
    assert {each.size for each in found} == {size}
    assert printed(max(each.rho_flip for each in found), 3) == rho
    assert reachable(scores).by_name == orderings


@pytest.mark.parametrize("row", TABLES["table2"]["rows"], ids=lambda row: row["benchmark"])
def test_table_2_counts_orders_that_no_configuration_shows(row: dict[str, Any]) -> None:
    found = reachable(grid(row["benchmark"], "full"))
    assert printed(Fraction(found.by_name, found.possible), 3) == row["perm_rate"]
    assert found.permutation_rate <= Fraction(found.by_name, found.possible)
    assert len(found.strict) <= len(found.weak)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_tau_r_is_printed_and_its_resamples_are_lifted(benchmark: str) -> None:
    """App. G prints resample means equal to the points and lower ends that no mean of taus can have."""
    row = next(each for each in TABLES["appG_tauR"]["rows"] if each["benchmark"] == KEYS[benchmark])
    scores = grid(benchmark, "full")
    tau, dropped = concordance(scores)
    assert tau is not None
    assert printed(tau, 3) == row["point"]
    n = BENCHMARKS[benchmark] - dropped
    found = tau_interval(scores, draws(n, 4000, 1))
    assert found.low is not None
    assert found.high is not None
    assert found.point == pytest.approx(tau)
    assert -1 / (n - 1) <= found.low < tau < found.high
    if row["lo"] < 0:
        assert row["lo"] < -1 / (n - 1)


def test_toxigens_orders_mismatch_as_printed() -> None:
    found = mismatch(grid("ToxiGen", "full"))
    assert found.by_name is not None
    assert printed(100 * found.by_name, 1) == TABLES["text_numbers"]["total_order_mismatch_toxigen"]
    assert printed(100 * found.null, 1) == TABLES["text_numbers"]["tau_null_mismatch"]


def slice_scores(name: str) -> list[Fraction]:
    denominator, numerators = GRIDS["scores"][name]
    return [Fraction(each, denominator) for each in numerators]


@pytest.mark.parametrize("row", TABLES["appE_scores"]["rows"], ids=lambda row: row["slice"])
def test_appendices_e_g_and_l_by_slice(row: dict[str, Any]) -> None:
    """Range, mean, SDI and its resampling range, and the flip rates at four marks, of one grid of scores.
    1,000 resamples of the paper against 2,000 here leave its ends 1.5 points."""
    name = row["slice"].replace(" ", "")
    scores = slice_scores(name)
    found = disperse(scores)
    assert (found.n, printed(found.least, 3), printed(found.greatest, 3)) == (
        row["n"],
        row["min"],
        row["max"],
    )
    assert printed(found.mean, 3) == row["mean"]
    sdi = next(each for each in TABLES["appG_SDI"]["rows"] if each["slice"] == name)
    drawn = draws(len(scores), 2000, 11)
    interval = sdi_interval(scores, drawn)
    assert found.sdi is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.point == pytest.approx(float(found.sdi))
    assert printed(100 * found.sdi, 1) == sdi["point"]
    assert 100 * interval.low == pytest.approx(sdi["lo"], abs=1.5)
    assert 100 * interval.high == pytest.approx(sdi["hi"], abs=1.5)
    assert 100 * sdi_values(scores, drawn).mean() == pytest.approx(sdi["mean"], abs=0.7)
    model, benchmark = name.split("/")
    for mark in ("0.5", "0.6", "0.7", "0.8"):
        percent = TABLES["appL_CFR"]["theta"][mark][model.capitalize()][list(KEYS.values()).index(benchmark)]
        rate = flip_rate(scores, float(mark)).rate
        assert rate is not None
        assert percent is None or printed(100 * rate, 1) == percent


def test_the_maximum_sdi_of_appendix_i() -> None:
    """Models of a benchmark share the draw, benchmarks do not. Where in the envelope a model has which score
    is not printed; the maximum hardly depends on it, because it is nearly always that of one slice."""
    names = [row["slice"].replace(" ", "") for row in TABLES["appE_scores"]["rows"]]
    shared = {
        benchmark: draws(n, 2000, seed)
        for seed, (benchmark, n) in enumerate(sorted({(name.split("/")[1], len(slice_scores(name)))
                                                      for name in names}))
    }  # fmt: skip
    slices = [sdi_values(slice_scores(name), shared[name.split("/")[1]]) for name in names]
    points = [float(disperse(slice_scores(name)).sdi or 0) for name in names]
    found = max_statistic(slices, points)
    point, low, high = TABLES["appI_max_stat"]["SDI"]
    assert found.low is not None
    assert found.high is not None
    assert printed(100 * (found.point or 0), 1) == point
    assert 100 * found.low == pytest.approx(low, abs=1.5)
    assert 100 * found.high == pytest.approx(high, abs=1.5)


AXES = {
    "model": MODELS,
    "template": ("T1", "T2", "T3", "T4"),
    "decoding": ("greedy", "moderate", "diverse"),
    "few_shot": ("0", "3", "5"),
}


def components(seed: int) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """Three orthogonal parts of a complete grid and its residual, by subtracting means (balanced, so sums of
    squares add up): model, harness main effects, the two-way terms of app. F; each of length one."""
    values = np.random.default_rng(seed).normal(size=tuple(len(levels) for levels in AXES.values()))

    def part(*axes: int) -> Any:
        """The interaction of some axes: inclusion and exclusion of means."""
        total = np.zeros_like(values)
        for kept in product((0, 1), repeat=len(axes)):
            over = tuple(
                at for at in range(4) if at not in {a for a, keep in zip(axes, kept, strict=True) if keep}
            )
            total = total + (-1) ** (len(axes) - sum(kept)) * values.mean(axis=over, keepdims=True)
        return total

    terms = {
        "model": part(0),
        "impl": part(1) + part(2) + part(3),
        "inter": part(0, 1) + part(0, 2) + part(0, 3) + part(1, 2) + part(1, 3),
    }
    rest = values - values.mean() - sum(terms.values())
    return {name: each / np.sqrt((each**2).sum()) for name, each in {**terms, "residual": rest}.items()}


@pytest.mark.parametrize("row", TABLES["table9"]["rows"], ids=lambda row: row["benchmark"])
@pytest.mark.parametrize("kind", ["II", "III"])
def test_table_9_and_appendices_g_and_h(row: dict[str, Any], kind: Any) -> None:
    """A complete grid with the printed shares gives them back, and Type III gives the very same: table H's
    other column is of treatment contrasts, not of the data."""
    shares = {name: row[name] / 100 for name in ("model", "impl", "inter")}
    shares["residual"] = 1 - sum(shares.values())
    parts = components(len(row["benchmark"]))
    values = 0.6 + 0.9 * sum(np.sqrt(shares[name]) * part for name, part in parts.items())
    cells = list(product(*AXES.values()))
    factors = {name: [cell[at] for cell in cells] for at, name in enumerate(AXES)}
    found = decompose(values.ravel().tolist(), factors, kind)
    assert found is not None
    assert found.balanced
    assert printed(100 * found.model, 1) == row["model"]
    assert printed(100 * found.implementation, 1) == row["impl"]
    assert printed(100 * found.interaction, 1) == row["inter"]
    assert found.unexplained == pytest.approx(shares["residual"])
    assert found.rho == pytest.approx(shares["impl"] / shares["model"])
    assert found.rho == pytest.approx(row["rho"], abs=0.5 if row["benchmark"] == "ToxiGen" else 0.05)
    types = next(
        each for each in TABLES["appH_types"]["rows"] if each["benchmark"].lower() == row["benchmark"].lower()
    )
    assert printed(100 * found.implementation, 1) == types["impl_II"] != types["impl_III"]
    resampled = next(
        each for each in TABLES["appG_variance"]["rows"] if each["benchmark"] == row["benchmark"].lower()
    )
    for name, share in (("model", found.model), ("impl", found.implementation)):
        assert printed(100 * share, 1) == resampled[name]["point"]


def lattice(benchmark: str) -> int:
    items: dict[str, int] = TABLES["table1_grid"]["items"]
    return items.get(benchmark, items["other"])


TABLE_6 = [
    (row["benchmark"], size, row[f"{family}_sdi_{size}"], row[f"{family}_rng_{size}"])
    for row in TABLES["table6"]["rows"]
    for family, sizes in (("q", ("7B", "32B")), ("y", ("9B", "34B")))
    for size in sizes
]
IMPOSSIBLE = {("TruthfulQA", "7B"), ("ToxiGen", "34B")}


@pytest.mark.parametrize(("benchmark", "size", "sdi", "spread"), TABLE_6)
def test_table_6_is_of_whole_numbers_of_items(benchmark: str, size: str, sdi: float, spread: float) -> None:
    """Range and SDI of four greedy cells (two on CrowS-Pairs), each k of n items: some cells print
    so, but for the two ranges that no difference of two counts gives."""
    n, cells = lattice(benchmark), 2 if benchmark == "CrowS-Pairs" else 4
    gaps = [gap for gap in range(n + 1) if printed(Fraction(gap, n), 3) == spread]
    if (benchmark, size) in IMPOSSIBLE:
        assert gaps == []
        return
    (gap,) = gaps
    if gap == 0:
        assert disperse([Fraction(1, 2)] * cells).sdi == sdi == 0
        return
    least = range(n - gap + 1)
    middles = range(gap * (cells - 2) + 1)
    grids = (
        [low, *[low + extra // 2, low + extra - extra // 2][: cells - 2], low + gap]
        for low in least
        for extra in middles
    )
    assert any(
        printed(100 * (disperse([Fraction(k, n) for k in cell]).sdi or 0), 1) == sdi
        for cell in grids
        if min(cell)
    )


def test_table_6_and_appendix_o_print_the_same_ranges() -> None:
    ranges = {(row["model"], row["benchmark"]): row["NF4"] for row in TABLES["appO_ranges"]["rows"]}
    for row in TABLES["table6"]["rows"]:
        assert ranges["qwen", KEYS[row["benchmark"]]] == row["q_rng_7B"]
        assert ranges["yi", KEYS[row["benchmark"]]] == row["y_rng_9B"]


@pytest.mark.parametrize("row", TABLES["table7"]["rows"], ids=lambda row: row["benchmark"])
def test_table_7_is_a_range_over_packages(row: dict[str, Any]) -> None:
    scores = [Fraction(round(300 * row[name]), 300) for name in ("lm_eval", "HELM", "Inspect") if row[name]]
    found = disperse(scores)
    assert [printed(each, 3) for each in scores] == [
        row[name] for name in ("lm_eval", "HELM", "Inspect") if row[name]
    ]
    if row["range"] is not None:
        assert printed(found.greatest - found.least, 3) == row["range"]


def table_10(row: dict[str, Any]) -> list[dict[str, Fraction]]:
    """Scores of a configuration on three subsamples of 235 items: in its order, with its ranges."""
    names = row["ordering"].replace("\\geq", ">").replace("[†]", "").replace(" ", "").split(">")
    found = []
    for number in range(3):
        base = {name: 150 - 25 * place for place, name in enumerate(names)}
        moves = {name: round(235 * row[name] / 100) * (number == 1) for name in names}
        found.append({name: Fraction(base[name] + moves[name], 235) for name in names})
    return found


def test_table_10() -> None:
    rows = TABLES["table10"]["rows"]
    scores = {row["config"]: table_10(row) for row in rows}
    ranges = []
    for row in rows:
        for model in MODELS:
            found = disperse([each[model] for each in scores[row["config"]]])
            # 1.71 is 4 of 234 items; all others are of 235.
            assert printed(100 * (found.greatest - found.least), 2) == {1.71: 1.7}.get(row[model], row[model])
            ranges.append(Fraction(str(row[model])))
    summary = summarise_differences(ranges)
    printed_summary = TABLES["table10"]["agg"]
    assert printed(summary.mean_absolute, 2) == printed_summary["mean"]
    assert printed(summary.median_absolute, 2) == printed_summary["median"]
    assert printed(summary.max_absolute, 2) == printed_summary["max"]
    for number in range(3):
        by_model = {model: {name: cells[number][model] for name, cells in scores.items()} for model in MODELS}
        rho = {"-".join(sorted((each.a, each.b))): float(each.rho_flip) for each in pairs(by_model)}
        assert rho == {
            "-".join(sorted(key.split("-"))): value for key, value in TABLES["table10"]["rho_pairs"].items()
        }
        orders = reachable(by_model).strict
        assert len(orders) == len(
            {row["ordering"].replace("\\geq", ">").split("[")[0].strip() for row in rows}
        )


def test_appendix_n() -> None:
    cells = product(MODELS, ("T1", "T2", "T3", "T4"), ("fs0", "fs3", "fs5"))
    deltas = [
        Delta(
            {"model": model, "template": template, "few_shot": shots},
            Fraction(0),
            Fraction(GRIDS["deltas"][17 * number + k], 10_000),
        )
        for number, (model, template, shots) in enumerate(cells)
        for k in range(17)
    ]
    found = {(row.axis, row.level): row.summary for row in by_level(deltas)}
    for row in TABLES["appN_delta"]["rows"]:
        summary = found.pop((row["axis"], row["level"]))
        assert summary.sd is not None
        assert (summary.n, printed(summary.mean, 3)) == (row["N"], row["mean"])
        assert (printed(summary.sd, 3), printed(summary.max_absolute, 3)) == (row["sd"], row["max"])
    assert not found


def test_appendix_o() -> None:
    """54 cells at two precisions: the summary, the five that move most, every range and the one order that
    changes, from one grid."""
    cells = [
        (
            {
                "model": model,
                "benchmark": benchmark,
                "template": template,
                "scoring": scoring,
                "precision": side,
            },
            Fraction(value, 10_000),
        )
        for model, benchmark, template, scoring, nf4, bf16 in GRIDS["precision"]
        for side, value in (("nf4", nf4), ("bf16", bf16))
    ]
    found = paired_row(pair_levels(cells, "precision", "nf4", "bf16"), "nf4", "bf16")
    summary, expected = found.overall, TABLES["appO_top5"]["summary"]
    assert summary is not None
    assert (summary.cells, summary.over_5, summary.over_10) == (
        expected["cells"],
        expected["over5"],
        expected["over10"],
    )
    assert printed(100 * summary.mean_absolute, 2) == pytest.approx(expected["mean_abs"], abs=0.005)
    assert printed(100 * summary.median_absolute, 1) == expected["median_abs"]
    assert printed(100 * summary.max_absolute, 2) == expected["max_abs"]
    assert printed(100 * found.by_model["yi"].mean_absolute, 1) == expected["yi_mean_abs"]
    assert [found.same_order, found.orderings] == expected["ordering_match"]
    for moved, row in zip(found.largest, TABLES["appO_top5"]["rows"], strict=True):
        before, after = Fraction(*moved.left), Fraction(*moved.right)
        assert moved.cell.startswith(f"{row['model']}/{row['bench']}/")
        assert (printed(100 * before, 1), printed(100 * after, 1)) == (row["NF4"], row["BF16"])
        assert printed(100 * (after - before), 1) == row["delta"]
    for row in TABLES["appO_ranges"]["rows"]:
        for side in ("nf4", "bf16"):
            scores = [
                score
                for place, score in cells
                if (place["model"], place["benchmark"], place["precision"])
                == (row["model"], row["benchmark"], side)
            ]
            assert printed(disperse(scores).greatest - disperse(scores).least, 3) == row[side.upper()]
