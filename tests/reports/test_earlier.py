"""Data that came before a study's own: which answers count, in which stores they are found, and what every
document says of them."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthetic import fill, make
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.inputs.models import without_asking
from gridc.compiler.lock.attestation import Attestation
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import GridcError
from gridc.reports.exchange.bundle import CRATE, verify_bundle
from gridc.reports.exchange.recorded_study import RUN, RunFacts, described_run
from gridc.reports.files import deviation_report, deviation_text
from gridc.reports.findings.conduct import EARLIER
from gridc.reports.findings.findings import Findings
from gridc.reports.scorecard.methodology import methodology
from gridc.reports.statements import statement_texts
from gridc.runtime.merge import merge_stores
from gridc.runtime.store.earlier import earlier_answers
from gridc.runtime.store.events import Merged
from gridc.runtime.store.store import Store
from gridc.schema.scorecard import MethodRow
from gridc.study import OpenStudy
from tests.adversary.rooms.stores import AXES, reseal

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

LATER = "2030-01-01T00:00:00.000+00:00"


def store_of(folder: Path) -> Path:
    return folder / "results" / "synthetic" / "store.sqlite"


def findings(folder: Path) -> Findings:
    return OpenStudy(folder / "gridcard.toml").findings().findings


def line(found: Findings, name: str) -> MethodRow:
    (row,) = (row for row in methodology(found) if row.id == name)
    return row


def token(date: str) -> Attestation:
    """A third party's date."""
    return Attestation("token", date, "an authority", date)


def change(folder: Path, *changes: tuple[str, str]) -> None:
    spec = folder / "gridcard.toml"
    text = spec.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    spec.write_text(text, "utf-8")


def supersede(folder: Path) -> None:
    OpenStudy(folder / "gridcard.toml").stamp(supersede=True)


def run(folder: Path, store: Path | None = None) -> None:
    fill(compile_spec(folder / "gridcard.toml"), store or store_of(folder))


PROMPT = ('prompt = "builtin:T4"', 'prompt = "builtin:T3"')


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first") / "study"
    make(folder, 2, AXES)
    return folder


@pytest.fixture
def study(first: Path, tmp_path: Path) -> Path:
    """A study that is stamped and run."""
    return Path(shutil.copytree(first, tmp_path / "study"))


def test_a_study_that_replaced_no_stamp_says_nothing_of_it(study: Path) -> None:
    found = findings(study)
    assert found.earlier == ()
    assert "replace" not in " ".join([*statement_texts(found), line(found, "stamped_first").said])
    assert line(found, "stamped_first").holds == "yes"


def test_every_line_that_dates_the_stamp_follows_from_one_finding(study: Path) -> None:
    change(study, PROMPT)
    supersede(study)
    run(study)
    found = findings(study)
    (row,) = found.earlier
    assert row.superseded and row.before_stamp > 0 and row.items == sum(b.items for b in found.benchmarks)
    assert [line(found, name).holds for name in ("stamped_first", "deviations")] == ["no", "no"]
    assert "was replaced when there were data" in line(found, "deviations").said
    assert f"{row.words}: data predate the stamp." in statement_texts(found, "leading")
    assert "the stamp replaced it when there were data" in deviation_text(deviation_report(found))
    dated = replace(
        found,
        anchors=(Attestation("token", "2020-01-01T00:00:00+00:00", "TSA", "2020-01-01T00:00:00+00:00"),),
    )
    assert dated.vouched is False, "whatever date a token of this lock has, the other answers came first"
    assert line(dated, "vouched").holds == "no"


def test_superseding_before_any_data_is_harmless_and_said(study: Path) -> None:
    """The store that shows it is made after the last stamp."""
    shutil.rmtree(study / "results")
    change(study, PROMPT)
    supersede(study)
    run(study)
    found = findings(study)
    assert found.earlier == ()
    assert line(found, "stamped_first").holds == "yes"
    assert line(found, "deviations").holds == "yes"
    for text in (line(found, "stamped_first").said, " ".join(statement_texts(found, "limits"))):
        assert "The stamp replaced 1 earlier one, the last made" in text
        assert "whether data existed then is not known from this store" in text


def test_a_pilot_on_other_items_is_no_data_on_these(study: Path) -> None:
    for file in study.glob("*.json"):
        file.write_text(file.read_text("utf-8").replace("which is number", "which of all is number"), "utf-8")
    supersede(study)
    run(study)
    found = findings(study)
    assert found.earlier == ()
    assert line(found, "stamped_first").holds == "yes"
    said = line(found, "stamped_first").said
    assert "under it the store holds no older answer of its models to its items" in said


