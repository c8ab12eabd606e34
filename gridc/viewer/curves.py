"""The specification curves of a study: a figure in which a specification can be chosen, and what each is.

Running a curve refits all its specifications, with its shuffles many times over. So it is done when a page of
curves is first asked for, and again only when the store has changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from markupsafe import Markup

from gridc.numbers import between, number, odds_ratio, p_value, stated_percent
from gridc.reports.estimates.curves import specification_name
from gridc.reports.figures import Figure, specification_curve
from gridc.reports.findings.curves import CurveFinding, SpecificationFinding
from gridc.reports.findings.hypotheses.regression import ESTIMATORS
from gridc.reports.statements.curves import result
from gridc.statistics.resample import LEVEL
from gridc.viewer.cells import StoredStudy


@dataclass(slots=True)
class StatedCurves:
    """The curves that the spec of a study states. `run` runs them on the store as it is."""

    stamp: str
    run: Callable[[], Sequence[CurveFinding]]
    _about: StoredStudy | None = field(default=None, init=False)
    _found: Sequence[CurveFinding] = field(default=(), init=False)

    def of(self, study: StoredStudy) -> Sequence[CurveFinding]:
        """What they come to. The samples of a study are counted anew when its store has changed."""
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


def shown(curve: CurveFinding) -> CurveOnPage:
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
            (f"{stated_percent(LEVEL)} interval", between((fitted.low, fitted.high), odds_ratio)),
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
