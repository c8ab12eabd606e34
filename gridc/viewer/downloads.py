"""The table of a page as a CSV: every row of its list, with the numbers of the page at full precision.

Scores are in percent and differences in points of a hundred, as pages show them; what a page shows as a dash
is empty. A text that a spreadsheet would run has an apostrophe in front (`table_files`).
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import exp
from typing import TYPE_CHECKING, NamedTuple

from gridc.reports.exchange.table_files import escape_formulas
from gridc.reports.findings.curves import CurveFinding
from gridc.viewer.labels import GivenLabel
from gridc.viewer.lists import Filters, every_sample, outcomes, read_margin, response, state
from gridc.viewer.matrix import QuestionMatrix
from gridc.viewer.store import Moment, StoredCell
from gridc.viewer.view import View

if TYPE_CHECKING:
    from gridc.viewer.differences import CellPair, ItemPair

CsvCell = str | int | float | Fraction | None


class PageTable(NamedTuple):
    """A table: the names of its columns, and its rows."""

    columns: Sequence[str]
    rows: Iterable[Sequence[CsvCell]]


def as_csv(table: PageTable) -> str:
    """The table as text, in which each number reads back as it is."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(map(escape_formulas, table.columns))
    writer.writerows([_cell(value) for value in row] for row in table.rows)
    return file.getvalue()


def _cell(value: CsvCell) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, str):
        return escape_formulas(value)
    return float(value) if isinstance(value, Fraction) else value


def _percent(score: Fraction | None) -> Fraction | None:
    return None if score is None else 100 * score


def _points(cell: StoredCell, score: int | None) -> Fraction | None:
    return None if score is None else Fraction(score, cell.scale)


_CELL = ("model", "benchmark", "configuration", "tier")


def _names(cell: StoredCell) -> tuple[str, str, str, str]:
    return cell.model, cell.benchmark, cell.configuration, cell.tier


def cells_table(cells: Iterable[StoredCell]) -> PageTable:
    """The score of each cell, and of how many samples it is."""
    rows = (
        (*_names(cell), cell.counts.trials, cell.counts.scored, cell.counts.readable, _percent(cell.score))
        for cell in cells
    )
    return PageTable((*_CELL, "samples", "scored", "readable", "score, %"), rows)


def pair_table(rows: Iterable[tuple[StoredCell, StoredCell | None]], a: str, b: str) -> PageTable:
    """The scores of one model, and of another one under the same configurations."""

    def scores(cell: StoredCell, other: StoredCell | None) -> Iterator[Fraction | None]:
        yield _percent(cell.score)
        if b:
            there = other.score if other else None
            yield _percent(there)
            yield None if cell.score is None or there is None else 100 * (cell.score - there)

    columns = ("configuration", "tier", f"{a}, %", *([f"{b}, %", "difference, points"] if b else []))
    return PageTable(columns, ((cell.configuration, cell.tier, *scores(cell, other)) for cell, other in rows))


def samples_table(view: View, filters: Filters, cells: Sequence[StoredCell] | None = None) -> PageTable:
    """Every sample of a list, with the whole of its response."""
    columns = ("item", *_CELL, "replicate", "outcome", "choice", "score", "margin, nats", "response")
    found = every_sample(view.moment, view.study, view.items, filters, cells)
    rows = (
        (item, *_names(cell), replicate, state(choice, score), choice, _points(cell, score),
         read_margin(evidence), response(view.moment, cell.id, item, replicate))
        for cell, item, replicate, choice, score, evidence in found
    )  # fmt: skip
    return PageTable(columns, rows)


def questions_table(view: View, matrix: QuestionMatrix) -> PageTable:
    """The score of every question under the variants of a page: the mean of its replicates, or what is made
    of them."""
    scores = [_scores(view.moment, cell) for cell in matrix.columns]
    columns = ("item", *(f"{cell.model} {cell.configuration}, %" for cell in matrix.columns))
    rows = ((row.item, *(_percent(of.get(row.item)) for of in scores)) for row in matrix.rows)
    return PageTable(columns, rows)


def _scores(moment: Moment, cell: StoredCell) -> Mapping[str, Fraction | None]:
    if cell.made is not None:
        return cell.made
    found = moment.rows(
        "SELECT item, count(*), count(score), sum(score) FROM sample WHERE cell = ? GROUP BY item", [cell.id]
    )
    return {
        item: Fraction(points, asked * cell.scale) if asked == scored else None
        for item, asked, scored, points in found
    }


def item_table(view: View, item: str, cells: Iterable[StoredCell]) -> PageTable:
    """Every answer to one item."""
    columns = (*_CELL, "replicate", "outcome", "answer", "score", "response")

    def rows() -> Iterator[Sequence[CsvCell]]:
        for cell in cells:
            for replicate, choice, score in outcomes(view.moment, cell, item):
                said = None if choice is None else view.answer(choice, cell, item)
                text = response(view.moment, cell.id, item, replicate)
                yield (
                    *_names(cell), replicate, state(choice, score), said, _points(cell, score), text
                )  # fmt: skip

    return PageTable(columns, rows())


def differing_table(pairs: "Iterable[ItemPair]", a: str, b: str) -> PageTable:
    """Items of two cells, with both scores."""

    def row(item: str, one: Fraction | None, other: Fraction | None) -> Sequence[CsvCell]:
        gap = None if one is None or other is None else 100 * (one - other)
        return item, _percent(one), _percent(other), gap

    rows = (row(pair.item, pair.a.score, pair.b.score) for pair in pairs)
    return PageTable(("item", f"{a}, %", f"{b}, %", "difference, points"), rows)


def stores_table(pairs: "Iterable[CellPair]") -> PageTable:
    """The scores of the cells that two stores have."""
    rows = (
        (*_names(both.a), _percent(both.a.score), _percent(both.b.score), both.difference) for both in pairs
    )
    return PageTable((*_CELL, "first, %", "second, %", "second - first, points"), rows)


def labels_table(given: Iterable[GivenLabel]) -> PageTable:
    """What people said of answers."""
    columns = ("model", "benchmark", "configuration", "item", "replicate", "annotator", "label", "comment")
    return PageTable(columns, ((*each.place, each.label, each.comment) for each in given))


def curve_table(curve: CurveFinding) -> PageTable:
    """Every specification of a curve, from the lowest estimate to the highest; then those without one."""
    columns = (
        *curve.forks, "odds ratio", "low", "high", "p", "log odds", "standard error", "samples", "units",
        "failure", "rows",
    )  # fmt: skip
    rows = (
        (
            *(each.levels.get(fork, "") for fork in curve.forks),
            *(
                (exp(fit.estimate), exp(fit.low), exp(fit.high), fit.p, fit.estimate, fit.error)
                if (fit := each.fitted)
                else (None,) * 6
            ),
            each.samples,
            each.units,
            ": ".join(each.failure) if each.failure else None,
            each.rows,
        )
        for each in (*curve.ranked, *curve.failed)
    )
    return PageTable(columns, rows)
