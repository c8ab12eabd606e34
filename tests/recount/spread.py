"""How far scores move: variance shares, gaps between levels, and maxima over slices."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from tests.recount.counts import change
from tests.recount.study import RANKS, Benchmark, Json, Study

RESAMPLES = 2_000


def bootstrap(study: Study) -> tuple[int, int]:
    """Resamples of configurations and their seed, where the spec states them."""
    stated = study.spec["analysis"].get("bootstrap") or {}
    if stated.get("unit") == "configuration":
        return stated["resamples"], stated["seed"]
    return RESAMPLES, study.seed


def level_gaps(benchmark: Benchmark) -> Iterator[Json]:
    """Every two levels of an axis that changes what is measured, by model, all else the same."""
    for axis in benchmark.study.spec["axis"]:
        if not any(
            level.get(key) is not None
            for level in axis["level"]
            for key in ("method", "candidates", "normalise")
        ):
            continue
        for before, after in combinations([level["id"] for level in axis["level"]], 2):
            for model in benchmark.models:
                deltas = []
                for c, levels in zip(benchmark.configurations, benchmark.levels, strict=True):
                    other = ",".join(
                        f"{name}={after if name == axis['id'] else level}" for name, level in levels.items()
                    )
                    if levels[axis["id"]] != before or other not in benchmark.configurations:
                        continue
                    x, y = benchmark.score(model, c), benchmark.score(model, other)
                    if x is not None and y is not None:
                        deltas.append(y - x)
                if deltas:
                    yield {
                        "axis": axis["id"],
                        "before": before,
                        "after": after,
                        "model": model,
                        "change": change(deltas),
                    }


def variance(benchmark: Benchmark) -> Iterator[Json]:
    """Variance shares of each measurand's scores, and of its parse-clean cells where some are not."""
    for row, values, factors in decomposed(benchmark):
        of_resamples = None
        if not row["clean"]:
            drawn = shares_of_draws(benchmark.study, values, factors, 0)
            of_resamples = {
                name: central(row["second"][name], own) for name, own in zip(SHARES, drawn, strict=True)
            }
        yield row | {"resampled": of_resamples}


def decomposed(benchmark: Benchmark) -> Iterator[tuple[Json, Any, Mapping[str, Sequence[str]]]]:
    """Both types of shares of each measurand, its scores and the levels of each."""
    study = benchmark.study
    if any(benchmark.score(*key) is None for key in benchmark.at):
        return
    mark = Fraction(str(study.spec["analysis"]["parse_clean"]))
    for method in dict.fromkeys(benchmark.method):
        inside = [
            (model, place)
            for place, own in enumerate(benchmark.method)
            for model in benchmark.models
            if own == method
        ]  # fmt: skip
        clean = [key for key in inside if method in RANKS or parse_rate(benchmark, *key) >= mark]
        for cells in (inside, clean) if len(clean) < len(inside) else (inside,):
            factors = {"model": [model for model, _ in cells]}
            for axis in study.spec["axis"]:
                levels = [benchmark.levels[place][axis["id"]] for _, place in cells]
                if len(set(levels)) > 1:
                    factors[axis["id"]] = levels
            if len(factors) < 2 or len(benchmark.models) < 2:
                continue
            scores = [benchmark.score(model, benchmark.configurations[place]) for model, place in cells]
            values = np.array([float(score or 0) for score in scores])
            second, third = decomposition(values, factors, "II"), decomposition(values, factors, "III")
            if second and third:
                row = {"measurand": method, "clean": cells is clean, "second": second, "third": third}
                yield row, values, factors


SHARES = ("model", "implementation", "rho")


