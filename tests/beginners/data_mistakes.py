# ruff: noqa: E501  # a mistake reads as one row
"""Mistakes that people make with files of their own, as they call `gridc init`: what it answers, and what following the
answer to the letter comes to."""

import gzip
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.beginners.layouts import as_csv, as_jsonl, as_parquet, sums

ITEMS = [sums(number) for number in range(12)]
SUMS = {query: options[place] for query, options, place in ITEMS}
REQUESTS = {f"Open box {number}.": ("comply", "refuse")[number % 2] for number in range(12)}
HARM = {"comply": "benign", "refuse": "harmful"}


def choices(columns: str = "abcd", labels: str = "ABCD", order: str | None = None) -> list[dict[str, Any]]:
    """Questions with a column for each option, in this order, and the right one by its label."""
    rows = []
    for query, options, place in ITEMS:
        named = dict(zip(columns, options, strict=True))
        rows.append(
            {"question": query, **{name: named[name] for name in order or columns}, "answer": labels[place]}
        )
    return rows


def labelled(words: Mapping[str, str] = HARM, column: str = "label") -> list[dict[str, Any]]:
    return [{"prompt": query, column: words[expected]} for query, expected in REQUESTS.items()]


def workbook() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return target.getvalue()


@dataclass(frozen=True)
class DataMistake:
    """What is given to `gridc init`, words of the answer, and what the answer says to do: other `flags`, or another
    `mended` file. `right` is what earns a point by what is asked: the option, or `comply` or `refuse`."""

    name: str
    file: str
    data: bytes
    flags: Sequence[str]
    words: str
    way_out: Sequence[str] = ()
    mended: tuple[str, bytes] | None = None
    right: Mapping[str, str] = field(default_factory=lambda: SUMS)
    benchmarks: Sequence[str] = ()
    follows: bool = True


GOOD = as_csv(choices())
ABCD = ("--field", "options=a,b,c,d")
LABELS = ("--field", "expected=label", "--label", "harmful=refuse", "--label", "benign=comply")
MIDDLE = [row for row, (_, _, place) in zip(choices(labels="0123"), ITEMS, strict=True) if place in (1, 2)]
CYRILLIC = [{**row, "answer": row["answer"].replace("C", "\u0421")} for row in choices()]
LOST = {**SUMS}
del LOST[ITEMS[3][0]]
TWO_ANSWERS = [{**row, "correct_answer": "ABCD"[("ABCD".index(row["answer"]) + 1) % 4]} for row in choices()]
TURNS = [{"turns": [query, "Go on."]} for query in REQUESTS]
ALL_REFUSED = dict.fromkeys(REQUESTS, "refuse")
MIXED = [
    {"question": query, "choices": {"text": options, "label": [*("1234", "ABCD")[number % 2]]},
     "answerKey": ("1234", "ABCD")[number % 2][place]}
    for number, (query, options, place) in enumerate(ITEMS)
]  # fmt: skip
MARKED = [
    {
        "question": query,
        "one": [int(number == place) for number in range(4)],
        "many": [1, 1, 0, 0],
        "choices": options,
    }
    for query, options, place in ITEMS
]

