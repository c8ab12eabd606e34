"""The order of models and which of them are told apart: docs/statistics.md, "Places and tie groups"."""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy.stats import binom

from tests.recount.arms import gaffke
from tests.recount.audit import Audit
from tests.recount.evidence import holm
from tests.recount.study import Benchmark, Json
from tests.recount.unit_limits import limits

MOST_TRIED = 10


def standings(benchmark: Benchmark, complete: bool, audit: Audit) -> Json | None:
    """Over configurations in which every model of the order gave a readable answer, so that as many pairs are
    compared as can be; each configuration counts as much as another."""
    alpha = benchmark.study.alpha
    if benchmark.target is not None or not complete or len(benchmark.models) < 2:
        return None
    models, over = compared(benchmark)
    if len(models) < 2:
        return None
    n, counts = np.zeros(benchmark.G), []
    for c in over:
        asked = np.zeros(benchmark.G)
        for item in {item for item, *_ in benchmark.at[models[0], c]["samples"]}:
            asked[benchmark.unit_of[item]] += 1
        counts.append(asked.sum())
        n += asked / asked.sum()
    n *= np.mean(counts) / len(over)

    def earned(model: str, lost_as: int | None) -> Any:
        """By unit, where what counts against a claim earned so much."""
        points = np.zeros(benchmark.G)
        for c in over:
            samples = len(benchmark.at[model, c]["samples"])
            points += benchmark.by_unit(model, c, False, lost_as) / benchmark.scale / samples
        return (points * np.mean(counts) / len(over)).round(9)

    ends = {model: (earned(model, 0), earned(model, benchmark.scale)) for model in models}
    points = {model: earned(model, None) for model in models}
    sign = -1 if benchmark.lower else 1
    order = sorted(models, key=lambda model: (-sign * round(float(points[model].sum()), 6), model))
    exact = len(over) == 1 and benchmark.replicates == [1] and len(benchmark.items) == benchmark.G
    exact = exact and benchmark.scale == 1

    def p(a: str, b: str) -> float:
        """What is missing speaks against a."""
        moved = ends[a][0] - ends[b][1] if sign > 0 else ends[b][0] - ends[a][1]
        if audit.configurations:
            better, worse = (a, b) if sign > 0 else (b, a)
            return max(of_items(moved), *(audit.p_values(better, worse, c)[0] for c in over))
        return of_items(moved)

    def of_items(moved: Any) -> float:
        if exact:
            up, down = int((moved > 0).sum()), int((moved < 0).sum())
            return float(binom.sf(up - 1, up + down, 0.5)) if up + down else 1.0
        return gaffke((moved / n.max()).round(12), -1.0)

    pairs = [(a, b) for at, a in enumerate(order) for b in order[at + 1 :]]
    found = [p(*pair) for pair in pairs]
    apart = {pair for pair, each in zip(pairs, holm(found, 2 * len(pairs)), strict=True) if each <= alpha}
    two_sided = [min(1.0, 2 * p(*pair)) for pair in pairwise(order)]
    return {
        "over": over,
        "test": "mcnemar" if exact else "gaffke",
        "order": [
            {
                "model": model,
                "place": place,
                "best": 1 + sum(other == model for _, other in apart),
                "worst": len(order) - sum(other == model for other, _ in apart),
                "score": float(points[model].sum() / n.sum()),
                "interval": list(limits(n[n > 0], points[model][n > 0])),
                "bounds": bounds(ends[model], n),
                "constant": 0 < round(float(points[model].sum() / n.sum()), 6) < 1
                and len(set((points[model][n > 0] / n[n > 0]).round(9).tolist())) == 1,
            }
            for place, model in enumerate(order, 1)
        ],
        "neighbours": [
            {
                "a": a,
                "b": b,
                "gap": float((points[a] - points[b]).sum() / n.sum()),
                "a_ahead": int((sign * (points[a] - points[b]) > 1e-9).sum()),
                "b_ahead": int((sign * (points[b] - points[a]) > 1e-9).sum()),
                "p": alone,
                "p_holm": adjusted,
                "apart": adjusted <= alpha,
            }
            for (a, b), alone, adjusted in zip(
                pairwise(order), two_sided, holm(two_sided, len(two_sided)), strict=True
            )
        ],
        "units": len(n),
        "grouped": len(benchmark.items) != benchmark.G,
        "tie_groups": groups(order, apart),
        "majorities": [
            {"higher": a, "ahead_on_most": b, "units": ahead}
            for a, b in pairs
            if 2 * (ahead := int((sign * (points[b] - points[a]) > 1e-9).sum())) > len(n)
        ],
        "unplaced": [model for model in benchmark.models if model not in models],
        "left_out": [c for c in benchmark.configurations if c not in over],
    }


def bounds(ends: Any, n: Any) -> list[float] | None:
    """The lowest and the highest mean that whatever counts against a claim can make."""
    low, high = (float(each.sum() / n.sum()) for each in ends)
    return None if abs(high - low) < 1e-9 else [low, high]


def compared(benchmark: Benchmark) -> tuple[list[str], list[str]]:
    """Of all sets of models that with the most comparisons in the configurations where all of them are heard,
    of equally many that of more models."""
    models = benchmark.models
    if len(models) > MOST_TRIED:
        return list(models), [
            c for c in benchmark.configurations if all(benchmark.heard(m, c) for m in models)
        ]
    found = []
    for size in range(2, len(models) + 1):
        for some in combinations(models, size):
            over = [c for c in benchmark.configurations if all(benchmark.heard(model, c) for model in some)]
            if over:
                found.append((size * (size - 1) * len(over), size, list(some), over))
    *_, best, over = max(found, key=lambda one: one[:2], default=(0, 0, [], []))
    return best, over


def groups(order: Sequence[str], apart: Any) -> list[list[str]]:
    """Every stretch of the order without a pair that is apart, unless it lies in a longer one. A pair that is
    not apart and in no stretch gets a group, into which models come in order as long as they fit."""
    stretches = [
        range(first, last)
        for first in range(len(order))
        for last in range(first + 2, len(order) + 1)
        if not any((order[a], order[b]) in apart for a in range(first, last) for b in range(a + 1, last))
    ]
    found = [set(one) for one in stretches]
    for a, b in combinations(range(len(order)), 2):
        if (order[a], order[b]) in apart or any({a, b} <= own for own in found):
            continue
        group = {a, b}
        for place in range(len(order)):
            if not any({(order[place], order[each]), (order[each], order[place])} & apart for each in group):
                group.add(place)
        found.append(group)
    longest = sorted(sorted(own) for own in found if not any(own < other for other in found))
    return [[order[place] for place in own] for own in longest]
