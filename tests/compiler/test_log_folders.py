"""Folders of logs with other files in them: what is not a log is listed, what is damaged is an error."""

import gzip
import json
import shutil
import sys
from pathlib import Path

import pytest

from gridc.compiler.inputs.logs import REFUSED, ReadLogs, read_logs
from gridc.diagnostics.errors import Diagnostic, FileError

LOGS = Path(__file__).resolve().parents[1] / "logs"
ROWS = [
    {"model": "a", "item": "1", "score": 1}, {"model": "a", "item": "2", "score": None},
    {"model": "b", "item": "1", "score": 0.5},
]  # fmt: skip


def refused(*paths: Path) -> Diagnostic:
    with pytest.raises(FileError) as caught:
        read_logs(paths)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def answers(logs: ReadLogs) -> list[tuple[str, list[float | None]]]:
    return [
        (one.run.model, [None if score != score else score for score in one.columns["score"].score.tolist()])
        for one in logs.runs
    ]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_table_may_be_an_array_of_json(tmp_path: Path, packed: bool, mark: str) -> None:
    data = (mark + json.dumps(ROWS)).encode()
    path = tmp_path / ("scores.json.gz" if packed else "scores.json")
    path.write_bytes(gzip.compress(data) if packed else data)
    logs = read_logs([path])
    assert answers(logs) == [("a", [1.0, None]), ("b", [0.5])]
    assert logs.runs[0].run.benchmark == "scores"


def test_logs_of_json_may_begin_with_a_mark(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "lm_eval" / "llama-zero", tmp_path / "run")
    for path in (tmp_path / "run").iterdir():
        path.write_text(path.read_text(), "utf-8-sig")
    assert len(read_logs([tmp_path]).runs) == len(read_logs([LOGS / "lm_eval" / "llama-zero"]).runs)


def test_what_is_wrong_in_an_array_is_said_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(json.dumps([*ROWS, {"model": "b", "item": "2", "score": "much"}]))
    wrong = refused(path)
    assert (wrong.code, wrong.message, wrong.span) == ("GC672", "row 4: `score` is not a number: much", None)
    path.write_text(json.dumps([*ROWS, {"model": "b"}]))
    assert refused(path).message == "row 4: a row without `model` and `score`"
    # An object is not a table, whatever its keys.
    path.write_text(json.dumps(ROWS[0]))
    assert (refused(path).code, refused(path).message) == ("GC671", "not a log")
    path.write_text("[]")
    assert refused(path).message == "not a log"


STRAYS = {
    "notes.json": '{"a": 1, // a comment\n}', "settings.json": '{"version": 1}', "lines.jsonl": "no JSON\n",
    "list.json": "[1, 2]", "people.csv": "name,age\nx,1\n", "latin.csv": "name,städte\n",
    "empty.json": "", "empty.csv": "", "empty.jsonl": "",
}  # fmt: skip


def test_stray_files_are_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text(json.dumps(ROWS))
    alone = answers(read_logs([tmp_path]))
    for name, text in STRAYS.items():
        (tmp_path / name).write_text(text, "latin-1")
    logs = read_logs([tmp_path])
    assert answers(logs) == alone
    said = dict(note.removeprefix("not read: ").split(": ", 1) for note in logs.notes)
    assert said.keys() == {str(tmp_path / name) for name in STRAYS}
    assert said[str(tmp_path / "settings.json")] == "no log of a known format"
    assert said[str(tmp_path / "notes.json")].startswith("not JSON")
    # The same file, named, is an error.
    assert refused(tmp_path / "scores.json", tmp_path / "notes.json").code == "GC672"
    for number in range(30):
        (tmp_path / f"z{number}.json").write_text("{}")
    notes = read_logs([tmp_path]).notes
    assert len(notes) == 21 and notes[-1].startswith("not read: 19 more files, such as ")
    # A log of a format that is refused is listed before files that may be anything.
    (tmp_path / "zz.json").write_text('{"mteb_version": "2", "scores": {}}')
    assert "results of MTEB" in read_logs([tmp_path]).notes[0]


