"""`gridc baseline`."""

from pathlib import Path

import click

from gridc import study
from gridc.cli import terminal
from gridc.cli.options import JSON, READINGS, SIGNING_KEY, print_json, readings_by_benchmark, reads_logs
from gridc.study import LogOptions


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--to", type=click.Path(path_type=Path), required=True, help="The file to write: base.gridc.")
@SIGNING_KEY
@click.option("--policy", type=click.Path(path_type=Path), help="The policy that says how logs are read.")
@READINGS
@reads_logs
@JSON
def baseline(
    run: str,
    to: Path,
    key: Path | None,
    policy: Path | None,
    readings: tuple[str, ...],
    how: LogOptions,
    as_json: bool,
) -> None:
    """Keep a run in one small file, with which later runs are compared: `gridc compare base.gridc RUN`.

    The file holds items, scores, how answers ended, and what was asked and scored by which code; it holds no
    texts. A run is what `gridc compare` takes."""
    written = study.baseline(run, to, policy, readings_by_benchmark(readings), key, **how)
    if as_json:
        print_json(written.as_json())
        return
    for line in written.lines:
        click.echo(terminal.visible(line))
