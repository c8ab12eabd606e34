"""A sample's outcome, from the answers to its calls. Pure, so scoring again never repeats a call.

The run, `gridc verify`, the oracles and every later re-scoring use these same functions.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite, isnan, log
from typing import Any

from gridc.compiler.instrument.extract import Extraction
from gridc.compiler.instrument.forms import (
    ANSWER_FORMS,
    NOT_AN_OPTION,
    OUT_OF_FORM,
    AskedForm,
    form_of,
    read_by,
)
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import (
    COMPARISONS,
    RIGHT,
    WRONG,
    compare_answer,
    contained,
    read_answer,
)
from gridc.compiler.instrument.methods import METHODS, Reads
from gridc.compiler.instrument.options import item_candidates, spoken_options
from gridc.compiler.instrument.own_part import own_part
from gridc.compiler.instrument.points import (
    Replies,
    ScorerCall,
    call_no_scorer,
    given_reading,
    points_earned,
    score_number,
)
from gridc.compiler.instrument.readers import FORMS, READERS, ResponseReader
from gridc.compiler.instrument.refusals import refusal_keywords
from gridc.compiler.instrument.setting import Setting
from gridc.schema.scores import BEHAVIOURS

Answers = Sequence[Mapping[str, Any]]
VERSIONS = {
    "normalise:none": 1,
    "normalise:token": 1,
    "normalise:char": 1,
    "normalise:byte": 1,
    "normalise:unconditional": 1,
    "ties:against_gold": 1,
    "ties:first": 1,
    "ties:last": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a sample came to.

    `choice` is the option's index (of `schema.scores.BEHAVIOURS` for a prompt to comply with or to refuse, of
    `schema.scores.MATCHES` for a free answer, of the labels of a judge or a function), or None when no
    answer could be read. `score` is in units of 1 / `Setting.scale`: 1 for a right option (`Item.right`) or
    answer and 0 for any other, or what the spec's own scores or its function say. An unreadable answer and a
    call that failed for good earn `Setting.credit`, and `choice` keeps the two apart, so that it can count or
    leave the denominator. `evidence` says how the choice was made.
    """

    choice: int | None
    score: int
    evidence: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What judges came to on a response: `choice` is the number of the `label` among the spec's, `labels`;
    None without one, and `why`. `by` says who decided, and `confidence` how sure that one judge was."""

    labels: tuple[str, ...]
    label: str | None
    by: str
    confidence: int | None = None
    why: str | None = None

    @property
    def choice(self) -> int | None:
        return None if self.label is None else self.labels.index(self.label)


def score_sample(
    setting: Setting,
    item: Item,
    answers: Answers,
    ruling: Ruling | None = None,
    scorers: ScorerCall = call_no_scorer,
) -> Outcome:
    """The outcome of a sample from the stored answers of its calls, in the order of the calls; where judges
    label responses from what they came to, and where a function scores by `scorers`, which calls it. Raises
    `ScorerError`."""
    failed = next((answer["error"]["kind"] for answer in answers if "error" in answer), None)
    if failed is not None:
        return Outcome(None, setting.credit, {"rule": None, "unread": f"no answer: {failed}"})
    if METHODS[setting.method].weighs:
        return _weigh(setting, item, answers)
    if setting.ranks:
        return _rank(setting, item, answers)
    if ruling is not None:
        return _ruled(setting, item, ruling)
    response = before_stop(answers[-1]["text"], setting.held("stop"))
    if METHODS[setting.method].scored:
        given = answers if setting.scaffolding is None else answers[:-1]  # the one that decides, once more
        replies = tuple(before_stop(answer["text"], setting.held("stop")) for answer in given)
        return _by_function(setting, item, response, replies, scorers)
    extraction = _read_response(setting, item, response)
    cut = answers[-1].get("finish") == "length" and response == answers[-1]["text"]
    if cut and not _outlives_the_cut(setting, item, extraction, response):
        extraction = Extraction(None, CUT)
    if extraction.option is None:
        return Outcome(None, setting.credit, {"rule": None, "unread": extraction.rule})
    evidence = {
        "rule": extraction.rule,
        "confidence": extraction.confidence,
        "start": extraction.start,
        "end": extraction.end,
    }
    if extraction.answer is not None:
        evidence["answer"] = extraction.answer
    if setting.counts_answers and setting.match is not None:
        found, count = contained(setting.match, item, response)
        evidence["answer"] = f"{found} of {count}"
        return Outcome(RIGHT if found == count else WRONG, round(setting.scale * found / count), evidence)
    return Outcome(extraction.option, earned(setting, item, extraction.option), evidence)


CUT = "cut off before an answer"
"""Why nothing is read of a response that its budget cut, though something in it looks like an answer."""


def _outlives_the_cut(setting: Setting, item: Item, extraction: Extraction, response: str) -> bool:
    """Whether what was read of a response that ends at its budget is an answer whatever would have followed:
    it is marked as one and closed before the cut, another question follows it, or a letter is all there
    is. How a response behaves, and a right answer that it contains, no end can change."""
    method = METHODS[setting.method]
    if extraction.option is None or method.one_token or method.reads_behaviour:
        return True
    if method.reads_answer and setting.match is not None and COMPARISONS[setting.match.kind].as_it_is:
        return True
    if _ended_before(setting, item, response):
        return True
    if setting.form is not None and extraction.rule == read_by(setting.form):
        return ANSWER_FORMS[setting.form].closes or "\n" in response[extraction.end :]
    rest = response[extraction.end :]
    if setting.match is None or not method.reads_answer:
        alone = not any(map(str.isalnum, response[: extraction.start] + rest))
        return alone or (extraction.confidence == "stated" and _CLOSED.match(rest) is not None)
    if setting.match.kind == "contains":
        return extraction.option == RIGHT
    closed = _CLOSED_NUMBER if setting.match.kind == "number" else _CLOSED_LINE
    return extraction.confidence == "stated" and closed.match(rest) is not None


def _ended_before(setting: Setting, item: Item, response: str) -> bool:
    """Whether the model's own part of a response ended before the response, where that part alone is read."""
    free = METHODS[setting.method].reads_answer
    if not free and not FORMS[setting.held("reader")].understands:
        return False
    part = own_part(response, item.stem, () if free else spoken_options(item))
    return part is not None and part[1] < len(response)


