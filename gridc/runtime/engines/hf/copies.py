"""Copies numbers to the device and back. On a GPU every copy waits for all that it still computes, so that
what is known together is copied together."""

from collections.abc import Sequence

import torch


def to_device(
    device: torch.device, *lists: Sequence[float], dtype: torch.dtype = torch.int64
) -> tuple[torch.Tensor, ...]:
    """Each list as a tensor (numbers,) of this type, all in one copy. In fp64 whole numbers below 2**53 stay
    as they are."""
    numbers = torch.tensor([number for each in lists for number in each], dtype=dtype, device=device)
    return numbers.split_with_sizes([len(each) for each in lists])


def to_host(*tensors: torch.Tensor) -> list[list[float]]:
    """Each tensor (numbers,) as a list, all in one copy. Whole numbers stay as they are below 2**53."""
    numbers = iter(torch.cat([each.double() for each in tensors]).tolist())
    return [[next(numbers) for _ in range(len(each))] for each in tensors]
