"""The human audit end to end: a sheet goes out, labels come back, and the numbers are those of a recount."""

import csv
import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

import gridc
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.corrected import SCORE, BenchmarkAudit, corrections
from gridc.runtime.blinding import sheets
from gridc.runtime.store.store import Store
from tests.adversary.rooms.bundles import listed
from tests.adversary.rooms.stores import codes, reseal
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


def labelled(sheet: Path, to: Path, **columns: str) -> Path:
    """The sheet with the first label everywhere, and further columns."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = [{"uuid": row["uuid"], "label": row["labels"].split(" | ")[0]} | columns
                for row in csv.DictReader(file)]  # fmt: skip
    return table(to, rows)


def table(to: Path, rows: list[dict[str, str]]) -> Path:
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return to


def uuids(sheet: Path) -> set[str]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return {row["uuid"] for row in csv.DictReader(file)}


def test_labels_come_before_the_spec(study: Path) -> None:
    swapped = command("audit", "read", "gridcard.toml", "labels.csv", cwd=study)
    assert swapped.returncode == 2 and "audit read LABELS SPEC" in swapped.stderr


def test_an_audit_of_a_finished_study(study: Path) -> None:
    asked = ("audit", "sample", "-n", "50", "--configuration", "all", "--json")
    drawn = json.loads(command(*asked, cwd=study).stdout)
    assert drawn["responses"] == 48, "three rows of each of 16 cells"
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

    from gridc.runtime.blinding import blinded_name  # a recount of it is in tests/runtime/test_blinding.py

    places = {blinded_name(nonce, events[0][1]["stamp"], "audit-1", place): place for place in samples}
    letters = "ABC"
    study_labels, people, gained = [], [], []
    for uuid, label in given.items():
        choice, score = samples[places[uuid]]
        study_labels.append("unreadable" if choice is None else letters[choice])
        people.append(label)
        gained.append(score - int(label in letters and letters.index(label) == gold[places[uuid][1]]))
    one, other = Counter(study_labels), Counter(people)
    same = sum(x == y for x, y in zip(study_labels, people, strict=True)) / 48
    chance = sum(one[label] * other[label] for label in one) / 48**2
    assert found["agreement"]["kappa"] == pytest.approx((same - chance) / (1 - chance))
    higher, lower = gained.count(1), gained.count(-1)
    lenient = found["leniency"]
    assert (lenient["n"], lenient["higher"], lenient["lower"]) == (48, higher, lower)
    assert lenient["mean"] == pytest.approx((higher - lower) / 48)

    families = [str(int(places[uuid][1].rpartition("-")[2]) // 4) for uuid in given]
    # The items are drawn, and in one of seven sheets all three are of one family.
    assert len(set(families)) in (1, 2), "which is all that the sheet has of independent units"
    print("FAM", len(set(families)))
    sides = []
    for way in (1, -1):
        rows = [(unit, (1.0, points == way)) for unit, points in zip(families, gained, strict=True)]
        n, y = by_unit(rows).T
        sides.append(limits(n, y, error=0.0125))
    above, below = sides
    assert lenient["low"] == pytest.approx(above[0] - below[1], abs=1e-6)
    assert lenient["high"] == pytest.approx(above[1] - below[0], abs=1e-6)
    cells = Counter(place[0] for uuid, place in places.items() if uuid in given)
    assert set(cells.values()) == {3}
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


def people_of(study: Path) -> list[str]:
    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        return [name for (name,) in db.execute("SELECT DISTINCT annotator FROM label ORDER BY annotator")]


def test_several_people_label_a_sheet_in_one_file_or_in_several(study: Path) -> None:
    opened = gridc.open(study / "gridcard.toml")
    drawn = opened.audit_sample(16)
    rows = [
        {"uuid": uuid, "label": label, "annotator": name}
        for uuid in uuids(drawn.csv)
        for name, label in (("anna", "A"), ("ben", "unreadable"))
    ]
    twice = [*rows, {**rows[0], "label": "B"}]
    with pytest.raises(gridc.GridcError, match=r"GC665 .* stands here and on line 2"):
        opened.audit_read(table(study / "all.csv", twice))
    taken = opened.audit_read(table(study / "all.csv", rows))
    assert taken.findings[0].agreement.n == 32, "each label counts"
    assert people_of(study) == ["anna", "ben"]

    again = opened.audit_sample(16)
    anna, _ = (labelled(again.csv, study / f"{name}.csv") for name in ("anna", "carl"))
    done = command("audit", "read", "anna.csv", "--and", "carl.csv", cwd=study)
    assert done.returncode == 0, done.stderr
    assert people_of(study) == ["anna", "ben", "carl"]
    assert codes(study) == {"GC707"}, "what was reported before knows of no labels"
    (study / "other").mkdir()
    same = labelled(opened.audit_sample(16).csv, study / "other" / "anna.csv")
    with pytest.raises(gridc.GridcError, match=r"GC665.*by which people are told apart"):
        opened.audit_read(anna, same)


ANCHOR = "template=T1,decoding=greedy,few_shot=0,scoring=free_form"


def votes(study: Path, configuration: str = ANCHOR) -> list[dict[str, str]]:
    """What people elsewhere might say of all responses in a configuration."""
    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        rows = db.execute(
            "SELECT substr(key, 1, instr(key, '/') - 1), item, choice FROM sample JOIN cell ON cell.id = cell"
            " WHERE key LIKE ? ORDER BY key, item",
            [f"%/bbq/{configuration}"],
        ).fetchall()
    return [
        {"item": item, "model": model, "label": "Unreadable" if choice is None else "abc"[choice],
         "configuration": configuration}
        for model, item, choice in rows
    ]  # fmt: skip


def audit_of(opened: gridc.OpenStudy) -> BenchmarkAudit:
    compiled, _ = opened._place.stamped()
    plan = Plan(compiled.study)
    with Store.open(opened._place.store(compiled)) as store:
        (audit,) = corrections(plan, store, list(sheets(plan, store)))
    return audit


def test_labels_from_elsewhere_are_an_audit(study: Path, tmp_path: Path) -> None:
    opened, rows = gridc.open(study / "gridcard.toml"), votes(study)
    assert len(rows) == 16
    done = command("audit", "read", str(table(study / "votes.csv", rows[:12])), cwd=study)
    assert done.returncode == 0, done.stderr
    assert "votes-1: 12 labels, of 12 responses that gridc did not draw" in done.stdout
    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        events = [(kind, json.loads(body)) for kind, body in db.execute("SELECT kind, body FROM event")]
    assert [kind for kind, body in events if body.get("about") == "votes-1"] == ["seal", "lock", "unblind"]
    opened.report()
    assert opened.verify().complete
    shared = opened.bundle(tmp_path / "bundle") / "gridcard.toml"
    assert codes(shared.parent) == set()
    given = audit_of(opened)
    assert given.given and given.sheets == ("votes-1",) and given.configurations == (ANCHOR,)
    assert {each.model: each.labelled for each in given.scores()} == {"qwen2": 4, "llama": 8}
    assert {each.labelled for each in given.gaps if each.what == SCORE} == {4}, "those with a label of both"
    whole = study / "whole.jsonl"
    lines = [
        json.dumps({**row, "annotator": name, "replicate": 0}) for row in rows for name in ("anna", "ben")
    ]
    whole.write_text("\n".join(lines))
    assert opened.audit_read(whole).sheet == "votes-2"
    given = audit_of(opened)
    assert (given.given, given.sheets, given.annotators) == (False, ("votes-1", "votes-2"), 3)
    for each in given.scores():
        assert each.corrected.value == each.machine and each.corrected.here == (each.machine,) * 2
    assert codes(study) == {"GC707"}, "what was reported before does not know it"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE label SET label = 'B' WHERE uuid = (SELECT min(uuid) FROM label WHERE label != 'B')",
        "DELETE FROM label WHERE uuid = (SELECT min(uuid) FROM label)",
        "DELETE FROM label",
        "UPDATE label SET uuid = 'x' || uuid WHERE uuid = (SELECT min(uuid) FROM label)",
    ],
)
def test_labels_from_elsewhere_that_were_changed_are_found(study: Path, tmp_path: Path, change: str) -> None:
    opened = gridc.open(study / "gridcard.toml")
    opened.audit_read(table(study / "votes.csv", votes(study)[:12]))
    shared = opened.bundle(tmp_path / "bundle")
    for store in (study / RESULTS / "store.sqlite", shared / "results" / "store.sqlite"):
        with sqlite3.connect(store) as db:
            assert db.execute(change).rowcount
    listed(shared, "results/store.sqlite")
    assert codes(study) & {"GC711", "GC712"}
    assert codes(shared) & {"GC711", "GC712"}


def test_what_was_drawn_is_not_passed_off_as_given(study: Path) -> None:
    opened = gridc.open(study / "gridcard.toml")
    drawn = opened.audit_sample(16)
    opened.audit_read(labelled(drawn.csv, study / "labels.csv"))
    with sqlite3.connect(study / RESULTS / "store.sqlite") as db:
        db.execute("PRAGMA foreign_keys = OFF")
        for name in ("blinding", "label"):
            db.execute(f"UPDATE {name} SET about = 'votes-1'")
    reseal(study / RESULTS, lambda kind, body: {
        **body, **({"about": "votes-1"} if body.get("about") == "audit-1" else {})})  # fmt: skip
    assert "GC711" in codes(study)


@pytest.mark.parametrize(
    ("changes", "code", "line", "words"),
    [
        ({"item": "Pocket-1000"}, "GC662", 3, "no item that llama was asked is called"),
        ({"model": "gpt"}, "GC662", 3, "one of: qwen2, llama"),
        ({"model": ""}, "GC662", 3, "one of: qwen2, llama"),
        ({"label": "D"}, "GC663", 3, "one of: A, B, C, unreadable"),
        ({"label": "1"}, "GC663", 3, "a number may count from 0 or from 1"),
        ({"label": ""}, "GC663", 3, "take the row out"),
        ({"configuration": ""}, "GC662", 3, "say which in a column `configuration`, one of: template=T1"),
        ({"configuration": "template=T1"}, "GC662", 3, "no configuration of a response"),
        (
            {"configuration": ANCHOR.replace("free_form", "logprob")},
            "GC662",
            3,
            "no configuration of a response",
        ),
        (
            {"configuration": ANCHOR.replace("greedy", "sampled")},
            "GC662",
            3,
            "a column `replicate`, one of: 0, 1, 2",
        ),
        ({"benchmark": "mmlu"}, "GC662", 3, "one of: bbq"),
        ({"replicate": "1"}, "GC662", 3, "one of: 0"),
        ({"item": "Pocket-64"}, "GC665", 3, "stands here and on line 2"),
    ],
)
def test_what_is_wrong_with_labels_from_elsewhere_is_coded(
    finished: Path, tmp_path: Path, changes: dict[str, str], code: str, line: int, words: str
) -> None:
    rows = votes(finished)[:3]
    rows[1] |= changes
    columns = dict.fromkeys(column for row in rows for column in row)
    rows = [{column: row.get(column, "") for column in columns} for row in rows]
    with pytest.raises(gridc.GridcError) as caught:
        gridc.open(finished / "gridcard.toml").audit_read(table(tmp_path / "votes.csv", rows))
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line if found.span else None) == (code, line)
    assert words in f"{found.message}; {found.help}"


def test_labels_from_elsewhere_are_read_once(study: Path) -> None:
    opened, rows = gridc.open(study / "gridcard.toml"), votes(study)
    sources = {"llama": "path:models/llama", "qwen2": "models/qwen2"}
    named = [{**row, "model": sources[row["model"]]} for row in rows]
    assert opened.audit_read(table(study / "votes.csv", named[:4])).sheet == "votes-1"
    with pytest.raises(gridc.GridcError, match=r"GC665.*every label was read before, as votes-1"):
        opened.audit_read(table(study / "votes.csv", rows[:4]))
    other = {**rows[0], "label": "unreadable" if rows[0]["label"] != "unreadable" else "A"}
    with pytest.raises(gridc.GridcError, match=r"GC665.*read before, as votes-1"):
        opened.audit_read(table(study / "votes.csv", [other, *rows[1:]]))
    remarks = [{**row, "comment": "" if row["label"] else "odd"} for row in (*rows, {**rows[0], "label": ""})]
    again = table(study / "more.csv", remarks)
    with pytest.raises(gridc.GridcError, match=r"GC661.*one of .* is a sheet"):
        opened.audit_read(again, labelled(opened.audit_sample(16).csv, study / "labels.csv"))
    taken = opened.audit_read(again)
    assert taken.sheet == "votes-2", "what was read before and is the same adds nothing"
    assert "; 4 labels read before; 1 comment without a label" in taken.sentences[0]


def test_how_many_labels_a_claim_needs(study: Path) -> None:
    before = (study / RESULTS / "store.sqlite").read_bytes()
    done = command("audit", "sample", "--decide", "--configuration", ANCHOR, cwd=study)
    assert done.returncode == 0, done.stderr
    (row,) = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["bbq"]]
    assert row[1:4] == ["qwen2", "less", "llama"] and row[-4:] == ["8", "more", "more", "more"]
    assert "Holm's correction asks for more" in done.stdout
    assert "nothing was drawn, because no number of labels is likely to show a gap" in done.stdout
    assert (study / RESULTS / "store.sqlite").read_bytes() == before
    everywhere = ("audit", "sample", "--decide", "--configuration", "all", "--json")
    every = json.loads(command(*everywhere, cwd=study).stdout)
    assert len(every["pairs"]) == len(every["configurations"]) == 8 and every["power"] == 0.8
    wrong = command("audit", "sample", "--decide", "--configuration", "none", cwd=study)
    assert "GC000" in wrong.stderr


def test_an_earlier_audit_says_how_many_labels_are_needed(study: Path) -> None:
    opened = gridc.open(study / "gridcard.toml")
    sampled = ANCHOR.replace("greedy", "sampled").replace("few_shot=0", "few_shot=3")
    (assumed,) = opened.audit_decide([sampled]).pairs
    assert not assumed.audited and len(assumed.labels) == 3 and assumed.responses == 24
    opened.audit_read(labelled(opened.audit_sample(40, [sampled]).csv, study / "labels.csv"))
    decision = opened.audit_decide([sampled])
    (pair,) = decision.pairs
    assert pair.audited and len(pair.labels) == 1 and pair.gap == assumed.gap
    shown = command("audit", "sample", "--decide", "--configuration", sampled, cwd=study).stdout
    assert "as audited" in shown and "10 % wrong" not in shown
