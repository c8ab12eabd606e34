"""What the scores show: counts of pairs, orders, noise, differences of levels and of models."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import comb, factorial
from typing import Any

import numpy as np
from scipy.stats import beta, kendalltau

from tests.recount.study import Benchmark, Json, Study, matches


def signs(gaps: Mapping[str, Fraction], n: int) -> Json:
    """Prop. 1 from the differences of two models in the measured ones of `n` configurations."""
    plus, minus = (sum(gap * sign > 0 for gap in gaps.values()) for sign in (1, -1))
    ties = len(gaps) - plus - minus
    whole, both = len(gaps) == n, bool(plus and minus)
    seen = "-" * bool(minus) + "0" * bool(ties) + "+" * bool(plus)
    if both:
        words = "reversible"
    elif not whole:
        words = f"no reversal on {len(gaps)} of {n}"
    elif len(seen) == 1:
        words = "tied everywhere" if ties else "one order throughout"
    else:
        words = "no strict reversal"
    return {
        "measured": len(gaps),
        "plus": plus,
        "minus": minus,
        "ties": ties,
        "rho_flip": min(plus, minus) / n,
        "d1": False if both else True if whole else None,
        "d2": False if len(seen) > 1 else True if whole else None,
        "verdicts": seen,
        "words": words,
    }


Score = Callable[[str, str], Fraction | None]


def gaps_of(score: Score, a: str, b: str, scope: Sequence[str]) -> dict[str, Fraction]:
    """Score of a minus score of b in the configurations where both have one."""
    both = {c: (score(a, c), score(b, c)) for c in scope}
    return {c: x - y for c, (x, y) in both.items() if x is not None and y is not None}


def counts(benchmark: Benchmark, a: str, b: str, scope: Sequence[str], floors: Mapping[Any, Any]) -> Json:
    """Prop. 1 for a pair in a scope, with all that follows from it."""
    n = len(scope)
    gaps = gaps_of(benchmark.score, a, b, scope)
    read = gaps_of(benchmark.readable, a, b, scope)
    row, readable = signs(gaps, n), signs(read, n)
    plus, minus, ties, m = row["plus"], row["minus"], row["ties"], row["measured"]
    bound, until = None, None
    if m < n and bool(plus) != bool(minus):
        # k of n reverse: P(none of m drawn) = C(n - k, m) / C(n, m) must exceed 5 %.
        bound = max(k for k in range(n - m + 1) if k == 0 or 20 * comb(n - k, m) > comb(n, m))
    if m == n and plus and minus:
        until = (n + 1) * (1 / (plus + 1) + 1 / (minus + 1) - 1 / (plus + minus + 1))

    def witness(sign: int) -> Json:
        side = [c for c, gap in gaps.items() if sign * gap > 0]
        if not side:
            return None
        best = max(side, key=lambda c: abs(gaps[c]))
        return {
            "configuration": best,
            **{
                name: list((benchmark.score(model, best) or Fraction(0)).as_integer_ratio())
                for name, model in (("a", a), ("b", b))
            },
        }

    def majority(of: Json) -> int:
        return int(of["plus"] > of["minus"]) - int(of["plus"] < of["minus"])

    return row | {
        "a": a,
        "b": b,
        "size": n,
        "ceiling": ((n - ties) // 2) / n,
        "disagreement": 2 * plus * minus / (n * (n - 1)) if n > 1 else None,
        "minority_bound": bound,
        "until_both": until,
        "per_protocol": {name: value for name, value in readable.items() if name != "verdicts"}
        | {
            "agrees": majority(row) == majority(readable)
            and all(
                None in (row[name], readable[name]) or row[name] == readable[name] for name in ("d1", "d2")
            )
        },
        "witness_plus": witness(1),
        "witness_minus": witness(-1),
        "unread": unread(benchmark, a, b, scope, majority(row), row),
        "noise": noise(benchmark, a, b, gaps, floors),
    }


def unread(benchmark: Benchmark, a: str, b: str, scope: Sequence[str], leads: int, row: Json) -> Json:
    """What holds of a pair where all that is unread of a earned nothing and of b everything, and in the
    reverse case. What claims there are the evidence knows: `claim` is added where both are at hand."""
    ends = {c: (benchmark.ends(a, c), benchmark.ends(b, c)) for c in scope}
    both = {c: (x, y) for c, (x, y) in ends.items() if x is not None and y is not None}
    least, most = ({c: x[at] - y[1 - at] for c, (x, y) in both.items()} for at in (0, 1))
    worst, best = signs(least, len(scope)), signs(most, len(scope))

    def alike(of: Json) -> bool:
        stated = ((of[name], row[name]) for name in ("d1", "d2"))
        return bool(
            (of["plus"] > of["minus"]) - (of["plus"] < of["minus"]) == leads
            and all(None in two or two[0] == two[1] for two in stated)
        )

    read = [c for c in scope if benchmark.reads(c)]
    judged = [benchmark.method[benchmark.configurations.index(c)] == "judge" for c in read]
    counted = {
        f"{what}_{side}": sum(of(model, c) for c in read)
        for side, model in (("a", a), ("b", b))
        for what, of in (
            ("unread", lambda model, c: len(benchmark.unread(model, c))),
            ("answers", lambda model, c: benchmark.tallies[model, c]["trials"]),
        )
    }
    return counted | {
        "judged": all(judged),
        "measured": len(both),
        "low": float(sum(least.values()) / len(both)) if both else None,
        "high": float(sum(most.values()) / len(both)) if both else None,
        "plus": worst["plus"],
        "minus": best["minus"],
        "ties": sum(least[c] == most[c] == 0 for c in both),
        "agrees": alike(worst) and alike(best),
        "beyond": [c for c in scope if benchmark.too_many(a, c) or benchmark.too_many(b, c)],
    }


def noise(
    benchmark: Benchmark, a: str, b: str, gaps: Mapping[str, Fraction], floors: Mapping[Any, Any]
) -> Json:
    """Which signs the shape of a batch could turn: a gap no larger than both models' shares of changes."""

    def state(c: str) -> str:
        shares = [
            floors.get((model, benchmark.study.effect(benchmark.at[model, c], "precision", "fp32")))
            for model in (a, b)
        ]
        if None in shares:
            return "not_measured"
        floor = sum((Fraction(each["changed"], each["outcomes"]) for each in shares if each), Fraction(0))
        return "within" if abs(gaps[c]) <= floor else "outside"

    states = {c: state(c) for c, gap in gaps.items() if gap}
    sides = [[where for c, where in states.items() if (gaps[c] > 0) is up] for up in (True, False)]
    every = ("within", "not_measured", "outside")
    if all(sides):
        verdict = min((max(side, key=every.index) for side in sides), key=every.index)
    else:
        verdict = min((where for side in sides for where in side), key=every.index, default="outside")
    return {
        "plus": sides[0].count("within"),
        "minus": sides[1].count("within"),
        "configurations": [c for c, where in states.items() if where == "within"],
        "unmeasured": sum(side.count("not_measured") for side in sides),
        "standing": verdict,
    }


