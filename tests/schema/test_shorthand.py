"""The published schema takes a spec as it is written, and refuses what gridc refuses of names and types.

The validators are others' than gridc's own use of the schema: python-jsonschema on the published file, and
taplo, with which editors check TOML. `tests/e2e/test_init.py` has the spec that the tutorial begins with.
"""

import copy
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gridc.compiler.frontend.expansion import expanded
from gridc.compiler.frontend.source import parse_source
from gridc.compiler.frontend.validate import typed
from gridc.diagnostics.errors import SpecError
from gridc.schema import jsonschema
from tests.e2e.pages.blocks import PAGES, ROOT, read
from tests.fuzz.mutate import Path as Keys
from tests.fuzz.mutate import places, toml, value_at

TAPLO = Path(sys.executable).with_name("taplo")
STUDIES = ROOT / "tests" / "e2e" / "pages" / "studies"
BASE = ROOT / "tests" / "golden" / "diagnostics" / "base.toml"
DESIGNS = ("docs/designs.md", "tests/e2e/designs.md")


def specs() -> Iterator[tuple[str, Path, str]]:
    """Every spec in docs, specs and the repository's own, with the folder that its base lies in."""
    for page in map(read, [*PAGES, ROOT / "tests" / "e2e" / "designs.md"]):
        for block in page.blocks:
            if block.does in ("toml", "design", "file") and block.language == "toml":
                if block.text.startswith("gridcard = ") or "[study]\n" in block.text:
                    yield block.place, STUDIES, block.text
                elif block.does == "toml":
                    head = {"gridcard": 1, "extends": "base.toml", **block.head}
                    yield block.place, STUDIES, toml(head) + block.text
    for path in (*ROOT.glob("specs/*.toml"), ROOT / "gridcard.toml", *STUDIES.glob("*.toml"), BASE):
        if "gridcard" in tomllib.loads(path.read_text("utf-8")):
            yield path.relative_to(ROOT).as_posix(), path.parent, path.read_text("utf-8")


SPECS = {place: (folder, text) for place, folder, text in specs()}


@cache
def published(name: str) -> Any:
    return Draft202012Validator(json.loads(jsonschema.schema_text(name)))


def schema_of(values: dict[str, Any]) -> str:
    return "extension" if "extends" in values else "gridcard"


def refused(values: dict[str, Any]) -> list[str]:
    return [
        f"{error.json_path}: {error.message}" for error in published(schema_of(values)).iter_errors(values)
    ]


def test_there_are_specs_with_every_shorthand() -> None:
    texts = "\n".join(text for _, text in SPECS.values())
    assert len(SPECS) > 60
    assert sum(place.startswith(DESIGNS) for place in SPECS) == 16
    assert {place.partition(":")[0] for place in SPECS} >= {"docs/keys.md", "specs/smol.toml"}
    for shorthand in ('id = ["', '"{id}', "values = {", "levels = {", "extends = "):
        assert shorthand in texts, shorthand


@pytest.mark.parametrize("place", SPECS)
def test_every_spec_of_the_pages_passes_the_published_schema(place: str) -> None:
    assert refused(tomllib.loads(SPECS[place][1])) == []


def test_an_editor_finds_nothing_wrong_in_any_of_them_and_finds_a_misspelt_key(tmp_path: Path) -> None:
    for name in ("gridcard", "extension"):
        jsonschema.write_schema(name, tmp_path)
    files: dict[str, list[Path]] = {"gridcard": [], "extension": []}
    for number, (_, text) in enumerate(SPECS.values()):
        lines = [line for line in text.splitlines() if not line.startswith("#:schema")]
        file = tmp_path / f"{number}.toml"
        file.write_text("\n".join(lines) + "\n", "utf-8")
        files[schema_of(tomllib.loads(text))].append(file)

    def lint(name: str, *paths: Path) -> "subprocess.CompletedProcess[str]":
        schema = (tmp_path / jsonschema.file_name(name)).as_uri()
        command = [str(TAPLO), "lint", "--schema", schema, *map(str, paths)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    for name, paths in files.items():
        assert len(paths) > 10
        done = lint(name, *paths)
        assert done.returncode == 0, done.stderr
        wrong = tmp_path / f"wrong_{name}.toml"
        wrong.write_text(paths[0].read_text("utf-8") + "\n[harnes]\n", "utf-8")
        assert "'harnes' was unexpected" in lint(name, wrong).stderr


WRONG: tuple[Any, ...] = ("", 7, {}, [[]], [{}])


def mutants(values: dict[str, Any]) -> Iterator[tuple[Keys, dict[str, Any]]]:
    """The spec with one key misspelt, or with one value of another type."""
    for path in places(values)[1:]:
        if path[0] == "axis" and path[2:3] == ("values",) and len(path) > 3:
            continue  # any value of any effect, as before
        if isinstance(path[-1], str):
            changed = copy.deepcopy(values)
            table = value_at(changed, path[:-1])
            table[f"{path[-1]}x"] = table.pop(path[-1])
            yield path, changed
        for wrong in WRONG:
            changed = copy.deepcopy(values)
            value_at(changed, path[:-1])[path[-1]] = copy.deepcopy(wrong)
            yield path, changed


def test_what_the_models_schema_refuses_of_a_spec_written_out_the_published_one_refuses() -> None:
    """In short or written out: a misspelt key, a value of another type. And what gridc takes, it takes."""
    before = Draft202012Validator(jsonschema.model_schema("gridcard"))
    caught = kept = 0
    for place in [place for place in SPECS if place.startswith((*DESIGNS, "docs/keys.md"))]:
        folder, text = SPECS[place]
        for path, changed in mutants(tomllib.loads(text)):
            source = parse_source(toml(changed), folder / "gridcard.toml")
            try:
                whole = expanded(source)
            except SpecError:
                continue  # the shorthand itself is wrong: no schema says what a file or a name of a level is
            if before.is_valid(whole.values):
                try:
                    typed(whole)
                except SpecError:
                    continue
                kept += 1
                assert refused(changed) == [], (place, path)
            else:
                caught += 1
                assert refused(changed), (place, path, value_at(changed, path[:-1]))
    assert caught > 1000, caught
    assert kept > 20, kept


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"model": [{"id": [], "engine": "api", "source": "m"}]}, "$.model[0].id"),
        ({"model": [{"id": ["a", 7], "engine": "api", "source": "m"}]}, "$.model[0].id"),
        ({"statistic": [{"id": "mine"}]}, "$.statistic[0].id"),
        ({"statistic": [{"id": ["f1", "mine"]}]}, "$.statistic[0].id"),
        ({"axis": [{"id": "t", "level": [{"id": "a", "tier": "core"}]}]}, "$.axis[0].level[0]"),
        ({"axis": [{"id": "t", "provenance": "ours", "level": [{"id": "a"}]}]}, "$.axis[0].level[0]"),
        ({"judge": {"id": ["a", "b"], "source": "j", "rubric": "r"}}, "$.judge.id"),
    ],
)
def test_what_shorthand_does_not_say_is_refused(change: dict[str, Any], problem: str) -> None:
    values = tomllib.loads(SPECS["gridcard.toml"][1])
    assert refused(values) == []
    wrong = refused(values | change)
    assert wrong
    assert all(each.startswith(problem) for each in wrong), wrong
