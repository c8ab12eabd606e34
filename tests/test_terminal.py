"""What is printed on a terminal is shown, never obeyed, and a caret stands under what it is about."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from contextlib import chdir, suppress
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.synthetic import make as make_study
from gridc.cli import main
from gridc.cli.terminal import diagnostic_text, print_table, progress, visible
from gridc.compiler.frontend.source import parse_source
from gridc.diagnostics.errors import CODES, Diagnostic, GridcError, Span, diagnostic, json_text
from gridc.runtime.run import RunCost, RunStep
from tests.viewer.stores import make as make_store
from tests.viewer.test_labels import AXES


def test_escape_sequences_become_pictures() -> None:
    assert visible("a\u202eb\u2066c\u2028d") == "a\ufffdb\ufffdc\ufffdd"
    assert visible("\x1b[31mred\x07\x9b2J") == "␛[31mred␇\ufffd2J"
    assert visible("naïve – 答案") == "naïve – 答案"


def test_the_caret_stands_under_the_place() -> None:
    source = parse_source('"ключ" = 1\nname = "T5"\n', Path("x.toml"))
    printed = diagnostic(source.diagnose("GC202", ("name",), "no `T5`", "did you mean `T4`?"))
    assert printed.splitlines() == [
        "error[GC202]: no `T5`",
        "  --> x.toml:2:8",
        "  |",
        '2 | name = "T5"',
        "  |        ^^^^",
        "   = help: did you mean `T4`?",
    ]


def test_a_place_that_is_gone_is_still_named(tmp_path: Path) -> None:
    printed = diagnostic(Diagnostic("GC002", "cannot be read", str(tmp_path / "none.toml"), Span(3, 1)))
    assert "none.toml:3:1" in printed


def test_a_notebook_shows_the_diagnostics_and_no_traceback() -> None:
    """IPython asks an exception for `_render_traceback_`."""
    error = GridcError([Diagnostic("GC002", "cannot be read", "none.toml", Span(3, 1), "write it")])
    assert error._render_traceback_()[:3] == [
        "error[GC002]: cannot be read",
        "  --> none.toml:3:1",
        "   = help: write it",
    ]


def test_progress_names_a_number_of_tokens_only_where_one_is_known() -> None:
    assert RunStep("ant", 0, 0, "reading its prompts").tokens == ""
    assert str(RunStep("ant", 0, 0)) == "ant"
    assert RunStep("ant", 1200, 4800).tokens == "1,200 of at most 4,800 tokens"
    with progress() as show:  # no terminal, and a run with nothing to ask
        show(RunStep("ant", 0, 0))


def test_a_bar_without_a_number_of_tokens_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("COLUMNS", "120")
    with progress() as show:
        show(RunStep("ant", 0, 0, "reading its prompts"))
    assert "reading its prompts" in shown.getvalue()
    assert "/?" not in shown.getvalue()
    assert "token" not in shown.getvalue()
    with progress() as show:
        show(RunStep("ant", 1200, 4800))
    assert "1,200 of at most 4,800 tokens" in shown.getvalue()


def test_a_long_list_says_what_it_leaves_out() -> None:
    printed = diagnostic_text(tuple(Diagnostic("GC701", f"input {number}") for number in range(60)))
    assert "input 49" in printed
    assert "10 more GC701 (--json lists all)" in printed


def test_every_code_has_a_title_and_an_explanation_in_sentences() -> None:
    for code, entry in CODES.items():
        assert entry.title[0].islower() or entry.title.startswith("BOS"), code
        assert entry.explanation.rstrip().endswith((".", "?")), code


def test_no_cell_is_cut_on_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    cells = ["m" * 300, *("9" * 40 for _ in range(9))]
    print_table(["model", *map(str, range(9))], [cells], right=range(1, 10))
    printed = capsys.readouterr().out
    assert all(cell in printed for cell in cells)
    assert "…" not in printed


OBEYED = "\x9b2Jred \u202eabc \u2066def\u2069 \u200b \u2028"


def test_json_for_programs_holds_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    """The name of a file turns the direction of writing and begins an escape sequence; programs read it."""
    name = f"{OBEYED}.toml"
    (tmp_path / name).write_text("gridcard = 2\n", "utf-8")
    with chdir(tmp_path):
        done = CliRunner().invoke(main, ["validate", name, "--json"], prog_name="gridc")
    assert done.exit_code == 3
    assert all(part == "\n" or part.isprintable() for part in done.stdout)
    assert {each["file"] for each in json.loads(done.stdout)["diagnostics"]} == {name}


@given(st.text())
def test_what_is_escaped_reads_back_the_same(text: str) -> None:
    printed = json_text({text: [text, "naïve – 答案"]}, indent=2)
    assert json.loads(printed) == {text: [text, "naïve – 答案"]}
    assert "naïve – 答案" in printed
    assert not [
        part for part in printed if unicodedata.category(part) in ("Cf", "Zl", "Zp") or part == "\x9b"
    ]


def on_a_terminal(columns: int, program: str, err: bool = False, code: int = 0) -> list[str]:
    """What a program prints on a terminal of so many columns, or with `err` what it says beside that."""
    main_end, its_end = pty.openpty()
    fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    run = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=None if err else its_end,
        stderr=its_end if err else None,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
    )
    os.close(its_end)
    printed = b""
    with suppress(OSError):  # Linux ends a terminal without a writer with an error
        while some := os.read(main_end, 65536):
            printed += some
    os.close(main_end)
    assert run.wait() == code
    return printed.decode().splitlines()


@pytest.mark.parametrize("columns", [60, 80, 120, 400])
@pytest.mark.parametrize("names", [1, 2])
def test_a_table_that_is_too_wide_becomes_a_list_for_each_statistic(columns: int, names: int) -> None:
    header = [*["model", "configuration"][:names], *(f"statistic_{n} %" for n in range(9))]
    rows = [
        [*[model, f"push={push},effort=high"][:names], *(f"{n}.00 (1.00 to {n}9.00)" for n in range(9))]
        for model in ("able", "hasty-with-a-longer-name") for push in ("none", "doubt")
    ]  # fmt: skip
    rows[0][names] = ""
    lines = [header, *rows]
    program = f"from gridc.cli.terminal import folded; print(*folded({lines!r}, {names}), sep='\\n')"
    printed = on_a_terminal(columns, program)
    assert max(map(len, printed)) <= columns
    assert (printed[0].split()[0] == "model") is (columns == 400), "a table where it fits"
    every = " ".join(" ".join(printed).split())
    assert all(cell in every for row in rows for cell in row), "nothing is cut off"
    if columns == 400:
        return
    heads = [place for place, line in enumerate(printed) if not line.startswith(" ")]
    assert [printed[place] for place in heads] == header[names:]
    first, second, *_ = (" ".join(printed[a:b]) for a, b in pairwise(heads))
    assert first.count("able") == 1 and second.count("able") == 2, "what does not exist has no row"


@pytest.mark.parametrize("columns", [60, 100])
def test_no_table_loses_a_cell_on_a_narrow_terminal(columns: int) -> None:
    """Of one with a title and a caption, and of one all in words."""
    names = ["benchmark", "n", "a", "b", "b - a", "95 %", "lost / won", "result"]
    rows = [
        [f"a-benchmark-with-a-long-name-{n}", f"{n},000 items", "71.25 %", "", f"+{n}.5", f"-{n}.1 to +9.9",
         "12 / 34", "not decided: it may be worse by up to 4.25 points"] for n in (1, 2)
    ]  # fmt: skip
    program = (
        "from gridc.cli.terminal import print_table, folded\n"
        f"print_table({names!r}, {rows!r}, range(1, 7), title='by benchmark', caption='as \\x1b[31mtold')\n"
        f"print(*folded([{names!r}, *{rows!r}], 1, numbers=False), sep='\\n')"
    )
    printed = on_a_terminal(columns, program)
    assert max(map(len, printed)) <= columns, "every line fits"
    said = " ".join(" ".join(printed).split())
    assert "…" not in said and "\x1b" not in said and "as ␛[31mtold" in said
    for row in rows:
        assert all(said.count(cell) >= 2 for cell in row), "once in each table"
    assert printed[0] == "by benchmark" and "result" in printed


@pytest.mark.parametrize("columns", [60, 100])
def test_a_wide_row_of_sql_becomes_a_list(columns: int, tmp_path: Path) -> None:
    path = make_store(tmp_path / "store.sqlite", items=2, waits=False)
    statement = "SELECT cell, item, text, 'x' || text AS again FROM samples WHERE text > '' LIMIT 2"
    arguments = ["sql", statement, "--store", str(path)]
    program = f"from gridc.cli import main; main({arguments!r}, standalone_mode=False)"
    printed = on_a_terminal(columns, program)
    assert max(map(len, printed)) <= columns
    assert [line for line in printed if not line.startswith(" ")] == ["row 1", "row 2", "(2 rows)"]
    narrow = on_a_terminal(columns, program.replace(repr(statement), "'SELECT item FROM samples LIMIT 1'"))
    assert narrow[:2] == ["item", "-------"], "what fits is a table"


def test_sql_cuts_no_cell_on_a_pipe(tmp_path: Path) -> None:
    path = make_store(tmp_path / "store.sqlite", items=1, waits=False)
    for size, more in ((1999, False), (2100, True)):
        statement = f"SELECT hex(zeroblob({size // 2})) || '{'1' * (size % 2)}' AS long"
        done = CliRunner().invoke(main, ["sql", statement, "--store", str(path)], prog_name="gridc")
        assert done.exit_code == 0, done.output
        assert ("(100 more characters: --format csv or json)" in done.stdout) is more
        assert ("0" * 1998 in done.stdout) and "…" not in done.stdout


@pytest.fixture(scope="module")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with three models and five benchmarks, and two logs of another package, in one folder."""
    folder = tmp_path_factory.mktemp("study")
    make_study(folder, 12, AXES)
    for name, other in (("old", 1), ("new", 0)):
        rows = [
            f"{name},quiz-with-a-long-name-{quiz},{item},What is {item}?,{other if item % 3 == 0 else 1}"
            for quiz in range(3) for item in range(30)
        ]  # fmt: skip
        (folder / name).mkdir()
        (folder / name / "log.csv").write_text("\n".join(["model,benchmark,item,question,score", *rows]))
    return folder


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize(
    "arguments",
    [
        ["plan"],
        ["audit", "sample", "--decide"],
        ["compare", "old", "new"],
        ["certify", "--from", "new"],
        ["sql", "SELECT model, benchmark, configuration, count(*) FROM samples GROUP BY cell LIMIT 3"],
    ],
)
def test_a_narrow_terminal_shows_what_a_pipe_does(
    finished_study: Path, columns: int, arguments: list[str]
) -> None:
    """Each word and number, with nothing cut off: what does not fit is folded. A list has no header of the
    columns that name its rows."""
    with chdir(finished_study):
        done = CliRunner().invoke(main, arguments, prog_name="gridc")
        program = f"from gridc.cli import main; main({arguments!r}, prog_name='gridc')"
        narrow = on_a_terminal(columns, program, code=done.exit_code)
    assert done.exit_code in (0, 1, 10, 11), done.output
    told = [line for line in done.stdout.splitlines() if not line.startswith("memory:")]
    words = {word for word in " ".join(told).split() if not re.fullmatch(r"[─—-]+", word)}
    shown = {word for line in narrow for word in re.sub(r"\x1b\[[0-9;]*m", "", line).split()}
    assert words - shown <= {"model", "models", "benchmark", "configuration", "reading"}, "cut off"
    assert len(words) > 5


