"""Attacks by somebody who knows the code, and what stops each.

Every attack is carried out for real. It must be caught by the code or property named for it, and it must
succeed once that one check is taken away: so no check is idle, and none is caught by another's accident.
The second half is slow but for the first attack of each room.
`README.md` beside this file lists them, in the order of the rooms below.
"""

from pathlib import Path

import pytest
from _pytest.monkeypatch import MonkeyPatch

from gridc.diagnostics.errors import CODES
from tests.adversary.attack import ATTACKS, Attack
from tests.adversary.rooms import (
    blinding,
    bundles,
    cards,
    checks,
    clones,
    code,
    leaks,
    models,
    readers,
    stores,
    ties,
)

DOCUMENT = Path(__file__).with_name("README.md")
HEAD = "| who | attack | caught by |"
ROOMS = (clones, checks, leaks, models, ties, code, cards, stores, readers, bundles, blinding)
IN_ROOMS = [[each for each in ATTACKS if each.seen.__module__ == room.__name__] for room in ROOMS]
CATALOGUE = [each for room in IN_ROOMS for each in room]


@pytest.mark.parametrize("shown", CATALOGUE, ids=lambda each: each.id)
def test_the_attack_is_caught(shown: Attack, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    assert shown.caught in shown.seen(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(each, id=each.id, marks=[pytest.mark.slow] if number else [])
        for room in IN_ROOMS
        for number, each in enumerate(room)
    ],
)
def test_without_its_check_the_attack_succeeds(
    shown: Attack, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    shown.remove(monkeypatch)
    assert shown.caught not in shown.seen(tmp_path, monkeypatch)


def test_the_catalogue_lists_every_attack_and_no_other() -> None:
    lines = DOCUMENT.read_text("utf-8").splitlines()
    rows = [line for line in lines[lines.index(HEAD) + 2 :] if line.startswith("| ")]
    expected = []
    for each in CATALOGUE:
        how = f"`{each.caught}`: {CODES[each.caught].title}" if each.caught in CODES else each.caught
        expected.append(f"| {each.liar} | {each.done} | {how} |")
    assert rows == expected, "\n".join(expected)
