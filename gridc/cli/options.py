"""What commands share: their arguments, and how they print JSON."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gridc import study
from gridc.diagnostics.errors import GridcError, json_text
from gridc.study import OpenStudy, Trust, spec_in

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

STDIN = Path("-")
TASKS = "lm-eval:"
"""Before the name of a task of lm-evaluation-harness."""


class SpecPath(click.Path):
    """A spec's path. A folder stands for the gridcard.toml in it, `-` for standard input where nothing is
    written beside the spec."""

    def __init__(self, stdin: bool = False) -> None:
        super().__init__(path_type=Path)
        self._stdin = stdin

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path == STDIN and not self._stdin:
            self.fail("this command needs a spec that lies in a file", param, ctx)
        return spec_in(path)


class MultiValueCommand(click.Command):
    """A command with an option of several values: `--baseline A1 A2` is `--baseline A1 --baseline A2`, up
    to the next option."""

    def __init__(self, *rest: Any, several: str, **named: Any) -> None:
        super().__init__(*rest, **named)
        self._several = several

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._spread(args)))

    def _spread(self, args: list[str]) -> Iterator[str]:
        within = False
        for argument in args:
            if argument == self._several:
                within = True
            elif argument.startswith("-"):
                within = False
                yield argument
            else:
                yield f"{self._several}={argument}" if within else argument


class Percentage(click.ParamType[float]):
    """A share, above 0 % and at most 100 %, written `1` or `1%`, as a proportion."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            share = float(str(value).removesuffix("%")) / 100
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            self.fail(f"{value} must be above 0 % and at most 100 %", param, ctx)
        return share


class Seed(click.ParamType[str]):
    """A seed as reports print it: up to 32 hexadecimal digits."""

    name = "hex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"[0-9a-f]{1,32}", str(value)):
            self.fail(f"{value} is not a seed of at most 32 hexadecimal digits", param, ctx)
        return str(value)


class TaskName(click.ParamType[str]):
    """The name of a task of lm-evaluation-harness, which a shell completes where that is installed."""

    name = "task"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        scheme = TASKS if incomplete.startswith(TASKS) else ""
        try:
            found = study.tasks().found
        except GridcError:
            return []  # a shell has no place for a message
        names = (f"{scheme}{entry.name}" for entry in found)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


