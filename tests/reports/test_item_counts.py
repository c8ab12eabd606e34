"""What items count of an outcome through `aggregate` and `all_of`, against counting every draw and group by
itself."""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import pytest

from gridc.compiler.instrument.setting import Setting
from gridc.reports.findings.item_counts import counted_items, rate_scale
from gridc.schema.effects import Attempts

UNREAD = {"zero": (0, 1), "one": (1, 1), "leave_out": (0, 0)}
ITEMS = [f"q{n}" for n in range(12)]
GROUPS = {name: f"g{n // 3}" for n, name in enumerate(ITEMS)}
ANSWERS = 5


def parts_of(unreadable: str) -> Any:
    """An outcome of all items but every fifth, which a choice of 0 earns."""

    def parts(item: str, choice: int | None) -> tuple[int, int]:
        if int(item[1:]) % 5 == 4:
            return 0, 0
        return UNREAD[unreadable] if choice is None else (int(choice == 0), 1)

    return parts


def answers(seed: int, many: int) -> dict[str, list[int | None]]:
    draw = Random(seed)
    return {name: [draw.choice([0, 0, 1, None]) for _ in range(many)] for name in ITEMS}


def readings(given: dict[str, list[int | None]]) -> list[tuple[str, int | None, int]]:
    """As a store counts them."""
    return [(name, choice, own.count(choice)) for name, own in given.items() for choice in dict.fromkeys(own)]


def total(
    setting: Setting, given: dict[str, list[int | None]], unreadable: str
) -> dict[str, Fraction | None]:
    counted = counted_items(setting, readings(given), parts_of(unreadable), GROUPS)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for item, (earned, possible) in zip(counted.items, counted.counts.tolist(), strict=True):
        sums[item] = [sums[item][0] + earned, sums[item][1] + possible]
    assert all(possible % rate_scale(setting, 1) == 0 for _, possible in sums.values())
    return {item: Fraction(*both) if both[1] else None for item, both in sums.items()}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("unreadable", ["zero", "one"])
@pytest.mark.parametrize("draws", [1, 2, 3, 5])
@pytest.mark.parametrize("every", [False, True])
def test_attempts_are_draws_of_the_answers(seed: int, unreadable: str, draws: int, every: bool) -> None:
    aggregate = Attempts(pass_all=draws) if every else Attempts(pass_at=draws)
    setting = Setting("x", "extract", temperature=0.7, replicates=ANSWERS, aggregate=aggregate)
    given, parts = answers(seed, ANSWERS), parts_of(unreadable)
    for item, found in total(setting, given, unreadable).items():
        hits = [parts(item, choice)[0] for choice in given[item]]
        counted = [all(draw) if every else any(draw) for draw in combinations(hits, draws)]
        expected = Fraction(sum(counted), len(counted)) if parts(item, 0)[1] else None
        assert found == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("unreadable", ["zero", "one", "leave_out"])
def test_items_of_a_group_have_the_least_of_it(seed: int, unreadable: str) -> None:
    """Of the items that the outcome is about; where one cannot be read none can."""
    setting = Setting("x", "extract", all_of="family")
    given, parts = answers(seed, 1), parts_of(unreadable)
    found = total(setting, given, unreadable)
    for item in ITEMS:
        group = [name for name in ITEMS if GROUPS[name] == GROUPS[item] and parts(name, 0)[1]]
        choices = [given[name][0] for name in group]
        if item not in group:
            assert found[item] is None
        elif None in choices:
            earned, possible = UNREAD[unreadable]
            assert found[item] == (Fraction(earned, possible) if possible else None)
        else:
            assert found[item] == min(parts(name, given[name][0])[0] for name in group)


def test_single_answers_add_up() -> None:
    setting = Setting("x", "extract", temperature=0.7, replicates=ANSWERS)
    given, parts = answers(9, ANSWERS), parts_of("leave_out")
    for item, found in total(setting, given, "leave_out").items():
        own = [parts(item, choice) for choice in given[item]]
        possible = sum(one for _, one in own)
        assert found == (Fraction(sum(one for one, _ in own), possible) if possible else None)
