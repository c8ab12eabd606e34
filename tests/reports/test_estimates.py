"""Every estimate that a scorecard prints stands in the document of estimates, with the digest of its rows."""

from collections.abc import Iterator
from math import exp, isfinite
from typing import Any

import numpy as np
import pytest

from gridc.compiler.grid.cell import Cell
from gridc.reports.estimates import estimate_document
from gridc.reports.scorecard.document import make_scorecard
from tests.reports.builders import findings_of, spec_of

FRAMES = {"axis": "frame", "reference": "plain", "level": "exam"}
AXES = {
    "frame": [{"id": name, "prompt": f"{name} {{{{ question }}}}"} for name in ("plain", "exam", "calm")],
    "reading": [{"id": "text", "method": "extract"}],
}
HYPOTHESES = [
    {"id": "D", "kind": "difference", "margin": {"pp": 20, "sensitivity_pp": [5]}, **FRAMES},
    {"id": "R", "kind": "difference", **FRAMES, "reference": "exam", "level": "calm", "control": "plain"},
    {"id": "E", "kind": "equivalence", "margin": {"pp": 10}, **FRAMES},
    {"id": "I", "kind": "interaction", "axis": "frame", "by": "model"},
    {"id": "T", "kind": "trend", "axis": "frame", "order": ["plain", "calm", "exam"],
     "direction": "decreasing"},
]  # fmt: skip

NOT_ESTIMATES = {
    "pp", "df", "doses", "gained", "lost", "same", "alpha", "level", "trials", "points", "samples", "units",
    "readable", "left_out", "members", "cells", "stated", "run", "fitted", "cases", "models",
    "configurations", "counts", "displayed", "lower_is_better", "targets", "complete", "holds", "observed",
    "methodology", "threats", "checklist", "claims", "resolved", "ranking", "final", "still",
}  # fmt: skip
"""Counts, choices and what is read from the store: the keys of a scorecard that estimate nothing."""


def correct(cell: Cell) -> int:
    """Different everywhere, so that no number is found by chance."""
    frame = {"plain": 15, "calm": 12, "exam": 7}[cell.levels["frame"]]
    return frame + (cell.model == "bee") - 2 * (cell.model == "bee") * (cell.levels["frame"] == "exam")


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in NOT_ESTIMATES:
                yield from numbers(inner, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from numbers(inner, f"{path}.{place}")
    elif isinstance(value, float) and not isinstance(value, bool) and isfinite(value):
        yield path, value


@pytest.fixture(scope="module")
def printed() -> tuple[Any, Any]:
    spec = spec_of(
        {"ant": None, "bee": None}, axes=AXES, hypothesis=HYPOTHESES,
        analysis={"estimator": "cluster_logit", "nnh": {"rounding": "ceil"}},
    )  # fmt: skip
    findings = findings_of(spec, correct, parsed=18)
    return make_scorecard(findings).model_dump(mode="json"), estimate_document(findings)


def missing(card: Any, rows: Any) -> list[str]:
    """The printed numbers that no row has, itself or as a log."""
    values = [
        each
        for row in rows
        for each in (row.estimate, row.p, row.corrected_p, *(row.interval or ()))
        if each is not None
    ]
    known = np.array([0.0, 1.0, *values, *(exp(each) for each in values if abs(each) < 20)])
    return [path for path, value in numbers(card) if np.abs(known - value).min() > 2e-9]


def test_each_printed_estimate_is_in_the_document(printed: tuple[Any, Any]) -> None:
    card, document = printed
    assert len(list(numbers(card))) > 120
    assert not missing(card, document.estimates)
    assert all(len(row.rows) == 64 for row in document.estimates)


def test_a_number_that_is_left_out_is_missed(printed: tuple[Any, Any]) -> None:
    """The walk can fail: without the rows of a hypothesis it does."""
    card, document = printed
    left = [row for row in document.estimates if not row.id.startswith("hypothesis/D/")]
    assert any(path.startswith(".hypotheses.0.effect") for path in missing(card, left))


def test_every_row_has_a_name_of_its_own_and_says_how_it_was_reached(printed: tuple[Any, Any]) -> None:
    _, document = printed
    names = [row.id for row in document.estimates]
    assert len(set(names)) == len(names)
    for name in (
        "hypothesis/D/risk_difference", "hypothesis/D/within/5pp", "hypothesis/R/recovery",
        "hypothesis/I/calm/part/bee/risk_difference", "hypothesis/T/trend/isotonic_rate/calm",
        "sensitivity/ant/mean_range",
    ):  # fmt: skip
        assert name in names
    assert all(row.estimate is not None or row.error for row in document.estimates)
