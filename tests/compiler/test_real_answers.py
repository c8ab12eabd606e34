"""Answers that models gave and that others read: how many are read as these read them, file by file.

The folder is named by GRIDC_REAL. Counts may rise and must not fall: `equal` at least, `otherwise` (read as
another answer) and `missed` (read by the others alone) at most.
"""

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.matching import RIGHT, read_answer
from gridc.compiler.instrument.readers import answer_line, last_answer, whole_response
from gridc.schema.effects import Match

NUMBER = Match.model_validate({"as": "number"})
Pair = tuple[object, object]
"""What gridc reads and what the others read, None where either reads nothing."""


def rows(name: str) -> list[dict[str, Any]]:
    if "GRIDC_REAL" not in os.environ:
        pytest.skip("GRIDC_REAL does not say where real answers lie")
    file = Path(os.environ["GRIDC_REAL"]) / name
    data = gzip.decompress(file.read_bytes()) if name.endswith(".gz") else file.read_bytes()
    return [json.loads(line) for line in data.decode().splitlines()]


def letters(response: str, options: list[str]) -> str | None:
    option = extract(response, options).option
    return None if option is None else LETTERS[option]


def mmlu_pro() -> Iterator[Pair]:
    for row in rows("mmlu_pro_outputs.jsonl"):
        yield letters(row["response"], row["options"]), row["published_pred"]


def commonsense_qa() -> Iterator[Pair]:
    for row in rows("zero_shot_cot_commonsensqa.jsonl"):
        options = re.split(r"\([A-E]\)", row["question"].partition("Answer Choices:")[2])[1:]
        yield letters(row["response"], [text.strip() for text in options]), row["published_pred"] or None


def strategy_qa() -> Iterator[Pair]:
    for row in rows("zero_shot_cot_strategyqa.jsonl"):
        option = extract(row["response"], ("yes", "no"), lettered=False).option
        yield None if option is None else ("yes", "no")[option], row["published_pred"] or None


def zero_shot_gsm8k() -> Iterator[Pair]:
    for row in rows("zero_shot_cot_gsm8k.jsonl"):
        read = read_answer(NUMBER, Item("a", "?", references=(row["answer"],)), row["response"]).answer
        published = row["published_pred"]
        yield None if read is None else Fraction(read.strip("%")), Fraction(published) if published else None


def gsm8k() -> Iterator[Pair]:
    for row in rows("gsm8k_solutions.jsonl"):
        read = read_answer(NUMBER, Item("a", "?", references=(row["answer"],)), row["response"]).option
        yield None if read is None else read == RIGHT, row["is_correct"]


def bbq() -> Iterator[Pair]:
    for row in rows("bbq_unifiedqa_predictions.jsonl.gz"):
        options = [row[name] for name in ("ans0", "ans1", "ans2")]
        plain = [text.casefold().strip(" .") for text in options]
        for key in (key for key in row if key.startswith("unifiedqa")):
            said = str(row[key])
            named = plain.index(said.strip(" .")) if said.strip(" .") in plain else None
            yield extract(said, options, lettered=False).option, named


def kind(ours: object, theirs: object) -> str:
    if theirs is None:
        return "neither" if ours is None else "only gridc"
    return "missed" if ours is None else "equal" if ours == theirs else "otherwise"


@pytest.mark.parametrize(
    ("pairs", "equal", "otherwise", "missed"),
    [
        (mmlu_pro, 1668, 34, 35),
        (commonsense_qa, 349, 0, 49),
        (strategy_qa, 321, 0, 1),
        (zero_shot_gsm8k, 358, 23, 5),
        (gsm8k, 800, 0, 0),
        (bbq, 14637, 0, 0),
    ],
)
def test_answers_are_read_as_others_read_them(pairs: Any, equal: int, otherwise: int, missed: int) -> None:
    counts = Counter(kind(*pair) for pair in pairs())
    print(pairs.__name__, dict(counts))
    assert counts["equal"] >= equal
    assert counts["otherwise"] <= otherwise
    assert counts["missed"] <= missed


WORKING = (
    "The miller was seen at the bridge at nine, and the baker says that he heard the bell. If it rang at "
    "nine, then the baker cannot have been at the mill. The note is in another hand, so we look at the keys. "
    "However, one of the keys was lost, which means that 3 of the 12 locks could be opened.\n"
)
ENDS = ("The answer is (B).", "**Answer:** B", "So I would choose (B), since he had the key.", "**B**", "")
OPTIONS = ("the baker", "the miller", "the mayor of the town", "12 locks")


def test_readers_take_a_moment_for_an_ordinary_response() -> None:
    """CPU seconds of the fastest of three runs. 100,000 responses are read within minutes on a busy machine,
    where the search for every phrase at every character took half an hour."""
    responses = [(WORKING * 6)[: 2000 - len(end)] + "\n" + end for end in ENDS] * 20
    item = Item("a", "?", references=("12",))
    for read in (last_answer, answer_line, whole_response, None):
        seconds = []
        for _ in range(3):
            begun = process_time()
            for response in responses:
                if read is None:
                    read_answer(NUMBER, item, response)
                else:
                    read(response, OPTIONS, "ABCD", "")
            seconds.append(process_time() - begun)
        assert min(seconds) / len(responses) < 0.003
