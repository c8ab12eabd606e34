"""Every estimate that a scorecard or the page's section of curves prints stands in the document of estimates,
with the digest of its rows. Each source of estimates has some to give, and each kind that the docs list is
made."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from html import unescape
from math import exp, inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridc.compiler.grid.cells import Cell
from gridc.numbers import p_value, percent
from gridc.reports import estimates
from gridc.reports import findings as findings_package
from gridc.reports.card import make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.estimates import ESTIMATES, estimate_document
from gridc.reports.findings.answers import ANSWER_SHIFTS, AnswerShift
from gridc.reports.findings.curves import CURVES, CurveFinding
from gridc.reports.findings.exposure import DOSES, DoseFinding
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.reports.findings.labels import JUDGING
from gridc.reports.findings.summaries import SUMMARIES
from gridc.reports.page import page_html
from gridc.reports.quantities import QUANTITIES
from gridc.reports.scorecard.document import make_scorecard
from gridc.schema.estimates import EstimateRow
from gridc.schema.hypotheses import StatisticContrastRow
from gridc.schema.inference import StatisticHypothesis
from gridc.schema.statistics import StatisticKind
from gridc.statistics.raters import kappa
from gridc.statistics.unit_intervals import UnitEstimate
from tests.reports import test_statements as said
from tests.reports.builders import findings_of, having, reversing, spec_of

FRAMES = {"axis": "frame", "reference": "plain", "level": "exam"}
AXES = {
    "frame": [{"id": name, "prompt": f"{name} {{{{ question }}}}"} for name in ("plain", "exam", "calm")],
    "reading": [
        {"id": "text", "method": "extract"},
        {"id": "line", "method": "extract", "reader": "answer_line"},
    ],
}
FORKS: list[dict[str, Any]] = [
    {"id": "missing", "category": "data", "levels": ["itt", "pp"], "default": "itt",
     "binds": "analysis.outcome"},
    {"id": "reader", "category": "scoring", "levels": ["both", "text"], "default": "both",
     "binds": "analysis.primary", "choice": {"text": {"where": {"reading": "text"}}}},
    {"id": "terms", "category": "model", "levels": ["with", "without"], "default": "with",
     "binds": "analysis.estimator", "choice": {"without": {"without_terms": ["model"]}}},
]  # fmt: skip
CURVE = {"id": "open", "forks": [fork["id"] for fork in FORKS], "declared": "ex_ante"}
HYPOTHESES = [
    {"id": "D", "kind": "difference", "margin": {"pp": 20, "sensitivity_pp": [5]}, **FRAMES},
    {"id": "R", "kind": "difference", **FRAMES, "reference": "exam", "level": "calm", "control": "plain"},
    {"id": "E", "kind": "equivalence", "margin": {"pp": 10}, **FRAMES},
    {"id": "I", "kind": "interaction", "axis": "frame", "by": "model"},
    {"id": "T", "kind": "trend", "axis": "frame", "order": ["plain", "calm", "exam"],
     "direction": "decreasing"},
]  # fmt: skip

NOT_ESTIMATES = {
    "largest", "reference_readable", "freedom",  # degrees of freedom of a test
    "above",  # and those of the numerator of F
    "pp", "df", "doses", "gained", "lost", "same", "alpha", "level", "trials", "points", "samples", "units",
    "readable", "left_out", "members", "cells", "stated", "run", "fitted", "cases", "models",
    "configurations", "counts", "displayed", "lower_is_better", "targets", "complete", "holds", "observed",
    "methodology", "threats", "checklist", "claims", "resolved", "ranking", "final", "still",
}  # fmt: skip
"""Counts, choices and what is read from the store: the keys of a scorecard that estimate nothing."""


def correct(cell: Cell) -> int:
    """Different everywhere, so that no number is found by chance."""
    frame = {"plain": 15, "calm": 12, "exam": 7}[cell.levels["frame"]]
    exam, line = cell.levels["frame"] == "exam", cell.levels["reading"] == "line"
    return frame + (cell.model == "bee") - 2 * (cell.model == "bee") * exam - line * (1 + 2 * exam)


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


@cache
def several() -> Findings:
    """Of a study of five hypotheses and a curve."""
    spec = spec_of(
        {"ant": None, "bee": None}, axes=AXES, hypothesis=HYPOTHESES, fork=FORKS, curve=[CURVE],
        analysis={"estimator": "cluster_logit", "nnh": {"rounding": "ceil"}, "permutations": 99},
    )  # fmt: skip
    return findings_of(spec, correct, parsed=18)


@pytest.fixture(scope="module")
def findings() -> Findings:
    return several()


@pytest.fixture(scope="module")
def printed(findings: Findings) -> tuple[Any, Any]:
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


RANGES = {"share": (0, 1), "p": (0, 1), "difference of shares": (-1, 1), "ratio": (0, inf), "count": (1, inf)}


def test_values_and_intervals_are_counted_in_what_their_kind_says(printed: tuple[Any, Any]) -> None:
    _, document = printed
    measured = {QUANTITIES[row.kind].measure for row in document.estimates if row.estimate is not None}
    assert measured >= set(RANGES)
    for row in document.estimates:
        low, high = RANGES.get(QUANTITIES[row.kind].measure, (-inf, inf))
        values = (row.estimate, *(row.interval or ()))
        assert all(value is None or low <= value <= high for value in values), row.id


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


def test_each_number_of_a_curve_is_the_estimate_of_that_name(printed: tuple[Any, Any]) -> None:
    card, document = printed
    rows = {row.id: row for row in document.estimates}
    assert [curve["hypothesis"] for curve in card["curves"]] == ["D", "R"]
    for curve in card["curves"]:
        name = f"curve/{curve['curve']}/{curve['hypothesis']}/{curve['level']}-{curve['reference']}"
        whole = {key: rows[f"{name}/{key}"] for key in WHOLE}
        assert {row.rows for row in whole.values()} == {curve["rows"]}
        assert exp(whole["log_odds_median"].estimate) == pytest.approx(curve["median"])
        ends = [exp(whole[f"log_odds_{end}_quartile"].estimate) for end in ("first", "third")]
        assert ends == pytest.approx(curve["quartiles"])
        assert whole["log_odds_median"].p == pytest.approx(curve["permutation_p"])
        assert whole["share_significant_below"].estimate == pytest.approx(curve["below"])
        assert whole["share_significant_above"].estimate == pytest.approx(curve["above"])
        assert whole["share_same_sign"].estimate == pytest.approx(curve["same_side"])
        assert sum(each.startswith(f"{name}/specification/") for each in rows) == curve["run"] == 8
        assert [each["model"] for each in curve["without"]] == ["ant", "bee"]
        for without in curve["without"]:
            own = rows[f"{name}/without/{without['model']}"]
            assert [exp(end) for end in own.interval] == pytest.approx(without["interval"])
            assert (exp(own.estimate), own.p) == pytest.approx((without["odds_ratio"], without["p"]))
            median = rows[f"{name}/without/{without['model']}/log_odds_median"]
            assert exp(median.estimate) == pytest.approx(without["median"])
            assert median.n < whole["log_odds_median"].n and median.rows != curve["rows"]


WHOLE = (
    "log_odds_median", "log_odds_first_quartile", "log_odds_third_quartile", "share_significant_below",
    "share_significant_above", "share_same_sign",
)  # fmt: skip


def test_each_side_of_a_change_measured_twice_is_the_estimate_of_that_name(printed: tuple[Any, Any]) -> None:
    """Unreadable answers counted or left out, and two rules that score the same answers."""
    card, document = printed
    rows = {row.id: row for row in document.estimates if row.id.startswith("integrity/")}
    assert len(rows) == 2 * len(card["integrity"])
    assert {row["left"].split(" = ")[0] for row in card["integrity"]} > {"reading"}
    for number, row in enumerate(card["integrity"]):
        for side in ("left", "right"):
            own = rows[f"integrity/{row['model']}/{row['benchmark']}/{number}/{side}"]
            assert own.estimate == pytest.approx(row[f"by_{side}"], abs=1e-9)
            assert list(own.interval) == pytest.approx(row[f"{side}_interval"], abs=1e-9)
            assert own.rows == row["rows"] and row[side] in own.about
    assert any(row["by_left"] != row["by_right"] for row in card["integrity"])


NUMBER = re.compile(r"(?<![\w.])(?:< )?\d+(?:\.\d+)?(?:e-\d+)?(?: %)?(?![\w])")


def curve_words(findings: Findings) -> str:
    """The words of the page's section of curves, without what the figures draw and the digests."""
    page = page_html(findings, certificate_of(findings), make_cards(findings, "0" * 64))
    section = page.split('id="curves"')[1].split("</details>")[0]
    for cut in (r"<svg.*?</svg>", r"<(style|script).*?</\1>", r"\b[0-9a-f]{12,}\b", r"<[^>]*>"):
        section = re.sub(cut, " ", section, flags=re.DOTALL)
    return unescape(section)


