"""Kill every command of a study's life, and see that nothing is lost, repeated or changed.

    python -m tests.durability.kills --kills 1000 --seed 1

A fifth of the kills come at a system call that writes, drawn from all that the command makes; the others, and
all where strace is not installed, at a random instant of its time. After each: `verify` never says that
something was changed and never traces back; no answered call is asked again; the same command, given again,
comes to what it comes to undisturbed. One line of JSON says what was seen.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp

from tests.durability.forks import command, warm
from tests.durability.life import (
    LIFE,
    STORE,
    Command,
    copy,
    environment,
    in_memory,
    write_engine,
    write_study,
)

HONEST = frozenset((0, 6))
"""What `verify` may answer after a kill of a stamped study: right, or incomplete. Never: changed."""
TRACED = 5
"""One in so many kills comes at a system call."""


class Life:
    """A life that nothing disturbs, until all that is named is done: a folder for each command, all before it
    done, and what it comes to."""

    def __init__(self, folder: Path, names: Collection[str]) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        write_engine(folder / "engine")
        os.environ.update(environment(folder / "engine", self.notes))
        sys.path.insert(0, str(folder / "engine"))
        self.before: dict[str, Path] = {}
        self.seconds: dict[str, float] = {}
        self.expected: dict[str, Mapping[str, str]] = {}
        lived = LIFE[: 1 + max(n for n, step in enumerate(LIFE) if step.name in names)]
        write_study(folder / "warm")
        warm([step.arguments for step in lived], folder / "warm")
        study = folder / "life"
        write_study(study)
        for step in lived:
            self.before[step.name] = copy(study, folder / f"before-{step.name}")
            ended = command(step.arguments, study)
            assert ended.code == 0, (step.name, ended)
            self.seconds[step.name] = ended.seconds
            self.expected[step.name] = outcome(study, step)


def outcome(study: Path, step: Command) -> dict[str, str]:
    """What a command came to: the files that it must write alike, and the digests of the stores."""
    found = {name: hashlib.sha256((study / name).read_bytes()).hexdigest() for name in step.made}
    lock = study / "gridcard.lock"
    if lock.exists():
        found["stamp"] = json.loads(lock.read_text())["stamp"]
    for name in (STORE, "a/store.sqlite", "b/store.sqlite"):
        if (study / name).exists():
            found[name] = answers(study / name)
    return found


def answers(store: Path) -> str:
    """A digest of the answers and scores of a store, straight from SQLite."""
    rows = answered(store)
    with closing(sqlite3.connect(store)) as db:
        scores = db.execute(
            "SELECT c.model, c.benchmark, c.configuration, s.item, s.replicate, s.score FROM sample s "
            "JOIN cell c ON c.id = s.cell ORDER BY 1, 2, 3, 4, 5"
        ).fetchall()
    return hashlib.sha256(repr((sorted(rows.items()), scores)).encode()).hexdigest()


def answered(store: Path) -> dict[str, str]:
    """The answered calls of a store, with their answers."""
    if not store.exists():
        return {}
    with closing(sqlite3.connect(store)) as db:
        try:
            return dict(db.execute("SELECT id, answer FROM call WHERE answer IS NOT NULL"))
        except sqlite3.OperationalError:  # killed before the tables were made
            return {}


Place = tuple[str, int]
"""The n-th call of a system call."""

WRITES = ("pwrite64", "ftruncate")
"""What SQLite changes its files by. Text files are written by `write`, as the terminal is: those are known by
what follows, the sync and the rename."""
SYNCS = ("fsync", "fdatasync")
NAMES = ("rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "link", "linkat")


def places(life: Life, step: Command, calls: Sequence[str]) -> list[Place]:
    """Every one of these system calls that the command makes, undisturbed."""
    folder = Path(mkdtemp(dir=life.folder))
    study, log = copy(life.before[step.name], folder / "counted"), folder / "log"
    ended = command(step.arguments, study, strace=("-e", f"trace={','.join(calls)}", "-o", str(log)))
    assert ended.code == 0, ended
    made = Counter(re.findall(r"^(?:\d+ +)?(\w+)\(", log.read_text(), re.MULTILINE))
    shutil.rmtree(folder)
    return [(name, n) for name in calls for n in range(1, made[name] + 1)]


def kill_once(life: Life, step: Command, at: float | Place, trial: Path) -> str:
    """One kill at a share of the command's time, or at a system call, and what follows. Says what was
    killed."""
    study = copy(life.before[step.name], trial / "study")
    if isinstance(at, float):
        killed = command(step.arguments, study, kill_after=at * life.seconds[step.name])
    else:
        call, n = at
        inject = ("-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={n}", "-o", "/dev/null")
        killed = command(step.arguments, study, strace=inject)
    stores = [study / name for name in (STORE, "a/store.sqlite")]
    known = [answered(store) for store in stores]
    checked = command(("verify",), study)
    assert checked.code in HONEST or not (study / "gridcard.lock").exists(), (step.name, at, checked)
    assert not checked.traced, (step.name, checked)
    asked_before = asked(life)
    again = command(step.arguments, study)
    if again.code != 0 and step.name in ("init", "bundle"):  # what is whole is not overwritten unasked
        assert killed.code in (0, -9), killed
        assert "already" in again.text, (step.name, again)
    else:
        assert again.code == 0, (step.name, at, again)
    asked_again = asked(life) - asked_before
    for store, before in zip(stores, known, strict=True):
        after = answered(store)
        assert before.items() <= after.items(), (step.name, at, "an answer was lost or changed")
    if step.name == "run":
        twice = [call for call in known[0] if asked_again[call]]
        assert not twice, (at, "asked again although answered", twice)
    assert outcome(study, step) == life.expected[step.name], (step.name, at)
    if step.name == "bundle":
        assert command(("verify", "bundle"), study).code == 0
    elif step.name in ("report", "attach"):
        assert command(("verify",), study).code == 0
    shutil.rmtree(trial)
    return "finished first" if killed.code != -9 else "killed"


def asked(life: Life) -> Counter[str]:
    """How often the engine was asked each call."""
    return Counter(life.notes.read_text().split()) if life.notes.exists() else Counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--command", choices=[step.name for step in LIFE], action="append")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance, seen = random.Random(given.seed), Counter[str]()
    traced = shutil.which("strace") is not None
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        steps = [step for step in LIFE if step.name in (given.command or [step.name])]
        life = Life(Path(folder), [step.name for step in steps])
        calls = {step.name: places(life, step, (*WRITES, *SYNCS, *NAMES)) for step in steps if traced}
        for number in range(given.kills):
            (step,) = chance.choices(steps, [step.weight for step in steps])
            at = chance.choice(calls[step.name]) if traced and number % TRACED == 0 else chance.random()
            trial = Path(folder) / f"trial-{number}"
            trial.mkdir()
            how = "at an instant" if isinstance(at, float) else "at a system call"
            seen[f"{step.name}: {kill_once(life, step, at, trial)} {how}"] += 1
            if number % 50 == 49:
                print(f"{number + 1} of {given.kills}, {_spent():.0f} s of the processor", file=sys.stderr)
    print(json.dumps({"kills": given.kills, "seed": given.seed, "seconds": round(_spent()), **seen}))


def _spent() -> float:
    """Seconds of the processor, of this process and its children."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
