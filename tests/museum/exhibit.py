"""What an exhibit of the museum is, and how a check is taken away."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

from gridc.compiler.instrument import readers
from gridc.compiler.instrument import score as scoring
from gridc.compiler.instrument.extract import Extraction
from gridc.compiler.preflight import hazards, oracles

Patch = Callable[[MonkeyPatch], object]


@dataclass(frozen=True)
class Exhibit:
    """A defect and its source. `caught` is the code that must find it, or the property that rules it out;
    `found` says what is caught in a room; `remove` takes the one check away."""

    id: str
    defect: str
    source: str
    caught: str
    found: Callable[[Any, MonkeyPatch], set[str]]
    remove: Patch


EXHIBITS: list[Exhibit] = []
FINDINGS = "Safety Under Scaffolding, released code"
REPRO = "SafetyRepro, app. M"
EARLIER = "an earlier gridc"


def exhibit(defect: str, source: str, caught: str, remove: Patch) -> Callable[..., Callable[..., set[str]]]:
    def enter(found: Callable[[Any, MonkeyPatch], set[str]]) -> Callable[..., set[str]]:
        name = found.__name__.replace("_", "-")
        EXHIBITS.append(Exhibit(name, defect, source, caught, found, remove))
        return found

    return enter


def without_setting_check(name: str) -> Patch:
    def remove(patch: MonkeyPatch) -> None:
        kept = tuple(each for each in hazards.SETTING_CHECKS if each.__name__ != name)
        assert len(kept) == len(hazards.SETTING_CHECKS) - 1
        patch.setattr(hazards, "SETTING_CHECKS", kept)

    return remove


def without(module: object, name: str, instead: object = lambda *_: iter(())) -> Patch:
    def remove(patch: MonkeyPatch) -> None:
        patch.setattr(module, name, instead)

    return remove


def without_oracles(code: str) -> Patch:
    """No responder whose failure has this code."""

    def patch_it(patch: MonkeyPatch) -> None:
        kept = tuple(oracle for oracle in oracles.ORACLES if oracle.code != code)
        assert len(kept) < len(oracles.ORACLES)
        patch.setattr(oracles, "ORACLES", kept)

    return patch_it


def without_refusal(patch: MonkeyPatch) -> None:
    """An engine that finds a hazard and goes on."""
    from gridc.runtime.engines.hf.prompts import Prompts

    patch.setattr(Prompts, "_refuse", lambda *_: None)


def reading(patch: MonkeyPatch, read: Callable[[str, Sequence[str], bool, str], Extraction]) -> None:
    """Put another extractor into the instrument."""
    patch.setattr(scoring, "READERS", {**readers.READERS, "last_answer": read})


def begin_with_bos(folder: Path) -> None:
    """Let a model's tokenizer put BOS before plain text, as those of Llama and Mistral do."""
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text("utf-8"))
    bos = "<|begin_of_text|>"
    (number,) = (each["id"] for each in tokenizer["added_tokens"] if each["content"] == bos)
    first = {"SpecialToken": {"id": bos, "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [first, text],
        "pair": [first, text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {bos: {"id": bos, "ids": [number], "tokens": [bos]}},
    }
    path.write_text(json.dumps(tokenizer), "utf-8")
