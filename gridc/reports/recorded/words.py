"""What logs certify, as text: the same lines in the terminal and in Markdown, and as GRID cards."""

from collections.abc import Iterator

from gridc.diagnostics.errors import visible
from gridc.numbers import between, bracketed, counted, number, p_in_text, p_value, with_sign
from gridc.reports.comparison.words import states
from gridc.reports.rendering import unlinked
from gridc.schema.recorded import LogBenchmarkRow, LogCertificate, LogPairRow, LogScoreRow

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
    if any(row.order for row in document.benchmarks):
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


NEIGHBOURS = (
    "place",
    "model",
    "score [95 %]",
    "can be",
    "to the next",
    "units -/+",
    "p",
    "p (Holm)",
    "told apart?",
)


def neighbours(row: LogBenchmarkRow) -> list[tuple[str, ...]]:
    """The order, each model with the test against the next one."""
    cells: list[tuple[str, ...]] = []
    for place, one in enumerate(row.order):
        can = f"{one.best}" if one.best == one.worst else f"{one.best} to {one.worst}"
        begin = (f"{one.place}", one.model, scored(one.score, one.interval), can)
        if place == len(row.neighbours):
            cells.append((*begin, "", "", "", "", ""))
            continue
        test = row.neighbours[place]
        cells.append(
            (
                *begin,
                "no item in common" if test.gap is None else with_sign(test.gap, 3),
                f"{test.b_ahead:,} / {test.a_ahead:,}",
                p_value(test.p),
                p_value(test.p_holm),
                "yes" if test.apart else "no",
            )
        )
    return cells


def order(row: LogBenchmarkRow, alpha: float) -> Iterator[str]:
    """How much of the order stands, in sentences."""
    if not row.neighbours:
        return
    uncorrected = sum(test.p <= alpha for test in row.neighbours)
    apart = sum(test.apart for test in row.neighbours)
    count = len(row.neighbours)
    many = "s" if len(row.ordered_over) > 1 else ""
    yield (
        f"{apart:,} of {counted(count, 'pair')} of neighbours can be told apart (Holm; {uncorrected:,} "
        f"uncorrected), over the {len(row.ordered_over):,} configuration{many} that all of them have"
    )
    if row.tie_groups:
        groups = ["{" + ", ".join(short(group)) + "}" for group in row.tie_groups]
        yield f"tie groups (no two told apart, all pairs, Holm): {'; '.join(groups[:SHOWN])}"
    tied = [(test.a, test.b) for test in row.neighbours if test.apart and _are_tied(row, test.a, test.b)]
    if tied:
        named = "; ".join(f"{a} and {b}" for a, b in tied[:SHOWN])
        tests = len(row.order) * (len(row.order) - 1) // 2
        yield (
            f"told apart as neighbours and yet in one tie group: {named} (all {tests:,} pairs together ask "
            f"more than {count:,} neighbours do)"
        )


def _are_tied(row: LogBenchmarkRow, a: str, b: str) -> bool:
    return any(a in group and b in group for group in row.tie_groups)


def short(group: tuple[str, ...]) -> tuple[str, ...]:
    return group if len(group) <= 8 else (*group[:3], f"{len(group) - 6} more", *group[-3:])


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
        if row.order:
            lines += ["", *_table(NEIGHBOURS, neighbours(row)), ""]
        lines += [f"- {plain(line)}" for line in (*order(row, document.alpha), *pairs(row))]
    return "\n".join(lines) + "\n"


