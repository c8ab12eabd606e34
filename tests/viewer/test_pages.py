"""Every page, filter and count of the viewer, beside plain sqlite3 on the same file."""

import json
import re
import sqlite3
from contextlib import closing
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pytest

from gridc.reports import page_links
from gridc.viewer.pages import Viewer
from gridc.viewer.view import OpenStore
from tests.viewer.conftest import TAGS, Client
from tests.viewer.stores import CONTENT, STAMP, judge, make, restate

STATES = {
    "outcome=earned": "score > 0",
    "outcome=nothing": "score <= 0",
    "outcome=waiting": "score IS NULL",
    "read=readable": "score IS NOT NULL AND choice IS NOT NULL",
    "read=unreadable": "score IS NOT NULL AND choice IS NULL",
    "outcome=nothing&read=readable": "score <= 0 AND choice IS NOT NULL",
}
CELLS = {
    "model=bee": "model = 'bee'",
    "benchmark=facts": "cell.benchmark = 'facts'",
    "axis.shots=3": "configuration LIKE 'shots=3,%'",
    "axis.scoring=tree&model=cat": "configuration LIKE '%scoring=tree' AND model = 'cat'",
    "tier=stress": "tier = 'stress'",
}
ITEMS = {
    "family=family 3": "item.family = 'family 3'",
    "category=topic 2": "item.category = 'topic 2'",
    "item=/1": "instr(item.item, '/1') > 0",
}


def rows(store: Path, where: str) -> list[tuple[str, str, int]]:
    """(cell key, item, replicate) of the samples that pass, in the order of cells."""
    db = sqlite3.connect(store)
    found = db.execute(
        f"""SELECT key, sample.item, replicate FROM sample JOIN cell ON cell.id = cell
            JOIN item ON item.benchmark = cell.benchmark AND item.item = sample.item
            WHERE {where} ORDER BY cell.id, sample.item, replicate"""
    ).fetchall()
    db.close()
    return found


def get(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.text[-400:])
    return answer.text


def links(page: str, name: str) -> list[dict[str, str]]:
    """The queries of all links to pages of a kind, in their order."""
    return [dict(parse_qsl(unescape(query))) for query in re.findall(rf'href="/{name}\?([^"]*)"', page)]


def walked(client: Client, path: str, rel: str = "next") -> list[tuple[str, str, int]]:
    """The samples of a list, page after page."""
    found: list[tuple[str, str, int]] = []
    for _ in range(200):
        page = get(client, path)
        here = [(q["cell"], q["item"], int(q["replicate"])) for q in links(page, "sample")]
        found = found + here if rel == "next" else here + found
        onward = re.search(rf'<a href="([^"]*)" rel="{rel}"', page)
        if onward is None:
            return found
        path = unescape(onward.group(1))
    raise AssertionError("the list does not end")


@pytest.mark.parametrize("query", [*STATES, *CELLS, *ITEMS])
def test_a_list_has_every_sample_once_and_no_other(client: Client, store: Path, query: str) -> None:
    where = {**STATES, **CELLS, **ITEMS}[query]
    path = f"/samples?study={STAMP[:12]}&{query.replace(' ', '+')}"
    expected = rows(store, where)
    assert walked(client, path) == expected and expected
    if query not in ITEMS:
        (count,) = re.findall(r"<strong>([\d,]+)</strong> of [\d,]+ samples", get(client, path))
        assert int(count.replace(",", "")) == len(expected)


def test_filters_are_joined_and_ordered_by_item(client: Client, store: Path) -> None:
    query = "model=cat&read=unreadable&category=topic+1&sort=item"
    expected = rows(store, "model = 'cat' AND score IS NOT NULL AND choice IS NULL AND category = 'topic 1'")
    found = walked(client, f"/samples?study={STAMP[:12]}&{query}")
    assert sorted(found) == sorted(expected) and len(set(found)) == len(found)
    assert [item for _, item, _ in found] == sorted(item for _, item, _ in found)


@pytest.mark.parametrize("sort", ["", "item"])
def test_a_list_goes_back_as_it_came(client: Client, sort: str) -> None:
    path = f"/samples?study={STAMP[:12]}&model=bee&outcome=earned&sort={sort}"
    forth = walked(client, path)
    last = path
    while onward := re.search(r'<a href="([^"]*)" rel="next"', get(client, last)):
        last = unescape(onward.group(1))
    assert walked(client, last, "prev") == forth


