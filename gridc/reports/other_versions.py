"""Reports that another version of gridc wrote, compared with those that this version writes from the same
store.

In the JSON documents every value is compared but gridc's own sentences (`PROSE`) and what later versions
find by another method (`CHANGED`). A text is compared passage by passage (a row, a line, a paragraph): its
numbers, and the names of the study beside them, must stand in this order in a passage of this version.
Nothing is believed for the version that a store names. What was not compared is said.
"""

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from math import isclose
from typing import Any

from gridc import __version__
from gridc.compiler.lock.deviations import ABSENT, shortened_json
from gridc.schema.canonical import digest_bytes

PROSE = {
    "certificate.json": (
        "statements",
        "benchmarks * intervals method",
        "benchmarks * intervals assumption",
        "benchmarks * rates * what",
    ),
    "estimates.json": ("estimates * about", "estimates * method", "estimates * assumption"),
    "gridcard.json": (
        "cards * rates * what",
        "cards * scope_statement held",
        "cards * scope_statement observed",
    ),
    "scorecard.json": (
        "answer",
        "methodology * question",
        "methodology * said",
        "methodology * evidence",
        "threats * threat",
        "threats * met",
        "threats * left",
        "checklist * recommendation",
        "checklist * said",
        "claims * claim",
        "claims * answer",
        "claims * reach",
    ),
}
"""Where the JSON documents hold sentences of gridc's own. A pattern is a step for each key, with a row's `id`
for its place in a list, and holds for all that lies below."""


@dataclass(frozen=True, slots=True)
class ChangedMethod:
    """What versions before `since` found in another way, and where it stands: patterns as in `PROSE`, by
    document. `added`: they did not give it at all."""

    since: str
    what: str
    fields: Mapping[str, tuple[str, ...]]
    added: bool = False


_PAIR = "benchmarks * scopes * pairs * evidence"
_SETTING = "cards * axis_receipt setting"
CHANGED = (
    ChangedMethod(
        "0.2.0",
        "intervals of rates",
        {
            "certificate.json": ("benchmarks * rates * models * * interval",),
            "gridcard.json": ("cards * rates * interval",),
        },
    ),
    ChangedMethod(
        "0.2.0",
        "what is certified and supported of pairs and orders",
        {
            "certificate.json": (
                *(f"{_PAIR} {name}" for name in ("certified", "supported", "smallest_gap", "tier")),
                "benchmarks * tests * configurations * p_plus",
                "benchmarks * tests * configurations * p_minus",
                "benchmarks * ordering_claims * p",
            ),
            "gridcard.json": (
                "cards * ranking_stability pairs * certified",
                "cards * ranking_stability pairs * supported",
            ),
        },
    ),
    ChangedMethod(
        "0.2.0",
        "changes without unreadable answers",
        {
            "estimates.json": (
                *(f"estimates change/*/per_protocol {name}" for name in ("estimate", "interval")),
                *(f"estimates integrity/*/right {name}" for name in ("estimate", "interval")),
                "estimates integrity/* n",
            ),
            "scorecard.json": (
                "models * matrix * change per_protocol",
                "models * matrix * change per_protocol_interval",
                *(f"integrity * {name}" for name in ("by_right", "right_interval", "kept")),
                "methodology both_readings counts diverge",
                "threats * counts diverge",
            ),
        },
    ),
    ChangedMethod(
        "0.2.0",
        "intervals of a score of 0 or 1, and settings without effect here",
        {
            "certificate.json": ("benchmarks * envelope * scores * interval",),
            "estimates.json": ("estimates score/* interval", "estimates score/* level"),
            "gridcard.json": (
                "cards * point_score interval",
                "cards * axis_receipt environment endpoint",
                *(
                    f"{_SETTING} {name}"
                    for name in ("judge", "match", "scorer", "thinking", "aggregate", "all_of")
                ),
            ),
            "scorecard.json": (
                "models * matrix * interval",
                "integrity * n",
                "methodology curve counts declared",
            ),
        },
        added=True,
    ),
    ChangedMethod(
        "0.3.0",
        "statistics of the spec, ranges of variance shares, and rates and ends of numbers needed",
        {
            "certificate.json": ("statistics", "benchmarks * variance * resampled", "largest_rho"),
            "estimates.json": (
                "estimates rate/*",
                *(f"estimates *number_needed/{side}" for side in ("harm", "benefit")),
            ),
        },
        added=True,
    ),
    ChangedMethod(
        "0.4.0",
        "differences of rates between models, and what came of the study in a sentence",
        {"certificate.json": ("benchmarks * rates * gaps",), "scorecard.json": ("answer",)},
        added=True,
    ),
    ChangedMethod(
        "0.3.0",
        "numbers needed whose interval runs through infinity, which is said in words",
        {
            "estimates.json": tuple(f"estimates *number_needed {field}" for field in ("interval", "level")),
        },
    ),
    ChangedMethod(
        "0.4.0",
        "of how many items the asked ones are",
        {"certificate.json": ("benchmarks * held",), "gridcard.json": ("cards * held",)},
        added=True,
    ),
    ChangedMethod(
        "0.4.2",
        "how many items the anchor asks, and how many distinct questions they are",
        {
            "certificate.json": ("benchmarks * distinct",),
            "gridcard.json": ("cards * anchor_items", "cards * distinct"),
        },
        added=True,
    ),
    ChangedMethod(
        "0.4.2",
        "which version of gridc ran the study, where another one stamped it",
        {
            "certificate.json": ("gridc",),
            "gridcard.json": ("cards * scope_statement made_with harness",),
            "scorecard.json": ("gridc",),
        },
    ),
    ChangedMethod(
        "0.4.2",
        "counts and intervals where levels of an axis ask different items",
        {
            "certificate.json": (
                "benchmarks * items",
                "benchmarks * units",
                "benchmarks * envelope * scores * interval",
                "benchmarks * intervals gaps",
            ),
            "estimates.json": (
                *(f"estimates score/* {name}" for name in ("interval", "level")),
                "estimates change/*",
            ),
            "gridcard.json": ("cards * items", "cards * units", "cards * point_score interval"),
            "scorecard.json": (
                "claims * cases",
                "models * matrix * interval",
                "models * matrix * change",
                "integrity",
            ),
        },
    ),
)
"""A row for every number that a later version finds otherwise: what an earlier one wrote there cannot be
found again, and is named as not covered."""

