"""Responses as the filters and the exact match of lm-evaluation-harness 0.4.13 read them.

A regular expression of a stranger can go back over a text for ever. So whatever has one runs in a confined
child with a limit on CPU time; the child imports this module, which needs the standard library alone. What
crosses the border is plain JSON: filters and `ignore` as the tables of `schema.effects.Match` write them.
"""

import re
import string
import threading
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from json import dumps, loads
from typing import Any, NamedTuple

from gridc.confined import ChildEndedError, Confined
from gridc.diagnostics.errors import Diagnostic, UnavailableError

SECONDS = 5.0
"""CPU time that the filters may take for one response."""

FALLBACK = "[invalid]"
"""What a filter gives where it finds nothing, unless it says otherwise."""

FilterTable = Mapping[str, Any]
FilterResult = tuple[str, bool]
"""What a filter makes of a text, and whether it found something."""


class FilterReading(NamedTuple):
    """What filters make of a response. `found` is false where a regular expression matched nothing, `right`
    says whether the text equals a right answer; `failed` says why nothing could be read at all."""

    text: str
    found: bool
    right: bool
    failed: str | None = None


@lru_cache(maxsize=2**12)  # a response is scored by the run, by `verify` and by every report
def read_filtered(
    filters: str, ignore: str, response: str, answers: tuple[str, ...], choices: tuple[str, ...]
) -> FilterReading:
    """A response behind its filters, against right answers. `filters` is a JSON array of their tables, and
    `ignore` one JSON object. Raises `UnavailableError` (GC668) where no child can be started."""
    tables, ignored = loads(filters), loads(ignore)
    if not any(_patterns(table) for table in (*tables, ignored)):
        return FilterReading(*ResponseFilters().read(tables, ignored, response, answers, choices))
    with _lock:
        child = _children.pop() if _children else _started()
        try:
            given = child.ask("read", tables, ignored, response, answers, choices)
        except ChildEndedError as error:
            return FilterReading("", False, False, f"the filters: {error}")
        except ValueError as error:
            _children.append(child)
            return FilterReading("", False, False, f"the filters fail ({error})")
        _children.append(child)
    return FilterReading(*given)


def _started() -> Confined:
    try:
        return Confined(f"{__name__}:ResponseFilters", each=SECONDS)
    except ChildEndedError as error:
        message = f"answers cannot be filtered: no process can be started for their patterns ({error})"
        help = "answers stay; run it again when other programs need less memory, and they are scored"
        raise UnavailableError([Diagnostic("GC668", message, help=help)]) from None


_lock = threading.Lock()
_children: list[Confined] = []
"""The child, where there is one. It is taken out while it works: one that ended is asked no more."""


def pattern_problem(pattern: str) -> str | None:
    """Why a regular expression cannot be used."""
    try:
        _compiled(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error) or type(error).__name__
    return None


class ResponseFilters:
    """Filters, one after another, and the comparison behind them: what runs in the child."""

    def read(
        self,
        filters: Sequence[FilterTable],
        ignore: FilterTable,
        response: str,
        answers: Sequence[str],
        choices: Sequence[str],
    ) -> tuple[str, bool, bool]:
        """The fields of a `FilterReading`."""
        text, found = filtered(filters, response, choices)
        return text, found, equals(text, answers, ignore)


def filtered(filters: Sequence[FilterTable], response: str, choices: Sequence[str]) -> FilterResult:
    """A response behind filters, and whether each regular expression found something. `choices` are the
    texts that letters stand for."""
    text, found = response, True
    for table in filters:
        text, finds = FILTERS[table["kind"]](table, text, choices)
        found = found and finds
    return text, found


def equals(text: str, answers: Sequence[str], ignore: FilterTable) -> bool:
    """Whether a text equals one of the right answers, without what is ignored."""
    (said,) = _compared([text], ignore)
    return said in _compared(answers, ignore)


def _compared(texts: Sequence[str], ignore: FilterTable) -> list[str]:
    """Texts without what is ignored. The package holds them in an array of one width, which drops null
    characters at the end and cuts what lower case makes longer (`İ` becomes two characters)."""
    width = max(map(len, texts), default=0)
    for pattern in ignore.get("regexes", ()):
        texts = [_compiled(pattern).sub("", text) for text in texts]
        width = max(map(len, texts), default=0)
        texts = [text.rstrip("\0") for text in texts]
    return [_bare(text, ignore, width) for text in texts]


