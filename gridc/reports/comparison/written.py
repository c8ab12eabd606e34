"""A comparison as files: Markdown for a pull request, JUnit, and findings for SARIF."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping

from gridc.compiler.frontend.source import Source
from gridc.diagnostics.errors import Diagnostic
from gridc.diagnostics.visible import DECEIVING
from gridc.reports.comparison import words
from gridc.reports.templates import render
from gridc.schema.comparison import ComparedBenchmark, ReleaseVerdict, RunComparison

MARKS: Mapping[ReleaseVerdict, str] = {
    "GO": "🟢",
    "NO-GO": "🔴",
    "INCONCLUSIVE": "⚪",
    "NOT COMPARABLE": "⛔",
}
LONGEST = 400
"""Characters of a prompt or an answer in Markdown: a comment on a pull request takes 65,536."""
TOO_LONG = 60_000
_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


def markdown(comparison: RunComparison) -> str:
    """For a comment on a pull request. Where the texts of flips make it too long, they are left out."""
    text = _markdown(comparison)
    if len(text) <= TOO_LONG:
        return text
    rows = [row.model_copy(update={"flips": ()}) for row in comparison.benchmarks]
    return _markdown(comparison.model_copy(update={"benchmarks": tuple(rows)}))


def _markdown(comparison: RunComparison) -> str:
    said = {
        name: value
        for name, value in vars(words).items()
        if callable(value) and value.__module__ == words.__name__
    }
    text = render("comparison.md.jinja", comparison=comparison, mark=MARKS, sign=_sign, fenced=fenced, **said)
    return re.sub(r"\n{3,}", "\n\n", DECEIVING.sub("�", text))


def _sign(row: ComparedBenchmark) -> str:
    if row.tier == "watch" or row.regression is None:
        return "👁"
    return {"yes": "🔴", "no": "🟢", "cannot tell": "⚪"}[row.regression]


def fenced(name: str, text: str | None) -> str:
    """A stranger's text as a block that it cannot leave; of a long one the end, where the question stands."""
    if text is None:
        return f"{name}: none\n"
    short = text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"
    longest = max((len(run) for run in re.findall(r"`+", short)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{name}:\n{fence}text\n{short}\n{fence}\n"


def junit(comparison: RunComparison) -> str:
    """One test case for the instrument and one for each gate. Worse is a failure, not comparable an error,
    and what cannot be told is skipped: a skipped test is not a passed one."""
    gates = [row for row in comparison.benchmarks if row.tier == "gate"]
    suite = ET.Element("testsuite", name="gridc compare")
    barred = comparison.verdict == "NOT COMPARABLE"
    instrument = ET.SubElement(suite, "testcase", classname="gridc.compare", name="same instrument")
    if barred:
        _outcome(instrument, "error", "NOT COMPARABLE", "; ".join(comparison.reasons))
    for row in gates:
        case = ET.SubElement(
            suite, "testcase", classname=f"gridc.compare.{_clean(row.model)}", name=_clean(row.benchmark)
        )
        told = f"{sentence(row)}; {words.items(row)}"
        if barred:
            _outcome(case, "skipped", "NOT COMPARABLE", told)
        elif row.regression == "yes":
            _outcome(case, "failure", "worse", told)
        elif row.regression == "cannot tell":
            _outcome(case, "skipped", "cannot tell", told)
        ET.SubElement(case, "system-out").text = _clean(told)
    if undecided := _not_in_a_row(comparison):
        case = ET.SubElement(suite, "testcase", classname="gridc.compare", name="every gate")
        _outcome(case, "skipped", "cannot tell", undecided)
    counts = {
        "tests": len(suite.findall("testcase")),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    suite.attrib.update({name: str(count) for name, count in counts.items()})
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


def _outcome(case: ET.Element, kind: str, name: str, text: str) -> None:
    attributes = {"message": _clean(text)} if kind == "skipped" else {"message": _clean(text), "type": name}
    ET.SubElement(case, kind, attributes).text = _clean(text)


def _clean(text: str) -> str:
    return _XML.sub("�", text)


def sentence(row: ComparedBenchmark) -> str:
    """A benchmark in a line."""
    if row.score is None:
        return f"{row.name}: {row.why or 'no item has a score in both runs'}"
    limits = f" ({words.interval(row.score)})" if row.score.low is not None else ""
    margin = "" if row.margin is None else f"; worse by more than {row.margin:g} pp: {words.answer(row)}"
    return (
        f"{row.read_as}: {words.score(row.score.a, row.score.a_bounds)} -> "
        f"{words.score(row.score.b, row.score.b_bounds)}, {words.moved(row.score)} pp"
        f"{limits}, {row.lost} lost and {row.won} won of {words.size(row)}{margin}"
    )


def findings(comparison: RunComparison, policy: Source | None) -> Iterator[Diagnostic]:
    """What is worse (GC751), undecided (GC752) or not comparable (GC753), at its place in the policy."""
    if comparison.verdict == "NOT COMPARABLE":
        message = "; ".join(comparison.reasons)
        yield _at(policy, None, "GC753", message, "what you compare stands in `may_differ` of a policy")
        return
    for row in comparison.regressed:
        yield _at(policy, row, "GC751", sentence(row), "the comparison lists the items that were lost")
    if undecided := _not_in_a_row(comparison):
        yield _at(policy, None, "GC752", undecided, None)
    for row in comparison.undecided:
        yield _at(policy, row, "GC752", sentence(row), words.sight(row, comparison.changing))


def _not_in_a_row(comparison: RunComparison) -> str | None:
    """Why there is no GO, where no benchmark that was compared says it."""
    decided = comparison.verdict != "INCONCLUSIVE" or comparison.undecided
    return None if decided else "; ".join(comparison.reasons)


def _at(
    policy: Source | None, row: ComparedBenchmark | None, code: str, message: str, help: str | None
) -> Diagnostic:
    if policy is None:
        return Diagnostic(code, message, help=help)
    stated = policy.values.get("benchmark", ())
    place = next(
        (number for number, one in enumerate(stated) if row is not None and one.get("id") == row.benchmark),
        None,
    )
    if place is not None:
        return policy.diagnose(code, ("benchmark", place, "id"), message, help)
    return policy.diagnose(code, ("may_differ",) if code == "GC753" else ("margin",), message, help)
