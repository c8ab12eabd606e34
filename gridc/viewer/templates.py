"""Fill the viewer's templates. Texts of models, items and specs are escaped, with a picture in place of each
character that a page would obey."""

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import sha384
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gridc.diagnostics.visible import DECEIVING, visible
from gridc.numbers import FORMS
from gridc.reports import addresses
from gridc.viewer.cells import StoredCell
from gridc.viewer.samples import MOST_TEXT
from gridc.viewer.search import marks

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
def integrity(name: str) -> str:
    """The digest that a browser checks a file by before it uses it."""
    return f"sha384-{b64encode(sha384(asset(name)).digest()).decode()}"


def lines(text: object) -> str:
    """Text of several lines with its control characters shown; line ends and tabs stay."""
    return _OBEYED.sub(lambda match: visible(match.group()), str(text))


_OBEYED = re.compile(f"{DECEIVING.pattern}|[\\r\u0085\u2028\u2029]")


def bdi(text: object) -> Markup:
    """A text of one line, kept apart from the direction of the writing around it."""
    return Markup(f'<bdi dir="auto">{escape(visible(str(text)))}</bdi>')


def oneline(text: object) -> Markup:
    """A text of several lines on one."""
    end = Markup(' <span class="end">↵</span> ')
    return end.join(visible(part) for part in str(text).split("\n"))


def marked(text: str, spans: Sequence[tuple[int, int]], name: str = "") -> Markup:
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
    spans = marks(text, words)
    start = max(0, spans[0][0] - 120) if spans else 0
    stop = min(len(text), max(start + 420, spans[0][1] + 200 if spans else 0))
    inside = [(a - start, b - start) for a, b in spans if start <= a and b <= stop]
    return Markup("").join(
        ["… " if start else "", marked(text[start:stop], inside), " …" if stop < len(text) else ""]
    )


def chosen(choice: int | None, cell: StoredCell) -> str:
    """What was chosen, in words: an option by its number from 1, how a prompt was responded to, a label."""
    if choice is None:
        return "nothing readable"
    if cell.names:
        return cell.names[choice] if 0 <= choice < len(cell.names) else str(choice)
    return f"option {choice + 1}"


def levels(cell: StoredCell) -> str:
    """A configuration as people read it."""
    return " · ".join(cell.levels.values()) or "the only configuration"


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
        "chosen": chosen,
        "levels": levels,
    }
    environment.globals |= {
        "address": addresses,
        "marked": marked,
        "searched": searched,
        "integrity": integrity,
        "most_text": MOST_TEXT,
    }
    return environment
