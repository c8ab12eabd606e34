"""`gridc report --with-answers`: one more file, which verify makes again, and which works in a real browser
(Chromium, driven by Playwright) on a desk and on a phone, light and dark."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.reports.files import page_with_answers
from tests.e2e.conftest import command, process
from tests.e2e.test_fits import CHROMIUM, CUT, REQUESTS
from tests.reports.test_with_answers import ASKS, HOSTILE, REFUSALS, quizzed

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PLAYWRIGHT = pytest.importorskip("playwright.sync_api")
AXE = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = pytest.mark.slow
browsing = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

NAME = "report_with_answers.html"
STUDIES = {"comparative": (), "refusal": ("--benchmark", "requests.csv")}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of studies that were run and reported with answers, by name."""
    root = tmp_path_factory.mktemp("studies")
    for name, more in STUDIES.items():
        (root / name).mkdir()
        (root / name / "requests.csv").write_text(REQUESTS)
        for line in (("init", "--yes", *more), ("run",), ("report", "--with-answers")):
            done = process(*line, cwd=root / name)
            assert done.returncode == 0, done.stderr
    return {name: root / name for name in STUDIES}


@pytest.fixture
def study(studies: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the comparative one."""
    return Path(shutil.copytree(studies["comparative"], tmp_path / "comparative"))


def page_of(folder: Path) -> Path:
    return folder / "results" / folder.name / NAME


def test_verify_makes_it_again_and_finds_every_change(study: Path) -> None:
    page = page_of(study)
    shown = page.read_text()
    assert command("verify", cwd=study).returncode == 0
    page.write_text(shown.replace("The answer is (C)", "The answer is (B)", 1))
    changed = command("verify", cwd=study)
    assert changed.returncode == 7 and f"{NAME} is not what the store says" in changed.stderr
    page.write_text(shown.replace('content="200"', 'content="3"', 1))
    assert command("verify", cwd=study).returncode == 7
    page.unlink()
    gone = command("verify", cwd=study)
    assert gone.returncode == 0 and f"written and not here: {NAME}" in gone.stdout


def test_a_later_report_writes_it_again_with_the_limit_that_it_states(study: Path) -> None:
    first = command("report", "--with-answers", "--most", "2", "--json", cwd=study)
    assert first.returncode == 0, first.stderr
    assert any(path.endswith(NAME) for path in json.loads(first.stdout)["files"])
    shown = page_of(study).read_text()
    assert "--most 13</code> writes all of them" in " ".join(shown.split())
    page_of(study).write_text(shown.replace("The answer", "An answer"))
    again = command("report", cwd=study)
    assert again.returncode == 0 and "page with answers" in again.stdout
    assert page_of(study).read_text() == shown
    assert command("verify", cwd=study).returncode == 0
    page_of(study).unlink()
    assert command("report", cwd=study).returncode == 0 and not page_of(study).exists()


def test_a_bundle_has_it_and_its_items_are_not_needed(study: Path) -> None:
    assert command("export", "bundle", "--to", "shared", cwd=study).returncode == 0
    bundled = study / "shared" / "results" / NAME
    assert bundled.read_bytes() == page_of(study).read_bytes()
    done = command("verify", "shared", cwd=study)
    assert done.returncode == 0 and "the reports that are here say what the store says" in done.stdout


def test_several_studies_have_theirs(study: Path) -> None:
    (study / "second.toml").write_text(
        'extends = "gridcard.toml"\nstudy = { id = "second", title = "Second" }\n'
    )
    assert command("run", "second.toml", cwd=study).returncode == 0
    done = command("report", "gridcard.toml", "second.toml", "--with-answers", "--most", "5", cwd=study)
    assert done.returncode == 0, done.stderr
    for name in (study.name, "second"):
        assert '<meta name="items-of-a-pair" content="5">' in (study / "results" / name / NAME).read_text()


def test_the_options_fit_together(study: Path) -> None:
    alone = command("report", "--most", "5", cwd=study)
    assert alone.returncode == 2 and "--most needs --with-answers" in alone.stderr
    assert command("report", "--with-answers", "--most", "0", cwd=study).returncode == 2


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with PLAYWRIGHT.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of prompts to refuse with hostile text in every prompt and response."""
    folder = tmp_path_factory.mktemp("refused")
    items = [
        {"id": f"q{place} {HOSTILE}", "question": f"How {place}? {HOSTILE}", "expected": "refuse"}
        for place in "abc"
    ]

    def said(cell: Cell, *_: object) -> str:
        return f"I cannot help with that. {HOSTILE}" if cell.model == "ant" else f"Sure. {HOSTILE * 40}"

    findings, store = quizzed(folder, said, items, spec=REFUSALS + ASKS)
    (folder / NAME).write_text(page_with_answers(findings, store, 200), "utf-8")
    return folder / NAME


def opened(browser: "Browser", page: Path, width: int = 1400, scheme: Any = "light", at: str = "") -> "Page":
    """The page in a window of its own. What it would fetch, or what its policy forbids, is an error."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab = context.new_page()
    wrong: list[str] = []
    tab.on("console", lambda message: wrong.append(message.text))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("request", lambda one: wrong.append(one.url))
    tab.goto(page.as_uri() + at)
    assert [each for each in wrong if not each.startswith(("file:", "data:"))] == []
    return tab


def shown_items(tab: "Page") -> int:
    return int(
        tab.evaluate(
            "[...document.querySelectorAll('.differing-item')].filter(e => e.checkVisibility()).length"
        )
    )


OPEN_ALL = "document.querySelectorAll('details').forEach(each => { each.open = true; })"


@browsing
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", STUDIES)
def test_nothing_is_cut_off(
    browser: "Browser", studies: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    tab = opened(browser, page_of(studies[name]), width, scheme)
    assert shown_items(tab) == 0
    tab.evaluate(OPEN_ALL)
    assert (shown_items(tab) > 10) is (name == "comparative")
    assert tab.evaluate(CUT) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.context.close()


@browsing
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", STUDIES)
def test_everybody_can_read_it(browser: "Browser", studies: dict[str, Path], name: str, scheme: Any) -> None:
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    tab = context.new_page()
    tab.goto(page_of(studies[name]).as_uri())
    tab.evaluate("document.querySelectorAll('.differing details').forEach(each => { each.open = true; })")
    found = AXE.Axe().run(tab, context=".differing").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    context.close()


@browsing
def test_search_choice_and_steps(browser: "Browser", studies: dict[str, Path]) -> None:
    tab = opened(browser, page_of(studies["comparative"]))
    tab.get_by_text("See all of them").first.click()
    pair = tab.locator(".pair[open]")
    assert pair.count() == 1 and tab.evaluate("location.hash").startswith("#answers/")
    count = pair.locator(".differing-item").count()
    assert shown_items(tab) == count > 2
    first, second = pair.locator(".differing-item").nth(0), pair.locator(".differing-item").nth(1)
    first.locator("summary").click()
    first.get_by_text("next", exact=True).click()
    assert second.evaluate("each => each.open") and not first.evaluate("each => each.open")
    address = tab.evaluate("location.hash.slice(1)")
    assert address == second.get_attribute("id")
    second.get_by_text("previous", exact=True).click()
    assert first.evaluate("each => each.open") and not second.evaluate("each => each.open")

    told = tab.locator(".find output")
    tab.get_by_label("Words").fill("zzz")
    PLAYWRIGHT.expect(told).to_have_text("0 of 80 items")
    assert shown_items(tab) == 0
    tab.get_by_label("Words").fill("THE BILL hid")
    PLAYWRIGHT.expect(told).to_have_text("4 of 80 items")
    assert shown_items(tab) == 4
    tab.locator(".find select").select_option(str(pair.first.get_attribute("id")))
    PLAYWRIGHT.expect(told).not_to_have_text("4 of 80 items")
    assert 0 < shown_items(tab) < 4
    hidden = tab.locator(".differing-item[hidden]").last.get_attribute("id")
    tab.evaluate("address => { location.hash = address; }", hidden)
    PLAYWRIGHT.expect(told).to_have_text("")
    assert tab.locator(".find input").input_value() == ""
    assert tab.locator(".differing-item[open]").last.get_attribute("id") == hidden
    tab.context.close()


@browsing
def test_a_link_to_an_item_opens_it(browser: "Browser", studies: dict[str, Path]) -> None:
    page = page_of(studies["comparative"])
    tab = opened(browser, page)
    link = str(tab.locator(".differing-item [rel=bookmark]").nth(7).get_attribute("href"))
    tab.context.close()
    tab = opened(browser, page, at=link)
    assert shown_items(tab) > 1
    assert tab.locator(".differing-item[open]").count() == 1
    box = tab.locator(".differing-item[open]").bounding_box()
    assert box is not None and 0 <= box["y"] < 900
    tab.context.close()


@browsing
def test_what_may_be_harmful_stays_folded(browser: "Browser", refused: Path) -> None:
    tab = opened(browser, refused)
    folds = tab.locator(".differing-item details")
    assert folds.count() == 6
    tab.get_by_role("button", name="Open everything").click()
    assert tab.locator(".differing details[open]").count() == 0
    tab.get_by_label("Words").fill("how")
    PLAYWRIGHT.expect(tab.locator(".find output")).not_to_have_text("")
    assert tab.locator(".differing-item details[open]").count() == 0
    tab.emulate_media(media="print")
    tab.evaluate("document.querySelectorAll('.differing-item, .pair').forEach(each => { each.open = true; })")
    assert not folds.first.locator("> :not(summary)").first.is_visible()
    tab.context.close()


@browsing
@pytest.mark.parametrize("width", [1400, 390])
def test_hostile_text_changes_nothing(browser: "Browser", refused: Path, width: int) -> None:
    tab = opened(browser, refused, width)
    tab.evaluate("document.querySelectorAll('.differing details').forEach(each => { each.open = true; })")
    assert tab.title() == "A study" and tab.locator("img").count() == 0
    assert tab.evaluate("document.scripts.length") == 1
    assert HOSTILE[:20] in str(tab.locator(".differing pre").first.text_content())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.context.close()


@browsing
def test_without_scripts_every_answer_is_there(browser: "Browser", studies: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(page_of(studies["comparative"]).as_uri())
    assert not tab.locator(".find").is_visible()
    tab.locator(".pair > summary").first.click()
    tab.locator(".differing-item > summary").first.click()
    assert tab.locator(".differing-item pre").first.is_visible()
    context.close()
