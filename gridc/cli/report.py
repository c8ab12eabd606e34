"""`gridc report`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, OUT, SpecPath, believes, print_json
from gridc.cli.terminal import score_table
from gridc.study import OpenStudy, Trust, report_all


@click.command()
@click.argument("specs", type=SpecPath(), nargs=-1, metavar="[SPEC]...")
@FOLDERS
@OUT
@JSON
@click.option("--figures", is_flag=True, help="Also write every figure as an SVG file.")
@click.option("--pdf", is_flag=True, help="Write every figure as SVG and PDF.")
@click.option(
    "--attribution", is_flag=True, help="Attribute changes of scores and verdicts to axes (needs lightgbm)."
)
@click.option(
    "--with-answers",
    is_flag=True,
    help="Also write a page with the prompts and responses on which two models differ, as one file to share.",
)
@click.option(
    "--most",
    type=click.IntRange(1, 10**9 - 1),
    help="Items of two models on that page, 200 by default; the others are counted.",
)
@click.option(
    "--checklist", is_flag=True, help="Also answer published checklists, with the evidence for each answer."
)
@believes
def report(
    specs: tuple[Path, ...],
    data: Path | None,
    models: Path | None,
    out: Path | None,
    as_json: bool,
    figures: bool,
    pdf: bool,
    attribution: bool,
    with_answers: bool,
    most: int | None,
    checklist: bool,
    roots: tuple[Path, ...],
    signers: tuple[str, ...],
    records: tuple[Path, ...],
) -> None:
    """Write certificate, GRID card, scorecard, deviation log and report page, all from the store.

    With several SPECs each study is reported into its own results folder, and one more report covers all of
    them: which sample each claim rests on, which items the studies share, which cells two of them ran, and
    one error budget. `--out` is then the folder of that report."""
    if most is not None and not with_answers:
        raise click.UsageError("--most needs --with-answers")
    trust = Trust(roots, signers, records)
    if len(specs) > 1 and checklist:
        raise click.UsageError("--checklist is of one study")
    if len(specs) > 1:
        over_all = report_all(
            specs, out, data, models, trust, figures, pdf, attribution, with_answers, most or 200
        )
        if as_json:
            print_json(over_all.as_json())
            return
        for line in over_all.brief:
            click.echo(terminal.bullet(line))
        click.echo()
        for path in over_all.files:
            click.echo(f"  {path}")
        return
    spec = specs[0] if specs else Path("gridcard.toml")
    study = OpenStudy(spec, data, out, trust, models)
    written = study.report(figures, pdf, attribution, with_answers, most or 200)
    asked = study.checklist() if checklist else None
    listed = None if asked is None else asked.write(written.store.parent)
    if as_json:
        print_json(written.as_json())
        return
    shown = written.report
    click.echo()
    click.echo(click.wrap_text(terminal.visible(shown.cards.title), terminal.text_width()))
    for statement in shown.urgent:
        click.echo(terminal.bullet(statement))
    for line in terminal.answer_lines(shown.answer):
        click.echo(line)
    for line in score_table(shown.scoreboard):
        click.echo(line)
    for statement in (*shown.headline, *shown.foremost_limits):
        click.echo(terminal.bullet(statement))
    if shown.further_counts:
        click.echo(terminal.bullet(f"On the report page: {shown.further_counts}."))
    click.echo()
    main = {path: name for path, name in written.files.items() if "(" not in name}
    for path, name in (*main.items(), (written.store, "store")):
        click.echo(f"  {name:<18} {path}")
    if len(main) < len(written.files):
        click.echo(
            f"  {'and, beside them':<18} {len(written.files) - len(main)} of these as JSON, text or TeX"
        )
    if asked is not None:
        left = f"{len(asked.rows)} criteria, of which the author must write {asked.left}"
        click.echo(f"  {'checklists':<18} {listed} ({left})")
    if written.figures:
        click.echo(f"  {f'{len(written.figures)} figures':<18} {written.figures[0].parent}")
