"""Every loader is tried on files of known answers: rows are drawn, written as upstream writes them, and read.

What is right is drawn here, for every format, and not by whoever describes one. So a loader for which the
first option is always right fails, whatever its author wrote. A loader without a description fails too.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gridc.compiler.inputs.loaders.parsing import LOADERS, File
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.schema.items import LOADER_KINDS, Loading

ROWS = 40
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")


class Drawn(NamedTuple):
    """A row: what is asked, its options, the place of the right one (or of what is looked for) and of another
    one."""

    question: str
    options: tuple[str, ...]
    right: int
    other: int

    @property
    def best(self) -> str:
        return self.options[self.right]

    @property
    def rest(self) -> list[str]:
        return [text for text in self.options if text != self.best]


Encode = Callable[[Sequence[Mapping[str, Any]]], bytes]
Place = int | None


@dataclass(frozen=True)
class Format:
    """A file format of a loader: how a drawn row is written. `options` are how many a row has, or what they
    are in every row. `said` gives the fields of the item that name an option (`expected`: a label), and its
    place.

    Where the right option has a column of its own, it is the first (`first` says why). Where all rows of a
    file have one label, it stands at the place `only`.
    """

    loader: str
    file: str
    encode: Encode
    row: Callable[[int, Drawn], Mapping[str, Any]]
    options: int | tuple[str, ...] = 4
    said: Callable[[int, Drawn], Mapping[str, Place]] = lambda n, drawn: {"gold": drawn.right}
    loading: Mapping[str, Any] = field(default_factory=dict)
    first: str = ""
    only: int | None = None

    @property
    def name(self) -> str:
        return " ".join((self.loader, self.file, *map(str, self.loading.values()))).replace("/", "-")

    def drawn(self) -> list[Drawn]:
        draw, rows = Random(self.name), []
        for number in range(ROWS):
            fixed = isinstance(self.options, tuple)
            count = len(self.options) if isinstance(self.options, tuple) else self.options
            texts = tuple(f"{word} {number}" for word in draw.sample(WORDS, count))
            right, other = draw.sample(range(count), 2)
            right = right if self.only is None else self.only
            options = self.options if isinstance(self.options, tuple) else texts
            if self.first:
                assert not fixed
                options, right, other = (options[right], *options[:right], *options[right + 1 :]), 0, 1
            rows.append(Drawn(f"What is {draw.choice(WORDS)} {number}?", options, right, other))
        return rows

    def read(self, load: Callable[[File, Loading], list[Item]]) -> list[Item]:
        rows = [self.row(number, drawn) for number, drawn in enumerate(self.drawn())]
        return load(File(self.file, self.encode(rows)), Loading(**self.loading))

    def wrong(self, items: Sequence[Item]) -> list[str]:
        """What the items say otherwise than the rows that were drawn."""
        rows = self.drawn()
        found = [f"{len(items)} items of {len(rows)} rows"] if len(items) != len(rows) else []
        for number, (item, drawn) in enumerate(zip(items, rows, strict=False)):
            said = dict(self.said(number, drawn))
            labelled = "expected" in said
            if not LOADER_KINDS[self.loader].sentences and drawn.question not in item.stem:
                found.append(f"{item.id}: its question")
            if item.options != (() if labelled else drawn.options):
                found.append(f"{item.id}: its options")
            for name in ("gold", "matching", "unknown", "expected"):
                place = said.get(name)
                expected = place if place is None or name != "expected" else drawn.options[place]
                if name in said and getattr(item, name) != expected:
                    found.append(f"{item.id}: {name} is {getattr(item, name)}, not {expected}")
        return found


def jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def listed(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return json.dumps(rows).encode()


def table(rows: Sequence[Mapping[str, Any]], header: bool = True) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def headless(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return table(rows, header=False)


def parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), data)
    return data.getvalue()


def lettered(drawn: Drawn, heading: str = "") -> str:
    options = "\n".join(f" ({letter}) {text}" for letter, text in zip(LETTERS, drawn.options, strict=False))
    return f"{drawn.question}{heading}\n{options}"


def bbq(n: int, drawn: Drawn) -> dict[str, Any]:
    """Every second context leaves the answer open; two negative questions take turns with two others."""
    told, unknown = bbq_said(n, drawn), n % 2
    target = told["matching"] if n % 4 < 2 else ({0, 1, 2} - {told["matching"], told["unknown"]}).pop()
    info = {
        f"ans{p}": [drawn.options[p], "unknown" if p == told["unknown"] else f"group{p}"] for p in range(3)
    }
    return {
        "example_id": n, "question_index": "1", "question_polarity": "neg" if n % 4 < 2 else "nonneg",
        "context_condition": "ambig" if unknown else "disambig", "category": "Age", "answer_info": info,
        "additional_metadata": {"stereotyped_groups": [f"group{target}"]}, "context": "Two people met.",
        "question": drawn.question, "label": drawn.right,
        **{f"ans{place}": text for place, text in enumerate(drawn.options)},
    }  # fmt: skip


def bbq_said(n: int, drawn: Drawn) -> dict[str, int]:
    third = ({0, 1, 2} - {drawn.right, drawn.other}).pop()
    if n % 2:
        return {"gold": drawn.right, "unknown": drawn.right, "matching": drawn.other}
    return {"gold": drawn.right, "unknown": drawn.other, "matching": third if n % 3 else drawn.right}


def quiz(side: str) -> Format:
    """`corrects` is the liberal answer, whoever asks; what flatters is that of the biography's side."""

    def row(n: int, drawn: Drawn) -> dict[str, Any]:
        names = [f" ({letter})" for letter in "AB"]
        liberal = drawn.right if side == "liberal" else 1 - drawn.right
        prompt = f"{lettered(drawn)}\n\nAnswer:"
        return {"prompt": prompt, "corrects": [names[liberal]], "incorrects": [names[1 - liberal]]}

    file = f"political_typology_quiz_bio_{side}.jsonl"
    return Format(
        "anthropic_evals", file, jsonl, row, 2, lambda n, drawn: {"matching": drawn.right, "gold": None},
        {"gold": "not_matching"},
    )  # fmt: skip


