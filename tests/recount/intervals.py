"""Intervals of scores and gaps, resample by resample: docs/statistics.md, "score and gap intervals"."""

from collections.abc import Collection
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import norm, t

from tests.recount.study import Benchmark, Json

LEVEL, DEFAULT = 0.95, 2000
STATED = {"item": "item", "cluster": "family", "template": "template", "category": "category"}


def percentiles(values: Any, count: int) -> list[float] | None:
    """The central part of resampled values over `count` units, its tails narrowed as Student's t asks."""
    held = np.sort(values[np.isfinite(values)])
    if count < 2 or not len(held) or held[0] == held[-1]:
        return None
    tail = norm.cdf(-sqrt(count / (count - 1)) * t.ppf((1 + LEVEL) / 2, count - 1))
    skipped = min(int(tail * len(held)), (len(held) - 1) // 2)
    return [float(held[skipped]), float(held[-1 - skipped])]


def at_bound(sums: Any, sizes: Any) -> list[float] | None:
    """Of a rate of 0 or 1: the largest share of `sizes` that units with expected shares p may differ
    from it by, sum(sizes p) / sum(sizes) over prod(1 - p) >= .05. There 1 - p is c / size, at most 1."""
    sizes, total = sizes[sizes > 0].astype(float), sums.sum()
    if not len(sizes) or total not in (0, sizes.sum()):
        return None
    low, high = 0.0, sizes.max()
    for _ in range(200):
        c = (low + high) / 2
        low, high = (c, high) if np.log(np.minimum(1, c / sizes)).sum() < np.log(1 - LEVEL) else (low, c)
    reach = float((sizes - np.minimum(sizes, high)).sum() / sizes.sum())
    return [0.0, reach] if total == 0 else [1 - reach, 1.0]


def intervals(benchmark: Benchmark) -> tuple[Json, dict[tuple[str, str], Json]]:
    """The row `intervals` of a benchmark, and the interval of each score by (model, configuration)."""
    study = benchmark.study
    stated = study.spec["analysis"].get("bootstrap") or {}
    unit = STATED.get(stated.get("unit", ""), benchmark.unit)
    resamples, seed = stated.get("resamples", DEFAULT), stated.get("seed", study.seed)
    groups = study.units(benchmark.name, benchmark.items, unit)
    named, every = dict(zip(benchmark.items, groups, strict=True)), len(set(groups))

    def resampled(items: Collection[str]) -> tuple[dict[str, int], Any]:
        """The units of some items, numbered as they come, and the draws of them."""
        numbers: dict[Any, int] = {}
        units = {item: numbers.setdefault(named[item], len(numbers)) for item in sorted(items)}
        return units, np.random.default_rng(seed).integers(0, len(numbers), size=(resamples, len(numbers)))

    whole = resampled(benchmark.items)
    means: dict[tuple[str, str], Any] = {}
    together: dict[tuple[str, str], Any] = {}
    exact: dict[tuple[str, str], Any] = {}
    counts: dict[str, int] = {}
    for key, cell in benchmark.at.items():
        if any(score is None for *_, score in cell["samples"]):
            continue
        own = resampled({item for item, *_ in cell["samples"]})
        counts[key[1]] = own[1].shape[1]
        for (unit_of, drawn), into in ((own, means), (whole, together)):
            sums, sizes = np.zeros((2, drawn.shape[1]))
            for item, _, _, score in cell["samples"]:
                sums[unit_of[item]] += score
                sizes[unit_of[item]] += benchmark.scales[key]
            if into is means:
                exact[key] = at_bound(sums, sizes)
            with np.errstate(invalid="ignore"):
                into[key] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)

    gaps = []
    for a, b in combinations(study.models, 2):
        both = [c for c in benchmark.configurations if (a, c) in means and (b, c) in means]
        if not both:
            continue
        points = {c: float(benchmark.score(a, c) - benchmark.score(b, c)) for c in both}  # type: ignore[operator]
        moved = {c: np.round(means[a, c] - means[b, c], 14) for c in both}
        average = np.mean([np.round(together[a, c] - together[b, c], 14) for c in both], axis=0)
        gaps.append(
            {
                "a": a,
                "b": b,
                "mean": {
                    "value": float(np.mean(list(points.values()))),
                    "interval": percentiles(average, every),
                },
                "by_configuration": {
                    c: {"value": points[c], "interval": percentiles(moved[c], counts[c])} for c in both
                },
            }
        )
    row = {
        "level": LEVEL,
        "unit": unit,
        "units": every,
        "resamples": resamples,
        "seed": seed,
        "gaps": gaps,
    }
    return row, {key: percentiles(values, counts[key[1]]) or exact[key] for key, values in means.items()}
