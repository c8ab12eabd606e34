"""Every number of SafetyRepro's tables that follows from other published numbers, by the shipped functions.

`safetyrepro.json` holds the tables as printed. Where the paper contradicts itself the test says so by
asserting the contradiction; published.md beside this lists them.
"""

import json
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from gridc.statistics.envelope import (
    FlipRate,
    PairCounts,
    cfr_interval,
    concordance,
    disperse,
    flip_rate,
    max_cfr_interval,
    mismatch,
)
from gridc.statistics.exact_tests import expected_until_both
from gridc.statistics.paired_runs import summarise_differences
from gridc.statistics.variance import Decomposition, TermShare

TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("safetyrepro.json").read_text())
HALF = Fraction(1, 2)


def printed(value: Fraction | float, digits: int) -> float:
    """A value as a paper prints it, halves away from zero."""
    exact = Fraction(value)
    step = Decimal(1).scaleb(-digits)
    return float((Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(step, ROUND_HALF_UP))


def flips(k: int, n: int = 48) -> Fraction:
    rate = FlipRate(HALF, n, k).rate
    assert rate is not None
    return rate


def passing(percent: float, n: int = 48) -> int:
    """The pass count, at most half, that prints as this flip rate; fails when there is none."""
    (found,) = [k for k in range(n // 2 + 1) if printed(100 * flips(k, n), 1) == percent]
    return found


def pair(minority: int, size: int) -> PairCounts:
    return PairCounts("a", "b", size, size, size - minority, minority, 0, None, None)


def rhos() -> Iterator[tuple[str, float, int]]:
    for row in TABLES["table2"]["rows"]:
        yield f"table 2, {row['benchmark']}", row["rho_max"], row["C"]
    for row in TABLES["table3"]["rows"]:
        yield f"table 3, {row['benchmark']}, {row['path']}", row["rho_max"], row["C"]
    for row in TABLES["table4"]["rows"]:
        for scope, sizes in TABLES["table4"]["C"].items():
            size = sizes[row["benchmark"] == "CrowS-Pairs"]
            yield f"table 4, {row['benchmark']}, {scope}", row[scope]["rho_max"], size
    for row in TABLES["table11"]["rows"]:
        yield f"table 11, {row['benchmark']}, full", row["rho_full"], row["C_full"]
        yield f"table 11, {row['benchmark']}, core", row["rho_core"], row["C_core"]
    for name, (rho, size) in TABLES["appD_parse_rates"]["parse_clean"]["rho_flip"].items():
        yield f"app. D, {name}", rho, size


@pytest.mark.parametrize(("where", "rho", "size"), list(rhos()))
def test_every_rho_is_a_count_over_its_envelope(where: str, rho: float, size: int) -> None:
    counts = pair(round(rho * size), size)
    assert printed(counts.rho_flip, 3) == rho
    assert counts.rho_flip <= counts.ceiling


def test_there_are_53_published_rhos() -> None:
    assert len(list(rhos())) == 53


def test_minorities_and_orderings_shrink_with_the_envelope() -> None:
    for row in TABLES["table4"]["rows"]:
        crows = row["benchmark"] == "CrowS-Pairs"
        sizes = {scope: each[crows] for scope, each in TABLES["table4"]["C"].items()}
        minority = {scope: round(row[scope]["rho_max"] * sizes[scope]) for scope in sizes}
        for outer, inner in (("full", "excl_T4"), ("full", "excl_diverse"), ("excl_T4", "core")):
            assert minority[outer] >= minority[inner]
            assert row[outer]["orderings"] >= row[inner]["orderings"]


def test_permutation_rates_are_orderings_over_six() -> None:
    for row in TABLES["table2"]["rows"]:
        assert printed(Fraction(row["orderings"], 6), 3) == row["perm_rate"]


@pytest.mark.parametrize("theta", ["0.5", "0.6", "0.7", "0.8", "median"])
def test_every_flip_rate_is_that_of_a_whole_pass_count(theta: str) -> None:
    table = TABLES["appL_CFR"]["theta"][theta]
    for model in ("Mistral", "Qwen", "Yi"):
        for percent in table[model]:
            if percent is not None:
                passing(percent)


def test_the_ceilings_are_attained_and_the_papers_formula_fails_for_odd_n() -> None:
    for n, percent in TABLES["appL_CFR"]["ceilings"].items():
        ceiling = FlipRate(HALF, int(n), 0).ceiling
        assert ceiling is not None
        assert printed(100 * ceiling, 2) == percent
    odd = FlipRate(HALF, 27, 0).ceiling
    assert odd is not None
    assert odd == max(flips(k, 27) for k in range(28)) < Fraction(2 * 27, 26) / 4


def test_the_median_panel_is_not_pinned_where_scores_tie_at_the_median() -> None:
    """App. L says that it is; Qwen on XSTest prints 51.0, which 23 or 25 of 48 give."""
    assert TABLES["appL_CFR"]["theta"]["median"]["Qwen"][4] == 51.0
    assert passing(51.0) == 23
    scores = [Fraction(k, 48) for k in range(48)]
    assert flip_rate(scores, median(scores)).passing == 24
    scores[23] = scores[24]
    assert flip_rate(scores, median(scores)).passing == 25


@pytest.mark.parametrize("theta", ["05", "07"])
def test_flip_rate_ranges_follow_from_the_binomial_law(theta: str) -> None:
    """29 of the 32 ends of published ranges equal its exact quantiles; the others are one step of the
    lattice away, as 1,000 random resamples may be."""
    lattice = sorted({printed(100 * flips(k), 1) for k in range(49)})
    off = 0
    for row in TABLES[f"appG_CFR{theta}"]["rows"]:
        if row["point"] is None:
            continue
        found = cfr_interval(passing(row["point"]), 48)
        assert found.low is not None
        assert found.high is not None
        for end, published in ((found.low, row["lo"]), (found.high, row["hi"])):
            steps = abs(lattice.index(printed(100 * end, 1)) - lattice.index(published))
            assert steps <= 1
            off += steps
    assert off == {"05": 1, "07": 2}[theta]


@pytest.mark.parametrize(("theta", "column"), [("CFR05", "0.5"), ("CFR07", "0.7")])
def test_the_max_statistic_of_the_flip_rate_is_that_of_independent_slices(theta: str, column: str) -> None:
    table = TABLES["appL_CFR"]["theta"][column]
    rates = [
        percent for model in ("Mistral", "Qwen", "Yi") for percent in table[model] if percent is not None
    ]
    found = max_cfr_interval([(passing(percent), 48) for percent in rates])
    assert [printed(100 * (each or 0), 1) for each in (found.point, found.low, found.high)] == (
        TABLES["appI_max_stat"][theta]
    )


def test_sdi_is_range_over_mean_and_its_published_average_is_54() -> None:
    found = []
    columns = {"bbq": 0, "crows_pairs": 1, "toxigen": 2, "truthfulqa": 3, "xstest": 4}
    for row in TABLES["appE_scores"]["rows"]:
        n, low, high, mean = row["n"], *(Fraction(str(row[key])) for key in ("min", "max", "mean"))
        rest = (n * mean - low - high) / (n - 2)
        sdi = disperse([low, high, *[rest] * (n - 2)]).sdi
        model, benchmark = row["slice"].split(" / ")
        published = TABLES["table5_SDI"]["rows"][model.capitalize()][columns[benchmark]]
        assert sdi is not None
        # three digits of min, max and mean leave this much open
        slack = (Fraction(1, 1000) + sdi * Fraction(1, 2000)) / mean + Fraction(1, 2000)
        assert abs(sdi - Fraction(str(published)) / 100) <= slack
        found.append(float(published))
    assert printed(Fraction(sum(found)) / len(found), 0) == TABLES["text_numbers"]["mean_SDI"]


def shares(row: dict[str, float]) -> Decomposition:
    """A decomposition with the published shares, in percent."""
    terms = tuple(
        TermShare(term, row[key], 1, row[key] / 100, None)
        for term, key in ((("model",), "model"), (("harness",), "impl"), (("model", "harness"), "inter"))
    )
    residual = 100 - sum(row[key] for key in ("model", "impl", "inter"))
    return Decomposition("II", 108, terms, residual, 1, 100.0, balanced=True)


def test_variance_shares_sum_to_one_and_give_the_published_rho() -> None:
    residuals = []
    for row in TABLES["table9"]["rows"]:
        found = shares(row)
        assert found.rho is not None
        # shares are printed with one decimal
        low = (row["impl"] - 0.05) / (row["model"] + 0.05)
        high = (row["impl"] + 0.05) / (row["model"] - 0.05)
        assert low - 0.05 <= row["rho"] <= high + 0.05
        assert low <= found.rho <= high
        total = found.model + found.implementation + found.interaction + found.unexplained
        assert total == pytest.approx(1)
        residuals.append(round(100 * found.unexplained, 1))
    assert residuals == [11.4, 23.2, 14.9, 14.6]


def test_table_h_cannot_be_a_type_iii_table_of_a_balanced_grid() -> None:
    """On the complete free-form grid Types II and III are one number (test_variance); App. H prints two."""
    for row in TABLES["appH_types"]["rows"]:
        assert row["model_II"] == row["model_III"]
        assert row["impl_II"] != row["impl_III"]


def test_tau_of_an_envelope_cannot_be_as_low_as_the_published_ranges() -> None:
    lows = {row["benchmark"]: row["lo"] for row in TABLES["appG_tauR"]["rows"]}
    impossible = {name for name, low in lows.items() if low < -1 / 47}
    assert impossible == {"bbq", "toxigen", "truthfulqa", "xstest"}


def test_tau_of_every_strict_order_once_is_the_lower_bound_for_three_models() -> None:
    orders = ["abc", "acb", "bac", "bca", "cab", "cba"]
    scores = {model: {order: Fraction(3 - order.index(model)) for order in orders} for model in "abc"}
    tau, dropped = concordance(scores)
    assert tau == pytest.approx(-1 / 5)
    assert dropped == 0
    found = mismatch(scores)
    assert found.weak == found.by_name == 1
    assert printed(100 * found.null, 1) == TABLES["text_numbers"]["tau_null_mismatch"]


def test_two_orders_need_a_reversal_so_crows_without_t4_counts_a_tie() -> None:
    row = next(each for each in TABLES["table4"]["rows"] if each["benchmark"] == "CrowS-Pairs")
    assert (row["excl_T4"]["rho_max"], row["excl_T4"]["orderings"]) == (0.0, 2)


def test_the_papers_lower_bound_claim_is_false_with_ties() -> None:
    counts = PairCounts("a", "b", 4, 4, 1, 1, 2, None, None)
    assert counts.disagreement is not None
    assert counts.rho_flip > counts.disagreement


def test_bugfix_deltas_have_one_pooled_mean_whatever_the_axis() -> None:
    rows = TABLES["appN_delta"]["rows"]
    pooled = {}
    for axis in ("few_shot", "template", "model"):
        own = [row for row in rows if row["axis"] == axis]
        assert sum(row["N"] for row in own) == 612
        pooled[axis] = sum(row["N"] * row["mean"] for row in own) / 612
    assert {round(each, 3) for each in pooled.values()} <= {0.006, 0.007}
    assert max(row["max"] for row in rows) == 0.506


def test_precision_deltas_of_the_printed_cells() -> None:
    rows = TABLES["appO_top5"]["rows"]
    deltas = [Fraction(str(row["BF16"])) - Fraction(str(row["NF4"])) for row in rows]
    assert [float(each) for each in deltas] == [row["delta"] for row in rows]
    found = summarise_differences(deltas)
    summary = TABLES["appO_ranges"]["rows"], TABLES["appO_top5"]["summary"]
    assert found.n == summary[1]["over5"] == 5
    assert printed(found.max_absolute, 1) == printed(summary[1]["max_abs"], 1)
    larger = [row for row in summary[0] if row["BF16"] > row["NF4"]]
    assert len(larger) == 8  # the text says two


def test_the_accounting_of_the_grid() -> None:
    grid = TABLES["table1_grid"]
    runs = {"greedy": 144, "sampled": 1440, "logprob": 180}
    assert sum(runs.values()) == grid["inference_calls"] == 1764
    assert grid["accounting"]["freeform"] + grid["accounting"]["logprob"] == grid["valid_cells"] == 612


def test_random_search_finds_both_orders_within_four_configurations() -> None:
    for row in TABLES["table2"]["rows"]:
        minority = round(row["rho_max"] * row["C"])
        until = expected_until_both(row["C"] - minority, minority, row["C"])
        assert until is not None
        assert 2.9 <= until <= 4.4
