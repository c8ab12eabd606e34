"""Hypotheses about effects, from the raw samples: plain loops, statsmodels on single rows, and a bootstrap.

A row is a sample. Compared are levels of an axis within blocks: a model, an item and the levels of all other
axes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, inf, log
from statistics import mean
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.optimize import brentq
from scipy.stats import f, false_discovery_control, t

from tests.recount.arms import LEVEL, Data, Row
from tests.recount.rates import BEHAVIOUR, OPTION, named, shown, stated
from tests.recount.study import RANKS, Benchmark, Json, Study, matches


def effects(
    study: Study, benchmarks: Mapping[str, Benchmark], final: bool, rankings: Sequence[Json]
) -> list[Json]:
    """A row for every hypothesis, of a ranking its corrected p-values alone; `rankings` has those before."""
    ranked = iter(rankings)
    raw: list[Json] = [
        next(ranked) if each["kind"] == "ranking" else effect(study, benchmarks, each)
        for each in study.spec["hypothesis"]
    ]
    other = "pp" if study.spec["analysis"]["outcome"] == "itt" else "itt"
    again = [
        effect(study, benchmarks, each, other) if final and unread(row) else row
        for each, row in zip(study.spec["hypothesis"], raw, strict=True)
    ]
    found: list[Json] = []
    for hypothesis, row in zip(study.spec["hypothesis"], raw, strict=True):
        family = next((f for f in study.spec["family"] if f["id"] == hypothesis.get("family")), None)
        members, correction = [hypothesis], "holm"
        if family is not None and family["correction"] != "none":
            correction = family["correction"]
            members = [each for each in study.spec["hypothesis"] if each.get("family") == family["id"]]
        if family is None and hypothesis["kind"] == "ranking":
            members = [
                each
                for each in study.spec["hypothesis"]
                if each["kind"] == "ranking" and not each.get("family")
            ]
        places = [each["id"] for each in study.spec["hypothesis"]]
        keys = [(each["id"], side, claimed(each)[1]) for each in members for side in claimed(each)[0]]
        alpha = family["alpha"] if family is not None else study.alpha
        verdicts, p = [], {"support": 1.0, "refute": 1.0}
        for source in (again, raw):
            claims = [(name, side, source[places.index(name)]["p"][side], most) for name, side, most in keys]
            p |= {
                side: value
                for (name, side, *_), value in zip(claims, corrected(claims, correction), strict=True)
                if name == hypothesis["id"]
            }
            yes, no = p["support"] <= alpha, p["refute"] <= alpha
            verdicts.append("open")
            if yes or no:
                both_ways = no and hypothesis["kind"] == "null_control"
                verdicts[-1] = "supported" if yes and not both_ways else "refuted"
        size = len(keys) if correction == "bh" else sum(claimed(each)[1] for each in members)
        alone = len(members) == 1 and (family is None or family["correction"] == "none")
        correction = ("holm" if size > 1 else "none") if alone else correction
        known = final and row.get("strength") != "descriptive"
        found.append(
            {
                "alpha": alpha,
                "members": size,
                "correction": correction,
                "verdict": verdicts[1] if final else "open",
                "otherwise": verdicts[0] if final and unread(row) else None,
                "support": p["support"] if known else None,
                "refute": p["refute"] if known else None,
                "noise": None,
                "ranking": None,
                "effect": row.get("effect"),
            }
        )
    return found


def claimed(hypothesis: Json) -> tuple[list[str], int]:
    """The verdicts that a design can reach, and how many of their claims can be false at once."""
    kind, both = hypothesis["kind"], ["support", "refute"]
    if kind in ("ranking", "trend"):
        return both, 2
    if kind == "interaction":
        return ["support"], 1
    if hypothesis.get("margin"):
        return both, 1
    if kind == "null_control":
        return ["refute"], 1
    return (["support"], 1) if hypothesis.get("side", "two-sided") == "two-sided" else (both, 2)


def corrected(claims: Sequence[tuple[str, str, float, int]], how: str) -> list[float]:
    """Benjamini and Hochberg over all claims; or Holm, each p-value times how many claims of those that are
    not smaller can be false at once."""
    p = [value for *_, value, _ in claims]
    if how == "bh":
        return [float(each) for each in false_discovery_control(p)]
    order = sorted(range(len(p)), key=lambda at: p[at])
    adjusted, running = [0.0] * len(p), 0.0
    for rank, at in enumerate(order):
        left: dict[str, list[int]] = defaultdict(list)
        for other in order[rank:]:
            left[claims[other][0]].append(claims[other][3])
        count = sum(min(len(most), most[0]) for most in left.values())
        running = max(running, min(1.0, count * p[at]))
        adjusted[at] = running
    return adjusted


def independent(study: Study, benchmarks: Mapping[str, Benchmark]) -> dict[tuple[str, int], tuple[str, int]]:
    """The first of the units that are one: those of several benchmarks with an item in common, which here is
    the same name in the same file."""
    source = {row["id"]: row["source"] for row in study.spec["benchmark"]}
    holders = defaultdict(list)
    for name, bench in benchmarks.items():
        for item, unit in bench.unit_of.items():
            holders[source[name], item].append((name, unit))
    first = {unit: unit for units in holders.values() for unit in units}
    changed = True
    while changed:
        changed = False
        for units in holders.values():
            least = min(first[unit] for unit in units)
            for unit in units:
                changed, first[unit] = changed or first[unit] != least, least
    return first


def samples(study: Study, benchmarks: Mapping[str, Benchmark], hypothesis: Json) -> Iterator[Row]:
    """Every sample of the outcome in complete cells that the hypothesis is about."""
    wanted = (hypothesis.get("where") or {}, study.spec["analysis"].get("primary") or {})
    assert not hypothesis.get("items"), "the store keeps no tags"
    outcome, unit = hypothesis.get("outcome", "score"), independent(study, benchmarks)
    for cell in study.cells:
        bench = benchmarks[cell["benchmark"]]
        place = {**cell["levels"], "benchmark": bench.name, "model": cell["model"], "tier": cell["tier"]}
        if not cell["shared"] or any(score is None for *_, score in cell["samples"]):
            continue
        if not all(matches(where, place) for where in wanted):
            continue
        read = reader(study, bench, cell, outcome)
        if read is None:
            continue
        named = {"model": cell["model"], **cell["levels"]}
        others = [level for axis, level in named.items() if axis != hypothesis["axis"]]
        for item, _, choice, score in cell["samples"]:
            value = read(item, choice, score)
            yield Row(
                (*others, bench.name, item),
                named[hypothesis["axis"]],
                place,
                unit[bench.name, bench.unit_of[item]],
                value,
                None if choice is None else value,
            )


def reader(
    study: Study, bench: Benchmark, cell: Json, outcome: str
) -> Callable[[str, int | None, int], Fraction | None] | None:
    """What a sample earns of an outcome; None where the cell has no such outcome."""
    if outcome == "score":
        scale = bench.scales[cell["model"], cell["configuration"]]
        return lambda item, choice, score: Fraction(score, scale)
    method = study.effect(cell, "method", "extract")
    if outcome == "parse_rate":
        return None if method in RANKS else lambda item, choice, score: Fraction(int(choice is not None))
    of = next((each for each in study.spec.get("outcome") or [] if each["id"] == outcome), None)
    name = "unsafe_compliance" if outcome == "attack_success" else outcome
    order = study.effect(cell, "option_order", None) or "file"
    if of is not None:
        mine = of["benchmark"]
        if bench.name not in ([mine] if isinstance(mine, str) else mine):
            return None
        parts = stated(of)
    else:
        if method == "match" or (method == "refusal_keywords") is not (name in BEHAVIOUR):
            return None
        parts = named(name, {**BEHAVIOUR, **OPTION}[name])
    items = shown(bench)

    def read(item: str, choice: int | None, score: int) -> Fraction | None:
        counts = list(parts(items[item, order], choice).values())
        return Fraction(int(counts[0]), int(counts[1])) if counts[1] else None

    return read


def unread(row: Json) -> bool:
    """Whether some answers of an effect are unreadable."""
    contrasts = (row.get("effect") or {}).get("contrasts", ())
    return any(each["other"] and each["other"]["samples"] != each["change"]["samples"] for each in contrasts)


def effect(
    study: Study, benchmarks: Mapping[str, Benchmark], hypothesis: Json, reading: str | None = None
) -> Json:
    """The row, and the p-values of the hypothesis alone; by another `reading` of unreadable answers."""
    kind, axis, analysis = hypothesis["kind"], hypothesis["axis"], study.spec["analysis"]
    every = list(samples(study, benchmarks, hypothesis))
    stated_levels = {each["id"]: each["level"] for each in study.spec["axis"]}
    order = study.spec["model"] if axis == "model" else stated_levels[axis]
    here = [level["id"] for level in order if level["id"] in {row.level for row in every}]
    if kind == "trend":
        compared, rest = list(hypothesis["order"]), list[str]()
    elif kind == "interaction":
        compared, rest = here, []
    else:
        tested = hypothesis["level"]
        compared = [hypothesis["reference"], *([tested] if isinstance(tested, str) else tested)]
        control = [hypothesis["control"]] if hypothesis.get("control") else []
        rest = control + [name for name in here if name not in [*compared, *control]]
    together = frozenset((*compared, hypothesis.get("control") or compared[0]))
    blocks: dict[Any, set[str]] = defaultdict(set)
    counted = [row for row in every if row.itt is not None]
    for row in counted:
        blocks[row.block].add(row.level)
    whole = {block for block, levels in blocks.items() if levels >= together}
    arms = [*compared, *rest]
    kept = [row for row in counted if row.block in whole and row.level in arms]
    left = sum(row.level in together and row.block not in whole for row in counted)
    reading = reading or analysis["outcome"]
    alpha = next(
        (f["alpha"] for f in study.spec["family"] if f["id"] == hypothesis.get("family")), study.alpha
    )
    data = Data(study, kept, arms, reading, together)
    other = Data(study, kept, arms, "pp" if reading == "itt" else "itt", together)
    doses = None
    if kind == "trend":
        stated_doses = {level["id"]: level.get("dose") for level in order}
        doses = {
            name: float(number if stated_doses[name] is None else stated_doses[name])
            for number, name in enumerate(compared)
        }
    covariates = data.covariates(study)
    fit, names = logit(data, axis, covariates, hypothesis.get("by"), doses)
    same = len({getattr(row, reading) for row in data.rows}) == 1
    failure = None if fit is not None else {"code": "constant" if same else "separated"}
    if fit is not None and kind not in ("trend", "interaction"):
        own = [at for at, name in enumerate(names) if name[0] == axis and name[1] in compared]
        if not (fit.errors()[own] >= 1e-6).all():  # no unit changes between the levels
            fit, failure = None, {"code": "clusters"}
    margin = hypothesis.get("margin") or {}
    sizes = list(dict.fromkeys([margin["pp"], *margin.get("sensitivity_pp", [])])) if margin else []
    contrasts, z, checks = [], [], []
    base = compared[0]
    pairs = [(compared[-1], base)] if kind == "trend" else [(level, base) for level in compared[1:]]
    for level, against in pairs:
        odds = None
        if kind != "interaction":
            at = names.index("dose" if kind == "trend" else (axis, level))
            odds = None if fit is None else odds_row(fit, at)
            z.append(0.0 if odds is None else odds["z"])
            checks.append((0.0, 0.0))
        tested = None
        if fit is not None and odds is not None and kind == "trend" and odds["spread"]["enough"]:
            checks[-1] = data.unseen(
                [(doses or {})[name] - mean((doses or {}).values()) for name in data.arms]
            )
            checked(odds, checks[-1])
            if odds["p"] > 0.05:
                low, high = odds["interval"]
                odds["interval"] = [min(low, 1.0), max(high, 1.0)]
        elif fit is not None and odds is not None and odds["spread"]["enough"]:
            checks[-1] = data.unseen([(name == level) - (name == against) for name in data.arms])
            checked(odds, checks[-1])
            if any(checks[-1]):
                odds["interval"] = widened(data, fit, level, against, odds["interval"], checks[-1])
            odds["interval"] = data.odds(level, against, odds["log_odds"], odds["interval"])
            tested = [
                moved_rates(data, fit, level, against, log(end) if end else -inf) for end in odds["interval"]
            ]
        change = data.change(level, against, sizes, alpha, tested)
        second = other.change(level, against, [], alpha)
        gap = change["difference"] - second["difference"]
        parts = []
        by = hypothesis["by"] if kind == "interaction" else "benchmark"
        if kind != "trend":
            values = list(dict.fromkeys(row.place[by] for row in kept))
            for value in values if len(values) > 1 else []:
                inside = [row for row in kept if row.place[by] == value]
                some = Data(study, inside, arms, reading, together)
                parts.append(some.change(level, against, sizes, alpha) | {"part": value})
        contrasts.append(
            {
                "change": change,
                "other": second,
                "divergence": gap if reading == "itt" else -gap,
                "odds": odds,
                "risk_ratio": None,
                "risk_ratio_interval": None,
                "number_needed": None,
                "flips": data.flips(level, against),
                "parts": parts,
                "recovery": None,
            }
        )
        if kind not in ("trend", "interaction"):
            contrasts[-1] |= data.ratio(level, against, tested)
            contrasts[-1]["number_needed"] = needed(study, hypothesis, kept, change)
            if hypothesis.get("control"):
                found = data.recovery(level, against, hypothesis["control"], alpha)
                found["number_needed"] = needed(study, hypothesis, kept, found["left"])
                contrasts[-1]["recovery"] = found
    test, p = tests(data, hypothesis, fit, names, z, compared, checks)
    enough = fit is None or test["spread"]["enough"]
    if not enough and kind not in ("equivalence", "noninferiority"):
        failure = {"code": "few_units"}
    if fit is None:
        test = None
        if kind == "null_control":
            p |= {"refute": 1.0}
        elif kind not in ("equivalence", "noninferiority"):
            p |= {"support": 1.0}
    return {
        "p": p,
        "effect": {
            "outcome": hypothesis.get("outcome", "score"),
            "reading": reading,
            "estimator": analysis["estimator"],
            "adjusted_for": covariates,
            "samples": len(data.rows),
            "units": data.n,
            "left_out": left,
            "contrasts": contrasts,
            "test": test,
            "trend": None if doses is None else data.trend(doses, hypothesis["direction"] == "increasing"),
            "failure": failure,
        },
    }


def logit(
    data: Data, axis: str, covariates: Sequence[str], by: str | None, doses: Mapping[str, float] | None
) -> tuple[Any, list[Any]]:
    """statsmodels on single samples, treatment coding; errors by leaving out units; names of the columns."""
    import statsmodels.api as sm

    names: list[Any] = ["one"]
    columns = [np.ones(len(data.rows))]
    of: dict[str, list[str]] = {}
    for name in [*([] if doses else [axis]), *covariates]:
        levels = data.arms if name == axis else list(dict.fromkeys(row.place[name] for row in data.kept))
        of[name] = levels
        for level in levels[1:]:
            names.append((name, level))
            columns.append(np.array([row.place[name] == level for row in data.rows], dtype=float))
    if by is not None:
        for one in of[axis][1:]:
            for two in of[by][1:]:
                names.append((one, two, "both"))
                columns.append(columns[names.index((axis, one))] * columns[names.index((by, two))])
    if doses:
        names.append("dose")
        columns.append(np.array([doses[row.level] for row in data.rows]))
    numbers: dict[Any, int] = {}
    groups = np.array([numbers.setdefault(row.unit, len(numbers)) for row in data.rows])
    outcome = np.array([float(getattr(row, data.reading)) for row in data.rows])
    model = sm.GLM(outcome, np.column_stack(columns), family=sm.families.Binomial())
    with catch_warnings():
        simplefilter("ignore")
        found = model.fit(tol=1e-15, maxiter=60)
    if np.abs(found.fittedvalues - 0.5).max() > 0.5 - 1e-9:
        return None, names  # odds that are infinite
    return LeftOut(np.column_stack(columns), outcome, groups, np.asarray(found.params)), names


class LeftOut:
    """What one Newton step from the estimate does to it when a unit is left out, unit by unit."""

    def __init__(self, x: Any, y: Any, groups: Any, params: Any) -> None:
        self.x, self.params, self.n = x, params, int(groups.max()) + 1
        mu = 1 / (1 + np.exp(-x @ params))
        self.own = np.array(
            [(x[groups == g].T * (mu * (1 - mu))[groups == g]) @ x[groups == g] for g in range(self.n)]
        )
        self.all = self.own.sum(axis=0)
        scores = np.array([x[groups == g].T @ (y - mu)[groups == g] for g in range(self.n)])
        self.without = np.array([np.linalg.inv(self.all - own) for own in self.own])
        self.steps = -np.einsum("gkl,gl->gk", self.without, scores)

    def covariance(self) -> Any:
        return (self.n - 1) / self.n * self.steps.T @ self.steps

    def errors(self) -> Any:
        return np.sqrt(np.diag(self.covariance()))

    def freedom(self, picked: Any) -> float:
        """Satterthwaite's for the rows of `picked`, (q, K): a unit's score has the covariance A_g A^-1 A_g,
        and the scores at the estimate are those less A_g A^-1 times their sum. All covariances of steps,
        written out."""
        inverse, n, q = np.linalg.inv(self.all), self.n, len(picked)
        spread = np.array([own @ inverse @ own for own in self.own])
        hat = np.array([own @ inverse for own in self.own])
        total = spread.sum(axis=0)
        weights = np.einsum("qk,gkl->gql", picked, self.without)
        c = np.empty((n, n, q, q))
        for g in range(n):
            for h in range(n):
                of_scores = (g == h) * spread[g] - hat[g] @ spread[h] - spread[g] @ hat[h].T
                c[g, h] = weights[g] @ (of_scores + hat[g] @ total @ hat[h].T) @ weights[h].T
        mean = sum(c[g, g] for g in range(n))
        scale = np.linalg.inv(np.linalg.cholesky(mean))
        c = np.einsum("as,ghst,bt->ghab", scale, c, scale)
        variance = np.einsum("ghss,ghtt->", c, c) + np.einsum("ghst,ghts->", c, c)
        return float(min(q * (q + 1) / variance, n - 1))

    def joint(self, picked: Any) -> tuple[float, float, float, float]:
        """Box's F of the rows of `picked`, (q, K), in the metric in which independent rows would have the
        variance 1: its value, degrees of freedom above and below, and p."""
        root = np.linalg.cholesky(picked @ np.linalg.inv(self.all) @ picked.T)
        half = np.linalg.solve(root, picked @ self.covariance() @ picked.T)
        eigen = np.linalg.eigvalsh(np.linalg.solve(root, half.T))
        moved = np.linalg.solve(root, picked @ self.params)
        value, above = float(moved @ moved / eigen.sum()), float(eigen.sum() ** 2 / (eigen @ eigen))
        below = above * self.freedom(picked)
        return value, above, below, float(f.sf(value, above, below))

    def spread(self, weights: Any) -> Json:
        """Equal units that would tell as much, and the largest one's share: by the information of each."""
        at = np.linalg.solve(self.all, weights)
        shares = np.einsum("k,gkl,l->g", at, self.own, at) / float(weights @ at)
        effective = float(1 / (shares**2).sum())
        return {"effective": effective, "largest": float(shares.max()), "enough": effective > 20 - 1e-6}


