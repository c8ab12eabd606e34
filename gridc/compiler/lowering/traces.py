"""From a scaffold's turns to calls: what a sample asks, as far as the answers that are there carry it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from gridc.compiler.frontend.plugins import GROUPS, Plugin
from gridc.compiler.instrument.scaffolds import PROCEDURES, Procedure, StepReply
from gridc.compiler.instrument.scaffolds.follow import ScaffoldError
from gridc.compiler.instrument.scaffolds.turns import Steps, Task, Turn
from gridc.compiler.instrument.score import before_stop
from gridc.compiler.lowering.calls import AnswerLookup, Extent, Request, Size, Trace
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.schema.base import PLUGIN
from gridc.schema.scaffold import Scaffold

USUAL = 4.0
"""Characters per token of English text, where no tokenizer is here to ask."""


@dataclass(frozen=True, slots=True)
class OnItem:
    """A scaffold on one item: the procedure, what it is given, how a turn is asked, and the strings that end
    a reply."""

    procedure: Procedure
    scaffold: Scaffold
    task: Task
    request: Callable[[Turn], Request]
    stops: tuple[str, ...] = ()

    @property
    def converses(self) -> bool:
        return self.procedure.converses

    def trace(self, answers: AnswerLookup, waves: int | None = None) -> Trace:
        """Run the procedure on the answers that are there, no further than so many waves of calls. An answer
        without a text, of a call that failed for good, ends it and is the sample's own."""
        calls: list[tuple[str | None, Request]] = []
        steps = self.procedure.run(self.scaffold, self.task)
        turns = next(steps)
        for wave in count(1):
            requests = [(turn.step, self.request(turn)) for turn in turns]
            contents = [answers(request.id) for _, request in requests]
            calls += requests
            given = [content for content in contents if content is not None]
            if len(given) < len(requests):
                return Trace(tuple(calls), wave, None)
            failed = [at for at, content in enumerate(given) if "text" not in content]
            if failed:
                return Trace(tuple(calls), wave, len(calls) - len(requests) + failed[0])
            texts = tuple(before_stop(content["text"], self.stops) for content in given)
            try:
                turns = steps.send(texts)
            except StopIteration as end:
                decides = max(at for at, (step, _) in enumerate(calls) if step == end.value)
                return Trace(tuple(calls), wave, decides)
            if wave == waves:
                return Trace(tuple(calls), wave, None)
        raise AssertionError("count() does not end")

    def extent(self) -> Extent:
        """How much it asks after its first calls: by made-up replies that lead to the fewest and to the most
        calls. A reply is at most as long as its limit, and commonly half of that."""
        kind = self.procedure
        least, most = self._size(kind.shortest, 0), self._size(kind.longest, 1)
        middle = self._size(kind.longest, 0.5)

        def between(low: float, high: float) -> float:
            return low + kind.usual * (high - low)

        expected = Size(
            between(least.calls, middle.calls),
            between(least.prompt_characters, middle.prompt_characters),
            between(least.generated_tokens, middle.generated_tokens),
        )
        return Extent(least, expected, most)

    def steps(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The steps of its calls where it asks least, and where it asks most, by the same made-up replies."""
        kind = self.procedure
        return self._steps(kind.shortest, 0), self._steps(kind.longest, 1)

    def _steps(self, reply: StepReply, filled: float) -> tuple[str, ...]:
        steps = self.procedure.run(self.scaffold, self.task)
        turns, named = next(steps), []
        while True:
            named += [turn.step for turn in turns]
            characters = round(filled * self._limit(turns[0]) * USUAL)
            try:
                turns = steps.send(tuple(reply(turn.step, characters) for turn in turns))
            except StopIteration:
                return tuple(named)

    def _size(self, reply: StepReply, filled: float) -> Size:
        """What is asked after the first wave, when replies fill that share of their limit."""
        steps = self.procedure.run(self.scaffold, self.task)
        turns, size, first = next(steps), Size(), True
        while True:
            if not first:
                size += self._asked(turns, filled)
            characters = round(filled * self._limit(turns[0]) * USUAL)
            try:
                turns, first = steps.send(tuple(reply(turn.step, characters) for turn in turns)), False
            except StopIteration:
                return size

    def _asked(self, turns: Sequence[Turn], filled: float) -> Size:
        characters = sum(len(text) for turn in turns for _, text in turn.messages)
        generated = sum(max(1, filled * self._limit(turn)) for turn in turns)
        return Size(len(turns), characters, generated)

    def _limit(self, turn: Turn) -> int:
        limit: int = self.request(turn).parameters["max_tokens"]
        return limit


def procedure_of(scaffold: Scaffold, plugins: Mapping[str, Plugin]) -> Procedure:
    """The procedure of a scaffold's kind. One of a plug-in that fails raises `UnavailableError` (GC342)."""
    if not scaffold.kind.startswith(PLUGIN):
        return PROCEDURES[scaffold.kind]
    plugin = plugins[f"{GROUPS['scaffold']}:{scaffold.kind.removeprefix(PLUGIN)}"]
    run = plugin.load()

    def guarded(scaffold: Scaffold, task: Task) -> Steps:
        try:
            decides: str = yield from run(scaffold, task)
            return decides
        except ScaffoldError as error:
            about = f"the scaffold `{scaffold.kind}` of {plugin.distribution} {plugin.version}"
            diagnostic = Diagnostic(error.code, f"{about} cannot be used: {error.problem}", help=error.help)
            raise UnavailableError([diagnostic]) from None
        except Exception as error:  # a plug-in can fail as any program can
            failed = plugin.failed(error)
            raise UnavailableError([Diagnostic(failed.code, failed.problem, help=failed.help)]) from None

    return Procedure(guarded)
