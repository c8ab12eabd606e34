"""What `gridc compare` prints."""

from collections.abc import Iterator

import click

from gridc.cli import terminal
from gridc.study.gate import FlippedItem, ReleaseReport, RunComparison, words

SHOWN = 5
"""Flips that the terminal names; the files have more."""


def print_report(report: ReleaseReport) -> None:
    comparison = report.comparison
    for line in _head(comparison):
        click.echo(terminal.visible(line))
    terminal.print_table(words.table_names(comparison), words.table_rows(comparison), right=range(1, 7))
    if brackets := words.brackets(comparison):
        click.echo(brackets)
    for line in _tail(comparison):
        click.echo(terminal.visible(line))
    if report.view_command is not None:
        click.echo(terminal.visible(f"every item with both answers: {report.view_command}"))
    colour = {"GO": "green", "NO-GO": "red"}.get(comparison.verdict, "yellow")
    verdict = terminal.paint(comparison.verdict, fg=colour, bold=True)
    click.echo(f"\n{verdict}  {terminal.visible('; '.join(words.grounds(comparison)))}")
    click.echo(f"exit {comparison.exit_code}   (0 GO, 1 NO-GO, {_codes(comparison)})")


def _codes(comparison: RunComparison) -> str:
    nel = comparison.exit_code == 2
    return "2 undecided or not comparable" if nel else "10 undecided, 11 not comparable"


def _head(comparison: RunComparison) -> Iterator[str]:
    for side, run in [*(("a", run) for run in comparison.a), ("b", comparison.b)]:
        yield f"{side}  {run.name}  {words.run_words(run)}"
    unknown = ", ".join(comparison.instrument.unknown)
    yield f"same instrument?   {words.same_instrument(comparison)}"
    if unknown:
        yield f"                   not recorded: {unknown}"
    for row in comparison.benchmarks:
        ends = f"a: {words.state_words(row.states_a)}; b: {words.state_words(row.states_b)}"
        yield f"{row.name}: {words.item_words(row)}; {ends}"
    for warning in comparison.warnings:
        yield f"warning: {warning}"


def _tail(comparison: RunComparison) -> Iterator[str]:
    for row in comparison.benchmarks:
        for note in words.benchmark_notes(row):
            yield f"{row.name}: {note}"
    for row in () if comparison.verdict == "NOT COMPARABLE" else comparison.benchmarks:
        if sight := words.sight(row, comparison.changing):
            yield f"{row.name}: {sight}"
    for row in comparison.benchmarks:
        lost = [flip for flip in row.flips if flip.moved == "lost"]
        if lost:
            shown = "; ".join(_flip(flip, comparison.a[0].kept is not None) for flip in lost[:SHOWN])
            more = f"; {row.lost - SHOWN:,} more" if row.lost > SHOWN else ""
            yield f"{row.name} lost: {shown}{more}"


def _flip(flip: FlippedItem, kept: bool) -> str:
    if flip.answer_a is flip.answer_b is None:
        return flip.item
    if kept and flip.answer_a is None:
        return f"{flip.item} {_short(flip.answer_b)}"
    return f"{flip.item} {_short(flip.answer_a)} -> {_short(flip.answer_b)}"


def _short(text: str | None) -> str:
    if text is None:
        return "nothing"
    line = " ".join(text.split())
    return f'"{line[:29]}…"' if len(line) > 30 else f'"{line}"'