def moved_rates(data: Data, fit: LeftOut, level: str, against: str, by: float) -> list[tuple[float, float]]:
    """The mean rates that the logit gives the samples of the reference, and those of the level, under both,
    where the log odds of the level are `by`."""
    eta, arms = fit.x @ fit.params, np.array([row.level for row in data.rows])

    def mean(arm: str, add: float) -> float:
        return float((1 / (1 + np.exp(-eta[arms == arm] - add))).mean())

    return [(mean(against, 0), mean(against, by)), (mean(level, -by), mean(level, 0))]


def odds_row(fit: LeftOut, at: int) -> Json:
    weights = np.eye(len(fit.params))[at]
    value, error, free = float(fit.params[at]), float(fit.errors()[at]), fit.freedom(weights[None])
    half = t(free).ppf((1 + LEVEL) / 2) * error
    return {
        "log_odds": value,
        "error": error,
        "z": value / error,
        "p": float(2 * t.sf(abs(value / error), free)),
        "freedom": free,
        "spread": fit.spread(weights),
        "ratio": float(np.exp(value)),
        "interval": [float(np.exp(value - half)), float(np.exp(value + half))],
        "agrees": None,
    }


def needed(study: Study, hypothesis: Json, kept: Sequence[Row], change: Json) -> Json | None:
    """1 / |difference|, with Altman's interval where that of the difference holds 0."""
    rule = study.spec["analysis"].get("nnh")
    outcome = hypothesis.get("outcome", "score")
    names = {row.place["benchmark"] for row in kept}
    directions = {each["direction"] for each in study.spec["benchmark"] if each["id"] in names}
    good = 0
    if outcome in ("score", "score_disambiguated") and len(directions) == 1:
        good = 1 if directions == {"higher_is_better"} else -1
    good = -1 if outcome in ("over_refusal", "unsafe_compliance", "attack_success") else good
    good = 1 if outcome in ("unknown_rate", "parse_rate") else good
    if rule is None or not good:
        return None
    gap = good * change["difference"]
    row: Json = {"low": None, "high": None, "harm": None, "benefit": None, "number": None, "displayed": None}
    row["kind"] = "harm" if gap < 0 else "benefit" if gap > 0 else "none"
    if gap:
        row["number"] = 1 / abs(gap)
        row["displayed"] = ceil(row["number"] - 1e-9) if rule["rounding"] == "ceil" else round(row["number"])
    if change["interval"] is not None:
        low, high = sorted(good * end for end in change["interval"])
        if low <= 0 <= high:
            row["harm"], row["benefit"] = (1 / -low if low else None), (1 / high if high else None)
        else:
            row["low"], row["high"] = sorted((1 / abs(low), 1 / abs(high)))
    return row


