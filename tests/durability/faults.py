"""Let each write of a study's life fail, or be the last: a full disk, a broken one, a kill at a system call.

    python -m tests.durability.faults --command run --fault ENOSPC            # each write in turn
    python -m tests.durability.faults --command run --fault SIGKILL --most 20 # twenty of them, drawn

strace counts the system calls of an undisturbed command that change a file, and then makes the n-th fail. The
command must end with a coded error and no traceback, `verify` must not say that anything was changed, and the
command, given again, must come to what it comes to undisturbed.
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.durability.forks import command
from tests.durability.kills import HONEST, NAMES, SYNCS, WRITES, Life, Place, answered, outcome, places
from tests.durability.life import LIFE, STORE, Command, copy, in_memory

FAULTS = {
    "ENOSPC": (WRITES, "error=ENOSPC:when={n}+"),
    "EIO": (WRITES, "error=EIO:when={n}"),
    "EIO-sync": (SYNCS, "error=EIO:when={n}"),
    "EIO-name": (NAMES, "error=EIO:when={n}"),
    "SIGKILL": ((*WRITES, *SYNCS, *NAMES), "signal=SIGKILL:when={n}"),
}
"""By name: the system calls, and what happens at the n-th of them."""


def fail_once(life: Life, step: Command, fault: str, at: Place, trial: Path) -> str:
    """One system call fails. Says what the user was told."""
    call, n = at
    study = copy(life.before[step.name], trial / "study")
    inject = f"inject={call}:{FAULTS[fault][1].format(n=n)}"
    hurt = command(step.arguments, study, strace=("-e", f"trace={call}", "-e", inject, "-o", "/dev/null"))
    place = (step.name, fault, at)
    assert not hurt.traced, (place, hurt)
    if fault != "SIGKILL":
        assert hurt.code in (0, 4, 6), (place, hurt)
    known = answered(study / STORE)
    checked = command(("verify",), study)
    assert not checked.traced, (place, checked)
    assert checked.code in HONEST or not (study / "gridcard.lock").exists(), (place, hurt, checked)
    again = command(step.arguments, study)
    assert again.code == 0 or "already" in again.text, (place, again)
    assert known.items() <= answered(study / STORE).items(), (place, "an answer was lost or changed")
    assert outcome(study, step) == life.expected[step.name], (place, hurt)
    return f"{step.name} {fault}: {'went on' if hurt.code == 0 else f'exit {hurt.code}'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--command", choices=[step.name for step in LIFE], action="append")
    parser.add_argument("--fault", choices=list(FAULTS), action="append")
    parser.add_argument("--most", type=int, help="Of each command and fault, so many, drawn. Default: all.")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    begun, chance, seen = time.monotonic(), random.Random(given.seed), Counter[str]()
    with tempfile.TemporaryDirectory(dir=in_memory()) as name:
        steps = [step for step in LIFE if step.name in (given.command or [step.name])]
        life = Life(Path(name), [step.name for step in steps])
        for step in steps:
            for fault in given.fault or FAULTS:
                folder = Path(name) / f"{step.name}-{fault}"
                folder.mkdir()
                found = places(life, step, FAULTS[fault][0])
                for at in chance.sample(found, min(given.most or len(found), len(found))):
                    trial = folder / f"{at[0]}-{at[1]}"
                    trial.mkdir()
                    seen[fail_once(life, step, fault, at, trial)] += 1
                    shutil.rmtree(trial)
                seen[f"{step.name} {fault}: places"] = len(found)
    print(json.dumps({"seconds": round(time.monotonic() - begun), **seen}, indent=1))


if __name__ == "__main__":
    main()
