"""The table of scores that a run, its status and its report end with."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gridc.cli.terminal import columns, visible
from gridc.numbers import between, hundredths, percent

if TYPE_CHECKING:
    from gridc.study.reporting import Scoreboard, ScoreboardReport, ScoreboardRow


def score_table(report: "ScoreboardReport") -> Iterator[str]:
    """For each benchmark: what is measured and how well chance does, then a row for each model, and its rates
    in a table of their own, so that both fit a narrow screen."""
    for board, size in zip(report.benchmarks, report.sizes, strict=True):
        yield from _heading(board, size)
        rates = list(dict.fromkeys(name for model in board.models for name in model.rates))
        header = ["model", "score %", "95 %", f"over {board.configurations:,} configurations", "unreadable"]
        if board.configurations < 2:
            header.remove(header[3])
        yield from columns([header, *(_row(model, board) for model in board.models)], names=1)
        if rates:
            rows = [[visible(model.model), *(_rate(model, name) for name in rates)] for model in board.models]
            named = [f"{name.replace('_', ' ')} %" for name in rates]
            yield from columns([["model", *named], *rows], names=1)
        yield ""


def _heading(board: "Scoreboard", size: str) -> Iterator[str]:
    where = ", ".join(f"{axis} {level}" for axis, level in board.levels.items())
    chance = "" if board.chance is None else f"; chance {percent(board.chance)}"
    target = board.direction.target
    better = "; lower is better" if board.direction.lower else ""
    if target is not None:
        better = f"; best at {percent(target)}"
    yield visible(f"{board.benchmark}: {size}{chance}{better}")
    if where:
        yield visible(f"  under {where}")


def _row(model: "ScoreboardRow", board: "Scoreboard") -> list[str]:
    row = [visible(model.model), hundredths(model.score), between(model.interval, hundredths)]
    if board.configurations > 1:
        row.append(_range(model, board))
    row.append("–" if model.unreadable is None else f"{model.unreadable:,} of {model.samples:,}")
    return row


def _rate(model: "ScoreboardRow", name: str) -> str:
    rate = model.rates.get(name)
    if rate is None or rate.value is None:
        return "–"
    return f"{hundredths(rate.value)} ({between(rate.interval, hundredths)})"


def _range(model: "ScoreboardRow", board: "Scoreboard") -> str:
    if model.least is None or model.greatest is None:
        return "–"
    ends = between((model.least, model.greatest), hundredths)
    return ends if model.measured == board.configurations else f"{ends} ({model.measured:,} measured)"