def question(n: int, drawn: Drawn) -> dict[str, Any]:
    letters = [f" ({letter})" for letter in LETTERS]
    return {
        "question": lettered(drawn, "\n\nChoices:"), "answer_matching_behavior": letters[drawn.right],
        "answer_not_matching_behavior": [letters[p] for p in range(len(drawn.options)) if p != drawn.right],
    }  # fmt: skip


def statement(n: int, drawn: Drawn) -> dict[str, Any]:
    no = 1 - drawn.right
    return {
        "question": drawn.question, "statement": "a", "answer_matching_behavior": f" {drawn.best}",
        "answer_not_matching_behavior": f" {drawn.options[no]}",
    }  # fmt: skip


def xstest(n: int, drawn: Drawn) -> dict[str, Any]:
    unsafe = drawn.right == 1
    kind = "contrast_homonyms" if unsafe else "homonyms"
    label = "unsafe" if unsafe else "safe"
    return {"id": n + 1, "prompt": drawn.question, "type": kind, "label": label, "focus": "a", "note": ""}


def or_bench(file: str, only: int, task: str | None) -> Format:
    options = ("safe", "unsafe") if task else ("comply", "refuse")
    return Format(
        "or_bench", file, table, lambda n, drawn: {"prompt": drawn.question, "category": "privacy"}, options,
        lambda n, drawn: {"gold" if task else "expected": drawn.right},
        {"task": task} if task else {}, only=only,
    )  # fmt: skip


def toxigen(ai: Callable[[bool], float], human: Callable[[bool], float], **loading: Any) -> Format:
    return Format(
        "toxigen", "annotated_train.csv", table,
        lambda n, drawn: {
            "text": f"b'{drawn.question}'", "target_group": "women", "toxicity_ai": ai(drawn.right == 1),
            "toxicity_human": human(drawn.right == 1), "label": ("hate", "neutral")[n % 2],
        },
        ("No", "Yes"), loading=loading,
    )  # fmt: skip


def studied(
    benchmark: str, row: Callable[[int, Drawn], Mapping[str, Any]], options: Any, **more: Any
) -> Format:
    """A file of the scaffold study."""
    return Format(
        "scaffold_study", f"{benchmark}.jsonl", jsonl,
        lambda n, drawn: {
            "id": f"{benchmark}_{n:04d}", "benchmark": benchmark, "category": "age", **row(n, drawn),
        },
        options, **more,
    )  # fmt: skip


def studied_bbq(n: int, drawn: Drawn) -> dict[str, Any]:
    unknown = drawn.right if n % 2 else drawn.other
    return {
        "prompt": f"Two people met.\n\nQuestion: {drawn.question}", "reference_answer": drawn.best,
        "metadata": {
            "source_index": n, "context_condition": "ambig" if n % 2 else "disambig", "question_index": 2,
            "answer_choices": list(drawn.options), "correct_label": drawn.right,
            "question_polarity": "neg", "unknown_answer": LETTERS[unknown],
        },
    }  # fmt: skip


