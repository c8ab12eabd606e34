"""Runs to compare that are invented answer by answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from gridc.compiler.inputs.questions import NOTHING, QuestionDigests
from gridc.outcomes import STATES, AnswerTable
from gridc.reports.comparison.pairing import RunItems
from gridc.reports.comparison.run import RunBenchmark
from gridc.schema.comparison import AnswerState, Aspect
from gridc.statistics.envelope import Direction


@dataclass(frozen=True)
class InventedAnswer:
    """A replicate: its score, None where it has none, how it ended, and the digest of its prompt."""

    score: float | None
    state: AnswerState
    prompt: str | None = None


@dataclass(frozen=True)
class InventedItem:
    id: str
    unit: str
    answers: Mapping[str, tuple[InventedAnswer, ...]]
    question: QuestionDigests = NOTHING


@dataclass(frozen=True)
class InventedRun:
    """One model on one benchmark, its items by content."""

    direction: Direction
    unit: str
    items: Mapping[str, InventedItem]
    settings: Mapping[str, Mapping[tuple[Aspect, str], object]] = field(default_factory=dict)
    prompt_texts: Callable[[], Mapping[str, str]] | None = None
    planned: bool = False
    unlisted: float | None = None
    total: int | None = None
    anchor: str | None = None

    def table(self) -> RunBenchmark:
        """As the sources of runs give it."""
        own = list(self.items.values())
        ids = tuple(item.id for item in own)
        cells = {}
        for name in dict.fromkeys(name for item in own for name in item.answers):
            rows = [(place, one) for place, item in enumerate(own) for one in item.answers.get(name, ())]
            cells[name] = AnswerTable(
                np.array([place for place, _ in rows], np.int64),
                np.array([np.nan if one.score is None else one.score for _, one in rows], np.float64),
                np.array([STATES.index(one.state) for _, one in rows], np.int64),
                [one.prompt for _, one in rows],
            )
        units, questions = tuple(item.unit for item in own), tuple(item.question for item in own)
        return RunBenchmark(
            self.direction, self.unit, RunItems(tuple(self.items), ids, units, questions), cells,
            self.settings, self.prompt_texts, self.planned, self.unlisted, self.total, self.anchor,
        )  # fmt: skip
