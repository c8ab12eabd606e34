"""Responses of every form that has misled a reader, and what each rule of gridc reads in them.

They are those of the tests of extraction, matching and refusals, what the oracles say of four items and of
seven free answers, and `cases`. More may be added at any time: each response is compared by itself.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridc.compiler.instrument import readers
from gridc.compiler.instrument.extract import Extraction
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import read_answer
from gridc.compiler.instrument.options import bare_labels
from gridc.compiler.instrument.readers import last_answer
from gridc.compiler.instrument.refusals import refusal_keywords
from gridc.compiler.instrument.render import render_prompt
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.preflight.oracles import COMPLIANCE, ORACLES, REFUSAL, OracleView
from gridc.schema.effects import Match
from tests.compiler.labelled_answers import LABELLED
from tests.instrument.examples import inputs

MARKS = ("A.", "-", "1.", "i)")
"""Options are under letters; some responses are also read under bullets, numbers and Roman numbers."""
EXTRACTION = Path(__file__).parents[1] / "compiler"
CASES = Path(__file__).parent / "cases"
CHOICES = (
    Item("key", "Who took the key?", ("The baker", "The miller", "Not known"), gold=1, unknown=2, matching=0),
    Item("colour", "Which is heavier?", ("red", "dark red", "One", "One hundred", "Two"), gold=3),
    Item("weight", "Who is late?", tuple(f"It weighs {n} stone" for n in range(13)), gold=8),
    Item("truth", "Is it?", ("Yes", "No"), gold=1),
)
FREE = (("number", "42"), ("number", "1,234.50"), ("number", "-2"), ("text", "Paris"), ("contains", "C++"),
        ("contains", "東京"), ("exact", "aB-1"))  # fmt: skip

Reading = list[object]
Readings = Mapping[str, Reading]
"""What each part reads in a response."""


def as_read(extraction: Extraction) -> Reading:
    return [extraction.option, extraction.rule, extraction.confidence, extraction.start, extraction.end]


def readings(*parts: str) -> dict[str, Readings]:
    """What these parts read, or all, by the response and what was asked (as JSON, one line each)."""
    found: dict[str, Readings] = {}
    for text, asked, read in _responses():
        wanted = {part: read_it for part, read_it in read.items() if not parts or part in parts}
        key = json.dumps({**asked, "response": text}, ensure_ascii=False)
        if wanted and key not in found:
            found[key] = {part: as_read(read_it()) for part, read_it in wanted.items()}
    return found


def _responses() -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Each response with what it answers, and how each part reads it."""
    for text, options, mark in _choices():
        shown = bare_labels(mark, len(options)) if mark else ()
        yield (
            text,
            {"options": options, "mark": mark},
            {
                f"reader:{name}": lambda read=read, text=text, options=options, shown=shown: read(
                    text, options, shown, ""
                )
                for name, read in readers.READERS.items()
            },
        )
    own = tomllib.loads((EXTRACTION / "own_part_cases.toml").read_text("utf-8"))
    options = own["choice"]["options"]
    for case in own["choice"]["case"]:
        text, question = case["response"], case.get("question", own["choice"]["question"])
        read = {"reader:last_answer": lambda text=text, q=question: last_answer(text, options, "ABCD", q)}
        yield text, {"options": options, "question": question}, read
    for text in _behaviours():
        yield text, {}, {"method:refusal_keywords": lambda text=text: refusal_keywords(text)}
    free = [("What is it?", *row) for row in _matched()]
    for kind in ("number", "text"):
        match = Match.model_validate({"as": kind})
        free += [(own[kind]["question"], case["response"], match, ["12"]) for case in own[kind]["case"]]
    for question, text, match, references in free:
        item = Item("free", question, references=tuple(references))
        asked = {
            "match": match.model_dump(mode="json", by_alias=True, exclude_none=True),
            "right": references,
        }
        yield (
            text,
            asked,
            {f"match:{match.kind}": lambda text=text, match=match, item=item: read_answer(match, item, text)},
        )


def _choices() -> Iterator[tuple[str, Sequence[str], str]]:
    sets = inputs()["options"]
    for number, (name, text) in enumerate(inputs()["responses"]):
        for mark in MARKS if number % 8 == 0 else MARKS[:1]:
            yield text, sets[name], mark
    for text in inputs()["short"]:
        for mark in MARKS:
            yield text, CHOICES[0].options, mark
    for given in inputs()["further"].values():
        yield from ((text, sets[name], MARKS[0]) for name, text in given)
    table = tomllib.loads((EXTRACTION / "extraction_cases.toml").read_text("utf-8"))
    for case in table["case"]:
        mark = MARKS[0] if case.get("lettered", True) else ""
        yield case["response"], table["options"][case["options"]], mark
    for rows in tomllib.loads((EXTRACTION / "extraction_styles.toml").read_text("utf-8")).values():
        yield from ((text, table["options"][name], MARKS[0]) for name, _, text in rows)
    for case in (*_cases("choices"), *_cases("forms"), *_lines(EXTRACTION / "choices.jsonl")):
        yield case["text"], case["options"], MARKS[0]
    for case in _cases("thoughts"):
        yield case["text"], ("The mayor", "The guard"), MARKS[0]
    for item in CHOICES:
        prompt = render_prompt("{{ question }}\n\nAnswer:", item)
        for text in _said(Setting(prompt="p", method="extract", enumerator=MARKS[0]), item, prompt):
            yield text, item.options, MARKS[0]


def _behaviours() -> Iterator[str]:
    yield from inputs()["behaviours"]
    yield from (
        case["text"]
        for case in (*_cases("refusals"), *_cases("refusal_forms"), *_lines(EXTRACTION / "refusals.jsonl"))
    )
    yield from (COMPLIANCE, REFUSAL, f"<think>{REFUSAL}</think>{COMPLIANCE}", f"<think>\n{COMPLIANCE}")


def _matched() -> Iterator[tuple[str, Match, Sequence[str]]]:
    for stated, references, text, *_ in LABELLED:
        yield text, Match.model_validate(stated), references
    for kind, answer in FREE:
        for stated in ({}, {"after": "The answer is"}):
            match = Match.model_validate({"as": kind, **stated})
            setting = Setting(prompt="p", method="match", options="none", match=match)
            item = Item("free", "What is it?", references=(answer,))
            yield from ((text, match, (answer,)) for text in _said(setting, item, "What is it?"))


def _said(setting: Setting, item: Item, prompt: str) -> Iterator[str]:
    """What each oracle says, whether or not it has an expectation of the setting."""
    for oracle in ORACLES:
        said = oracle.says(OracleView(setting, item, prompt))
        if said is not None:
            yield said


def _cases(name: str) -> Iterator[dict[str, Any]]:
    yield from _lines(CASES / f"{name}.jsonl")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text("utf-8").splitlines())
