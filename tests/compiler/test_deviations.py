"""Stamped against current: what departs, and that the log explains it one to one."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.lock.deviations import (
    ABSENT,
    Departure,
    Reconciliation,
    covers,
    departures,
    log_path,
    reconcile,
    require_reconciled,
    require_same,
    write_log,
)
from gridc.compiler.lock.lock import Lock, make_lock
from gridc.diagnostics.errors import SpecError, StampError
from tests.replaced import replaced

Compile = Callable[..., Compiled]
WARMER = ("temperature = 0.7", "temperature = 0.9")
WARMTH = "axis[decoding].level[warm].temperature"

LOG = """\
deviations = 1

[[deviation]]
id = "D-001"
element = "temperature" # as the provider has it
reason = "0.7 was refused"

[[deviation.change]]
path = "axis[decoding].level[warm].temperature"
registered = 0.7
implemented = 0.9
"""


@pytest.fixture
def lock(compiled: Compile, small: Path) -> Lock:
    return make_lock(compiled().study, small)


def codes(result: Reconciliation) -> list[str]:
    return [each.code for each in result.findings]


def written(small: Path, text: str) -> Path:
    log_path(small).write_text(text)
    return log_path(small)


def test_a_study_that_is_as_stamped_departs_from_nothing(compiled: Compile, lock: Lock, small: Path) -> None:
    result = reconcile(lock, compiled().study, log_path(small))
    assert (result.departures, result.findings, result.manifest()) == ((), (), [])
    require_same(lock, compiled().study, small)


def test_a_departure_without_an_entry_is_refused_and_named(
    compiled: Compile, lock: Lock, small: Path
) -> None:
    study = compiled(WARMER).study
    assert departures(lock.content, study.stamped()) == [Departure(WARMTH, 0.7, 0.9)]
    for check in (require_reconciled, require_same):
        with pytest.raises(StampError) as caught:
            check(lock, study, log_path(small))
        (only,) = caught.value.diagnostics
        assert only.code == "GC401"
        assert only.message == f"`{WARMTH}` was 0.7 when it was stamped and is 0.9 now"


def test_an_entry_with_a_reason_lets_the_study_run(compiled: Compile, lock: Lock, small: Path) -> None:
    path = written(small, LOG)
    (entry,) = require_reconciled(lock, compiled(WARMER).study, path).manifest()
    assert entry["changes"] == [{"path": WARMTH, "registered": 0.7, "implemented": 0.9}]
    assert (entry["id"], entry["reason"], entry["resolved"]) == ("D-001", "0.7 was refused", False)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('reason = "0.7 was refused"', 'reason = " "', ["GC407"]),
        ("registered = 0.7", "registered = 0.8", ["GC408"]),
        ("implemented = 0.9\n", "", ["GC408"]),
        ("level[warm].temperature", "level[warm].top_p", ["GC401", "GC402"]),
        ("level[warm].temperature", "level[war", ["GC401", "GC402"]),
        ('"0.7 was refused"', '"it was undone"\nresolved = true', ["GC401", "GC402"]),
        ('id = "D-001"', 'id = "D-001"\nresolution = 1', None),
        ("deviations = 1", "deviations = 2", None),
    ],
)
def test_the_log_and_the_difference_are_one_to_one(
    compiled: Compile, lock: Lock, small: Path, old: str, new: str, expected: list[str] | None
) -> None:
    path = written(small, replaced(LOG, (old, new)))
    study = compiled(WARMER).study
    if expected is None:
        with pytest.raises(SpecError):
            reconcile(lock, study, path)
    else:
        assert codes(reconcile(lock, study, path)) == expected


def test_a_difference_is_explained_once(compiled: Compile, lock: Lock, small: Path) -> None:
    second = LOG.partition("\n\n")[2].replace("D-001", "D-002")
    result = reconcile(lock, compiled(WARMER).study, written(small, f"{LOG}\n{second}"))
    assert codes(result) == ["GC402"]
    assert "already explained by `D-001`" in result.findings[0].message


def test_an_entry_may_explain_everything_below_its_path(compiled: Compile, lock: Lock, small: Path) -> None:
    study = compiled(WARMER, ("replicates = 2", "replicates = 3")).study
    start = LOG.partition("[[deviation.change]]")[0]
    path = written(small, f'{start}[[deviation.change]]\npath = "axis[decoding].level[warm]"\n')
    result = require_reconciled(lock, study, path)
    ((_, found),) = result.entries()
    assert [each.path.rpartition(".")[2] for each in found] == ["replicates", "temperature"]


def test_what_was_undone_stays_in_the_log(compiled: Compile, lock: Lock, small: Path) -> None:
    path = written(small, LOG.replace("[[deviation.change]]", "resolved = true\n\n[[deviation.change]]"))
    (entry,) = require_reconciled(lock, compiled().study, path).manifest()
    assert entry["resolved"] is True
    assert entry["changes"] == [{"path": WARMTH, "registered": 0.7, "implemented": 0.9}]
    written(small, LOG)
    assert codes(reconcile(lock, compiled().study, path)) == ["GC402"]


def test_an_input_departs_where_the_spec_does_not_say_so(compiled: Compile, lock: Lock, small: Path) -> None:
    items = small.parent / "facts.json"
    items.write_bytes(items.read_bytes().replace(b"tool", b"thing"))
    (small.parent / "models" / "left" / "model.safetensors").write_bytes(b"other")
    found = departures(lock.content, compiled().study.stamped())
    assert [each.path for each in found] == ["inputs.benchmarks[facts]", "inputs.models[left]"]
    assert "model.safetensors" in found[1].implemented
    with pytest.raises(StampError) as caught:
        require_reconciled(lock, compiled().study, log_path(small))
    assert [each.code for each in caught.value.diagnostics] == ["GC405", "GC405"]
    implied = compiled(("n = 4, seed = 1", "n = 3, seed = 1")).study
    paths = [each.path for each in departures(lock.content, implied.stamped())]
    assert paths == ["benchmark[facts].sample.n", "inputs.models[left]"]


def test_data_that_arrive_after_the_stamp_are_no_departure(compiled: Compile, small: Path) -> None:
    absent = compiled(('"path:facts.json"', '"data:facts.json"'))
    lock = make_lock(absent.study, small)
    assert list(absent.study.absent) == ["facts"]
    arrived = compile_spec(small, small.parent).study
    assert not arrived.absent
    assert departures(lock.content, arrived.stamped()) == []


def test_data_that_are_not_here_any_more_are_looked_for(compiled: Compile, small: Path) -> None:
    absent = compiled(('"path:facts.json"', '"data:facts.json"')).study
    lock = make_lock(compile_spec(small, small.parent).study, small)
    (found,) = reconcile(lock, absent, log_path(small)).findings
    assert found.code == "GC405"
    assert "`data:facts.json` is not here" in found.message
    assert "--data" in (found.help or "")


def test_an_added_and_a_removed_table_are_one_departure_each(
    compiled: Compile, lock: Lock, small: Path
) -> None:
    roster = '[roster]\ninclusion = "all"\n\n[sampling]'
    study = compiled(("[sampling]", roster), ('[[hypothesis]]\nid = "H1"', '[[hypothesis]]\nid = "H2"')).study
    found = {each.path: each for each in departures(lock.content, study.stamped())}
    assert list(found) == ["hypothesis[H1]", "hypothesis[H2]", "roster"]
    assert found["hypothesis[H1]"].implemented is ABSENT
    assert found["roster"].registered is ABSENT


def test_writing_the_log_adds_what_is_missing_and_keeps_what_a_person_wrote(
    compiled: Compile, lock: Lock, small: Path
) -> None:
    path = written(small, LOG.replace("implemented = 0.9", "implemented = 0.8"))
    study = compiled(WARMER, ("shots = 2", "shots = 1")).study
    assert write_log(reconcile(lock, study, path), path) == 1
    text = path.read_text()
    assert text.startswith(LOG.partition("[[deviation.change]]")[0])
    assert "# as the provider has it" in text
    first, second = tomllib.loads(text)["deviation"]
    assert first["change"] == [{"path": WARMTH, "registered": 0.7, "implemented": 0.9}]
    assert (second["id"], second["reason"]) == ("D-002", "")
    assert second["change"] == [{"path": "harness.shots", "registered": 2, "implemented": 1}]
    assert codes(reconcile(lock, study, path)) == ["GC407"]
    path.write_text(text.replace('reason = ""', 'reason = "too long"'))
    require_reconciled(lock, study, path)
    before = path.read_text()
    assert write_log(reconcile(lock, study, path), path) == 0
    assert path.read_text() == before


def test_a_log_is_begun_where_there_is_none(compiled: Compile, lock: Lock, small: Path) -> None:
    roster = '[roster]\ninclusion = "all"\n\n[sampling]'
    study = compiled(WARMER, ("[sampling]", roster)).study
    path = log_path(small)
    assert path.name == "deviations.toml"
    assert write_log(reconcile(lock, study, path), path) == 2
    assert codes(reconcile(lock, study, path)) == ["GC407", "GC407"]
    path.write_text(path.read_text().replace('reason = ""', 'reason = "why"'))
    assert [each["id"] for each in require_reconciled(lock, study, path).manifest()] == ["D-001", "D-002"]


def test_each_spec_of_a_folder_has_its_own_log() -> None:
    assert log_path(Path("specs/x.toml")) == Path("specs/x.deviations.toml")


@pytest.mark.parametrize(
    ("prefix", "path", "below"),
    [
        ("a", "a", True),
        ("a", "a.b", True),
        ("a", "a[b]", True),
        ("a[b]", "a[b].c[d].e", True),
        ("model", "model (order)", True),
        ("a", "ab", False),
        ("a.b", "a", False),
        ("a[b", "a[bc]", False),
        ("axis[a].level", "axis[a].levels", False),
    ],
)
def test_a_path_covers_itself_and_what_lies_below(prefix: str, path: str, below: bool) -> None:
    assert covers(prefix, path) is below
