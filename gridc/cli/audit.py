"""`gridc audit sample`, `gridc audit read` and `gridc audit grim`."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridc import study as studies
from gridc.cli import terminal
from gridc.cli.options import JSON, print_json, study_command
from gridc.cli.terminal import visible
from gridc.numbers import percent
from gridc.study import OpenStudy

if TYPE_CHECKING:
    from gridc.study.auditing import SampleDecision

LABELS = click.argument("labels", type=click.Path(path_type=Path, exists=True, dir_okay=False))


@click.group()
def audit() -> None:
    """Have people label responses without knowing their condition; check printed figures."""


@audit.command()
@study_command
@JSON
@click.option(
    "-n",
    "--responses",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="How many responses to draw at most: the same items of every model.",
)
@click.option(
    "--configuration",
    "configurations",
    multiple=True,
    metavar="NAME",
    help="Of this configuration, or of `all`; claims reach those that were audited.  [default: the anchor]",
)
@click.option("--decide", is_flag=True, help="Draw nothing: say how many labels each claim needs.")
def sample(
    study: OpenStudy, as_json: bool, responses: int, configurations: tuple[str, ...], decide: bool
) -> None:
    """Draw a blinded sheet of responses: a CSV, and a page to fill in.

    With --decide: how many labels a corrected gap needs, of each two models, by what is known or assumed of
    how often the study reads answers wrongly."""
    if decide:
        decision = study.audit_decide(configurations)
        if as_json:
            print_json(decision.as_json())
        else:
            _print_decision(decision, configurations)
        return
    drawn = study.audit_sample(responses, configurations)
    if as_json:
        print_json(drawn.as_json())
        return
    click.echo(f"{drawn.sheet}: {drawn.responses:,} responses, map sealed as {drawn.seal[:12]}")
    for path in (drawn.csv, drawn.page):
        click.echo(terminal.bullet(str(path)))
    click.echo("hand out either file; `gridc audit read FILE` takes the labels back")


def _print_decision(decision: "SampleDecision", configurations: tuple[str, ...]) -> None:
    """The labels that each gap needs, and what that assumes."""
    assumed = [f"{percent(share, 0)} wrong" for share in decision.wrong]
    columns = [*([] if decision.all_audited else assumed), *(["as audited"] if decision.any_audited else [])]
    where = ["configuration"] if len(decision.configurations) > 1 else []
    rows = []
    for pair in decision.pairs:
        needed = ["more" if labels is None else f"{labels:,}" for labels in pair.labels]
        cells = dict(zip(["as audited"] if pair.audited else assumed, needed, strict=True))
        named = [pair.benchmark, *([pair.configuration] if where else []), f"{pair.a} less {pair.b}"]
        numbers = [f"{100 * pair.gap:+.1f} pp", f"{pair.responses:,}"]
        rows.append([*named, *numbers, *(cells.get(name, "–") for name in columns)])
    click.echo("labels of each model that a gap needs, if so many answers are read wrongly")
    names = ["benchmark", *where, "models", "gap as read", "responses", *columns]
    terminal.print_table(names, rows, range(2 + len(where), len(names)))
    for line in _explained(decision, configurations):
        click.echo(visible(line))


def _explained(decision: "SampleDecision", configurations: tuple[str, ...]) -> Iterator[str]:
    yield (
        f"Each shows one gap with a chance of {decision.power:g}: its corrected 95 % limits for new items "
        "leave out 0. Where several claims are tested, Holm's correction asks for more."
    )
    if any(None in pair.labels for pair in decision.pairs):
        yield "more: not even labels of all responses are that likely to show it"
    if not decision.all_audited:
        yield "wrong: assumed, as often for each label and each model"
    if decision.any_audited:
        yield "as audited: if people label the other responses as they labelled those of the audit"
    if decision.responses is not None:
        chosen = "".join(f" --configuration {shlex.quote(name)}" for name in configurations)
        yield (
            "nothing was drawn; for the gap that needs most, at 10 % or as audited: "
            f"`gridc audit sample -n {decision.responses}{chosen}`"
        )
    else:
        yield "nothing was drawn, because no number of labels is likely to show a gap"


@audit.command()
@LABELS
@study_command
@JSON
@click.option(
    "--and",
    "others",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Another person's labels of the same responses.",
)
def read(labels: Path, study: OpenStudy, as_json: bool, others: tuple[Path, ...]) -> None:
    """Read the labels of a filled-in sheet, and say how far they agree with the study's own.

    LABELS may also hold labels that people gave outside of gridc: a CSV, or a .jsonl, with the columns item,
    model and label, and where they are needed annotator, benchmark, configuration and replicate."""
    if labels.suffix == ".toml":
        raise click.UsageError(
            f"{labels} is not a sheet of labels, which comes first: audit read LABELS SPEC"
        )
    taken = study.audit_read(labels, *others)
    if as_json:
        print_json(taken.as_json())
        return
    for sentence in taken.sentences:
        click.echo(terminal.bullet(sentence))
    click.echo("`gridc report` puts this into the reports")


@audit.command()
@click.argument("table", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@JSON
def grim(table: Path, as_json: bool) -> None:
    """Find printed figures that no whole counts can give (exit 1 if there are any).

    TABLE is a CSV with columns `printed` and `n`; docs/audit.md has the forms of figures."""
    checked = studies.check_figures(table)
    if as_json:
        print_json(checked.as_json())
    else:
        for sentence in checked.sentences:
            click.echo(terminal.bullet(sentence))
        click.echo(f"exit {int(checked.impossible)}   (0 nothing is impossible, 1 something is)")
    raise SystemExit(int(checked.impossible))