RUN = """
import sys, time
from gridc.cli.terminal import progress
from gridc.runtime.run import RunCost, RunStep
from tests.viewer.stores import make as make_store
from tests.viewer.test_labels import AXES
with progress() as show:
    for n in range(30):
        cost = RunCost({cost} * (n + 1), {whole}) if {cost} else None
        show(RunStep({model!r}, 1000 * n, 30000, "waiting for its provider" if n % 7 == 6 else "",
                     calls=40 * n, cost=cost))
        time.sleep(0.08)
"""


def frames(printed: list[str]) -> list[str]:
    """What stood in the line of the bar, one after another, without what colours and moves it."""
    parts = [part for line in printed for part in re.split(r"\r|\x1b\[2K", line)]
    return [text for part in parts if (text := re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", part).rstrip())]


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize(
    ("model", "cost", "whole"),
    [
        ("ant", 0, True),
        ("meta-llama/Llama-3.1-70B-Instruct-Turbo", 0.0123, True),
        ("模型模型模型模型模型模型", 12.5, False),
    ],
)
def test_the_pace_the_cost_and_the_time_left_stay_whole(
    columns: int, cost: float, whole: bool, model: str
) -> None:
    shown = frames(on_a_terminal(columns, RUN.format(cost=cost, whole=whole, model=model), err=True))
    late = [line for line in shown if re.search(r"\d:\d\d:\d\d left$", line)]
    assert len(late) > 3, shown[-3:]
    for line in shown:
        width = sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)
        assert width <= columns, line
        assert line.startswith("reading") or re.search(r"(\d:\d\d:\d\d|-:--:--) left$", line), line
    for line in late[1:]:
        assert re.search(r" [\d,.]+ calls/s ", line), line
        assert ("US $" in line) is (cost > 0)
        assert ("at least US $ " in line) is not whole
        assert line.startswith(model[:2])
        assert (" of at most 30,000 tokens" if columns == 100 and whole else " % ") in line
    rates = [float(re.findall(r"([\d,.]+) calls/s", line)[0].replace(",", "")) for line in late[2:]]
    assert all(150 < rate < 520 for rate in rates), "40 calls each 0.08 s, on a machine that others use"
    if cost:
        assert f"US $ {cost * 30:,.2f}" in late[-1]


def test_lines_say_the_pace_and_the_cost(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth every ten seconds by a clock that the test moves: 50 calls in each."""
    clock = [0.0]
    monkeypatch.setattr("gridc.cli.terminal.time.monotonic", lambda: clock[0])
    with progress() as show:
        for tenth in range(11):
            show(RunStep("ant", 100 * tenth, 1000, calls=50 * tenth, cost=RunCost(0.25 * tenth, True)))
            clock[0] += 10
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "ant: 0 % of at most 1,000 tokens, US $ 0 so far"
    assert said[4] == "ant: 40 % of at most 1,000 tokens, 5.00 calls/s, US $ 1.00 so far, about 60 s left"


def test_the_pace_is_that_of_the_last_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quick model first, then a slow one: after a minute nothing is left of the first one's pace."""
    clock = [0.0]
    monkeypatch.setattr("gridc.cli.terminal.time.monotonic", lambda: clock[0])
    calls = 0
    with progress() as show:
        for second in range(0, 300, 5):
            calls += 500 if second < 100 else 5
            show(RunStep("ant", second, 300, calls=calls))
            clock[0] += 5
    paces = re.findall(r"([\d.]+) calls/s", capsys.readouterr().err)
    assert (paces[0], paces[-1]) == ("100", "1.00")
