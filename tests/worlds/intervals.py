"""Intervals over units of what scaffolds, texts and answers come to, with worlds in which they can miss."""

from collections.abc import Mapping

import numpy as np
from scipy.special import expit, logit

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.bounded_ratios import bounded_ratio
from gridc.statistics.mediation import between_arms, difficulty_effect, exposure_odds, within_arm
from gridc.statistics.raters import guesses_independent
from gridc.statistics.strata import gap, share_ratio
from gridc.statistics.unbounded_means import mean, mean_difference
from gridc.statistics.unit_intervals import (
    UnitEstimate,
    change,
    gains_and_losses,
    share,
    unit_totals,
)
from tests.worlds.search import INTERVAL, Game, Range, World
from tests.worlds.studies import SHARE, UNITS, sizes_of

SIZES: Mapping[str, Range] = {**UNITS, "units": Range(20, 300, logarithmic=True, whole=True)}
"""As in both papers."""
TEXTS = {
    **SIZES,
    "lengths": Range(0, 1.2),
    "skew": Range(0.1, 1.5),
    "inside": SHARE,
    "short": Range(-0.5, 0.5),
}
"""Spread of log lengths and of log losses, the share of it that a unit's texts share, and how losses go with
lengths."""
RARE = {**SIZES, "rate": Range(0.01, 0.99), "inside": SHARE}
"""Of so many units all answers are one."""


def misses(ends: tuple[float, float] | None, truth: float) -> bool | None:
    """Whether an interval that is printed is false; None where none is."""
    return None if ends is None else not ends[0] - 1e-9 <= truth <= ends[1] + 1e-9


def one_sided(ends: tuple[float, float] | None, truth: float, side: float | None) -> bool | None:
    """The same of the lower (0) or the upper limit (1) alone, where there is a side."""
    if ends is None or side is None:
        return misses(ends, truth)
    return ends[1] < truth - 1e-9 if side else ends[0] > truth + 1e-9


def missed(found: UnitEstimate, truth: float) -> bool | None:
    return misses(found.interval, truth)


def of_units(world: World) -> tuple[Whole, int]:
    sizes = sizes_of(world)
    return np.repeat(np.arange(len(sizes)), sizes), len(sizes)


def alike(random: np.random.Generator, of: Whole, units: int, share: float) -> Floats:
    """Luck from 0 to 1 of each row: in a share of units one for all."""
    whole = (random.random(units) < share)[of]
    return np.where(whole, random.random(units)[of], random.random(len(of)))


def texts(what: str) -> Game:
    """Lognormal lengths and losses a byte. KL: of rows that weigh alike."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        length = np.exp((what != "KL") * world["lengths"] * random.standard_normal(len(of)))
        own = np.sqrt(world["inside"]) * random.standard_normal(units)[of]
        own = own + np.sqrt(1 - world["inside"]) * random.standard_normal(len(of))
        loss = np.exp(world["skew"] * own) * length ** world["short"]
        truth = np.exp(world["skew"] ** 2 / 2)
        if what != "KL":
            spread, power = world["lengths"] ** 2 / 2, world["short"]
            truth = truth * np.exp(spread * ((1 + power) ** 2 - 1))
        if what != "gap":
            return missed(mean(of, length, length * loss), float(truth))
        other = np.exp(world["skew"] * random.standard_normal(len(of))) * length ** world["short"]
        return missed(mean_difference(of, length, length * (loss - other)), 0.0)

    words = {"bits": "bits per byte", "gap": "a gap of bits per byte", "KL": "a mean divergence"}[what]
    return Game(f"the interval of {words} misses", TEXTS, play, INTERVAL)


def shares() -> Game:
    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        points = alike(random, of, units, world["inside"]) < world["rate"]
        totals = unit_totals(of, np.column_stack([np.ones(len(of)), points]))
        return missed(share(totals), world["rate"])

    return Game("the interval of a share over units misses", RARE, play, INTERVAL)


def changes() -> Game:
    """As many rows gain as `rate` of those that could, and others lose."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        luck, up = alike(random, of, units, world["inside"]), world["rate"] * world["more"]
        moved = (luck < up).astype(float) - (luck > 1 - (world["rate"] - up))
        truth = up - (world["rate"] - up)
        return missed(change(unit_totals(of, gains_and_losses(moved))), truth)

    return Game("the interval of a mean change misses", {**RARE, "more": SHARE}, play, INTERVAL)


def gaps(what: str) -> Game:
    """Rows are exposed at random, and it changes nothing."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        exposed = alike(random, of, units, world["whole"]) < world["exposed"]
        points = alike(random, of, units, world["inside"]) < world["rate"]
        totals = unit_totals(of, np.column_stack([~exposed, ~exposed & points, exposed, exposed & points]))
        return missed(gap(totals), 0.0) if what == "gap" else missed(share_ratio(totals), 1.0)

    words = {"gap": "a gap of two shares", "ratio": "a ratio of two shares"}[what]
    ranges = {**RARE, "exposed": Range(0.05, 0.95), "whole": SHARE}
    return Game(f"the interval of {words} misses", ranges, play, INTERVAL)


def slopes() -> Game:
    """A score on a dose, within items of two arms: no item's slope goes with its dose."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        large = np.exp(world["skew"] * random.random(len(of)))
        dose = np.where(random.random(len(of)) < world["dosed"], large, 0.1)
        noise = alike(random, of, units, world["inside"])
        moved = (noise < world["rate"] / 2).astype(float) - (noise > 1 - world["rate"] / 2)
        above, below, most = unit_totals(of, np.column_stack([dose * moved, dose**2, dose])).T
        return missed(bounded_ratio(above, below, -most, most), 0.0)

    ranges = {**RARE, "dosed": SHARE, "skew": Range(0, 3)}
    return Game("the interval of a slope misses", ranges, play, INTERVAL)


