"""Which part of a run a task of a Slurm job array is."""

import pytest

from gridc.diagnostics.errors import UsageError
from gridc.study.running import _slurm_shard


def environment(task: int, numbers: list[int], step: int = 1) -> dict[str, str]:
    """As Slurm sets it for `sbatch --array` with these numbers (`man sbatch`)."""
    said = {"ID": task, "COUNT": len(numbers), "MIN": min(numbers), "MAX": max(numbers), "STEP": step}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in said.items()}


@pytest.mark.parametrize(
    "numbers", [range(8), range(1, 9), range(10, 14), range(0, 16, 4), range(2, 11, 2), range(1)]
)
def test_the_tasks_of_an_array_are_the_parts_in_order(numbers: range) -> None:
    shards = [_slurm_shard(environment(task, list(numbers), numbers.step)) for task in numbers]
    assert [(shard.number, shard.of) for shard in shards] == [
        (place, len(numbers)) for place in range(1, len(numbers) + 1)
    ]


@pytest.mark.parametrize("numbers", [[1, 2, 5], [0, 3, 4, 5], [3]])
def test_an_array_that_does_not_say_which_part_a_task_is_is_refused(numbers: list[int]) -> None:
    for task in numbers:
        with pytest.raises(UsageError, match="is not a part of a run"):
            _slurm_shard(environment(task, numbers))


def test_outside_of_an_array_slurm_is_no_shard() -> None:
    with pytest.raises(UsageError, match="needs SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT"):
        _slurm_shard({})
    with pytest.raises(UsageError, match="needs SLURM_ARRAY_TASK_ID"):
        _slurm_shard({**environment(1, [1, 2]), "SLURM_ARRAY_TASK_ID": "one"})
