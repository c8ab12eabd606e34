"""Forgers who know the code and break the blinding. The chain is sealed again behind them, every time."""

import csv
import io
import json
import shutil
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import FileError
from gridc.reports import verified_samples
from gridc.reports.exchange import audit_sheet, bundle
from gridc.reports.exchange.audit_sheet import read_people
from gridc.runtime.blinding import (
    JUDGING,
    AuditRow,
    BlindedResponse,
    BlindedResponses,
    Sheet,
    SheetDesign,
    blind,
    judged,
    order_seed,
)
from gridc.runtime.store.events import Body, Event, Locked, Sealed, Unblinded
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical, digest
from tests.adversary.attack import attack, instead, nothing
from tests.adversary.rooms.bundles import SENDER, listed
from tests.adversary.rooms.stores import HOLDER, codes
from tests.e2e.judged import serving

Chain = list[tuple[str, Body]]


@cache
def blinded() -> Path:
    """The folder of a small blinded study with a sheet that people filled in. Copied before it is changed."""
    return judged_study("true")


@cache
def bundled() -> Path:
    """The bundle of such a study whose judges see responses as they were answered."""
    folder = judged_study("false")
    return gridc.open(folder / "gridcard.toml").bundle(folder.parent / "bundle")


def judged_study(sanitise: str) -> Path:
    folder = Path(mkdtemp(prefix="gridc-blinded-")) / "study"
    with serving(folder) as made:
        study = made.write(f"blinding = {{ sanitise = {sanitise}, seed = 3, guess_share = 0.25 }}")
        study.run()
        drawn = study.audit_sample(6)
        with drawn.csv.open(encoding="utf-8-sig", newline="") as file:
            rows = [
                (row["uuid"], row["labels"].split(" | ")[at % 2])
                for at, row in enumerate(csv.DictReader(file))
            ]
        labels = folder / "labels.csv"
        labels.write_text("uuid,label\n" + "".join(f"{uuid},{label}\n" for uuid, label in rows))
        study.audit_read(labels)
    return folder


def copied(folder: Path) -> sqlite3.Connection:
    """A copy of the blinded study in `folder`; its store."""
    shutil.copytree(blinded(), folder, dirs_exist_ok=True)
    return sqlite3.connect(folder / "results" / "judged" / "store.sqlite")


def changed(folder: Path, change: Callable[[sqlite3.Connection], Callable[[Chain], Chain]]) -> set[str]:
    """What verifying a bundle finds whose store was changed, with a chain and a manifest that fit."""
    shutil.copytree(bundled(), folder, dirs_exist_ok=True)
    db = sqlite3.connect(folder / "results" / "store.sqlite")
    rechained(db, change(db))
    listed(folder, "results/store.sqlite")
    return codes(folder)


def rechained(db: sqlite3.Connection, change: Callable[[Chain], Chain]) -> None:
    """The chain with other events, each sealed again behind the one before."""
    rows = db.execute("SELECT seq, at, kind, body, previous, digest FROM event ORDER BY seq").fetchall()
    names = ("seq", "at", "kind", "body", "previous", "digest")
    events = [Event.from_row(dict(zip(names, row, strict=True))) for row in rows]
    db.execute("DELETE FROM event")
    last: Event | None = None
    for at, body in change([(each.at, each.body) for each in events]):
        last = Event.after(last, at, body)
        db.execute("INSERT INTO event VALUES (:seq, :at, :kind, :body, :previous, :digest)", last.row())
    db.commit()
    db.close()


def of_judging(body: Body, kind: type[Body]) -> bool:
    return isinstance(body, kind) and getattr(body, "about", None) == JUDGING


def restated(kind: type[Body], **values: Any) -> Callable[[Chain], Chain]:
    """The chain in which an event about the judging says something else."""

    def change(chain: Chain) -> Chain:
        return [
            (at, body.model_copy(update=values) if of_judging(body, kind) else body) for at, body in chain
        ]

    return change


