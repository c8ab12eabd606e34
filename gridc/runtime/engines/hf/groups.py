"""Rows that belong to groups, as tensors."""

import torch


def places(group: torch.Tensor, groups: int) -> tuple[torch.Tensor, int]:
    """The place of each row among the rows of its group (rows,), and the most places a group needs."""
    order = torch.argsort(group, stable=True)
    counts = torch.bincount(group, minlength=groups)
    starts = counts.cumsum(0) - counts
    place = torch.empty_like(group)
    place[order] = torch.arange(len(group), device=group.device) - starts[group[order]]
    return place, int(counts.max())
