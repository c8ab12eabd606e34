"""`gridc export FORM`: one command for each row of `EXPORTS`, of `TRACKERS` and of `TABLES`."""

from pathlib import Path

import click

from gridc.cli.options import JSON, print_json, study_command
from gridc.study import OpenStudy
from gridc.study.exports import EXPORTS, TABLES, TRACKERS, Export, Tracker


@click.group(invoke_without_command=True)
@click.option("--dictionary", is_flag=True, help="Say what each column of each table holds.")
@JSON
@click.pass_context
def export(ctx: click.Context, dictionary: bool, as_json: bool) -> None:
    """Write a study in a form that others read: a bundle to verify, runs of an experiment tracker, or tables
    for pandas, R and DuckDB."""
    if dictionary:
        _print_dictionary(as_json)
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(2)


def _print_dictionary(as_json: bool) -> None:
    from gridc.study.tables import dictionary

    tables = dictionary()
    if as_json:
        names = ("name", "type", "description")
        print_json(
            {
                table: [{name: getattr(column, name) for name in names} for column in columns]
                for table, columns in tables.items()
            }
        )
        return
    for table, columns in tables.items():
        click.echo(f"{table}: {TABLES[table]}")
        for column in columns:
            click.echo(f"  {column.name} ({column.type})")
            click.echo(click.wrap_text(column.description, 100, "      ", "      "))
        click.echo()


def _command(name: str, form: Export) -> click.Command:
    @click.command(name, help=form.help)
    @study_command
    @click.option(
        "--to",
        type=click.Path(path_type=Path),
        help="The folder or file to write. Default: beside the results.",
    )
    def command(study: OpenStudy, to: Path | None, producer: str | None = None) -> None:
        made = study.export(name, to, producer=producer)
        click.echo(f"{made}: {form.next_step.format(made)}")

    if form.names_producer:
        help = "Who publishes it: a domain name, an ORCID or a GitHub handle."
        command.params.append(click.Option(["--producer"], required=True, help=help))
    return command


def _tracker(name: str, tracker: Tracker) -> click.Command:
    @click.command(name, help=tracker.help)
    @study_command
    @click.option("--project", help="The project or experiment that takes the runs. Default: the study's id.")
    def command(study: OpenStudy, project: str | None) -> None:
        for place in study.log_to(name, project):
            click.echo(place)

    return command


def _table(name: str, help: str) -> click.Command:
    @click.command(name, help=f"{help} `gridc export --dictionary` says what each column holds.")
    @study_command
    @click.option(
        "--to",
        type=click.Path(path_type=Path),
        help="A .parquet, .csv or .arrow file. Default: Parquet, beside the results.",
    )
    @click.option("--columns", help="Only these columns, separated by commas.")
    @click.option("--force", is_flag=True, help="Overwrite the file.")
    def command(
        study: OpenStudy,
        to: Path | None,
        columns: str | None,
        force: bool,
    ) -> None:
        chosen = None if columns is None else columns.split(",")
        click.echo(f"{study.export(name, to, force, chosen)}")

    return command


for _name, _form in EXPORTS.items():
    export.add_command(_command(_name, _form))
for _name, _tracked in TRACKERS.items():
    export.add_command(_tracker(_name, _tracked))
for _name, _help in TABLES.items():
    export.add_command(_table(_name, _help))
