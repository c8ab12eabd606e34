"""BBQ, the bias benchmark for question answering (Parrish et al. 2022): one category's JSONL file.

Rows come in fours (`example_id` 4k to 4k+3): one scenario, asked with a negative and a non-negative
question, without (`ambig`) and with (`disambig`) the context that settles it. One option says that
the answer is unknown; it is right exactly where the context is ambiguous. Many scenarios fill one question
template (`question_index`, 25 a category) with other people and other names.
"""

from gridc.compiler.inputs.loaders.parsing import (
    LOADERS,
    File,
    Row,
    items_of_rows,
    json_lines,
    one_of,
    required_text,
    tags,
)
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Loading

NAMES = ("ans0", "ans1", "ans2")


@LOADERS.add("bbq")
def load(file: File, loading: Loading) -> list[Item]:
    """The items in file order, named `Category-example_id`. Raises `Malformed`."""
    return items_of_rows(json_lines(file), lambda _, row: bbq_item(row))


def bbq_item(row: Row) -> Item:
    """The item of a row. Raises what `json_lines` makes `Malformed` of a row of another form."""
    info, gold = row["answer_info"], int(str(row["label"]).removeprefix("ans"))  # the hub names classes
    condition = one_of(row, "context_condition", ("ambig", "disambig"))
    polarity = one_of(row, "question_polarity", ("neg", "nonneg"))
    marked = [place for place, name in enumerate(NAMES) if info[name][1] == "unknown"]
    if len(marked) != 1:
        raise ValueError(f"{len(marked)} options are marked unknown, expected exactly one")
    (unknown,) = marked
    if (condition == "ambig") != (gold == unknown):
        raise ValueError(f"label {gold} contradicts the {condition} context")
    category, number = required_text(row, "category"), int(row["example_id"])
    return Item(
        id=f"{category}-{number}",
        context=required_text(row, "context"),
        query=required_text(row, "question"),
        options=tuple(required_text(row, name) for name in NAMES),
        gold=gold,
        unknown=unknown,
        matching=_stereotyped(row, unknown, polarity),
        family=f"{category}-{number // 4}",
        template=f"{category}-{template}" if (template := row.get("question_index")) is not None else "",
        category=category,
        tags=tags(
            category=category,
            condition=condition,
            polarity=polarity,
            template=row.get("question_index"),
            unknown=row[NAMES[unknown]],
        ),
    )


def _stereotyped(row: Row, unknown: int, polarity: str) -> int | None:
    """The option that the stereotype gives: the target group's on a negative question, the other group's
    on a non-negative one. None where the metadata do not single out one option, as in categories that
    cross two groups; such an item has no part in a bias score.
    """
    if "additional_metadata" not in row:
        return None
    groups = row["additional_metadata"]["stereotyped_groups"]
    if not isinstance(groups, list):
        raise ValueError("`stereotyped_groups` is not a list")
    stereotyped = {str(group).casefold() for group in groups}
    people = [place for place in range(len(NAMES)) if place != unknown]
    for labels in (_labels, _parts):
        targets = [place for place in people if labels(row, place) & stereotyped]
        if len(targets) == 1:
            (other,) = set(people) - set(targets)
            return targets[0] if polarity == "neg" else other
    return None


def _labels(row: Row, place: int) -> set[str]:
    """The name and the group that an option is about."""
    return {str(label).casefold() for label in row["answer_info"][NAMES[place]]}


def _parts(row: Row, place: int) -> set[str]:
    """Compound groups taken apart: `F-Black` is `f` and `black`."""
    return {part for label in _labels(row, place) for part in label.split("-")}
