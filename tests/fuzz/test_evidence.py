"""Whatever is done to a store, a lock, a card or a bundle: no traceback, nothing changed is called verified.
`python -m tests.fuzz --target evidence` goes on."""

import random
from collections import Counter
from pathlib import Path

import pytest

import gridc
from tests.fuzz.evidence import Evidence


def came(folder: Path, first: int, cases: int) -> Counter[str]:
    evidence = Evidence(folder)
    return Counter(evidence.attempt(random.Random(seed)) for seed in range(first, first + cases))


def test_no_change_is_accepted(tmp_path: Path) -> None:
    found = came(tmp_path, 1, 200)
    codes = {code for name in found for code in name.split()}
    assert len(codes & {"GC605", "GC701", "GC702", "GC703", "GC704", "GC705", "GC706", "GC707"}) >= 6
    kinds = {name.split()[0] for name in found}
    assert kinds == {"flip", "cut", "row", "swap", "orphan", "study", "schema", "json", "text"}


def test_what_departs_from_its_stamp_is_not_said_to_be_what_was_stamped(tmp_path: Path) -> None:
    Evidence(tmp_path)
    for name in ("study", "bundle"):
        checked = gridc.open(tmp_path / name / "gridcard.toml").verify().checked
        assert not any("that were stamped" in each or "that was stamped" in each for each in checked)
        assert any(
            "were run, and depart from the stamp as the deviation log says" in each for each in checked
        )


@pytest.mark.slow
def test_no_change_of_many_is_accepted(tmp_path: Path) -> None:
    came(tmp_path, 1000, 20_000)
