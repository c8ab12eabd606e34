"""Flip surfaces, scores of one model and specification curves, as pages show them.

In the figure of a specification curve each specification can be chosen. Running a curve refits all its
specifications, with its shuffles many times over. So that is done when a page of curves is first asked for,
and again only when the store has changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from gridc.numbers import hundredths, interval_words, number, odds_ratio, p_value, percent, stated_percent
from gridc.reports.estimates.components import specification_name
from gridc.reports.figures import Figure, specification_curve
from gridc.reports.figures.surface import signed_gap
from gridc.reports.findings.curves import CurveFinding, SpecificationFinding
from gridc.reports.findings.hypotheses.regression import ESTIMATORS
from gridc.reports.statements.components import result
from gridc.statistics.envelope import LEVEL
from gridc.viewer.store import StoredCell, StoredStudy

STEPS = 7
"""Tones of a colour, pale to strong."""

COLUMN, CHARACTER = 28, 5.4
"""Widths of a column and of a letter over it, in pixels."""

MOST_SQUARES = 1_500
"""A larger surface is shown in parts of so many configurations."""


@dataclass(frozen=True, slots=True)
class Square:
    """One configuration. `tone` names its colour (`a1` to `a7`: the first model higher, `b1` to `b7` the
    second, `tie`, `none` where not measured), `path` where it leads, `words` what it says."""

    text: str
    tone: str
    path: str
    words: str
    widest: bool = False


@dataclass(frozen=True, slots=True)
class Surface:
    """`heads` are the labels over the columns, one row for each axis that goes across, each with its width in
    columns and whether it is wider than these;
    `rows` the label of a row and its squares, None for a configuration that is not there. `plus`, `minus`
    and `ties` count configurations where the first model scores higher, lower, the same; `missing` those
    not measured in full."""

    a: str
    b: str
    down: str
    heads: tuple[tuple[str, tuple[tuple[str, int, bool], ...]], ...]
    rows: tuple[tuple[str, tuple[Square | None, ...]], ...]
    plus: int
    minus: int
    ties: int
    missing: int

    @property
    def configurations(self) -> int:
        return self.plus + self.minus + self.ties + self.missing


@dataclass(frozen=True, slots=True)
class PairTotal:
    """In how many configurations a model scores higher, lower or the same as another."""

    a: str
    b: str
    plus: int
    minus: int
    ties: int
    missing: int


@lru_cache(maxsize=1024)
def total(study: StoredStudy, benchmark: str, a: str, b: str) -> PairTotal:
    """Counted over the configurations that every model runs: the envelope."""
    gaps = [_gap(one, other) for one, other in _shared_cells(study, benchmark, a, b) if one.shared]
    return PairTotal(
        a, b,
        sum(gap is not None and gap > 0 for gap in gaps),
        sum(gap is not None and gap < 0 for gap in gaps),
        sum(gap == 0 for gap in gaps),
        sum(gap is None for gap in gaps),
    )  # fmt: skip


@lru_cache(maxsize=64)
def largest(study: StoredStudy, benchmark: str, pairs: tuple[tuple[str, str], ...]) -> float:
    """The largest gap of these pairs, in points of a hundred: one colour scale serves all of them."""
    gaps = [_gap(*both) for a, b in pairs for both in _shared_cells(study, benchmark, a, b)]
    return max((abs(float(gap)) for gap in gaps if gap is not None), default=0.0) or 1.0


def flip_surface(
    study: StoredStudy,
    benchmark: str,
    a: str,
    b: str,
    limit: float,
    path: Callable[[StoredCell, StoredCell], str],
) -> Surface:
    """The surface of a pair; `path` says where a square leads."""
    both = [(one, other) for one, other in _shared_cells(study, benchmark, a, b) if one.shared]
    measured = [(gap, one.id) for one, other in both if (gap := _gap(one, other)) is not None]
    ends = {
        identifier
        for gap, identifier in (max(measured, default=(0, -1)), min(measured, default=(0, -1)))
        if gap
    }
    squares = {}
    for one, other in both:
        gap, where = _gap(one, other), one.label
        if gap is None:
            words = f"{where}: not measured in full"
            squares[one.configuration] = Square("", "none", path(one, other), words)
            continue
        points = float(gap)
        words = f"{where}: {a} {_percent(one)}, {b} {_percent(other)}"
        text = signed_gap(points) if gap else "="
        squares[one.configuration] = Square(
            text, _tone(points, limit), path(one, other), words, one.id in ends
        )
    counted = total(study, benchmark, a, b)
    return _laid_out(
        [one for one, _ in both], squares, a, b, (counted.plus, counted.minus, counted.ties, counted.missing)
    )


def score_surface(
    study: StoredStudy, benchmark: str, model: str, path: Callable[[StoredCell], str]
) -> Surface:
    """The scores of one model in percent."""
    cells = [cell for cell in study.cells if cell.benchmark == benchmark and cell.model == model]
    squares = {}
    for cell in cells:
        where = cell.label
        if cell.score is None:
            squares[cell.configuration] = Square("", "none", path(cell), f"{where}: not measured in full")
        else:
            share = float(cell.score)
            tone = f"s{max(1, round(STEPS * min(max(share, 0.0), 1.0)))}"
            words = f"{where}: {_percent(cell)}"
            squares[cell.configuration] = Square(hundredths(share, 0), tone, path(cell), words)
    missing = sum(cell.score is None for cell in cells)
    return _laid_out(cells, squares, model, "", (len(cells) - missing, 0, 0, missing))


def _shared_cells(study: StoredStudy, benchmark: str, a: str, b: str) -> list[tuple[StoredCell, StoredCell]]:
    """The cells of two models under the configurations that both run."""
    ones = [cell for cell in study.cells if cell.benchmark == benchmark and cell.model == a]
    others = [study.at(b, benchmark, cell.configuration) for cell in ones]
    return [(one, other) for one, other in zip(ones, others, strict=True) if other is not None]


def _gap(one: StoredCell, other: StoredCell) -> Fraction | None:
    """By how many points of a hundred the first scores higher."""
    if one.score is None or other.score is None:
        return None
    return 100 * (one.score - other.score)


def _percent(cell: StoredCell) -> str:
    return "not measured" if cell.score is None else percent(cell.score)


def _tone(points: float, limit: float) -> str:
    if not points:
        return "tie"
    step = max(1, min(STEPS, round(STEPS * abs(points) / limit)))
    return f"{'a' if points > 0 else 'b'}{step}"


def _laid_out(
    cells: Sequence[StoredCell], squares: dict[str, Square], a: str, b: str, counts: tuple[int, int, int, int]
) -> Surface:
    """The first axis that varies goes down, the combinations of the others go across."""
    axes = list(dict.fromkeys(axis for cell in cells for axis in cell.levels))
    varied = [axis for axis in axes if len({cell.levels.get(axis) for cell in cells}) > 1]
    down, across = (varied[0], varied[1:]) if len(varied) > 1 else ("", varied)
    places = {
        cell.configuration: (
            cell.levels.get(down, ""),
            tuple(cell.levels.get(axis, "") for axis in across),
        )
        for cell in cells
    }
    names = list(dict.fromkeys(row for row, _ in places.values()))
    columns = list(dict.fromkeys(column for _, column in places.values()))
    by_place = {place: squares[configuration] for configuration, place in places.items()}
    heads = tuple(
        (
            axis,
            tuple(
                (key[-1], width := len(list(run)), len(key[-1]) * CHARACTER > width * COLUMN)
                for key, run in groupby(column[: depth + 1] for column in columns)
            ),
        )
        for depth, axis in enumerate(across)
    )
    rows = tuple((name, tuple(by_place.get((name, column)) for column in columns)) for name in names)
    return Surface(a, b, down, heads, rows, *counts)


@dataclass(slots=True)
class StatedCurves:
    """The curves that the spec of a study states. `run` runs them on the store as it is."""

    stamp: str
    run: Callable[[], Sequence[CurveFinding]]
    _about: StoredStudy | None = field(default=None, init=False)
    _found: Sequence[CurveFinding] = field(default=(), init=False)

    def of(self, study: StoredStudy) -> Sequence[CurveFinding]:
        """What they come to. The samples of a study are counted again when its store has changed."""
        if self._about is not study:
            self._found, self._about = self.run(), study
        return self._found


class SpecificationOnPage(NamedTuple):
    """A specification and how it is shown: `id` on the page, `name` in the document of estimates. What was
    fitted has a column, and its neighbours in the figure."""

    id: str
    name: str
    finding: SpecificationFinding
    facts: tuple[tuple[str, str], ...]
    default: bool


class CurveOnPage(NamedTuple):
    """A curve on its page. `specifications` are sorted as in the figure; `failed` have no place in it."""

    curve: CurveFinding
    sentence: str
    figure: Figure | None
    drawing: Markup
    specifications: tuple[SpecificationOnPage, ...]
    failed: tuple[SpecificationOnPage, ...]


def shown_curve(curve: CurveFinding) -> CurveOnPage:
    """A curve with its figure, whose columns lead to the specifications of the same page."""
    drawn = specification_curve(curve, "curve", lambda place: f"#{_id(place)}")
    numbers = {id(finding): number for number, finding in enumerate(curve.specifications)}

    def specification(finding: SpecificationFinding, name: str) -> SpecificationOnPage:
        stored = specification_name(curve, numbers[id(finding)])
        return SpecificationOnPage(name, stored, finding, tuple(_facts(finding)), finding is curve.default)

    return CurveOnPage(
        curve,
        result(curve).text,
        drawn,
        Markup(drawn.svg if drawn else ""),  # what it says was escaped when it was drawn
        tuple(specification(finding, _id(place)) for place, finding in enumerate(curve.ranked)),
        tuple(specification(finding, "") for finding in curve.failed),
    )


def _id(place: int) -> str:
    return f"s{place + 1}"


def _facts(finding: SpecificationFinding) -> list[tuple[str, str]]:
    """What a specification comes to and how, in words."""
    facts = []
    if finding.fitted is not None:
        fitted = finding.fitted
        facts = [
            ("odds ratio", odds_ratio(fitted.estimate)),
            (f"{stated_percent(LEVEL)} interval", interval_words((fitted.low, fitted.high), odds_ratio)),
            ("p", p_value(fitted.p)),
            ("log odds", f"{number(fitted.estimate, 4)}, standard error {number(fitted.error, 4)}"),
        ]
    return [
        *facts,
        ("outcome", f"{finding.outcome} ({finding.reading})"),
        ("estimator", finding.estimator),
        ("standard error", ESTIMATORS[finding.estimator].curve_errors),
        ("fixed effects", ", ".join(finding.terms) or "none"),
        ("rows", f"{finding.samples:,} samples of {finding.units:,} units"),
    ]
