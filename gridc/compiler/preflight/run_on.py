"""Base models that run on: which calls have nothing that ends them, and what would.

A model without a chat template has no turn that ends. Once it has answered it writes the next question of its
prompt. gridc's own readers end there (`instrument.own_part`). A stop string ends the answer for every reader,
and is advised, not added: a call is what the spec says, and a default that came later would change what older
stamps mean.
"""

from collections.abc import Iterator

from gridc.compiler.grid.cells import cells_of
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.own_part import question_cue
from gridc.compiler.instrument.setting import Setting
from gridc.schema.jsonschema import toml_value


def stops_advised(study: Study) -> Iterator[str]:
    """A sentence for each model that may run on, with the line that would stop it."""
    cues: dict[str, dict[str, None]] = {}
    bare: dict[str, None] = {}
    for cell in cells_of(study.spec):
        if not _may_run_on(cell.setting):
            continue
        cue = question_cue(study.prompts[cell.setting.prompt])
        if cue is None:
            bare[cell.model] = None
        else:
            cues.setdefault(cell.model, {})[cue] = None
    for model in dict.fromkeys((*cues, *bare)):
        why = f"{model} has no chat template and no `stop`, so that it may write a question after its answer"
        if model in cues:
            yield f"{why}; stop = {toml_value(list(cues[model]))} in [harness] ends its answers there"
        else:
            yield f"{why}; the template has no words before its question that could be a stop string"


def _may_run_on(setting: Setting) -> bool:
    """Whether nothing but the token limit ends a text that is generated."""
    generates = not setting.ranks and not METHODS[setting.method].one_token
    return generates and not setting.chat_template and not setting.stop and setting.scaffolding is None
