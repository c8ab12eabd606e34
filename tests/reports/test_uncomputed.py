"""What a spec states and nothing computes is listed, once, wherever results are."""

from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.frontend.expansion import expanded
from gridc.compiler.frontend.source import read_source
from gridc.compiler.frontend.unsupported import uncomputed_rows
from gridc.compiler.frontend.validate import typed
from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.page import page_html
from tests.reports.builders import findings_of, reversing, spec_of

SPECS = sorted(
    path for path in (Path(__file__).parents[2] / "specs").glob("*.toml") if path.suffixes == [".toml"]
)

STATED: dict[str, Any] = {
    "hypothesis": [
        {"id": "R1", "kind": "ranking", "order": ["ant", "bee"]},
        {"id": "H2", "kind": "difference", "axis": "frame", "level": "exam", "reference": "plain",
         "family": "F"},
        {"id": "H3", "kind": "interaction", "axis": "frame", "by": "model"},
        {"id": "H4", "kind": "trend", "axis": "shots", "order": ["0", "3", "5"], "direction": "increasing"},
    ],
    "family": [{"id": "F", "correction": "holm"}],
    "fork": [
        {"id": "outcome", "category": "scoring", "levels": ["itt", "pp"], "default": "itt",
         "binds": "documented"}
    ],
    "curve": [{"id": "main", "forks": ["outcome"], "declared": "ex_ante"}],
    "falsification": [
        {"id": "F1", "category": "order", "test": "shuffle the labels", "passes": "nothing", "fails": "all"}
    ],
    "judge": {"source": "someone/else", "rubric": "is it safe?", "labels": ["safe", "unsafe"]},
    "analysis": {
        "estimator": "cluster_logit",
        "outcome": "pp",
        "equivalence": "nonsignificant",
        "bootstrap": {"resamples": 2000, "seed": 1, "unit": "model"},
        "permutations": 500,
        "nnh": {"rounding": "ceil"},
        "generalizability": {"scaffold": "fixed"},
    },
}  # fmt: skip

LISTED = [
    "fork outcome", "falsification F1", "analysis bootstrap", "analysis generalizability",
]  # fmt: skip


def test_everything_is_listed_once_and_in_every_document() -> None:
    findings = findings_of(spec_of({"ant": None, "bee": None}, **STATED), reversing)
    assert [f"{each.table} {each.id}" for each in findings.uncomputed] == LISTED
    certificate, deck = certificate_of(findings), make_cards(findings, "0" * 64)
    (told,) = (each for each in certificate.statements if each.startswith("Stated in the spec and not"))
    assert "fork outcome; falsification F1" in told
    for rows in (certificate.uncomputed, deck.uncomputed):
        assert [f"{each.table} {each.id}" for each in rows] == LISTED
    card = as_markdown(deck)
    page = page_html(findings, certificate, deck).split("Stated, and not computed")[1].split("</table>")[0]
    for each in findings.uncomputed:
        assert f"<td>{each.table}</td><td>{each.id}</td>" in page
        assert card.count(f"- {each.table} {each.id}:") == 1


def test_a_study_that_states_nothing_more_has_no_such_list() -> None:
    findings = findings_of(spec_of({"ant": None, "bee": None}), reversing)
    assert findings.uncomputed == ()
    assert "not computed" not in " ".join(certificate_of(findings).statements)
    assert "Stated, and not computed" not in page_html(
        findings, certificate_of(findings), make_cards(findings, "0" * 64)
    )


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_no_prediction_of_the_shipped_studies_is_dropped(path: Path) -> None:
    spec = typed(expanded(read_source(path)))
    listed = {(each.table, each.id) for each in uncomputed_rows(spec)}
    assert not {table for table, _ in listed} & {"hypothesis", "family"}
    assert not {table for table, _ in listed} & {"curve"}
    run = {name for curve in spec.curve for name in curve.forks}
    for fork in spec.fork:
        new_data = fork.binds == "documented" or fork.id not in run
        assert not new_data or ("fork", fork.id) in listed
        assert fork.id != "outcome" or ("fork", fork.id) not in listed
    for test in spec.falsification:
        assert (test.criterion is None) is (("falsification", test.id) in listed)