_CLOSED = re.compile(r"\W")
_CLOSED_NUMBER = re.compile(r"[.,]?[^\w.,]")
_CLOSED_LINE = re.compile(r"[^\S\n]*\n")


def _ruled(setting: Setting, item: Item, ruling: Ruling) -> Outcome:
    if ruling.choice is None or setting.scores is None:
        return Outcome(None, setting.credit, {"rule": None, "unread": f"no verdict: {ruling.why}"})
    evidence = {"rule": "judge", "label": ruling.label, "by": ruling.by, "confidence": ruling.confidence}
    return Outcome(ruling.choice, points_earned(setting.scores, item, ruling.choice, ruling.labels), evidence)


def _by_function(
    setting: Setting, item: Item, response: str, replies: Replies, scorers: ScorerCall
) -> Outcome:
    """What a function says of a response, the last of `replies` or the one that a scaffold ends with:
    `choice` is the number of its label, or 0 where it gives numbers."""
    if setting.scorer is None:
        raise ValueError("the method `scorer` needs the key `scorer`")  # GC302 comes first
    raw = scorers(setting.scorer, item, response, replies)
    given = given_reading(setting.scorer, setting.scores, item.id, raw)
    if given is None:
        return Outcome(None, setting.credit, {"rule": None, "unread": "the scorer reads no answer"})
    if isinstance(given, str):
        assert setting.scores is not None, "labels have scores"
        choice = setting.scores.labels.index(given)
        earns = points_earned(setting.scores, item, choice, setting.scores.labels)
        return Outcome(choice, earns, {"rule": "scorer", "label": given})
    numbers = {} if setting.scorer.score is None else {"numbers": dict(given)}
    return Outcome(0, score_number(setting.scorer, given), {"rule": "scorer", **numbers})


