"""Findings -> the deviation log as a report of its own: JSON, Markdown, HTML and LaTeX."""

import json
from collections.abc import Iterator

from gridc.reports.findings.conduct import CONDUCT
from gridc.reports.findings.findings import Findings
from gridc.reports.printed import Printed, as_latex, as_markdown
from gridc.reports.templates import markdown, render
from gridc.schema.deviation import FORMAT, ChangedPath, DeviationReport

COLUMNS = ("id", "element", "path", "registered", "implemented", "reason", "phase", "impact")


def deviation_report(findings: Findings) -> DeviationReport:
    """The log of a study whose departures are all explained."""
    return DeviationReport.of(
        findings, format=FORMAT, created=findings.lock.created, observed=findings[CONDUCT].observed
    )


def deviation_tables(report: DeviationReport) -> Iterator[Printed]:
    """The entries, a row for each path, and what the run observed."""
    rows = []
    for entry in report.deviations:
        undone = " (undone)" if entry.resolved else ""
        explanation = (entry.reason, entry.phase or "not stated", entry.impact or "not stated")
        for number, change in enumerate(entry.changes):
            first = (entry.id, f"{entry.element}{undone}") if number == 0 else ("", "")
            values = _value(change, "registered"), _value(change, "implemented")
            rows.append((*first, change.path, *values, *(explanation if number == 0 else ("", "", ""))))
    yield Printed(
        "deviations", "Deviations from the stamp", COLUMNS, tuple(rows),
        note="Values are the difference of the stamped and the current study; reasons, phases and impacts "
        "are their author’s.",
    )  # fmt: skip
    yield Printed(
        "observed",
        "What the run observed",
        ("observation",),
        tuple((sentence,) for sentence in report.observed),
    )


def _value(change: ChangedPath, side: str) -> str:
    """A value in full, as JSON; a text without its quotes."""
    if side in change.absent:
        return "absent"
    value = getattr(change, side)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_text(report: DeviationReport) -> str:
    """The report in Markdown."""
    head = [f"# Deviation log: {markdown(report.title)}", "", f"{_stamped(report)}", ""]
    return "\n".join([*head, *(as_markdown(table) for table in deviation_tables(report))])


def _stamped(report: DeviationReport) -> str:
    ran = "" if report.stamp == report.registered else f" The study as it ran has the stamp `{report.stamp}`."
    date = markdown(report.created[:10])
    return f"Study {markdown(report.study)}, stamped `{report.registered}` on {date}.{ran}"


def as_html(report: DeviationReport) -> str:
    """The report as a page."""
    return render("deviations.html.jinja", report=report, tables=list(deviation_tables(report)))


def as_tex(report: DeviationReport) -> str:
    """The report's tables in LaTeX."""
    return as_latex(
        list(deviation_tables(report)), f"Deviation log of {report.study}, stamp {report.registered}"
    )
