"""Scorecard and deviation report: what they say follows from evidence, and is safe to print anywhere."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema as validator
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.lock.attestation import Attestation
from gridc.diagnostics.errors import VerificationError
from gridc.reports.files import deviation_report, file_texts
from gridc.reports.findings.changes import ScoreDifference
from gridc.reports.findings.conduct import CONDUCT, Conduct
from gridc.reports.findings.findings import Findings
from gridc.reports.quantities import needed_cell
from gridc.reports.rendering import TextTable, as_latex, latex, table_markdown
from gridc.reports.scorecard.document import make_scorecard, scorecard_markdown
from gridc.reports.scorecard.methodology import LINES
from gridc.schema import jsonschema
from gridc.schema.deviation import DeviationEntry
from gridc.schema.hypotheses import NumberNeededRow
from gridc.schema.scorecard import MethodRow, Scorecard
from gridc.study import OpenStudy
from tests.recount import unit_limits
from tests.recount.studies import graded
from tests.reports.builders import findings_of, having, reversing, spec_of

HOSTILE = "<script>\\input{/etc/passwd}</script> | `x` $(1) % & # _ ^ ~ \x1b[31m\u202e"


@pytest.fixture(scope="module")
def findings() -> Findings:
    return findings_of(spec_of({"ant": "a small one", "bee": None}), reversing)


@pytest.fixture(scope="module")
def card(findings: Findings) -> Scorecard:
    return make_scorecard(findings)


def line(findings: Findings, name: str) -> MethodRow:
    return next(row for row in make_scorecard(findings).methodology if row.id == name)


def forked(*levels: str) -> Findings:
    """With a curve over a fork of these levels, of which the store answers `with` and `without`."""
    fork = {
        "id": "terms", "category": "model", "levels": ["with", *levels], "default": "with",
        "binds": "analysis.primary", "choice": {"without": {"without_terms": ["model"]}},
    }  # fmt: skip
    frames = {"kind": "difference", "axis": "frame", "level": "exam", "reference": "plain"}
    spec = spec_of(
        {"ant": None, "bee": None}, fork=[fork], hypothesis=[{"id": "H", **frames}],
        analysis={"estimator": "cluster_logit"},
        curve=[{"id": "open", "forks": ["terms"], "declared": "ex_ante", "hypotheses": ["H"]}],
    )  # fmt: skip
    return findings_of(spec, lambda cell: 14 - 6 * (cell.levels["frame"] == "exam") + len(cell.model))


def test_a_curve_is_run_where_all_of_it_is() -> None:
    """A level that needs new data takes half of the specifications away."""
    whole, part = (line(findings, "curve") for findings in (forked("without"), forked("without", "new_data")))
    assert (whole.holds, whole.counts["declared"], whole.counts["specifications"]) == ("yes", 2, 2)
    assert (part.holds, part.counts["declared"], part.counts["specifications"]) == ("partly", 3, 2)
    assert "of 3 declared specifications 2 were run." in part.said


@pytest.mark.parametrize("name", ["scorecard", "deviation-report"])
def test_a_document_is_what_its_schema_says(name: str, findings: Findings) -> None:
    made = make_scorecard(findings) if name == "scorecard" else deviation_report(findings)
    document = json.loads(made.model_dump_json())
    schema = validator.Draft202012Validator(jsonschema.load(name))
    assert list(schema.iter_errors(document)) == []
    assert list(schema.iter_errors(document | {"index": 0.9}))  # there is no place for a composite


def test_no_line_of_the_stamp_follows_a_setting(findings: Findings) -> None:
    """What a spec asks for is not what was done: a declared curve that nobody ran is a no, and so is a
    registration of which there is a DOI and no record."""
    spec = spec_of(
        {"ant": None, "bee": None},
        fork=[
            {
                "id": "unread",
                "category": "data",
                "levels": ["itt", "pp"],
                "default": "itt",
                "binds": "analysis.outcome",
            }
        ],
        curve=[{"id": "all", "forks": ["unread"], "declared": "ex_ante"}],
    )
    declared = findings_of(spec, reversing)
    assert line(declared, "forks").holds == "yes"
    assert line(declared, "curve").counts["curves"] == 1
    given_doi = replace(declared, anchors=(Attestation("registration", "10.17605/OSF.IO/CJW92"),))
    assert line(given_doi, "registered").holds == "not_measured"
    assert "Pre-registered" not in line(given_doi, "registered").said
    record = Attestation(
        "registration", "10.17605/OSF.IO/CJW92", "the record in cjw92.json", "2026-01-01T12:00:00+00:00"
    )
    assert line(replace(declared, anchors=(record,)), "registered").holds == "yes"


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"before_stamp": 0}, "yes"),
        ({"before_stamp": 3}, "partly"),
        ({"steps_back": (7,)}, "not_measured"),
        ({CONDUCT: Conduct(stamped=9, started=2)}, "no"),
        ({CONDUCT: Conduct()}, "not_measured"),
    ],
)
def test_the_stamp_came_first_only_where_events_and_dates_show_it(
    change: dict[Any, Any], expected: str, findings: Findings
) -> None:
    run = having(findings, CONDUCT, Conduct(stamped=1, started=2))
    fields = {name: value for name, value in change.items() if isinstance(name, str)}
    for finding in change.keys() - fields.keys():
        run = having(run, finding, change[finding])
    assert line(replace(run, **fields), "stamped_first").holds == expected


@pytest.mark.parametrize(
    "time, expected", [("2026-01-01T00:00:00+00:00", "yes"), ("2026-02-01T00:00:00+00:00", "no")]
)
def test_a_third_party_vouches_only_for_its_own_time(time: str, expected: str, findings: Findings) -> None:
    token = Attestation("token", time, "root.pem", time)
    assert line(replace(findings, anchors=(token,)), "vouched").holds == expected
    assert line(replace(findings, anchors=(replace(token, by=None),)), "vouched").holds == "no"


def test_every_line_has_an_answer_and_its_evidence(card: Scorecard) -> None:
    assert [row.id for row in card.methodology] == [each.id for each in LINES]
    for row in card.methodology:
        assert row.said.endswith(".") and row.evidence
        numbers = {int(each.replace(",", "")) for each in re.findall(r"\b\d[\d,]*\b", row.said)}
        known = {value for value in row.counts.values() if value is not None} | {2, 2026, 1}
        assert numbers <= known, row


def test_a_difference_is_one_of_pairs() -> None:
    """Against the recount, item by item: both cells have their first k items right, so that a draw of items
    moves both."""
    found = findings_of(spec_of({"ant": None, "bee": None}), reversing)
    (row,) = found.benchmarks
    scores = {(each.cell.model, each.cell.configuration): each for each in row.cells}
    for change in row.changes:
        first, second = (scores[change.model, name] for name in (change.reference, change.configuration))
        assert first.score is not None and second.score is not None
        assert change.itt.difference == second.score - first.score
        moved = (np.arange(20) < second.correct).astype(float) - (np.arange(20) < first.correct)
        _, ends = unit_limits.change([(str(item), (1.0, own)) for item, own in enumerate(moved)])
        assert change.itt.interval == pytest.approx(ends, abs=1e-8)


@pytest.mark.parametrize(
    "difference, interval, words",
    [
        (-0.0730480193605910, (-0.0832, -0.0629), "NNH 14 (13 to 16)"),
        (-0.0060501846898485, (-0.0159, 0.0038), "NNH 166, either way (NNH 63 or more, NNB 264 or more)"),
        (0.05, (0.04, 0.06), "NNB 20 (17 to 25)"),
        (0.05, (0.0, 0.06), "NNB 20 (NNB 17 or more)"),
        (0.0, (-0.1, 0.1), "no difference (NNH 10 or more, NNB 10 or more)"),
        (-0.25, None, "NNH 4"),
    ],
)
def test_numbers_needed_keep_their_sign(
    difference: float, interval: tuple[float, float] | None, words: str
) -> None:
    """A gain is a number needed to benefit (the released package printed 4 to harm for +25 pp), and an
    interval with 0 in it runs through infinity."""
    assert (
        needed_cell(NumberNeededRow.of(ScoreDifference(Fraction(difference), interval).number_needed()))
        == words
    )


def test_forged_lines_are_named(tmp_path: Path) -> None:
    """Every file of the report against the store: a line of the stamp, a rate, a reason; and the pages."""
    store = graded(tmp_path)
    (tmp_path / "out").mkdir()
    store.rename(tmp_path / "out" / "store.sqlite")
    study = OpenStudy(tmp_path / "gridcard.toml", None, tmp_path / "out")
    study.report()
    path = tmp_path / "out" / "scorecard.json"
    honest = path.read_text("utf-8")
    document = json.loads(honest)
    place = [row["id"] for row in document["methodology"]].index("registered")
    document["methodology"][place] |= {"holds": "yes", "said": "Pre-registered."}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    with pytest.raises(VerificationError) as refused:
        study.verify()
    (found,) = refused.value.diagnostics
    assert found.code == "GC707"
    assert (
        "methodology[registered].holds" in found.message and "methodology[registered].said" in found.message
    )
    path.write_text(honest, "utf-8")
    honest_pages = {}
    for name, old, new in (
        ("scorecard.html", ">no</span>", ">yes</span>"),
        ("scorecard.md", "| no |", "| yes |"),
        ("deviations.tex", "None.", "All."),
        ("tables.tex", "& no &", "& yes &"),
    ):
        file = tmp_path / "out" / name
        honest_pages[file] = file.read_text("utf-8")
        assert old in honest_pages[file]
        file.write_text(honest_pages[file].replace(old, new, 1), "utf-8")
    with pytest.raises(VerificationError) as refused:
        study.verify()
    said = sorted(each.message.partition(" ")[0] for each in refused.value.diagnostics)
    assert said == sorted(file.name for file in honest_pages), "each, and none hides another"
    for file, text in honest_pages.items():
        file.write_text(text, "utf-8")
    study.verify()
    target = tmp_path / "bundle"
    study.export("bundle", target)
    assert (target / "results" / "scorecard.json").read_text("utf-8") == honest


@given(st.text())
def test_latex_has_no_command_of_a_strangers(text: str) -> None:
    """Read back as TeX reads it: what is left are the commands that gridc writes, each for one character."""
    shown = latex(text)
    assert shown.isprintable()
    rest = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]|\{[-*\[\]]\}|\$(-|\\(infty|approx|leq|geq))\$", "", shown)
    assert not re.search(r"[\\{}$&#%_~^]", rest)


def test_hostile_text_stays_text() -> None:
    spec = spec_of({"ant": HOSTILE, "bee": None}, title=HOSTILE)
    entry = {
        "id": "D-001",
        "element": HOSTILE,
        "changes": [{"path": "study.title", "registered": HOSTILE}],
        "reason": HOSTILE,
        "phase": HOSTILE,
        "date": None,
        "impact": HOSTILE,
        "resolved": False,
    }
    made = file_texts(findings_of(spec, reversing, deviations=(entry,)))
    for name in ("scorecard.html", "deviations.html"):
        assert "<script" not in made[name] and "&lt;script&gt;" in made[name]
        assert "default-src 'none'" in made[name]
    for name in ("deviations.tex", "tables.tex"):
        assert "\\input{" not in made[name]
        assert "\x1b" not in made[name]
    for name in ("scorecard.md", "deviations.md"):
        assert "<script" not in made[name].replace("\\<", "")


def test_one_table_in_two_forms() -> None:
    table = TextTable(
        "t", "A table", ("name", "n"), (("a|b", "1"), ("c_d", "2")), frozenset({"n"}), "A note."
    )
    assert "| a\\|b | 1 |" in table_markdown(table) and "| --- | ---: |" in table_markdown(table)
    text = as_latex([table], "a study")
    assert "\\begin{longtable}{@{}lr@{}}" in text and "c\\_d & 2 \\\\" in text
    assert text.count("{") == text.count("}")


def test_the_deviation_report_has_values_reasons_and_what_was_observed(findings: Findings) -> None:
    entry = {
        "id": "D-001",
        "element": "decoding",
        "changes": [
            {"path": "harness.temperature", "registered": 0, "implemented": 0.3},
            {"path": "axis[x]", "implemented": None},
        ],
        "reason": "the provider has no 0",
        "phase": "data collection",
        "date": "2026-02-01",
        "impact": "wider intervals",
        "resolved": False,
    }
    seen = having(
        replace(findings, deviations=(DeviationEntry.of_manifest(entry),)),
        CONDUCT,
        Conduct(1, 2, (), ("3 calls failed for good",)),
    )
    report = deviation_report(seen)
    (stated,) = report.deviations
    assert [change.absent for change in stated.changes] == [(), ("registered",)]
    made = file_texts(seen)
    for name in ("deviations.md", "deviations.html", "deviations.tex"):
        for part in (
            "harness.temperature",
            "0.3",
            "the provider has no 0",
            "data collection",
            "wider intervals",
        ):
            assert part in made[name].replace("\\", "").replace("{-}", "-"), (name, part)
        assert "3 calls failed for good" in made[name]
    assert line(seen, "deviations").holds == "no" and line(seen, "observed").holds == "no"
    assert line(seen, "observed").said == "3 calls failed for good."
    many = having(findings, CONDUCT, Conduct(1, 2, (), tuple(f"what {number}" for number in range(5))))
    assert line(many, "observed").said == "what 0; what 1; what 2; 2 more stand in the deviation log."


def test_what_is_open_reaches_nothing_and_one_model_has_no_order() -> None:
    rows = {row.id: row for row in make_scorecard(findings_of(spec_of({"ant": None}), reversing)).claims}
    assert "pairs/facts" not in rows
    both = findings_of(spec_of({"ant": None, "bee": None}), lambda cell: 10)
    rows = {row.id: row for row in make_scorecard(both).claims}
    assert rows["H1"].answer == "open" and rows["H1"].reach == "Nothing: it is open."
    assert rows["pairs/facts"].answer == "established for 0 of 1 pair"


def test_answers_that_nobody_could_read_are_not_answers_that_are_not_read() -> None:
    """Nothing readable is no likelihood: both readings are one in a study of rankings alone."""
    unread = {"reading": [{"id": "text", "method": "extract"}, {"id": "words", "method": "extract"}]}
    ranks = {"reading": [{"id": "a", "method": "loglikelihood"}, {"id": "b", "method": "loglikelihood"}]}
    for axes, holds, said in (
        (unread, "not_measured", "could be read from text"),
        (ranks, "not_applicable", "No answer is read from text"),
    ):
        found = findings_of(
            spec_of({"ant": None, "bee": None}, axes=axes), lambda cell: 0, parsed=lambda cell: 0
        )
        both = line(found, "both_readings")
        assert (both.holds, said in both.said) == (holds, True)
        threat = next(row for row in make_scorecard(found).threats if row.threat.startswith("unreadable"))
        assert said in threat.met and "No two configurations" not in threat.met


@pytest.mark.parametrize(("direction", "sign"), [("higher_is_better", 1), ("lower_is_better", -1)])
def test_the_sign_of_a_difference_is_said_beside_it(direction: str, sign: int) -> None:
    """The matrix counts points of the better direction, the hypotheses count the rates themselves."""
    found = findings_of(spec_of({"ant": None, "bee": None}, direction=direction), reversing)
    document = make_scorecard(found)
    moved = [row for row in document.models[0].matrix if row.change and row.rate is not None]
    start = next(row.rate for row in document.models[0].matrix if not row.levels)
    assert moved and start is not None
    for row in moved:
        assert row.change is not None and row.rate is not None
        assert row.change.difference == pytest.approx(sign * (row.rate - start))
    shown = scorecard_markdown(document)
    assert "in points of the better direction" in shown


def test_an_empty_table_has_no_legend() -> None:
    assert "quartiles" not in table_markdown(
        TextTable("curves", "Curves", ("a",), (), note="Medians and quartiles")
    )
