"""The general loader `rows`: makes items from CSV, JSONL, a JSON list or Parquet by a map of their columns.

`complete_from_rows` reads all rows first. It checks that each column exists, and infers how the gold column
names an option. `load` then makes the items of one file.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

from gridc.compiler.inputs.loaders.cells import (
    in_list_of_one,
    json_value,
    list_in,
    listed,
    meaning_of,
    name_of_field,
    passages_of,
    question_and_options,
    raw_value,
    split_text,
    text_of,
    value_of,
    word_of,
)
from gridc.compiler.inputs.loaders.conversations import conversation, question_key
from gridc.compiler.inputs.loaders.gold import (
    WORDS,
    Case,
    GoldRule,
    GoldSurvey,
    gold_marks,
    gold_option,
    is_empty,
    short,
    spelled,
)
from gridc.compiler.inputs.loaders.parsing import (
    LOADERS,
    BadField,
    File,
    Malformed,
    Misread,
    Row,
    items_of_rows,
)
from gridc.compiler.inputs.loaders.records import Records, at, records
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.options import CarriedLabels, carried_labels, own_letters
from gridc.numbers import counted
from gridc.schema.effects import Tool
from gridc.schema.items import (
    AT_LABELS,
    Fields,
    FieldValue,
    Loading,
    OptionList,
    SplitColumn,
)
from gridc.schema.scores import BEHAVIOURS

INDEXED = ("gold", "unknown", "matching")
WORDS_SHOWN = 6
"""Words of a column that a message names."""


@dataclass(frozen=True, slots=True)
class CompletedLoading:
    """The spec's table `loading` with the inferred keys filled in.

    `found` has only the inferred keys, as the lock records them; `said` has remarks for a person to read.
    """

    loading: Loading
    found: Mapping[str, str]
    said: tuple[str, ...]


def complete_from_rows(files: Sequence[File], loading: Loading) -> CompletedLoading:
    """Check every row of the files before any item is made, and infer what the spec leaves out.

    Raises `Malformed` for a file that cannot be read, and `Misread` for a missing column or where the way of
    naming options contradicts the data or cannot be inferred from them.
    """
    fields = _fields(loading)
    read = {file.name: records(file, loading) for file in files}
    remarks = [line for table in read.values() for line in table.said]
    remarks += [*_judged(read, fields), *_reversed(fields)]
    _require_columns(read, fields)
    _require_choice(fields)
    # With "leave_out", rows with unknown words are left out one by one.
    if loading.malformed == "error":
        _require_meanings(read, fields)
    inferred: dict[str, str] = {}
    removal = _find_labels(read, loading, fields)
    if removal is not None:
        loading = loading.model_copy(update={"labels": "remove"})
        inferred, remarks = {"labels": "remove"}, [*remarks, removal]
    survey = GoldSurvey(tuple(_cases(read, fields, removes=loading.labels == "remove")))
    if survey.cases and not survey.complete:
        _require_one_way(read, fields, loading.labels == "remove")
    if not survey.cases:
        return CompletedLoading(loading, inferred, (*remarks, *_remarks(read, fields, loading)))
    if loading.gold is not None:
        remarks += _require_rule(survey, loading.gold, fields)  # type: ignore[arg-type]  # `Loading.check` has seen it
        return CompletedLoading(loading, inferred, (*remarks, *_remarks(read, fields, loading)))
    path = ("fields", next(key for key in INDEXED if getattr(fields, key) is not None))
    rule = _find_rule(survey, path, fields, loading.malformed == "leave_out")
    _require_order(fields, rule)
    _require_truth(survey, rule, fields)
    case = survey.cases[0]
    remarks.append(
        f"each option is named by {WORDS[rule]} ({rule}): {case.answered(rule)}{survey.spellings(rule)}"
    )
    completed = loading.model_copy(update={"gold": rule})
    return CompletedLoading(
        completed, {**inferred, "gold": rule}, (*remarks, *_remarks(read, fields, completed))
    )


def _remarks(read: Mapping[str, Records], fields: Fields, loading: Loading) -> Iterator[str]:
    """Remarks about the rows that become items. Rows that are left out are not counted."""
    if loading.malformed == "leave_out":
        read = {
            name: replace(table, rows=tuple(_read(table, fields, loading))) for name, table in read.items()
        }
    yield from _unsplit(read, fields)
    yield from _marked_up(read, fields)
    for rival in rival_golds(read, fields):
        rows = counted(rival.differ, "row")
        yield f"`{rival.column}` is not read, and names another option than `{fields.gold}` in {rows}"


_HTML = re.compile(
    r"</?(?:p|br|div|span|strong|em|b|i|u|su[bp]|[uo]l|li|table|t[rdh]|img|a|h[1-6])\b[^<>]*+>"
    r"|&(?:nbsp|amp|lt|gt|quot|#\d{1,6});",
    re.IGNORECASE,
)


def _marked_up(read: Mapping[str, Records], fields: Fields) -> Iterator[str]:
    """A remark for each column of what is asked that has HTML in a tenth of its rows or more."""
    asked = {name for path, name in fields.columns.items() if path[0] in ("query", "context", "options")}
    for name in sorted(asked):
        found = [
            mark
            for table in read.values()
            for _, row in table.rows
            if isinstance(row, dict) and (mark := _HTML.search(str(at(row, name)))) is not None
        ]
        if 10 * len(found) >= sum(len(table.rows) for table in read.values()) and found:
            rows = counted(len(found), "row")
            yield f"`{name}` has HTML in {rows}, such as `{short(found[0][0])}`, and is asked as it stands"


def _read(table: Records, fields: Fields, loading: Loading) -> Iterator[tuple[int, Any]]:
    """The rows that become items, with their numbers."""
    for number, row in table.rows:
        try:
            items_of_rows([(number, row)], lambda at, raw_row: _item(str(at), raw_row, fields, loading))
        except Malformed:
            continue  # `load` reports the row
        yield number, row


@LOADERS.add("rows")
def load(file: File, loading: Loading) -> list[Item]:
    """The items in file order. Raises `Malformed`."""
    fields = _fields(loading)
    rows = records(file, loading).rows
    twins = (
        f"leave `fields.id` out: rows without an id are named {file.stem}-00001 and on" if fields.id else None
    )
    return items_of_rows(
        rows, lambda number, row: _item(f"{file.stem}-{number:05d}", row, fields, loading), twins
    )


def _fields(loading: Loading) -> Fields:
    if loading.fields is None:
        raise ValueError("the loader `rows` needs a field map")
    return loading.fields


def _require_columns(read: Mapping[str, Records], fields: Fields) -> None:
    """Raises `Misread` for a name in the field map that is a column of no row."""
    columns = list(dict.fromkeys(name for table in read.values() for name in table.names))
    if not any(table.rows for table in read.values()):
        return
    for path, name in fields.columns.items():
        # A name may point into a list, as in `choices.0`; columns are known without such places.
        if name not in columns and re.sub(r"\.-?\d+(?=\.|$)", "", name) not in columns:
            near = get_close_matches(name, columns, n=1, cutoff=0.6)
            padded = next((column for column in columns if column != column.strip() == name), None)
            shown = ", ".join(f"`{column}`" for column in columns[:12])
            help = f"did you mean `{near[0]}`?" if near else f"the columns are {shown}"
            if "," in name and all(part.strip() in columns for part in name.split(",")):
                help = f"`{path[0]}` takes one column; `context` may hold another, which is asked before it"
            if padded is not None:
                help = f"its name is `{padded}` there: take the spaces around the names out of the first row"
            if _looks_like_data(columns, read):
                help += "; the first row is read as the names of the columns, and these look like data"
            strange = "" if name.isascii() else f": {spelled(name)}"
            raise Misread(
                "GC333", ("fields", *path), f"no row of {_files(read)} has a column `{name}`{strange}", help
            )


def _require_choice(fields: Fields) -> None:
    """Raises `Misread` where the gold column is also an option: it would name itself in every row."""
    columns = fields.options if isinstance(fields.options, tuple) else ()
    if len(columns) > 1 and fields.gold in columns:
        letter = LETTERS[columns.index(str(fields.gold))]
        problem = f"`{fields.gold}` is itself an option, and would be the right one in every row"
        help = (
            f"name the column that says which option is right; or, where `{fields.gold}` is right in every "
            f'row: gold = {{ constant = "{letter}" }}, its place among `options`'
        )
        raise Misread("GC334", ("fields", "gold"), problem, help)


def _require_order(fields: Fields, rule: GoldRule) -> None:
    """Raises `Misread` where gold names options by their place, and the columns of options are marked A, B, C
    or 1, 2, 3 but listed in another order."""
    columns = fields.options if isinstance(fields.options, tuple) else ()
    ordered = in_order(columns)
    if rule in ("letter", "index", "one_based") and ordered not in (None, columns):
        first = {"letter": "the letter A", "index": "0", "one_based": "1"}[rule]
        listed = ", ".join(f'"{name}"' for name in ordered or ())
        problem = f"`options` begins with `{columns[0]}`, so that {first} in the gold column would name it"
        help = f'options = [{listed}]; or, if `{columns[0]}` is meant, state loading.gold = "{rule}"'
        raise Misread("GC334", ("fields", "options"), problem, help)


def _require_truth(survey: GoldSurvey, rule: GoldRule, fields: Fields) -> None:
    """Raises `Misread` where an inferred rule reads 0 and 1 as places, so that 0 means yes or 1 means no. A
    spec that means places states `loading.gold`."""
    case = next((case for case in survey.cases if _contrary(case, case.under(rule))), None)
    if rule != "index" or case is None:
        return
    words = {0: "", 1: ""} | {_truth(option) or 0: option for option in case.options}
    problem = (
        f"`{short(case.options[0])}` stands first, so that 0 in the gold column would name it, and 1 "
        f"`{short(case.options[1])}`"
    )
    named = name_of_field(fields.gold or fields.matching or fields.unknown or "")
    pairs = ", ".join(
        f'"{number}" = {json.dumps(word, ensure_ascii=False)}' for number, word in words.items()
    )
    meant = f'gold = {{ column = "{named}", map = {{ {pairs} }} }}'
    help = f'{meant}; or, if places are meant, loading.gold = "index"'
    raise Misread("GC334", ("fields", "gold"), problem, help)


def _contrary(case: Case, named: int | None) -> bool:
    """Whether the options are yes and no, and 0 names yes or 1 names no."""
    truths = [_truth(option) for option in case.options]
    return sorted(truths, key=str) == [0, 1] and named is not None and truths[named] != named


def _truth(text: str) -> int | None:
    """1 for a text in `YES`, 0 for one in `NO`, None for any other text."""
    word = text.strip().casefold()
    return 1 if word in YES else 0 if word in NO else None


def in_order(names: Sequence[str]) -> tuple[str, ...] | None:
    """Names that differ only in their last letter or digit (A to D, choice1 to choice4), sorted by it. None
    where the names are not a series without gaps that begins at a, 0 or 1."""
    marks = {name[-1:].lower(): name for name in names}
    places = sorted(map(ord, marks)) if all(marks) else []
    consecutive = places == list(range(places[0], places[0] + len(places))) if places else False
    if len(marks) < max(len(names), 2) or len({name[:-1] for name in names}) > 1 or not consecutive:
        return None
    return tuple(marks[chr(code)] for code in places) if chr(places[0]) in "a01" else None


def folded_name(name: str) -> str:
    """The name of a column in lower case, with underscores between its words."""
    return re.sub(r"[\s_\-]+", "_", name.strip().lower())


GOLDS = (
    "gold", "answer", "answer_idx", "answer_index", "answerkey", "correct", "correct_answer",
    "correct_option", "label", "target", "solution", "key", "ans", "cop", "multiple_choice_scores",
    "antwort", "lösung", "respuesta", "réponse", "resposta", "risposta", "antwoord", "odpowiedź", "ответ",
    "відповідь", "cevap", "جواب", "الجواب", "الإجابة", "उत्तर", "答案", "回答", "正解", "정답",
)  # fmt: skip
"""Names of columns that say which option is right."""
MEANINGS: Mapping[str, Literal["comply", "refuse"]] = {
    **dict.fromkeys(("harmful", "unsafe", "toxic", "malicious"), "refuse"),
    **dict.fromkeys(("harmless", "unharmful", "benign", "safe", "nontoxic", "non-toxic"), "comply"),
}
"""The behaviour that words for a kind of prompt ask for."""
ORDERS: Mapping[str, Literal["comply", "refuse"]] = {
    **dict.fromkeys(("refuse", "refusal", "decline", "reject", "block", "deny", "disallow"), "refuse"),
    **dict.fromkeys(("disallowed", "forbidden", "prohibited", "blocked", "denied"), "refuse"),
    **dict.fromkeys(("comply", "compliance", "answer", "respond", "help", "allow", "accept"), "comply"),
    **dict.fromkeys(("allowed", "permitted", "accepted"), "comply"),
}
"""The behaviour that words of a policy name themselves: `must refuse`, `should_comply`."""
FILLING = frozenset(
    ("must", "should", "shall", "to", "the", "model", "full", "be", "is", "it", "always", "please")
)
YES, NO = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no")


def likely_behaviour(column: str, word: str) -> Literal["comply", "refuse"] | None:
    """The behaviour that a word in a column most likely asks for: `harmful` asks for a refusal, and `yes` for
    what the column's name says. None where neither the word nor the name tells."""
    folded = word.strip().casefold()
    if folded not in (*YES, *NO):
        return MEANINGS.get(folded) or ordered_behaviour(word)
    words = folded_name(column).rpartition(".")[2].split("_")
    named = {meaning for word in words if (meaning := MEANINGS.get(word)) is not None}
    if "should" in words and "refuse" in words:
        named.add("refuse")
    if len(named) != 1:
        return None
    (yes,) = named
    return yes if folded in YES else "comply" if yes == "refuse" else "refuse"


