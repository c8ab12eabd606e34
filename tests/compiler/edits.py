"""Small edits of the small spec, and how a test reads the findings that they cause."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gridc.compiler.compile import Compiled
from gridc.diagnostics.errors import Diagnostic, SpecError

Edits = tuple[tuple[str, str], ...]
Compile = Callable[..., Compiled]


def findings(compiled: Compile, *edits: tuple[str, str], data: Path | None = None) -> list[Diagnostic]:
    with pytest.raises(SpecError) as caught:
        compiled(*edits, data=data)
    return list(caught.value.diagnostics)


def under_caret(diagnostic: Diagnostic) -> str:
    assert diagnostic.file is not None
    assert diagnostic.span is not None
    line = Path(diagnostic.file).read_text("utf-8").split("\n")[diagnostic.span.line - 1]
    return line[diagnostic.span.column - 1 : diagnostic.span.column - 1 + diagnostic.span.length]


def assert_finding(found: list[Diagnostic], code: str, caret: str, help: str) -> None:
    """One finding of this code, on one line, with this under its caret and this in its help."""
    assert [each.code for each in found] == [code]
    assert under_caret(found[0]) == caret
    assert help in (found[0].help or "")
    assert found[0].message
    assert "\n" not in found[0].message


# what tests replace in the small spec
EXCLUDED = '{ scoring = "rank", decoding = { not = "greedy" } }'
INLINE = "{{ question }}\\nAnswer:{{ answer }}"
FILE = '"path:prompts/mine.jinja"'
FACTS = '"path:facts.json"'
LEFT = '"path:models/left"'
CALM = '{ decoding = "greedy" }'
TESTED = '{ benchmark = "facts" }'
TITLE = 'title = "Two models on invented items"'
