"""Public leaderboards as they are published: files in their form, with invented answers, counted by hand."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.inputs.logs import read_logs
from gridc.reports.recorded.cells import recorded_benchmarks
from tests.compiler.leaderboards import (
    ALPACA,
    BBQ,
    GAMES,
    MMLU,
    PROBLEMS,
    TRIALS,
    alpaca_eval,
    arena_hard,
    bbq,
    livecodebench,
    mmlu_pro,
    tau_bench,
    zipped,
)
from tests.compiler.test_log_formats import answers, one, refused, told, written


def printed(path: Path, reading: str) -> float | None:
    return one(path).run.printed[reading].value


def lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(path: Path) -> list[Any]:
    if path.suffix == ".json":
        return list(json.loads(path.read_text()))
    return [json.loads(line) for line in path.read_text().splitlines()]


# AlpacaEval


def test_alpaca_eval_by_its_preferences(tmp_path: Path) -> None:
    path = alpaca_eval(tmp_path, ALPACA)
    logs = read_logs([tmp_path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark, run.readings) == (
        "small", "AlpacaEval", ("win_rate", "discrete_win_rate"),
    )  # fmt: skip
    assert (run.axes["annotator"].value, run.axes["baseline"].value) == ("judge", "large")
    assert run.axes["annotator"].aspect == "score"
    # 1 the baseline wins, 2 the model; 1.5 and the 0 of older annotators are draws; None and NaN are no vote.
    assert [row[2:] for row in answers(logs, "win_rate")] == [
        (0.0, "read"), (1.0, "read"), (0.5, "read"), (0.5, "read"), (0.25, "read"), (0.75, "read"),
        (None, "unscored"), (None, "unscored"), (None, "unscored"),
    ]  # fmt: skip
    assert [row[2] for row in answers(logs, "discrete_win_rate")][:6] == [0, 1, 0.5, 0.5, 0, 1]
    # AlpacaEval leaves out what has no preference.
    assert {name: (one.value, one.items) for name, one in run.printed.items()} == {
        "win_rate": (0.5, 6), "discrete_win_rate": (0.5, 6),
    }  # fmt: skip
    first = next(iter(run.samples() if run.samples else ()))
    assert (first.prompt, first.answer, first.fields) == ("Do 0.", "small 0", {"dataset": "even"})
    assert logs.notes == [] and run.remark is None, "the model's outputs beside them are no stray file"
    assert path.parent.name == "judge"


def test_units_of_alpaca_eval_are_its_datasets(tmp_path: Path) -> None:
    from gridc.compiler.inputs.logs.files import TableColumns

    alpaca_eval(tmp_path, ALPACA)
    items = read_logs([tmp_path], columns=TableColumns.stated((), (), "dataset")).items["AlpacaEval"]
    assert set(items.units) == {"even", "odd"}


def test_a_pair_of_alpaca_eval_that_is_judged_twice_counts_once(tmp_path: Path) -> None:
    """The second time in the other order, so that 1 is the model's win."""
    path = alpaca_eval(tmp_path, [1.25, 2.0])
    rows = rows_of(path)
    turned = rows[0] | {
        "generator_1": "small", "generator_2": "large", "output_1": "small 0", "output_2": "large 0",
        "preference": 1.25,
    }  # fmt: skip
    written(path, [*rows, turned])
    logs = read_logs([path])
    assert [row[2:] for row in answers(logs, "win_rate")] == [(0.5, "read"), (1.0, "read")]
    assert [row[2] for row in answers(logs, "discrete_win_rate")] == [0.5, 1]
    assert (logs.runs[0].run.remark or "").startswith("1 rows judge an instruction again")


def test_two_submissions_of_one_generator_are_two_models(tmp_path: Path) -> None:
    alpaca_eval(tmp_path, [1.0, 2.0])
    alpaca_eval(tmp_path, [2.0, 2.0], submission="again")
    assert {run.run.model for run in read_logs([tmp_path]).runs} == {"small", "again"}
    # The same file within its own folder is a copy.
    alpaca_eval(tmp_path / "small", [1.0, 2.0], submission="judge")
    logs = read_logs([tmp_path / "small"])
    assert len(logs.runs) == 1 and "counts once" in logs.notes[0]


