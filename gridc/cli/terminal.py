"""How things look on a terminal. Text from files and models is shown, never obeyed."""

import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any

from gridc.diagnostics import errors
from gridc.diagnostics.errors import visible as visible
from gridc.numbers import FEW_UNITS, amount, hundredths, interval_words, over_units, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.progress import Progress

    from gridc.diagnostics.errors import Diagnostic
    from gridc.study.reporting import StudyAnswer
    from gridc.study.running import AnswerWork, Consentable, RunStep, StatusReport
    from gridc.study.scores import Scoreboard, ScoreboardReport, ScoreboardRow


WIDTH = 96
"""Columns of wrapped text, where the terminal has as many."""

UNCUT = 100_000
"""Columns of a pipe or a file: a program reads it, and no cell is cut."""


def paint(text: str, *, err: bool = False, **style: Any) -> str:
    """The text in a style of `click.style` on a terminal, and as it is in a pipe, a file, or where NO_COLOR
    is set (no-color.org)."""
    stream = sys.stderr if err else sys.stdout
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    if plain or not text:
        return text
    import click

    return click.style(text, **style)


def diagnostic_text(findings: "Sequence[Diagnostic]") -> str:
    """Diagnostics as compilers print them, coloured where standard error is a terminal."""
    return errors.diagnostics(findings, paint=partial(paint, err=True))


def bullet(sentence: str) -> str:
    """A sentence of a list, wrapped."""
    import click

    return click.wrap_text(visible(sentence), text_width(), "• ", "  ")


MOST_VERDICTS = 6
"""Verdicts on two models that a terminal shows; the page has all."""


def answer_lines(shown: "StudyAnswer") -> "Iterator[str]":
    """What came of a study: the answer, the verdicts, what may be printed, what was asked, and what speaks
    against it."""
    import click

    def wrapped(text: str, first: str = "  ", rest: str = "    ") -> str:
        return click.wrap_text(visible(text), text_width(), first, rest)

    yield paint(click.wrap_text(visible(shown.headline), text_width()), bold=True)
    for text in shown.summary:
        yield bullet(text)
    if shown.verdicts:
        yield from ("", "Do two models differ, and do other choices change that?")
        for each in shown.verdicts[:MOST_VERDICTS]:
            where = f"{each.about} ({each.scope})" if each.scope else each.about
            yield wrapped(f"{each.pair}, {where}: {each.word}; {each.survival}")
            yield wrapped(each.sentence, "    ")
        if len(shown.verdicts) > MOST_VERDICTS:
            yield f"  and {len(shown.verdicts) - MOST_VERDICTS:,} more on the report page"
        yield wrapped(shown.family, rest="  ")
    if shown.printable:
        yield from ("", "May I print this?")
        for sentence in shown.printable:
            said = "yes" if sentence.yes else "no "
            yield wrapped(f"{said}  “{sentence.text}” ({sentence.reason})", rest="       ")
    if shown.cautions:
        yield from ("", "Checks and warnings")
        for caution in shown.cautions:
            mark = "!" if caution.bad else "-" if caution.known else "?"
            yield wrapped(f"{mark} {caution.name}: {caution.text}")
    yield ""
    for fact in shown.facts:
        yield wrapped(f"{fact.question}: {fact.text}")
    yield ""


def table_console() -> "Console":
    """Where tables are printed: wide enough that rich cuts nothing."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    console.width = UNCUT
    return console


def print_table(
    names: "Sequence[str]",
    rows: "Iterable[Iterable[str]]",
    right: range = range(0),
    *,
    leading: int = 0,
    title: str = "",
    caption: str = "",
) -> None:
    """Print a table whose header is ruled off; columns whose place is in `right` hold numbers. Where the
    terminal is too narrow it is `folded`: the first `leading` columns name a row, or those before the
    numbers, or one."""
    import click
    from rich.box import SIMPLE
    from rich.markup import escape
    from rich.measure import Measurement
    from rich.table import Table

    lines = [[visible(cell) for cell in row] for row in rows]
    table = Table(box=SIMPLE, title=escape(title) or None, title_justify="left")
    for place, name in enumerate(names):
        table.add_column(escape(name), justify="right" if place in right else "left", no_wrap=True)
    for line in lines:
        table.add_row(*map(escape, line))
    table.caption, table.caption_justify = escape(caption) or None, "left"
    console = table_console()
    if Measurement.get(console, console.options, table).maximum <= screen():
        console.print(table)
        return
    if title:
        click.echo(f"{visible(title)}\n")
    for text in folded([[visible(name) for name in names], *lines], leading or right.start or 1):
        click.echo(text)
    if caption:
        click.echo(click.wrap_text(visible(caption), text_width()))


def columns(lines: "Sequence[Sequence[str]]", names: int) -> "Iterator[str]":
    """A table, its header first: so many columns of names, to the left, then numbers, to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, strict=True)
        texts = [
            f"{text:<{width}}" if place < names else f"{text:>{width}}"
            for place, (text, width) in enumerate(cells)
        ]
        yield "  ".join(texts).rstrip()