def mediated(part: str, by: str) -> Game:
    """A share of the options is lost, and losing all of them changes the score by -.3. Answers to some items
    are drawn anew (`stirred`)."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        lost = np.where(alike(random, of, units, world["whole"]) < world["loses"], 1.0, world["least"])
        still = np.where(random.random(len(of)) < world["mended"], 0.0, lost)
        own = logit(0.5) + world["spread"] * random.standard_normal(units)[of]
        before = alike(random, of, units, world["inside"]) < expit(own)

        def after(share: Floats) -> Floats:
            gone = alike(random, of, units, world["inside"]) < 0.6 * share
            right: Floats = (before & ~gone).astype(float)
            return right

        right = before.astype(float)
        again = [alike(random, of, units, world["inside"]) < expit(own) for _ in range(2)]
        stirred = random.random(len(of)) < world["stirred"]
        first, other = (
            np.where(stirred, now & ~(random.random(len(of)) < 0.6 * share), after(share)) - right
            for now, share in zip(again, (lost, still), strict=True)
        )
        found = (
            between_arms(first, lost, other, still, of)
            if by == "arm"
            else within_arm(first, lost, np.zeros(len(of), np.int64), of)
        )
        lost_truth = world["loses"] + (1 - world["loses"]) * world["least"]
        truth = {"through": -0.3 * lost_truth, "rest": 0.0}[part]
        return missed(getattr(found, part), truth)

    ranges = {
        **SIZES, "inside": SHARE, "whole": SHARE, "loses": Range(0.05, 0.95), "least": Range(0, 0.8),
        "mended": Range(0.1, 1), "spread": Range(0, 2), "stirred": SHARE,
    }  # fmt: skip
    words = {"through": "what goes through options", "rest": "what does not"}[part]
    side = {"arm": "another arm", "items": "items"}[by]
    return Game(f"the interval of {words} misses (slope from {side})", ranges, play, INTERVAL)


def difficulty() -> Game:
    """Both arms are draws of one law, in which models err alike."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        base = expit(logit(world["rate"]) + world["spread"] * random.standard_normal(units))[of]
        arms = []
        for _ in range(2):
            own = np.stack([alike(random, of, units, world["inside"]) for _ in range(int(world["models"]))])
            same = random.random(len(of)) < world["alike"]
            arms.append((np.where(same, own[0], own) < base).astype(float))
        found = difficulty_effect(arms[0], arms[1], of, int(random.integers(1 << 30)))
        return None if found is None else misses(found.split.interval, 0.0)

    ranges = {
        **RARE, "units": Range(20, 120, logarithmic=True, whole=True), "rate": Range(0.1, 0.9),
        "spread": Range(0, 2), "alike": SHARE, "models": Range(2, 6, whole=True),
    }  # fmt: skip
    return Game("change is found to turn on difficulty", ranges, play, INTERVAL)


def exposed_odds() -> Game:
    """Bad answers of two models by what their parts were exposed to: the odds are known where units do not
    differ."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        dose = np.where(
            random.random(len(of)) < world["dosed"], np.exp(world["skew"] * random.random(len(of))), 0
        )
        if world["yes_or_no"]:
            dose = (dose > 0).astype(float)
        group = np.tile([0, 1], len(of))
        chance = expit(logit(world["rate"]) + world["slope"] * np.repeat(dose, 2))
        bad = (alike(random, np.repeat(of, 2), units, world["inside"]) < chance).astype(float)
        (found,) = exposure_odds(["dose"], np.repeat(dose, 2)[:, None], bad, group, np.repeat(of, 2))
        return misses(found.interval, float(np.exp(world["slope"])))

    ranges = {
        **RARE, "dosed": Range(0.02, 1), "skew": Range(0, 3), "slope": Range(-1, 1),
        "yes_or_no": Range(0, 1, whole=True),
    }  # fmt: skip
    return Game("the interval of an exposure's odds misses", ranges, play, INTERVAL)


def guesses() -> Game:
    """Guesses that the item decides, of items that are more likely under some arms."""

    def play(world: World, random: np.random.Generator) -> bool | None:
        of, units = of_units(world)
        arm = (random.random(len(of)) < expit(world["spread"] * random.standard_normal(units))[of]).astype(
            int
        )
        guess = alike(random, of, units, world["inside"]) < world["rate"]
        found = guesses_independent(arm.astype(str).tolist(), guess.astype(str).tolist(), of.tolist())
        return found.p <= 0.05

    ranges = {**RARE, "units": Range(10, 60, logarithmic=True, whole=True), "spread": Range(0, 3)}
    return Game("guesses are found to depend on the configuration", ranges, play)


INTERVALS = (
    *(texts(what) for what in ("bits", "gap", "KL")),
    shares(),
    changes(),
    *(gaps(what) for what in ("gap", "ratio")),
    slopes(),
    *(mediated(part, by) for part in ("through", "rest") for by in ("arm", "items")),
    difficulty(),
    exposed_odds(),
    guesses(),
)