def counted(curve: CurveFinding) -> set[str]:
    """What is no estimate: how many, the level, the side of 1, and the interval's and the band's 95 %."""
    sizes = (curve.ran.stated, len(curve.ran.drawn), len(curve.fitted), len(curve.failed))
    draws = curve.permutation.draws if curve.permutation else 0
    return {*(str(each) for each in (*sizes, draws, 1)), f"{curve.alpha:g}", "95 %"}


def unlisted(words: str, curves: Sequence[CurveFinding], rows: Sequence[EstimateRow]) -> set[str]:
    """The numbers in these words that no row of a curve has, as it is printed."""
    known = set().union(*map(counted, curves))
    for row in rows:
        if row.id.startswith("curve/") and row.estimate is not None:
            ends = [end for end in row.interval or () if end is not None]
            if row.kind.startswith("log_odds"):
                known |= {f"{exp(value):.3g}" for value in (row.estimate, *ends)}
            else:
                known |= {percent(row.estimate), f"{100 * row.estimate:.0f} %"}
            known |= {p_value(row.p)} if row.p is not None else set()
    return set(NUMBER.findall(words)) - known


def test_each_number_of_the_section_of_curves_is_in_the_document(
    findings: Findings, printed: tuple[Any, Any]
) -> None:
    words, rows = curve_words(findings), printed[1].estimates
    assert len(set(NUMBER.findall(words))) > 30
    assert unlisted(words, findings[CURVES], rows) == set()
    for part in ("/without/", "/log_odds_first_quartile", "/share_"):
        assert unlisted(words, findings[CURVES], [row for row in rows if part not in row.id]), part


