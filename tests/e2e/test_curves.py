"""A curve over the harness of a real store, against statsmodels on rows that plain SQL reads."""

import sqlite3
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.reports.card import make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.estimates.components import curve_estimates
from gridc.reports.figures import specification_curve
from gridc.reports.findings.curves import CURVES, CurveFinding, curve_findings
from gridc.reports.findings.observations import Samples
from gridc.reports.page import page_html
from gridc.reports.statements.components import result
from gridc.runtime.store.store import Store
from gridc.schema.spec import Spec
from tests.reports.builders import AXES, findings_of, spec_of

STORE = "results/small/store.sqlite"
SAMPLES = "SELECT key, item, score, choice FROM cell JOIN sample ON sample.cell = cell.id"
FORKS: list[dict[str, Any]] = [
    {"id": "reader", "category": "scoring", "levels": ["free_form", "logprob"], "default": "free_form",
     "binds": "axis.scoring"},
    {"id": "unread", "category": "data", "levels": ["itt", "pp"], "default": "itt",
     "binds": "analysis.outcome"},
    {"id": "context", "category": "data", "levels": ["both", "disambig"], "default": "both",
     "binds": "analysis.primary", "choice": {"disambig": {"items": {"condition": "disambig"}}}},
    {"id": "shots", "category": "model", "levels": ["in", "out"], "default": "in",
     "binds": "analysis.estimator", "choice": {"out": {"without_terms": ["few_shot"]}}},
    {"id": "rubric", "category": "scoring", "levels": ["a", "b"], "default": "a", "binds": "documented"},
]  # fmt: skip


def samples_of(finished: Path, **more: Any) -> Samples:
    """The finished study's samples, as if its spec said this too."""
    study = compile_spec(finished / "gridcard.toml").study
    stated = study.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    stated |= more | {"analysis": stated["analysis"] | {"permutations": 39}}
    changed = replace(study, spec=Spec.model_validate(stated))
    with Store.open(finished / STORE) as store:
        return Samples(Plan(changed), store.outcomes(Plan(study).study_digest))


@pytest.fixture(scope="module")
def samples(finished: Path) -> Samples:
    names = [fork["id"] for fork in FORKS]
    return samples_of(finished, fork=FORKS, curve=[{"id": "harness", "forks": names, "declared": "ex_ante"}])


@pytest.fixture(scope="module")
def found(samples: Samples) -> CurveFinding:
    (curve,) = curve_findings(samples)
    return curve


def answers(store: Path, reading: str) -> list[tuple[str, str, str, float]]:
    """Model, configuration, item and what one answer earns. Per protocol in pairs: an item of a configuration
    that both models answered readably counts, and as often for both as for the one with fewer such answers,
    each time with its mean."""
    stored = sqlite3.connect(store).execute(SAMPLES).fetchall()
    if reading == "itt":
        return [(key.split("/")[0], key.split("/")[2], item, score) for key, item, score, _ in stored]
    readable: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(dict)
    for key, item, score, choice in stored:
        model, _, configuration = key.split("/")
        of_models = readable[configuration, item]
        of_models.setdefault(model, []).extend([score] if choice is not None else [])
    rows = []
    for (configuration, item), of_models in readable.items():
        fewest = min(map(len, of_models.values()))
        for model, scores in of_models.items() if fewest else ():
            rows += [(model, configuration, item, float(np.mean(scores)))] * fewest
    return rows


def by_hand(samples: Samples, store: Path, levels: dict[str, str]) -> Any:
    """The logit of one specification on its single answers; None where it has no maximum."""
    items = samples.plan.study.items["bbq"]
    tags = {item.id: item.tags["condition"] for item in items.sampled}
    rows = []
    for model, configuration, item, score in answers(store, levels["unread"]):
        place = dict(part.split("=") for part in configuration.split(","))
        if place["scoring"] != levels["reader"]:
            continue
        if levels["context"] == "disambig" and tags[item] != "disambig":
            continue
        rows.append((score, model == "qwen2", place, items.units[item]))
    names = [name for name in rows[0][2] if name not in (["few_shot"] if levels["shots"] == "out" else [])]
    columns = [np.ones(len(rows)), np.array([row[1] for row in rows], float)]
    for name in names:
        for level in sorted({row[2][name] for row in rows})[1:]:
            columns.append(np.array([row[2][name] == level for row in rows], float))
    units = sorted({row[3] for row in rows})
    groups = np.array([units.index(row[3]) for row in rows])
    model_of_rows = sm.GLM(
        np.array([row[0] for row in rows], float), np.column_stack(columns), family=sm.families.Binomial()
    )
    return model_of_rows.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True, tol=1e-13)