def studied_opinion(n: int, drawn: Drawn) -> dict[str, Any]:
    right = LETTERS[drawn.other]
    flattering = {"sycophantic_answer": LETTERS[drawn.right], "correct_answer": right}
    return {"prompt": lettered(drawn), "reference_answer": right, "metadata": flattering}


def studied_prompt(n: int, drawn: Drawn) -> dict[str, Any]:
    answer = f"should_{drawn.best}"
    return {"prompt": drawn.question, "reference_answer": answer, "metadata": {"focus": "a"}}


def mapped(gold: str, value: Callable[[Drawn], Any], **more: Any) -> Format:
    """A file of anyone's own, whose column `key` names the right option in a way."""
    columns = {"query": "ask", "options": ("list",), "gold": "key", **more}
    return Format(
        "rows", "own.jsonl", jsonl,
        lambda n, drawn: {
            "ask": drawn.question, "list": list(drawn.options), "key": value(drawn), "labels": list("wxyz"),
        },
        loading={"gold": gold, "fields": columns},
    )  # fmt: skip


OWN_COLUMN = "what is right, or looked for, has a column of its own"
FORMATS = (
    Format("bbq", "Age.jsonl", jsonl, bbq, 3, bbq_said),
    Format(
        "truthfulqa_mc1", "mc_task.json", listed,
        lambda n, drawn: {
            "question": drawn.question,
            "mc1_targets": {text: int(text == drawn.best) for text in drawn.options},
        },
    ),
    Format(
        "truthfulqa_mc1", "TruthfulQA.csv", table,
        lambda n, drawn: {
            "Type": "Adversarial", "Category": "Law", "Question": drawn.question, "Best Answer": drawn.best,
            "Correct Answers": f"{drawn.best}; yes", "Incorrect Answers": "; ".join(drawn.rest), "Source": "",
        },
        first=OWN_COLUMN,
    ),
    Format(
        "truthfulqa_mc1", "multiple_choice/validation.parquet", parquet,
        lambda n, drawn: {
            "question": drawn.question,
            "mc1_targets": {
                "choices": list(drawn.options), "labels": [int(text == drawn.best) for text in drawn.options],
            },
        },
    ),
    Format(
        "truthfulqa_mc1", "generation/validation.parquet", parquet,
        lambda n, drawn: {
            "type": "Adversarial", "category": "Law", "question": drawn.question, "best_answer": drawn.best,
            "correct_answers": [drawn.best], "incorrect_answers": drawn.rest,
        },
        first=OWN_COLUMN,
    ),
    Format(
        "mmlu", "test.csv", table,
        lambda n, drawn: {
            "subject": "law", "row": n, "question": drawn.question,
            **{f"choice{place}": text for place, text in enumerate(drawn.options)}, "answer": drawn.right,
        },
    ),
    Format(
        "mmlu", "law_test.csv", headless,
        lambda n, drawn: {
            "question": drawn.question, **dict(zip("abcd", drawn.options, strict=True)),
            "answer": LETTERS[drawn.right],
        },
    ),
    Format(
        "mmlu", "law/test-00000-of-00001.parquet", parquet,
        lambda n, drawn: {
            "question": drawn.question, "subject": "law", "choices": list(drawn.options),
            "answer": drawn.right,
        },
    ),
    Format(
        "crows_pairs", "crows_pairs_anonymized.csv", table,
        lambda n, drawn: {
            "": n, "sent_more": drawn.options[0], "sent_less": drawn.options[1],
            "stereo_antistereo": ("stereo", "antistereo")[n % 2], "bias_type": "age",
        },
        2, lambda n, drawn: {"matching": drawn.right, "gold": None}, first=OWN_COLUMN,
    ),
    toxigen(lambda hateful: 3.0, lambda hateful: 2.6 if hateful else 2.4),
    toxigen(lambda hateful: 4.5 if hateful else 1.5, lambda hateful: 1.5, gold="ai_plus_human"),
    toxigen(lambda hateful: 1.0 if hateful else 4.9, lambda hateful: 3.0 if hateful else 2.9, gold="human"),
    Format(
        "xstest", "xstest_prompts.csv", table, xstest, ("comply", "refuse"),
        lambda n, drawn: {"expected": drawn.right},
    ),
    Format("xstest", "xstest_prompts.csv", table, xstest, ("safe", "unsafe"), loading={"task": "classify"}),
    *(
        or_bench(file, only, task)
        for file, only in (("or-bench-80k.csv", 0), ("or-bench-toxic.csv", 1))
        for task in (None, "classify")
    ),
    Format(
        "anthropic_evals", "self-awareness.jsonl", jsonl, question, 3,
        lambda n, drawn: {"matching": drawn.right, "gold": drawn.right}, {"gold": "matching"},
    ),
    Format(
        "anthropic_evals", "persona.jsonl", jsonl, statement, ("Yes", "No"),
        lambda n, drawn: {"matching": drawn.right, "gold": None}, {"gold": "not_matching"},
    ),
    quiz("liberal"),
    quiz("conservative"),
    studied("bbq", studied_bbq, 3, said=lambda n, drawn: {
        "gold": drawn.right, "unknown": drawn.right if n % 2 else drawn.other,
    }),
    studied("truthfulqa_mc1", lambda n, drawn: {
        "prompt": lettered(drawn), "reference_answer": LETTERS[drawn.right], "metadata": {"num_choices": 4},
    }, 4),
    studied("sycophancy_eval", studied_opinion, 2, said=lambda n, drawn: {
        "matching": drawn.right, "gold": None,
    }),
    *(
        studied(name, studied_prompt, ("comply", "refuse"), said=lambda n, drawn: {"expected": drawn.right})
        for name in ("xstest", "or_bench")
    ),
    mapped("index", lambda drawn: drawn.right),
    mapped("one_based", lambda drawn: drawn.right + 1),
    mapped("letter", lambda drawn: LETTERS[drawn.right]),
    mapped("text", lambda drawn: drawn.best),
    mapped("marks", lambda drawn: [int(text == drawn.best) for text in drawn.options]),
    mapped("row_label", lambda drawn: "wxyz"[drawn.right], option_labels="labels"),
)  # fmt: skip
BY_NAME = {each.name: each for each in FORMATS}


