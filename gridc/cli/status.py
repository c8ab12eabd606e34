"""`gridc status`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, print_json, study_command
from gridc.cli.terminal import score_table, visible
from gridc.numbers import percent
from gridc.study import OpenStudy

if TYPE_CHECKING:
    from gridc.study.running import StatusReport


@click.command()
@study_command
@JSON
def status(study: OpenStudy, as_json: bool) -> None:
    """Say how far the run is: what is left, how fast it goes, what failed, what it took.

    Before the first run it says what there is to run.
    """
    state = study.status()
    if as_json:
        print_json(state.as_json())
        return
    progress = state.progress
    if not state.begun:
        for line in before_the_run(state):
            click.echo(line)
        return
    share = progress.answered / max(progress.total, 1)
    click.echo(f"{progress.answered:,} of {progress.total:,} calls answered ({percent(share)})")
    for line in pace(state):
        click.echo(line)
    for line in terminal.spent(state.spent, state.models):
        click.echo(line)
    if progress.complete:
        click.echo()
        for line in score_table(study.scoreboard()):
            click.echo(line)


def before_the_run(state: "StatusReport") -> Iterator[str]:
    """What there is before the first run, and the next command."""
    calls = state.progress.total
    yield f"nothing is run yet; {f'{calls:,} calls are planned' if calls else 'the items are not here'}"
    if state.stamped:
        yield f"stamped: {state.stamp}; `gridc run` asks"
    else:
        yield "not stamped; `gridc stamp` fixes it before there are data, and `gridc run` stamps it too"


def pace(state: "StatusReport") -> Iterator[str]:
    """What is left of each model's calls, how fast they go and what failed, then the expected time."""
    for model_pace in state.pace:
        model = f"{state.models.get(model_pace.model, model_pace.model[:12])} at {model_pace.precision}"
        parts = [f"{model_pace.answered:,} of {model_pace.calls:,} calls"]
        if model_pace.failed:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in model_pace.failed.items())
            parts.append(f"{sum(model_pace.failed.values()):,} failed for good ({kinds})")
        if model_pace.seconds:
            often = model_pace.seconds < 1
            speed = (
                f"{terminal.plainly(1 / model_pace.seconds, 3)} a second"
                if often
                else f"{model_pace.seconds:,.1f} s each"
            )
            parts.append(speed)
        if model_pace.left:
            left = "" if model_pace.seconds_left is None else f" in about {duration(model_pace.seconds_left)}"
            parts.append(f"{model_pace.left:,} left{left}")
        if model_pace.waiting:
            parts.append(f"{model_pace.waiting:,} in batches at the provider")
        yield visible(f"{model}: {', '.join(parts)}")
    if state.last is not None and not state.progress.complete:
        ago = (datetime.now(UTC) - state.last).total_seconds()
        yield f"the last answer was stored {duration(max(ago, 0))} ago"
    if state.progress.answered < state.progress.total:
        known = state.seconds_left
        expected = "an unknown time" if known is None else f"about {duration(known)}"
        yield f"left: {expected}, and what loading takes; `gridc run` resumes"
    if state.follows:
        yield f"{state.progress.unscored:,} samples have no outcome yet: `gridc run` goes on with them"


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 20 min`, `2 days 4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 36:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h"
