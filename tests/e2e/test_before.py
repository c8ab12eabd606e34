"""Bundles of earlier versions verify, and what is not covered is named: one without reports that was written
before stamps covered gridc's own code, and one with its reports for each released format. What lies in
`tests/golden/before` is never written again."""

import json
import os
import shutil
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gridc import __version__
from gridc.compiler.instrument import versions
from gridc.compiler.lock.deviations import path_differences, read_document
from gridc.compiler.lock.lock import read_lock
from gridc.diagnostics.errors import StampError, VerificationError
from gridc.reports.exchange import MANIFEST
from gridc.reports.exchange.bundle import CRATE
from gridc.reports.exchange.recorded_study import json_bytes
from gridc.reports.rendering import report_code_digest
from gridc.reports.verification import same_behaviour
from gridc.schema.canonical import digest_bytes
from gridc.study import open as open_study
from gridc.study.place import place_of
from gridc.study.stamping import make_stamp
from tests.adversary.rooms.bundles import listed
from tests.adversary.rooms.stores import reseal
from tests.e2e.conftest import command

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

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


KEPT = sorted(BEFORE.glob("*.tar.xz"))
"""Bundles with their reports, named by the version and the commit that made them."""
REPORTED = [path for path in KEPT if path.name < "0.6"]
"""Those of the first format of each document: the later ones name the digest of the code that wrote them."""


@pytest.fixture
def reported(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpacked_bundle(request.param, tmp_path)


def unpacked_bundle(packed: Path, folder: Path) -> Path:
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / packed.name.removesuffix(".tar.xz")


def said(bundle: Path) -> list[str]:
    with pytest.raises(VerificationError) as caught:
        open_study(bundle).verify()
    assert {each.code for each in caught.value.diagnostics} == {"GC707"}
    return [each.message for each in caught.value.diagnostics]


@pytest.mark.parametrize("reported", REPORTED, indirect=True, ids=lambda path: path.name)
def test_reports_of_an_earlier_version_verify_by_their_data(reported: Path) -> None:
    found = open_study(reported).verify()
    assert found.complete
    told = "\n".join(found.checked)
    assert "the evidence in the reports that are here is what the store says, as far as compared" in told
    assert "not compared, as other code than this gridc's wrote it: report.html" in told
    assert {"report.html", "gridcard.md", "scorecard.md", "tables.tex"} <= found.not_compared.keys()
    assert "not compared in certificate.json (older format gridc-certificate/1): " in told
    assert "pip install" not in told
    folder = found.write_again()
    assert folder is not None
    assert folder.parent == reported.parent
    assert (folder / "report.html").read_text("utf-8") == found.not_compared["report.html"]
    assert open_study(reported).verify() == found, "the bundle itself stays as it was"


@pytest.mark.parametrize("kept", [path for path in KEPT if path not in REPORTED], ids=lambda path: path.name)
def test_reports_of_the_second_format_verify(kept: Path, tmp_path: Path) -> None:
    """Whatever was reworded since is named, and nothing else."""
    bundle = unpacked_bundle(kept, tmp_path)
    db = sqlite3.connect(bundle / "results" / "store.sqlite")
    (body,) = db.execute("SELECT body FROM event WHERE kind = 'report'").fetchone()
    db.close()
    found = open_study(bundle).verify()
    assert found.complete
    assert len(json.loads(body)["code"]) == 64
    assert found.not_compared == {} or json.loads(body)["code"] != report_code_digest()


def writer(bundle: Path) -> str:
    """The version that wrote a bundle's reports."""
    return bundle.name.partition("-")[0]


def change(path: Path, before: str, after: str, count: int = -1) -> str:
    """Edit a report; what it was."""
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, count), "utf-8")
    return text


def fit(bundle: Path, *names: str, version: str | None = None) -> None:
    """Record edited reports as whoever knows the code would: in the events, the crate and the manifest."""
    files = {name: digest_bytes((bundle / "results" / name).read_bytes()) for name in names}

    def recorded(kind: str, body: dict[str, Any]) -> dict[str, Any]:
        if kind != "report":
            return body
        written = {"gridc": version} if version else {}
        return {**body, **written, "files": {**body["files"], **files}}

    reseal(bundle / "results", recorded)
    listed(bundle, "results/store.sqlite", *(f"results/{name}" for name in names))


EDITS = [
    ("certificate.json", '"plus": 4', '"plus": 6'),
    ("estimates.json", '"estimate": 0.775', '"estimate": 0.999'),
    ("gridcard.json", '"score": 0.775', '"score": 0.999'),
    ("scorecard.json", '"title": "', '"claimed": 0.999, "title": "'),
    ("certificate.json", '"format": "gridc-certificate/', '"format": "gridc-certificate/9'),
]


