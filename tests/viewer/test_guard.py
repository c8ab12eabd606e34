"""Who is answered, with which headers, and that hostile texts change nothing."""

import json
import re
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from gridc.diagnostics.errors import DECEIVING, GridcError, StoreError, UsageError
from gridc.reports import page_links
from gridc.viewer.pages import Viewer
from gridc.viewer.server import export_pages, listen
from gridc.viewer.view import OpenStore, PageRequest
from tests.viewer.conftest import Client
from tests.viewer.stores import HOSTILE, STAMP, make, restate


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_it_only_shows(client: Client, method: str) -> None:
    answer = client.request(method, "/")
    assert answer.status_code == 405 and answer.headers["allow"] == "GET, HEAD"
    assert client.request("HEAD", "/").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:8417"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:80"},
        {"host": "127.0.0.1.evil.example:8417"},
        {"host": "[::1]:8417"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "sec-fetch-dest": "script"},
        {"sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"},
        {"sec-fetch-site": "same-site", "sec-fetch-dest": "empty"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_other_hosts_and_sites_are_refused(client: Client, headers: dict[str, str]) -> None:
    for path in ("/", "/view.js", "/samples", "/text"):
        answer = client.get(path, headers)
        assert answer.status_code in (403, 421)
        assert "hand" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:8417"},
        {"origin": "http://127.0.0.1:8417"},
        {"sec-fetch-site": "none", "sec-fetch-dest": "document"},
        {"sec-fetch-site": "same-origin", "sec-fetch-dest": "style"},
        {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"},  # a link in the report page
    ],
)
def test_this_machines_browser_is_answered(client: Client, headers: dict[str, str]) -> None:
    assert client.get("/", headers).status_code == 200


@pytest.mark.parametrize("path", ["/", "/nothing", "/view.css", "/samples?q=zebra7", "/favicon.ico"])
def test_every_answer_has_the_policy(client: Client, path: str) -> None:
    for headers in ({}, {"host": "evil.example"}):
        answer = client.get(path, headers)
        policy = answer.headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


