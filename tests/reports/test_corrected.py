"""What people's labels correct, and what is said where nobody labelled."""

from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.reports.findings.corrected import CORRECTED, INFERRED
from gridc.reports.findings.run_record import RunRecord
from gridc.reports.statements.corrected import unchecked
from gridc.runtime.store.store import Store
from tests.e2e.judged import serving
from tests.reports.builders import findings_of, having, reversing, spec_of

TWO = {"ant": None, "bee": None}


@pytest.mark.parametrize(("inferred", "said"), [(0.1, False), (0.5, True)])
def test_inferred_readings_that_nobody_checked_are_named_where_they_are_many(
    inferred: float, said: bool
) -> None:
    findings = findings_of(spec_of(TWO), reversing)
    counts = {
        score.cell.key: (100, round(100 * inferred)) for each in findings.benchmarks for score in each.cells
    }
    sentences = list(unchecked(having(findings, INFERRED, counts)))
    assert bool(sentences) is said
    if said:
        assert sentences == [
            "No person has checked how answers were read: those of facts by what they leave standing, in "
            "50 % of cases. Labels for up to 100 answers of each model would show how many are misread "
            "(`gridc audit sample -n 200`)."
        ]


def test_a_sheet_without_labels_corrects_nothing_and_a_judge_is_called_unchecked(tmp_path: Path) -> None:
    with serving(tmp_path / "study") as judging:
        study = judging.write()
        study.stamp()
        study.run()
        study.audit_sample(8)
        with judging.store() as store:
            record = RunRecord(compile_spec(judging.folder / "gridcard.toml"), store)
            assert record[CORRECTED] == ()
    assert isinstance(store, Store)