def ordered_behaviour(word: str) -> Literal["comply", "refuse"] | None:
    """The behaviour that a word of a policy names: `must refuse`, `should_comply`. None of `partial refusal`,
    `do not answer` and everything else that takes thought."""
    words = [part for part in re.split(r"[\W_]+", word.casefold()) if part and part not in FILLING]
    return ORDERS.get(words[0]) if len(words) == 1 else None


RESPONSE = "responses?|repl(?:y|ies)|outputs?|completions?|generations?"
_RESPONSE = re.compile(rf"(?:^|_)(?:{RESPONSE})(?:_|$)")
_PROMPT = re.compile(r"(?:^|_)(?:expected|prompt|input|question|query|request|instruction|user)(?:_|$)")


def about_responses(names: Sequence[str]) -> frozenset[str]:
    """Columns that hold, or may hold, a model's earlier response or a judgement of it.

    These are columns that name a response (`response_harm`) and columns that begin as a column of responses
    does (`GPT4_action` next to `GPT4_response`). Where a column is named just `response`, they are all
    columns whose names do not point to the prompt.
    """
    folded = {name: folded_name(name).rpartition(".")[2] for name in names}
    plain = any(
        re.fullmatch(rf"(?:model_)?(?:{RESPONSE})", folded_column) for folded_column in folded.values()
    )
    stems = {
        stem[1]
        for folded_column in folded.values()
        if (stem := re.fullmatch(rf"(.+_)(?:{RESPONSE})", folded_column))
    }
    return frozenset(
        name
        for name, folded_column in folded.items()
        if not _PROMPT.search(folded_column)
        and (
            plain or _RESPONSE.search(folded_column) or any(folded_column.startswith(stem) for stem in stems)
        )
    )


