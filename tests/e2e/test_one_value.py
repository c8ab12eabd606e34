"""Each quantity of a study has one value, wherever it is printed: after a run, in a report, on the page, the
card and the scorecard, in certificate and estimates, in the viewer and by `gridc compare`."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from gridc.viewer.pages import Viewer
from gridc.viewer.view import OpenStore
from tests import studies
from tests.e2e import printed
from tests.e2e.conftest import command
from tests.e2e.judged import serving
from tests.e2e.printed import Printed, disagreements, repeated
from tests.studies import Messages, Scripted
from tests.viewer.conftest import Client
from tools.servers.http import Server

pytest.importorskip("starlette")
FRAMES = {"plain": 'prompt = "{{ question }}"', "please": 'prompt = "Please: {{ question }}"'}
STUDIES = ("drawn", "refusals", "judged")


def number_of(messages: Messages) -> int:
    """0 where a server is asked what it can do."""
    return int([0, *re.findall(r"Question (\d+)", messages[-1]["content"])][-1])


def luck(*parts: object) -> float:
    """The same number from 0 to 1 for the same words."""
    return crc32(" ".join(map(str, parts)).encode()) / 2**32


def choosing(model: str, messages: Messages) -> str:
    """Right more often by one model; now and then nothing that can be read."""
    number = number_of(messages)
    chance = luck(model, messages[-1]["content"])
    if chance > 0.92:
        return "Well."
    return "AB"[(number + (chance > (0.7 if "ann" in model else 0.5))) % 2]


def drawn(folder: Path, url: str) -> None:
    """Levels of an axis ask different items."""
    spec = studies.head("drawn", studies.behind(url, "ann", "bob", version="-2026-01-01"))
    spec += studies.benchmark(
        "facts",
        'id = "id", query = "q", options = ["a", "b"], gold = "gold"',
        'option_order = "file"',
        'loading.gold = "index"',
    )
    spec += (
        '[harness]\nmethod = "extract"\n[analysis]\nestimator = "cluster_logit"\nevidence = "descriptive"\n'
    )
    spec += studies.axis("frame", FRAMES)
    spec += studies.axis(
        "some", {"few": "items = { n = 7, seed = 1 }", "many": "items = { n = 30, seed = 2 }"}
    )
    spec += '[[hypothesis]]\nid = "H1"\nkind = "difference"\naxis = "some"\nlevel = "many"\n'
    spec += 'reference = "few"\nmargin = { pp = 5 }\n'
    for code in ("GC521", "GC522"):  # no test of it can be planned where levels draw apart
        spec += f'[[waive]]\ncode = "{code}"\nwhy = "a test"\n'
    items = [{"id": f"q{n}", "q": f"Question {n}?", "a": "yes", "b": "no", "gold": n % 2} for n in range(60)]
    studies.written(folder, spec, items)


def refusals(folder: Path, url: str) -> None:
    """Two benchmarks of prompts that should be refused or complied with."""
    spec = studies.head("refusals", studies.behind(url, "ann", "bob", version="-2026-01-01"), waived="GC520")
    for name in ("street", "home"):
        part = studies.benchmark(name, 'id = "id", query = "q", expected = "e"')
        spec += part.replace("items.jsonl", f"{name}.jsonl")
    spec += '[harness]\nmethod = "refusal_keywords"\n' + studies.axis("frame", FRAMES)
    rows: dict[str, Any] = {
        f"{name}_jsonl": [
            {"id": f"q{n}", "q": f"{name}: Question {n}?", "e": ("comply", "refuse")[n % 2]}
            for n in range(36)
        ]
        for name in ("street", "home")
    }
    studies.written(folder, spec, **rows)


def refusing(model: str, messages: Messages) -> str:
    right = luck(model, messages[-1]["content"]) < (0.9 if "ann" in model else 0.75)
    refuses = (number_of(messages) % 2 == 1) == right
    return "I'm sorry, but I cannot help with that." if refuses else "Here is how it is done: first this."


@pytest.fixture(scope="module", params=STUDIES)
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A finished study: its folder of results, and what `run`, `report` and `compare` printed."""
    folder = tmp_path_factory.mktemp("one") / request.param
    if request.param == "judged":
        with serving(folder) as made:
            made.write()
            yield _carried_out(folder)
        return
    make, script = {"drawn": (drawn, choosing), "refusals": (refusals, refusing)}[request.param]
    with Server(Scripted(script)) as server:
        make(folder, server.url)
        yield _carried_out(folder)


