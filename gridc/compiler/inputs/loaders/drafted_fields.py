"""A first field map for a user's own file, from the names of its columns and what they hold.

It is a draft for a person to read. It says which column was taken for which field, and
`rows.complete_from_rows` checks it on every row.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gridc.compiler.inputs.loaders.gold import gold_marks, is_empty
from gridc.compiler.inputs.loaders.parsing import Records, Row, at
from gridc.compiler.inputs.loaders.rows import (
    GOLDS,
    about_responses,
    folded_name,
    in_order,
    likely_behaviour,
    rival_golds,
)
from gridc.numbers import counted
from gridc.schema.items import Fields, FieldValue, OptionList
from gridc.schema.scores import BEHAVIOURS

QUERIES = (
    "question", "query", "prompt", "instruction", "input", "goal", "behavior", "stem", "question_stem",
    "sentence", "problem", "forbidden_prompt", "request", "ctx", "turns", "text", "q", "inputs", "user_input",
)  # fmt: skip
OPTIONS = (
    "options", "choices", "answers", "candidates", "endings", "alternatives", "opts",
    "multiple_choice_targets",
)  # fmt: skip
ANSWERS = ("answer", "answers", "aliases", "answer_aliases", "gold", "target", "targets")
"""Names of columns whose list may hold right answers in free text."""
EXPECTED = ("expected", "expected_behavior", "expected_behaviour")
CONTEXTS = ("context", "contextstring", "passage", "article", "document", "background")
IDS = ("id", "qid", "uid", "question_id", "item_id", "behaviorid", "record_id")
CATEGORIES = ("category", "subject", "topic", "domain", "semanticcategory", "risk_area", "high_level_domain")
LABELS = re.compile(r"(?:^|_)(?:label|type|class|(?:un)?(?:harm|safe|tox|refus)[a-z]*)(?:_|$)")
"""In the names of columns that may say in words of their own whether a prompt is to be refused."""
PAIRS = (("text", "label"), ("text", "labels"), ("choices", "labels"), ("choices", "label"))
"""Beside each other in a table: the texts of the options, and their marks or labels."""
CORRECT = ("correct_answer", "correct", "right_answer", "answer", "correct_option", "correct_choice")
WRONG = re.compile(r"(?:incorrect|wrong|distractor|false)(?:_(?:answer|option|choice))?_?\d*")
"""Columns of which each holds an option: the right one and the others."""
LONG = 40
"""Letters of the longest name of a column that looks like one."""
FEW_WORDS = 6
"""Words of a column that are put into comply and refuse one by one."""
FEW = 30
"""As many different short values as a column of tags may have."""


@dataclass(frozen=True, slots=True)
class UnclearColumns:
    """What the columns leave open, and the options of `gridc init` that say it."""

    problem: str
    help: str


def guess(records: Records, stated: Mapping[str, Any] = MappingProxyType({})) -> Fields | UnclearColumns:
    """The field map that the columns suggest beside the fields that are `stated`: of prompts to comply with
    or to refuse where a column says which, else of options. What no column says in one way is asked about."""
    rows = [row for _, row in records.rows if isinstance(row, dict)]
    names = [name for name in records.names if any(at(row, name) is not None for row in rows)]
    fields: dict[str, Any] = dict(stated)
    if not {"options", "expected", "references"} & fields.keys():
        options = _choice(names, rows)
        if isinstance(options, UnclearColumns):
            return options
        fields = {**options, **fields}
    named = fields.get("options", ())
    columns = named if isinstance(named, tuple) else ()
    left = [name for name in names if name not in columns and name != fields.get("option_labels")]
    if not {"expected", "references"} & fields.keys():
        fields |= _earning(left, rows, fields)
    if len(columns) == 1 and "gold" not in fields and _named(columns, ANSWERS) and "options" not in stated:
        del fields["options"]  # several right answers, and no choice among them
        left = [*left, *columns]
    used = {name for value in fields.values() for name in (value if isinstance(value, tuple) else (value,))
            if isinstance(name, str)}  # fmt: skip
    used |= {value.column for value in fields.values() if isinstance(value, FieldValue) and value.column}
    left = [name for name in left if name not in used]
    if "query" not in fields:
        fields["query"] = _named([name for name in left if _is_text(name, rows)], QUERIES)
        if unclear := _all_ask_one_thing(fields, left, rows):
            return unclear
    unclear = _unclear(fields, names, left, rows)
    if unclear is not None:
        return unclear
    left = [name for name in left if name != fields["query"]]
    identity = _named(left, IDS)
    if identity is not None and len({str(at(row, identity)) for row in rows}) < len(rows):
        identity = None
    category = _named([name for name in left if _is_text(name, rows)], CATEGORIES)
    rest = {
        "context": _named([name for name in left if _is_text(name, rows, empty=True)], CONTEXTS),
        "id": identity,
        "category": category,
        "tags": tuple(name for name in left if name not in (identity, category) and _tags(name, rows)),
    }
    drafted = Fields.model_validate({**rest, **fields})
    rival = None if "gold" in stated else next(rival_golds({"": records}, drafted), None)
    if rival is not None:
        ways = (f"--field gold={shlex.quote(name)}" for name in (str(drafted.gold), rival.column))
        return UnclearColumns(
            f"`{drafted.gold}` and `{rival.column}` both name the right option, and not the same one in "
            f"{counted(rival.differ, 'row')}",
            " or ".join(ways),
        )
    return drafted


def _all_ask_one_thing(
    fields: Mapping[str, Any], left: Sequence[str], rows: Sequence[Row]
) -> UnclearColumns | None:
    """A query that hardly any row has alone, as `cause` or `effect`, is not all that is asked where another
    column of texts is passed over."""
    query = fields["query"]
    known = (query, _named(left, IDS))
    others = [name for name in left if name not in known and _is_text(name, rows)]
    context = fields.get("context") or _named(others, CONTEXTS)
    if query is None or context is not None or len(rows) < FEW_WORDS:
        return None
    varied = [name for name in others if len({str(at(row, name)) for row in rows}) > len(rows) / 2]
    if not varied or len({str(at(row, query)) for row in rows}) > len(rows) / 2:
        return None
    ways = ", or ".join(f"--field context={shlex.quote(name)}" for name in varied[:FEW_WORDS])
    return UnclearColumns(
        f"`{query}` is the same in most rows, and may be only a part of what is asked",
        f"{ways} stands before it; --field query={shlex.quote(query)} asks it alone",
    )


def _choice(names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any] | UnclearColumns:
    """The options of a file, and how they name the right one where their own columns say it."""
    for name in names:
        stem = name.rpartition(".")[0]
        for texts, labels in PAIRS:
            options, marks = f"{stem}.{texts}", f"{stem}.{labels}"
            if stem and name == options and marks in names and _all_lists(options, rows):
                if all(sum(gold_marks(at(row, marks)) or [0, 0]) == 1 for row in rows):
                    return {"options": (options,), "gold": marks}
                if _all_lists(marks, rows) and not any(gold_marks(at(row, marks)) for row in rows):
                    return {"options": (options,), "option_labels": marks}
    plain = {folded_name(name): name for name in names}
    correct = next((plain[name] for name in CORRECT if name in plain), None)
    wrong = sorted(name for name in plain if WRONG.fullmatch(name))
    if correct is not None and wrong:
        return {"options": (correct, *(plain[name] for name in wrong)), "gold": FieldValue(constant="A")}
    options_ = _options(names, rows)
    return options_ if isinstance(options_, UnclearColumns) else {"options": options_} if options_ else {}


def _earning(names: Sequence[str], rows: Sequence[Row], fields: Mapping[str, Any]) -> dict[str, Any]:
    """What earns a point, by a column that says so: `expected`, or the one that names the right option. A
    column of yes and no has these as its options."""
    options = bool(fields.get("options"))
    expected = _named(names, EXPECTED)
    if expected is not None and "gold" not in fields:
        behaves = all(at(row, expected) in BEHAVIOURS for row in rows)
        return {"expected": expected} if behaves else {}
    plain = [name for name in names if not any(isinstance(at(row, name), dict) for row in rows)]
    gold = fields.get("gold") or _named(plain, GOLDS)
    if options or not isinstance(gold, str):
        return {"gold": gold} if gold is not None and options else {}
    yes_no = rows and all(str(at(row, gold)).lower() in ("true", "false") for row in rows)
    if not yes_no:
        return {}
    answers = FieldValue(column=gold, map={"true": "yes", "false": "no"})
    return {"options": OptionList(constant=("no", "yes")), "gold": answers}


def _unclear(
    fields: Mapping[str, Any], names: Sequence[str], left: Sequence[str], rows: Sequence[Row]
) -> UnclearColumns | None:
    """What has to be asked before there is a field map."""
    listed = ", ".join(f"`{name}`" for name in names[:12]) or "none"
    if fields.get("query") is None:
        several = [name for name in names if folded_name(name) in QUERIES and _all_lists(name, rows)]
        if several:
            help = f"--field query={several[0]}.0 asks the first alone"
            return UnclearColumns(f"`{several[0]}` holds several texts, and one is asked", help)
        help = f"--field query=COLUMN names it, one of {listed}"
        turns = [name for name in names if name.endswith(".content") and _is_text(name, rows)]
        if turns:
            help = f"--field query={turns[0]} where it is the text of a turn; or {help}"
        if any(name.rstrip().endswith("?") or name.strip().isdecimal() or len(name) > LONG for name in names):
            help = f"the first row has to name the columns, and these look like data: add one; or {help}"
        return UnclearColumns("which column is what is asked is not clear", help)
    options = bool(fields.get("options"))
    expected = fields.get("expected") or _named(names, EXPECTED)
    if options and expected is not None:
        return UnclearColumns(
            f"what earns a point is not clear: both options and `{expected}` could say it",
            f"--field expected={expected} for prompts to refuse or to comply with; or, in a file without it, "
            "--field options=... and --field gold=COLUMN",
        )
    column = _named(names, EXPECTED)
    if column is not None and not {"expected", "references"} & fields.keys():
        return UnclearColumns(
            f"`{column}` does not say comply or refuse in every row",
            _label_help(column, words)
            if (words := _few_words(column, rows))
            else f"let `{column}` be a text: refuse or comply in every row",
        )
    if options and fields.get("gold") is None and fields.get("matching") is None:
        return UnclearColumns(
            "which column names the right option is not clear",
            f"--field gold=COLUMN names it, one of {', '.join(f'`{name}`' for name in left[:12]) or listed}",
        )
    if options or {"expected", "references"} & fields.keys():
        return None
    return UnclearColumns("what earns a point is not clear: no column names options or says comply or refuse",
                   _point_options(left, rows))  # fmt: skip


def _point_options(names: Sequence[str], rows: Sequence[Row]) -> str:
    """The ways to say what earns a point, those that the columns make likely first."""
    texts = _named([name for name in names if _is_text(name, rows)], OPTIONS)
    if texts is not None:
        return f"`{texts}` holds all options in one text: write it as a list, or give each option a column"
    constant = "--constant expected=refuse where every prompt is to be refused (or expected=comply)"
    answer = _named(names, (*GOLDS, *ANSWERS))
    labels = [name for name in names if LABELS.search(folded_name(name).rpartition(".")[2])]
    responses = about_responses(names)
    words_of = {name: _few_words(name, rows) for name in labels if name not in responses}
    clear = [
        name
        for name, words in words_of.items()
        if words and all(likely_behaviour(name, word) for word in words)
    ]
    told = clear or [name for name, words in words_of.items() if len(words) > 1]
    ways = [*(_label_help(name, words_of[name]) for name in told), constant]
    if judged := [f"`{name}`" for name in labels if name in responses]:
        ways[-1] += f"; {' and '.join(judged[:FEW_WORDS])} may say what a response was"
    if answer is not None:
        if 1 < len(words := _few_words(answer, rows)) < len(rows):
            classes = "TEXT,TEXT" if any(word.isdecimal() for word in words) else ",".join(words)
            stated = f"--field gold={shlex.quote(answer)} --constant options={shlex.quote(classes)}"
            ways.append(f"{stated} where a row is one of {len(words)} classes (0 is the first text)")
        below = [name for name in names if name.startswith(f"{answer}.") and _all_lists(name, rows, least=1)]
        column = shlex.quote(_named(below, ("aliases", "text")) or answer)
        how = "and --match number, text or contains, or --judge MODEL"
        ways.append(f"--field references={column} {how}, where it is a right answer in free text")
    ways.append(
        "--field options=A,B,C,D --field gold=COLUMN where columns hold options, or --constant gold=0 where "
        "the first of them is right in every row"
    )
    return "; ".join(ways)


def _few_words(name: str, rows: Sequence[Row]) -> list[str]:
    """The words of a column that has only a few; else none."""
    values = [value for row in rows if not is_empty(value := at(row, name))]
    if any(isinstance(value, list | dict) for value in values):
        return []
    words = {json.dumps(value) if isinstance(value, bool) else str(value) for value in values}
    return sorted(words) if len(words) <= FEW_WORDS else []


def _label_help(name: str, words: Sequence[str]) -> str:
    """The options of `init` that put the words of a column into comply and refuse."""
    means = {word: likely_behaviour(name, word) or "..." for word in words}
    labels = " ".join(f"--label {shlex.quote(word)}={meaning}" for word, meaning in means.items())
    open_ = ", where each ... is refuse or comply" if "..." in means.values() else ""
    return f"--field expected={shlex.quote(name)} {labels}{open_}"


def names_gold_column(records: Records, names: Sequence[str]) -> bool:
    """Whether a column has one of the names of those that say which responses earn a point."""
    return _named(records.names, names) is not None


def _named(names: Sequence[str], known: Sequence[str]) -> str | None:
    """The first of the known names that is here, in a nested table too."""
    plain = {folded_name(name).rpartition(".")[2]: name for name in reversed(names)}
    return next((plain[name] for name in known if name in plain), None)


def _options(names: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...] | UnclearColumns:
    """One column of lists, or the columns of a series: A, B, C; option_a, option_b; choice1, choice2. A
    series that stands in another order is asked about."""
    lists = [name for name in names if _all_lists(name, rows)]
    one = _named(lists, OPTIONS) or (lists[0] if len(lists) == 1 else None)
    if one is not None:
        return (one,)
    series: dict[tuple[str, bool], list[str]] = {}
    for name in names:
        stem, last = name[:-1].lower(), name[-1:].lower()
        if re.fullmatch("[0-9a-j]", last):
            series.setdefault((stem, last.isdecimal()), []).append(name)
    runs = [run for run in series.values() if in_order(run) is not None and _in_most(run, rows)]
    if not runs:
        return ()
    run = sorted(runs, key=len)[-1]
    ordered = in_order(run)
    if ordered is not None and ordered != tuple(run):
        ways = " or ".join(f"--field options={shlex.quote(','.join(order))}" for order in (ordered, run))
        return UnclearColumns(
            f"the option columns are not in the order of their names: "
            f"{', '.join(f'`{name}`' for name in run)}",
            f"{ways}: the first is what A, or the lowest number, of the right one names",
        )
    return tuple(run)


def _in_most(run: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether most rows have at least two of the options: keys of a table may end in any digit."""
    return sum(sum(at(row, name) is not None for name in run) >= 2 for row in rows) > len(rows) / 2


def _all_lists(name: str, rows: Sequence[Row], least: int = 2) -> bool:
    return bool(rows) and all(_is_list(at(row, name), least) for row in rows)


def _is_text(name: str, rows: Sequence[Row], empty: bool = False) -> bool:
    """Whether a column holds texts; with `empty`, some rows may have none."""
    values = [at(row, name) for row in rows]
    texts = [value[0] if isinstance(value, list) and len(value) == 1 else value for value in values]
    return all(isinstance(value, str) or (empty and value is None) for value in texts)


def _is_list(value: Any, least: int) -> bool:
    if isinstance(value, str):
        return value.strip()[:1] == "[" and value.strip()[-1:] == "]"
    return isinstance(value, list | tuple) and len(value) >= least


def _tags(name: str, rows: Sequence[Row]) -> bool:
    values = [at(row, name) for row in rows]
    texts = {value for value in values if isinstance(value, str) and 0 < len(value) <= 40}
    return len(texts) == len(set(map(str, values))) and 1 < len(texts) <= min(FEW, len(rows) // 2)
