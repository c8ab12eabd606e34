"""Every number of certificate.json, computed again from the store by a program that shares no code with gridc.

Plain sqlite3, numpy and scipy; nothing of gridc is imported. What is computed follows the field descriptions of
the certificate's schema, docs/certificates.md and docs/statistics.md. `recount` gives the certificate as it
must be, without what is no number; `differences` walks the real one and names every leaf that differs, and every
leaf that nobody recounted and that is not on the short list of what is no number.

    python -m tests.recount.recount STORE CERTIFICATE FOLDER
"""

import json
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from math import ceil, comb, factorial, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, binom, kendalltau

NOT_NUMBERS = (
    r"format|study|title|gridc|outcome|models\..*",  # names
    r"stamp|registered|supersedes\..*|results|(.*\.)?rows",  # digests: `gridc verify` hashes again
    r"anchor\..*",  # of the lock and of git, not of the store
    r"statements\..*|uncomputed\..*",  # sentences
    r"hypotheses\.\d+\.(id|order\..*)|scopes\.\d+\.declared",
)
RANKS = ("loglikelihood", "pair_likelihood")
FLIPS, STAKES = 9_999, [k / 40 for k in range(1, 40, 2)]

Json = Any
Groups = Callable[[str, str], Mapping[str, str]]
"""The group of each item of a benchmark at a level."""
Scores = Mapping[str, Mapping[str, Fraction | None]]


class Study:
    """What the store says of one study: its document, and its outcomes by cell."""

    def __init__(self, path: Path, stamp: str, groups: Groups) -> None:
        self.db, self.groups = sqlite3.connect(path), groups
        (content,) = self.db.execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
        self.stamp, self.document = stamp, json.loads(content)
        self.spec = self.document["spec"]
        self.models = [model["id"] for model in self.spec["model"]]
        self.alpha = self.spec["analysis"].get("alpha") or 0.05
        self.seed = self.spec["sampling"]["seed"]
        rows = self.db.execute(
            "SELECT id, key, model, benchmark, configuration, tier, shared FROM cell WHERE stamp = ? ORDER BY id",
            [stamp],
        )
        self.cells = [dict(zip(("id", "key", "model", "benchmark", "configuration", "tier", "shared"), row, strict=True)) for row in rows]
        for cell in self.cells:
            cell["samples"] = self.db.execute(
                "SELECT item, replicate, choice, score FROM sample WHERE cell = ? ORDER BY item, replicate", [cell["id"]]
            ).fetchall()
            cell["levels"] = dict(part.split("=", 1) for part in cell["configuration"].split(","))

    def effect(self, cell: Mapping[str, Any], key: str, default: Json) -> Json:
        """The value of a key for a cell: the axis level's, else the benchmark's, the model's or the study's."""
        for axis in self.spec["axis"]:
            level = next(each for each in axis["level"] if each["id"] == cell["levels"][axis["id"]])
            if level.get(key) is not None:
                return level[key]
        for table in (
            *(each for each in self.spec["benchmark"] if each["id"] == cell["benchmark"]),
            *(each for each in self.spec["model"] if each["id"] == cell["model"]),
            self.spec.get("harness") or {},
        ):
            if table.get(key) is not None:
                return table[key]
        return default

    def units(self, benchmark: str, items: Sequence[str], level: str) -> list[int]:
        """The number of each item's unit, in the order in which units first appear."""
        if level == "item":
            return list(range(len(items)))
        group = self.groups(benchmark, level)
        numbers: dict[str, int] = {}
        return [numbers.setdefault(group[item], len(numbers)) for item in items]


def matches(where: Mapping[str, Any], place: Mapping[str, str]) -> bool:
    """Whether a selector takes a place: axis = level, a list of levels, or { not = ... }."""
    for key, wanted in where.items():
        no = isinstance(wanted, Mapping)
        held = wanted["not"] if isinstance(wanted, Mapping) else wanted
        if (place[key] in ([held] if isinstance(held, str) else held)) is no:
            return False
    return True


def tally(cell: Mapping[str, Any], units: Sequence[int]) -> Json:
    """Counts of a cell, and the cluster-robust standard error of its score over items: with x_i the mean of
    item i over replicates, sqrt(G / (G - 1) * sum_g (sum_{i in g} (x_i - mean))^2) / n over G units."""
    scores = [score for *_, score in cell["samples"]]
    scored = [score for score in scores if score is not None]
    by_item = defaultdict(list)
    for item, _, _, score in cell["samples"]:
        by_item[item].append(score)
    error = None
    if len(scored) == len(scores):
        means = [Fraction(sum(each), len(each)) for each in by_item.values()]
        grand = sum(means, Fraction(0)) / len(means)
        sums: dict[int, Fraction] = defaultdict(Fraction)
        for unit, mean in zip(units, means, strict=True):
            sums[unit] += mean - grand
        spread = sum((each * each for each in sums.values()), Fraction(0))
        if len(sums) > 1 and spread:
            error = sqrt(Fraction(len(sums), len(sums) - 1) * spread) / len(means)
    return {
        "trials": len(scores),
        "scored": len(scored),
        "parsed": sum(choice is not None for _, _, choice, _ in cell["samples"]),
        "correct": sum(scored),
        "standard_error": error,
    }


