"""`gridc compare`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from gridc import study
from gridc.cli import terminal
from gridc.cli.options import JSON, Several, print_json
from gridc.study.gate import (
    Aspect,
    ComparedBenchmark,
    ExitCodes,
    FlippedItem,
    ReleaseReport,
    RunComparison,
    points,
    words,
)

SHOWN = 5
"""Flips that the terminal names; the files have more."""


class MarginParameter(click.ParamType[float]):
    """Percentage points."""

    name = "points"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return points(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(cls=Several, several="--baseline")
@click.argument("runs", nargs=-1, metavar="A B")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="A1 A2 ...",
    help="Several baselines in the place of A: runs of one model with other seeds, as replicates.",
)
@click.option("--margin", type=MarginParameter(), metavar="5pp", help="The largest loss that is accepted.")
@click.option("--policy", type=click.Path(path_type=Path), help="A policy (TOML): margins by benchmark.")
@click.option(
    "--may-differ",
    "may_differ",
    type=click.Choice(["prompt", "request", "score", "code"]),
    multiple=True,
    help="What the runs may differ in, because it is what you compare. Model, environment and seed may.",
)
@click.option(
    "--exit-codes",
    type=click.Choice(get_args(ExitCodes)),
    default="gridc",
    show_default=True,
    help="gridc: GO 0, NO-GO 1, INCONCLUSIVE 10, NOT COMPARABLE 11. nel: 0, 1, 2, 2.",
)
@click.option("--markdown", type=click.Path(path_type=Path), help="Write Markdown for a pull request.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML.")
@click.option("--sarif", type=click.Path(path_type=Path), help="Write SARIF.")
@click.option("--out", type=click.Path(path_type=Path), help="Write all into this folder, and compare.json.")
@JSON
def compare(
    runs: tuple[str, ...],
    baselines: tuple[str, ...],
    margin: float | None,
    policy: Path | None,
    may_differ: tuple[Aspect, ...],
    exit_codes: ExitCodes,
    as_json: bool,
    out: Path | None,
    **files: Path | None,
) -> None:
    """Say whether run B is worse than run A by more than a margin, and first whether both are measured with
    one instrument.

    A run is a results folder or its store.sqlite, followed by @STAMP for one of several studies. Exits with 0
    for GO, 1 for NO-GO, 10 where the items do not decide it, and 11 where the runs are not comparable.
    """
    firsts, second = _sides(runs, baselines)
    report = study.compare(firsts, second, margin, policy, may_differ, exit_codes)
    written = [report.write(form, path) for form, path in files.items() if path is not None]
    written += [] if out is None else report.write_all(out)
    if as_json:
        print_json(report.as_json())
    else:
        _print(report)
        if written:
            click.echo(terminal.visible(f"written: {' '.join(map(str, written))}"))
    raise SystemExit(report.exit_code)


def _sides(runs: tuple[str, ...], baselines: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    if not baselines and len(runs) == 2:
        return runs[:1], runs[1]
    if baselines and len(runs) == 1:
        return baselines, runs[0]
    raise click.UsageError("name two runs, A B, or one run B and --baseline A1 A2 ...")


def _print(report: ReleaseReport) -> None:
    comparison = report.comparison
    for line in _head(comparison):
        click.echo(terminal.visible(line))
    level = words.level(comparison)
    names = ("benchmark", "n", "a", "b", "b - a", level, "flips -/+", "worse than the margin?")
    terminal.print_table(names, map(_cells, comparison.benchmarks), right=range(1, 7))
    for line in _tail(comparison):
        click.echo(terminal.visible(line))
    colour = {"GO": "green", "NO-GO": "red"}.get(comparison.verdict, "yellow")
    verdict = terminal.paint(comparison.verdict, fg=colour, bold=True)
    click.echo(f"\n{verdict}  {terminal.visible('; '.join(comparison.reasons))}")
    click.echo(f"exit {comparison.exit_code}   (0 GO, 1 NO-GO, {_codes(comparison)})")


def _codes(comparison: RunComparison) -> str:
    nel = comparison.exit_code == 2
    return "2 undecided or not comparable" if nel else "10 undecided, 11 not comparable"


def _head(comparison: RunComparison) -> Iterator[str]:
    for side, run in [*(("a", run) for run in comparison.a), ("b", comparison.b)]:
        state = "finished" if run.finished else "NOT finished"
        yield f"{side}  {run.name}  {run.made_by}, {', '.join(run.models)}, {state}"
    unknown = ", ".join(comparison.instrument.unknown)
    yield f"same instrument?   {words.same_instrument(comparison)}"
    if unknown:
        yield f"                   not recorded: {unknown}"
    for row in comparison.benchmarks:
        ends = f"a: {words.states(row.states_a)}; b: {words.states(row.states_b)}"
        yield f"{row.name}: {words.items(row)}; {ends}"
    for warning in comparison.warnings:
        yield f"warning: {warning}"


def _cells(row: ComparedBenchmark) -> Iterator[str]:
    name = row.name if row.tier == "gate" else f"{row.name} (watched)"
    yield from (name, words.units(row, row.units))
    score = row.score
    if score is None:
        yield from ("", "", "", "")
    else:
        yield from (words.score(score.a), words.score(score.b), words.moved(score), words.interval(score))
    margin = "" if row.margin is None else f"{row.margin:g} pp: "
    yield from (f"{row.lost:,} / {row.won:,}", f"{margin}{words.answer(row)}")


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
    if (
        all(run.made_by.startswith("gridc") for run in (*comparison.a, comparison.b))
        and len(comparison.a) == 1
    ):
        yield f"every answer: gridc view {comparison.a[0].name} --with {comparison.b.name}"


def _flip(flip: FlippedItem) -> str:
    return f"{flip.item} {_short(flip.answer_a)} -> {_short(flip.answer_b)}"


def _short(text: str | None) -> str:
    if text is None:
        return f"{text}"
    line = " ".join(text.split())
    return f'"{line[:29]}…"' if len(line) > 30 else f'"{line}"'
