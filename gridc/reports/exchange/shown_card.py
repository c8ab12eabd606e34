"""What a reader of a model card sees of a GRID card, and what else in the file could be mistaken for one.

The file is rendered as GitHub and the Hub do (CommonMark with tables and raw HTML), and read as a browser
would (the tree of the HTML standard). The section must stand in it as it does alone, inside no other element:
so neither fences, comments, lists, `<details>` or hidden elements around it nor definitions of links
elsewhere can change it, and no style sheet has to be understood for that. Text elsewhere is taken as shown
and as not shown, whichever makes it say more.

Numbers beside the GRID card that it does not have are found by a plain rule, in digits of every script: a
row, item, paragraph or field of the front matter that names the model or a benchmark of the card and has a
percentage or a decimal, or that names gridc, or whose table does as its source, and has a percentage. What is
said of gridc is false; the rest may come from another harness, and is named. So is what looks like a score
and is not read as one: counts out of a whole, and decimals said of gridc or in such a table. The end of an
interval is no score of the card.

Names are found in the letters that a reader takes for them: whatever stands between the letters (spaces,
marks, invisible characters), in letters of other scripts that look alike, backwards, and with any of the
parts that may not be shown left out.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.lookalikes import LATIN

ALIKE = LATIN | {
    ord("l"): "i",
    ord("1"): "i",
    ord("0"): "o",
}
INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")
SYMBOL = re.compile(r".* LETTER ([A-Z])")
"""The name of a symbol that stands for a letter: in a square or a circle, or of a flag."""
OPEN = "…"
"""At the end of a name: anything may follow it, as further digits follow the first ones of a digest."""
STROKES = frozenset("|!")
"""Marks that may separate, or stand for an i."""


class Mark(Enum):
    """What stands between the characters of a text."""

    BEGIN = "a part begins that may not be shown"
    END = "it ends"
    BREAK = "no name goes on across this"


CharacterOrMark = str | Mark


@lru_cache(maxsize=4096)
def letters_only(character: str) -> str:
    """What is compared of a character: its letters and digits in one spelling, or nothing."""
    if character in INVISIBLE_LETTERS:
        return ""
    symbol = SYMBOL.fullmatch(unicodedata.name(character, ""))
    if symbol and unicodedata.category(character) == "So":
        character = symbol.group(1)
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(
        part.translate(ALIKE) for part in plain if part.isalnum() and part not in INVISIBLE_LETTERS
    )


def words_around(parts: Sequence[CharacterOrMark], name: str) -> str | None:
    """The words around the first place at which a text says a name, or None. A plural `s` may follow it, no
    other letter unless the name ends with `OPEN`. `parts` are characters and marks."""
    wanted = "".join(map(letters_only, name))
    if not wanted:
        return None
    goes_on = name.endswith(OPEN)
    at = _place(parts, wanted, goes_on)
    if at is None:
        turned = {Mark.BEGIN: Mark.END, Mark.END: Mark.BEGIN}
        backwards = [turned.get(part, part) if isinstance(part, Mark) else part for part in reversed(parts)]
        behind = _place(backwards, wanted, goes_on)
        at = None if behind is None else min(len(parts), len(parts) - behind + len(wanted) + 8)
    if at is None:
        return None
    around = "".join(part if isinstance(part, str) else " " for part in parts[max(0, at - 60) : at])
    return " ".join(around.split())[-50:]


def characters(texts: Iterable[str]) -> Iterator[CharacterOrMark]:
    """Texts that have nothing to do with each other."""
    for text in texts:
        yield from text
        yield Mark.BREAK


def _unseen(character: str) -> bool:
    return character in INVISIBLE_LETTERS or unicodedata.category(character) in ("Mn", "Me", "Cf")


def _place(parts: Sequence[CharacterOrMark], wanted: str, goes_on: bool) -> int | None:
    """Where the first match ends: Shift-And (Baeza-Yates & Gonnet 1992), bit k for k letters met."""
    follows: dict[str, int] = {}
    for index, letter in enumerate(wanted):
        follows[letter] = follows.get(letter, 0) | 1 << index
    whole = 1 << len(wanted)
    follows["s"] = follows.get("s", 0) | whole
    complete = whole | whole << 1
    met, outside = 1, []
    for at, part in enumerate(parts):
        if part is Mark.BEGIN:
            outside.append(met)
        elif part is Mark.END:
            met |= outside.pop() if outside else 0
        elif part is Mark.BREAK:
            if met & complete:
                return at
            met = 1
        else:
            spelled = letters_only(str(part))
            if not spelled and met & complete and not _unseen(str(part)):
                return at
            if part in STROKES:
                met |= (met & follows.get("i", 0)) << 1
            for letter in spelled:
                met = (met & follows.get(letter, 0)) << 1 | 1
            if goes_on and met & complete:
                return at + 1
    return len(parts) if met & complete else None


_NUMBER = r"\d{1,3}(?:[.,]\d+)?"
_FIGURE = re.compile(
    rf"(?<![\w.,/])({_NUMBER})\s?(?:%|(?:percent|per cent|pct)\b)"
    r"|(?<![\w.,/=])(\d{0,3}\.\d+)(?![\w.]*\d|\w)"
)
_SPAN = re.compile(
    rf"(?<!from )(?<![\w.,/])({_NUMBER})\s?%?(?: to |\s?[,;–-]\s?)({_NUMBER})\s?%?(?![\w.,]*\d)"
)
"""An interval as cards print it, and as others do."""
_OUT_OF = re.compile(r"(?<![\w.,/])(\d[\d,]*)\s?(?:/|(?:out )?of)\s?(\d[\d,]*)(?![\w.,/]*\d)")
_MARKS = str.maketrans({"\u066a": "%", "\u066b": ".", "\u2044": "/", "\u2215": "/"})
"""Percent sign, decimal point and slashes of other scripts."""
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class OtherFigures:
    """Passages with such numbers: those that name gridc, the others, and those with what looks like a score
    and is not read as one."""

    of_gridc: tuple[str, ...]
    others: tuple[str, ...]
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _PrintedFigures:
    """What a text has in its numbers: percentages and decimals that are no end of an interval, intervals, and
    counts out of a whole."""

    figures: frozenset[float]
    spans: frozenset[tuple[float, float]]
    counts: frozenset[tuple[int, int]]


def other_figures(blocks: Iterable[Sequence[str]], card: str, names: Iterable[str]) -> OtherFigures:
    """What stands beside a GRID card. `blocks` are tables, lists and paragraphs by their passages, first the
    head of a table or nothing; `card` is the text of the GRID card, `names` are its model and benchmarks."""
    printed = _printed(card)
    named = re.compile(rf"\b(?:{'|'.join(re.escape(_words(name)) for name in names)})\b")
    parts = [block for block in blocks if any(map(str.strip, block))]
    sources = [_names_source(block) for block in parts]
    of_gridc: list[str] = []
    others: list[str] = []
    unread: list[str] = []
    for place, passages in enumerate(parts):
        head = _names_gridc(passages[0]) or (bool(passages[0]) and sources[place])
        near = bool(passages[0]) and any(sources[max(0, place - 1) : place + 2])
        near = near or (bool(passages[0]) and any(map(_names_gridc, passages)))
        for passage in passages:
            about, by_gridc = named.search(_words(passage)) is not None, _names_gridc(passage)
            if not (about or by_gridc or head or near):
                continue
            said = _printed(passage, but=printed.spans)
            bare = set(_figures(_without(passage, printed.spans), bare=True)) - printed.figures
            sure = set(_figures(_without(passage, printed.spans), bare=about)) - printed.figures
            if sure:
                (of_gridc if by_gridc or head else others).append(_shortened(passage))
            elif bare or said.counts - printed.counts:
                unread.append(_shortened(passage))
    return OtherFigures(tuple(of_gridc), tuple(others), tuple(unread))


def _names_source(passages: Sequence[str]) -> bool:
    """Whether a passage without a number names gridc, as the source of a table in it or beside it."""
    return any(_names_gridc(passage) and not any(_figures(passage, bare=True)) for passage in passages)


def _printed(text: str, but: frozenset[tuple[float, float]] | None = None) -> _PrintedFigures:
    """The numbers of a text; `but` these intervals, or where that is None, any."""
    spans = frozenset((_value(low), _value(high)) for low, high in _SPAN.findall(_plain(text)))
    rest = _without(text, spans if but is None else but)
    counts = {(int(k.replace(",", "")), int(n.replace(",", ""))) for k, n in _OUT_OF.findall(_plain(text))}
    return _PrintedFigures(
        frozenset(_figures(rest, bare=True)), spans, frozenset((k, n) for k, n in counts if k <= n > 1)
    )


def _without(text: str, spans: frozenset[tuple[float, float]]) -> str:
    """A text without these intervals."""

    def kept(found: re.Match[str]) -> str:
        return " " if (_value(found.group(1)), _value(found.group(2))) in spans else found.group()

    return _SPAN.sub(kept, _plain(text))


def _figures(text: str, bare: bool) -> Iterator[float]:
    """The percentages of a text; with `bare` its other decimals too, shares as percentages."""
    for percent, decimal in _FIGURE.findall(_plain(text)):
        if percent:
            yield _value(percent)
        elif bare:
            value = float(decimal)
            yield round(100 * value, 6) if value <= 1 else value


def _value(text: str) -> float:
    return float(text.replace(",", "."))


def _plain(text: str) -> str:
    """A text with the digits of every script and style as those of ASCII, and without what is not seen: a
    keycap is its digit."""
    if text.isascii():
        return text
    seen = (part for part in unicodedata.normalize("NFKC", text) if not _unseen(part))
    digits = ((part, unicodedata.digit(part, None)) for part in seen)
    return "".join(part if digit is None else str(digit) for part, digit in digits).translate(_MARKS)


def _names_gridc(passage: str) -> bool:
    return re.search(r"\bgridc\b", _words(passage)) is not None


def _words(text: str) -> str:
    return " ".join(re.split(r"[\W_]+", _plain(text).casefold()))


def _shortened(passage: str) -> str:
    text = " ".join(passage.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


MOST_BODY = 1 << 20
"""The most characters of a model card, without its front matter, that are rendered."""
MOST_NESTED = 1_000_000
"""The most elements that formatting which is left open may be repeated in."""
FORMATTING = frozenset(
    [
        "a",
        "b",
        "big",
        "code",
        "em",
        "font",
        "i",
        "nobr",
        "s",
        "small",
        "strike",
        "strong",
        "tt",
        "u",
    ]
)
TAG = re.compile(r"<(/?)([a-z][^\s/>]*)", re.IGNORECASE)
OTHERS = re.compile(r" gridc:card (begin|end) (\S+)(?: \S+ \S+)? ")
"""The marker before and after the section of a study."""
SCOPES = frozenset(["applet", "caption", "marquee", "object", "table", "td", "template", "th"])
"""Elements that a browser opens again in each paragraph until they are closed, and those that keep an end tag
from closing one outside of them (HTML standard, 13.2.4.3)."""
PICTURES = frozenset(
    [
        "canvas",
        "embed",
        "iframe",
        "image",
        "img",
        "input",
        "math",
        "object",
        "picture",
        "svg",
        "video",
    ]
)
METERS = frozenset(["meter", "progress"])
ACTING = frozenset(["base", "link", "meta", "script", "style"])
MAYBE_ABSENT = frozenset(
    [
        "area",
        "audio",
        "basefont",
        "datalist",
        "dialog",
        "font",
        "head",
        "noembed",
        "noframes",
        "noscript",
        "rp",
        "rt",
        "script",
        "small",
        "style",
        "sub",
        "sup",
        "template",
        "title",
        "video",
    ]
)
"""Elements whose text may not be shown, or so small that it is not seen."""
OPENING = re.compile(r"\\[(\[]")
"""What begins a formula of TeX beside a dollar sign."""
COMMAND = re.compile(r"\\[A-Za-z]")
STYLED = frozenset(["style", "class"])
MAYBE_HIDES = STYLED | frozenset(["aria-hidden", "color", "dir", "hidden", "id", "popover", "size"])
NOT_SHOWN = MAYBE_HIDES | frozenset(
    [
        "align",
        "cite",
        "height",
        "href",
        "name",
        "rel",
        "src",
        "srcset",
        "target",
        "type",
        "width",
    ]
)


@dataclass(frozen=True, slots=True)
class ReservedNames:
    """What only the study's own section may say (`everywhere`), and what else only sections of GRID cards may
    say (`outside`)."""

    everywhere: tuple[str, ...]
    outside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownCardCheck:
    """What is wrong with what a reader sees, what was not decided, and what text beside the card says of
    gridc that the card does not (`claims`)."""

    problems: tuple[str, ...]
    unchecked: tuple[str, ...]
    claims: tuple[str, ...] = ()


def shown(
    body: str,
    section: str,
    front: Sequence[str],
    fields: Sequence[str],
    names: ReservedNames,
    about: Sequence[str],
) -> ShownCardCheck:
    """How a reader sees the section of a GRID card in a model card. `section` is from its first marker to its
    last, `front` the texts of the front matter, which some pages show as a table, `fields` its
    rows there, and `about` the names of the model and its benchmarks."""
    if len(body) > MOST_BODY:
        return ShownCardCheck(
            (f"it has more than {MOST_BODY:,} characters, which is more than pages show",), ()
        )
    tops = _rendered(body)
    if tops is None:
        return ShownCardCheck(("it leaves too many elements open",), ())
    alone = _rendered(section) or []
    first, last = alone[0].data, next(node.data for node in reversed(alone) if node.name == "#comment")
    ends = [
        index for index, node in enumerate(tops) if node.name == "#comment" and node.data in (first, last)
    ]
    if len(ends) != 2 or [tops[index].data for index in ends] != [first, last]:
        return ShownCardCheck(
            (f"it stands {_enclosing_elements(tops, first)}, where it is not shown as a part of the page",),
            (),
        )
    own = tops[ends[0] : ends[1] + 1]
    while alone and alone[-1].name == "#text" and not alone[-1].data.strip():
        alone.pop()
    problems = [] if _same_nodes(own, alone) else ["something elsewhere in the file changes how it is shown"]
    outside, others = _sections([*tops[: ends[0]], *tops[ends[1] + 1 :]])
    for texts, these in ((_texts(outside), names.outside), (_texts(_all(others.values())), names.everywhere)):
        problems += _names_found(texts, these)
    problems += _names_found(list(characters(front)), names.outside)
    card = " ".join(text for top in alone for text in _passages(top))
    beside = other_figures([*map(_passages, outside), ["", *fields]], card, about)
    unchecked = list(_undecided(outside + _all(others.values()), others))
    for what, passages in (
        ("numbers beside the card that it does not have", beside.others),
        ("what looks like a score beside the card and was not read", beside.unread),
    ):
        if passages:
            more = f" and {len(passages) - 5:,} more" if len(passages) > 5 else ""
            quotes = ", ".join(f"`{passage}`" for passage in passages[:5])
            unchecked.append(f"{what}: {quotes}{more}")
    return ShownCardCheck(tuple(problems), tuple(unchecked), beside.of_gridc)


def _rendered(markdown: str) -> list[Any] | None:
    """The top-level nodes of a page. None where its tree would be too large to build."""
    try:
        from justhtml import JustHTML
        from markdown_it import MarkdownIt
    except ImportError as error:
        message = f"checking model cards needs {error.name}, which is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[hub]'")]) from None
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(markdown)
    raw = [
        token.content
        if token.type == "html_block"
        else "".join(part.content for part in token.children or () if part.type == "html_inline")
        for token in tokens
    ]
    if sum(map(_left_open, raw)) * len(tokens) > MOST_NESTED:
        return None
    html = parser.renderer.render(tokens, parser.options, {})
    page = JustHTML(html, sanitize=False, fragment=True, scripting_enabled=False)
    return list(page.root.children or ())


def _left_open(html: str) -> int:
    """The most formatting elements that a piece of HTML can leave open behind it."""
    tags = [(bool(end), name.lower()) for end, name in TAG.findall(html)]
    scoped = any(name in SCOPES for _, name in tags)
    left = 0
    for end, name in tags:
        if name in FORMATTING:
            left = max(0, left - (not scoped)) if end else left + 1
    return left


def _walk(tops: Iterable[Any]) -> Iterator[tuple[bool, Any]]:
    """Every node where it begins (True) and where it ends, what templates hold among them."""
    todo = [(True, top) for top in reversed(list(tops))]
    while todo:
        begins, node = todo.pop()
        yield begins, node
        if begins:
            held = getattr(node, "template_content", None)
            inside = [
                *(getattr(node, "children", None) or ()),
                *((held.children or ()) if held is not None else ()),
            ]
            todo.append((False, node))
            todo.extend((True, child) for child in reversed(inside))


def _same_nodes(some: Iterable[Any], others: Iterable[Any]) -> bool:
    return list(map(_tag, _walk(some))) == list(map(_tag, _walk(others)))


def _tag(step: tuple[bool, Any]) -> tuple[bool, str, object, object]:
    begins, node = step
    return begins, node.name, getattr(node, "attrs", None), getattr(node, "data", None)


def _enclosing_elements(tops: Iterable[Any], marker: str) -> str:
    """In which elements a section stands that is not at the top of the page."""
    opened: list[str] = []
    for begins, node in _walk(tops):
        if node.name == "#comment" and node.data == marker and opened:
            return f"inside of {' '.join(f'<{name}>' for name in opened[:6])}"
        if begins and not node.name.startswith("#"):
            opened.append(node.name)
        elif not begins and not node.name.startswith("#"):
            opened.pop()
    return "inside of code, a comment or text"


def _sections(tops: Sequence[Any]) -> tuple[list[Any], dict[str, list[Any]]]:
    """What stands outside of the sections of other studies, and these sections."""
    outside: list[Any] = []
    sections: dict[str, list[Any]] = {}
    since: tuple[str, list[Any]] | None = None
    for node in tops:
        marker = OTHERS.fullmatch(node.data) if node.name == "#comment" else None
        if since is None and marker and marker.group(1) == "begin":
            since = marker.group(2), []
        elif since is not None and marker and marker.groups() == ("end", since[0]):
            sections.setdefault(since[0], []).extend(since[1])
            since = None
        elif since is not None:
            since[1].append(node)
        else:
            outside.append(node)
    return outside + (since[1] if since else []), sections


def _all(lists: Iterable[Sequence[Any]]) -> list[Any]:
    return [node for some in lists for node in some]


def _texts(tops: Iterable[Any]) -> list[CharacterOrMark]:
    """The text of nodes, and what attributes may show, with marks around what may not be shown."""
    parts: list[CharacterOrMark] = []
    attributes: list[str] = []
    for begins, node in _walk(tops):
        if node.name == "#text" and begins:
            parts.extend(node.data or "")
        elif not node.name.startswith("#"):
            mark = Mark.BEGIN if begins else Mark.END
            parts.extend((" ", mark) if _maybe_absent(node) else " ")
            if begins:
                attributes += [value for key, value in node.attrs.items() if value and key not in NOT_SHOWN]
    return [*parts, Mark.BREAK, *characters(attributes)]


PASSAGES = frozenset(["tr", "li", "p", "h1", "h2", "h3", "h4", "h5", "h6", "dd", "dt", "summary", "caption"])


def _passages(top: Any) -> list[str]:
    """The head of a table, or nothing; then the texts of the rows, items and paragraphs of a part of the
    page, and of what is in none of them."""
    passages: list[list[str]] = [[]]
    inside = [passages[0]]
    for begins, node in _walk([top]):
        if node.name in PASSAGES and begins:
            passages.append([])
            inside.append(passages[-1])
        elif node.name in PASSAGES:
            inside.pop()
        elif begins:
            inside[-1].append(node.data or "" if node.name == "#text" else " ")
    texts = [text for text in map("".join, passages) if text.strip()]
    return texts if top.name == "table" else ["", *texts]


def _maybe_absent(node: Any) -> bool:
    return node.name in MAYBE_ABSENT or not MAYBE_HIDES.isdisjoint(node.attrs)


def _names_found(parts: Sequence[CharacterOrMark], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        words = words_around(parts, name)
        if words is not None:
            yield f"outside of its section it says `{words}`, as a card of this study would"
            return


def _formulas(text: str) -> int:
    """How many formulas of TeX a text may hold whose commands say something else than their letters."""
    between_dollars = text.split("$")[1:-1]
    return sum(COMMAND.search(part) is not None for part in between_dollars) + len(OPENING.findall(text))


def _undecided(tops: Sequence[Any], others: Mapping[str, Any]) -> Iterator[str]:
    """What could show something else than its text says."""
    nodes = [node for begins, node in _walk(tops) if begins]
    pictures = sum(node.name in PICTURES for node in nodes)
    meters = sum(node.name in METERS for node in nodes)
    acting = sum(node.name in ACTING for node in nodes)
    styled = sum(not STYLED.isdisjoint(getattr(node, "attrs", None) or ()) for node in nodes)
    formulas = _formulas("".join(node.data or "" for node in nodes if node.name == "#text"))
    if others:
        yield f"the sections of other studies ({', '.join(others)})"
    if pictures:
        yield f"what pictures and frames show ({pictures})"
    if meters:
        yield f"what meters and bars of progress show ({meters})"
    if formulas:
        yield f"what formulas show ({formulas})"
    if acting:
        yield f"what style sheets and scripts do ({acting})"
    if styled:
        yield f"what elements with a style or class of their own cover ({styled})"
