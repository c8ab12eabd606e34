"""The documentation that comes with gridc: a wheel has it inside, a clone of the repository beside it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from gridc.diagnostics.errors import Diagnostic, UsageError

PACKAGE = Path(__file__).parents[1]
_FOR_TESTS = re.compile(r"^<!-- test:.*?-->\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its `name` as `gridc docs NAME` takes it, its `title`, and its Markdown."""

    name: str
    title: str
    markdown: str


def pages(name: str | None = None) -> list[Page]:
    """Every page, or the one of this name. Raises `UsageError` where there is none."""
    known = _pages()
    if name is None:
        return list(known.values())
    wanted = name.removesuffix(".md").removeprefix("docs/").lower()
    if wanted not in known:
        near = get_close_matches(wanted, known, n=1)
        help = (
            f"did you mean `gridc docs {near[0]}`?" if near else "`gridc docs` without a name lists them all"
        )
        raise UsageError([Diagnostic("GC000", f"there is no page {name}", help=help)])
    return [known[wanted]]


def lines_with(text: str) -> list[tuple[Page, int, str]]:
    """Every line of every page that holds the text, in any case: page, number of the line, and the line."""
    return [
        (page, number, line.strip())
        for page in _pages().values()
        for number, line in enumerate(page.markdown.splitlines(), 1)
        if text.lower() in line.lower()
    ]


def _pages() -> Mapping[str, Page]:
    folder = next(place for place in (PACKAGE / "docs", PACKAGE.parent / "docs") if place.is_dir())
    return {path.stem: _page(path) for path in sorted(folder.glob("*.md"), key=lambda path: path.stem)}


def _page(path: Path) -> Page:
    """A page without the comments that tell the tests how to run its blocks."""
    markdown = _FOR_TESTS.sub("", path.read_text("utf-8"))
    return Page(path.stem, markdown.partition("\n")[0].removeprefix("# "), markdown)
