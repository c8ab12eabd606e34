"""Three small curves; some of their specifications have no row and cannot be fitted."""

from functools import cache
from typing import Any

from gridc.reports.findings.curves import CurveFinding, curve_findings
from gridc.reports.findings.observations import Samples
from gridc.viewer.figures import StatedCurves
from tests.reports.published_study import published_samples, published_spec
from tests.viewer.stores import STAMP

FORKS: list[dict[str, Any]] = [
    {"id": "models", "category": "data", "levels": ["all", "no_opus", "none"], "default": "all",
     "binds": "analysis.primary",
     "choice": {"no_opus": {"where": {"model": {"not": "opus"}}},
                "none": {"items": {"condition": "nowhere"}}}},
    {"id": "reading", "category": "data", "levels": ["itt", "pp"], "default": "itt",
     "binds": "analysis.outcome"},
    {"id": "terms", "category": "model", "levels": ["with", "without"], "default": "with",
     "binds": "analysis.estimator", "choice": {"without": {"without_terms": ["model", "benchmark"]}}},
]  # fmt: skip


@cache
def found() -> tuple[CurveFinding, ...]:
    curve = {"id": "open", "forks": [fork["id"] for fork in FORKS], "declared": "post_hoc"}
    samples: Samples = published_samples(published_spec(fork=FORKS, curve=[curve]))
    return curve_findings(samples)


def stated() -> StatedCurves:
    """As if they were those of the store that `make` makes."""
    return StatedCurves(STAMP, found)
