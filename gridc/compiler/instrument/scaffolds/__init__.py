"""Scaffolds: procedures of calls that answer an item. Pure: no model, no store, no clock.

To add one, write its generator in `procedures.py`, and a row in `PROCEDURES` and in `schema.scaffold.TAKES`.
It is traced for stamps as `fingerprints.scaffolding` says.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gridc.compiler.instrument.scaffolds import procedures
from gridc.compiler.instrument.scaffolds.turns import Steps, Task
from gridc.schema.scaffold import Scaffold

Run = Callable[[Scaffold, Task], Steps]
StepReply = Callable[[str, int], str]
"""A made-up reply to a step, of about so many characters."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A kind of scaffold: its generator, which has its wording in gridc/builtin/scaffolds. A stamp holds what
    it does (`fingerprints`).

    `shortest` and `longest` are replies that lead to the fewest and the most calls, by step; `usual` is how
    far between the two an item commonly ends (0 to 1), in the 450 traced cases of Gringras 2026, sec. 5.2.
    """

    run: Run
    shortest: StepReply = lambda step, size: ""
    longest: StepReply = lambda step, size: "x" * size
    usual: float = 1.0


def _acts(step: str, size: int) -> str:
    line = "Action: scratchpad(x)"
    return f"{'x' * (size - len(line) - 1)}\n{line}"


def _divides(step: str, size: int) -> str:
    return json.dumps(["x" * max(size // 100 - 4, 1)] * 100) if step == "decompose" else "x" * size


_MAP = {
    "shortest": lambda step, size: '["?"]' if step == "decompose" else "",
    "longest": _divides,
    "usual": 0.91,
}

PROCEDURES: Mapping[str, Procedure] = {
    "direct": Procedure(procedures.direct),
    "cot": Procedure(procedures.cot),
    "react": Procedure(procedures.react, longest=_acts, usual=0.1),
    "critic": Procedure(
        procedures.critic,
        shortest=lambda step, size: "VERDICT: SAFE" if step.startswith("critic") else "",
        usual=0.33,
    ),
    "map_reduce": Procedure(procedures.map_reduce, **_MAP),  # type: ignore[arg-type]
    "map_reduce_options": Procedure(procedures.map_reduce_options, **_MAP),  # type: ignore[arg-type]
    "vote": Procedure(procedures.vote),
    "chain": Procedure(procedures.chain),
    "adjudicator": Procedure(procedures.adjudicator),
}
"""By the `kind` of the language; the rows are those of `schema.scaffold.TAKES`."""
