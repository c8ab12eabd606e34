"""Findings -> files: every document of a report; the deviation log and the tables for papers."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from gridc.diagnostics.errors import Diagnostic, FileError, UnavailableError
from gridc.files import require_unlinked, write_atomic
from gridc.numbers import number, percent
from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.differing_answers import differing_answers
from gridc.reports.estimates import estimate_document
from gridc.reports.findings.conduct import CONDUCT
from gridc.reports.findings.findings import Findings
from gridc.reports.page import benchmark_sections, drawn_curves, page_html
from gridc.reports.rendering import TextTable, as_latex, escape_markdown, render_template, table_markdown
from gridc.reports.scorecard import document as scorecard
from gridc.reports.scorecard.document import scorecard_tables
from gridc.reports.told import as_told, told_rows, untold
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest_bytes
from gridc.schema.card import CardDeck
from gridc.schema.certificate import Certificate
from gridc.schema.deviation import FORMAT, ChangedPath, DeviationReport, EarlierAnswersRow
from gridc.schema.scorecard import Scorecard

DEVIATION_COLUMNS = ("id", "element", "path", "registered", "implemented", "reason", "phase", "impact")


def deviation_report(findings: Findings) -> DeviationReport:
    """The log of a study whose departures are all explained."""
    return DeviationReport.of(
        findings, format=FORMAT, created=findings.lock.created, observed=findings[CONDUCT].observed
    )


def deviation_tables(report: DeviationReport) -> Iterator[TextTable]:
    """The entries, a row for each path, and what the run observed."""
    rows = []
    for entry in report.deviations:
        undone = " (undone)" if entry.resolved else ""
        explanation = (entry.reason, entry.phase or "not stated", entry.impact or "not stated")
        for place, change in enumerate(entry.changes):
            first = (entry.id, f"{entry.element}{undone}") if place == 0 else ("", "")
            values = _value(change, "registered"), _value(change, "implemented")
            rows.append((*first, change.path, *values, *(explanation if place == 0 else ("", "", ""))))
    yield TextTable(
        "deviations", "Deviations from the stamp", DEVIATION_COLUMNS, tuple(rows),
        note="Values are the difference of the stamped and the current study; reasons, phases and impacts "
        "are their author’s.",
    )  # fmt: skip
    if report.earlier:
        yield TextTable(
            "earlier",
            "Data that came before the study's own",
            ("stamp", "made", "what it is", "before the stamp", "after it", "items", "first", "last"),
            tuple(
                (
                    row.stamp,
                    row.created,
                    _origin(row),
                    f"{row.before_stamp:,}",
                    f"{row.after_stamp:,}",
                    f"{row.items:,}",
                    row.first,
                    row.last,
                )
                for row in report.earlier
            ),
            frozenset(["before the stamp", "after it", "items"]),
            note="Answers of the study’s models to its items under other stamps, before its own first call.",
        )
    yield TextTable(
        "observed",
        "What the run observed",
        ("observation",),
        tuple((sentence,) for sentence in report.observed),
    )


def _origin(row: EarlierAnswersRow) -> str:
    """What an earlier stamp is to the study's own."""
    if not row.superseded:
        return "another study"
    return "the stamp replaced it" + (" when there were data" if row.before_stamp else "")


def _value(change: ChangedPath, side: str) -> str:
    """A value in full, as JSON; a text without its quotes."""
    if side in change.absent:
        return "absent"
    value = getattr(change, side)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def deviation_text(report: DeviationReport) -> str:
    """The report in Markdown."""
    head = [f"# Deviation log: {escape_markdown(report.title)}", "", f"{_stamped(report)}", ""]
    return "\n".join([*head, *(table_markdown(table) for table in deviation_tables(report))])


def _stamped(report: DeviationReport) -> str:
    ran = "" if report.stamp == report.registered else f" The study as it ran has the stamp `{report.stamp}`."
    date = escape_markdown(report.created[:10])
    return f"Study {escape_markdown(report.study)}, stamped `{report.registered}` on {date}.{ran}"


def deviation_html(report: DeviationReport) -> str:
    """The report as a page."""
    return render_template("deviations.html.jinja", report=report, tables=list(deviation_tables(report)))