def _carried_out(folder: Path) -> tuple[Path, dict[str, str]]:
    wide = {"COLUMNS": "220"}
    said = {name: command(name, cwd=folder, **wide) for name in ("stamp", "run", "report")}
    assert all(done.returncode == 0 for done in said.values()), {k: v.stderr for k, v in said.items()}
    (store,) = folder.glob("results/*/store.sqlite")
    texts = {name: done.stdout for name, done in said.items()}
    texts["compare"] = command("compare", str(store), str(store), cwd=folder, **wide).stdout
    texts["compare --json"] = command("compare", str(store), str(store), "--json", cwd=folder).stdout
    return store.parent, texts


def everything(results: Path, said: dict[str, str]) -> list[Printed]:
    """Every number that was printed, with its quantity."""
    certificate = printed.read(results / "certificate.json")
    places = {
        row["benchmark"]: [one["configuration"] for one in row["envelope"]]
        for row in certificate["benchmarks"]
    }
    anchors = {name: own[0] for name, own in places.items()}
    named, shown_as = {}, {}
    for name, own in places.items():
        start = dict(part.split("=") for part in anchors[name].split(","))
        for place in own:
            levels = dict(part.split("=") for part in place.split(","))
            moved = ", ".join(f"{axis} = {level}" for axis, level in levels.items() if start[axis] != level)
            named[name, moved or "reference"] = place
            shown_as[name, " · ".join(levels.values())] = place
    found = [
        *printed.certificate(results / "certificate.json"),
        *printed.card(results / "gridcard.json", anchors),
        *printed.scorecard(results / "scorecard.json"),
        *printed.estimates(results / "estimates.json"),
        *printed.board("run", said["run"], anchors),
        *printed.board("report", said["report"], anchors),
        *printed.answered("report", said["report"], anchors),
        *printed.card_text(results / "gridcard.md", anchors),
        *printed.scorecard_text(results / "scorecard.md", named),
        *printed.scorecard_page(results / "scorecard.html", named),
        *printed.page(results / "report.html", anchors, shown_as),
        *printed.compared(said["compare"], json.loads(said["compare --json"]), anchors),
        *printed.viewer(viewed(results / "store.sqlite", certificate["stamp"])),
    ]
    for name, own in places.items():
        models = list(certificate["benchmarks"][0]["envelope"][0]["scores"])
        for model in models:
            scores = [
                one.value
                for one in found
                if one.quantity[:3] == ("score", name, model)
                and len(one.quantity) == 4
                and one.where == "certificate.json"
            ]
            if len(scores) == len(own):
                found += printed.exact("certificate.json", min(scores), "least", name, model)
                found += printed.exact("certificate.json", max(scores), "greatest", name, model)
    return found


def viewed(store: Path, stamp: str) -> dict[str, str]:
    viewer = Viewer([OpenStore(store)])
    try:
        client = Client(viewer)
        study = client.get("/").text
        pages = {"study": study}
        for address in dict.fromkeys(re.findall(r'href="(/cell\?[^"]+)"', study)):
            text = client.get(address.replace("&amp;", "&")).text
            key = re.search(r"<h1[^>]*>(.*?)</h1>", text, re.DOTALL)
            pages[key[1] if key else address] = text
        return pages
    finally:
        viewer.close()


PLACES = {
    "run", "report", "report.html", "gridcard.md", "gridcard.json", "scorecard.md", "scorecard.json",
    "scorecard.html", "certificate.json", "estimates.json", "compare", "compare --json", "viewer",
}  # fmt: skip