def _require_meanings(read: Mapping[str, Records], fields: Fields) -> None:
    """Raises `Misread` for words that a field's map does not list, and where `expected` is neither comply nor
    refuse."""
    for key in ("query", "context", *INDEXED, "expected"):
        field = getattr(fields, key)
        if key != "expected" and not isinstance(field, FieldValue):
            continue
        unread: Counter[str] = Counter()
        for table in read.values():
            for _, row in table.rows if field is not None else ():
                if not is_empty(value := raw_value(row, field)):
                    meaning = meaning_of(field, value)
                    understood = meaning is not None and (key != "expected" or meaning in BEHAVIOURS)
                    unread[word_of(in_list_of_one(value))] += not understood
        words = [word for word, count in unread.items() if count]
        if words:
            raise _unknown_words(key, field, words, unread)


def _unknown_words(key: str, field: str | FieldValue, words: Sequence[str], unread: Counter[str]) -> Misread:
    """The finding about words without a meaning: how many rows have them, and a map that would read them."""
    count = sum(unread[word] for word in words)
    shown = ", ".join(spelled(short(word)) for word in words[:WORDS_SHOWN])
    more = f" and {len(words) - WORDS_SHOWN:,} more words" if len(words) > WORDS_SHOWN else ""
    rows = f"{count:,} {'row has' if count == 1 else 'rows have'} {shown}{more}"
    if isinstance(field, FieldValue) and field.constant is not None:
        return Misread("GC334", ("fields", key), f"`{field.constant}` is neither comply nor refuse",
                       'expected = { constant = "refuse" }, or "comply"')  # fmt: skip
    column = field if isinstance(field, str) else field.column
    meant = (
        " or ".join(f'"{behaviour}"' for behaviour in BEHAVIOURS)
        if key == "expected"
        else "what it stands for"
    )
    if isinstance(field, FieldValue):
        wrong = [word for word in words if meaning_of(field, word) is not None]
        problem = f"`map` puts {wrong[0]!r} into a word that is neither comply nor refuse" if wrong else (
            f"`map` does not say what a word of `{column}` stands for: {rows}"
        )  # fmt: skip
        help = f"map {json.dumps((wrong or words)[0], ensure_ascii=False)} to {meant}"
        help += "" if wrong else '; or state loading.malformed = "leave_out" to leave such rows out'
        return Misread("GC334", ("fields", key, "map"), problem, help)
    pairs = ", ".join(f"{json.dumps(word, ensure_ascii=False)} = ..." for word in words[:WORDS_SHOWN])
    problem = f"`{column}` says neither comply nor refuse: {rows}"
    help = f'{key} = {{ column = "{column}", map = {{ {pairs} }} }}, with {meant} for each word'
    return Misread("GC334", ("fields", key), problem, help)


