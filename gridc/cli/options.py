"""What commands share: their arguments, and how they print JSON."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gridc.compiler.compile import Compiled

from gridc.compiler.frontend.source import STDIN


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
        return path / "gridcard.toml" if path.is_dir() else path


class Percentage(click.ParamType[float]):
    """A share above 0 and up to 100 %, written `1` or `1%`, as a proportion."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            share = float(str(value).removesuffix("%")) / 100
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            self.fail(f"{value} is no share above 0 and up to 100 %", param, ctx)
        return share


SPEC = click.argument("spec", type=SpecPath(), default=Path("gridcard.toml"), metavar="[SPEC]")
SPECS = click.argument("specs", type=SpecPath(stdin=True), nargs=-1, metavar="[SPEC]...")
DATA = click.option(
    "--data", type=click.Path(path_type=Path), envvar="GRIDC_DATA", help="Folder of `data:` sources."
)
OUT = click.option("--out", type=click.Path(path_type=Path), help="Results folder. Default: results/STUDY.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_json(document: Any) -> None:
    """Print a document for programs."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def store_path(compiled: "Compiled", out: Path | None) -> Path:
    """Where the results of a study lie: `results/STUDY/store.sqlite` beside the spec."""
    folder = out or compiled.source.path.parent / "results" / compiled.spec.study.id
    return folder / "store.sqlite"
