"""`gridc view` as a command: what it opens, how it ends, what it says where it cannot listen."""

import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

import gridc
from benchmarks.synthetic import make as make_study
from gridc.diagnostics.errors import StoreError
from gridc.study.place import place_of
from gridc.study.viewing import _opened
from gridc.viewer.server import listen
from tests.studies import axis
from tests.viewer.conftest import Client
from tests.viewer.stores import make

AXES = axis("template", {"T1": 'prompt = "builtin:T1"', "T4": 'prompt = "builtin:T4"'}, ["T4"]) + axis(
    "scoring", {"logprob": 'method = "loglikelihood"'}
)


def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    before = path.read_bytes()
    command = [sys.executable, "-m", "gridc", "view", str(path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().split("  ")[0]
    assert address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(address, timeout=20) as answer:
        assert b"A study made by hand" in answer.read()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (0, "stopped\n")
    assert path.read_bytes() == before


def test_a_taken_port_and_a_missing_store_are_said_with_a_code(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    with closing(listen(0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, code, exit_code in (
            ([str(path), "--port", port], "GC616", 2),
            ([str(tmp_path / "no.sqlite")], "GC605", 6),
        ):
            done = subprocess.run(
                [sys.executable, "-m", "gridc", "view", *arguments],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                env={**os.environ, "NO_COLOR": "1"},
            )
            assert code in done.stderr and done.returncode == exit_code and "Traceback" not in done.stderr


def test_pages_are_written_as_files(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    written = gridc.view_pages(tmp_path / "pages", path, pages=30)
    assert (written.pages, written.folder) == (30, tmp_path / "pages")
    assert len(list(written.folder.glob("*.html"))) == 30


def test_it_opens_a_spec_a_folder_and_a_bundle(tmp_path: Path) -> None:
    """All three show the study that was run; a spec also knows the tags of its items."""
    spec = make_study(tmp_path / "study", 3, AXES)
    bundle = gridc.open(spec).bundle(tmp_path / "bundle")
    folder = spec.parent / "results" / "synthetic"
    for given in (spec, spec.parent, folder, folder / "store.sqlite", bundle, bundle / "gridcard.toml"):
        with _opened([place_of(given)]) as (viewer, start):
            answer = Client(viewer).get(start)
            assert answer.status_code == 200 and "Answers that no model gave" in answer.text, given
            assert ("study=" in start) is (given in (spec, spec.parent))
    shutil.copytree(bundle, tmp_path / "changed")
    (tmp_path / "changed" / "manifests" / "items.json").write_text("[1]")
    with pytest.raises(StoreError, match="GC605"), _opened([place_of(tmp_path / "changed")]):
        pass


def test_two_runs_with_one_cell_in_common_open_at_the_items_that_differ(tmp_path: Path) -> None:
    for name, other in (("old", 1), ("new", 0)):
        rows = [f"{name},quiz-{name},{item},What is {item}?,{other if item == 3 else 1}" for item in range(9)]
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text("\n".join(["model,benchmark,item,question,score", *rows]))
    with _opened([place_of(tmp_path / name) for name in ("old", "new")]) as (viewer, start):
        page = Client(viewer).get(start).text
    assert "different scores</bdi> <small>1</small>" in page
    assert "What is 3?" in page and "What is 4?" not in page