def made(folder: Path, nonce: str | None = None) -> BlindedResponses:
    """The map of the study, or the one of another secret."""
    plan = Plan(compile_spec(folder / "gridcard.toml").study)
    with Store.open(folder / "results" / "judged" / "store.sqlite") as store:
        secret = nonce or store.nonce(plan.study_digest, JUDGING) or ""
        return blind(plan.study_digest, JUDGING, order_seed(plan), secret, list(judged(plan, store)))


def resealed(folder: Path, change: Callable[[list[Any]], list[Any]]) -> set[str]:
    """A study whose seal is of a map that was changed before it was sealed."""
    db = copied(folder)
    document = dict(made(folder).document)
    seal = digest({**document, "map": change(document["map"])})

    def both(chain: Chain) -> Chain:
        return restated(Unblinded, seal=seal)(restated(Sealed, seal=seal)(chain))

    rechained(db, both)
    return codes(folder)


without_order = instead((verified_samples, "event_order_faults", nothing))
without_maps = instead((verified_samples, "of_maps", nothing))
without_labels = instead((verified_samples, "of_labels", nothing))
without_dates = instead((verified_samples, "of_dates", nothing))


def early(chain: Chain) -> Chain:
    """The chain in which the map is opened before the labels are locked."""
    opening = [each for each in chain if of_judging(each[1], Unblinded)]
    rest = [each for each in chain if each not in opening]
    at = next(place for place, each in enumerate(rest) if of_judging(each[1], Locked))
    return [*rest[:at], *opening, *rest[at:]]


@attack(HOLDER, "the map was opened before the labels were locked", "GC713", without_order)
def opened_early(folder: Path, _: MonkeyPatch) -> set[str]:
    rechained(copied(folder), early)
    return codes(folder)


@attack(HOLDER, "responses were sealed in the order of their conditions", "GC711", without_maps)
def ordered_by_condition(folder: Path, _: MonkeyPatch) -> set[str]:
    return resealed(folder, lambda rows: sorted(rows, key=lambda row: row[1:4]))


@attack(HOLDER, "two UUIDs of the map are exchanged", "GC711", without_maps)
def uuids_exchanged(folder: Path, _: MonkeyPatch) -> set[str]:
    def exchanged(rows: list[Any]) -> list[Any]:
        return [[rows[1][0], *rows[0][1:]], [rows[0][0], *rows[1][1:]], *rows[2:]]

    return resealed(folder, exchanged)


@attack(HOLDER, "the map is that of another secret, in the table and in the chain", "GC711", without_maps)
def map_edited(folder: Path, _: MonkeyPatch) -> set[str]:
    db = copied(folder)
    db.execute("UPDATE blinding SET nonce = ? WHERE about = ?", ["ab" * 32, JUDGING])
    rechained(db, restated(Unblinded, nonce="ab" * 32))
    return codes(folder)


def judged_again(db: sqlite3.Connection, finished: str | None = None) -> str:
    """One reply of the judge with another label, right by all its digests; the digest of the labels then."""
    call, label = db.execute(
        "SELECT call, label FROM judgement WHERE judge = 'judge' AND label IS NOT NULL LIMIT 1"
    ).fetchone()
    other = "true" if label != "true" else "untrue"
    content = json.loads(db.execute("SELECT answer FROM call WHERE id = ?", [call]).fetchone()[0])
    content["text"] = content["text"].replace(f'"{label}"', f'"{other}"')
    stated = [canonical(content).decode(), digest(content), finished, call]
    db.execute(
        "UPDATE call SET answer = ?, answer_digest = ?, finished = coalesce(?, finished) WHERE id = ?", stated
    )
    db.execute("UPDATE judgement SET label = ? WHERE call = ?", [other, call])
    db.commit()
    return labels_now(db)


def labels_now(db: sqlite3.Connection) -> str:
    """The digest of the judges' labels as they are in the store."""
    path = Path(db.execute("PRAGMA database_list").fetchone()[2])
    with Store.open(path) as store:
        return store.judgements_digest(store.stamps()[0])


