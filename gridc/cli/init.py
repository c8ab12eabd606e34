"""`gridc init`."""

import shlex
from dataclasses import asdict
from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.conversation import Conversation, asked
from gridc.cli.options import JSON, TASK_NAME, print_json
from gridc.schema.effects import MatchKind
from gridc.schema.items import OptionLabels
from gridc.study.beginning import (
    BENCHMARKS,
    ENCODINGS,
    GOLD_RULES,
    MATCHES,
    MODELS,
    OPTION_LABELS,
    TASK_MODELS,
    TITLE,
    Beginning,
    FileStatements,
)

NEXT = {
    "show": "look at the first prompt",
    "validate --check": "try the instrument before any model does",
    "plan": "what it asks, and what that costs",
    "stamp": "fix it, before there are data",
    "run": "ask",
    "report": "what came out",
}
"""What to do after a first spec, in order, and what for."""


@click.command()
@click.option(
    "--model",
    "models",
    multiple=True,
    help=(
        "Source of a model, or its folder; repeat for each. Default: three tiny models that ship with gridc."
    ),
)
@click.option(
    "--benchmark",
    "benchmarks",
    multiple=True,
    help="[LOADER=]SOURCE of a benchmark, your own file, or a task file of lm_eval; repeat for each.",
)
@click.option(
    "--task",
    "tasks",
    type=TASK_NAME,
    multiple=True,
    metavar="lm-eval:NAME",
    help="A task, group or tag of lm-evaluation-harness (`gridc tasks`); repeat for each.",
)
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="[FILE:]FIELD=COLUMN",
    help=(
        "Which column of your own file holds a field: query, options, gold, expected, references, "
        "context ...; repeat for each. Separate several columns by commas."
    ),
)
@click.option(
    "--constant",
    "constants",
    multiple=True,
    metavar="[FILE:]FIELD=TEXT",
    help="A field that is the same in every row, such as expected=refuse, or options=no,yes.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="[FILE:]WORD=MEANING",
    help="What a word in the column for `expected` or `gold` means, such as harmful=refuse.",
)
@click.option(
    "--gold",
    type=click.Choice(GOLD_RULES),
    help="How the gold column names an option; of a file about a behaviour, which answer earns the point.",
)
@click.option(
    "--match", type=click.Choice(MATCHES), help="How free-text answers are compared with the right ones."
)
@click.option("--judge", help="Source of a model that judges free-text answers instead.")
@click.option(
    "--leave-out", is_flag=True, help="Leave out rows that do not follow the format, and count them."
)
@click.option(
    "--option-labels",
    type=click.Choice(OPTION_LABELS),
    help=(
        "What becomes of labels in the texts of options, such as `A) iron`. Default: removed where all rows "
        "have them."
    ),
)
@click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="[FILE:]COLUMN=MARK",
    help=(
        "What stands between several right answers or options in a text, such as 'answer=;'; labels: each "
        "begins with its label; none: each text is one answer."
    ),
)
@click.option(
    "--speaker",
    "speakers",
    multiple=True,
    metavar="[FILE:]NAME=ROLE",
    help="Who speaks in the conversations of `--field messages`, such as Bot=assistant.",
)
@click.option(
    "--no-header", is_flag=True, help="The first row is data: columns are called `column 1`, `column 2`."
)
@click.option(
    "--rows",
    metavar="PATH",
    help="The list in each record whose entries are the rows, such as paragraphs.qas.",
)
@click.option("--encoding", type=click.Choice(ENCODINGS), help="The encoding of a file that --copy copies.")
@click.option(
    "--copy",
    is_flag=True,
    help="Copy files that lie elsewhere, or are not UTF-8, beside the spec, as UTF-8.",
)
@click.option("--title", help="One line, as printed on the report.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("gridcard.toml"),
    help="Spec to write, or its folder.",
)
@click.option("--yes", is_flag=True, help="Ask nothing: use the default for whatever is not given.")
@click.option("--force", is_flag=True, help="Overwrite an existing spec.")
@JSON
def init(
    models: tuple[str, ...],
    benchmarks: tuple[str, ...],
    tasks: tuple[str, ...],
    fields: tuple[str, ...],
    constants: tuple[str, ...],
    labels: tuple[str, ...],
    gold: str | None,
    match: MatchKind | None,
    judge: str | None,
    leave_out: bool,
    option_labels: OptionLabels | None,
    splits: tuple[str, ...],
    speakers: tuple[str, ...],
    no_header: bool,
    rows: str | None,
    encoding: str | None,
    copy: bool,
    title: str | None,
    out: Path,
    yes: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a first spec and, beside it, its schema, which editors use to complete and check it.

    Without options the study uses models and benchmarks that ship with gridc. Of your own file the first rows
    are shown as they were read, and what its columns leave open is asked. `--yes` takes what the file makes
    likely, and says what that was.
    """
    beginning = Beginning.at(out)
    if not force:
        beginning.require_free()
    ask = not (yes or as_json)
    usual = TASK_MODELS if tasks else MODELS
    named = benchmarks or tasks
    begun = Conversation(
        beginning,
        title or _answer(ask, "Title", TITLE),
        models or _answers(ask, "Models (builtin:, path:, hf: or a litellm name)", usual),
        benchmarks if named else _answers(ask, "Benchmarks ([LOADER=]SOURCE)", BENCHMARKS),
        FileStatements(
            fields,
            constants,
            labels,
            gold,
            judge,
            match,
            leave_out,
            option_labels,
            copy,
            splits,
            speakers,
            no_header,
            rows,
            encoding,
        ),
        tasks,
        ask,
        yes,
        (lambda line: None) if as_json else click.echo,
    ).write()
    spec, schema = beginning.spec, beginning.schema
    if as_json:
        ahead = [diagnostic.as_json() for diagnostic in begun.ahead]
        wrote = {"spec": str(spec), "schema": str(schema)}
        shown = [asdict(row) for row in begun.rows]
        about = {"seen": list(begun.seen), "rows": shown, "ahead": ahead, "install": list(begun.install)}
        print_json({**wrote, **about})
        return
    for line in begun.seen:
        click.echo(terminal.visible(line))
    click.echo(f"wrote {spec} and {schema}")
    if begun.ahead:
        click.echo(terminal.diagnostic_text(begun.ahead), err=True)
    where = "" if spec == Path("gridcard.toml") else f" {shlex.quote(str(spec))}"
    state = "valid, but the points above are open" if begun.ahead else "valid"
    state = state if begun.validated else "not validated yet"
    click.echo(f"{state}. Next: edit {spec} (`gridc docs language` teaches it), then")
    for command in begun.install:
        click.echo(f"  {command}")
    for command, does in NEXT.items():
        click.echo(f"  {f'gridc {command}{where}':<34}  {does}")


def _answer(ask: bool, question: str, default: str) -> str:
    if not ask:
        return default
    return str(asked(question, default=default))


def _answers(ask: bool, question: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Several, with spaces or commas between them."""
    return tuple(_answer(ask, question, " ".join(default)).replace(",", " ").split()) or default