def earned(setting: Setting, item: Item, choice: int, judged: Sequence[str] = ()) -> int:
    """What a choice is worth, in units of 1 / `Setting.scale`. `judged` are the labels of the study's
    judge."""
    if setting.scores is not None:
        return points_earned(
            setting.scores, item, choice, METHODS[setting.method].names(judged, setting.scores)
        )
    return int(choice in _right_choices(setting, item)) * setting.scale


def chance(setting: Setting, items: Sequence[Item]) -> Fraction | None:
    """The mean score of one who picks each item's option at random; None where an answer is no option, and
    where several answers become one."""
    method = METHODS[setting.method]
    chooses = (method.ranks and not method.weighs) or method.reads_option
    if not setting.scored_singly or not chooses or not items or not all(item.options for item in items):
        return None
    expected = [
        Fraction(sum(earned(setting, item, choice) for choice in range(len(item.options))), len(item.options))
        for item in items
    ]
    return sum(expected, Fraction(0)) / (len(expected) * setting.scale)


def policies(setting: Setting, items: Sequence[Item]) -> dict[str, Fraction]:
    """The mean scores of one who complies with every prompt and of one who refuses every one; empty where
    something else is read, and where several answers become one."""
    if not setting.scored_singly or not METHODS[setting.method].reads_behaviour or not items:
        return {}
    return {
        name: Fraction(sum(earned(setting, item, choice) for item in items), len(items) * setting.scale)
        for choice, name in enumerate(BEHAVIOURS)
    }


def _right_choices(setting: Setting, item: Item) -> frozenset[int]:
    """The choices that earn the point."""
    if METHODS[setting.method].reads_answer:
        return frozenset((RIGHT,))
    return item.right if item.expected is None else frozenset((BEHAVIOURS.index(item.expected),))


def before_stop(text: str, stops: Sequence[str]) -> str:
    """The text before the first stop string."""
    return text[: min((place for stop in stops if (place := text.find(stop)) >= 0), default=len(text))]


MOST_REMEMBERED = 512
"""Characters of the longest response whose reading is remembered."""


def _read_response(setting: Setting, item: Item, text: str) -> Extraction:
    """What is read of a response: in the form that was asked for, if any, and else by phrases."""
    form, by_phrases = form_of(setting, item), READ[METHODS[setting.method].reads]
    if form is None:
        return by_phrases(setting, item, text)
    read = form.read_option(text) if form.options else _read_matched(form, setting, item, text)
    kept = read.rule not in (OUT_OF_FORM, NOT_AN_OPTION)
    return read if kept or setting.out_of_form == "unread" else by_phrases(setting, item, text)


def _read_matched(form: AskedForm, setting: Setting, item: Item, text: str) -> Extraction:
    """Whether the answer in the form is one of the item's right ones."""
    reading = form.read(text)
    if reading.answer is None or setting.match is None:
        return Extraction(None, reading.rule)
    compared = compare_answer(setting.match, item, reading.answer)
    if compared.right is None:
        return Extraction(None, f"{reading.rule}: {compared.rule}")  # it keeps the form all the same
    choice = RIGHT if compared.right else WRONG
    return Extraction(choice, reading.rule, "stated", *reading.span, compared.form)


def _read_option(setting: Setting, item: Item, text: str) -> Extraction:
    read = _remembered if len(text) <= MOST_REMEMBERED else _read
    reader = READERS[setting.held("reader")]
    return read(reader, text, spoken_options(item), setting.labels_of(item), item.stem)


def _read(
    reader: ResponseReader, text: str, options: tuple[str, ...], labels: tuple[str, ...], question: str
) -> Extraction:
    return reader(text, options, labels, question)


