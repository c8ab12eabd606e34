"""Questions by variants: texts, options and order, beside plain sqlite3 on the same file."""

import re
import sqlite3
from collections import defaultdict
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from gridc.reports import page_links
from gridc.reports.prompt_reading import options_in_prompt
from gridc.reports.shown_text import SHORT, shortened
from gridc.viewer.pages import Viewer
from gridc.viewer.questions import _text
from gridc.viewer.view import OpenStore
from tests.viewer.conftest import Client
from tests.viewer.stores import STAMP, make, options, question
from tests.viewer.test_pages import get, links

UNDER = {"axis.shots": "0", "axis.scoring": "text"}


def number_of(item: str) -> int:
    return int(item.rpartition("/")[2])


def ordered(store: Path, where: str, models: bool = True) -> dict[str, list[str]]:
    """Items by how far the means of models (or configurations) are apart, and from the hardest on; those that
    wait for a score last."""
    by_item: defaultdict[str, defaultdict[str, defaultdict[int, list[int | None]]]]
    by_item = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    with closing(sqlite3.connect(store)) as db:
        for item, model, configuration, cell, score in db.execute(
            f"""SELECT item, model, configuration, cell, score FROM sample JOIN cell ON id = cell
                WHERE benchmark = 'facts' AND {where} ORDER BY item"""
        ):
            by_item[item][model if models else configuration][cell].append(score)
    spread, mean = {}, {}
    for item, groups in by_item.items():
        scores = [score for cells in groups.values() for held in cells.values() for score in held]
        if None not in scores:
            means = [
                sum(Fraction(sum(filter(None, held)), len(held)) for held in cells.values()) / len(cells)
                for cells in groups.values()
            ]
            spread[item], mean[item] = max(means) - min(means), sum(means) / len(means)
    last = [item for item in by_item if item not in mean]
    assert last
    return {
        "": [*sorted(mean, key=lambda item: (-spread[item], mean[item])), *last],
        "hard": [*sorted(mean, key=lambda item: mean[item]), *last],
        "item": list(by_item),
    }


def walked(client: Client, path: str) -> list[str]:
    found: list[str] = []
    while True:
        page = get(client, path)
        found += [query["item"] for query in links(page.split("<tbody>")[1], "item")]
        onward = re.search(r'<a href="([^"]*)" rel="next"', page)
        if onward is None:
            return found
        path = unescape(onward.group(1))


@pytest.mark.parametrize("sort", ["", "hard", "item"])
@pytest.mark.parametrize(
    ("query", "where", "models"),
    [
        ({}, "TRUE", True),
        (UNDER, "configuration = 'shots=0,scoring=text'", True),
        ({"model": "bee"}, "model = 'bee'", False),
    ],
)
def test_questions_are_ordered_by_what_is_to_be_seen(
    client: Client, store: Path, sort: str, query: dict[str, str], where: str, models: bool
) -> None:
    path = page_links.questions(STAMP, "", benchmark="facts", sort=sort, **query)
    assert walked(client, path) == ordered(store, where, models)[sort]


def test_a_row_has_the_question_and_what_each_model_chose(client: Client, store: Path) -> None:
    page = get(client, page_links.questions(STAMP, "", benchmark="facts", **UNDER))
    with closing(sqlite3.connect(store)) as db:
        choices = db.execute(
            """SELECT item, model, choice FROM sample JOIN cell ON id = cell
               WHERE benchmark = 'facts' AND configuration = 'shots=0,scoring=text'"""
        ).fetchall()
    rows = {
        found.group(1): row
        for row in page.split("<tbody>")[1].split("<tr>")[1:]
        for found in [re.search(r'class="id"><bdi dir="auto">(.*?)</bdi>', row)]
        if found
    }
    assert len(rows) == 50
    for item, model, choice in choices:
        if item in rows:
            assert f">{question('facts', number_of(item))}</bdi></a>" in rows[item]
            answer = rows[item].split(f'data-of="{model}"')[1].split("</td>")[0]
            said = "" if choice is None else f"{'ABC'[choice]}. {options(number_of(item))[choice]}"
            assert said in answer and (said or ". " not in answer.split("said")[0])


def test_many_columns_are_headed_by_model_and_what_differs(client: Client) -> None:
    page = get(client, page_links.questions(STAMP, "", benchmark="facts"))
    heads = page.split("<thead>")[1].split("</thead>")[0]
    assert re.findall(r'colspan="6"><bdi dir="auto">(\w+)', heads) == ["ant", "bee", "cat"]
    assert re.findall(r'<span><bdi dir="auto">(.*?)</bdi>', heads)[:3] == ["0 · text", "0 · rank", "0 · tree"]
    page = get(
        client, page_links.questions(STAMP, "", benchmark="facts", **{"axis.shots": "3", "model": "cat"})
    )
    heads = page.split("<thead>")[1].split("</thead>")[0]
    assert re.findall(r'<small><bdi dir="auto">(.*?)</bdi>', heads) == ["3 · text", "3 · rank", "3 · tree"]


def test_an_item_goes_to_its_neighbours_in_the_list_and_back_to_it(client: Client, store: Path) -> None:
    order = ordered(store, "configuration = 'shots=0,scoring=text'")["hard"]
    page = get(client, page_links.item_link(STAMP, "facts", order[3], "", sort="hard", **UNDER))
    asked = {"study": STAMP[:12], "benchmark": "facts", "sort": "hard", **UNDER}
    for rel, item in (("prev", order[2]), ("next", order[4])):
        found = re.search(rf'<a href="/item\?([^"]*)" rel="{rel}"', page)
        assert found is not None and dict(parse_qsl(unescape(found.group(1)))) == {**asked, "item": item}
    up = re.findall(r'<a href="([^"]*)" rel="up"', page)[-1]
    assert walked(client, unescape(up)) == order


