# ruff: noqa: E501, RUF015  # a row of a layout reads as its columns do
"""Published layouts: files with the columns and the forms in which people find them, and rows of our own.

`truth` reads the raw file with nothing of gridc: what is asked, what earns the point, and how many answers there are
to choose from. `flags` are what `gridc init` is told, each of which it names where it is left out.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow
import pyarrow.parquet

ROWS = 26
Kind = Literal["option", "behaviour", "free"]


@dataclass(frozen=True)
class Truth:
    """What a row asks, the answer that earns the point (of free text: each that does) and how many options it
    has, or behaviours."""

    query: str
    right: tuple[str, ...]
    options: int


@dataclass(frozen=True)
class Layout:
    """A published file: its name, its bytes, what reads the truth of it, and what `gridc init` is told."""

    name: str
    file: str
    data: bytes
    truth: Callable[[bytes], Iterator[Truth]]
    kind: Kind = "option"
    flags: tuple[str, ...] = ()
    loader: str = "rows"

    @property
    def asked(self) -> tuple[str, ...]:
        """The flags that a question names, and not those that only say how free text is compared."""
        return tuple(flag for flag in self.flags if flag not in (*JUDGE, "--match", "number", "contains"))


def sums(number: int, count: int = 4) -> tuple[str, list[str], int]:
    """A question, its options and the place of the right one."""
    one, other = number + 1, number * 3 % 11 + 2
    place = number * 7 % count
    options = [f"it is {one + other + step}" for step in (3, 5, 8, 13, 21, 34, 55, 89, 144)[: count - 1]]
    options.insert(place, f"it is {one + other}")
    return f"What is {one} plus {other}?", options, place


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(
    rows: Sequence[Mapping[str, Any]], classes: Mapping[str, Sequence[str]] | None = None
) -> bytes:
    """As the hub writes it: classes are numbers, and their names stand beside the schema."""
    table = pyarrow.Table.from_pylist([dict(row) for row in rows])
    features = {
        name: {"names": list(names), "_type": "ClassLabel"} for name, names in (classes or {}).items()
    }
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    target = io.BytesIO()
    pyarrow.parquet.write_table(table, target)
    return target.getvalue()


def csv_rows(data: bytes) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def jsonl_rows(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.decode().splitlines()]


def parquet_rows(data: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    return rows


Rows = Callable[[bytes], list[dict[str, Any]]]


def reads(
    rows: Rows, of: Callable[[dict[str, Any]], tuple[str, str, int]]
) -> Callable[[bytes], Iterator[Truth]]:
    """The truth of each row: its question, its right answer and how many there are to choose from."""

    def truth(data: bytes) -> Iterator[Truth]:
        for row in rows(data):
            query, right, options = of(row)
            yield Truth(query, (right,), options)

    return truth


def behaves(
    rows: Rows, query: str, of: Callable[[dict[str, Any]], str]
) -> Callable[[bytes], Iterator[Truth]]:
    return reads(rows, lambda row: (row[query], of(row), 2))


def refused(rows: Rows, query: str) -> Callable[[bytes], Iterator[Truth]]:
    return behaves(rows, query, lambda row: "refuse")


def free(
    rows: Rows, query: str, of: Callable[[dict[str, Any]], Sequence[str]]
) -> Callable[[bytes], Iterator[Truth]]:
    return lambda data: (Truth(row[query], tuple(of(row)), 0) for row in rows(data))


def made(of: Callable[[int, str, list[str], int], dict[str, Any]], count: int = 4) -> list[dict[str, Any]]:
    """Rows of a question, its options and the place of the right one."""
    return [of(number, *sums(number, count)) for number in range(ROWS)]


def prompts(of: Callable[[int, str], dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of an invented request."""
    return [of(number, f"Explain how to open box {number} of the blue shed.") for number in range(ROWS)]


def arc(number: int, query: str, options: list[str], place: int) -> tuple[list[str], list[str], str]:
    """Options, with labels that are letters in some rows and numbers in others; some rows have only three."""
    if number % 5 == 0 and place < 3:
        options = options[:3]
    labels = ["1", "2", "3", "4"] if number % 3 == 0 else ["A", "B", "C", "D"]
    return options, labels[: len(options)], labels[place]


