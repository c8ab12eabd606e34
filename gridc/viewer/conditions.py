"""Conditions on answers: what stands behind WHERE in `gridc sql`, on its view `samples`.

SQLite decides a condition, on the view's own columns. Here is what may stand in one, so that it reads nothing
else and ends soon, and where a mistake is. Beside SQL a text may stand in double quotes, `response` is the
column `text`, and `response contains "sorry"` finds a part of a text, whatever the case of A to Z.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gridc.compiler.frontend.validate import did_you_mean
from gridc.runtime.store.queries import samples_of
from gridc.viewer.store import Moment, StoredCell, StoredStudy

LONGEST = 500
"""Characters of a condition."""

SIGNS = ("<=", ">=", "!=", "<>", "==", "=", "<", ">", "(", ")", ",", "+", "-", "*", "/")
WORDS = ("and", "or", "not", "in", "is", "null", "between", "contains")
ALLOWED = (
    '= != < <= > >=, and, or, not, in ("a", "b"), between 1 and 2, is null, contains "a part of a text", + - '
    "* / and brackets; texts stand in quotes"
)
"""What a condition is made of, beside the columns."""

ALIASES = {"response": "text"}
"""What pages call a column, and its name."""


class ConditionError(ValueError):
    """What is wrong with a condition, where in it (from a character up to another one), and the way out."""

    def __init__(self, message: str, start: int, end: int, help: str) -> None:
        self.start, self.end, self.help = start, end, help
        super().__init__(message)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    def wrong(self, message: str, help: str) -> ConditionError:
        return ConditionError(message, self.start, self.end, help)


@dataclass(frozen=True)
class Condition:
    """A condition that was checked. `text` is as it was typed."""

    text: str
    _view: str
    _parts: tuple[str, ...]

    def sql(self, cell: StoredCell) -> str:
        """The condition as a value, on a row of `sample` of this cell: 1 where it holds. A score is a part of
        a point there, as a page shows it, where the view counts parts."""
        parts = self._parts
        if cell.scale > 1:
            parts = tuple(f"(score * 1.0 / {cell.scale})" if part == '"score"' else part for part in parts)
        return f"""(SELECT {" ".join(parts)} FROM ({self._view}) AS answer
                    WHERE (answer.cell, answer.item, answer.replicate)
                        = ({_text(cell.key)}, sample.item, sample.replicate))"""


class Conditions:
    """What conditions on the answers of one study may name."""

    def __init__(self, moment: Moment, study: StoredStudy) -> None:
        self._moment = moment
        self._view = samples_of(study.stamp, study.axes)
        self._names = {"model": study.models, "benchmark": study.benchmarks, "tier": study.tiers}
        self._names |= {f"axis_{axis}": levels for axis, levels in study.axes.items()}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """What a condition may name, as people are told."""
        cursor = self._moment.rows(f"SELECT * FROM ({self._view}) LIMIT 0")
        own = [str(name) for name, *_ in cursor.description]
        called = {name: alias for alias, name in ALIASES.items()}
        left_out = ("stamp", "cell", "call", "span_start", "span_end")
        return tuple(called.get(name, name) for name in own if name not in left_out)

    def read(self, text: str) -> Condition:
        """Raises `ConditionError` for what is none."""
        if len(text) > LONGEST:
            message = f"the condition has {len(text):,} characters"
            raise ConditionError(message, LONGEST, len(text), f"at most {LONGEST}")
        tokens = list(self._tokens(text))
        _require_closed(tokens)
        _require_known(tokens, self._names)
        parts = list(_as_sql(tokens))
        self._require_sql(text, tokens, [part for _, part in parts])
        return Condition(text, self._view, tuple(part for _, part in parts))

    def _tokens(self, text: str) -> Iterator[_Token]:
        names = sorted({*self.columns, *ALIASES.values()}, key=len, reverse=True)
        find = re.compile(
            rf"""\s*(?:(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<number>\d+(?:\.\d+)?(?![\w.]))"""
            rf"""|(?P<column>(?:{"|".join(map(re.escape, names))})(?![\w]))"""
            rf"""|(?P<word>(?:{"|".join(WORDS)})(?![\w]))|(?P<sign>{"|".join(map(re.escape, SIGNS))})"""
            r"""|(?P<other>['"“”‘’].*|[\w.]+|\S)|$)""",
            re.IGNORECASE | re.DOTALL,
        )
        place = 0
        while place < len(text):
            found = find.match(text, place)
            assert found is not None, "anything is a token"
            place = found.end()
            if found.lastgroup is None:
                return
            token = _Token(found.lastgroup, found[found.lastgroup], *found.span(found.lastgroup))
            if token.kind == "other":
                raise self._unknown(token)
            yield token

    def _unknown(self, token: _Token) -> ConditionError:
        if token.text[0] in "'\"":
            return token.wrong("this text has no quote at its end", f"write {token.text[0]} behind it")
        if token.text[0] in "“”‘’":
            return ConditionError(
                f"`{token.text[0]}` is a typographic quote", token.start, token.start + 1, "use \" or '"
            )
        if re.match(r"\w", token.text) and not token.text[0].isdigit():
            near = did_you_mean(token.text, (*self.columns, *WORDS))
            quoted = any(token.text in names for names in self._names.values())
            help = f'a text stands in quotes: "{token.text}"' if quoted else near
            return token.wrong(f"`{token.text}` is no column of an answer", help)
        return token.wrong(f"`{token.text[:20]}` means nothing here", f"there are {ALLOWED}")

    def _require_sql(self, text: str, tokens: Sequence[_Token], parts: Sequence[str]) -> None:
        """Raises `ConditionError` where SQLite cannot read it."""
        problem = self._problem(parts, ")")
        if problem is None:
            return
        if not tokens:
            raise ConditionError("the condition is empty", 0, 0, f"there are {ALLOWED}")
        for number, token in enumerate(tokens):
            # What may still go on is incomplete; the first token that cannot stand there is the mistake.
            found = self._problem(parts[: number + 1], "")
            if found is not None and "incomplete" not in found:
                raise token.wrong(f"`{token.text}` cannot stand here", f"there are {ALLOWED}")
        if "syntax error" in problem:
            message = "something is missing at the end of the condition"
            raise ConditionError(message, len(text.rstrip()), len(text), f"there are {ALLOWED}")
        raise ConditionError(f"SQLite says: {problem}", 0, len(text), f"there are {ALLOWED}")

    def _problem(self, parts: Sequence[str], end: str) -> str | None:
        """What SQLite says of the beginning of a condition; None where nothing is wrong."""
        behind = f"{end} FROM ({self._view}) AS answer LIMIT 0" if end else ""
        try:
            self._moment.rows(f"SELECT ({' '.join(parts)}{behind}")
        except sqlite3.Error as error:
            return str(error)
        return None


def _as_sql(tokens: Sequence[_Token]) -> Iterator[tuple[_Token, str]]:
    """Each token as SQL. What `contains` needs stands before and behind it, so that it is one with these."""
    for number, token in enumerate(tokens):
        before = tokens[number - 1] if number else None
        after = tokens[number + 1] if number + 1 < len(tokens) else None
        if token.kind == "column":
            name = token.text.lower()
            column = '"' + ALIASES.get(name, name).replace('"', '""') + '"'
            searched = after is not None and after.text.lower() == "contains"
            yield token, f"instr(lower({column})," if searched else column
        elif token.kind == "text":
            words = _text(token.text[1:-1].replace(token.text[0] * 2, token.text[0]))
            searched = before is not None and before.text.lower() == "contains"
            yield token, f"lower({words})) > 0" if searched else words
        elif token.text.lower() == "contains":
            if before is None or before.kind != "column":
                raise token.wrong("`contains` needs a column before it", 'such as response contains "sorry"')
            if after is None or after.kind != "text":
                raise token.wrong("`contains` needs a text behind it", 'such as response contains "sorry"')
            yield token, ""
        else:
            yield token, token.text


def _require_closed(tokens: Sequence[_Token]) -> None:
    opened: list[_Token] = []
    for token in tokens:
        if token.kind == "sign" and token.text == "(":
            opened.append(token)
        if token.kind == "sign" and token.text == ")":
            if not opened:
                raise token.wrong("no bracket is open here", "take it out, or write ( before it")
            opened.pop()
    if opened:
        raise opened[-1].wrong("this bracket is not closed", "write ) behind what it holds")


def _require_known(tokens: Sequence[_Token], names: Mapping[str, Sequence[str]]) -> None:
    """Raises `ConditionError` where a name is compared with one that the study does not have: no answer
    would pass, and nobody would know why."""
    compared, known = "", {name.lower(): values for name, values in names.items()}
    for number, token in enumerate(tokens):
        if token.kind == "column":
            after = [each.text.lower() for each in tokens[number + 1 : number + 3]]
            equal = after == ["not", "in"] or after[:1] in (["="], ["=="], ["!="], ["<>"], ["in"])
            compared = token.text.lower() if equal else ""
        elif token.kind == "word" and token.text.lower() in ("and", "or"):
            compared = ""
        elif token.kind == "text" and compared in known:
            value = token.text[1:-1].replace(token.text[0] * 2, token.text[0])
            if value not in known[compared]:
                raise token.wrong(f"no {compared} is called `{value}`", did_you_mean(value, known[compared]))


def _text(text: str) -> str:
    """A text as SQL. SQLite's texts end at NUL, which no name holds."""
    return "'" + text.replace("\0", "").replace("'", "''") + "'"