def test_shown_options_have_their_letter_and_text_wherever_one_is_shown(client: Client, store: Path) -> None:
    """Those of a cell whose prompts show none are read from a prompt in the same order."""
    with closing(sqlite3.connect(store)) as db:
        for scoring in ("text", "rank"):
            key = f"cat/facts/shots=0,scoring={scoring}"
            item, choice = db.execute(
                "SELECT item, choice FROM sample JOIN cell ON id = cell WHERE key = ? AND choice > 0", [key]
            ).fetchone()
            number = number_of(item)
            said = f"{'ABC'[choice]}. {options(number)[choice]}"
            right = f"{'ABC'[number % 3]}. {options(number)[number % 3]}"
            page = get(client, page_links.sample_link(STAMP, key, item))
            assert said in page.split("<dt>read as</dt>")[1].split("</dd>")[0]
            assert right in page.split("<dt>right</dt>")[1].split("</dd>")[0]
            assert said in get(client, page_links.cell(STAMP, key)) and said in get(
                client,
                page_links.pair_link(
                    STAMP, "facts", f"shots=0,scoring={scoring}", "ant", "cat", differ="all"
                ),
            )
            page = get(client, page_links.item_link(STAMP, "facts", item))
            assert [text for text in options(number) if text not in page] == []
            assert f'{right}</bdi> <span class="chip earned">right' in page
            for address in (
                page_links.sample_link(STAMP, key, item),
                page_links.item_link(STAMP, "facts", item),
            ):
                assert not re.search(r"option \d", get(client, address))


def test_an_option_that_no_prompt_shows_has_its_number(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=3, waits=False)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE prompt SET content = replace(content, 'B. ', 'or ')")
        db.execute("DELETE FROM question")
        db.commit()
    with closing(Viewer([OpenStore(path)])) as viewer:
        client = Client(viewer)
        page = get(client, page_links.cell(STAMP, "ant/facts/shots=0,scoring=text"))
        assert re.search(r">option [123]</bdi>", page) and "A. one" not in page.split("<tbody>")[1]
        assert question("facts", 1) in page, "what stands before the options"


def test_a_lower_score_is_harder_where_more_is_better_and_the_other_way_round(tmp_path: Path) -> None:
    path = make(tmp_path / "store.sqlite", items=12, waits=False)

    def hardest() -> list[str]:
        with closing(Viewer([OpenStore(path)])) as viewer:
            return walked(Client(viewer), page_links.questions("", "", benchmark="facts", sort="hard"))

    before = hardest()
    with closing(sqlite3.connect(path)) as db:
        scores = dict(db.execute("SELECT item, avg(score) FROM sample GROUP BY item").fetchall())
        db.execute("UPDATE benchmark SET direction = 'lower_is_better'")
        db.commit()
    assert scores[before[0]] < scores[before[-1]]
    after = hardest()
    assert scores[after[0]] > scores[after[-1]] and sorted(before) == sorted(after)


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    ("prompt", "digest", "text"),
    [
        ("Question: Is it?\nAnswer: no\n\nQuestion: Or so?\nAnswer:", digest_of("Or so?"), "Or so?"),
        ("A passage.\nIs it?\nA. yes\nB. no", digest_of("A passage.\nIs it?"), "A passage.\nIs it?"),
        ("Say it.\n\nQuestion: Translated?\nOptions: A. yes\nB. no\nAnswer:", digest_of("x"), "Translated?"),
        ("Passage: It is.\nQuestion: Is it?\nAnswer:", digest_of("Is it?"), "Is it?"),
        ("Is it so?\n\nAnswer:", None, "Is it so?"),
        ("Is it so?", digest_of("Is it so?"), "Is it so?"),
    ],
)
def test_the_question_is_found_in_its_prompt(prompt: str, digest: str | None, text: str) -> None:
    assert _text(iter([prompt]), digest) == text


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("Q?\nA. yes\nB. no", [("A", "yes"), ("B", "no")]),
        ("Q?\n(a) yes\n(b) no\nAnswer:", [("a", "yes"), ("b", "no")]),
        ("Q?\nOptions: 1) yes\n2) no\nA:", [("1", "yes"), ("2", "no")]),
        ("Q?\ni. yes\nii. no", [("i", "yes"), ("ii", "no")]),
        ("Q?\nA. old\nB. old\n\nQ?\nA. def f():\n  pass\nB. no", [("A", "def f(): pass"), ("B", "no")]),
        ("Q?\nA. yes\nC. no", []),
        ("Q? A or B.", []),
    ],
)
def test_shown_options_are_read_from_the_lines_that_show_them(
    prompt: str, shown: list[tuple[str, str]]
) -> None:
    assert list(options_in_prompt(prompt, 2)) == shown


def test_a_long_question_is_shortened_to_where_it_asks() -> None:
    assert shortened("A passage " * 40 + "\nWho was it?").endswith(" … Who was it?")
    for text in ("word " * 100, "A passage " * 40 + "\nWho was it?", "x" * 500):
        assert len(shortened(text)) <= SHORT