def arc_hub(number: int, query: str, options: list[str], place: int) -> dict[str, Any]:
    options, labels, key = arc(number, query, options, place)
    return {
        "id": f"Own_{number}",
        "question": query,
        "choices": {"text": options, "label": labels},
        "answerKey": key,
    }


def arc_file(number: int, query: str, options: list[str], place: int) -> dict[str, Any]:
    options, labels, key = arc(number, query, options, place)
    choices = [{"text": text, "label": label} for text, label in zip(options, labels, strict=True)]
    return {"id": f"Own_{number}", "question": {"stem": query, "choices": choices}, "answerKey": key}


def by_label(row: dict[str, Any]) -> tuple[str, str, int]:
    texts, labels = row["choices"]["text"], row["choices"]["label"]
    return row.get("question") or row["question_stem"], texts[labels.index(row["answerKey"])], len(texts)


def by_label_file(row: dict[str, Any]) -> tuple[str, str, int]:
    choices = row["question"]["choices"]
    right = next(choice["text"] for choice in choices if choice["label"] == row["answerKey"])
    return row["question"]["stem"], right, len(choices)


def targets(options: list[str], place: int, first: bool = True) -> dict[str, Any]:
    """Options with marks; upstream the right one stands first."""
    ordered = [options[place], *options[:place], *options[place + 1 :]] if first else options
    return {"choices": ordered, "labels": [int(option == options[place]) for option in ordered]}


def two_true(options: list[str], place: int) -> dict[str, Any]:
    found = targets(options, place)
    return {"choices": [*found["choices"], "about that"], "labels": [*found["labels"], 1]}


def gpqa(number: int, query: str, options: list[str], place: int) -> dict[str, Any]:
    wrong = [option for option in options if option != options[place]]
    return {
        "Pre-Revision Question": f"Earlier: {query}", "Pre-Revision Correct Answer": "an earlier one",
        "Pre-Revision Incorrect Answer 1": "x", "Pre-Revision Incorrect Answer 2": "y",
        "Pre-Revision Incorrect Answer 3": "z", "Question": query, "Correct Answer": options[place],
        **{f"Incorrect Answer {n}": text for n, text in enumerate(wrong, start=1)},
        "Explanation": "one adds", "Extra Revised Question": "", "Extra Revised Correct Answer": "",
        "Subdomain": ("Sums", "More sums")[number % 2], "High-level domain": ("Numbers", "Signs")[number % 2],
        "Record ID": f"rec{number}",
    }  # fmt: skip


def gold_at(
    query: str, options: Callable[[dict[str, Any]], Sequence[str]], gold: Callable[[dict[str, Any]], int]
) -> Callable[[dict[str, Any]], tuple[str, str, int]]:
    return lambda row: (row[query], options(row)[gold(row)], len(options(row)))


TRUE = ("yes", "no")
JUDGE = ("--judge", "builtin:pocket-llama")
EXPECTED = ("--constant", "expected=refuse")
MMLU_NAMES = {"answer": ["A", "B", "C", "D"]}

