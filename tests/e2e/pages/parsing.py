"""Whether a command that a page names exists, with these options: by the parsers that would read it."""

import argparse
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gridc.cli import main
from tests.e2e.pages.blocks import ROOT

PROGRAMS = ("gridc", "make", "python", "pytest", "pip")


def check(words: list[str], whole: bool) -> None:
    """Fails unless the command can be given so. Text may leave out what a block, as a `whole`, may not."""
    words = words[: words.index(">")] if ">" in words else words
    program, arguments = Path(words[0]).name, words[1:]
    if program == "gridc":
        _gridc(arguments, whole)
    elif program == "make":
        subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, check=True, capture_output=True)
    elif program == "python" and arguments[0] == "-m":
        _module(arguments[1], arguments[2:])
    elif program == "pytest":
        assert all((ROOT / path).exists() for path in arguments if path.startswith("tests")), arguments
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
            "optional-dependencies"
        ]
        for package in arguments[1:]:
            _, _, names = package.rstrip("]").partition("[")
            assert not names or set(names.split(",")) <= set(extras), package


def _gridc(arguments: list[str], whole: bool) -> None:
    command: click.Command = main
    context = click.Context(main)
    while arguments and isinstance(command, click.Group) and (whole or not arguments[0].startswith("-")):
        _, inner, arguments = command.resolve_command(context, arguments)
        assert inner is not None
        command, context = inner, click.Context(inner, parent=context)
    try:
        values, rest, _ = command.make_parser(context).parse_args(list(arguments))
    except click.BadOptionUsage:
        assert not whole, "an option needs a value"
        return
    assert rest == []
    for parameter in command.params:
        value = values.get(parameter.name)
        given = isinstance(value, str | bool | list | tuple)
        assert given or not (whole and parameter.required), f"{parameter.name} is missing"
        if given and not isinstance(parameter.type, click.Path) and not str(value).isupper():
            parameter.type_cast_value(context, value)


class Parsed(Exception):
    """A module's own parser took the arguments: it need not go on."""


def _module(name: str, arguments: list[str]) -> None:
    """Starts a module that parses its arguments, until it has. Of any other it is enough that it is there."""
    path = ROOT.joinpath(*name.split("."))
    path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    if "ArgumentParser" not in path.read_text("utf-8"):
        return

    parse_args = argparse.ArgumentParser.parse_args

    def parse(parser: argparse.ArgumentParser, *_: object) -> None:
        parse_args(parser, arguments)
        raise Parsed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Parsed):
        for loaded in (name, f"{name}.__main__"):
            patch.delitem(sys.modules, loaded, raising=False)  # runpy warns of what another test imported
        patch.setattr(argparse.ArgumentParser, "parse_args", parse)
        runpy.run_module(name, run_name="__main__")


def options_of(command: click.Command) -> Iterator[str]:
    """Every option of a command and of those below it."""
    for parameter in command.params:
        yield from parameter.opts
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from options_of(inner)


def options_of_programs() -> Iterator[str]:
    """Every option of the programs of this repository that no package installs."""
    for folder in ("benchmarks", "tests", "tools"):
        for path in (ROOT / folder).rglob("*.py"):
            yield from re.findall(r'add_argument\(\s*"(--[\w-]+)"', path.read_text("utf-8"))
