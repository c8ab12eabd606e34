"""A small package with one plug-in of each kind, as pip would have installed it."""

import importlib
import sys
from pathlib import Path

import pytest

CODE = '''
import json
import os
from gridc.compiler.inputs.loaders.files import BadRow, Malformed
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.scaffolds.turns import follow
from gridc.compiler.instrument.scaffolds.turns import Turn
from gridc.runtime.engines.protocol import Answer, Batch, AnsweredBatch, Spending

def load(file, loading):
    rows = json.loads(file.data)
    if "bad" in file.name:
        raise Malformed([BadRow(1, "it says bad")])
    if "broken" in file.name:
        raise RuntimeError("no such thing")
    if "strange" in file.name:
        return rows
    return [Item(row["question"], row["question"], tuple(row["mc1_targets"]), 0) for row in rows]

MEASURAND = {"title": "Last letter", "package": "acme", "task": "qa", "source": "acme.org", "loaders": [],
             "differs": [], "effects": {"method": "extract", "max_tokens": 3}}
NO_MEASURAND = {"title": "Nothing else"}

class Always:
    """An engine that answers A to everything."""
    def __init__(self, name, identity, precision, settings, waived):
        if precision == "bf16":
            raise RuntimeError("no bf16 here")
    def effective(self):
        return {"answers": "A"}
    def batches(self, calls):
        return [Batch((call.id,), 1, call) for call in calls]
    def answers(self, tasks, admit):
        content = {"text": "A", "tokens": [1], "finish": "stop", "near_ties": 0}
        for task in tasks:
            if not admit(task):
                return
            (call,) = task.unanswered
            made = Answer(call, content, {"prompt": "?"}, {"prompt_tokens": 1}, 0.0)
            yield AnsweredBatch(task, [made], Spending(0.0, {"calls": 1}))
    def least(self, answered):
        return {"calls": len(list(answered))}
    def rest(self):
        pass
    def close(self):
        pass

def circle(scaffold, task):
    """Asks twice, and falls over where it is told so."""
    messages = task.opening()
    (reply,) = yield (Turn("turn_0", messages),)
    if reply == "square":
        raise RuntimeError("not round")
    yield (Turn("turn_1", (*messages, ("assistant", reply), ("user", "again"))),)
    return "turn_1"

def moody(scaffold, task, ask):
    """Asks a second thing that is not in its code."""
    first = ask(task.opening())
    return ask((*task.opening(), ("assistant", first), ("user", os.environ.get("MOOD", "calm"))))

MOODY = follow(moody)
'''

OFFERS = """
[gridc.loaders]
facts = acme_gridc:load
bbq = acme_gridc:load
missing = acme_gridc:nothing
[gridc.engines]
always = acme_gridc:Always
[gridc.scaffolds]
circle = acme_gridc:circle
moody = acme_gridc:MOODY
[gridc.measurands]
last = acme_gridc:MEASURAND
half = acme_gridc:NO_MEASURAND
"""


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str = "acme-gridc",
    version: str = "1.2",
    offers: str = OFFERS,
    code: str = CODE,
) -> None:
    """Write the package and its metadata into a folder that is put on the path."""
    folder.mkdir(exist_ok=True)
    (folder / "acme_gridc.py").write_text(code)
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(offers)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "acme_gridc", raising=False)
    importlib.invalidate_caches()
