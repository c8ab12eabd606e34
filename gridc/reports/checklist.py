"""Fills in the reporting checklists of the field with what a study shows about each criterion. What no study
can show is left to the author, by name: a criterion is never ticked because a file exists.

SafetyRepro's six fields (app. B), the recommendations of Safety Under Scaffolding (sec. 8), and STREAM's
summary (arXiv 2508.09853), of which parts 3 to 6 stand by their headings.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gridc.compiler.instrument.methods import METHODS
from gridc.numbers import asked_items, counted
from gridc.reports.rendering import TextTable, escape_markdown, table_markdown
from gridc.schema.card import Card, CardDeck
from gridc.schema.scorecard import Scorecard

AUTHOR = "the author must write this"


@dataclass(frozen=True, slots=True)
class ReportCriterion:
    """A criterion of a checklist, and what the study shows of it; None where only its author can say."""

    source: str
    criterion: str
    shown: str | None


class _ListedCriterion(NamedTuple):
    criterion: str
    shown: "Callable[[CardDeck, Scorecard], str | None]"


def criteria(deck: CardDeck, scorecard: Scorecard) -> Iterator[ReportCriterion]:
    """All of them, in the order of their sources."""
    for asked in SAFETYREPRO:
        yield ReportCriterion("SafetyRepro, app. B", asked.criterion, asked.shown(deck, scorecard))
    for row in scorecard.checklist:
        held = row.holds.replace("_", " ")
        shown = f"{held}: {row.said}"
        yield ReportCriterion("Safety Under Scaffolding, sec. 8", row.recommendation, shown)
    for asked in STREAM:
        yield ReportCriterion("STREAM", asked.criterion, asked.shown(deck, scorecard))


def checklist_markdown(study: str, rows: Sequence[ReportCriterion]) -> str:
    """In Markdown, to be filled in."""
    tables = [
        TextTable(
            source,
            source,
            ("criterion", "what the study shows"),
            tuple((row.criterion, row.shown or AUTHOR) for row in rows if row.source == source),
        )
        for source in dict.fromkeys(row.source for row in rows)
    ]
    return "\n".join([f"# Checklists: {escape_markdown(study)}", "", *map(table_markdown, tables)])


def _author(deck: CardDeck, scorecard: Scorecard) -> None:
    """No study has it."""


def _measured(deck: CardDeck) -> list[Card]:
    return [card for card in deck.cards if card.point_score.score is not None]


def _receipt(deck: CardDeck, scorecard: Scorecard) -> str:
    keys = len({key for card in deck.cards for key in card.axis_receipt.setting})
    levels = f"; {counted(len(deck.levels), 'level')} of what varies, each with its provenance"
    return f"gridcard.json, axis_receipt: {keys} keys of each call{levels if deck.levels else ''}"


def _score(deck: CardDeck, scorecard: Scorecard) -> str:
    with_interval = sum(card.point_score.interval is not None for card in deck.cards)
    return (
        f"gridcard.json, point_score: {len(_measured(deck))} of {counted(len(deck.cards), 'score')} "
        f"measured, {with_interval} with an interval"
    )


def _neighbourhood(deck: CardDeck, scorecard: Scorecard) -> str | None:
    sizes = [row.configurations for card in deck.cards for row in card.score_neighbourhood]
    if not sizes or max(sizes) < 2:
        return None
    return f"gridcard.json, score_neighbourhood: over up to {max(sizes)} configurations"


def _verdicts(deck: CardDeck, scorecard: Scorecard) -> str | None:
    stated = {(row.threshold, row.declared) for card in deck.cards for row in card.verdict_stability}
    if not stated:
        return None
    named = ", ".join(f"{at:g} ({declared.replace('_', ' ')})" for at, declared in sorted(stated))
    return f"gridcard.json, verdict_stability: pass or fail at {named}"


def _ranking(deck: CardDeck, scorecard: Scorecard) -> str | None:
    pairs = sum(len(card.ranking_stability.pairs) for card in deck.cards) // 2
    if not pairs:
        return None
    return f"gridcard.json, ranking_stability: {counted(pairs, 'pair')} of models, by benchmark"


def _scope(deck: CardDeck, scorecard: Scorecard) -> str | None:
    stated = [text for card in deck.cards for text in card.scope_statement.stated]
    held = max((len(card.scope_statement.held) for card in deck.cards), default=0)
    if not stated:
        return None
    return f"gridcard.json, scope_statement: in the author's words, and {held} choices that were held fixed"


def _items(deck: CardDeck, scorecard: Scorecard) -> str:
    sizes = dict.fromkeys(
        (card.benchmark, asked_items(card.items, card.held, card.distinct), card.unit, card.units)
        for card in deck.cards
    )
    return "; ".join(
        f"{name}: {items}" + ("" if unit in ("item", "question") else f" in {counted(units, unit)}")
        for name, items, unit, units in sizes
    )


def _scoring(deck: CardDeck, scorecard: Scorecard) -> str:
    methods = dict.fromkeys(
        (card.benchmark, str(card.axis_receipt.setting.get("method"))) for card in deck.cards
    )
    return "; ".join(
        [f"{name}: {method.replace('_', ' ')}, under the anchor" for name, method in methods]
        + list(deck.scoring)
    )


def _graded(deck: CardDeck, scorecard: Scorecard) -> str | None:
    judged = [name for name, method in METHODS.items() if method.judged]
    if any(card.axis_receipt.setting.get("method") in judged for card in deck.cards):
        return None
    return "no person and no model grades under the anchor: scores are read by rule"


def _elicitation(deck: CardDeck, scorecard: Scorecard) -> str:
    varied = "; ".join(f"{axis}: {', '.join(levels)}" for axis, levels in deck.varied.items())
    kept = "gridcard.json, axis_receipt: model files or commit, prompts, decoding, scaffold"
    return f"{kept}; varied are {varied or 'none'}"


def _interpretation(deck: CardDeck, scorecard: Scorecard) -> str | None:
    if not scorecard.claims:
        return None
    before = sum(claim.stated == "before_stamp" for claim in scorecard.claims)
    return (
        f"scorecard.json, claims: {counted(len(scorecard.claims), 'claim')} with how far each reaches, "
        f"{before} of them in the lock; what follows for a decision the author must write"
    )


SAFETYREPRO = (
    _ListedCriterion("(i) axis receipt", _receipt),
    _ListedCriterion("(ii) point score", _score),
    _ListedCriterion("(iii) score neighbourhood", _neighbourhood),
    _ListedCriterion("(iv) verdict stability", _verdicts),
    _ListedCriterion("(v) ranking stability", _ranking),
    _ListedCriterion("(vi) scope statement", _scope),
)
STREAM = (
    _ListedCriterion("1 (i) capabilities that are measured, and the threat models they matter to", _author),
    _ListedCriterion("1 (ii) which results would rule a capability of concern in or out", _author),
    _ListedCriterion("1 (iii) an example item with a response", _author),
    _ListedCriterion("2 (i) number of items", _items),
    _ListedCriterion("2 (ii) type of items and how they are scored", _scoring),
    _ListedCriterion("2 (iii) how grading criteria were made, and their quality control", _author),
    _ListedCriterion("2 (iv), (v) who or what grades, and how well", _graded),
    _ListedCriterion("3 model elicitation", _elicitation),
    _ListedCriterion("4 model performance", _score),
    _ListedCriterion("5 baseline performance", _author),
    _ListedCriterion("6 interpretation of results", _interpretation),
)
