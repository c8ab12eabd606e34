"""Kill every command of a study's life at random instants, and see that nothing is lost, repeated or changed.

    python -m tests.durability.kills --kills 1000 --seed 1

After each kill: `verify` never says that something was changed and never traces back; no answered call is
asked again; and the same command, given again, comes to what it comes to undisturbed. One line of JSON says
what was seen.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tests.durability.forks import command, import_all
from tests.durability.life import LIFE, STORE, Command, copy, environment, write_engine, write_study

HONEST = frozenset((0, 6))
"""What `verify` may answer after a kill of a stamped study: right, or incomplete. Never: changed."""


class Life:
    """A life that nothing disturbs: a folder for each command, all before it done, and what it comes to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        write_engine(folder / "engine")
        os.environ.update(environment(folder / "engine", self.notes))
        sys.path.insert(0, str(folder / "engine"))
        self.before: dict[str, Path] = {}
        self.seconds: dict[str, float] = {}
        self.expected: dict[str, Mapping[str, str]] = {}
        study = folder / "life"
        write_study(study)
        for step in LIFE:
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


def kill_once(life: Life, step: Command, share: float, trial: Path) -> str:
    """One kill at a share of the command's time, and what follows. Says what was killed."""
    study = copy(life.before[step.name], trial / "study")
    killed = command(step.arguments, study, kill_after=share * life.seconds[step.name])
    stores = [study / name for name in (STORE, "a/store.sqlite")]
    known = [answered(store) for store in stores]
    checked = command(("verify",), study)
    assert checked.code in HONEST or not (study / "gridcard.lock").exists(), (step.name, share, checked)
    assert not checked.traced, (step.name, checked)
    asked_before = asked(life)
    again = command(step.arguments, study)
    if again.code != 0 and step.name in ("init", "bundle"):  # what is whole is not overwritten unasked
        assert killed.code in (0, -9), killed
        assert "already" in again.text, (step.name, again)
    else:
        assert again.code == 0, (step.name, share, again)
    asked_again = asked(life) - asked_before
    for store, before in zip(stores, known, strict=True):
        after = answered(store)
        assert before.items() <= after.items(), (step.name, share, "an answer was lost or changed")
    if step.name == "run":
        twice = [call for call in known[0] if asked_again[call]]
        assert not twice, (share, "asked again although answered", twice)
    assert outcome(study, step) == life.expected[step.name], (step.name, share)
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
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    import_all()
    begun, chance, seen = time.monotonic(), random.Random(given.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder))
        for number in range(given.kills):
            (step,) = chance.choices(LIFE, [step.weight for step in LIFE])
            trial = Path(folder) / f"trial-{number}"
            trial.mkdir()
            seen[f"{step.name}: {kill_once(life, step, chance.random(), trial)}"] += 1
    print(
        json.dumps(
            {"kills": given.kills, "seed": given.seed, "seconds": round(time.monotonic() - begun), **seen}
        )
    )


if __name__ == "__main__":
    main()
