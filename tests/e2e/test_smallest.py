"""The smallest real study: a file of items, a model, and nothing that varies."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.beginners.mistakes import sums
from tests.e2e.conftest import command

SMALLEST = """\
gridcard = 1
study = { id = "sums", title = "One model on sums", purpose = "descriptive" }
model = [{ id = "one", engine = "hf", source = "builtin:pocket-qwen2" }]
harness = { method = "extract", prompt = "builtin:T1", max_tokens = 8 }

[[benchmark]]
id = "sums"
loader = "rows"
source = "path:sums.csv"
direction = "higher"
option_order = "shuffled:42"
loading.fields = { query = "question", options = ["a", "b", "c", "d"], gold = "answer" }
"""


def ran(folder: Path, model: str) -> Path:
    """The study of a model in a folder, run."""
    folder.mkdir()
    (folder / "gridcard.toml").write_text(SMALLEST.replace("pocket-qwen2", model), "utf-8")
    (folder / "sums.csv").write_bytes(sums())
    done = command("run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One model that never answers with a letter, and one that always does."""
    top = tmp_path_factory.mktemp("sums")
    return ran(top / "a", "pocket-qwen2"), ran(top / "b", "pocket-llama")


def by_hand(folder: Path) -> dict[str, bool | None]:
    """By question whether the last letter of the answer marks the sum, as its prompt lists the options;
    None without a letter."""
    with closing(sqlite3.connect(folder / "results" / "sums" / "store.sqlite")) as store:
        rows = store.execute(
            """SELECT json_extract(content, '$.messages[0][1]'), json_extract(answer, '$.text') FROM call
               JOIN prompt ON prompt.id = call.prompt"""
        ).fetchall()
    right = {}
    for prompt, answer in rows:
        ((one, other),) = re.findall(r"what is (\d+) plus (\d+)\?", prompt)
        total = int(one) + int(other)
        (letter,) = re.findall(rf"([A-D])\. it is {total}\b", prompt)
        marks = re.findall(r"\b[B-D]\b", answer)
        right[f"{one} plus {other}"] = marks[-1] == letter if marks else None
    return right


def test_a_study_of_twelve_lines_runs_is_reported_and_verified(
    studies: tuple[Path, Path], tmp_path: Path
) -> None:
    assert SMALLEST.count("\n") == 12
    folder = Path(shutil.copytree(studies[1], tmp_path / "b"))
    for step in ("validate", "plan", "run", "report", "verify"):
        done = command(step, cwd=folder)
        assert done.returncode == 0, done.stderr
    results = folder / "results" / "sums"
    counted = list(by_hand(folder).values())
    certificate = json.loads((results / "certificate.json").read_text("utf-8"))
    (row,) = certificate["benchmarks"]
    ((name, tally),) = ((cell["configuration"], cell["scores"]["one"]) for cell in row["envelope"])
    assert name == "the only one" and len(counted) == 24
    assert (
        (tally["correct"], tally["parsed"], tally["trials"]) == (counted.count(True), 24, 24) == (4, 24, 24)
    )
    done = command("sql", "SELECT avg(score) AS mean, count(*) AS n FROM samples", "--json", cwd=folder)
    assert json.loads(done.stdout) == [{"mean": pytest.approx(4 / 24), "n": 24}], done.stderr
    card = (results / "gridcard.md").read_text("utf-8")
    assert "(the only one)" in card and "nothing, there is one configuration" in card
    page = (results / "report.html").read_text("utf-8")
    assert "under one configuration" in " ".join(page.split())


def test_two_such_studies_are_compared_cell_by_cell(studies: tuple[Path, Path], tmp_path: Path) -> None:
    stores = [str(folder / "results" / "sums" / "store.sqlite") for folder in studies]
    left, right = map(by_hand, studies)
    assert set(left) == set(right) and set(left.values()) == {None}
    up = sum(map(bool, right.values()))
    done = command("diff", *stores, "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    (cell,) = found["cells"]
    assert cell["cell"] == "one/sums/the only one" and (cell["a"], cell["b"]) == ([0, 24], [up, 24])
    assert (cell["up"], cell["down"], cell["p"]) == (up, 0, 2 / 2**up), "McNemar's exact p by hand"
    (moved,) = found["paired"]["largest"]
    assert moved["cell"] == "one/sums/the only one" and moved["right"] == [1, 6]
    (tmp_path / "lenient.toml").write_text("policy = 1\nmargin = 50\nunreadable = 1.0\n", "utf-8")
    done = command("compare", *stores, "--json", "--policy", "lenient.toml", cwd=tmp_path)
    compared = json.loads(done.stdout)
    assert (done.returncode, compared["verdict"]) == (0, "GO"), done.stderr
    (row,) = compared["benchmarks"]
    assert row["score"]["change"] == pytest.approx(100 * up / 24)
    assert (row["lost"], row["won"], row["p_mcnemar"]) == (0, up, 2 / 2**up)
