"""The figures: what they show is in them as text, whatever the axes are, and they draw the same twice."""

import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.reports import figures
from gridc.reports.figures.drawing import TIE, distinct_scopes
from gridc.reports.figures.surface import signed_gap
from tests.reports.builders import AXES, ITEMS, findings_of, reversing, spec_of

SVG = "{http://www.w3.org/2000/svg}"
TWO = {"left": None, "right": None}


def texts(figure: figures.Figure) -> list[str]:
    """Every text of a figure; fails when it is not SVG."""
    root = ElementTree.fromstring(figure.svg)
    assert root.tag == f"{SVG}svg"
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


def counted(higher: int, lower: int) -> dict[str, int]:
    """How many items the first of two models has right under each configuration: `higher` more than
    the other's 10 in the first, `lower` fewer in the second, the same elsewhere."""
    names = list(
        dict.fromkeys(cell.configuration for cell in findings_of(spec_of(TWO), reversing).plan.cells())
    )
    return dict.fromkeys(names, 10) | {names[0]: 10 + higher, names[1]: 10 - lower}


def test_a_cell_shows_the_sign_and_size_of_the_gap_and_marks_ties() -> None:
    left = counted(5, 7)
    spec = spec_of(TWO)
    found = findings_of(spec, lambda cell: left[cell.configuration] if cell.model == "left" else 10)
    (surface,) = figures.flip_surfaces(spec, found.benchmarks)["facts"]
    shown = texts(surface)
    assert shown.count("+25") == 1
    assert shown.count("−35") == 1
    assert shown.count("=") == 6
    assert "left higher in 1 of 8" in surface.words.replace("scores ", "")


def test_a_cell_that_is_not_measured_has_no_number() -> None:
    spec = spec_of(TWO)
    blank = next(iter(counted(0, 0)))
    found = findings_of(spec, lambda cell: None if cell.configuration == blank else 10)
    (surface,) = figures.flip_surfaces(spec, found.benchmarks)["facts"]
    assert texts(surface).count("=") == 7
    assert "1 not measured" in surface.words
    (rate,) = figures.flip_rates(found.benchmarks[0])
    assert "≥ 0.000" in texts(rate)


def test_every_model_count_gives_one_surface_and_one_rate_figure_for_each_pair() -> None:
    models = {"ant": None, "bee": None, "cat": None, "dog": None}
    spec = spec_of(models)
    found = findings_of(spec, reversing)
    surfaces = figures.flip_surfaces(spec, found.benchmarks)["facts"]
    rates = figures.flip_rates(found.benchmarks[0])
    pairs = list(combinations(models, 2))
    assert len(surfaces) == len(rates) == len(pairs) == 6
    for (a, b), surface, rate in zip(pairs, surfaces, rates, strict=True):
        assert f"{a} − {b}" in texts(surface)
        assert f"{a} and {b}" in texts(rate)
        assert f'aria-label="{surface.title}. {surface.words}"' in surface.inline
    ranges = figures.score_ranges(found.benchmarks[0])
    assert set(models) <= set(texts(ranges))


@pytest.mark.parametrize("names", [["frame"], ["reading", "shots"], ["shots", "reading", "frame"]])
def test_the_surface_takes_its_axes_from_the_spec(names: list[str]) -> None:
    spec = spec_of(TWO, axes={name: AXES[name] for name in names})
    found = findings_of(spec, reversing)
    (surface,) = figures.flip_surfaces(spec, found.benchmarks)["facts"]
    shown = texts(surface)
    assert set(names) <= set(shown)
    signs = [text for text in shown if text[0] in "+−="]
    assert len([text for text in signs if " " not in text]) == 2 ** len(names)
    assert ("5*" in shown) == ("shots" in names)


def test_rates_are_drawn_against_their_ceiling_in_every_distinct_scope() -> None:
    found = findings_of(spec_of(TWO), reversing)
    (rate,) = figures.flip_rates(found.benchmarks[0])
    for each in distinct_scopes(found.benchmarks[0].scopes):
        counts = each.pairs[0].counts
        assert f"{float(counts.rho_flip):.3f} of at most {float(counts.ceiling):.3f}" in rate.words
        assert f"{float(counts.rho_flip):.3f}" in texts(rate)
        assert f"{each.scope.name} ({counts.size})" in texts(rate)


def test_one_scale_serves_all_surfaces() -> None:
    """The same gap has the same colour in every panel, so that panels can be compared."""
    spec = spec_of({"a": None, "b": None, "c": None})
    level = {"a": 10, "b": 12, "c": ITEMS}
    found = findings_of(spec, lambda cell: level[cell.model] if cell.levels["shots"] == "0" else 8)
    first, _, third = figures.flip_surfaces(spec, found.benchmarks)["facts"]

    def fills(figure: figures.Figure) -> set[str]:
        cells = ElementTree.fromstring(figure.svg).iter(f"{SVG}rect")
        return {each.attrib["fill"] for each in cells} - {TIE}

    assert len(fills(first)) == len(fills(third)) == 1
    assert fills(first) != fills(third)


def test_figures_are_drawn_alike_twice() -> None:
    spec = spec_of(TWO)
    found = findings_of(spec, reversing)
    once, twice = (figures.flip_surfaces(spec, found.benchmarks)["facts"] for _ in range(2))
    assert once == twice


@pytest.mark.parametrize(
    ("points", "shown"),
    [(12.5, "+12.5"), (-12.6, "−12.6"), (0.04, "+<0.1"), (0.4, "+0.4"), (-0.96, "−1"), (100, "+100")],
)
def test_a_gap_never_loses_its_sign(points: float, shown: str) -> None:
    assert signed_gap(points) == shown


def test_an_unmeasured_study_still_has_figures() -> None:
    def nothing(cell: Cell) -> None:
        return None

    spec = spec_of(TWO)
    found = findings_of(spec, nothing)
    (surface,) = figures.flip_surfaces(spec, found.benchmarks)["facts"]
    assert "8 not measured" in surface.words
    assert "left: not measured." in figures.score_ranges(found.benchmarks[0]).words
