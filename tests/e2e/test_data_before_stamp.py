"""Data that are older than the stamp: a study is stamped and run, its results are looked at, and then it is
stamped anew."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.authorities import make_authority, needs_openssl, time_stamp
from tests.beginners.mistakes import sums
from tests.e2e.conftest import command
from tests.e2e.test_smallest import SMALLEST

SPEC = SMALLEST.replace("pocket-qwen2", "pocket-llama")
RESULTS = Path("results/sums")


def done(*arguments: str, cwd: Path) -> str:
    """What a command prints that succeeds."""
    ended = command(*arguments, cwd=cwd)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def begun(folder: Path) -> Path:
    """The folder of a study that is stamped and not run."""
    folder.mkdir()
    (folder / "gridcard.toml").write_text(SPEC, "utf-8")
    (folder / "sums.csv").write_bytes(sums())
    done("stamp", cwd=folder)
    return folder


def change(folder: Path, old: str = "max_tokens = 8", new: str = "max_tokens = 9") -> None:
    spec = folder / "gridcard.toml"
    text = spec.read_text("utf-8")
    assert old in text
    spec.write_text(text.replace(old, new), "utf-8")


def written(folder: Path, name: str) -> dict[str, Any]:
    """A JSON document of the report."""
    document: dict[str, Any] = json.loads((folder / RESULTS / name).read_text("utf-8"))
    return document


def line(folder: Path, name: str) -> dict[str, Any]:
    """A line of the scorecard's methodology."""
    (row,) = (row for row in written(folder, "scorecard.json")["methodology"] if row["id"] == name)
    return dict(row)


def page(folder: Path) -> str:
    return " ".join((folder / RESULTS / "report.html").read_text("utf-8").split())


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that is stamped and run, and whose results were looked at. Copy it before changing anything."""
    folder = begun(tmp_path_factory.mktemp("before") / "study")
    done("run", cwd=folder)
    done("report", cwd=folder)
    return folder


@pytest.fixture
def study(looked: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(looked, tmp_path / "study"))


@needs_openssl
def test_a_stamp_that_was_made_after_a_look_is_not_called_the_first(study: Path, tmp_path: Path) -> None:
    """One key is changed, the lock is superseded and time-stamped by a third party, and the study is run
    again: a date of the new lock says nothing of the data that were there before."""
    pytest.importorskip("rfc3161_client")
    first = json.loads((study / "gridcard.lock").read_text("utf-8"))["stamp"]
    change(study)
    told = done("stamp", "--supersede", cwd=study)
    assert "24 answers of its models to its items" in " ".join(told.split())
    authority = make_authority(tmp_path, "authority")
    time_stamp(authority, study / "gridcard.lock")
    time.sleep(1.1)  # a token has whole seconds
    done("run", cwd=study)
    done("report", "--roots", str(authority / "root.pem"), cwd=study)

    certificate = written(study, "certificate.json")
    assert certificate["anchor"]["strength"] == "timestamped"
    assert certificate["anchor"]["before_first_call"] is False
    (earlier,) = certificate["earlier"]
    assert (earlier["stamp"], earlier["superseded"]) == (first, True)
    assert (earlier["before_stamp"], earlier["after_stamp"], earlier["items"]) == (24, 0, 24)
    assert certificate["calls_before_stamp"] == 0
    assert line(study, "stamped_first")["holds"] == "no"
    assert line(study, "stamped_first")["counts"]["earlier_stamps"] == 1
    assert line(study, "vouched")["holds"] == "no"
    assert line(study, "deviations")["holds"] == "no"
    assert "before the first call that the store records" not in page(study)
    said = (
        "24 answers of its models to its items were there before this stamp was made, under the stamp "
        f"{first[:12]}"
    )
    assert said in page(study)
    assert any(said in each for each in certificate["statements"])
    assert said in " ".join((study / RESULTS / "gridcard.md").read_text("utf-8").split())
    assert written(study, "gridcard.json")["earlier"] == certificate["earlier"]
    log = written(study, "deviations.json")
    assert log["earlier"] == certificate["earlier"]
    for name in ("deviations.md", "deviations.html", "deviations.tex"):
        assert first[:12] in (study / RESULTS / name).read_text("utf-8"), name
    assert said in " ".join(done("deviations", cwd=study).split())
    done("verify", cwd=study)