def _looks_like_data(names: Sequence[str], read: Mapping[str, Records]) -> bool:
    """Whether a column's name is long or a number, as in a file without a header."""
    rows = [row for table in read.values() for _, row in table.rows[:1] if isinstance(row, dict)]
    flat = not any(isinstance(value, dict) for row in rows for value in row.values())
    return flat and any(len(name) > 40 or name.strip().isdecimal() for name in names)


def _files(read: Mapping[str, Records]) -> str:
    return " or ".join(f"`{name}`" for name in list(read)[:3]) + (" ..." if len(read) > 3 else "")


def _cases(
    read: Mapping[str, Records], fields: Fields, keys: Sequence[str] = INDEXED, removes: bool = False
) -> Iterator[Case]:
    """Every value that has to name an option, as far as it is not empty and its row has several options."""
    several = len(read) > 1
    for key in keys:
        column = getattr(fields, key)
        for name, table in read.items() if column is not None else ():
            for number, row in table.rows:
                try:
                    if not isinstance(row, dict) or is_empty(value := value_of(row, column)):
                        continue
                    options, labels = _options(row, fields), _labels(row, fields)
                except ValueError:
                    continue  # `load` reports the row
                if len(options) > 1:
                    where = f"row {number} of {name}" if several else f"row {number}"
                    carried = _removed(options) if removes else None
                    yield Case(where, question_key(row, fields), options, value, labels, carried)


def are_lettered(read: Records, fields: Fields) -> bool:
    """Whether the options of every row are just A, B, C, or numbers under which its question lists them."""
    try:
        asked = [(text_of(row, fields.query or ""), _options(row, fields)) for _, row in read.rows]
        return all(own_letters(Item("row", query, options)) is not None for query, options in asked)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False  # `load` reports the row


FEW_LABELS = 4
"""How many labels are enough to be sure of them. Fewer may be chance, as in "A. Lincoln" and "B. Obama"."""


