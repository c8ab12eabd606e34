"""Which verdicts lie inside the noise floor: what the shape of a batch alone does to outcomes.

A run answers a seeded sample of the calls of each model and precision once more, each call alone, and stores
how many outcomes changed. A verdict whose sign such a change could turn is no verdict on the models.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from gridc.compiler.lowering.plan import Plan
from gridc.runtime.store.events import DrawSpread, NoiseMeasured
from gridc.schema.certificate import Floor
from gridc.schema.hypotheses import Standing
from gridc.schema.scopes import NoiseRow
from gridc.statistics.power import limits


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How many of a sample of outcomes, and of generated texts, changed when their calls were made in
    another batch shape, and the largest move of a log-likelihood (nats; None where none was repeated)."""

    outcomes: int
    changed: int
    texts: int
    texts_changed: int
    max_moved: float | None
    calls: int

    @property
    def share(self) -> Fraction:
        """The share of outcomes that changed; none when none was repeated."""
        return Fraction(self.changed, self.outcomes) if self.outcomes else Fraction(0)

    @property
    def limit(self) -> float:
        """Upper 95 % limit of the share of calls whose outcomes would change (Clopper-Pearson). Outcomes that
        read the same call change together, so calls are counted, and each change as one of its own."""
        _, most = limits(0.05, min(self.changed, self.calls), self.calls)
        return most

    @property
    def row(self) -> Floor:
        """The floor as the certificate and the cards hold it."""
        return Floor(**asdict(self), limit=self.limit)

    @property
    def still(self) -> bool:
        """Whether no outcome and no text changed."""
        return not self.changed and not self.texts_changed


@dataclass(frozen=True, slots=True)
class ModelNoise:
    """A model at a precision that the study runs it in, its floor (None where nothing that must repeat was
    repeated), and what a second draw changed where no seed repeats one."""

    model: str
    precision: str
    floor: NoiseFloor | None
    spread: DrawSpread | None = None


Floors = Mapping[tuple[str, str], NoiseFloor]
"""The floors that were measured, by model and precision."""

GapAndFloors = tuple[Fraction, NoiseFloor | None, NoiseFloor | None]
"""The difference of two scores, and the floor of each."""


def noise_floors(events: Iterable[NoiseMeasured]) -> dict[tuple[str, str], NoiseFloor]:
    """The floors in `Store.noise`, by model identity and precision; the last one measured of each. A sample
    that repeated no outcome measured nothing."""
    return {
        (noise.identity, noise.precision): NoiseFloor(
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


def within_noise(difference: Fraction, a: NoiseFloor, b: NoiseFloor) -> bool:
    """Whether batch shape alone could turn the order of two scores round: every outcome that changes
    moves a score by its share of the items at most, so the shares of both models add up. A tie is no
    verdict, so it is not inside the floor."""
    return 0 < abs(difference) <= a.share + b.share


def standing(gap: GapAndFloors) -> Standing:
    """Where the sign of one difference stands to the floor."""
    difference, a, b = gap
    if a is None or b is None:
        return "not_measured" if difference else "outside"
    return "within" if within_noise(difference, a, b) else "outside"


def all_must_hold(standings: Iterable[Standing]) -> Standing:
    """The standing of a verdict that falls with any of these signs."""
    seen = set(standings)
    return "within" if "within" in seen else "not_measured" if "not_measured" in seen else "outside"


def one_must_hold(standings: Iterable[Standing]) -> Standing:
    """The standing of a verdict that stands with any of these signs."""
    seen = set(standings)
    return "outside" if "outside" in seen else "not_measured" if "not_measured" in seen else "within"


def of_pair(gaps: Mapping[str, GapAndFloors]) -> NoiseRow:
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
