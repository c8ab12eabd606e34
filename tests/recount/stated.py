"""The statistics that a spec states, with their limits, computed again from docs/statistics.md.

Rows are tuples that begin with their unit. Areas are counted pair by pair, strengths found by a general
optimiser, and n-grams counted from the texts.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import exp, log, nan, sqrt
from statistics import mean, variance

import numpy as np
from scipy.optimize import minimize

from tests.recount.unit_limits import Found, Part, few, gaffke, of_parts, rate

NOTHING: Found = (nan, None)


def part(rows: Iterable[tuple[str, float, float]]) -> Part:
    units: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for unit, n, y in rows:
        units[unit][0] += n
        units[unit][1] += y
    return {unit: (n, y) for unit, (n, y) in units.items() if n > 0}


def share(rows: Sequence[tuple[str, float, float]]) -> Found:
    return of_parts(lambda shares: shares[0], [part(rows)])


Table = Sequence[tuple[str, float, float, float, float]]
"""Of each row its true positives, false positives, false negatives and true negatives."""


def f1(rows: Table) -> Found:
    both = part((unit, tp + fp + fn, tp) for unit, tp, fp, fn, _ in rows)
    return called(of_parts(lambda shares: 2 / (1 / shares[0] + 1) if shares[0] else 0.0, [both]), both)


def precision(rows: Table) -> Found:
    said = part((unit, tp + fp, tp) for unit, tp, fp, _, _ in rows)
    return called(of_parts(lambda shares: shares[0], [said]), said)


def called(found: Found, of: Part) -> Found:
    """Without limits of few units of several rows, because answers decide how many rows count."""
    sizes = np.array([n for n, _ in of.values()])
    return (found[0], None) if len(sizes) and few(sizes) and sizes.max() > 1 else found


def matthews(rows: Table) -> Found:
    positive = part((unit, tp + fn, tp) for unit, tp, _, fn, _ in rows)
    negative = part((unit, fp + tn, tn) for unit, _, fp, _, tn in rows)
    classes = part((unit, tp + fp + fn + tn, tp + fn) for unit, tp, fp, fn, tn in rows)

    def value(shares: Sequence[float]) -> float:
        found, cleared, base = shares
        tp, fn, tn, fp = base * found, base * (1 - found), (1 - base) * cleared, (1 - base) * (1 - cleared)
        below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        if below <= 0:
            return 0.0 if 0 < tp + fp < 1 else nan
        return (tp * tn - fp * fn) / sqrt(below)

    return of_parts(value, [positive, negative, classes])


def auroc(rows: Sequence[tuple[str, bool, float]]) -> Found:
    def placed(positive: bool, value: float) -> float:
        others = [other for _, kind, other in rows if kind is not positive]
        ahead = [(value > other if positive else value < other) + (value == other) / 2 for other in others]
        return sum(ahead) / len(ahead)

    if len({positive for _, positive, _ in rows}) < 2:
        return NOTHING
    parts = [
        part((unit, 1.0, placed(kind, value)) for unit, kind, value in rows if kind is positive)
        for positive in (True, False)
    ]
    area = rate(parts[0])
    value, ends = of_parts(lambda shares: sum(shares) - area, parts)
    return value, ends and (max(ends[0], 0.0), min(ends[1], 1.0))


def macro_mean(benchmarks: Sequence[Sequence[tuple[str, float, float]]]) -> Found:
    return of_parts(mean, [part(rows) for rows in benchmarks])


def spreads(rows: Sequence[tuple[str, str, float]]) -> tuple[Found, Found]:
    """Within items and between them, of the unit, the item and the value of each response."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for unit, item, value in rows:
        values[unit, item].append(value)
    several = {place: own for place, own in values.items() if len(own) > 1}
    if not several:
        return NOTHING, NOTHING
    # k values from 0 to 1 vary most where half of them are 0.
    most = max(
        variance([1.0] * (len(own) // 2) + [0.0] * (len(own) - len(own) // 2)) for own in several.values()
    )
    within = part((unit, 1.0, variance(own) / most) for (unit, _), own in several.items())
    of_within = of_parts(lambda shares: sqrt(shares[0] * most), [within])
    if len(several) < 2:
        return of_within, NOTHING
    n, centre = len(several), mean(mean(own) for own in several.values())
    low = -0.25 / (min(map(len, several.values())) - 1)
    high = max(centre, 1 - centre) ** 2 * n / (n - 1)
    added = [
        (unit, (mean(own) - centre) ** 2 * n / (n - 1) - variance(own) / len(own))
        for (unit, _), own in several.items()
    ]
    between = part((unit, 1.0, (each - low) / (high - low)) for unit, each in added)
    return of_within, of_parts(lambda shares: sqrt(max(low + shares[0] * (high - low), 0.0)), [between])


def attempts(rows: Sequence[tuple[str, str, float]], k: int, every: bool) -> Found:
    """Of k answers one is right, or every one: every draw of k of an item's answers counted alone."""
    answers: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for unit, item, value in rows:
        answers[unit, item].append(value == 1)
    if any(len(own) < k for own in answers.values()):
        return NOTHING
    passes = all if every else any
    shares = ((unit, mean(map(passes, combinations(own, k)))) for (unit, _), own in answers.items())
    return of_parts(lambda found: found[0], [part((unit, 1.0, share) for unit, share in shares)])


def consistency(rows: Sequence[tuple[str, str, str, object]], levels: int) -> Found:
    """The share of items with one outcome under every level: the unit, the item, the level and the outcome of
    each answer, None where none can be read. Items that lack a level are left out."""
    items: dict[tuple[str, str], list[tuple[str, object]]] = defaultdict(list)
    for unit, item, level, outcome in rows:
        items[unit, item].append((level, outcome))
    whole = {place: own for place, own in items.items() if len({level for level, _ in own}) == levels}
    return share(
        [
            (unit, 1.0, float(None not in (said := {outcome for _, outcome in own}) and len(said) == 1))
            for (unit, _), own in whole.items()
        ]
    )


def gap(levels: Sequence[Sequence[tuple[str, float, float]]]) -> Found:
    """Of shares of the same rows under several levels the largest less the smallest: rows of the unit, how
    many answers there are and their points. Two levels differ by what units change, which lies between losing
    and gaining all of their rows. Either end is missed by 2.5 % or less: the upper one is that of one pair,
    and the lower one that of any, in either direction."""
    parts = [part(rows) for rows in levels]
    pairs = list(combinations(parts, 2))

    def apart(one: Part, other: Part, error: float) -> tuple[float, float]:
        rows = np.array([n for n, _ in one.values()])
        assert rows.tolist() == [other[unit][0] for unit in one]
        moved = np.array([y - other[unit][1] for unit, (_, y) in one.items()])
        low, high = gaffke(rows, (rows + moved) / 2, error)
        return 2 * low - 1, 2 * high - 1

    shares = [rate(each) for each in parts]
    found = max(shares) - min(shares)
    high = max(max(-low, high) for low, high in (apart(*pair, 0.025) for pair in pairs))
    below = (apart(*pair, 0.025 / (2 * len(pairs))) for pair in pairs)
    low = max(max(low, -high) for low, high in below)
    return found, (min(max(low, 0.0), found), max(high, found))


def strengths(rows: Sequence[tuple[str, int, int, float, float]], players: int) -> list[Found]:
    """Of the unit, both players, how often they met and what the first one won; all of whom lost and won."""
    pairs = sorted({(min(one, other), max(one, other)) for _, one, other, *_ in rows})
    parts, met = [], []
    for pair in pairs:
        own = [
            (unit, games, won if (one, other) == pair else games - won)
            for unit, one, other, games, won in rows if {one, other} == set(pair)
        ]  # fmt: skip
        parts.append(part(own))
        met.append(sum(games for _, games, _ in own))

    def fitted(shares: Sequence[float]) -> np.ndarray:
        def surprise(free: np.ndarray) -> float:
            of = np.append(free, -free.sum())
            found = 0.0
            for (one, two), games, share in zip(pairs, met, shares, strict=True):
                ahead, behind = (log(1 + exp(way * (of[two] - of[one]))) for way in (1, -1))
                found += games * (share * ahead + (1 - share) * behind)
            return found

        free = minimize(surprise, np.zeros(players - 1), method="BFGS", options={"gtol": 1e-9}).x
        return np.append(free, -free.sum())

    def of(player: int) -> Callable[[Sequence[float]], float]:
        return lambda shares: float(fitted(shares)[player])

    found = [of_parts(of(player), parts) for player in range(players)]
    both = [
        sum(points > 0 for points in side)
        for own in parts
        for side in ([y for _, y in own.values()], [n - y for n, y in own.values()])
    ]
    return [(value, None) for value, _ in found] if min(both) < 5 else found


# chrF and BLEU of texts of words without punctuation, of one reference each.


def grams(of: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(of[at : at + size]) for at in range(len(of) - size + 1))


def counts(kind: str, text: str, reference: str) -> np.ndarray:
    """By size of n-gram how many the text has, its reference, and both."""
    said, wanted = (
        list(each.replace(" ", "")) if kind == "chrf" else each.split() for each in (text, reference)
    )
    found = []
    for size in range(1, 7 if kind == "chrf" else 5):
        one, other = grams(said, size), grams(wanted, size)
        found.append([one.total(), other.total(), (one & other).total()])
    return np.array(found, float)


def score(kind: str, table: np.ndarray) -> float:
    said, wanted, both = table.astype(np.int64).T.astype(float)
    if kind == "chrf":
        some = (said > 0) & (wanted > 0)
        precision = float((both[some] / said[some]).mean()) if some.any() else 0.0
        recall = float((both[some] / wanted[some]).mean()) if some.any() else 0.0
        return 5 * precision * recall / (4 * precision + recall) if precision + recall else 0.0
    if not both.any():
        return 0.0
    brevity = min(1.0, exp(1 - wanted[0] / said[0]))
    return brevity * exp(float(np.log(both / said).mean()))


def corpus(kind: str, rows: Sequence[tuple[str, str, str]]) -> Found:
    """Of the unit, the text and the reference of each row, in which every size of n-gram is found."""
    own: dict[str, np.ndarray] = {}
    equal: dict[str, np.ndarray] = {}
    for unit, text, reference in rows:
        own[unit] = own.get(unit, 0) + counts(kind, text, reference)
        equal[unit] = equal.get(unit, 0) + counts(kind, reference, reference)
    sizes = {unit: table[0, 1] for unit, table in own.items()}
    whole, n, total = np.sum(list(own.values()), axis=0), len(own), sum(sizes.values())
    here = score(kind, whole)
    if total**2 / sum(size**2 for size in sizes.values()) < 20:
        return here, None
    best = np.round(sum(sizes[unit] * table for unit, table in equal.items()) / total)
    worst, silent = best * [1, 1, 0], best * [0, 1, 0]
    left = [score(kind, whole - table) for table in own.values()]
    moved = [(n - 1) * (mean(left) - each) for each in left]
    unseen = [(n + 1) * (score(kind, whole + table) - here) for table in (worst, silent, best)]
    low, high = min(*moved, *unseen), max(*moved, *unseen)
    below, above = gaffke(np.ones(n), (np.array(moved) - low) / (high - low))
    ends = here + low + below * (high - low), here + low + above * (high - low)
    return here, (max(ends[0], 0.0), min(ends[1], 1.0))
