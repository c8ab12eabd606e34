"""`gridc export FORM`: one command for each row of `EXPORTS`."""

from pathlib import Path

import click

from gridc.cli.options import FOLDERS, OUT, SPEC
from gridc.study import OpenStudy
from gridc.study.exports import EXPORTS, Export


@click.group()
def export() -> None:
    """Write a study in a form that others read."""


def _command(name: str, form: Export) -> click.Command:
    @click.command(name, help=form.help)
    @SPEC
    @FOLDERS
    @OUT
    @click.option("--to", type=click.Path(path_type=Path), help="Where to. Default: beside the results.")
    def command(
        spec: Path, data: Path | None, models: Path | None, out: Path | None, to: Path | None
    ) -> None:
        made = OpenStudy(spec, data, out, models=models).export(name, to)
        click.echo(f"{made}: {form.next_step.format(made)}")

    return command


for _name, _form in EXPORTS.items():
    export.add_command(_command(_name, _form))
