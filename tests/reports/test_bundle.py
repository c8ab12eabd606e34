"""A bundle: whole, checked with what it holds, and any change to it is found and named."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.synthetic import make
from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import UsageError, VerificationError
from gridc.reports.exchange.bundle import CRATE, MANIFEST, export, verify_bundle
from gridc.schema.canonical import digest_bytes
from gridc.study import OpenStudy


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a small synthetic study, away from the items and the lock it was made from."""
    folder = tmp_path_factory.mktemp("study")
    compiled = compile_spec(make(folder, 2), None)
    assert compiled.lock is not None
    results = folder / "results" / "synthetic"
    OpenStudy(folder / "gridcard.toml").report()
    bundle = export(compiled, compiled.lock, results, tmp_path_factory.mktemp("out") / "bundle")
    with pytest.raises(UsageError, match="exists already"):
        export(compiled, compiled.lock, results, bundle)
    shutil.rmtree(folder)
    return bundle


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "bundle"))


def relist(bundle: Path) -> None:
    """Make the manifest agree with the files, as a forger would."""
    names = [line.partition("  ")[2] for line in (bundle / MANIFEST).read_text().splitlines()]
    lines = [f"{digest_bytes((bundle / name).read_bytes())}  {name}\n" for name in names]
    (bundle / MANIFEST).write_text("".join(lines))


def test_an_untouched_bundle_verifies_and_says_what_it_could_not_check(made: Path) -> None:
    checked = verify_bundle(made).checked
    assert any("results digest is the recorded one" in each for each in checked)
    assert any(each.startswith("not checked: ") for each in checked)


def test_it_holds_what_a_reviewer_needs_and_no_items(made: Path) -> None:
    names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert {"gridcard.toml", "gridcard.lock", "results/store.sqlite", "results/certificate.json"} <= names
    assert {"manifests/items.json", "manifests/environment.json", MANIFEST, CRATE} <= names
    assert not [name for name in names if name.startswith("bbq")]
    done = subprocess.run(["sha256sum", "--check", "--quiet", MANIFEST], cwd=made, check=False)
    assert done.returncode == 0


def test_the_crate_describes_every_file(made: Path) -> None:
    crate = json.loads((made / CRATE).read_text())
    nodes = {node["@id"]: node for node in crate["@graph"]}
    assert crate["@context"] == "https://w3id.org/ro/crate/1.2/context"
    assert nodes[CRATE]["about"] == {"@id": "./"}
    parts = {part["@id"] for part in nodes["./"]["hasPart"]}
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert parts == files - {MANIFEST, CRATE}
    assert parts <= nodes.keys()
    assert nodes["#run"]["result"] == {"@id": "results/store.sqlite"}


def flip(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(bundle: Path) -> None:
        path = bundle / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def in_store(statement: str) -> Callable[[Path], None]:
    def change(bundle: Path) -> None:
        db = sqlite3.connect(bundle / "results" / "store.sqlite")
        db.execute(statement)
        db.commit()
        db.close()

    return change


FORGERIES = {
    "certificate": (flip("results/certificate.json", '"plus": ', '"plus": 1'), "GC707"),
    "page": (flip("results/report.html", "<title>", "<title>!"), "GC707"),
    "spec": (flip("gridcard.toml", "Answers that no model gave", "Answers"), "GC701"),
    "family": (flip("manifests/items.json", '"q0', '"p0'), "GC701"),
    "stamped inputs": (flip("manifests/study.json", '"files": {', '"files": {"x": "y", '), "GC701"),
    "score": (in_store("UPDATE sample SET score = 1 - score"), "GC706"),
    "sample": (in_store("DELETE FROM trace WHERE cell = 1"), "GC704"),
    "event": (in_store("UPDATE event SET at = '2020-01-01' WHERE seq = 2"), "GC702"),
    "answer": (in_store("UPDATE call SET answer_digest = '0' WHERE rowid = 1"), "GC703"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_change_is_found_by_the_manifest_and_a_forged_manifest_does_not_help(
    bundle: Path, name: str
) -> None:
    change, code = FORGERIES[name]
    change(bundle)
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    assert {each.code for each in error.value.diagnostics} == {"GC701"}
    assert "does not hash" in error.value.diagnostics[0].message
    relist(bundle)
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    assert code in {each.code for each in error.value.diagnostics} | (
        {"GC701"} if name == "stamped inputs" else set()
    )


def test_missing_extra_and_linked_files_are_named(bundle: Path) -> None:
    (bundle / "results" / "gridcard.md").unlink()
    (bundle / "extra.txt").write_text("x")
    (bundle / "results" / "report.html").unlink()
    (bundle / "results" / "report.html").symlink_to("/etc/hostname")
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    messages = " ".join(each.message for each in error.value.diagnostics)
    for name in ("results/gridcard.md is listed", "extra.txt is in the bundle", "results/report.html is in"):
        assert name in messages


def test_a_folder_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="not a bundle"):
        verify_bundle(tmp_path)


def test_it_is_verified_without_anything_but_the_core(made: Path) -> None:
    """torch, transformers, huggingface_hub and all other extras are hidden from the process."""
    hidden = (
        "torch", "transformers", "huggingface_hub", "pyarrow", "lightgbm", "litellm", "vl_convert", "altair",
        "yaml",
    )  # fmt: skip
    code = f"""
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hidden())
sys.argv = ["gridc", "verify", {str(made)!r}]
from gridc.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"verified: {made}" in done.stdout
