"""What every page is made from: a store, the request, the study, and the templates.

Texts of models, items and specs are escaped in the templates, with a picture (such as U+240A for a line end)
in place of each character that a page would obey.
"""

from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha384
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from sqlite_utils import Database

from gridc.diagnostics.errors import Diagnostic, FileError, StoreError, visible
from gridc.numbers import FORMS, count, counted
from gridc.reports import page_links
from gridc.reports.comparison.pairing import AskedRun, RunPairing, pair_runs
from gridc.reports.comparison.run import stored_asked
from gridc.reports.page_links import StoreSide
from gridc.reports.shown_text import bdi, lines, shortened
from gridc.runtime.store.reader import FAILURES
from gridc.runtime.store.store import Store
from gridc.statistics.envelope import Direction
from gridc.viewer.figures import StatedCurves
from gridc.viewer.labels import GivenLabel, LabelFile
from gridc.viewer.lists import CountedSamples, Filters, counted_samples, outcomes, response
from gridc.viewer.questions import Questions
from gridc.viewer.samples import MOST_TEXT
from gridc.viewer.search import Index, word_spans
from gridc.viewer.store import LiveReader, Moment, StoredCell, StoredItems, StoredStudy, Studies, Tags, absent

ANSWERED = 4
"""At most so many columns of questions have answers in words; more of them have marks."""

KEPT_COUNTS = 256
"""Lists whose rows were counted."""


class OpenStore:
    """One store: its rows, its studies, its search index, and the curves of the study whose spec is known."""

    def __init__(
        self,
        path: Path,
        tags: Tags | None = None,
        curves: StatedCurves | None = None,
        named: str | None = None,
        labels: LabelFile | None = None,
    ) -> None:
        """`named` is how the stamp of the study begins that is shown, and `labels` are kept of that study.
        Raises `StoreError` where there is no store that can be read."""
        self.path = path
        self.labels = labels
        self.reader = LiveReader(path)
        self.studies = Studies(self.reader, named)
        self.curves = curves
        self._tags = tags or {}
        self._items: dict[str, StoredItems] = {}
        self._asked: dict[str, AskedRun] = {}
        self._counts: dict[tuple[Any, ...], CountedSamples] = {}
        self._questions: defaultdict[str, Questions] = defaultdict(Questions)
        with self.reader.moment() as moment:
            first = moment.row("SELECT digest FROM event ORDER BY seq LIMIT 1")
        self.index = Index(path, f"{path.stat().st_ino} {first[0] if first else ''}")

    def items(self, moment: Moment, study: StoredStudy) -> StoredItems:
        if study.stamp not in self._items:
            self._items[study.stamp] = StoredItems(moment, study.stamp, self._tags)
        return self._items[study.stamp].at(moment)

    def questions(self, study: StoredStudy) -> Questions:
        return self._questions[study.stamp]

    def counted(
        self, moment: Moment, study: StoredStudy, items: StoredItems, filters: Filters
    ) -> CountedSamples:
        """`counted_samples`, kept until the store changes; what is not counted to the end goes on."""
        key = (study.stamp, moment.version, tuple(filters.query().items()))
        known = self._counts.get(key, CountedSamples())
        if key not in self._counts or known.reached is not None:
            if len(self._counts) >= KEPT_COUNTS:
                self._counts.clear()
            self._counts[key] = counted_samples(moment, study, items, filters, known)
        return self._counts[key]

    def asked(self, moment: Moment, study: StoredStudy) -> AskedRun:
        """What a study asked, which never changes. Raises `StoreError` (GC605) for what gridc does not
        write."""
        if study.stamp not in self._asked:
            try:
                asked = stored_asked(Store(Database(moment.connection)), study.stamp)
            except FAILURES as error:
                message = f"what the store says of its items cannot be read: {error}"
                raise StoreError([Diagnostic("GC605", message, str(self.path))]) from None
            self._asked[study.stamp] = asked
        return self._asked[study.stamp]

    def close(self) -> None:
        self.index.close()
        self.reader.close()


T = TypeVar("T")

PLACES = ("part", "after", "before")
"""What an address says of the place in a list."""

