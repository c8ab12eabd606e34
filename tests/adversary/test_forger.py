"""A forger who knows the code: every digest fits again, and only asking the model tells."""

import random
from math import ceil
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.rerun import Draw
from gridc.runtime.store.store import Store
from gridc.statistics.exact_tests import detection
from gridc.statistics.reproducibility import in_drawn_order
from tests.adversary.rooms.stores import codes, finished, forge, studied


def test_the_study_is_sound() -> None:
    assert codes(finished()) == set()


def answers(folder: Path) -> dict[str, str]:
    stamp = Plan(compile_spec(folder / "gridcard.toml").study).study_digest
    with Store.open(folder / "results" / "synthetic" / "store.sqlite") as store:
        return dict(store.digests(stamp))


def test_a_forger_who_seals_everything_again_is_found_by_asking_at_the_promised_rate(tmp_path: Path) -> None:
    honest = answers(finished())
    forge(studied(tmp_path))
    assert codes(tmp_path) == set(), "no digest tells: whoever holds a store can make all of them fit"
    forged = answers(tmp_path)
    assert forged.keys() == honest.keys()
    changed = {call for call, answer in forged.items() if answer != honest[call]}
    assert changed
    calls = sorted(forged)
    kept = set(random.Random(1).sample(sorted(changed), 12))  # as few as a careful forger changes
    for share in (0.005, 0.05, 0.2):
        drawn, rounds = ceil(share * len(calls)), 400
        found = sum(
            not kept.isdisjoint(in_drawn_order(calls, int(Draw.of(share).seed, 16), "rerun s", str)[:drawn])
            for _ in range(rounds)
        )
        chance = detection(len(calls), len(kept), drawn)
        assert found / rounds == pytest.approx(chance, abs=4 * (chance * (1 - chance) / rounds) ** 0.5 + 1e-9)
