"""How samples ended: an answer was read, none could be, a call failed for good, or it is not there yet."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FAILED = "failed "
"""Begins the ending of a sample whose call failed for good; the kind of failure follows."""


@dataclass(frozen=True, slots=True)
class Endings:
    """How the samples of a model on a benchmark ended, over all its cells.

    `read` gave an answer. Of those that gave none that can be read, the provider declined `refused`, `cut`
    stopped at `max_tokens`, and `unread` are the rest. `failed` counts those of which a call failed for good,
    by kind; `waiting` have no outcome yet. Intention-to-treat, all but `waiting` stay in the denominator.
    """

    model: str
    read: int
    unread: int
    cut: int
    refused: int
    failed: Mapping[str, int]
    waiting: int

    @property
    def samples(self) -> int:
        return self.read + self.unread + self.cut + self.refused + sum(self.failed.values()) + self.waiting


def count_endings(
    models: Sequence[str], rows: Iterable[tuple[str, str, str, int]]
) -> dict[str, tuple[Endings, ...]]:
    """By benchmark, in the order of the models, from `Store.endings`."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for model, benchmark, ended, number in rows:
        counts.setdefault(benchmark, {}).setdefault(model, {})[ended] = number
    return {
        benchmark: tuple(_of(model, ended[model]) for model in models if model in ended)
        for benchmark, ended in counts.items()
    }


def _of(model: str, ended: Mapping[str, int]) -> Endings:
    failed = {name.removeprefix(FAILED): number for name, number in ended.items() if name.startswith(FAILED)}
    plain = {name: ended.get(name, 0) for name in ("read", "unread", "cut", "refused", "waiting")}
    return Endings(model=model, failed=failed, **plain)
