"""The scores of a study as runs of an experiment tracker: one run for each model, made of its GRID cards."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gridc import __version__
from gridc.diagnostics.errors import Diagnostic, UnavailableError, UsageError
from gridc.reports.card import card_sentences
from gridc.schema.card import Card, CardDeck

FILES = ("certificate.json", "gridcard.json")
"""The files of a report that a tracker keeps beside the numbers. The page is left out: it shows
prompts and answers, which would leave the machine."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """One model. `id` stays the same when the study is exported again. `tags` name the study, `parameters`
    are the choices behind the scores, and `metrics` are numbers; both begin with the benchmark's id and a
    slash. `note` is what the study found."""

    id: str
    model: str
    tags: dict[str, str]
    parameters: dict[str, str]
    metrics: dict[str, float]
    note: str


def tracked_runs(deck: CardDeck) -> list[TrackedRun]:
    """One run for each model with a score. Raises `UsageError` (GC000) where no model has one."""
    by_model: dict[str, list[Card]] = {}
    for card in deck.cards:
        if card.point_score.score is not None:
            by_model.setdefault(card.model, []).append(card)
    if not by_model:
        help = "`gridc run` goes on, and `gridc report` writes the scores"
        raise UsageError([Diagnostic("GC000", "no model has a score yet", help=help)])
    return [_run_of(deck, model, cards) for model, cards in by_model.items()]


def cut_to(text: str, most: int) -> str:
    """The text, or what fits with a remark that it is cut."""
    remark = f"... (cut: {len(text):,} characters, all of them in gridcard.json)"
    return text if len(text) <= most else text[: most - len(remark)] + remark


def not_logged(tracker: str, error: Exception, help: str) -> UnavailableError:
    """What the tracker's own package says, on one line."""
    why = " ".join(str(error).split()) or type(error).__name__
    return UnavailableError([Diagnostic("GC624", f"{tracker} took no runs: {why}", help=help)])


def files_of(results: Path) -> list[Path]:
    """The files of the report that are there."""
    return [path for name in FILES if (path := results / name).is_file()]


def _run_of(deck: CardDeck, model: str, cards: list[Card]) -> TrackedRun:
    return TrackedRun(
        id=f"{deck.stamp[:12]}-{model}",
        model=model,
        tags={
            "gridc.study": deck.study,
            "gridc.stamp": deck.stamp,
            "gridc.model": model,
            "gridc.complete": "yes" if deck.complete else "no",
            "gridc.version": __version__,
        },
        parameters={name: value for card in cards for name, value in _parameters(card)},
        metrics={name: value for card in cards for name, value in _metrics(card)},
        note=_note(deck),
    )


def _parameters(card: Card) -> Iterator[tuple[str, str]]:
    """What is set. The level of an axis has the name `axis.ID`, since an axis may be called like a key."""
    receipt = card.axis_receipt
    for axis, level in receipt.configuration.items():
        yield f"{card.benchmark}/axis.{axis}", level
    for key, value in receipt.setting.items():
        if value is not None and value != ():
            yield f"{card.benchmark}/{key}", str(list(value) if isinstance(value, tuple) else value)


def _metrics(card: Card) -> Iterator[tuple[str, float]]:
    """The score and each rate with its 95 % interval, and their least and greatest value in the envelope."""
    score = card.point_score
    envelope = next((scope for scope in card.score_neighbourhood if scope.kind == "full"), None)
    measured: list[tuple[str, float | None, tuple[float, float] | None, float | None, float | None]] = [
        (
            "score",
            score.score,
            score.interval,
            None if envelope is None else envelope.least,
            None if envelope is None else envelope.greatest,
        ),
        *((rate.name, rate.value, rate.interval, rate.least, rate.greatest) for rate in card.rates),
    ]
    for name, value, interval, least, greatest in measured:
        low, high = interval or (None, None)
        named = {"": value, "_low": low, "_high": high, "_least": least, "_greatest": greatest}
        for suffix, number in named.items():
            if number is not None:
                yield f"{card.benchmark}/{name}{suffix}", number
    for name, number in {"standard_error": score.standard_error, "parse_rate": score.parse_rate}.items():
        if number is not None:
            yield f"{card.benchmark}/{name}", number
    yield f"{card.benchmark}/items", card.items


def _note(deck: CardDeck) -> str:
    """What the study found, in the sentences of its cards. Every run has it: a score alone is no verdict."""
    unfinished = () if deck.complete else ("The run is not complete.",)
    return "\n\n".join([f"{deck.title}", *unfinished, *card_sentences(deck), *deck.hypotheses])