def test_the_same_question_under_another_name_and_key_is_the_same(study: Path) -> None:
    """The benchmark gets another name, its items stay, and another answer is said to be right."""
    change(study, ('id = "bbq"', 'id = "renamed"'))
    bbq = study / "bbq.json"
    rows = json.loads(bbq.read_text("utf-8"))
    for row in rows:
        row["mc1_targets"] = {text: int(number == 1) for number, text in enumerate(row["mc1_targets"])}
    bbq.write_text(json.dumps(rows), "utf-8")
    supersede(study)
    run(study)
    found = findings(study)
    (row,) = found.earlier
    assert row.items == sum(benchmark.items for benchmark in found.benchmarks)


def test_the_same_model_under_another_name_is_the_same(study: Path) -> None:
    change(study, ('id = "qwen"', 'id = "another"'))
    supersede(study)
    run(study)
    found = findings(study)
    assert sum(row.before_stamp for row in found.earlier) + found.before_stamp > 0


@pytest.mark.parametrize(
    "other, same",
    [
        ({"files": {"model.safetensors": "a"}, "chat_template_args": {"enable_thinking": False}}, True),
        ({"files": {"model.safetensors": "a"}, "server": "vllm"}, True),
        ({"source": "x", "unpinned": "who knows", "weights": {"files": {"model.safetensors": "a"}}}, True),
        ({"files": {"model.safetensors": "b"}}, False),
    ],
)
def test_a_model_that_is_asked_otherwise_is_the_same(other: dict[str, Any], same: bool) -> None:
    assert (without_asking(other) == without_asking({"files": {"model.safetensors": "a"}})) is same


def test_a_lock_that_was_deleted_and_made_anew_does_not_hide_what_the_store_has(study: Path) -> None:
    change(study, PROMPT)
    (study / "gridcard.lock").unlink()
    OpenStudy(study / "gridcard.toml").stamp()
    run(study)
    found = findings(study)
    (row,) = found.earlier
    assert not row.superseded
    assert line(found, "stamped_first").holds == "no"
    assert "under another stamp" in line(found, "stamped_first").said
    with pytest.raises(GridcError) as refused:
        OpenStudy(study / "gridcard.toml").verify()
    assert "GC701" in {each.code for each in refused.value.diagnostics}


def test_a_merge_tells_what_the_other_store_had(study: Path, tmp_path: Path) -> None:
    change(study, PROMPT)
    supersede(study)
    run(study)
    compiled = compile_spec(study / "gridcard.toml")
    there = tmp_path / "there.sqlite"
    shutil.move(store_of(study), there)
    for beside in store_of(study).parent.glob("store.*"):
        beside.unlink()
    assert compiled.lock is not None
    merge_stores(Plan(compiled.study), compiled.lock, store_of(study), [there])
    with Store.open(store_of(study)) as store:
        assert len(store.stamps()) == 1
        (merged,) = store.bodies_of(Merged)
    found = findings(study)
    assert list(found.earlier) == merged.earlier
    assert line(found, "stamped_first").holds == "no"