def test_a_folder_in_which_nothing_is_read_is_refused(tmp_path: Path) -> None:
    for name in ("logs", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "logs" / "scores.json").write_text(json.dumps(ROWS))
    (tmp_path / "other" / "notes.json").write_text("{}")
    wrong = refused(tmp_path / "logs", tmp_path / "other")
    assert (wrong.code, wrong.file) == ("GC671", str(tmp_path / "other"))
    assert wrong.message == "no log in this folder; notes.json: no log of a known format"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"evalId": "e", "results": {"version": 3, "results": [{'),
        ("a.json", '{"version": 2, "status": "success", "eval": {"model": "m", '),
        ("results_2026.json", '{"results": {'),
        ("a.json", '[{"model": "a", "item": 1, "score": 1}, {"model": "a", "it'),
        ("a.jsonl", '{"model": "a", "item": 1, "score": '),
        ("a.csv", "Model,item,Score\nä,1,1\n"),
        ("a.json", '{"no_generation": [], "resolved": ["a", '),
        ("a.eval", "not a zip file"),
        ("model_outputs_m_5shots.zip", "not a zip file"),
        ("a.parquet", "not Parquet"),
    ],
)
def test_a_damaged_log_is_no_stray_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "scores.json").write_text(json.dumps(ROWS))
    (tmp_path / name).write_text(text, "latin-1")
    wrong = refused(tmp_path)
    assert (wrong.code, wrong.file) == ("GC672", str(tmp_path / name))


def test_what_is_damaged_beyond_its_first_line_is_no_stray_file(tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text(json.dumps(ROWS))
    (tmp_path / "more.jsonl").write_text('{"model": "a", "item": 1, "score": 1}\n{"model": ')
    assert refused(tmp_path).code == "GC672"
    (tmp_path / "more.jsonl").unlink()
    (tmp_path / "more.json.gz").write_bytes(gzip.compress(json.dumps(ROWS).encode())[:-9])
    assert refused(tmp_path).code == "GC672"


def test_parquet_without_pyarrow_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scores.json").write_text(json.dumps(ROWS))
    (tmp_path / "more.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    wrong = refused(tmp_path)
    assert (wrong.code, wrong.message, wrong.help) == (
        "GC671", "Parquet needs pyarrow", 'pip install "gridc[tables]"',
    )  # fmt: skip


def test_a_table_of_something_else_in_parquet_is_a_stray_file(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"question": ["x"]}), tmp_path / "test.parquet")
    (tmp_path / "scores.json").write_text(json.dumps(ROWS))
    (note,) = read_logs([tmp_path]).notes
    assert note == f"not read: {tmp_path / 'test.parquet'}: no log of a known format"


KNOWN = {
    # A first line of counts, then the entries that failed: no JSON as a whole, whatever the name says.
    "BFCL_v4_simple_python_score.json": (
        "BFCL",
        '{"accuracy": 0.5, "correct_count": 1, "total_count": 2}\n{"id": "simple_1", "valid": false}\n',
    ),
    "simple_score.json": ("BFCL", '{"accuracy": 1.0, "correct_count": 1, "total_count": 1}\n'),
    "BFCL_v4_simple_python_result.json": (
        "BFCL",
        '{"id": "simple_0", "result": "f(1)"}\n{"id": "simple_1"}\n',
    ),
    "Banking77.json": ("MTEB", '{"task_name": "x", "mteb_version": "2.0", "scores": {"test": []}}'),
    "Banking77_predictions.json": ("MTEB", '{"mteb_model_meta": {}, "default": {"test": [1]}}'),
    "mmlu_m.json": ("simple-evals", '{"chars": 9.5, "chars:std": 0.5, "score:std": 0.5, "score": 0.5}'),
    "mmlu_m_allresults.json": ("simple-evals", '{"score": 0.5, "metrics": {}, "htmls": [], "convos": []}'),
    "test_run.json": ("DeepEval", '{"testCases": [{"input": "?"}], "metricsScores": [], "testPassed": 1}'),
    "judge_leaderboard.csv": (
        "AlpacaEval",
        ",win_rate,standard_error,n_wins,n_wins_base,n_draws,n_total\nsmall,5,1,1,1,1,3\n",
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_formats_without_answers_are_refused_by_their_name(tmp_path: Path, name: str) -> None:
    package, text = KNOWN[name]
    (tmp_path / name).write_text(text)
    wrong = refused(tmp_path / name)
    assert wrong.code == "GC671" and package in wrong.message and "table" in (wrong.help or "")
    # Alone in a folder that is said of the folder, and beside logs it is a line of the output.
    assert wrong.message in refused(tmp_path).message
    (tmp_path / "scores.json").write_text(json.dumps(ROWS))
    (note,) = read_logs([tmp_path]).notes
    assert note == f"not read: {tmp_path / name}: {wrong.message}; {wrong.help}"


def test_every_format_that_is_refused_has_an_example() -> None:
    assert {one.package for one in REFUSED} == {package for package, _ in KNOWN.values()}