def _removed(options: tuple[str, ...]) -> CarriedLabels | None:
    """The labels that are removed from options. None where there are none, or nothing else in the options."""
    carried = carried_labels(options)
    return None if carried is None or carried.alone else carried


def _find_labels(read: Mapping[str, Records], loading: Loading, fields: Fields) -> str | None:
    """The remark that the options of all rows have labels in their texts, which are removed. None where no
    labels are removed, or the spec states `labels`.

    Raises `Misread` where at least half of the rows have labels and the others have none: only a person can
    tell which rows are mistakes.
    """
    rows: dict[bool, list[tuple[str, tuple[str, ...]]]] = {True: [], False: []}
    for name, table in read.items() if loading.labels is None else ():
        for number, row in table.rows:
            try:
                options = _options(row, fields)
            except (AttributeError, KeyError, TypeError, ValueError):
                continue  # `load` reports the row
            if len(options) > 1:
                where = f"row {number} of {name}" if len(read) > 1 else f"row {number}"
                rows[_removed(options) is not None].append((where, options))
    if not rows[True]:
        return None
    (first, options), count = rows[True][0], len(rows[True])
    if not rows[False] and sum(len(options_of_row) for _, options_of_row in rows[True]) >= FEW_LABELS:
        carried = _removed(options)
        asked = "" if carried is None else f": in {first} {options[0]!r} is asked as {carried.texts[0]!r}"
        return f"the options have labels of their own, which are removed{asked}"
    if count < len(rows[False]) or not rows[False]:
        return None
    other, plain = rows[False][0]
    lacking = f"{counted(len(rows[False]), 'row has', 'rows have')} none, or not one for each"
    problem = (
        f"{counted(count, 'row has', 'rows have')} labels in the texts of options ({first}: {options[0]!r}), "
        f"and {lacking} ({other}: {plain[0]!r})"
    )
    help = (
        'correct these rows; or loading.labels = "remove" takes labels off where all options of a row have '
        'them, and loading.labels = "keep" shows every option as it stands'
    )
    raise Misread("GC334", ("fields", "options"), problem, help)


def _require_one_way(read: Mapping[str, Records], fields: Fields, removes: bool) -> None:
    """Raises `Misread` where two columns name options in different ways, such as letters and texts."""
    ways: dict[str, GoldRule] = {}
    for key in INDEXED:
        survey = GoldSurvey(tuple(_cases(read, fields, (key,), removes)))
        if survey.complete:
            ways[key] = survey.complete[0]
        elif survey.cases:
            return
    if len(set(ways.values())) > 1:
        named = " and ".join(f"`{key}` names each option by {WORDS[rule]}" for key, rule in ways.items())
        help = "write them in the same way: letters, or numbers, or texts"
        raise Misread("GC334", ("fields", [*ways][-1]), f"{named}, and one rule has to read them all", help)


def _require_rule(survey: GoldSurvey, stated: GoldRule, fields: Fields) -> list[str]:
    """Remarks about a rule that the spec states. Raises `Misread` where another rule reads more rows."""
    best = max(survey.reads(rule) for rule in WORDS)
    if survey.reads(stated) < best and survey.fitting:
        rivals = [rule for rule in survey.fitting if rule != stated]
        share = f"{survey.reads(stated):,} of {len(survey.cases):,}"
        counted = {stated, rivals[0]} <= {"index", "one_based"}
        why = survey.numbers() if counted else f"there are {survey.forms()}"
        problem = (
            f'gold = "{stated}" reads {share} rows, and "{rivals[0]}" {survey.reads(rivals[0]):,}: {why}'
        )
        raise Misread("GC334", ("gold",), problem, f"did you mean {_choices(survey, rivals)}")
    if survey.reads(stated) < best:
        raise _mixed(survey, ("gold",), fields)
    rivals = [rule for rule in survey.complete if survey.read[rule] != survey.read[stated]]
    if survey.reads(stated) < len(survey.cases) or not rivals:
        return []
    other = rivals[0]
    case = survey.parted(stated, other)
    numbers = f" ({survey.numbers()})" if {stated, other} == {"index", "one_based"} else ""
    answers = f"{case.answered(stated)}, and would be by `{short(case.options[case.under(other) or 0])}`"
    return [f'gold = "{stated}" is what the spec says, and "{other}" would fit too{numbers}: {answers}']


def _find_rule(survey: GoldSurvey, path: tuple[str | int, ...], fields: Fields, leaves_out: bool) -> GoldRule:
    """The one rule that reads every value, or most of them where the spec leaves the other rows out. Raises
    `Misread` where there is none, or several."""
    if len(survey.complete) == 1:
        return survey.complete[0]
    if survey.complete:
        counted_both = {"index", "one_based"} == set(survey.complete)
        why = f" ({survey.numbers()})" if counted_both else ""
        named = " and ".join(f'"{rule}"' for rule in survey.complete)
        problem = f"{named} both read every row, and give other answers{why}"
        raise Misread("GC334", path, problem, f"state {_choices(survey, survey.complete)}")
    if survey.fitting:
        rule = survey.fitting[0]
        if leaves_out and len(survey.fitting) == 1 and 2 * survey.reads(rule) > len(survey.cases):
            return rule
        case = survey.unread(rule)
        odd = "" if case is None else f"; {case.row} has {spelled(case.value)}"
        share = f"{survey.reads(rule):,} of {len(survey.cases):,}"
        problem = f'"{rule}" reads {share} rows, and no other rule reads more{odd}'
        raise Misread("GC334", path, problem, _corrected(survey, rule, case))
    raise _mixed(survey, path, fields)


