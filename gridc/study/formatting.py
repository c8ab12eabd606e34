"""A spec in one way of writing it."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from gridc.compiler.frontend.formatting import formatted
from gridc.compiler.frontend.source import read_source
from gridc.files import write_atomic
from gridc.study.place import Place


@dataclass(frozen=True, slots=True)
class FormattedSpec:
    """The spec at `path` as it is written now: its `text`, and how many `lines` of it are new or gone."""

    path: Path
    text: str
    lines: int

    def as_json(self) -> dict[str, Any]:
        return {"path": str(self.path), "lines": self.lines}


def format_spec(place: Place, check: bool) -> FormattedSpec:
    """Write the spec again; with `check` only say what would be written. Raises `SpecError` for a text that
    is no TOML."""
    source = read_source(place.spec)
    text = formatted(source.text)
    blocks = SequenceMatcher(None, source.text.splitlines(), text.splitlines(), False).get_opcodes()
    lines = sum(max(b - a, d - c) for kind, a, b, c, d in blocks if kind != "equal")
    if text != source.text and not check:
        path = place.spec.resolve()
        write_atomic(path, text, path.stat().st_mode & 0o777)
    return FormattedSpec(place.spec, text, lines or int(text != source.text))
