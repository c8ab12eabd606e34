"""Scores of all texts together, as sacrebleu computes them: chrF and BLEU.

What a text adds is counted once, so that the score of any set of texts follows from sums. sacrebleu's own
class says how (`_extract_corpus_statistics`, `_compute_score_from_stats`); a test holds its whole score.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gridc.statistics.arrays import Floats

METRICS: Mapping[str, str] = {"chrf": "CHRF", "bleu": "BLEU"}
"""The class of `sacrebleu.metrics` by kind of statistic, with its defaults."""
MOST = 100.0
"""What sacrebleu gives two equal texts."""


def of_texts(kind: str, texts: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """What texts add to the sums of a score, (N, K), each beside its references, of which there is one or
    more. Raises `ImportError` where sacrebleu is not installed."""
    width = max(map(len, references))
    columns = [[row[place] if place < len(row) else None for row in references] for place in range(width)]
    found = _metric(kind)._extract_corpus_statistics(list(texts), columns)
    return np.array(found, np.float64)


def score(kind: str, totals: Floats) -> Floats:
    """The score of each row of sums, (B, K), as a share of the most there is, (B,)."""
    metric = _metric(kind)
    scores = [metric._compute_score_from_stats([int(value) for value in row]).score for row in totals]
    return np.array(scores) / MOST


def _metric(kind: str) -> Any:
    return getattr(import_module("sacrebleu.metrics"), METRICS[kind])()
