"""Commands that fix and lower a study: stamp, plan, deviations."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gridc.cli import terminal
from gridc.cli.options import DATA, JSON, OUT, SPEC, print_json, store_path
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.lock.anchor import anchors
from gridc.compiler.lock.deviations import log_path, reconcile, require_current
from gridc.compiler.lock.lock import Lock, read_lock, stamp_of
from gridc.compiler.lock.plan_diff import against
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight import falsifiability
from gridc.diagnostics.errors import Diagnostic, StampError, UsageError
from gridc.runtime.store.store import Store
from gridc.study import make_stamp, require_lock


@click.command()
@SPEC
@DATA
@JSON
@click.option("--supersede", is_flag=True, help="Replace a stamp that the spec no longer matches.")
@click.option("--check", is_flag=True, help="Write nothing; say whether the lock is what the spec says.")
def stamp(spec: Path, data: Path | None, as_json: bool, supersede: bool, check: bool) -> None:
    """Fix the spec and every input under one digest. The lock file lies beside the spec."""
    if check:
        _check_stamp(compile_spec(spec, data), log_path(spec), as_json)
        return
    compiled = compile_spec(spec, data, online=True)
    lock, news = make_stamp(compiled, supersede)
    if supersede and compiled.lock is not None and lock.stamp != compiled.lock.stamp:
        _tell_of_data(compiled.lock, store_path(compiled, None))
    ties = anchors(compiled.lock_path, spec)
    if as_json:
        evidence = [asdict(each) for each in ties]
        print_json({"stamp": lock.stamp, "lock": str(compiled.lock_path), "news": news, "anchors": evidence})
        return
    click.echo(f"{news}: {lock.stamp}\nin {compiled.lock_path}")
    for tie in ties:
        when = f", {tie.committed}" if tie.committed else ""
        click.echo(terminal.visible(f"{tie.strength}: {tie.detail}{when}"))
    for name, reason in compiled.study.unpinned().items():
        click.echo(terminal.visible(f"unpinned: {name} ({reason})"))


def _tell_of_data(replaced: Lock, path: Path) -> None:
    """Say that there are data under a stamp that is replaced: a log of deviations would keep the stamp."""
    if not path.is_file():
        return
    with Store.open(path) as store:
        answered = store.progress(replaced.stamp).answered if replaced.stamp in store.stamps() else 0
    if answered:
        told = f"{answered:,} calls were answered under the stamp that is replaced; every report will say so"
        click.echo(f"{told}. A log of deviations (`gridc deviations`) would keep the stamp", err=True)


def _check_stamp(compiled: Compiled, log: Path, as_json: bool) -> None:
    lock, absent = require_lock(compiled), compiled.study.unpinned()
    departures = require_current(lock, compiled.study, log).departures
    if as_json:
        told = {"stamp": lock.stamp, "lock": str(compiled.lock_path), "current": not departures}
        print_json({**told, "explained": [each.path for each in departures], "unchecked": absent})
        return
    state = f"{len(departures)} departures, all explained in {log}" if departures else "current"
    click.echo(terminal.visible(f"{compiled.lock_path}: {state}"))
    click.echo(f"stamp {lock.stamp}")
    for name, reason in absent.items():
        click.echo(terminal.visible(f"not checked: {name} ({reason})"))


@click.command()
@SPEC
@DATA
@OUT
@JSON
@click.option("--against", "earlier", metavar="STAMP", help="Compare with a stamp or lock file.")
def plan(spec: Path, data: Path | None, out: Path | None, as_json: bool, earlier: str | None) -> None:
    """Show the cells, envelopes and calls that a run would execute, and what they will cost."""
    compiled = compile_spec(spec, data)
    path, lowered = store_path(compiled, out), Plan(compiled.study)
    if path.is_file():
        with Store.open(path) as store:
            manifest = lowered.manifest(store.answered(), store.speeds()).as_json()
    else:
        manifest = lowered.manifest().as_json()
    manifest |= falsifiability.manifest(lowered)
    if earlier is not None:
        manifest["against"] = asdict(against(compiled.study, *_earlier(compiled, earlier)))
    if as_json:
        print_json(manifest)
    else:
        terminal.plan_table(manifest)


def _earlier(compiled: Compiled, name: str) -> tuple[str, Mapping[str, Any]]:
    """The stamp that `name` begins, or the lock that it is the path of, with its content."""
    if Path(name).is_file():
        found = read_lock(Path(name)) or require_lock(compiled)
        return found.stamp, found.content
    lock = require_lock(compiled)
    for each in lock.chain:
        if each.stamp.startswith(name):
            return each.stamp, each.content
    known = ", ".join(each.stamp[:12] for each in lock.chain)
    raise UsageError([Diagnostic("GC000", f"no stamp or lock file is {name}", help=f"known: {known}")])


@click.command()
@SPEC
@DATA
@OUT
@JSON
@click.option("--write", is_flag=True, help="Add what is missing to the log, and fill in its values.")
def deviations(spec: Path, data: Path | None, out: Path | None, as_json: bool, write: bool) -> None:
    """Compare the study with its stamp, path by path, and with the log that explains the difference."""
    compiled = compile_spec(spec, data)
    lock = require_lock(compiled)
    path = log_path(spec)
    result = reconcile(lock, compiled.study, path)
    if write:
        from gridc.compiler.lock.deviation_log import write_log

        added = write_log(result, path)
        result = reconcile(lock, compiled.study, path)
        if not as_json:
            click.echo(f"{path}: {added} entries added" if added else f"{path}: nothing to add")
    observed = _observed(compiled, store_path(compiled, out))
    if as_json:
        findings = [each.as_json() for each in result.findings]
        told = {"deviations": result.manifest(), "observed": observed, "diagnostics": findings}
        print_json({"stamp": lock.stamp, **told})
    else:
        terminal.deviations(result, observed)
    if result.findings:
        if as_json:
            raise SystemExit(StampError.exit_code)
        raise StampError(result.findings)


def _observed(compiled: Compiled, path: Path) -> list[str] | None:
    """What a run observed; None where there is no run of the study as it is now."""
    if not path.is_file():
        return None
    with Store.open(path) as store:
        stamp = stamp_of(compiled.study)
        return store.observed(stamp) if stamp in store.stamps() else None
