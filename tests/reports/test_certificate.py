"""The certificate's rows: read of findings by name, exact where those are, unchanged by a round trip."""

from fractions import Fraction
from math import inf

import pytest
from pydantic import ValidationError

from gridc.reports.certificate import certificate_of
from gridc.reports.findings.analysis import LARGEST_RHO, MAXIMA
from gridc.schema.certificate import Certificate, WitnessRow
from gridc.schema.rows import Part, Rounded, Unbounded, Unwritten
from gridc.statistics.reproducibility import every_digits
from tests.reports.builders import findings_of, reversing, spec_of


class Row(Part):
    a: int
    b: Rounded


class Counted(Part):
    n: Rounded | int | None


class Ends(Part):
    high: Unbounded


class Noted(Part):
    n: int
    why: Unwritten[str] = ""


class Source:
    a = 1
    b = Fraction(1, 3)


class Other:
    a = 2


def test_a_row_takes_each_field_by_name_from_the_first_that_has_it() -> None:
    assert Row.of(Source()) == Row(a=1, b=1 / 3)
    assert Row.of(Other(), Source()).a == 2
    assert Row.of(Other(), Source(), a=3).a == 3
    with pytest.raises(ValidationError, match="b"):
        Row.of(Other())


def test_a_number_is_exact_until_it_is_written() -> None:
    row = Row(a=1, b=1 / 3)
    assert row.b == 1 / 3
    assert row.model_dump() == row.model_dump(mode="json") == {"a": 1, "b": 0.3333333333}
    assert row.as_written().b == every_digits(row).b == 0.3333333333


def test_a_whole_number_stays_whole_where_a_field_may_hold_one() -> None:
    assert type(Counted(n=3).model_dump()["n"]) is int
    assert Counted(n=1 / 3).model_dump() == {"n": 0.3333333333}


def test_what_is_infinite_is_null_in_a_file_and_infinite_again_when_it_is_read() -> None:
    assert Ends(high=inf).model_dump() == {"high": None}
    assert Ends(high=inf).as_written().high == inf
    assert Ends.model_json_schema()["properties"]["high"]["anyOf"] == [{"type": "number"}, {"type": "null"}]


def test_what_is_not_written_is_said_of_a_finding_alone() -> None:
    row = Noted(n=1, why="for lack of a nail")
    assert row.why and row.model_dump() == {"n": 1}
    assert row.as_written().why == ""
    assert [*Noted.model_json_schema()["properties"]] == ["n"]


def test_scores_stay_exact() -> None:
    assert WitnessRow(configuration="c", a=(1, 3), b=(0, 1)).a == (1, 3)
    assert WitnessRow.of(configuration="c", a=Fraction(2, 6), b=Fraction(0)).a == (1, 3)


def test_a_certificate_holds_what_moves_the_scores() -> None:
    findings = findings_of(spec_of({"ant": None, "bee": None, "cat": None}), reversing)
    certificate = certificate_of(findings)
    (row,), (finding,) = certificate.benchmarks, findings.benchmarks
    shown = {(each.measurand, each.clean): each.second for each in row.variance}
    assert len(shown) == len(finding.analysis.variance) > 0
    for each in finding.analysis.variance:
        decomposition = shown[each.measurand, each.clean]
        assert decomposition.model == pytest.approx(each.second.model)
        shares = (decomposition.model, decomposition.implementation, decomposition.interaction)
        assert sum(shares) + decomposition.unexplained == pytest.approx(1)
        assert {term.term: term.df for term in decomposition.terms} == {
            term.term: term.df for term in each.second.terms
        }
    assert [gap.change.mean for gap in row.gaps] == [gap.change.mean for gap in finding.analysis.gaps]
    assert row.gaps
    assert {each.name for each in certificate.maxima} == {each.name for each in findings[MAXIMA]}
    ratios = [each.second.rho for each in finding.analysis.variance if not each.clean and each.second.rho]
    assert findings[LARGEST_RHO] is not None and certificate.largest_rho is not None
    assert certificate.largest_rho.slices == len(ratios)
    assert certificate.largest_rho.interval.point == pytest.approx(max(ratios))
    told = [each.resampled.rho.point for each in row.variance if each.resampled]
    assert [point for point in told if point] == pytest.approx(ratios)
    assert Certificate.model_validate_json(certificate.model_dump_json()) == certificate
