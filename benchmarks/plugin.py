"""An engine without weights, as a plug-in that pip would have installed: it answers from the digest of a
call, so that what a study takes and what it survives can be tried without a model."""

from pathlib import Path

BY_DIGEST = '''
import os
from gridc.runtime.engines.protocol import Answer, Batch, AnsweredBatch, Spending

class ByDigest:
    """Answers A or B by the call's digest, in batches of `size` calls."""
    replicable = True
    size = 4
    def __init__(self, name, identity, precision, settings, waived):
        self.name = name
    def effective(self):
        return {"answers": "by digest"}
    def batches(self, calls):
        starts = range(0, len(calls), self.size)
        return [Batch(tuple(call.id for call in calls[at:at + self.size]), self.size, None) for at in starts]
    def answers(self, tasks, admit):
        for task in tasks:
            if not admit(task):
                return
            self.begin(task.batch)
            made = [self.answer(call) for call in task.batch.calls if call in task.unanswered]
            yield AnsweredBatch(task, made, Spending(0.0, {"calls": len(made)}))
    def begin(self, batch):
        pass
    def answer(self, call):
        text = "Answer: " + "AB"[int(call, 16) % 2]
        content = {"text": text, "tokens": [1], "finish": "stop", "near_ties": 0}
        return Answer(call, content, {"prompt": "?"}, {"prompt_tokens": 1, "completion_tokens": 1}, 0.0)
    def least(self, answered):
        return {"calls": sum(1 for _ in answered)}
    def rest(self):
        pass
    def close(self):
        pass
'''


def write_plugin(folder: Path, name: str, code: str) -> None:
    """The plug-in `name` in a folder for PYTHONPATH; `code` derives its class `Engine` from `ByDigest`."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text(BY_DIGEST + code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[gridc.engines]\n{name} = {name}:Engine\n")
