"""What a run would execute, and what it will cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.hypotheses import KINDS, kind_of
from gridc.compiler.inputs.prices import paid_prices
from gridc.compiler.lock.deviations import PlanDifference
from gridc.compiler.lock.deviations import against as compare
from gridc.compiler.lock.lock import read_lock
from gridc.compiler.lowering.counting import shared_words
from gridc.compiler.lowering.plan import Manifest, Plan
from gridc.compiler.preflight import falsifiability
from gridc.compiler.preflight.budget_design import (
    Cost as Cost,
)
from gridc.compiler.preflight.budget_design import (
    Currency,
    DesignRequest,
    cheapest_design,
)
from gridc.compiler.preflight.budget_design import (
    Design as Design,
)
from gridc.compiler.preflight.budget_design import (
    DesignAnswer as DesignAnswer,
)
from gridc.compiler.preflight.budget_design import (
    HypothesisDesign as HypothesisDesign,
)
from gridc.compiler.preflight.consent import consent_sentences
from gridc.compiler.preflight.readings import unchecked_readings
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.numbers import percent
from gridc.runtime.noise import USUAL, planned
from gridc.runtime.store.store import Store
from gridc.study.machine import ModelMemory, advice, memory_of
from gridc.study.place import Place, require_lock


@dataclass(frozen=True, slots=True, repr=False)
class PlanReport:
    """A plan in numbers (`manifest`), what the hypotheses can come to (`prospects`), what it gains and
    loses `against` an earlier stamp, where one was given, what `leaves` the machine, a sentence each, how
    many calls of each served model a run makes once more here (`references`), what it makes once more for the
    noise floor (`repeats`, None: nothing), and a sentence for each benchmark whose answers are read in a way
    that nobody has checked (`readings`). `memory` says what each local model needs of this machine. Its JSON
    also says which drawn answers serve several configurations (`shared`), and what a person with such models
    may want to write (`advice`)."""

    manifest: Manifest
    prospects: Mapping[str, Any]
    against: PlanDifference | None
    leaves: tuple[str, ...] = ()
    references: Mapping[str, int] = field(default_factory=dict)
    repeats: str | None = None
    readings: tuple[str, ...] = ()
    memory: tuple[ModelMemory, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As `gridc plan --json` prints it."""
        earlier = {} if self.against is None else {"against": asdict(self.against)}
        counts = self.manifest.counts
        shared = [] if counts is None else shared_words(counts.shared_draws)
        sentences = {"leaves": list(self.leaves), "shared": shared, "readings": list(self.readings)}
        machine = {"memory": [row.as_json() for row in self.memory], "advice": list(advice(self.memory))}
        made_again = {"references": dict(self.references), "repeats": self.repeats}
        beside = {**sentences, **made_again, **machine}
        return {**self.manifest.as_json(), **self.prospects, **beside, **earlier}

    def __repr__(self) -> str:
        plan, counts = self.manifest, self.manifest.counts
        calls = "" if counts is None else f", {counts.unique:,} distinct calls"
        return f"plan of {plan.study}: {plan.cells:,} cells, {plan.observations:,} observations{calls}"

    def _repr_html_(self) -> str:
        from gridc.reports.rendering import plan_html

        return plan_html(self.as_json())


def plan(place: Place, against: str | None) -> PlanReport:
    """The plan of a study. `against` is a stamp (its first letters) or a lock file to compare with."""
    compiled = place.compiled()
    path, lowered = place.store(compiled), Plan(compiled.study)
    prices = paid_prices(compiled.spec, compiled.lock.prices if compiled.lock else None)
    if path.is_file():
        with Store.open(path) as store:
            manifest = lowered.manifest(store.answered(), store.speeds(), prices)
    else:
        manifest = lowered.manifest(prices=prices)
    compared = None if against is None else compare(compiled.study, *_earlier(compiled, against))
    return PlanReport(
        manifest,
        falsifiability.manifest(lowered),
        compared,
        consent_sentences(compiled.spec, compiled.study.scorers.files.values()),
        {model.id: USUAL for model in compiled.spec.model if compiled.study.models[model.id].served_files},
        planned(compiled.spec.engine),
        tuple(unchecked_readings(lowered)),
        tuple(memory_of(lowered)),
    )


def shows_margins(kind: str) -> bool:
    """Whether the power of a kind of hypothesis is that of showing a margin, and not of finding an effect."""
    return KINDS[kind].shows_margins


def design(
    place: Place,
    decide: Sequence[str],
    power: float,
    limits: Mapping[Currency, float],
    effect: float | Mapping[str, float] | None,
    changing: float,
) -> DesignAnswer:
    """The cheapest design in which the hypotheses `decide` are decided: see `OpenStudy.design`."""
    compiled = place.compiled()
    spec = compiled.spec
    needy = [
        hypothesis.id
        for hypothesis in spec.hypothesis
        if hypothesis.id in decide and kind_of(hypothesis).finds_effects
    ]
    effects = dict.fromkeys(needy, effect) if isinstance(effect, int | float) else dict(effect or {})
    numbers = {"power": (power, 1.0), "changing": (changing, 0.5)}
    numbers |= {f"effect of {name}": (value / 100, 0.9) for name, value in effects.items()}
    for name, (value, most) in numbers.items():
        if not 0 < value <= most or (name == "power" and value == 1):
            end = "below 1" if name == "power" else f"at most {percent(most, 0)}"
            help = f"{name} must be above 0 and {end}"
            raise UsageError([Diagnostic("GC000", f"{name} cannot be {value:.6g}", help=help)])
    for currency, limit in limits.items():
        if not 0 < limit < float("inf"):
            raise UsageError(
                [Diagnostic("GC000", f"{currency} cannot be {limit:g}", help="it must be above 0")]
            )
    if not decide:
        raise UsageError([Diagnostic("GC324", "no hypothesis is named", help="name those to be decided")])
    request = DesignRequest(tuple(dict.fromkeys(decide)), power, limits, effects, changing)
    prices = paid_prices(spec, compiled.lock.prices if compiled.lock else None)
    return cheapest_design(compiled.study, request, _speeds(place.store(compiled)), prices)


def _speeds(path: Path) -> Mapping[str, float]:
    """Seconds for a call, by model digest, as far as the store knows."""
    if not path.is_file():
        return {}
    with Store.open(path) as store:
        return store.speeds()


def _earlier(compiled: Compiled, name: str) -> tuple[str, Mapping[str, Any]]:
    """The stamp that `name` begins, or the lock that it is the path of, with its content."""
    if Path(name).is_file():
        lock = read_lock(Path(name)) or require_lock(compiled)
        return lock.stamp, lock.content
    lock = require_lock(compiled)
    for earlier in lock.chain:
        if earlier.stamp.startswith(name):
            return earlier.stamp, earlier.content
    known = ", ".join(earlier.stamp[:12] for earlier in lock.chain)
    raise UsageError([Diagnostic("GC000", f"no stamp or lock file is {name}", help=f"known: {known}")])
