"""`gridc schema`."""

from pathlib import Path

import click

from gridc.schema import jsonschema
from gridc.schema.jsonschema import reference


@click.command()
@click.argument("name", default="gridcard", type=click.Choice(jsonschema.NAMES))
@click.option("--write", is_flag=True, help="Write NAME.v1.schema.json into this folder.")
@click.option("--markdown", is_flag=True, help="Print a reference for people instead.")
def schema(name: str, write: bool, markdown: bool) -> None:
    """Print a JSON Schema. NAME is the language, an extension of a spec, the deviation log, or a document
    of a report (certificate, estimates, GRID cards, scorecard, deviation report); a release policy, or a
    comparison."""
    if markdown:
        click.echo(reference(name), nl=False)
    elif write:
        jsonschema.write_schema(name, Path())
    else:
        click.echo(jsonschema.schema_text(name), nl=False)
