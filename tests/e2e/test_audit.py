"""The human audit end to end: a sheet goes out, labels come back, and the numbers are those of a recount."""

import csv
import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

import gridc
from tests.e2e.conftest import command
from tests.recount.unit_limits import by_unit, limits

RESULTS = Path("results") / "small"


def fill(sheet: Path, to: Path) -> dict[str, str]:
    """Label as a careful person would who disagrees now and then; what was given, by UUID."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        labels = row["labels"].split(" | ")
        stated = [each for each in labels[:-1] if row["response"].lstrip("( ").startswith(each)]
        row["label"] = labels[number % len(labels)] if number % 4 == 0 else (stated or ["unreadable"])[0]
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return {row["uuid"]: row["label"] for row in rows}


def uuids(sheet: Path) -> set[str]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return {row["uuid"] for row in csv.DictReader(file)}


def test_labels_come_before_the_spec(study: Path) -> None:
    swapped = command("audit", "read", "gridcard.toml", "labels.csv", cwd=study)
    assert swapped.returncode == 2 and "audit read LABELS SPEC" in swapped.stderr


def test_an_audit_of_a_finished_study(study: Path) -> None:
    drawn = json.loads(command("audit", "sample", "-n", "40", "--json", cwd=study).stdout)
    assert drawn["responses"] == 40
    sheet = study / drawn["csv"]
    given = fill(sheet, study / "filled.csv")
    text = sheet.read_text("utf-8-sig")
    assert not any(name in text for name in ("qwen2", "llama", "T4", "sampled", "few_shot"))
    assert gridc.open(study / "gridcard.toml").verify().complete, "a sheet that is out changes no result"
    done = command("audit", "read", "filled.csv", "--json", cwd=study)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["findings"]

    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        events = [(kind, json.loads(body)) for kind, body in db.execute("SELECT kind, body FROM event")]
        samples = {
            (key, item, replicate): (choice, score)
            for key, item, replicate, choice, score in db.execute(
                "SELECT key, item, replicate, choice, score FROM sample JOIN cell ON cell.id = cell"
            )
        }
        gold = dict(db.execute("SELECT item, gold FROM shown"))
        nonce = db.execute("SELECT nonce FROM blinding").fetchone()[0]
    assert [kind for kind, body in events if body.get("about") == "audit-1"] == ["seal", "lock", "unblind"]
    assert [body["nonce"] for kind, body in events if kind == "unblind"] == [nonce]

    from gridc.runtime.blinding import name_of  # a recount of it is in tests/runtime/test_blinding.py

    places = {name_of(nonce, events[0][1]["stamp"], "audit-1", place): place for place in samples}
    letters = "ABC"
    study_labels, people, gained = [], [], []
    for uuid, label in given.items():
        choice, score = samples[places[uuid]]
        study_labels.append("unreadable" if choice is None else letters[choice])
        people.append(label)
        gained.append(score - int(label in letters and letters.index(label) == gold[places[uuid][1]]))
    one, other = Counter(study_labels), Counter(people)
    same = sum(x == y for x, y in zip(study_labels, people, strict=True)) / 40
    chance = sum(one[label] * other[label] for label in one) / 1600
    assert found["agreement"]["kappa"] == pytest.approx((same - chance) / (1 - chance))
    higher, lower = gained.count(1), gained.count(-1)
    lenient = found["leniency"]
    assert (lenient["n"], lenient["higher"], lenient["lower"]) == (40, higher, lower)
    assert lenient["mean"] == pytest.approx((higher - lower) / 40)

    families = [str(int(places[uuid][1].rpartition("-")[2]) // 4) for uuid in given]
    assert len(set(families)) == 2, "which is all that the sheet has of independent units"
    sides = []
    for way in (1, -1):
        rows = [(unit, (1.0, points == way)) for unit, points in zip(families, gained, strict=True)]
        n, y = by_unit(rows).T
        sides.append(limits(n, y, error=0.0125))
    above, below = sides
    assert lenient["low"] == pytest.approx(above[0] - below[1], abs=1e-6)
    assert lenient["high"] == pytest.approx(above[1] - below[0], abs=1e-6)
    cells = Counter(place[0] for uuid, place in places.items() if uuid in given)
    assert max(cells.values()) - min(cells.values()) <= 1
    assert len(cells) == sum("logprob" not in key for key in {place[0] for place in samples})


def test_what_is_wrong_with_an_audit_is_coded(study: Path) -> None:
    opened = gridc.open(study / "gridcard.toml")
    with pytest.raises(gridc.GridcError, match="GC662"):
        path = study / "none.csv"
        path.write_text("uuid,label\n1,A\n")
        opened.audit_read(path)
    drawn = opened.audit_sample(4)
    fill(drawn.csv, study / "filled.csv")
    assert opened.audit_read(study / "filled.csv").sheet == "audit-1"
    with pytest.raises(gridc.GridcError, match="GC665"):
        opened.audit_read(study / "filled.csv")
    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        (nonce,) = db.execute("SELECT nonce FROM blinding").fetchone()
        db.execute("UPDATE blinding SET nonce = ?", ["00" * 32])
    with pytest.raises(gridc.GridcError, match="GC614"):
        opened.audit_read(study / "filled.csv")
    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        db.execute("UPDATE blinding SET nonce = ?", [nonce])
    again = opened.audit_sample(4)
    assert again.sheet == "audit-2"
    assert not uuids(again.csv) & uuids(drawn.csv)
    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        db.execute("UPDATE sample SET score = NULL, choice = NULL, evidence = NULL WHERE item = ("
                   "SELECT min(item) FROM sample)")  # fmt: skip
    with pytest.raises(gridc.GridcError, match="GC660"):
        opened.audit_sample(4)
