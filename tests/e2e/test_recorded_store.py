"""All answers of imported logs as a store: what the logs have is there, counted by plain sqlite3; the viewer
says where they come from, and what needs a spec refuses them."""

import json
import os
import shlex
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.diagnostics.errors import UsageError
from tests.e2e.conftest import command

LOGS = Path(__file__).resolve().parents[1] / "logs"
MERGED = {"arith": ["arith_mc", "arith_mc_b"]}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `gridc certify --from` writes of the harness's logs and Inspect's with errors."""
    folder = tmp_path_factory.mktemp("written")
    gridc.certify([LOGS / "lm_eval", LOGS / "inspect" / "errors.json"], benchmarks=MERGED).write(folder)
    return folder


def query(store: Path, statement: str) -> list[Any]:
    with sqlite3.connect(store) as db:
        return db.execute(statement).fetchall()


def test_every_answer_of_the_logs_is_in_the_store(written: Path) -> None:
    counted: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    texts = set()
    for path in (LOGS / "lm_eval").rglob("samples_*.jsonl"):
        (results,) = path.parent.glob("results_*.json")
        model = json.loads(results.read_text("utf-8"))["model_name"].replace("/", "-")
        task = path.name.removeprefix("samples_").rpartition("_")[0]
        first: str | None = None
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            first = first or row["filter"]
            if row["filter"] != first:
                continue
            counted[model, task] += 1
            right[model, task] += int(row[row["metrics"][0]])
            texts.add(row["arguments"]["gen_args_0"]["arg_0"])
    rows = query(
        written / "store.sqlite",
        """SELECT model, CASE configuration WHEN 'configuration=the-only-one' THEN benchmark
                         ELSE substr(configuration, 20) END, count(*), sum(score)
           FROM cell JOIN sample ON cell = cell.id WHERE benchmark LIKE 'arith%' GROUP BY cell.id""",
    )
    assert {(model, task): (n, points) for model, task, n, points in rows} == {
        place: (count, right[place]) for place, count in counted.items()
    }
    prompts = query(written / "store.sqlite", "SELECT json_extract(content, '$.messages[0][1]') FROM prompt")
    assert texts <= {text for (text,) in prompts}


def test_how_answers_ended_is_kept(written: Path) -> None:
    """Failed samples earn nothing; the store says which they are."""
    log = json.loads((LOGS / "inspect" / "errors.json").read_text("utf-8"))
    failed = sum("error" in sample and sample["error"] is not None for sample in log["samples"])
    model = log["eval"]["model"].replace("/", "-")
    ((count, unread, points, stated),) = query(
        written / "store.sqlite",
        f"""SELECT count(*), count(*) - count(choice), sum(iif(choice IS NULL, score, 0)),
                   sum(json_extract(answer, '$.error') IS NOT NULL)
            FROM cell JOIN sample ON cell = cell.id JOIN trace USING (cell, item, replicate)
            JOIN call ON call = call.id WHERE cell.model = '{model}'""",
    )
    assert failed > 0 and (count, unread, points, stated) == (len(log["samples"]), failed, 0, failed)


def test_repetitions_and_unreadable_answers_are_told_apart(tmp_path: Path) -> None:
    rows = ["model,benchmark,item,replicate,state,score", "m,b,1,-1,read,1", "m,b,1,4,unreadable,0"]
    rows += ["m,b,2,-1,cut,0", "m,b,2,4,read,1"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    gridc.certify(tmp_path / "t.csv").write(tmp_path / "out")
    select = "SELECT item, replicate, choice IS NULL, score FROM sample"
    absent = query(tmp_path / "out" / "store.sqlite", f"{select} WHERE replicate > 1")
    assert {row[2:] for row in absent} == {(1, 0)}, "with a replicate 4, three are missing"
    assert len(absent) == 6
    select += " WHERE replicate < 2 ORDER BY item, replicate"
    assert query(tmp_path / "out" / "store.sqlite", select) == [
        ("1", 0, 0, 1), ("1", 1, 1, 0), ("2", 0, 1, 0), ("2", 1, 0, 1)
    ]  # fmt: skip


def test_the_viewer_says_where_answers_come_from(written: Path, tmp_path: Path) -> None:
    pages = gridc.view_pages(tmp_path / "pages", written).folder
    texts = [path.read_text("utf-8") for path in pages.glob("*.html")]
    assert all("not pre-registered" in text for text in texts)
    assert not any("Interim" in text or "Not answered yet" in text for text in texts)
    assert not any("As plain text, without a chat template" in text for text in texts)
    start = (pages / "index.html").read_text("utf-8")
    report = gridc.certify(LOGS / "lm_eval", benchmarks=MERGED).certificate
    (pair,) = next(row for row in report.benchmarks if row.benchmark == "arith").pairs
    for name, count in ((pair.a, pair.a_better), (pair.b, pair.b_better)):
        model = name.replace("/", "-")
        assert f"{model}</bdi> higher: {count}" in start or f"{model} higher: {count}" in start


def test_two_logs_side_by_side(tmp_path: Path) -> None:
    """Two runs of one model each, whatever the models are called."""
    runs = [LOGS / "lm_eval" / name for name in ("llama-zero", "qwen2-zero")]
    done = command("view", str(runs[0]), "--with", str(runs[1]), "--export", "pages", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 cells are in both" in (tmp_path / "pages" / "index.html").read_text("utf-8")
    beside = [path.read_text("utf-8") for path in (tmp_path / "pages").glob("beside-*.html")]
    assert beside and all("Store 1" in text and "Store 2" in text for text in beside)


def test_a_comparison_names_the_pages_that_show_both_answers(tmp_path: Path) -> None:
    runs = [str(LOGS / "lm_eval" / name) for name in ("llama-zero", "qwen2-zero")]
    readings = ("--reading", "acc", "--reading", "arith_gen=exact_match,loose")
    done = command("compare", *runs, "--margin", "5pp", *readings, cwd=tmp_path)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("every item with both answers: ")]
    _, *arguments = shlex.split(line.partition(": ")[2])
    shown = command(*arguments, "--export", "pages", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    several = command("compare", runs[1], "--baseline", *runs, "--margin", "5pp", *readings, cwd=tmp_path)
    assert f"gridc view {runs[0]} --with {runs[1]}" in several.stdout, "the first baseline"


def test_what_needs_a_spec_refuses_imported_logs(written: Path, finished: Path, tmp_path: Path) -> None:
    done = command("diff", str(written), str(written), cwd=tmp_path)
    assert done.returncode == 6 and "GC613" in done.stderr, done.stderr


def test_what_certify_wrote_is_compared_as_its_logs_are(tmp_path: Path) -> None:
    folders, logs = [], []
    for name in ("llama-zero", "qwen2-zero"):
        logs.append(shutil.copytree(LOGS / "lm_eval" / name, tmp_path / name))
        folders.append(tmp_path / f"{name}-certified")
        gridc.certify(logs[-1]).write(folders[-1])
    readings = {"arith_mc": "acc", "arith_gen": "exact_match,loose"}
    found, same = (gridc.compare(a, b, margin=5, reading=readings).as_json() for a, b in (folders, logs))
    assert found["benchmarks"] == same["benchmarks"] != []
    assert found["verdict"] == same["verdict"]
    shutil.rmtree(logs[0])
    with pytest.raises(UsageError, match="is not here"):
        gridc.compare(folders[0], folders[1], margin=5, reading=readings)


def test_no_store_of_a_run_is_written_over(study: Path, tmp_path: Path) -> None:
    report = gridc.certify(LOGS / "lm_eval")
    with pytest.raises(UsageError, match="nothing is written over"):
        report.write(study / "results" / "small")
    assert not (study / "results" / "small" / "logs.json").exists()
    gridc.certify(LOGS / "inspect" / "errors.json").write(tmp_path / "out")
    before = query(tmp_path / "out" / "store.sqlite", "SELECT stamp FROM study")
    report.write(tmp_path / "out")
    assert query(tmp_path / "out" / "store.sqlite", "SELECT stamp FROM study") != before
    assert not list((tmp_path / "out").glob(".store*"))


def test_hostile_texts_and_scores_are_kept_as_text(tmp_path: Path) -> None:
    rows = [
        "model,benchmark,item,score,prompt,answer",
        'm,b,1,0.12345,"<script>alert(1)</script>",\x1b[31mred',
    ]
    rows += ["m,b,2,1e300,x,y", "m,b,3,-4,x,y"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    gridc.certify(tmp_path / "t.csv").write(tmp_path / "out")
    scores = query(tmp_path / "out" / "store.sqlite", "SELECT item, score FROM sample ORDER BY item")
    assert scores == [("1", 1234), ("2", None), ("3", -40000)]
    pages = gridc.view_pages(tmp_path / "pages", tmp_path / "out").folder
    for path in pages.glob("*.html"):
        text = path.read_text("utf-8")
        assert "<script>alert" not in text and "\x1b" not in text


def test_names_that_read_alike_are_told_apart(tmp_path: Path) -> None:
    """Models and benchmarks with a stroke, ids that end as ours do, a file whose name is not a text."""
    rows = [
        "model,benchmark,item,question,score",
        "a/b,c,1,x,1",
        "a/b,c,1 (2),z,1",
        "a,b/c,1,x,0",
        "d,c,1,y,0",
    ]
    place = tmp_path / "logs" / os.fsdecode(b"\xff.csv")
    place.parent.mkdir()
    place.write_text("\n".join(rows) + "\n")
    gridc.certify(tmp_path / "logs").write(tmp_path / "out")
    store = tmp_path / "out" / "store.sqlite"
    found = query(store, "SELECT model, benchmark, item, score FROM cell JOIN sample ON cell = cell.id")
    assert sorted(found) == [
        ("a", "b-c", "1", 0),
        ("a-b", "c", "1", 1),
        ("a-b", "c", "1 (2)", 1),
        ("d", "c-2", "1 (3)", 0),
    ], "another list is another benchmark"
    assert gridc.view_pages(tmp_path / "pages", tmp_path / "out").pages > 4


def test_a_card_of_logs_is_attached_once(written: Path, tmp_path: Path) -> None:
    """In the place of an earlier one, touching nothing else; a study's own card may stand beside it."""
    readme = tmp_path / "README.md"
    readme.write_text("---\nlicense: mit\n---\n# A model\n")
    arguments = ("card", "attach", str(readme), "--from", str(written), "--model", "models/pocket-llama")
    for outcome in ("attached", "already up to date"):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 0 and outcome in done.stdout, done.stderr
    text = readme.read_text("utf-8")
    assert text.startswith("---\nlicense: mit\n---\n# A model\n") and text.count("gridc:card begin") == 1
    assert "not pre-registered" in text and "| arith |" in text and "model-index" not in text
    checked = command("card", "check", str(readme), "--from", str(written), cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    other = command(*arguments[:-1], "models/pocket-qwen2", cwd=tmp_path)
    assert other.returncode == 0 and readme.read_text("utf-8") != text
    assert readme.read_text("utf-8").count("gridc:card begin") == 1
    for wrong in (arguments[:-2], (*arguments[:-1], "nobody")):
        done = command(*wrong, cwd=tmp_path)
        assert done.returncode == 2 and "models/pocket-llama" in done.stderr
    (tmp_path / "logs.json").write_text('{"format": "gridc-logs/2"}')
    done = command("card", "attach", str(readme), "--from", str(tmp_path), cwd=tmp_path)
    assert done.returncode != 0 and "no GRID cards here" in done.stderr


def test_every_model_has_a_card(written: Path) -> None:
    deck = json.loads((written / "gridcard.json").read_text("utf-8"))
    report = gridc.certify([LOGS / "lm_eval", LOGS / "inspect" / "errors.json"], benchmarks=MERGED)
    scores = {
        (row.benchmark, score.model): score.score
        for row in report.certificate.benchmarks
        for score in reversed(row.scores)
    }
    cards = {
        (card["benchmark_note"] or card["benchmark"], card["model_note"] or card["model"]): card
        for card in deck["cards"]
    }
    assert {place: card["point_score"]["score"] for place, card in cards.items()} == pytest.approx(scores)
    assert "not pre-registered" in (written / "gridcard.md").read_text("utf-8")
