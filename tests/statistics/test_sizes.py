"""Size of every test and coverage of every interval that a report prints, by simulation.

Each line prints its runs, the share, and the 95 % Monte Carlo interval (Clopper-Pearson): run it with
`pytest -m slow -s tests/statistics/test_sizes.py`. A test fails where that interval lies beyond the level it
is held to, which is .05 or .95 unless the table in docs/sizes.md says why not. What certifies beyond items is
in test_nulls.py, scores and gaps in tests/reports/test_intervals.py, the permutation of a curve in
test_curve.py, kappa's and Bang's usual cases in test_raters.py.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from gridc.reports.findings.hypotheses.finding import CORRECTIONS, Claim
from gridc.statistics import margins
from gridc.statistics.case_totals import (
    CaseTable,
    DesignMatrix,
    case_table,
    collapse,
    factor,
    treatment,
    with_dose,
)
from gridc.statistics.clustered_logit import Jackknife, NotEstimable, combination, fit, unit
from gridc.statistics.rank_tests import jonckheere_terpstra, page_trend
from gridc.statistics.raters import bang, kappa
from gridc.statistics.risk import (
    ArmSums,
    arm_sums,
    number_needed,
    percentile_interval,
    recovery,
    resampled_rates,
)
from gridc.statistics.variance import coefficient, components, resampled
from tests.statistics.test_effects import adjusted
from tests.statistics.test_nulls import told

pytestmark = pytest.mark.slow

ALPHA = 0.05
Table = np.ndarray[Any, Any]


class Counted(defaultdict[str, list[bool]]):
    """What happened in each run, by the name of what is counted."""

    def at_most(self, name: str, level: float, label: str) -> None:
        assert told(f"{label}: {name}", sum(self[name]), len(self[name]))[0] <= level, (label, name)

    def at_least(self, name: str, level: float, label: str) -> None:
        assert told(f"{label}: {name} (covered)", sum(self[name]), len(self[name]))[1] >= level, (label, name)


def counted() -> Counted:
    return Counted(list)


MODELS, ARMS = 6, 4


def answers(random: np.random.Generator, units: int, effect: float = 0.0) -> tuple[Table, Table, Table]:
    """Units that all six models answer under four arms: case, pattern (model, arm) and outcome of each row.
    Units differ in how hard they are, and differently for each model."""
    case = np.repeat(np.arange(units), MODELS * ARMS)
    pattern = np.tile(np.arange(MODELS * ARMS), units)
    model, arm = np.divmod(pattern, ARMS)
    hard, own = random.normal(1, 1.2, units), random.normal(0, 0.7, (units, MODELS))
    eta = hard[case] + own[case, model] + 0.3 * model + effect * (arm == 1)
    return case, pattern, (random.random(len(case)) < expit(eta)).astype(float)


PLACES = np.divmod(np.arange(MODELS * ARMS), ARMS)
FACTORS = [
    factor("arm", "abcd", ["abcd"[at] for at in PLACES[1]]),
    factor("model", "uvwxyz", ["uvwxyz"[at] for at in PLACES[0]]),
]
MAIN, CROSSED = treatment(FACTORS), treatment(FACTORS, [("arm", "model")])
DOSED = with_dose(treatment(FACTORS[1:]), "dose", PLACES[1].astype(float))


def errors(design: DesignMatrix, rows: tuple[Table, Table, Table]) -> Jackknife:
    """The errors that decide, of the fit to these rows."""
    count = len(design.matrix)
    fitted = fit(design.matrix, collapse(*rows, count))
    return Jackknife(design.matrix, case_table(*rows, count), fitted.coefficients)


@pytest.mark.parametrize(("units", "level"), [(8, 0.07), (15, 0.07), (30, 0.06), (120, ALPHA)])
def test_the_clustered_logit(units: int, level: float) -> None:
    """One contrast, three jointly, a dose and 15 interactions (from 30 units), where no arm does anything."""
    random, found = np.random.default_rng(units), counted()
    for _ in range(500):
        rows = answers(random, units)
        try:
            main, arms = errors(MAIN, rows), MAIN.places("arm")
            found["one contrast"].append(main.combination(unit(arms[0], len(MAIN.columns))).p <= ALPHA)
            found["three jointly"].append(main.joint(unit(arms, len(MAIN.columns))).p <= ALPHA)
            last = unit(len(DOSED.columns) - 1, len(DOSED.columns))
            found["a dose, one-sided"].append(errors(DOSED, rows).combination(last).p_greater <= ALPHA)
            if units >= 30:
                places = unit(CROSSED.places("arm", "model"), len(CROSSED.columns))
                found["15 interactions"].append(errors(CROSSED, rows).joint(places).p <= ALPHA)
        except NotEstimable:
            continue
    for name in found:
        found.at_most(name, level, f"clustered logit, {units} units")


@pytest.mark.parametrize(("units", "level"), [(15, 0.92), (120, 0.95)])
def test_an_odds_ratio_is_covered(units: int, level: float) -> None:
    """The truth is what the same model comes to on very many units."""
    random, found = np.random.default_rng(units), counted()
    at = unit(MAIN.places("arm")[0], len(MAIN.columns))
    many = fit(MAIN.matrix, collapse(*answers(random, 60_000, -0.6), MODELS * ARMS))
    truth = combination(many, at).estimate
    for _ in range(500):
        try:
            one = errors(MAIN, answers(random, units, -0.6)).combination(at)
        except NotEstimable:
            continue
        found["odds ratio"].append(one.low <= truth <= one.high)
    found.at_least("odds ratio", level, f"clustered logit, {units} units")


TWO = [
    factor("arm", "ab", ["abab"[at] for at in range(4)]),
    factor("model", "xy", ["xxyy"[at] for at in range(4)]),
]
UNEQUAL: dict[str, tuple[int, Callable[[np.random.Generator], Table]]] = {
    "one of 12 holds 60 %": (12, lambda random: np.array([66] + [4] * 11)),
    "one of 40 holds 60 %": (40, lambda random: np.array([234] + [4] * 39)),
    "one of 40 holds 30 %": (40, lambda random: np.array([67] + [4] * 39)),
    "one of 100 holds 60 %": (100, lambda random: np.array([594] + [4] * 99)),
    "Pareto sizes, 20": (20, lambda random: np.ceil(random.pareto(1.1, 20) + 1).clip(1, 400).astype(int)),
    "Pareto sizes, 60": (60, lambda random: np.ceil(random.pareto(1.1, 60) + 1).clip(1, 400).astype(int)),
    "lognormal sizes, 60": (60, lambda random: np.ceil(4 * np.exp(random.normal(0, 1, 60))).astype(int)),
}


@pytest.mark.parametrize("world", UNEQUAL)
def test_the_clustered_logit_of_unequal_units(world: str) -> None:
    """Every unit reacts in its own way, up or down, and on average not at all. Also how the errors as
    published do, which do not decide."""
    units, sizes = UNEQUAL[world]
    random, found, design = np.random.default_rng(units), counted(), treatment(TWO)
    at = unit(1, 3)
    for _ in range(600):
        size = sizes(random)
        case = np.repeat(np.arange(units), 4 * size)
        pattern = np.concatenate([np.tile(np.arange(4), each) for each in size])
        react = random.normal(0, 0.8, units)[case] * (pattern % 2)
        eta = random.normal(0.5, 1, units)[case] + react + 0.4 * (pattern > 1)
        rows = case, pattern, (random.random(len(case)) < expit(eta)).astype(float)
        try:
            one = errors(design, rows).combination(at)
            published = combination(fit(design.matrix, collapse(*rows, 4)), at)
        except NotEstimable:
            continue
        assert (one.low <= 0 <= one.high) is (one.p > ALPHA)
        found["as published"].append(published.p <= ALPHA)
        found["a difference"].append(one.p <= ALPHA)
        found["a difference is decided"].append(one.p <= ALPHA and one.spread.enough)
    told(f"{world}: as published", sum(found["as published"]), len(found["as published"]))
    for name in ("a difference", "a difference is decided"):
        found.at_most(name, ALPHA, world)


@pytest.mark.parametrize("units", [30, 100, 300])
def test_what_the_floor_takes_of_ordinary_studies(units: int) -> None:
    """Equal units, of which a fifth of the answers is left out: differences that are found and not decided,
    and found as published and not found here."""
    random, at = np.random.default_rng(units), unit(MAIN.places("arm")[0], len(MAIN.columns))
    floored = lost = published = 0
    for _ in range(200):
        rows = answers(random, units, -0.4 * np.sqrt(100 / units))
        kept = random.random(len(rows[0])) < 0.8
        some = rows[0][kept], rows[1][kept], rows[2][kept]
        try:
            one = errors(MAIN, some).combination(at)
            plain = combination(fit(MAIN.matrix, collapse(*some, MODELS * ARMS)), at)
        except NotEstimable:
            continue
        floored += one.p <= ALPHA and not one.spread.enough
        published += plain.p <= ALPHA
        lost += plain.p <= ALPHA < one.p
    assert told(f"{units} equal units: found and below the floor", floored, 200)[0] <= 0.0
    assert told(f"{units} equal units: found as published alone", lost, published)[0] <= ALPHA


@pytest.mark.parametrize("predictions", [1, 3])
def test_one_level_covers_both_verdicts(predictions: int) -> None:
    """Predictions with a side where nothing moves: support and refutation are both false. Corrected apart,
    some verdict is false in nearly twice as many studies as alpha says."""
    random, found = np.random.default_rng(predictions), counted()
    places = MAIN.places("arm")[:predictions]
    for _ in range(800):
        fitted = errors(MAIN, answers(random, 60))
        up = [fitted.combination(unit(at, len(MAIN.columns))).p_greater for at in places]
        claims: dict[Claim, float] = {}
        for number, p in enumerate(up):
            claims |= {(str(number), "support"): p, (str(number), "refute"): 1 - p}
        both = CORRECTIONS["holm"](claims, dict.fromkeys(map(str, range(predictions)), 2))
        found["some verdict"].append(min(both.values()) <= ALPHA)
        apart = predictions * min(claims.values())
        found["some verdict, each direction by itself"].append(apart <= ALPHA)
    found.at_most("some verdict", ALPHA, f"{predictions} predictions with a side")
    name = "some verdict, each direction by itself"
    assert told(f"{predictions} predictions: {name}", sum(found[name]), 800)[0] > ALPHA


@pytest.mark.parametrize(("units", "size"), [(20, 10), (60, 10), (150, 4)])
def test_margins_where_nearly_all_units_are_alike(units: int, size: int) -> None:
    """Nearly every unit changes in the same way and one in a few loses everything, at the margin: resamples
    of units without such a one show no spread, or next to none."""
    random, found = np.random.default_rng(units), counted()
    rare = 2.0 / units
    margin = rare  # the others keep what they have
    for run in range(1000):
        lost = random.random(units) < rare
        rows = np.full((units, 2), float(size))
        sums = np.column_stack([np.full(units, float(size)), np.where(lost, 0.0, size)])
        table = CaseTable(rows, sums, np.ones(units, dtype=np.int64))
        found["non-inferiority"].append(margins.above(table, 1, 0, -margin) <= ALPHA)
        found["equivalence"].append(margins.within(table, 1, 0, margin) <= ALPHA)
        worse = margins.outside(table, 1, 0, margin + 1e-9)
        found["as large as the margin"].append(worse <= ALPHA)
        if run < 300:
            drawn = resampled_rates(arm_sums(*flat(sums), 2, size), 999, run)
            ends = percentile_interval(drawn[:, 1] - drawn[:, 0], units, 1 - 2 * ALPHA)
            found["non-inferiority by the bootstrap"].append(ends is not None and ends.low > -margin)
    for name in ("non-inferiority", "equivalence", "as large as the margin"):
        found.at_most(name, ALPHA, f"{units} units, one in {units // 2} loses all")
    name = "non-inferiority by the bootstrap"
    told(f"{units} units: {name}", sum(found[name]), len(found[name]))


def flat(sums: Table) -> tuple[Table, Table, Table]:
    """Case, arm and sum of every entry."""
    units, arms = sums.shape
    return np.repeat(np.arange(units), arms), np.tile(np.arange(arms), units), sums.ravel()


def paired(
    random: np.random.Generator, units: int, gaps: Sequence[float], size: int = 3
) -> tuple[Table, ArmSums]:
    """Rates of arms by unit, (units, arms), and their sums: the first arm's rate and what each adds."""
    level = np.clip(random.beta(6, 4, units), 0.2, 0.8)
    shift = np.array([0.0, *gaps])
    sums = random.binomial(size, np.clip(level[:, None] + shift, 0, 1))
    arms = len(shift)
    rows = np.full(units * arms, size)
    found = arm_sums(
        np.repeat(np.arange(units), arms), np.tile(np.arange(arms), units), sums.ravel(), arms, rows
    )
    return sums / size, found


