"""`gridc run`."""

import click

from gridc.cli import terminal
from gridc.cli.options import ACKNOWLEDGE, ALLOW, JSON, print_json, resumable, study_command
from gridc.cli.terminal import score_table
from gridc.study import OpenStudy, RayCluster


@click.command()
@study_command
@JSON
@click.option(
    "--shard", metavar="K/N", help="Run only part K of N; `slurm` runs the part of this Slurm array task."
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Run local models in this process, or as replicas on a Ray cluster.",
)
@click.option("--address", metavar="HOST:PORT", help="The Ray cluster. Default: one is started here.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Replicas on Ray. Default: one per GPU, or one per node without GPUs.",
)
@click.option(
    "--reference",
    type=click.IntRange(0),
    metavar="N",
    help=(
        "Repeat N calls of each served or quantised model in fp32 on this machine, and say how the "
        "answers differ. Default: 8 for each served model whose `weights` are stated, on the CPU, if "
        "memory suffices; 0: none."
    ),
)
@click.option(
    "--serve",
    multiple=True,
    metavar="MODEL=COMMAND",
    help="Start a model's server with this command, and stop it when the run ends.",
)
@click.option(
    "--go-on",
    is_flag=True,
    help="Go on where most of the first 50 answers of a model or a judge cannot be read.",
)
@ACKNOWLEDGE
@ALLOW
def run(
    study: OpenStudy,
    as_json: bool,
    shard: str | None,
    engine: str,
    address: str | None,
    workers: int | None,
    reference: int | None,
    serve: tuple[str, ...],
    go_on: bool,
    acknowledge: tuple[str, ...],
    allow: tuple[str, ...],
) -> None:
    """Execute the plan into the store. Run it again to resume a run that was stopped."""
    if engine != "ray" and (address or workers):
        raise click.UsageError("--address and --workers need --engine ray")
    commands = dict(_command(text) for text in serve)
    ray = RayCluster(address, workers) if engine == "ray" else None
    with resumable(), terminal.progress() as watch:
        done = study.run(
            shard, watch, terminal.note, ray, acknowledge, allow, terminal.consent, reference, commands, go_on
        )
    if as_json:
        print_json(done.as_json())
        return
    finished = done.finished
    state = study.status()
    board = study.scoreboard() if state.progress.complete else None
    for sentence in board.cut_off if board else ():
        click.echo(sentence)
    click.echo(f"{finished.executed:,} calls executed, {finished.reused:,} were in the store: {done.store}")
    for line in terminal.spent(finished.spent, done.models):
        click.echo(line)
    if finished.executed or finished.reused:
        click.echo(f"results {done.results}")
    if board:
        click.echo()
        for line in score_table(board):
            click.echo(line)
        click.echo("`gridc report` says what these scores can and cannot show")
    left = terminal.left(state) if shard else None
    if left:
        click.echo(f"{left}; `gridc merge` joins the stores of all parts, then `gridc run` asks what is left")


def _command(text: str) -> tuple[str, str]:
    model, equals, command = text.partition("=")
    if not equals or not command.strip():
        raise click.UsageError(
            "--serve MODEL=COMMAND, such as --serve 'served=vllm serve ./qwen --port 8000'"
        )
    return model, command
