"""The sheet of an audit as files: CSV for a spreadsheet, a page for a browser; and the labels that come back.

A spreadsheet executes what looks like a formula, so what begins like one gets an apostrophe in front: a
cell, and within it what follows a semicolon, a tab or a line end, where spreadsheets of many countries begin
another cell, whatever the quotes say. The page is one file without anything outside it, in which texts are
shown and never obeyed; it gives its labels as a CSV of the same form.
"""

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridc.diagnostics.errors import DECEIVING, Diagnostic, FileError, Span
from gridc.reports.exchange.table_files import SIGN, read_sheet
from gridc.reports.rendering import render
from gridc.runtime.blinding import UNREADABLE, AuditRow, Sheet

COLUMNS = ("uuid", "question", "response", "labels", "label")
"""Of the CSV. People fill in the last one."""
_FORMULA = re.compile(rf"^(?=['\t\r\n]|{SIGN})|(?<=[;\t\r\n])(?=[\"']*{SIGN})")
"""Where begins what spreadsheets take for a formula."""
_BETWEEN = " | "


def as_csv(sheet: Sheet) -> str:
    """The sheet for a spreadsheet, in UTF-8 with its mark, by which spreadsheets know it."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in sheet.rows:
        texts = (row.uuid, row.question, row.response, _BETWEEN.join(row.labels), "")
        writer.writerow([escape_formulas(text) for text in texts])
    return "\ufeff" + file.getvalue()


def escape_formulas(text: str) -> str:
    """A text that no spreadsheet takes for a formula, and that shows what it holds."""
    return _FORMULA.sub("'", DECEIVING.sub("\ufffd", text))


def as_page(sheet: Sheet) -> str:
    """The sheet as one page that works from disk, offline."""
    rows = [
        row._asdict()
        | {"labels": list(row.labels), "cells": [escape_formulas(label) for label in row.labels]}
        for row in sheet.rows
    ]
    style = render("audit/sheet.css")
    script = render("audit/sheet.js")
    return render(
        "audit/sheet.html.jinja",
        about=sheet.about,
        rows=len(rows),
        # a script element ends at "</script", whatever stands around it
        data=json.dumps({"about": sheet.about, "rows": rows}).replace("<", "\\u003c"),
        style=style,
        script=script,
        policy=f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "base-uri 'none'; form-action 'none'",
    )


def _source(text: str) -> str:
    """The one text that a policy lets through."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@dataclass(frozen=True, slots=True)
class FilledRow:
    """A row of a file that came back. `question` and `response` are None where it has no such column."""

    line: int
    uuid: str
    label: str
    question: str | None
    response: str | None


def read_filled(path: Path) -> list[FilledRow]:
    """The rows of a file with labels. Raises `FileError` (GC661) where it is none."""
    help = "save the sheet as CSV in UTF-8, with its first line, or use the file that the page gives"
    return [
        FilledRow(
            row.line,
            row.cells.get("uuid", "").lower(),
            row.cells.get("label", ""),
            row.cells.get("question"),
            row.cells.get("response"),
        )
        for row in read_sheet(path, "labels", "GC661", ("uuid", "label"), help)
    ]


def labels_in(
    path: Path, sheets: Sequence[Sheet], taken: Mapping[str, Mapping[str, str]]
) -> tuple[Sheet, dict[str, str]]:
    """Which sheet a file fills, and its labels by UUID. `taken` are the labels that were taken back before.

    Raises `FileError` with everything that is wrong in it (GC661 to GC665), each at its line.
    """
    filled = read_filled(path)
    owner = {row.uuid: sheet for sheet in sheets for row in sheet.rows}
    sheet = next((owner[labelled.uuid] for labelled in filled if labelled.uuid in owner), None)
    if sheet is None:
        message = "no row has the UUID of a response that was drawn here"
        help = "`gridc audit sample` draws a sheet; give the spec whose sheet this is"
        raise FileError([Diagnostic("GC662", message, str(path), help=help)])
    if taken.get(sheet.about):
        message = f"the labels of {sheet.about} were taken back before, and its map is open"
        help = "`gridc report` has the agreement; `gridc audit sample` draws another sheet"
        raise FileError([Diagnostic("GC665", message, str(path), help=help)])
    problems = list(_problems(str(path), filled, sheet))
    if problems:
        raise FileError(problems[:_SHOWN])
    return sheet, {
        labelled.uuid: _known(labelled.label, sheet_row(sheet, labelled.uuid)) or "" for labelled in filled
    }


_SHOWN = 20
"""Findings of one file that are printed."""


def sheet_row(sheet: Sheet, uuid: str) -> AuditRow:
    """The row of a UUID that is on the sheet."""
    return next(row for row in sheet.rows if row.uuid == uuid)


def _problems(path: str, filled: Sequence[FilledRow], sheet: Sheet) -> Iterator[Diagnostic]:
    rows = {row.uuid: row for row in sheet.rows}
    lines: dict[str, int] = {}
    for labelled in filled:
        place = Span(labelled.line, 1)
        if labelled.uuid not in rows:
            help = f"the sheet is {sheet.about}; take the row out, or put its UUID back"
            message = f"`{labelled.uuid[:40]}` is not a response of the sheet"
            yield Diagnostic("GC662", message, path, place, help)
            continue
        if labelled.uuid in lines:
            message = f"`{labelled.uuid}` stands here and on line {lines[labelled.uuid]}"
            yield Diagnostic("GC665", message, path, place, "keep only the row whose label counts")
            continue
        lines[labelled.uuid] = labelled.line
        row = rows[labelled.uuid]
        for what, text, own in (
            ("question", labelled.question, row.question),
            ("response", labelled.response, row.response),
        ):
            if text is not None and _comparable_text(text) != _comparable_text(own):
                help = "labels are of the text that was drawn: copy them into a new copy of the sheet"
                if len(own) > _CELL:
                    help = "a spreadsheet cuts a text as long as this: label it on the page"
                yield Diagnostic("GC664", f"the {what} of `{labelled.uuid}` was edited", path, place, help)
        if not _known(labelled.label, row):
            stated = f"`{labelled.label[:40]}` is none of its labels" if labelled.label else "it has no label"
            help = f"one of: {', '.join(row.labels)}"
            yield Diagnostic("GC663", f"`{labelled.uuid}`: {stated}", path, place, help)
    missing = [row.uuid for row in sheet.rows if row.uuid not in lines]
    if missing:
        message = f"{len(missing)} of {len(rows)} responses have no row, first `{missing[0]}`"
        help = f"label every response; `{UNREADABLE}` is one that says none of the others"
        yield Diagnostic("GC663", message, path, help=help)


_CELL = 32_000
"""Characters that a cell of a spreadsheet holds."""


def _known(label: str, row: AuditRow) -> str | None:
    """The label of the row that is meant, whatever its case; None where it is none of them."""
    folded = {escape_formulas(own_label).casefold(): own_label for own_label in row.labels}
    folded |= {own_label.casefold(): own_label for own_label in row.labels}
    return folded.get(" ".join(label.split()).casefold())


def _comparable_text(text: str) -> str:
    """A text without what the sheet and spreadsheets change: apostrophes, line ends, outer spaces."""
    return re.sub(r"\s+", " ", DECEIVING.sub("\ufffd", text).replace("'", "")).strip()