@pytest.mark.parametrize(("units", "slack"), [(12, 0.02), (40, 0.01), (150, 0.0)])
def test_differences_margins_ratios_and_numbers_needed(units: int, slack: float) -> None:
    random, found = np.random.default_rng(units), counted()
    for run in range(800):
        _, sums = paired(random, units, (-0.1, 0.0))
        rates = resampled_rates(sums, 999, run)
        gap, none = rates[:, 1] - rates[:, 0], rates[:, 2] - rates[:, 0]
        ends, still = (percentile_interval(values, units, 0.95) for values in (gap, none))
        found["difference"].append(ends is not None and ends.low <= -0.1 <= ends.high)
        found["no difference"].append(still is not None and still.holds_zero)
        table = CaseTable(sums.rows.astype(float), sums.sums, sums.cases)
        found["equivalence at the margin"].append(margins.within(table, 1, 0, 0.1) <= ALPHA)
        found["non-inferiority at the margin"].append(margins.above(table, 1, 0, -0.1) <= ALPHA)
        found["outside the margin"].append(margins.outside(table, 1, 0, 0.1) <= ALPHA)
        with np.errstate(divide="ignore"):
            logs = np.log(rates[:, 1]) - np.log(rates[:, 0])
        ratio = percentile_interval(logs, units, 0.95) if np.isfinite(logs).all() else None
        truth = np.log((TRUE - 0.1) / TRUE)
        found["risk ratio"].append(ratio is not None and ratio.low <= truth <= ratio.high)
        found["number needed"].append(holds_number(number_needed(float(gap.mean()), ends), -0.1))
        found["number needed, none"].append(holds_number(number_needed(float(none.mean()), still), 0.0))
    for name in ("difference", "no difference", "risk ratio", "number needed", "number needed, none"):
        found.at_least(name, 0.95 - slack, f"{units} units")
    for name in ("equivalence at the margin", "non-inferiority at the margin", "outside the margin"):
        found.at_most(name, ALPHA, f"{units} units")


