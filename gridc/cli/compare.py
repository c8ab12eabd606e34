"""`gridc compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gridc import study
from gridc.cli import terminal
from gridc.cli.options import (
    JSON,
    READINGS,
    SIGNERS,
    MultiValueCommand,
    print_json,
    readings_by_benchmark,
    reads_logs,
)
from gridc.study import LogOptions

if TYPE_CHECKING:
    from gridc.study.gate import ExitCodes


class MarginParameter(click.ParamType[float]):
    """Percentage points."""

    name = "points"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from gridc.study.gate import points

        try:
            return points(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(cls=MultiValueCommand, several="--baseline")
@click.argument("runs", nargs=-1, metavar="A B")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="A1 A2 ...",
    help="Several baselines instead of A: runs of one model with different seeds, as replicates.",
)
@click.option("--margin", type=MarginParameter(), metavar="5pp", help="The largest loss that is accepted.")
@click.option("--policy", type=click.Path(path_type=Path), help="A policy (TOML): margins by benchmark.")
@click.option(
    "--may-differ",
    "may_differ",
    multiple=True,
    metavar="NAME",
    help=(
        "What the runs may differ in, because it is what you compare: an argument by its printed name, "
        "such as model_args.max_length, or a whole aspect: prompt, request, score or code. "
        "Model, environment and seed always may."
    ),
)
@click.option(
    "--common-only",
    is_flag=True,
    help="Compare only items that all runs have. By default an item that a run lacks counts as failed.",
)
@click.option(
    "--total",
    type=click.IntRange(min=1),
    help="How many items the benchmark has, where logs list only those that were resolved.",
)
@READINGS
@reads_logs
@SIGNERS
@click.option(
    "--exit-codes",
    type=click.Choice(["gridc", "nel"]),
    default="gridc",
    show_default=True,
    help="gridc: GO 0, NO-GO 1, INCONCLUSIVE 10, NOT COMPARABLE 11. nel: 0, 1, 2, 2.",
)
@click.option("--markdown", type=click.Path(path_type=Path), help="Write Markdown for a pull request.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML.")
@click.option("--sarif", type=click.Path(path_type=Path), help="Write SARIF.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write all of these and compare.json into this folder."
)
@JSON
def compare(
    runs: tuple[str, ...],
    baselines: tuple[str, ...],
    margin: float | None,
    policy: Path | None,
    exit_codes: "ExitCodes",
    readings: tuple[str, ...],
    how: LogOptions,
    signers: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    **files: Path | None,
) -> None:
    """Say whether run B is worse than run A by more than a margin, after checking that one instrument
    measured both.

    A run is a results folder or its store.sqlite, followed by @STAMP for one of several studies; logs of
    another package; or a file of `gridc baseline`, which one of those named with --signer must have signed.
    Exits with 0 for GO, 1 for NO-GO, 10 where the items do not decide it, and 11 where the runs are not
    comparable.
    """
    firsts, second = _sides(runs, baselines)
    from gridc.study.gate import forget_verdict

    # A comparison that fails must not leave the verdict of an earlier one.
    forget_verdict(
        out, [path for path in files.values() if path is not None and str(path) not in (*firsts, second)]
    )
    stated = readings_by_benchmark(readings)
    report = study.compare(firsts, second, margin, policy, exit_codes, stated, signers, **how)
    written = [report.write(form, path) for form, path in files.items() if path is not None]
    written += [] if out is None else report.write_all(out)
    if as_json:
        print_json(report.as_json())
    else:
        from gridc.cli.comparison_table import print_report

        print_report(report)
        if written:
            click.echo(terminal.visible(f"written: {' '.join(map(str, written))}"))
    raise SystemExit(report.exit_code)


def _sides(runs: tuple[str, ...], baselines: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    if not baselines and len(runs) == 2:
        return runs[:1], runs[1]
    if baselines and len(runs) == 1:
        return baselines, runs[0]
    raise click.UsageError("name two runs, A B, or one run B and --baseline A1 A2 ...")
