"""What is said of what a study stated: the verdicts on its hypotheses, and the tests of its findings."""

from collections.abc import Iterator

from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses import sentence
from gridc.reports.statements.pairs import WITHIN
from gridc.reports.statements.statement import Backing, Statement, of_study

RESULTS = {"fail": "failed", "partial": "passed in part", "open": "undecided", "pass": "passed"}
"""Of falsification tests, the worst first."""


@of_study("hypothesis", "leading", 60)
def verdicts(findings: Findings) -> Iterator[Statement]:
    """The verdict on every hypothesis in full; `findings.hypotheses.verdict_lines` has all in a few lines."""
    for finding in findings.hypotheses:
        text = sentence(finding, findings.complete)
        backing: Backing = "open"
        if finding.verdict != "open":
            backing = "supported" if finding.ranking is None else finding.ranking.strength
        noisy = f"{text} {WITHIN}" if finding.noise == "within" else text
        yield Statement(noisy, backing, (finding.id,))


@of_study("falsification", "falsification", 10)
def falsifications(findings: Findings) -> Iterator[Statement]:
    """What became of the tests that could have broken the findings."""
    computed = findings[FALSIFICATIONS]
    ids_by_result = {
        words: [test.id for test in computed if test.result == result] for result, words in RESULTS.items()
    }
    counts = [f"{len(ids)} {words} ({', '.join(ids)})" for words, ids in ids_by_result.items() if ids]
    if counts:
        tests = "falsification test that is" if len(computed) == 1 else "falsification tests that are"
        yield Statement(f"Of {len(computed)} {tests} computed, {', '.join(counts)}.")
