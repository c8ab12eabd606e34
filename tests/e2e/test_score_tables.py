"""Tables of scores, as people write them: what a column is, and in what form the table comes."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.diagnostics.errors import UsageError
from tests.e2e.conftest import command

CASE = Path(__file__).resolve().parents[1] / "cases" / "certify" / "gold_and_prediction.csv"
RIGHT = {"a": 0.75, "b": 0.85}
TEXT = CASE.read_text("utf-8")
HEADER, *ROWS = TEXT.splitlines()


def scores(path: Path, **stated: Any) -> dict[str, float | None]:
    """Of the models of a table in which each has one score alone, of all items."""
    (row,) = gridc.certify(path, **stated).certificate.benchmarks
    assert len(row.scores) == len({score.model for score in row.scores}) and row.items == 20
    return {score.model: score.score for score in row.scores}


def with_column(path: Path, header: str, value: Callable[[int], str]) -> Path:
    lines = [f"{HEADER},{header}", *(f"{row},{value(number)}" for number, row in enumerate(ROWS))]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_what_comes_with_an_answer_is_no_axis() -> None:
    assert scores(CASE) == RIGHT
    done = command("certify", "--from", CASE.name, cwd=CASE.parent)
    assert done.returncode == 0, done.stderr
    assert f"note: not read of {CASE.name}: gold, prediction" in done.stdout
    assert "warning" not in done.stdout and "question" not in done.stdout, "nothing is to be asked"
    for model, score in RIGHT.items():
        assert re.search(rf"{model} +the only one +score +{score:.3f} ", done.stdout)
    same = gridc.compare(CASE, CASE, margin=5, models={"m": ["a"]})
    assert {row.matched for row in same.comparison.benchmarks} == {20}


@pytest.mark.parametrize(
    "header",
    ["Gold", "TARGET", "Answer Key", "answer-key", "response", "Output", "latency", "Time", "inputs"],
)
def test_known_columns_of_data_are_not_read(header: str, tmp_path: Path) -> None:
    text = HEADER.replace("gold", header)
    path = tmp_path / "t.csv"
    path.write_text("\n".join([text, *ROWS]), "utf-8")
    assert scores(path) == RIGHT


FORMS: dict[str, Callable[[], bytes]] = {
    "capitals.csv": lambda: TEXT.replace(HEADER, HEADER.upper()).encode(),
    "tabs.tsv": lambda: TEXT.replace(",", "\t").encode(),
    "tabs.csv": lambda: TEXT.replace(",", "\t").encode(),
    "semicolons.csv": lambda: TEXT.replace(",", ";").encode(),
    "mark.csv": lambda: TEXT.encode("utf-8-sig"),
    "packed.csv.gz": lambda: gzip.compress(TEXT.encode()),
    "packed.tsv.gz": lambda: gzip.compress(TEXT.replace(",", "\t").encode()),
    "lines.jsonl": lambda: json_lines().encode(),
    "lines.jsonl.gz": lambda: gzip.compress(json_lines().encode("utf-8-sig")),
}


def json_lines() -> str:
    names = HEADER.split(",")
    return "".join(json.dumps(dict(zip(names, row.split(","), strict=True))) + "\n" for row in ROWS)


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_one_table(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FORMS[name]())
    assert scores(tmp_path / name) == RIGHT
    (row,) = gridc.certify(tmp_path).certificate.benchmarks
    assert row.benchmark == name.partition(".")[0]


def test_a_line_without_a_score_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json_lines() + '{"model": "a", "question": "?"}\n', "utf-8")
    with pytest.raises(gridc.GridcError, match="GC672 a row without `model` and `score`"):
        gridc.certify(path)


def test_a_packed_log_is_read_like_itself(tmp_path: Path) -> None:
    asked = [{"id": number, "input": f"{number}?", "target": "x", "scores": {"s": {"value": value}}}
             for number, value in enumerate("CCI")]  # fmt: skip
    log = {"version": 2, "status": "success", "plan": {}, "results": {"total_samples": 3, "scores": []},
           "eval": {"model": "m", "task": "t", "eval_id": "e"}, "samples": asked}  # fmt: skip
    (tmp_path / "log.json.gz").write_bytes(gzip.compress(json.dumps(log).encode()))
    (row,) = gridc.certify(tmp_path).certificate.benchmarks
    assert [score.score for score in row.scores] == [pytest.approx(2 / 3)]
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert any("counts once" in note for note in gridc.certify(tmp_path).certificate.notes)


def test_a_column_that_nobody_explains_is_refused_and_both_ways_on_work(tmp_path: Path) -> None:
    path = with_column(tmp_path / "t.csv", "Comment by me", lambda number: f"seen {number % 3}")
    for words in (["certify", "--from", "t.csv"], ["compare", "t.csv", "t.csv", "--margin", "5pp"]):
        done = command(*words, cwd=tmp_path)
        assert done.returncode == 6, done.stdout
        assert "GC676" in done.stderr and "`comment by me`" in done.stderr
        for option in ("--axis", "--ignore"):
            assert f"{option} 'comment by me'" in " ".join(done.stderr.split())
            followed = command(*words, option, "comment by me", cwd=tmp_path)
            assert followed.returncode in (0, 10) and not followed.stderr, "certified, or compared"
    assert scores(path, ignore=["COMMENT BY ME"]) == RIGHT
    (row,) = gridc.certify(path, axes=["Comment by me"]).certificate.benchmarks
    assert len(row.configurations) == 3 and sum(score.asked or 0 for score in row.scores) == 40
    (row,) = gridc.certify(CASE, axes=["gold"]).certificate.benchmarks
    assert len(row.configurations) > 1, "what the author names is an axis"
    wrong: tuple[tuple[Any, str], ...] = (
        ({"ignore": ["remark"]}, "no table has a column `remark`"),
        ({"axes": ["score"]}, "no table has a column `score` that can be an axis"),
        ({"axes": ["gold"], "ignore": ["Gold"]}, "both an axis and ignored"),
    )
    for stated, said in wrong:
        with pytest.raises(gridc.GridcError, match=said):
            gridc.certify(CASE, **stated)


def test_a_column_that_is_constant_within_a_run_is_an_axis(tmp_path: Path) -> None:
    path = with_column(tmp_path / "t.csv", "shots", lambda number: "0" if ROWS[number][0] == "a" else "5")
    (row,) = gridc.certify(path, may_differ=["shots"]).certificate.benchmarks
    assert row.between_models == ("shots",)
    assert scores(path, may_differ=["shots"]) == RIGHT


def test_what_ignored_columns_alone_tell_apart_is_said(tmp_path: Path) -> None:
    """Two framings of every item: to ignore them leaves an item with two answers."""
    path = tmp_path / "t.csv"
    rows = [f"{model},{item},{framing},1" for model in "ab" for item in range(4) for framing in "xy"]
    path.write_text("\n".join(["model,item,framing,score", *rows]))
    with pytest.raises(gridc.GridcError) as refused:
        gridc.certify(path)
    (found,) = refused.value.diagnostics
    assert found.code == "GC676" and "an item has two answers" in str(found.help)
    with pytest.raises(gridc.GridcError, match="occurs twice"):
        gridc.certify(path, ignore=["framing"])
    (row,) = gridc.certify(path, axes=["framing"]).certificate.benchmarks
    assert row.configurations == ("framing=x", "framing=y")


def test_a_policy_says_what_columns_are_as_the_options_do(tmp_path: Path) -> None:
    """Two framings and a comment: configurations by `axes`, and no part of them by `ignore`."""
    rows = [
        f"m,q{item},{framing},{item * 7 % 5},{int(item + 3 * (framing == 'polite') > 4)}"
        for framing in ("plain", "polite")
        for item in range(12)
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["model,item,framing,comment,score", *rows]) + "\n")
    policy = tmp_path / "release.toml"
    policy.write_text('policy = 1\nmargin = 5\naxes = ["Framing"]\nignore = ["comment"]\n')
    (row,) = gridc.compare(path, path, policy=policy).comparison.benchmarks
    given = gridc.compare(path, path, margin=5, axes=["framing"], ignore=["comment"])
    assert row.configurations == 2 and (row,) == given.comparison.benchmarks
    for old, new, code in (('["Framing"]', '["framin"]', "GC761"), ('["comment"]', '["comments"]', "GC761")):
        wrong = tmp_path / "wrong.toml"
        wrong.write_text(policy.read_text().replace(old, new))
        stated = ["--axis", "framing", "--ignore", "comment"]
        done = command("compare", "t.csv", "t.csv", "--policy", "wrong.toml", *stated, cwd=tmp_path)
        assert done.returncode == 3, done.stderr
        assert f"error[{code}]: no table has a column `{json.loads(new)[0]}`" in done.stderr


def test_readings_of_one_answer_are_no_repetitions(tmp_path: Path) -> None:
    """Their scores are not averaged: a reading is chosen, or the first counts and the others stand beside."""
    path = tmp_path / "t.csv"
    rows = [f"m,q{n},{reading},{int(n % least == 0)}" for n in range(60) for reading, least in READINGS]
    path.write_text("\n".join(["model,item,reading,score", *rows]), "utf-8")
    for stated in (None, "lenient"):
        (row,) = gridc.certify(path, reading=stated).certificate.benchmarks
        (score,) = row.scores
        other = {"strict": 0.25, "lenient": 0.5}
        assert score.repetitions == 1 and score.score == other.pop(score.reading)
        assert score.reading == (stated or "strict")
        assert {one.reading: one.score for one in row.readings} == other
    with pytest.raises(UsageError, match="GC767"):
        gridc.compare(path, path, margin=5)
    (compared,) = gridc.compare(path, path, margin=5, reading="lenient").comparison.benchmarks
    assert compared.score is not None and compared.score.a == 50


READINGS = (("strict", 4), ("lenient", 2))


def test_an_answer_that_one_reading_cannot_read_is_read_by_another(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"m,q{n},{reading},{score},{state}" for n in range(20) for reading, score, state in UNREAD]
    path.write_text("\n".join(["model,item,reading,score,state", *rows]), "utf-8")
    for reading, unreadable in (("strict", 20), ("lenient", 0)):
        (row,) = gridc.compare(path, path, margin=5, reading=reading).comparison.benchmarks
        assert (row.states_a.unreadable, row.states_a.read) == (unreadable, 20 - unreadable)


UNREAD = (("strict", 0, "unreadable"), ("lenient", 1, "read"))
