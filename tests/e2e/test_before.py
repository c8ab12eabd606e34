"""A lock, a store and a bundle that were written before stamps covered gridc's own code: they hold as they
are, and what they do not cover is named. `tests/golden/before` is never written again."""

import json
import os
import shutil
from pathlib import Path

import pytest

from gridc.compiler.instrument import versions
from gridc.compiler.lock.diff import compare, read_document
from gridc.compiler.lock.lock import read_lock
from gridc.diagnostics.errors import StampError
from gridc.reports.verification import behaves
from gridc.study import open as open_study
from gridc.study.place import place_of
from gridc.study.stamping import make_stamp

BEFORE = Path(__file__).parents[1] / "golden" / "before"


def unpacked(folder: Path) -> Path:
    """The study where it was run, beside its items; the spec."""
    results = folder / "results" / "before"
    results.mkdir(parents=True)
    shutil.copy(BEFORE / "bundle" / "results" / "store.sqlite", results)
    for path in (
        BEFORE / "bundle" / "gridcard.toml",
        BEFORE / "bundle" / "gridcard.lock",
        BEFORE / "facts.json",
    ):
        shutil.copy(path, folder)
    return folder / "gridcard.toml"


def test_a_bundle_verifies_and_says_what_it_does_not_cover(tmp_path: Path) -> None:
    bundle = shutil.copytree(BEFORE / "bundle", tmp_path / "bundle")
    found = open_study(bundle).verify()
    assert found.complete
    assert any(line.startswith("not covered: the lock has the format gridc-lock/2") for line in found.checked)


def test_a_study_verifies_under_its_own_stamp_until_it_is_superseded(tmp_path: Path) -> None:
    spec = unpacked(tmp_path)
    study, old = open_study(spec), read_lock(tmp_path / "gridcard.lock")
    assert old is not None
    assert not old.covers_behaviour
    assert old.text() == (tmp_path / "gridcard.lock").read_text("utf-8"), "it is written as it was"
    verified = study.verify()
    assert (verified.stamp, verified.complete) == (old.stamp, True)
    assert any(line.startswith("not covered:") for line in verified.checked)
    checked = study.check_stamp()
    assert checked.current
    assert checked.uncovered == old.uncovered() is not None
    assert study.deviations().uncovered == old.uncovered()
    compiled = place_of(spec).compiled()
    assert make_stamp(compiled, supersede=False) == (old, "already stamped")
    lock, news = make_stamp(compiled, supersede=True)
    assert news == "stamped"
    assert lock.covers_behaviour
    assert lock.uncovered() is None
    assert [each.stamp for each in lock.chain] == [old.stamp, lock.stamp]
    assert read_lock(tmp_path / "gridcard.lock") == lock
    documents = [
        read_document(BEFORE / "bundle" / "gridcard.lock"),
        read_document(tmp_path / "gridcard.lock"),
    ]
    assert [each.path for each in compare(*documents)] == ["inputs.scaffolds", "behaviour"]
    assert compare(read_document(spec), documents[0]) == compare(read_document(spec), documents[1]) == []


def test_another_behaviour_is_an_explained_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = unpacked(tmp_path)
    make_stamp(place_of(spec).compiled(), supersede=True)
    stamped = read_document(tmp_path / "gridcard.lock")
    assert stamped.behaviour is not None
    upgrade(monkeypatch)
    study = open_study(spec)
    with pytest.raises(StampError) as caught:
        study.check_stamp()
    (only,) = caught.value.diagnostics
    assert only.code == "GC409"
    assert "`behaviour[scaffold:cot]` was" in only.message
    assert "the gridc that stamped it" in (only.help or "")
    (difference,) = compare(stamped, read_document(spec))
    assert (difference.path, difference.a) == ("behaviour[scaffold:cot]", stamped.behaviour["scaffold:cot"])
    assert (difference.a, difference.b) == (1, 2)
    assert study.deviations(write=True).added == 1
    log = tmp_path / "deviations.toml"
    log.write_text(log.read_text("utf-8").replace('reason = ""', 'reason = "gridc was upgraded"'), "utf-8")
    assert study.check_stamp().explained == ("behaviour[scaffold:cot]",)


def upgrade(patch: pytest.MonkeyPatch) -> None:
    """As a later gridc might have it: another `cot`."""
    patch.setattr(versions, "PARTS", {**versions.PARTS, "scaffold:cot": 2})


def test_a_lock_that_holds_fingerprints_says_that_they_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made by the last gridc that held them; it reads back as it was written."""
    monkeypatch.delenv("GRIDC_DATA", raising=False)  # its items are not here
    held = Path(__file__).parents[1] / "runtime" / "stores" / "gridc-lock-3"
    lock = read_lock(held / "minimal.lock")
    assert lock is not None
    assert lock.format == "gridc-lock/3"
    assert lock.text() == (held / "minimal.lock").read_text("utf-8")
    spec = shutil.copytree(held, tmp_path / "study") / "minimal.toml"
    with pytest.raises(StampError) as caught:
        open_study(spec).check_stamp()
    assert {each.code for each in caught.value.diagnostics} == {"GC409"}
    assert all("whether it does the same is not known" in each.message for each in caught.value.diagnostics)
    assert "not compared" in behaves(lock, lock.content)
    superseded, _ = make_stamp(place_of(spec).compiled(), supersede=True)
    assert superseded.format == "gridc-lock/4"
    assert open_study(spec).check_stamp().current


def test_a_folder_whose_name_is_not_utf_8_verifies(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xe9"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes no such name")
    assert open_study(unpacked(folder)).verify().complete
    bundle = shutil.copytree(BEFORE / "bundle", folder / "bundle")
    assert open_study(bundle).verify().complete


def test_a_lock_that_says_another_format_than_it_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gridcard.lock"
    document = json.loads((BEFORE / "bundle" / "gridcard.lock").read_text("utf-8"))
    path.write_text(json.dumps({**document, "format": "gridc-lock/3"}), "utf-8")
    with pytest.raises(StampError, match="GC403"):
        read_lock(path)