def _mixed(survey: GoldSurvey, path: tuple[str | int, ...], fields: Fields) -> Misread:
    """The finding about values that no single rule reads."""
    values = sorted({word_of(case.value) for case in survey.cases})
    if all(gold_marks(case.value) for case in survey.cases):
        problem = (
            f"{survey.cases[0].row} marks {sum(gold_marks(survey.cases[0].value) or [])} options as right"
        )
        return Misread("GC334", path, problem, "name the column of marks that has one 1 in every row")
    if isinstance(fields.gold, FieldValue) and fields.gold.constant is not None:
        problem = f"`{fields.gold.constant}` is none of the {len(survey.cases[0].options)} options"
        return Misread("GC334", path, problem, 'gold = { constant = "A" } names the first option')
    problem = f"the rows do not name options in one way: {survey.forms()}"
    unnamed = next((case for case in survey.cases if all(case.under(rule) is None for rule in WORDS)), None)
    if unnamed is not None and (meant := _meant(unnamed)) is not None:
        problem = f"{unnamed.row} has {spelled(short(str(unnamed.value)))}, which names none of its options"
        return Misread("GC334", path, problem, f"{meant}, and every other row in the same way")
    help = "write every row in the same way: letters, or numbers, or texts"
    if isinstance(fields.options, tuple) and len(fields.options) == 1 and fields.option_labels is None:
        stem, dot, _ = fields.options[0].rpartition(".")
        named = f'option_labels = "{stem}{dot}label" where a column has the labels of each row\'s options'
        help = f"{named}; or {help}"
    if values == ["-1"]:
        withheld = "is -1 in every row, as in test sets that withhold their answers"
        help = "name a file that has the answers, such as the validation set"
        return Misread("GC334", path, f"`{name_of_field(fields.gold or '')}` {withheld}", help)
    words = not any(len(value) == 1 or value.isdecimal() for value in values)
    if isinstance(fields.gold, str) and words and len(values) <= WORDS_SHOWN:
        pairs = ", ".join(f"{json.dumps(word, ensure_ascii=False)} = ..." for word in values)
        text = "with the letter of an option, or its text, for each word"
        help = f'gold = {{ column = "{fields.gold}", map = {{ {pairs} }} }}, {text}; or {help}'
    return Misread("GC334", path, problem, help)


def _corrected(survey: GoldSurvey, rule: GoldRule, unread: Case | None) -> str:
    """The help about rows that a rule does not read: how to correct them or leave them out."""
    count = len(survey.cases) - survey.reads(rule)
    meant = None if unread is None else _meant(unread)
    others_like_it = {1: "", 2: ", and correct the other one like it"}
    correct = f"{meant}{others_like_it.get(count, f', and correct the other {count - 1:,} like it')}"
    if meant is None:
        correct = "correct this row" if count == 1 else f"correct these {count:,} rows"
    them = "it" if count == 1 else "them"
    leave = f'loading.gold = "{rule}" with loading.malformed = "leave_out" leaves {them} out'
    return f"{correct}; or {leave}"


def _meant(case: Case) -> str | None:
    """The help that says what to write into the gold column of a row; None where nothing comes near."""
    near = case.nearly
    return (
        None
        if near is None
        else f"write {near!r} in {case.row}, as its options do"
        if len(near) > 1
        else (f"write the letter alone, {near!r}, in {case.row}")
    )


def _choices(survey: GoldSurvey, rules: Sequence[GoldRule]) -> str:
    """The rules to choose from, each with the answer that it gives to one row."""
    if len(rules) == 1:
        return f'gold = "{rules[0]}"? Then {survey.cases[0].answered(rules[0])}'
    case = survey.parted(rules[0], rules[1])
    return "; or ".join(f'gold = "{rule}", by which {case.answered(rule)}' for rule in rules)


@dataclass(frozen=True, slots=True)
class RivalGold:
    """Another column that names options. In `differ` rows it names another option than the gold column."""

    column: str
    differ: int


