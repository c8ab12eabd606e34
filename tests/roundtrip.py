"""A plug-in of pytest: of every study that a test reports, the bundle has to verify, and the logs that it is
exported as have to say what it says.

`pytest -p tests.roundtrip FILES` appends a line for each to the file that ROUNDTRIP names.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import gridc
from gridc.reports.exchange.bundle import verify_bundle
from gridc.study import OpenStudy

DOCUMENTS = (
    "certificate.json", "estimates.json", "gridcard.json", "gridcard.md", "report.html", "scorecard.html",
    "scorecard.json", "scorecard.md", "tables.tex",
)  # fmt: skip
_report = OpenStudy.report


def differing(study: OpenStudy, results: Path, folder: Path) -> list[str]:
    """What the logs of a study say otherwise than its results; `judges` alone of a study with judges."""
    found = gridc.certify([study.export("every-eval-ever", folder / "eee")])
    if found.study is None:
        return ["judges"]
    found.write(folder / "out")
    return [
        name for name in DOCUMENTS if (folder / "out" / name).read_bytes() != (results / name).read_bytes()
    ]


def report(self: OpenStudy, *given: Any, **named: Any) -> Any:
    written = _report(self, *given, **named)
    line: dict[str, Any] = {"test": os.environ.get("PYTEST_CURRENT_TEST"), "bundle": None, "logs": []}
    with tempfile.TemporaryDirectory() as folder:
        try:
            verify_bundle(self.export("bundle", Path(folder) / "bundle"))
        except gridc.GridcError as error:
            line["bundle"] = str(error)[:300]
        line["logs"] = differing(self, next(iter(written.files)).parent, Path(folder))
    with Path(os.environ["ROUNDTRIP"]).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")
    return written


def pytest_configure() -> None:
    OpenStudy.report = report  # type: ignore[method-assign]