_Keys = tuple[str, ...]
_CLOSE = 1e-4
"""Up to this, relatively, two numbers differ by how they were rounded when they were written."""
_MOST_QUOTED, _LONGEST_QUOTE = 12, 90
_NUMBER = r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_DIGEST = re.compile(r"[0-9a-f]{12,}")
_TOKEN = re.compile(
    rf"(?P<digest>\b{_DIGEST.pattern}\b)|(?P<word>[^\W\d][\w.-]*)|(?P<number>(?:(?<![\w.])-)?(?:{_NUMBER}))"
)
_TAG = re.compile(r"<(/?)([a-zA-Z!][^\s/<>]*+)([^<>]*+)>")
_SHOWN = re.compile(r'\b(?:title|aria-label|alt)="([^"]*)"')
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|[\\\\{}$]")
"""What has no width, and what TeX and Markdown write before and around characters."""
_INLINE = frozenset(
    ["a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong", "sub", "sup",
     "tspan", "u", "var", "wbr"]
)  # fmt: skip
_CELLS = frozenset(["td", "th"])


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """What the documents of another version say that this one does not, by document; and in lines what was
    compared and what was not."""

    differs: Mapping[str, tuple[str, ...]]
    lines: tuple[str, ...]


def compare(writer: str, theirs: Mapping[str, bytes], ours: Mapping[str, str]) -> OtherVersion:
    """The documents that the version `writer` wrote and that differ from this version's, by file name,
    against all of this version's."""
    comparison = _Documents(writer, theirs, ours)
    differs = {name: tuple(comparison.differs(name)) for name in sorted(theirs, key=_json_first)}
    return OtherVersion({name: found for name, found in differs.items() if found}, tuple(comparison.lines()))


def _json_first(name: str) -> tuple[bool, str]:
    return not name.endswith(".json"), name


