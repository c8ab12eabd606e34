"""The command line. Every command takes a spec, prints for people, and prints JSON with --json.

A command's module is imported when the command is called, so that `gridc validate` does not wait for
what only `gridc report` needs.
"""

import gc
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from gridc import __version__
from gridc.diagnostics.errors import Diagnostic, GridcError, IncompleteError

COMMANDS = {
    "init": "init",
    "validate": "validate",
    "explain": "validate",
    "schema": "validate",
    "measurands": "validate",
    "stamp": "stamp",
    "plan": "stamp",
    "deviations": "stamp",
    "run": "run",
    "merge": "run",
    "status": "run",
    "report": "report",
    "certify": "report",
    "card": "card",
    "export": "export",
    "verify": "report",
    "diff": "diff",
}
"""Each command's module, in the order in which a study needs them."""


class Commands(click.Group):
    """Loads commands when they are called, and turns every failure that a user can act on into its
    diagnostics and its exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"gridc.cli.{COMMANDS[name]}"), name)
        gc.enable()  # `gridc.__main__` turned it off while modules are imported
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GridcError as error:
            _fail(error)
        except BrokenPipeError:
            sys.stderr.close()  # whoever read the output has seen enough
            raise SystemExit(0) from None
        except OSError as error:
            _fail(IncompleteError([Diagnostic("GC607", str(error.strerror or error), error.filename)]))
        except Exception as error:
            from sqlite3 import Error

            if isinstance(error, Error):
                _fail(IncompleteError([Diagnostic("GC605", f"SQLite says: {error}")]))
            raise


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gridc")
def main() -> None:
    """Compile, stamp, run and certify an evaluation study of language models."""


def _fail(error: GridcError) -> NoReturn:
    from gridc.cli import terminal
    from gridc.cli.options import print_json

    if "--json" in sys.argv:
        print_json({"diagnostics": [each.as_json() for each in error.diagnostics]})
    else:
        click.echo(terminal.diagnostics(error.diagnostics), err=True)
    raise SystemExit(error.exit_code)
