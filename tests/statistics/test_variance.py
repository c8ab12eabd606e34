"""Variance shares, against statsmodels on balanced and unbalanced grids and against the definitions."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest

from gridc.statistics.variance import Decomposition, decompose, paper_terms, resampled_shares

FACTORS: dict[str, list[str]] = {
    "model": ["a", "b", "c"],
    "template": ["T1", "T2", "T3", "T4"],
    "decoding": ["g", "m", "d"],
    "few_shot": ["0", "3", "5"],
}
FORMULA = (
    "score ~ C(model, Sum) + C(template, Sum) + C(decoding, Sum) + C(few_shot, Sum)"
    " + C(model, Sum):C(template, Sum) + C(model, Sum):C(decoding, Sum) + C(model, Sum):C(few_shot, Sum)"
    " + C(template, Sum):C(decoding, Sum) + C(template, Sum):C(few_shot, Sum)"
)


def grid(missing: int = 0) -> tuple[list[float], dict[str, list[str]]]:
    """Scores of the paper's free-form slice, with some cells left out."""
    random = np.random.default_rng(5)
    rows = list(product(*FACTORS.values()))
    scores = [0.3 * (row[0] == "a") + 0.1 * (row[1] == "T4") * (row[2] == "d") for row in rows]
    values = np.array(scores) + random.normal(0, 0.05, len(rows))
    kept = sorted(random.permutation(len(rows))[missing:].tolist())
    columns = {name: [rows[at][place] for at in kept] for place, name in enumerate(FACTORS)}
    return values[kept].tolist(), columns


def oracle(scores: list[float], factors: Mapping[str, list[str]], kind: int) -> dict[str, float]:
    pandas = pytest.importorskip("pandas")
    smf = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    fit = smf.ols(FORMULA, pandas.DataFrame({"score": scores, **factors})).fit()
    table = anova.anova_lm(fit, typ=kind)["sum_sq"]
    return {name.replace(", Sum", ""): value for name, value in table.items()}


def squares(found: Decomposition) -> dict[str, float]:
    names = {":".join(f"C({each})" for each in term.term): term.sum_of_squares for term in found.terms}
    return names | {"Residual": found.residual}


@pytest.mark.parametrize("missing", [0, 9])
@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_sums_of_squares_are_those_of_statsmodels(missing: int, kind: int) -> None:
    scores, factors = grid(missing)
    found = decompose(scores, factors, "II" if kind == 2 else "III")
    assert found is not None
    expected = oracle(scores, factors, kind)
    for name, value in squares(found).items():
        assert value == pytest.approx(expected[name], rel=1e-9, abs=1e-12)


def test_on_a_balanced_grid_the_types_are_one_and_the_shares_sum_to_one() -> None:
    scores, factors = grid()
    second, third = decompose(scores, factors, "II"), decompose(scores, factors, "III")
    assert second is not None
    assert third is not None
    assert second.balanced
    for one, other in zip(second.terms, third.terms, strict=True):
        assert one.eta2 == pytest.approx(other.eta2, abs=1e-12)
    assert second.model + second.implementation + second.interaction + second.unexplained == pytest.approx(1)
    assert [term.df for term in second.terms] == [2, 3, 2, 2, 6, 4, 4, 6, 6]
    assert second.residual_df == 108 - 1 - 35


def test_on_an_unbalanced_grid_the_types_part_and_type_ii_shares_need_not_sum_to_one() -> None:
    scores, factors = grid(missing=20)
    second, third = decompose(scores, factors, "II"), decompose(scores, factors, "III")
    assert second is not None
    assert third is not None
    assert not second.balanced
    assert second.implementation != pytest.approx(third.implementation, rel=1e-3)
    total = second.model + second.implementation + second.interaction + second.unexplained
    assert abs(total - 1) > 1e-4


def test_a_main_effect_alone_is_all_of_the_variance() -> None:
    _, factors = grid()
    found = decompose([0.5 + 0.1 * (model == "a") for model in factors["model"]], factors)
    assert found is not None
    assert found.model == pytest.approx(1)
    assert found.implementation == pytest.approx(0, abs=1e-12)
    assert found.rho == pytest.approx(0, abs=1e-12)