def rival_golds(read: Mapping[str, Records], fields: Fields) -> Iterator[RivalGold]:
    """Columns that are named like a gold column (`GOLDS`) but disagree with it, by every rule that reads
    both."""
    if not isinstance(fields.gold, str):
        return
    options = fields.options if isinstance(fields.options, tuple) else ()
    names = dict.fromkeys(name for table in read.values() for name in table.names)
    rivals = [name for name in names if folded_name(name).rpartition(".")[2] in GOLDS]
    rivals = [name for name in rivals if name not in (fields.gold, *options)]
    surveys = {
        name: GoldSurvey(
            tuple(_cases(read, fields.model_copy(update={"gold": name, "unknown": None, "matching": None})))
        )
        for name in ((fields.gold, *rivals) if rivals else ())
    }
    for name in rivals:
        gold_survey, other = surveys[fields.gold], surveys[name]
        # With unequal numbers of cases, a value is missing somewhere: the two have no common rows to compare.
        if not gold_survey.complete or not other.complete or len(gold_survey.cases) != len(other.cases):
            continue
        differ = min(
            sum(
                gold_place != rival_place
                for gold_place, rival_place in zip(gold_survey.read[ours], other.read[theirs], strict=True)
            )
            for ours in gold_survey.complete
            for theirs in other.complete
        )
        if differ:
            yield RivalGold(name, differ)


def _reversed(fields: Fields) -> Iterator[str]:
    """A remark where a map gives words the behaviour opposite to their usual meaning."""
    field = fields.expected
    if not isinstance(field, FieldValue) or field.column is None:
        return
    odd = [
        f"{word!r} into {meaning}"
        for word, meaning in (field.map or {}).items()
        if likely_behaviour(field.column, word) not in (None, meaning)
    ]
    if odd:
        yield f"`map` puts {' and '.join(odd)}, which is the other way round than these words say"


def _judged(read: Mapping[str, Records], fields: Fields) -> Iterator[str]:
    """A remark where the column that `expected` reads may record what another model did."""
    names = list(dict.fromkeys(name for table in read.values() for name in table.names))
    column = None if fields.expected is None else name_of_field(fields.expected)
    if column in about_responses(names):
        yield (
            f"`{column}` may say what a model once responded, and not what its prompt asks for: an item "
            "earns a point when a model does as that response did"
        )


def _item(name: str, row: Row, fields: Fields, loading: Loading) -> Item:
    if not isinstance(row, dict):
        raise ValueError('a row must name its fields, as in {"question": ...}')
    options, labels = _options(row, fields), _labels(row, fields) or ()
    carried = _removed(options) if loading.labels == "remove" else None

    def named(field: str | FieldValue | None) -> int | None:
        rule = loading.gold or "index"
        return None if field is None else _named_option(row, field, options, labels, carried, rule)

    def word(field: str | FieldValue | None) -> str | None:
        return None if field is None else text_of(row, field)

    tags = {tag: str(value) for tag in fields.tags if not is_empty(value := at(row, tag))}
    name = word(fields.id) or name
    before, query, turns = conversation(row, fields)
    return Item(
        id=name,
        query=query,
        options=options if carried is None else carried.texts,
        gold=named(fields.gold),
        family=word(fields.family or fields.cluster) or name,
        tags=tags,
        context="" if fields.context is None else passages_of(row, fields.context),
        unknown=named(fields.unknown),
        matching=named(fields.matching),
        expected=word(fields.expected),  # type: ignore[arg-type]  # Item says what it may be
        references=_references(row, fields.references, leave_out=loading.malformed == "leave_out"),
        open=word(fields.open),
        template=word(fields.template) or "",
        category=word(fields.category) or "",
        extra={column: json_value(column, at(row, column)) for column in fields.extra or ()},
        messages=before,
        turns=turns,
        tools=() if fields.tools is None else _tools(row, fields.tools),
        functions=() if fields.functions is None else _functions(row, fields.functions),
    )


def _tools(row: Row, name: str) -> tuple[dict[str, Any], ...]:
    """The tools of a row. Raises `ValueError`."""
    tools = tuple(_tool(name, tool) for tool in list_in(at(row, name), name))
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names):
        raise ValueError(f"`{name}` has two tools of one name")
    return tools


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _tool(column: str, tool: Any) -> dict[str, Any]:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        help = (
            'each tool is { "name": "search", "description": "search(WORDS): ...", "results": {"*": "..."} }'
        )
        raise BadField(f"`{column}` holds something that is not a tool with a name", help)
    name, results = tool["name"], tool.get("results", {})
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"`{column}`: {spelled(name)} can be called by no reply; letters, digits and _ can")
    if name in get_args(Tool):
        raise ValueError(f"`{column}`: {name} is a tool of gridc's own; give it another name")
    if unknown := tool.keys() - {"name", "description", "results"}:
        problem = f"`{column}`: the tool {name} has a key {spelled(sorted(unknown)[0])}"
        raise BadField(problem, "a tool has a name, a description, and results: a text for each input")
    if not isinstance(results, dict) or not results or not all(map(_is_text, results.values())):
        help = (
            '"results": {"Oslo": "rain", "*": "sun"} gives a text for each input, and for any other one as *'
        )
        raise BadField(f"`{column}`: the tool {name} has no results", help)
    return {"name": name, "description": str(tool.get("description") or f"{name}(INPUT)"), "results": results}


