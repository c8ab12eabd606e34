"""The findings that a report holds. One more is a module like these, and a row here."""

from typing import Any

from gridc.reports.findings.analysis import MAXIMA
from gridc.reports.findings.answer_shifts import ANSWER_SHIFTS
from gridc.reports.findings.audit import AUDITS
from gridc.reports.findings.blinding import GUESSES, SANITISED
from gridc.reports.findings.components import FACTORIAL, GENERALIZABILITY
from gridc.reports.findings.conduct import CONDUCT, ENVIRONMENT, SHARED_DRAWS
from gridc.reports.findings.curves import CURVES
from gridc.reports.findings.doses import DIFFICULTIES, DOSES
from gridc.reports.findings.exposure import EXPOSURES, MEDIATIONS
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.judges import JUDGING
from gridc.reports.findings.many_levels import MANY_LEVELS
from gridc.reports.findings.paired import PRECISIONS
from gridc.reports.findings.references import REFERENCES
from gridc.reports.findings.run_record import Finding
from gridc.reports.findings.scaffolds import PROPAGATION
from gridc.reports.findings.steps import STEPS
from gridc.reports.findings.text_likelihood import TEXT_LIKELIHOODS

FINDINGS: tuple[Finding[Any], ...] = (
    ANSWER_SHIFTS,
    AUDITS,
    CONDUCT,
    CURVES,
    DIFFICULTIES,
    DOSES,
    ENVIRONMENT,
    EXPOSURES,
    FACTORIAL,
    FALSIFICATIONS,
    GENERALIZABILITY,
    GUESSES,
    JUDGING,
    MANY_LEVELS,
    MAXIMA,
    MEDIATIONS,
    PRECISIONS,
    PROPAGATION,
    REFERENCES,
    SANITISED,
    SHARED_DRAWS,
    STEPS,
    TEXT_LIKELIHOODS,
)
"""What every report holds. `attribution.ATTRIBUTION` is added where it is asked for: it needs lightgbm."""
