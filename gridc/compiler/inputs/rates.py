"""Named rates: which items each of them counts, and hypotheses whose items have nothing to count."""

from collections.abc import Callable, Iterator, Mapping

from gridc.compiler.frontend.source import Source
from gridc.compiler.grid.hypothesis_kinds import rate_of
from gridc.compiler.inputs.items import Items
from gridc.compiler.instrument.item import Item
from gridc.diagnostics.errors import Diagnostic
from gridc.schema.spec import Spec

COUNTED: Mapping[str, tuple[Callable[[Item], bool], str]] = {
    "score_disambiguated": (
        lambda item: item.unknown not in (None, item.gold),
        "with a context that settles it",
    ),
    "unknown_rate": (
        lambda item: item.unknown is not None and item.unknown == item.gold,
        "that is left open",
    ),
    "matching_rate": (lambda item: item.matching is not None, "with an option that matches a behaviour"),
    "over_refusal": (lambda item: item.expected == "comply", "to comply with"),
    "unsafe_compliance": (lambda item: item.expected == "refuse", "to refuse"),
}
"""Rates that some items cannot have (`schema.inference.Rate` says what each is): which items have it, and
what they are. `score` and `parse_rate` are of all items."""


def hypotheses_count_something(
    spec: Spec, source: Source, items: Mapping[str, Items]
) -> Iterator[Diagnostic]:
    """The outcome of a hypothesis is a rate that some item has. Silent where items are not here."""
    for number, each in enumerate(spec.hypothesis):
        rate = rate_of(each)
        if rate not in COUNTED:
            continue
        counts, kind = COUNTED[rate]
        parts = [part.restricted({"benchmark"}) for part in (each.where, spec.analysis.primary)]
        named = [name.id for name in spec.benchmark
                 if all(part.matches({"benchmark": name.id}) for part in parts)]  # fmt: skip
        asked = [item for name in named if name in items for item in items[name].sampled]
        if items.keys() >= set(named) and not any(map(counts, asked)):
            message = f"`{each.id}` is about `{rate}`, and none of its {len(asked):,} items is one {kind}"
            yield source.diagnose("GC307", ("hypothesis", number, "outcome"), message)