def floors(study: Study) -> tuple[list[Json], dict[Any, Json]]:
    """The noise floor of every model at every precision that runs, from the recorded samples."""
    ran = dict.fromkeys((cell["model"], study.effect(cell, "precision", "fp32")) for cell in study.cells)
    found: dict[Any, Json] = {}
    events = [
        json.loads(body)
        for (body,) in study.db.execute("SELECT body FROM event WHERE kind = 'noise' ORDER BY seq")
    ]
    sent = dict(
        study.db.execute(
            """SELECT DISTINCT cell.model, call.model FROM cell JOIN trace ON trace.cell = cell.id
               JOIN call ON call.id = trace.call WHERE stamp = ?""",
            [study.stamp],
        ).fetchall()
    )
    for model, precision in ran:
        for event in events:
            if (event["identity"], event["precision"]) == (sent.get(model), precision) and event["outcomes"]:
                changed, calls = event["outcomes_changed"], event["calls"]
                hit = min(changed, calls)
                found[model, precision] = {
                    "outcomes": event["outcomes"],
                    "changed": changed,
                    "calls": calls,
                    "texts": event["texts"],
                    "texts_changed": event["texts_changed"],
                    "max_moved": event["max_moved"],
                    "limit": 1.0 if hit == calls else float(beta.ppf(0.95, hit + 1, calls - hit)),
                }
    return [{"model": m, "precision": p, "floor": found.get((m, p))} for m, p in ran], found


