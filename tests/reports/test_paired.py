"""The paired report of two sides, with the counts done by hand."""

from fractions import Fraction

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.paired import paired_row
from gridc.reports.rendering import in_configurations
from gridc.schema.certificate import PairedRow
from gridc.statistics.paired_runs import Scored, pair_levels, pair_stores
from tests.reports.builders import AXES, findings_of, spec_of

Table = dict[str, dict[str, tuple[str | None, str | None]]]

TABLE: Table = {
    "T1": {"qwen": ("0.60", "0.61"), "yi": ("0.70", "0.50"), "mistral": ("0.20", "0.20")},
    "T3": {"qwen": ("0.50", "0.57"), "yi": ("0.40", "0.43"), "mistral": ("0.30", "0.31")},
}


def grid(table: Table) -> list[Scored]:
    """{template: {model: (nf4, bf16)}}"""
    return [
        (
            {"model": model, "benchmark": "b", "template": template, "precision": precision},
            Fraction(score),
        )
        for template, row in table.items()
        for model, both in row.items()
        for precision, score in zip(("nf4", "bf16"), both, strict=True)
        if score is not None
    ]


def compare(table: Table) -> PairedRow:
    return paired_row(pair_levels(grid(table), "precision", "nf4", "bf16"), "nf4", "bf16", "precision")


def test_the_change_of_scores() -> None:
    found = compare(TABLE).overall
    assert found is not None
    assert found.cells == 6
    assert found.median_absolute == pytest.approx(0.02)
    assert found.mean_absolute == pytest.approx(sum((0, 1, 1, 3, 7, 20)) / 600)
    assert found.max_absolute == pytest.approx(0.20)
    assert (found.over_5, found.over_10) == (2, 1)
    assert compare(TABLE).by_model["yi"].max_absolute == pytest.approx(0.20)
    assert compare(TABLE).by_model["mistral"].mean_absolute == pytest.approx(1 / 200)


def test_exactly_five_points_are_not_over_five() -> None:
    found = compare({"T1": {"a": ("0.30", "0.35")}}).overall
    assert found is not None
    assert found.over_5 == 0


def test_the_largest_changes_keep_their_sign() -> None:
    found = compare(TABLE).largest[:2]
    assert [(each.cell, Fraction(*each.right) - Fraction(*each.left)) for each in found] == [
        ("yi/b/template=T1", Fraction(-20, 100)),
        ("qwen/b/template=T3", Fraction(7, 100)),
    ]


def test_orderings_that_change_are_named_with_the_pairs_that_flip() -> None:
    found = compare(TABLE)
    assert (found.orderings, found.same_order, found.flips) == (2, 1, 1)
    (changed,) = found.reordered
    assert changed.configuration == "b/template=T1"
    assert changed.left == (("yi",), ("qwen",), ("mistral",))
    assert changed.right == (("qwen",), ("yi",), ("mistral",))
    assert changed.flips == (("qwen", "yi"),)


def test_a_tie_on_one_side_changes_the_order_but_flips_no_pair() -> None:
    (changed,) = compare({"T1": {"a": ("0.5", "0.5"), "b": ("0.4", "0.5")}}).reordered
    assert changed.flips == ()


def test_cells_without_a_partner_are_counted_and_left_out() -> None:
    table: Table = {
        "T1": {"a": ("0.5", None), "b": ("0.4", "0.5")},
        "T3": {"a": ("0.5", "0.6"), "b": ("0.4", "0.5")},
    }
    found = compare(table)
    assert found.overall is not None
    assert found.overall.cells == 3
    assert found.unpaired == 1
    assert found.orderings == 1


def test_nothing_paired_is_no_number() -> None:
    found = compare({})
    assert found.overall is None
    assert found.orderings == 0


def test_two_stores_and_two_levels_give_the_same_table() -> None:
    """A BF16 sweep beside an NF4 study, each a spec of its own, is the paired report of one spec's axis."""
    sides: list[list[Scored]] = [
        [
            ({key: name for key, name in place.items() if key != "precision"}, score)
            for place, score in grid(TABLE)
            if place["precision"] == precision
        ]
        for precision in ("nf4", "bf16")
    ]
    stores = paired_row(pair_stores(*sides), "nf4", "bf16", "precision")
    assert stores == compare(TABLE)


def test_an_axis_that_varies_precision_has_its_report_in_the_certificate() -> None:
    axes = {
        "format": [{"id": "whole", "precision": "fp32"}, {"id": "half", "precision": "bf16"}],
        "frame": AXES["frame"],
    }

    def moved(cell: Cell) -> int:
        place = 10 + (cell.model == "ant") * 2 - (cell.levels["frame"] == "exam")
        return place - 4 * (cell.levels["format"] == "half" and cell.model == "ant")

    (row,) = certificate_of(findings_of(spec_of({"ant": None, "bee": None}, axes=axes), moved)).precisions
    assert (row.axis, row.left, row.right) == ("format", "whole", "half")
    assert row.overall is not None
    assert (row.overall.cells, row.overall.over_10) == (4, 2)
    assert row.by_model["ant"].mean == pytest.approx(-0.2)
    assert row.by_model["bee"].max_absolute == 0
    assert (row.orderings, row.same_order, row.flips) == (2, 0, 2)


def test_without_an_axis_of_precision_there_is_no_such_report() -> None:
    assert certificate_of(findings_of(spec_of({"ant": None, "bee": None}), lambda cell: 10)).precisions == ()


def test_levels_that_differ_in_more_than_precision_are_no_report_on_it() -> None:
    axes = {
        "path": [
            {"id": "whole", "precision": "fp32", "method": "extract"},
            {"id": "half", "precision": "bf16", "method": "first_token"},
        ]
    }
    spec = spec_of({"ant": None, "bee": None}, axes=axes)
    assert certificate_of(findings_of(spec, lambda cell: 10)).precisions == ()


def test_one_model_has_no_order_to_compare() -> None:
    one = compare({"T1": {"a": ("0.30", "0.35")}})
    assert in_configurations(one) == "One model has no order to compare."
