"""Searching prompts and responses, beside a loop over all texts."""

import json
import re
import sqlite3
import time
from contextlib import closing
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.diagnostics.errors import StoreError
from gridc.viewer.pages import Viewer
from gridc.viewer.search import match, word_spans
from gridc.viewer.view import OpenStore
from tests.viewer.conftest import Client
from tests.viewer.stores import make


def found(client: Client, query: str) -> set[tuple[str, str, int]]:
    """The samples that a search lists, page after page, once the index is complete."""
    for _ in range(200):
        page = client.get(f"/samples?{query}").text
        if "is being made" not in page:
            break
        time.sleep(0.05)
    rows: set[tuple[str, str, int]] = set()
    while True:
        for link in re.findall(r'href="/sample\?([^"]*)"', page):
            asked = dict(parse_qsl(unescape(link)))
            rows.add((asked["cell"], asked["item"], int(asked["replicate"])))
        onward = re.search(r'<a href="([^"]*)" rel="next"', page)
        if onward is None:
            return rows
        page = client.get(unescape(onward.group(1))).text


def scanned(store: Path, pattern: str, where: str, within: str = "") -> set[tuple[str, str, int]]:
    """The same by a regular expression over every text."""
    db = sqlite3.connect(store)
    rows = db.execute(
        f"""SELECT key, sample.item, replicate, answer, content FROM sample JOIN cell ON cell.id = cell
            JOIN trace USING (cell, item, replicate) JOIN call ON call.id = call
            JOIN prompt ON prompt.id = prompt WHERE {where}"""
    ).fetchall()
    db.close()
    hits = set()
    for key, item, replicate, answer, content in rows:
        said = (json.loads(answer).get("text") or "") if answer else ""
        asked = "\n".join(text for _, text in json.loads(content)["messages"])
        texts = {"response": [said], "prompt": [asked], "": [said, asked]}[within]
        if any(re.search(pattern, text, re.IGNORECASE) for text in texts):
            hits.add((key, item, replicate))
    return hits


@pytest.mark.parametrize(
    ("query", "pattern", "where", "within"),
    [
        ("q=zebra7", r"\bzebra7\b", "TRUE", ""),
        ("q=ZEBRA6*&outcome=earned", r"\bzebra6", "score > 0", ""),
        ("q=%22answer+b%22&model=ant&within=response", r"\banswer: b\b", "cell.model = 'ant'", "response"),
        (
            "q=%22question+12%22&within=prompt&axis.shots=0",
            r"\bquestion 12\b",
            "configuration LIKE 'shots=0%'",
            "prompt",
        ),
        ("q=zebra1*&category=topic+1", r"\bzebra1", "CAST(substr(item, 7) AS INT) % 4 = 1", ""),
        ("q=absent", r"\babsent\b", "TRUE", ""),
    ],
)
def test_it_finds_what_a_loop_over_all_texts_finds(
    client: Client, store: Path, query: str, pattern: str, where: str, within: str
) -> None:
    expected = scanned(store, pattern, where, within)
    assert found(client, query) == expected
    assert bool(expected) is ("absent" not in query)


def test_what_a_run_answers_later_is_found_too(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=6)
    with closing(Viewer([OpenStore(path)])) as viewer:
        client = Client(viewer)
        assert found(client, "q=narwhal") == set()
        db = sqlite3.connect(path)
        (call,) = db.execute("SELECT id FROM call WHERE answer IS NULL LIMIT 1").fetchone()
        db.execute(
            "UPDATE call SET answer = ?, answer_digest = 'd' WHERE id = ?",
            [json.dumps({"text": "A narwhal."}), call],
        )
        expected = db.execute(
            "SELECT key, item, replicate FROM trace JOIN cell ON cell.id = cell WHERE call = ?", [call]
        ).fetchall()
        db.commit()
        db.close()
        client.get("/samples?q=narwhal")
        assert found(client, "q=narwhal") == set(expected)


def test_the_index_lies_outside_of_the_store(store: Path, client: Client) -> None:
    found(client, "q=zebra1")
    db = sqlite3.connect(store)
    assert not db.execute("SELECT 1 FROM sqlite_master WHERE sql LIKE '%fts5%'").fetchall()
    db.close()
    assert {path.name.split(".sqlite")[0] for path in store.parent.iterdir()} == {"store"}
    assert client.viewer.sources[0].index._path.parent.name == "search"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_words_are_a_search_or_refused(words: str) -> None:
    """FTS5 has a language of its own; nothing that a person types is taken for it."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE words USING fts5(body)")
    try:
        expression = match(words)
    except StoreError:
        assert not re.search(r"\w", words)
    else:
        db.execute("SELECT 1 FROM words WHERE words MATCH ?", [expression]).fetchall()
    db.close()
    text = f"before {words} after"
    for start, end in word_spans(text, words):
        assert 0 <= start < end <= len(text)


def test_the_words_are_marked() -> None:
    text = "Two words, TWO words and a wordsmith"
    assert [text[a:b] for a, b in word_spans(text, '"two words"')] == ["Two words", "TWO words"]
    assert [text[a:b] for a, b in word_spans(text, "words*")] == ["words", "words", "words"]
