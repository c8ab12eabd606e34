"""What a fork's choice reads of a real store, against rows that plain SQL reads and statsmodels fits."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import statsmodels.api as sm

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.curves import CurveFinding, SpecificationFinding, curve_findings
from gridc.reports.findings.item_counts import readings_of
from gridc.reports.findings.observations import Samples
from gridc.reports.statements.components import result
from gridc.runtime.store.store import Store
from gridc.schema.spec import Spec

STORE = "results/small/store.sqlite"
LAST = """SELECT cell.key, s.item, s.score, s.choice, call.answer, call.usage
FROM cell JOIN sample s ON s.cell = cell.id
JOIN trace t ON t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
JOIN call ON call.id = t.call"""
FREE = {"scoring": "free_form"}


class Sample(NamedTuple):
    """One stored sample: its model, the levels of its axes, its item, and what is stored of its response."""

    model: str
    place: dict[str, str]
    item: str
    score: float
    read: bool
    text: str
    tokens: int
    finish: str


def stored(finished: Path) -> list[Sample]:
    samples = []
    for key, item, score, choice, answer, usage in sqlite3.connect(finished / STORE).execute(LAST):
        model, _, configuration = key.split("/")
        place = dict(part.split("=") for part in configuration.split(","))
        if place["scoring"] != "free_form":
            continue
        said, used = json.loads(answer), json.loads(usage)
        samples.append(
            Sample(model, place, item, score, choice is not None, said["text"],
                   used["completion_tokens"], said["finish"])
        )  # fmt: skip
    return samples


def curve_of(finished: Path, choice: dict[str, Any], **more: Any) -> CurveFinding:
    """The finished study's curve over one fork, whose level `other` makes this choice."""
    study = compile_spec(finished / "gridcard.toml").study
    stated = study.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    stated["analysis"] |= {"permutations": 19, "primary": more.pop("primary", FREE)}
    fork = {
        "id": "part", "category": "data", "levels": ["own", "other"], "default": "own",
        "binds": "analysis.outcome", "choice": {"other": choice},
    }  # fmt: skip
    curve = {"id": "one", "forks": ["part"], "declared": "ex_ante", **more.pop("curve", {})}
    stated |= {"fork": [fork], "curve": [curve], **more}
    changed = replace(study, spec=Spec.model_validate(stated))
    plan, stamp = Plan(changed), Plan(study).study_digest
    with Store.open(finished / STORE) as store:
        samples = Samples(
            plan,
            store.outcomes(stamp),
            partial(readings_of, store, stamp),
            partial(store.responses_of, stamp),
        )
        (found,) = curve_findings(samples)
    return found


def other(curve: CurveFinding) -> SpecificationFinding:
    return next(each for each in curve.specifications if each.levels["part"] == "other")


def fitted(
    finished: Path,
    samples: list[Sample],
    value: Callable[[Sample], float | None],
    axes: tuple[str, ...] = ("template", "decoding", "few_shot"),
) -> Any:
    """The clustered logit of what samples are worth (None: left out), of pairs in which both models have
    some, each pair with as many rows as the model with fewer."""
    pairs: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: {"qwen2": [], "llama": []})
    for sample in samples:
        worth = value(sample)
        if worth is not None:
            pairs[(sample.item, *(sample.place[axis] for axis in axes))][sample.model].append(worth)
    study = compile_spec(finished / "gridcard.toml").study
    units = study.items["bbq"].units
    rows = [
        (float(np.mean(scores)), model == "qwen2", levels, units[item])
        for (item, *levels), models in pairs.items()
        for model, scores in models.items()
        for _ in range(min(map(len, models.values())))
    ]
    columns = [np.ones(len(rows)), np.array([row[1] for row in rows], float)]
    for rank in range(len(axes)):
        names = sorted({row[2][rank] for row in rows})
        columns += [np.array([row[2][rank] == name for row in rows], float) for name in names[1:]]
    names = sorted({row[3] for row in rows})
    groups = np.array([names.index(row[3]) for row in rows])
    logit = sm.GLM(
        np.array([row[0] for row in rows]), np.column_stack(columns), family=sm.families.Binomial()
    )
    return logit.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True, tol=1e-13)


def assert_same(found: SpecificationFinding, theirs: Any) -> None:
    assert found.fitted is not None, found.failure
    assert found.samples == int(theirs.nobs)
    assert found.fitted.estimate == pytest.approx(theirs.params[1], abs=1e-7)
    assert found.fitted.error == pytest.approx(theirs.bse[1], rel=1e-6)


