"""A first field map for a user's own file, from the names of its columns and what they hold.

It is a draft for a person to read. It says which column was taken for which field, and
`rows.complete_from_rows` checks it on every row.
"""

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from gridc.compiler.inputs.loaders.cells import in_list_of_one, question_and_options, split_text
from gridc.compiler.inputs.loaders.drafted_conversations import asked_in_turns
from gridc.compiler.inputs.loaders.gold import gold_marks, is_empty
from gridc.compiler.inputs.loaders.parsing import Row
from gridc.compiler.inputs.loaders.records import UNNAMED, Records, at
from gridc.compiler.inputs.loaders.rows import (
    GOLDS,
    MARKS,
    about_responses,
    folded_name,
    in_order,
    likely_behaviour,
    ordered_behaviour,
    rival_golds,
)
from gridc.compiler.instrument.item import LETTERS
from gridc.compiler.open_points import BEHAVIOUR, MEANING, AnswerWay, UnclearColumns
from gridc.numbers import counted
from gridc.schema.items import AT_LABELS, Fields, FieldValue, OptionList, SplitColumn
from gridc.schema.scores import BEHAVIOURS

QUERIES = (
    "question", "query", "prompt", "instruction", "input", "goal", "behavior", "stem", "question_stem",
    "sentence", "problem", "forbidden_prompt", "request", "ctx", "turns", "text", "q", "inputs", "user_input",
    "questions", "claim", "frage", "aufgabe", "pregunta", "enunciado", "pergunta", "domanda", "quesito",
    "vraag", "pytanie", "вопрос", "питання", "soru", "سؤال", "السؤال", "سوال", "प्रश्न", "问题", "题目", "題目",
    "質問", "問題", "질문",
)  # fmt: skip
OPTIONS = (
    "options", "choices", "answers", "candidates", "endings", "alternatives", "opts",
    "multiple_choice_targets",
)  # fmt: skip
ANSWERS = (
    "answer", "answers", "aliases", "answer_aliases", "gold", "target", "targets", "ideal", "reference",
    "reference_answer", "expected_answer", "expected_output", "ground_truth",
)  # fmt: skip
"""Names of columns whose list may hold right answers in free text."""
EXPECTED = ("expected", "expected_behavior", "expected_behaviour")
POLICIES = (
    *EXPECTED, "policy", "expected_action", "action", "behavior", "behaviour", "desired_behavior", "should",
    "label", "expected_response",
)  # fmt: skip
"""Names of columns that may say in words of a policy whether a prompt is to be refused."""
ACCEPTED = (
    "accepted_answers", "acceptable_answers", "accepted", "acceptable", "all_answers", "correct_answers",
    "gold_answers", "references", "reference_answers", "aliases", "answer_aliases", "answers",
)  # fmt: skip
"""Names of columns that hold several right answers in free text, where nothing holds options."""
CONTEXTS = (
    "context", "contextstring", "passage", "article", "document", "background", "contexts", "passages",
    "documents", "retrieved_contexts", "retrieval_context", "reference_contexts",
)  # fmt: skip
SYSTEM = ("system_prompt", "system_message", "system_instruction", "system_instructions", "system")
IDS = ("id", "qid", "uid", "question_id", "item_id", "behaviorid", "record_id")
CATEGORIES = ("category", "subject", "topic", "domain", "semanticcategory", "risk_area", "high_level_domain")
LABELS = re.compile(r"(?:^|_)(?:label|type|class|(?:un)?(?:harm|safe|tox|refus)[a-z]*)(?:_|$)")
"""In the names of columns that may say in words of their own whether a prompt is to be refused."""
TEXTS, FLAGS = (
    ("text", "option", "content", "value", "answer"),
    ("correct", "is_correct", "isCorrect", "is_right"),
)
PAIRS = (
    ("text", "label"), ("text", "labels"), ("choices", "labels"), ("choices", "label"),
    *((text, flag) for text in TEXTS for flag in FLAGS),
)  # fmt: skip
"""Beside each other in a table: the texts of the options, and their marks or labels."""
HELM_TEXTS = ".output.text"
"""Ends the name of the texts of HELM's references, beside which stand their tags."""
CORRECT = ("correct_answer", "correct", "right_answer", "answer", "correct_option", "correct_choice")
WRONG = re.compile(r"(?:incorrect|wrong|distractor|false)(?:_(?:answer|option|choice))?s?_?\d*")
"""Columns of which each holds an option: the right one and the others."""
GIVEN = (
    "response",
    "responses",
    "chosen",
    "rejected",
    "completion",
    "output_a",
    "output_b",
    "response_a",
    "response_b",
)
"""Columns of responses that somebody rated or compared."""
LONG = 40
"""Letters of the longest name of a column that looks like one."""
FEW_WORDS = 6
"""Words of a column that are put into comply and refuse one by one."""
LISTED = 24
"""Columns that a person is shown to choose from."""
FEW = 30
"""As many different short values as a column of tags may have."""


