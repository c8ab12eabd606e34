"""GRID cards of recorded runs, as text for a model card: the six fields, as far as logs have them."""

from collections.abc import Iterator

from gridc.numbers import between, counted, number
from gridc.reports.comparison.words import states
from gridc.reports.recorded import words
from gridc.schema.recorded import LogBenchmarkRow, LogCertificate, LogPairRow, LogScoreRow


def models(document: LogCertificate) -> list[str]:
    """Of which there are cards."""
    return list(dict.fromkeys(score.model for row in document.benchmarks for score in row.scores))


def markdown(document: LogCertificate, only: str | None = None) -> str:
    """The card of every model on every benchmark, or of one model alone."""
    level = "#" if only is None else "##"
    lines = [f"{level} GRID cards of recorded runs", "", f"- {words.plain(document.provenance)}"]
    for row in document.benchmarks:
        for model in dict.fromkeys(score.model for score in row.scores if only in (None, score.model)):
            lines += ["", f"{level}# {words.plain(model)} on {words.plain(row.benchmark)}", ""]
            lines += [
                f"{number}. **{name}.** {words.plain(text)}"
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
        f"{words.scored(score.score, score.interval)} under {score.configuration}, "
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
            others = ", ".join(other for other in words.short(group) if other != model)
            yield f"not told apart from {others}"
    own = [pair for pair in row.pairs if model in (pair.a, pair.b) and pair.configurations > 1]
    yield from (_against(pair, model) for pair in own[: words.SHOWN])
    if len(own) > words.SHOWN:
        yield f"{len(own) - words.SHOWN:,} more pairs: logs.json has all"


def _against(pair: LogPairRow, model: str) -> str:
    first = model == pair.a
    better, worse = (pair.a_better, pair.b_better) if first else (pair.b_better, pair.a_better)
    other = pair.b if first else pair.a
    return (
        f"against {other} better in {better:,}, worse in {worse:,}, equal in {pair.equal:,} of "
        f"{pair.configurations:,} configurations, beyond these items {words.beyond(pair)}"
    )


def _scope(document: LogCertificate, row: LogBenchmarkRow) -> Iterator[str]:
    yield "no plan was stamped before these runs, and which runs were left out is not known"
    yield from words.head(row)
    yield f"{counted(len(document.files), 'log')} read; their digests stand in logs.json"
    if document.unknown:
        yield f"not recorded: {'; '.join(document.unknown)}"