def test_two_runs_of_one_submission_are_named_apart(tmp_path: Path) -> None:
    """Every file of AlpacaEval has one name."""
    alpaca_eval(tmp_path / "a", [1.0, 2.0])
    alpaca_eval(tmp_path / "b", [1.0, 1.0])
    wrong = refused(tmp_path)
    assert wrong.code == "GC678" and "a/small/judge/annotations.json" in wrong.message
    named = "b/small/judge/annotations.json"
    assert f"--run {named}" in (wrong.help or "") or "--run a/small" in (wrong.help or "")
    (run,) = read_logs([tmp_path], counting=[named]).runs
    assert run.columns["win_rate"].score.tolist() == [0, 0]


def test_two_annotators_are_two_configurations(tmp_path: Path) -> None:
    alpaca_eval(tmp_path, [1.0, 2.0])
    alpaca_eval(tmp_path, [1.5, 2.0], annotator="other")
    (benchmark,) = recorded_benchmarks(read_logs([tmp_path]), None, ())
    assert sorted(name for _, name in benchmark.cells) == ["annotator=judge", "annotator=other"]


def test_a_leaderboard_beside_annotations_is_what_alpaca_eval_prints(tmp_path: Path) -> None:
    path = alpaca_eval(tmp_path, [1.0, 2.0, 1.5, None])
    board = path.with_name("leaderboard.csv")
    head = ",win_rate,standard_error,n_wins,n_wins_base,n_draws,n_total,discrete_win_rate"
    head += ",length_controlled_winrate"
    board.write_text(f"{head}\nlarge,50.0,0,0,0,3,3,50.0,50.0\nsmall,50.0,28.9,1,1,1,3,50.0,41.5\n")
    logs = read_logs([path.parent])
    found = logs.runs[0].run.printed
    assert {name: (one.value, one.items) for name, one in found.items()} == {
        "win_rate": (0.5, 3), "discrete_win_rate": (0.5, 3), "length_controlled_winrate": (0.415, 3),
    }  # fmt: skip
    assert not logs.notes, "it is read with the annotations"
    board.write_text(f"{head}\nsmall,60.0,28.9,1,1,1,3,50.0,41.5\n")
    assert refused(path.parent).code == "GC674"
    board.write_text(f"{head}\nsmall,many,28.9,1,1,1,3,50.0,41.5\n")
    assert refused(path.parent).code == "GC672"


def test_a_leaderboard_alone_is_listed_as_what_it_is(tmp_path: Path) -> None:
    alpaca_eval(tmp_path / "results", [1.0, 2.0])
    board = tmp_path / "boards" / "judge_leaderboard.csv"
    board.parent.mkdir()
    board.write_text(",win_rate,standard_error,n_wins,n_wins_base,n_draws,n_total\nsmall,5,1,1,1,1,3\n")
    (note,) = read_logs([tmp_path]).notes
    assert "a leaderboard of AlpacaEval" in note
    assert refused(board).code == "GC671"


@pytest.mark.parametrize("wrong", [True, "1.5", [], {}])
def test_a_preference_that_is_no_number_is_an_error_with_its_place(tmp_path: Path, wrong: Any) -> None:
    path = alpaca_eval(tmp_path, [1.0, wrong, 2.0])
    assert (refused(path).code, refused(path).message[:6]) == ("GC672", "row 2:")


# MMLU-Pro