def sided(z: float, free: float, check: tuple[float, float]) -> tuple[float, float]:
    """p of a rise and of a fall, with what has to agree."""
    near = max(float(t.sf(abs(z), free)), min(0.5, check[0 if z > 0 else 1]))
    return (near, 1 - near) if z > 0 else (1 - near, near)


def checked(odds: Json, unseen: tuple[float, float]) -> None:
    own = unseen[0 if odds["z"] > 0 else 1]
    odds["p"], odds["agrees"] = max(odds["p"], min(1.0, 2 * own)), own or None


def widened(
    data: Data, fit: LeftOut, level: str, against: str, interval: Sequence[float], unseen: tuple[float, float]
) -> list[float]:
    """Ends of an odds ratio that go as far as the log odds at which the rates differ by Gaffke's limit."""

    def change(odds: float) -> float:
        return float(
            np.mean([after - before for before, after in moved_rates(data, fit, level, against, odds)])
        )

    def at(limit: float) -> float:
        if not change(-60) < limit < change(60):
            return 0.0 if limit < 0 else inf
        return float(np.exp(brentq(lambda odds: change(odds) - limit, -60, 60)))

    low, high = interval
    least, most = data.limits(level, against, 0.025)
    return [min(low, at(least)) if unseen[0] else low, max(high, at(most)) if unseen[1] else high]


