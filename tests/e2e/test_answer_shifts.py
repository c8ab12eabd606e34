"""Answers that change between precisions and between models, counted again by sqlite3, numpy and scipy."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import rel_entr, softmax

from gridc.compiler.instrument.setting import Setting
from gridc.reports.findings.answers import same_choices
from tests import studies
from tests.recount.unit_limits import share, unbounded

FLIPS = """\
harness = { prompt = "builtin:T1", max_tokens = 8 }
family = [{ id = "all", correction = "holm", alpha = 0.05 }]
analysis = { estimator = "cluster_logit" }
waive = [{ code = "GC522", why = "a test" }, { code = "GC534", why = "a test" }]

[[benchmark]]
id = "bbq"
loader = "bbq"
source = "builtin:pocket_bbq.jsonl"
direction = "higher"
option_order = "shuffled:3"
unit = "item"
sample = { n = 40, seed = 1 }

[[axis]]
id = "precision"
values = { precision = ["fp32", "bf16"] }
tier = "core"
provenance = "a test"

[[axis]]
id = "scoring"
values = { method = ["extract", "loglikelihood"] }
tier = "core"
provenance = "a test"
"""
HYPOTHESIS = """
[[hypothesis]]
id = "{id}"
family = "all"
kind = "difference"
axis = "{axis}"
level = "{level}"
reference = "{reference}"
margin = {{ pp = 5 }}
where = {where}
"""
COMPARED = {
    "read": ("precision", "bf16", "fp32", '{ scoring = "extract" }'),
    "ranked": ("precision", "bf16", "fp32", '{ scoring = "loglikelihood" }'),
    "models": ("model", "two", "one", '{ precision = "fp32", scoring = "loglikelihood" }'),
    "both": ("model", "two", "one", "{}"),
    "methods": ("scoring", "loglikelihood", "extract", "{}"),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> studies.Finished:
    hypotheses = (
        HYPOTHESIS.format(id=name, axis=axis, level=level, reference=reference, where=where)
        for name, (axis, level, reference, where) in COMPARED.items()
    )
    spec = studies.head("flips", studies.pocket(one="qwen2", two="llama")) + FLIPS + "".join(hypotheses)
    return studies.carried_out(studies.written(tmp_path_factory.mktemp("flips"), spec))


@pytest.fixture(scope="module")
def stored(done: studies.Finished) -> dict[tuple[str, str, str], dict[str, tuple[int | None, Any]]]:
    """By model, precision and method what each item was read to, and its likelihoods."""
    rows = done.rows(
        """SELECT cell.model, configuration, item, choice, json_extract(answer, '$.loglikelihoods')
           FROM sample JOIN cell ON cell.id = sample.cell JOIN trace USING (cell, item, replicate)
           JOIN call ON call.id = trace.call"""
    )
    by_cell: dict[tuple[str, str, str], dict[str, tuple[int | None, Any]]] = {}
    for model, configuration, item, choice, given in rows:
        precision, method = (part.partition("=")[2] for part in configuration.split(","))
        values = None if given is None else json.loads(given)
        by_cell.setdefault((model, precision, method), {})[item] = choice, values
    return by_cell


def pairs(stored: Any, name: str) -> Iterator[tuple[Any, str, Any]]:
    axis, level, reference, _ = COMPARED[name]
    models = ["one", "two"]
    precisions = ["fp32"] if name == "models" else ["fp32", "bf16"]
    methods = {"read": ["extract"], "ranked": ["loglikelihood"], "models": ["loglikelihood"]}.get(
        name, ["extract", "loglikelihood"]
    )
    for place in ((model, one, how) for model in models for one in precisions for how in methods):
        at = {"model": 0, "precision": 1, "scoring": 2}[axis]
        if place[at] == reference:
            against = (*place[:at], level, *place[at + 1 :])
            yield from ((row, item, stored[against][item]) for item, row in stored[place].items())


def same(row: dict[str, Any], counted: tuple[float, tuple[float, float] | None]) -> None:
    value, ends = counted
    assert row["estimate"] == pytest.approx(value, abs=1e-9)
    assert (row["interval"] is None) == (ends is None)
    if ends is not None:
        assert row["interval"] == pytest.approx(list(ends), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("name", COMPARED)
def test_the_answers_that_change_are_counted_again(done: studies.Finished, stored: Any, name: str) -> None:
    level = COMPARED[name][1]
    changed = [
        (item, float(one[0] != other[0]))
        for one, item, other in pairs(stored, name)
        if None not in (one[0], other[0])
    ]
    row = done.estimates[f"hypothesis/{name}/{level}/answer_changes"]
    assert row["n"] == len(changed) > 0
    same(row, share([(item, (1.0, points)) for item, points in changed]))
    if not row["estimate"]:
        assert row["interval"] == [0, pytest.approx(1 - 0.025 ** (1 / 40), abs=0.006)], "over 40 items"


@pytest.mark.parametrize("name", ["ranked", "models", "both"])
def test_how_far_likelihoods_move_is_counted_again(done: studies.Finished, stored: Any, name: str) -> None:
    level = COMPARED[name][1]
    rows = [
        (
            item,
            np.abs(np.subtract(one[1], other[1])).mean(),
            rel_entr(softmax(one[1]), softmax(other[1])).sum(),
        )
        for one, item, other in pairs(stored, name)
        if None not in (one[1], other[1])
    ]
    items, shifts, apart = (list(column) for column in zip(*rows, strict=True))
    for kind, values in (("likelihood_shift", shifts), ("answer_divergence", apart)):
        row = done.estimates[f"hypothesis/{name}/{level}/{kind}"]
        assert row["n"] == len(values) and row["estimate"] > 0
        same(row, unbounded([(item, (1.0, value)) for item, value in zip(items, values, strict=True)]))


def test_models_move_further_than_precisions_and_methods_have_no_likelihoods_to_compare(
    done: studies.Finished,
) -> None:
    for kind in ("answer_changes", "likelihood_shift", "answer_divergence"):
        of_models, of_precisions = (
            done.estimates[f"hypothesis/{name}/{COMPARED[name][1]}/{kind}"]["estimate"]
            for name in ("models", "ranked")
        )
        assert of_models > of_precisions
    assert "hypothesis/methods/loglikelihood/answer_divergence" not in done.estimates
    assert done.study.verify().complete
    assert 'href="#answers"' in (done.results / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "compared"),
    [
        ({}, True),
        ({"method": "loglikelihood"}, True),
        ({"precision": "bf16"}, True),
        ({"option_order": "reversed"}, False),
        ({"method": "judge"}, False),
        ({"temperature": 0.7, "replicates": 5}, False),
        ({"method": "text_likelihood"}, False),
    ],
)
def test_only_answers_that_can_be_told_to_be_the_same_are_compared(
    change: dict[str, Any], compared: bool
) -> None:
    """A choice of shuffled options is another one in another order, and a label is no option."""
    one = Setting("x", "extract", option_order="file")
    assert same_choices(one, replace(one, **change)) is same_choices(replace(one, **change), one) is compared
