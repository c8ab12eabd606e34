"""Conditions on answers, beside `gridc sql` on the same view and beside plain Python on the rows."""

import json
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gridc.runtime.store.queries import Queries
from gridc.viewer.pages import Viewer
from gridc.viewer.view import OpenStore
from tests.viewer.conftest import Client
from tests.viewer.stores import STAMP, make
from tests.viewer.test_pages import get, walked

Row = dict[str, Any]


def rows(store: Path) -> list[Row]:
    """Every sample with what its last call said, read with two plain statements."""
    with closing(sqlite3.connect(store)) as db:
        said: dict[tuple[int, str, int], str | None] = {}
        for cell, item, replicate, answer in db.execute(
            "SELECT cell, trace.item, replicate, answer FROM trace JOIN call ON id = call ORDER BY step"
        ):
            said[cell, item, replicate] = None if answer is None else json.loads(answer).get("text")
        return [
            {"key": key, "model": model, "benchmark": benchmark, "item": item, "replicate": replicate,
             "score": score, "choice": choice, "text": said[cell, item, replicate],
             **dict(level.split("=") for level in configuration.split(","))}
            for cell, key, model, benchmark, configuration, item, replicate, score, choice in db.execute(
                """SELECT cell.id, key, model, benchmark, configuration, item, replicate, score, choice
                   FROM sample JOIN cell ON cell.id = cell ORDER BY cell.id, item, replicate"""
            )
        ]  # fmt: skip


def address(where: str, **more: str) -> str:
    others = "".join(f"&{name}={quote(value)}" for name, value in more.items())
    return f"/samples?study={STAMP[:12]}&where={quote(where)}{others}"


