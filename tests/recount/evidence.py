"""What the items say of other items, from the definitions in docs/certificates.md and docs/statistics.md."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations
from math import ceil, log2
from typing import Any

import numpy as np
from scipy.stats import binom

from tests.recount.arms import gaffke
from tests.recount.audit import Audit
from tests.recount.study import Benchmark, Json, Study, matches

FLIPS = 4_999


class Pair:
    """Two models on a benchmark: differences by configuration and unit, tests, names."""

    def __init__(self, benchmark: Benchmark, a: str, b: str, audit: Audit | None = None) -> None:
        """Where there is an `audit`, a claim needs its gap too: the larger p of both."""
        self.benchmark, self.a, self.b = benchmark, a, b
        each = benchmark.configurations
        measured = [benchmark.heard(a, c) and benchmark.heard(b, c) for c in each]

        def of(designated: bool, first: int | None = None, second: int | None = None) -> Any:
            rows = [
                benchmark.by_unit(a, c, designated, first) - benchmark.by_unit(b, c, designated, second)
                for c in each
            ]
            return np.array(rows) * np.array(measured)[:, None]

        self.is_item = len(benchmark.items) == benchmark.G and benchmark.scale == 1
        common = int(np.lcm.reduce(benchmark.replicates))
        self.whole = of(False) * np.array([common // r for r in benchmark.replicates])[:, None]
        self.span = (
            benchmark.scale * common * max(benchmark.units.count(unit) for unit in set(benchmark.units))
        )
        sizes = np.array([benchmark.units.count(unit) for unit in set(benchmark.units)])
        self.enough = len(benchmark.items) == benchmark.G or sizes.sum() ** 2 / (sizes**2).sum() > 20 - 1e-7
        power = min(1 + log2(len(benchmark.items) / benchmark.G) / 2, 4)
        self.stakes = [1 - (k / 40) ** power for k in range(1, 40, 2)]
        self.tested = of(True) if self.is_item else self.whole
        self.higher, self.lower = (self.tested > 0).sum(axis=1), (self.tested < 0).sum(axis=1)
        self.kind = "mcnemar" if self.is_item else "betting"
        sides = [[self.p(sign * row) for row in self.tested] for sign in (1, -1)]
        if any(benchmark.lost(model, c) for model in (a, b) for c in each):
            # Each claim is tested as if its model had earned nothing there, and the other one all.
            scale, times = benchmark.scale, [[common // r] for r in benchmark.replicates]
            claimed = [of(self.is_item, *ends) for ends in ((0, scale), (scale, 0))]
            claimed = claimed if self.is_item else [rows * np.array(times) for rows in claimed]
            sides = [
                [self.p(sign * row) for row in rows] for sign, rows in zip((1, -1), claimed, strict=True)
            ]
        self.items_plus, self.items_minus = np.array(sides[0]), np.array(sides[1])
        self.people = np.zeros((2, len(each)))
        self.audited = audit is not None and bool(audit.configurations)
        if audit is not None and self.audited:
            self.people = np.array([audit.p_values(a, b, c) for c in each]).T
        self.p_plus, self.p_minus = (
            np.maximum(p, people)
            for p, people in zip((self.items_plus, self.items_minus), self.people, strict=True)
        )
        # Joint flips take no configuration in which something is lost.
        kept = [not any(benchmark.lost(model, c) for model in (a, b)) for c in each]
        self.flipped = self.whole * np.array(kept)[:, None]

    def p(self, row: Any) -> float:
        """One configuration, against "a does not score higher": P(Bin(b + c, 1/2) >= b); or one over the
        wealth of a bettor who stakes 1 - v^k for v = 1/40, 3/40 .. 39/40, mixed evenly, on each unit's
        difference; k = min(1 + log2(items / units) / 2, 4)."""
        if self.is_item:
            b, c = int((row > 0).sum()), int((row < 0).sum())
            return float(binom.sf(b - 1, b + c, 0.5)) if b + c else 1.0
        logs = np.array([np.log1p(stake * row / self.span).sum() for stake in self.stakes])
        top = logs.max()
        return float(np.exp(-(top + np.log(np.exp(logs - top).mean()))))

    def somewhere(self, p: Any) -> float:
        best = p.min() if self.is_item or self.audited else 1 / (1 / p).sum()
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
            logs = np.array([np.log1p(stake * moved).sum() for stake in self.stakes])
            return bool(logs.max() + np.log(np.exp(logs - logs.max()).mean()) >= -np.log(level))

        if not reached(2.0):
            return None, share
        low, high = 0.0, 2.0
        for _ in range(60):
            middle_shift = (low + high) / 2
            low, high = (low, middle_shift) if reached(middle_shift) else (middle_shift, high)
        return float(np.clip(shape + high, -1, 1).mean()), share


def holm(p: Sequence[float], size: int) -> list[float]:
    """Holm's step-down adjustment in a family of `size`, whose other members have p = 1."""
    adjusted, running = [1.0] * len(p), 0.0
    for rank, at in enumerate(np.argsort(p, kind="stable")):
        running = max(running, min(1.0, (size - rank) * p[at]))
        adjusted[at] = running
    return adjusted


