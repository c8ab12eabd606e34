"""Page and card in a real browser: they draw, fit, can be read by everybody, print, save, and fetch nothing.

Debian's chromium is driven with playwright; axe-core looks at contrast, labels, landmarks and tables.
"""

import csv
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridc
from gridc.reports.card import as_markdown
from gridc.reports.exchange.model_card import deck_of
from gridc.reports.files import documents, file_texts
from tests.reports.builders import findings_of, reversing, spec_of

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.slow,
]

HOSTILE = '<img src=x onerror="document.title=1">\x1b[31m\u202e</script><script>document.title=1</script>'
"""Markup, a colour of a terminal and a change of direction, in every text that a spec can bring."""

PHONE, DESK = (420, 844), (1400, 900)
SCREENS = {PHONE: 9, DESK: 6}
"""How many screens the page may be long while its details are folded: two benchmarks, four models."""

WIDE = """() => [...document.querySelectorAll("main *")].filter(each => {
  const inside = each.closest("svg, .scroll") && !each.matches(".scroll");
  return !inside && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
}).map(each => each.tagName + "." + each.className)"""
CLIPPED = """() => [...document.querySelectorAll(".scroll")]
  .filter(each => each.scrollWidth > each.clientWidth + 1)
  .map(each => each.getAttribute("aria-label") || each.dataset.name)"""
