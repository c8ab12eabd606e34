"""Asks what a file leaves open, and shows its rows as they were read: the conversation of `gridc init`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from gridc.cli import terminal
from gridc.diagnostics.errors import Diagnostic, GridcError, UsageError
from gridc.study.beginning import (
    BEHAVIOUR,
    COLUMN,
    COLUMNS,
    MEANING,
    AnswerWay,
    Beginning,
    DraftReport,
    FileStatements,
    OpenPoint,
)

MOST_ROUNDS = 12
"""Answers after which nothing more is asked."""
WRONG = {
    "what is asked": "--field query=COLUMN",
    "the passage before it": "--field context=COLUMN",
    "the conversation before it": "--field messages=COLUMN",
    "the system prompt": "--field system=COLUMN",
    "the options": "--field options=COLUMNS",
    "the right option": "--field gold=COLUMN",
    "the right answer in free text": "--field references=COLUMN",
}
"""What may be read wrongly, and the option that says it."""
IN_THE_SPEC = "something else: write the spec, and correct it there"
BEHAVIOURS = {"refused": "refuse", "answered": "comply", "either": None}
"""What is to become of a prompt, in a person's words and in the language's. Rows whose prompt may be refused
or answered are left out: no response to them is wrong."""


class YesNo(click.Choice[str]):
    """`yes` or `no`, or their first letters."""

    def __init__(self) -> None:
        super().__init__(("yes", "no"))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(super().convert({"y": "yes", "n": "no"}.get(value, value), param, ctx))


@dataclass
class Conversation:
    """What a first spec is made of, which answers change. `asks`: a person answers; otherwise what the file
    makes likely is `taken`, or the first open point ends it."""

    beginning: Beginning
    title: str
    models: Sequence[str]
    benchmarks: Sequence[str]
    statements: FileStatements
    tasks: Sequence[str]
    asks: bool
    taken: bool
    say: Callable[[str], None]

    def write(self) -> DraftReport:
        """The spec, once nothing is open. Raises what cannot be settled."""
        for _ in range(MOST_ROUNDS):
            try:
                report = self.beginning.write(
                    self.title, self.models, self.benchmarks, self.statements, self.tasks, self._accepted
                )
            except GridcError as error:
                self._settle(error)
                continue
            if report is not None:
                return report
        help = "`gridc docs benchmarks` says what each field may be, for a spec by hand"
        raise UsageError([Diagnostic("GC000", "the file is not read as it should be", help=help)])

    def _settle(self, error: GridcError) -> None:
        points = [point for point in error.diagnostics if isinstance(point, OpenPoint) and point.ways]
        unasked = [way for point in points for way in point.ways if way.unasked and self.taken]
        settled = self.asks or len(unasked) == len(points)
        if len(points) < len(error.diagnostics) or not settled:
            raise error
        told: list[tuple[AnswerWay, ...]] = []
        for number, point in enumerate(points):
            if self.asks and len(point.ways) == 1 and point.ways in told:
                self.say(terminal.visible(point.message))  # the same answer settles it
            elif self.asks:
                told.append(point.ways)
                self._add(self._words(self._chosen(point), point.samples), point.about)
            else:
                way = unasked[number]
                self.say(f"{point.message}: {way.says} ({way.options})")
                self._add(way.filled({}), point.about)

    def _chosen(self, point: OpenPoint) -> AnswerWay:
        self.say(f"\n{terminal.visible(point.message)}")
        if len(point.ways) == 1 and point.ways[0].to_fill:
            return point.ways[0]
        for number, way in enumerate(point.ways, 1):
            self.say(f"  {number}  {terminal.visible(way.says)}")
        likely = next((number for number, way in enumerate(point.ways, 1) if way.likely), None)
        place: int = asked("Which", type=click.IntRange(1, len(point.ways)), default=likely)
        return point.ways[place - 1]

    def _words(self, way: AnswerWay, samples: Mapping[str, str]) -> tuple[str, ...]:
        """The options of a way, with what a person fills in."""
        return way.filled({hole: self._filled(hole, way, samples) for hole in way.to_fill})

    def _filled(self, hole: str, way: AnswerWay, samples: Mapping[str, str]) -> str | None:
        """What a person fills in: `--field gold=COLUMN` asks for a column. None for a word whose rows are
        to be left out."""
        about, _, kind = hole.rpartition("=")
        if kind == BEHAVIOUR:
            meant = asked(f"A prompt that is `{about}` is to be", type=click.Choice(list(BEHAVIOURS)))
            return BEHAVIOURS[str(meant)]
        if kind == MEANING:
            meant = str(asked(f"`{about}` stands for the option (- leaves its rows out)", default=about))
            return None if meant == "-" else meant
        if kind not in (COLUMN, COLUMNS):
            return str(asked("Source of the model (builtin:, path:, hf: or a litellm name)"))
        for number, name in enumerate(way.columns, 1):
            sample = f": {terminal.visible(samples[name])}" if samples.get(name) else ""
            self.say(f"    {number:>2}  {terminal.visible(name)}{sample}")
        several = kind == COLUMNS
        says = "Columns of the options, with commas between them" if several else f"Column of `{about}`"
        while True:
            answer = str(asked(says))
            parts = [part.strip() for part in answer.split(",")] if several else [answer.strip()]
            names = [_column(part, way.columns) for part in parts]
            known = [name for name in names if name is not None]
            if len(known) == len(parts):
                return ",".join(known)
            self.say(f"`{parts[names.index(None)]}` is none of these columns.")

    def _add(self, words: Sequence[str], about: str) -> None:
        if words[0] == "--benchmark":
            self.benchmarks = [words[1] if given == about else given for given in self.benchmarks]
        else:
            self.statements = self.statements.saying(words, about if len(self.benchmarks) > 1 else "")

    def _accepted(self, report: DraftReport) -> bool:
        """Show the first rows as they were read, and ask whether that is right."""
        for line in row_lines(report):
            self.say(line)
        if not self.asks or not report.columns:
            return True
        if asked("Is this how it should be read?", type=YesNo(), default="yes") == "yes":
            return True
        self.say("What is wrong?")
        for number, what in enumerate((*WRONG, IN_THE_SPEC), 1):
            self.say(f"  {number}  {what}")
        place: int = asked("Which", type=click.IntRange(1, len(WRONG) + 1))
        if place > len(WRONG):
            self.say("It is written as shown. `gridc docs benchmarks` says what each field may be.")
            return True
        names = list(report.columns)
        about = names[0] if len(names) == 1 else str(asked("Of which benchmark", type=click.Choice(names)))
        samples = report.columns[about]
        way = AnswerWay("", list(WRONG.values())[place - 1], tuple(samples))
        self._add(self._words(way, samples), about)
        return False


def _column(answer: str, columns: Sequence[str]) -> str | None:
    """The column of this number or name, which may lead on with dots; None where there is none."""
    if answer in columns:
        return answer
    if answer.isdecimal():
        return columns[int(answer) - 1] if 1 <= int(answer) <= len(columns) else None
    return answer if any(answer.startswith(f"{name}.") for name in columns) else None


def row_lines(report: DraftReport) -> list[str]:
    """The first rows of each benchmark: the prompt, and what earns the point."""
    lines: list[str] = []
    for row in report.rows:
        lines += ["", f"{row.benchmark}, {row.item}"]
        lines += [f"  | {terminal.visible(line)}" for line in row.prompt.splitlines()[:MOST_LINES]]
        if row.prompt.count("\n") >= MOST_LINES:
            lines.append("  | ...")
        lines.append(f"  right: {terminal.visible(row.right)}")
    return [*lines, ""] if lines else []


MOST_LINES = 16
"""Lines of a prompt that are shown."""


def asked(question: str, **how: Any) -> Any:
    """What a person answers. Raises `UsageError` where nobody does."""
    try:
        return click.prompt(question, **how)
    except click.Abort:
        message = "the questions were not answered"
        raise UsageError([Diagnostic("GC000", message, help="--yes takes the defaults")]) from None
