"""Scaffolds: procedures of calls that answer an item. Pure: no model, no store, no clock.

One more is a generator in `procedures.py` that registers itself, and a row of `schema.effects.TAKES`.
"""

from gridc.compiler.instrument.scaffolds.procedures import (
    PROCEDURES,
    VERSIONS,
    Procedure,
    StepReply,
    ends_with,
)
from gridc.schema.base import PLUGIN

__all__ = ["PROCEDURES", "VERSIONS", "Procedure", "StepReply", "built_in", "ends_with"]


def built_in(kind: str) -> Procedure | None:
    """The row of a kind; None of a plug-in's, of which only itself knows what it does."""
    return None if kind.startswith(PLUGIN) else PROCEDURES[kind]
