"""What logs certify, as text: the same lines in the terminal and in Markdown."""

from collections.abc import Iterator

from gridc.diagnostics.errors import visible
from gridc.numbers import bracketed, counted, number, p_in_text
from gridc.reports.comparison.words import states
from gridc.reports.rendering import unlinked
from gridc.reports.statements import standings
from gridc.schema.recorded import LogBenchmarkRow, LogCertificate, LogPairRow

FEW_MODELS = 9
"""Up to how many models the terminal shows every score with how its answers were read."""
SHOWN = 40
"""Rows of a table that the terminal prints; the JSON has all."""


def provenance(document: LogCertificate) -> Iterator[str]:
    """What the numbers rest on, before any of them."""
    yield document.provenance
    asked = "; recorded runs: gridc asked nothing and stamped nothing" if document.stamp is None else ""
    yield f"{counted(len(document.files), 'log')}{asked}"
    yield from (f"note: {note}" for note in document.notes)
    if document.unknown:
        yield f"not recorded: {'; '.join(document.unknown)}"
    if document.common_only:
        yield "only items that all models have count, because the author asked for common items alone"
    if any(row.standings is not None for row in document.benchmarks):
        yield (
            "every p, and what is established, assumes that units are independent draws and that no run was "
            "left out by its result"
        )


def benchmark_lines(row: LogBenchmarkRow) -> Iterator[str]:
    """A benchmark, and what to know before any p."""
    size = counted(row.items, "item")
    if row.units != row.items:
        size += f" in {counted(row.units, 'unit')}"
    if row.left_out:
        size += f", of which {row.left_out:,} are left out because some model lacks them"
    lower = ", lower is better" if row.lower_is_better else ""
    if not row.itemised:
        size = "no items: scores are described, and nothing can be tested"
    yield f"{row.benchmark}: {size}{lower}"
    if row.matching is not None:
        yield row.matching
    yield from (f"warning: {warning}" for warning in row.warnings)
    if row.between_models:
        yield f"models also differ in: {', '.join(row.between_models)}"
    yield from (f"not compared: {reason}" for reason in row.not_compared)


SCORES = ("model", "configuration", "reading", "score [95 %]", "items", "answers")


def scores(row: LogBenchmarkRow) -> list[tuple[str, ...]]:
    """The table of cells."""
    cells: list[tuple[str, ...]] = []
    for one in row.scores:
        value = scored(one.score, one.interval)
        if one.bounds is not None and one.score is not None:
            end = "at most" if one.score == one.bounds[0] else "at least"
            value += f", {end} {number(one.bounds[1 if end == 'at most' else 0])}"
        # What is absent counts as an item, so that fewer may have been asked: the answers say how many.
        without = one.asked is not None and one.items < one.asked
        items = f"{one.items:,} of {one.asked:,}" if without else f"{one.items:,}"
        times = f" x {one.repetitions}" if one.repetitions > 1 else ""
        ends = "" if one.asked is None else states(one.states)
        cells.append((one.model, one.configuration, one.reading, value, f"{items}{times}", ends))
    return cells


READINGS = ("model", "configuration", "reading", "score", "items")


def readings(row: LogBenchmarkRow) -> list[tuple[str, ...]]:
    """The table of what else the log has of the same answers."""
    return [
        (one.model, one.configuration, one.reading, scored(one.score, None), f"{one.items:,}")
        for one in row.readings
    ]


def scored(score: float | None, interval: tuple[float, float] | None) -> str:
    """`0.417 [0.167, 0.667]`."""
    value = "none" if score is None else number(score)
    return value if interval is None else f"{value} {bracketed(interval, number)}"


def conclusions(row: LogBenchmarkRow) -> Iterator[str]:
    """How much of the order stands, and which orders survive the configurations."""
    if row.standings is not None:
        yield from standings.sentences(row.standings)
    yield from pairs(row)


def pairs(row: LogBenchmarkRow) -> Iterator[str]:
    """Which orders survive the configurations; of many pairs those of which something is certified."""
    several = [pair for pair in row.pairs if pair.configurations > 1]
    shown = several if len(several) <= SHOWN else [pair for pair in several if pair.certified]
    for pair in shown[:SHOWN]:
        yield pair_sentence(pair)
    if len(shown) < len(several) or len(shown) > SHOWN:
        kept = min(len(shown), SHOWN)
        yield f"{len(several) - kept:,} more pairs: --json has all"


def pair_sentence(pair: LogPairRow) -> str:
    """On these items, and beyond them."""
    signs = (
        f"{pair.a} is better in {pair.a_better:,}, {pair.b} in {pair.b_better:,}, equal in {pair.equal:,} of "
        f"{pair.configurations:,} configurations: {pair.verdict}"
    )
    certified = "established beyond these items: " if pair.certified else "beyond these items "
    return f"{signs}; {certified}{beyond_words(pair)}"


def beyond_words(pair: LogPairRow) -> str:
    """What holds of a pair beyond these items."""
    if pair.certified == "order":
        return f"{pair.first} is better in all ({p_in_text(pair.order_p)})"
    if pair.certified == "reversal":
        return (
            f"each is better somewhere ({p_in_text(pair.reversal_p)}; {pair.witness_a}, and {pair.witness_b})"
        )
    ps = f"order {p_in_text(pair.order_p)}, reversal {p_in_text(pair.reversal_p)}; Holm"
    return f"nothing is established ({ps})"


def markdown(document: LogCertificate) -> str:
    """The same as a text for a repository or a pull request."""
    lines = ["# What these logs certify", "", *(f"- {plain(line)}" for line in provenance(document))]
    for row in document.benchmarks:
        first, *more = benchmark_lines(row)
        lines += ["", f"## {plain(first)}", "", *(f"- {plain(line)}" for line in more), ""]
        lines += _table(SCORES, scores(row))
        if row.standings is not None:
            lines += ["", *_table(standings.COLUMNS, standings.table(row.standings)), ""]
            lines += _table(standings.TESTS, standings.tests(row.standings))
            lines += [""]
        lines += [f"- {plain(line)}" for line in conclusions(row)]
    return "\n".join(lines) + "\n"


def _table(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return lines + [f"| {' | '.join(plain(cell) for cell in row)} |" for row in rows]


def plain(text: str) -> str:
    """A stranger's text in Markdown: no markup of its own, no mention and no link, and nothing that a
    terminal obeys."""
    text = visible(" ".join(text.replace("&", "&amp;").replace("<", "&lt;").split()))
    return unlinked("".join(f"\\{letter}" if letter in "\\`*_[]|#!~" else letter for letter in text))
