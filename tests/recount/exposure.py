"""What leaked into the parts of divided tasks and which options they lost, counted again from the store.

Of the replies of `studies.steps` alone: what a persona's sentence gives away is written down here by hand.
Plain json, scipy and statsmodels; nothing of gridc is imported.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import statsmodels.api as sm
from scipy.stats import binomtest

from tests.recount.steps import POOLED, Sample
from tests.recount.unit_limits import Interval, by_unit, change, gap, limits, product, share, slope

GIVES = {
    "I am a 40-year-old conservative teacher.": (1, 2, 0),  # leaning; age and profession
    "My name is Ada Bell.": (0, 0, 1),
    "I work as a nurse.": (0, 1, 0),
    "I care about family and freedom.": (1, 0, 0),
    "I am a liberal engineer.": (1, 1, 0),
}
"""Adversarial, contextual and identifying features of each."""
Value = tuple[float, Interval]


@dataclass(frozen=True)
class Divided:
    """An item of one model whose task was divided. `plain` is its score without the scaffold."""

    model: str
    item: str
    unit: str
    score: float
    plain: float
    classes: tuple[int, int, int]
    leaking: float
    kept: float


def divided(found: Sequence[Sample], benchmark: str, scaffold: str) -> dict[tuple[str, str], Divided]:
    """Every item under one scaffold, by model and item."""
    plain = {
        (s.model, s.item): s.answer.points for s in found if (s.benchmark, s.scaffold) == (benchmark, "plain")
    }
    rows = {}
    for sample in found:
        if (sample.benchmark, sample.scaffold) != (benchmark, scaffold):
            continue
        steps = {reply.step: reply for reply in sample.replies}
        try:
            parts = json.loads(steps["decompose"].text)
        except ValueError:
            parts = [steps["decompose"].text]
        sent = [reply.sent for step, reply in steps.items() if step.startswith("map_chunk")]
        here = [[GIVES[persona] for persona in GIVES if persona in part] for part in parts[: len(sent)]]
        gives = {given for each in here for given in each}
        lines = [f"{letter}. {option}" for letter, option in zip("ABC", sample.options, strict=False)]
        rows[sample.model, sample.item] = Divided(
            sample.model,
            sample.item,
            sample.unit,
            sample.answer.points,
            plain[sample.model, sample.item],
            next(iter(gives)) if gives else (0, 0, 0),
            sum(any(given[0] for given in each) for each in here) / len(here),
            sum(all(line in text.splitlines() for line in lines) for text in sent) / len(sent),
        )
    return rows


def leakage(rows: Sequence[Divided]) -> Iterator[tuple[str, int, int, list[Value], Value]]:
    """Of all models and each: items, how many leaked; the scores without, clean and leaked; the gap."""
    for model in (POOLED, *dict.fromkeys(row.model for row in rows)):
        own = [row for row in rows if model in (POOLED, row.model)]
        clean = [(row.unit, (1.0, row.score)) for row in own if not row.classes[0]]
        leaked = [(row.unit, (1.0, row.score)) for row in own if row.classes[0]]
        values = [share([(row.unit, (1.0, row.plain)) for row in own]), share(clean), share(leaked)]
        yield model, len(own), len(leaked), values, gap(clean, leaked)


def doses(rows: Sequence[Divided]) -> list[tuple[int, Value]]:
    """Items with none, one and more leaked features; with no part, up to half and more leaking."""
    groups = [
        *([row for row in rows if min(row.classes[0], 2) == count] for count in range(3)),
        [row for row in rows if row.leaking == 0],
        [row for row in rows if 0 < row.leaking <= 0.5],
        [row for row in rows if row.leaking > 0.5],
    ]
    return [(len(group), share([(row.unit, (1.0, row.score)) for row in group])) for group in groups]


def odds(rows: Sequence[Divided]) -> list[float]:
    """Odds ratios of a bad answer: of the three classes together, and of the share of leaking parts."""
    models = list(dict.fromkeys(row.model for row in rows))
    dummies = np.array([[row.model == model for model in models] for row in rows], dtype=float)
    bad = np.array([1 - row.score for row in rows])
    ratios: list[float] = []
    for exposures in ([row.classes for row in rows], [[row.leaking] for row in rows]):
        columns = np.hstack([np.array(exposures, dtype=float), dummies])
        fit = sm.Logit(bad, columns).fit(disp=0)
        ratios += np.exp(fit.params[: -len(models)]).tolist()
    return ratios


def flips(rows: Sequence[Divided]) -> Iterator[tuple[tuple[Any, ...], float | None, Value]]:
    """Without and with a leaked feature: items, less and more than plain; McNemar's p, where no unit
    has several answers; the mean change."""
    for exposed in (False, True):
        own = [row for row in rows if bool(row.classes[0]) == exposed]
        less = sum(row.score < row.plain for row in own)
        more = sum(row.score > row.plain for row in own)
        alone = len({row.unit for row in own}) == len(own)
        p = (float(binomtest(less, less + more).pvalue) if less + more else 1.0) if alone else None
        yield (
            (exposed, len(own), less, more),
            p,
            change([(r.unit, (1.0, r.score - r.plain)) for r in own]),
        )


def mediation(
    own: dict[tuple[str, str], Divided], beside: dict[tuple[str, str], Divided] | None
) -> tuple[int, float, float, Value, Value, Value]:
    """How many items; the mean effect and the share lost; by least squares the slope, what goes through and
    the rest, with their limits."""
    keys = [key for key in own if beside is None or key in beside]
    rows = [own[key] for key in keys]
    change = np.array([row.score - row.plain for row in rows], np.float64)
    lost = np.array([1 - row.kept for row in rows])
    units = [row.unit for row in rows]
    nothing: Value = nan, None
    if beside is None:
        of = np.array([row.model for row in rows])
        away, usual = lost.copy(), change.copy()
        for model in set(of):
            away[of == model] -= lost[of == model].mean()
            usual[of == model] = change[of == model].mean()
        if abs(away).max() < 1e-9:
            return len(keys), float(change.mean()), float(lost.mean()), nothing, nothing, nothing
        moved, reach, middle = away * (change - usual), abs(away), -away * usual
    else:
        away = np.array([beside[key].kept - own[key].kept for key in keys])
        usual = np.array([beside[key].score - own[key].plain for key in keys])
        moved, reach, middle = away * (change - usual), abs(away), 0 * away

    def summed(*columns: np.ndarray) -> list[np.ndarray]:
        table = [(unit, (1.0, *parts)) for unit, *parts in zip(units, *columns, strict=True)]
        return list(by_unit(table).T[1:])

    by = slope(*summed(moved, away**2, middle - reach, middle + reach))
    part = float(lost.mean())
    count, gone = summed(0 * lost + 1, lost)
    through = product(by, (part, limits(count, gone)))
    weight = lost.sum() / (away**2).sum()
    # Each row as a change of its own and, where a second arm has the slope, of the one of that arm.
    held = -by[0] * (lost - weight * away**2)
    free = abs(1 - weight * away) + (weight * abs(away) if beside is not None else 0)
    fixed = weight * away * usual if beside is None else 0 * away
    added = (1 - weight * away) * change + weight * away * usual + held
    rest = slope(*summed(added, 0 * lost + 1, held + fixed - free, held + fixed + free))
    return len(keys), float(change.mean()), part, by, (by[0] * part, through), rest
