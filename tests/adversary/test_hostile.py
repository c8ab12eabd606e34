"""No file of a model hangs, swells or crashes a command, whatever it says."""

from pathlib import Path

import pytest
from _pytest.monkeypatch import MonkeyPatch

from gridc import confined
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import GridcError
from gridc.runtime.run import preflight
from tests.adversary.hostile import HOSTILE
from tests.adversary.studies import write_study
from tests.museum.conftest import Room

HARMLESS = {
    "regex-that-backtracks",
    "regex-that-looks-ahead",
    "decoder-that-swells",
    "tokenizer-of-another-class",
}
"""Those that do no harm to the prompts of this study, or are read as they are meant."""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_every_command_ends_with_a_code_or_well(name: str, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setattr(confined, "SECONDS", 10.0)
    monkeypatch.setattr(confined, "MEMORY", 2**30)
    write_study(tmp_path)
    room = Room(tmp_path)
    HOSTILE[name](room.model())
    try:
        compiled = room.compiled()
        Plan(compiled.study).manifest()
        preflight(compiled)
        codes = set()
    except GridcError as error:
        codes = {each.code for each in error.diagnostics}
    assert codes <= {"GC314", "GC606", "GC619", "GC620"}
    assert bool(codes) != (name in HARMLESS), codes


def test_there_are_many_of_them() -> None:
    assert len(HOSTILE) >= 25