DRAWN = """() => [...document.querySelectorAll("svg")].map(each => ({
  label: each.getAttribute("aria-label"),
  drawn: each.getBBox().width > 40 && each.getBoundingClientRect().height > 40,
  outside: [...each.querySelectorAll("text")].filter(text => {
    const a = text.getBoundingClientRect(), b = each.getBoundingClientRect();
    return a.width && (a.left < b.left - 2 || a.right > b.right + 2);
  }).map(text => text.textContent),
}))"""
CONTRAST = """() => {
  const light = colour => {
    const parts = colour.match(/[0-9.]+/g).slice(0, 3).map(each => each / 255)
      .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const low = [];
  for (const svg of document.querySelectorAll("svg")) {
    const boxes = [...svg.querySelectorAll("rect")].map(each => [each.getBoundingClientRect(), each]);
    for (const text of svg.querySelectorAll("text")) {
      const at = text.getBoundingClientRect(), x = at.left + at.width / 2, y = at.top + at.height / 2;
      const holds = box => x > box.left && x < box.right && y > box.top && y < box.bottom;
      const under = boxes.filter(([box]) => holds(box)).pop();
      const fill = under && getComputedStyle(under[1]).fill;
      const back = fill && fill !== "none" ? fill : getComputedStyle(document.body).backgroundColor;
      const pair = [light(getComputedStyle(text).fill), light(back)].sort((a, b) => b - a);
      if ((pair[0] + 0.05) / (pair[1] + 0.05) < 3) low.push(text.textContent);
    }
  }
  return low;
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two benchmarks and four models whose notes, titles and reasons are hostile."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    benchmarks = [
        {"id": name, "loader": "truthfulqa_mc1", "source": "builtin:none", "direction": "higher_is_better",
         "option_order": "file", "note": HOSTILE}
        for name in ("facts", "a_benchmark_with_a_long_name")
    ]  # fmt: skip
    models = {"ant": HOSTILE, "a-model-with-a-long-name": None, "cat": None, "dog": None}
    spec = spec_of(models, title=f"A study {HOSTILE}", roster={"inclusion": HOSTILE}, benchmark=benchmarks)
    path.write_text(file_texts(findings_of(spec, reversing))["report.html"])
    return path


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of fourteen models in a log, one of them with a hostile name, whose items have categories."""
    folder = tmp_path_factory.mktemp("board")
    rng = np.random.default_rng(5)
    with (folder / "quiz.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "item", "category", "score", "answer"])
        for place, name in enumerate(["=cmd()", HOSTILE, *(f"model-{number}" for number in range(12))]):
            for item in range(80):
                right = int(rng.random() < 0.95 - 0.06 * place)
                rows.writerow([name, f"i{item}", f"kind {item % 3}", right, "x" * (place + 1)])
    gridc.certify(folder / "quiz.csv").write(folder / "out")
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--hide-scrollbars"])
        yield started
        started.close()


def opened(browser: Any, page: Path, size: tuple[int, int], scheme: str = "light", **more: Any) -> Any:
    """The page in a window of its own; whatever it would fetch is an error."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
    tab = context.new_page()
    tab.wrong = []
    tab.on("console", lambda message: tab.wrong.append(message.text))
    tab.on("pageerror", lambda error: tab.wrong.append(str(error)))
    tab.on("request", lambda one: one.url.startswith(("file:", "data:")) or tab.wrong.append(one.url))
    tab.goto(page.as_uri())
    return tab


def unfold(tab: Any) -> None:
    tab.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true; })")


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_it_fits_folded_and_open(browser: Any, page: Path, size: tuple[int, int]) -> None:
    tab = opened(browser, page, size)
    height = tab.evaluate("document.documentElement.scrollHeight")
    assert height < SCREENS[size] * size[1], f"{height} pixels"
    unfold(tab)
    drawn = tab.evaluate(DRAWN)
    assert len(drawn) == page.read_text().count("<svg")
    assert [each for each in drawn if each["outside"] or not each["drawn"]] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert tab.evaluate(WIDE) == []
    if size == DESK:
        assert tab.evaluate(CLIPPED) == []
    assert tab.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser: Any, page: Path, scheme: str) -> None:
    """axe-core with every fold open, and the labels in the figures, which it does not look at."""
    tab = opened(browser, page, DESK, scheme, bypass_csp=True)
    unfold(tab)
    found = axe.Axe().run(tab).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    assert tab.evaluate(CONTRAST) == []


def test_hostile_text_changes_nothing(browser: Any, page: Path) -> None:
    tab = opened(browser, page, DESK)
    assert tab.evaluate("document.querySelectorAll('img').length") == 0
    assert tab.evaluate("document.querySelectorAll('script').length") == 1
    assert tab.title().startswith("A study <img")
    assert "<script>document.title=1</script>" in tab.inner_text("h1")
    assert tab.wrong == []


def test_a_link_opens_what_it_points_into(browser: Any, page: Path) -> None:
    tab = opened(browser, page, DESK)
    target = tab.locator("#b-facts-scores")
    assert not target.is_visible()
    tab.locator("nav a", has_text="every score").first.click()
    assert target.is_visible()


def test_a_figure_is_saved_as_svg_and_png(browser: Any, page: Path, tmp_path: Path) -> None:
    tab = opened(browser, page, DESK, "dark")
    unfold(tab)
    for kind, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with tab.expect_download() as waiting:
            tab.locator(".save button", has_text=kind).first.click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.suffix == f".{kind.lower()}"
        assert path.read_bytes().startswith(begins)
    assert tab.wrong == []


def test_without_script_it_says_the_same(browser: Any, page: Path) -> None:
    tab = opened(browser, page, DESK, java_script_enabled=False)
    assert tab.locator("button:visible").count() == 0
    tab.locator("summary", has_text="facts").first.click()
    assert tab.locator("#b-facts-surface svg").first.is_visible()


def test_an_address_of_the_viewer_is_shown_and_not_followed(browser: Any, page: Path) -> None:
    tab = opened(browser, page, DESK)
    unfold(tab)
    tab.locator("button.at", has_text="in the viewer").first.click()
    assert tab.locator("button.at + code").inner_text().startswith("http://127.0.0.1:")
    assert tab.wrong == []


def test_it_prints_every_section(browser: Any, page: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.pdf"
    opened(browser, page, DESK).pdf(path=target)
    assert target.read_bytes()[:5] == b"%PDF-"
    if shutil.which("pdftotext"):
        shown = subprocess.run(["pdftotext", str(target), "-"], capture_output=True, text=True, check=True)
        for heading in ("Reachable orderings", "What moves the scores", "GRID cards", "Every number"):
            assert heading in shown.stdout


def test_what_a_reader_of_a_model_card_needs_fits_a_screen(browser: Any, tmp_path: Path) -> None:
    """The card of one model as a site shows Markdown: what is not folded is no longer than a screen, and
    hostile text in it stays text."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table")
    spec = spec_of({"ant": HOSTILE, "bee": None, "cat": None}, title=f"A study {HOSTILE}")
    deck = documents(findings_of(spec, reversing)).deck
    own = deck_of(deck, "ant")
    assert len(deck.differences) == 3
    assert [(each.a, each.b) for each in own.differences] == [("ant", "bee"), ("ant", "cat")]
    path = tmp_path / "card.html"
    style = "body{font:16px/1.6 Arial;max-width:760px} table{border-collapse:collapse;font-size:14px}"
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>card</title><style>{style}</style>'
        f"<main>{markdown.render(as_markdown(own))}</main></html>"
    )
    tab = opened(browser, path, DESK)
    assert tab.evaluate("document.querySelector('details').getBoundingClientRect().top") < DESK[1]
    folds = [each.split(":")[0] for each in tab.locator("summary").all_inner_texts()]
    assert [each.split(" ")[0] for each in folds[1:7]] == ["(i)", "(ii)", "(iii)", "(iv)", "(v)", "(vi)"]
    assert folds[-1] == "Receipts and digests, as JSON"
    assert tab.evaluate("document.querySelectorAll('img, script').length") == 0
    unfold(tab)
    assert tab.locator("details details").count() == 0, "no fold swallows the next"
    assert tab.wrong == []


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_many_models_fit_and_can_be_read_by_everybody(
    browser: Any, board: Path, size: tuple[int, int]
) -> None:
    tab = opened(browser, board, size, bypass_csp=True)
    # The first model is on the first screen (of a phone on the second), before any warning.
    first = tab.locator(".leaders tbody tr").first.bounding_box()
    assert first["y"] + first["height"] < size[1] * (2 if size == PHONE else 1)
    assert tab.locator(".banner").first.bounding_box()["y"] > first["y"]
    unfold(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert tab.evaluate(WIDE) == []
    found = axe.Axe().run(tab).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    assert tab.evaluate(CONTRAST) == []
    assert tab.wrong == []


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_a_table_of_models_is_searched(browser: Any, board: Path, size: tuple[int, int]) -> None:
    tab = opened(browser, board, size)
    assert tab.locator(".leaders .name").all_inner_texts()[0] == "cmd"
    tab.locator("input[data-find]").first.fill("MODEL-1")
    assert tab.locator(".leaders .name:visible").all_inner_texts() == ["model-1", "model-10", "model-11"]
    assert tab.locator(".lookup output").first.inner_text() == "3 of 14"
    tab.locator("input[data-find]").first.fill("nobody")
    assert tab.locator(".leaders .name:visible").count() == 0
    assert tab.locator(".lookup output").first.inner_text() == "0 of 14"
    tab.locator("input[data-find]").first.fill("")
    assert tab.locator(".leaders .name:visible").count() == 14
    assert tab.wrong == []


def test_a_phone_sorts_by_a_menu(browser: Any, board: Path) -> None:
    tab = opened(browser, board, PHONE)
    menu = tab.locator("select[data-order]").first
    menu.select_option(label="mean length, characters")
    assert tab.locator(".leaders .name").all_inner_texts()[0] == "model-11", "the longest first"
    menu.select_option(label="places")
    assert tab.locator(".leaders .name").all_inner_texts()[0] == "cmd"
    assert tab.wrong == []


def test_a_table_of_models_is_sorted_and_saved(browser: Any, board: Path, tmp_path: Path) -> None:
    tab = opened(browser, board, DESK)
    table = tab.locator("table.leaders")
    for lengths in (range(14, 0, -1), range(1, 15)):
        table.locator("th button", has_text="characters").click()
        shown = [int(text) for text in table.locator("tbody td:last-child").all_inner_texts()]
        assert shown == list(lengths)
    with tab.expect_download() as waiting:
        tab.locator("button", has_text="as CSV").first.click()
    waiting.value.save_as(tmp_path / "places.csv")
    rows = list(csv.DictReader((tmp_path / "places.csv").read_text("utf-8").splitlines()))
    assert [int(row["mean_characters"]) for row in rows] == list(range(1, 15)), "as it is sorted"
    certificate = json.loads((board.parent / "certificate.json").read_text("utf-8"))
    order = {row["model"]: row for row in certificate["benchmarks"][0]["standings"]["order"]}
    assert {row["model"] for row in rows} == set(order)
    for row in rows:
        known = order[row["model"]]
        assert [int(row[name]) for name in ("place", "best", "worst")] == [
            known[name] for name in ("place", "best", "worst")
        ]
        assert [float(row[name]) for name in ("score", "low", "high")] == [known["score"], *known["interval"]]
    assert tab.wrong == []
