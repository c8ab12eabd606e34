"""Readings of text that nobody has checked, and the least error of them that people's labels would find."""

from collections.abc import Iterator

import numpy as np

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.lowering.plan import Plan
from gridc.numbers import percent

LABELS = 100
"""Labels of each model of which a plan speaks."""


def unchecked_readings(plan: Plan) -> Iterator[str]:
    """A sentence for each benchmark whose answers phrases or judges read, where models are compared."""
    from gridc.statistics.labels_needed import POWER, error_found

    ways: dict[str, list[str]] = {}
    for cell in plan.cells():
        way = _way(cell)
        known = ways.setdefault(cell.benchmark, [])
        if way is not None and way not in known:
            known.append(way)
    models = {envelope.benchmark: len(envelope.models) for envelope in plan.survey.envelopes}
    for benchmark, known in ways.items():
        items = plan.study.items.get(benchmark)
        if not known or items is None or models.get(benchmark, 0) < 2:
            continue
        asked = plan.asked(benchmark).items
        numbers = {unit: number for number, unit in enumerate(dict.fromkeys(items.units.values()))}
        units = np.array([numbers[items.units[item]] for item in asked], np.int64)
        labels = min(LABELS, len(asked))
        error = error_found(units, labels)
        found = f"not even labels of all {labels} answers of each model would find out one that is misread"
        if error is not None:
            found = (
                f"people's labels of {labels} answers of each model would find out, with a chance of "
                f"{POWER:g}, one that is misread in {percent(error, 0)} of its answers where another never is"
            )
        yield f"{benchmark}: claims rest on {' and '.join(known)}, which nobody has checked; {found}"


def _way(cell: Cell) -> str | None:
    """What reads the answers of a cell; None where it is no word of a model's own that decides."""
    method = METHODS[cell.setting.method]
    if method.judged:
        return "what judges say"
    return "phrases of refusal" if method.reads_behaviour else None
