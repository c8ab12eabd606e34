"""GRID cards -> the sentences that stand first on a model card, in words that need no glossary."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gridc.numbers import counted, percent
from gridc.schema.card import Card, CardDeck, ModelPairRow


@dataclass(frozen=True, slots=True)
class CardPair:
    """Two models on a benchmark, as the card of the first has it."""

    card: Card
    row: ModelPairRow

    @property
    def reverses(self) -> bool:
        return bool(self.row.higher and self.row.lower)

    @property
    def where(self) -> str:
        return f"{self.card.model} and {self.row.other} on {self.card.benchmark}"


def verdict(deck: CardDeck) -> tuple[str, ...]:
    """What the cards say, a sentence each, the first the most important: whose order depends on the
    configuration, how far scores move, and what of that is more than a fact about these items."""
    pairs = comparisons(deck.cards)
    return (*_order(deck, pairs), *_movement(deck.cards), *_beyond(deck, pairs), *_interim(deck))


def comparisons(cards: Sequence[Card]) -> list[CardPair]:
    """Every pair of models on every benchmark once, the strongest evidence first."""
    told: dict[tuple[str, frozenset[str]], CardPair] = {}
    for card in cards:
        for row in card.ranking_stability.pairs:
            told.setdefault((card.benchmark, frozenset((card.model, row.other))), CardPair(card, row))
    return sorted(told.values(), key=lambda pair: (not pair.row.certified, not pair.row.supported))


def held_fixed(deck: CardDeck) -> list[str]:
    """What no card of the deck varies, each named once."""
    cards = [{row.what for row in card.scope_statement.held} for card in deck.cards]
    rows = deck.cards[0].scope_statement.held if deck.cards else ()
    return [row.what for row in rows if all(row.what in names for names in cards)]


def _interim(deck: CardDeck) -> Iterator[str]:
    if not deck.complete:
        yield "The run is incomplete: every number here is an interim look."
    if deck.calls_before_stamp:
        yield (
            f"{deck.calls_before_stamp:,} calls are dated before the stamp by the store’s own clock: unless "
            "that clock was set back, their data predate it."
        )


def _order(deck: CardDeck, pairs: Sequence[CardPair]) -> Iterator[str]:
    """In how many comparisons a configuration decides who scores higher; one alone has nothing to decide."""
    if all(pair.row.measured < 2 for pair in pairs):
        return
    names = list(dict.fromkeys(card.model for card in deck.cards))
    who = f"{names[0]} or the other model" if len(names) == 1 else "one model or the other"
    reversing = [pair for pair in pairs if pair.reverses]
    seen = "" if all(pair.row.measured == pair.row.size for pair in pairs) else ", as far as measured"
    choice = "the choice of the harness configuration (what is varied, see below)"
    if len(pairs) == 1:
        verb = "decides" if reversing else "does not decide"
        yield f"On these items {choice} {verb} whether {who} scores higher{seen}."
    elif reversing:
        of = f"{len(reversing)} of {counted(len(pairs), 'comparison')}"
        yield f"On these items, in {of}, {choice} decides whether {who} scores higher{seen}."
    else:
        of = f"none of {counted(len(pairs), 'comparison')}"
        yield f"On these items, in {of} does {choice} decide whether {who} scores higher{seen}."


def _movement(cards: Sequence[Card]) -> Iterator[str]:
    """The score that the choice of a configuration moves the most."""
    full = [(card, row) for card in cards for row in card.score_neighbourhood if row.kind == "full"]
    if not full:
        yield "Nothing is measured yet."
        return
    card, row = max(full, key=lambda each: (each[1].greatest - each[1].least, each[1].configurations))
    score = f"the score of {card.model} on {card.benchmark}"
    if row.configurations < 2:
        yield "One configuration is measured, so nothing says how far a score depends on it."
    elif row.least == row.greatest:
        yield f"No score moves: {score} is {percent(row.least)} under all {row.configurations:,}."
    else:
        yield (
            f"Over {row.configurations:,} configurations {score} goes from {percent(row.least)} to "
            f"{percent(row.greatest)}."
        )


def _beyond(deck: CardDeck, pairs: Sequence[CardPair]) -> Iterator[str]:
    """What is claimed for other items, by strength; that nothing is, where nothing is."""
    if not pairs or not deck.complete:
        return
    claimed = []
    for claim, words in (("reversal", "a reversal"), ("order", "one order throughout")):
        certified = [pair.where for pair in pairs if pair.row.certified == claim]
        supported = [
            pair.where for pair in pairs if pair.row.supported == claim and pair.row.certified != claim
        ]
        strengths = [
            f"{word} for {'; '.join(names)}"
            for word, names in (("certified", certified), ("supported", supported))
            if names
        ]
        if strengths:
            claimed.append(f"{words} is {' and '.join(strengths)}")
    if claimed:
        text = "; ".join(claimed)
        rest = " The other comparisons are counts on these items." if _some_descriptive(pairs) else ""
        yield f"For other items of the same kind, {text}.{rest}"
    else:
        yield (
            "No comparison is shown to come out the same for other items of the same kind: all are counts on "
            "these items."
        )


def _some_descriptive(pairs: Sequence[CardPair]) -> bool:
    return any(not (pair.row.certified or pair.row.supported) for pair in pairs)