DATA_MISTAKES = (
    DataMistake("an Excel workbook", "m.xlsx", workbook(), (), "save the sheet as `CSV UTF-8`", mended=("m.csv", GOOD)),
    DataMistake("a workbook with another ending", "m.csv", workbook(), (), "Excel workbook", mended=("m.csv", GOOD)),
    DataMistake("a compressed file", "m.csv.gz", gzip.compress(GOOD), (), "gunzip it", mended=("m.csv", GOOD)),
    DataMistake("a pointer of Git LFS", "m.parquet", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", (),
                "git lfs pull", mended=("m.parquet", as_parquet(choices()))),
    DataMistake("the page about a file", "m.csv", b"<!DOCTYPE html><html></html>", (), "download the file itself",
                mended=("m.csv", GOOD)),
    DataMistake("an empty file", "m.csv", b"\n", (), "the file is empty", mended=("m.csv", GOOD)),
    DataMistake("columns instead of rows", "m.json",
                json.dumps({name: [row[name] for row in choices()] for name in choices()[0]}).encode(), (),
                'orient="records"', mended=("m.json", json.dumps(choices()).encode())),
    DataMistake("no header", "m.csv", b"\n".join(GOOD.splitlines()[1:]), (), "--no-header where the first row is data",
                mended=("m.csv", GOOD)),
    DataMistake("a Cyrillic letter", "m.csv", as_csv(CYRILLIC), (), "U+0421, CYRILLIC CAPITAL LETTER ES",
                mended=("m.csv", GOOD)),
    DataMistake("a gold column that is an option", "m.csv", GOOD, (*ABCD, "--field", "gold=a"),
                "name the column that says which option is right", (*ABCD, "--field", "gold=answer")),
    DataMistake("columns of options backwards", "m.csv", as_csv(choices(order="dcba")), (), "--field options=a,b,c,d",
                ABCD),
    DataMistake("options stated backwards", "m.csv", GOOD, ("--field", "options=d,c,b,a"), "--field options=a,b,c,d",
                ABCD),
    DataMistake("counted from 0 or from 1", "m.csv", as_csv(MIDDLE), (), "--gold index", ("--gold", "index"),
                right={row["question"]: SUMS[row["question"]] for row in MIDDLE}),
    DataMistake("an answer is missing", "m.csv", as_csv([{**row, "answer": "" if n == 3 else row["answer"]} for n, row in
                enumerate(choices())]), (), "--leave-out", ("--leave-out",), right=LOST),
    DataMistake("another alphabet of labels", "m.jsonl", as_jsonl(MIXED), ("--field", "options=choices.text"),
                "--field option_labels=choices.label",
                ("--field", "options=choices.text", "--field", "option_labels=choices.label")),
    DataMistake("marks of several right options", "m.jsonl", as_jsonl(MARKED), ("--field", "gold=many", "--field",
                "options=choices"), "name the column of marks that has one 1", ("--field", "gold=one", "--field", "options=choices")),
    DataMistake("options with words between", "m.jsonl", as_jsonl([{"question": q, "options": " or ".join(o), "answer": "ABCD"[p]}
                for q, o, p in ITEMS]), ("--field", "options=options"), "write each row as a list",
                mended=("m.jsonl", as_jsonl([{"question": q, "options": o, "answer": "ABCD"[p]} for q, o, p in ITEMS]))),
    DataMistake("a constant that names no option", "m.csv", GOOD, (*ABCD, "--constant", "gold=E"), "--constant gold=A",
                (*ABCD, "--constant", "gold=A"), right={query: options[0] for query, options, _ in ITEMS}),
    DataMistake("a question by another name", "m.csv", GOOD.replace(b"question", b"Sporsmal"), (), "--field query=COLUMN",
                ("--field", "query=Sporsmal")),
    DataMistake("a misspelt field", "m.csv", GOOD, ("--field", "qeury=question"), "did you mean `query`?",
                ("--field", "query=question")),
    DataMistake("a misspelt column", "m.csv", GOOD, ("--field", "query=qestion"), "did you mean `question`?",
                ("--field", "query=question")),
    DataMistake("a format of another shape", "m.csv", GOOD, (), '`question`, `a`, `b`, `c`, `d`, `answer`; loader = "rows"',
                benchmarks=("truthfulqa_mc1=m.csv",)),
    DataMistake("JSON as a format of CSV", "m.jsonl", as_jsonl(choices()), (), 'loader = "rows"',
                benchmarks=("mmlu=m.jsonl",)),
    DataMistake("a folder", "m.csv", GOOD, (), "is a folder", benchmarks=(".",)),
    DataMistake("a word that is not mapped", "m.csv", as_csv(labelled()), LABELS[:4], "--label benign=comply", LABELS,
                right=REQUESTS),
    DataMistake("a word that means nothing", "m.csv", as_csv(labelled()), (*LABELS[:3], "harmful=refused", *LABELS[4:]),
                "--label harmful=comply or =refuse", LABELS, right=REQUESTS),
    DataMistake("a label of no column", "m.csv", as_csv(labelled()), LABELS[2:], "--field expected=COLUMN", LABELS,
                right=REQUESTS),
    DataMistake("a constant that is no behaviour", "m.csv", as_csv([{"goal": query} for query in REQUESTS]),
                ("--constant", "expected=harmful"), "--constant expected=refuse", ("--constant", "expected=refuse"),
                right=ALL_REFUSED),
    DataMistake("one statement and two files", "m.csv", as_csv(labelled()), ("--constant", "expected=refuse"),
                "--constant m.csv:expected=refuse", ("--constant", "m.csv:expected=refuse"), right=ALL_REFUSED,
                benchmarks=("m.csv", "builtin:pocket_bbq.jsonl")),
    DataMistake("words for yes and no", "m.csv", as_csv(labelled()), ("--constant", "options=safe,unsafe", "--field",
                "gold=label"), "--label benign=... --label harmful=...", ("--constant", "options=safe,unsafe", "--field",
                "gold=label", "--label", "benign=safe", "--label", "harmful=unsafe"),
                right={query: {"comply": "safe", "refuse": "unsafe"}[expected] for query, expected in REQUESTS.items()}),
    DataMistake("columns of what ships", "m.csv", GOOD, ("--field", "query=question"), "leave the statement out",
                benchmarks=("builtin:pocket_bbq.jsonl",)),
    DataMistake("one question of many cases", "m.csv", as_csv([{"premise": q, "question": "what is it?", "choice1": o[0],
                "choice2": o[1], "label": int(p == 1)} for q, o, p in ITEMS if p < 2]), (), "--field context=premise",
                ("--field", "query=premise"), right={q: o[p] for q, o, p in ITEMS if p < 2}),
    DataMistake("a published format under another name", "own_test.csv", b"".join(GOOD.splitlines(True)[1:]), (),
                "--benchmark mmlu=path:own_test.csv", right=SUMS, way_out=(), mended=("m.csv", GOOD)),
    DataMistake("options in one text", "m.jsonl", as_jsonl([{"question": q, "options": " or ".join(o), "answer": "ABCD"[p]}
                for q, o, p in ITEMS]), ("--field", "options=options"), "--split options=MARK",
                ("--field", "options=options", "--split", "options= or ")),
    DataMistake("two columns that name the right option", "m.csv", as_csv(TWO_ANSWERS), (), "not the same one in 12 rows",
                ("--field", "gold=answer")),
    DataMistake("yes and no of a named column", "m.csv", as_csv(labelled({"comply": "yes", "refuse": "no"}, "is_safe")), (),
                "--field expected=is_safe --label no=refuse --label yes=comply;",
                ("--field", "expected=is_safe", "--label", "no=refuse", "--label", "yes=comply"), right=REQUESTS),
    DataMistake("1 and 0 of a named column", "m.csv", as_csv(labelled({"comply": "0", "refuse": "1"}, "harmful")), (),
                "--field expected=harmful --label 0=comply --label 1=refuse;",
                ("--field", "expected=harmful", "--label", "0=comply", "--label", "1=refuse"), right=REQUESTS),
    DataMistake("answers that are withheld", "test.csv", as_csv([{**row, "answer": -1} for row in choices()]), (),
                "such as the validation set", mended=("validation.csv", GOOD)),
)  # fmt: skip


