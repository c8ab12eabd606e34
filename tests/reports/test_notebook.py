"""A certificate, findings, a plan and a comparison in a notebook: what matters, nothing that runs, and
well-formed."""

import csv
import importlib
import pkgutil
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import gridc
from gridc import study
from gridc.compiler.grid.cells import Cell
from gridc.diagnostics.errors import DECEIVING
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.findings import Findings
from gridc.reports.rendering import certificate_html, findings_html, json_html, plan_html
from gridc.reports.statements import statement_texts
from tests.reports.builders import ITEMS, findings_of, spec_of

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'
VOID = ("br", "img")
PRINTED = {"FormattedSpec", "ModelMemory", "QueryResult", "ShownDifference", "ShownSample", "Showing"}
"""Results that are text, or rows that a notebook prints as they are."""


class WellFormed(HTMLParser):
    """Fails where a tag is closed that is not open; `tags` are those that were seen."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def all_of(findings: Findings) -> list[str]:
    certificate = certificate_of(findings)
    return [
        findings_html(certificate, statement_texts(findings, "leading"), statement_texts(findings, "limits")),
        certificate_html(certificate),
    ]


def apart(cell: Cell) -> int:
    return ITEMS if (cell.model == "ant") == (cell.levels["frame"] == "exam") else 0


def partly(cell: Cell) -> int | None:
    return None if cell.levels["frame"] == "exam" else 10


@pytest.mark.parametrize("counts", [apart, partly, lambda cell: 10], ids=["apart", "partly", "tied"])
def test_every_state_of_a_study_can_be_shown(counts: object) -> None:
    findings = findings_of(spec_of({"ant": None, "bee": None}), counts)  # type: ignore[arg-type]
    for html in all_of(findings):
        WellFormed(html)
        assert findings.plan.study_digest[:12] in html
    shown = " ".join(all_of(findings)[1].split())
    assert ("reversal established" in shown) == (counts is apart)
    assert ("Incomplete: an interim look." in shown) == (counts is partly)


def test_text_of_a_spec_cannot_become_markup() -> None:
    spec = spec_of({"ant": None, "bee": None}, title=HOSTILE)
    told, certified = all_of(findings_of(spec, apart))
    for html in (told, certified):
        assert WellFormed(html).tags.isdisjoint({"script", "img"})
        assert "&lt;script&gt;" in html


def test_a_plan_is_shown_with_and_without_its_calls() -> None:
    plan = {
        "study": HOSTILE,
        "stamp": "0" * 64,
        "cells": 1200,
        "runs": 2400,
        "observations": None,
        "envelopes": [
            {"benchmark": HOSTILE, "items": None, "distinct": 0, "size": 12, "tiers": {"core": 4},
             "slices": {HOSTILE: 2}, "excluded": {HOSTILE: 7}},
        ],
        "counts": None,
        "estimates": None,
        "unpinned": {HOSTILE: "not here"},
        "memory": [{"words": HOSTILE, "lacks": None}, {"words": HOSTILE, "lacks": HOSTILE}],
        "advice": [HOSTILE],
    }  # fmt: skip
    without = plan_html(plan)
    assert "Calls are not counted: items are absent" in without
    asked = {"calls": 10, "stored": None}
    cost = {"prompt_tokens": 9, "generated_tokens": 8, "usd": None, "seconds": None}
    counted = plan_html(
        plan
        | {"counts": {"samples": 10, "calls": 10, "unique": 9, "models": {HOSTILE: asked}}}
        | {"estimates": {HOSTILE: cost}}
    )
    assert "10 calls" in counted
    for html in (without, counted):
        assert WellFormed(html).tags.isdisjoint({"script", "img"})
        assert "1,200 cells" in html and html.count("Does not fit") == 1


def logs(folder: Path, text: str) -> tuple[Path, Path]:
    """Two runs of another package, of which the second is worse; texts say `text`."""
    for name, other in (("old", 1), ("new", 0)):
        (folder / name).mkdir(parents=True)
        with (folder / name / "log.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["model", "benchmark", "item", "prompt", "answer", "score"])
            for item in range(60):
                score = other if item % 4 == 0 else 1
                rows.writerow(["m", "quiz", item, f"What is {item}? {text}", f"It is {score} {text}", score])
    return folder / "old", folder / "new"


@pytest.mark.parametrize("margin", [None, 5, 60])
def test_a_comparison_shows_its_verdict_and_its_table(tmp_path: Path, margin: float | None) -> None:
    """The table is the one of the terminal; its numbers are those of the rows: 15 of 60 are lost."""
    compared = gridc.compare(*logs(tmp_path, "so"), margin=margin)
    html = compared._repr_html_()
    WellFormed(html)
    assert f"<strong>{compared.verdict}</strong>" in html
    cells = re.findall(r"<td>([^<]*)</td>", html.split("<tbody>")[1].split("</tbody>")[0])
    assert cells[1:5] == ["60 items", "100.0 %", "75.0 %", "-25.0"] and cells[6] == "15 / 0"
    assert "15 lost, 0 won" in html and html.count("It is 0 so") == len(re.findall(r">1 → 0<", html)) > 5


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    a, b = logs(tmp_path, "so")
    other = (b / "log.csv").read_text().replace("What is", "What was")
    (b / "log.csv").write_text(other)
    compared = gridc.compare(a, b, margin=5)
    html = compared._repr_html_()
    WellFormed(html)
    assert compared.verdict == "NOT COMPARABLE" and "NOT COMPARABLE" in html and "<li>" in html


def test_texts_of_a_run_cannot_become_markup(tmp_path: Path) -> None:
    bidi = "\u202egnp\u2066"
    html = gridc.compare(*logs(tmp_path, HOSTILE + bidi), margin=5)._repr_html_()
    assert WellFormed(html).tags.isdisjoint({"script", "img"})
    assert "&lt;script&gt;" in html and not DECEIVING.search(html.replace("\n", ""))


def test_every_result_of_the_library_is_shown_in_a_notebook() -> None:
    """A result is a class of gridc.study that has `as_json`; samples and displays print themselves."""
    for module in pkgutil.iter_modules(study.__path__):
        for name, each in vars(importlib.import_module(f"gridc.study.{module.name}")).items():
            if name.startswith("_") or not isinstance(each, type) or "gridc.study" not in each.__module__:
                continue
            shown = {"_repr_html_", "_repr_markdown_"} & set(dir(each))
            assert shown or not hasattr(each, "as_json") or name in PRINTED, (
                f"{name} has no form for a notebook"
            )


def test_a_document_of_json_becomes_tables_and_no_markup() -> None:
    rows = [
        {"model": HOSTILE + "\u202egnp\u2066", "score": 1 / 3, "right": True, "note": None} for _ in range(25)
    ]
    html = json_html("Result", {"rows": rows, "names": [HOSTILE] * 25, "where": {"a": {"b": 0}}})
    assert WellFormed(html).tags.isdisjoint({"script", "img"})
    assert not DECEIVING.search(html.replace("\n", ""))
    assert html.count("&lt;script&gt;") == 40 and html.count("0.333333") == 20
    assert "<p>and 5 more in" in html and "<br>and 5 more" in html and "<td>0</td>" in re.sub(r"\s", "", html)