def test_items_are_found_by_tags(client: Client, store: Path) -> None:
    wanted = {item for item, tags in TAGS["facts"].items() if tags["kind"] == "odd"}
    expected = [row for row in rows(store, "cell.benchmark = 'facts' AND score IS NULL") if row[1] in wanted]
    path = f"/samples?study={STAMP[:12]}&benchmark=facts&tag=kind:odd&outcome=waiting"
    assert walked(client, path) == expected and expected
    assert 'value="kind:even"' in get(client, path)


def test_a_page_ends_when_its_time_is_over_and_the_next_goes_on(
    client: Client, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no time at all every page reaches one cell, and the list is the same."""
    monkeypatch.setattr("gridc.viewer.lists.LOOK_SECONDS", -1.0)
    where = "model = 'bee' AND score IS NULL"
    for sort in ("", "item"):
        found = walked(client, f"/samples?study={STAMP[:12]}&model=bee&outcome=waiting&sort={sort}")
        assert sorted(found) == sorted(rows(store, where))


def test_the_surface_counts_as_the_documented_query_does(client: Client, store: Path) -> None:
    """The query of docs/store.md, on cells that are measured in full."""
    db = sqlite3.connect(store)
    scores = db.execute(
        """SELECT model, benchmark, configuration, sum(score), count(*), count(score) FROM sample
           JOIN cell ON cell.id = cell GROUP BY cell.id"""
    ).fetchall()
    db.close()
    of = {row[:3]: row[3:] for row in scores}
    page = get(client, page_links.surface(STAMP, "facts", "ant", "cat"))
    plus = minus = ties = missing = 0
    for model, benchmark, configuration in of:
        if (model, benchmark) == ("ant", "facts"):
            (a, n, k), (b, m, j) = of[model, benchmark, configuration], of["cat", benchmark, configuration]
            if k < n or j < m:
                missing += 1
            else:
                plus, minus, ties = plus + (a * m > b * n), minus + (a * m < b * n), ties + (a * m == b * n)
    said = re.findall(r"(?:higher|the same|not measured): ([\d,]+)", page)
    assert [int(n) for n in said] == [plus, minus, ties, *([missing] if missing else [])]


@pytest.mark.parametrize("differ", ["score", "a", "b", "choice", "all"])
def test_the_items_on_which_two_models_differ(client: Client, store: Path, differ: str) -> None:
    """By sums over replicates in plain SQL; an item that waits is neither higher nor lower."""
    configuration = "shots=3,scoring=text"
    db = sqlite3.connect(store)
    sums = {
        model: {
            item: (total, list_, waiting)
            for item, total, list_, waiting in db.execute(
                """SELECT item, sum(score),
                          group_concat(coalesce(choice, '-') || ':' || coalesce(score, '-')),
                          sum(score IS NULL) FROM (SELECT * FROM sample ORDER BY item, replicate)
                   WHERE cell = (SELECT id FROM cell WHERE key = ?) GROUP BY item""",
                [f"{model}/views/{configuration}"],
            )
        }
        for model in ("ant", "bee")
    }
    db.close()
    expected = []
    for item, (a, listed, waits) in sorted(sums["ant"].items()):
        b, other, also = sums["bee"][item]
        whole = not waits and not also
        kinds = {"score": whole and a != b, "a": whole and a > b, "b": whole and a < b,
                 "choice": listed != other, "all": True}  # fmt: skip
        expected += [item] if kinds[differ] else []
    path = page_links.pair_link(STAMP, "views", configuration, "ant", "bee", differ=differ)
    found: list[str] = []
    while True:
        page = get(client, path)
        found += [query["item"] for query in links(page, "beside")]
        onward = re.search(r'<a href="([^"]*)" rel="next"', page)
        if onward is None:
            break
        path = unescape(onward.group(1))
    assert found == expected and expected
    shown = re.search(r'aria-current="true">.*?<small>([\d,]+)</small>', page.split('class="tabs"')[1])
    assert shown is not None and int(shown.group(1)) == len(expected)


def test_a_sample_shows_what_was_asked_read_and_sent(client: Client, store: Path) -> None:
    db = sqlite3.connect(store)
    key = "bee/facts/shots=0,scoring=text"
    (item,) = db.execute(
        """SELECT sample.item FROM sample JOIN cell ON cell.id = sample.cell
           JOIN trace USING (cell, item, replicate) JOIN call ON call.id = call
           WHERE key = ? AND choice = 1 LIMIT 1""",
        [key],
    ).fetchone()
    db.close()
    page = get(client, page_links.sample_link(STAMP, key, item))
    assert '<p class="role"><bdi dir="auto">system</bdi></p>' in page and "Be brief." in page
    assert "Answer: <mark>B</mark>" in page
    assert "2 requests to the provider" in page and "overloaded" in page and "529" in page
    assert "&lt;b&gt;try later&lt;/b&gt;" in page
    assert "&#34;prompt&#34;: &#34;" in page


def test_a_prompt_is_shown_as_the_model_saw_it_and_before_what_is_stored(tmp_path: Path) -> None:
    """Turns of a chat one below the other; without a chat template one text, as it was sent."""
    path = make(tmp_path / "store.sqlite", items=3, waits=False)
    key, other = (f"{model}/facts/shots=0,scoring=text" for model in ("ant", "bee"))
    turns = [["system", "Be brief."], ["user", "One?"], ["assistant", "Yes."], ["user", "Two?"]]
    find = (
        """SELECT call FROM trace JOIN cell ON cell.id = cell WHERE key = ? AND item = ? AND replicate = 0"""
    )
    with closing(sqlite3.connect(path)) as db:
        for number, document in enumerate(
            [
                {"messages": turns, "chat_template": True, "thinking": "low",
                 "functions": json.dumps([{"name": "look_up", "description": "<b>Looks</b>"}])},
                {"messages": turns, "chat_template": False},
                {"messages": turns, "chat_template": True, "shorter": ["Two, cut?"]},
            ]
        ):  # fmt: skip
            db.execute("INSERT INTO prompt VALUES (?, ?)", [f"p{number}", json.dumps(document)])
            for each in (key, other):
                (call,) = db.execute(find, [each, f"facts/{number}"]).fetchone()
                db.execute("UPDATE call SET prompt = ? WHERE id = ?", [f"p{number}", call])
                if number == 2 and each == key:
                    db.execute("UPDATE call SET sent = '{\"exemplars_dropped\": 1}' WHERE id = ?", [call])
        db.execute("UPDATE call SET request = json_set(request, '$.max_tokens', 64, '$.temperature', 0.7)")
        db.commit()
    with closing(Viewer([OpenStore(path)])) as viewer:
        client = Client(viewer)
        chat, plain, cut = (get(client, page_links.sample_link(STAMP, key, f"facts/{n}")) for n in range(3))
        same, unlike = (
            get(client, page_links.side_by_side(STAMP, key, other, f"facts/{number}")) for number in (0, 2)
        )
    roles = r'<p class="role"><bdi dir="auto">(\w+)'
    for page in (chat, same):
        assert re.findall(roles, page) == ["system", "user", "assistant", "user"]
        assert "Thinking first: <bdi" in page and "1 function that the model may call" in page
        assert "&#34;&lt;b&gt;Looks&lt;/b&gt;&#34;" in page
        places = [page.index(text) for text in ("One?", "Yes.", "Two?", "Request and answer as stored")]
        assert places == sorted(places)
    assert re.findall(roles, plain) == [] and "Be brief.\n\nOne?\n\nYes.\n\nTwo?</pre>" in plain
    assert "As one plain text" in plain and "max_tokens</bdi> <code>64</code>" in plain
    assert "temperature</bdi> <code>0.7</code>" in plain
    assert "Two, cut?" in cut and ">Two?<" not in cut and "1 exemplar left out" in cut
    assert "the same for both" in same and same.index("the same for both") < same.index("I thought about")
    assert "the same for both" not in unlike and unlike.count("<summary>Prompt</summary>") == 2


def test_candidates_have_their_likelihoods(client: Client, store: Path) -> None:
    db = sqlite3.connect(store)
    key = "cat/views/shots=0,scoring=rank"
    item, choice = db.execute(
        "SELECT item, choice FROM sample JOIN cell ON id = cell WHERE key = ? AND choice IS NOT NULL", [key]
    ).fetchone()
    db.close()
    page = get(client, page_links.sample_link(STAMP, key, item))
    chosen = re.search(r'<tr class="chosen"><td dir="auto"> (\w+) ', page)
    assert chosen is not None and chosen.group(1) == ("one", "two", "three")[choice]
    assert re.findall(r'class="n">(-[\d.]+)<', page) == [f"{-1.0 - (n != choice):.4f}" for n in range(3)]


def test_every_call_of_a_scaffold_is_there_and_one_decides(client: Client, store: Path) -> None:
    page = get(client, page_links.sample_link(STAMP, "ant/facts/shots=0,scoring=tree", "facts/0"))
    steps = re.findall(
        r'<summary>(\d)\. <bdi dir="auto">([\w, ]+)</bdi>( <span class="chip plain">decides)?', page
    )
    assert [(n, name, bool(decides)) for n, name, decides in steps] == [
        ("1", "map_chunk_0", False), ("2", "map_chunk_1", False), ("3", "reduce", True)]  # fmt: skip


def test_judges_calls_are_shown_with_what_they_were_read_to(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=2)
    key = "bee/facts/shots=0,scoring=text"
    judge(path, key, "facts/1")
    with closing(Viewer([OpenStore(path)])) as viewer:
        page = get(Client(viewer), page_links.sample_link(STAMP, key, "facts/1"))
    assert "2 judgements" in page and 'attempt 2: <strong><bdi dir="auto">unsafe' in page
    assert "no label: " in page and "confidence 4" in page
    assert page.index("reply 1") < page.index("reply 2") and "Rate it &lt;b&gt;now&lt;/b&gt;." in page


@pytest.mark.parametrize(
    ("method", "names"), [("judge", ("safe", "unsafe", "odd")), ("refusal_keywords", ("comply", "refuse"))]
)
def test_what_a_response_was_read_to_has_its_name(
    tmp_path: Path, method: str, names: tuple[str, ...]
) -> None:
    """A choice of a judge's labels is no option of the item, wherever it is shown."""
    path = make(tmp_path / "store.sqlite", items=6)
    key, place = "bee/facts/shots=0,scoring=text", "shots=0,scoring=text"
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE cell SET method = ? WHERE configuration = ?", [method, place])
        spec = {**CONTENT["spec"], "judge": {"labels": ["safe", "unsafe", "odd"]}}
        stamp = restate(db, {"spec": spec})
        db.commit()
        query = "SELECT item, choice FROM sample JOIN cell ON id = cell WHERE key = ? AND choice < ?"
        choices = db.execute(query, [key, len(names)]).fetchall()
    assert choices
    with closing(Viewer([OpenStore(path)])) as viewer:
        client = Client(viewer)
        for item, choice in choices:
            page = get(client, page_links.sample_link(stamp, key, item))
            assert f"{names[choice]}</bdi></dd>" in page.split("<dt>read as</dt>")[1]
            assert f"{names[choice]}</a>" in get(client, page_links.item_link(stamp, "facts", item))
        for page in (
            get(client, page_links.cell(stamp, key)),
            get(client, page_links.pair_link(stamp, "facts", place, "bee", "cat", differ="all")),
        ):
            assert f">{names[choices[0][1]]}</bdi></span>" in page and "option 1" not in page


def test_one_model_has_no_other_to_differ_from(client: Client, tmp_path: Path) -> None:
    said = "it leads to the items on which the two models differ there"
    assert said in " ".join(get(client, page_links.study(STAMP)).split())
    with closing(Viewer([OpenStore(make(tmp_path / "store.sqlite", items=2, models=("ant",)))])) as viewer:
        page = " ".join(get(Client(viewer), page_links.study(STAMP)).split())
    assert said not in page and "it leads to the samples there" in page


def test_an_item_has_every_configuration_and_model(client: Client, store: Path) -> None:
    page = get(client, page_links.item_link(STAMP, "facts", "facts/5"))
    found = {(query["cell"], int(query["replicate"])) for query in links(page, "sample")}
    assert found == {(key, replicate) for key, _, replicate in rows(store, "sample.item = 'facts/5'")}
    assert "family 1" in page and "topic 1" in page and "kind" in page
    texts = [re.sub(r"\\s+", " ", text).strip() for text in responses(store, "facts/5")]
    matrix = re.findall(r'<div class="said" dir="auto">(.*?)</div>', page, re.DOTALL)
    assert [unescape(re.sub("<[^>]*>", "", text)).strip() for text in matrix] == texts and len(texts) > 5


def responses(store: Path, item: str) -> list[str]:
    """What the first replicate of an item was answered under every configuration, model by model."""
    with closing(sqlite3.connect(store)) as db:
        cells = db.execute(
            """SELECT configuration, model, (SELECT json_extract(answer, '$.text') FROM trace
                   JOIN call ON call.id = call WHERE trace.cell = cell.id AND item = ? AND replicate = 0
                   ORDER BY step DESC LIMIT 1)
               FROM cell WHERE benchmark = 'facts' ORDER BY id""",
            [item],
        ).fetchall()
    order = list(dict.fromkeys(configuration for configuration, _, _ in cells))
    models = list(dict.fromkeys(model for _, model, _ in cells))
    cells.sort(key=lambda cell: (order.index(cell[0]), models.index(cell[1])))
    return [text for _, _, text in cells if text is not None]


def test_a_sample_leads_to_the_same_item_under_every_other_level_alone_and_side_by_side(
    client: Client,
) -> None:
    here, item = "bee/facts/shots=0,scoring=text", "facts/5"
    others = {"bee/facts/shots=3,scoring=text"} | {
        f"bee/facts/shots=0,scoring={name}" for name in ("rank", "tree")
    }
    page = get(client, page_links.sample_link(STAMP, here, item))
    both = {query["right"] for query in links(page, "beside") if query["left"] == here}
    assert {key for key in both if key.startswith("bee")} == others
    page = get(client, page_links.side_by_side(STAMP, here, "bee/facts/shots=3,scoring=text", item))
    assert "The second under another configuration" in page
    assert {query["left"] for query in links(page, "beside")} == {here}
    page = get(client, page_links.side_by_side(STAMP, here, "cat/facts/shots=0,scoring=text", item))
    assert "Both under another configuration" in page
    moved = {
        (query["left"].partition("/")[2], query["right"].partition("/")[2])
        for query in links(page, "beside")
        if query["item"] == item
    }
    assert moved == {(place, place) for place in (key.partition("/")[2] for key in others)}


def test_a_cell_counts_its_samples(client: Client, store: Path) -> None:
    key = "bee/views/shots=3,scoring=text"
    page = get(client, page_links.cell(STAMP, key))
    db = sqlite3.connect(store)
    counts = db.execute(
        """SELECT count(*), sum(score > 0), sum(score = 0), sum(score IS NOT NULL AND choice IS NULL),
                  sum(score IS NULL) FROM sample JOIN cell ON id = cell WHERE key = ?""",
        [key],
    ).fetchone()
    db.close()
    tabs = page.split('class="tabs"')[1].split("</nav>")[0]
    said = re.findall(r"(?:<small>|\()([\d,]+)(?:</small>|\))", tabs)
    assert [int(n.replace(",", "")) for n in said] == list(counts)
    assert walked(client, page_links.cell(STAMP, key)) == rows(store, f"key = '{key}'")


def test_an_unfinished_run_says_so_and_shows_no_score_of_an_unfinished_cell(client: Client) -> None:
    page = get(client, page_links.cell(STAMP, "bee/views/shots=3,scoring=text"))
    assert "<strong>Interim.</strong>" in page and "<dt>score</dt><dd><strong>–</strong>" in page


def test_what_a_run_writes_is_seen(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=4)
    viewer = Viewer([OpenStore(path)])
    with closing(viewer):
        client = Client(viewer)
        start = get(client, "/samples?outcome=waiting")
        waiting = int(re.findall(r"<strong>(\d+)</strong> of", start)[0])
        assert waiting
        db = sqlite3.connect(path)
        db.execute("UPDATE sample SET score = 0 WHERE score IS NULL")
        db.commit()
        db.close()
        found = viewer.sources[0].studies._counted
        found.update({stamp: (version, -1e9, study) for stamp, (version, _, study) in found.items()})
        assert "Interim" not in get(client, "/")
        assert "<strong>0</strong> of" in get(client, "/samples?outcome=waiting")


@pytest.mark.parametrize(
    "path",
    [
        "/nothing", "/cell", "/cell?cell=no", "/samples?model=dog", "/samples?outcome=good",
        "/samples?sort=x",
        "/samples?axis.colour=red", "/samples?axis.shots=9", "/samples?after=x", "/samples?after=[1,2]",
        "/samples?after=[1,0,0,null]x", "/samples?q=%22%22", "/samples?q=a&after=-1", "/pair?benchmark=facts",
        "/pair?benchmark=facts&configuration=shots%3D0,scoring%3Dtext&a=ant&b=bee&differ=no",
        "/questions?benchmark=no", "/questions?sort=x", "/questions?part=99", "/questions?axis.shots=9",
        "/item?benchmark=facts&item=none", "/item?benchmark=no&item=1",
        "/item?benchmark=facts&item=facts/1&part=9",
        "/sample?cell=ant/facts/shots%3D0,scoring%3Dtext&item=x", "/surface?benchmark=facts&a=dog",
        "/sample?cell=ant/facts/shots%3D0,scoring%3Dtext&item=facts/1&replicate=-1",
        "/sample?cell=ant/facts/shots%3D0,scoring%3Dtext&item=facts/1&replicate=%F0%9D%9F%99",
        "/beside?left=ant/facts/shots%3D0,scoring%3Dtext&right=ant/views/shots%3D0,scoring%3Dtext&item=facts/1",
        "/?study=ffff", "/?store=2", "/?store=3", "/compare", "/text?call=none", "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd", "/view.css/", "/..%2fview.css",
        "/samples?after=" + urlencode({"": "[" * 5000})[1:],
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_with_a_code(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404 and "<strong>GC615</strong>" in answer.text, path