def contrasts(benchmark: Benchmark, places: Sequence[int]) -> Iterator[tuple[str, str, Any]]:
    """Every configuration, then every level of an axis that several but not all of them share, once."""
    for place in places:
        yield (
            "configuration",
            benchmark.configurations[place],
            np.array([p == place for p in places], dtype=np.int64),
        )
    seen: list[bytes] = []
    for axis in benchmark.levels[0]:
        for level in dict.fromkeys(benchmark.levels[p][axis] for p in places):
            weights = np.array([benchmark.levels[p][axis] == level for p in places], dtype=np.int64)
            if 1 < weights.sum() < len(places) and weights.tobytes() not in seen:
                seen.append(weights.tobytes())
                yield "level", f"{axis}={level}", weights


def max_t(differences: Any, signs: Any, groups: Any, span: int) -> tuple[Any, Any, Any, Any]:
    """Westfall-Young single-step max-T by sign flips of whole units, of Student's t transformed by Hall: with
    the mean m, the standard deviation s (over n) and the third central moment c of n differences,
    t = m sqrt(n) / s, k = c / (s^3 sqrt(n)), and ((1 + k t / 3)^3 - 1) / k + k / 6. p = (1 + number of flips
    with a value at least as large) / (1 + flips), against the largest value and against the own one. Where
    fewer than three units go against a claim and could by more than was seen, p is at least Gaffke's."""
    n, mine = differences.shape[1], (groups @ differences).astype(np.float64)

    def moved(of: Any) -> Any:
        first, second, third = (mine / n) @ of, (mine**2).mean(axis=1)[:, None], (mine**3 / n) @ of
        variance = second - first**2
        with np.errstate(all="ignore"):
            t = first * np.sqrt(n / variance)
            k = (third - 3 * first * second + 2 * first**3) / (variance**1.5 * np.sqrt(n))
            value = np.where(np.abs(k * t) > 1e-5, ((1 + k * t / 3) ** 3 - 1) / k, t + k * t**2 / 3) + k / 6
        return np.where(variance > 1e-6 * second, value, np.sign(first) * 1e9)

    seen, under = moved(np.ones((n, 1)))[:, 0], moved(signs)
    live = (mine != 0).any(axis=1)
    out = []
    for sign in (1, -1):
        joint, alone = np.ones(len(groups)), np.ones(len(groups))
        top = (sign * under[live]).max(axis=0, initial=-np.inf)
        for at in np.flatnonzero(live):
            least = sign * seen[at] - 1e-9 * max(1, abs(seen[at]))
            joint[at] = (1 + (top >= least).sum()) / (1 + len(top))
            alone[at] = (1 + (sign * under[at] >= least).sum()) / (1 + len(top))
            most, one = span * groups[at].sum(), sign * mine[at]
            if (one < 0).sum() < 3 and np.abs(one[one != 0]).min() < most:
                unseen = gaffke(one / most, -1.0)
                alone[at], joint[at] = max(alone[at], unseen), max(joint[at], min(1.0, len(groups) * unseen))
        out += [joint, alone]
    return out[0], out[2], out[1], out[3]