def text_width() -> int:
    """Columns of wrapped text."""
    return min(screen(), WIDTH)


def screen() -> int:
    """Columns of the terminal; of a pipe or a file, as many as there are."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else UNCUT


def folded(lines: "Sequence[Sequence[str]]", names: int, numbers: bool = True) -> "Iterator[str]":
    """The table, where the terminal is wide enough for it; else a list for each column behind those of names,
    below its header: a row of the names with the cell, which has a line of its own where it does not fit.
    Cells of no text are for what does not exist, and such a list is without them. `numbers` says that cells
    behind the names hold numbers."""
    width, table = screen(), list(columns(lines, names if numbers else len(lines[0])))
    if max(map(len, table)) <= width:
        yield from table
        return
    header, *rows = lines
    longest = [max(len(row[place]) for row in rows) for place in range(names)] if rows else []
    named = ["  ".join(f"{row[at]:<{longest[at]}}" for at in range(names)) for row in rows]
    for place in range(names, len(header)):
        cells = zip(named, (row[place] for row in rows), strict=True)
        yield from listed(header[place], [(name, text) for name, text in cells if text], width)


def listed(heading: str, entries: "Iterable[tuple[str, str]]", width: int) -> "Iterator[str]":
    """What a table becomes that is too wide: a heading, and below it each name with its text, which has lines
    of its own where it does not fit."""
    import click

    yield heading
    for name, text in entries:
        line = f"  {name}  {text}"
        if len(line) <= width:
            yield line
            continue
        for words, indent in ((name.strip(), "  "), (text, "    ")):
            wrapped = click.wrap_text(words, width, indent, " " * (len(indent) + 2))
            yield from wrapped.splitlines()


def plainly(value: float, figures: int) -> str:
    """To at least so many figures, never as a power of ten: `1,760`, `0.000098`."""
    if value == 0:
        return "0"
    return f"{value:,.{max(figures - 1 - floor(log10(abs(value))), 0)}f}"


HELD = {"kv_bytes": "keys and values"}
"""Memory that is printed, by the name under which engines report it, and what it is held for."""


def _work_words(name: str, value: float, took: "AnswerWork") -> str:
    """What batches took of one thing, which engines name in `snake_case`."""
    ratio = f", {value / took.least[name]:.3f} x the least possible" if took.least.get(name) else ""
    more = f", and {_number(took.repeated[name])} for the noise floor" if took.repeated.get(name) else ""
    return f"{_number(value)} {name.replace('_', ' ')} so far{ratio}{more}"


def _number(value: float) -> str:
    return f"{value:,}" if float(value).is_integer() else f"{value:,.4g}"


def spent(spending: "Iterable[AnswerWork]", names: "Mapping[str, str]") -> "Iterator[str]":
    """A line for each model and precision: what its answers took, and what they had to take."""
    for took in spending:
        work = ", ".join(_work_words(*counted, took) for counted in took.work.items())
        held = "".join(
            f", {took.most[name] / 2**20:,.0f} MiB of {what}"
            for name, what in HELD.items()
            if name in took.most
        )
        model = f"{visible(names.get(took.model, took.model[:12]))} at {took.precision}"
        yield visible(f"{model}: {work}, {took.seconds:,.1f} s in the model{held}")
        if took.paths and took.paths != ("forest",):
            yield visible(f"    computed as: {', then '.join(took.paths)}")


def left(state: "StatusReport") -> str | None:
    """How much of a study is answered, after a part of a run or a merge; None where nothing is left."""
    progress = state.progress
    if progress.complete:
        return None
    text = f"{progress.answered:,} of {progress.total:,} calls answered so far"
    if state.judged:
        text += ", and judges are asked when every response is there"
    return text


def note(sentence: str) -> None:
    """Tell the person something beside the result."""
    print(visible(sentence), file=sys.stderr, flush=True)


def consent(what: "Consentable") -> bool:
    """Ask the person whether something may leave the machine or run on it, if there is a terminal to ask on.
    For a variable that is not the usual key of its host they type its name."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for bar in _LIVE:
        bar.stop()
    try:
        return _consent(what)
    finally:
        for bar in _LIVE:
            bar.start()


