"""Intervals of scores and gaps, resample by resample: docs/statistics.md, "score and gap intervals"."""

from collections import defaultdict
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
    unit_of, count = dict(zip(benchmark.items, groups, strict=True)), len(set(groups))
    drawn = np.random.default_rng(seed).integers(0, count, size=(resamples, count))
    means: dict[tuple[str, str], Any] = {}
    exact: dict[tuple[str, str], Any] = {}
    for key, cell in benchmark.at.items():
        if any(score is None for *_, score in cell["samples"]):
            continue
        right: dict[int, int] = defaultdict(int)
        trials: dict[int, int] = defaultdict(int)
        for item, _, _, score in cell["samples"]:
            right[unit_of[item]] += score
            trials[unit_of[item]] += benchmark.scales[key]
        sums, sizes = (np.array([each[u] for u in range(count)], dtype=float) for each in (right, trials))
        asked, exact[key] = sizes[drawn].sum(axis=1), at_bound(sums, sizes)
        with np.errstate(invalid="ignore"):
            means[key] = sums[drawn].sum(axis=1) / asked

    def ends(values: Any) -> list[float] | None:
        return percentiles(values, count)

    gaps = []
    for a, b in combinations(study.models, 2):
        both = [c for c in benchmark.configurations if (a, c) in means and (b, c) in means]
        if not both:
            continue
        points = {c: float(benchmark.score(a, c) - benchmark.score(b, c)) for c in both}  # type: ignore[operator]
        moved = {c: np.round(means[a, c] - means[b, c], 14) for c in both}
        average = np.mean([moved[c] for c in both], axis=0)
        gaps.append(
            {
                "a": a,
                "b": b,
                "mean": {"value": float(np.mean(list(points.values()))), "interval": ends(average)},
                "by_configuration": {c: {"value": points[c], "interval": ends(moved[c])} for c in both},
            }
        )
    row = {
        "level": LEVEL,
        "unit": unit,
        "units": count,
        "resamples": resamples,
        "seed": seed,
        "gaps": gaps,
    }
    return row, {key: ends(values) or exact[key] for key, values in means.items()}