def deviation_tex(report: DeviationReport) -> str:
    """The report's tables in LaTeX."""
    return as_latex(
        list(deviation_tables(report)), f"Deviation log of {report.study}, stamp {report.registered}"
    )


def paper_tex(certificate: Certificate, deck: CardDeck, card: Scorecard) -> str:
    """A file to `\\input`, every table with a label of its own."""
    tables = [
        *_pair_tables(certificate),
        _range_table(deck),
        _falsification_table(certificate),
        *scorecard_tables(card),
    ]
    of = (
        f"{certificate.study}, stamp {certificate.stamp}" if certificate.recorded is None else "recorded runs"
    )
    return as_latex(tables, f"Tables of {of}")


def _pair_tables(certificate: Certificate) -> Iterator[TextTable]:
    columns = ("a", "b", "N+", "N-", "N0", "|C|", "rho_flip", "established", "likely", "on these items")
    for row in certificate.benchmarks:
        rows = tuple(
            (
                pair.a,
                pair.b,
                f"{pair.plus}",
                f"{pair.minus}",
                f"{pair.ties}",
                f"{pair.size}",
                f"{'≥ ' if pair.measured < pair.size else ''}{number(pair.rho_flip)}",
                pair.evidence.certified.claim or "nothing",
                (not pair.evidence.certified.claim and pair.evidence.supported.claim)
                or ("nothing" if pair.evidence.supported.tested else "not tested"),
                pair.words,
            )
            for pair in told_rows(row)
        )
        note = untold(row.benchmark, row.scopes[0].pairs)
        title = f"Pairs on {row.benchmark}"
        yield TextTable(f"pairs-{row.benchmark}", title, columns, rows, frozenset(columns[2:7]), note)


def _range_table(deck: CardDeck) -> TextTable:
    columns = ("model", "benchmark", "configurations", "min", "mean", "max", "SDI")
    rows = tuple(
        (
            card.model,
            card.benchmark,
            f"{neighbourhood.configurations}",
            percent(neighbourhood.least),
            percent(neighbourhood.mean),
            percent(neighbourhood.greatest),
            percent(neighbourhood.sdi),
        )
        for card in deck.cards
        for neighbourhood in card.score_neighbourhood
        if neighbourhood.kind == "full"
    )
    return TextTable("ranges", "Scores over the envelope", columns, rows, frozenset(columns[2:]))


def _falsification_table(certificate: Certificate) -> TextTable:
    columns = ("test", "criterion", "result", "worst value")
    rows = tuple(
        (row.test, row.criterion, row.result, "–" if row.value is None else number(row.value))
        for row in certificate.falsifications
    )
    return TextTable("falsification", "Falsification tests", columns, rows, frozenset(columns[3:]))


FIGURES = "figures"
"""The folder of the figures that are written as files, beside the reports."""

WITH_ANSWERS = "report_with_answers.html"
"""The report page with the answers on which models differ, which is written where somebody asks for it."""

NAMES = {
    "report.html": "report page",
    WITH_ANSWERS: "page with answers",
    "certificate.json": "certificate",
    "estimates.json": "estimates",
    "gridcard.md": "GRID card",
    "gridcard.json": "GRID card (JSON)",
    "scorecard.html": "scorecard",
    "scorecard.md": "scorecard (text)",
    "scorecard.json": "scorecard (JSON)",
    "deviations.html": "deviations",
    "deviations.md": "deviations (text)",
    "deviations.json": "deviations (JSON)",
    "deviations.tex": "deviations (TeX)",
    "tables.tex": "tables (TeX)",
    "store.sqlite": "store",
}


@dataclass(frozen=True, slots=True)
class Documents:
    """What a study says, before it is laid out. `text` is the certificate's file."""

    certificate: Certificate
    text: str
    deck: CardDeck


def documents(findings: Findings) -> Documents:
    """The documents of a study. Of logs with thousands of pairs of models the certificate's file has less of
    most (`as_told`)."""
    certificate = written = certificate_of(findings)
    if findings.recorded is not None:
        written = certificate.model_copy(update={"benchmarks": tuple(map(as_told, certificate.benchmarks))})
    text = _json(written)
    return Documents(certificate, text, make_cards(findings, digest_bytes(text.encode())))


