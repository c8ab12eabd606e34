"""A plan, findings and a certificate as a notebook shows them: HTML without scripts, everything escaped."""

from collections.abc import Mapping, Sequence
from typing import Any

from gridc.reports.templates import render
from gridc.schema.certificate import Certificate


def plan_html(manifest: Mapping[str, Any]) -> str:
    """A plan: envelopes, exclusions, counts, and what each model will cost."""
    return render("notebook/plan.html.jinja", plan=manifest)


def findings_html(certificate: Certificate, leading: Sequence[str], caveats: Sequence[str]) -> str:
    """Findings: the most important sentences, what limits them, and every pair on its full envelope."""
    return render("notebook/findings.html.jinja", certificate=certificate, leading=leading, caveats=caveats)


def certificate_html(certificate: Certificate) -> str:
    """A certificate: its sentences, every pair on its full envelope, and the hypotheses."""
    return render("notebook/certificate.html.jinja", certificate=certificate)
