"""The smallest real study: a file of items, a model, and nothing that varies."""

import json
from pathlib import Path

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


def test_a_study_of_twelve_lines_runs_is_reported_and_verified(tmp_path: Path) -> None:
    assert SMALLEST.count("\n") == 12
    (tmp_path / "gridcard.toml").write_text(SMALLEST, "utf-8")
    (tmp_path / "sums.csv").write_bytes(sums())
    for step in ("validate", "plan", "run", "report", "verify"):
        done = command(step, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    results = tmp_path / "results" / "sums"
    certificate = json.loads((results / "certificate.json").read_text("utf-8"))
    (row,) = certificate["benchmarks"]
    assert [cell["configuration"] for cell in row["envelope"]] == ["the only one"]
    right = command("sql", "SELECT avg(score), count(*) FROM samples", "--json", cwd=tmp_path)
    assert right.returncode == 0, right.stderr
    card = (results / "gridcard.md").read_text("utf-8")
    assert "(the only one)" in card and "nothing, there is one configuration" in card
    page = (results / "report.html").read_text("utf-8")
    assert "under one configuration" in " ".join(page.split())


def test_two_such_studies_are_compared_cell_by_cell(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, source in zip(folders, ("pocket-qwen2", "pocket-llama"), strict=True):
        folder.mkdir()
        (folder / "gridcard.toml").write_text(SMALLEST.replace("pocket-qwen2", source), "utf-8")
        (folder / "sums.csv").write_bytes(sums())
        assert command("run", cwd=folder).returncode == 0
    stores = [str(folder / "results" / "sums" / "store.sqlite") for folder in folders]
    done = command("diff", *stores, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    done = command("compare", *stores, cwd=tmp_path)
    assert done.returncode in (0, 1, 10, 11), done.stderr