def _table(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return lines + [f"| {' | '.join(plain(cell) for cell in row)} |" for row in rows]


def plain(text: str) -> str:
    """A stranger's text in Markdown: no markup of its own, no mention and no link, and nothing that a
    terminal obeys."""
    text = visible(" ".join(text.replace("&", "&amp;").replace("<", "&lt;").split()))
    return unlinked("".join(f"\\{letter}" if letter in "\\`*_[]|#!~" else letter for letter in text))


def models_of_cards(document: LogCertificate) -> list[str]:
    """Of which there are cards."""
    return list(dict.fromkeys(score.model for row in document.benchmarks for score in row.scores))


def cards_markdown(document: LogCertificate, only: str | None = None) -> str:
    """The card of every model on every benchmark, or of one model alone."""
    level = "#" if only is None else "##"
    lines = [f"{level} GRID cards of recorded runs", "", f"- {plain(document.provenance)}"]
    for row in document.benchmarks:
        for model in dict.fromkeys(score.model for score in row.scores if only in (None, score.model)):
            lines += ["", f"{level}# {plain(model)} on {plain(row.benchmark)}", ""]
            lines += [
                f"{number}. **{name}.** {plain(text)}"
                for number, (name, text) in enumerate(_fields(document, row, model), start=1)
            ]
    return "\n".join(lines) + "\n"


def _fields(document: LogCertificate, row: LogBenchmarkRow, model: str) -> Iterator[tuple[str, str]]:
    scores = [score for score in row.scores if score.model == model]
    held = [score.score for score in scores if score.score is not None]
    yield "Axis receipt", "; ".join(_receipt(score) for score in scores)
    yield "Point score", _point(row, scores)
    if len(held) < 2:
        spread = "the logs have one configuration: how far the score moves is not known"
    else:
        mean = sum(held) / len(held)
        ends = between((min(held), max(held)), number)
        spread = f"over {len(held):,} configurations {ends}, mean {number(mean)}"
        if mean > 0:
            spread += f", (max - min) / mean {number((max(held) - min(held)) / mean, 2)}"
    yield "Score neighbourhood", spread
    yield "Verdict stability", "no threshold was declared before these runs, so none is counted"
    yield "Ranking stability", "; ".join(_ranking(row, model)) or "no other model to compare with"
    yield "Scope", "; ".join(_scope(document, row))


def _receipt(score: LogScoreRow) -> str:
    return f"{score.configuration} ({score.reading})"


def _point(row: LogBenchmarkRow, scores: list[LogScoreRow]) -> str:
    shown = [
        f"{scored(score.score, score.interval)} under {score.configuration}, "
        f"{counted(score.items, 'item')}" + ("" if score.asked is None else f", {states(score.states)}")
        for score in scores
    ]
    lower = " (lower is better)" if row.lower_is_better else ""
    anchor = "" if len(scores) == 1 else "no configuration was declared as the anchor, so all stand here: "
    return f"{anchor}{'; '.join(shown)}{lower}"


def _ranking(row: LogBenchmarkRow, model: str) -> Iterator[str]:
    for one in row.order:
        if one.model == model:
            can = f"place {one.best}" if one.best == one.worst else f"places {one.best} to {one.worst}"
            yield f"{can} of {len(row.order)} (all pairs, Holm)"
    for group in row.tie_groups:
        if model in group:
            others = ", ".join(other for other in short(group) if other != model)
            yield f"not told apart from {others}"
    own = [pair for pair in row.pairs if model in (pair.a, pair.b) and pair.configurations > 1]
    yield from (_against(pair, model) for pair in own[:SHOWN])
    if len(own) > SHOWN:
        yield f"{len(own) - SHOWN:,} more pairs: logs.json has all"


def _against(pair: LogPairRow, model: str) -> str:
    first = model == pair.a
    better, worse = (pair.a_better, pair.b_better) if first else (pair.b_better, pair.a_better)
    other = pair.b if first else pair.a
    return (
        f"against {other} better in {better:,}, worse in {worse:,}, equal in {pair.equal:,} of "
        f"{pair.configurations:,} configurations; {'established ' if pair.certified else ''}beyond these "
        f"items: {beyond_words(pair)}"
    )


def _scope(document: LogCertificate, row: LogBenchmarkRow) -> Iterator[str]:
    yield "no plan was stamped before these runs, and which runs were left out is not known"
    yield from benchmark_lines(row)
    yield f"{counted(len(document.files), 'log')} read; their digests stand in logs.json"
    if document.unknown:
        yield f"not recorded: {'; '.join(document.unknown)}"
