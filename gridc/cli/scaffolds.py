"""`gridc scaffolds`."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gridc import study as studies
from gridc.cli import terminal
from gridc.cli.options import JSON, print_json, study_command
from gridc.cli.terminal import visible
from gridc.numbers import percent
from gridc.study import OpenStudy

if TYPE_CHECKING:
    from gridc.study.scaffolding import ScaffoldReport

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@study_command
@JSON
@click.option("--calls", type=FILE, help="Trace the sub-calls in this JSONL file instead of a study's.")
@click.option("--tasks", type=FILE, help="The task of each item in these sub-calls, as JSONL.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the steps as CSV.")
def scaffolds(
    study: OpenStudy,
    as_json: bool,
    calls: Path | None,
    tasks: Path | None,
    as_csv: bool,
) -> None:
    """Show which parts of a task reached each step of the scaffolds, and what the scaffolds did."""
    if calls is not None:
        propagation, report = studies.propagation(calls, tasks), None
    else:
        report = study.scaffolds()
        propagation = report.propagation
    if as_csv:
        click.echo(propagation.csv(), nl=False)
    elif as_json:
        print_json(propagation.as_json() if report is None else report.as_json())
    elif not propagation.steps:
        click.echo("there is no sub-call in it" if report is None else "no scaffold runs in this study")
    else:
        for line in (
            *_propagation(propagation.rows()),
            *(_work(report) if report else ()),
        ):
            click.echo(line)


def _propagation(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The share of each step's sub-calls that kept each part of its task, of those whose task has it."""
    parts = ("system_prompt", "mc_option", "format_instruction", "safety_instruction")
    lines: list[tuple[str, ...]] = [
        ("scaffold", "step", "sub-calls", "system prompt", "options", "format", "safety")
    ]
    for row in rows:
        shown = [_kept(row, part) for part in parts]
        lines.append((visible(row["scaffold"]), visible(row["step"]), f"{row['n']:,}", *shown))
    yield from terminal.folded(lines, names=2)
    yield "kept word for word, of the sub-calls whose task has it; --csv says what is paraphrased"


def _kept(row: Mapping[str, Any], part: str) -> str:
    having = row[f"{part}_applicable"]
    if not having:
        return "-"
    share = percent(row[f"{part}_propagation"] * row["n"] / having)
    return share if having == row["n"] else f"{share} of {having:,}"


def _work(report: "ScaffoldReport") -> Iterator[str]:
    """Whether scaffolds that have a choice went to work, and what leaked into divided tasks."""
    for engagement in report.engagement:
        if engagement.engaged is not None:
            turn = (
                "no system prompt"
                if engagement.system_turn == "none"
                else f"system prompt as {engagement.system_turn}"
            )
            yield visible(
                f"{engagement.scaffold} of {engagement.model} on {engagement.benchmark}: went to work on "
                f"{engagement.engaged:,} of {engagement.samples:,} samples, "
                f"{engagement.calls:.2f} calls each ({turn})"
            )
    leaks = [leakage for leakage in report.leakage if leakage.leaked]
    for leak in leaks:
        groups = ", ".join(f"{name} on {count:,}" for name, count in sorted(leak.leaked.items()))
        where = f"{leak.scaffold} of {leak.model} on {leak.benchmark}"
        yield visible(f"{where}: features of the persona in the parts of {leak.divided:,} tasks: {groups}")
    if leaks:
        yield f"leakage is found {report.caveat}"
