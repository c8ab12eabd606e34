"""An engine of a plug-in that is a function: it answers one call after another with a text."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gridc.compiler.inputs.models import ModelIdentity
from gridc.runtime.engines import Opener
from gridc.runtime.engines.protocol import Admit, Answer, AnsweredBatch, Batch, Call, PendingBatch, Spending
from gridc.schema.spec import EngineSettings

Says = Callable[[ModelIdentity, Call], str]
"""What a model answers to a call."""


def one_by_one(says: Says) -> Opener:
    """What opens a model for which a function answers. It generates text and ranks nothing."""

    def opened(
        name: str, identity: ModelIdentity, precision: str, settings: EngineSettings, waived: frozenset[str]
    ) -> OneByOneEngine:
        return OneByOneEngine(says, identity)

    return opened


class OneByOneEngine:
    """Answers each call by a function, alone."""

    replicable = False

    def __init__(self, says: Says, identity: ModelIdentity) -> None:
        self._says, self._identity = says, identity

    def effective(self) -> dict[str, Any]:
        return {"files": self._identity.digest}

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        ranked = next((call for call in calls if call.ranks), None)
        if ranked is not None:
            raise ValueError("it answers in text and ranks no candidates")
        return [Batch((call.id,), 1, call) for call in calls]

    def answers(self, tasks: Sequence[PendingBatch], admit: Admit) -> Iterator[AnsweredBatch]:
        for task in tasks:
            if not admit(task):
                return
            call: Call = task.batch.work
            start = time.monotonic()
            text = self._says(self._identity, call)
            seconds = time.monotonic() - start
            sent = {"messages": [list(message) for message in call.prompt.messages]}
            answer = Answer(call.id, {"text": text, "finish": "stop"}, sent, {}, seconds)
            yield AnsweredBatch(task, [answer], Spending(seconds, {"calls": 1}))

    def least(self, answered: Iterable[tuple[Call, dict[str, Any]]]) -> Mapping[str, float]:
        return {"calls": sum(1 for _ in answered)}

    def rest(self) -> None:
        """Nothing is loaded."""

    def close(self) -> None:
        """Nothing is loaded."""
