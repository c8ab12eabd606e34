"""What `gridc init` has to ask a person, and the ways to answer."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from gridc.diagnostics.errors import Diagnostic

COLUMN, COLUMNS, MODEL, BEHAVIOUR, MEANING = "COLUMN", "COLUMNS", "MODEL", "...", "TEXT"
"""What a person fills in where it stands in the options of a way: a column, several, the source of a model,
whether a word means refuse or comply, or what it means as an option."""


@dataclass(frozen=True, slots=True)
class AnswerWay:
    """A way to settle what a file leaves open: in words (`says`), and as `options` of `gridc init`, with what
    a person fills in. `columns` are those to choose from. The `likely` one is what a person is offered, and
    the `unasked` one what `--yes` takes: it cannot turn a study's scores round."""

    says: str
    options: str
    columns: tuple[str, ...] = ()
    likely: bool = False
    unasked: bool = False

    @property
    def to_fill(self) -> tuple[str, ...]:
        """What has to be filled in, by the option that has it: `--field gold=COLUMN`."""
        words = shlex.split(self.options)
        holes = (COLUMN, COLUMNS, MODEL, BEHAVIOUR, MEANING)
        return tuple(word for word in words if word.rpartition("=")[2] in holes)

    def filled(self, given: Mapping[str, str | None]) -> tuple[str, ...]:
        """The words of the options, with what was `given` for each that `to_fill` has. None for one leaves
        its rows out, and the option with it."""
        words: list[str] = []
        for word in shlex.split(self.options):
            about, equals, _ = word.rpartition("=")
            if word not in given:
                words.append(word)
            elif given[word] is None:
                words.pop()  # the option whose value this is
            else:
                words.append(f"{about}{equals}{given[word]}")
        return (*words, *(["--leave-out"] if None in given.values() else []))


@dataclass(frozen=True, slots=True)
class UnclearColumns:
    """What the columns leave open, and the options of `gridc init` that say it, also one by one (`ways`)."""

    problem: str
    help: str
    ways: tuple[AnswerWay, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenPoint(Diagnostic):
    """A finding that a person can settle in one of several `ways`; `about` is the benchmark as it was
    given, empty where it is about all of them. `samples` are what the first row has in each column."""

    ways: tuple[AnswerWay, ...] = ()
    about: str = ""
    samples: Mapping[str, str] = field(default_factory=dict)
