"""Scaffolds: procedures of calls that answer an item. Pure: no model, no store, no clock.

To add one, write its generator in `procedures.py`, a row in `PROCEDURES` and in `schema.scaffold.TAKES`, and
its version in `VERSIONS`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gridc.compiler.instrument.scaffolds import procedures
from gridc.compiler.instrument.scaffolds.turns import Steps, Task
from gridc.schema.base import PLUGIN
from gridc.schema.scaffold import Scaffold

Run = Callable[[Scaffold, Task], Steps]
StepReply = Callable[[str, int], str]
"""A made-up reply to a step, of about so many characters."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A kind of scaffold: its generator, which has its wording in gridc/builtin/scaffolds.

    `shortest` and `longest` are replies that lead to the fewest and the most calls, by step; `usual` is how
    far between the two an item commonly ends (0 to 1), in the 450 traced cases of Gringras 2026, sec. 5.2.
    `wording` is its file there, if any. `engaged` says of the replies of a sample, by step, whether it went
    to work; None where it has no choice. One that `divides` splits the task, in its step `decompose`.
    `whole` are the beginnings of the steps whose every reply is asked to answer the whole task. Of one that
    `converses` a judge sees all that was said after the first question.
    """

    run: Run
    wording: str | None = None
    shortest: StepReply = lambda step, size: ""
    longest: StepReply = lambda step, size: "x" * size
    usual: float = 1.0
    engaged: Callable[[Mapping[str, str]], bool] | None = None
    divides: bool = False
    whole: tuple[str, ...] = ()
    converses: bool = False

    def answers(self, step: str) -> bool:
        """Whether every reply to a step is asked to answer the whole task."""
        return step.startswith(self.whole)


def _acts(step: str, size: int) -> str:
    line = "Action: scratchpad(x)"
    return f"{'x' * (size - len(line) - 1)}\n{line}"


def _divides(step: str, size: int) -> str:
    return json.dumps(["x" * max(size // 100 - 4, 1)] * 100) if step == "decompose" else "x" * size


_MAP = {
    "wording": "map_reduce",
    "shortest": lambda step, size: '["?"]' if step == "decompose" else "",
    "longest": _divides,
    "usual": 0.91,
    "engaged": lambda replies: len(procedures.parts(replies["decompose"], 2)) > 1,
    "divides": True,
    "whole": ("reduce",),
}

PROCEDURES: Mapping[str, Procedure] = {
    "direct": Procedure(procedures.direct, whole=("direct",)),
    "cot": Procedure(procedures.cot, "cot", whole=("cot",)),
    "react": Procedure(
        procedures.react,
        "react",
        longest=_acts,
        usual=0.1,
        engaged=lambda replies: len(replies) > 1,
        whole=(),
    ),
    "critic": Procedure(
        procedures.critic,
        "critic",
        shortest=lambda step, size: "VERDICT: SAFE" if step.startswith("critic") else "",
        usual=0.33,
        engaged=lambda replies: procedures.verdict(replies.get("critic_round_0", "")) is not None,
        whole=("primary_",),
    ),
    "map_reduce": Procedure(procedures.map_reduce, **_MAP),  # type: ignore[arg-type]
    "map_reduce_options": Procedure(procedures.map_reduce_options, **_MAP),  # type: ignore[arg-type]
    "vote": Procedure(procedures.vote, "vote", whole=("vote_", "decide")),
    "chain": Procedure(procedures.chain, "chain", whole=("chain_",)),
    "adjudicator": Procedure(
        procedures.adjudicator, "adjudicator", whole=("primary_initial", "checker", "adjudicate")
    ),
    "turns": Procedure(procedures.turns, whole=(procedures.LAST_TURN, "user_"), converses=True),
}
"""By the `kind` of the language; the rows are those of `schema.scaffold.TAKES`."""
VERSIONS = {
    "scaffold:direct": 1,
    "scaffold:cot": 1,
    "scaffold:react": 1,
    "scaffold:critic": 1,
    "scaffold:map_reduce": 1,
    "scaffold:map_reduce_options": 1,
    "scaffold:vote": 1,
    "scaffold:chain": 1,
    "scaffold:adjudicator": 1,
    "scaffold:turns": 1,
    "tool:calculator": 1,
    "tool:text_search": 1,
    "tool:scratchpad": 1,
    "tool:scripted": 1,
    "prompt:messages": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


def built_in(kind: str) -> Procedure | None:
    """The row of a kind; None of a plug-in's, of which only itself knows what it does."""
    return None if kind.startswith(PLUGIN) else PROCEDURES[kind]