_remembered = lru_cache(maxsize=2**15)(_read)
"""An item is asked in hundreds of cells, and short answers to it are mostly the same few."""


def _read_answer(setting: Setting, item: Item, text: str) -> Extraction:
    if setting.match is None:
        raise ValueError("the method `match` needs the key `match`")  # GC302 comes first
    return read_answer(setting.match, item, text)


def _read_behaviour(setting: Setting, item: Item, text: str) -> Extraction:
    return refusal_keywords(text)


READ: Mapping[Reads | None, Callable[[Setting, Item, str], Extraction]] = {
    "option": _read_option,
    "free_text": _read_answer,
    "behaviour": _read_behaviour,
}
"""How a response is read, by what it says."""


def _rank(setting: Setting, item: Item, answers: Answers) -> Outcome:
    """The most likely candidate. Where a likelihood is not a number (None) there is no ranking and no
    choice."""
    ranked = item_candidates(setting.held("candidates"), item, setting.enumerator)
    conditional, tokens = answers[0]["loglikelihoods"], answers[0]["tokens"]
    if item.contexts:  # one call for each option
        conditional = [answer["loglikelihoods"][0] for answer in answers]
        tokens = [answer["tokens"][0] for answer in answers]
    if setting.normalise == "unconditional":
        prior = answers[1]["loglikelihoods"]
        pairs = zip(conditional, prior, ranked, strict=True)
        stated = [None if _is_missing(a) or _is_missing(b) else a - b for a, b, _ in pairs]
    else:
        lengths = {
            "none": [1] * len(ranked),
            "token": tokens,
            "char": [len(candidate.text) for candidate in ranked],
            "byte": [len(candidate.text.encode()) for candidate in ranked],
        }
        pairs = zip(conditional, lengths[setting.normalise], ranked, strict=True)
        stated = [None if _is_missing(value) else value / length for value, length, _ in pairs]
    values = [value for value in stated if value is not None]
    if len(values) < len(ranked):
        return Outcome(None, setting.credit, {"margin": None, "tied": 0})
    best = max(values)
    tied = [place for place, value in enumerate(values) if value == best]
    chosen = _untied(setting, tied, [earned(setting, item, ranked[place].option) for place in tied])
    choice = ranked[chosen].option
    evidence = {"margin": _margin(values), "tied": len(tied)}
    if len(ranked) > len(item.options):
        evidence["candidate"] = chosen
    return Outcome(choice, earned(setting, item, choice), evidence)


RAW_BITS = 8
"""Of a byte that nothing is known of."""


def _weigh(setting: Setting, item: Item, answers: Answers) -> Outcome:
    """How likely a text is. Its score is the share of its bits that a coder by this model saves,
    1 - bits / (8 bytes), and 0 where it saves none."""
    ((text, _),) = ((made.text, made.option) for made in item_candidates(setting.held("candidates"), item))
    (likelihood,) = answers[0]["loglikelihoods"]
    if _is_missing(likelihood):
        return Outcome(None, setting.credit, {"margin": None, "tied": 0})
    bits, size = -likelihood / log(2), len(text.encode())
    saved = max(0.0, 1 - bits / (RAW_BITS * size))
    return Outcome(0, round(saved * setting.scale), {"margin": None, "bits": round(bits, 6), "bytes": size})


def _is_missing(value: float | None) -> bool:
    return value is None or isnan(value)


def _untied(setting: Setting, tied: Sequence[int], earned: Sequence[int]) -> int:
    """Which of the most likely candidates is chosen; against_gold: the first of those that earn least."""
    if setting.ties == "against_gold":
        return tied[earned.index(min(earned))]
    return tied[0] if setting.ties == "first" else tied[-1]


def _margin(values: Sequence[float]) -> float | None:
    """How far the best candidate is ahead of the next, in nats; None beside an impossible one."""
    first, second = sorted(values, reverse=True)[:2]
    return round(first - second, 6) if isfinite(first) and isfinite(second) else None