class Elements(HTMLParser):
    """What a page is made of: its elements and the names of their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.text: list[str] = []
        self.shown: list[str] = []
        self.loads: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.shown += [value or "" for name, value in attrs if name != "value" or tag == "input"]
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "action", "poster")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("hostile") / "store.sqlite", items=14, hostile=True)


def obeyed(page: str) -> list[str]:
    """Characters that a browser would obey where it shows a text; the value of a choice is not shown."""
    seen = Elements(page)
    return [text for text in (*seen.text, *seen.shown) if DECEIVING.search(text)]


FORMS = ("/surface", "/item")
"""Where forms lead that need what is chosen in them."""


def crawl(client: Client, most: int) -> dict[str, str]:
    """Pages by their address, found by following links from the start, about as many of each kind."""
    waiting, pages = ["/", "/samples?q=red", "/samples?q=script", "/samples?q=isolate"], dict[str, str]()
    while waiting and len(pages) < most:
        path = waiting.pop(0)
        kind = urlsplit(path).path
        alike = sum(urlsplit(other).path == kind for other in pages)
        if path in pages or kind.startswith("/view.") or alike >= max(most // 8, 2):
            continue
        answer = client.get(path)
        assert answer.status_code == 200, (path, answer.text[-300:])
        pages[path] = answer.text
        waiting += [
            link
            for link in Elements(answer.text).loads
            if link.startswith("/") and link not in FORMS and not urlsplit(link).path.endswith(".csv")
        ]
    return pages


def test_hostile_texts_change_nothing(hostile: Path) -> None:
    """Every page of the hostile store has only elements, attributes and links of gridc's templates, and no
    character that a browser would obey."""
    with closing(Viewer([OpenStore(hostile)])) as viewer:
        pages = crawl(Client(viewer), 150)
    kinds = {urlsplit(path).path for path in pages}
    assert kinds >= {"/", "/study", "/surface", "/cell", "/pair", "/item", "/sample", "/beside", "/samples"}
    said = ""
    for path, page in pages.items():
        seen = Elements(page)
        said += "".join(seen.text)
        assert [tag for tag, _ in seen.elements if tag in ("img", "iframe", "object", "base", "svg")] == [], (
            path
        )
        assert sum(tag == "script" for tag, _ in seen.elements) == 1, path
        assert not [
            names for _, names in seen.elements for name in names if name.startswith("on") or name == "style"
        ]
        assert all(link.startswith(("/", "#")) for link in seen.loads), path
        assert "planted" not in {name for _, names in seen.elements for name in names}
        assert obeyed(page) == [], path
        assert all(tag != "h1" or "id" not in names for tag, names in seen.elements), path
    assert (
        "<script>document.title='changed'</script>" in said and "␛[31mred" in said and "{{ 7 * 7 }}" in said
    )


def test_right_to_left_text_is_kept_apart(hostile: Path) -> None:
    with closing(Viewer([OpenStore(hostile)])) as viewer:
        client = Client(viewer)
        page = client.get(page_links.cell(STAMP, "ant/facts/shots=0,scoring=text")).text
    assert re.search(r'<td class="said" dir="auto">[^<]*\ufffdgnp\.exe', page)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"spec": {}}', '{"spec": 1, "spec": 2}'])
def test_a_study_that_does_not_hash_to_its_stamp_is_not_shown(content: str, tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE study SET content = ?", [content])
        db.commit()
    with closing(Viewer([OpenStore(path)])) as viewer, pytest.raises(StoreError, match="does not hash to"):
        viewer.page(PageRequest("", {}, str, live=True))


def test_hostile_names_and_documents_of_a_store(tmp_path: Path) -> None:
    """Names of models, axes and items, and documents that are not what gridc writes."""
    path = make(tmp_path / "store.sqlite", items=2)
    db = sqlite3.connect(path)
    bad = HOSTILE[1] + HOSTILE[3]
    db.execute("UPDATE cell SET model = ?, key = ? || key WHERE model = 'ant'", [bad, bad])
    db.execute("UPDATE cell SET configuration = ?", ["=,,==" + bad])
    restate(db, {"spec": [bad], "recorded": 3})
    db.execute("UPDATE prompt SET content = ?", [json.dumps({"messages": [["user"], 3], "x": bad})])
    db.execute(
        "UPDATE call SET answer = ?, request = 'not JSON', sent = '[]' WHERE answer NOT NULL", ["{" + bad]
    )
    db.execute('UPDATE sample SET evidence = \'{"start": -5, "end": 1e99, "margin": "x", "rule": [1]}\'')
    db.execute("UPDATE shown SET points = '{}', options = -3")
    db.commit()
    db.close()
    with closing(Viewer([OpenStore(path)])) as viewer:
        pages = crawl(Client(viewer), 60)
    for page in pages.values():
        assert obeyed(page) == [] and "<img" not in page and "<h1 id" not in page
    assert any("PLANTED" in page for page in pages.values())


def test_a_text_that_is_not_utf_8_is_an_error_with_a_code(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    db = sqlite3.connect(path)
    db.execute("UPDATE sample SET item = CAST(x'ff41' AS TEXT) WHERE cell = 1 AND item = 'facts/1'")
    db.commit()
    db.close()
    with closing(Viewer([OpenStore(path)])) as viewer:
        answer = Client(viewer).get(page_links.cell(STAMP, "ant/facts/shots=0,scoring=text"))
    assert answer.status_code == 500 and "GC605" in answer.text and "Traceback" not in answer.text


def test_items_of_another_form_end_a_comparison_with_a_code(store: Path, tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    db = sqlite3.connect(path)
    db.execute("UPDATE question SET text = 'no digest'")
    db.commit()
    db.close()
    with closing(Viewer([OpenStore(store), OpenStore(path)])) as viewer:
        answer = Client(viewer).get("/compare")
    assert answer.status_code == 500 and "GC605" in answer.text and "of its items" in answer.text


def test_a_store_of_somebody_else_is_opened_safely(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    db = sqlite3.connect(path)
    db.execute("CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM sample; END")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="GC605"):
        OpenStore(path)


def test_a_page_that_takes_too_long_ends(store: Path) -> None:
    with closing(OpenStore(store)) as source, pytest.raises(StoreError, match="not ready"):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        with source.reader.moment(seconds=0.2) as moment:
            moment.row(endless)


def test_nothing_is_written_to_the_store(store: Path) -> None:
    before = store.read_bytes()
    with closing(Viewer([OpenStore(store)])) as viewer:
        crawl(Client(viewer), 30)
        with pytest.raises(StoreError), viewer.sources[0].reader.moment() as moment:
            moment.rows("DELETE FROM sample")
    assert store.read_bytes() == before


def test_a_port_that_is_taken_is_an_error_with_a_code() -> None:
    with closing(listen(0)) as first:
        address, port = first.getsockname()
        assert address == "127.0.0.1"
        with pytest.raises(UsageError, match="GC616"):
            listen(port)


def test_long_texts_are_cut_where_it_is_said_and_whole_behind_a_link(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    long = "é" * 150_000 + "END"
    db = sqlite3.connect(path)
    key = "ant/facts/shots=0,scoring=text"
    (call,) = db.execute(
        "SELECT call FROM trace JOIN cell ON id = cell WHERE key = ? AND item = 'facts/1'", [key]
    ).fetchone()
    db.execute("UPDATE call SET answer = ? WHERE id = ?", [json.dumps({"text": long}), call])
    db.commit()
    db.close()
    with closing(Viewer([OpenStore(path)])) as viewer:
        client = Client(viewer)
        page = client.get(page_links.sample_link(STAMP, key, "facts/1")).text
        assert "100,000 of 150,003 characters are shown" in page and "END" not in page
        link = next(each for each in Elements(page).loads if each.startswith("/text?"))
        whole = client.get(link)
    assert whole.text == long
    assert whole.headers["content-disposition"].startswith("attachment")
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"


def test_an_export_is_whole_and_stands_alone(store: Path, tmp_path: Path) -> None:
    """Every link leads to a file that is there, nothing is loaded from elsewhere, and a small export says
    what it leaves out."""
    with closing(Viewer([OpenStore(store)])) as viewer:
        done = export_pages(viewer, tmp_path / "pages", 150, lambda pages: None)
        assert done.pages == 150 and done.left_out > 0
        with pytest.raises(GridcError, match="exists"):
            export_pages(viewer, tmp_path / "pages", 40, lambda pages: None)
    files = {path.name for path in done.folder.iterdir()}
    assert {"index.html", "view.css", "view.js"} <= files and len(files) == 152
    out = 0
    for name in files - {"view.css", "view.js"}:
        page = (done.folder / name).read_text()
        seen = Elements(page)
        assert {urlsplit(link).path for link in seen.loads if not link.startswith("#")} <= files, name
        assert "form" not in {tag for tag, _ in seen.elements}
        out += page.count('class="out"')
    assert out > 0
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


def test_two_stores_are_compared_cell_by_cell_and_item_by_item(store: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "other.sqlite", seed=2)
    key = "ant/facts/shots=0,scoring=text"
    outcomes = []
    for path in (store, other):
        db = sqlite3.connect(path)
        found = db.execute(
            "SELECT item, choice, score FROM sample JOIN cell ON id = cell WHERE key = ? ORDER BY item", [key]
        ).fetchall()
        outcomes.append({item: (choice, score) for item, choice, score in found})
        db.close()
    expected = [item for item in outcomes[0] if outcomes[0][item][1] != outcomes[1][item][1]]
    with closing(Viewer([OpenStore(store), OpenStore(other)])) as viewer:
        client = Client(viewer)
        start = client.get("/compare").text
        assert "36 cells are in both" in start
        link = next(
            each for each in Elements(start).loads if dict(parse_qsl(urlsplit(each).query)).get("cell") == key
        )
        page = client.get(link).text
        beside = [each for each in Elements(page).loads if each.startswith("/beside?")]
        assert [dict(parse_qsl(urlsplit(each).query))["item"] for each in beside] == expected
        both = client.get(beside[0]).text
        assert "Store 1" in both and "Store 2" in both
        pages = crawl(client, 60)
        assert "/compare" in {urlsplit(path).path for path in pages}
        second = client.get(page_links.cell(STAMP, key, "2")).text
        assert "store 2" in second
