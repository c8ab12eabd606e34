"""Links where gridc writes: a file is replaced and what its link leads to stays as it was; a folder, and what
is written into as it is, is refused."""

import os
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import FileError, StoreError
from gridc.runtime.engines.api import serving
from gridc.schema import jsonschema
from tests.adversary.rooms.stores import studied
from tests.e2e.conftest import command

TABLE = "model,item,score\na,1,1\na,2,0\n"
KEPT = "somebody else's"


def as_link(path: Path, victim: Path) -> None:
    """Something elsewhere that a link in the place of `path` leads to."""
    path.unlink(missing_ok=True)
    victim.write_text(KEPT)
    path.symlink_to(victim)


def test_a_file_that_is_written_anew_replaces_a_link(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    study = gridc.open(studied(tmp_path / "study").parents[1] / "gridcard.toml")

    def written() -> list[Path]:
        report = study.report(figures=True, pdf=True)
        checklist = study.checklist().write(report.store.parent)
        schema = jsonschema.write_schema("policy", tmp_path / "study")
        return [*report.files, *report.figures, checklist, schema]

    victims = {path: tmp_path / f"victim-{number}" for number, path in enumerate(written())}
    assert {path.suffix for path in victims} >= {".svg", ".pdf", ".html", ".json", ".md", ".tex"}
    for path, victim in victims.items():
        as_link(path, victim)
    written()
    for path, victim in victims.items():
        assert victim.read_text() == KEPT, path.name
        assert path.is_file() and not path.is_symlink()


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("GC605", ["report", "study", "--out", "out"]),
        ("GC607", ["report", "study", "other", "--out", "out"]),
        ("GC607", ["certify", "--from", "table.csv", "--out", "out"]),
        ("GC607", ["compare", "table.csv", "table.csv", "--margin", "5", "--out", "out"]),
    ],
)
def test_a_folder_that_is_a_link_is_not_written_into(tmp_path: Path, code: str, arguments: list[str]) -> None:
    results = studied(tmp_path / "study")
    spec = results.parents[1] / "gridcard.toml"
    (spec.with_name("other.toml")).write_text(spec.read_text())
    (tmp_path / "table.csv").write_text(TABLE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out").symlink_to(elsewhere)
    specs = {"study": "study/gridcard.toml", "other": "study/other.toml"}
    done = command(*(specs.get(one, one) for one in arguments), cwd=tmp_path)
    assert (done.returncode, f"error[{code}]" in done.stderr) == (6, True), done.stderr
    assert str(elsewhere) in done.stderr or "name what the link leads to" in done.stderr
    assert not any(elsewhere.iterdir())


def test_a_lock_that_is_a_link_is_not_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever filelock does with one: releases before 3.20 follow it."""
    monkeypatch.setattr(os, "O_NOFOLLOW", 0)
    results = studied(tmp_path / "study")
    as_link(results / "store.lock", tmp_path / "victim")
    with pytest.raises(FileError, match="GC607"):
        gridc.open(results.parents[1] / "gridcard.toml").report()
    assert (tmp_path / "victim").read_text() == KEPT


def test_the_log_of_a_server_is_no_link(tmp_path: Path) -> None:
    results = studied(tmp_path / "study")
    spec = compile_spec(results.parents[1] / "gridcard.toml").spec
    model: Any = spec.model[0].model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    as_link(tmp_path / f"server-{model.id}.log", tmp_path / "victim")
    served = spec.model_copy(update={"model": (model, *spec.model[1:])})
    with pytest.raises(OSError, match="symbolic link"):
        serving.servers(served, {model.id: "true"}, tmp_path, lambda _: None).__enter__()
    assert (tmp_path / "victim").read_text() == KEPT


def test_the_store_may_lie_where_its_author_says(tmp_path: Path) -> None:
    """What a link leads to may be named."""
    results = studied(tmp_path / "study")
    elsewhere = results.rename(tmp_path / "elsewhere")
    results.symlink_to(elsewhere)
    spec = results.parents[1] / "gridcard.toml"
    with pytest.raises(StoreError, match="GC605"):
        gridc.open(spec).report()
    assert gridc.open(spec, out=elsewhere).report().store == elsewhere / "store.sqlite"