@pytest.mark.parametrize(
    ("reported", "name", "before", "after"),
    [
        pytest.param(path, *edit, id=f"{path.name}-{edit[0]}-{edit[2]}")
        for path in KEPT
        for edit in (EDITS if path in (KEPT[0], KEPT[-1]) else EDITS[:1])
    ],
    indirect=["reported"],
)
def test_evidence_of_other_code_is_still_recomputed(
    reported: Path, name: str, before: str, after: str
) -> None:
    change(reported / "results" / name, before, after)
    fit(reported, name, version="99.0.0")
    assert any(message.startswith(f"{name} is not what the store says: ") for message in said(reported))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("report.html", "77.5", "98.76"),
        ("gridcard.md", "77.5", "98.76"),
        ("scorecard.md", "77.5", "98.76"),
        ("tables.tex", "77.5", "98.76"),
        ("report.html", "</h1>", "</h1><p>It scores 2<b>1</b>.4&#32;%.</p>"),
    ],
)
def test_a_text_of_other_code_is_named_and_written_again(
    name: str, before: str, after: str, tmp_path: Path
) -> None:
    """What it says is not compared, so nothing of it is called verified."""
    bundle = unpacked_bundle(REPORTED[-1], tmp_path)
    change(bundle / "results" / name, before, after)
    fit(bundle, name)
    found = open_study(bundle).verify()
    assert name in found.not_compared
    assert after not in found.not_compared[name]
    done = command("verify", bundle.name, cwd=tmp_path)
    assert done.returncode == 9
    assert "verified, but for reports that were not compared" in done.stdout
    written = tmp_path / f"{bundle.name}-by-gridc-{__version__}" / name
    assert written.read_text("utf-8") == found.not_compared[name]


def test_a_sentence_in_evidence_is_no_evidence(tmp_path: Path) -> None:
    bundle = unpacked_bundle(REPORTED[-1], tmp_path)
    document = json.loads((bundle / "results" / "certificate.json").read_text("utf-8"))
    document["statements"] = ["Everything is certified."]
    (bundle / "results" / "certificate.json").write_text(json.dumps(document), "utf-8")
    fit(bundle, "certificate.json")
    assert {message.split(":")[0] for message in said(bundle)} <= {
        "gridcard.json is not what the store says",
        "deviations.json is not what the store says",
    }, "the card names the certificate by its digest"
    for name in ("gridcard.json",):
        held = json.loads((bundle / "results" / name).read_text("utf-8"))
        held["certificate"] = digest_bytes((bundle / "results" / "certificate.json").read_bytes())
        (bundle / "results" / name).write_text(json.dumps(held), "utf-8")
    fit(bundle, "certificate.json", "gridcard.json")
    assert "certificate.json" in open_study(bundle).verify().not_compared


def test_cards_name_the_certificate_that_lies_beside_them(tmp_path: Path) -> None:
    """Also where no byte of the cards was changed."""
    bundle = unpacked_bundle(KEPT[-1], tmp_path)
    document = json.loads((bundle / "results" / "certificate.json").read_text("utf-8"))
    document["statements"] = ["Everything is certified."]
    (bundle / "results" / "certificate.json").write_text(json.dumps(document), "utf-8")
    fit(bundle, "certificate.json")
    assert any(message.startswith("gridcard.json is not what the store says") for message in said(bundle))


def test_a_report_that_no_event_records_is_no_other_codes(tmp_path: Path) -> None:
    """Words are not compared, so that the chain must at least hold the file that was written."""
    bundle = unpacked_bundle(REPORTED[0], tmp_path)
    change(bundle / "results" / "report.html", "Descriptive", "Certified")
    listed(bundle, "results/report.html")
    (only,) = said(bundle)
    assert only.startswith("report.html is not what the store says: ")


def test_a_report_that_is_not_here_is_named(tmp_path: Path) -> None:
    bundle = unpacked_bundle(REPORTED[-1], tmp_path)
    (bundle / "results" / "scorecard.md").unlink()
    forget(bundle, "results/scorecard.md")
    assert "written and not here: scorecard.md" in open_study(bundle).verify().checked


def forget(bundle: Path, name: str) -> None:
    """Take a file out of the manifest and the crate."""
    manifest = bundle / MANIFEST
    lines = [line for line in manifest.read_text().splitlines(True) if not line.endswith(f"  {name}\n")]
    manifest.write_text("".join(lines))
    crate = json.loads((bundle / CRATE).read_text("utf-8"))
    crate["@graph"] = [node for node in crate["@graph"] if node["@id"] != name]
    for node in crate["@graph"]:
        if "hasPart" in node:
            node["hasPart"] = [part for part in node["hasPart"] if part["@id"] != name]
    (bundle / CRATE).write_bytes(json_bytes(crate))
    listed(bundle, CRATE)


def test_the_version_of_a_report_is_no_command(tmp_path: Path) -> None:
    bundle = unpacked_bundle(REPORTED[0], tmp_path)
    fit(bundle, version="0.1.0'; rm -r '~")
    with pytest.raises(VerificationError) as caught:
        open_study(bundle).verify()
    assert "rm -r" not in "".join(each.help or "" for each in caught.value.diagnostics)


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
    assert [each.path for each in path_differences(*documents)] == ["inputs.scaffolds", "behaviour"]
    assert (
        path_differences(read_document(spec), documents[0])
        == path_differences(read_document(spec), documents[1])
        == []
    )


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
    (difference,) = path_differences(stamped, read_document(spec))
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
    assert "not compared" in same_behaviour(lock, lock.content)
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
