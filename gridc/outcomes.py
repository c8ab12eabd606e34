"""The outcomes of a benchmark's items under one model and configuration, from a run, another package's logs
or a kept file alike.

A store, logs of any package and bundles are read into this shape, and nobody behind it asks which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from math import isnan
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from gridc.schema.comparison import AnswerState
from gridc.statistics.arrays import Flags, Floats, Whole

STATES: tuple[AnswerState, ...] = get_args(AnswerState)
"""How an answer ends, in the order of the columns of `CellOutcomes.states`."""
READ = STATES.index("read")


@dataclass(frozen=True, slots=True, eq=False)
class CellOutcomes:
    """The outcomes of one cell by item, of shape (items,).

    Counts are over an item's replicates: all, those with an outcome, and of these those with a readable
    answer and the sum of their scores. `first` is the score of replicate 0. Scores are in units of 1 /
    `scale`: of a study whole numbers, -1 where replicate 0 has none, and the scale is the setting's; of logs
    fractions as they have them, NaN where there is none. `items` is sorted in a study.

    `states` (items, states) counts how the answers ended, `prompts` has the digest of each item's first
    prompt, None where it is not known, and `answers` a hash of all that is known of an item's answers in
    their order, within this process; all three are None where nobody asked.
    `credited` counts, in a study of logs, the outcomes that have no score there and earn what an unreadable
    answer does; None where all have one. `unread` counts, where a study reads answers from text, the outcomes
    in which none could be found to its end, unreadable or cut off; None where there is no such outcome.
    """

    items: tuple[str, ...]
    trials: Whole
    scored: Whole
    parsed: Whole
    correct: NDArray[Any]
    first: NDArray[Any]
    scale: int = 1
    states: Whole | None = None
    prompts: NDArray[np.object_] | None = None
    answers: Whole | None = None
    credited: Whole | None = None
    unread: Whole | None = None

    def of_items(self, some: Flags) -> "CellOutcomes":
        """The outcomes of some of the items, flags of shape (items,)."""
        return replace(
            self,
            items=tuple(compress(self.items, some.tolist())),
            trials=self.trials[some],
            scored=self.scored[some],
            parsed=self.parsed[some],
            correct=self.correct[some],
            first=self.first[some],
            credited=None if self.credited is None else self.credited[some],
            unread=None if self.unread is None else self.unread[some],
        )

    def at(self, places: Whole, unlisted: float | None = None) -> "CellOutcomes":
        """The outcomes of the items at these places, (n,). A place of -1 is an item that is not here: it was
        not asked, or where the package lists some items only it earned `unlisted`."""
        here = places >= 0
        listed = int(unlisted is not None)

        def taken(column: NDArray[Any], other: float) -> NDArray[Any]:
            """`other` where an item is not here."""
            full = np.full((len(places), *column.shape[1:]), other, column.dtype)
            full[here] = column[places[here]]
            return full

        alone = 0 if unlisted is None else hash(((unlisted, READ, None),))
        states = None if self.states is None else taken(self.states, 0)
        if states is not None:
            states[~here, READ] = listed
        return replace(
            self,
            items=tuple(self.items[place] if place >= 0 else "" for place in places.tolist()),
            trials=taken(self.trials, listed),
            scored=taken(self.scored, listed),
            parsed=taken(self.parsed, listed),
            correct=taken(self.correct, unlisted or 0.0),
            first=taken(self.first, np.nan if unlisted is None else unlisted),
            states=states,
            prompts=None if self.prompts is None else _without(self.prompts, places),
            answers=None if self.answers is None else taken(self.answers, alone),
        )

    def ends(self, worst: float = 0.0, best: float = 1.0) -> tuple[Floats, Floats]:
        """The mean score of every item, (items,), what is missing being the worst and the best there is; so
        is an item that was not asked."""
        known, missing = self.correct / self.scale, self.trials - self.scored
        least, most = (
            np.divide(
                known + missing * end,
                self.trials,
                out=np.full(len(known), end, np.float64),
                where=self.trials > 0,
            )
            for end in (worst, best)
        )
        return least, most

    def repeated(self, times: int) -> "CellOutcomes":
        """The same where every item that was asked was asked so often; what is there less often lacks
        answers."""
        asked = np.where(self.trials > 0, np.maximum(self.trials, times), self.trials)
        return replace(self, trials=asked)

    @property
    def lost(self) -> int:
        """How many repetitions are missing of items that have others. Raises `ValueError` without states."""
        if self.states is None:
            raise ValueError("nobody asked how the answers ended")
        return int((self.trials - self.states.sum(axis=1)).sum())

    @property
    def all_read(self) -> Flags:
        """Which items were asked, and all their answers read, (items,)."""
        read: Flags = (self.trials > 0) & (self.parsed == self.trials)
        return read

    def equals(self, other: "CellOutcomes") -> bool:
        """Whether both have the same answers to the same questions one by one, as far as it is known."""
        if self.answers is None or other.answers is None:
            return False
        return np.array_equal(self.answers, other.answers)


@dataclass(frozen=True, slots=True, eq=False)
class AnswerTable:
    """Answers one by one, (N,) each, the replicates of an item in their order: the place of the item, the
    score (NaN: none), the place of the state in `STATES`, and the digest of the prompt, None where it is not
    known; `prompts` is None where nobody asked."""

    item: Whole
    score: Floats
    state: Whole
    prompts: Sequence[str | None] | None = None

    def with_prompts(self, digests: Mapping[str, str]) -> "AnswerTable":
        """With other digests of the prompts, by those that they have; None for one that is not among them."""
        shown = None if self.prompts is None else [digests.get(prompt or "") for prompt in self.prompts]
        return replace(self, prompts=shown)

    def outcomes(self, items: tuple[str, ...]) -> CellOutcomes:
        """What they came to by item, of `items`."""
        item, score, state, prompts = self.item, self.score, self.state, self.prompts
        count, scored = len(items), ~np.isnan(score)
        width = len(STATES)
        states = np.bincount(item * width + state, minlength=count * width).reshape(count, width)
        asked, begins = np.unique(item, return_index=True)
        first = np.full(count, np.nan)
        first[asked] = score[begins]
        shown = np.full(count, None, np.object_)
        if prompts is not None:
            shown[asked] = [prompts[row] for row in begins.tolist()]
        answers = np.zeros(count, np.int64)
        given: dict[int, list[tuple[float | None, int, str | None]]] = {}
        if prompts is not None:
            for place, earned, ended, prompt in zip(
                item.tolist(), score.tolist(), state.tolist(), prompts, strict=True
            ):
                given.setdefault(place, []).append((None if isnan(earned) else earned, ended, prompt))
        answers[list(given)] = [hash(tuple(replicates)) for replicates in given.values()]
        return CellOutcomes(
            items,
            trials=np.bincount(item, minlength=count),
            scored=np.bincount(item[scored], minlength=count),
            parsed=states[:, READ].copy(),  # a view would keep all of them
            correct=np.bincount(item[scored], score[scored], count),
            first=first,
            states=states,
            prompts=shown,
            answers=None if prompts is None else answers,
        )


def _without(prompts: NDArray[np.object_], places: Whole) -> NDArray[np.object_]:
    """Those at these places, None where it is -1."""
    shown = np.full(len(places), None, np.object_)
    shown[places >= 0] = prompts[places[places >= 0]]
    return shown
