"""Commands that read a store: report, certify, verify."""

import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import click

from gridc.cli import terminal
from gridc.cli.options import DATA, JSON, OUT, SPEC, Percentage, print_json, store_path
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.lock.deviations import log_path, require_reconciled
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, GridcError, UsageError, VerificationError
from gridc.reports import files as documents
from gridc.reports.exchange.bundle import is_bundle, verify_bundle
from gridc.reports.findings.attribution import LABEL
from gridc.reports.findings.findings import explained, find
from gridc.reports.page import PROMINENT
from gridc.reports.sentences import caveats, leading
from gridc.reports.verification import verify as recompute
from gridc.runtime import adaptive_race as witness
from gridc.runtime.adaptive import ChosenSamples
from gridc.runtime.rerun import Repeated
from gridc.runtime.rerun import rerun as repeat
from gridc.runtime.run import score_answers
from gridc.runtime.store.events import AnchorRecord, InterimLook, Reported, Witnessed
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer
from gridc.study import require_lock


@click.command()
@SPEC
@DATA
@OUT
@JSON
@click.option("--figures", is_flag=True, help="Write every figure as an SVG file too.")
@click.option("--pdf", is_flag=True, help="Write every figure as SVG and PDF.")
@click.option(
    "--attribution", is_flag=True, help="Explain by axis what moves scores and verdicts (lightgbm)."
)
def report(
    spec: Path,
    data: Path | None,
    out: Path | None,
    as_json: bool,
    figures: bool,
    pdf: bool,
    attribution: bool,
) -> None:
    """Write certificate, GRID card and report page. All come from the store."""
    compiled = compile_spec(spec, data)
    lock = require_lock(compiled)
    require_reconciled(lock, compiled.study, log_path(spec))
    path = store_path(compiled, out)
    Store.open(path).__exit__()
    with Writer(path) as store:
        plan = Plan(compiled.study)
        store.require(plan.study_digest)
        if store.awaits_scoring(plan.study_digest):
            score_answers(plan, store)
        findings = find(compiled, lock, store)
        if attribution:
            findings = explained(findings)
        look = Reported if findings.complete else InterimLook
        rows = [asdict(each) for each in findings.attribution]
        said: dict[str, Any] = asdict(findings.progress)
        said["anchor"] = AnchorRecord(**asdict(findings.anchor))
        if attribution:
            said["attribution"] = rows
        store.record(look(stamp=plan.study_digest, **said))
    written = documents.write(findings, path.parent)
    drawn = documents.draw(findings, path.parent / "figures", pdf) if figures or pdf else []
    statements = documents.documents(findings).certificate.statements
    if as_json:
        files = [str(each) for each in (*written, *drawn)]
        told: dict[str, Any] = {"statements": statements, "store": str(path), "files": files}
        if attribution:
            told |= {"attribution_is": LABEL, "attribution": rows}
        print_json(told)
        return
    click.echo()
    for statement in (*islice(leading(findings), PROMINENT), *caveats(findings)):
        click.echo(click.wrap_text(terminal.visible(statement), 96, "• ", "  "))
    click.echo()
    for file in (*written, path):
        click.echo(f"  {documents.NAMES[file.name]:<18} {file}")
    if drawn:
        click.echo(f"  {f'{len(drawn)} figures':<18} {drawn[0].parent}")