@attack(HOLDER, "a response is judged again after the scores were seen, and the lock has the new labels",
        "GC710", without_dates)  # fmt: skip
def judged_after_the_lock(folder: Path, _: MonkeyPatch) -> set[str]:
    db = copied(folder)
    now = judged_again(db, "2999-01-01T00:00:00.000+00:00")
    rechained(db, restated(Locked, judgements=now))
    return codes(folder)


@attack(HOLDER, "judges were asked first, and the map was sealed when the labels were known", "GC710",
        without_dates)  # fmt: skip
def sealed_late(folder: Path, _: MonkeyPatch) -> set[str]:
    def late(chain: Chain) -> Chain:
        (locked,) = [at for at, body in chain if of_judging(body, Locked)]
        return [(locked if of_judging(body, Sealed) else at, body) for at, body in chain]

    rechained(copied(folder), late)
    return codes(folder)


@attack(HOLDER, "a label is changed with the reply behind it, in the time that was its own", "GC712",
        without_labels)  # fmt: skip
def label_changed(folder: Path, _: MonkeyPatch) -> set[str]:
    db = copied(folder)
    judged_again(db)
    db.close()
    return codes(folder)


@attack(HOLDER, "the UUIDs of two labels that people gave are exchanged", "GC712", without_labels)
def labels_of_people_exchanged(folder: Path, _: MonkeyPatch) -> set[str]:
    db = copied(folder)
    exchange_labels(db)
    db.close()
    return codes(folder)


def exchange_labels(db: sqlite3.Connection) -> None:
    (one, first), (other, second) = db.execute(
        "SELECT uuid, label FROM label WHERE uuid IN (SELECT min(uuid) FROM label GROUP BY label) LIMIT 2"
    ).fetchall()
    for uuid, label in ((one, second), (other, first)):
        db.execute("UPDATE label SET label = ? WHERE uuid = ?", [label, uuid])
    db.commit()


@attack(SENDER, "the map of a bundle was opened before the labels were locked", "GC713", without_order)
def opened_early_in_a_bundle(folder: Path, _: MonkeyPatch) -> set[str]:
    return changed(folder, lambda _: early)


@attack(SENDER, "the map of a bundle is that of another secret, in the table and in the chain", "GC711",
        without_maps)  # fmt: skip
def map_of_a_bundle_edited(folder: Path, _: MonkeyPatch) -> set[str]:
    def edited(db: sqlite3.Connection) -> Callable[[Chain], Chain]:
        db.execute("UPDATE blinding SET nonce = ? WHERE about = ?", ["ab" * 32, JUDGING])
        return restated(Unblinded, nonce="ab" * 32)

    return changed(folder, edited)


@attack(SENDER, "a sheet of a bundle has the secret of other responses than people labelled", "GC712",
        without_maps)  # fmt: skip
def sheet_of_a_bundle_edited(folder: Path, _: MonkeyPatch) -> set[str]:
    def edited(db: sqlite3.Connection) -> Callable[[Chain], Chain]:
        db.execute("UPDATE blinding SET nonce = ? WHERE about <> ?", ["ab" * 32, JUDGING])

        def opened(chain: Chain) -> Chain:
            return [
                (at, body.model_copy(update={"nonce": "ab" * 32}))
                if isinstance(body, Unblinded) and body.about != JUDGING
                else (at, body)
                for at, body in chain
            ]

        return opened

    return changed(folder, edited)


@attack(SENDER, "a response of a bundle is judged again, and the lock has the new labels", "GC710",
        without_dates)  # fmt: skip
def judged_again_in_a_bundle(folder: Path, _: MonkeyPatch) -> set[str]:
    def later(db: sqlite3.Connection) -> Callable[[Chain], Chain]:
        return restated(Locked, judgements=judged_again(db, "2999-01-01T00:00:00.000+00:00"))

    return changed(folder, later)


