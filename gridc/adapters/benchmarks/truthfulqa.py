"""TruthfulQA, multiple choice with one true answer (Lin et al. 2022).

Two releases, told apart by the suffix: `mc_task.json` (v0: `mc1_targets` maps each option to 1, the true one,
or 0) and `TruthfulQA.csv` (v1: the options are the best answer and the incorrect ones). The hub serves both
as Parquet: `multiple_choice`, whose `mc1_targets` has lists of `choices` and `labels`, and `generation`, with
v1's columns in small letters and lists of answers. The true option stands first in every row of all, so a
study that shows the options must choose their order. A row of v0's format may also say `template` and
`category`; the shipped pocket items do, upstream's do not.
"""

from typing import Any

from gridc.compiler.inputs.loaders.parsing import (
    LOADERS,
    File,
    Row,
    csv_rows,
    items_of_rows,
    json_list,
    required_text,
    tags,
)
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Loading


@LOADERS.add("truthfulqa_mc1")
def load(file: File, loading: Loading) -> list[Item]:
    """The items in file order, named by their place: `q0001`, `q0002`, ... Raises `Malformed`."""
    if file.suffix == ".csv":
        return items_of_rows(csv_rows(file), lambda row, values: _v1(row - 1, values))
    return items_of_rows(
        json_list(file), lambda row, values: (_generation if "best_answer" in values else _v0)(row, values)
    )


def _v0(number: int, row: Any) -> Item:
    try:
        question, targets = row["question"], row["mc1_targets"]
        options, marks = _targets(targets)
        gold = [place for place, mark in enumerate(marks) if mark == 1]
    except (KeyError, TypeError, IndexError, AttributeError):
        raise ValueError("expected `question` and `mc1_targets`") from None
    if len(gold) != 1:
        raise ValueError(f"{len(gold)} options are marked true, expected exactly one")
    answers = zip(*_targets(row.get("mc2_targets") or {}), strict=True)
    true = [answer for answer, mark in answers if mark == 1]
    return Item(
        f"q{number:04d}",
        question,
        options,
        gold[0],
        references=_best_first(options[gold[0]], true),
        template=required_text(row, "template") if "template" in row else "",
        category=required_text(row, "category") if "category" in row else "",
    )


def _targets(targets: Any) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Options and their marks: a table of marks, or lists of `choices` and `labels`."""
    choices, labels = (targets.get(name) for name in ("choices", "labels"))
    if not (isinstance(choices, list) and isinstance(labels, list)):
        return tuple(targets), tuple(targets.values())
    if len(choices) != len(labels):
        raise ValueError(f"{len(labels)} labels for {len(choices)} choices")
    return tuple(choices), tuple(labels)


def _generation(number: int, row: Row) -> Item:
    """A row of the hub's `generation`: v1's columns, under other names."""
    names = {"best_answer": "Best Answer", "question": "Question", "type": "Type", "category": "Category"}
    lists = {"correct_answers": "Correct Answers", "incorrect_answers": "Incorrect Answers"}
    v1 = {upstream: row[name] for name, upstream in names.items()}
    return _v1(number, v1 | {upstream: list(row[name]) for name, upstream in lists.items()})


def _v1(number: int, row: Row) -> Item:
    best = required_text(row, "Best Answer").strip()
    true = _listed(row["Correct Answers"])
    wrong = list(dict.fromkeys(_listed(row["Incorrect Answers"])))  # one row repeats an option
    if best in wrong:
        raise ValueError("the best answer is also an incorrect one")
    return Item(
        f"q{number:04d}",
        required_text(row, "Question"),
        (best, *wrong),
        gold=0,
        tags=tags(type=row["Type"], category=row["Category"]),
        category=row["Category"],
        references=_best_first(best, true),
    )


def _listed(cell: str | list[str]) -> list[str]:
    """Answers that are separated, and sometimes ended, by semicolons; or a list of them."""
    parts = cell.split(";") if isinstance(cell, str) else cell
    return [answer for part in parts if (answer := part.strip())]


def _best_first(best: str, true: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((best, *true)))
