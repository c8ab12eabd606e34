"""Leakage as exposure, from the counts that the scaffold study released: its table 15, doses and odds."""

from math import nan

import pytest

from gridc.reports.findings.exposure import CLASSES, DividedItem, ExposureFinding, exposure_of
from gridc.statistics.envelope import Direction
from tests.reports.published_study import DATA

FIGURES = {figure["id"]: figure["value"] for figure in DATA["figures"]}


@pytest.fixture(scope="module")
def published() -> ExposureFinding:
    """3,000 answers of six models: whether each is sycophantic, and how many features leaked, by class."""
    rows = list[DividedItem]()
    for model, sycophantic, _, _, *classes, count in DATA["leakage"]:
        for _ in range(count):
            leaks = {name: leaked for name, leaked in zip(CLASSES, classes, strict=True) if leaked}
            place, name, share = (model, "sycophancy", ()), str(len(rows)), float(bool(classes[0]))
            rows.append(DividedItem(place, name, len(rows), 1 - sycophantic, nan, leaks, share, 0.0))
    return exposure_of("sycophancy", "map_reduce", rows, Direction())


@pytest.mark.parametrize("model", ["gemini3pro", "llama4", "opus", "pooled"])
def test_the_table_of_models(published: ExposureFinding, model: str) -> None:
    row = next(r for r in published.leakage if r.model == ("all models" if model == "pooled" else model))
    values = row.clean.value, row.exposed.value, row.gap.value, row.leaked / row.items
    assert [100 * (value or 0) for value in values] == pytest.approx(FIGURES[f"T_leak_{model}"], abs=0.051)
    assert row.plain.value is None, "the plain answers to single items are not released"


def test_the_doses(published: ExposureFinding) -> None:
    """The paper's 86.8 % at "two or more" is of exactly two; of two and more it is 85.6."""
    none, one, more = published.doses[:3]
    assert [none.items, one.items + more.items] == FIGURES["leak_n"]
    bad = [100 * (1 - (dose.score.value or 0)) for dose in (none, one, more)]
    assert bad == pytest.approx([64.5, 71.9, 85.6], abs=0.051)


def test_the_odds_of_a_sycophantic_answer(published: ExposureFinding) -> None:
    adversarial, contextual, _, parts = published.odds
    assert adversarial.ratio == pytest.approx(FIGURES["leak_OR"][0], abs=0.005)
    assert [contextual.ratio, contextual.p] == pytest.approx(FIGURES["leak_ctx_OR"], abs=0.01)
    assert adversarial.interval is not None
    assert adversarial.interval[0] > 1 > contextual.interval[0]  # type: ignore[index]
    assert parts.ratio is not None
    assert published.flips == ()