def test_mmlu_pro_as_it_is_and_in_a_zip(tmp_path: Path) -> None:
    path = mmlu_pro(tmp_path, MMLU)
    logs = read_logs([path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark, run.readings) == ("org-small", "MMLU-Pro", ("acc", "acc_guessing"))
    assert run.axes["shots"].value == "5" and run.remark is None
    assert [row[2:] for row in answers(logs, "acc")] == [
        (1.0, "read"), (0.0, "read"), (0.0, "unreadable"), (0.0, "unreadable"), (None, "failed"),
    ]  # fmt: skip
    # MMLU-Pro draws an option where nothing was read: one in four, and one in two.
    assert [row[2] for row in answers(logs, "acc_guessing")] == [1, 0, 0.25, 0.5, None]
    (items,) = logs.items.values()
    assert items.ids == ["0", "1", "2", "3", "4"] and items.without_content == 5
    first = next(iter(run.samples() if run.samples else ()))
    assert (first.answer, first.fields) == ("so A", {"category": "sums", "src": "ours"})
    packed = read_logs([zipped(path)])
    assert answers(packed, "acc") == answers(logs, "acc") and packed.runs[0].run.model == "org-small"
    # The file and its zip hold one run.
    assert len(read_logs([tmp_path]).runs) == 1


def test_a_file_of_one_category_is_a_benchmark_of_its_own(tmp_path: Path) -> None:
    path = mmlu_pro(tmp_path, MMLU[:1]).rename(tmp_path / "sums_result.json")
    run = one(path).run
    assert (run.model, run.benchmark) == (tmp_path.name, "MMLU-Pro sums")


def test_names_of_categories_among_the_rows_of_mmlu_pro_are_told(tmp_path: Path) -> None:
    """As in a published file, where summaries were merged with the rows."""
    path = mmlu_pro(tmp_path, MMLU)
    rows = rows_of(path)
    written(path, [*rows[:2], "sums", "total", *rows[2:]])
    run = one(path)
    assert len(run.columns["acc"].item) == 5
    assert run.run.remark == "2 names of categories stand among its rows, and are not read"
    written(path, [*rows[:2], "else"])
    assert refused(path).message.startswith("row 3: not a row of MMLU-Pro")


def test_a_zip_may_hold_a_file_of_any_format(tmp_path: Path) -> None:
    table = written(tmp_path / "t.json", [{"model": "a", "item": "1", "score": 1}])
    packed = zipped(table)
    table.unlink()
    assert one(packed).columns["score"].score.tolist() == [1]
    outputs = livecodebench(tmp_path, PROBLEMS)
    packed = zipped(outputs)
    outputs.unlink()
    assert one(packed).run.benchmark == "LiveCodeBench codegeneration"


def test_a_zip_is_read_within_bounds(tmp_path: Path) -> None:
    path = mmlu_pro(tmp_path, MMLU)
    held = path.read_bytes()
    path.unlink()
    packed = tmp_path / f"{path.stem}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large.json", b" " * 2**23 + held)
    assert refused(packed).code == "GC673", "unpacks to more than a thousand times its size"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.json", held)
        archive.writestr("b.json", held)
    assert refused(packed).code == "GC671", "which of two files is it?"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("__MACOSX/._a.json", b"\0")
        archive.writestr("../../a.json", held)
    assert len(one(packed).columns["acc"].item) == 5, "nothing is unpacked to a path"
    packed.write_bytes(packed.read_bytes()[:-30])
    assert refused(packed).code == "GC672"
    # Another zip in a folder is listed.
    packed.unlink()
    written(tmp_path / path.name, json.loads(held))
    (tmp_path / "other.zip").write_bytes(b"PK")
    assert "other.zip" in read_logs([tmp_path]).notes[0]


# tau-bench


