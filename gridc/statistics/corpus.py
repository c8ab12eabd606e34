"""Scores of all texts together, as sacrebleu computes them: chrF and BLEU.

What a text adds is counted once, so that the score of any set of texts follows from sums. sacrebleu's own
class says how (`_extract_corpus_statistics`, `_compute_score_from_stats`); a test holds its whole score.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.clustered_logit import FLOOR, effective_number, enough_cases
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.strata import INFLUENCES, of_influences
from gridc.statistics.unit_intervals import UnitEstimate, unit_totals

METRICS: Mapping[str, str] = {"chrf": "CHRF", "bleu": "BLEU"}
"""The class of `sacrebleu.metrics` by kind of statistic, with its defaults."""
MOST = 100.0
"""What sacrebleu gives two equal texts."""
REFERENCE = 1
"""The column of sums that says how long the references are, of both kinds."""
MATCHES: Mapping[str, slice] = {"chrf": slice(2, None, 3), "bleu": slice(2, 6)}
"""The columns that say how many n-grams a text has of its references."""


def of_texts(kind: str, texts: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """What texts add to the sums of a score, (N, K), each beside its references, of which there is one or
    more. Raises `ImportError` where sacrebleu is not installed."""
    width = max(map(len, references))
    columns = [[row[place] if place < len(row) else None for row in references] for place in range(width)]
    found = _metric(kind)._extract_corpus_statistics(list(texts), columns)
    return np.array(found, np.float64)


def score_of_sums(kind: str, totals: Floats) -> Floats:
    """The score of each row of sums, (B, K), as a share of the most there is, (B,)."""
    metric = _metric(kind)
    scores = [metric._compute_score_from_stats([int(value) for value in row]).score for row in totals]
    return np.array(scores) / MOST


def corpus_score(
    kind: str,
    unit: Whole,
    texts: Sequence[str],
    references: Sequence[Sequence[str]],
    level: float = LEVEL,
) -> UnitEstimate:
    """The score of texts, their units (N,), and its limits by the influences of the units; no limits of few
    units. The least and most that a unit could have are those of one without any match, of an empty one and
    of one that equals its references, as large as that of a word drawn at random."""
    totals = unit_totals(unit, of_texts(kind, texts, references))
    whole, count, sizes = totals.sum(axis=0), len(totals), totals[:, REFERENCE]
    (value,) = score_of_sums(kind, whole[None]).tolist()
    effective = effective_number(sizes / max(float(sizes.max()), 1.0))
    if not enough_cases(effective):
        few = f"worth {effective:.1f} equal units, and the limits of a text score need {FLOOR:g}"
        return UnitEstimate(digits(value), None, count, effective, few)
    equal = unit_totals(unit, of_texts(kind, [row[0] for row in references], references))
    best = np.round(sizes @ equal / sizes.sum())
    worst, silent = best.copy(), np.zeros_like(best)
    worst[MATCHES[kind]], silent[REFERENCE] = 0.0, best[REFERENCE]
    if kind == "chrf":
        silent[REFERENCE::3] = best[REFERENCE::3]
    unseen = (count + 1) * (score_of_sums(kind, whole + np.array([worst, silent, best])) - value)
    without = score_of_sums(kind, whole - totals)
    influences = (count - 1) * (without.mean() - without)
    low, high = of_influences(value, influences, (float(unseen.min()), float(unseen.max())), level)
    ends = digits(max(low, 0.0)), digits(min(high, 1.0))
    return UnitEstimate(digits(value), ends, count, effective, "", INFLUENCES)


def _metric(kind: str) -> Any:
    return getattr(import_module("sacrebleu.metrics"), METRICS[kind])()
