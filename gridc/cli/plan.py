"""`gridc plan`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, OUT, SPEC, Percentage, print_json
from gridc.study import OpenStudy


@click.command()
@SPEC
@FOLDERS
@OUT
@JSON
@click.option("--against", "earlier", metavar="STAMP", help="Compare with a stamp or lock file.")
@click.option("--decide", metavar="H1,H2", help="The cheapest design in which these hypotheses are decided.")
@click.option("--power", type=float, default=0.8, show_default=True, help="With which probability, if true.")
@click.option("--usd", type=float, help="A design may cost so many US dollars.")
@click.option("--tokens", type=float, help="A design may take so many tokens.")
@click.option("--hours", type=float, help="A design may take so many hours.")
@click.option(
    "--effect", "effects", multiple=True, metavar="[H1=]PP",
    help="Percentage points to find, of all hypotheses without a margin or of one.",
)  # fmt: skip
@click.option(
    "--changing", type=Percentage(), default="20", show_default=True,
    help="Assumed: the items in 100 whose answers differ between two levels.",
)  # fmt: skip
def plan(
    spec: Path,
    data: Path | None,
    models: Path | None,
    out: Path | None,
    as_json: bool,
    earlier: str | None,
    decide: str | None,
    power: float,
    usd: float | None,
    tokens: float | None,
    hours: float | None,
    effects: tuple[str, ...],
    changing: float,
) -> None:
    """Show the cells, envelopes and calls that a run would execute, and what they would cost.

    With --decide: the cheapest design of items, configurations and replicates in which hypotheses can be
    decided, such as `gridc plan --decide H1,H2 --effect 5 --usd 50`.
    """
    study = OpenStudy(spec, data, out, models=models)
    if decide is not None:
        if earlier is not None:
            raise click.UsageError("--decide plans a new design and has nothing to compare --against")
        names = [name.strip() for name in decide.split(",") if name.strip()]
        design = study.design(names, power, usd, tokens, hours, _points(effects), changing)
        if as_json:
            print_json(design.as_json())
        else:
            terminal.design(design)
        return
    if usd or tokens or hours or effects:
        raise click.UsageError("--usd, --tokens, --hours and --effect are of a design: say what to --decide")
    manifest = study.plan(earlier).as_json()
    if as_json:
        print_json(manifest)
    else:
        terminal.plan_table(manifest)


def _points(effects: tuple[str, ...]) -> float | dict[str, float] | None:
    """`5`, or `H1=5` and `H2=3`."""
    try:
        if len(effects) == 1 and "=" not in effects[0]:
            return float(effects[0])
        return {
            name.strip(): float(value) for name, _, value in (effect.partition("=") for effect in effects)
        }
    except ValueError:
        raise click.BadParameter(
            "percentage points, as 5, or as H1=5 for each hypothesis", param_hint="--effect"
        ) from None