def guess(records: Records, stated: Mapping[str, Any] = MappingProxyType({})) -> Fields | UnclearColumns:
    """The field map that the columns suggest beside the fields that are `stated`: of prompts to comply with
    or to refuse where a column says which, else of options. What no column says in one way is asked about."""
    rows = [row for _, row in records.rows if isinstance(row, dict)]
    names = [name for name in records.names if any(at(row, name) is not None for row in rows)]
    fields: dict[str, Any] = dict(stated)
    if not {"query", "turns", "messages"} & fields.keys():
        asked = asked_in_turns(names, rows, tells_right(names))
        if isinstance(asked, UnclearColumns):
            return asked
        fields |= asked
    if not {"options", "expected", "references", "gold"} & fields.keys():
        fields |= _policy(names, rows) or _accepted(names, rows)
    if not {"options", "expected", "references"} & fields.keys():
        options = _in_words_of(fields.get("query"), names, rows) or _choice(names, rows)
        if isinstance(options, UnclearColumns):
            return options
        fields = {**(options or _meant_options(fields.get("gold"))), **fields}
    named = fields.get("options", ())
    one = named[0] if isinstance(named, tuple) and len(named) == 1 else None
    if one is not None and _is_text(one, rows) and not _all_lists(one, _having(one, rows)):
        split = _split_options(one, rows)
        if isinstance(split, UnclearColumns):
            return split
        fields["options"] = named = split
    columns = (named.column,) if isinstance(named, SplitColumn) else named if isinstance(named, tuple) else ()
    left = [name for name in names if name not in columns and name != fields.get("option_labels")]
    if not {"expected", "references"} & fields.keys():
        fields |= _earning(left, rows, fields)
    answers = len(columns) == 1 and named_column(columns, ANSWERS) is not None
    if answers and "gold" not in fields and "options" not in stated:
        del fields["options"]  # several right answers, and no choice among them
        left = [*left, *columns]
    used = {name for value in fields.values() for name in (value if isinstance(value, tuple) else (value,))
            if isinstance(name, str)}  # fmt: skip
    used |= {value.column for value in fields.values() if isinstance(value, FieldValue) and value.column}
    left = [name for name in left if name not in used]
    if not {"query", "turns", "messages"} & fields.keys():
        fields["query"] = named_column([name for name in left if _is_text(name, rows)], QUERIES)
        if not {"options", "expected", "references"} & fields.keys():
            fields |= _options_behind(fields["query"], left, rows)
        if unclear := _all_ask_one_thing(fields, left, rows):
            return unclear
    fields |= _named_by_column(fields, rows)
    if not {"options", "expected", "references"} & fields.keys() and _is_free_text(stated.get("gold"), rows):
        fields["references"] = (fields.pop("gold"),)
    unclear = _unclear(fields, names, left, rows)
    if unclear is not None:
        return unclear
    left = [name for name in left if name != fields.get("query")]
    if "system" not in fields and (system := _system_prompts(left, rows)) is not None:
        fields["system"] = system
        left.remove(system)
    identity = named_column(left, IDS)
    if identity is not None and len({str(at(row, identity)) for row in rows}) < len(rows):
        identity = None
    category = named_column([name for name in left if _is_text(name, rows)], CATEGORIES)
    texts = [name for name in left if _is_text(name, rows, empty=True)]
    beside = (
        named_column(texts, ("input",)) if folded_name(str(fields.get("query"))) == "instruction" else None
    )
    rest = {
        "context": named_column([*texts, *_passages(left, rows)], CONTEXTS) or beside,
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
            tuple(
                AnswerWay(f"`{name}` names the right option", f"--field gold={shlex.quote(name)}")
                for name in (str(drafted.gold), rival.column)
            ),
        )
    return drafted


