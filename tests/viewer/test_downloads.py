"""The tables of pages as CSV, beside plain sqlite3 and fractions on the same rows."""

import csv
import io
import re
import sqlite3
from contextlib import closing
from fractions import Fraction
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gridc.reports import page_links
from gridc.reports.exchange.table_files import original
from gridc.viewer.pages import Viewer
from gridc.viewer.view import OpenStore
from tests.viewer.conftest import Client
from tests.viewer.curves import found, stated
from tests.viewer.stores import HOSTILE, STAMP, make
from tests.viewer.test_pages import get


def table(client: Client, page: str) -> list[dict[str, str]]:
    """What the link of a page to its table gives."""
    (link,) = re.findall(r'<a href="(/[\w.]+\.csv[^"]*)" download', get(client, page))
    answer = client.get(unescape(link))
    assert answer.status_code == 200 and answer.headers["content-type"] == "text/csv; charset=utf-8"
    name = urlsplit(page).path.removeprefix("/") or "study"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def scores_of(store: Path) -> dict[str, Fraction | None]:
    """The score in percent of each cell that is measured in full, from its samples."""
    with closing(sqlite3.connect(store)) as db:
        return {
            key: Fraction(100 * points, asked) if asked == scored else None
            for key, points, asked, scored in db.execute(
                """SELECT key, sum(score), count(*), count(score) FROM sample JOIN cell ON id = cell
                   GROUP BY cell"""
            )
        }


def same(text: str, value: Fraction | float | None) -> bool:
    return text == ("" if value is None else repr(float(value)))


@pytest.mark.parametrize("waits", [True, False])
def test_scores_of_cells_and_pairs_have_every_digit(tmp_path: Path, waits: bool) -> None:
    path = make(tmp_path / "store.sqlite", items=31, waits=waits)
    scores = scores_of(path)
    with closing(Viewer([OpenStore(path)])) as viewer:
        client = Client(viewer)
        rows = table(client, "/")
        assert len(rows) == len(scores) == 36
        for row in rows:
            key = "/".join(row[name] for name in ("model", "benchmark", "configuration"))
            assert same(row["score, %"], scores[key])
        address = page_links.surface(STAMP, "facts", "ant", "bee")
        page, rows = get(client, address), table(client, address)
    shown = re.findall(r'<td class="n">(?:<a [^>]*>)?([^<]*)', page.split("<h2>Configurations")[1])
    for number, row in enumerate(rows):
        one, other = (scores[f"{model}/facts/{row['configuration']}"] for model in ("ant", "bee"))
        gap = None if one is None or other is None else one - other
        assert same(row["ant, %"], one) and same(row["bee, %"], other)
        assert same(row["difference, points"], gap)
        said = [f"{float(value):.1f} %" if value else "–" for value in (row["ant, %"], row["bee, %"])]
        assert shown[3 * number : 3 * number + 2] == said, "the numbers of the page"
    assert any(row["bee, %"] for row in rows) is not waits


def test_all_samples_of_a_list_are_in_its_table(client: Client, store: Path) -> None:
    listed = page_links.samples(STAMP, "", model="bee", outcome="earned", where="replicate = 0")
    rows = table(client, listed)
    with closing(sqlite3.connect(store)) as db:
        expected = db.execute(
            """SELECT sample.item, benchmark, configuration, choice, json_extract(evidence, '$.margin'),
                      (SELECT json_extract(answer, '$.text') FROM trace JOIN call ON call.id = call
                       WHERE trace.cell = sample.cell AND trace.item = sample.item
                       AND trace.replicate = sample.replicate ORDER BY step DESC LIMIT 1)
               FROM sample JOIN cell ON cell.id = cell WHERE model = 'bee' AND score > 0 AND replicate = 0
               ORDER BY cell.id, sample.item"""
        ).fetchall()
    assert len(rows) == len(expected) > 100, "more than a page has"
    names = ("item", "benchmark", "configuration", "choice", "margin, nats", "response")
    for row, values in zip(rows, expected, strict=True):
        assert [original(row[name]) for name in names] == ["" if v is None else str(v) for v in values]
        assert (row["score"], row["outcome"]) == ("1.0", "earned")
    assert "part=" not in get(client, listed).split(".csv?")[1].split('"')[0]


