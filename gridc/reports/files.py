"""Findings -> files: every document of a report, each replaced in one step."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from gridc.diagnostics.errors import Diagnostic, FileError, UnavailableError
from gridc.files import require_unlinked, write_atomic
from gridc.reports import deviation_report, paper_tables
from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certify
from gridc.reports.estimates import estimate_document
from gridc.reports.findings.findings import Findings
from gridc.reports.page import as_html, drawn_curves, lay_out
from gridc.reports.scorecard import document as scorecard
from gridc.schema.canonical import digest_bytes
from gridc.schema.card import CardDeck
from gridc.schema.certificate import Certificate

FIGURES = "figures"
"""The folder of the figures that are written as files, beside the reports."""

NAMES = {
    "report.html": "report page",
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
    """What a study says, before it is laid out."""

    certificate: Certificate
    deck: CardDeck


def documents(findings: Findings) -> Documents:
    """The documents of a study."""
    certificate = certify(findings)
    return Documents(certificate, make_cards(findings, digest_bytes(_json(certificate).encode())))


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


def texts(findings: Findings) -> dict[str, str]:
    """Every report file's text, by name. The same findings give the same bytes."""
    made = documents(findings)
    card, log = scorecard.make_scorecard(findings), deviation_report.deviation_report(findings)
    return {
        "report.html": as_html(findings, made.certificate, made.deck),
        "certificate.json": _json(made.certificate),
        "estimates.json": _json(estimate_document(findings)),
        "gridcard.md": as_markdown(made.deck),
        "gridcard.json": _json(made.deck),
        "scorecard.html": scorecard.as_html(card),
        "scorecard.md": scorecard.as_text(card),
        "scorecard.json": _json(card),
        "deviations.html": deviation_report.as_html(log),
        "deviations.md": deviation_report.as_text(log),
        "deviations.json": _json(log),
        "deviations.tex": deviation_report.as_tex(log),
        "tables.tex": paper_tables.as_tex(made.certificate, made.deck, card),
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
    sections = lay_out(findings, made.certificate, made.deck)
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


def write(findings: Findings, folder: Path) -> list[Path]:
    """Write every report file into a folder, each in one step. The paths, the page first."""
    return write_texts(texts(findings), folder)


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