@dataclass
class _Documents:
    writer: str
    theirs: Mapping[str, bytes]
    ours: Mapping[str, str]
    changed: dict[int, list[tuple[float, str]]] = field(default_factory=dict)
    """The values that differ under each row of `CHANGED`, by its place: how far, and both in words."""
    pairs: set[tuple[str, str]] = field(default_factory=set)
    """How a value of theirs that need not be this version's is printed, with how this version's is."""
    reworded: list[str] = field(default_factory=list)
    passages: list[tuple[str, str]] = field(default_factory=list)

    @cached_property
    def subjects(self) -> frozenset[str]:
        """The names of models and benchmarks."""
        certificate = json.loads(self.ours["certificate.json"])
        return frozenset([*certificate["models"], *(each["benchmark"] for each in certificate["benchmarks"])])

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that a study gives: of levels and hypotheses too."""
        deck = json.loads(self.ours["gridcard.json"])
        levels = (level["level"] for level in deck["levels"])
        return self.subjects.union(levels, (hypothesis["id"] for hypothesis in deck["hypotheses"]))

    def own(self, name: str) -> str:
        """This version's document, which names the certificate that is here by its digest."""
        text, certificate = self.ours[name], self.theirs.get("certificate.json")
        if certificate is None:
            return text
        return text.replace(digest_bytes(self.ours["certificate.json"].encode()), digest_bytes(certificate))

    def differs(self, name: str) -> Iterator[str]:
        ours = self.own(name)
        try:
            text = self.theirs[name].decode()
            if len(text) > 4 * len(ours) + 2**20:
                raise ValueError("too long")
            document = json.loads(text) if name.endswith(".json") else None
        except (ValueError, RecursionError):
            yield "it is no such document"
            return
        self.reworded.append(name)
        if document is None:
            yield from self._texts(name, _passages(name, text), _passages(name, ours))
            return
        prose: tuple[list[str], list[str]] = [], []
        for path, a, b in _differences(document, json.loads(ours)):
            if _is_one_of(path, PROSE.get(name, ())):
                for texts, value in zip(prose, (a, b), strict=True):
                    texts += _strings(value)
            elif not self._may_differ(name, path, a, b):
                yield ".".join(path)
        yield from self._texts(name, *prose)

    def _may_differ(self, name: str, path: _Keys, a: Any, b: Any) -> bool:
        """Whether two values are one number rounded twice, or found by a method that changed."""
        if _is_rounded(a, b):
            self.pairs |= _printed(a, b)
            return True
        for place, row in enumerate(CHANGED):
            if _before(self.writer, row.since) and _is_one_of(path, row.fields.get(name, ())):
                if row.added and a is not None and a is not ABSENT:
                    return False
                both = f"{name} {'.'.join(path)}: {shortened_json(a, 40)}, here {shortened_json(b, 40)}"
                self.changed.setdefault(place, []).append((_distance(a, b), both))
                self.pairs |= _printed(a, b)
                return True
        return False

    def _texts(self, name: str, theirs: Sequence[str], ours: Sequence[str]) -> Iterator[str]:
        """Numbers that this version does not print in a document. Passages of other words are kept."""
        known = [tuple(self._tokens(passage)) for passage in ours]
        exactly, about = set(known), dict[frozenset[str], set[str]]()
        holding: dict[str, list[tuple[str, ...]]] = {}
        for tokens in exactly:
            for token in set(tokens):
                holding.setdefault(token, []).append(tokens)
        replaced = {old for old, _ in self.pairs}
        # A number of a drawing that stands alone may be this version's with its tenths rounded off.
        tenths = [float(_as_written(only[0])) for only in exactly if len(only) == 1 and "." in only[0]]
        whole = {f"{each + less:.0f}" for each in tenths for less in (-0.04, 0.04)}
        for passage in theirs:
            tokens = tuple(self._tokens(passage))
            if tokens in exactly or not any(map(_is_number, tokens)):
                continue
            if len(tokens) == 1 and name.endswith((".html", ".svg")) and tokens[0] in whole:
                continue
            fixed = [token for token in tokens if token not in replaced]
            candidates = min((holding.get(token, []) for token in fixed), key=len, default=list(exactly))
            if any(self._in_order(tokens, other) for other in candidates):
                continue
            subjects = self.subjects.intersection(tokens)
            elsewhere = about.get(subjects) or about.setdefault(subjects, self._said_of(subjects, exactly))
            unknown = [each for each in tokens if _is_number(each) and each not in elsewhere | replaced]
            if unknown:
                yield f"{', '.join(map(_as_written, unknown[:5]))} in {_quoted(passage)}"
            else:
                self.passages.append((name, passage))

    def _said_of(self, subjects: frozenset[str], known: Iterable[tuple[str, ...]]) -> set[str]:
        """The numbers of all passages about these models and benchmarks; of those about none, of none."""
        about = (
            each for each in known if (subjects <= set(each) if subjects else self.subjects.isdisjoint(each))
        )
        return {token for each in about for token in each}

    def _in_order(self, tokens: Sequence[str], other: Sequence[str]) -> bool:
        """Whether tokens stand in this order among others, a changed number as this version has it."""
        rest = iter(other)
        return all(any(one == two or (one, two) in self.pairs for two in rest) for one in tokens)

    def _tokens(self, passage: str) -> Iterator[str]:
        """The numbers, digests and names of a passage. A number with decimals ends with a point."""
        for match in _TOKEN.finditer(passage):
            word = (match["word"] or "").rstrip(".-")
            if match["number"]:
                yield _number(match["number"])
            elif match["digest"] or word in self.names:
                yield match["digest"] or word
            else:
                yield from map(_number, re.findall(_NUMBER, word))

    def lines(self) -> Iterator[str]:
        yield (
            f"the reports were written by gridc {self.writer}: their data and numbers are those that gridc "
            f"{__version__} finds in the store, but for what is named here as not covered"
        )
        for place, values in sorted(self.changed.items()):
            row = CHANGED[place]
            if not row.added:
                yield (
                    f"not covered: {row.what}, which gridc finds by another method since {row.since}: "
                    f"{len(values):,} values, furthest apart {max(values)[1]}"
                )
        yield (
            "not covered: wording, drawings, styles and scripts of what this gridc words otherwise: "
            f"{', '.join(self.reworded)}"
        )
        if self.passages:
            first = sorted(self.passages, key=lambda each: -self._weight(each[1]))[:_MOST_QUOTED]
            quotes = "; ".join(f"{name}: {_quoted(passage)}" for name, passage in first)
            more = len(self.passages) - len(first)
            yield (
                "not covered: which number says what, in passages with numbers of the study that this gridc "
                f"puts otherwise ({len(self.passages):,}): {quotes}{f'; and {more:,} more' if more else ''}"
            )
        yield f"gridc {self.writer} compares all of this too: {install(self.writer)}, then `gridc verify`"

    def _weight(self, passage: str) -> int:
        """How much a passage could say of a model: those that could say most are shown first."""
        tokens = list(self._tokens(passage))
        return 2 * any(token in self.names for token in tokens) + any(token.endswith(".") for token in tokens)


