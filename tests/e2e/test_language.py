"""docs/language.md teaches what happens: its files are written, its commands run, its words printed."""

import json
import re
import shlex
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from gridc.cli import main
from gridc.compiler.instrument.render import VARIABLES, WRAPPER_VARIABLES
from gridc.schema import jsonschema

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "language.md").read_text("utf-8")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tutorial after its last command."""
    folder = tmp_path_factory.mktemp("taught")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("GRIDC_DATA", raising=False)
        for name, kind, content in re.findall(r"(?:`([\w.]+)`:\n\n)?```(\w+)\n(.*?)```", PAGE, re.DOTALL):
            if name:
                Path(name).write_text(content, "utf-8")
            elif kind == "toml":
                spec = Path("gridcard.toml").read_text("utf-8")
                mark = "[benchmark.loading.fields]"
                Path("gridcard.toml").write_text(spec.replace(mark, f"{content}\n{mark}"), "utf-8")
            else:
                for command, said in re.findall(r"^\$ gridc (.+)\n((?:[^$].*\n)*)", content, re.MULTILINE):
                    output = " ".join(CliRunner().invoke(main, shlex.split(command)).output.split())
                    for line in said.splitlines():
                        assert " ".join(line.split()) in output, f"gridc {command}\n{output}"
    return folder


def test_the_tutorial_is_what_happens(taught: Path) -> None:
    assert (taught / "results" / "capitals" / "certificate.json").is_file()


def test_what_is_left_out_is_counted_wherever_results_stand(taught: Path) -> None:
    results = taught / "results" / "capitals"
    certificate = json.loads((results / "certificate.json").read_text("utf-8"))
    assert [row["left_out"] for row in certificate["benchmarks"]] == [1]
    sentence = "Of the 9 rows of the files of capitals, 1 does not follow the format and is left out"
    assert any(sentence in each for each in certificate["statements"])
    assert sentence in (results / "report.html").read_text("utf-8")
    card = (results / "gridcard.md").read_text("utf-8")
    assert "1 of the rows of its files, which do not follow the format: left out" in card
    with sqlite3.connect(results / "store.sqlite") as store:
        ((content,),) = store.execute("SELECT content FROM study")
    kept = json.loads(content)["inputs"]["benchmarks"]["capitals"]
    assert kept["left_out"] == ["capitals.csv, row 10: `answer`: it is empty"]
    assert kept["found"] == {"gold": "index"}


def test_every_variable_of_a_template_is_explained() -> None:
    table = PAGE[PAGE.index("## What a template may use") : PAGE.index("## How a part")]
    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert rows == [*VARIABLES, *WRAPPER_VARIABLES]


def test_every_default_says_where_it_comes_from() -> None:
    table = PAGE[PAGE.index("## Where each default") : PAGE.index("## Upgrading")]
    explained = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)))
    )
    stated = set()
    schema = jsonschema.load()
    for each in (schema, *schema["$defs"].values()):
        for key, field in each.get("properties", {}).items():
            if "Default: " in field.get("description", "") or field.get("default") not in (None, [], {}):
                stated.add(key)
    assert stated - explained == set()
    assert explained - stated == set()
