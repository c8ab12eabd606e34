"""Falsification tests that bound a statistic: its worst value in a part of the grid, and its limits, by
definition."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from tests.recount.rates import rates, shares
from tests.recount.study import RANKS, Benchmark, Json, Study, matches
from tests.recount.unit_limits import limits

Totals = tuple[Any, Any] | None
"""Of a share the rows and points by unit."""
Value = tuple[Fraction | float, str, Totals]


def falsifications(study: Study, benchmarks: list[Benchmark]) -> Iterator[Json]:
    """A row for each test with a criterion. What hypotheses keep is a verdict, which has no number."""
    slices = {part["id"]: part["where"] for part in study.spec["slice"]}
    done = all(each["scored"] == each["trials"] for b in benchmarks for each in b.tallies.values())
    for test in study.spec["falsification"]:
        asks = test.get("criterion")
        if asks is None:
            continue
        told = dict.fromkeys(("statistic", "value", "at", "by", "limit", "limit_at"))
        if not asks.get("statistic"):
            yield told
            continue
        where = [asks["where"], slices.get(asks.get("slice"), {}), study.spec["analysis"]["primary"]]
        found = [value for each in benchmarks for value in values(each, asks["statistic"], where)]
        sign = 1 if "at_most" in asks else -1
        worst = max(found, key=lambda each: sign * each[0], default=None)
        result: Json = {"result": "open"}
        if worst is not None and done:
            bounds = [asks["at_most" if sign > 0 else "at_least"], asks.get("partial")]
            result = decided(found, sign, [Fraction(str(each)) for each in bounds if each is not None])
        value = None if worst is None else float(worst[0])
        at = None if worst is None else worst[1]
        yield told | {"statistic": asks["statistic"], "value": value, "at": at} | result


def decided(found: list[Value], sign: int, bounds: list[Fraction]) -> Json:
    """Met where every share's own limit at .05 is within the bound, failed where one of m is beyond it at
    .05 / m; what is no share is its own limit."""

    def limit(each: Value, error: float, far: bool) -> tuple[Fraction | float, str, bool]:
        if each[2] is None:
            return each[0], each[1], False
        low, high = limits(*each[2], error)
        return (high if (sign > 0) == far else low), each[1], True

    reach = max((limit(each, 0.05, True) for each in found), key=lambda one: sign * one[0])
    short = max((limit(each, 0.05 / len(found), False) for each in found), key=lambda one: sign * one[0])
    met = [sign * reach[0] <= sign * bound for bound in bounds]
    failed = [sign * short[0] > sign * bound for bound in bounds]
    outcome = "pass" if met[0] else "fail" if failed[-1] else "partial" if met[-1] and failed[0] else "open"
    value, at, is_limit = short if outcome == "fail" else reach
    whole = is_limit if outcome == "fail" else all(each[2] is not None for each in found)
    row = {"result": outcome, "by": "limits" if whole else "values"}
    return row | ({"limit": float(value), "limit_at": at} if is_limit else {})


def of_cell(benchmark: Benchmark, place: tuple[str, str], statistic: str) -> Totals:
    """Of a score or a parse rate."""
    n, y = np.zeros((2, benchmark.G))
    for item, _, choice, score in benchmark.at[place]["samples"]:
        unit = benchmark.unit_of[item]
        n[unit] += 1
        y[unit] += choice is not None if statistic == "parse_rate" else score / benchmark.scales[place]
    return n[n > 0], y[n > 0]


def values(benchmark: Benchmark, statistic: str, where: list[Json]) -> Iterator[Value]:
    name = benchmark.name
    cells = {
        key: cell
        for key, cell in benchmark.at.items()
        if all(
            matches(part, {**cell["levels"], "benchmark": name, "model": key[0], "tier": cell["tier"]})
            for part in where
        )
    }
    models = list(dict.fromkeys(model for model, _ in cells))
    own = {m: {c: benchmark.score(m, c) for model, c in cells if model == m} for m in models}
    known = {m: [s for s in scores.values() if s is not None] for m, scores in own.items()}
    if statistic == "rho_flip":
        for a, b in combinations(models, 2):
            pairs = [(x, own[b].get(c)) for c, x in own[a].items()]
            gaps = [x - y for x, y in pairs if x is not None and y is not None]
            minority = min(sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps))
            yield Fraction(minority, len(own[a])), f"{a} and {b} on {name}", None
    elif statistic in ("sdi", "range"):
        for m, scores in known.items():
            if not scores:
                continue
            spread, total = max(scores) - min(scores), sum(scores, Fraction(0))
            if statistic == "range" or total:
                value = spread if statistic == "range" else spread * len(scores) / total
                yield value, f"{m} on {name}", None
    elif statistic == "flip_rate":
        for m, scores in known.items():
            for mark in benchmark.study.spec["analysis"]["thresholds"]:
                at, n = Fraction(str(mark["at"])), len(scores)
                k = sum(s <= at if benchmark.lower else s >= at for s in scores)
                if n > 1:
                    yield Fraction(2 * k * (n - k), n * (n - 1)), f"{m} on {name} at {mark['at']:g}", None
    elif statistic in ("score", "parse_rate"):
        for (m, c), cell in cells.items():
            tally = benchmark.tallies[m, c]
            ranked = benchmark.study.effect(cell, "method", "extract") in RANKS
            done = tally["scored"] == tally["trials"]
            if done and not (statistic == "parse_rate" and ranked):
                read = Fraction(tally["parsed"], tally["trials"])
                value = read if statistic == "parse_rate" else own[m][c] or Fraction(0)
                yield value, cell["key"], of_cell(benchmark, (m, c), statistic)
    else:
        wanted = "unsafe_compliance" if statistic == "attack_success" else statistic
        for rate in rates(benchmark):
            for (m, c), cell in cells.items():
                here = rate["models"].get(m, {}).get(c)
                if rate["name"] == wanted and here is not None and here["value"] is not None:
                    yield here["value"], cell["key"], shares(benchmark, wanted, cell)