REMARKED = {
    "labels the other way round": (
        as_csv(labelled()), ("--field", "expected=label", "--label", "harmful=comply", "--label", "benign=refuse"),
        "'harmful' into comply and 'benign' into refuse, which is the other way round than these words say"),
    "another column for the right option": (
        as_csv([{**row, "id": number % 4} for number, row in enumerate(choices())]), ("--field", "gold=id"),
        "`answer` is not read, and names another option than `id` in"),
    "rows below a key": (
        json.dumps({"version": 1, "data": choices()}).encode(), (), "the rows are the list `data` of the file"),
    "capitals in expected": (
        as_csv(labelled({"comply": "Comply", "refuse": "Refuse"}, "expected")), (),
        "'Comply' stands for 'comply', 'Refuse' stands for 'refuse'"),
    "several turns": (
        as_jsonl(TURNS), ("--constant", "expected=refuse"), "turns is `turns`"),
    "free text without a rule": (
        as_csv([{"problem": q, "answer": o[p]} for q, o, p in ITEMS]), ("--field", "references=answer"),
        "as a text, without case, punctuation and articles (--match text)"),
    "cells that a program left empty": (
        as_csv([{**row, "d": "nan" if row["answer"] != "D" else row["d"]} for row in choices()]), (),
        "items have an option `nan` or `null`"),
    "rows twice, with two answers": (
        as_csv([*choices(), {**choices()[0], "answer": TWO_ANSWERS[0]["correct_answer"]}]), (),
        "1 item asks what an earlier item asks, 1 of them with another right answer"),
}  # fmt: skip
"""What is read as it is stated, and remarked upon: a file, flags, and the remark."""
