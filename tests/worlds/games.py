"""What a report prints, each with worlds in which it is false, asked of the functions that decide it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from gridc.reports.findings.certification import FULL, Region, claim_evidence
from gridc.reports.findings.curves import curve_findings
from gridc.reports.findings.hypotheses import decisions
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.variance import resampled
from tests.worlds import margins
from tests.worlds.differences import DIFFERENCES
from tests.worlds.intervals import INTERVALS, misses
from tests.worlds.rates import RATES
from tests.worlds.ratios import RATIOS
from tests.worlds.scores import SCORES, reference_rate
from tests.worlds.search import INTERVAL, Game, Range, World
from tests.worlds.stated import STATED
from tests.worlds.studies import ANSWERS, FLAG, SHARE, UNITS, Bench, answers, bench, outcomes_of, sizes_of

ALPHA = 0.05
ANALYSIS: Mapping[str, Any] = {
    "estimator": "cluster_logit",
    "bootstrap": {"unit": "cluster", "resamples": 199, "seed": 1},
}
ANY = {**UNITS, **ANSWERS, "models": Range(1, 3, whole=True)}
SEEN = Range(10, 60, logarithmic=True)
"""What is supported assumes that what is rare is seen: ten units of it or more are expected."""
STUDY = {**ANY, "odd": SEEN}
FEW = {**ANY, "odd": Range(0.3, 10, logarithmic=True)}
_RARE = {
    "items": 32, "pareto": 0, "giant": 0, "base": 0.95, "spread": 0.3, "depth": 1, "mirror": 0, "turned": 0,
    "alike": 0, "inside": 0, "tied": 0, "repeats": 1, "again": 1, "models": 1, "levels": 2, "ahead": 0,
}  # fmt: skip
HARD = ({**_RARE, "units": 30, "odd": 0.8, "even": 0}, {**_RARE, "units": 60, "odd": 1.5, "even": 1})
"""Units that earn nearly all, of which one in forty loses all: most studies have none, and their luck, which
is small, is all that an error knows. A search from random worlds does not come near."""
UNSEEN = ", of which few units say what it lacks"
MEAN = {**STUDY, "base": Range(0.2, 0.8)}
"""Intervals of means are too short near 0 and 1, which the page says."""
MARGIN = {**ANY, "margin": Range(2, 20)}
Stated = Callable[[World], list[dict[str, Any]]]


def play_with(levels: int | None, more: Callable[[World], Mapping[str, Any]]) -> Callable[[World], Bench]:
    """The bench of a world: its units, models and levels (`levels` or its own), with what the game's spec
    adds."""

    def of(world: World) -> Bench:
        sizes = tuple(sizes_of(world).tolist())
        return bench(
            sizes,
            int(world["repeats"]),
            int(world["models"]),
            levels or int(world["levels"]),
            repr(dict(more(world))),
        )

    return of


def contrast(kind: str, level: str | Sequence[str] = "l1", id: str = "H", **more: Any) -> dict[str, Any]:
    return {"id": id, "kind": kind, "axis": "axis", "level": level, "reference": "l0", **more}


def at_margin(kind: str, **more: Any) -> Stated:
    return lambda world: [contrast(kind, margin={"pp": world["margin"]}, **more)]


def verdicts(study: Bench, right: Whole, read: Whole | None = None) -> list[HypothesisFinding]:
    """Of the hypotheses of a study. The limits beside a margin decide nothing and take most of the time."""
    with patch("gridc.statistics.margins.difference_limits", return_value=None):
        return list(decisions(study.measured(study.samples(right, read))))


def any_of(*stated: str) -> Callable[[HypothesisFinding], bool]:
    return lambda found: found.verdict in stated


def hypotheses(
    name: str,
    stated: Stated,
    false: Callable[[HypothesisFinding], bool],
    ranges: Mapping[str, Range] = STUDY,
    levels: int | None = 2,
    moved: Callable[[World], float] = lambda world: 0.0,
    up: bool | None = None,
    family: Sequence[dict[str, Any]] = (),
    evidence: str = "certified",
) -> Game:
    """Verdicts of hypotheses, where every level after the first one has moved by as much, down or `up`."""
    of = play_with(
        levels,
        lambda world: {
            "hypothesis": stated(world),
            "analysis": {**ANALYSIS, "evidence": evidence},
            "family": list(family),
        },
    )

    def play(world: World, random: np.random.Generator) -> bool:
        study = of(world)
        shift = np.zeros((int(world["models"]), len(study.levels)))
        shift[:, 1:] = -abs(moved(world))
        right = answers(world, random, sizes_of(world), shift, up)
        return any(map(false, verdicts(study, right)))

    return Game(name, ranges, play)


def margin_of(world: World) -> float:
    return world["margin"] / 100


def inside(world: World) -> float:
    """Just within the margin."""
    return world["margin"] / 100 - 1e-6


DECIDED = any_of("supported", "refuted")
HOLM = [{"id": "F", "correction": "holm"}]
TREND = {"id": "H", "kind": "trend", "axis": "axis", "order": ["l0", "l1", "l2"], "direction": "increasing"}
FOUR = [contrast("difference", f"l{at}", f"H{at}", side="less", family="F") for at in (1, 2, 3)]
MIXED = [
    contrast("difference", family="F"),
    contrast("difference", id="S", side="greater", family="F"),
    {"id": "R", "kind": "ranking", "order": ["a", "b"], "family": "F"},
]
CROSSED = {
    **STUDY,
    "base": Range(0.02, 0.98),
    "models": Range(2, 8, whole=True),
    "levels": Range(2, 4, whole=True),
}
"""Up to 21 interactions, of outcomes as rare as those of the papers."""
TWO_MODELS = {**STUDY, "models": Range(2, 3, whole=True)}

EFFECTS = (
    hypotheses("a difference is supported", lambda world: [contrast("difference")], any_of("supported")),
    hypotheses(
        f"a difference is supported{UNSEEN}",
        lambda world: [contrast("difference")],
        any_of("supported"),
        FEW,
    ),
    hypotheses(
        "three levels together differ",
        lambda world: [contrast("difference", ["l1", "l2", "l3"])],
        any_of("supported"),
        levels=4,
    ),
    hypotheses(
        f"three levels together differ{UNSEEN}",
        lambda world: [contrast("difference", ["l1", "l2", "l3"])],
        any_of("supported"),
        FEW,
        levels=4,
    ),
    hypotheses(
        "a prediction with a side is decided, either way",
        lambda world: [contrast("difference", side="less")],
        DECIDED,
    ),
    hypotheses(
        "some of three predictions is decided (Holm)", lambda world: FOUR, DECIDED, levels=4, family=HOLM
    ),
    hypotheses(
        "a difference is refuted at its margin",
        at_margin("difference"),
        any_of("refuted"),
        MARGIN,
        moved=margin_of,
        up=False,
    ),
    hypotheses(
        "equivalence is supported at its margin",
        at_margin("equivalence"),
        any_of("supported"),
        MARGIN,
        moved=margin_of,
        up=False,
    ),
    hypotheses(
        "equivalence is refuted within its margin",
        at_margin("equivalence"),
        any_of("refuted"),
        MARGIN,
        moved=inside,
        up=False,
    ),
    hypotheses(
        "non-inferiority is supported at its margin",
        at_margin("noninferiority", side="greater"),
        any_of("supported"),
        MARGIN,
        moved=margin_of,
        up=False,
    ),
    hypotheses(
        "non-inferiority of harm is supported at its margin",
        at_margin("noninferiority", side="less"),
        any_of("supported"),
        MARGIN,
        moved=margin_of,
        up=True,
    ),
    hypotheses(
        "non-inferiority is refuted within its margin",
        at_margin("noninferiority", side="greater"),
        any_of("refuted"),
        MARGIN,
        moved=inside,
        up=False,
    ),
    hypotheses("a null control is refuted", lambda world: [contrast("null_control")], any_of("refuted")),
    hypotheses(
        "a null control is supported at its margin",
        at_margin("null_control"),
        any_of("supported"),
        MARGIN,
        moved=margin_of,
        up=False,
    ),
    hypotheses(
        "an interaction is supported",
        lambda world: [{"id": "H", "kind": "interaction", "axis": "axis", "by": "model"}],
        any_of("supported"),
        CROSSED,
        levels=None,
    ),
    hypotheses(
        f"an interaction is supported{UNSEEN}",
        lambda world: [{"id": "H", "kind": "interaction", "axis": "axis", "by": "model"}],
        any_of("supported"),
        CROSSED | {"odd": FEW["odd"]},
        levels=None,
    ),
    hypotheses("a trend is decided, either way", lambda world: [TREND], DECIDED, levels=3),
    hypotheses(f"a trend is decided, either way{UNSEEN}", lambda world: [TREND], DECIDED, FEW, levels=3),
    hypotheses(
        "some of a ranking and two differences is decided (Holm)",
        lambda world: MIXED,
        DECIDED,
        TWO_MODELS,
        family=HOLM,
    ),
)


def of_pairs(most: int) -> dict[str, Range]:
    """Worlds of two models, of which one is ahead in at most so many configurations."""
    return {**UNITS, **ANSWERS, "ahead": Range(0, most, whole=True), "gap": Range(0.02, 0.4)}


def ranking(evidence: str) -> Game:
    """a is ahead in some of three configurations and b in none: neither verdict is right."""
    of = play_with(
        3,
        lambda world: {
            "hypothesis": [{"id": "H", "kind": "ranking", "order": ["a", "b"]}],
            "analysis": {"evidence": evidence},
        },
    )

    def play(world: World, random: np.random.Generator) -> bool:
        study = of({**world, "models": 2})
        right = answers(world, random, sizes_of(world), gaps(world, 3), up=False)
        return any(map(DECIDED, verdicts(study, right.transpose(0, 2, 1, 3))))

    return Game(f"a ranking is decided ({evidence})", of_pairs(2), play)


def gaps(world: World, configurations: int) -> Floats:
    """How far b is behind a, (configurations, 2): in the first ones, and nowhere else."""
    shift = np.zeros((configurations, 2))
    shift[: int(world["ahead"]), 1] = -world["gap"]
    return shift


def certificate(strength: str, claim: str) -> Game:
    """a is ahead in some of four configurations, of two axes, and b in none: no reversal, no order of all."""
    axes = {f"c{at}": {"x": str(at // 2), "y": str(at % 2)} for at in range(4)}
    names = tuple(axes)
    region = Region("b", names, FULL)

    def play(world: World, random: np.random.Generator) -> bool:
        sizes, ahead = sizes_of(world), int(world["ahead"])
        right = answers(world, random, sizes, gaps(world, 4), up=False).transpose(0, 2, 1, 3)
        found = outcomes_of("ab", axes, right, sizes)
        weighed = claim_evidence([region], {"b": found}, ALPHA, int(random.integers(1 << 30)), True, 199)
        row = getattr(weighed.pairs["b", names, "a", "b"], strength)
        if claim == "names":
            higher = {
                *names[:ahead],
                *(f"{axis}={axes[name][axis]}" for name in names[:ahead] for axis in "xy"),
            }
            levels = {
                each if isinstance(each, str) else f"{each.axis}={each.level}" for each in row.levels_plus
            }
            return bool(row.named_minus or row.levels_minus or ({*row.named_plus} | levels) - higher)
        return bool(row.claim == claim)

    words = {"reversal": "a reversal", "order": "an order", "names": "some name"}[claim]
    return Game(f"{words} is {strength}", of_pairs(3), play)


def exchanged(right: Whole, sizes: Whole, random: np.random.Generator) -> Whole:
    """Levels change places in whole units, so that they can be exchanged there."""
    units, levels = len(sizes), right.shape[2]
    order = random.permuted(np.tile(np.arange(levels), (units, 1)), axis=1)
    of = np.repeat(np.arange(units), sizes)
    taken: Whole = np.take_along_axis(right, order[of].T[None, None], axis=2)
    return taken


def curve(statistic: str) -> Game:
    """Two readings of three sets of models, on levels that can be exchanged within each unit."""
    forks = [
        {
            "id": "models", "category": "data", "levels": ["all", "some"], "default": "all",
            "binds": "analysis.primary", "choice": {"some": {"where": {"model": {"not": "a"}}}},
        },
        {
            "id": "reading", "category": "data", "levels": ["itt", "pp"], "default": "itt",
            "binds": "analysis.outcome",
        },
    ]  # fmt: skip
    of = play_with(
        2,
        lambda world: {
            "hypothesis": [contrast("difference")],
            "analysis": {**ANALYSIS, "permutations": 39},
            "fork": forks,
            "curve": [{"id": "C", "forks": ["models", "reading"], "declared": "ex_ante"}],
            "sampling": {"seed": 1},
        },
    )

    def play(world: World, random: np.random.Generator) -> bool:
        study, sizes = of(world), sizes_of(world)
        right = answers(world, random, sizes, np.zeros((int(world["models"]), 2)))
        read = (random.random(right.shape) >= world["missing"]).astype(np.int64)
        both = exchanged(np.stack([right, read]).reshape(-1, *right.shape[1:]), sizes, random)
        right, read = both.reshape(2, *right.shape)
        (found,) = curve_findings(study.samples(right, read))
        return found.permutation is not None and getattr(found.permutation, statistic) <= ALPHA

    words = {"p_median": "the median", "p_share": "the share"}[statistic]
    ranges = {**ANY, "models": Range(2, 6, whole=True), "missing": Range(0, 0.3)}
    return Game(f"a curve's p of {words}", ranges, play)


def per_protocol(name: str, stated: Stated, verdict: str) -> Game:
    """Either no answer changes, and under a level wrong ones cannot be read; or as many change for the better
    as for the worse, and units differ in how often they can be read."""
    of = play_with(2, lambda world: {"hypothesis": stated(world), "analysis": {**ANALYSIS, "outcome": "pp"}})

    def play(world: World, random: np.random.Generator) -> bool:
        study, sizes = of(world), sizes_of(world)
        still = bool(world["still"])
        made = {**world, "tied": 1.0, "depth": 0.0} if still else world
        right = answers(made, random, sizes, np.zeros((int(world["models"]), 2)))
        unit = np.repeat(random.random(len(sizes)), sizes)
        lost = (
            world["missing"] * np.array([world["elsewhere"], 1.0])[:, None] * (1 - right if still else unit)
        )
        read = (random.random(right.shape) >= lost).astype(np.int64)
        return any(map(any_of(verdict), verdicts(study, right, read)))

    ranges = {**STUDY, "margin": Range(2, 20), "still": FLAG, "missing": Range(0, 0.9), "elsewhere": SHARE}
    return Game(name, ranges, play)


def of_difference(what: str) -> Game:
    """The interval of a difference of rates, rare ones too: where it misses, or that of their ratio or of the
    ratio of their odds does, or where it says of 0 what its test does not."""
    of = play_with(2, lambda world: {"hypothesis": [contrast("difference")], "analysis": ANALYSIS})

    def play(world: World, random: np.random.Generator) -> bool | None:
        study, shift = of(world), np.tile([0.0, -world["loss"]], (int(world["models"]), 1))
        right = answers(world, random, sizes_of(world), shift, up=False)
        (found,) = decisions(study.measured(study.samples(right)))
        if found.effect is None or not found.effect.contrasts:
            return None
        shown = found.effect.contrasts[0]
        ends, odds = shown.change.interval, shown.odds
        if what == "ratio":
            return misses(shown.risk_ratio_interval, 1 - world["loss"] / reference_rate(world, world["loss"]))
        if what == "odds":
            before = reference_rate(world, world["loss"])
            after = before - world["loss"]
            if odds is None or after < 1e-6 or before > 1 - 1e-6:
                return None
            return misses(odds.interval, after / (1 - after) * (1 - before) / before)
        if what == "misses":
            return misses(ends, -world["loss"])
        if ends is None or odds is None or odds.spread is None or not odds.spread.enough:
            return None
        return (ends[0] <= 0 <= ends[1]) != (odds.p > ALPHA)

    ranges = {
        **STUDY, "units": Range(20, 300, logarithmic=True, whole=True), "base": Range(0.01, 0.99),
        "loss": Range(0, 0.3), "models": Range(1, 8, whole=True),
    }  # fmt: skip
    of_ratios = {"ratio": "ratio of rates misses", "odds": "ratio of odds misses"}
    words = of_ratios.get(what, f"difference {what}")
    most = 0.0 if what == "contradicts its test" else INTERVAL
    return Game(f"the interval of a {words}", ranges, play, most)


def recovered(which: str) -> Game:
    """Half of a loss is taken back."""
    hypothesis = contrast("difference", "l2", control="l0") | {"reference": "l1"}
    of = play_with(3, lambda world: {"hypothesis": [hypothesis], "analysis": ANALYSIS})

    def play(world: World, random: np.random.Generator) -> bool | None:
        study = of(world)
        shift = np.tile([0.0, -world["loss"], -world["loss"] / 2], (int(world["models"]), 1))
        (found,) = verdicts(study, answers(world, random, sizes_of(world), shift, up=False))
        share = found.effect.contrasts[0].recovery if found.effect is not None else None
        return None if share is None else misses(getattr(share, which), 0.5)

    words = {"interval": "resamples", "fieller": "Fieller"}[which]
    ranges = {**MEAN, "units": Range(20, 120, logarithmic=True, whole=True), "loss": Range(0.05, 0.4)}
    return Game(f"the interval of a recovery misses ({words})", ranges, play, INTERVAL)


def generalizability() -> Game:
    """Tables of models, four scaffolds and four benchmarks, by the sizes of their components."""

    def play(world: World, random: np.random.Generator) -> bool:
        models = int(world["models"])
        shapes = {"p": (models, 1, 1), "ps": (models, 4, 1), "pb": (models, 1, 4), "psb": (models, 4, 4)}
        table = np.zeros((models, 4, 4))
        for name, shape in shapes.items():
            draw = (
                random.standard_normal(shape)
                if not world["outliers"]
                else random.standard_t(3, shape) / 3**0.5
            )
            table = table + world[name] * draw
        drawn = resampled(table, (), 499, int(random.integers(1 << 30)))
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        p, ps, pb, psb = (world[name] ** 2 for name in shapes)
        return not low <= p / (p + ps / 4 + pb / 4 + psb / 16) <= high

    size = Range(0.01, 0.3, logarithmic=True)
    ranges = {"models": Range(5, 30, whole=True), "outliers": FLAG} | dict.fromkeys(
        ("p", "ps", "pb", "psb"), size
    )
    return Game("the interval of a generalizability coefficient misses", ranges, play, INTERVAL)


GAMES = {
    game.name: replace(game, hard=game.hard or HARD)
    for game in (
        *EFFECTS,
        *(ranking(evidence) for evidence in ("supported", "certified")),
        *(
            certificate(s, claim)
            for s in ("supported", "certified")
            for claim in ("reversal", "order", "names")
        ),
        *(curve(statistic) for statistic in ("p_median", "p_share")),
        per_protocol(
            "a difference per protocol is supported", lambda world: [contrast("difference")], "supported"
        ),
        per_protocol(
            "non-inferiority per protocol is refuted", at_margin("noninferiority", side="greater"), "refuted"
        ),
        *SCORES,
        *(of_difference(what) for what in ("misses", "contradicts its test", "ratio", "odds")),
        *INTERVALS,
        *RATES,
        *DIFFERENCES,
        *STATED,
        *RATIOS,
        *(recovered(which) for which in ("interval", "fieller")),
        generalizability(),
        *margins.games(verdicts, contrast),
    )
}