TRUE = float(np.clip(np.random.default_rng(0).beta(6, 4, 4_000_000), 0.2, 0.8).mean())
"""The rate of the first arm."""


def holds_number(found: Any, difference: float) -> bool:
    """Whether Altman's interval, or the plain one, holds 1 / difference on the side of its sign."""
    number = 1 / abs(difference) if difference else inf
    if found.low is not None:
        side = "harm" if difference < 0 else "benefit"
        return bool(found.kind == side and found.low <= number <= found.high)
    if found.harm is None:
        return False
    return bool(number >= (found.harm if difference <= 0 else found.benefit))


@pytest.mark.parametrize("loss", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("units", [60, 400])
def test_recovery(units: int, loss: float) -> None:
    """Half of a loss is taken back. Both intervals as they are printed: where that of the loss lies above 0.
    A small loss of few units is then printed only where it came out large, and what is printed covers less:
    docs/sizes.md."""
    random, found = np.random.default_rng(units), counted()
    for run in range(600):
        means, sums = paired(random, units, (-loss, -loss / 2), 1)
        rates = resampled_rates(sums, 999, run)
        ends = percentile_interval(rates[:, 0] - rates[:, 1], units, 0.95)
        if ends is None or ends.holds_zero:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (rates[:, 2] - rates[:, 1]) / (rates[:, 0] - rates[:, 1])
        drawn = percentile_interval(shares, units, 0.95) if np.isfinite(shares).all() else None
        fieller = recovery(*means.T).interval
        for name, interval in (("paired bootstrap", drawn), ("Fieller", fieller)):
            if interval is not None:
                found[name].append(interval.low <= 0.5 <= interval.high)
    for name in found:
        found.at_least(name, 0.0, f"recovery of a loss of {loss}, {units} units")


def test_families_of_contrasts_that_share_their_reference() -> None:
    """Three arms against one: Holm's chance of any false claim, and Benjamini-Hochberg's share of false
    ones where one of the three is real."""
    random, any_false, share = np.random.default_rng(1), counted(), []
    places = MAIN.places("arm")
    for _ in range(600):
        fits = (errors(MAIN, answers(random, 60, effect)) for effect in (0.0, -0.8))
        p, q = ([one.combination(unit(at, len(MAIN.columns))).p for at in places] for one in fits)
        any_false["Holm"].append(min(adjusted(p, "holm")) <= ALPHA)
        any_false["Benjamini-Hochberg"].append(min(adjusted(p, "bh")) <= ALPHA)
        any_false["uncorrected"].append(min(p) <= ALPHA)
        named = [at for at, value in enumerate(adjusted(q, "bh")) if value <= ALPHA]
        share.append(sum(at != 0 for at in named) / max(len(named), 1))
    any_false.at_most("Holm", ALPHA, "any of three")
    any_false.at_most("Benjamini-Hochberg", ALPHA, "any of three")
    assert told("any of three: uncorrected", sum(any_false["uncorrected"]), 600)[0] > ALPHA
    error = 2 * np.std(share) / np.sqrt(len(share))
    print(f"Benjamini-Hochberg, false among those named: {np.mean(share):.3f} +- {error:.3f}")
    assert np.mean(share) - error <= ALPHA


@pytest.mark.parametrize("units", [6, 20, 100])
def test_trends_by_rank_with_ties(units: int) -> None:
    """Outcomes of 0 and 1, so that most ranks are ties. Levels that share units, as a report's do, and levels
    that do not, which is what Jonckheere and Terpstra's test is of."""
    random, found = np.random.default_rng(units), counted()
    for _ in range(4000):
        rate = random.beta(2, 1, (units, 1))
        shared = (random.random((units, 4)) < rate).astype(float)
        apart = (random.random((units, 4)) < 2 / 3).astype(float)
        found["Page, shared"].append(page_trend(shared).p <= ALPHA)
        found["Jonckheere-Terpstra, apart"].append(jonckheere_terpstra(list(apart.T)).p <= ALPHA)
        found["Jonckheere-Terpstra, shared"].append(jonckheere_terpstra(list(shared.T)).p <= ALPHA)
    for name in found:
        found.at_most(name, ALPHA if units >= 20 else 0.06, f"{units} units")


@pytest.mark.parametrize(("n", "rare"), [(20, 0.3), (50, 0.3), (50, 0.05), (200, 0.05)])
def test_kappa_of_few_responses_and_of_rare_labels(n: int, rare: float) -> None:
    random, found = np.random.default_rng(n), counted()
    wrong = 0.1
    p = rare * (1 - wrong) + (1 - rare) * wrong
    chance = p**2 + (1 - p) ** 2
    truth = ((1 - wrong) ** 2 + wrong**2 - chance) / (1 - chance)
    for _ in range(1500):
        true = random.random(n) < rare
        one, two = (np.where(random.random(n) < wrong, ~true, true) for _ in range(2))
        ends = kappa([str(v) for v in one], [str(v) for v in two])
        if ends.low is not None and ends.high is not None:
            found["kappa"].append(ends.low <= truth <= ends.high)
    found.at_least("kappa", 0.95, f"{n} responses, a label at {rare}")


@pytest.mark.parametrize("n", [10, 20, 60])
@pytest.mark.parametrize("shares", [(0.25, 0.75, 0.0), (0.2, 0.6, 0.2), (0.9, 0.05, 0.05)])
def test_bangs_index(n: int, shares: tuple[float, float, float]) -> None:
    random, found = np.random.default_rng(n), counted()
    for right, wrong, unknown in random.multinomial(n, shares, 1000).tolist():
        ends = bang("a", [True] * right + [False] * wrong + [None] * unknown, 4)
        found["index"].append(ends.low - 1e-12 <= shares[0] - shares[1] <= ends.high + 1e-12)
    found.at_least("index", 0.95, f"Bang, {n} guesses, {shares}")


@pytest.mark.parametrize("models", [6, 20])
@pytest.mark.parametrize("fixed", [("first", "second"), ()])
def test_the_generalizability_of_models(models: int, fixed: tuple[str, ...]) -> None:
    """Tables of models, four scaffolds and four benchmarks with components of the same size."""
    random, found = np.random.default_rng(models), counted()
    truth = coefficient(components(world(random, 20_000)), fixed).coefficient
    assert truth is not None
    for run in range(300):
        drawn = resampled(world(random, models), fixed, 999, run)
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        found["coefficient"].append(low <= truth <= high)
    found.at_least("coefficient", 0.0, f"{models} models, {' and '.join(fixed) or 'neither'} fixed")


def world(random: np.random.Generator, models: int) -> Table:
    sizes = ((models, 1, 1), (1, 4, 1), (1, 1, 4), (models, 4, 1), (models, 1, 4), (models, 4, 4))
    table = np.full((models, 4, 4), 0.6)
    for size in sizes:
        table = table + random.normal(0, 0.08, size)
    return table
