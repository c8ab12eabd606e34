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
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gridc.diagnostics.errors import DECEIVING, Diagnostic, FileError, Span
from gridc.reports.exchange.table_files import SIGN, read_json_lines, read_sheet
from gridc.reports.rendering import render_template
from gridc.runtime.blinding import UNREADABLE, Sheet
from gridc.runtime.store.reader import Labels

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
        writer.writerow([spreadsheet_text(text) for text in texts])
    return "\ufeff" + file.getvalue()


def spreadsheet_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula, and that shows what it holds."""
    return _FORMULA.sub("'", DECEIVING.sub("\ufffd", text))


def as_page(sheet: Sheet) -> str:
    """The sheet as one page that works from disk, offline."""
    rows = [
        row._asdict()
        | {"labels": list(row.labels), "cells": [spreadsheet_text(label) for label in row.labels]}
        for row in sheet.rows
    ]
    style = render_template("audit/sheet.css")
    script = render_template("audit/sheet.js")
    return render_template(
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
    """A row of a file with labels: its line, its cells by column, and who labelled, "" where nobody says."""

    file: Path
    line: int
    cells: Mapping[str, str]
    annotator: str

    @property
    def uuid(self) -> str:
        return self.cells.get("uuid", "").lower()

    @property
    def label(self) -> str:
        return self.cells.get("label", "")

    def problem(self, code: str, message: str, help: str) -> Diagnostic:
        """What is wrong here."""
        return Diagnostic(code, message, str(self.file), Span(self.line, 1), help)


VOTES = ("item", "model")
"""Columns of a file of labels that people gave outside of gridc, in place of `uuid`."""
_HELP = (
    "save the sheet as CSV in UTF-8, with its first line, or use the file that the page gives; labels from "
    "elsewhere have the columns `item`, `model` and `label`"
)


def read_filled(path: Path) -> list[FilledRow]:
    """The rows of a file with labels, a sheet's or votes. Raises `FileError` (GC661) where it is none."""
    read = read_json_lines if path.suffix.lower() in (".jsonl", ".ndjson") else read_sheet
    rows = [
        FilledRow(path, row.line, row.cells, " ".join(row.cells.get("annotator", "").split()))
        for row in read(path, "labels", "GC661", ("label",), _HELP)
    ]
    columns = {name for row in rows for name in row.cells}
    if rows and ("uuid" in columns or columns.issuperset(VOTES)):
        return rows
    message = "it has no row"
    if rows:
        missing = next(name for name in VOTES if name not in columns)
        message = f"no column is `uuid`, as on a sheet, and none is `{missing}`, as in labels from elsewhere"
    raise FileError([Diagnostic("GC661", message, str(path), Span(1, 1), _HELP)])


def are_votes(filled: Sequence[FilledRow]) -> bool:
    """Whether people gave the labels outside of gridc."""
    return not any("uuid" in row.cells for row in filled)


def read_people(files: Sequence[Path]) -> list[FilledRow]:
    """The rows of one file or of several people's. Who labelled stands in the column `annotator`; without it
    each of several files is one person, by its name. Raises `FileError` (GC661, GC665)."""
    found: list[FilledRow] = []
    names: dict[str, Path] = {}
    for file in files:
        rows = read_filled(file)
        if found and are_votes(rows) != are_votes(found):
            message = f"one of {found[0].file} and this file is a sheet of gridc's, and the other is not"
            raise FileError(
                [Diagnostic("GC661", message, str(file), help="read them one after the other, without --and")]
            )
        if len(files) > 1:
            other = names.setdefault(file.stem, file)
            if other is not file and not all(row.annotator for row in rows):
                message = f"{other} has the same name, by which people are told apart"
                help = "rename one of them, or add a column `annotator`"
                raise FileError([Diagnostic("GC665", message, str(file), help=help)])
            rows = [row if row.annotator else replace(row, annotator=file.stem) for row in rows]
        found += rows
    return found


