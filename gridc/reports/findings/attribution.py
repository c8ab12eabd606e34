"""Which axis moves the scores, and which the order: TreeSHAP of a boosted surrogate (SafetyRepro, app. S).

An explanation of a surrogate that was fitted to the whole grid, and nothing more: it tests nothing,
predicts nothing, and its sizes are not shares of variance. Optional; it needs lightgbm, whose own
TreeSHAP is used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import CellScore, by_benchmark
from gridc.schema.spec import Spec

LABEL = "explanation of a fitted surrogate, not a test and not a share of variance"

ROUNDS = 300

_TREES: dict[str, Any] = {
    "learning_rate": 0.05,
    "max_depth": 5,
    "min_data_in_leaf": 1,  # the default of 20 allows no split at all on a pair's 48 rows
    "min_data_per_group": 1,
    "cat_smooth": 0.0,
    "cat_l2": 0.0,
    "seed": 42,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


@dataclass(frozen=True, slots=True)
class Attribution:
    """Mean absolute SHAP value of each axis (and of `model`, where its scores are explained).

    `subject` is `score` or, in `log-odds`, the verdict `a scores higher than b`. `fit` is R^2 of the scores,
    or the share of configurations whose verdict the surrogate gives: how much of what it explains it has
    caught, on the `rows` that it was fitted to.
    """

    benchmark: str
    subject: str
    unit: str
    rows: int
    fit: float
    axes: Mapping[str, float]


def explain(benchmark: str, models: Sequence[str], cells: Sequence[CellScore]) -> Iterator[Attribution]:
    """What moves the scores of a benchmark's shared cells, and the verdict on every pair of models, as far as
    they are measured. What is the same everywhere has nothing to explain. Raises `UnavailableError` (GC604)
    where lightgbm is not installed."""
    scored = {
        (score.cell.configuration, score.cell.model): score
        for score in cells
        if score.cell.shared and score.score is not None
    }
    places = [{"model": score.cell.model, **score.cell.levels} for score in scored.values()]
    scores = [score.score for score in scored.values() if score.score is not None]
    if len(set(scores)) > 1:
        yield of_scores(benchmark, places, scores)
    for a, b in combinations(models, 2):
        both = [
            (one.cell.levels, one.score > other.score)
            for (configuration, model), one in scored.items()
            if model == a
            and (other := scored.get((configuration, b))) is not None
            and one.score is not None
            and other.score is not None
        ]
        if len({higher for _, higher in both}) > 1:
            yield of_order(benchmark, a, b, [place for place, _ in both], [higher for _, higher in both])


def of_scores(benchmark: str, places: Sequence[Mapping[str, str]], scores: Sequence[Fraction]) -> Attribution:
    """What moves the score, over cells at these places (model and axes), whose scores differ."""
    target = np.array([float(score) for score in scores])
    axes, codes = _codes(places)
    booster = _fit("regression", codes, target)
    rest = target - booster.predict(codes)
    fit = 1 - float(rest @ rest) / float(((target - target.mean()) ** 2).sum())
    return Attribution(benchmark, "score", "score", len(target), fit, _mean_shap(booster, codes, axes))


def of_order(
    benchmark: str, a: str, b: str, places: Sequence[Mapping[str, str]], higher: Sequence[bool]
) -> Attribution:
    """What moves the verdict "a scores higher than b", over configurations, in log-odds; it differs."""
    axes, codes = _codes(places)
    target = np.array(higher, dtype=np.float64)
    booster = _fit("binary", codes, target)
    fit = float(((booster.predict(codes) > 0.5) == (target > 0.5)).mean())
    subject = f"{a} scores higher than {b}"
    return Attribution(benchmark, subject, "log-odds", len(target), fit, _mean_shap(booster, codes, axes))


def _fit(objective: str, codes: Any, target: Any) -> Any:
    lightgbm = _lightgbm()
    data = lightgbm.Dataset(codes, target, categorical_feature=list(range(codes.shape[1])))
    return lightgbm.train({**_TREES, "objective": objective}, data, num_boost_round=ROUNDS)


def _codes(places: Sequence[Mapping[str, str]]) -> tuple[list[str], Any]:
    """Level numbers, shape (rows, axes), for the axes that vary."""
    axes = [axis for axis in places[0] if len({place[axis] for place in places}) > 1]
    columns = []
    for axis in axes:
        names = list(dict.fromkeys(place[axis] for place in places))
        columns.append([names.index(place[axis]) for place in places])
    return axes, np.array(columns, dtype=np.int32).T


def _mean_shap(booster: Any, codes: Any, axes: Sequence[str]) -> dict[str, float]:
    contributions = booster.predict(codes, pred_contrib=True)[:, :-1]
    return dict(zip(axes, np.abs(contributions).mean(axis=0).tolist(), strict=True))


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        message = "axis attribution needs lightgbm, which is not installed"
        help_line = "pip install 'gridc[explain]'"
        raise UnavailableError([Diagnostic("GC604", message, help=help_line)]) from None
    return lightgbm


def attributions(spec: Spec, cells: Mapping[str, Sequence[CellScore]]) -> tuple[Attribution, ...]:
    """What moves scores and order on every benchmark, whose cells are given by its name."""
    models = [model.id for model in spec.model]
    return tuple(row for name, scores in cells.items() for row in explain(name, models, scores))


def _attribution(record: RunRecord) -> tuple[Attribution, ...]:
    spec = record.plan.study.spec
    return attributions(spec, by_benchmark(spec, record.scores))


ATTRIBUTION: Finding[tuple[Attribution, ...]] = Finding("attribution", _attribution, (), on_request=True)
"""Needs lightgbm."""