CONDITIONS: dict[str, tuple[str, Callable[[Row], bool]]] = {
    'model = "bee" and score < 1 and response contains "ZEBRA7"': (
        "model = 'bee' AND score < 1 AND instr(lower(text), 'zebra7') > 0",
        lambda row: row["model"] == "bee" and row["score"] == 0 and "zebra7" in (row["text"] or ""),
    ),
    "model in ('ant', \"cat\") and not (choice = 1 or choice is null)": (
        "model IN ('ant', 'cat') AND NOT (choice = 1 OR choice IS NULL)",
        lambda row: row["model"] in ("ant", "cat") and row["choice"] not in (1, None),
    ),
    'axis_shots = "3" and score is null': (
        "axis_shots = '3' AND score IS NULL",
        lambda row: row["shots"] == "3" and row["score"] is None,
    ),
    'ITEM = "facts/3"': ("item = 'facts/3'", lambda row: row["item"] == "facts/3"),
    "replicate between 1 and 5 and score + choice >= 2": (
        "replicate BETWEEN 1 AND 5 AND score + choice >= 2",
        lambda row: row["replicate"] == 1 and None not in (row["score"], row["choice"])
        and row["score"] + row["choice"] >= 2,
    ),
    'response contains "it. Answer: A" and family = "family 2"': (
        "instr(lower(text), 'it. answer: a') > 0 AND family = 'family 2'",
        lambda row: "it. Answer: A" in (row["text"] or "")
        and int(row["item"].split("/")[1]) // 3 == 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", CONDITIONS)
def test_a_condition_finds_what_the_same_finds_in_sql(client: Client, store: Path, where: str) -> None:
    statement, holds = CONDITIONS[where]
    expected = [(row["key"], row["item"], row["replicate"]) for row in rows(store) if holds(row)]
    with Queries(store) as asked:
        chosen = asked.select(f"SELECT cell, item, replicate FROM samples WHERE {statement}")
        assert sorted(chosen.rows) == sorted(expected)
    assert walked(client, address(where)) == expected and expected
    assert f"<strong>{len(expected):,}</strong> of" in get(client, address(where))
    assert sorted(walked(client, address(where, sort="item"))) == sorted(expected)


def test_conditions_go_with_other_filters_and_with_words(client: Client, store: Path) -> None:
    where = "choice >= 1"
    expected = [
        (row["key"], row["item"], row["replicate"])
        for row in rows(store)
        if row["choice"] in (1, 2) and row["model"] == "cat" and row["item"].endswith("/7")
    ]
    assert walked(client, address(where, model="cat", item="/7")) == expected and expected
    while "index is being made" in get(client, address(where, q="zebra12")):
        time.sleep(0.05)
    found = walked(client, address(where, q="zebra12", within="response"))
    assert set(found) == {
        (row["key"], row["item"], row["replicate"])
        for row in rows(store)
        if row["choice"] in (1, 2) and "zebra12" in (row["text"] or "").split()
    }


def test_a_part_of_a_point_is_compared_as_pages_show_it(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a cell whose scores are in quarters, 3 is three quarters of a point."""
    path = make(tmp_path / "store.sqlite", items=12, waits=False)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE sample SET score = 3 WHERE score = 1")
        db.commit()
    monkeypatch.setattr("gridc.viewer.store._names", lambda *_: ())
    monkeypatch.setattr("gridc.viewer.store._readings", lambda content: (QUARTERS, None))
    with closing(Viewer([OpenStore(path)])) as viewer:
        found = walked(Client(viewer), address("score > 0.7 and score < 0.8 and model = 'ant'"))
        assert not walked(Client(viewer), address("score >= 1 and model = 'ant'"))
    with closing(sqlite3.connect(path)) as db:
        (expected,) = db.execute(
            "SELECT count(*) FROM sample JOIN cell ON id = cell WHERE score = 3 AND model = 'ant'"
        ).fetchone()
    assert len(found) == expected > 0


QUARTERS = {
    f"ant/{benchmark}/shots={shots},scoring={scoring}": (4, ())
    for benchmark in ("facts", "views") for shots in "03" for scoring in ("text", "rank", "tree")
}  # fmt: skip


@pytest.mark.parametrize(
    ("where", "place", "said"),
    [
        ('modle = "ant"', "modle", "`modle` is no column of an answer"),
        ('modle = "ant"', "modle", "did you mean `model`?"),
        ("model = ant", "ant", 'a text stands in quotes: "ant"'),
        ('model = "dog"', '"dog"', "no model is called `dog`"),
        ('axis_shots in ("0", "9")', '"9"', "no axis_shots is called `9`"),
        ("score < and 1", "and", "`and` cannot stand here"),
        ("score score", None, "`score` cannot stand here"),
        ("score <", "here", "something is missing at the end"),
        ("(score < 1", "(", "this bracket is not closed"),
        ("1) or (1", ")", "no bracket is open here"),
        ("score < 1; drop table sample", ";", "`;` means nothing here"),
        ("(select 1)", "select", "`select` is no column"),
        ("score < 1 -- and", "and", "`and` cannot stand here"),
        ("load_extension('x')", "load_extension", "is no column of an answer"),
        ('response contains 3', "contains", "needs a text behind it"),
        ('contains "x"', "contains", "needs a column before it"),
        ('response contains "x', '"x', "this text has no quote at its end"),
        ("response contains “x”", "“", "is a typographic quote"),
        ("score ~ 1", "~", "`~` means nothing here"),
        ("1x", "1x", "`1x` means nothing here"),
        ("score = 1 /* */", "*", "`*` cannot stand here"),
        ("x" * 501, None, "the condition has 501 characters"),
        ("<script>alert(1)</script>", "script", "`script` is no column"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_its_place(client: Client, where: str, place: str | None, said: str) -> None:
    page = get(client, address(where))
    box = page.split('<div class="failed" role="alert">')[1].split("</div>")[0]
    assert said in unescape(box)
    if place is not None:
        marked = box.split("<mark")[1].split("</mark>")[0].partition(">")[2]
        assert marked in (place, unescape(place)) or unescape(marked) == place
    assert "<script>alert" not in page and "<tbody>" not in page, "nothing is looked for"


def test_an_empty_condition_lets_all_pass(client: Client, store: Path) -> None:
    assert f"<strong>{len(rows(store)):,}</strong> of" in get(client, address("  "))


def test_a_count_goes_on_from_page_to_page(
    client: Client, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no time at all each page counts one stretch more, until the count is that of all."""
    monkeypatch.setattr("gridc.viewer.lists.COUNT_SECONDS", -1.0)
    expected = sum(row["choice"] == 1 and row["replicate"] == 0 for row in rows(store))
    said: list[tuple[str, int]] = []
    while not said or said[-1][0]:
        page = get(client, address("choice = 1 and replicate < 1"))
        least, count = re.findall(r"<p>(At least )?<strong>([\d,]+)</strong> of", page)[0]
        said.append((least, int(count.replace(",", ""))))
    counts = [count for _, count in said]
    assert counts == sorted(counts) and counts[-1] == expected and len(said) > 5