_LIVE: "list[Progress]" = []
"""The bars on the terminal: they draw over what is asked."""


def _consent(what: "Consentable") -> bool:
    import click

    click.echo(paint(visible(str(what)), err=True, bold=True), err=True)
    if not hasattr(what, "reach"):
        return click.confirm(
            "May it run? You are not asked again about the same file", default=False, err=True
        )
    name = what.reach.variable
    if name is None or what.reach.usual:
        return click.confirm("May it leave? You are not asked again", default=False, err=True)
    warning = f"The spec chose {name}. Whoever has {what.reach.origin} will know what is in it."
    click.echo(paint(warning, err=True, fg="red", bold=True), err=True)
    answer = click.prompt(
        "Type the name of the variable to allow it", default="", show_default=False, err=True
    )
    return str(answer).strip() == name


PACE_SECONDS = 60.0
"""How far back calls per second are counted, so that a slow model is not told at the pace of the last one."""


class _Pace:
    """How many calls were answered a second lately."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def __call__(self, step: "RunStep", now: float) -> str:
        """With the step's calls counted in; empty while nothing can be said."""
        if not self._seen or step.calls < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, step.calls))
        while len(self._seen) > 2 and now - self._seen[1][0] > PACE_SECONDS:
            self._seen.popleft()
        (begun, before), (_, calls) = self._seen[0], self._seen[-1]
        if now <= begun or calls == before:
            return ""
        return f"{amount((calls - before) / (now - begun))} calls/s"


def _cost(step: "RunStep") -> str:
    """What a run has cost so far; empty where no price is known."""
    if step.cost is None:
        return ""
    return f"{'' if step.cost.whole else 'at least '}US $ {dollars(step.cost.usd)}"


def dollars(usd: float) -> str:
    """To the cent, and less than a dollar to two figures."""
    return f"{usd:,.2f}" if usd >= 1 else plainly(usd, 2)


ROOMY, BAR, NAMED = 100, 14, 12
"""Columns from which there is a bar, columns that it takes, and columns of what a run does that the number of
tokens may not take."""


@contextmanager
def progress() -> "Iterator[Callable[[RunStep], None]]":
    """Shows how far a run is, how many calls it answers a second, what it has cost and the time left: in one
    line on a terminal, else a line each tenth."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    console = Console(stderr=True)
    roomy = console.width >= ROOMY
    whole = Column(no_wrap=True, overflow="ignore")
    remaining = TimeRemainingColumn(table_column=whole)
    remaining.max_refresh = 0.0  # else it shows for a while what was true of the step before
    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        *([BarColumn(BAR)] if roomy else []),
        TextColumn("{task.fields[facts]}", markup=False, table_column=whole),
        remaining,
        TextColumn("{task.fields[left]}", table_column=whole),
    )
    with Progress(*columns, console=console, expand=False) as bar:
        _LIVE.append(bar)
        task = bar.add_task("reading the spec", total=None, facts="", left="")
        pace = _Pace()

        def show(step: "RunStep") -> None:
            if step.found:
                bar.console.print(visible(str(step)), markup=False, highlight=False)
                return
            text = f"{step.model}: {step.doing}" if step.model and step.doing else step.doing or step.model
            share = f"{100 * step.done // step.total} %" if step.total else ""
            beside = [pace(step, time.monotonic()), _cost(step)]
            width = console.width - (BAR + 1 if roomy else 0) - _LEFT
            for first, least in ((step.tokens if roomy else share, NAMED), (share, 4)):
                told = "  ".join(filter(None, [first, *beside]))
                if width - len(told) >= least:
                    break
            bar.update(
                task,
                # What stands in front gives way, so that the numbers and the time stay whole.
                description=_shortened(visible(text), max(width - len(told), 4)),
                completed=step.done,
                total=step.total or None,
                facts=told,
                left="left" if step.total else "",
            )

        try:
            yield show
        finally:
            _LIVE.remove(bar)


_LEFT = len(" -:--:-- left ")
"""Columns that the time left takes with the gaps around it."""


def _shortened(text: str, room: int) -> str:
    """What a run does, as long as there is room for it."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= room else f"{set_cell_size(text, room - 1)}…"