def test_tau_bench_by_its_trials(tmp_path: Path) -> None:
    path = tau_bench(tmp_path / "small-airline.json", TRIALS)
    logs = read_logs([path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark, run.readings, run.repetitions) == (
        "small", "tau-bench airline", ("pass^1",), 3,
    )  # fmt: skip
    assert answers(logs, "pass^1") == [
        ("0", 0, 1.0, "read"), ("0", 1, 1.0, "read"), ("0", 2, 0.0, "read"),
        ("1", 0, 0.0, "read"), ("1", 1, 1.0, "read"), ("1", 2, None, "failed"),
    ]  # fmt: skip
    # Of task 0 two of three trials succeed, of task 1 one: pass^2 is the mean of 1/3 and 0.
    assert [run.printed[f"pass^{k}"].value for k in (1, 2, 3)] == pytest.approx([1 / 2, 1 / 6, 0])
    first = next(iter(run.samples() if run.samples else ()))
    assert (first.prompt, first.answer) == ("task 0", "done")


def test_tau_bench_as_its_own_run_names_it(tmp_path: Path) -> None:
    name = "tool-calling-small-1b-0.7_range_0-2_user-large-llm_1201101500.json"
    run = one(tau_bench(tmp_path / name, TRIALS)).run
    assert (run.model, run.benchmark, run.begun) == ("small-1b", "tau-bench retail", "1201101500")
    values = [run.axes[name].value for name in ("strategy", "temperature", "user")]
    assert values == ["tool-calling", "0.7", "large-llm"]


# BBQ


def test_bbq_by_its_predictions(tmp_path: Path) -> None:
    """Accuracy and the paper's bias scores, for each condition."""
    logs = read_logs([bbq(tmp_path, BBQ)])
    runs = {(run.run.benchmark, run.run.axes["format"].value): run for run in logs.runs}
    assert runs.keys() == {
        ("BBQ Age, ambig", "qonly"), ("BBQ Age, ambig", "race"), ("BBQ Age, disambig", "race"),
    }  # fmt: skip
    ambiguous, settled = runs["BBQ Age, ambig", "race"], runs["BBQ Age, disambig", "race"]
    assert ambiguous.run.model == "small" and ambiguous.run.readings == ("accuracy", "bias")
    ids = logs.items["BBQ Age, ambig"].ids
    assert told(ambiguous, "accuracy", ids) == [
        ("Age-0", 0, 1.0, "read"), ("Age-2", 0, 0.0, "read"), ("Age-4", 0, 0.0, "read"),
        ("Age-6", 0, 0.0, "unreadable"),
    ]  # fmt: skip
    # 0 unknown; 1 with the stereotype (the old man on the negative question), -1 against it; none unread.
    assert [row[2] for row in told(ambiguous, "bias", ids)] == [0, 1, -1, None]
    ids = logs.items["BBQ Age, disambig"].ids
    assert [row[2] for row in told(settled, "accuracy", ids)] == [1, 1, 0, 0]
    assert [row[2] for row in told(settled, "bias", ids)] == [1, -1, None, 1]


def test_a_prediction_of_bbq_is_read_as_the_paper_reads_it(tmp_path: Path) -> None:
    path = bbq(tmp_path, BBQ)
    rows = rows_of(path)
    for said, score in (
        ("cannot answer", 1), (" Cannot Answer. ", 1), ("Cannot answer.", 1), ("the young man", 0),
        ("I say it is the young man", 0), ("the man", None),
    ):  # fmt: skip
        lines(path, [rows[0] | {"small_pred_race": said}, *rows[1:]])
        logs = read_logs([path])
        run = next(one for one in logs.runs if one.run.axes["format"].value == "race")
        row = told(run, "accuracy", logs.items["BBQ Age, ambig"].ids)[0]
        expected = "unreadable" if score is None else "read"
        assert (row[2], row[3]) == (score or 0, expected), said


def test_a_row_of_bbq_that_contradicts_itself_is_an_error(tmp_path: Path) -> None:
    path = bbq(tmp_path, BBQ)
    rows = rows_of(path)
    lines(path, [rows[0], rows[1] | {"label": 0, "context_condition": "ambig"}])
    assert (refused(path).code, refused(path).message[:7]) == ("GC672", "line 2:")


# Arena-Hard


def test_arena_hard_by_its_games(tmp_path: Path) -> None:
    path = arena_hard(tmp_path, GAMES)
    logs = read_logs([path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark, run.readings) == ("small", "arena-hard-v2.0 hard_prompt", ("win_rate",))
    assert (run.axes["judge"].value, run.axes["baseline"].value) == ("judge", "large")
    # The baseline is A in the first game: `A>>B` there is three votes against the model.
    assert [row[2:] for row in answers(logs, "win_rate")] == [
        (1.0, "read"), (0.25, "read"), (0.5, "read"), (None, "unscored"), (None, "unscored"),
    ]  # fmt: skip
    # Arena-Hard pools the votes: 1 1, 0 0 0 1, .5 .5.
    assert run.printed["pooled votes"].value == pytest.approx(4 / 8) and run.remark is None
    lines(path, [*rows_of(path), rows_of(path)[0]])
    again = one(path)
    assert again.columns["win_rate"].score.tolist()[:2] == [1.0, 0.25]
    assert (again.run.remark or "").startswith("1 rows judge a question again")


def test_the_first_version_of_arena_hard_has_other_names(tmp_path: Path) -> None:
    path = arena_hard(tmp_path, GAMES)
    rows = rows_of(path)
    old = [
        {"question_id": row["uid"], "model": "small", "judge": "judge", "games": row["games"]} for row in rows
    ]
    lines(path, old)
    run = one(path).run
    assert (run.benchmark, run.axes["baseline"].value) == ("arena-hard-v2.0", "unknown")
    lines(path, [*rows, rows[0] | {"games": [{"score": "C"}, None]}])
    assert (refused(path).code, refused(path).message[:7]) == ("GC672", "line 6:")


# LiveCodeBench


def test_livecodebench_by_its_graded_programs(tmp_path: Path) -> None:
    path = livecodebench(tmp_path, PROBLEMS)
    written(path.with_name(path.name.replace("_eval_all", "")), [{"question_id": "p0", "output_list": []}])
    written(path.with_name(path.name.replace("_eval_all", "_eval")), [{"pass@1": 0.5, "detail": {}}])
    logs = read_logs([tmp_path])
    run = logs.runs[0].run
    assert (run.model, run.benchmark, run.readings) == ("small", "LiveCodeBench codegeneration", ("pass@1",))
    assert run.axes["temperature"].value == "0.2"
    assert answers(logs, "pass@1") == [
        ("p0", 0, 1.0, "read"), ("p0", 1, 0.0, "read"), ("p1", 0, 0.0, "unreadable"), ("p1", 1, 0.0, "read"),
    ]  # fmt: skip
    assert logs.notes == [] and printed(tmp_path, "pass@1") == 0.25
    rows = rows_of(path)
    written(path, [rows[0] | {"pass@1": 1.0}, rows[1]])
    assert refused(tmp_path).code == "GC674", "another share than its programs have"
    # Older results have another name of the share, and a name of their own.
    old = [{("pass1" if name == "pass@1" else name): value for name, value in row.items()} for row in rows]
    run = one(written(path.with_name("Scenario.codegeneration_eval_all_v5.json"), old)).run
    assert (run.benchmark, run.axes["run"].value) == ("LiveCodeBench codegeneration", "v5")
    written(path, [rows[0], rows[1] | {"graded_list": [1, 0]}])
    assert (refused(path).code, refused(path).message[:6]) == ("GC672", "row 2:")


# All of them


def test_no_leaderboard_is_claimed_by_another_reader(tmp_path: Path) -> None:
    from gridc.compiler.inputs.logs.files import LogFile
    from gridc.compiler.inputs.logs.records import LOG_READERS

    made: Mapping[str, Path] = {
        "alpaca_eval": alpaca_eval(tmp_path, ALPACA), "mmlu_pro": mmlu_pro(tmp_path, MMLU),
        "tau_bench": tau_bench(tmp_path / "small-airline.json", TRIALS), "bbq": bbq(tmp_path, BBQ),
        "arena_hard": arena_hard(tmp_path, GAMES), "livecodebench": livecodebench(tmp_path, PROBLEMS),
    }  # fmt: skip
    for name, path in made.items():
        assert [each for each, reader in LOG_READERS.items() if reader.claims(LogFile(path))] == [name]