def orders(benchmark: Benchmark, scope: Sequence[str]) -> Json:
    """The orders of all models that occur, best first, and how alike the configurations are."""
    models = benchmark.models
    rows = {c: {model: benchmark.score(model, c) for model in models} for c in scope}
    rows = {c: row for c, row in rows.items() if None not in row.values()}
    if benchmark.target is not None:  # the greatest stands first: less distance
        aim = Fraction(str(benchmark.target))
        rows = {c: {m: -abs((s or Fraction(0)) - aim) for m, s in row.items()} for c, row in rows.items()}
    sign = 1 if benchmark.lower else -1
    seen: dict[Json, str] = {}
    weak: dict[Json, int] = defaultdict(int)
    named: dict[Json, int] = defaultdict(int)
    for c, row in rows.items():
        values = sorted(set(row.values()), key=lambda value: sign * (value or 0))
        order = tuple(tuple(sorted(model for model in models if row[model] == value)) for value in values)
        seen.setdefault(order, c)
        weak[order] += 1
        named[tuple(sorted(models, key=lambda model: (sign * (row[model] or 0), model)))] += 1
    pairs = comb(len(rows), 2)
    live = [row for row in rows.values() if len(set(row.values())) > 1]
    taus = [
        kendalltau(
            [float(one[m] or 0) for m in models], [float(other[m] or 0) for m in models], variant="b"
        ).statistic
        for one, other in combinations(live, 2)
    ]

    def differ(groups: Mapping[Any, int]) -> float | None:
        return 1 - sum(comb(n, 2) for n in groups.values()) / pairs if pairs else None

    strict = sum(len(order) == len(models) for order in seen)
    return {
        "orderings": {
            "possible": factorial(len(models)),
            "strict": strict,
            "weak": len(seen),
            "by_name": len(named),
            "permutation_rate": strict / factorial(len(models)),
            "measured": len(rows),
            "seen": [{"order": order, "configuration": seen[order]} for order in sorted(seen)],
        },
        "mismatch": differ(weak),
        "mismatch_by_name": differ(named),
        "tau_r": float(np.mean(taus)) if taus else None,
        "tau_r_dropped": len(rows) - len(live),
    }


def change(deltas: Sequence[Fraction]) -> Json:
    sizes = sorted(abs(each) for each in deltas)
    middle = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2
    return {
        "cells": len(deltas),
        "mean": float(sum(deltas) / len(deltas)),
        "median_absolute": float(middle),
        "mean_absolute": float(sum(sizes) / len(sizes)),
        "max_absolute": float(sizes[-1]),
        "over_5": sum(20 * size > 1 for size in sizes),
        "over_10": sum(10 * size > 1 for size in sizes),
    }


def between(benchmark: Benchmark, a: str, b: str) -> Json:
    rows = [(benchmark.score(a, c), benchmark.score(b, c)) for c in benchmark.configurations]
    both = [(x, y) for x, y in rows if x is not None and y is not None]
    if not both:
        return None
    row: Json = {"a": a, "b": b, "change": change([x - y for x, y in both])}
    for name, side in zip("ab", zip(*both, strict=True), strict=True):
        spread, mean = max(side) - min(side), sum(side) / len(side)
        row[f"range_{name}"] = float(spread)
        row[f"sdi_{name}"] = float(spread / mean) if mean else None
    return row


def kappa(table: Any) -> float | None:
    """Cohen's: (p_o - p_e) / (1 - p_e); None where both rules give every item the same score."""
    n = table.sum()
    if n in (table[0, 0], table[1, 1]):
        return None
    chance = float(table.sum(axis=0) @ table.sum(axis=1)) / float(n) ** 2
    return (float(np.trace(table)) / float(n) - chance) / (1 - chance)


