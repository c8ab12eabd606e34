"""Reading errors end to end: two models answer alike, and one of them means another letter than is read. The
items alone establish that it is worse, and people's labels take that back."""

import csv
import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sqlite_utils import Database

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import GridcError
from gridc.reports.exchange.bundle import verify_bundle
from gridc.runtime.blinding import SheetDesign, draw_sheet
from gridc.runtime.judging import take_labels
from gridc.runtime.store.events import Sealed
from gridc.runtime.store.tables import m009_labels
from gridc.runtime.store.write import Writer
from gridc.schema import jsonschema
from tests.e2e.conftest import command
from tools.servers.faults import answer_to
from tools.servers.http import Asked, Reply, Server

ITEMS, READ = 160, 0.7
"""Items, and the share of the second model's answers that mean what they are read as."""
ONE_ON = "where the letter behind it is meant"
ORDINALS = ("first", "second", "third", "fourth")


def chance(*about: object) -> float:
    """A number from 0 to 1 that depends on nothing else."""
    return int(hashlib.sha256(repr(about).encode()).hexdigest()[:8], 16) / 2**32


def _answer(text: str, number: str, model: str) -> str:
    letters = dict(re.findall(r"([A-D])[.):]+ *(.+)", text))
    right = next(letter for letter, option in letters.items() if option.strip() == f"the thing {number}")
    others = [letter for letter in "ABCD" if letter != right]
    chosen = right if chance("right", number) < 0.7 else others[int(3 * chance("other", number))]
    place, otherwise = "ABCD".index(chosen), chance("form", number, text[:9]) > READ
    if "ornate" in model and otherwise:
        return f"The answer is ({'DABC'[place]}), {ONE_ON}."
    if "mumbling" in model and otherwise:
        return f"My heart leans towards what stands {ORDINALS[place]} in your row."
    return f"The answer is ({chosen})."


async def answered(asked: Asked) -> Reply:
    """All models choose alike, and are right on seven items of ten: `ornate` is misread at times, and of
    `mumbling` some answers cannot be read."""
    body = asked.document
    text = body["messages"][-1]["content"]
    asks = re.search(r"number (\d+)\?", text)
    greeting = f"Hello, {Random().random()}." if body.get("temperature") else "Hello."
    said = greeting if asks is None else _answer(text, asks.group(1), body["model"])
    sound = answer_to(body)
    sound["choices"][0]["message"]["content"] = said
    return Reply.json(sound)


TRUTH = sum(chance("right", str(number)) < 0.7 for number in range(ITEMS)) / ITEMS


def meant(response: str, careful: bool) -> str:
    """The letter that a response means to somebody who reads to the end, or as the study reads it."""
    read = re.match(r"The answer is \((.)\)", response)
    if read is None:
        places = [at for at, word in enumerate(ORDINALS) if f"stands {word}" in response]
        return "ABCD"[places[0]] if careful else "unreadable"
    return "BCDA"["ABCD".index(read[1])] if careful and ONE_ON in response else read[1]


@dataclass
class Study:
    folder: Path

    @property
    def results(self) -> Path:
        return self.folder / "results" / "reading"

    def certificate(self) -> Any:
        return json.loads((self.results / "certificate.json").read_text())

    def report(self) -> None:
        done = command("report", cwd=self.folder)
        assert done.returncode == 0, done.stderr

    def label(
        self, sheet: Path, wrong: float, name: str = "labels.csv", seed: int = 1, careful: bool = True
    ) -> Path:
        """What an annotator says who reads to the end, or like the study, and errs now and then."""
        random = Random(seed)
        with sheet.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            labels = row["labels"].split(" | ")
            row["label"] = (
                random.choice(labels) if random.random() < wrong else meant(row["response"], careful)
            )
        path = self.folder / name
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ("uuid", "label"), extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return path

    def events(self) -> list[str]:
        with sqlite3.connect(self.results / "store.sqlite") as db:
            return [kind for (kind,) in db.execute("SELECT kind FROM event ORDER BY seq")]


