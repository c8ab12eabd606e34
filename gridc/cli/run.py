"""Commands that execute a plan: run, merge, status."""

from dataclasses import asdict
from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import DATA, JSON, OUT, SPEC, print_json, store_path
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.frontend.unsupported import require_executable
from gridc.compiler.inputs.resolve import require_items
from gridc.compiler.lock.deviations import log_path, require_current, require_reconciled
from gridc.compiler.lock.lock import stamp_of
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import prove
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.runtime import run as runtime
from gridc.runtime.merge import merge as join
from gridc.runtime.store.store import Store
from gridc.study import make_stamp, require_lock


@click.command()
@SPEC
@DATA
@OUT
@JSON
@click.option(
    "--shard", metavar="K/N", help="Run only the K-th of N parts. `gridc merge` joins their stores."
)
def run(spec: Path, data: Path | None, out: Path | None, as_json: bool, shard: str | None) -> None:
    """Execute the plan into the store. A run that was stopped goes on where it was."""
    part = _shard(shard)
    compiled = compile_spec(spec, data, online=True)
    require_executable(compiled.spec, compiled.source)
    require_items(compiled.study, compiled.source)
    prove(compiled.study, compiled.source)
    lock = compiled.lock
    if lock is None:
        lock, news = make_stamp(compiled, supersede=False)
        click.echo(f"{news}: {lock.stamp[:12]}, not anchored to anything", err=True)
    departures = require_reconciled(lock, compiled.study, log_path(spec))
    path = store_path(compiled, out)
    try:
        with terminal.progress() as watch:
            done = runtime.run(compiled, lock, departures, path, watch, part)
    except KeyboardInterrupt:
        click.echo("stopped; every finished call is stored, and the same command goes on from here", err=True)
        raise SystemExit(6) from None
    if as_json:
        print_json(asdict(done) | {"store": str(path)})
        return
    click.echo(f"{done.executed:,} calls executed, {done.reused:,} were in the store: {path}")
    for line in terminal.spent(done.spent, _names(compiled)):
        click.echo(line)
    click.echo(f"results {done.results}")


@click.command()
@SPEC
@click.argument("others", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="STORE...")
@DATA
@OUT
@JSON
def merge(spec: Path, others: tuple[Path, ...], data: Path | None, out: Path | None, as_json: bool) -> None:
    """Take the answers of other stores of the study into its store: the shards of a run."""
    compiled = compile_spec(spec, data)
    lock = require_lock(compiled)
    require_reconciled(lock, compiled.study, log_path(spec))
    path = store_path(compiled, out)
    done = join(Plan(compiled.study), lock, path, list(others))
    if as_json:
        print_json(asdict(done) | {"store": str(path)})
        return
    click.echo(f"{done.executed:,} calls taken, {done.reused:,} were in the store: {path}")
    click.echo(f"results {done.results}")


@click.command()
@SPEC
@DATA
@OUT
@JSON
def status(spec: Path, data: Path | None, out: Path | None, as_json: bool) -> None:
    """Say how far the run is."""
    compiled = compile_spec(spec, data)
    identifier = stamp_of(compiled.study)
    with Store.open(store_path(compiled, out)) as store:
        if compiled.lock is not None and identifier not in store.stamps():
            require_current(compiled.lock, compiled.study, log_path(spec))  # says how it departs, if it does
        store.require(identifier)
        progress, spent = store.progress(identifier), store.spent(identifier)
    if as_json:
        known = {"stamp": identifier, **asdict(progress), "complete": progress.complete}
        print_json({**known, "spent": [asdict(each) for each in spent]})
        return
    share = 100 * progress.answered / max(progress.total, 1)
    click.echo(f"{progress.answered:,} of {progress.total:,} calls answered ({share:.1f} %)")
    for line in terminal.spent(spent, _names(compiled)):
        click.echo(line)


def _names(compiled: Compiled) -> dict[str, str]:
    """What the study calls its models, by identity."""
    return {identity.digest: name for name, identity in compiled.study.models.items()}


def _shard(text: str | None) -> runtime.Shard:
    """The part of a run that `2/3` names."""
    number, slash, of = (text or "1/1").partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        help_line = "--shard 1/3, 2/3 and 3/3 are the parts of a run in three"
        raise UsageError([Diagnostic("GC000", f"`{text}` is not a part of a run", help=help_line)])
    return runtime.Shard(int(number), int(of))