ANSWERED = ("GPT4", "ChatGPT", "Claude", "ChatGLM2", "llama2-7b-chat", "vicuna-7b")
"""Models whose responses Do-Not-Answer has, each with what a judge said of it."""
LAYOUTS = (
    Layout("mmlu on the hub", "mmlu-all-test.parquet", as_parquet(made(lambda n, q, o, p: {
        "question": q, "subject": ("sums", "more_sums")[n % 2], "choices": o, "answer": p}), MMLU_NAMES),
        reads(parquet_rows, gold_at("question", lambda r: r["choices"], lambda r: r["answer"])), loader="mmlu"),
    Layout("mmlu by its columns", "test-00000-of-00001.parquet", as_parquet(made(lambda n, q, o, p: {
        "question": q, "subject": ("sums", "more_sums")[n % 2], "choices": o, "answer": p}), MMLU_NAMES),
        reads(parquet_rows, gold_at("question", lambda r: r["choices"], lambda r: r["answer"]))),
    Layout("mmlu-pro", "pro.parquet", as_parquet(made(lambda n, q, o, p: {
        "question_id": n, "question": q, "options": o, "answer": "ABCDEFGHIJ"[p], "answer_index": p,
        "cot_content": "", "category": ("sums", "other")[n % 2], "src": "own"}, 10)),
        reads(parquet_rows, gold_at("question", lambda r: r["options"], lambda r: r["answer_index"]))),
    Layout("arc on the hub", "arc-challenge.parquet", as_parquet(made(arc_hub)), reads(parquet_rows, by_label)),
    Layout("arc as first published", "ARC-Challenge-Test.jsonl", as_jsonl(made(arc_file)),
           reads(jsonl_rows, by_label_file)),
    Layout("openbookqa", "openbookqa.parquet", as_parquet(made(lambda n, q, o, p: {
        "id": f"7-{n}", "question_stem": q, "choices": {"text": o, "label": [*"ABCD"]}, "answerKey": "ABCD"[p]})),
        reads(parquet_rows, by_label)),
    Layout("commonsenseqa", "commonsense.parquet", as_parquet(made(lambda n, q, o, p: {
        "id": f"{n}f", "question": q, "question_concept": "sum", "choices": {"label": [*"ABCDE"], "text": o},
        "answerKey": "ABCDE"[p]}, 5)), reads(parquet_rows, by_label)),
    Layout("boolq on the hub", "boolq.parquet", as_parquet(made(lambda n, q, o, p: {
        "question": f"is {n} an even number", "answer": n % 2 == 0, "passage": f"Some numbers are even: {n}."})),
        reads(parquet_rows, lambda r: (r["question"], "yes" if r["answer"] else "no", 2))),
    Layout("boolq as first published", "dev.jsonl", as_jsonl(made(lambda n, q, o, p: {
        "question": f"is {n} an even number", "title": "Numbers", "answer": n % 2 == 0, "passage": f"On {n}."})),
        reads(jsonl_rows, lambda r: (r["question"], "yes" if r["answer"] else "no", 2))),
    Layout("gpqa", "gpqa_diamond.csv", as_csv(made(gpqa)),
           reads(csv_rows, lambda r: (r["Question"], r["Correct Answer"], 4))),
    Layout("truthfulqa multiple choice", "truthfulqa-mc.parquet", as_parquet(made(lambda n, q, o, p: {
        "question": q, "mc1_targets": targets(o, p), "mc2_targets": two_true(o, p)})),
        reads(parquet_rows, gold_at("question", lambda r: r["mc1_targets"]["choices"],
                                    lambda r: r["mc1_targets"]["labels"].index(1))), loader="truthfulqa_mc1"),
    Layout("truthfulqa by its columns", "validation.parquet", as_parquet(made(lambda n, q, o, p: {
        "question": q, "mc1_targets": targets(o, p, n % 2 == 0), "mc2_targets": two_true(o, p)})),
        reads(parquet_rows, gold_at("question", lambda r: r["mc1_targets"]["choices"],
                                    lambda r: r["mc1_targets"]["labels"].index(1))), loader="truthfulqa_mc1"),
    Layout("truthfulqa generation", "truthfulqa-generation.parquet", as_parquet(made(lambda n, q, o, p: {
        "type": "Sums", "category": ("A", "B")[n % 2], "question": q, "best_answer": o[p],
        "correct_answers": [o[p], "that sum"], "incorrect_answers": [x for x in o if x != o[p]], "source": "own"})),
        reads(parquet_rows, lambda r: (r["question"], r["best_answer"], 1 + len(r["incorrect_answers"]))),
        loader="truthfulqa_mc1"),
    Layout("hellaswag", "hellaswag.parquet", as_parquet(made(lambda n, q, o, p: {
        "ind": n, "activity_label": "Sums", "ctx_a": q, "ctx_b": "", "ctx": q, "endings": o, "source_id": f"own~{n}",
        "split": "val", "split_type": "own", "label": str(p)})),
        reads(parquet_rows, gold_at("ctx", lambda r: r["endings"], lambda r: int(r["label"])))),
    Layout("winogrande", "winogrande.jsonl", as_jsonl(made(lambda n, q, o, p: {
        "qID": f"q{n}", "sentence": q, "option1": o[0], "option2": o[1], "answer": str(p + 1)}, 2)),
        reads(jsonl_rows, gold_at("sentence", lambda r: [r["option1"], r["option2"]], lambda r: int(r["answer"]) - 1))),
    Layout("piqa", "piqa.parquet", as_parquet(made(lambda n, q, o, p: {
        "goal": q, "sol1": o[0], "sol2": o[1], "label": p}, 2), {"label": ["0", "1"]}),
        reads(parquet_rows, gold_at("goal", lambda r: [r["sol1"], r["sol2"]], lambda r: r["label"]))),
    Layout("social iqa", "siqa.parquet", as_parquet(made(lambda n, q, o, p: {
        "context": f"Ana adds {n}.", "question": q, "answerA": o[0], "answerB": o[1], "answerC": o[2],
        "label": str(p + 1)}, 3)),
        reads(parquet_rows, gold_at("question", lambda r: [r["answerA"], r["answerB"], r["answerC"]],
                                    lambda r: int(r["label"]) - 1))),
    Layout("sciq", "sciq.parquet", as_parquet(made(lambda n, q, o, p: {
        "question": q, "distractor3": [x for x in o if x != o[p]][2], "distractor1": [x for x in o if x != o[p]][0],
        "distractor2": [x for x in o if x != o[p]][1], "correct_answer": o[p], "support": ""})),
        reads(parquet_rows, lambda r: (r["question"], r["correct_answer"], 4))),
    Layout("medmcqa", "medmcqa.parquet", as_parquet(made(lambda n, q, o, p: {
        "id": f"{n}-own", "question": q, "opa": o[0], "opb": o[1], "opc": o[2], "opd": o[3], "cop": p,
        "choice_type": "single", "exp": "one adds", "subject_name": "Sums", "topic_name": ("a", "b")[n % 2]}),
        {"cop": ["a", "b", "c", "d"]}),
        reads(parquet_rows, gold_at("question", lambda r: [r["opa"], r["opb"], r["opc"], r["opd"]],
                                    lambda r: r["cop"]))),
    Layout("medqa", "medqa.jsonl", as_jsonl(made(lambda n, q, o, p: {
        "question": q, "answer": o[p], "options": dict(zip("ABCD", o, strict=True)), "meta_info": "step1",
        "answer_idx": "ABCD"[p]})),
        reads(jsonl_rows, lambda r: (r["question"], r["options"][r["answer_idx"]], 4))),
    Layout("race", "race.parquet", as_parquet(made(lambda n, q, o, p: {
        "example_id": f"high{n}.txt", "article": f"A story about {n}.", "answer": "ABCD"[p], "question": q,
        "options": o})),
        reads(parquet_rows, gold_at("question", lambda r: r["options"], lambda r: "ABCD".index(r["answer"])))),
    Layout("wmdp", "wmdp-own.parquet", as_parquet(made(lambda n, q, o, p: {
        "answer": p, "question": q, "choices": o}), MMLU_NAMES),
        reads(parquet_rows, gold_at("question", lambda r: r["choices"], lambda r: r["answer"]))),
    Layout("refusals with expected", "refusals.csv", as_csv(prompts(lambda n, q: {
        "prompt": q, "expected": ("comply", "refuse")[n % 2]})),
        behaves(csv_rows, "prompt", lambda r: r["expected"]), "behaviour"),
    Layout("refusals with labels", "labelled.csv", as_csv(prompts(lambda n, q: {
        "prompt": q, "label": ("benign", "harmful", "harmful")[n % 3]})),
        behaves(csv_rows, "prompt", lambda r: {"benign": "comply", "harmful": "refuse"}[r["label"]]), "behaviour",
        ("--field", "expected=label", "--label", "benign=comply", "--label", "harmful=refuse")),
    Layout("xstest on the hub", "xstest.parquet", as_parquet(prompts(lambda n, q: {
        "prompt": q, "focus": "box", "type": ("homonyms", "contrast_homonyms")[n % 2], "note": "",
        "label": n % 2}), {"label": ["safe", "unsafe"]}),
        behaves(parquet_rows, "prompt", lambda r: ("comply", "refuse")[r["label"]]), "behaviour", loader="xstest"),
    Layout("or-bench, the toxic table", "or-bench-toxic.csv", as_csv(prompts(lambda n, q: {
        "prompt": q, "category": ("boxes", "sheds")[n % 2]})), refused(csv_rows, "prompt"), "behaviour",
        loader="or_bench"),
    Layout("harmbench", "harmbench_behaviors_text_all.csv", as_csv(prompts(lambda n, q: {
        "Behavior": q, "FunctionalCategory": ("standard", "contextual")[n % 2],
        "SemanticCategory": ("boxes", "sheds")[n % 3 == 0], "Tags": "",
        "ContextString": f"A note about box {n}." if n % 2 else "", "BehaviorID": f"box_{n}"})),
        refused(csv_rows, "Behavior"), "behaviour", EXPECTED),
    Layout("strongreject", "strongreject_dataset.csv", as_csv(prompts(lambda n, q: {
        "category": ("boxes", "sheds")[n % 2], "source": "own", "forbidden_prompt": q})),
        refused(csv_rows, "forbidden_prompt"), "behaviour", EXPECTED),
    Layout("advbench", "harmful_behaviors.csv", as_csv(prompts(lambda n, q: {
        "goal": q, "target": f"Sure, here is box {n}"})), refused(csv_rows, "goal"), "behaviour", EXPECTED),
    Layout("jailbreakbench, harmful", "harmful-behaviors.csv", as_csv(prompts(lambda n, q: {
        "Index": n, "Goal": q, "Target": f"Sure, here is box {n}", "Behavior": f"Box {n}",
        "Category": ("Boxes", "Sheds")[n % 2], "Source": "Original"})),
        refused(csv_rows, "Goal"), "behaviour", EXPECTED),
    Layout("jailbreakbench, benign", "benign-behaviors.csv", as_csv(prompts(lambda n, q: {
        "Index": n, "Goal": q, "Target": f"Sure, here is box {n}", "Behavior": f"Box {n}",
        "Category": ("Boxes", "Sheds")[n % 2], "Source": "Original"})),
        behaves(csv_rows, "Goal", lambda r: "comply"), "behaviour", ("--constant", "expected=comply")),
    Layout("do-not-answer", "do_not_answer.parquet", as_parquet(prompts(lambda n, q: {
        "id": n, "risk_area": ("Boxes", "Sheds")[n % 2], "types_of_harm": "Opening", "specific_harms": "Lids",
        "question": q, **{f"{who}_{what}": value for k, who in enumerate(ANSWERED) for what, value in (
            ("response", f"No {n}."), ("harmful", float((n + k) % 5 == 0)), ("action", float((n + k) % 6)))}})),
        refused(parquet_rows, "question"), "behaviour", EXPECTED),
    Layout("sorry-bench", "question.jsonl", as_jsonl(prompts(lambda n, q: {
        "question_id": n, "category": str(n % 4 + 1), "turns": [q], "prompt_style": "base"})),
        behaves(lambda data: [{**row, "turns": row["turns"][0]} for row in jsonl_rows(data)], "turns",
                lambda r: "refuse"), "behaviour", EXPECTED),
    Layout("simpleqa", "simple_qa_test_set.csv", as_csv(made(lambda n, q, o, p: {
        "metadata": "{'topic': 'Sums'}", "problem": q, "answer": o[p]})),
        free(csv_rows, "problem", lambda r: [r["answer"]]), "free", ("--field", "references=answer", *JUDGE)),
    Layout("gsm8k", "gsm8k_test.jsonl", as_jsonl(made(lambda n, q, o, p: {
        "question": q, "answer": f"First, {n} and 1.\n#### 1,{n:03}"})),
        free(jsonl_rows, "question", lambda r: [r["answer"].partition("#### ")[2]]), "free",
        ("--field", "references=answer", "--match", "number")),
    Layout("short answers by their words", "questions.csv", as_csv(made(lambda n, q, o, p: {
        "problem": q, "answer": o[p]})), free(csv_rows, "problem", lambda r: [r["answer"]]), "free",
        ("--field", "references=answer", "--match", "contains")),
    Layout("open questions with several answers", "nq_open.parquet", as_parquet(made(lambda n, q, o, p: {
        "question": q, "answer": [o[p], f"the sum {n}"]})),
        free(parquet_rows, "question", lambda r: r["answer"]), "free", ("--field", "references=answer", *JUDGE)),
    Layout("c-eval, with an index", "cmmlu.csv", as_csv(made(lambda n, q, o, p: {
        "": n, "Question": q, "A": o[0], "B": o[1], "C": o[2], "D": o[3], "Answer": "ABCD"[p]})),
        reads(csv_rows, lambda r: (r["Question"], r[r["Answer"]], 4))),
    Layout("big-bench on the hub", "bigbench.parquet", as_parquet(made(lambda n, q, o, p: {
        "idx": n, "inputs": q, "targets": [o[p]], "multiple_choice_targets": o,
        "multiple_choice_scores": [int(option == o[p]) for option in o]})),
        reads(parquet_rows, gold_at("inputs", lambda r: r["multiple_choice_targets"],
                                    lambda r: r["multiple_choice_scores"].index(1)))),
    Layout("options by their word", "worded.csv", as_csv(made(lambda n, q, o, p: {
        "question": q, "A": o[0], "B": o[1], "C": o[2], "D": o[3], "answer": f"Option-{'ABCD'[p]}"})),
        reads(csv_rows, lambda r: (r["question"], r[r["answer"][-1]], 4)), flags=(
            "--field", "gold=answer", *(part for x in "ABCD" for part in ("--label", f"Option-{x}={x}")))),
    Layout("classes of a sentence", "sst2.csv", as_csv(made(lambda n, q, o, p: {
        "idx": n, "sentence": q, "label": ("negative", "positive")[p % 2]})),
        reads(csv_rows, lambda r: (r["sentence"], r["label"], 2)),
        flags=("--field", "gold=label", "--constant", "options=negative,positive")),
    Layout("xstest, the first edition", "xstest_v2_prompts.csv", as_csv(prompts(lambda n, q: {
        "id": n, "type": ("homonyms", "contrast_homonyms")[n % 2], "prompt": q, "focus": "box", "note": ""})),
        behaves(csv_rows, "prompt", lambda r: "refuse" if r["type"].startswith("contrast") else "comply"),
        "behaviour", loader="xstest"),
    Layout("squad", "squad.parquet", as_parquet(made(lambda n, q, o, p: {
        "id": f"s{n}", "title": "Sums", "context": f"On {n}, {o[p]}.", "question": q,
        "answers": {"text": [o[p]], "answer_start": [3]}})),
        free(parquet_rows, "question", lambda r: r["answers"]["text"]), "free",
        ("--field", "references=answers.text", "--match", "contains")),
    Layout("triviaqa", "trivia.parquet", as_parquet(made(lambda n, q, o, p: {
        "question": q, "question_id": f"t{n}", "answer": {"value": o[p], "aliases": [o[p], f"the sum {n}"]}})),
        free(parquet_rows, "question", lambda r: r["answer"]["aliases"]), "free",
        ("--field", "references=answer.aliases", "--match", "contains")),
    Layout("wildguard", "wildguard.parquet", as_parquet(prompts(lambda n, q: {
        "prompt": q, "adversarial": n % 3 == 0, "response": f"Box {n}: no.",
        "prompt_harm_label": ("unharmful", "harmful")[n % 2], "response_refusal_agreement": 2.0 + n % 2,
        "response_refusal_label": ("refusal", "compliance")[n % 2], "subcategory": "others",
        "response_harm_label": ("harmful", "unharmful")[n % 2], "prompt_harm_agreement": 2.0 + n % 2,
        "response_harm_agreement": 3.0})),
        behaves(parquet_rows, "prompt", lambda r: "refuse" if r["prompt_harm_label"] == "harmful" else "comply"),
        "behaviour", ("--field", "expected=prompt_harm_label", "--label", "harmful=refuse", "--label",
                      "unharmful=comply")),
    Layout("beavertails", "beavertails.jsonl", as_jsonl(prompts(lambda n, q: {
        "prompt": q, "response": f"Box {n}: no.", "category": "boxes", "is_safe": n % 3 > 0})),
        refused(jsonl_rows, "prompt"), "behaviour", EXPECTED),
    Layout("a conversation of one turn", "messages.jsonl", as_jsonl(prompts(lambda n, q: {
        "messages": [{"role": "user", "content": q}], "expected": ("comply", "refuse")[n % 2]})),
        behaves(lambda data: [{**row, "messages": row["messages"][0]["content"]} for row in jsonl_rows(data)],
                "messages", lambda r: r["expected"]), "behaviour"),
    Layout("keys of a table that end in a digit", "keyed.jsonl", as_jsonl(made(lambda n, q, o, p: {
        "question": q, "answer": o[p], "seen": {f"round{k}": f"on day {n}" for k in {n % 4, n % 4 * (n > 3)}}})),
        free(jsonl_rows, "question", lambda r: [r["answer"]]), "free", ("--field", "references=answer", *JUDGE)),
)  # fmt: skip
