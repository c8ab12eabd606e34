"""Falsification tests that bound a statistic: its worst value in a part of the grid, by definition."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from tests.recount.rates import rates
from tests.recount.study import RANKS, Benchmark, Json, Study, matches

Value = tuple[Fraction | float, str]


def falsifications(study: Study, benchmarks: list[Benchmark]) -> Iterator[Json]:
    """A row for each test with a criterion. What hypotheses keep is a verdict, which has no number."""
    slices = {part["id"]: part["where"] for part in study.spec["slice"]}
    done = all(each["scored"] == each["trials"] for b in benchmarks for each in b.tallies.values())
    for test in study.spec["falsification"]:
        asks = test.get("criterion")
        if asks is None:
            continue
        if not asks.get("statistic"):
            yield {"statistic": None, "value": None, "at": None}
            continue
        where = [asks["where"], slices.get(asks.get("slice"), {}), study.spec["analysis"]["primary"]]
        found = [value for each in benchmarks for value in values(each, asks["statistic"], where)]
        high = "at_most" in asks
        worst = (max if high else min)(found, key=lambda each: each[0], default=None)
        outcome = "open"
        if worst is not None and done:
            bounds = [asks["at_most" if high else "at_least"], asks.get("partial")]
            sign = 1 if high else -1
            within = [b is not None and sign * worst[0] <= sign * Fraction(str(b)) for b in bounds]
            outcome = "pass" if within[0] else "partial" if within[1] else "fail"
        yield {
            "result": outcome,
            "statistic": asks["statistic"],
            "value": None if worst is None else float(worst[0]),
            "at": None if worst is None else worst[1],
        }


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
            yield Fraction(minority, len(own[a])), f"{a} and {b} on {name}"
    elif statistic in ("sdi", "range"):
        for m, scores in known.items():
            if not scores:
                continue
            spread, total = max(scores) - min(scores), sum(scores, Fraction(0))
            if statistic == "range" or total:
                yield spread if statistic == "range" else spread * len(scores) / total, f"{m} on {name}"
    elif statistic == "flip_rate":
        for m, scores in known.items():
            for mark in benchmark.study.spec["analysis"]["thresholds"]:
                at, n = Fraction(str(mark["at"])), len(scores)
                k = sum(s <= at if benchmark.lower else s >= at for s in scores)
                if n > 1:
                    yield Fraction(2 * k * (n - k), n * (n - 1)), f"{m} on {name} at {mark['at']:g}"
    elif statistic in ("score", "parse_rate"):
        for (m, c), cell in cells.items():
            tally = benchmark.tallies[m, c]
            ranked = benchmark.study.effect(cell, "method", "extract") in RANKS
            done = tally["scored"] == tally["trials"]
            if done and not (statistic == "parse_rate" and ranked):
                read = Fraction(tally["parsed"], tally["trials"])
                yield read if statistic == "parse_rate" else own[m][c] or Fraction(0), cell["key"]
    else:
        wanted = "unsafe_compliance" if statistic == "attack_success" else statistic
        for rate in rates(benchmark):
            for (m, c), cell in cells.items():
                here = rate["models"].get(m, {}).get(c)
                if rate["name"] == wanted and here is not None and here["value"] is not None:
                    yield here["value"], cell["key"]