def _accepted(names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
    """A column of several right answers in free text, as a list or with a mark between them, in a file whose
    rows hold no options."""
    plain = [name for name in names if folded_name(name) in GOLDS]
    offered = [name for name in names if name not in plain and folded_name(name) not in ACCEPTED]
    if plain or _options(offered, rows):
        return {}
    lists = [
        name
        for name in names
        if folded_name(name) in ACCEPTED
        and _all_lists(name, rows, least=1)
        and not any(isinstance(answer, dict) for row in rows for answer in at(row, name))
    ]
    if lists:
        return {"references": (named_column(lists, ACCEPTED),)}
    for name in (name for name in names if folded_name(name) in ACCEPTED and _is_text(name, rows)):
        for mark in MARKS:
            if 2 * sum(mark in str(at(row, name)) for row in rows) >= len(rows):
                return {"references": SplitColumn(column=name, split=mark)}
        if folded_name(name) != "answers":
            return {"references": (name,)}
    return {}


def _policy(names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
    """A column whose few words name the behaviour that is wanted: `must refuse`, `should_comply`."""
    responses = about_responses(names)
    for name in () if _options(names, rows) else names:
        words = _few_words(name, rows) if folded_name(name) in POLICIES and name not in responses else []
        meant = {word: ordered_behaviour(word) for word in words}
        if words and all(meant.values()) and not all(word in BEHAVIOURS for word in words):
            return {"expected": FieldValue(column=name, map=meant)}  # type: ignore[arg-type]
    return {}


def _passages(left: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The columns that hold a list of texts in every row."""
    return [
        name
        for name in left
        if all(
            isinstance(value := at(row, name), list) and all(isinstance(each, str) for each in value)
            for row in rows
        )
    ]


def _system_prompts(left: Sequence[str], rows: Sequence[Row]) -> str | None:
    """The column that holds a system prompt for each row. A `system` of one word names something else."""
    name = named_column([name for name in left if _is_text(name, rows, empty=True)], SYSTEM)
    if name is None:
        return None
    texts = [value for row in rows if isinstance(value := at(row, name), str) and value.strip()]
    words = sum(len(text.split()) for text in texts)
    named = folded_name(name).rpartition(".")[2] != "system"
    return name if texts and (named or words >= SENTENCE * len(texts)) else None


SENTENCE = 4
"""Words of the shortest sentence."""


def _all_ask_one_thing(
    fields: Mapping[str, Any], left: Sequence[str], rows: Sequence[Row]
) -> UnclearColumns | None:
    """A query that hardly any row has alone, as `cause` or `effect`, is not all that is asked where another
    column of texts is passed over."""
    query = fields["query"]
    known = (query, named_column(left, IDS))
    others = [name for name in left if name not in known and _is_text(name, rows)]
    context = fields.get("context") or named_column(others, CONTEXTS)
    if query is None or context is not None or len(rows) < FEW_WORDS:
        return None
    varied = [name for name in others if len({str(at(row, name)) for row in rows}) > len(rows) / 2]
    if not varied or len({str(at(row, query)) for row in rows}) > len(rows) / 2:
        return None
    ways = ", or ".join(f"--field context={shlex.quote(name)}" for name in varied[:FEW_WORDS])
    return UnclearColumns(
        f"`{query}` is the same in most rows, and may be only a part of what is asked",
        f"{ways} stands before it; --field query={shlex.quote(query)} asks it alone",
        (
            *(
                AnswerWay(f"`{name}` stands before it", f"--field context={shlex.quote(name)}")
                for name in varied[:FEW_WORDS]
            ),
            AnswerWay("it is asked alone", f"--field query={shlex.quote(query)}"),
        ),
    )


def _in_words_of(query: Any, names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
    """The list of options whose name ends as the query does: `question_sw`, `options_sw`."""
    stem, mark, suffix = query.rpartition("_") if isinstance(query, str) else ("", "", "")
    alike = [
        name
        for name in names
        if stem and name != query and name.endswith(mark + suffix) and _all_lists(name, _having(name, rows))
    ]
    return {"options": (alike[0],)} if len(alike) == 1 else {}


def _meant_options(gold: Any) -> dict[str, Any]:
    """What the words of a gold column stand for, as the options of every row."""
    if not isinstance(gold, FieldValue) or gold.map is None or len(set(gold.map.values())) < 2:
        return {}
    return {"options": OptionList(constant=tuple(dict.fromkeys(gold.map.values())))}


def _is_free_text(gold: Any, rows: Sequence[Row]) -> bool:
    """Whether a stated gold column, in a file without options, holds right answers in free text: letters and
    digits alone may name options that stand elsewhere."""
    values = [at(row, gold) for row in rows] if isinstance(gold, str) else []
    return any(isinstance(value, str | int | float) and len(str(value).strip()) > 1 for value in values)


def _choice(names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any] | UnclearColumns:
    """The options of a file, and how they name the right one where their own columns say it."""
    for texts in (name for name in names if name.endswith(HELM_TEXTS)):
        marks = f"{texts.removesuffix(HELM_TEXTS)}.tags"
        if marks in names and _all_lists(texts, rows):
            return {"options": (texts,), "gold": marks}
        if marks in names and _all_lists(texts, rows, least=1):
            return {"references": (texts,)}
    for name in names:
        stem = name.rpartition(".")[0]
        for texts, labels in PAIRS:
            options, marks = f"{stem}.{texts}", f"{stem}.{labels}"
            if stem and name == options and marks in names and _all_lists(options, rows):
                marked = [gold_marks(at(row, marks)) for row in rows]
                # Rows with several right options are found, and asked about, when all are read.
                if None not in marked and 2 * sum(sum(each or ()) == 1 for each in marked) > len(rows):
                    return {"options": (options,), "gold": marks}
                if _all_lists(marks, rows) and not any(gold_marks(at(row, marks)) for row in rows):
                    return {"options": (options,), "option_labels": marks}
    plain = {folded_name(name): name for name in names}
    correct = next((plain[name] for name in CORRECT if name in plain), None)
    wrong = sorted(name for name in plain if WRONG.fullmatch(name))
    if correct is not None and wrong:
        return {"options": (correct, *(plain[name] for name in wrong)), "gold": FieldValue(constant="A")}
    options_ = _options(names, rows)
    if not options_:
        one = next((name for name in names if _in_one_text(name, rows)), None)
        options_ = () if one is None else (one,)
    return options_ if isinstance(options_, UnclearColumns) else {"options": options_} if options_ else {}


OPTION_MARKS = (AT_LABELS, "\n", "|", ";", " / ", ",")
"""What may stand between the options in one text, the surest first."""


def _in_one_text(name: str, rows: Sequence[Row]) -> bool:
    """Whether a column holds all options of a row in one text: its name says so, or each begins with its
    label."""
    if not rows or not _is_text(name, rows) or _all_lists(name, rows):
        return False
    folded = folded_name(name)
    if folded in QUERIES or (folded in (*GOLDS, *ACCEPTED) and folded not in OPTIONS[:4]):
        return False
    marks = _option_marks(name, rows)
    return AT_LABELS in marks or (bool(marks) and folded in OPTIONS[:2])


def _option_marks(name: str, rows: Sequence[Row]) -> list[str]:
    """The marks that every text of a column has between parts, none of them empty."""
    texts = [str(at(row, name)).strip() for row in _having(name, rows)]
    if 2 * len(texts) < len(rows):
        return []
    return [mark for mark in OPTION_MARKS if all(_parts(text, mark) for text in texts)]


def _having(name: str, rows: Sequence[Row]) -> list[Row]:
    """The rows that have something in a column."""
    return [row for row in rows if not is_empty(at(row, name))]


def _parts(text: str, mark: str) -> bool:
    parts = split_text(text, mark)
    while parts and not parts[-1]:
        parts.pop()
    return len(parts) > 1 and all(parts)


def _options_behind(query: str | None, left: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
    """Options that stand behind the question, in its own text, where a column names the letter of one."""
    gold = named_column([name for name in left if name != query], GOLDS)
    if query is None or gold is None:
        return {}
    for row in rows:
        try:
            _, parts = question_and_options(str(at(row, query)))
        except ValueError:
            return {}
        letter = in_list_of_one(at(row, gold))
        if not isinstance(letter, str) or letter.strip().upper() not in tuple(LETTERS[: len(parts)]):
            return {}
    return {"options": SplitColumn(column=query, split=AT_LABELS), "gold": gold}


def _named_by_column(fields: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """What the gold column means where it holds the name of the column of the right option."""
    columns, gold = fields.get("options"), fields.get("gold")
    if not isinstance(columns, tuple) or len(columns) < 2 or not isinstance(gold, str):
        return {}
    told = {str(value).strip() for row in rows if not is_empty(value := at(row, gold))}
    if not told or not told <= set(columns) or columns == tuple(LETTERS[: len(columns)]):
        return {}
    places = {name: LETTERS[place] for place, name in enumerate(columns) if name in told}
    return {"gold": FieldValue(column=gold, map=places)}


def _split_options(name: str, rows: Sequence[Row]) -> SplitColumn | UnclearColumns:
    """The options of a column that holds them in one text, by the surest mark between them."""
    marks = _option_marks(name, rows)
    if marks:
        return SplitColumn(column=name, split=marks[0])
    return UnclearColumns(
        f"`{name}` holds all options in one text, and no mark stands between them in every row",
        f"--field options={shlex.quote(name)} --split {shlex.quote(f'{name}=MARK')} names it; or write each "
        "row as a list, or give each option a column",
    )


def _earning(names: Sequence[str], rows: Sequence[Row], fields: Mapping[str, Any]) -> dict[str, Any]:
    """What earns a point, by a column that says so: `expected`, or the one that names the right option. A
    column of yes and no has these as its options."""
    options = bool(fields.get("options"))
    expected = named_column(names, EXPECTED)
    if expected is not None and "gold" not in fields:
        behaves = all(at(row, expected) in BEHAVIOURS for row in rows)
        return {"expected": expected} if behaves else {}
    plain = [name for name in names if not any(isinstance(at(row, name), dict) for row in rows)]
    gold = fields.get("gold") or named_column(plain, GOLDS)
    if gold is None and options:
        gold = named_column([name for name in plain if _is_text(name, rows)], ("answers",))
    if options or not isinstance(gold, str):
        return {"gold": gold} if gold is not None and options else {}
    told = [str(value).lower() for row in rows if not is_empty(value := at(row, gold))]
    if not told or not set(told) <= {"true", "false"}:
        return {}
    answers = FieldValue(column=gold, map={"true": "yes", "false": "no"})
    return {"options": OptionList(constant=("no", "yes")), "gold": answers}


def _unclear(
    fields: Mapping[str, Any], names: Sequence[str], left: Sequence[str], rows: Sequence[Row]
) -> UnclearColumns | None:
    """What has to be asked before there is a field map."""
    listed = ", ".join(f"`{name}`" for name in names[:12]) or "none"
    if not any(fields.get(key) for key in ("query", "turns", "messages")):
        several = [name for name in names if folded_name(name) in QUERIES and _all_lists(name, rows)]
        if several:
            help = f"--field query={several[0]}.0 asks the first alone"
            first = AnswerWay("the first is asked alone", f"--field query={several[0]}.0")
            return UnclearColumns(f"`{several[0]}` holds several texts, and one is asked", help, (first,))
        help = f"--field query=COLUMN names it, one of {listed}"
        turns = [name for name in names if name.endswith(".content") and _is_text(name, rows)]
        if turns:
            help = f"--field query={turns[0]} where it is the text of a turn; or {help}"
        if _are_data(names):
            # Whoever picks one of these loses the first row.
            help = (
                "--no-header where the first row is data, as it looks; or let it name the columns; or "
                f"--field query={shlex.quote(names[0])}"
            )
            numbered = AnswerWay("the first row is data: columns are numbered", "--no-header")
            named = AnswerWay(
                "the first row names the columns, and one holds the question",
                "--field query=COLUMN",
                tuple(names[:LISTED]),
            )
            message = "which column is what is asked is not clear, and the first row looks like data"
            return UnclearColumns(message, help, (numbered, named))
        message = "which column is what is asked is not clear"
        flat = all(isinstance(value, str) for row in rows for value in row.values())
        if flat and names and not names[0].startswith(UNNAMED):
            message += " (--no-header where the first row is data)"
        way = AnswerWay("a column holds the question", "--field query=COLUMN", tuple(names[:LISTED]))
        return UnclearColumns(message, help, (way,))
    options = bool(fields.get("options"))
    expected = fields.get("expected") or named_column(names, EXPECTED)
    if options and expected is not None:
        return UnclearColumns(
            f"what earns a point is not clear: both options and `{expected}` could say it",
            f"--field expected={expected} for prompts to refuse or to comply with; or, in a file without it, "
            "--field options=... and --field gold=COLUMN",
            (AnswerWay("the prompts are to be refused or answered", f"--field expected={expected}"),),
        )
    column = named_column(names, EXPECTED)
    if column is not None and not {"expected", "references"} & fields.keys():
        return UnclearColumns(
            f"`{column}` does not say comply or refuse in every row",
            _label_help(column, words)
            if (words := _few_words(column, rows))
            else f"let `{column}` be a text: refuse or comply in every row",
            (_label_way(column, words),) if words else (),
        )
    if options and fields.get("gold") is None and fields.get("matching") is None:
        return UnclearColumns(
            "which column names the right option is not clear",
            f"--field gold=COLUMN names it, one of {', '.join(f'`{name}`' for name in left[:12]) or listed}",
            (AnswerWay("a column names the right option", "--field gold=COLUMN", tuple(names[:LISTED])),),
        )
    if options or {"expected", "references"} & fields.keys():
        return None
    judged = sorted(
        name for name in about_responses(left) if LABELS.search(folded_name(name).rpartition(".")[2])
    )
    of_responses = (
        f"; {' and '.join(f'`{name}`' for name in judged)} may say what a response was" if judged else ""
    )
    given = [f"`{name}`" for name in left if folded_name(name).rpartition(".")[2] in GIVEN]
    if given and not judged:
        of_responses = (
            f"; {' and '.join(given)} {'hold' if len(given) > 1 else 'holds'} responses of models, and gridc "
            "asks models anew: what was preferred or rated then does not say what is right now"
        )
    return UnclearColumns(
        f"what earns a point is not clear: no column names options or says comply or refuse{of_responses}",
        *_point_options(left, rows, fields.get("gold")),
    )


def _point_options(names: Sequence[str], rows: Sequence[Row], gold: Any) -> tuple[str, tuple[AnswerWay, ...]]:
    """The ways to say what earns a point, those that the columns and a stated gold column make likely first:
    as help, and one by one."""
    constant = "--constant expected=refuse where every prompt is to be refused (or expected=comply)"
    answer = gold if isinstance(gold, str) else named_column(names, (*GOLDS, *ANSWERS))
    labels = [
        name
        for name in names
        if LABELS.search(folded_name(name).rpartition(".")[2]) or folded_name(name) in POLICIES
    ]
    responses = about_responses(names)
    words_of = {name: _few_words(name, rows) for name in labels if name not in responses}
    clear = [
        name
        for name, words in words_of.items()
        if words and all(likely_behaviour(name, word) for word in words)
    ]
    told = clear or [name for name, words in words_of.items() if len(words) > 1]
    ways = [*(_label_help(name, words_of[name]) for name in told), constant]
    asked = [_label_way(name, words_of[name]) for name in told]
    if judged := [f"`{name}`" for name in labels if name in responses]:
        ways[-1] += f"; {' and '.join(judged[:FEW_WORDS])} may say what a response was"
    if answer is not None and answer not in responses:
        if 1 < len(words := _few_words(answer, rows)) < len(rows) and any(map(str.isdecimal, words)):
            stated = f"--field gold={shlex.quote(answer)} --constant options=TEXT,TEXT"
            ways.append(f"{stated} where a row is one of {len(words)} classes (0 is the first text)")
        inside = [name for name in names if name.startswith(f"{answer}.")]
        below = [name for name in inside if _all_lists(name, [row for row in rows if at(row, name)], least=1)]
        column = shlex.quote(named_column(below, ("aliases", "text")) or answer)
        how = "and --match number, text or contains, or --judge MODEL"
        ways.append(f"--field references={column} {how}, where it is a right answer in free text")
        asked.insert(
            0, AnswerWay(f"`{column}` is a right answer in free text", f"--field references={column}")
        )
    for name in names:
        classes = [] if name in responses else _few_words(name, rows, CLASSES)
        if len(classes) > 1 and 2 * len(classes) <= len(rows) and not any(map(_lists_badly, classes)):
            stated = f"--field gold={shlex.quote(name)} --constant options={shlex.quote(','.join(classes))}"
            ways.append(f"{stated} where a row is one of {len(classes)} classes")
    classified = list(_class_ways(names, responses, rows))
    ways.append(
        "--field options=A,B,C,D --field gold=COLUMN where columns hold options, or --constant gold=0 where "
        "the first of them is right in every row"
    )
    columns = tuple(names[:LISTED])
    asked += [
        AnswerWay("another column is a right answer in free text", "--field references=COLUMN", columns),
        *classified,
        *_other_policies(names, told, responses, rows),
        AnswerWay(
            "columns hold the options, and one names the right one",
            "--field options=COLUMNS --field gold=COLUMN",
            columns,
        ),
        AnswerWay("every prompt is to be refused", "--constant expected=refuse"),
        AnswerWay("every prompt is to be answered", "--constant expected=comply"),
    ]
    return "; ".join(ways), tuple(asked)


def _other_policies(
    names: Sequence[str], told: Collection[str], responses: Collection[str], rows: Sequence[Row]
) -> Iterator[AnswerWay]:
    """For each other column of two or three words, in any language, that they say what is to be refused."""
    for name in names:
        words = [] if name in told or name in responses else _few_words(name, rows, MOST_ORDERS)
        if len(words) > 1 and not any(word.isdecimal() or len(word) > LONG for word in words):
            yield replace(_label_way(name, words), likely=False)


MOST_ORDERS = 3
"""Words for refuse, comply and either."""


def _class_ways(names: Sequence[str], responses: Collection[str], rows: Sequence[Row]) -> Iterator[AnswerWay]:
    """For each column of a few words, that they are classes; each stands for itself or for other words."""
    for name in names:
        codes = [] if name in responses else _few_words(name, rows, CLASSES)
        if len(codes) > 1 and 2 * len(codes) <= len(rows) and all(len(code) <= LONG for code in codes):
            labels = " ".join(f"--label {shlex.quote(f'{code}={MEANING}')}" for code in codes)
            says = f"`{name}` names one of {len(codes)} classes, the options ({_listed(codes)})"
            yield AnswerWay(says, f"--field gold={shlex.quote(name)} {labels}")


CLASSES = 12
"""As many classes as a column may name."""


def _lists_badly(word: str) -> bool:
    """Whether a word cannot be one of the options of `--constant options=...`, or says nothing."""
    return "," in word or word.isdecimal() or len(word) > LONG


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:FEW_WORDS]) + (", ..." if len(words) > FEW_WORDS else "")


def _few_words(name: str, rows: Sequence[Row], most: int = FEW_WORDS) -> list[str]:
    """The words of a column that has only a few; else none."""
    values = [value for row in rows if not is_empty(value := in_list_of_one(at(row, name)))]
    if any(isinstance(value, list | dict) for value in values):
        return []
    words = {json.dumps(value) if isinstance(value, bool) else str(value) for value in values}
    return sorted(words) if len(words) <= most else []


def _label_help(name: str, words: Sequence[str]) -> str:
    """The options of `init` that put the words of a column into comply and refuse."""
    means = {word: likely_behaviour(name, word) or "..." for word in words}
    labels = " ".join(f"--label {shlex.quote(word)}={meaning}" for word, meaning in means.items())
    open_ = ", where each ... is refuse or comply" if "..." in means.values() else ""
    return f"--field expected={shlex.quote(name)} {labels}{open_}"


def _label_way(name: str, words: Sequence[str]) -> AnswerWay:
    """The same as an answer. It is likely where every word has a meaning of its own."""
    means = {word: likely_behaviour(name, word) or BEHAVIOUR for word in words}
    labels = " ".join(f"--label {shlex.quote(f'{word}={meaning}')}" for word, meaning in means.items())
    says = f"`{name}` says whether a prompt is to be refused"
    if BEHAVIOUR not in means.values():
        says += f" ({', '.join(f'{word}: {meaning}' for word, meaning in means.items())})"
    return AnswerWay(
        says, f"--field expected={shlex.quote(name)} {labels}", likely=BEHAVIOUR not in means.values()
    )


def tells_right(names: Sequence[str]) -> str | None:
    """A column that by its name says which responses are right."""
    return named_column(names, (*GOLDS, *ACCEPTED, *POLICIES, *OPTIONS))


def named_column(names: Sequence[str], known: Sequence[str]) -> str | None:
    """The first of the known names that is here, in a nested table too."""
    plain = {folded_name(name).rpartition(".")[2]: name for name in reversed(names)}
    return next((plain[name] for name in known if name in plain), None)


def _options(names: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...] | UnclearColumns:
    """One column of lists, or the columns of a series: A, B, C; option_a, option_b; choice1, choice2. A
    series that stands in another order is asked about."""
    # A list of passages is what is asked about.
    lists = [name for name in names if _all_lists(name, rows) and named_column([name], CONTEXTS) is None]
    one = named_column(lists, OPTIONS) or (lists[0] if len(lists) == 1 else None)
    if one is not None:
        return (one,)
    series: dict[tuple[str, bool], list[str]] = {}
    for name in names:
        stem, last = name[:-1].lower(), name[-1:].lower()
        if re.fullmatch("[0-9a-j]", last) and stem != UNNAMED:
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


def _are_data(names: Sequence[str]) -> bool:
    """Whether the names of columns are more like the cells of a row: a sentence or a number among them, or
    most of them long."""
    sentences = any(name.rstrip().endswith((".", "?", "!")) and len(name.split()) > 1 for name in names)
    numbers = any(name.strip().isdecimal() for name in names)
    return sentences or numbers or 2 * sum(len(name) > LONG for name in names) > len(names)


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
