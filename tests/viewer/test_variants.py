"""Every variant of a question is on some page, with counts; beside plain sqlite3 on the same file."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest

from gridc.reports import page_links
from gridc.viewer.pages import Viewer
from gridc.viewer.view import OpenStore
from tests.viewer.conftest import Client
from tests.viewer.stores import STAMP, make
from tests.viewer.test_pages import get, links, walked

MODELS = tuple(f"m{number:02}" for number in range(31))


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """186 variants of a question."""
    return make(tmp_path_factory.mktemp("wide") / "store.sqlite", items=2, models=MODELS)


@pytest.fixture(scope="module")
def of_many(wide: Path) -> Iterator[Client]:
    with closing(Viewer([OpenStore(wide)])) as viewer:
        yield Client(viewer)


def cells(store: Path, where: str) -> list[str]:
    with closing(sqlite3.connect(store)) as db:
        return [key for (key,) in db.execute(f"SELECT key FROM cell WHERE {where} ORDER BY id")]


def variant_pages(client: Client, path: str) -> list[str]:
    """The pages of variants, in their order."""
    pages = []
    while True:
        pages.append(get(client, path))
        onward = re.search(r'<a href="([^"]*)">Next variants', pages[-1])
        if onward is None:
            return pages
        path = unescape(onward.group(1))


def extents(pages: list[str]) -> list[str]:
    return [found for page in pages for found in re.findall(r"Variants ([\d,]+–[\d,]+ of [\d,]+)", page)[:1]]


def heads(page: str) -> list[str]:
    """Each column as `model/label`."""
    head = page.split("<thead>")[1].split("</thead>")[0]
    models = re.findall(r'colspan="(\d+)"><bdi dir="auto">(\w+)', head)
    labels = re.findall(r'<span><bdi dir="auto">(.*?)</bdi>', head)
    names = [model for width, model in models for _ in range(int(width))]
    return [f"{model}/{label}" for model, label in zip(names, labels, strict=True)]


def test_the_columns_of_questions_go_on(of_many: Client, wide: Path) -> None:
    pages = variant_pages(of_many, page_links.questions(STAMP, "", benchmark="facts", sort="item"))
    assert extents(pages) == [
        "1–24 of 186", "25–48 of 186", "49–72 of 186", "73–96 of 186", "97–120 of 186", "121–144 of 186",
        "145–168 of 186", "169–186 of 186",
    ]  # fmt: skip
    expected = [
        re.sub(r"facts/shots=(\d),scoring=(\w+)", r"\1 · \2", key)
        for key in cells(wide, "benchmark = 'facts'")
    ]
    assert [head for page in pages for head in heads(page)] == expected
    back = re.search(r'<a href="([^"]*)">← Previous variants', pages[1])
    assert back is not None and get(of_many, unescape(back.group(1))) == pages[0]
    query = links(pages[3], "item")[0]
    assert query["variants"] == "3", "the item leads back to the same columns"


def test_an_item_shows_every_variant_or_those_of_a_filter(of_many: Client, wide: Path) -> None:
    pages = variant_pages(of_many, page_links.item_link(STAMP, "facts", "facts/1"))
    assert extents(pages) == ["1–96 of 186", "97–186 of 186"]
    answers = [
        query["cell"] for page in pages for query in links(page, "sample") if query["replicate"] == "0"
    ]
    assert sorted(answers) == sorted(cells(wide, "benchmark = 'facts'")) and len(set(answers)) == 186
    assert "in 186 variants" in pages[0]
    (page,) = variant_pages(
        of_many, page_links.item_link(STAMP, "facts", "facts/1", "", model="m17", **{"axis.shots": "3"})
    )
    answers = [query["cell"] for query in links(page, "sample") if query["replicate"] == "0"]
    wanted = cells(wide, "benchmark = 'facts' AND model = 'm17' AND configuration LIKE 'shots=3,%'")
    assert sorted(answers) == sorted(wanted)
    assert "of which 3 pass the filters" in page


@pytest.mark.parametrize("item", ["facts/1", 'a "quoted" one'])
def test_the_answers_to_an_item_are_listed_for_a_condition(tmp_path: Path, item: str) -> None:
    path = make(tmp_path / "store.sqlite", items=12)
    with closing(sqlite3.connect(path)) as db:
        for table in ("sample", "trace", "item", "shown", "question"):
            db.execute(f"UPDATE {table} SET item = ? WHERE item = 'facts/1'", [item])
        db.commit()
    with closing(Viewer([OpenStore(path)])) as viewer:
        client = Client(viewer)
        page = get(client, page_links.item_link(STAMP, "facts", item))
        listed = re.search(r'<a class="to" href="([^"]*)">as a list', page)
        assert listed is not None
        found = walked(client, unescape(listed.group(1)))
    assert {name for _, name, _ in found} == {item} and len(found) == 21, "18 cells, three of them twice"


def test_rows_of_a_list_are_numbered(client: Client) -> None:
    path = f"/samples?study={STAMP[:12]}&model=bee&category=topic+1"
    said = []
    while True:
        page = get(client, path)
        said += re.findall(r'class="extent">([^<]*)<', page)
        onward = re.search(r'<a href="([^"]*)" rel="next"', page)
        if onward is None:
            break
        path = unescape(onward.group(1))
    total = int(said[-1].split(" of ")[1])
    ends = [*range(50, total, 50), total]
    assert said == [f"{end - (end - 1) % 50}–{end} of {total}" for end in ends]
    assert f"<strong>{total}</strong> of" in page
    back = re.search(r'<a href="([^"]*)" rel="prev"', page)
    assert back is not None and f">{said[-2]}<" in get(client, unescape(back.group(1)))


@pytest.mark.parametrize(
    "path", ["/questions?benchmark=facts&variants=9", "/item?benchmark=facts&item=facts/1&variants=x"]
)
def test_parts_that_are_not_there(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404