@attack(SENDER, "the UUIDs of two labels of a bundle are exchanged", "GC712", without_labels)
def labels_of_a_bundle_exchanged(folder: Path, _: MonkeyPatch) -> set[str]:
    def exchanged(db: sqlite3.Connection) -> Callable[[Chain], Chain]:
        exchange_labels(db)
        return lambda chain: chain

    return changed(folder, exchanged)


@attack(SENDER, "a label of a bundle is another than the judge's reply, and the lock has it", "GC705",
        instead((bundle, "of_replies", nothing)))  # fmt: skip
def label_of_a_bundle_changed(folder: Path, _: MonkeyPatch) -> set[str]:
    def relabelled(db: sqlite3.Connection) -> Callable[[Chain], Chain]:
        db.execute(
            """UPDATE judgement SET label = iif(label = 'true', 'untrue', 'true')
               WHERE call = (SELECT min(call) FROM judgement WHERE judge = 'judge' AND label IS NOT NULL)"""
        )
        db.commit()
        return restated(Locked, judgements=labels_now(db))

    return changed(folder, relabelled)


def sheet_of(*texts: str) -> Sheet:
    """A sheet of these responses."""
    drawn = [BlindedResponse((f"m/b/c={number}", "i", 0), "b", text, {}) for number, text in enumerate(texts)]
    made = blind("a" * 64, "audit-1", 1, "7f" * 32, drawn)
    rows = (AuditRow(each.uuid, "Safe?", each.text, ("safe", "unsafe")) for each in made.responses)
    return Sheet("audit-1", tuple(rows), made, SheetDesign(len(texts)))


def taken_back(folder: Path, sheet: Sheet, rows: list[dict[str, str]]) -> set[str]:
    """What taking such a file back finds."""
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, audit_sheet.COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    try:
        audit_sheet.labels_in(audit_sheet.read_people([folder / "labels.csv"]), [sheet], ())
    except FileError as error:
        return {each.code for each in error.diagnostics}
    return set()


def filled(sheet: Sheet) -> list[dict[str, str]]:
    text = audit_sheet.as_csv(sheet).removeprefix("\ufeff")
    return [{**row, "label": "safe"} for row in csv.DictReader(io.StringIO(text, newline=""))]


RATER = "whoever hands back labels"


@attack(RATER, "the texts of two rows of an audit's sheet are exchanged", "GC664",
        instead((audit_sheet, "_comparable_text", lambda text: "")))  # fmt: skip
def rows_exchanged(folder: Path, _: MonkeyPatch) -> set[str]:
    sheet = sheet_of("Yes.", "No.")
    one, other = filled(sheet)
    one["response"], other["response"] = other["response"], one["response"]
    return taken_back(folder, sheet, [one, other])


@attack(RATER, "a row of the sheet of another study is put into this one's", "GC662",
        instead((audit_sheet, "_problems", nothing),
                (audit_sheet, "read_people", lambda files: [
                    row for row in read_people(files) if not row.uuid.startswith("0" * 8)])))  # fmt: skip
def row_of_another_sheet(folder: Path, _: MonkeyPatch) -> set[str]:
    sheet = sheet_of("Yes.", "No.")
    mine = filled(sheet)
    return taken_back(folder, sheet, [*mine, {**mine[0], "uuid": "0" * 8 + mine[0]["uuid"][8:]}])


ANY_SEPARATOR = "no part of a cell begins like a formula (`audit_sheet.escape_formulas`)"


@attack("the author of a model", "a response is a formula behind a semicolon, where spreadsheets part cells",
        ANY_SEPARATOR, instead((audit_sheet, "spreadsheet_text", lambda text: text)))  # fmt: skip
def formula_in_a_response(folder: Path, _: MonkeyPatch) -> set[str]:
    text = audit_sheet.as_csv(sheet_of("Yes;=cmd|' /C calc'!A0;", "No.\n=cmd|' /C calc'!A0"))
    cells = [
        cell
        for separator in ",;\t"
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        for cell in row
    ]
    return set() if any(cell.startswith("=") for cell in cells) else {ANY_SEPARATOR}
