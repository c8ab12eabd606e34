"""What a store keeps of a study's items, so that every number can be recounted from it alone.

No text is kept here: prompts have it. Options are known by their number in the order in which a cell shows
them, which is what `sample.choice` counts too.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.items import Items, item_digest
from gridc.compiler.inputs.questions import of_item
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.schema.canonical import digest
from gridc.schema.spec import Spec

FILE = "file"
"""The option order of a cell that states none: as the file has them."""


class StoredBenchmark(NamedTuple):
    """A benchmark of a study, as the table `benchmark` has it."""

    stamp: str
    benchmark: str
    direction: str
    unit: str


class ItemRow(NamedTuple):
    """A sampled item and the groups it belongs to, as the table `item` has it."""

    stamp: str
    benchmark: str
    item: str
    unit: str
    family: str
    template: str | None
    category: str | None


class QuestionRow(NamedTuple):
    """What an item asks, as the table `question` has it."""

    stamp: str
    benchmark: str
    item: str
    text: str | None
    choices: str | None
    target: str | None


class ShownRow(NamedTuple):
    """An item with its options in one order, as the table `shown` has it."""

    stamp: str
    benchmark: str
    item: str
    option_order: str
    digest: str
    options: int
    points: str
    gold: int | None
    matching: int | None
    unknown: int | None
    expected: str | None


class CellRow(NamedTuple):
    """A cell of the grid, as the table `cell` has it beside its number there."""

    stamp: str
    key: str
    model: str
    benchmark: str
    configuration: str
    tier: str
    shared: int
    method: str
    option_order: str
    replicates: int


def named_of(items: Items, spec: Spec, benchmark: str) -> dict[str, Any]:
    """What rates count by and no table has: the tags that the spec selects a benchmark's items by; the
    options that carry a label which an outcome of the spec names, by their number in each order; and how many
    rows the files hold. A run records the digest of all at its end, for bundles, which list them."""
    outcomes = [outcome for outcome in spec.outcomes if benchmark in outcome.benchmarks]
    chosen = [outcome.items for outcome in outcomes] + [
        sample.where for sample in items.subsets if sample.where
    ]
    choices = [choice for fork in spec.fork for choice in (fork.choice or {}).values()]
    chosen += [
        selector
        for choice in choices
        for name, selector in (choice.items_of or {}).items()
        if name == benchmark
    ]
    tags = {name for selector in chosen for name in selector.root}
    tags |= {name for subset in items.subsets for name in subset.stratify or ()}
    labels = {label for outcome in outcomes if outcome.scores for label in outcome.scores.labels}
    rendered = list(product(items.orders, (None, *items.variants))) if labels else []
    return {
        "rows": items.source.rows,
        "tags": {
            item.id: {name: item.tags[name] for name in sorted(tags & item.tags.keys())}
            for item in items.sampled
            if tags & item.tags.keys()
        },
        "labels": {
            shown_as(order, variant): {
                item.id: labelled
                for item in items.asked(order, variant=variant)
                if (labelled := _labelled(item, labels))
            }
            for order, variant in rendered
        },
    }


def _labelled(item: Item, labels: Collection[str]) -> dict[str, str]:
    """The options whose text is one of these labels, by their number."""
    texts = [text.strip() for text in item.options]
    return {str(number): text for number, text in enumerate(texts) if text in labels}


def named_digest(plan: Plan) -> str:
    """SHA-256 of what `named_of` says of each benchmark."""
    study = plan.study
    return digest({name: named_of(items, study.spec, name) for name, items in study.items.items()})


def name_of_option_order(cell: Cell) -> str:
    """The name of the order in which a cell shows the options, and of the variant of the items."""
    return shown_as(cell.setting.option_order, cell.setting.variant)


def shown_as(order: str | None, variant: str | None) -> str:
    """The name of an order of the options, and of the variant of the items, as `shown` has it."""
    return (order or FILE) if variant is None else f"{variant}/{order or FILE}"


def benchmark_rows(plan: Plan) -> Iterator[StoredBenchmark]:
    for benchmark in plan.study.spec.benchmark:
        if benchmark.id in plan.study.items:
            yield StoredBenchmark(
                plan.study_digest, benchmark.id, str(benchmark.direction), plan.study.items[benchmark.id].unit
            )


def cell_rows(plan: Plan) -> Iterator[CellRow]:
    for cell in plan.cells():
        yield CellRow(
            plan.study_digest,
            cell.key,
            cell.model,
            cell.benchmark,
            cell.configuration,
            cell.tier,
            int(cell.shared),
            cell.setting.method,
            name_of_option_order(cell),
            cell.setting.replicates,
        )


def item_rows(plan: Plan) -> Iterator[ItemRow]:
    for name, items in plan.study.items.items():
        units = items.units
        for item in items.sampled:
            groups = (item.family, item.template or None, item.category or None)
            yield ItemRow(plan.study_digest, name, item.id, units[item.id], *groups)


def question_rows(plan: Plan) -> Iterator[QuestionRow]:
    for name, items in plan.study.items.items():
        for item in items.sampled:
            digests = (None if part is None else part.hex() for part in of_item(item))
            yield QuestionRow(plan.study_digest, name, item.id, *digests)


def shown_rows(plan: Plan) -> Iterator[ShownRow]:
    for name, items in plan.study.items.items():
        for order, variant in product(items.orders, (None, *items.variants)):
            for item in items.asked(order, variant=variant):
                yield ShownRow(
                    plan.study_digest,
                    name,
                    item.id,
                    shown_as(order, variant),
                    item_digest(item),
                    len(item.options),
                    json.dumps(sorted(item.right)),
                    item.gold,
                    item.matching,
                    item.unknown,
                    item.expected,
                )


PLANNED: Mapping[str, Callable[[Plan], Iterator[NamedTuple]]] = {
    "benchmark": benchmark_rows,
    "item": item_rows,
    "question": question_rows,
    "shown": shown_rows,
    "cell": cell_rows,
}
"""The tables of which the plan says every row, and what makes these."""
