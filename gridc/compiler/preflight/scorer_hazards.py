"""Functions that score, tried before any call: on answers that the function itself says are perfect or worst,
and on responses of which the spec says what they give."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gridc.compiler.grid.cell import Cell
from gridc.compiler.inputs.scorers import functions_scoring
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.points import points
from gridc.compiler.instrument.score import Outcome
from gridc.compiler.instrument.scorers import SINGLE, Replies, reading
from gridc.compiler.lowering.plan import Plan
from gridc.schema.effects import Scorer
from gridc.schema.scores import UNIT


class ScorerProblem(NamedTuple):
    """What a trial of a function shows, by the code of the hazard, with the way out."""

    code: str
    problem: str
    help: str


def try_scorer(plan: Plan, cell: Cell) -> Iterator[ScorerProblem]:
    """Every trial of a function on the items of a cell. Raises `UnavailableError` (GC668) where it fails, and
    `UsageError` (GC643) where it may not run here."""
    trial = _ScorerTrial(plan, cell)
    with functions_scoring():
        yield from trial.responders()
        yield from trial.blank()
        yield from trial.examples()


class _ScorerTrial:
    """A function, and a cell whose items it is tried on."""

    def __init__(self, plan: Plan, cell: Cell) -> None:
        assert cell.setting.scorer is not None, "GC302 comes first"
        self._plan, self._cell, self._scorer = plan, cell, cell.setting.scorer
        self._items = plan.items(cell)

    def responders(self) -> Iterator[ScorerProblem]:
        """Answers that have to earn everything, or nothing, as the function itself says."""
        scorers, name = self._plan.study.scorers, self._scorer.function
        asked = {item.id: scorers.responders(self._scorer, item) for item in self._items}
        given = {item: texts for item, texts in asked.items() if texts is not None}
        if not given and not self._scorer.examples:
            problem = f"nothing says what `{name}` gives for a response that is known to be right or wrong"
            help = (
                f"def {name.rpartition(':')[2]}_responders(item) beside it gives "
                '{"perfect": TEXT, "worst": TEXT}; or state `scorer.examples`'
            )
            yield ScorerProblem("GC538", problem, help)
        for role, code in (("perfect", "GC511"), ("worst", "GC517")):
            texts = {item: text for item, by_role in given.items() if (text := by_role.get(role)) is not None}
            yield from self._role(texts, role, code)

    def _role(self, texts: Mapping[str, Replies], role: str, code: str) -> Iterator[ScorerProblem]:
        wrong = []
        for item in (item for item in self._items if item.id in texts):
            wanted = self._bounds(item)[role == "perfect"]
            outcome = self._outcome(item, texts[item.id])
            if outcome.score != wanted:
                wrong.append((item, outcome.score, wanted))
        if wrong:
            item, earned, wanted = wrong[0]
            text, scale = texts[item.id][-1], self._cell.setting.scale
            shown = text if len(text) < SHOWN else f"{text[: SHOWN - 3]}..."
            problem = (
                f"what its responders call a {role} answer does not earn {wanted / scale:g} on "
                f"{len(wrong):,} of {len(texts):,} items (first item {item.id}: {shown!r} earns "
                f"{earned / scale:g})"
            )
            most = "perfect earns the most, worst the least, also of a cost"
            help = f"correct the function, or what its responders say: {most}"
            yield ScorerProblem(code, problem, help)

    def blank(self) -> Iterator[ScorerProblem]:
        """An empty response that earns as much as any."""
        outcomes = {item.id: (self._outcome(item, ("",)), self._bounds(item)) for item in self._items}
        full = [
            item
            for item, (outcome, (least, most)) in outcomes.items()
            if outcome.choice is not None and outcome.score == most > least
        ]
        if full:
            problem = (
                f"an empty response earns as much as any on {len(full):,} of {len(outcomes):,} items "
                f"(first item {full[0]})"
            )
            help = f"`{self._scorer.function}` returns None, or 0, where the response has no word"
            yield ScorerProblem("GC513", problem, help)

    def examples(self) -> Iterator[ScorerProblem]:
        """Stated responses that have to give what is stated of them; also on items that are not sampled."""
        every = {item.id: item for item in self._plan.study.items[self._cell.benchmark].source.every}
        here = every | {item.id: item for item in self._items}
        for example in self._scorer.examples or ():
            if example.item not in here:
                known = ", ".join([item.id for item in self._items][:4])
                problem = f"the example of item `{example.item}` is of none of `{self._cell.benchmark}`"
                yield ScorerProblem("GC539", problem, f"name an item that is there, such as {known}")
                continue
            item = here[example.item]
            raw = self._plan.study.scorers(self._scorer, item, example.response)
            given = reading(self._scorer, self._cell.setting.scores, item.id, raw)
            stated = _stated(self._scorer, example.gives)
            if not _alike(given, stated):
                problem = (
                    f"of item {item.id}, {example.response[:SHOWN]!r} gives {_words(given)}, and the example "
                    f"says {_words(stated)}"
                )
                yield ScorerProblem("GC539", problem, "correct the function, or the example")

    def _bounds(self, item: Item) -> tuple[int, int]:
        """The least and the most that an answer to an item earns."""
        setting = self._cell.setting
        if setting.scores is None:
            return 0, setting.scale
        names = setting.scores.labels
        earned = [points(setting.scores, item, choice, names) for choice in range(len(names))]
        return min(earned), max(earned)

    def _outcome(self, item: Item, replies: Replies) -> Outcome:
        """What these replies come to; a plain call has the last of them."""
        whole = (*replies, replies[-1]) if self._cell.setting.scaffolding is not None else replies[-1:]
        return self._plan.score(self._cell, item, [{"text": text} for text in whole])


SHOWN = 40
"""How many letters of a response a message shows."""


def _stated(scorer: Scorer, gives: Any) -> Any:
    """What an example says, as `reading` has what a function gives."""
    if isinstance(gives, int | float):
        gives = {scorer.score or SINGLE: gives}
    return (
        {name: round(value * UNIT) for name, value in gives.items()} if isinstance(gives, Mapping) else gives
    )


def _alike(given: Any, stated: Any) -> bool:
    if not isinstance(given, Mapping) or not isinstance(stated, Mapping):
        return bool(given == stated)
    return all(given.get(name) == value for name, value in stated.items())


def _words(given: Any) -> str:
    if given is None:
        return "no answer"
    if isinstance(given, Mapping):
        return ", ".join(f"{name} = {value / UNIT:g}" for name, value in given.items())
    return repr(given)
