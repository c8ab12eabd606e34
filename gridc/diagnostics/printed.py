"""A diagnostic as compilers print it: what, where, the line with a caret, and the way out."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol

from gridc.diagnostics.errors import Diagnostic
from gridc.diagnostics.visible import visible


class Paint(Protocol):
    """Colours a text (`fg`, `bold`), where that can be seen."""

    def __call__(self, text: str, **style: Any) -> str: ...


def unpainted(text: str, **style: Any) -> str:
    """The text as it is."""
    return text


def diagnostic(finding: Diagnostic, paint: Paint = unpainted) -> str:
    """One finding. What came from files is shown, never obeyed."""
    code = paint(f"error[{finding.code}]", fg="red", bold=True)
    lines = [f"{code}: {paint(visible(finding.message), bold=True)}"]
    if finding.file is not None:
        lines.append(f"  {paint('-->', fg='blue')} {visible(finding.place)}")
    if finding.line is not None and finding.span is not None:
        number, gap = str(finding.span.line), " " * len(str(finding.span.line))
        room = max(1, len(finding.line) - finding.span.column + 1)
        caret = " " * (finding.span.column - 1) + "^" * min(finding.span.length, room)
        lines += [f"{gap} |", f"{number} | {visible(finding.line)}", f"{gap} | {paint(caret, fg='red')}"]
    if finding.help:
        lines.append(f"   = {paint('help', fg='green')}: {visible(finding.help)}")
    return "\n".join(lines)


def diagnostics(findings: Sequence[Diagnostic], limit: int = 50, paint: Paint = unpainted) -> str:
    """All findings, or the first ones and how many there are of each further code."""
    text = "\n\n".join(diagnostic(finding, paint) for finding in findings[:limit])
    rest = sorted(finding.code for finding in findings[limit:])
    more = ", ".join(f"{len(list(same))} more {code}" for code, same in groupby(rest))
    codes = ", ".join(dict.fromkeys(finding.code for finding in findings))
    closing = f"{more} (--json lists all)" if more else ""
    return "\n\n".join(filter(None, [text, closing, f"`gridc explain CODE` says more about {codes}"]))
