"""What each part of the instrument does: its trace on fixed inputs, and what it reads in the corpus."""

import json
from collections.abc import Callable, Mapping

from gridc.schema.canonical import digest
from tests.instrument import prompts, reading, scaffolding
from tests.instrument.corpus import readings

TRACES: Mapping[str, Callable[[], object]] = {**scaffolding.TRACES, **prompts.TRACES, **reading.TRACES}
"""The trace of each part that does more than read, on every machine and version of Python the same."""


def trace(part: str) -> str | None:
    """The digest of a part's trace; None of one that only reads."""
    return digest(json.loads(json.dumps(TRACES[part]()))) if part in TRACES else None


def done(part: str) -> str:
    """The digest of all that a part does."""
    return digest([trace(part), json.loads(json.dumps(readings(part)))])
