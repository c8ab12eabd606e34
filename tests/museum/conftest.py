"""The rooms of the museum: a small sound study, and what an exhibit changes in it."""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.synthetic import Said, fill
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.frontend.lookup import BUILTIN_MODELS
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.diagnostics.errors import GridcError
from tests import studies
from tests.replaced import replaced
from tests.studies import Finished, Script, Scripted
from tools.servers.http import Server

SOUND = """\
gridcard = 1

[study]
id = "exhibit"
title = "An exhibit"
purpose = "descriptive"

[[model]]
id = "pocket"
engine = "hf"
source = "builtin:pocket-llama"

[[benchmark]]
id = "facts"
loader = "truthfulqa_mc1"
source = "path:facts.json"
direction = "higher_is_better"
sample = { n = 48, seed = 1 }
option_order = "shuffled:1"
exemplars = { pool = "rest", seed = 1 }

[harness]
method = "extract"

[[axis]]
id = "template"

[[axis.level]]
id = "plain"
tier = "core"
prompt = "builtin:T1"
provenance = "the museum's"
"""


@dataclass
class Room:
    """A folder with a sound study. `codes` gives what is found wrong with it. A study in its place waives the
    hazard `waived`."""

    folder: Path
    waived: str = ""

    @property
    def spec(self) -> Path:
        return self.folder / "gridcard.toml"

    def change(self, *edits: tuple[str, str]) -> "Room":
        """Replace texts of the spec, each of which must stand there once."""
        self.spec.write_text(replaced(self.spec.read_text("utf-8"), *edits), "utf-8")
        return self

    def file(self, name: str, text: str) -> "Room":
        (self.folder / name).write_text(text, "utf-8")
        return self

    def facts(self, options: int = 4, exemplars: int = 8) -> "Room":
        """Items in TruthfulQA's format, the true option first as upstream has it."""
        rows = [
            {
                "question": f"Which tool is number {number}?",
                "mc1_targets": {f"The tool {number} of bench {k}.": int(k == 0) for k in range(options)},
            }
            for number in range(48 + exemplars)
        ]
        return self.file("facts.json", json.dumps(rows))

    def model(self) -> Path:
        """A copy of the model in the room, to be damaged. Its folder."""
        copy = self.folder / "models" / "copy"
        shutil.copytree(BUILTIN_MODELS / "pocket-llama", copy)
        self.change(('"builtin:pocket-llama"', '"path:models/copy"'))
        return copy

    def asked(
        self, spec: str, rows: Iterable[object], say: Script, *models: str, finish: str = "stop"
    ) -> Finished:
        """Another study, whose models say what a script says, after stamp, run and report. `spec` is what
        follows the models in it, one if no names are given."""
        with Server(Scripted(say, finish)) as server:
            named = studies.behind(server.url, *(models or ("said",)), version="-2026-01-01")
            return studies.carried_out(studies.written(self.folder, self._head(named) + spec, rows))

    def filled(self, spec: str, rows: Iterable[object], say: Said, *models: str) -> Finished:
        """The same where a function says what is stored, without a call: of hundreds of items."""
        named = studies.pocket(**dict(zip(models or ("said",), ("llama", "mistral", "qwen2"), strict=False)))
        study = studies.written(self.folder, self._head(named) + spec, rows)
        study.store.parent.mkdir(parents=True)
        fill(self.compiled(), study.store, say)
        study.report()
        return Finished(study)

    def _head(self, models: Mapping[str, str]) -> str:
        return studies.head("exhibit", models, waived=self.waived)

    def compiled(self) -> Compiled:
        return compile_spec(self.spec)

    def codes(self, tokens: bool = False) -> set[str]:
        """What compiling it and trying its instrument finds; with `tokens` also what its engine finds."""
        try:
            compiled = self.compiled()
            prove_hazards(compiled.study, compiled.source)
            if tokens:
                from gridc.runtime.run import preflight

                preflight(compiled)
        except GridcError as error:
            return {each.code for each in error.diagnostics}
        return set()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    made = Room(tmp_path)
    made.spec.write_text(SOUND, "utf-8")
    return made.facts()


MakeRoom = Callable[[], Room]
