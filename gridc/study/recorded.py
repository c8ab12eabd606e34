"""Logs of other packages -> what they certify: the call behind `gridc certify --from`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.inputs.logs import read_logs
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.files import write_atomic
from gridc.reports.recorded import words
from gridc.reports.recorded.document import certificate
from gridc.schema.base import ALPHA
from gridc.schema.recorded import LogBenchmarkRow, LogCertificate

__all__ = ["LogBenchmarkRow", "LogCertificate", "LogReport", "certify", "words"]


@dataclass(frozen=True, slots=True, repr=False)
class LogReport:
    """What logs certify, and how that is written down."""

    certificate: LogCertificate

    def as_json(self) -> dict[str, Any]:
        return self.certificate.model_dump(mode="json")

    def markdown(self) -> str:
        return words.markdown(self.certificate)

    def html(self) -> str:
        """One page, which loads nothing and runs no script."""
        from gridc.reports.recorded.page import page

        return page(self.certificate)

    def __repr__(self) -> str:
        return self.markdown()

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def write(self, folder: Path) -> list[Path]:
        """Write `logs.json`, `logs.md` and the page `logs.html` into a folder; their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n"
        contents = {"logs.json": text, "logs.md": self.markdown(), "logs.html": self.html()}
        for name, content in contents.items():
            write_atomic(folder / name, content)
        return [folder / name for name in contents]


def certify(
    logs: Sequence[Path],
    reading: str | None = None,
    benchmarks: Mapping[str, Iterable[str]] | None = None,
    may_differ: Iterable[str] = (),
    alpha: float = ALPHA,
    models: Mapping[str, Iterable[str]] | None = None,
) -> LogReport:
    """Raises `UsageError` for a reading, a task, a model or an axis that no log has, and `FileError` for what
    is wrong in a log."""
    tasks, same = (
        {alias: name for name, aliases in (stated or {}).items() for alias in aliases}
        for stated in (benchmarks, models)
    )
    read = read_logs(logs, tasks, same)
    axes = {axis for gathered in read.runs for axis in gathered.run.axes}
    readings = {name for gathered in read.runs for name in (*gathered.run.readings, *gathered.columns)}
    names = {gathered.run.benchmark for gathered in read.runs}
    for stated, known, what in (
        ([] if reading is None else [reading], readings, "reading"),
        (may_differ, axes, "axis"),
        (benchmarks or {}, names, "benchmark"),
        (models or {}, {gathered.run.model for gathered in read.runs}, "model"),
    ):
        for name in stated:
            if name not in known:
                help = f"known: {', '.join(sorted(known)[:12])}"
                raise UsageError([Diagnostic("GC000", f"no log has the {what} `{name}`", help=help)])
    return LogReport(certificate(read, reading, may_differ, alpha))
