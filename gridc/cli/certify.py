"""`gridc certify`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridc import study as studies
from gridc.cli import terminal
from gridc.cli.options import (
    ALLOW,
    JSON,
    MultiValueCommand,
    believes,
    print_json,
    reads_logs,
    resumable,
    study_command,
)
from gridc.numbers import percent
from gridc.study import LogOptions, OpenStudy

if TYPE_CHECKING:
    from gridc.study.recorded import LogReport


@click.command(cls=MultiValueCommand, several="--from")
@click.option(
    "--from",
    "logs",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="LOGS ...",
    help="Logs of other packages, or folders of logs, instead of a spec (docs/logs.md).",
)
@click.option(
    "--reading", help="With --from: the metric, filter or scorer that counts, in logs that have it."
)
@reads_logs
@click.option(
    "--may-differ",
    multiple=True,
    metavar="AXIS",
    help="With --from: compare models although they differ in this axis throughout.",
)
@click.option(
    "--category",
    metavar="FIELD",
    help="With --from: the column, or the field of an item, that says what kind of item it is.",
)
@click.option(
    "--common-only",
    is_flag=True,
    help=(
        "With --from: count only items that all models have. By default an item that a model lacks "
        "counts as failed."
    ),
)
@click.option(
    "--total",
    type=click.IntRange(min=1),
    help="With --from: how many items the benchmark has, where logs list only those that were resolved.",
)
@click.option(
    "--statistic",
    "statistics",
    multiple=True,
    metavar="WHAT",
    help=(
        "With --from: a number over many answers: pass_at_3, pass_all_3, tokens, cost, "
        "'tokens / score', NAME=FORMULA (docs/logs.md)."
    ),
)
@study_command
@JSON
@click.option("--until-decided", is_flag=True, help="Ask only what certifies reversals, and stop.")
@ALLOW
@believes
def certify(
    study: OpenStudy,
    as_json: bool,
    until_decided: bool,
    allow: tuple[str, ...],
    logs: tuple[Path, ...],
    reading: str | None,
    how: LogOptions,
) -> None:
    """Say which orders and reversals the items certify. With --until-decided, run as little as it takes.

    With --from, certify logs that lm-evaluation-harness, Inspect, promptfoo or others wrote; no spec is
    needed."""
    if logs:
        out = click.get_current_context().params["out"]
        _of_logs(studies.certify(logs, reading, **how), as_json, out)
        return
    if until_decided:
        _until_decided(study, as_json, allow)
        return
    certified = study.certify()
    if as_json:
        print_json(certified.as_json())
        return
    for statement in certified.certificate.statements:
        click.echo(terminal.bullet(statement))


def _of_logs(report: "LogReport", as_json: bool, out: Path | None) -> None:
    from gridc.study.recorded import standings, words

    paths = [] if out is None else report.write(out)
    for reason in report.left_out if paths else ():
        terminal.note(f"not in the reports: {reason}")
    if as_json:
        print_json(report.as_json())
        return
    document = report.certificate
    for line in words.provenance(document):
        click.echo(terminal.visible(line))
    if report.study is not None:
        click.echo()
        for statement in report.study.statements:
            click.echo(terminal.bullet(statement))
    for line in words.printed_lines(document.printed) if report.study is None else ():
        click.echo(terminal.visible(line))
    if document.groups and report.study is None:
        click.echo(f"\n{words.IN_GROUPS}")
        _table(words.GROUPS, words.group_table(document.groups), words.SHOWN, leading=3)
        for line in words.group_lines(document.groups):
            click.echo(terminal.visible(line))
    if document.statistics:
        click.echo()
        _table(words.STATISTICS, words.statistic_table(document.statistics), words.SHOWN, leading=3)
    for row in () if report.study is not None else document.benchmarks:
        click.echo()
        heading, *remarks = words.benchmark_lines(row)
        click.echo(terminal.visible(heading))
        many = row.standings is not None and len(row.standings.order) > words.FEW_MODELS
        # Of few models what to know stands before any number; of many their order is what one looks for.
        if not many:
            _lines(remarks)
            _table(words.SCORES, words.scores(row), words.SHOWN, leading=3)
            _lines(list(words.stops(row)))
        if row.standings is not None:
            _table(standings.COLUMNS, standings.order_table(row.standings), words.SHOWN, leading=2)
        for line in words.conclusions(row):
            click.echo(terminal.bullet(line))
        if many:
            _lines(remarks)
    for path in paths:
        click.echo(f"wrote {path}")


def _lines(texts: Sequence[str]) -> None:
    for text in texts:
        click.echo(terminal.visible(text))


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], most: int, leading: int = 1) -> None:
    terminal.print_table(names, rows[:most], leading=leading)
    if len(rows) > most:
        click.echo(f"  {len(rows) - most:,} more rows: --json or --out has all")


def _until_decided(study: OpenStudy, as_json: bool, allow: tuple[str, ...]) -> None:
    with resumable():
        raced = study.certify_until_decided(_show, terminal.note, allow, terminal.consent)
    if as_json:
        print_json(raced.as_json())
        return
    for sentence in raced.sentences:
        click.echo(terminal.bullet(sentence))
    share = raced.asked / max(raced.calls_in_grid, 1)
    text = f"{raced.asked:,} of the grid's {raced.calls_in_grid:,} calls were asked ({percent(share)})"
    click.echo(f"\n{text}: {raced.store}")


def _show(benchmark: str, used: int, units: int) -> None:
    """How far a race is; its length is not known in advance."""
    if sys.stderr.isatty():
        click.echo(f"\r{benchmark}: {used} of {units} items", nl=False, err=True)
