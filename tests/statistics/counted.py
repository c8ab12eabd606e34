"""Published counts as what a fit takes."""

from collections.abc import Sequence

import numpy as np

from gridc.statistics.case_totals import CaseTotals


def totals_of_counts(rows: Sequence[int], sums: Sequence[int]) -> CaseTotals:
    """The totals where every row is a case of its own, from counts alone: P patterns with `rows` rows and
    `sums` outcomes of 1. The clustered errors are then those that are robust to misspecification."""
    n, s = np.asarray(rows, np.float64), np.asarray(sums, np.float64)
    if n.shape != s.shape or n.ndim != 1 or (s < 0).any() or (s > n).any():
        raise ValueError("there are not between 0 and `rows` outcomes of 1 in every pattern")
    one = np.eye(len(n), dtype=np.bool_)[n > 0]
    return CaseTotals(n, s, np.diag(s), np.diag(s), np.diag(n), one, n[n > 0].astype(np.int64))
