"""Every document of a study from its store, and a study of few answers whose numbers are tied.

python -m tests.reports.documents SPEC     # prints them as JSON: a process with other kernels makes them
"""

import json
import sys
from pathlib import Path

from gridc.compiler.compile import compile_spec
from gridc.compiler.grid.cells import Cell
from gridc.reports.certificate import certificate_of
from gridc.reports.files import drawings, file_texts
from gridc.reports.findings.findings import all_findings
from gridc.reports.rendering import certificate_html, findings_html
from gridc.reports.statements import statement_texts
from gridc.runtime.store.store import Store
from tests.e2e.test_published_counts import SAFE, UNREADABLE, UNSAFE, imported, write

CURVE = """\
[[fork]]
id = "reading"
category = "data"
levels = ["itt", "pp"]
default = "itt"
binds = "analysis.outcome"
[[curve]]
id = "curve"
forks = ["reading"]
declared = "ex_ante"
hypotheses = ["H1c"]
"""


def tied(folder: Path) -> Path:
    """The spec of a finished study. Model and benchmark move as many answers, so that their shares of the
    variance are one number; scaffolds and all interactions move none, so that theirs are 0."""
    spec = write(folder, ["bee", "ant"], {"two": 12, "one": 12}, CURVE)

    def said(cell: Cell, number: int) -> str:
        right = 5 + 2 * (cell.model == "ant") + 2 * (cell.benchmark == "one")
        return UNREADABLE if number == 11 else SAFE if number < right else UNSAFE

    imported(spec, said)
    return spec


def documents(spec: Path) -> dict[str, str]:
    """Every file of the report, every figure, and what a notebook shows, by name."""
    compiled = compile_spec(spec, None)
    assert compiled.lock is not None
    store = next(spec.parent.rglob("store.sqlite"))
    with Store.open(store) as opened:
        findings = all_findings(compiled, compiled.lock, opened)
    certificate = certificate_of(findings)
    leading, limits = statement_texts(findings, "leading"), statement_texts(findings, "limits")
    return {
        **file_texts(findings),
        **drawings(findings),
        "sentences": "\n".join([*leading, *statement_texts(findings, "variance"), *limits]),
        "certificate in a notebook": certificate_html(certificate),
        "findings in a notebook": findings_html(certificate, leading, limits),
    }


if __name__ == "__main__":
    print(json.dumps(documents(Path(sys.argv[1]))))
