"""Commands that hand a study on: export bundle."""

from pathlib import Path

import click

from gridc.cli.options import DATA, OUT, SPEC, store_path
from gridc.compiler.compile import compile_spec
from gridc.compiler.lock.deviations import log_path, require_reconciled
from gridc.reports.exchange.bundle import export as export_bundle
from gridc.study import require_lock


@click.group()
def export() -> None:
    """Write a study in a form that others read."""


@export.command()
@SPEC
@DATA
@OUT
@click.option("--to", type=click.Path(path_type=Path), help="The new folder. Default: beside the results.")
def bundle(spec: Path, data: Path | None, out: Path | None, to: Path | None) -> None:
    """One folder with all that `gridc verify FOLDER` needs to check the study offline."""
    compiled = compile_spec(spec, data)
    lock = require_lock(compiled)
    require_reconciled(lock, compiled.study, log_path(spec))
    results = store_path(compiled, out).parent
    made = export_bundle(compiled, lock, results, to or results.with_name(f"{results.name}.bundle"))
    click.echo(f"{made}: `gridc verify {made}` checks it with what is in it")
