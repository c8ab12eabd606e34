"""A verdict of a clustered logit where no unit goes against it: see `statistics.bounded_means`."""

from typing import Any

import numpy as np
import pytest

from gridc.reports.findings.hypotheses.finding import HypothesisFinding, contrast_words
from tests.recount.arms import gaffke
from tests.worlds.games import ANALYSIS, TREND, contrast
from tests.worlds.studies import bench

ITEMS = 4


def found(hypothesis: dict[str, Any], gained: list[int], levels: int = 2) -> HypothesisFinding:
    """Of units of four items, two of them right under the first level, that gain so many under each further
    one."""
    stated = repr({"hypothesis": [hypothesis], "analysis": ANALYSIS})
    study = bench((ITEMS,) * len(gained), 1, 1, levels, stated)
    right = np.zeros((1, 1, levels, len(gained), ITEMS), np.int64)
    for unit, more in enumerate(gained):
        for level in range(levels):
            right[0, 0, level, unit, : 2 + more * level] = 1
    (finding,) = study_findings(study, right.reshape(1, 1, levels, -1))
    return finding


def study_findings(study: Any, right: Any) -> list[HypothesisFinding]:
    from gridc.reports.findings.hypotheses import decisions

    return list(decisions(study.measured(study.samples(right))))


def odds_of(finding: HypothesisFinding) -> Any:
    assert finding.effect is not None
    return finding.effect.contrasts[0].odds


def test_gains_alone_are_supported_only_where_gaffkes_test_agrees() -> None:
    gained = [1] * 8 + [0] * 22
    finding = found(contrast("difference"), gained)
    odds = odds_of(finding)
    expected = gaffke(np.array(gained) / ITEMS, -1.0)
    assert odds.agrees == pytest.approx(expected, abs=1e-9)
    assert odds.p == pytest.approx(2 * expected, abs=1e-9) and odds.p > 0.05 > 2 * (1 - norm(odds.z))
    assert finding.verdict == "open"
    assert odds.interval[0] < 1 < odds.interval[1]
    assert finding.effect is not None
    low, high = finding.effect.contrasts[0].change.interval or (1.0, 1.0)
    assert low < 0 < high
    assert "no unit goes against it" in contrast_words(finding.effect.contrasts[0], finding.effect, True)


def norm(z: float) -> float:
    from scipy.stats import norm as normal

    return float(normal.cdf(z))


def test_one_loss_leaves_the_verdict_to_the_logit() -> None:
    finding = found(contrast("difference"), [1] * 12 + [-1] + [0] * 17)
    assert odds_of(finding).agrees is None
    assert finding.verdict == "supported"


@pytest.mark.parametrize(("units", "asked"), [(10, False), (30, True)])
def test_of_too_few_units_nothing_is_asked_to_agree(units: int, asked: bool) -> None:
    for hypothesis, levels in ((contrast("difference"), 2), (TREND, 3)):
        gained = [1] * (units // 2) + [0] * (units - units // 2)
        assert (odds_of(found(hypothesis, gained, levels)).agrees is not None) == asked