def shifted() -> Findings:
    changed = UnitEstimate(0.25, (0.1, 0.5), 20, 20.0)
    shift = AnswerShift("H", "frame", "exam", "plain", 20, 0, changed, 0, None, None, "0" * 64)
    return having(said.pair(), ANSWER_SHIFTS, (shift,))


def compared() -> Findings:
    spec = spec_of({"ant": None})
    stated = StatisticHypothesis(
        id="S", kind="statistic", statistic="score", axis="frame", level="exam", reference="plain"
    )
    row = StatisticContrastRow(
        statistic="score", what="mean over answers", unit="%", level="exam", reference="plain",
        predicts="different", margin=None, value=0.5, reference_value=0.25, difference=0.25,
        interval=(0.1, 0.4), method="limits", note="", samples=40, rows="0" * 64,
    )  # fmt: skip
    found = HypothesisFinding(stated, None, "none", 0.05, 1, 0.01, 1.0, statistic=row)
    return replace(findings_of(spec, reversing), hypotheses=(found,))


def of_several_kinds() -> Findings:
    findings = said.summed_up()
    (f1,) = findings[SUMMARIES]
    kinds: tuple[StatisticKind, ...] = ("mean", "ratio", "gap", "consistency")
    return having(findings, SUMMARIES, (f1, *(replace(f1, id=kind, kind=kind) for kind in kinds)))


def agreeing() -> Findings:
    judged = said.judged(pairs=(("one", "two", kappa(["a", "b"], ["b", "a"])),))
    assert judged[JUDGING]
    return judged


def dosed() -> Findings:
    slope = UnitEstimate(0.1, (0.0, 0.2), 20, 20.0)
    return having(said.pair(), DOSES, (DoseFinding("facts", (), slope, 0, 0, "0" * 64),))


WORLDS: Mapping[str, Callable[[], Findings]] = {
    "scores": said.pair,
    "changes": lambda: findings_of(spec_of({"ant": None}), reversing, parsed=18),
    "effects": several,
    "statistic_effects": compared,
    "answers": shifted,
    "sensitivity": said.pair,
    "judging": agreeing,
    "components": said.shared,
    "many_levels": said.levelled,
    "text_likelihoods": said.weighed,
    "rates": lambda: said.rated("over_refusal", Fraction(1, 4)),
    "statistics": of_several_kinds,
    "curves": several,
    "audits": lambda: said.audited((1, 0)),
    "corrected": lambda: said.corrected(0.1),
    "guesses": lambda: said.guessed("a", "b", "a", "b"),
    "scaffolds": dosed,
}
"""By the name of each source: a world in which it estimates something."""


def test_every_source_has_its_world() -> None:
    assert set(WORLDS) == set(ESTIMATES), "say here in what world it estimates something"


@pytest.mark.parametrize("name", WORLDS)
def test_a_source_estimates_something_in_its_world_and_the_document_has_it(name: str) -> None:
    findings = WORLDS[name]()
    rows = [row.as_written() for row in ESTIMATES[name](findings)]
    assert rows and set(rows) <= set(estimate_document(findings).estimates)


def named() -> set[str]:
    """Every text that stands in the modules of the sources and of the findings."""
    return {
        node.value
        for package in (estimates, findings_package)
        for path in Path(package.__path__[0]).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_kind_that_the_docs_list_is_estimated_in_a_world_or_named_by_a_source() -> None:
    made = {row.kind for name, world in WORLDS.items() for row in ESTIMATES[name](world())}
    assert len(made) > len(QUANTITIES) / 2
    assert sorted(QUANTITIES.keys() - made - named()) == []