def agreements(benchmark: Benchmark) -> Iterator[Json]:
    """Levels of an axis whose samples rest on the very same calls, replicate 0, by model."""
    study = benchmark.study
    for axis, model in product(study.spec["axis"], benchmark.models):
        for left, right in combinations([level["id"] for level in axis["level"]], 2):
            tables = []
            for one in benchmark.cells:
                levels = {**one["levels"], axis["id"]: right}
                other = next(
                    (cell for cell in benchmark.cells if cell["model"] == model and cell["levels"] == levels),
                    None,
                )
                if one["model"] != model or one["levels"][axis["id"]] != left or other is None:
                    continue
                if calls_of(study, one) != calls_of(study, other) or None in scores_of(one) + scores_of(
                    other
                ):
                    continue
                table = np.zeros((2, 2), dtype=np.int64)
                theirs = {item: score for item, replicate, _, score in other["samples"] if replicate == 0}
                for item, replicate, _, score in one["samples"]:
                    if replicate == 0 and item in theirs:
                        table[1 - score, 1 - theirs[item]] += 1
                tables.append(table)
            if tables:
                whole = np.sum(tables, axis=0)
                single = [value for value in map(kappa, tables) if value is not None]
                yield {
                    "model": model,
                    "axis": axis["id"],
                    "left": left,
                    "right": right,
                    "configurations": len(tables),
                    "both": int(whole[0, 0]),
                    "left_only": int(whole[0, 1]),
                    "right_only": int(whole[1, 0]),
                    "neither": int(whole[1, 1]),
                    "kappa": kappa(whole),
                    "least": min(single, default=None),
                    "greatest": max(single, default=None),
                }


def scores_of(cell: Mapping[str, Any]) -> list[int | None]:
    return [score for *_, score in cell["samples"]]


def calls_of(study: Study, cell: Mapping[str, Any]) -> list[Any]:
    return study.db.execute(
        "SELECT item, replicate, step, call FROM trace WHERE cell = ? ORDER BY 1, 2, 3", [cell["id"]]
    ).fetchall()


def precisions(study: Study, benchmarks: Mapping[str, Benchmark]) -> Iterator[Json]:
    """Two levels of an axis that differ in precision alone: what changes from one to the other (app. O)."""
    idle = ("id", "tier", "provenance", "precision")
    for axis in study.spec["axis"]:
        for one, other in combinations(axis["level"], 2):
            if one.get("precision") == other.get("precision"):
                continue
            if any(one.get(key) != other.get(key) for key in (one.keys() | other.keys()) - set(idle)):
                continue
            yield paired(study, benchmarks, axis["id"], one["id"], other["id"])


def paired(study: Study, benchmarks: Mapping[str, Benchmark], axis: str, left: str, right: str) -> Json:
    scores = {}
    for cell in study.cells:
        values = scores_of(cell)
        if None not in values and cell["levels"][axis] in (left, right):
            scores[cell["model"], cell["benchmark"], cell["configuration"]] = Fraction(
                sum(v or 0 for v in values), len(values)
            )
    rows, unpaired = [], 0
    for (model, benchmark, configuration), score in scores.items():
        if f"{axis}={left}" in configuration.split(","):
            twin = (model, benchmark, configuration.replace(f"{axis}={left}", f"{axis}={right}"))
            if twin in scores:
                rest = ",".join(part for part in configuration.split(",") if part != f"{axis}={left}")
                rows.append((model, benchmark, rest, score, scores[twin]))
    unpaired = len(scores) - 2 * len(rows)
    moved = sorted((row for row in rows if row[3] != row[4]), key=lambda row: -abs(row[4] - row[3]))
    places: dict[Any, dict[str, Any]] = {}
    for model, benchmark, rest, before, after in rows:
        places.setdefault((benchmark, rest), {})[model] = (before, after)
    ran = list(dict.fromkeys(row[0] for row in rows))
    reordered: list[Json] = []
    orders_seen = 0
    for (benchmark, rest), cell in places.items():
        row: dict[str, tuple[Fraction, Fraction]] = cell
        here = [model for model in ran if any(each[:2] == (model, benchmark) for each in rows)]
        if len(row) < len(here) or len(here) < 2:
            continue
        orders_seen += 1
        both = []
        for side in (0, 1):
            scored = sorted({each[side] for each in row.values()}, reverse=not benchmarks[benchmark].lower)
            both.append([sorted(model for model in here if row[model][side] == value) for value in scored])
        if both[0] != both[1]:
            flips = [
                [a, b]
                for a, b in combinations(here, 2)
                if (row[a][0] - row[b][0]) * (row[a][1] - row[b][1]) < 0
            ]
            reordered.append(
                {"configuration": f"{benchmark}/{rest}", "left": both[0], "right": both[1], "flips": flips}
            )
    return {
        "axis": axis,
        "left": left,
        "right": right,
        "unpaired": unpaired,
        "overall": change([after - before for *_, before, after in rows]) if rows else None,
        "by_model": {model: change([y - x for m, _, _, x, y in rows if m == model]) for model in ran},
        "largest": [
            {
                "cell": f"{m}/{b}/{rest}",
                "left": list(x.as_integer_ratio()),
                "right": list(y.as_integer_ratio()),
            }
            for m, b, rest, x, y in moved[:5]
        ],
        "orderings": orders_seen,
        "same_order": orders_seen - len(reordered),
        "flips": sum(len(each["flips"]) for each in reordered),
        "reordered": reordered,
    }