class _Lines:
    """Progress where there is no terminal."""

    def __init__(self) -> None:
        self._tenth, self._begun, self._said = -1, time.monotonic(), ""
        self._pace = _Pace()

    def __call__(self, step: "RunStep") -> None:
        now = time.monotonic()
        pace = self._pace(step, now)
        if step.doing:
            if str(step) != self._said:
                print(visible(str(step)), file=sys.stderr, flush=True)
            self._said, self._begun = str(step), now if not step.done else self._begun
            return
        if not step.total:
            return
        tenth = 10 * step.done // step.total
        if tenth > self._tenth:
            self._tenth = tenth
            left = (now - self._begun) * (step.total / step.done - 1) if step.done > 0 else None
            facts = (
                f"{step.model}: {10 * tenth} % of at most {step.total:,} tokens",
                pace,
                f"{_cost(step)} so far" if _cost(step) else "",
                f"about {left:.0f} s left" if left is not None else "",
            )
            print(visible(", ".join(filter(None, facts))), file=sys.stderr, flush=True)


def score_table(report: "ScoreboardReport") -> Iterator[str]:
    """For each benchmark: what is measured and how well chance does, then a row for each model, and its rates
    in a table of their own, so that both fit a narrow screen. Then the spec's own statistics."""
    for board, size in zip(report.benchmarks, report.sizes, strict=True):
        yield from _heading(board, size)
        rates = list(dict.fromkeys(name for model in board.models for name in model.rates))
        header = ["model", "score %", "95 %", f"over {board.configurations:,} configurations", "unreadable"]
        if board.configurations < 2:
            header.remove(header[3])
        if board.few:
            header.insert(3, "these units")
        yield from folded([header, *(_row(model, board) for model in board.models)], names=1)
        if rates:
            rows = [[visible(model.model), *(_rate(model, name) for name in rates)] for model in board.models]
            named = [f"{name.replace('_', ' ')} %" for name in rates]
            yield from folded([["model", *named], *rows], names=1)
        yield ""
    if report.statistics:
        yield from _statistic_table(report)
    if any(board.few for board in report.benchmarks):
        import click

        yield from (click.wrap_text(FEW_UNITS, text_width()), "")


def _statistic_table(report: "ScoreboardReport") -> Iterator[str]:
    """The spec's own statistics: a row for each model, under each of a few configurations."""
    header, *rows = report.statistic_rows
    names = 1 + (header[1:2] == ["configuration"])
    yield from folded([[visible(cell) for cell in row] for row in (header, *rows)], names)
    if report.statistics_left:
        yield visible(f"  {report.statistics_left}")
    yield ""


def _heading(board: "Scoreboard", size: str) -> Iterator[str]:
    where = ", ".join(f"{axis} {level}" for axis, level in board.levels.items())
    chance = "" if board.chance is None else f"; chance {percent(board.chance)}"
    target = board.direction.target
    better = "; lower is better" if board.direction.lower else ""
    if target is not None:
        better = f"; best at {percent(target)}"
    chance += "".join(f"; always {what} {percent(score)}" for what, score in board.policies.items())
    yield visible(f"{board.benchmark}: {size}{chance}{better}")
    if where:
        yield visible(f"  under {where}")


def _row(model: "ScoreboardRow", board: "Scoreboard") -> list[str]:
    row = [visible(model.model), hundredths(model.score), interval_words(model.interval, hundredths)]
    if board.few:
        row.append(interval_words(model.on_units, hundredths))
    if board.configurations > 1:
        row.append(_range(model, board))
    row.append("–" if model.unreadable is None else f"{model.unreadable:,} of {model.samples:,}")
    return row


def _rate(model: "ScoreboardRow", name: str) -> str:
    rate = model.rates.get(name)
    if rate is None or rate.value is None:
        return "–"
    return f"{hundredths(rate.value)} ({over_units(rate, hundredths)})"


def _range(model: "ScoreboardRow", board: "Scoreboard") -> str:
    if model.least is None or model.greatest is None:
        return "–"
    ends = interval_words((model.least, model.greatest), hundredths)
    return ends if model.measured == board.configurations else f"{ends} ({model.measured:,} measured)"
