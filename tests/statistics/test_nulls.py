"""How often a claim is made where there is nothing to claim, by simulation: at most alpha, or it is said why.

Every test prints its runs, the share that was false and the 95 % Monte Carlo interval (Clopper-Pearson):
run it with `pytest -m slow -s tests/statistics/test_nulls.py`. A test fails where that interval lies above
alpha."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
from scipy.stats import beta

from gridc.reports.findings.certification import ASKED, CHOSEN, FULL, Region, claim_evidence
from gridc.reports.findings.hypotheses.ranking import ranking_p_values
from gridc.reports.findings.scores import Outcomes
from gridc.statistics import exact_tests, sign_flips
from gridc.statistics.arrays import Whole
from gridc.statistics.betting import Race
from gridc.statistics.envelope import Direction
from tools.certificates.power import groups
from tools.certificates.simulate import World, pair_world

pytestmark = pytest.mark.slow

ALPHA, SIZE = 0.05, 48


def told(name: str, false: int, runs: int) -> tuple[float, float]:
    """Prints the share of false claims with its interval, and gives the interval."""
    low = float(beta.ppf(0.025, false, runs - false + 1)) if false else 0.0
    high = float(beta.ppf(0.975, false + 1, runs - false)) if false < runs else 1.0
    print(f"{name}: {false} of {runs} false, {false / runs:.3f} [{low:.3f}, {high:.3f}]")
    return low, high


def at_most_alpha(name: str, false: int, runs: int) -> None:
    assert told(name, false, runs)[0] <= ALPHA


def reversal(tests: exact_tests.PairTests) -> float:
    return max(exact_tests.somewhere(p, tests.kind, len(p)) for p in (tests.plus, tests.minus))


def order(tests: exact_tests.PairTests) -> float:
    """Adjusted for the two directions."""
    return 2 * min(exact_tests.everywhere(tests.plus), exact_tests.everywhere(tests.minus))


def supported(
    differences: Whole, contrasts: Whole, seed: int, flips: int = 499, span: int = 0
) -> tuple[float, float]:
    """p of the reversal, and the smaller p of "somewhere" in either direction, doubled."""
    signs = sign_flips.random_signs(differences.shape[1], flips, seed)
    found = sign_flips.max_t_alone(differences, contrasts, signs)
    found = sign_flips.where_seen(found, differences, contrasts, span or int(np.abs(differences).max()))
    up, down = float(found.plus.min()), float(found.minus.min())
    return max(up, down), 2 * min(up, down)


NULLS = {
    "equal": np.zeros(SIZE),
    "better in one": np.where(np.arange(SIZE) == 0, 0.15, 0.0),
    "better in half": np.where(np.arange(SIZE) < SIZE // 2, 0.15, 0.0),
    "better everywhere": np.full(SIZE, 0.05),
}


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("own", [0.0, 0.55])
def test_models_that_do_not_reverse(null: str, own: float) -> None:
    """While rho_flip is above 0 in most runs: by chance of the items."""
    runs, random, world = 1000, np.random.default_rng(3), pair_world(NULLS[null], own=own)
    contrasts, better = groups(), NULLS[null] > 0
    certified = flipped = named = observed = 0
    for run in range(runs):
        a, b = world.outcomes(295, random)
        tests = exact_tests.mcnemar_tests(a - b)
        certified += reversal(tests) <= ALPHA
        flipped += supported(a - b, contrasts, run)[0] <= ALPHA
        up, down = (np.array(exact_tests.holm(p.tolist())) <= ALPHA / 2 for p in (tests.plus, tests.minus))
        named += bool(down.any() or (up & ~better).any())
        gaps = (a - b).sum(axis=1)
        observed += bool((gaps > 0).any() and (gaps < 0).any())
    at_most_alpha(f"{null}, own {own}: reversal certified", certified, runs)
    at_most_alpha(f"{null}, own {own}: reversal supported", flipped, runs)
    at_most_alpha(f"{null}, own {own}: a wrong name", named, runs)
    if null != "better everywhere":
        assert told(f"{null}, own {own}: rho_flip above 0", observed, runs)[0] > 0.5


SKEWED = {
    "rare losses of whole families": ((-4, 0, 1), (0.04, 0.80, 0.16)),
    "rarer losses": ((-4, 1), (0.2, 0.8)),
    "rare gains of whole families": ((4, -1), (0.2, 0.8)),
    "one loss in fifty": ((-49, 1), (0.02, 0.98)),
}


@pytest.mark.parametrize("skew", SKEWED)
@pytest.mark.parametrize("units", [40, 400])
def test_families_that_are_skewed_and_agree_on_average(skew: str, units: int) -> None:
    """Two configurations show the same families. Nothing is certified of them and nothing supported, though
    by flips alone it would be."""
    values, chances = SKEWED[skew]
    assert np.dot(values, chances) == pytest.approx(0)
    runs, random, span = 2000, np.random.default_rng(5), max(abs(each) for each in values)
    certified = ordered = flipped = 0
    for run in range(runs):
        shown = random.choice(values, p=chances, size=units)
        differences = np.stack([shown, shown])
        tests = exact_tests.betting_tests(differences, span, 8)
        certified += (
            min(exact_tests.somewhere(p, "betting", 2) for p in (tests.plus, tests.minus)) <= ALPHA / 2
        )
        ordered += order(tests) <= ALPHA
        flipped += supported(differences, np.eye(2, dtype=np.int64), run, 199, span)[1] <= ALPHA
    at_most_alpha(f"{skew}, {units} units: a direction certified", certified, runs)
    at_most_alpha(f"{skew}, {units} units: an order certified", ordered, runs)
    at_most_alpha(f"{skew}, {units} units: a direction supported", flipped, runs)


def plain(differences: Whole, contrasts: Whole, seed: int, flips: int = 499) -> float:
    """The smaller p of "somewhere" in either direction, doubled, by flips of t as it is."""
    signs = sign_flips.random_signs(differences.shape[1], flips, seed)
    rows = contrasts @ differences
    rows = rows / np.maximum(np.sqrt((rows**2).sum(axis=1)), 1e-300)[:, None]
    t, drawn = rows.sum(axis=1), rows @ signs
    sides = ((drawn.max(axis=0) >= t.max() - 1e-12), ((-drawn).max(axis=0) >= (-t).max() - 1e-12))
    return 2 * min(float(1 + side.sum()) / (1 + flips) for side in sides)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("units", "expected"), [(24, 0.7), (24, 10), (60, 10), (200, 3), (200, 10), (200, 20)]
)
def test_a_template_that_loses_rarely(units: int, expected: float, together: bool) -> None:
    """So many templates, on average, lose all and the others gain what makes up for it, so that models agree,
    in four configurations at once or in each by itself. In half of the studies none may be drawn."""
    runs, random, rare = 1000, np.random.default_rng(units + int(expected)), expected / units
    contrasts = np.vstack([np.eye(4, dtype=np.int64), np.ones((1, 4), dtype=np.int64)])
    supports = alone = 0
    for run in range(runs):
        lost = random.random((1 if together else 4, units)) < rare
        gained = np.where(lost, -1000, round(1000 * rare / (1 - rare)))
        differences = np.broadcast_to(gained, (4, units)).astype(np.int64)
        supports += supported(differences, contrasts, run, 199, 1000)[1] <= ALPHA
        alone += plain(differences, contrasts, run, 199) <= ALPHA
    world = f"{units} templates, {expected:g} lose, {'together' if together else 'apart'}"
    told(f"{world}: a direction by flips of t", alone, runs)
    at_most_alpha(f"{world}: a direction supported", supports, runs)


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(("units", "gap"), [(30, 0.13), (100, 0.07), (300, 0.04)])
def test_ordinary_studies_keep_what_flips_of_t_find(units: int, gap: float, size: int) -> None:
    """Of directions in ordinary studies of equal units, hardly any is lost to the look at skewness and to
    that for units that go against it: 1 in 15 of few units, 1 in 50 of many."""
    runs, contrasts = 150, np.vstack([np.eye(12, dtype=np.int64), np.kron(np.eye(3), np.ones(4)).astype(int)])
    world, random = (
        pair_world(np.full(12, gap * 2 if size == 1 else gap)),
        np.random.default_rng(units + size),
    )
    found = lost = 0
    for run in range(runs):
        a, b = world.outcomes(units * size, random)
        differences = (a - b).reshape(12, units, size).sum(axis=-1)
        if plain(differences, contrasts, run) <= ALPHA:
            found += 1
            lost += supported(differences, contrasts, run, span=size)[1] > ALPHA
    print(f"{units} units of {size}: {lost} of {found} directions lost")
    assert found > 50
    assert lost <= (0.15 if units == 30 else 0.02) * found


@pytest.mark.parametrize("expected", [1.5, 10])
def test_items_that_favour_one_model_once_or_the_other_everywhere(expected: float) -> None:
    """No configuration favours anybody; an item puts a ahead in one of 24 configurations, or b in all of
    them, so many of each. The average over configurations is skewed although each is not."""
    runs, random, size, units = 600, np.random.default_rng(12), 24, 400
    contrasts = np.vstack([np.eye(size, dtype=np.int64), np.ones((1, size), dtype=np.int64)])
    false = 0
    for run in range(runs):
        *ahead, behind, _ = random.multinomial(
            units, [*[expected / units] * (size + 1), 1 - (size + 1) * expected / units]
        )
        columns = [
            np.repeat(np.eye(size, dtype=np.int64)[at][:, None], n, axis=1) for at, n in enumerate(ahead)
        ]
        differences = np.hstack([*columns, -np.ones((size, behind), dtype=np.int64)])
        false += supported(differences, contrasts, run, 399)[1] <= ALPHA
    judged = at_most_alpha if expected >= 10 else told
    judged(f"once or everywhere, {expected:g} of each: a direction supported", false, runs)


@pytest.mark.parametrize("items", [800, 2000])
def test_templates_whose_items_resemble_each_other(items: int) -> None:
    """25 templates, an intra-template correlation of .02 of what a template is for one model. Families of
    four as units are too fine; the templates are right."""
    runs, random, templates, configurations = 600, np.random.default_rng(6), 25, 12
    size, share = items // templates, 0.02
    false = {"template, certified": 0, "template, supported": 0, "family, supported": 0}
    for run in range(runs):
        own = random.standard_normal((2, 1, templates, 1)) * share**0.5
        rest = random.standard_normal((2, configurations, templates, size)) * (1 - share) ** 0.5
        outcomes = (own + rest > 0).astype(np.int64)
        differences = outcomes[0] - outcomes[1]
        by_template = differences.sum(axis=-1)
        by_family = differences.reshape(configurations, templates * size // 4, 4).sum(axis=-1)
        tests = exact_tests.betting_tests(by_template, size, size)
        certified = 2 * min(exact_tests.somewhere(p, "betting", 12) for p in (tests.plus, tests.minus))
        every = np.vstack(
            [np.eye(configurations, dtype=np.int64), np.ones((1, configurations), dtype=np.int64)]
        )
        false["template, certified"] += certified <= ALPHA
        false["template, supported"] += supported(by_template, every, run, 199)[1] <= ALPHA
        false["family, supported"] += supported(by_family, every, run, 199)[1] <= ALPHA
    for name, count in false.items():
        if name.startswith("template"):
            at_most_alpha(f"{items} items, units: {name}", count, runs)
        else:
            told(f"{items} items, units: {name}", count, runs)


def study(outcomes: Whole) -> Outcomes:
    models, configurations, items = outcomes.shape
    return Outcomes(
        tuple("abcdef"[:models]), tuple(f"c{n}" for n in range(configurations)),
        tuple({"x": str(n % 4), "y": str(n // 4)} for n in range(configurations)),
        np.zeros(configurations, dtype=np.bool_), tuple(f"q{n}" for n in range(items)),
        np.arange(items), np.ones(configurations, dtype=np.int64), outcomes, outcomes,
        np.ones((models, configurations), dtype=np.bool_),
        np.ones((configurations, items), dtype=np.bool_),
    )  # fmt: skip


@pytest.mark.parametrize("members", [1, 3])
def test_a_scope_of_the_most_extreme_configurations(members: int) -> None:
    """Equal models; the scope is chosen for what it shows."""
    runs, random, world = 400, np.random.default_rng(7), pair_world(np.zeros(SIZE))
    certified = flipped = 0
    for _ in range(runs):
        outcomes = world.outcomes(295, random)
        found = study(outcomes)
        extreme = np.argsort((outcomes[0] - outcomes[1]).sum(axis=1), kind="stable")[:members]
        chosen = tuple(found.configurations[each] for each in sorted(extreme.tolist()))
        regions = [Region("b", found.configurations, FULL), Region("b", chosen, CHOSEN)]
        row = claim_evidence(regions, {"b": found}, ALPHA, 0, True, 199).pairs["b", chosen, "a", "b"]
        certified += row.certified.claim is not None
        flipped += row.supported.claim is not None
    at_most_alpha(f"the {members} most extreme of 48: a claim certified", certified, runs)
    at_most_alpha(f"the {members} most extreme of 48: a claim supported", flipped, runs)


def test_a_study_of_equal_models() -> None:
    """Six models, so 15 pairs, two scopes, all families of claims and all names, through `claim_evidence`."""
    runs, random, world = 200, np.random.default_rng(4), World(np.full((6, 12), 0.6))
    names = tuple(f"c{n}" for n in range(12))
    regions = [Region("b", names, FULL), Region("b", names[:6], "other scopes")]
    wrong = dict.fromkeys(("certified", "supported", "certified name", "supported name", "ordering"), 0)
    for _ in range(runs):
        found = claim_evidence(regions, {"b": study(world.outcomes(120, random))}, ALPHA, 0, True, 599)
        full = [row for row in found.pairs.values() if row.family == FULL]
        for strength in ("certified", "supported"):
            rows = [getattr(row, strength) for row in full]
            wrong[strength] += any(row.claim == "reversal" for row in rows)
            wrong[f"{strength} name"] += any(
                row.named_plus or row.named_minus or row.levels_plus or row.levels_minus for row in rows
            )
        wrong["ordering"] += any(claim.certified for claim in found.orderings["b"])
    for name, count in wrong.items():
        at_most_alpha(f"15 pairs of equal models: {name}", count, runs)


@pytest.mark.parametrize("strength", ["certified", "supported"])
@pytest.mark.parametrize("direction", ["higher_is_better", "lower_is_better"])
def test_a_ranking_follows_the_direction_of_the_score(
    direction: str, strength: Literal["certified", "supported"]
) -> None:
    """Equal models: any verdict is wrong. b scores higher by 15 points: that it is the better one is wrong
    where lower is better, and that it is not is wrong elsewhere."""
    runs, random, names = 200, np.random.default_rng(10), tuple(f"c{n}" for n in range(12))
    region = Region("b", names, ASKED)
    full = Region("b", names, FULL)
    false = {"equal": 0, "b scores higher": 0}
    for null, gap in (("equal", 0.0), ("b scores higher", 0.15)):
        world = World(np.array([[0.6] * 12, [0.6 + gap] * 12]))
        for _ in range(runs):
            found = claim_evidence(
                [full],
                {"b": study(world.outcomes(200, random))},
                ALPHA,
                0,
                True,
                199,
                hypothesis_regions=[region],
            )
            p = ranking_p_values(["b", "a"], {"b": region}, {"b": Direction.of(direction)}, found, strength)
            support, refute = exact_tests.holm(p)
            wrong = support if direction == "lower_is_better" else refute
            false[null] += (min(support, refute) if null == "equal" else wrong) <= ALPHA
    for null, count in false.items():
        at_most_alpha(f"{direction}, {null}: a wrong verdict, {strength}", count, runs)


@pytest.mark.parametrize("null", ["equal", "better in one"])
def test_a_race_that_stops_when_it_likes(null: str) -> None:
    runs, random, world = 150, np.random.default_rng(8), pair_world(NULLS[null])
    false = 0
    for run in range(runs):
        a, b = world.outcomes(295, random)
        race = Race(2, SIZE, 295, ALPHA, 1, run)
        while (block := race.next()) is not None:
            units = list(block.units)
            race.tell(block, {(m, c): (a, b)[m][c, units] for m, c in block.cells})
        false += race.duels[0].certified
    at_most_alpha(f"early stop, {null}: reversal certified", false, runs)


def test_tarone_is_no_bargain_where_configurations_share_items() -> None:
    """Why configurations with few discordant items still count. No configuration favours anybody; a unit
    puts a ahead in one configuration alone, or b in all of them at once. Few discordant items then mean
    that b's turn did not come, and Tarone's smaller denominator rejects just there."""
    runs, random, expected, units = 4000, np.random.default_rng(9), 1.5, 1000
    chances = [expected / units] * (SIZE + 1)
    bonferroni = tarone = 0
    for _ in range(runs):
        *ahead, behind, _ = random.multinomial(units, [*chances, 1 - sum(chances)]).tolist()
        tests = [(exact_tests.upper_tails(b + behind)[b], b + behind) for b in ahead]
        best = min(p for p, _ in tests)
        bonferroni += best * SIZE <= ALPHA
        tarone += best * denominator([m for _, m in tests]) <= ALPHA
    at_most_alpha("Bonferroni", bonferroni, runs)
    assert told("Tarone", tarone, runs)[0] > ALPHA


def denominator(discordant: Sequence[int]) -> int:
    """Tarone's K: the least k such that at most k tests can reach alpha / k."""
    return next(
        k for k in range(1, SIZE + 1) if k == SIZE or sum(0.5**m <= ALPHA / k for m in discordant) <= k
    )