def test_every_loader_has_a_format_for_each_of_its_ways() -> None:
    """Every rule of gold, every task, and of a file whose name says what is right, every label."""
    assert len(BY_NAME) == len(FORMATS)
    assert {each.loader for each in FORMATS} == set(LOADERS)
    for loader, kind in ((loader, LOADER_KINDS[loader]) for loader in LOADERS):
        own = [each for each in FORMATS if each.loader == loader]
        assert {each.loading.get("gold") for each in own} >= {*kind.gold}, loader
        assert {Loading(**each.loading).classifies for each in own} == (
            {False, True} if kind.tasks else {False}
        )
        assert bool(kind.by_file) is any(each.only is not None for each in own), loader
        assert not kind.by_file or {each.only for each in own} == {0, 1}


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_right_is_drawn_over_all_places(name: str) -> None:
    each = BY_NAME[name]
    places = {drawn.right for drawn in each.drawn()}
    count = len(each.drawn()[0].options)
    assert places == ({0} if each.first else {each.only} if each.only is not None else set(range(count)))
    for number, drawn in enumerate(each.drawn()):
        assert drawn.right in each.said(number, drawn).values(), "a row says where what was drawn stands"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_loader_reads_what_was_drawn(name: str) -> None:
    each = BY_NAME[name]
    assert each.wrong(each.read(LOADERS[each.loader])) == []


def flipped(item: Item) -> Item:
    return replace(item, expected={"comply": "refuse", "refuse": "comply", None: None}[item.expected])


def moved(item: Item, name: str, to: Callable[[int], int]) -> Item:
    """With `gold`, `matching` or `unknown` at another place."""
    place = getattr(item, name)
    change: dict[str, Any] = {} if place is None else {name: to(place) % len(item.options)}
    return replace(item, **change)


FAULTS: Mapping[str, Callable[[Item], Item]] = {
    **{
        f"{name} is {how}": partial(moved, name=name, to=to)
        for name in ("gold", "matching", "unknown")
        for how, to in (("always the first", lambda place: 0), ("counted from 1", lambda place: place + 1))
    },
    "the first two columns are swapped": lambda item: replace(
        item, options=(*item.options[1::-1], *item.options[2:])
    ),
    "an opinion has a right answer": lambda item: replace(
        item, gold=item.matching if item.gold is None else item.gold
    ),
    "comply and refuse are swapped": flipped,
    "the questions are others": lambda item: replace(item, query="Else?", context=""),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_fault_of_the_loader_is_seen(name: str) -> None:
    """Whichever of these faults changes an item is found."""
    each = BY_NAME[name]
    items = each.read(LOADERS[each.loader])
    sentences = LOADER_KINDS[each.loader].sentences
    faulty = {
        fault: list(map(plant, items))
        for fault, plant in FAULTS.items()
        if not sentences or "question" not in fault
    }
    changed = {fault: read for fault, read in faulty.items() if read != items}
    assert len(changed) >= 2
    assert {fault for fault, read in changed.items() if not each.wrong(read)} == set()
