"""Every committed lock is what this gridc would stamp, so that the commands of the README go on from it."""

import os
from pathlib import Path

import pytest

from gridc.study import open as open_study

ROOT = Path(__file__).resolve().parents[2]
OLD_ON_PURPOSE = {
    "tests/golden/before/bundle/gridcard.lock",
    "tests/runtime/stores/gridc-lock-3/minimal.lock",
    "tests/runtime/stores/gridc-0.1/gridcard.lock",
}
NEEDS_DATA = {"specs/real_items.lock"}
GENERATED = ("results", "mutants", ".")
"""How the folders begin that are not committed."""
LOCKS = {
    path.relative_to(ROOT).as_posix()
    for path in ROOT.rglob("*.lock")
    if not path.relative_to(ROOT).as_posix().startswith(GENERATED)
}


def test_no_lock_is_left_out() -> None:
    assert {"gridcard.lock", *NEEDS_DATA, *OLD_ON_PURPOSE} <= LOCKS


@pytest.mark.parametrize("lock", sorted(LOCKS - OLD_ON_PURPOSE))
def test_a_committed_lock_is_what_this_gridc_would_stamp(lock: str) -> None:
    if lock in NEEDS_DATA and "GRIDC_DATA" not in os.environ:
        pytest.skip("GRIDC_DATA does not say where the benchmarks lie")
    checked = open_study((ROOT / lock).with_suffix(".toml")).check_stamp()
    assert checked.current, "`gridc stamp --supersede` makes it anew, where no data were gathered under it"