def tests(
    data: Data,
    hypothesis: Json,
    fit: Any,
    names: Sequence[Any],
    z: Sequence[float],
    compared: Sequence[str],
    checks: Sequence[tuple[float, float]],
) -> tuple[Json, dict[str, float]]:
    """The test of the estimator, and the p-values of what is claimed and of what refutes it."""
    kind, axis = hypothesis["kind"], hypothesis["axis"]
    if kind == "interaction":
        picked = [at for at, name in enumerate(names) if name[-1] == "both"]
    else:
        picked = [names.index("dose" if kind == "trend" else (axis, level)) for level in compared[1:]][
            : 1 if kind == "trend" else None
        ]
    if kind == "trend":
        picked = [names.index("dose")]
    free, spread, above = 1.0, None, None
    if fit is not None:
        rows = np.eye(len(fit.params))[picked]
        free = fit.freedom(rows)
        spread = min(map(fit.spread, rows), key=lambda each: each["effective"])
    if len(picked) == 1 and kind != "interaction":
        value, name, p = float(z[0]), "wald_z", float(2 * t.sf(abs(z[0]), free))
        p = max(p, min(1.0, 2 * checks[0][0 if z[0] > 0 else 1]))
    else:
        name, value, p = "box_f", 0.0, 1.0
        if fit is not None:
            value, above, free, p = fit.joint(rows)
        own = [check[0 if each > 0 else 1] for each, check in zip(z, checks, strict=True)]
        if any(own):
            each = [
                max(2 * float(t.sf(abs(one), fit.freedom(row[None]))), min(1.0, 2 * check))
                for one, row, check in zip(z, rows, own, strict=True)
            ]
            p = max(p, min(1.0, len(each) * min(each)))
    test = {"name": name, "statistic": value, "df": len(picked), "p": p, "freedom": free, "spread": spread}
    test["above"] = above
    if spread is not None and not spread["enough"]:
        p, free, z = 1.0, free, [0.0 for _ in z]
    few = spread is not None and not spread["enough"]
    if kind == "interaction":
        return test, {"support": p, "refute": 1.0}
    if kind == "trend":
        up = hypothesis["direction"] == "increasing"
        sides = (1.0, 1.0) if few else sided(z[0], free, checks[0])
        return test, {"support": sides[not up], "refute": sides[up]}
    base, levels = compared[0], compared[1:]
    m = (hypothesis.get("margin") or {}).get("pp", 0) / 100
    within = max([data.within(level, base, m) for level in levels]) if m else 1.0
    if kind == "null_control":
        return test, {"support": within, "refute": p}
    if kind == "equivalence":
        outside = min(
            min(1.0, 2 * min(data.above(level, base, m), data.above(base, level, m))) for level in levels
        )
        return test, {"support": within, "refute": min(1.0, len(levels) * outside)}
    if kind == "noninferiority":
        flip = hypothesis["side"] == "less"
        pairs = [(base, level) if flip else (level, base) for level in levels]
        support = max(data.above(one, two, -m) for one, two in pairs)
        worse = min(data.above(two, one, m) for one, two in pairs)
        return test, {"support": support, "refute": min(1.0, len(levels) * worse)}
    if hypothesis.get("side", "two-sided") == "two-sided":
        return test, {"support": p, "refute": within}
    known = fit is not None and not few
    frees = [] if fit is None else [fit.freedom(np.eye(len(fit.params))[at][None]) for at in picked]
    both = [sided(*one) for one in zip(z, frees, checks, strict=True)] if known else [(1.0, 1.0)]
    up, down = (min(1.0, len(z) * min(own)) for own in zip(*both, strict=True))
    toward, away = (up, down) if hypothesis["side"] == "greater" else (down, up)
    if not m:
        return test, {"support": float(toward), "refute": float(away)}
    pairs = [(base, level) if hypothesis["side"] == "greater" else (level, base) for level in levels]
    small = max(data.above(one, two, -m) for one, two in pairs)
    return test, {"support": float(toward), "refute": min(1.0, 2 * min(small, float(away)))}