def rankings(
    study: Study,
    benchmarks: Mapping[str, Benchmark],
    measured: Mapping[Any, Json],
    corrected: Sequence[Json],
) -> Iterator[Json]:
    """How the configurations spoke to each stated ranking, and the verdict by the corrected evidence."""
    number = 0
    every = ("within", "not_measured", "outside")
    for hypothesis in study.spec["hypothesis"]:
        if hypothesis["kind"] != "ranking":
            continue
        verdicts: dict[str, list[str]] = defaultdict(list)
        standings: dict[str, list[str]] = defaultdict(list)
        for benchmark in benchmarks.values():
            if not set(hypothesis["order"]) <= set(benchmark.models):
                continue
            every_cell = [cell for cell in study.cells if cell["benchmark"] == benchmark.name]
            places = dict.fromkeys(cell["configuration"] for cell in every_cell)
            for configuration in places:
                row = {}
                for cell in every_cell:
                    place = {
                        **cell["levels"],
                        "benchmark": cell["benchmark"],
                        "model": cell["model"],
                        "tier": cell["tier"],
                    }
                    wanted = (hypothesis.get("where") or {}, study.spec["analysis"].get("primary") or {})
                    if cell["configuration"] == configuration and all(
                        matches(where, place) for where in wanted
                    ):
                        row[cell["model"]] = benchmark.score(cell["model"], configuration)
                if not row:
                    continue
                scores = [score for model in hypothesis["order"] if (score := row.get(model)) is not None]
                if len(scores) < len(hypothesis["order"]):
                    verdicts["missing"].append(configuration)
                    continue
                steps = [(y - x if benchmark.lower else x - y) for x, y in pairwise(scores)]
                verdict = "contradict" if min(steps) < 0 else "tied" if 0 in steps else "agree"
                verdicts[verdict].append(f"{benchmark.name}/{configuration}")
                for (a, b), step in zip(pairwise(hypothesis["order"]), steps, strict=True):
                    if step < 0 or verdict == "agree":
                        gap = {configuration: step}
                        standings[verdict].append(noise(benchmark, a, b, gap, measured)["standing"])
        against = verdicts["contradict"]
        observed = (
            "refuted" if against else "open" if verdicts["tied"] or verdicts["missing"] else "supported"
        )
        strong = corrected[number]
        number += 1
        result, strength = observed, study.spec["analysis"].get("evidence") or "certified"
        if strength != "descriptive":
            support, refute = strong["support"], strong["refute"]
            result = "open"
            if support is not None and min(support, refute) <= strong["alpha"]:
                result = "supported" if support <= refute else "refuted"
        decisive = standings["contradict" if against else "agree"]
        standing = None
        if result != "open":  # support falls with any step, a refutation stands with one
            pick: Callable[..., str] = max if result == "refuted" else min
            standing = pick(
                decisive, key=every.index, default="outside" if result == "supported" else "within"
            )
        ranking = {name: len(verdicts[name]) for name in ("agree", "contradict", "tied", "missing")} | {
            "strength": strength,
            "observed": observed,
            "against": against[0] if against else None,
        }
        yield strong | {"ranking": ranking, "verdict": result, "noise": standing}
