"""How samples ended: an answer was read, none could be, a call failed for good, or it is not there yet."""

from collections.abc import Iterable, Mapping, Sequence

from gridc.schema.certificate import EndingsRow

FAILED = "failed "
"""Begins the ending of a sample whose call failed for good; the kind of failure follows."""


def count_endings(
    models: Sequence[str], rows: Iterable[tuple[str, str, str, int]]
) -> dict[str, tuple[EndingsRow, ...]]:
    """By benchmark, in the order of the models, from `Store.endings`."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for model, benchmark, ended, number in rows:
        counts.setdefault(benchmark, {}).setdefault(model, {})[ended] = number
    return {
        benchmark: tuple(_of(model, ended[model]) for model in models if model in ended)
        for benchmark, ended in counts.items()
    }


def _of(model: str, ended: Mapping[str, int]) -> EndingsRow:
    failed = {name.removeprefix(FAILED): number for name, number in ended.items() if name.startswith(FAILED)}
    plain = {name: ended.get(name, 0) for name in ("read", "unread", "cut", "refused", "waiting")}
    return EndingsRow(model=model, failed=failed, **plain)