def shares_of_draws(study: Study, values: Any, factors: Mapping[str, Sequence[str]], stream: int) -> Any:
    """The shares of the model and of all axes, and their ratio, where configurations are drawn with
    replacement, each with the scores of all models: what a term adds to the projection of the rows drawn."""
    resamples, seed = bootstrap(study)
    models = len(set(factors["model"]))
    count = len(values) // models  # a configuration's scores stand one beside the other
    columns = terms_of(factors)
    mains = [term for term in columns if len(term) == 1]
    designs = []
    for term in mains:
        rest = [columns[other] for other in columns if not set(term) <= set(other)]
        without = np.hstack([np.ones((len(values), 1)), *rest])
        designs.append((without, np.hstack([without, columns[term]])))
    found: dict[tuple[int, ...], tuple[float, float, float]] = {}
    drawn = np.sort(np.random.default_rng(seed + stream).integers(0, count, size=(resamples, count)))
    for row in np.unique(drawn, axis=0):
        places = (row[:, None] * models + np.arange(models)).ravel()
        own = values[places]
        total = float(((own - own.mean()) ** 2).sum())
        squares = [along(full[places], own)[0] - along(without[places], own)[0] for without, full in designs]
        if total <= 1e-24 * len(values):
            found[tuple(row)] = np.nan, np.nan, np.nan
            continue
        model, axes = max(squares[0], 0.0) / total, max(sum(squares[1:]), 0.0) / total
        found[tuple(row)] = model, axes, axes / model if model > 1e-12 else np.nan
    return np.array([found[tuple(row)] for row in drawn]).T


def central(point: float | None, drawn: Any) -> Json:
    """The central 95 % of what is defined."""
    known = np.sort(drawn[~np.isnan(drawn)])
    low, high = (known[int(share * len(known))] if len(known) else None for share in (0.025, 0.975))
    if point is None:
        low = high = None
    return {"point": point, "low": low, "high": high, "dropped": len(drawn) - len(known)}


def parse_rate(benchmark: Benchmark, model: str, place: int) -> Fraction:
    found = benchmark.tallies[model, benchmark.configurations[place]]
    return Fraction(found["parsed"], found["trials"])


def terms_of(factors: Mapping[str, Sequence[str]]) -> dict[tuple[str, ...], Any]:
    """The columns of each term of the paper's model, in sum-to-zero coding."""
    axes = [name for name in factors if name != "model"]
    terms = [("model",), *((axis,) for axis in axes), *(("model", axis) for axis in axes)]
    columns: dict[tuple[str, ...], Any] = {}
    for name, levels in factors.items():
        names = list(dict.fromkeys(levels))
        rows = [[float(level == own) - float(level == names[-1]) for own in names[:-1]] for level in levels]
        columns[name,] = np.array(rows)
    for term in (*terms, *((axes[0], axis) for axis in axes[1:])):
        if len(term) == 2:
            left, right = (columns[name,] for name in term)
            columns[term] = np.einsum("ni,nj->nij", left, right).reshape(len(left), -1)
    return columns


def along(design: Any, values: Any) -> tuple[float, int]:
    """The square of the projection of values onto columns, and the rank of these."""
    basis, sizes, _ = np.linalg.svd(design, full_matrices=False)
    rank = int((sizes > sizes[0] * 1e-10).sum())
    found = basis[:, :rank].T @ values
    return float(found @ found), rank


def decomposition(values: Any, factors: Mapping[str, Sequence[str]], kind: str) -> Json:
    """Sums of squares by projection onto columns in sum-to-zero coding. Type II: a term after all that do not
    contain it; Type III: after all others. None where the columns are not independent."""
    if any(len(set(levels)) < 2 for levels in factors.values()):
        return None
    columns = terms_of(factors)
    terms = list(columns)

    def explained(chosen: Sequence[tuple[str, ...]]) -> tuple[float, int]:
        return along(np.hstack([np.ones((len(values), 1)), *(columns[term] for term in chosen)]), values)

    total = float(((values - values.mean()) ** 2).sum())
    whole, rank = explained(terms)
    if total <= 1e-24 * len(values) or rank < 1 + sum(columns[term].shape[1] for term in terms):
        return None
    residual, df = float(values @ values) - whole, len(values) - rank
    error = residual / df if df else None
    table: list[Json] = []
    for term in terms:
        others = [other for other in terms if other != term]
        if kind == "II":
            others = [other for other in others if not set(term) < set(other)]
        squares = max(explained([*others, term])[0] - explained(others)[0], 0.0)
        size = columns[term].shape[1]
        omega = None if error is None else max((squares - size * error) / (total + error), 0.0)
        table.append(
            {
                "term": list(term),
                "sum_of_squares": squares,
                "df": size,
                "eta2": squares / total,
                "omega2": omega,
            }
        )
    mains = sum(row["eta2"] for row in table if len(row["term"]) == 1 and row["term"] != ["model"])
    model = table[0]["eta2"]
    pairs = [
        {
            (x, y): sum(one == x and two == y for one, two in zip(a, b, strict=True))
            for x in set(a)
            for y in set(b)
        }
        for a, b in combinations(factors.values(), 2)
    ]
    return {
        "type": kind,
        "n": len(values),
        "balanced": all(len(set(each.values())) == 1 for each in pairs),
        "terms": table,
        "residual": residual,
        "residual_df": df,
        "total": total,
        "model": model,
        "implementation": mains,
        "interaction": sum(row["eta2"] for row in table if len(row["term"]) == 2),
        "unexplained": residual / total,
        "rho": mains / model if model > 1e-12 else None,
    }


