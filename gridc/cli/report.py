"""`gridc report`."""

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, believes, of_study, print_json
from gridc.cli.score_table import score_table
from gridc.study import OpenStudy


@click.command()
@of_study
@JSON
@click.option("--figures", is_flag=True, help="Also write every figure as an SVG file.")
@click.option("--pdf", is_flag=True, help="Write every figure as SVG and PDF.")
@click.option(
    "--attribution", is_flag=True, help="Explain by axis what moves scores and verdicts (lightgbm)."
)
@believes
def report(
    study: OpenStudy,
    as_json: bool,
    figures: bool,
    pdf: bool,
    attribution: bool,
) -> None:
    """Write certificate, GRID card, scorecard, deviation log and report page. All come from the store."""
    written = study.report(figures, pdf, attribution)
    if as_json:
        print_json(written.as_json())
        return
    shown = written.report
    click.echo()
    for line in score_table(shown.scoreboard):
        click.echo(line)
    for statement in (*shown.urgent, *shown.headline, *shown.foremost_limit):
        click.echo(terminal.bullet(statement))
    if shown.beside:
        click.echo(terminal.bullet(f"On the report page: {shown.beside}."))
    click.echo()
    main = {path: name for path, name in written.files.items() if "(" not in name}
    for path, name in (*main.items(), (written.store, "store")):
        click.echo(f"  {name:<18} {path}")
    if len(main) < len(written.files):
        click.echo(
            f"  {'and, beside them':<18} {len(written.files) - len(main)} of these as JSON, text or TeX"
        )
    if written.figures:
        click.echo(f"  {f'{len(written.figures)} figures':<18} {written.figures[0].parent}")
