"""Rows that belong to groups."""

from collections.abc import Sequence


def places(groups: Sequence[int]) -> tuple[list[int], int]:
    """The place of each row among the rows of its group, and the most places that a group needs. Counted on
    the host, which knows the groups: asking a device for them would wait for all that it still computes."""
    taken: dict[int, int] = {}
    at = []
    for group in groups:
        at.append(taken.get(group, 0))
        taken[group] = at[-1] + 1
    return at, max(taken.values())
