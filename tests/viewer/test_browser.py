"""The viewer in a real browser (Chromium, driven by Playwright): from the surface to two responses that
differ, search, filters, pages, keys; nothing wider than a phone; hostile texts run and load nothing."""

import csv
import io
import json
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.synthetic import make as make_study
from gridc.reports import page_links as addresses
from gridc.viewer.pages import Viewer
from gridc.viewer.server import app, export_pages, listen
from gridc.viewer.view import OpenStore
from tests.viewer.curves import found, stated
from tests.viewer.stores import STAMP, make
from tests.viewer.test_labels import AXES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
PLAYWRIGHT = pytest.importorskip("playwright.sync_api")
AXE = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.slow,
]

Open = Callable[..., "Page"]


@contextmanager
def served(path: Path) -> Iterator[str]:
    """`gridc view` in a process of its own; the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gridc", "view", str(path), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split("  ")[0].rstrip("/")
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with PLAYWRIGHT.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Open]:
    """Opens a page; fails at the end if the browser reported anything or asked another server."""
    said: list[str] = []
    contexts = []

    def open_page(address: str, width: int = 1400, scheme: Any = "light") -> "Page":
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        own = address.split("/")[2]
        page.on("request", lambda request: None if own in request.url else said.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in said if "favicon" not in text and "404" not in text] == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(make(tmp_path_factory.mktemp("small") / "store.sqlite", items=120, waits=False)) as address:
        yield address


@pytest.fixture
def curved(tmp_path: Path) -> Iterator[str]:
    """The address of the curves of a study."""
    uvicorn = pytest.importorskip("uvicorn")
    listener = listen(0)
    port = listener.getsockname()[1]
    path = make(tmp_path / "store.sqlite", items=12, waits=False)
    with closing(Viewer([OpenStore(path, curves=stated())])) as viewer:
        server = uvicorn.Server(uvicorn.Config(app(viewer, port), log_level="error", lifespan="off"))
        thread = Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}{addresses.curves(STAMP)}"
        server.should_exit = True
        thread.join()


UNDER = """(drawing, x) => {
  const width = drawing.width.baseVal.value;
  return [width, (x - drawing.getBoundingClientRect().left) / width];
}"""


@pytest.mark.parametrize(("width", "scheme"), [(420, "dark"), (1400, "light")])
def test_a_curve_is_zoomed_moved_and_its_specifications_chosen(
    curved: str, opened: Open, width: int, scheme: str
) -> None:
    page = opened(curved, width, scheme)
    first = found()[0]
    box, drawing = page.locator(".zoomed"), page.locator(".zoomed svg")
    shown = page.locator(".chosen section:visible")
    assert shown.count() == 0
    page.locator(".zoomed a[href='#s3']").click(position={"x": 2, "y": 40})
    assert shown.locator(".digest").first.inner_text() == first.ranked[2].rows
    for level in first.ranked[2].levels.values():
        assert level in shown.locator("dd").all_inner_texts()
    assert page.eval_on_selector_all("a[aria-current]", "all => all.map(a => a.getAttribute('href'))") == [
        "#s3"
    ]
    shown.get_by_role("link", name="higher").click()
    assert shown.locator(".digest").first.inner_text() == first.ranked[3].rows
    assert page.evaluate(UNNAMED) == [] and page.evaluate(FAINT) == []

    drawn = drawing.evaluate(UNDER, 0)[0]
    for _ in range(4):
        page.get_by_role("button", name="Larger").click()
    assert drawing.evaluate(UNDER, 0)[0] == pytest.approx(drawn * 1.5**4)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    place = box.bounding_box()
    assert place is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + 60
    before, chosen = box.evaluate("box => box.scrollLeft"), page.url
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 50, y, steps=5)
    page.mouse.up()
    assert box.evaluate("box => box.scrollLeft") == pytest.approx(before + 50, abs=1)
    assert page.url == chosen, "to drag is not to choose"
    wide, share = drawing.evaluate(UNDER, x - 50)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_function(
        "wide => document.querySelector('.zoomed svg').width.baseVal.value > wide", arg=wide
    )
    under = drawing.evaluate(UNDER, x - 50)[1]
    assert under == pytest.approx(share, abs=0.002), "what is under the pointer stays there"
    page.get_by_role("button", name="As drawn").click()
    assert drawing.evaluate(UNDER, 0)[0] == pytest.approx(drawn)


def test_from_the_surface_to_two_responses_that_differ(small: str, opened: Open) -> None:
    page = opened(small)
    square = page.locator(".surface td a[title*='text']").first
    assert "ant" in (square.get_attribute("title") or "")
    square.click()
    page.locator("a.row").first.click()
    responses = page.locator("section[aria-label$='response']")
    assert responses.count() == 2
    assert (
        responses.nth(0).locator("pre").first.inner_text()
        != responses.nth(1).locator("pre").first.inner_text()
    )
    marks = [responses.nth(side).locator("mark").all_inner_texts() for side in (0, 1)]
    assert any(marks)
    item = page.locator("h1").inner_text()
    with page.expect_navigation():
        page.keyboard.press("n")
    assert page.locator("h1").inner_text() != item
    page.keyboard.press("u")
    page.wait_for_url("**/pair?**")


def test_search_filter_and_page(small: str, opened: Open) -> None:
    page = opened(small)
    page.keyboard.press("/")
    page.keyboard.type("zebra77")
    page.keyboard.press("Enter")
    page.wait_for_url("**/samples?**q=zebra77**")
    page.locator(".hit mark").first.wait_for()
    assert set(page.locator(".hit mark").all_inner_texts()) == {"zebra77"}
    page.goto(small)
    page.get_by_role("link", name="Samples").click()
    page.locator("select[name=model]").select_option("bee")
    page.locator("select[name=read]").select_option("unreadable")
    with page.expect_navigation():
        page.get_by_role("button", name="Show").click()
    assert "model=bee" in page.url and "read=unreadable" in page.url
    total = int(page.locator("main p strong").first.inner_text().replace(",", ""))
    seen = page.locator("a.row").count()
    while page.locator("a[rel=next]").count():
        with page.expect_navigation():
            page.keyboard.press("n")
        seen += page.locator("a.row").count()
    assert seen == total > 50
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator("a.row").nth(1)
    assert second.evaluate("link => link === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sample?**")
    assert "".join(page.locator(".keys kbd").all_inner_texts()) == "jkEnternpu/"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_person_filters_reads_labels_and_downloads(tmp_path: Path, opened: Open, width: int) -> None:
    """From the first page to ten labels and a comment, which `gridc audit read` takes; and the table of the
    list, with as many rows as the page says."""
    spec = make_study(tmp_path / "study", 8, AXES)
    with served(spec) as address:
        page = opened(address, width)
        page.get_by_role("link", name="Samples").click()
        page.locator("[name=where]").fill('benchmark = "bqb"')
        with page.expect_navigation():
            page.get_by_role("button", name="Show").click()
        alert = page.get_by_role("alert")
        assert (
            "no benchmark is called `bqb`" in alert.inner_text()
            and "did you mean `bbq`?" in alert.inner_text()
        )
        assert alert.locator("mark").inner_text() == '"bqb"'
        page.locator("[name=where]").fill(
            'benchmark = "bbq" and response contains "answer" and replicate < 1'
        )
        with page.expect_navigation():
            page.get_by_role("button", name="Show").click()
        total = int(page.locator("main p strong").first.inner_text().replace(",", ""))
        assert total >= 10
        fits(page, width)
        with page.expect_download() as saved:
            page.get_by_role("link", name="All of these samples as CSV").click()
        text = Path(saved.value.path()).read_text("utf-8")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert len(rows) == total and {row["benchmark"] for row in rows} == {"bbq"}
        page.locator("a.row").first.click()
        for number in range(10):
            prompt = page.locator("pre.prompt").last
            assert "bbq" in prompt.inner_text()
            raw = page.get_by_text("Request and answer as stored")
            assert prompt.bounding_box()["y"] < raw.bounding_box()["y"]  # type: ignore[index]
            page.get_by_label("unreadable" if number % 2 else "B", exact=True).check()
            if number == 4:
                page.get_by_label("comment").fill("It hedges: <b>both</b> \u05e9\u05dc\u05d5\u05dd")
                fits(page, width)
            with page.expect_navigation():
                page.get_by_role("button", name="Save, and go to the next").click()
        page.get_by_role("link", name="Labels", exact=True).click()
        assert page.locator("main p strong").first.inner_text() == "10"
        assert page.get_by_text("It hedges: <b>both</b>").count() == 1
        fits(page, width)
        command = page.locator("main code").nth(1).inner_text()
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    taken = json.loads(done.stdout)
    assert taken["sheet"] == "votes-1" and taken["findings"][0]["agreement"]["n"] == 10
    with closing(sqlite3.connect(spec.parent / "results" / "synthetic" / "store.sqlite")) as db:
        assert dict(db.execute("SELECT label, count(*) FROM label GROUP BY 1")) == {"B": 5, "unreadable": 5}


def test_from_a_file_of_ones_own_to_ten_labels(tmp_path: Path, opened: Open) -> None:
    """The walk of someone new: `init` asks and is answered, the study runs, ten answers are labelled."""
    rows = "".join(f"Which number is {n}?,it is {n},it is {n + 1},A\n" for n in range(12))
    (tmp_path / "mine.csv").write_text(f"Sporsmal,a,b,Fasit\n{rows}", "utf-8")

    def gridc(*words: str, answers: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gridc", *words],
            cwd=tmp_path, capture_output=True, text=True, input=answers, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said = gridc(
        "init", "--benchmark", "mine.csv", "--title", "T", "--model", "builtin:pocket-qwen2",
        answers="Sporsmal\nFasit\nyes\n",
    )  # fmt: skip
    assert "right: " in said and "wrote gridcard.toml" in said
    gridc("run", "--go-on")
    with served(tmp_path / "gridcard.toml") as address:
        page = opened(address)
        page.get_by_role("link", name="Samples").click()
        page.locator("a.row").first.click()
        for _ in range(10):
            assert "Which number is" in page.locator("pre.prompt").last.inner_text()
            page.get_by_label("unreadable", exact=True).check()
            with page.expect_navigation():
                page.get_by_role("button", name="Save, and go to the next").click()
        page.get_by_role("link", name="Labels", exact=True).click()
        assert page.locator("main p strong").first.inner_text() == "10"
        command = page.locator("main code").nth(1).inner_text()
    assert "10 labels" in gridc(*shlex.split(command)[1:])


def fits(page: "Page", width: int) -> None:
    """Nothing is wider than the window, every control has a name, texts stand out, and axe-core agrees."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
    assert page.evaluate(UNNAMED) == [], page.url
    assert page.evaluate(FAINT) == [], page.url
    assert [found["id"] for found in AXE.Axe().run(page).response["violations"]] == [], page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_every_page_fits_and_can_be_read(small: str, opened: Open, width: int, scheme: str) -> None:
    """Nothing makes the page wider than the window, every control has a name, text stands out from its
    background by 4.5 to 1 (WCAG 2.2, success criterion 1.4.3), and axe-core finds nothing else."""
    page = opened(small, width, scheme)
    kinds = {"/questions", "/surface", "/cell", "/pair", "/item", "/sample", "/beside"}
    addresses = ["/", "/samples", "/samples?q=zebra1*"]
    for address in addresses:
        page.goto(small + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        assert page.evaluate(UNNAMED) == [], address
        assert page.evaluate(FAINT) == [], address
        if scheme == "light":
            assert [found["id"] for found in AXE.Axe().run(page).response["violations"]] == [], address
        for link in page.eval_on_selector_all(
            "a[href^='/']:not([download])", "all => all.map(a => a.getAttribute('href'))"
        ):
            if link.split("?")[0] in kinds:
                kinds.remove(link.split("?")[0])
                addresses.append(link)
    assert not kinds


UNNAMED = """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select")].filter(
  each => !(each.textContent.trim() || each.getAttribute("aria-label") || each.labels?.length)
).map(each => each.outerHTML)"""

FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92
    : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, at) => sum + v * [.2126, .7152, .0722][at], 0);
  const behind = node => { for (; node; node = node.parentElement) {
    const colour = rgba(getComputedStyle(node).backgroundColor); if (colour[3] === 255) return colour; }
    return [255, 255, 255]; };
  const found = new Set();
  for (const node of document.querySelectorAll("main *, header *, footer *")) {
    const own = [...node.childNodes].some(each => each.nodeType === 3 && each.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest(".hide")) continue;
    const [a, b] = [light(rgba(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    const where = `${node.tagName}.${node.className} in ${node.parentElement.className}`;
    if (ratio < 4.5) found.add(`${where} ${ratio.toFixed(2)}`);
  }
  return [...found];
}"""


def test_hostile_texts_run_nothing(tmp_path: Path, opened: Open) -> None:
    path = make(tmp_path / "store.sqlite", items=14, hostile=True)
    with served(path) as address:
        page = opened(address)
        waiting, done = ["/"], set[str]()
        while waiting and len(done) < 60:
            here = waiting.pop(0)
            if here in done or sum(here.split("?")[0] == other.split("?")[0] for other in done) > 8:
                continue
            done.add(here)
            page.goto(address + here)
            assert page.title() != "changed" and page.locator("#planted, main img").count() == 0, here
            waiting += page.eval_on_selector_all(
                "a[href^='/']:not([download])", "all => all.map(a => a.getAttribute('href'))"
            )
        assert {here.split("?")[0] for here in done} >= {"/cell", "/pair", "/item", "/sample", "/beside"}


def test_an_exported_page_works_from_the_disk(tmp_path: Path, browser: "Browser") -> None:
    path = make(tmp_path / "store.sqlite", items=14)
    with closing(Viewer([OpenStore(path)])) as viewer:
        done = export_pages(viewer, tmp_path / "pages", 80, lambda pages: None)
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((done.folder / "index.html").as_uri())
    assert page.evaluate("getComputedStyle(document.querySelector('.surface td a')).textAlign") == "center"
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.tagName") == "A"
    page.keyboard.press("Enter")
    page.wait_for_url("**/item-*.html")
    assert said == []
    page.close()