def middle(numbers: list[int]) -> int:
    return sorted(numbers)[len(numbers) // 2]


@pytest.mark.parametrize("others", ["leave_out", "zero", "one"])
def test_responses_of_so_many_characters(finished: Path, others: str) -> None:
    samples = stored(finished)
    lengths = sorted(len(sample.text) for sample in samples)
    least = next(length for length in lengths if length > lengths[0])
    assert 0 < sum(len(sample.text) < least for sample in samples) < len(samples)
    curve = curve_of(finished, {"responses": {"characters": {"at_least": least}, "others": others}})
    coded = {"leave_out": None, "zero": 0.0, "one": 1.0}[others]
    theirs = fitted(finished, samples, lambda one: one.score if len(one.text) >= least else coded)
    assert_same(other(curve), theirs)


def test_responses_of_so_many_tokens(finished: Path) -> None:
    samples = stored(finished)
    most = middle([sample.tokens for sample in samples])
    curve = curve_of(finished, {"responses": {"tokens": {"at_most": most}}})
    theirs = fitted(finished, samples, lambda one: one.score if one.tokens <= most else None)
    assert_same(other(curve), theirs)


def test_responses_that_ended_by_themselves(finished: Path) -> None:
    samples = stored(finished)
    assert {sample.finish for sample in samples} == {"stop", "length"}
    curve = curve_of(finished, {"responses": {"finish": ["stop"], "others": "zero"}})
    theirs = fitted(finished, samples, lambda one: one.score if one.finish == "stop" else 0.0)
    assert_same(other(curve), theirs)


def test_a_coded_response_counts_per_protocol_too(finished: Path) -> None:
    samples = stored(finished)
    least = middle([len(sample.text) for sample in samples])
    choice = {"reading": "pp", "responses": {"characters": {"at_least": least}, "others": "zero"}}

    def worth(sample: Sample) -> float | None:
        if len(sample.text) < least:
            return 0.0
        return sample.score if sample.read else None

    assert_same(other(curve_of(finished, choice)), fitted(finished, samples, worth))


def test_a_ranked_candidate_is_no_response_and_is_kept(finished: Path) -> None:
    curve = curve_of(
        finished, {"responses": {"characters": {"at_least": 10_000}}}, primary={"scoring": "logprob"}
    )
    own, kept = curve.specifications
    assert own.fitted == kept.fitted and own.samples == kept.samples > 0


def test_items_of_one_benchmark_by_tag_and_by_family(finished: Path) -> None:
    sampled = compile_spec(finished / "gridcard.toml").study.items["bbq"].sampled
    settled = {item.id for item in sampled if item.tags["condition"] == "disambig"}
    curve = curve_of(finished, {"items_of": {"bbq": {"condition": "disambig"}}})
    theirs = fitted(finished, stored(finished), lambda one: one.score if one.item in settled else None)
    assert_same(other(curve), theirs)
    family = sampled[0].family
    without = {item.id for item in sampled if item.family != family}
    curve = curve_of(finished, {"items_of": {"bbq": {"family": {"not": family}}}})
    assert other(curve).samples == sum(one.item in without for one in stored(finished)) > 0


def test_rows_beyond_the_primary_part(finished: Path) -> None:
    primary = {**FREE, "template": "T1"}
    curve = curve_of(finished, {"primary": FREE}, primary=primary)
    samples = stored(finished)
    assert_same(other(curve), fitted(finished, samples, lambda one: one.score))
    assert curve.default is not None
    some = [sample for sample in samples if sample.place["template"] == "T1"]
    assert_same(curve.default, fitted(finished, some, lambda one: one.score))


def test_levels_that_are_counted_together_make_one_pair(finished: Path) -> None:
    curve = curve_of(finished, {"pool": ["template"]})
    theirs = fitted(finished, stored(finished), lambda one: one.score, axes=("decoding", "few_shot"))
    assert_same(other(curve), theirs)
    assert other(curve).terms == ("decoding", "few_shot")
    assert curve.permutation is not None and curve.permutation.of == len(curve.fitted) == 2


def test_an_arm_of_which_more_was_asked_is_pooled_and_not_shuffled(finished: Path) -> None:
    """Of T4 both prompts, of T1 the one without exemplars: as a study adds contexts of one arm."""
    arms = {"id": "D", "kind": "difference", "axis": "template", "level": "T4", "reference": "T1"}
    choice = {"primary": {"scoring": "free_form"}, "pool": ["few_shot"]}
    primary = {**FREE, "few_shot": "0"}
    study: dict[str, Any] = {
        "hypothesis": [arms],
        "exclude": [
            {"when": {"scoring": "logprob", "decoding": "sampled"}, "why": "as in the study"},
            {"when": {"template": "T1", "few_shot": "3"}, "why": "not asked"},
        ],
    }
    curve = curve_of(finished, choice, primary=primary, **study)
    found = other(curve)
    pairs: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: {"T1": [], "T4": []})
    for one in stored(finished):
        if one.place["template"] == "T4" or one.place["few_shot"] == "0":
            pairs[one.model, one.item, one.place["decoding"]][one.place["template"]].append(one.score)
    assert found.fitted is not None
    assert found.samples == sum(len(scores) for arms in pairs.values() for scores in arms.values())
    assert found.terms == ("model", "decoding")
    assert curve.permutation is not None and curve.permutation.of == 1 < len(curve.fitted)
    assert "of the 1 specifications by cluster_logit" in result(curve).text


def test_another_outcome_on_a_benchmark(finished: Path) -> None:
    outcome = {"id": "left_open", "benchmark": "bbq", "scores": {"unknown": 1, "other": 0}}
    curve = curve_of(finished, {"outcome_of": {"bbq": "left_open"}}, outcome=[outcome])
    found, same = other(curve), other(curve_of(finished, {"outcome": "left_open"}, outcome=[outcome]))
    assert found.fitted == same.fitted and found.fitted != curve.specifications[0].fitted
    assert found.outcome == "score, left_open of bbq"


def test_random_intercepts_in_place_of_clustered_errors(finished: Path) -> None:
    """On the rows of greedy answers, whose outcomes are 0 and 1 in every pair."""
    pytest.importorskip("gpboost")
    greedy = {**FREE, "decoding": "greedy"}
    curve = curve_of(finished, {"estimator": "glmm"}, primary=greedy)
    own, mixed = curve.default, other(curve)
    assert own is not None and own.estimator == "cluster_logit" and mixed.estimator == "glmm"
    assert mixed.samples == own.samples and mixed.rows == own.rows
    by_curve = curve_of(finished, {"estimator": "cluster_logit"}, primary=greedy, curve={"estimator": "glmm"})
    assert by_curve.default is not None and other(by_curve).fitted == own.fitted
    assert by_curve.default.fitted == mixed.fitted and by_curve.default.failure == mixed.failure
    if mixed.fitted is not None:
        assert curve.permutation is not None and curve.permutation.of == 1
        assert mixed.fitted.estimate != own.fitted.estimate if own.fitted else False
