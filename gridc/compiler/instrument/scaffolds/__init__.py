"""Scaffolds: procedures of calls that answer an item. Pure: no model, no store, no clock.

To add one, write its generator in `procedures.py`, and a row in `PROCEDURES` and in `schema.scaffold.TAKES`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gridc.compiler.instrument.scaffolds import procedures
from gridc.compiler.instrument.scaffolds.turns import Steps, Task
from gridc.compiler.instrument.scaffolds.wording import wording_digest
from gridc.schema.canonical import digest
from gridc.schema.scaffold import Scaffold

Run = Callable[[Scaffold, Task], Steps]
Reply = Callable[[str, int], str]
"""A made-up reply to a step, of about so many characters."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A kind of scaffold: its generator, the file of its wording, and its version, which changes whenever the
    generator asks something else for the same replies.

    `shortest` and `longest` are replies that lead to the fewest and the most calls, by step; `usual` is how
    far between the two an item commonly ends (0 to 1), in the 450 traced cases of Gringras 2026, sec. 5.2.
    """

    run: Run
    wording: str | None = None
    version: int = 1
    shortest: Reply = lambda step, size: ""
    longest: Reply = lambda step, size: "x" * size
    usual: float = 1.0

    def manifest(self) -> str:
        """What the stamp holds of it: one name cannot mean two procedures."""
        said = wording_digest(self.wording) if self.wording else None
        return digest({"version": self.version, "wording": said})


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
}

PROCEDURES: Mapping[str, Procedure] = {
    "direct": Procedure(procedures.direct),
    "cot": Procedure(procedures.cot, "cot"),
    "react": Procedure(procedures.react, "react", longest=_acts, usual=0.1),
    "critic": Procedure(
        procedures.critic,
        "critic",
        shortest=lambda step, size: "VERDICT: SAFE" if step.startswith("critic") else "",
        usual=0.33,
    ),
    "map_reduce": Procedure(procedures.map_reduce, **_MAP),  # type: ignore[arg-type]
    "map_reduce_options": Procedure(procedures.map_reduce_options, **_MAP),  # type: ignore[arg-type]
    "vote": Procedure(procedures.vote, "vote"),
    "chain": Procedure(procedures.chain, "chain"),
    "adjudicator": Procedure(procedures.adjudicator, "adjudicator"),
}
"""By the `kind` of the language; the rows are those of `schema.scaffold.TAKES`."""