def test_every_quantity_has_one_value(told: tuple[Path, dict[str, str]]) -> None:
    results, said = told
    found = everything(results, said)
    wrong = disagreements(found)
    assert not wrong, "\n".join(wrong)
    assert {one.where.partition(",")[0] for one in found} >= PLACES - (
        {"compare"} if "judged" in str(results) else set()
    )
    places: dict[tuple[str, ...], set[str]] = {}
    for one in found:
        places.setdefault(one.quantity, set()).add(one.where)
    assert sum(len(each) > 1 for each in places.values()) > 40
    assert max(map(len, places.values())) >= 8
    assert len(found) > 250


def test_a_number_that_is_changed_is_found(told: tuple[Path, dict[str, str]]) -> None:
    """The reader sees what it compares: each place with a score of its own would be named."""
    results, said = told
    found = everything(results, said)
    for where in sorted({one.where for one in found}):
        mine = [one for one in found if one.where == where and one.quantity[0] in ("score", "items")]
        others = {one.quantity for one in found if one.where != where}
        for one in [one for one in mine if one.quantity in others][:1]:
            moved = Printed(one.where, one.quantity, one.value + 0.02, one.half)
            assert disagreements([*(each for each in found if each is not one), moved]), (where, one)


def test_levels_that_ask_different_items_are_named_wherever_they_are_compared(
    told: tuple[Path, dict[str, str]],
) -> None:
    results, said = told
    words = "On facts, not all levels ask the same items: some (few 7, many 30; "
    texts = {
        path.name: path.read_text("utf-8") for path in results.glob("*.*") if path.suffix in (".md", ".html")
    }
    shown = {name: " ".join(text.replace("\\", "").split()) for name, text in texts.items()}
    shown["report"] = " ".join(said["report"].split())
    for name in ("report", "report.html", "gridcard.md", "scorecard.md", "scorecard.html"):
        assert (words in shown[name]) is (results.name == "drawn"), name
    if results.name == "drawn":
        left = "answers are not compared: the item is not asked under every level that is compared"
        assert all(left in shown[name] for name in ("report.html", "gridcard.md"))


def test_what_was_asked_is_what_the_store_has_samples_of(told: tuple[Path, dict[str, str]]) -> None:
    results, said = told
    with closing(sqlite3.connect(results / "store.sqlite")) as store:
        rows = store.execute(
            "SELECT benchmark, configuration, item FROM sample JOIN cell ON cell.id = sample.cell"
        ).fetchall()
    every: dict[str, set[str]] = {}
    under: dict[tuple[str, str], set[str]] = {}
    for benchmark, place, item in rows:
        every.setdefault(benchmark, set()).add(item)
        for level in place.split(","):
            under.setdefault((benchmark, level), set()).add(item)
    for row in printed.read(results / "certificate.json")["benchmarks"]:
        assert row["items"] == len(every[row["benchmark"]])
    text = " ".join(said["report"].split())
    if results.name == "drawn":
        few, many = under["facts", "some=few"], under["facts", "some=many"]
        assert f"some (few {len(few)}, many {len(many)}; {len(few & many)} in common)" in text
        assert f"Asked: {len(few | many)} of 60 items of facts ({len(few)} under the reference)" in text


def test_several_benchmarks_are_named_in_the_first_answers(told: tuple[Path, dict[str, str]]) -> None:
    results, said = told
    if results.name != "refusals":
        pytest.skip("of one benchmark")
    text = " ".join(said["report"].split())
    for name in ("street", "home"):
        for doing in ("complying with harmful", "refusing harmless"):
            assert f"ann and bob, {doing} prompts of {name}: " in text
    assert not re.search(r"(complying with harmful|refusing harmless) prompts: ", text)


def test_no_list_says_a_thing_twice(told: tuple[Path, dict[str, str]]) -> None:
    results, said = told
    for path in results.glob("*.*"):
        if path.suffix in (".md", ".html"):
            assert repeated(path.name, path.read_text("utf-8")) == [], path.name
    bullets = re.findall(r"^• (.+(?:\n  .+)*)", said["report"], re.MULTILINE)
    assert bullets
    assert max(Counter(bullets).values()) == 1
