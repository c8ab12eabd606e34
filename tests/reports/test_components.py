"""Variance shares and generalizability as findings: the scaffold study's, with the declared convention."""

from typing import Any

import numpy as np
import pytest

from gridc.reports.findings.components import GeneralizabilityFinding, factorial, generalize
from tests.reports.published_study import ARMS, DATA, MODELS, SIZES, published_samples, published_spec

FIGURES = {figure["id"]: figure["value"] for figure in DATA["figures"]}


def generalized(**facets: str) -> GeneralizabilityFinding:
    found = generalize(published_samples(published_spec(analysis={"generalizability": facets})))
    assert isinstance(found, GeneralizabilityFinding)
    return found


def test_the_declared_convention_decides_the_coefficient() -> None:
    """The study's text names both facets fixed; its printed 0 is the coefficient with both random."""
    fixed = generalized(scaffold="fixed", benchmark="fixed")
    random = generalized(scaffold="random", benchmark="random")
    assert fixed.coefficient == pytest.approx(0.907, abs=5e-4)
    assert random.coefficient == pytest.approx(FIGURES["G"], abs=1e-12)
    assert generalized(scaffold="random", benchmark="fixed").coefficient == pytest.approx(0.875, abs=5e-4)
    assert fixed.convention == "scaffold fixed, benchmark fixed"
    assert dict(fixed.by_convention) == dict(random.by_convention)
    assert dict(fixed.by_convention)["scaffold", "benchmark"] == fixed.coefficient
    assert fixed.components.models == pytest.approx(FIGURES["G_components"][0], abs=1e-9)
    assert fixed.components.models < 0, "a negative component is shown as it is"
    assert len(fixed.future) == 1
    assert {(i, j) for i, j, _ in random.future} >= {(4, 4), (16, 16)}
    assert next(value for i, j, value in random.future if (i, j) == (4, 4)) == random.coefficient


def test_the_interval_is_of_resampled_models() -> None:
    found = generalized(scaffold="fixed", benchmark="fixed")
    table = np.zeros((len(MODELS), len(ARMS), len(SIZES)))
    for model, arm, benchmark, n, safe, _ in DATA["cells"]:
        at = MODELS.index(model), ARMS.index(arm), list(SIZES).index(benchmark)
        table[at] = safe / n
    random, values = np.random.default_rng(found.seed), []
    for _ in range(found.resamples):
        rows = table[random.integers(0, len(MODELS), len(MODELS))]
        mean = rows.mean(axis=(1, 2))
        between = mean.var(ddof=1)
        rest = rows - rows.mean(axis=0)
        crossed = rest - rest.mean(axis=2, keepdims=True) - rest.mean(axis=1, keepdims=True)
        crossed += rest.mean(axis=(1, 2), keepdims=True)
        error = (crossed**2).sum() / (5 * 3 * 3) / 16
        values.append(max(between - error, 0) / (max(between - error, 0) + error))
    assert found.interval == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=1e-9)
    assert found.at_zero == pytest.approx(np.mean(np.array(values) == 0))


@pytest.mark.parametrize(
    ("facets", "words"),
    [
        ({"scaffold": "fixed"}, "1 facets are declared"),
        ({}, None),
    ],
)
def test_what_is_no_study_over_two_facets_is_said(facets: dict[str, str], words: str | None) -> None:
    found = generalize(published_samples(published_spec(analysis={"generalizability": facets})))
    assert found is None if words is None else words in str(found)


def test_the_shares_are_those_of_single_outcomes() -> None:
    """Against the sum of squares between groups: the grid is crossed and all cells of a benchmark have as
    many outcomes, so that the main effects are orthogonal."""
    found = factorial(published_samples(published_spec()))
    assert found is not None
    shares = {each.term: each for each in found.shares.terms}
    assert set(shares) == {
        ("model",), ("benchmark",), ("scaffold",), ("model", "benchmark"), ("model", "scaffold"),
        ("benchmark", "scaffold"),
    }  # fmt: skip
    assert found.shares.n == sum(cell[3] for cell in DATA["cells"]) == 62808
    cells: list[Any] = DATA["cells"]
    grand = sum(cell[4] for cell in cells) / 62808
    total = 62808 * grand * (1 - grand)
    for place, term in ((0, "model"), (1, "scaffold"), (2, "benchmark")):
        between = 0.0
        for name in {cell[place] for cell in cells}:
            size = sum(cell[3] for cell in cells if cell[place] == name)
            mean = sum(cell[4] for cell in cells if cell[place] == name) / size
            between += size * (mean - grand) ** 2
        assert shares[term,].eta2 == pytest.approx(between / total, rel=1e-9)
