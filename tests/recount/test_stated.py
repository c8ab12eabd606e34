"""Statistics that a spec states and their limits are those of a program of its own."""

from typing import Any

import numpy as np
import pytest

from gridc.statistics import corpus, totals
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.unit_intervals import UnitEstimate
from gridc.statistics.widest_gap import widest_gap
from tests.recount import stated
from tests.recount.unit_limits import Found

SEEDS = range(4)


def same(found: UnitEstimate, expected: Found) -> None:
    value, ends = expected
    if found.value is None:
        assert np.isnan(value)
        return
    assert found.value == pytest.approx(value, abs=1e-6)
    assert (found.interval is None) == (ends is None)
    if ends is not None:
        assert found.interval == pytest.approx(ends, abs=2e-5)


def units(random: np.random.Generator, rows: int) -> Whole:
    """A unit of each row: with some seeds its own."""
    return np.arange(rows) if random.random() < 0.5 else random.integers(0, rows // 2, rows)


def columns(*parts: Any) -> list[Any]:
    """Rows of plain values, from columns."""
    return list(zip(*(np.asarray(each).tolist() for each in parts), strict=True))


def table(random: np.random.Generator, rows: int) -> tuple[Whole, Floats]:
    positive, counted = random.random(rows) < 0.2, np.full(rows, 3.0)
    says = np.where(positive, random.binomial(3, 0.9, rows), random.binomial(3, 0.1, rows)).astype(float)
    return units(random, rows), totals.two_classes(positive, says, counted)


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_two_classes(seed: int) -> None:
    random = np.random.default_rng(seed)
    unit, cells = table(random, 50)
    rows = columns(unit, *cells.T)
    same(totals.f1(unit, cells).estimate(), stated.f1(rows))
    same(totals.matthews(unit, cells).estimate(), stated.matthews(rows))
    same(totals.precision(unit, cells).estimate(), stated.precision(rows))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("levels", [2, 9])
def test_areas(seed: int, levels: int) -> None:
    random = np.random.default_rng(seed)
    unit, positive = units(random, 60), random.random(60) < 0.3
    values = np.round(random.random(60) * (levels - 1) * np.where(positive, 1.5, 1)) / levels
    same(
        totals.area_under_curve(unit, values, positive, ~positive).estimate(),
        stated.auroc(columns(unit, positive, values)),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_macro_means(seed: int) -> None:
    random = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], [9, 30, 60])
    unit = np.concatenate([np.arange(9), np.arange(30), np.arange(60)]) if seed % 2 else np.arange(99)
    points = (random.random(99) < np.array([0.95, 0.6, 0.8])[group]).astype(float)
    parts = [columns(unit[group == g], np.ones((group == g).sum()), points[group == g]) for g in range(3)]
    same(totals.macro_mean(unit, group, 3, np.ones(99), points).estimate(), stated.macro_mean(parts))


@pytest.mark.parametrize("seed", SEEDS)
def test_spreads(seed: int) -> None:
    random = np.random.default_rng(seed)
    item = np.repeat(np.arange(40), 1 + np.arange(40) % 4)
    values = random.binomial(4, random.beta(4, 1, 40)[item], len(item)) / 4
    unit = item // (1 + seed % 2)
    within, between = stated.spreads(columns(unit, item, values))
    same(totals.spread_within(unit, item, values), within)
    same(totals.spread_between(unit, item, values), between)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_attempts(seed: int, every: bool, k: int) -> None:
    random = np.random.default_rng(seed)
    item = np.repeat(np.arange(30), 4 + np.arange(30) % 3)
    right = (random.random(len(item)) < random.beta(1, 1, 30)[item]).astype(float)
    unit = item // (1 + seed % 2)
    same(totals.attempts(unit, item, right, k, every), stated.attempts(columns(unit, item, right), k, every))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("levels", [2, 4])
def test_gaps(seed: int, levels: int) -> None:
    random = np.random.default_rng(seed)
    unit = np.repeat(np.arange(30), 1 + np.arange(30) % (1 + seed % 2))
    rates = random.random(levels)
    points = [random.binomial(1, each, len(unit)).astype(float) for each in rates]
    here = [totals.share_of_rows(unit, np.ones(len(unit)), own) for own in points]

    def limits(a: int, b: int, level: float) -> tuple[float, float] | None:
        sides = (totals.share_of_rows(unit, np.ones(len(unit)), points[each], level) for each in (a, b))
        return next(sides).minus(next(sides), level).interval

    value, ends = widest_gap([each.estimate().value or 0.0 for each in here], limits)
    expected, limited = stated.gap([columns(unit, np.ones(len(unit)), own) for own in points])
    assert value == pytest.approx(expected) and ends is not None and limited is not None
    assert ends == pytest.approx(limited, abs=2e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_strengths(seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = np.array([(0, 1), (2, 0), (1, 2)])
    unit = np.repeat(np.arange(30), 3)
    one, other = np.tile(pairs, (30, 1)).T
    strong = np.array([0.4, 0.0, -0.4])
    won = random.binomial(2, 1 / (1 + np.exp(strong[other] - strong[one]))).astype(float)
    games = np.full(90, 2.0)
    expected = stated.strengths(columns(unit, one, other, games, won), 3)
    for found, own in zip(totals.player_strengths(unit, one, other, games, won, 3), expected, strict=True):
        same(found, own)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["chrf", "bleu"])
def test_texts(seed: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    words = np.array(["cat", "dog", "house", "river", "green", "walks", "seven"])
    references = [" ".join(random.choice(words, 5 + at % 9)) for at in range(50)]
    said = [
        " ".join(word if random.random() < 0.8 else "stone" for word in text.split()) for text in references
    ]
    unit = np.arange(50) // (1 + seed % 2)
    found = corpus.corpus_score(kind, unit, said, [[text] for text in references])
    same(found, stated.corpus(kind, columns(unit, said, references)))
