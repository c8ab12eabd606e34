"""What is asked of answers that `aggregate` or `all_of` makes one score of: only what goes through it."""

from collections.abc import Callable, Iterator, Sequence

from gridc.compiler.frontend.source import Source
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import Cell, cells_of
from gridc.compiler.grid.specifications import curve_hypotheses
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.instrument.aggregates import AggregateConflict, conflict_of_outcome, conflict_of_statistic
from gridc.diagnostics.errors import Diagnostic, KeyPath, SpecError
from gridc.schema.base import Selector
from gridc.schema.inference import RATES, AnyHypothesis
from gridc.schema.spec import Spec
from gridc.schema.statistics import Statistic

OfCell = Callable[[Cell], AggregateConflict | None]


def require_made_one(spec: Spec, source: Source) -> None:
    """Raise `SpecError` (GC105) where an outcome or a statistic that a spec names does not go through the
    `aggregate` or `all_of` of a cell that it is about. It is asked before a stamp and a run, and never of
    results: what was run before this was asked stays readable, and has no value there."""
    found = list(_conflicts(spec, source)) if spec.aggregated else []
    if found:
        raise SpecError(found)


def _conflicts(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    cells = [cell for cell in cells_of(spec) if not cell.setting.scored_singly]
    for path, wanted, inside in _asked(spec):
        for cell in cells:
            found = wanted(cell) if inside(cell) else None
            if found is not None:
                problem, help = found
                if path[0] in ("hypothesis", "falsification"):
                    help = f"{help}; or a `where` without these configurations"
                levels = ", ".join(f"{axis} = {level}" for axis, level in cell.levels.items())
                place = f" ({levels})" if levels else ""
                yield source.diagnose("GC105", path, f"{problem}{place}", help)
                break


Asked = tuple[KeyPath, OfCell, Callable[[Cell], bool]]
"""Where a spec asks for something, why a cell cannot have it, and whether it is about the cell."""


def _asked(spec: Spec) -> Iterator[Asked]:
    own = [outcome.id for outcome in spec.outcomes]

    def of(name: str) -> OfCell:
        return lambda cell: conflict_of_outcome(cell.setting, name, spec.outcomes)

    for number, outcome in enumerate(spec.outcomes):
        yield ("outcome", number, "id"), of(outcome.id), _on(outcome.benchmarks)
    for number, statistic in enumerate(spec.statistics):
        yield ("statistic", number, "kind"), _of_statistic(spec, statistic), _on(statistic.benchmarks)
    for number, hypothesis in enumerate(spec.hypothesis):
        rate = kind_of(hypothesis).rate(hypothesis)
        if rate not in own:  # said at the outcome
            yield ("hypothesis", number, "outcome"), of(rate), _about(spec, hypothesis)
    for number, test in enumerate(spec.falsification):
        asks = test.criterion
        if asks is not None and asks.statistic is not None and asks.statistic not in own:
            parts = [asks.where, *(part.where for part in spec.slice if part.id == asks.slice)]
            path = ("falsification", number, "criterion", "statistic")
            yield path, _bounded(spec, asks.statistic), _within([*parts, spec.analysis.primary])
    for number, fork in enumerate(spec.fork):
        run = [
            each for curve in spec.curve if fork.id in curve.forks for each in curve_hypotheses(spec, curve)
        ]
        for level, choice in (fork.choice or {}).items() if run else ():
            parts = [] if choice.where is None else [choice.where]
            here: KeyPath = ("fork", number, "choice", level)
            if choice.outcome is not None and choice.outcome not in own:
                yield (*here, "outcome"), of(choice.outcome), _within(parts)
            for benchmark, name in (choice.outcome_of or {}).items():
                if name not in own:
                    on = Selector.model_validate({"benchmark": benchmark})
                    yield (*here, "outcome_of", benchmark), of(name), _within([*parts, on])


def _on(benchmarks: Sequence[str] | None) -> Callable[[Cell], bool]:
    return lambda cell: benchmarks is None or cell.benchmark in benchmarks


def _of_statistic(spec: Spec, statistic: Statistic) -> OfCell:
    return lambda cell: conflict_of_statistic(cell.setting, statistic, spec.outcomes)


def _bounded(spec: Spec, name: str) -> OfCell:
    """Of what a criterion bounds: of a statistic of the spec it is said there."""
    if any(name == statistic.id for statistic in spec.statistics) or name not in RATES:
        return lambda cell: None
    return lambda cell: conflict_of_outcome(cell.setting, name, spec.outcomes)


def _within(parts: Sequence[Selector]) -> Callable[[Cell], bool]:
    def inside(cell: Cell) -> bool:
        place = grid.grid_place(cell.levels, cell.tier, cell.benchmark, cell.model)
        return all(part.matches(place) for part in parts)

    return inside


def _about(spec: Spec, hypothesis: AnyHypothesis) -> Callable[[Cell], bool]:
    """The cells that a hypothesis compares."""
    kind = kind_of(hypothesis)
    inside = _within([hypothesis.where, spec.analysis.primary])
    compared = {
        axis.id: set(kind.levels(hypothesis, axis.id, [level.id for level in axis.level]))
        for axis in spec.axis
        if axis.id in kind.axes(hypothesis)
    }
    return lambda cell: (
        inside(cell) and all(cell.levels[axis] in levels for axis, levels in compared.items() if levels)
    )
