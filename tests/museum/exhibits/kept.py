"""What a store holds, and what is said of it afterwards."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.diagnostics.errors import GridcError
from gridc.reports import verification
from tests.adversary.rooms.readers import hide_a_study, the_newest
from tests.museum.exhibit import EARLIER, exhibit, without
from tests.museum.studied import CHOICES, facts
from tests.studies import Finished


def finished(room: Any) -> Finished:
    found: Finished = room.filled(CHOICES, facts(12), lambda *_: "Answer: A")
    return found


def codes(ask: Callable[[], object]) -> set[str]:
    try:
        ask()
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    return set()


def edit(done: Finished, *statements: str) -> None:
    with closing(sqlite3.connect(done.study.store)) as db, db:
        for statement in statements:
            assert db.execute(statement).rowcount > 0, statement


@exhibit(
    "a store holds a second study with better scores that nobody ran, and `verify` says: verified",
    f"{EARLIER}; result databases with a table of runs",
    "GC701",
    without(verification, "of_history"),
)
def hidden_study(room: Any, patch: MonkeyPatch) -> set[str]:
    done = finished(room)
    hide_a_study(done.study.store)
    return codes(done.study.verify)


@exhibit(
    "a page shows the newest study of a store, which is not the one that was verified",
    f"{EARLIER}: every command that took a store",
    "GC602",
    the_newest,
)
def the_newest_is_shown(room: Any, patch: MonkeyPatch) -> set[str]:
    done = finished(room)
    hide_a_study(done.study.store)
    return codes(lambda: gridc.view_pages(room.folder / "pages", done.study.store, pages=1))


@exhibit(
    "a wrong answer is corrected in the result database before the scores are read",
    "result files that are edited by hand",
    "GC703",
    without(verification, "of_calls"),
)
def corrected_by_hand(room: Any, patch: MonkeyPatch) -> set[str]:
    done = finished(room)
    edit(done, "UPDATE call SET answer = replace(answer, 'Answer: A', 'Answer: B') WHERE rowid = 2")
    return codes(done.study.verify)


@exhibit(
    "what was asked is deleted from a store, and the scores are verified",
    EARLIER,
    "GC704",
    without(verification, "of_plan"),
)
def nothing_was_asked(room: Any, patch: MonkeyPatch) -> set[str]:
    done = finished(room)
    edit(done, "DELETE FROM question")
    return codes(done.study.verify)