def holm(p: Sequence[float], size: int) -> list[float]:
    """Holm's step-down adjustment in a family of `size`, whose other members have p = 1."""
    adjusted, running = [1.0] * len(p), 0.0
    for rank, at in enumerate(np.argsort(p, kind="stable")):
        running = max(running, min(1.0, (size - rank) * p[at]))
        adjusted[at] = running
    return adjusted


class Benchmark:
    """One benchmark's outcomes as arrays, and everything that the certificate says of it."""

    def __init__(self, study: Study, name: str, unit: str) -> None:
        self.study, self.name, self.unit = study, name, unit
        self.row = next(each for each in study.spec["benchmark"] if each["id"] == name)
        self.lower = self.row["direction"] == "lower_is_better"
        self.cells = [cell for cell in study.cells if cell["benchmark"] == name and cell["shared"]]
        self.configurations = list(dict.fromkeys(cell["configuration"] for cell in self.cells))
        self.at = {(cell["model"], cell["configuration"]): cell for cell in self.cells}
        every = [cell for cell in study.cells if cell["benchmark"] == name]
        self.items = sorted({item for cell in every for item, *_ in cell["samples"]})
        self.units = study.units(name, self.items, unit)
        self.unit_of = dict(zip(self.items, self.units, strict=True))
        self.G = len(set(self.units))
        self.first = [self.at[study.models[0], configuration] for configuration in self.configurations]
        self.levels = [cell["levels"] for cell in self.first]
        self.method = [study.effect(cell, "method", "extract") for cell in self.first]
        self.replicates = [1 + max(replicate for _, replicate, _, _ in cell["samples"]) for cell in self.first]
        self.sampled = [
            study.effect(cell, "temperature", 0.0) > 0 and method not in RANKS
            for cell, method in zip(self.first, self.method, strict=True)
        ]
        self.tallies = {
            key: tally(cell, [self.unit_of[item] for item in dict.fromkeys(item for item, *_ in cell["samples"])])
            for key, cell in self.at.items()
        }

    def score(self, model: str, configuration: str) -> Fraction | None:
        found = self.tallies[model, configuration]
        return Fraction(found["correct"], found["trials"]) if found["scored"] == found["trials"] else None

    def by_unit(self, model: str, configuration: str, designated: bool) -> Any:
        """Outcomes summed over the items of each unit: of replicate 0, or over replicates."""
        sums = np.zeros(self.G, dtype=np.int64)
        for item, replicate, _, score in self.at[model, configuration]["samples"]:
            if score is not None and (replicate == 0 or not designated):
                sums[self.unit_of[item]] += score
        return sums

    def scopes(self) -> list[tuple[str, str, bool, list[str]]]:
        """Kind, name, whether named before the data, configurations."""
        spec, all_of = self.study.spec, self.configurations
        found = [("full", "full envelope", True, all_of)]
        for tier in ("core", "stress"):
            found.append(("tier", tier, True, [cell["configuration"] for cell in self.first if cell["tier"] == tier]))
        for part in spec["slice"]:
            inside = [cell["configuration"] for cell in self.first if part["id"] in self.slices(cell)]
            found.append(("slice", part["id"], part["declared"] == "ex_ante", inside))
        for method in dict.fromkeys(self.method):
            inside = [each for each, own in zip(all_of, self.method, strict=True) if own == method]
            found.append(("measurand", method, True, inside))
        mark = Fraction(str(spec["analysis"]["parse_clean"]))
        complete = all(each["scored"] == each["trials"] for each in self.tallies.values())
        clean = [
            each
            for each, method in zip(all_of, self.method, strict=True)
            if method in RANKS
            or all(
                Fraction(self.tallies[model, each]["parsed"], self.tallies[model, each]["trials"]) >= mark
                for model in self.study.models
            )
        ]
        found.append(("parse_clean", "parse-clean", False, clean if complete else []))
        return [scope for scope in found if scope[3]]

    def slices(self, cell: Mapping[str, Any]) -> list[str]:
        place = {**cell["levels"], "benchmark": cell["benchmark"], "model": cell["model"], "tier": cell["tier"]}
        return [part["id"] for part in self.study.spec["slice"] if matches(part["where"], place)]


