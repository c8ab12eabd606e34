"""The samples of compared levels, summed by unit: rates, their differences, and resamples of the units."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, exp, floor, inf, log, sqrt
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata, t

from tests.recount.study import Json, Study
from tests.recount.unit_limits import below_zero, gap_of_units, limits, of_parts, part_of, ratio

LEVEL = 0.95
RESAMPLES = 2000
Tested = Sequence[Sequence[tuple[float, float]]] | None
"""At both ends of the interval of a level's odds the rates of the reference and of the level that a logit
gives: over the samples of the one, and of the other."""


@dataclass
class Row:
    """A sample: its block, level, unit, and what it earns by each reading (None: it does not count)."""

    block: tuple[str, ...]
    level: str
    place: Mapping[str, str]
    unit: tuple[str, int]
    itt: Fraction | None
    pp: Fraction | None


def in_pairs(kept: Sequence[Row], reading: str, together: Collection[str]) -> list[Row]:
    """The samples that count: of the levels that stand `together`, those of blocks with one under each of
    them. Where the levels do not have them in one proportion, a block has as many under each as under the
    level with the fewest, each with the mean of its level."""
    blocks: dict[Any, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    rows = []
    for row in kept:
        if getattr(row, reading) is not None and row.level in together:
            blocks[row.block][row.level].append(row)
        elif getattr(row, reading) is not None:
            rows.append(row)
    whole = [levels for levels in blocks.values() if len(levels) == len(together)]
    ratios = {
        tuple(Fraction(len(held[name]), len(held[min(held)])) for name in sorted(held)) for held in whole
    }
    for held in whole:
        fewest = min(map(len, held.values()))
        for mine in held.values():
            if len(ratios) == 1:
                rows += mine
                continue
            mean = sum((getattr(row, reading) for row in mine), Fraction(0)) / len(mine)
            both = {"itt": mine[0].itt, "pp": mine[0].pp, reading: mean}
            rows += [replace(mine[0], itt=both["itt"], pp=both["pp"])] * fewest
    return rows


class Data:
    """Samples by one reading, with resamples of their units."""

    def __init__(
        self, study: Study, kept: Sequence[Row], arms: Sequence[str], reading: str, together: Collection[str]
    ) -> None:
        self.kept, self.arms, self.reading = kept, list(arms), reading
        self.rows = in_pairs(kept, reading, together)
        units: dict[tuple[str, int], int] = {}
        table = np.zeros((len({row.unit for row in self.rows}), 2 * len(arms)))
        for row in self.rows:
            unit, arm = units.setdefault(row.unit, len(units)), self.arms.index(row.level)
            table[unit, arm] += 1
            table[unit, len(arms) + arm] += float(getattr(row, reading))
        self.table, self.n = np.round(table, 12), len(units)
        self.kinds, self.counts = np.unique(self.table, axis=0, return_counts=True)
        random, one_by_one = np.random.default_rng(study.seed), np.repeat(self.kinds, self.counts, axis=0)
        if self.n > 12 * len(self.kinds):
            total = random.multinomial(self.n, self.counts / self.n, size=RESAMPLES) @ self.kinds
        else:
            total = np.array(
                [one_by_one[random.integers(0, self.n, size=self.n)].sum(axis=0) for _ in range(RESAMPLES)]
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            self.drawn = total[:, len(arms) :] / total[:, : len(arms)]

    def covariates(self, study: Study) -> list[str]:
        names = ["model", "benchmark", *(axis["id"] for axis in study.spec["axis"])]
        own = [name for name in names if len({row.place[name] for row in self.kept}) > 1]
        axis = next(
            (n for n in names if {r.place.get(n) for r in self.kept} == {r.level for r in self.kept}), None
        )
        return [name for name in own if name != axis]

    def rate(self, level: str) -> float:
        at = self.arms.index(level)
        return float(self.table[:, len(self.arms) + at].sum() / self.table[:, at].sum())

    def moved(self, level: str, against: str) -> Any:
        return self.drawn[:, self.arms.index(level)] - self.drawn[:, self.arms.index(against)]

    def ends(self, values: Any) -> list[float] | None:
        if self.n < 2 or np.isnan(values).any() or values.min() == values.max():
            return None
        tail = norm.cdf(-sqrt(self.n / (self.n - 1)) * t.ppf((1 + LEVEL) / 2, self.n - 1))
        k = floor(tail * (RESAMPLES + 1) + 1e-9)
        held = np.sort(values)
        return [float(held[k - 1]), float(held[-k])] if k else None

    def moves(self, level: str, against: str, bound: float) -> tuple[Any, float]:
        """How far each unit moves the difference of rates beyond a bound, and what one could at least."""
        width, one, two = len(self.arms), self.arms.index(level), self.arms.index(against)
        rows, sums = self.table[:, :width], self.table[:, width:]
        shares = rows / rows.sum(axis=0)
        weight = (shares[:, one] + shares[:, two]) / 2
        moved = sums[:, one] / rows[:, one].sum() - sums[:, two] / rows[:, two].sum()
        return moved - bound * weight, -float((shares[:, two] + bound * weight).max())

    def above(self, level: str, against: str, bound: float) -> float:
        return gaffke(*self.moves(level, against, bound))

    def unseen(self, weights: Sequence[float]) -> tuple[float, float]:
        """Gaffke's p of a weighted sum of rates above 0, and below; 0 where some unit goes against it, or
        each moved as far as one can or not at all."""
        width, w = len(self.arms), np.array(weights, dtype=float)
        rows, sums = self.table[:, :width], self.table[:, width:]
        per = np.divide(w, rows.sum(axis=0), out=np.zeros(width), where=w != 0)
        found = []
        for way in (per, -per):
            least = -float((rows @ np.minimum(way, 0)).min())
            moves = np.round(sums @ way / least, 12)
            against, moving = int((moves < -1e-9).sum()), np.abs(moves[np.abs(moves) > 1e-9])
            seen = against >= 1 or bool((moving > 1 - 1e-9).all())
            found.append(0.0 if seen else gaffke(moves, -1.0))
        return found[0], found[1]

    def within(self, level: str, against: str, margin: float) -> float:
        return max(self.above(level, against, -margin), self.above(against, level, -margin))

    def limits(self, level: str, against: str, alpha: float) -> list[float]:
        def limit(one: str, two: str) -> float:
            low, high = -1.0, 1.0
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (middle, high) if self.above(one, two, middle) <= alpha else (low, middle)
            return low

        return [limit(level, against), -limit(against, level)]

    def by_unit(self, *names: str) -> Any:
        """How many samples and points each unit has under these levels, in turn."""
        places = [self.arms.index(name) for name in names]
        return self.table[:, [at + side for at in places for side in (0, len(self.arms))]].T

    def difference(self, level: str, against: str, tested: Tested = None) -> list[float]:
        """What the units' changes say, and what the logit says, averaged over the rows of each arm."""
        low, high = gap_of_units(*self.by_unit(against, level))[1] or (-1.0, 1.0)
        if tested is None:
            return [low, high]
        ends = [float(np.mean([after - before for before, after in rates])) for rates in tested]
        return self.joined([low, high], ends, level, against)

    def joined(self, found: list[float], ends: list[float], level: str, against: str) -> list[float]:
        """The wider; 0 is outside where it is outside of what was tested, with the end drawn towards it."""
        n, y, m, x = self.by_unit(against, level)
        rows, points = n + m, y + x
        points = points if points.sum() <= rows.sum() / 2 else rows - points
        drawn = limits(rows, points)[0] / (points.sum() / rows.sum())
        low, high = min(found[0], ends[0]), max(found[1], ends[1])
        low = drawn * ends[0] if ends[0] > 0 >= low else low
        return [low, drawn * ends[1] if ends[1] < 0 <= high else high]

    def change(
        self, level: str, against: str, sizes: Sequence[float], alpha: float, tested: Tested = None
    ) -> Json:
        margins = [(pp, self.within(level, against, pp / 100)) for pp in sizes]
        return {
            "part": None,
            "level": level,
            "reference": against,
            "samples": int(self.table[:, self.arms.index(level)].sum()),
            "units": self.n,
            "rate": self.rate(level),
            "reference_rate": self.rate(against),
            "difference": self.rate(level) - self.rate(against),
            "interval": self.difference(level, against, tested),
            "margins": [{"pp": pp, "p": p, "holds": p <= alpha} for pp, p in margins],
            "limits": self.limits(level, against, alpha) if sizes else None,
            "pairs": None if self.reading == "itt" else self.pairs(level, against),
        }

    def pairs(self, level: str, against: str) -> Json:
        """Which blocks count, and which share of the answers under each level can be read."""
        asked = {name: [row for row in self.kept if row.level == name] for name in (level, against)}
        read = {name: sum(row.pp is not None for row in rows) / len(rows) for name, rows in asked.items()}
        return {
            "compared": len({row.block for row in self.rows if row.level == level}),
            "asked": len({row.block for row in asked[level]}),
            "readable": read[level],
            "reference_readable": read[against],
        }

    def recovery(self, mended: str, damaged: str, control: str, alpha: float) -> Json:
        loss, left = self.change(control, damaged, [], alpha), self.change(mended, control, [], alpha)
        found = {"control": control, "loss": loss, "left": left}
        found |= {"share": None, "interval": None, "fieller": None}
        if loss["interval"] is None or loss["interval"][0] <= 0 <= loss["interval"][1]:
            return found
        c, d, m = (self.rate(name) for name in (control, damaged, mended))
        found["share"] = (m - d) / (c - d)
        width, at = len(self.arms), [self.arms.index(name) for name in (control, damaged, mended)]
        sizes = self.table[:, at].sum(axis=1)
        if sizes.sum() ** 2 < (20 - 1e-6) * (sizes**2).sum():  # fewer units of one size would tell as much
            return found
        found["interval"] = self.ends(self.moved(mended, damaged) / self.moved(control, damaged))
        if len(set(self.table[:, at].ravel())) == 1:
            c, d, m = (self.table[:, [width + place for place in at]] / self.table[0, at[0]]).T
            # all r with (mean of (m - d) - r (c - d))^2 <= t^2 its squared error
            y, x, cut = m - d, c - d, t.ppf((1 + LEVEL) / 2, self.n - 1) ** 2 / self.n
            square = x.mean() ** 2 - cut * x.var(ddof=1)
            cross = x.mean() * y.mean() - cut * np.cov(x, y)[0, 1]
            roots = np.roots([square, -2 * cross, y.mean() ** 2 - cut * y.var(ddof=1)])
            if square > 0:
                found["fieller"] = sorted(float(root) for root in roots.real)
        return found

    def ratio(self, level: str, against: str, tested: Tested = None) -> Json:
        rates = self.rate(level), self.rate(against)
        if 0 in rates:
            return {"risk_ratio": None, "risk_ratio_interval": None}
        each = self.by_unit(level, against).T
        found = ratio([(str(at), tuple(map(float, own))) for at, own in enumerate(each)])
        if found is not None and tested is not None:
            ends = [float(np.mean([np.log(after / before) for before, after in each])) for each in tested]
            low, high = self.joined([log(found[0]), log(found[1])], ends, level, against)
            found = exp(low), exp(high)
        return {"risk_ratio": rates[0] / rates[1], "risk_ratio_interval": found and list(found)}

    def odds(self, level: str, against: str, value: float, interval: Sequence[float]) -> list[float]:
        """The ends of a tested ratio of odds, at least as far from it as the limits of both rates."""
        n, y, m, x = self.by_unit(against, level)
        if any(points.sum() in (0, rows.sum()) for rows, points in ((n, y), (m, x))):
            return list(interval)

        def apart(shares: Sequence[float]) -> float:
            first, second = shares
            return log(first / (1 - first)) - log(second / (1 - second))

        here, ends = of_parts(apart, [part_of(m, x), part_of(n, y)])
        if ends is None:
            return list(interval)
        found = [end - here + value for end in ends]
        tested = [log(end) if end else -inf for end in interval]
        return [exp(end) for end in self.joined(found, tested, level, against)]

    def flips(self, level: str, against: str) -> Json | None:
        answers: dict[Any, dict[str, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
        scale = {row.itt.denominator for row in self.kept if row.itt is not None}
        for row in self.rows:
            answers[row.block][row.level].append(getattr(row, self.reading))
        if scale != {1} or any(len(v) > 1 for by in answers.values() for v in by.values()):
            return None
        units = {row.block: row.unit for row in self.kept}
        both = {b: v for b, v in answers.items() if level in v and against in v}
        moves = [by[level][0] - by[against][0] for by in both.values()]
        gained, lost = sum(m > 0 for m in moves), sum(m < 0 for m in moves)
        p = None
        if len({units[block] for block in both}) == len(both):
            n, k = gained + lost, max(gained, lost)
            p = min(1.0, 2 * sum(comb(n, j) for j in range(k, n + 1)) / 2**n)
        same = len(moves) - gained - lost
        return {"gained": gained, "lost": lost, "same": same, "churn": (gained + lost) / len(moves), "p": p}

    def trend(self, doses: Mapping[str, float], rising: bool) -> Json:
        width, sign = len(self.arms), 1 if rising else -1
        means = np.round(self.table[:, width:] / self.table[:, :width], 12)
        ranks = np.array([rankdata(sign * row) for row in means])
        dose = np.array(list(doses.values()))
        centre = (width + 1) / 2
        spread = ((ranks - centre) ** 2).sum() * ((dose - dose.mean()) ** 2).sum() / (width - 1)
        statistic = float((ranks @ dose).sum() - len(means) * dose.sum() * centre)
        pooled = [
            [float(self.table[:, width + at].sum()), float(self.table[:, at].sum()), 1] for at in range(width)
        ]
        at = 0
        while at + 1 < len(pooled):
            now, after = pooled[at], pooled[at + 1]
            if sign * (now[0] / now[1]) > sign * (after[0] / after[1]):
                pooled[at : at + 2] = [[now[0] + after[0], now[1] + after[1], now[2] + after[2]]]
                at = max(at - 1, 0)
            else:
                at += 1
        flat = [block[0] / block[1] for block in pooled for _ in range(int(block[2]))]
        return {
            "doses": list(doses.values()),
            "rates": {name: self.rate(name) for name in doses},
            "isotonic": dict(zip(doses, flat, strict=True)),
            "page_p": float(norm.sf(statistic / sqrt(spread))) if spread > 0 else 1.0,
            "jonckheere_terpstra_p": jonckheere([sign * column for column in means.T]),
        }


def gaffke(values: Any, lowest: float) -> float:
    """P(S <= 0), S the sum of the values and of one more that is the lowest, each times an exponential of its
    own."""
    return 0.0 if lowest >= 0 else min(1.0, max(0.0, below_zero(np.append(values, lowest))))


def jonckheere(groups: Sequence[Any]) -> float:
    """By pairs, with the variance for ties (Lehmann 1975)."""
    j = sum(
        float((after[:, None] > before[None, :]).sum() + 0.5 * (after[:, None] == before[None, :]).sum())
        for number, before in enumerate(groups)
        for after in groups[number + 1 :]
    )
    n = np.array([len(group) for group in groups], dtype=float)
    total = n.sum()
    d = np.unique(np.concatenate(groups), return_counts=True)[1].astype(float)

    def f(x: Any) -> Any:
        return (x * (x - 1) * (2 * x + 5)).sum()

    variance = (f(np.array([total])) - f(n) - f(d)) / 72
    variance += (
        (n * (n - 1) * (n - 2)).sum() * (d * (d - 1) * (d - 2)).sum()
        / (36 * total * (total - 1) * (total - 2))
    )  # fmt: skip
    variance += (n * (n - 1)).sum() * (d * (d - 1)).sum() / (8 * total * (total - 1))
    return float(norm.sf((j - (total**2 - (n**2).sum()) / 4) / sqrt(variance))) if variance > 0 else 1.0
