"""Scores by category and lengths of answers beside the order of models, against plain means of the rows."""

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from gridc import study as studies
from gridc.diagnostics.errors import UsageError
from gridc.reports.findings.breakdowns import BREAKDOWNS, MOST_CATEGORIES
from tests.reports.builders import findings_of, reversing, spec_of


def rows_of(kinds: int, models: str = "abc", seed: int = 1) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "model": model,
            "benchmark": "quiz",
            "item": f"i{number}",
            "category": f"kind {number % kinds}",
            "answer": "x" * int(rng.integers(1, 30)) if rng.random() < 0.8 else None,
            "score": float(rng.integers(0, 5)) / 4,
        }
        for model in models
        for number in range(60)
    ]


def certificate_of(rows: list[dict[str, Any]], folder: Path, **options: Any) -> dict[str, Any]:
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    studies.certify([path], **options).write(folder / "out")
    found: dict[str, Any] = json.loads((folder / "out" / "certificate.json").read_text())
    return found


def test_means_and_lengths_are_those_of_the_rows(tmp_path: Path) -> None:
    rows = rows_of(4)
    (found,) = certificate_of(rows, tmp_path)["breakdowns"]
    assert [(one["category"], one["items"]) for one in found["categories"]] == [
        (f"kind {number}", 15) for number in range(4)
    ]
    scores, lengths = defaultdict(list), defaultdict(list)
    for row in rows:
        scores[row["model"], row["category"]].append(row["score"])
        if row["answer"] is not None:
            lengths[row["model"]].append(len(str(row["answer"])))
    for one in found["models"]:
        model = one["model"]
        means = [fmean(scores[model, f"kind {number}"]) for number in range(4)]
        assert one["by_category"] == pytest.approx(means, abs=1e-6)
        assert (one["length"], one["answers"]) == (pytest.approx(fmean(lengths[model])), len(lengths[model]))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "By category" in page and "kind 3" in page and "mean length, characters" in page


def test_a_field_of_another_name_is_the_category_that_the_author_says(tmp_path: Path) -> None:
    rows = [{**row, "dataset": row["category"]} for row in rows_of(3)]
    for row in rows:
        del row["category"]
    (found,) = certificate_of(rows, tmp_path, category="dataset")["breakdowns"]
    assert [one["items"] for one in found["categories"]] == [20, 20, 20]
    with pytest.raises(UsageError, match="that can be its category"):
        studies.certify([tmp_path / "t.jsonl"], category="nothing", ignore=["dataset"])
    with pytest.raises(UsageError, match="both an axis and the category"):
        studies.certify([tmp_path / "t.jsonl"], category="dataset", axes=["dataset"])


@pytest.mark.parametrize("kinds", [1, MOST_CATEGORIES + 1])
def test_one_category_or_very_many_are_none(kinds: int, tmp_path: Path) -> None:
    (found,) = certificate_of(rows_of(kinds), tmp_path)["breakdowns"]
    assert found["categories"] == [] and found["models"][0]["by_category"] == []


def test_items_of_which_some_have_no_category_are_not_parted(tmp_path: Path) -> None:
    rows = rows_of(3)
    for row in rows:
        row["category"] = None if row["item"] == "i7" else row["category"]
        del row["answer"]
    assert certificate_of(rows, tmp_path)["breakdowns"] == []


def test_two_models_have_no_breakdown(tmp_path: Path) -> None:
    assert certificate_of(rows_of(3, "ab"), tmp_path)["breakdowns"] == []


def test_findings_without_a_store_have_none() -> None:
    assert findings_of(spec_of(dict.fromkeys("abc")), reversing)[BREAKDOWNS] == ()


def test_a_model_that_gives_one_long_answer_to_everything_is_said_to(tmp_path: Path) -> None:
    """A constant answer, half of the answers, and a short label that is no answer of its own."""
    rows = rows_of(2, "abcd")
    always, label = "The output of the first model is the best of all, so choose it.", "yes"
    for row in rows:
        number, model = int(str(row["item"])[1:]), row["model"]
        row["answer"] = {"a": always, "b": always if number % 2 else f"answer {number}", "c": label}.get(
            str(model), f"answer {number}"
        )
    (found,) = certificate_of(rows, tmp_path)["breakdowns"]
    counts = {one["model"]: (one["commonest"], one["commonest_length"]) for one in found["models"]}
    assert counts == {"a": (60, len(always)), "b": (30, len(always)), "c": (60, 3), "d": (1, 8)}
    page = (tmp_path / "out" / "report.html").read_text()
    counts_of = {"a": "a (60 of 60 items)", "b": "b (30 of 60 items)"}
    first, second = sorted("ab", key=lambda model: page.index(counts_of[model]))
    told = (
        f"{counts_of[first]} and {counts_of[second]} give the same answer, word for word, whatever is asked"
    )
    assert told in page and "One answer to everything" in page


def test_few_items_that_are_asked_often_are_not_one_answer_to_everything(tmp_path: Path) -> None:
    """Two items with ten repetitions each, answered alike every time: each answer is of its item."""
    rows = [
        {"model": model, "item": f"i{item}", "replicate": times, "score": float(item == place),
         "answer": f"The answer to question {item} is what its text says, word for word."}
        for place, model in enumerate("abc") for item in range(2) for times in range(10)
    ]  # fmt: skip
    (found,) = certificate_of(rows, tmp_path)["breakdowns"]
    assert [(one["items"], one["commonest"], one["answers"]) for one in found["models"]] == [(2, 1, 20)] * 3
    assert "One answer to everything" not in (tmp_path / "out" / "report.html").read_text()
