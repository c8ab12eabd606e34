"""What logs certify, as text: the same lines in the terminal and in Markdown."""

from collections.abc import Iterator, Sequence

from gridc.compiler.grid.cells import ONLY
from gridc.diagnostics.errors import visible
from gridc.numbers import bracketed, counted, in_unit, number, p_in_text, percent, span_in_unit
from gridc.reports.comparison.words import state_words
from gridc.reports.rendering import unlinked
from gridc.reports.statements import standings
from gridc.schema.recorded import (
    LogBenchmarkRow,
    LogCertificate,
    LogGroupRow,
    LogPairRow,
    LogPrinted,
    LogPrintedRow,
    LogStatisticRow,
)

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


FEW = 12
"""Differences of what a package prints, and tasks that a group lacks, that are told one by one."""


PRINTED = {"score": "", "standard error": "a standard error of ", "mean of a group": "a group mean of "}
"""What a package prints, before the number."""


def printed_lines(printed: LogPrinted) -> Iterator[str]:
    """Whether what the packages print is what the items give, and where it is not."""
    if printed.compared:
        of = f"{printed.agree:,} of {counted(printed.compared, 'number')}"
        yield f"what the packages print agrees with the items in {of}"
    yield from map(printed_sentence, printed.differences[:FEW])
    if (more := len(printed.differences) - FEW) > 0:
        yield f"{counted(more, 'more difference')}: logs.json and --json have all"
    if printed.compared and printed.without_items:
        what = counted(printed.without_items, "printed number")
        yield f"{what} cannot be compared, because the logs have no items there"


def printed_sentence(row: LogPrintedRow) -> str:
    """`m, quiz: inspect_ai prints 0.800, the items give 0.500: ...`."""
    where = ", ".join([row.model, row.benchmark, *_configuration(row.configuration)])
    items = "no score" if row.items is None else number(row.items)
    cause = "the cause is not known" if row.cause is None else row.cause
    prints = f"{row.package} prints {PRINTED[row.what]}{number(row.printed)} for `{row.reading}`"
    return f"{where}: {prints}, the items give {items}: {cause}"


def _configuration(name: str) -> tuple[str, ...]:
    """Nothing of the only one."""
    return () if name == ONLY else (name,)


GROUPS = ("group", "model", "configuration", "micro [95 %]", "macro [95 %]", "benchmarks", "items", "printed")
IN_GROUPS = "groups of benchmarks: in micro each item counts alike, in macro each benchmark"


def group_table(rows: Sequence[LogGroupRow]) -> list[tuple[str, ...]]:
    """The table of groups."""
    return [
        (
            row.group,
            row.model,
            row.configuration,
            score_words_of(row.micro, row.micro_interval),
            score_words_of(row.macro, row.macro_interval),
            _of_group(row),
            f"{row.items:,}",
            "" if row.printed is None else f"{number(row.printed)} ({row.printed_is or 'neither'})",
        )
        for row in rows
    ]


def _of_group(row: LogGroupRow) -> str:
    """`57`, `55 of 57`."""
    has, lacks = len(row.benchmarks), len(row.missing)
    return f"{has:,} of {has + lacks:,}" if lacks else f"{has:,}"


def group_lines(rows: Sequence[LogGroupRow]) -> Iterator[str]:
    """What groups lack, once for all models that lack it alike."""
    lacking: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for row in rows:
        if row.missing:
            lacking.setdefault((row.group, row.missing), []).append(row.model)
    for (group, missing), models in lacking.items():
        more = f"; and {len(missing) - FEW:,} more" if len(missing) > FEW else ""
        of = ", ".join(dict.fromkeys(models))
        yield f"{group} of {of} lacks {counted(len(missing), 'task')}: {'; '.join(missing[:FEW])}{more}"


STATISTICS = ("statistic", "model", "configuration", "value [95 %]", "answers")


def statistic_table(rows: Sequence[LogStatisticRow]) -> list[tuple[str, ...]]:
    """The table of statistics that were asked for."""
    several = len({row.benchmark for row in rows}) > 1
    return [
        (
            f"{row.statistic}, {row.benchmark}" if several else row.statistic,
            row.model,
            row.configuration,
            _valued(row),
            f"{row.answers:,} of {row.asked:,}" if row.answers < row.asked else f"{row.answers:,}",
        )
        for row in rows
    ]


