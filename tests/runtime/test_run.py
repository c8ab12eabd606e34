"""What a run refuses before it has executed anything."""

import sys
from typing import Any

import pytest

from gridc.compiler.inputs.models import ModelIdentity
from gridc.diagnostics.errors import IncompleteError
from gridc.runtime.engines import opener
from gridc.runtime.store.events import ModelLoaded
from gridc.schema.spec import Engine


def test_a_local_model_without_torch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("gridc.runtime.engines")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(IncompleteError, match="GC604"):
        opener("hf")("any", ModelIdentity("builtin:any"), "fp32", Engine(), frozenset())


def test_a_hub_model_without_a_commit_is_told() -> None:
    from gridc.runtime.engines.hf.download import folder_of

    with pytest.raises(IncompleteError, match="GC606"):
        folder_of("any", ModelIdentity("hf:nobody/nothing", unpinned="no commit is known here"))


def test_a_load_event_says_in_words_how_calls_were_computed() -> None:
    paths = {"forest": {"up_to": 64, "why": None}, "cached": {"up_to": None, "why": "it sees 64 tokens back"}}
    stated: dict[str, Any] = {"stamp": "s", "identity": "i", "model": "m", "precision": "fp32"}
    load = ModelLoaded(**stated | {"paths": paths})
    assert load.computed == ("forest up to 64 tokens", "cached (it sees 64 tokens back)")
    assert ModelLoaded(**stated).computed == ()
    assert load.ran["paths"] == paths