def _bare(text: str, ignore: FilterTable, width: int) -> str:
    text = text.rstrip("\0")
    if ignore.get("case"):
        text = text.lower()[:width].rstrip("\0")
    if ignore.get("punctuation"):
        text = text.translate(_PUNCTUATION).rstrip("\0")
    if ignore.get("numbers"):
        text = text.translate(_DIGITS).rstrip("\0")
    return text


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DIGITS = str.maketrans("", "", string.digits)


def _without_patterns(text: str, patterns: Sequence[str]) -> str:
    for pattern in patterns:
        text = _compiled(pattern).sub("", text)
    return text


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():  # of what a later Python will read otherwise
        warnings.simplefilter("ignore")
        return re.compile(pattern)


def _patterns(table: FilterTable) -> bool:
    """Whether a filter, or what is ignored, has regular expressions."""
    return any(key in table for key in ("pattern", "regexes", "ignore")) or table.get("kind") in _MATCHING


def _chosen(pattern: re.Pattern[str], text: str, number: int) -> str | None:
    """The match that counts: its first group that is not empty, or without groups the whole; None where
    there is none of this number, and empty where all its groups are."""
    every = pattern.findall(text)
    if not -len(every) <= number < len(every):
        return None
    match = every[number]
    return next((group for group in match if group), "") if isinstance(match, tuple) else match


def _regex(table: FilterTable, text: str, choices: Sequence[str]) -> FilterResult:
    pattern, fallback = _compiled(table["pattern"]), table.get("fallback", FALLBACK)
    match = _chosen(pattern, text, table.get("group", 0))
    if match is None:
        return fallback, False
    # Of several groups that are all empty the package takes the fallback; one empty group is an empty answer.
    if match == "" and pattern.groups > 1:
        return fallback.strip(), False
    return match.strip(), True


def _multi_choice_regex(table: FilterTable, text: str, choices: Sequence[str]) -> FilterResult:
    """What the pattern finds; without that the option whose text the response has, as its letter in brackets;
    without that a letter behind a colon."""
    number = table.get("group", 0)
    match = (_chosen(_compiled(table["pattern"]), text, number) or "").strip()
    if match:
        return match, True
    letters = [chr(ord("A") + place) for place in range(len(choices))]
    bare = [_without_ignored(table, choice.strip()) for choice in choices]
    by_text = {option: f"({letter})" for option, letter in zip(bare, letters, strict=True)}
    longest_first = "|".join(sorted(map(re.escape, bare), key=len, reverse=True))
    match = (_chosen(re.compile(longest_first), _without_ignored(table, text), number) or "").strip()
    if match:
        return by_text.get(match, match), True
    match = _chosen(re.compile(rf":\s*({'|'.join(letters)})"), text, number) or ""
    return (f"({match})", True) if match else (table.get("fallback", FALLBACK), False)


def _without_ignored(table: FilterTable, text: str) -> str:
    text = _without_patterns(text, table.get("ignore", ()))
    if table.get("ignore_case"):
        text = text.lower()
    if table.get("ignore_punctuation"):
        text = "".join(one for one in text if not unicodedata.category(one).startswith("P"))
    return text


def _mapped(table: FilterTable, text: str, choices: Sequence[str]) -> FilterResult:
    return table["map"].get(text, table["default"]), True


FILTERS: Mapping[str, Callable[[FilterTable, str, Sequence[str]], FilterResult]] = {
    "regex": _regex,
    "multi_choice_regex": _multi_choice_regex,
    "lowercase": lambda table, text, choices: (text.lower(), True),
    "uppercase": lambda table, text, choices: (text.upper(), True),
    "remove_whitespace": lambda table, text, choices: (text.strip(), True),
    "map": _mapped,
}
"""By the `kind` of a filter in the language."""
_MATCHING = ("regex", "multi_choice_regex")


def filtered_text(tables: object) -> str:
    """Tables in the form that `read_filtered` takes."""
    return dumps(tables, sort_keys=True)
