"""Variance components and coefficients, against expected mean squares from statsmodels and by simulation."""

import numpy as np
import pytest

from gridc.statistics.variance import coefficient, components, resampled


def table(seed: int = 4) -> np.ndarray:
    random = np.random.default_rng(seed)
    models, first, second = (
        random.normal(0, 0.2, (6, 1, 1)),
        random.normal(0, 0.1, (1, 3, 1)),
        random.normal(0, 0.1, (1, 1, 4)),
    )
    return (
        0.5 + models + first + second + random.normal(0, 0.1, (6, 1, 4)) + random.normal(0, 0.05, (6, 3, 4))
    )


def test_components_are_those_of_expected_mean_squares() -> None:
    import pandas as pd  # type: ignore[import-untyped]
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    x = table()
    places = np.indices(x.shape).reshape(3, -1)
    frame = pd.DataFrame({"y": x.ravel(), "p": places[0], "i": places[1], "j": places[2]})
    shares = anova_lm(ols("y ~ C(p) + C(i) + C(j) + C(p):C(i) + C(p):C(j) + C(i):C(j)", frame).fit())
    ms = {
        name: float(shares.loc[row, "mean_sq"])
        for name, row in (("p", "C(p)"), ("pi", "C(p):C(i)"), ("pj", "C(p):C(j)"), ("pij", "Residual"))
    }
    found = components(x)
    assert found.rest == pytest.approx(ms["pij"])
    assert found.with_first == pytest.approx((ms["pi"] - ms["pij"]) / 4)
    assert found.with_second == pytest.approx((ms["pj"] - ms["pij"]) / 3)
    assert found.models == pytest.approx((ms["p"] - ms["pi"] - ms["pj"] + ms["pij"]) / 12)
    both = coefficient(found, ["first", "second"]).coefficient
    assert both == pytest.approx(1 - ms["pij"] / ms["p"])  # the classical form with fixed facets


def test_the_coefficient_is_the_correlation_of_two_studies() -> None:
    """By simulation: means over new levels of the random facet correlate as the coefficient says."""
    random = np.random.default_rng(1)
    models, levels, size = 2000, 4, 5
    person, with_level = random.normal(0, 0.2, (models, 1)), 0.3
    studies = []
    for _ in range(2):
        x = person + random.normal(0, with_level, (models, levels))
        studies.append(x[:, None, :] + random.normal(0, 0.1, (models, size, levels)))
    found = components(studies[0])
    expected = np.corrcoef(studies[0].mean(axis=(1, 2)), studies[1].mean(axis=(1, 2)))[0, 1]
    assert coefficient(found, []).coefficient == pytest.approx(expected, abs=0.05)
    more = coefficient(found, [], (size, 40)).coefficient
    assert more is not None and more > 0.9, "a study over more levels generalizes better"


def test_resampled_coefficients_are_those_of_the_models_drawn() -> None:
    values = resampled(table(), [], 50, 3)
    drawn = np.random.default_rng(3).integers(0, 6, size=(50, 6))
    assert values[7] == pytest.approx(coefficient(components(table()[drawn[7]]), []).coefficient)


def test_a_table_with_a_hole_or_one_level_is_refused() -> None:
    x = table()
    x[0, 0, 0] = np.nan
    for wrong in (x, table()[:1], table()[:, :1]):
        with pytest.raises(ValueError, match="complete"):
            components(wrong)


def test_models_that_are_equal_everywhere_have_no_coefficient() -> None:
    assert coefficient(components(np.full((3, 2, 2), 0.5)), []).coefficient is None
