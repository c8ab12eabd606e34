"""The command line: arguments in, text out. What a command does is a call of `gridc.study`.

Each command is a module of its own name, imported when the command is called, so that `gridc validate` does
not wait for what only `gridc report` needs.
"""

import gc
import os
import signal
import sys
from difflib import get_close_matches
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click
from click.exceptions import Exit

from gridc import __version__
from gridc.diagnostics.errors import GridcError
from gridc.diagnostics.secrets import masked
from gridc.study.failures import TRACEBACK, coded, crashed

COMMANDS = (
    "init",
    "validate",
    "fmt",
    "explain",
    "docs",
    "schema",
    "measurands",
    "tasks",
    "stamp",
    "anchor",
    "plan",
    "show",
    "deviations",
    "serve",
    "run",
    "merge",
    "status",
    "report",
    "view",
    "scaffolds",
    "certify",
    "card",
    "export",
    "sql",
    "verify",
    "audit",
    "diff",
    "baseline",
    "compare",
)
"""In the order in which a study needs them."""


class Commands(click.Group):
    """Loads commands when they are called, and turns every failure that a user can act on into its
    diagnostics and its exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"gridc.cli.{name}"), name)
        gc.enable()  # `gridc.__main__` turned it off while modules are imported
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with the first sentence of its help, whole."""
        rows = [
            (name, command.get_short_help_str(limit=300))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name)) is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1, cutoff=0.6)
            meant = f"did you mean `gridc {near[0]}`?" if near else f"there is {', '.join(COMMANDS)}"
            ctx.fail(f"there is no command `{args[0]}`: {meant}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt)
        try:
            with coded():
                return super().invoke(ctx)
        except GridcError as error:
            _fail(error)
        except (KeyboardInterrupt, SystemExit):
            if signal.getsignal(signal.SIGINT) is _say_stopping:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is the interpreter's own end
            raise
        except BrokenPipeError:
            sys.stderr.close()  # whoever read the output has seen enough
            raise SystemExit(0) from None
        except click.ClickException as error:
            vars(error)["message"] = masked(error.message)  # click prints it, and declares it final
            raise
        except (click.Abort, Exit):
            raise
        except BaseException as error:  # a panic of Rust is no `Exception`
            if os.environ.get(TRACEBACK):
                raise
            _fail(crashed(error))


EPILOG = """\b
Which prompt did item 17 get?    gridc show --item 17 --where few_shot=3
Which answers were unreadable?   gridc sql "select * from samples where not parsed"
Why do two models flip?          gridc view; `gridc docs tables` has it in SQL and pandas
A first study:                   gridc init, then what it says; `gridc docs language` teaches it"""


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="gridc")
def main() -> None:
    """Compile, stamp, run and certify an evaluation study of language models."""


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """The first Ctrl-C stops the command; another one cannot break off what the first has begun to close."""
    signal.signal(signal.SIGINT, _say_stopping)
    raise KeyboardInterrupt


def _say_stopping(number: int, frame: FrameType | None) -> None:
    os.write(sys.stderr.fileno(), b"stopping (Ctrl-\\ ends it at once; finished calls stay stored)\n")


def _fail(error: GridcError) -> NoReturn:
    from gridc.cli import terminal
    from gridc.cli.options import print_json

    if "--json" in sys.argv:
        print_json({"diagnostics": [diagnostic.as_json() for diagnostic in error.diagnostics]})
    else:
        click.echo(terminal.diagnostic_text(error.diagnostics), err=True)
    raise SystemExit(error.exit_code)
