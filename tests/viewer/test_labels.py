"""Labels that people give in the viewer: kept beside the store, never lost, and read by `gridc audit`."""

import csv
import json
import multiprocessing
import re
import shlex
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

import pytest

import gridc
from benchmarks.synthetic import make as make_study
from gridc.diagnostics.errors import DECEIVING, FileError, GridcError
from gridc.reports import page_links
from gridc.study.place import place_of
from gridc.study.viewing import _opened
from gridc.viewer.labels import ChangedMeanwhileError, LabelFile
from gridc.viewer.store import StoredCell
from tests.studies import axis
from tests.viewer.conftest import PORT, Client
from tests.viewer.stores import HOSTILE

AXES = axis("template", {"T1": 'prompt = "builtin:T1"', "T4": 'prompt = "builtin:T4"'}, ["T4"]) + axis(
    "scoring", {"free_form": 'method = "extract"', "logprob": 'method = "loglikelihood"'}
)
OWN = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A finished study with answers in words and rankings."""
    return make_study(tmp_path / "study", 4, AXES)


@pytest.fixture
def labelling(spec: Path) -> Iterator[Client]:
    with _opened([place_of(spec)]) as (viewer, _):
        yield Client(viewer)


def answers(spec: Path, model: str, most: int) -> list[tuple[str, str]]:
    """(cell key, item) of answers in words that judges and phrases do not read."""
    with sqlite3.connect(spec.parent / "results" / "synthetic" / "store.sqlite") as db:
        return db.execute(
            """SELECT key, item FROM sample JOIN cell ON id = cell WHERE model = ? AND method = 'extract'
               AND benchmark = 'bbq' AND configuration LIKE 'template=T1%' ORDER BY cell, item LIMIT ?""",
            [model, most],
        ).fetchall()


def form_of(page: str) -> dict[str, str]:
    """What the form of a page would send as it stands."""
    section = page.split('action="/label"')[1].split("</form>")[0]
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', section)
    checked = re.search(r'name="label" value="([^"]*)" checked', section)
    comment = re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", section, re.DOTALL)
    name = re.search(r'name="annotator" value="([^"]*)"', section)
    assert checked and comment and name
    said = {"label": checked.group(1), "comment": comment.group(1), "annotator": name.group(1)}
    return {key: unescape(value) for key, value in {**dict(hidden), **said}.items()}


def page_of(client: Client, key: str, item: str) -> str:
    answer = client.get(page_links.sample_link("", key, item))
    assert answer.status_code == 200, answer.text[-300:]
    return answer.text


def kept(spec: Path) -> list[dict[str, str]]:
    (path,) = (spec.parent / "results" / "synthetic").glob("labels-*.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_labels_of_the_viewer_become_those_of_an_audit(labelling: Client, spec: Path) -> None:
    """Ten labels with one comment, and a comment alone. The store is as it was until the command reads
    them."""
    store = spec.parent / "results" / "synthetic" / "store.sqlite"
    before = store.read_bytes()
    shown = answers(spec, "qwen", 4) + answers(spec, "yi", 4) + answers(spec, "mistral", 3)
    for number, (key, item) in enumerate(shown):
        form = form_of(page_of(labelling, key, item))
        allowed = re.findall(r'type="radio" name="label" value="([^"]*)"', page_of(labelling, key, item))
        assert allowed == ["A", "B", "C", "unreadable", ""]
        said = {"label": "B" if number < 10 else "", "comment": "odd\r\nreally" if number in (3, 10) else ""}
        answer = labelling.post("/label", {**form, **said, "annotator": "Anna  Lee", "go": "stay"})
        assert answer.status_code == 303 and "cell=" in answer.headers["location"]
        assert "Kept." in labelling.get(answer.headers["location"]).text
    assert store.read_bytes() == before, "the store is never written"
    rows = kept(spec)
    assert [(row["model"], row["item"], row["label"], row["annotator"]) for row in rows] == [
        (key.split("/")[0], item, "B" if number < 10 else "", "Anna Lee")
        for number, (key, item) in enumerate(shown)
    ]
    assert [row["comment"] for row in rows if row["comment"]] == ["odd\nreally"] * 2
    page = labelling.get("/labels").text
    assert "<strong>10</strong> labels, and 1 comment without a label" in page
    said_command = unescape(re.findall(r"<code>(gridc audit read [^<]*)</code>", page)[0])
    path, named, *_ = map(Path, shlex.split(said_command.removeprefix("gridc audit read ")))
    assert named.samefile(spec)
    assert '<span class="person"' in labelling.get(page_links.samples("", model="qwen")).text
    taken = gridc.open(spec).audit_read(path)
    assert taken.sheet == "votes-1" and "10 labels, of 10 responses" in taken.sentences[0]
    assert "1 comment without a label" in taken.sentences[0]
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT label, annotator, count(*) FROM label GROUP BY 1, 2").fetchall() == [
            ("B", "Anna Lee", 10)
        ]
    key, item = shown[10]
    labelling.post("/label", {**form_of(page_of(labelling, key, item)), "label": "A", "go": "stay"})
    again = gridc.open(spec).audit_read(path)
    assert again.sheet == "votes-2" and "1 label, of 1 response" in again.sentences[0]
    assert "10 labels read before" in again.sentences[0]


def test_two_tabs_lose_nothing(labelling: Client, spec: Path) -> None:
    (key, item), (_, other) = answers(spec, "qwen", 2)
    first, second = (form_of(page_of(labelling, key, item)) for _ in range(2))
    elsewhere = form_of(page_of(labelling, key, other))
    assert labelling.post("/label", {**first, "label": "A", "comment": "first tab"}).status_code == 303
    assert labelling.post("/label", {**elsewhere, "label": "C"}).status_code == 303, "another answer"
    answer = labelling.post("/label", {**second, "label": "B", "comment": "<i>second</i>"})
    assert answer.status_code == 409 and "labelled in another window" in answer.text
    assert kept(spec)[0]["comment"] == "first tab", "nothing was written over"
    typed = form_of(answer.text)
    assert (typed["label"], typed["comment"]) == ("B", "<i>second</i>"), "what was typed is still there"
    assert labelling.post("/label", typed).status_code == 303
    assert [row["label"] for row in kept(spec)] == ["B", "C"]
    ben = {**form_of(page_of(labelling, key, item)), "annotator": "ben", "label": "A", "comment": ""}
    assert labelling.post("/label", ben).status_code == 303
    assert [(row["annotator"], row["label"]) for row in kept(spec)] == [("", "B"), ("", "C"), ("ben", "A")]
    assert "Somebody without a name" in page_of(labelling, key, item)
    gone = {**form_of(page_of(labelling, key, item)), "label": "", "comment": ""}
    assert gone["annotator"] == "ben" and labelling.post("/label", gone).status_code == 303
    assert len(kept(spec)) == 2, "no label and no comment takes it back"


CELL = StoredCell.__new__(StoredCell)
for name, value in {"model": "m", "benchmark": "b", "configuration": "c", "key": "m/b/c"}.items():
    object.__setattr__(CELL, name, value)


def _give(path: Path, first: int) -> None:
    labels = LabelFile(path, "stamp", lambda key, item: ("A",))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: labels.give(CELL, f"i{n}", 0, "", "A", "", ""), range(first, first + 40)))


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    """Four threads of each of three processes."""
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=_give, args=(tmp_path / "labels.jsonl", 40 * n)) for n in range(3)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
        assert process.exitcode == 0
    rows = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    assert sorted(row["item"] for row in rows) == sorted(f"i{n}" for n in range(120))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.jsonl"], (
        "no draft and no lock is left"
    )


def test_what_a_person_wrote_into_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    own = '{"model": "m",  "benchmark": "b", "configuration": "c", "item": "x", "label": "A", "mine": [1]}'
    path.write_text(f"{own}\n\n")
    labels = LabelFile(path, "stamp", lambda key, item: ("A", "B"))
    labels.give(CELL, "y", 0, "", "B", "", "")
    assert path.read_text().splitlines()[0] == own
    with pytest.raises(ChangedMeanwhileError):
        labels.give(CELL, "x", 0, "", "B", "", "")
    with pytest.raises(FileError, match=r"GC679.*none of its labels"):
        labels.give(CELL, "y", 0, "", "Z", "", "")
    with pytest.raises(FileError, match=r"GC679.*comment has 4,001 characters"):
        labels.give(CELL, "z", 0, "", "B", "x" * 4001, "")
    for damaged in ("no JSON", '{"model": 1}', "[]", f"{own}\n{own}", '{"item": "x"}', "[" * 100_000):
        path.write_text(damaged)
        with pytest.raises(GridcError, match="GC679"):
            labels.give(CELL, "y", 0, "", "B", "", "")
        assert path.read_text() == damaged


def test_a_file_that_cannot_be_read_is_said_and_stays(labelling: Client, spec: Path) -> None:
    ((key, item),) = answers(spec, "qwen", 1)
    form = form_of(page_of(labelling, key, item))
    assert labelling.post("/label", {**form, "label": "A"}).status_code == 303
    (path,) = (spec.parent / "results" / "synthetic").glob("labels-*.jsonl")
    path.write_text("not one\n")
    answer = labelling.post("/label", {**form, "label": "B", "comment": "typed"})
    assert answer.status_code == 409 and "line 1 is no label" in unescape(answer.text)
    assert form_of(answer.text)["comment"] == "typed" and path.read_text() == "not one\n"
    assert "GC679" in labelling.get("/labels").text
    assert labelling.get(page_links.samples("")).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9"}, 403),
        ({"origin": OWN, "host": "evil.example"}, 421),
        ({"origin": OWN, "sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 403),
        ({"origin": OWN, "sec-fetch-site": "same-site"}, 403),
    ],
)
def test_no_other_site_can_label(labelling: Client, spec: Path, headers: dict[str, str], status: int) -> None:
    ((key, item),) = answers(spec, "qwen", 1)
    form = {**form_of(page_of(labelling, key, item)), "label": "A"}
    assert labelling.request("POST", "/label", headers, form).status_code == status
    assert not list((spec.parent / "results" / "synthetic").glob("labels-*"))


def test_a_form_that_is_none_is_refused(labelling: Client, spec: Path) -> None:
    ((key, item),) = answers(spec, "qwen", 1)
    form = form_of(page_of(labelling, key, item))
    for path in ("/", "/sample", "/label/", "/labels"):
        assert labelling.post(path, form).status_code == 405, path
    for method in ("PUT", "DELETE", "PATCH"):
        assert labelling.request(method, "/label", {"origin": OWN}, form).status_code == 405
    assert labelling.post("/label", {**form, "comment": "x" * 70_000}).status_code == 413
    assert labelling.post("/label", {**form, "label": "Z"}).status_code == 409
    assert labelling.post("/label", {**form, "item": "none"}).status_code == 404
    assert labelling.post("/label", {**form, "study": "ffff"}).status_code == 404
    ranked = key.replace("free_form", "logprob")
    assert 'action="/label"' not in page_of(labelling, ranked, item)
    assert labelling.post("/label", {**form, "cell": ranked}).status_code == 404
    assert labelling.request("POST", "/label", {"origin": OWN}).status_code == 404
    assert not list((spec.parent / "results" / "synthetic").glob("labels-*"))


def test_labels_are_kept_only_where_a_spec_was_opened(spec: Path) -> None:
    ((key, item),) = answers(spec, "qwen", 1)
    with _opened([place_of(spec.parent / "results" / "synthetic")]) as (viewer, _):
        client = Client(viewer)
        assert 'action="/label"' not in page_of(client, key, item)
        form = {"cell": key, "item": item, "label": "A", "comment": "", "annotator": "", "seen": ""}
        assert client.post("/label", form).status_code == 404
        assert client.get("/labels").status_code == 404


def test_the_next_answer_is_that_of_the_list(labelling: Client, spec: Path) -> None:
    listed = page_links.samples(
        "", model="mistral", benchmark="bbq", where='axis_template = "T1"', sort="item"
    )
    links = re.findall(r'<a href="(/sample\?[^"]*)" class="row"', labelling.get(listed).text)
    path, walked = unescape(links[0]), list[str]()
    while True:
        page = labelling.get(path).text
        walked.append(page.split("<title>")[1].split("</title>")[0])
        onward = re.search(r'<a href="([^"]*)" rel="next">Next sample of the list', page)
        if onward is None:
            break
        path = unescape(onward.group(1))
    titles = [labelling.get(unescape(link)).text.split("<title>")[1].split("</title>")[0] for link in links]
    assert walked == titles and len(walked) == 8, "rankings are in the list too"
    assert "The list</a>" in page
    form = form_of(labelling.get(unescape(links[0])).text)
    answer = labelling.post("/label", {**form, "label": "A", "go": "next"})
    assert labelling.get(answer.headers["location"]).text.split("<title>")[1].startswith(titles[1])
    assert labelling.get(page_links.sample_link("", *form_place(form), 0, "", "where=x")).status_code == 404


def form_place(form: dict[str, str]) -> tuple[str, str]:
    return form["cell"], form["item"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_comments_and_names_are_text(labelling: Client, spec: Path, text: str) -> None:
    ((key, item),) = answers(spec, "qwen", 1)
    form = form_of(page_of(labelling, key, item))
    said = {"label": "A", "comment": text + "</textarea><script>1</script>", "annotator": text[:100]}
    assert labelling.post("/label", {**form, **said}).status_code == 303
    raw = (spec.parent / "results" / "synthetic").glob("labels-*.jsonl").__next__().read_text("utf-8")
    assert not DECEIVING.search(raw.replace("\n", "")), "what a terminal would obey is escaped"
    for path in (page_links.sample_link("", key, item), "/labels", page_links.samples("")):
        page = labelling.get(path).text
        assert page.count("<script") == 1 and "<img" not in page and "<h1 id" not in page
        assert not DECEIVING.search(page.replace("\n", "").replace("\t", ""))


def test_an_answer_can_have_the_labels_of_a_sheet(labelling: Client, spec: Path) -> None:
    """The form of each cell whose answers are read offers what the sheet does, and no other cell has one."""
    drawn = gridc.open(spec).audit_sample(200, configurations=["all"])
    with drawn.csv.open(encoding="utf-8-sig", newline="") as file:
        of_sheet = {row["labels"] for row in csv.DictReader(file)}
    with sqlite3.connect(spec.parent / "results" / "synthetic" / "store.sqlite") as db:
        shown = db.execute(
            """SELECT key, min(item) FROM sample JOIN cell ON id = cell WHERE method IS NOT 'loglikelihood'
               GROUP BY cell"""
        ).fetchall()
    of_forms = set()
    for key, item in shown:
        page = page_of(labelling, key, item)
        *labels, none = re.findall(r'type="radio" name="label" value="([^"]*)"', page)
        assert none == ""
        of_forms.add(" | ".join(map(unescape, labels)))
    assert of_forms == of_sheet
