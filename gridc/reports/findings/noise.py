"""Which verdicts lie inside the noise floor: what the shape of a batch alone does to outcomes.

A run answers a seeded sample of the calls of each model and precision once more in other batches, and stores
how many outcomes changed. A verdict whose sign such a change could turn is no verdict on the models.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gridc.compiler.lowering.plan import Plan
from gridc.runtime.store.events import DrawSpread, NoiseMeasured
from gridc.schema.certificate import Floor, NoiseRow
from gridc.schema.hypotheses import Standing
from gridc.statistics.verdicts import share_bounds


@dataclass(frozen=True, slots=True)
class ModelNoise:
    """A model at a precision that the study runs it in, its floor (None where nothing that must repeat was
    repeated), and what a second draw changed where no seed repeats one."""

    model: str
    precision: str
    floor: Floor | None
    spread: DrawSpread | None = None


Floors = Mapping[tuple[str, str], Floor]
"""The floors that were measured, by model and precision."""

GapAndFloors = tuple[Fraction, Floor | None, Floor | None]
"""The difference of two scores, and the floor of each."""


def noise_floors(events: Iterable[NoiseMeasured]) -> dict[tuple[str, str], Floor]:
    """The floors in `Store.noise`, by model identity and precision; the last one measured of each. A sample
    that repeated no outcome measured nothing."""
    return {
        (noise.identity, noise.precision): floor_of(
            noise.outcomes,
            noise.outcomes_changed,
            noise.texts,
            noise.texts_changed,
            noise.max_moved,
            noise.calls,
        )
        for noise in events
        if noise.outcomes
    }


def floor_of(
    outcomes: int, changed: int, texts: int, texts_changed: int, max_moved: float | None, calls: int
) -> Floor:
    """A floor with its limit (Clopper-Pearson). Outcomes that read the same call change together, so calls
    are counted, and each change as one of its own."""
    _, most = share_bounds(0.05, min(changed, calls), calls)
    return Floor(
        outcomes=outcomes,
        changed=changed,
        limit=most,
        calls=calls,
        texts=texts,
        texts_changed=texts_changed,
        max_moved=max_moved,
    )


def order_within_noise(difference: Fraction, a: Floor, b: Floor) -> bool:
    """Whether batch shape alone could turn the order of two scores round: every outcome that changes
    moves a score by its share of the items at most, so the shares of both models add up. A tie is no
    verdict, so it is not inside the floor."""
    return 0 < abs(difference) <= a.share + b.share


def standing(gap: GapAndFloors) -> Standing:
    """Where the sign of one difference stands to the floor."""
    difference, a, b = gap
    if a is None or b is None:
        return "not_measured" if difference else "outside"
    return "within" if order_within_noise(difference, a, b) else "outside"


def all_must_hold(standings: Iterable[Standing]) -> Standing:
    """The standing of a verdict that falls with any of these signs."""
    seen = set(standings)
    return "within" if "within" in seen else "not_measured" if "not_measured" in seen else "outside"


def one_must_hold(standings: Iterable[Standing]) -> Standing:
    """The standing of a verdict that stands with any of these signs."""
    seen = set(standings)
    return "outside" if "outside" in seen else "not_measured" if "not_measured" in seen else "within"


def pair_noise(gaps: Mapping[str, GapAndFloors]) -> NoiseRow:
    """A pair over a scope, by configuration. A reversal stands when each direction has a sign outside the
    floor; one order stands when every sign is outside it."""
    standings = {name: standing(gap) for name, gap in gaps.items() if gap[0]}
    plus = [where for name, where in standings.items() if gaps[name][0] > 0]
    minus = [where for name, where in standings.items() if gaps[name][0] < 0]
    if plus and minus:
        verdict = all_must_hold((one_must_hold(plus), one_must_hold(minus)))
    else:
        verdict = all_must_hold(plus or minus)
    return NoiseRow(
        plus=plus.count("within"),
        minus=minus.count("within"),
        configurations=tuple(name for name, where in standings.items() if where == "within"),
        unmeasured=plus.count("not_measured") + minus.count("not_measured"),
        standing=verdict,
    )


def model_noise(plan: Plan, events: Sequence[NoiseMeasured]) -> tuple[ModelNoise, ...]:
    """The noise floor of every model at every precision that the plan runs it in, from `Store.noise`."""
    floors = noise_floors(events)
    spreads = {(noise.identity, noise.precision): noise.spread for noise in events}
    ran = dict.fromkeys((cell.model, cell.setting.precision) for cell in plan.cells())
    measured = ((model, precision, (plan.study.models[model].digest, precision)) for model, precision in ran)
    return tuple(
        ModelNoise(model, precision, floors.get(which), spreads.get(which))
        for model, precision, which in measured
    )


def floors_of(noise: Sequence[ModelNoise]) -> Floors:
    """The floors that were measured."""
    return {
        (measured.model, measured.precision): measured.floor
        for measured in noise
        if measured.floor is not None
    }