def test_a_bundle_names_earlier_studies_and_holds_no_row_of_them(study: Path, tmp_path: Path) -> None:
    old = compile_spec(study / "gridcard.toml").lock
    assert old is not None
    change(study, PROMPT)
    supersede(study)
    run(study)
    opened = OpenStudy(study / "gridcard.toml")
    opened.report()
    assert opened.verify().complete
    bundle = opened.bundle(tmp_path / "bundle")
    nodes = {node["@id"]: node for node in json.loads((bundle / CRATE).read_text("utf-8"))["@graph"]}
    assert nodes[f"#stamp-{old.stamp}"]["description"].startswith(f"Stamp {old.stamp}, made {old.created}")
    with closing(sqlite3.connect(bundle / "results" / "store.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM study").fetchone() == (1,)
    checked = verify_bundle(bundle)
    (told,) = (each for each in checked.checked if "stamps that this one replaced" in each)
    assert f"{old.stamp[:12]} of {old.created[:10]}" in told and "calls answered by event" in told
    certificate = json.loads((bundle / "results" / "certificate.json").read_text("utf-8"))
    assert certificate["earlier"][0]["stamp"] == old.stamp


def dates(folder: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    """Change dates in a store, and seal its chain again."""
    with closing(sqlite3.connect(store_of(folder))) as db, db:
        for statement, values in statements:
            assert db.execute(statement, values).rowcount > 0
    reseal(store_of(folder).parent, lambda _, body: body)


def test_where_the_clock_was_set_back_the_chain_shows_the_order(study: Path) -> None:
    """The first run is dated after the stamp that replaced its own: the chain has it before."""
    dates(study, ("UPDATE call SET finished = ?", (LATER,)), ("UPDATE event SET at = ?", (LATER,)))
    change(study, PROMPT)
    supersede(study)
    run(study)
    found = findings(study)
    assert found.steps_back
    (row,) = found.earlier
    assert row.before_stamp > 0 and row.first == LATER
    assert line(found, "stamped_first").holds == "no"


def test_what_a_replaced_stamp_was_asked_after_it_was_replaced_is_said_as_such(study: Path) -> None:
    """By the dates of its calls alone; the chain was written by a clock that went on."""
    change(study, PROMPT)
    supersede(study)
    run(study)
    mine = """id IN (SELECT call FROM trace JOIN cell ON cell.id = cell
                     WHERE stamp = (SELECT stamp FROM study ORDER BY rowid DESC LIMIT 1))"""
    dates(
        study,
        (f"UPDATE call SET finished = ? WHERE {mine}", (LATER,)),
        (f"UPDATE call SET finished = '2029-01-01T00:00:00.000+00:00' WHERE NOT {mine}", ()),
        ("UPDATE event SET at = ? WHERE seq > 3", (LATER,)),
    )
    found = findings(study)
    (row,) = found.earlier
    assert (row.before_stamp, row.after_stamp > 0) == (0, True)
    assert line(found, "stamped_first").holds == "not_measured"
    assert "run again, or a clock was set back" in line(found, "stamped_first").said
    assert "| the stamp replaced it |" in deviation_text(deviation_report(found))
    between = Attestation("token", "2029-06-01T00:00:00+00:00", "TSA", "2029-06-01T00:00:00+00:00")
    assert replace(found, anchors=(between,)).vouched is False
    assert (
        "the first answer of its models to its items is dated 2029"
        in line(replace(found, anchors=(between,)), "vouched").said
    )


def test_an_export_of_the_answers_keeps_what_came_before(study: Path) -> None:
    """Of a study alone it is as it was: an older gridc reads it."""
    compiled = compile_spec(study / "gridcard.toml")
    assert "earlier" not in json.loads(facts_of(compiled))
    change(study, PROMPT)
    supersede(study)
    run(study)
    facts = RunFacts.model_validate_json(facts_of(compile_spec(study / "gridcard.toml")))
    assert tuple(facts.earlier) == findings(study)[EARLIER] == findings(study).earlier != ()


def facts_of(compiled: Compiled) -> bytes:
    assert compiled.lock is not None
    with Store.open(store_of(compiled.source.path.parent)) as store:
        return described_run(compiled, compiled.lock, store)[RUN]


def test_what_a_report_noted_is_told_where_the_rows_are_gone(study: Path, tmp_path: Path) -> None:
    """The store of a bundle is put in the place of the study's own, where the items are."""
    change(study, PROMPT)
    supersede(study)
    run(study)
    opened = OpenStudy(study / "gridcard.toml")
    opened.report()
    before = findings(study).earlier
    bundle = opened.bundle(tmp_path / "bundle")
    for beside in store_of(study).parent.glob("store.*"):
        beside.unlink()
    shutil.copy(bundle / "results" / "store.sqlite", store_of(study))
    assert findings(study).earlier == before != ()
    (told,) = (each for each in opened.verify().checked if "the store does not have" in each)
    assert before[0].stamp[:12] in told


def test_a_study_in_the_store_that_cannot_be_read_is_a_finding(study: Path) -> None:
    with closing(sqlite3.connect(store_of(study))) as db, db:
        db.execute("INSERT INTO study VALUES (?, '2026-01-01T00:00:00+00:00', '{\"inputs\": 5}')", ["0" * 64])
    with pytest.raises(GridcError) as refused:
        findings(study)
    assert {each.code for each in refused.value.diagnostics} == {"GC605"}


def test_calls_that_failed_are_no_data(study: Path) -> None:
    error = '{"error": {"kind": "refused", "message": "no"}}'
    with closing(sqlite3.connect(store_of(study))) as db, db:
        db.execute("UPDATE call SET answer = ?", [error])
    change(study, PROMPT)
    supersede(study)
    compiled = compile_spec(study / "gridcard.toml")
    assert compiled.lock is not None
    with Store.open(store_of(study)) as store:
        assert earlier_answers(store, Plan(compiled.study), compiled.lock) == ()
