"""`gridc verify`."""

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, Percentage, Seed, believes, print_json, study_command
from gridc.study import OpenStudy


@click.command()
@study_command
@JSON
@click.option("--rerun", type=Percentage(), help="Also repeat a random share of the calls, such as 1%.")
@click.option("--rerun-seed", type=Seed(), help="Repeat the draw of an earlier rerun.")
@believes
def verify(
    study: OpenStudy,
    as_json: bool,
    rerun: float | None,
    rerun_seed: str | None,
) -> None:
    """Recompute everything and name what differs. SPEC may be a bundle's folder.

    It reads the spec, the lock and the store, or only what is in a bundle. Reports that other code wrote,
    such as another version of gridc, are not compared: this one's are written into a folder beside them, and
    the exit code is 9.
    """
    verified = study.verify(rerun, rerun_seed, terminal.note)
    try:
        again = verified.write_again()
        replaced = "" if verified.bundle else "; `gridc report` replaces those that are here"
        written = [] if again is None else [f"written again by this gridc, in {again}{replaced}"]
    except OSError as error:
        written = [f"not written again by this gridc: {error}"]
    if as_json:
        print_json({**verified.as_json(), "written": written})
    else:
        for line in (*verified.checked, *written):
            click.echo(f"  {terminal.visible(line)}")
        state = "verified" if verified.complete else "incomplete, nothing differs so far"
        but = ", but for reports that were not compared" if verified.not_compared else ""
        click.echo(f"{state}{but}: {verified.bundle or verified.stamp}")
    raise SystemExit(verified.exit_code)
