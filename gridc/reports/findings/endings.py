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


MANY_CUT = 0.05
"""The share of a benchmark's answers from which on it is an alarm."""


def cut_share(endings: Sequence[EndingsRow]) -> float:
    """The share of the answers that end at their budget and from which none is read."""
    return sum(model.cut for model in endings) / max(sum(model.samples for model in endings), 1)


def cut_words(benchmark: str, endings: Sequence[EndingsRow]) -> str:
    """How many answers of a benchmark can be read, and how many the budget cut, of which models."""
    read, cut, every = (sum(getattr(model, name) for model in endings) for name in ("read", "cut", "samples"))
    of = [f"{model.model} {model.cut:,} of {model.samples:,}" for model in endings if model.cut]
    are = "is" if cut == 1 else "are"
    ended = f"{cut:,} {are} cut off at `max_tokens` ({'; '.join(of)})"
    return f"On {benchmark}, {read:,} of {every:,} answers can be read: {ended}"


def cut_off(endings: Mapping[str, Sequence[EndingsRow]]) -> tuple[str, ...]:
    """`cut_words` of the benchmarks of which answers were cut off."""
    return tuple(cut_words(benchmark, rows) for benchmark, rows in endings.items() if cut_share(rows))


def _of(model: str, ended: Mapping[str, int]) -> EndingsRow:
    failed = {name.removeprefix(FAILED): number for name, number in ended.items() if name.startswith(FAILED)}
    plain = {name: ended.get(name, 0) for name in ("read", "unread", "cut", "refused", "waiting")}
    return EndingsRow(model=model, failed=failed, **plain)
