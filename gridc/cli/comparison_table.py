"""What `gridc compare` prints."""

from collections.abc import Iterator

import click

from gridc.cli import terminal
from gridc.study.gate import ComparedBenchmark, FlippedItem, ReleaseReport, RunComparison, words

SHOWN = 5
"""Flips that the terminal names; the files have more."""
STATES = {True: ", finished", False: ", NOT finished", None: ""}


def print_report(report: ReleaseReport) -> None:
    comparison = report.comparison
    for line in _head(comparison):
        click.echo(terminal.visible(line))
    level = words.interval_level(comparison)
    names = ("benchmark", "n", "a", "b", "b - a", level, "flips -/+", "worse than the margin?")
    absent = ((name, "absent", *[""] * 5, f"cannot tell: {words.NO_ITEMS}") for name in comparison.absent)
    terminal.print_table(
        names, [*(_cells(comparison, row) for row in comparison.benchmarks), *absent], right=range(1, 7)
    )
    if words.has_bounds(comparison):
        click.echo(words.BOUNDS)
    for line in _tail(comparison):
        click.echo(terminal.visible(line))
    if report.view_command is not None:
        click.echo(terminal.visible(f"every item with both answers: {report.view_command}"))
    colour = {"GO": "green", "NO-GO": "red"}.get(comparison.verdict, "yellow")
    verdict = terminal.paint(comparison.verdict, fg=colour, bold=True)
    click.echo(f"\n{verdict}  {terminal.visible('; '.join(comparison.reasons))}")
    click.echo(f"exit {comparison.exit_code}   (0 GO, 1 NO-GO, {_codes(comparison)})")


def _codes(comparison: RunComparison) -> str:
    nel = comparison.exit_code == 2
    return "2 undecided or not comparable" if nel else "10 undecided, 11 not comparable"


def _head(comparison: RunComparison) -> Iterator[str]:
    for side, run in [*(("a", run) for run in comparison.a), ("b", comparison.b)]:
        state = STATES[run.finished]
        yield f"{side}  {run.name}  {run.made_by}, {', '.join(run.models)}{state}"
    unknown = ", ".join(comparison.instrument.unknown)
    yield f"same instrument?   {words.same_instrument(comparison)}"
    if unknown:
        yield f"                   not recorded: {unknown}"
    for row in comparison.benchmarks:
        ends = f"a: {words.states(row.states_a)}; b: {words.states(row.states_b)}"
        yield f"{row.name}: {words.items(row)}; {ends}"
    for warning in comparison.warnings:
        yield f"warning: {warning}"


def _cells(comparison: RunComparison, row: ComparedBenchmark) -> Iterator[str]:
    name = row.read_as if row.tier == "gate" else f"{row.read_as} (watched)"
    yield from (name, words.units(row, row.units))
    score = row.score
    if score is None:
        yield from ("", "", "", "")
    else:
        yield from (words.score(score.a, score.a_bounds), words.score(score.b, score.b_bounds))
        yield from (words.change_words(score), words.interval(score))
    yield from (f"{row.lost:,} / {row.won:,}", words.decided_words(comparison, row))


def _tail(comparison: RunComparison) -> Iterator[str]:
    for row in comparison.benchmarks:
        for note in words.notes(row):
            yield f"{row.name}: {note}"
    for row in comparison.benchmarks:
        if sight := words.sight(row, comparison.changing):
            yield f"{row.name}: {sight}"
    for row in comparison.benchmarks:
        lost = [flip for flip in row.flips if flip.moved == "lost"]
        if lost:
            shown = "; ".join(_flip(flip) for flip in lost[:SHOWN])
            more = f"; {row.lost - SHOWN:,} more" if row.lost > SHOWN else ""
            yield f"{row.name} lost: {shown}{more}"


def _flip(flip: FlippedItem) -> str:
    if flip.answer_a is flip.answer_b is None:
        return flip.item
    return f"{flip.item} {_short(flip.answer_a)} -> {_short(flip.answer_b)}"


def _short(text: str | None) -> str:
    if text is None:
        return "nothing"
    line = " ".join(text.split())
    return f'"{line[:29]}…"' if len(line) > 30 else f'"{line}"'
