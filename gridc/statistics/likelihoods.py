"""How far the log-likelihoods of an item's candidates move from one instrument to another."""

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats


def mean_move(reference: ArrayLike, other: ArrayLike) -> float:
    """The mean distance of a candidate's log-likelihood, in nats."""
    return float(np.abs(np.asarray(other, np.float64) - np.asarray(reference, np.float64)).mean())


def divergence(reference: ArrayLike, other: ArrayLike) -> float:
    """Kullback and Leibler's D(reference || other), in nats, of the shares that the candidates have of their
    likelihood; 0 where those are the same, whatever all candidates lost or gained alike."""
    one, two = _log_shares(reference), _log_shares(other)
    return max(float((np.exp(one) * (one - two)).sum()), 0.0)


def _log_shares(loglikelihoods: ArrayLike) -> Floats:
    values = np.asarray(loglikelihoods, np.float64)
    shifted: Floats = values - values.max()
    log_shares: Floats = shifted - np.log(np.exp(shifted).sum())
    return log_shares
