"""Writing the deviation log: values come from the difference, everything else stays as a person wrote it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT, Table

from gridc.compiler.lock.deviations import Departure, Reconciled, change_of, covers, explains
from gridc.files import write_atomic
from gridc.schema.deviation import DeviationLog

HEADER = """\
#:schema ./deviations.v1.schema.json
# Why this study departs from its stamp. `gridc deviations --write` fills in paths and values;
# the reasons are yours. Every difference is explained exactly once.
"""


def write_log(result: Reconciled, path: Path) -> int:
    """Add an entry for each departure that has none, and state the values of all others as they are.

    Comments, order and wording of the file stay. Gives how many entries were added.
    """
    text = path.read_text("utf-8") if path.is_file() else f"{HEADER}deviations = 1\n"
    document = tomlkit.parse(text)
    entries: Any = document.setdefault("deviation", tomlkit.aot())
    for entry in entries:
        if not entry.get("resolved", False):
            _refresh(entry, result.departures)
    missing = [departed for departed in result.departures if not _explained(result.log, departed)]
    taken = {str(entry["id"]) for entry in entries}
    for departure in missing:
        entries.append(_entry(departure, _free_id(taken)))
    if not entries:
        del document["deviation"]
    write_atomic(path, tomlkit.dumps(document))
    return len(missing)


def _explained(log: DeviationLog, departure: Departure) -> bool:
    return any(explains(entry, departure.path) for entry in log.deviation)


def _refresh(entry: Table, departures: Iterable[Departure]) -> None:
    """State what a change's difference is. A change that covers several differences has no one value."""
    for change in entry["change"]:
        covered = [departure for departure in departures if covers(str(change["path"]), departure.path)]
        values = change_of(covered[0]) if len(covered) == 1 and covered[0].path == change["path"] else {}
        for key in ("registered", "implemented"):
            if key in values:
                if change.get(key, ...) != values[key]:
                    change[key] = values[key]
            elif key in change:
                del change[key]


def _free_id(taken: set[str]) -> str:
    number = next(n for n in range(1, len(taken) + 2) if f"D-{n:03}" not in taken)
    taken.add(f"D-{number:03}")
    return f"D-{number:03}"


def _entry(departure: Departure, name: str) -> Table:
    entry = tomlkit.table()
    entry["id"] = name
    entry["element"] = departure.path
    entry["reason"] = ""
    changes: AoT = tomlkit.aot()
    change = tomlkit.table()
    for key, value in change_of(departure).items():
        change[key] = value
    changes.append(change)
    entry["change"] = changes
    return entry