def _valued(row: LogStatisticRow) -> str:
    """`431 tokens [398 to 470 tokens]`; why there is none, or no interval."""
    value = "none" if row.value is None else in_unit(row.value, row.unit)
    span = "" if row.interval is None else f" [{span_in_unit(row.interval, row.unit)}]"
    return f"{value}{span}{f' ({row.note})' if row.note else ''}"


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
        value = score_words_of(one.score, one.interval)
        if one.bounds is not None and one.score is not None:
            end = "at most" if one.score == one.bounds[0] else "at least"
            value += f", {end} {number(one.bounds[1 if end == 'at most' else 0])}"
        # What is absent counts as an item, so that fewer may have been asked: the answers say how many.
        without = one.asked is not None and one.items < one.asked
        items = f"{one.items:,} of {one.asked:,}" if without else f"{one.items:,}"
        times = f" x {one.repetitions}" if one.repetitions > 1 else ""
        ends = "" if one.asked is None else state_words(one.states)
        cells.append((one.model, one.configuration, one.reading, value, f"{items}{times}", ends))
    return cells


def stops(row: LogBenchmarkRow) -> Iterator[str]:
    """What ended answers before they were there, and in which share."""
    for one in row.scores:
        where = ", ".join([one.model, *_configuration(one.configuration)])
        told = [
            f"{stop.what} {percent(stop.share)}"
            + ("" if stop.interval is None else f" {bracketed(stop.interval, percent)}")
            + f" ({counted(stop.answers, 'answer')})"
            for stop in one.stops
        ]
        if told:
            yield f"{where}: stopped by {', '.join(told)}"


READINGS = ("model", "configuration", "reading", "score", "items")


def readings_table(row: LogBenchmarkRow) -> list[tuple[str, ...]]:
    """The table of what else the log has of the same answers."""
    return [
        (one.model, one.configuration, one.reading, score_words_of(one.score, None), f"{one.items:,}")
        for one in row.readings
    ]


def score_words_of(score: float | None, interval: tuple[float, float] | None) -> str:
    """`0.417 [0.167, 0.667]`."""
    value = "none" if score is None else number(score)
    return value if interval is None else f"{value} {bracketed(interval, number)}"


def conclusions(row: LogBenchmarkRow) -> Iterator[str]:
    """How much of the order stands, and which orders survive the configurations."""
    if row.standings is not None:
        yield from standings.standings_sentences(row.standings)
    yield from order_sentences(row)


def order_sentences(row: LogBenchmarkRow) -> Iterator[str]:
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
    return f"{signs}; {certified}{pair_reach(pair)}"


def pair_reach(pair: LogPairRow) -> str:
    """What holds of a pair beyond these items."""
    if pair.certified == "order":
        return f"{pair.first} is better in all ({p_in_text(pair.order_p)})"
    if pair.certified == "reversal":
        return (
            f"each is better somewhere ({p_in_text(pair.reversal_p)}; {pair.witness_a}, and {pair.witness_b})"
        )
    ps = f"order {p_in_text(pair.order_p)}, reversal {p_in_text(pair.reversal_p)}; Holm"
    return f"nothing is established ({ps})"


def log_markdown(document: LogCertificate) -> str:
    """The same as a text for a repository or a pull request."""
    lines = ["# What these logs certify", "", *(f"- {plain_markdown(line)}" for line in provenance(document))]
    lines += [f"- {plain_markdown(line)}" for line in printed_lines(document.printed)]
    if document.groups:
        lines += ["", f"## {plain_markdown(IN_GROUPS)}", "", *_table(GROUPS, group_table(document.groups))]
        lines += ["", *(f"- {plain_markdown(line)}" for line in group_lines(document.groups))]
    if document.statistics:
        lines += ["", "## Statistics", "", *_table(STATISTICS, statistic_table(document.statistics))]
    for row in document.benchmarks:
        first, *more = benchmark_lines(row)
        lines += ["", f"## {plain_markdown(first)}", "", *(f"- {plain_markdown(line)}" for line in more), ""]
        lines += _table(SCORES, scores(row))
        if any(score.stops for score in row.scores):
            lines += ["", *(f"- {plain_markdown(line)}" for line in stops(row))]
        if row.standings is not None:
            lines += ["", *_table(standings.COLUMNS, standings.order_table(row.standings)), ""]
            lines += _table(standings.TESTS, standings.neighbour_tests(row.standings))
            lines += [""]
        lines += [f"- {plain_markdown(line)}" for line in conclusions(row)]
    return "\n".join(lines) + "\n"


def _table(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return lines + [f"| {' | '.join(plain_markdown(cell) for cell in row)} |" for row in rows]


def plain_markdown(text: str) -> str:
    """A stranger's text in Markdown: no markup of its own, no mention and no link, and nothing that a
    terminal obeys."""
    text = visible(" ".join(text.replace("&", "&amp;").replace("<", "&lt;").split()))
    return unlinked("".join(f"\\{letter}" if letter in "\\`*_[]|#!~" else letter for letter in text))
