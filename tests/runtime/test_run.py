"""What a run refuses before it has executed anything."""

import sys
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.inputs.models import ModelIdentity
from gridc.diagnostics.errors import IncompleteError, UnavailableError
from gridc.runtime.engines import opener
from gridc.runtime.store.events import ModelLoaded
from gridc.schema.spec import EngineSettings
from gridc.study import OpenStudy
from tests.durability.life import environment, write_engine, write_study


def test_a_local_model_without_torch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("gridc.runtime.engines")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(IncompleteError, match="GC604"):
        opener("hf")("any", ModelIdentity("builtin:any"), "fp32", EngineSettings(), frozenset())


def test_a_hub_model_without_a_commit_is_told() -> None:
    from gridc.runtime.engines.hf.loading import folder_of

    with pytest.raises(IncompleteError, match="GC606"):
        folder_of("any", ModelIdentity("hf:nobody/nothing", unpinned="no commit is known here"))


def test_a_load_event_says_in_words_how_calls_were_computed() -> None:
    paths = {"forest": {"up_to": 64, "why": None}, "cached": {"up_to": None, "why": "it sees 64 tokens back"}}
    stated: dict[str, Any] = {"stamp": "s", "identity": "i", "model": "m", "precision": "fp32"}
    load = ModelLoaded(**stated | {"paths": paths})
    assert load.computed == ("forest up to 64 tokens", "cached (it sees 64 tokens back)")
    assert ModelLoaded(**stated).computed == ()
    assert load.ran["paths"] == paths


def test_engines_are_closed_when_a_run_stops_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine of the first model fails at its second task; that of the second has only been loaded."""
    write_engine(tmp_path / "engine")
    write_study(tmp_path / "study")
    code = tmp_path / "engine" / "noted.py"
    close = """def close(self):
        with open(os.environ["GRIDC_TEST_NOTES"], "a") as notes:
            notes.write(f"closed {self.name}\\n")"""
    failing = code.read_text().replace("def close(self):\n        pass", close)
    code.write_text(failing.replace("for task in tasks:", "for task in [tasks[0], None]:"))
    for name, value in environment(tmp_path / "engine", tmp_path / "notes").items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(tmp_path / "engine"))
    with pytest.raises(UnavailableError, match="GC342"):
        OpenStudy(tmp_path / "study" / "gridcard.toml").run()
    sys.modules.pop("noted")
    notes = (tmp_path / "notes").read_text().splitlines()
    assert sorted(set(notes[4:])) == ["closed one", "closed two"]
