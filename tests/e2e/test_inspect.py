"""gridc's framings of Inspect against Inspect itself: its multiple choice with its choice scorer, on the same
items and answers.

Inspect runs in an environment of its own (`make .venv-graders/installed`). What it asked and read stands in
tests/logs/inspect/multiple_choice.json too, so that a part of the comparison needs no Inspect.
"""

import json
import random
import subprocess
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.lowering.plan import Plan

REPOSITORY = Path(__file__).resolve().parents[2]
INSPECT = REPOSITORY / ".venv-graders"
RECORD = REPOSITORY / "tests/logs/inspect/multiple_choice.json"
FRAMINGS = {"pocket_bbq": "inspect_bbq", "pocket_truthfulqa": "inspect_truthfulqa"}
LETTERS = ("A", "B", "b", "Z", "AB", "A, B", "A B")
FORMS = (
    "ANSWER: {}", "ANSWER:{}", "answer: {}", "ANSWER: ({})", "ANSWER: ({}).", "ANSWER: ({})!",
    "ANSWER: **{}**", "**ANSWER: {}**", "**ANSWER:** {}", "ANSWER: $ {} $", "ANSWER: {}.", "ANSWER: {},",
    "ANSWER: {} ,", "ANSWER: {};", "ANSWER: {}) He", "ANSWER: {} because", "ANSWER: ({}) because it",
    "The text.\nANSWER: {}", "ANSWER: A\nNo.\nANSWER: {}", "So the ANSWER: {} is right",
    "I think\n\nANSWER :  {}\n", "ANSWER:\n{}", "ANSWER: {}\n\nDone", "ANSWER: '{}'", "ANSWER - {}", "{}",
    "Answer:      {}", "Final ANSWER: {}.", "> ANSWER: {}", "ANSWER: {}. He did.", "ANSWER: [{}]",
    "ANSWER: `{}`", "$ANSWER: {}$", ", ({})\nANSWER: , ({})", "", "   ",
)  # fmt: skip
PIECES = ("ANSWER", " ", ":", "A", "B", "C", "(", ")", "**", "$", ",", ".", "\n", "b", "he", "!", "answer")


def given_answers(count: int) -> list[str]:
    """Every form of an answer with every letter, and so many drawn ones."""
    drawn = random.Random(5)
    answers = [form.replace("{}", letter) for form, letter in product(FORMS, LETTERS)]
    for _ in range(count):
        ends = ["".join(drawn.choices(PIECES, k=drawn.randint(1, 6))) for _ in range(2)]
        answers.append(drawn.choice(("ANSWER: ", "ANSWER:", "answer : ")).join(ends))
    return list(dict.fromkeys(answers))


def as_inspect_has_it(benchmark: str, item: Item) -> dict[str, Any]:
    """An item as inspect_evals 0.28.0 makes a sample of its row (`record_to_sample`), written again."""
    asked = f"Context: {item.context}\n\nQuestion: {item.query}" if benchmark == "pocket_bbq" else item.query
    letters = ["ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place] for place in sorted(item.right)]
    return {"input": asked, "choices": list(item.options), "target": letters}


def rows(count: int) -> list[dict[str, Any]]:
    """Answers, each to the next item of the two benchmarks."""
    asked = [
        {"benchmark": benchmark, "item": sample.item.id, **as_inspect_has_it(benchmark, sample.item)}
        for benchmark in FRAMINGS
        for sample in samples(benchmark).values()
    ]
    drawn = random.Random(7).sample(asked, len(asked))
    return [
        {**row, "answer": answer} for row, answer in zip(cycle(drawn), given_answers(count), strict=False)
    ]


def plan() -> Plan:
    return Plan(compile_spec(REPOSITORY / "specs/cross_package.toml").study)


def samples(benchmark: str) -> dict[str, Any]:
    """The planned samples under Inspect's framing of a benchmark, by item."""
    planned = plan()
    (cell,) = (cell for cell in planned.cells() if cell.levels["package"] == FRAMINGS[benchmark])
    return {sample.item.id: sample for sample in planned.samples(cell)}


def assert_equal(asked: list[dict[str, Any]]) -> None:
    """What a plan asks is Inspect's prompt, and each answer is read and scored as Inspect does."""
    planned = plan()
    settings = {cell.levels["package"]: cell.setting for cell in planned.cells()}
    by_benchmark = {benchmark: samples(benchmark) for benchmark in FRAMINGS}
    for row in asked:
        sample = by_benchmark[row["benchmark"]][row["item"]]
        (request,) = sample.requests
        ((role, prompt),) = request.prompt.messages
        assert (role, prompt) == ("user", row["prompt"])
        outcome = score_sample(settings[FRAMINGS[row["benchmark"]]], sample.item, [{"text": row["answer"]}])
        read = "" if outcome.choice is None else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[outcome.choice]
        assert (read, outcome.score) == (row["read"], int(row["value"] == "C")), repr(row["answer"])


def test_what_inspect_asked_and_read_is_what_gridc_asks_and_reads() -> None:
    asked = json.loads(RECORD.read_text("utf-8"))
    assert len(asked) > 200
    assert {row["value"] for row in asked} == {"C", "I", "N"}
    assert_equal(asked)


@pytest.mark.slow
@pytest.mark.skipif(
    not (INSPECT / "installed").exists(), reason="no Inspect here: make .venv-graders/installed"
)
def test_inspect_and_gridc_measure_the_same(tmp_path: Path) -> None:
    asked = rows(3_000)
    (tmp_path / "asked.json").write_text(json.dumps(asked), "utf-8")
    script = REPOSITORY / "tests/e2e/inspect_choice.py"
    files = [tmp_path / "asked.json", tmp_path / "answered.json"]
    subprocess.run([INSPECT / "bin/python", script, *files], check=True, stdout=subprocess.DEVNULL)
    answered = json.loads(files[1].read_text("utf-8"))
    assert len(answered) == len(asked) > 3_000
    assert_equal([{**row, **found} for row, found in zip(asked, answered, strict=True)])
    recorded = json.loads(RECORD.read_text("utf-8"))
    by_row = {(row["item"], row["answer"]): found for row, found in zip(asked, answered, strict=True)}
    for row in recorded:
        assert by_row.get((row["item"], row["answer"]), row) | row == row, "the record is what Inspect says"