def install(version: str) -> str:
    """How to get a version of gridc, as a command."""
    return f"`pip install 'gridc=={version}'`"


def _distance(a: Any, b: Any) -> float:
    """How far two values are apart; of what is not a number, not at all."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max(map(_distance, a, b), default=0.0)
    numbers = all(isinstance(each, int | float) for each in (a, b))
    return float(abs(a - b)) if numbers else 0.0


def _before(version: str, since: str) -> bool:
    """Whether a version is an earlier one; of what is no version, nothing is known to have changed."""
    first, second = (re.fullmatch(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", each) for each in (version, since))
    return (
        first is not None
        and second is not None
        and tuple(map(int, first.groups())) < tuple(map(int, second.groups()))
    )


def _is_one_of(path: _Keys, patterns: Iterable[str]) -> bool:
    steps = [pattern.split(" ") for pattern in patterns]
    return any(len(path) >= len(pattern) and all(map(fnmatchcase, path, pattern)) for pattern in steps)


def _differences(a: Any, b: Any, path: _Keys = ()) -> Iterator[tuple[_Keys, Any, Any]]:
    """(path, theirs, ours) wherever two documents differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from _differences(a.get(key, ABSENT), b.get(key, ABSENT), (*path, key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, (one, two) in enumerate(zip(a, b, strict=True)):
            name = two.get("id") if isinstance(two, dict) else None
            yield from _differences(one, two, (*path, name if isinstance(name, str) else str(number)))
    elif (theirs := _by_id(a)) is not None and (ours := _by_id(b)) is not None and _same_order(theirs, ours):
        yield from _differences(theirs, ours, path)
    elif a != b or isinstance(a, bool) is not isinstance(b, bool):
        yield path, a, b


def _by_id(value: Any) -> dict[str, Any] | None:
    """Rows by their `id`, where each has one of its own."""
    rows = value if isinstance(value, list) else []
    by_id = {row["id"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)}
    return by_id if by_id and len(by_id) == len(rows) else None


def _same_order(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether the rows that both have stand in one order."""
    return [name for name in theirs if name in ours] == [name for name in ours if name in theirs]


def _is_rounded(a: Any, b: Any) -> bool:
    return isinstance(a, float) and isinstance(b, float) and isclose(a, b, rel_tol=_CLOSE, abs_tol=1e-9)


def _strings(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for part in value for text in _strings(part)]
    if isinstance(value, dict):
        return [text for part in value.values() for text in _strings(part)]
    return [] if value is None or value is ABSENT else [str(value)]


def _printed(a: Any, b: Any) -> set[tuple[str, str]]:
    """The pairs in which two values, or the numbers at the same places in them, are printed: as they are, or
    in percent, to up to four decimals."""
    if isinstance(a, list):
        row = b if isinstance(b, list) and len(b) == len(a) else [None] * len(a)
        return {pair for one, two in zip(a, row, strict=True) for pair in _printed(one, two)}
    if isinstance(a, dict):
        table = b if isinstance(b, dict) else {}
        return {pair for key, one in a.items() for pair in _printed(one, table.get(key))}
    if isinstance(a, bool) or not isinstance(a, int | float):
        return set()
    return set(zip(_prints(a), _prints(b), strict=True))


def _prints(value: Any) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return [""] * 11
    scaled = [f"{part:.{digits}f}" for part in (value, 100 * value) for digits in range(5)]
    return [_number(text) for text in (*scaled, str(value))]


def _number(text: str) -> str:
    """A number in one spelling, with decimals to four significant digits."""
    text = text.replace(",", "")
    return f"{float(text):.4g}." if re.search("[.e]", text) else text


def _is_number(token: str) -> bool:
    return token.lstrip("-")[:1].isdigit() and not _DIGEST.fullmatch(token)


def _as_written(token: str) -> str:
    return token.removesuffix(".")


def _quoted(passage: str) -> str:
    shown = passage if len(passage) <= _LONGEST_QUOTE else f"{passage[:_LONGEST_QUOTE]}…"
    return f"“{shown}”"


def _passages(name: str, text: str) -> list[str]:
    """The rows, lines and paragraphs of a document, as plain text."""
    if name.endswith((".html", ".svg")):
        text = _page_text(" ".join(text.split()))
    plain = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    return [" ".join(line.split()) for line in _UNSEEN.sub("", plain).splitlines() if line.strip()]


def _page_text(page: str) -> str:
    """The text of HTML, a line for each block and row, and for each text that an attribute shows. Only what
    stands alone between the tags of a style or script is left out."""
    parts: list[str] = []
    shown: list[str] = []
    at, tags = 0, list(_TAG.finditer(page))
    inside = ""
    for number, tag in enumerate(tags):
        if not inside:
            parts.append(page[at : tag.start()])
        at, ends, name = tag.end(), tag[1], tag[2].lower()
        following = tags[number + 1] if number + 1 < len(tags) else None
        closed = following is not None and following[1] and following[2].lower() == name
        inside = name if name in ("script", "style") and not ends and closed else ""
        parts.append(" " if name in _CELLS else "" if name in _INLINE or name.startswith("!") else "\n")
        shown += _SHOWN.findall(tag[3])
    return html.unescape("\n".join(["".join([*parts, page[at:]]), *shown]))