def labels_in(
    filled: Sequence[FilledRow], sheets: Sequence[Sheet], taken: Container[str]
) -> tuple[Sheet, Labels]:
    """Which sheet the rows fill, and its labels. `taken` are the sheets whose labels were taken back before.

    Raises `FileError` with everything that is wrong in them (GC661 to GC665), each at its line.
    """
    path = str(filled[0].file)
    owner = {row.uuid: sheet for sheet in sheets for row in sheet.rows}
    sheet = next((owner[labelled.uuid] for labelled in filled if labelled.uuid in owner), None)
    if sheet is None:
        message = "no row has the UUID of a response that was drawn here"
        help = "`gridc audit sample` draws a sheet; give the spec whose sheet this is"
        raise FileError([Diagnostic("GC662", message, path, help=help)])
    if sheet.about in taken:
        message = f"the labels of {sheet.about} were taken back before, and its map is open"
        help = "`gridc report` has the agreement; `gridc audit sample` draws another sheet"
        raise FileError([Diagnostic("GC665", message, path, help=help)])
    problems = list(_problems(path, filled, sheet))
    if problems:
        raise FileError(problems[:SHOWN])
    labels: Labels = {}
    rows = {row.uuid: row for row in sheet.rows}
    for labelled in filled:
        label = meant(labelled.label, rows[labelled.uuid].labels) or ""
        labels.setdefault(labelled.uuid, {})[labelled.annotator] = label
    return sheet, labels


SHOWN = 20
"""Findings of one file that are printed."""


def _problems(first: str, filled: Sequence[FilledRow], sheet: Sheet) -> Iterator[Diagnostic]:
    rows = {row.uuid: row for row in sheet.rows}
    seen: dict[tuple[str, str], FilledRow] = {}
    for labelled in filled:
        if labelled.uuid not in rows:
            help = f"the sheet is {sheet.about}; take the row out, or put its UUID back"
            message = f"`{labelled.uuid[:40]}` is not a response of the sheet"
            yield labelled.problem("GC662", message, help)
            continue
        before = seen.setdefault((labelled.uuid, labelled.annotator), labelled)
        if before is not labelled:
            message = f"`{labelled.uuid}` stands here and on line {before.line}"
            help = "keep only the row whose label counts; who labelled stands in a column `annotator`"
            yield labelled.problem("GC665", message, help)
            continue
        row = rows[labelled.uuid]
        for what, text, own in (
            ("question", labelled.cells.get("question"), row.question),
            ("response", labelled.cells.get("response"), row.response),
        ):
            if text is not None and _comparable_text(text) != _comparable_text(own):
                help = "labels are of the text that was drawn: copy them into a new copy of the sheet"
                if len(own) > _CELL:
                    help = "a spreadsheet cuts a text as long as this: label it on the page"
                yield labelled.problem("GC664", f"the {what} of `{labelled.uuid}` was edited", help)
        if not meant(labelled.label, row.labels):
            stated = f"`{labelled.label[:40]}` is none of its labels" if labelled.label else "it has no label"
            help = f"one of: {', '.join(row.labels)}"
            yield labelled.problem("GC663", f"`{labelled.uuid}`: {stated}", help)
    labelled_by_someone = {uuid for uuid, _ in seen}
    missing = [uuid for uuid in rows if uuid not in labelled_by_someone]
    if missing:
        message = f"{len(missing)} of {len(rows)} responses have no row, first `{missing[0]}`"
        help = f"label every response; `{UNREADABLE}` is one that says none of the others"
        yield Diagnostic("GC663", message, first, help=help)


_CELL = 32_000
"""Characters that a cell of a spreadsheet holds."""


def meant(label: str, labels: Sequence[str]) -> str | None:
    """The label that is meant, whatever its case; None where it is none of them."""
    folded = {spreadsheet_text(own_label).casefold(): own_label for own_label in labels}
    folded |= {own_label.casefold(): own_label for own_label in labels}
    return folded.get(" ".join(label.split()).casefold())


def _comparable_text(text: str) -> str:
    """A text without what the sheet and spreadsheets change: apostrophes, line ends, outer spaces."""
    return re.sub(r"\s+", " ", DECEIVING.sub("\ufffd", text).replace("'", "")).strip()