def test_questions_items_cells_and_pairs_have_tables(client: Client, store: Path) -> None:
    with closing(sqlite3.connect(store)) as db:
        means = {
            (key, item): Fraction(100 * points, asked) if asked == scored else None
            for key, item, points, asked, scored in db.execute(
                """SELECT key, item, sum(score), count(*), count(score) FROM sample JOIN cell ON id = cell
                   GROUP BY cell, item"""
            )
        }
    rows = table(client, page_links.questions(STAMP, "", benchmark="facts", **{"axis.shots": "3"}))
    assert len(rows) == 70, "all, and not those of one page"
    for row in rows:
        for column, text in row.items():
            if column != "item":
                model, _, configuration = column.removesuffix(", %").partition(" ")
                assert same(text, means[f"{model}/facts/{configuration}", row["item"]])
    rows = table(client, page_links.item_link(STAMP, "facts", "facts/3", "", model="cat"))
    assert len(rows) == 7 and {row["model"] for row in rows} == {"cat"}
    configuration = "shots=3,scoring=text"
    rows = table(client, page_links.pair_link(STAMP, "views", configuration, "ant", "bee", differ="all"))
    assert len(rows) == 70
    for row in rows:
        one, other = (means[f"{model}/views/{configuration}", row["item"]] for model in ("ant", "bee"))
        assert same(row["ant, %"], one) and same(row["bee, %"], other)
    assert len(table(client, page_links.cell(STAMP, f"bee/views/{configuration}"))) == 140


def test_a_curve_has_its_specifications(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=12, waits=False)
    with closing(Viewer([OpenStore(path, curves=stated())])) as viewer:
        rows = table(Client(viewer), page_links.curves(STAMP))
    curve = found()[0]
    assert len(rows) == len(curve.ranked) + len(curve.failed)
    for row, finding in zip(rows, curve.ranked, strict=False):
        assert finding.fitted is not None
        assert same(row["log odds"], finding.fitted.estimate) and same(row["p"], finding.fitted.p)
        assert row["rows"] == finding.rows


def test_two_stores_have_tables(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{seed}.sqlite", seed, items=6, waits=False) for seed in (1, 2)]
    with closing(Viewer([OpenStore(path) for path in paths])) as viewer:
        client = Client(viewer)
        rows = table(client, page_links.address("compare"))
        assert len(rows) == 36
        for row in rows:
            gap = float(row["second, %"]) - float(row["first, %"])
            assert float(row["second - first, points"]) == pytest.approx(gap)
        key = "ant/facts/shots=0,scoring=text"
        assert len(table(client, page_links.address("compare", {"cell": key, "differ": "all"}))) == 6


def test_no_spreadsheet_runs_a_cell(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=3, waits=False)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE call SET answer = json_set(answer, '$.text', ?)", ['=HYPERLINK("x";"y")\n;+1'])
        db.execute("UPDATE cell SET model = '=m' WHERE model = 'ant'")
        db.commit()
    with closing(Viewer([OpenStore(path)])) as viewer:
        rows = table(Client(viewer), page_links.samples(STAMP))
    for row in rows:
        assert not any(value.startswith(("=", "+", "@")) for value in row.values())
        assert original(row["response"]) == '=HYPERLINK("x";"y")\n;+1'


def test_hostile_texts_stay_in_their_cells(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=6, hostile=True, waits=False)
    with closing(Viewer([OpenStore(path)])) as viewer:
        rows = table(Client(viewer), page_links.samples(STAMP, "", **{"axis.scoring": "text"}))
    assert {original(row["response"]) for row in rows} <= set(HOSTILE)
    assert len(rows) == 6 * 2 * 3 * 3 and all(None not in row for row in rows)


@pytest.mark.parametrize(
    "path", ["/sample.csv", "/nothing.csv", "/.csv", "/samples.csv?where=x", "/labels.csv"]
)
def test_a_page_without_a_table_says_so(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404 and "GC615" in answer.text