def test_omega_is_clipped_at_zero_and_below_eta() -> None:
    scores, factors = grid()
    found = decompose(scores, factors)
    assert found is not None
    mean_square = found.residual / found.residual_df
    for term in found.terms:
        expected = (term.sum_of_squares - term.df * mean_square) / (found.total + mean_square)
        assert term.omega2 == pytest.approx(max(expected, 0))
    assert any(term.omega2 == 0 for term in found.terms)


@pytest.mark.parametrize(
    ("scores", "factors"),
    [
        ([0.5] * 4, {"model": ["a", "a", "b", "b"], "x": ["1", "2", "1", "2"]}),
        ([0.1, 0.2], {"model": ["a", "a"], "x": ["1", "2"]}),
        ([0.1, 0.2, 0.3], {"model": ["a", "b", "b"], "x": ["1", "2", "1"]}),
    ],
    ids=["constant", "one level", "rank deficient"],
)
def test_what_cannot_be_estimated_is_none(scores: list[float], factors: dict[str, list[str]]) -> None:
    assert decompose(scores, factors) is None


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="one level for each score"):
        decompose([0.1, 0.2], {"model": ["a"]})


def test_the_terms_are_those_of_the_paper() -> None:
    assert [":".join(term) for term in paper_terms(["template", "decoding", "few_shot"])] == [
        "model", "template", "decoding", "few_shot", "model:template", "model:decoding", "model:few_shot",
        "template:decoding", "template:few_shot",
    ]  # fmt: skip


def test_a_model_that_moves_nothing_but_for_rounding_has_no_rho() -> None:
    scores = [0.3, 0.75, 0.3, 0.6875, 0.3, 0.3, 0.6875, 0.75]
    factors = {"model": list("aaaabbbb"), "template": list("1122") * 2, "decoding": list("gmgm") * 2}
    found = decompose(scores, factors)
    assert found is not None
    assert 0 <= found.model < 1e-12, "what rounding leaves, which the processor decides"
    assert found.rho is None


@pytest.mark.filterwarnings("ignore")
def test_shares_of_resampled_configurations_are_those_of_statsmodels_on_the_rows_drawn() -> None:
    """Where every combination was drawn; each configuration comes with the scores of all three models."""
    scores, factors = grid()
    levels = {name: column[:36] for name, column in factors.items() if name != "model"}
    chosen = np.random.default_rng(42).integers(0, 36, size=(60, 36))
    model, axes = resampled_shares(np.array(scores).reshape(3, 36), levels, chosen)
    compared = 0
    for row, own, others in zip(chosen, model, axes, strict=True):
        places = np.concatenate([36 * number + row for number in range(3)])
        drawn = [scores[place] for place in places]
        columns = {name: [column[place] for place in places] for name, column in factors.items()}
        if decompose(drawn, columns) is None:
            continue
        compared += 1
        squares = oracle(drawn, columns, 2)
        total = float(((np.array(drawn) - np.mean(drawn)) ** 2).sum())
        mains = (squares[f"C({name})"] for name in ("template", "decoding", "few_shot"))
        assert own == pytest.approx(squares["C(model)"] / total, rel=1e-8)
        assert others == pytest.approx(sum(mains) / total, rel=1e-8)
    assert compared >= 10


def test_resampled_shares_exist_where_a_combination_was_not_drawn_and_not_where_scores_are_one() -> None:
    levels = {"frame": ["a", "a", "b", "b"]}
    scores = np.array([[0.0, 0.2, 0.5, 0.5], [0.1, 0.3, 0.6, 0.6]])
    model, axes = resampled_shares(scores, levels, np.array([[0, 1, 2, 3], [0, 1, 0, 1], [2, 2, 2, 2]]))
    assert not np.isnan(model).any() and axes[1] == axes[2] == 0 and model[2] == pytest.approx(1)
    same, none = resampled_shares(np.full((2, 4), 0.5), levels, np.array([[0, 1, 2, 3]]))
    assert np.isnan(same).all() and np.isnan(none).all()
