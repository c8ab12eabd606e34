"""Doses of leakage: every item is in one bin, whatever rounding does to its mean over replicates."""

from itertools import combinations_with_replacement

import numpy as np

from gridc.reports.findings.exposure import _doses


def test_an_item_is_in_one_bin_of_leaking_parts() -> None:
    draws = combinations_with_replacement([part / 6 for part in range(7)], 7)
    leaking = np.array([np.mean(draw) for draw in draws])
    assert (np.abs(leaking - 0.5) < 1e-9).any() and (leaking[np.abs(leaking - 0.5) < 1e-9] > 0.5).any()
    count = len(leaking)
    rows = list(_doses(np.zeros(count), leaking, np.arange(count), np.ones(count)))
    none, half, most = (row.items for row in rows[3:])
    assert (none, half, most) == (
        int((leaking < 1e-9).sum()),
        int(((leaking > 1e-9) & (leaking < 0.5 + 1e-9)).sum()),
        int((leaking > 0.5 + 1e-9).sum()),
    )
    assert none + half + most == count
