"""The logs that ship as an example: what a hand count says of them, and what is not overwritten."""

import json
from pathlib import Path

import gridc
from tests.e2e.conftest import command


def test_the_example_scores_what_its_lines_say(tmp_path: Path) -> None:
    assert command("docs", "--examples", str(tmp_path), cwd=tmp_path).returncode == 0
    counted = {}
    for path in tmp_path.glob("logs/*/samples_*.jsonl"):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        earned = [row["filtered_resps"][0] == row["doc"]["answer"] for row in rows]
        assert [row["exact_match"] for row in rows] == list(map(float, earned))
        counted[path.parent.name, path.name.split("_2026")[0].removeprefix("samples_")] = sum(earned)
    report = gridc.certify([tmp_path / "logs"])
    printed = {
        (cell.model.partition("/")[2], row.benchmark): round((cell.score or 0) * row.items, 6)
        for row in report.certificate.benchmarks
        for cell in row.scores
    }
    assert printed == counted == {
        ("base", "sums_plain"): 20, ("base", "sums_polite"): 20, ("candidate", "sums_plain"): 17,
        ("candidate", "sums_polite"): 15,
    }  # fmt: skip


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "logs" / "base").mkdir(parents=True)
    done = command("docs", "--examples", ".", cwd=tmp_path)
    assert done.returncode == 2 and "there is a folder here already" in done.stderr
    assert not (tmp_path / "logs" / "candidate").exists()
    assert command("docs", "logs", "--examples", ".", cwd=tmp_path).returncode == 2
