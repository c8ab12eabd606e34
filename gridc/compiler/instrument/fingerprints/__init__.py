"""What gridc's own code does, as digests that a stamp can hold: the one place that owns them.

A stamp covers the words of a study; what becomes of them is decided by code: how a scaffold asks, how an
answer is read and scored, what a sanitiser takes out. Each such part has a fingerprint: the SHA-256 of what
it does with fixed inputs and fixed replies (its trace). A refactoring leaves it as it is, a changed blank
line moves it, and no version has to be kept by hand.

A trace is never edited: another input, or one more, moves the stamp of every study that uses the part. To
add a part, add its row to `PARTS` and say in `grid.behaviour` which studies use it. What is new has a part of
its own, so that other stamps stay. Nothing in a trace depends on the machine or the version of Python.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache

from gridc.compiler.instrument.fingerprints import prompts, reading, scaffolding
from gridc.schema.canonical import digest

PARTS: Mapping[str, Callable[[], object]] = {
    **scaffolding.TRACES,
    **prompts.TRACES,
    **reading.TRACES,
}
"""The trace of each part, by `KIND:NAME`."""


@cache
def fingerprint(part: str) -> str:
    """The fingerprint of a part, as gridc behaves here and now: 64 hexadecimal digits."""
    return trace_digest(part)


def trace_digest(part: str) -> str:
    """The same, traced again."""
    return digest(json.loads(json.dumps(PARTS[part]())))
