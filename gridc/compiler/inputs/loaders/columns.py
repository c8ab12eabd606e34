"""A first field map for a file of anyone's own, from the names of its columns and what they hold.

It is a draft that a person reads: what was taken for what is said, and `rows.settle` checks it on every row.
"""

from collections.abc import Sequence
from typing import Any

from gridc.compiler.inputs.loaders.files import Row
from gridc.compiler.inputs.loaders.records import Records, at
from gridc.schema.items import Fields
from gridc.schema.scores import BEHAVIOURS

QUERIES = (
    "question",
    "query",
    "prompt",
    "instruction",
    "input",
    "goal",
    "behavior",
    "stem",
    "sentence",
    "text",
    "q",
)
OPTIONS = ("options", "choices", "answers", "candidates", "endings", "alternatives", "opts")
GOLDS = (
    "gold", "answer", "answer_idx", "answer_index", "answerkey", "correct", "correct_answer",
    "correct_option", "label", "target", "solution", "key", "ans",
)  # fmt: skip
EXPECTED = ("expected", "expected_behavior", "expected_behaviour")
CONTEXTS = ("context", "passage", "article", "document", "background")
IDS = ("id", "qid", "uid", "question_id", "item_id")
CATEGORIES = ("category", "subject", "topic", "domain")
FEW = 30
"""As many different short values as a column of tags may have."""


def guess(records: Records) -> Fields | None:
    """The field map that the columns suggest: of prompts to comply with or to refuse where a column says
    which, else of options. None where no column looks like what is asked, or where there are no options or
    none is named as the right one."""
    rows = [row for _, row in records.rows if isinstance(row, dict)]
    names = [name for name in records.names if any(at(row, name) is not None for row in rows)]
    options = _options(names, rows)
    left = [name for name in names if name not in options]
    expected = _named(left, EXPECTED)
    if expected is not None and all(at(row, expected) in BEHAVIOURS for row in rows):
        if options:  # one of both earns the point, and which is for a person to say
            return None
        gold = None
    else:
        expected, gold = None, _named(left, GOLDS)
    query = _named([name for name in left if name not in (gold, expected)], QUERIES)
    if query is None or (expected is None and (not options or gold is None)):
        return None
    used = {query, gold, expected, *options}
    rest = [name for name in names if name not in used]
    identity = _named(rest, IDS)
    if identity is not None and len({str(at(row, identity)) for row in rows}) < len(rows):
        identity = None
    category = _named(rest, CATEGORIES)
    return Fields(
        query=query,
        context=_named(rest, CONTEXTS),
        options=options,
        gold=gold,
        expected=expected,
        id=identity,
        category=category,
        tags=tuple(name for name in rest if name not in (identity, category) and _tags(name, rows)),
    )


def says_what_earns(records: Records, names: Sequence[str]) -> bool:
    """Whether a column has one of the names of those that say which responses earn a point."""
    return _named(records.names, names) is not None


def _named(names: Sequence[str], known: Sequence[str]) -> str | None:
    """The first of the known names that is here, in a nested table too, whatever its case and whatever stands
    between its words."""
    plain = {
        name.lower().replace("-", "_").replace(" ", "_").rpartition(".")[2]: name for name in reversed(names)
    }
    return next((plain[name] for name in known if name in plain), None)


def _options(names: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...]:
    """One column of lists, or the columns of a series: A, B, C; option_a, option_b; choice1, choice2."""
    lists = [name for name in names if rows and all(_is_list(at(row, name)) for row in rows)]
    one = _named(lists, OPTIONS) or (lists[0] if len(lists) == 1 else None)
    if one is not None:
        return (one,)
    series: dict[tuple[str, bool], list[str]] = {}
    for name in names:
        stem, last = name[:-1].lower(), name[-1:].lower()
        if last.isdecimal() or last in "abcdefghij":
            series.setdefault((stem, last.isdecimal()), []).append(name)
    runs = [found for found in series.values() if _follows([name[-1].lower() for name in found])]
    return tuple(sorted(runs, key=len)[-1] if runs else ())


def _follows(marks: Sequence[str]) -> bool:
    """Whether the marks count up by one from a, 0 or 1, two of them or more."""
    codes = [ord(mark) for mark in marks]
    return len(codes) > 1 and marks[0] in "a01" and codes == list(range(codes[0], codes[0] + len(codes)))


def _is_list(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip()[:1] == "[" and value.strip()[-1:] == "]"
    return isinstance(value, list | tuple) and len(value) > 1


def _tags(name: str, rows: Sequence[Row]) -> bool:
    values = [at(row, name) for row in rows]
    texts = {value for value in values if isinstance(value, str) and 0 < len(value) <= 40}
    return len(texts) == len(set(map(str, values))) and 1 < len(texts) <= min(FEW, len(rows) // 2)