NO_PART = "there is no part `{}`"


class PageExtent(NamedTuple):
    """Which rows of a list a page has, counted from 1. `whole` says that `total` counts all of them, and not
    those that were found so far."""

    first: int
    last: int
    total: int
    whole: bool = True

    @property
    def words(self) -> str:
        """Such as `25 to 48 of 310`, with a dash."""
        rows = f"{count(self.first)}–{count(self.last)}" if self.first < self.last else count(self.last)
        return f"{rows} of {'' if self.whole else 'at least '}{count(self.total)}"


Link = Callable[[str], str | None]
"""Where a page is: its address on the server, its file in an export, None where it was left out."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page that is asked for: its query and how it links. `live` is False for a page that is written to a
    file: there is nothing to fill in."""

    page: str
    query: Mapping[str, str]
    to: Link
    live: bool


@dataclass(frozen=True, slots=True)
class View:
    """A study of one store at one moment, and what was asked. `second` is the same of the other store."""

    request: PageRequest
    side: StoreSide
    source: OpenStore
    moment: Moment
    study: StoredStudy
    items: StoredItems
    second: Callable[[], "View"]

    def pairing(self, second: "View") -> RunPairing:
        """What the study has in common with that of the second store."""
        return _paired(*(view.source.asked(view.moment, view.study) for view in (self, second)))

    @property
    def table_query(self) -> dict[str, str]:
        """The query of the table of the page: that of the page without its place in the list."""
        where = {"study": self.study.stamp[:12], "store": self.side}
        return {**where, **{k: v for k, v in self.request.query.items() if k not in PLACES}}

    def asked(self, name: str) -> str:
        """A value that the address must have. Raises `StoreError` (GC615) without it."""
        value = self.request.query.get(name, "")
        if not value:
            raise absent(f"the address does not say which `{name}`")
        return value

    def integer(self, name: str, wrong: str, digits: int = 9) -> int:
        """A whole number of the address, 0 where it has none. Raises `StoreError` (GC615) for another text,
        in the words of `wrong`."""
        text = self.request.query.get(name, "0")
        if not text.isascii() or not text.isdigit() or len(text) > digits:
            raise absent(wrong.format(text[:40]))
        return int(text)

    @property
    def replicate(self) -> int:
        return self.integer("replicate", "`{}` is not the number of a replicate")

    def part(self, rows: Sequence[T], size: int) -> tuple[Sequence[T], dict[str, Any]]:
        """The rows of the part of the list that the address names, which one that is of how many, and which
        rows it has."""
        number = self.integer("part", NO_PART)
        if number * size > len(rows):
            raise absent(NO_PART.format(number))
        here = rows[number * size : (number + 1) * size]
        extent = PageExtent(number * size + bool(here), number * size + len(here), len(rows))
        return here, {"part": number, "parts": -(-len(rows) // size), "extent": extent}

    def cell(self, name: str = "cell") -> StoredCell:
        return self.study.cell(self.asked(name))

    @property
    def labels(self) -> LabelFile | None:
        """Where people's labels are kept, if they are kept of this study."""
        labels = self.source.labels
        return labels if labels is not None and labels.stamp == self.study.stamp else None

    def labelled(self, cell: StoredCell, item: str, replicate: int) -> Sequence[GivenLabel]:
        """What people said of an answer here; nothing where their file cannot be read, which the page of the
        answer says."""
        try:
            return self.labels.of(cell, item, replicate) if self.labels else ()
        except FileError:
            return ()

    def question(self, benchmark: str, item: str) -> str:
        """What an item asks; its id where the store has no prompt of it."""
        return self.source.questions(self.study).text(self.moment, self.study, benchmark, item) or item

    def options(self, cell: StoredCell, item: str) -> tuple[tuple[str, str], ...]:
        """The options of an item in the order of a cell, each as its label and its text, where a prompt shows
        them."""
        return self.source.questions(self.study).options(self.moment, self.study, cell, item)

    def answer(self, choice: int | None, cell: StoredCell, item: str) -> str:
        """What was chosen, in words: an option, how a prompt was responded to, a label of a judge."""
        if choice is None:
            return "nothing readable"
        if cell.names:
            return cell.names[choice] if 0 <= choice < len(cell.names) else str(choice)
        return self.option(choice, cell, item)

    def option(self, choice: int, cell: StoredCell, item: str) -> str:
        """An option by its label and its text, or by its number from 1 where no prompt shows it."""
        options = self.options(cell, item)
        return ". ".join(options[choice]) if 0 <= choice < len(options) else f"option {choice + 1}"

    def outcomes(self, cell: StoredCell, item: str) -> tuple[tuple[int, int | None, int | None], ...]:
        """(replicate, choice, score) of an item in a cell."""
        return outcomes(self.moment, cell, item)

    def response(self, cell: StoredCell, item: str, replicate: int) -> str | None:
        """What was generated last for a sample; None where nothing was."""
        return response(self.moment, cell.id, item, replicate)

    def letter(self, choice: int | None, cell: StoredCell, item: str) -> str:
        """The same as short as it goes: the label of an option, or its number from 1."""
        if choice is None or cell.names:
            return "" if choice is None else self.answer(choice, cell, item)
        options = self.options(cell, item)
        return options[choice][0] if 0 <= choice < len(options) else str(choice + 1)


@lru_cache(maxsize=4)
def _paired(a: AskedRun, b: AskedRun) -> RunPairing:
    return pair_runs([a], b)


ASSETS = {"view.css": "text/css; charset=utf-8", "view.js": "text/javascript; charset=utf-8"}
"""What pages load, all of it from here: the name of a file and its type."""


def fill(template: str, **values: Any) -> str:
    """A template of `gridc/templates/viewer`, filled."""
    return _environment().get_template(template).render(**values)


@cache
def asset(name: str) -> bytes:
    """The content of one of `ASSETS`."""
    return files("gridc").joinpath("templates", "viewer", name).read_bytes()


@cache
def file_integrity(name: str) -> str:
    """The digest that a browser checks a file by before it uses it."""
    return f"sha384-{b64encode(sha384(asset(name)).digest()).decode()}"


def oneline(text: object) -> Markup:
    """A text of several lines on one."""
    end = Markup(' <span class="end">↵</span> ')
    return end.join(visible(part) for part in str(text).split("\n"))


def marked_text(text: str, spans: Sequence[tuple[int, int]], name: str = "") -> Markup:
    """A text with these spans in it marked, at most so much of it as a page shows."""
    parts, place = [], 0
    for start, end in spans:
        if start >= MOST_TEXT:
            break
        inside = escape(lines(text[start : min(end, MOST_TEXT)]))
        label = f' class="{escape(name)}"' if name else ""
        parts += [escape(lines(text[place:start])), Markup(f"<mark{label}>{inside}</mark>")]
        place = min(end, MOST_TEXT)
    return Markup("").join([*parts, escape(lines(text[place:MOST_TEXT]))])


def searched(text: str, words: str) -> Markup:
    """What a text says around the first of the words of a search, with these marked."""
    spans = word_spans(text, words)
    start = max(0, spans[0][0] - 120) if spans else 0
    stop = min(len(text), max(start + 420, spans[0][1] + 200 if spans else 0))
    inside = [(a - start, b - start) for a, b in spans if start <= a and b <= stop]
    return Markup("").join(
        ["… " if start else "", marked_text(text[start:stop], inside), " …" if stop < len(text) else ""]
    )


def better(direction: Direction) -> str:
    """Which score is the better one, where it is not the higher."""
    if direction.target is not None:
        return f"the score nearest to {float(direction.target):g} is the best one"
    return "a lower score is the better one" if direction.lower else ""


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gridc", "templates/viewer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FORMS | {
        "zip": zip,
        "lines": lines,
        "bdi": bdi,
        "visible": visible,
        "oneline": oneline,
        "better": better,
        "shortened": shortened,
        "counted": counted,
    }
    environment.globals |= {
        "address": page_links,
        "marked": marked_text,
        "searched": searched,
        "integrity": file_integrity,
        "most_text": MOST_TEXT,
        "answered": ANSWERED,
    }
    return environment