def maxima(study: Study, benchmarks: Sequence[Benchmark]) -> Iterator[Json]:
    """The largest SDI and flip rates over models and benchmarks that are measured in full (app. I)."""
    resamples, seed = bootstrap(study)
    slices = [
        (number, benchmark, [benchmark.score(model, c) or Fraction(0) for c in benchmark.configurations])
        for number, benchmark in enumerate(benchmarks)
        if all(benchmark.score(*key) is not None for key in benchmark.at)
        for model in benchmark.models
    ]
    points, drawn = [], []
    for number, _, scores in slices:
        if sum(scores):
            n, values = len(scores), np.array([float(score) for score in scores])
            rows = values[np.random.default_rng(seed + number).integers(0, n, size=(resamples, n))]
            means = rows.mean(axis=1)
            spread = rows.max(axis=1) - rows.min(axis=1)
            drawn.append(np.where(means > 0, spread / np.where(means > 0, means, 1), np.nan))
            points.append(float((max(scores) - min(scores)) * n / sum(scores)))
    if points:
        largest = np.array(
            [np.nanmax(each) if not np.isnan(each).all() else np.nan for each in np.array(drawn).T]
        )
        known = np.sort(largest[~np.isnan(largest)])
        low, high = (known[int(share * len(known))] if len(known) else None for share in (0.025, 0.975))
        yield {"name": "SDI", "slices": len(points), "interval": {
            "point": max(points), "low": low, "high": high, "dropped": resamples - len(known),
        }}  # fmt: skip
    for mark in study.spec["analysis"]["thresholds"]:
        at = Fraction(str(mark["at"]))
        counts = [
            (sum((score <= at) if benchmark.lower else (score >= at) for score in scores), len(scores))
            for _, benchmark, scores in slices
            if len(scores) > 1
        ]
        if counts:
            yield {"name": f"CFR at {mark['at']}", "slices": len(counts), "interval": largest_rate(counts)}


def largest_rho(study: Study, benchmarks: Sequence[Benchmark]) -> Json:
    """The largest ratio of the axes' share to the model's, over measurands and benchmarks."""
    points, drawn = [], []
    for number, benchmark in enumerate(benchmarks):
        for row, values, factors in decomposed(benchmark):
            if not row["clean"] and row["second"]["rho"] is not None:
                points.append(row["second"]["rho"])
                drawn.append(shares_of_draws(study, values, factors, number)[2])
    if not points:
        return None
    rows = np.array(drawn).T
    largest = np.array([np.nanmax(each) if not np.isnan(each).all() else np.nan for each in rows])
    return {"name": "rho", "slices": len(points), "interval": central(max(points), largest)}


def largest_rate(counts: Sequence[tuple[int, int]]) -> Json:
    """The maximum of independent flip rates 2 K (n - K) / (n (n - 1)), K ~ Binomial(n, k / n), exactly."""

    def rate(k: int, n: int) -> Fraction:
        return Fraction(2 * k * (n - k), n * (n - 1))

    laws = []
    for k, n in counts:
        law: dict[Fraction, Fraction] = {}
        for hit in range(n + 1):
            mass = comb(n, hit) * Fraction(k, n) ** hit * Fraction(n - k, n) ** (n - hit)
            law[rate(hit, n)] = law.get(rate(hit, n), Fraction(0)) + mass
        laws.append(law)
    ends = []
    for share in (Fraction(1, 40), Fraction(39, 40)):
        levels = sorted({level for law in laws for level in law})
        ends.append(
            next(v for v in levels if prod(sum(m for r, m in law.items() if r <= v) for law in laws) >= share)
        )
    return {
        "point": float(max(rate(*each) for each in counts)),
        "low": float(ends[0]),
        "high": float(ends[1]),
        "dropped": 0,
    }