def read_deck(path: Path) -> CardDeck:
    """The GRID cards of a results folder, a bundle, or a gridcard.json. Raises `FileError` (GC607) when
    there are none, or when the certificate beside them is not the one that they name."""
    places = [path] if path.is_file() else [path / "gridcard.json", path / "results" / "gridcard.json"]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        message = "there are no GRID cards here yet"
        raise FileError([Diagnostic("GC607", message, str(path), help="`gridc report` writes them")])
    try:
        deck = CardDeck.model_validate_json(file.read_bytes())
    except ValidationError as error:
        message = f"these are not GRID cards that this gridc reads ({error.error_count()} findings)"
        raise FileError([Diagnostic("GC607", message, str(file))]) from None
    certificate = file.with_name("certificate.json")
    if certificate.is_file() and digest_bytes(certificate.read_bytes()) != deck.certificate:
        message = "the certificate beside the cards is not the one that they name"
        raise FileError([Diagnostic("GC607", message, str(certificate))])
    return deck


def file_texts(findings: Findings) -> dict[str, str]:
    """The text of every file that each report has, by name. The same findings give the same bytes."""
    made = documents(findings)
    card = scorecard.make_scorecard(findings)
    return {
        "report.html": page_html(findings, made.certificate, made.deck),
        "certificate.json": made.text,
        "estimates.json": _json(estimate_document(findings)),
        "gridcard.md": as_markdown(made.deck),
        "gridcard.json": _json(made.deck),
        "scorecard.html": scorecard.scorecard_html(card),
        "scorecard.md": scorecard.scorecard_markdown(card),
        "scorecard.json": _json(card),
        **(_deviation_texts(findings) if findings.recorded is None else {}),
        "tables.tex": paper_tex(made.certificate, made.deck, card),
    }


def page_with_answers(findings: Findings, store: Store, most: int) -> str:
    """The report page with the items on which two models differ, at most so many of a pair."""
    made = documents(findings)
    return page_html(findings, made.certificate, made.deck, differing_answers(findings, store, most))


def _deviation_texts(findings: Findings) -> dict[str, str]:
    log = deviation_report(findings)
    return {
        "deviations.html": deviation_html(log),
        "deviations.md": deviation_text(log),
        "deviations.json": _json(log),
        "deviations.tex": deviation_tex(log),
    }


def draw(findings: Findings, folder: Path, pdf: bool = False) -> list[Path]:
    """Write every figure of the page as SVG, and as PDF with `pdf`, into `folder`; the paths. Raises
    `UnavailableError` (GC604) where the converter to PDF is not installed."""
    convert = _pdf_converter() if pdf else None
    require_unlinked(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, svg in drawings(findings).items():
        path = folder / name
        write_atomic(path, svg)
        written.append(path)
        if convert is not None:
            write_atomic(path.with_suffix(".pdf"), convert(svg))
            written.append(path.with_suffix(".pdf"))
    return written


def drawings(findings: Findings) -> dict[str, str]:
    """Every figure of the page as SVG, by the name of its file."""
    made = documents(findings)
    sections = benchmark_sections(findings, made.certificate, made.deck)
    curves = (figure for *_, figure in drawn_curves(findings) if figure is not None)
    drawn = (*(figure for section in sections for figure in section.figures), *curves)
    return {f"{figure.name}.svg": figure.svg for figure in drawn}


def _pdf_converter() -> Callable[[str], bytes]:
    try:
        from vl_convert import svg_to_pdf
    except ImportError:
        message = "figures as PDF need vl-convert-python, which is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[pdf]'")]) from None
    convert: Callable[[str], bytes] = svg_to_pdf
    return convert


def write_reports(findings: Findings, folder: Path) -> list[Path]:
    """Write every report file into a folder, each in one step. The paths, the page first."""
    return write_texts(file_texts(findings), folder)


def write_texts(made: Mapping[str, str], folder: Path) -> list[Path]:
    """Write what `texts` made."""
    for name, text in made.items():
        write_atomic(folder / name, text)
    return [folder / name for name in made]


def write_json(path: Path, document: Any) -> None:
    """Replace a JSON file in one step."""
    write_atomic(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _json(document: BaseModel) -> str:
    return json.dumps(document.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