def test_every_specification_is_what_statsmodels_makes_of_its_rows(
    samples: Samples, found: CurveFinding, finished: Path
) -> None:
    assert (found.ran.stated, found.ran.bound, len(found.specifications)) == (32, 16, 16)
    assert [each.level for each in found.unbound] == ["b"]
    assert len(found.fitted) >= 8
    for each in found.fitted:
        theirs = by_hand(samples, finished / STORE, dict(each.levels))
        assert each.fitted is not None
        assert each.fitted.estimate == pytest.approx(theirs.params[1], abs=1e-7)
        assert each.fitted.error == pytest.approx(theirs.bse[1], rel=1e-6)
        assert each.fitted.p == pytest.approx(theirs.pvalues[1], rel=1e-5)
        assert each.samples == int(theirs.nobs)
    values = np.array([each.fitted.estimate for each in found.fitted if each.fitted])
    assert found.summary is not None
    assert found.summary.median == pytest.approx(np.median(values))
    assert found.same_sign == np.mean(np.sign(values) == np.sign(np.median(values)))


def test_the_digest_is_of_the_rows_of_each_specification(found: CurveFinding) -> None:
    """Fixed effects change no row; every other fork does."""
    rows = {tuple(each.levels.items()): each.rows for each in found.specifications}
    for levels, digest in rows.items():
        other = tuple((name, {"in": "out", "out": "in"}.get(level, level)) for name, level in levels)
        assert rows[other] == digest
    assert len(set(rows.values())) == 8


def test_a_curve_is_told_drawn_and_listed(samples: Samples, found: CurveFinding) -> None:
    findings = {CURVES: (found,)}
    sentence = result(found).text
    assert "16 of 32 specifications were run" in sentence
    assert found.permutation is not None
    assert found.permutation.p_median * 40 == pytest.approx(round(found.permutation.p_median * 40))
    rows = {row.id: row for row in curve_estimates(findings)}  # type: ignore[arg-type]
    assert len(rows) == len(found.specifications) + 7
    own = rows["curve/harness/H1/qwen2-llama/log_odds_median"].as_written()
    assert found.summary is not None
    assert (own.estimate, own.p) == (round(found.summary.median, 10), found.permutation.p_median)
    for number, each in enumerate(found.specifications):
        row = rows[f"curve/harness/H1/qwen2-llama/specification/{number}"]
        assert (row.rows, row.n, row.error is None) == (each.rows, each.samples, each.fitted is not None)
    drawn = specification_curve(found, "curve")
    assert drawn is not None
    assert drawn.svg.count("<circle") >= len(found.fitted)
    for fork in FORKS[:-1]:
        assert all(f">{level}<" in drawn.svg for level in (fork["id"], *fork["levels"]))
    assert ">rubric<" not in drawn.svg, "a fork of one level that is run decides nothing"


def test_arms_that_were_asked_unequally_often_are_not_exchanged(finished: Path) -> None:
    """One answer under greedy decoding, three under sampled."""
    arms = {"axis": "decoding", "level": "sampled", "reference": "greedy"}
    few = samples_of(
        finished,
        hypothesis=[{"id": "H1", "kind": "difference", **arms}],
        fork=FORKS[1:2],
        curve=[{"id": "unread", "forks": ["unread"], "declared": "ex_ante"}],
    )
    (curve,) = curve_findings(few)
    assert curve.fitted and curve.permutation is None and curve.unexchangeable
    assert "asked unequally often" in result(curve).text


def test_the_page_says_why_a_hypothesis_has_another_odds_ratio_than_its_curve() -> None:
    """Of three levels the curve fits two; the hypothesis keeps the rows of the third."""
    frames = [*AXES["frame"], {"id": "quiz", "prompt": "Quiz. {{ question }}"}]
    fork = {"id": "reader", "category": "data", "levels": ["itt", "pp"], "default": "itt",
            "binds": "analysis.outcome"}  # fmt: skip
    spec = spec_of(
        {"ant": None, "bee": None},
        axes={**AXES, "frame": frames},
        hypothesis=[
            {"id": "H", "kind": "difference", "axis": "frame", "level": "exam", "reference": "plain"}
        ],
        analysis={"estimator": "cluster_logit"},
        fork=[fork],
        curve=[{"id": "open", "forks": ["reader"], "declared": "ex_ante"}],
    )
    findings = findings_of(
        spec, lambda cell: 14 - 6 * (cell.levels["frame"] == "exam") - sum(map(ord, cell.key)) % 4
    )
    (effect,) = [each.effect for each in findings.hypotheses]
    (curve,) = findings[CURVES]
    assert effect is not None and curve.default is not None and curve.default.fitted is not None
    (contrast,) = effect.contrasts
    assert contrast.odds is not None
    assert round(contrast.odds.ratio, 3) != round(float(np.exp(curve.default.fitted.estimate)), 3)
    page = " ".join(page_html(findings, certificate_of(findings), make_cards(findings, "0" * 64)).split())
    assert "to the rows of the two arms that it compares alone" in page