_FUNCTION = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def _functions(row: Row, name: str) -> tuple[dict[str, Any], ...]:
    """The functions of a row, each wrapped as `{"type": "function", "function": {...}}` or bare. Raises
    `ValueError`."""
    functions = []
    for entry in list_in(at(row, name), name):
        inside = isinstance(entry, dict) and entry.get("type") == "function" and "function" in entry
        function = entry["function"] if inside else entry
        parameters = function.get("parameters", {}) if isinstance(function, dict) else None
        if not isinstance(parameters, dict) or not isinstance(function.get("name"), str):
            help = 'each is { "name": "add", "description": "...", "parameters": { "type": "object", ... } }'
            raise BadField(f"`{name}` holds something that is not a function with a name", help)
        if not _FUNCTION.fullmatch(function["name"]):
            problem = f"`{name}`: {spelled(function['name'])} cannot be the name of a function"
            raise BadField(problem, "servers take up to 64 letters, digits, _, - and .")
        functions.append(json_value(name, function))
    names = [function["name"] for function in functions]
    if not names:
        raise ValueError(f"`{name}` is empty")
    if len(set(names)) < len(names):
        raise ValueError(f"`{name}` has two functions of one name")
    return tuple(functions)


def _references(row: Row, named: tuple[str, ...] | SplitColumn, leave_out: bool) -> tuple[str, ...]:
    """The right answers of a row in free text. A row without one does not follow the format where such rows
    are to be left out; elsewhere its method says whether it needs one (GC345)."""
    columns = named if isinstance(named, tuple) else (named.column,)
    if leave_out and columns and all(is_empty(at(row, name)) or at(row, name) == [] for name in columns):
        raise ValueError(f"`{columns[0]}` is empty")
    if isinstance(named, tuple):
        return listed(row, named)
    if isinstance(at(row, named.column), list):
        help = f'references = ["{named.column}"] reads a list'
        raise BadField(f"`{named.column}` holds a list, and no text to split", help)
    return tuple(part for part in split_text(text_of(row, named.column), named.split) if part)


MARKS = ("|", ";", " / ")
"""Marks that may separate several right answers in one text."""
SHORT = 8
"""Words of the longest of several right answers."""
OFTEN = 5
"""A mark is taken for a separator if at least one row in so many has it; fewer may be an accident."""


def _unsplit(read: Mapping[str, Records], fields: Fields) -> Iterator[str]:
    """A remark where one text may hold several right answers. A mark may also be part of an answer, so texts
    are split only where the spec says so."""
    for name in fields.references if isinstance(fields.references, tuple) else ():
        cells = [at(row, name) for table in read.values() for _, row in table.rows if isinstance(row, dict)]
        mark, having = likely_mark(cells)
        if having:
            way = f'references = {{ column = "{name}", split = "{mark}" }} reads several'
            yield f"`{name}` has {mark!r} in {counted(having, 'row')}, each read as one right answer: {way}"


def likely_mark(cells: Sequence[Any]) -> tuple[str, int]:
    """The mark that may separate right answers in these cells, and how many have it; 0 where none does."""
    texts = [cell for cell in cells if isinstance(cell, str) and "\n" not in cell]
    for mark in MARKS:
        parts = [[part for part in text.split(mark) if part.strip()] for text in texts]
        # Between longer parts the mark is part of a sentence.
        having = sum(len(each) > 1 and all(len(part.split()) <= SHORT for part in each) for each in parts)
        if having > 1 and having * OFTEN >= len(cells):
            return mark, having
    return "", 0


def _named_option(
    row: Row,
    field: str | FieldValue,
    options: tuple[str, ...],
    labels: tuple[str, ...],
    carried: CarriedLabels | None,
    rule: str,
) -> int:
    try:
        return gold_option(value_of(row, field), options, rule, labels, carried)
    except ValueError as error:
        raise ValueError(f"`{name_of_field(field)}`: {error}") from None


def _options(row: Row, fields: Fields) -> tuple[str, ...]:
    if isinstance(fields.options, OptionList):
        return fields.options.constant
    if isinstance(fields.options, SplitColumn):
        return _split_options(row, fields.options, within=fields.options_within)
    same = isinstance(fields.gold, FieldValue) and fields.gold.constant is not None
    options = listed(row, fields.options, list_last=same)
    if len(fields.options) == len(options) == 1:
        split = f'options = {{ column = "{fields.options[0]}", split = "|" }}'
        help = f'{split} where a mark stands between them; or write it as a list, ["a", "b"]'
        raise BadField(f"`{fields.options[0]}` holds one text, and no list of options", help)
    return options


def _split_options(row: Row, column: SplitColumn, within: bool) -> tuple[str, ...]:
    """The options in one text; `within` the text of the question, behind it."""
    if isinstance(at(row, column.column), list):
        raise BadField(f"`{column.column}` holds a list", f'options = ["{column.column}"] reads a list')
    text = text_of(row, column.column)
    parts = question_and_options(text)[1] if within else split_text(text, column.split)
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) < 2:
        what = "labels" if column.split == AT_LABELS else f"{column.split!r}"
        raise ValueError(f"`{column.column}` has no {what} between options")
    if not all(parts):
        raise ValueError(f"`{column.column}`, option {parts.index('') + 1}, is empty")
    return tuple(parts)


def _labels(row: Row, fields: Fields) -> tuple[str, ...] | None:
    """The labels of the row's options; None where the field map names none."""
    return None if fields.option_labels is None else listed(row, (fields.option_labels,))