TASK_NAME = TaskName()
SPEC = click.argument("spec", type=SpecPath(), default=Path("gridcard.toml"), metavar="[SPEC]")
SPECS = click.argument("specs", type=SpecPath(stdin=True), nargs=-1, metavar="[SPEC]...")
_DATA = click.option(
    "--data", type=click.Path(path_type=Path), envvar="GRIDC_DATA", help="Folder of `data:` sources."
)
_MODELS = click.option(
    "--models", type=click.Path(path_type=Path), envvar="GRIDC_MODELS", help="Folder of `models:` sources."
)
OUT = click.option("--out", type=click.Path(path_type=Path), help="Results folder. Default: results/STUDY.")
ACKNOWLEDGE = click.option(
    "--acknowledge",
    type=click.Choice(["environments", "lost-batches"]),
    multiple=True,
    help=(
        "environments: accept answers from machines that differ, and record it as an observed "
        "deviation; lost-batches: ask again the calls of a batch that may have been paid for and cannot "
        "be found."
    ),
)
ALLOW = click.option(
    "--allow",
    metavar="HOST:VARIABLE",
    multiple=True,
    help="This host may get the prompts, and the value of this environment variable as a key (HOST alone: no "
    "key), over https unless it begins with http://. For this command; `gridc run` on a terminal asks, and "
    "keeps the answer.",
)
_ROOTS = click.option(
    "--roots",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Root certificates (PEM) of time stamping authorities. Default: the system's.",
)
SIGNERS = click.option(
    "--signer",
    "signers",
    multiple=True,
    help="Who is expected to have signed: SHA256:..., a public key, or an allowed_signers file.",
)
SIGNING_KEY = click.option(
    "--key", type=click.Path(path_type=Path, exists=True), help="Sign with this private ssh key."
)
_RECORDS = click.option(
    "--record",
    "records",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A registry's record of the registration, as you fetched it from there.",
)
_TASKS = click.option(
    "--benchmark",
    "benchmarks",
    multiple=True,
    metavar="NAME=TASK,TASK",
    help="In logs: these tasks ask the same items in several ways, and are one benchmark.",
)
_MODEL_NAMES = click.option(
    "--model",
    "names",
    multiple=True,
    metavar="NAME=MODEL,MODEL",
    help="In logs: these names are one model, which packages name differently.",
)
_AXES = click.option(
    "--axis",
    "axes",
    multiple=True,
    metavar="COLUMN",
    help="In tables: this column is part of the configuration.",
)
_IGNORE = click.option(
    "--ignore", multiple=True, metavar="COLUMN", help="In tables: this column is not read."
)
_UNIT = click.option(
    "--unit",
    metavar="FIELD",
    help=(
        "In logs: the column, or the field of an item (a.b inside another), that says what the item was "
        "made from. Items with the same value are one independent draw."
    ),
)
_RUNS = click.option(
    "--run",
    "counting",
    multiple=True,
    metavar="FILE|all",
    help=(
        "In logs: where one model was run several times in one configuration, this log counts; `all` takes "
        "the runs as repetitions. Default: the newest complete one."
    ),
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def FOLDERS(command: Callable[..., Any]) -> Callable[..., Any]:  # noqa: N802  # written as the other options
    """The folders that lie elsewhere on each machine, so that no spec names them: `data` and `models`."""
    return _DATA(_MODELS(command))


def spec_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a command is about as one argument, `study`: its spec, the folders that lie elsewhere on each
    machine, and whom the person believes, of a command that asks (`believes`)."""

    @SPEC
    @FOLDERS
    @wraps(command)
    def run(
        *, spec: Path, data: Path | None, models: Path | None, out: Path | None = None, **rest: Any
    ) -> Any:
        believed = {name: rest.pop(name) for name in ("roots", "signers", "records") if name in rest}
        return command(study=OpenStudy(spec, data, out, Trust(**believed), models), **rest)

    return run


def study_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a command that asks the study's results folder."""
    return spec_command(OUT(command))


def believes(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that name whom the person at the command line believes."""
    return _ROOTS(SIGNERS(_RECORDS(command)))


_OF_LOGS = (
    "axes",
    "ignore",
    "unit",
    "category",
    "counting",
    "may_differ",
    "common_only",
    "total",
    "statistics",
)
"""Of options about logs those that are passed on as they are."""


def reads_logs(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how logs and tables of other packages are read, as one argument, `how`: those that
    commands have in common, and `may_differ`, `category`, `common_only`, `total` and `statistics` of those
    that have them."""

    @_TASKS
    @_MODEL_NAMES
    @_AXES
    @_IGNORE
    @_UNIT
    @_RUNS
    @wraps(command)
    def run(benchmarks: tuple[str, ...], names: tuple[str, ...], **rest: Any) -> Any:
        how: dict[str, Any] = {
            "benchmarks": options_by_name("--benchmark", benchmarks),
            "models": options_by_name("--model", names),
            **{name: rest.pop(name) for name in _OF_LOGS if name in rest},
        }
        return command(how=how, **rest)

    return run


READINGS = click.option(
    "--reading",
    "readings",
    multiple=True,
    metavar="[BENCHMARK=]READING",
    help="In logs: the metric, filter or scorer that counts, where there are several.",
)


def readings_by_benchmark(stated: Iterable[str]) -> dict[str, str]:
    """What `READINGS` states: `READING`, which has no name before it, and `BENCHMARK=READING`."""
    parts = [text.rpartition("=") for text in stated]
    return {name: reading for name, _, reading in parts}


def print_json(document: Any) -> None:
    """Print a document for programs."""
    click.echo(json_text(document, indent=2))


@contextmanager
def resumable() -> Iterator[None]:
    """Ctrl-C ends a command that executes calls with a word on how to resume it."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("stopped; every finished call is stored: run the same command to resume", err=True)
        raise SystemExit(6) from None


def options_by_name(option: str, stated: Iterable[str]) -> dict[str, list[str]]:
    """`NAME=ONE,OTHER` by name."""
    names = {}
    for text in stated:
        name, equals, several = text.partition("=")
        if not (name and equals and several):
            raise click.BadParameter(f"write NAME={option[2:].upper()},...", param_hint=option)
        names[name] = several.split(",")
    return names