def strength(
    pair: Pair,
    test: str,
    sides: Sequence[Mapping[str, Any]],
    reversal: Json,
    order: Json,
    final: bool,
    alpha: float,
    among: int,
) -> Json:
    claim = None
    if final and min(reversal["adjusted"], order["adjusted"]) <= alpha:
        claim = "reversal" if reversal["adjusted"] <= order["adjusted"] else "order"
    first = pair.a if sides[0]["everywhere"] <= sides[1]["everywhere"] else pair.b
    return {
        "claim": claim,
        "first": first if claim == "order" else None,
        "test": test,
        "reversal": reversal,
        "order": order,
        "plus": sides[0]["best"],
        "minus": sides[1]["best"],
        "named_plus": sides[0]["named"] if final else [],
        "named_minus": sides[1]["named"] if final else [],
        "levels_plus": sides[0]["levels"] if final else [],
        "levels_minus": sides[1]["levels"] if final else [],
        "named_among": among,
    }


def best(kinds: Sequence[str], names: Sequence[str], p: Any) -> Json:
    at = int(np.argmin(p))
    return {"kind": kinds[at], "name": names[at], "p": float(p[at])} if p[at] < 1 - 1e-10 else None


def evidence(
    study: Study, benchmarks: Sequence[Benchmark], final: bool, audits: Mapping[str, Audit]
) -> dict[Any, Json]:
    """Every pair's evidence by benchmark, configurations and models; and the tests of configurations."""
    alpha = study.alpha
    pairs = {
        (b.name, x, y): Pair(b, x, y, audits.get(b.name))
        for b in benchmarks
        for x, y in combinations(b.models, 2)
    }
    regions: dict[str, dict[tuple[str, ...], str]] = {}
    for benchmark in benchmarks:
        own = regions.setdefault(benchmark.name, {})
        for kind, _, ex_ante, inside in benchmark.scopes():
            family = (
                "full envelope" if kind == "full" else "other scopes" if ex_ante else "chosen after the data"
            )
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
    asked = [rankings_about(study, benchmarks, each) for each in stated_rankings(study)]
    among = sum(len(about) for about in asked) * len(pairs) // max(len(benchmarks), 1)
    flips = max(FLIPS, ceil(2 * max(*sizes.values(), among) / alpha) - 1)

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
    for family, claims in members.items():
        certified, supported, extra = [], [], []
        for name, scope, key in claims:
            places = [pairs[key].benchmark.configurations.index(c) for c in scope]
            seed = seed_of(study, benchmarks, name)
            strong, weak, rest = weigh(
                pairs[key], places, adjusted[key], flips, sizes[family], family, alpha, seed
            )
            certified.append(strong)
            supported.append(weak)
            extra.append(rest)
        chosen = family == "chosen after the data"
        for tests, sides_of, among, field in (
            ([pairs[key].kind for *_, key in claims], certified, 2 * every, "certified"),
            (["joint_flips"] * len(claims), supported, 2 * sizes[family], "supported"),
        ):
            reversal = [max(up["somewhere"], down["somewhere"]) for up, down in sides_of]
            order = [min(up["everywhere"], down["everywhere"]) for up, down in sides_of]
            m = len(claims)
            after = (reversal, order) if chosen else (holm(reversal, m), holm(order, 2 * m))
            shared = (among, among) if chosen else (m, 2 * m)
            for number, ((name, scope, key), test, sides) in enumerate(
                zip(claims, tests, sides_of, strict=True)
            ):
                of_reversal, of_order = (
                    {"p": raw[number], "adjusted": both[number], "members": size}
                    for raw, both, size in zip((reversal, order), after, shared, strict=True)
                )
                row = found.setdefault((name, scope, *key[1:]), {})
                row[field] = strength(pairs[key], test, sides, of_reversal, of_order, final, alpha, among)
        for (name, scope, key), rest in zip(claims, extra, strict=True):
            row = found[name, scope, key[1], key[2]]
            pair, n = pairs[key], len(scope)
            up, down = len(row["certified"]["named_plus"]), len(row["certified"]["named_minus"])
            paid = 2 * every if chosen else len(claims) * n
            gap, share = pair.gap([pair.benchmark.configurations.index(c) for c in scope], alpha / paid)
            row |= rest | {
                "tier": next(
                    (tier for tier in ("certified", "supported") if row[tier]["claim"]), "descriptive"
                ),
                "alpha": alpha,
                "family": family,
                "units": pair.benchmark.G,
                "configurations": n,
                "rho_low": min(up, down) / n if row["certified"]["claim"] == "reversal" else 0.0,
                "rho_high": min(n // 2, n - up, n - down) / n,
                "smallest_gap": gap,
                "discordance": share,
            }
    for (name, a, b), pair in pairs.items():
        found[name, "tests", a, b] = {
            "a": a,
            "b": b,
            "test": pair.kind,
            "configurations": [
                {
                    "configuration": c,
                    "higher": int(pair.higher[k]),
                    "lower": int(pair.lower[k]),
                    "p_plus": min(1.0, pair.items_plus[k]),
                    "p_minus": min(1.0, pair.items_minus[k]),
                    "adjusted_plus": adjusted[name, a, b][0][k],
                    "adjusted_minus": adjusted[name, a, b][1][k],
                }
                for k, c in enumerate(pair.benchmark.configurations)
            ],
        }
    found["orderings"] = ordering_claims(study, benchmarks, pairs, final)
    asked_for = study.spec["analysis"].get("evidence") or "certified"
    raw: list[Json] = []
    for hypothesis, about in zip(stated_rankings(study), asked, strict=True):
        p = ranking_p(study, benchmarks, pairs, hypothesis["order"], about, asked_for, adjusted, flips)
        support, refute = (1.0, 1.0) if asked_for == "descriptive" else p
        raw.append({"strength": asked_for, "p": {"support": support, "refute": refute}})
    found["rankings"] = raw
    return found


def stated_rankings(study: Study) -> list[Json]:
    return [each for each in study.spec["hypothesis"] if each["kind"] == "ranking"]


def rankings_about(study: Study, benchmarks: Sequence[Benchmark], hypothesis: Json) -> dict[str, list[str]]:
    """The configurations that a ranking is about, by benchmark that all of its models run."""
    where = (hypothesis.get("where") or {}, study.spec["analysis"].get("primary") or {})
    found: dict[str, list[str]] = {}
    for benchmark in benchmarks:
        if not set(hypothesis["order"]) <= set(benchmark.models):
            continue
        for cell in benchmark.cells:
            place = {**cell["levels"], **{key: cell[key] for key in ("benchmark", "model", "tier")}}
            if cell["model"] in hypothesis["order"] and all(matches(each, place) for each in where):
                inside = found.setdefault(benchmark.name, [])
                if cell["configuration"] not in inside:
                    inside.append(cell["configuration"])
    return found


def ranking_p(
    study: Study,
    benchmarks: Sequence[Benchmark],
    pairs: Mapping[Any, Pair],
    order: Sequence[str],
    about: Mapping[str, Sequence[str]],
    strength: str,
    names: Mapping[Any, Any],
    flips: int,
) -> list[float]:
    """p of "every step holds in every configuration" (the largest), and of "a step is reversed somewhere"
    (Bonferroni over steps and benchmarks)."""
    holds, against = [], []
    for name, inside in about.items():
        for better, worse in pairwise(order):
            forward = (name, better, worse) in pairs
            key = (name, better, worse) if forward else (name, worse, better)
            pair = pairs[key]
            places = [pair.benchmark.configurations.index(c) for c in inside]
            seed = seed_of(study, benchmarks, name)
            weighed = weigh(pair, places, names[key], flips, 1, "rankings", study.alpha, seed)
            sides = weighed[0 if strength == "certified" else 1]
            toward = 0 if forward != pair.benchmark.lower else 1
            holds.append(sides[toward]["everywhere"])
            against.append(sides[1 - toward]["somewhere"])
    if not holds:
        return [1.0, 1.0]
    measured = {model for model in order if model in study.models}
    support = max(holds) if measured == set(order) else 1.0
    return [support, min(1.0, len(against) * min(against))]


def seed_of(study: Study, benchmarks: Sequence[Benchmark], name: str) -> int:
    """The seed of a benchmark's joint flips: the study's, plus the place of the benchmark in the spec."""
    return int(study.seed + [benchmark.name for benchmark in benchmarks].index(name))


DRAWN: dict[Any, Any] = {}


def weigh(
    pair: Pair,
    places: Sequence[int],
    names: Sequence[Any],
    flips: int,
    members: int,
    family: str,
    alpha: float,
    seed: int,
) -> tuple[Json, Json, Json]:
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
            "somewhere": float(here.min()),
            "everywhere": float(here.max()),
            "best": best(alike, mine, here),
            "named": [c for c, p in zip(mine, here, strict=True) if p <= alpha],
            "levels": [],
        }

    if chosen:
        certified = [implied(side) for side in names]
        every = np.eye(len(benchmark.configurations), dtype=np.int64)
        plus, minus, *_ = max_t(pair.flipped, DRAWN[key], every, pair.span)
        n = len(benchmark.configurations)
        paid = (
            np.maximum(side, np.minimum(1, n * own))
            for side, own in zip((plus, minus), pair.people, strict=True)
        )
        supported = [implied(np.minimum(1.0, 2 * members * side)) for side in paid]
    else:
        certified = [
            implied(adjusted)
            | {
                "somewhere": pair.somewhere(p[list(places)]),
                "everywhere": float(min(1.0, p[list(places)].max())),
                "best": best(alike, mine, p[list(places)]),
            }
            for p, adjusted in zip((pair.p_plus, pair.p_minus), names, strict=True)
        ]
        rows = list(contrasts(benchmark, places))
        groups = np.array([weights for *_, weights in rows])
        tested = max_t(pair.flipped[list(places)], DRAWN[key], groups, pair.span)
        joint_plus, joint_minus, own_plus, own_minus = tested
        supported = []
        for joint, own, people in zip(
            (joint_plus, joint_minus), (own_plus, own_minus), pair.people[:, list(places)], strict=True
        ):
            of_group = np.array([people[weights > 0].max() for weights in groups])
            joint = np.maximum(joint, np.minimum(1.0, len(places) * of_group))
            own[: len(places)] = np.maximum(own[: len(places)], people)
            held = {
                kind: [
                    n
                    for (k, n, _), p in zip(rows, joint, strict=True)
                    if k == kind and 2 * members * p <= alpha
                ]
                for kind in ("configuration", "level")
            }
            supported.append(
                {
                    "somewhere": float(joint.min()),
                    "everywhere": float(own[: len(places)].max()),
                    "best": best([k for k, *_ in rows], [n for _, n, _ in rows], joint),
                    "named": held["configuration"],
                    "levels": held["level"],
                }
            )
    if not pair.enough:
        nothing: Json = {"somewhere": 1.0, "everywhere": 1.0, "best": None, "named": [], "levels": []}
        supported = [nothing, nothing]
    totals = pair.whole[list(places)].sum(axis=1)
    observed = min((totals > 0).sum(), (totals < 0).sum())
    least = np.minimum((sums[list(places)] > 0).sum(axis=0), (sums[list(places)] < 0).sum(axis=0))
    n, sampled = len(places), sum(benchmark.sampled[p] for p in places)
    law = [(min(k, sampled - k), binom.pmf(k, sampled, 0.5)) for k in range(sampled + 1)]
    levels = sorted({value for value, _ in law})
    return (
        certified,
        supported,
        {
            "identical": {
                "exchanges": flips,
                "mean": least.mean() / n,
                "upper": np.sort(least)[int(0.95 * flips)] / n,
                "at_least": (1 + (least >= observed).sum()) / (1 + flips),
            },
            "same_model": {
                "sampled": sampled,
                "mean": sum(value * mass for value, mass in law) / n,
                "upper": next(v for v in levels if sum(m for value, m in law if value <= v) >= 0.95 - 1e-12)
                / n,
            },
        },
    )


def ordering_claims(
    study: Study, benchmarks: Sequence[Benchmark], pairs: Mapping[Any, Pair], final: bool
) -> dict[str, Json]:
    """Every strict order of up to five models: in each configuration the largest p of two neighbours, then
    the best configuration (n min p, or one over the mean e-value); Holm over all orders of all benchmarks."""
    rows: list[tuple[str, tuple[str, ...], float]] = []
    for benchmark in benchmarks:
        if not 1 < len(benchmark.models) <= 5:
            continue
        for order in permutations(benchmark.models):
            steps = []
            for a, b in pairwise(order):
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
            {
                "order": list(shown),
                "p": p,
                "adjusted": value,
                "members": len(rows),
                "certified": final and value <= study.alpha,
            }
        )
    return found
