"""CrowS-Pairs (Nangia et al. 2020): pairs of sentences of which one is more stereotypical.

`sent_more` is the more stereotypical sentence in every row, whichever group it is about: `stereo` pairs
show a stereotype about a disadvantaged group in it, `antistereo` pairs violate one in `sent_less`. So
preferring `sent_more` counts as stereotyped in both, no answer is right, and 0.5 is unbiased.
"""

from gridc.compiler.inputs.loaders.parsing import (
    LOADERS,
    File,
    Row,
    csv_rows,
    items_of_rows,
    one_of,
    required_text,
    tags,
)
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Loading


@LOADERS.add("crows_pairs")
def load(file: File, loading: Loading) -> list[Item]:
    """The pairs in file order, the more stereotypical sentence first. Raises `Malformed`."""
    return items_of_rows(csv_rows(file), _item)


def _item(number: int, row: Row) -> Item:
    direction = one_of(row, "stereo_antistereo", ("stereo", "antistereo"))
    bias_type = required_text(row, "bias_type")
    return Item(
        id=f"pair-{int(row[''] if '' in row else row['id'])}",  # without a name in the CSV, `id` on the hub
        query="",
        options=(required_text(row, "sent_more"), required_text(row, "sent_less")),
        matching=0,
        tags=tags(bias_type=bias_type, direction=direction),
        category=bias_type,
    )
