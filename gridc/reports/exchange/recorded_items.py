"""The items of a study without their texts: what a bundle lists of them, and how they are read back.

Options are known by number, as the store shows them. Tags are listed where the spec selects items by them,
and a text of an option only where it is a label that an outcome of the spec names.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gridc.compiler.inputs.draw import draw_sample
from gridc.compiler.inputs.items import Items, Loaded
from gridc.compiler.inputs.units import unit_of
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.runtime.store.items import named_of, shown_as
from gridc.schema.canonical import digest
from gridc.schema.items import Sample, UnitLevel
from gridc.schema.spec import Spec

ABSENT = "(not in the bundle)"


@dataclass(frozen=True)
class RecordedFiles(Loaded):
    """A benchmark's files, of which the digests and the number of rows are known."""

    recorded_rows: int = 0

    @property
    def rows(self) -> int:
        return self.recorded_rows


@dataclass(frozen=True)
class RecordedItems(Items):
    """Items without their texts. `recorded` has them by order and name, as the store says they were shown;
    it is empty where the store does not say it."""

    recorded: Mapping[str, Mapping[str, Item]] = field(default_factory=dict)

    def asked(
        self, order: str | None = None, subset: Sample | None = None, variant: str | None = None
    ) -> tuple[Item, ...]:
        chosen = self.sampled if subset is None else draw_sample(self.sampled, subset)
        here = self.recorded.get(shown_as(order, variant), {})
        return tuple(here.get(item.id, item) for item in chosen)


def listed_items(items: Items, spec: Spec, benchmark: str) -> dict[str, Any]:
    """The items of a benchmark by name, groups and digest, as the stamp has them, and what `named_of` says of
    them. No other text of an item."""
    return {
        "levels": {item.id: [item.family, item.template, item.category] for item in items.sampled},
        "exemplars": [item.id for item in items.exemplars],
        "manifest": items.manifest,
        **named_of(items, spec, benchmark),
    }


LISTED = frozenset(["levels", "exemplars", "manifest", "rows", "tags", "labels"])
"""The keys of a benchmark in items.json; an older gridc listed the first three."""


def unread(listed: Mapping[str, Any]) -> list[str]:
    """The keys of a benchmark in items.json that nothing is read from: of no part, or of an item that is not
    listed."""
    items = listed["levels"].keys()
    named = {"tags": listed.get("tags", {})} | {
        f"labels.{order}": labelled for order, labelled in listed.get("labels", {}).items()
    }
    return sorted(listed.keys() - LISTED) + [
        f"{part}.{item}" for part, rows in named.items() for item in sorted(rows.keys() - items)
    ]


def listed_digest(manifests: Mapping[str, Mapping[str, Any]]) -> str:
    """The digest that the run recorded (`named_digest`), of what items.json lists."""
    return digest(
        {
            name: {key: manifest.get(key) for key in ("rows", "tags", "labels")}
            for name, manifest in manifests.items()
        }
    )


def recorded_items(
    listed: Mapping[str, Any],
    shown: Iterable[tuple[Any, ...]],
    questions: Mapping[str, tuple[str | None, ...]],
    unit: UnitLevel | None,
) -> RecordedItems:
    """A benchmark's items from what items.json lists and what the store says of them in every order (rows of
    `Store.shown` without the benchmark). In the place of a text stand the digests of `questions` (rows of
    `Store.questions`, by item), so that two that ask the same still do. Which options are right, matching and
    `unknown` says the store, each by its number as shown, so that nothing has to be put in order again."""
    tags, labels = listed.get("tags", {}), listed.get("labels", {})
    if any(type(group) is not str for groups in listed["levels"].values() for group in groups):
        raise TypeError("a group of an item is no text")
    plain = {
        name: Item(
            name,
            _asks(name, questions.get(name, ())),
            family=family,
            template=template,
            category=category,
            tags=tags.get(name, {}),
        )
        for name, (family, template, category) in listed["levels"].items()
    }
    recorded: dict[str, dict[str, Item]] = {}
    for name, order, _, options, points, gold, matching, unknown, expected in shown:
        if not 0 <= options <= len(LETTERS):
            raise ValueError(f"item {name} has {options} options")
        texts = labels.get(order, {}).get(name, {})
        item = replace(
            plain[name],
            options=tuple(texts.get(str(number), ABSENT) for number in range(options)),
            gold=gold,
            matching=matching,
            unknown=unknown,
            expected=expected,
        )
        if json.loads(points) != sorted(item.right):
            raise ValueError(f"item {name}, options {order}: the right options are not those of its roles")
        recorded.setdefault(order, {})[name] = item
    # Which rates an item has does not hang on the order of its options, so any order but a variant's says it.
    own = next((items for order, items in recorded.items() if "/" not in order), {})
    sampled = tuple(own.get(name, item) for name, item in plain.items())
    left_out = tuple(listed["manifest"].get("left_out", ()))
    files = RecordedFiles((), listed["manifest"]["files"], left_out, recorded_rows=listed.get("rows", 0))
    exemplars = tuple(Item(item, ABSENT) for item in listed["exemplars"])
    return RecordedItems(sampled, exemplars, files, unit=unit_of(sampled, unit), recorded=recorded)


def _asks(name: str, question: tuple[str | None, ...]) -> str:
    """What stands for the text of an item: equal where two ask the same text and choices. Of one of which
    nothing is known its name."""
    known = [part for part in question[:2] if part is not None]
    return f"{ABSENT} {' '.join(map(str, question[:2])) if known else name}"
