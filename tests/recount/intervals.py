"""Intervals of scores and gaps over units: docs/statistics.md, "score and gap intervals"."""

from itertools import combinations
from typing import Any

import numpy as np

from tests.recount.study import Benchmark, Json
from tests.recount.unit_limits import change_of_units, few, limits

LEVEL = 0.95
STATED = {"item": "item", "cluster": "family", "template": "template", "category": "category"}


def intervals(benchmark: Benchmark) -> tuple[Json, dict[tuple[str, str], Json]]:
    """The row `intervals` of a benchmark, and the intervals of each score by (model, configuration). No
    question of these benchmarks is asked twice."""
    study = benchmark.study
    stated = study.spec["analysis"].get("bootstrap") or {}
    unit = STATED.get(stated.get("unit", ""), benchmark.unit)
    names = list(benchmark.items)
    place = {name: at for at, name in enumerate(names)}
    groups: dict[Any, int] = {}
    of_units = np.array(
        [groups.setdefault(each, len(groups)) for each in study.units(benchmark.name, names, unit)]
    )
    asked: dict[tuple[str, str], Any] = {}
    means: dict[tuple[str, str], Any] = {}
    for key, cell in benchmark.at.items():
        if any(score is None for *_, score in cell["samples"]):
            continue
        sums, counts = np.zeros((2, len(names)))
        for item, _, _, score in cell["samples"]:
            sums[place[item]] += score / benchmark.scales[key]
            counts[place[item]] += 1
        asked[key] = counts > 0
        means[key] = np.divide(sums, counts, out=np.zeros(len(names)), where=counts > 0)

    def by_unit(values: Any, at: Any) -> Any:
        return np.bincount(at, values)

    def ends_of(key: tuple[str, str], at: Any) -> Json:
        n = by_unit(asked[key].astype(float), at)
        return list(limits(n[n > 0], by_unit(means[key], at).round(12)[n > 0]))

    alone = np.arange(len(names))
    scores = {}
    for key in means:
        finer = unit != "item" and few(by_unit(asked[key].astype(float), of_units))
        scores[key] = ends_of(key, of_units), ends_of(key, alone) if finer else None

    def gap(a: str, b: str, over: list[str]) -> Json:
        """The mean over configurations."""
        parts = [asked[a, c] / asked[a, c].sum() / len(over) for c in over]
        n = np.mean([asked[a, c].sum() for c in over]) * np.sum(parts, axis=0)
        moved = [(means[a, c] - means[b, c]) * asked[a, c].sum() ** -1.0 / len(over) for c in over]
        y = np.mean([asked[a, c].sum() for c in over]) * np.sum(moved, axis=0)

        def ends(at: Any) -> Json:
            sums = [by_unit(each, at).round(12) for each in (n, np.maximum(y, 0), np.maximum(-y, 0))]
            return list(change_of_units(*(each[sums[0] > 0] for each in sums))[1] or ())

        finer = unit != "item" and few(by_unit(n, of_units))
        both = [(benchmark.score(a, c), benchmark.score(b, c)) for c in over]
        value = sum(float(one) - float(other) for one, other in both if one is not None and other is not None)
        value /= len(over)
        return {"value": value, "interval": ends(of_units), "on_units": ends(alone) if finer else None}

    gaps = []
    for a, b in combinations(benchmark.models, 2):
        both = [c for c in benchmark.configurations if benchmark.heard(a, c) and benchmark.heard(b, c)]
        if both:
            own = {c: gap(a, b, [c]) for c in both}
            gaps.append({"a": a, "b": b, "mean": gap(a, b, both), "by_configuration": own})
    sizes = np.bincount(of_units)
    row = {
        "level": LEVEL,
        "unit": unit,
        "units": len(groups),
        "effective": float(sizes.sum() ** 2 / (sizes**2).sum()),
        "gaps": gaps,
    }
    return row, scores
