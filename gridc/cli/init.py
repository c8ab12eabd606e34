"""The command that begins a study: init."""

from pathlib import Path

import click

from gridc.cli.options import JSON, print_json
from gridc.compiler import draft
from gridc.compiler.frontend.read import read_spec
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.files import write_atomic
from gridc.schema import jsonschema


@click.command()
@click.option(
    "--model", "models", multiple=True, help="Source of a model; once for each. Default: pocket models."
)
@click.option(
    "--benchmark", "benchmarks", multiple=True, help="[LOADER=]SOURCE of a benchmark; once for each."
)
@click.option("--title", help="One line, as it stands on the report.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("gridcard.toml"),
    help="Spec to write, or its folder.",
)
@click.option("--yes", is_flag=True, help="Ask nothing: what is not given is the default.")
@click.option("--force", is_flag=True, help="Overwrite a spec that is there.")
@JSON
def init(
    models: tuple[str, ...],
    benchmarks: tuple[str, ...],
    title: str | None,
    out: Path,
    yes: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a first spec and, beside it, the schema that editors complete it with.

    Asked nothing more, it is a study of the models and benchmarks that ship with gridc.
    """
    spec = out if out.suffix == ".toml" and not out.is_dir() else out / "gridcard.toml"
    schema = spec.with_name(jsonschema.file_name("gridcard"))
    files = {schema: jsonschema.text(), spec: ""}
    if not force:
        _refuse_to_overwrite(files)
    ask = not (yes or as_json)
    files[spec] = draft.draft(
        spec.absolute().parent.name,
        title or _answer(ask, "Title", draft.TITLE),
        models or _answers(ask, "Models (builtin:, path:, hf: or a litellm name)", draft.MODELS),
        benchmarks or _answers(ask, "Benchmarks ([LOADER=]SOURCE)", draft.BENCHMARKS),
    ).text()
    spec.parent.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        write_atomic(path, text)
    if not as_json:
        click.echo(f"wrote {spec} and {schema}")
    read_spec(spec)
    if as_json:
        print_json({"spec": str(spec), "schema": str(schema)})
        return
    where = "" if spec == Path("gridcard.toml") else f" {spec}"
    click.echo(f"valid. Next: edit it, then gridc plan{where}, gridc stamp{where}, gridc run{where}")


def _refuse_to_overwrite(files: dict[Path, str]) -> None:
    taken = [path for path, text in files.items() if path.exists() and path.read_bytes() != text.encode()]
    if taken:
        help = "--force overwrites it, --out writes elsewhere"
        raise UsageError(
            Diagnostic("GC000", "there is a file here already", str(path), help=help) for path in taken
        )


def _answer(ask: bool, question: str, default: str) -> str:
    if not ask:
        return default
    try:
        answer: str = click.prompt(question, default=default)
    except click.Abort:
        message = "the questions were not answered"
        raise UsageError([Diagnostic("GC000", message, help="--yes takes the defaults")]) from None
    return answer


def _answers(ask: bool, question: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Several, with spaces or commas between them."""
    return tuple(_answer(ask, question, " ".join(default)).replace(",", " ").split()) or default