@click.command()
@SPEC
@DATA
@OUT
@JSON
@click.option("--until-decided", is_flag=True, help="Ask only what certifies reversals, and stop.")
def certify(spec: Path, data: Path | None, out: Path | None, as_json: bool, until_decided: bool) -> None:
    """Say which orders and reversals the items certify. With --until-decided, run as little as it takes."""
    compiled = compile_spec(spec, data, online=until_decided)
    lock = require_lock(compiled)
    departures = require_reconciled(lock, compiled.study, log_path(spec))
    path = store_path(compiled, out)
    if not until_decided:
        with Store.open(path) as store:
            certificate = documents.documents(find(compiled, lock, store)).certificate
        if as_json:
            print_json(certificate.model_dump(mode="json"))
            return
        for statement in certificate.statements:
            click.echo(click.wrap_text(terminal.visible(statement), 96, "• ", "  "))
        return
    try:
        with ChosenSamples(compiled, lock, departures, path) as samples:
            races = witness.race_study(samples.plan, samples.ask, _show)
            found = witness.document(samples.plan, races)
            found["calls"] = {
                "executed": samples.executed,
                "reused": samples.reused,
                "full_grid": samples.calls_in_grid,
            }
            samples.record(Witnessed(**found))
    except KeyboardInterrupt:
        click.echo("stopped; every finished call is stored, and the same command goes on from here", err=True)
        raise SystemExit(6) from None
    documents.write_json(path.parent / "witness.json", found)
    if as_json:
        print_json(found)
        return
    for race in races:
        for verdict in race.verdicts:
            click.echo(click.wrap_text(terminal.visible(witness.sentence(verdict)), 96, "• ", "  "))
    used = samples.executed + samples.reused
    share = 100 * used / max(samples.calls_in_grid, 1)
    click.echo(f"\n{used:,} of the grid's {samples.calls_in_grid:,} calls were asked ({share:.1f} %): {path}")


def _show(benchmark: str, used: int, units: int) -> None:
    """How far a race is; where it stops nobody knows before."""
    if sys.stderr.isatty():
        click.echo(f"\r{benchmark}: {used} of {units} items", nl=False, err=True)


@click.command()
@SPEC
@DATA
@OUT
@JSON
@click.option("--rerun", type=Percentage(), help="Make a drawn share of the calls again too, like 1%.")
def verify(spec: Path, data: Path | None, out: Path | None, as_json: bool, rerun: float | None) -> None:
    """Recompute everything and name what differs. SPEC may be a bundle's folder.

    It reads the spec, the lock and the store; of a bundle, only what is in it.
    """
    if is_bundle(spec.parent):
        if rerun is not None:
            help = "verify the study itself, where its models are"
            raise UsageError([Diagnostic("GC000", "a bundle has no models that could be asked", help=help)])
        checked = verify_bundle(spec.parent)
        if as_json:
            print_json({"verified": True, "bundle": str(spec.parent), "checked": checked})
            return
        for each in checked:
            click.echo(f"  {each}")
        click.echo(f"verified: {spec.parent}")
        return
    try:
        compiled = compile_spec(spec, data)
        lock = require_lock(compiled)
    except GridcError as error:
        raise VerificationError(error.diagnostics) from None
    path = store_path(compiled, out)
    with Store.open(path) as store:
        checked = recompute(compiled, lock, store, path.parent)
        if rerun is not None:
            checked += _repeat(compiled, store, rerun)
    if as_json:
        print_json({"verified": True, "stamp": lock.stamp, "checked": checked})
        return
    for each in checked:
        click.echo(f"  {each}")
    click.echo(f"verified: {lock.stamp}")


def _repeat(compiled: Compiled, store: Store, share: float) -> list[str]:
    """What repeating a share of the calls came to, a line for each model and precision. Raises
    `VerificationError` (GC708) for calls whose answers are not those that are stored."""
    found, stamp = list(repeat(compiled, store, share)), Plan(compiled.study).study_digest
    wrong = [
        Diagnostic("GC708", f"{each.model} answers otherwise: {store.whereabouts(stamp, call)}")
        for each in found
        for call in each.differing
    ]
    if wrong:
        raise VerificationError(wrong)
    return [_repeated(each) for each in found]


def _repeated(found: Repeated) -> str:
    moved = ""
    if found.max_moved is not None:
        moved = f"; log-likelihoods moved by at most {found.max_moved:.1e} nats"
    ties = f", {found.ties} where a token choice was a near tie" if found.ties else ""
    return (
        f"{found.model} ({found.precision}): {found.calls:,} of {found.of:,} calls were made again; "
        f"{found.changed} of {found.texts} texts differ{ties}{moved}"
    )
