"""Which batches are a part of a run."""

from random import Random

import pytest

from gridc.runtime.stages import Shard


def shares(costs: list[int], of: int) -> list[range]:
    return [Shard(number, of).share(costs) for number in range(1, of + 1)]


@pytest.mark.parametrize("of", [1, 2, 3, 8])
def test_each_batch_is_in_one_part(of: int) -> None:
    random = Random(4)
    for count in range(20):
        costs = [random.choice((0, 1, 5, 300)) for _ in range(count)]
        numbers = [number for share in shares(costs, of) for number in share]
        assert numbers == list(range(count))


def test_parts_are_of_about_the_same_cost() -> None:
    """Never further from it than the largest batch, whatever the order."""
    random = Random(5)
    for _ in range(50):
        costs = [random.randrange(1, 100) for _ in range(40)]
        taken = [sum(costs[number] for number in share) for share in shares(costs, 4)]
        assert max(abs(cost - sum(costs) / 4) for cost in taken) <= max(costs)
    assert [len(share) for share in shares([7] * 64, 2)] == [32, 32]
    assert [len(share) for share in shares([90, 1, 1, 1], 2)] == [1, 3]


def test_a_part_says_what_it_holds() -> None:
    part = Shard(1, 2)
    assert part.holds(part.share([5, 5]), 2) == "part 1 of 2 holds 1 of 2 batches"
    told = part.holds(part.share([64]), 1)
    assert told.startswith("part 1 of 2 holds 0 of 1 batches")
    assert "batch_prompts" in told