class Pair:
    """Two models on a benchmark: differences by configuration and unit, tests, names."""

    def __init__(self, benchmark: Benchmark, a: str, b: str) -> None:
        self.benchmark, self.a, self.b = benchmark, a, b
        each = benchmark.configurations
        measured = [None not in (benchmark.score(a, c), benchmark.score(b, c)) for c in each]

        def of(designated: bool) -> Any:
            rows = [benchmark.by_unit(a, c, designated) - benchmark.by_unit(b, c, designated) for c in each]
            return np.array(rows) * np.array(measured)[:, None]

        self.is_item = len(benchmark.items) == benchmark.G
        common = int(np.lcm.reduce(benchmark.replicates))
        self.whole = of(False) * np.array([common // r for r in benchmark.replicates])[:, None]
        self.span = common * max(benchmark.units.count(unit) for unit in set(benchmark.units))
        self.tested = of(True) if self.is_item else self.whole
        self.higher, self.lower = (self.tested > 0).sum(axis=1), (self.tested < 0).sum(axis=1)
        self.kind = "mcnemar" if self.is_item else "betting"
        sides = [[self.p(sign * row) for row in self.tested] for sign in (1, -1)]
        self.p_plus, self.p_minus = np.array(sides[0]), np.array(sides[1])

    def p(self, row: Any) -> float:
        """One configuration, against "a does not score higher": P(Bin(b + c, 1/2) >= b), or one over the wealth
        of a bettor who stakes 1/40, 3/40 .. 39/40, mixed evenly, on each unit's difference as a share."""
        if self.is_item:
            b, c = int((row > 0).sum()), int((row < 0).sum())
            return float(binom.sf(b - 1, b + c, 0.5)) if b + c else 1.0
        logs = np.array([np.log1p(stake * row / self.span).sum() for stake in STAKES])
        top = logs.max()
        return float(np.exp(-(top + np.log(np.exp(logs - top).mean()))))

    def somewhere(self, p: Any) -> float:
        best = p.min() if self.is_item else 1 / (1 / p).sum()
        return float(min(1.0, len(p) * best))

    def gap(self, places: Sequence[int], level: float) -> tuple[float | None, float]:
        """The smallest gap that a configuration could certify, at the median share of units that differ."""
        shares = (self.higher + self.lower)[list(places)] / self.benchmark.G
        middle = places[int(np.argsort(shares, kind="stable")[len(places) // 2])]
        share = float((self.higher + self.lower)[middle] / self.benchmark.G)
        if self.is_item:
            n = round(share * self.benchmark.G)
            for b in range(n + 1):
                if binom.sf(b - 1, n, 0.5) <= level:
                    return (2 * b - n) / self.benchmark.G, share
            return None, share
        shape = self.whole[middle] / self.span
        shape = shape - shape.mean()

        def reached(by: float) -> bool:
            moved = np.clip(shape + by, -1, 1)
            logs = np.array([np.log1p(stake * moved).sum() for stake in STAKES])
            return bool(logs.max() + np.log(np.exp(logs - logs.max()).mean()) >= -np.log(level))

        if not reached(2.0):
            return None, share
        low, high = 0.0, 2.0
        for _ in range(60):
            middle_shift = (low + high) / 2
            low, high = (low, middle_shift) if reached(middle_shift) else (middle_shift, high)
        return float(np.clip(shape + high, -1, 1).mean()), share


def counts(benchmark: Benchmark, a: str, b: str, scope: Sequence[str], floors: Mapping[Any, Any]) -> Json:
    """Prop. 1 for a pair in a scope."""
    n = len(scope)
    gaps = {c: x - y for c in scope if None not in (x := benchmark.score(a, c), y := benchmark.score(b, c))}
    plus = [c for c, gap in gaps.items() if gap > 0]
    minus = [c for c, gap in gaps.items() if gap < 0]
    ties = len(gaps) - len(plus) - len(minus)
    whole, both = len(gaps) == n, bool(plus and minus)
    signs = "-" * bool(minus) + "0" * bool(ties) + "+" * bool(plus)
    words = (
        "reversible" if both
        else f"no reversal on {len(gaps)} of {n}" if not whole
        else ("tied everywhere" if ties else "one order throughout") if len(signs) == 1
        else "no strict reversal"
    )  # fmt: skip
    bound = None
    if not whole and bool(plus) != bool(minus):
        # k of n reverse: P(none of m drawn) = C(n - k, m) / C(n, m) must exceed 5 %.
        m = len(gaps)
        bound = max(k for k in range(n - m + 1) if k == 0 or 20 * comb(n - k, m) > comb(n, m))
    until = None
    if whole and both:
        p, q = len(plus), len(minus)
        until = (n + 1) * (1 / (p + 1) + 1 / (q + 1) - 1 / (p + q + 1))

    def witness(side: Sequence[str]) -> Json:
        if not side:
            return None
        best = max(side, key=lambda c: abs(gaps[c]))
        x, y = benchmark.score(a, best), benchmark.score(b, best)
        assert x is not None
        assert y is not None
        return {"configuration": best, "a": list(x.as_integer_ratio()), "b": list(y.as_integer_ratio())}

    return {
        "a": a, "b": b, "size": n, "measured": len(gaps), "plus": len(plus), "minus": len(minus), "ties": ties,
        "rho_flip": min(len(plus), len(minus)) / n,
        "ceiling": ((n - ties) // 2) / n,
        "disagreement": 2 * len(plus) * len(minus) / (n * (n - 1)) if n > 1 else None,
        "d1": False if both else True if whole else None,
        "d2": False if len(signs) > 1 else True if whole else None,
        "verdicts": signs, "words": words, "minority_bound": bound, "until_both": until,
        "witness_plus": witness(plus), "witness_minus": witness(minus),
        "noise": noise(benchmark, a, b, gaps, floors),
    }  # fmt: skip


def noise(benchmark: Benchmark, a: str, b: str, gaps: Mapping[str, Fraction], floors: Mapping[Any, Any]) -> Json:
    """Which signs the shape of a batch could turn: a gap no larger than both models' shares of changes."""

    def state(c: str) -> str:
        shares = [floors.get((model, benchmark.study.effect(benchmark.at[model, c], "precision", "fp32"))) for model in (a, b)]
        if None in shares:
            return "not_measured"
        return "within" if abs(gaps[c]) <= sum(Fraction(each["changed"], each["outcomes"]) for each in shares) else "outside"

    states = {c: state(c) for c, gap in gaps.items() if gap}
    sides = [[where for c, where in states.items() if (gaps[c] > 0) is up] for up in (True, False)]
    every = ("within", "not_measured", "outside")
    if all(sides):
        verdict = min((max(side, key=every.index) for side in sides), key=every.index)
    else:
        verdict = min((where for side in sides for where in side), key=every.index, default="outside")
    return {
        "plus": sides[0].count("within"), "minus": sides[1].count("within"),
        "configurations": [c for c, where in states.items() if where == "within"],
        "unmeasured": sum(side.count("not_measured") for side in sides),
        "standing": verdict,
    }  # fmt: skip


def orders(benchmark: Benchmark, scope: Sequence[str]) -> Json:
    """The orders of all models that occur, best first, and how alike the configurations are."""
    models = benchmark.study.models
    rows = {c: {model: benchmark.score(model, c) for model in models} for c in scope}
    rows = {c: row for c, row in rows.items() if None not in row.values()}
    sign = 1 if benchmark.lower else -1
    seen: dict[Json, str] = {}
    weak, named = defaultdict(int), defaultdict(int)
    for c, row in rows.items():
        values = sorted(set(row.values()), key=lambda value: sign * (value or 0))
        order = tuple(tuple(sorted(model for model in models if row[model] == value)) for value in values)
        seen.setdefault(order, c)
        weak[order] += 1
        named[tuple(sorted(models, key=lambda model: (sign * (row[model] or 0), model)))] += 1
    pairs = comb(len(rows), 2)
    live = [row for row in rows.values() if len(set(row.values())) > 1]
    taus = [
        kendalltau([float(one[m] or 0) for m in models], [float(other[m] or 0) for m in models], variant="b").statistic
        for one, other in combinations(live, 2)
    ]

    def differ(groups: Mapping[Any, int]) -> float | None:
        return 1 - sum(comb(n, 2) for n in groups.values()) / pairs if pairs else None

    strict = sum(len(order) == len(models) for order in seen)
    return {
        "orderings": {
            "possible": factorial(len(models)), "strict": strict, "weak": len(seen), "by_name": len(named),
            "permutation_rate": strict / factorial(len(models)), "measured": len(rows),
            "seen": [{"order": order, "configuration": seen[order]} for order in sorted(seen)],
        },
        "mismatch": differ(weak), "mismatch_by_name": differ(named),
        "tau_r": float(np.mean(taus)) if taus else None, "tau_r_dropped": len(rows) - len(live),
    }  # fmt: skip


def contrasts(benchmark: Benchmark, places: Sequence[int]) -> Iterator[tuple[str, str, Any]]:
    """Every configuration, then every level of an axis that several but not all of them share, once."""
    for place in places:
        yield "configuration", benchmark.configurations[place], np.array([p == place for p in places], dtype=np.int64)
    seen: list[bytes] = []
    for axis in benchmark.levels[0]:
        for level in dict.fromkeys(benchmark.levels[p][axis] for p in places):
            weights = np.array([benchmark.levels[p][axis] == level for p in places], dtype=np.int64)
            if 1 < weights.sum() < len(places) and weights.tobytes() not in seen:
                seen.append(weights.tobytes())
                yield "level", f"{axis}={level}", weights


def max_t(differences: Any, sums: Any, groups: Any) -> tuple[Any, Any, Any, Any]:
    """Westfall-Young single-step max-T by sign flips of whole units. T = sum d / sqrt(sum d^2); p = (1 + number
    of flips with a T at least as large) / (1 + flips), against the largest T and against the own T."""
    mine = groups @ differences
    size = np.sqrt((mine.astype(np.float64) ** 2).sum(axis=1))
    flipped = groups @ sums
    out = []
    for sign in (1, -1):
        joint, alone = np.ones(len(groups)), np.ones(len(groups))
        live = size > 0
        if live.any():
            t = sign * mine[live].sum(axis=1) / size[live]
            under = sign * flipped[live] / size[live, None]
            top = under.max(axis=0)
            joint[live] = [(1 + (top >= own).sum()) / (1 + len(top)) for own in t]
            alone[live] = [(1 + (row >= own).sum()) / (1 + len(row)) for own, row in zip(t, under, strict=True)]
        out += [joint, alone]
    return out[0], out[2], out[1], out[3]


def strength(pair: Pair, test: str, sides: Sequence[Mapping[str, Any]], reversal: Json, order: Json, final: bool, alpha: float, among: int) -> Json:
    claim = None
    if final and min(reversal["adjusted"], order["adjusted"]) <= alpha:
        claim = "reversal" if reversal["adjusted"] <= order["adjusted"] else "order"
    first = pair.a if sides[0]["everywhere"] <= sides[1]["everywhere"] else pair.b
    return {
        "claim": claim, "first": first if claim == "order" else None, "test": test,
        "reversal": reversal, "order": order, "plus": sides[0]["best"], "minus": sides[1]["best"],
        "named_plus": sides[0]["named"] if final else [], "named_minus": sides[1]["named"] if final else [],
        "levels_plus": sides[0]["levels"] if final else [], "levels_minus": sides[1]["levels"] if final else [],
        "named_among": among,
    }  # fmt: skip


def best(kinds: Sequence[str], names: Sequence[str], p: Any) -> Json:
    at = int(np.argmin(p))
    return {"kind": kinds[at], "name": names[at], "p": float(p[at])} if p[at] < 1 else None


def evidence(study: Study, benchmarks: Sequence[Benchmark], final: bool) -> dict[Any, Json]:
    """Every pair's evidence by benchmark, configurations and models; and the tests of configurations."""
    alpha = study.alpha
    pairs = {(b.name, x, y): Pair(b, x, y) for b in benchmarks for x, y in combinations(study.models, 2)}
    regions: dict[str, dict[tuple[str, ...], str]] = {}
    for benchmark in benchmarks:
        own = regions.setdefault(benchmark.name, {})
        for kind, _, ex_ante, inside in benchmark.scopes():
            family = "full envelope" if kind == "full" else "other scopes" if ex_ante else "chosen after the data"
            own.setdefault(tuple(inside), family)
    members = {
        family: [
            (name, inside, key)
            for name, own in regions.items()
            for key in pairs
            if key[0] == name
            for inside, its in own.items()
            if its == family
        ]
        for family in ("full envelope", "other scopes", "chosen after the data")
    }
    sizes = {family: len(found) for family, found in members.items()}
    sizes["chosen after the data"] = sizes["full envelope"]
    flips = max(FLIPS, ceil(2 * max(sizes.values()) / alpha) - 1)

    # Names: Holm at alpha / 2 in each direction over all configurations of all pairs.
    every = sum(len(pair.p_plus) for pair in pairs.values())
    adjusted: dict[Any, list[Any]] = {key: [] for key in pairs}
    for side in ("p_plus", "p_minus"):
        flat = holm([p for pair in pairs.values() for p in getattr(pair, side)], every)
        start = 0
        for key, pair in pairs.items():
            adjusted[key].append(np.minimum(1.0, 2 * np.array(flat[start : start + len(pair.p_plus)])))
            start += len(pair.p_plus)

    found: dict[Any, Json] = {}
    for family, inside in members.items():
        certified, supported, extra = [], [], []
        for name, scope, key in inside:
            pair = pairs[key]
            benchmark = pair.benchmark
            places = [benchmark.configurations.index(c) for c in scope]
            strong, weak, rest = weigh(pair, places, adjusted[key], flips, sizes[family], family, alpha, seed_of(study, benchmarks, name))
            certified.append(strong)
            supported.append(weak)
            extra.append(rest)
        chosen = family == "chosen after the data"
        for tests, sides_of, among, field in (
            ([pairs[key].kind for *_, key in inside], certified, 2 * every, "certified"),
            (["joint_flips"] * len(inside), supported, 2 * sizes[family], "supported"),
        ):
            reversal = [max(up["somewhere"], down["somewhere"]) for up, down in sides_of]
            order = [min(up["everywhere"], down["everywhere"]) for up, down in sides_of]
            m = len(inside)
            after = (reversal, order) if chosen else (holm(reversal, m), holm(order, 2 * m))
            shared = (among, among) if chosen else (m, 2 * m)
            for number, ((name, scope, key), test, sides) in enumerate(zip(inside, tests, sides_of, strict=True)):
                claims = [
                    {"p": raw[number], "adjusted": both[number], "members": size}
                    for raw, both, size in zip((reversal, order), after, shared, strict=True)
                ]
                row = found.setdefault((name, scope, *key[1:]), {})
                row[field] = strength(pairs[key], test, sides, *claims, final, alpha, among)
        for (name, scope, key), rest in zip(inside, extra, strict=True):
            row = found[name, scope, key[1], key[2]]
            pair, n = pairs[key], len(scope)
            up, down = len(row["certified"]["named_plus"]), len(row["certified"]["named_minus"])
            paid = 2 * every if chosen else len(inside) * n
            gap, share = pair.gap([pair.benchmark.configurations.index(c) for c in scope], alpha / paid)
            row |= rest | {
                "tier": "certified" if row["certified"]["claim"] else "supported" if row["supported"]["claim"] else "descriptive",
                "alpha": alpha, "family": family, "units": pair.benchmark.G, "configurations": n,
                "rho_low": min(up, down) / n if row["certified"]["claim"] == "reversal" else 0.0,
                "rho_high": min(n // 2, n - up, n - down) / n,
                "smallest_gap": gap, "discordance": share,
            }  # fmt: skip
    for (name, a, b), pair in pairs.items():
        found[name, "tests", a, b] = {
            "a": a, "b": b, "test": pair.kind,
            "configurations": [
                {"configuration": c, "higher": int(pair.higher[k]), "lower": int(pair.lower[k]),
                 "p_plus": min(1.0, pair.p_plus[k]), "p_minus": min(1.0, pair.p_minus[k]),
                 "adjusted_plus": adjusted[name, a, b][0][k], "adjusted_minus": adjusted[name, a, b][1][k]}
                for k, c in enumerate(pair.benchmark.configurations)
            ],
        }  # fmt: skip
    found["orderings"] = ordering_claims(study, benchmarks, pairs, final)
    return found


def seed_of(study: Study, benchmarks: Sequence[Benchmark], name: str) -> int:
    """The seed of a benchmark's joint flips: the study's, plus the place of the benchmark in the spec."""
    return int(study.seed + [benchmark.name for benchmark in benchmarks].index(name))


DRAWN: dict[Any, Any] = {}


def weigh(pair: Pair, places: Sequence[int], names: Sequence[Any], flips: int, members: int, family: str, alpha: float, seed: int) -> tuple[Json, Json, Json]:
    """What a pair shows in a part of the envelope: certified sides, supported sides, references."""
    benchmark = pair.benchmark
    key = (benchmark.G, flips, seed)
    if key not in DRAWN:
        DRAWN.clear()
        bits = np.random.default_rng(seed).integers(0, 2, size=(benchmark.G, flips), dtype=np.int8)
        DRAWN[key] = (2 * bits - 1).astype(np.float64)
    sums = pair.whole.astype(np.float64) @ DRAWN[key]
    mine = [benchmark.configurations[p] for p in places]
    alike = ["configuration"] * len(places)
    chosen = family == "chosen after the data"

    def implied(adjusted: Any) -> Json:
        here = adjusted[list(places)]
        return {
            "somewhere": float(here.min()), "everywhere": float(here.max()), "best": best(alike, mine, here),
            "named": [c for c, p in zip(mine, here, strict=True) if p <= alpha], "levels": [],
        }  # fmt: skip

    if chosen:
        certified = [implied(side) for side in names]
        every = np.eye(len(benchmark.configurations), dtype=np.int64)
        plus, minus, *_ = max_t(pair.whole, sums, every)
        supported = [implied(np.minimum(1.0, 2 * members * side)) for side in (plus, minus)]
    else:
        certified = [
            implied(adjusted) | {
                "somewhere": pair.somewhere(p[list(places)]),
                "everywhere": float(min(1.0, p[list(places)].max())),
                "best": best(alike, mine, p[list(places)]),
            }
            for p, adjusted in zip((pair.p_plus, pair.p_minus), names, strict=True)
        ]  # fmt: skip
        rows = list(contrasts(benchmark, places))
        groups = np.array([weights for *_, weights in rows])
        joint_plus, joint_minus, own_plus, own_minus = max_t(pair.whole[list(places)], sums[list(places)], groups)
        supported = []
        for joint, own in ((joint_plus, own_plus), (joint_minus, own_minus)):
            held = {kind: [n for (k, n, _), p in zip(rows, joint, strict=True) if k == kind and 2 * members * p <= alpha] for kind in ("configuration", "level")}
            supported.append(
                {"somewhere": float(joint.min()), "everywhere": float(own[: len(places)].max()),
                 "best": best([k for k, *_ in rows], [n for _, n, _ in rows], joint),
                 "named": held["configuration"], "levels": held["level"]}
            )  # fmt: skip
    totals = pair.whole[list(places)].sum(axis=1)
    observed = min((totals > 0).sum(), (totals < 0).sum())
    least = np.minimum((sums[list(places)] > 0).sum(axis=0), (sums[list(places)] < 0).sum(axis=0))
    n, sampled = len(places), sum(benchmark.sampled[p] for p in places)
    law = [(min(k, sampled - k), binom.pmf(k, sampled, 0.5)) for k in range(sampled + 1)]
    levels = sorted({value for value, _ in law})
    return certified, supported, {
        "identical": {
            "exchanges": flips, "mean": least.mean() / n,
            "upper": np.sort(least)[int(0.95 * flips)] / n,
            "at_least": (1 + (least >= observed).sum()) / (1 + flips),
        },
        "same_model": {
            "sampled": sampled, "mean": sum(value * mass for value, mass in law) / n,
            "upper": next(v for v in levels if sum(m for value, m in law if value <= v) >= 0.95 - 1e-12) / n,
        },
    }  # fmt: skip


def ordering_claims(study: Study, benchmarks: Sequence[Benchmark], pairs: Mapping[Any, Pair], final: bool) -> dict[str, Json]:
    """Every strict order of up to five models: in each configuration the largest p of two neighbours, then
    the best configuration (n min p, or one over the mean e-value); Holm over all orders of all benchmarks."""
    rows: list[tuple[str, tuple[str, ...], float]] = []
    for benchmark in benchmarks:
        if not 1 < len(study.models) <= 5:
            continue
        for order in permutations(study.models):
            steps = []
            for a, b in zip(order, order[1:], strict=False):
                forward = (benchmark.name, a, b) in pairs
                pair = pairs[(benchmark.name, a, b) if forward else (benchmark.name, b, a)]
                steps.append(pair.p_plus if forward else pair.p_minus)
            worst = np.max(steps, axis=0)
            rows.append((benchmark.name, order, pair.somewhere(worst)))
    found: dict[str, Json] = {benchmark.name: [] for benchmark in benchmarks}
    lower = {benchmark.name for benchmark in benchmarks if benchmark.lower}
    for (name, order, p), value in zip(rows, holm([p for *_, p in rows], len(rows)), strict=True):
        shown = order[::-1] if name in lower else order
        found[name].append(
            {"order": list(shown), "p": p, "adjusted": value, "members": len(rows), "certified": final and value <= study.alpha}
        )
    return found


def change(deltas: Sequence[Fraction]) -> Json:
    sizes = sorted(abs(each) for each in deltas)
    middle = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2
    return {
        "cells": len(deltas), "mean": float(sum(deltas) / len(deltas)), "median_absolute": float(middle),
        "mean_absolute": float(sum(sizes) / len(sizes)), "max_absolute": float(sizes[-1]),
        "over_5": sum(20 * size > 1 for size in sizes), "over_10": sum(10 * size > 1 for size in sizes),
    }  # fmt: skip


def between(benchmark: Benchmark, a: str, b: str) -> Json:
    rows = [(benchmark.score(a, c), benchmark.score(b, c)) for c in benchmark.configurations]
    both = [(x, y) for x, y in rows if x is not None and y is not None]
    if not both:
        return None
    row: Json = {"a": a, "b": b, "change": change([y - x for x, y in both])}
    for name, side in zip("ab", zip(*both, strict=True), strict=True):
        spread, mean = max(side) - min(side), sum(side) / len(side)
        row[f"range_{name}"] = float(spread)
        row[f"sdi_{name}"] = float(spread / mean) if mean else None
    return row


def floors(study: Study) -> tuple[list[Json], dict[Any, Json]]:
    """The noise floor of every model at every precision that runs, from the recorded samples."""
    identities = {name: entry for name, entry in study.document["inputs"]["models"].items()}
    ran = dict.fromkeys((cell["model"], study.effect(cell, "precision", "fp32")) for cell in study.cells)
    found: dict[Any, Json] = {}
    events = [json.loads(body) for (body,) in study.db.execute("SELECT body FROM event WHERE kind = 'noise' ORDER BY seq")]
    sent = {
        model: identity
        for model, identity in study.db.execute(
            """SELECT DISTINCT cell.model, call.model FROM cell JOIN trace ON trace.cell = cell.id
               JOIN call ON call.id = trace.call WHERE stamp = ?""", [study.stamp],
        )
    }  # fmt: skip
    assert set(sent) <= set(identities)
    for model, precision in ran:
        for event in events:
            if (event["identity"], event["precision"]) == (sent.get(model), precision) and event["outcomes"]:
                changed, calls = event["outcomes_changed"], event["calls"]
                hit = min(changed, calls)
                found[model, precision] = {
                    "outcomes": event["outcomes"], "changed": changed, "calls": calls, "texts": event["texts"],
                    "texts_changed": event["texts_changed"], "max_moved": event["max_moved"],
                    "limit": 1.0 if hit == calls else float(beta.ppf(0.95, hit + 1, calls - hit)),
                }  # fmt: skip
    return [{"model": m, "precision": p, "floor": found.get((m, p))} for m, p in ran], found


def rankings(study: Study, benchmarks: Mapping[str, Benchmark], measured: Mapping[Any, Json]) -> Iterator[Json]:
    """How the configurations spoke to each stated ranking."""
    every = ("within", "not_measured", "outside")
    for hypothesis in study.spec["hypothesis"]:
        if hypothesis["kind"] != "ranking":
            continue
        verdicts: dict[str, list[str]] = defaultdict(list)
        standings: dict[str, list[str]] = defaultdict(list)
        for benchmark in benchmarks.values():
            every_cell = [cell for cell in study.cells if cell["benchmark"] == benchmark.name]
            places = dict.fromkeys(cell["configuration"] for cell in every_cell)
            for configuration in places:
                row = {}
                for cell in every_cell:
                    place = {**cell["levels"], "benchmark": cell["benchmark"], "model": cell["model"], "tier": cell["tier"]}
                    wanted = (hypothesis.get("where") or {}, study.spec["analysis"].get("primary") or {})
                    if cell["configuration"] == configuration and all(matches(where, place) for where in wanted):
                        row[cell["model"]] = benchmark.score(cell["model"], configuration)
                if not row:
                    continue
                scores = [row.get(model) for model in hypothesis["order"]]
                if None in scores:
                    verdicts["missing"].append(configuration)
                    continue
                steps = [(y - x if benchmark.lower else x - y) for x, y in zip(scores, scores[1:], strict=False)]
                verdict = "contradict" if min(steps) < 0 else "tied" if 0 in steps else "agree"
                verdicts[verdict].append(f"{benchmark.name}/{configuration}")
                for (a, b), step in zip(zip(hypothesis["order"], hypothesis["order"][1:], strict=False), steps, strict=True):
                    if step < 0 or verdict == "agree":
                        gap = {configuration: step}
                        standings[verdict].append(noise(benchmark, a, b, gap, measured)["standing"])
        against = verdicts["contradict"]
        result = "refuted" if against else "open" if verdicts["tied"] or verdicts["missing"] else "supported"
        pick: Callable[..., str] = max if against else min
        standing = None if result == "open" else pick(standings["contradict" if against else "agree"], key=every.index, default="outside")
        yield {
            **{name: len(verdicts[name]) for name in ("agree", "contradict", "tied", "missing")},
            "verdict": result, "against": against[0] if against else None, "noise": standing,
        }  # fmt: skip


def groups_in(folder: Path, spec: Json) -> Groups:
    """The groups of items as the benchmarks' own files state them. BBQ: a template is a category's
    `question_index`, a family four versions of a scenario; TruthfulQA's format: what a row names."""
    sources = {row["id"]: (row["loader"], row["source"].partition(":")[2]) for row in spec["benchmark"]}

    def of(benchmark: str, level: str) -> Mapping[str, str]:
        loader, source = sources[benchmark]
        text = (folder / source).read_text("utf-8")
        if loader == "bbq":
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
            number = {"template": lambda row: row["question_index"], "family": lambda row: row["example_id"] // 4}
            return {f"{row['category']}-{row['example_id']}": f"{row['category']}-{number[level](row)}" for row in rows}
        return {f"q{place:04}": row[level] for place, row in enumerate(json.loads(text), 1)}

    return of


def recount(store: Path, certificate: Json, folder: Path) -> Json:
    """The certificate as the store has it. From the given one only the stamp and each benchmark's level of
    units are taken; `folder` holds the benchmarks' files."""
    stamp = certificate["stamp"]
    (content,) = sqlite3.connect(store).execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
    study = Study(store, stamp, groups_in(folder, json.loads(content)["spec"]))
    units = {row["benchmark"]: row["unit"] for row in certificate["benchmarks"]}
    benchmarks = {row["id"]: Benchmark(study, row["id"], units[row["id"]]) for row in study.spec["benchmark"]}
    mine = "id IN (SELECT call FROM trace JOIN cell ON cell.id = trace.cell WHERE stamp = ?)"
    (calls, answered, near), = study.db.execute(
        f"SELECT count(*), count(answer), coalesce(sum(json_extract(answer, '$.near_ties')), 0) FROM call WHERE {mine}", [study.stamp]
    )  # fmt: skip
    (close,), = study.db.execute(
        "SELECT count(*) FROM sample JOIN cell ON cell.id = sample.cell WHERE stamp = ? AND json_extract(evidence, '$.margin') < 1e-4",
        [study.stamp],
    )  # fmt: skip
    created = [
        json.loads(body)["created"]
        for (body,) in study.db.execute("SELECT body FROM event WHERE kind = 'stamp' ORDER BY seq")
        if json.loads(body)["stamp"] == study.stamp
    ]
    (early,), = study.db.execute(
        f"SELECT count(*) FROM call WHERE julianday(finished) < julianday(?) AND {mine}", [created[-1], study.stamp]
    )  # fmt: skip
    unscored = sum(score is None for cell in study.cells for *_, score in cell["samples"])
    complete = answered == calls and not unscored
    rows, measured = floors(study)
    weighed = evidence(study, list(benchmarks.values()), complete)
    return {
        "complete": complete, "answered": answered, "calls": calls, "near_ties": near + close,
        "calls_before_stamp": early, "noise_floors": rows,
        "hypotheses": list(rankings(study, benchmarks, measured)),
        "precisions": [],
        "benchmarks": [benchmark_row(benchmark, weighed, measured) for benchmark in benchmarks.values()],
    }  # fmt: skip


def benchmark_row(benchmark: Benchmark, weighed: Mapping[Any, Json], measured: Mapping[Any, Json]) -> Json:
    models = benchmark.study.models
    pairs = list(combinations(models, 2))
    scopes = []
    for kind, name, _, inside in benchmark.scopes():
        rows = []
        for a, b in pairs:
            row = counts(benchmark, a, b, inside, measured)
            rows.append(row | {"evidence": weighed[benchmark.name, tuple(inside), a, b]})
        scopes.append({"kind": kind, "name": name, "size": len(inside), "configurations": inside, "pairs": rows, **orders(benchmark, inside)})
    return {
        "benchmark": benchmark.name, "items": len(benchmark.items), "unit": benchmark.unit, "units": benchmark.G,
        "direction": benchmark.row["direction"],
        "envelope": [
            {"configuration": c, "tier": cell["tier"], "slices": benchmark.slices(cell), "method": method,
             "scores": {model: benchmark.tallies[model, c] for model in models}}
            for c, cell, method in zip(benchmark.configurations, benchmark.first, benchmark.method, strict=True)
        ],
        "scopes": scopes,
        "tests": [weighed[benchmark.name, "tests", a, b] for a, b in pairs],
        "ordering_claims": weighed["orderings"][benchmark.name],
        "between": [row for a, b in pairs if (row := between(benchmark, a, b)) is not None],
        "agreements": [],
    }  # fmt: skip


def differences(certificate: Json, expected: Json, path: str = "") -> Iterator[str]:
    """Every leaf that is not what was recounted, and every leaf that was not recounted and is no name."""
    if path.endswith("ordering_claims"):  # sorted by p; equal ones stand in any order
        certificate, expected = (sorted(rows, key=lambda row: row["order"]) for rows in (certificate, expected))
    if isinstance(certificate, dict) and isinstance(expected, dict | type(None)) and (expected is not None or certificate):
        for key, value in certificate.items():
            here = f"{path}.{key}" if path else key
            if isinstance(expected, dict) and key in expected:
                yield from differences(value, expected[key], here)
            else:
                yield from unnamed(value, here)
        for key in (expected or {}).keys() - certificate.keys():
            yield f"{path}.{key}: recounted, but not there"
    elif isinstance(certificate, list | tuple) and isinstance(expected, list | tuple):
        if len(certificate) != len(expected):
            yield f"{path}: {len(certificate)} entries, recounted {len(expected)}"
        for number, (value, other) in enumerate(zip(certificate, expected, strict=False)):
            yield from differences(value, other, f"{path}.{number}")
    elif not same(certificate, expected):
        yield f"{path}: {certificate!r}, recounted {expected!r}"


def same(value: Json, other: Json) -> bool:
    if isinstance(value, float | int) and not isinstance(value, bool) and other is not None:
        return bool(abs(value - other) <= 1e-9 + 2e-9 * abs(value))
    return bool(value == other) and (value is None) == (other is None)


def unnamed(value: Json, path: str) -> Iterator[str]:
    """The leaves below a place that nobody recounted, without those that are no numbers."""
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inside:
            yield from unnamed(each, f"{path}.{key}")
    elif not any(re.fullmatch(rf"(?:benchmarks\.\d+\.)?(?:{pattern})", path) for pattern in NOT_NUMBERS):
        yield f"{path}: {value!r} was not recounted"


def leaves(value: Json) -> int:
    if isinstance(value, dict | list | tuple):
        return sum(leaves(each) for each in (value.values() if isinstance(value, dict) else value))
    return 1


if __name__ == "__main__":
    document = json.loads(Path(sys.argv[2]).read_text())
    again = json.loads(json.dumps(recount(Path(sys.argv[1]), document, Path(sys.argv[3])), default=float))
    found = list(differences(document, again))
    print("\n".join(found) or f"{leaves(again):,} values recounted, none differs")
    sys.exit(bool(found))