def begin(folder: Path, url: str, second: str = "ornate", polite: str = "", analysis: str = "") -> Study:
    """`init`, two models behind the server, two prompts, run and reported; `analysis` are further keys."""
    random = Random(4)
    with (folder / "items.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "a", "b", "c", "d", "answer"])
        for number in range(ITEMS):
            gold = random.randrange(4)
            options = [f"another thing {number}-{place}" for place in range(4)]
            options[gold] = f"the thing {number}"
            writer.writerow([f"Which is number {number}?", *options, "abcd"[gold]])
    made = command("init", "--benchmark", "items.csv", "--yes", cwd=folder)
    assert made.returncode == 0, made.stderr
    spec = (folder / "gridcard.toml").read_text()
    models = "\n".join(
        f'[[model]]\nid = "{name}"\nengine = "api"\nsource = "openai/{name}-2026-01-01"\nbase_url = "{url}"\n'
        'price = { input = 0, output = 0, as_of = "2026-01-01" }\n'
        for name in ("plain", second)
    )
    axis = (
        '[[axis]]\nid = "frame"\nlevel = [\n'
        '  { id = "bare", tier = "core", provenance = "ours", prompt = """{{ question }}\n'
        '{% for letter, text in choices %}{{ letter }}. {{ text }}\n{% endfor %}""" },\n'
        f'  {{ id = "polite", {polite}tier = "core", provenance = "ours", prompt = """Please: '
        "{{ question }}\n"
        '{% for letter, text in choices %}{{ letter }}. {{ text }}\n{% endfor %}""" },\n]\n'
    )
    spec = spec[: spec.index("# Who is compared")] + models + spec[spec.index("# What is asked") :]
    spec = spec[: spec.index("# The harness choices")] + axis + '\n[analysis]\nanchor = { frame = "bare" }\n'
    spec += f"{analysis}\n"
    spec = re.sub(r'id = "[^"]+"', 'id = "reading"', spec, count=1)
    spec = spec.replace("[harness]\n", '[harness]\nmethod = "extract"\ntemperature = 0\n')
    spec = re.sub(r"sample = \{ n = 40.*\n", "", spec)
    (folder / "gridcard.toml").write_text(spec)
    for step in (["stamp"], ["run"]):
        done = command(*step, cwd=folder)
        assert done.returncode == 0, f"{step}: {done.stdout}{done.stderr}"
    study = Study(folder)
    study.report()
    return study


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with Server(answered) as server:
        yield server.url


@pytest.fixture(scope="module")
def ran(served: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return begin(tmp_path_factory.mktemp("ran"), served).folder


@pytest.fixture(scope="module")
def audited_once(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every configuration audited by two people, reported and bundled."""
    folder = tmp_path_factory.mktemp("audited") / "study"
    study = Study(Path(shutil.copytree(ran, folder)))
    drawn = command("audit", "sample", "-n", "320", "--configuration", "all", "--json", cwd=folder)
    sheet = folder / json.loads(drawn.stdout)["csv"]
    anna, ben = study.label(sheet, 0.02, "anna.csv", 1), study.label(sheet, 0.04, "ben.csv", 2)
    read = command("audit", "read", str(anna), "--and", str(ben), cwd=folder)
    assert read.returncode == 0, read.stderr
    study.report()
    bundled = command("export", "bundle", "--to", "bundle", cwd=folder)
    assert bundled.returncode == 0, bundled.stderr
    return folder


@pytest.fixture
def audited(audited_once: Path, tmp_path: Path) -> Study:
    return Study(Path(shutil.copytree(audited_once, tmp_path / "study")))


def full(certificate: Any) -> Any:
    """The pair on the full envelope."""
    return certificate["benchmarks"][0]["scopes"][0]["pairs"][0]


def test_nobody_has_checked_a_reading_that_is_mostly_inferred(ran: Path) -> None:
    certificate = Study(ran).certificate()
    assert full(certificate)["evidence"]["tier"] == "certified"
    assert certificate["benchmarks"][0]["audit"] is None


def test_labels_take_a_claim_back(audited: Study) -> None:
    certificate = audited.certificate()
    (benchmark,) = certificate["benchmarks"]
    assert full(certificate)["evidence"]["tier"] == "descriptive"
    assert benchmark["audit"]["taken_back"] == [
        {"a": "plain", "b": "ornate", "claim": "order", "first": "plain"}
    ]
    for gap in benchmark["audit"]["gaps"]:
        assert gap["machine"] > 0.15 and gap["labelled"] == 80
        found = gap["corrected"]
        assert abs(found["value"]) < 0.12 and found["new"][0] < found["here"][0] < found["value"]
    # Of three labels in a hundred people take one of the five at random.
    said = TRUTH * (1 - 0.03 * 0.8) + (1 - TRUTH) * 0.03 * 0.2
    for value in benchmark["audit"]["values"]:
        assert abs(value["corrected"]["value"] - said) < 0.1, "both models choose alike"
    assert benchmark["standings"]["tie_groups"] == [["plain", "ornate"]]
    shown = command("report", cwd=audited.folder).stdout
    asked, _, answered = shown.strip().partition("\n")
    assert asked.endswith("?") and " ".join(answered.split()).startswith(
        "On items the answers as they were read would establish that plain scores higher than ornate in "
        "every configuration; people's labels do not: the gap under frame="
    )
    estimates = json.loads((audited.results / "estimates.json").read_text())["estimates"]
    kinds = [row["kind"] for row in estimates]
    assert kinds.count("corrected_score") == 4 and kinds.count("corrected_gap") == 2
    card = (audited.results / "gridcard.md").read_text()
    assert "by people’s labels **" in card
    page = (audited.results / "report.html").read_text()
    assert "items: what people’s labels correct" in page and "of 160</td>" in page
    scorecard = json.loads((audited.results / "scorecard.json").read_text())
    (asked,) = [row for row in scorecard["methodology"] if row["id"] == "audited"]
    assert asked["counts"]["largest_correction"] > 0.15
    assert gridc.open(audited.folder / "gridcard.toml").verify().complete
    assert verify_bundle(audited.folder / "bundle").checked


def test_a_label_that_no_sheet_offers_is_found(audited: Study) -> None:
    with sqlite3.connect(audited.results / "store.sqlite") as db:
        db.execute("UPDATE label SET label = 'ZEBRA' WHERE uuid = (SELECT min(uuid) FROM label)")
    with pytest.raises(GridcError, match="labels that the sheet does not offer"):
        gridc.open(audited.folder / "gridcard.toml").verify()


@pytest.mark.parametrize("labelled", [False, True])
def test_what_is_written_follows_its_schema(labelled: bool, ran: Path, audited_once: Path) -> None:
    results = Study(audited_once if labelled else ran).results
    for file, name in (("certificate", "certificate"), ("gridcard", "card"), ("scorecard", "scorecard"),
                       ("estimates", "estimates")):  # fmt: skip
        document = json.loads((results / f"{file}.json").read_text())
        errors = list(Draft202012Validator(jsonschema.load(name)).iter_errors(document))
        assert not errors, errors[0]


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM label", "DELETE FROM label WHERE uuid = (SELECT min(uuid) FROM label)",
     "UPDATE label SET label = 'A' WHERE uuid = (SELECT min(uuid) FROM label WHERE label != 'A')",
     "UPDATE label SET annotator = 'eve' WHERE annotator = 'anna'"],
)  # fmt: skip
def test_labels_that_were_removed_or_changed_are_found(audited: Study, change: str) -> None:
    bundle = audited.folder / "bundle"
    for store in (audited.results / "store.sqlite", next(bundle.rglob("store.sqlite"))):
        with sqlite3.connect(store) as db:
            assert db.execute(change).rowcount
    with pytest.raises(GridcError, match="GC712"):
        gridc.open(audited.folder / "gridcard.toml").verify()
    with pytest.raises(GridcError, match="GC701"):
        verify_bundle(bundle)


def test_a_claim_reaches_the_configurations_that_were_audited(ran: Path, tmp_path: Path) -> None:
    """People who read like the study bear the claim out, where they looked."""
    study = Study(Path(shutil.copytree(ran, tmp_path / "study")))
    spec = gridc.open(study.folder / "gridcard.toml")
    for configurations, tier in (((), "descriptive"), (("all",), "certified")):
        drawn = spec.audit_sample(2 * ITEMS * (1 + len(configurations)), configurations)
        path = study.label(drawn.csv, 0.0, careful=False)
        spec.audit_read(path)
        study.report()
        certificate = study.certificate()
        assert full(certificate)["evidence"]["tier"] == tier
        if tier == "descriptive":
            assert full(certificate)["evidence"]["certified"]["named_plus"] == ["frame=bare"]
            shown = " ".join(command("report", cwd=study.folder).stdout.split())
            assert "people's labels do not: responses were labelled in 1 of 2 configurations." in shown


def test_labels_say_what_unread_answers_are_worth(served: str, tmp_path: Path) -> None:
    """Too many answers of a model are unread for any claim. People find them unreadable too, so the claim
    that counts them as wrong is established."""
    study = begin(tmp_path, served, "mumbling")
    pair = full(study.certificate())
    assert pair["unread"]["beyond"] and pair["evidence"]["tier"] == "descriptive"
    drawn = gridc.open(study.folder / "gridcard.toml").audit_sample(4 * ITEMS, ("all",))
    gridc.open(study.folder / "gridcard.toml").audit_read(study.label(drawn.csv, 0.0, careful=False))
    study.report()
    assert full(study.certificate())["evidence"]["tier"] == "certified"


def test_labels_leave_alone_what_they_cannot_correct(served: str, tmp_path: Path) -> None:
    """Of three answers the majority counts: that is no mean over responses, so its claim rests on the
    items."""
    study = begin(tmp_path, served, polite='replicates = 3, temperature = 0.7, aggregate = "majority", ')
    drawn = gridc.open(study.folder / "gridcard.toml").audit_sample(8 * ITEMS, ("all",))
    gridc.open(study.folder / "gridcard.toml").audit_read(study.label(drawn.csv, 0.0, careful=False))
    study.report()
    certificate = study.certificate()
    audit = certificate["benchmarks"][0]["audit"]
    assert (audit["configurations"], audit["exempt"]) == (["frame=bare"], ["frame=polite"])
    assert full(certificate)["evidence"]["tier"] == "certified" and audit["taken_back"] == []


def test_a_sheet_of_no_configuration(ran: Path) -> None:
    done = command("audit", "sample", "--configuration", "frame=rude", cwd=ran)
    assert done.returncode == 2 and "GC000" in done.stderr and "frame=bare, frame=polite" in done.stderr


def test_a_sheet_of_an_older_gridc_gives_agreement_alone(ran: Path, tmp_path: Path) -> None:
    """As many responses of each cell, of other items each, and one table of labels without names."""
    study = Study(Path(shutil.copytree(ran, tmp_path / "study")))
    plan = Plan(compile_spec(study.folder / "gridcard.toml").study)
    with Writer(study.results / "store.sqlite") as store:
        sheet = draw_sheet(plan, store, "audit-1", "7f" * 32, SheetDesign(40))
        seal = Sealed(stamp=plan.study_digest, about="audit-1", seal=sheet.blind.seal, responses=40)
        store.seal("7f" * 32, seal)
        take_labels(plan, store, sheet, {row.uuid: {"": row.labels[0]} for row in sheet.rows})
    with sqlite3.connect(study.results / "store.sqlite") as db:
        rows = db.execute("SELECT stamp, about, uuid, label FROM label").fetchall()
        db.execute("DELETE FROM _sqlite_migrations WHERE name = 'm012_annotators'")
        db.execute("DROP TABLE label")
        m009_labels(Database(db))
        db.executemany("INSERT INTO label VALUES (?, ?, ?, ?)", rows)
    study.report()
    certificate = study.certificate()
    assert certificate["benchmarks"][0]["audit"] is None
    assert full(certificate)["evidence"]["tier"] == "certified"
    assert any(text.startswith("audit-1: people and the study give 40") for text in certificate["statements"])
    assert gridc.open(study.folder / "gridcard.toml").verify().complete
