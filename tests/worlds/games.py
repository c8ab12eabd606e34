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
from gridc.reports.findings.scores import Outcomes, unit_intervals
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.raters import kappa
from gridc.statistics.variance import resampled
from tests.worlds import margins
from tests.worlds.intervals import INTERVALS
from tests.worlds.search import Game, Range, World
from tests.worlds.studies import ANSWERS, FLAG, SHARE, UNITS, Bench, answers, bench, sizes_of

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
    with patch("gridc.statistics.margins.limits", return_value=None):
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
    names = tuple(f"c{at}" for at in range(4))
    axes = tuple({"x": str(at // 2), "y": str(at % 2)} for at in range(4))
    region = Region("b", names, FULL)

    def play(world: World, random: np.random.Generator) -> bool:
        sizes, ahead = sizes_of(world), int(world["ahead"])
        right = answers(world, random, sizes, gaps(world, 4), up=False).transpose(0, 2, 1, 3)
        repeats = np.full(4, len(right))
        found = Outcomes(
            ("a", "b"), names, axes, repeats > 1, tuple(map(str, range(right.shape[-1]))),
            np.repeat(np.arange(len(sizes)), sizes), repeats, right.sum(axis=0), right[0],
            np.ones((2, 4), dtype=np.bool_), np.ones((4, right.shape[-1]), dtype=np.bool_),
        )  # fmt: skip
        weighed = claim_evidence([region], {"b": found}, ALPHA, int(random.integers(1 << 30)), True, 199)
        row = getattr(weighed.pairs["b", names, "a", "b"], strength)
        if claim == "names":
            higher = {*names[:ahead], *(f"{axis}={axes[at][axis]}" for at in range(ahead) for axis in "xy")}
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


def mean_rate(world: World) -> float:
    """The expected rate of the reference."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    base = np.log(world["base"] / (1 - world["base"])) + world["spread"] * points
    rate = float(weights @ (1 / (1 + np.exp(-base))) / weights.sum())
    return 1 - rate if world["mirror"] else rate


def shows_its_rate(world: World) -> bool:
    """Whether ten units are expected, by their effective number, that answer against most others as one."""
    sizes, rate = sizes_of(world), mean_rate(world)
    alone = world["inside"] * (1 - world["even"]) if world["items"] > 1 else 1.0
    alone = alone or 1.0
    return float(sizes.sum() ** 2 / (sizes**2).sum() * alone * min(rate, 1 - rate)) >= 10


def interval_of(what: str, unseen: bool = False) -> Game:
    """The interval of a model's score, or of its gap to another one that scores the same. With `unseen` few
    units say how the score varies."""
    of = play_with(1, lambda world: {"analysis": {"bootstrap": ANALYSIS["bootstrap"] | {"resamples": 499}}})

    def play(world: World, random: np.random.Generator) -> bool:
        if not unseen and not shows_its_rate(world):
            return False
        sizes, study = sizes_of(world), of({**world, "models": 2})
        right = answers(world, random, sizes, np.zeros((1, 2))).transpose(0, 2, 1, 3)
        repeats, items = np.full(1, len(right)), study.plan.study.items["b"]
        found = Outcomes(
            ("a", "b"), ("c",), ({"axis": "l0"},), repeats > 1, study.items,
            np.repeat(np.arange(len(sizes)), sizes), repeats, right.sum(axis=0), right[0],
            np.ones((2, 1), dtype=np.bool_), np.ones((1, len(study.items)), dtype=np.bool_),
        )  # fmt: skip
        made = unit_intervals(study.spec, items, found)
        ends = made.gaps[0].mean.interval if what == "gap" else made.scores["a", "c"]
        truth = 0.0 if what == "gap" else mean_rate(world)
        return ends is not None and not ends[0] - 1e-9 <= truth <= ends[1] + 1e-9

    ranges = {**MEAN, "units": Range(20, 200, logarithmic=True, whole=True)}
    few = ", of which few units say how it varies" if unseen else ""
    return Game(f"the interval of a {what} misses{few}", ranges, play)


def reference_rate(world: World, loss: float) -> float:
    """The expected rate of a reference of which a level loses so much, in `answers`."""
    from scipy.special import expit, logit, ndtri

    normal = ndtri((np.arange(4_000) + 0.5) / 4_000)
    rate = float(expit(logit(world["base"]) + world["spread"] * normal).clip(loss, 1).mean())
    return 1 - rate + loss if world["mirror"] else rate


def of_difference(what: str) -> Game:
    """The interval of a difference of rates, rare ones too: where it misses, or that of their ratio does, or
    where it says of 0 what its test does not."""
    of = play_with(2, lambda world: {"hypothesis": [contrast("difference")], "analysis": ANALYSIS})

    def play(world: World, random: np.random.Generator) -> bool:
        study, shift = of(world), np.tile([0.0, -world["loss"]], (int(world["models"]), 1))
        right = answers(world, random, sizes_of(world), shift, up=False)
        (found,) = decisions(study.measured(study.samples(right)))
        if found.effect is None or not found.effect.contrasts:
            return False
        shown = found.effect.contrasts[0]
        ends, odds = shown.change.interval, shown.odds
        if what == "ratio":
            ends, rate = shown.risk_ratio_interval, reference_rate(world, world["loss"])
            return ends is not None and not ends[0] - 1e-9 <= 1 - world["loss"] / rate <= ends[1] + 1e-9
        if ends is None:
            return False
        if what == "misses":
            return not ends[0] - 1e-9 <= -world["loss"] <= ends[1] + 1e-9
        decides = odds is not None and odds.spread is not None and odds.spread.enough
        return decides and odds is not None and (ends[0] <= 0 <= ends[1]) != (odds.p > ALPHA)

    ranges = {
        **STUDY, "units": Range(20, 300, logarithmic=True, whole=True), "base": Range(0.01, 0.99),
        "loss": Range(0, 0.3), "models": Range(1, 8, whole=True),
    }  # fmt: skip
    words = "ratio of rates misses" if what == "ratio" else f"difference {what}"
    return Game(f"the interval of a {words}", ranges, play)


def recovered(which: str) -> Game:
    """Half of a loss is taken back; of the intervals that are printed."""
    hypothesis = contrast("difference", "l2", control="l0") | {"reference": "l1"}
    of = play_with(3, lambda world: {"hypothesis": [hypothesis], "analysis": ANALYSIS})

    def play(world: World, random: np.random.Generator) -> bool:
        study = of(world)
        shift = np.tile([0.0, -world["loss"], -world["loss"] / 2], (int(world["models"]), 1))
        for _ in range(5):
            right = answers(world, random, sizes_of(world), shift, up=False)
            (found,) = verdicts(study, right)
            share = found.effect.contrasts[0].recovery if found.effect is not None else None
            ends = None if share is None else getattr(share, which)
            if ends is not None:
                return not ends[0] <= 0.5 <= ends[1]
        return False

    words = {"interval": "resamples", "fieller": "Fieller"}[which]
    ranges = {**MEAN, "units": Range(20, 120, logarithmic=True, whole=True), "loss": Range(0.05, 0.4)}
    return Game(f"the interval of a recovery misses ({words})", ranges, play)


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
    return Game("the interval of a generalizability coefficient misses", ranges, play)


def rater() -> Game:
    """Two raters who err alike or apart on items that are asked in several configurations."""

    def play(world: World, random: np.random.Generator) -> bool:
        sizes = sizes_of(world)
        of = np.repeat(np.arange(len(sizes)), sizes)
        same = (random.random(len(sizes)) < world["inside"])[of]
        label = np.where(same, random.random(len(sizes))[of], random.random(len(of))) < world["rare"]
        said = []
        for _ in range(2):
            slip = np.where(same, random.random(len(sizes))[of], random.random(len(of))) < world["wrong"]
            said.append((label != slip).astype(int).astype(str).tolist())
        found = kappa(said[0], said[1], of.tolist())
        one = world["rare"] * (1 - world["wrong"]) + (1 - world["rare"]) * world["wrong"]
        agree, chance = world["wrong"] ** 2 + (1 - world["wrong"]) ** 2, one**2 + (1 - one) ** 2
        truth = (agree - chance) / (1 - chance)
        return found.low is not None and found.high is not None and not found.low <= truth <= found.high

    ranges = {**UNITS, "inside": SHARE, "rare": Range(0.03, 0.5), "wrong": Range(0.01, 0.45)}
    return Game("the interval of kappa misses", ranges, play)


GAMES = {
    game.name: replace(game, hard=HARD)
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
        *(interval_of(what) for what in ("score", "gap")),
        *(of_difference(what) for what in ("misses", "contradicts its test", "ratio")),
        *INTERVALS,
        interval_of("score", unseen=True),
        *(recovered(which) for which in ("interval", "fieller")),
        generalizability(),
        rater(),
        *margins.games(verdicts, contrast),
    )
}
