"""`gridc tasks`."""

from dataclasses import asdict

import click

from gridc import study
from gridc.cli import terminal
from gridc.cli.options import JSON, TASK_NAME, print_json
from gridc.numbers import counted
from gridc.study.task_search import FoundTasks, TaskEntry

HEADER = ("name", "what it is", "output type", "metrics", "file")


@click.command()
@click.argument("words", type=TASK_NAME, nargs=-1, metavar="[SEARCH]...")
@JSON
def tasks(words: tuple[str, ...], as_json: bool) -> None:
    """List the tasks, groups and tags of lm-evaluation-harness that have SEARCH in their name.

    Several words must all be in it; a word with * or ? is a pattern for the whole name. Without SEARCH it
    says how many there are. The files of the installed package are read as text, and nothing of it is run.
    """
    report = study.tasks(words)
    if as_json:
        print_json(asdict(report))
        return
    if words:
        rows = [tuple(map(terminal.visible, _row(entry))) for entry in report.found]
        for line in terminal.folded([HEADER, *rows], names=1, numbers=False):
            click.echo(line)
    click.echo(_summary(report, bool(words)))
    for file in report.unread:
        terminal.note(f"not read: {terminal.visible(file)}")


def _row(entry: TaskEntry) -> tuple[str, ...]:
    what = {"task": "task", "group": "group of", "tag": "tag of"}[entry.sort]
    what = what if entry.sort == "task" else f"{what} {len(entry.members):,}"
    return entry.name, what, entry.output_type or "", ", ".join(entry.metrics), entry.file or ""


def _summary(report: FoundTasks, searched: bool) -> str:
    """How many names there are, and what to do with one."""
    total = sum(report.names.values())
    if searched:
        first = terminal.visible(report.found[0].name)
        found = f"{len(report.found):,} of {counted(total, 'name')}"
        return f"{found}; `gridc init --task lm-eval:{first}` begins a study of one"
    groups, tags, tasks = (counted(report.names[sort], sort) for sort in ("group", "tag", "task"))
    there_are = f"{counted(total, 'name')}: {groups}, {tags} and {tasks}"
    return f"{there_are}. `gridc tasks WORD` lists those with WORD in them"
