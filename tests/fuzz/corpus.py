"""The specs that mutation begins with: every whole one that ships or is a golden one, and small ones cut out
of them and of what fuzzing found. `specs.txt` has the small ones, each under what it comes to:

    === GC303
    "gridcard" = 1
    ...

A small spec says nothing that it need not say to come to that, so a case costs a third of the time. One that
is accepted still has every kind of key that it had.
"""

import copy
import json
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gridc.compiler.frontend.lookup import BUILTIN_BENCHMARKS
from tests.fuzz.mutate import place_kind, places, toml, value_at
from tests.golden.cases import cases

ROOT = Path(__file__).parents[2]
SMALL = Path(__file__).parent / "specs.txt"
ITEMS = {"builtin:pocket_bbq.jsonl": "path:bbq.jsonl", "builtin:pocket_truthfulqa.json": "path:facts.json"}
"""What small specs ask instead of the items that ship: a few of them, for most of the time of a spec that is
accepted goes into its items."""

Outcome = Callable[[bytes], str]


def whole() -> list[bytes]:
    """Every spec that ships or is a golden one."""
    paths = [
        ROOT / "gridcard.toml",
        *(ROOT / "specs").glob("*.toml"),
        *(ROOT / "tests/golden").rglob("*.toml"),
    ]
    written = [path.read_bytes() for path in sorted(paths) if "deviations" not in path.name]
    return [*written, *(case.inputs["gridcard.toml"] for case in cases())]


def write_items(folder: Path) -> None:
    """The items of small specs, where a case lies."""
    rows = (BUILTIN_BENCHMARKS / "pocket_bbq.jsonl").read_text().splitlines(keepends=True)
    (folder / "bbq.jsonl").write_text("".join(rows[:8]))
    facts = json.loads((BUILTIN_BENCHMARKS / "pocket_truthfulqa.json").read_text())
    (folder / "facts.json").write_text(json.dumps(facts[:8]))


def small() -> list[bytes]:
    """The small ones."""
    return [data for _, data in written()]


def written() -> list[tuple[str, bytes]]:
    """The small ones, each with what `specs.txt` says that it comes to."""
    _, *parts = re.split(rb"^=== (.*)\n", SMALL.read_bytes(), flags=re.MULTILINE)
    return [
        (name.decode(), data.removesuffix(b"\n")) for name, data in zip(parts[::2], parts[1::2], strict=True)
    ]


def write(specs: Iterable[bytes], outcome: Outcome) -> None:
    """Make `specs.txt` of these and what each comes to."""
    named = sorted((outcome(data), data) for data in set(specs) if data.removeprefix(b"=== ") == data)
    SMALL.write_bytes(b"".join(b"=== %s\n%s\n" % (name.encode(), data) for name, data in named))


def reduced(data: bytes, outcome: Outcome) -> bytes:
    """The spec with all left out that it can do without and still come to the same."""
    wanted = outcome(data)
    for shipped, few in ITEMS.items():
        trial = data.replace(shipped.encode(), few.encode())
        data = trial if outcome(trial) == wanted else data
    try:
        values = tomllib.loads(data.decode())
    except ValueError:
        return _fewer_lines(data, lambda fewer: outcome(fewer) == wanted)
    kinds = _kinds(values) if wanted == "accepted" else frozenset()

    def fits(trial: dict[str, Any]) -> bool:
        return kinds <= _kinds(trial) and outcome(toml(trial).encode()) == wanted

    if not fits(values):
        return data
    while smaller := _smaller(values, fits):
        values = smaller
    return toml(values).encode()


def _kinds(values: dict[str, Any]) -> frozenset[tuple[str | int, ...]]:
    """The kinds of places that a spec has: paths in which all rows of a list are one."""
    return frozenset(map(place_kind, places(values)))


def _smaller(values: dict[str, Any], fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
    """The values with one part after another left out, the largest first; None where none can go."""
    at_first = values
    gone: list[tuple[str | int, ...]] = []
    for path in sorted(
        places(values)[1:], key=lambda path: (len(path), [-x for x in path if type(x) is int])
    ):
        if any(path[: len(other)] == other for other in gone):
            continue
        trial = copy.deepcopy(values)
        try:
            del value_at(trial, path[:-1])[path[-1]]
        except LookupError:  # a row before it went
            continue
        if fits(trial):
            values = trial
            gone.append(path)
            if isinstance(path[-1], int):
                break  # the rows behind it have other numbers now
    return None if values is at_first else values


def _fewer_lines(data: bytes, fits: Callable[[bytes], bool]) -> bytes:
    lines = data.split(b"\n")
    size = len(lines) // 2
    while size:
        at = 0
        while at < len(lines):
            fewer = lines[:at] + lines[at + size :]
            if fits(b"\n".join(fewer)):
                lines = fewer
            else:
                at += size
        size //= 2
    return b"\n".join(lines)
