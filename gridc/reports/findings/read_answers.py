"""Prompts and answers of a store, for people: what an item asks, what a model said to it, what that was read
as and what it earned. All of it comes from the store and the plan, so that a bundle without the items shows
the same."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.scores import item_outcomes
from gridc.reports.prompt_reading import options_in_prompt, question_in
from gridc.runtime.store.reader import LOGGED, NO_PROMPT
from gridc.runtime.store.store import Store

Options = tuple[tuple[str, str], ...]
"""Options as a prompt shows them: label and text."""


class OneAnswer(NamedTuple):
    """What one answer was read to, what it earned, and its text; None where there is none."""

    choice: int | None
    score: int | None
    text: str | None


@dataclass(frozen=True, slots=True)
class ReadAnswers:
    """All answers of a cell to an item, by replicate, and what share of a point they earned together; None
    while one has no score."""

    answers: tuple[OneAnswer, ...]
    share: Fraction | None

    @property
    def first(self) -> OneAnswer:
        return self.answers[0]


def read_answers(store: Store, plan: Plan, cell: Cell) -> dict[str, ReadAnswers]:
    """The answers of a cell by item, in the order of the items' ids."""
    made = {} if cell.setting.scored_singly else _made(store, plan, cell)
    found = {}
    for item, rows in groupby(store.sample_rows(plan.study_digest, cell.key), itemgetter(0)):
        answers = tuple(OneAnswer(choice, score, text) for _, _, choice, score, _, _, text in rows)
        found[item] = ReadAnswers(answers, made[item] if item in made else _share(answers, cell))
    return found


def _share(answers: Sequence[OneAnswer], cell: Cell) -> Fraction | None:
    scores = [answer.score for answer in answers if answer.score is not None]
    return Fraction(sum(scores), len(scores) * cell.setting.scale) if len(scores) == len(answers) else None


def _made(store: Store, plan: Plan, cell: Cell) -> dict[str, Fraction | None]:
    """The score of each item where one is made of several answers, or of the items of a group."""
    outcomes = item_outcomes([cell], store, plan.study_digest)[cell.key]
    rows = zip(
        outcomes.items,
        outcomes.correct.tolist(),
        outcomes.trials.tolist(),
        outcomes.scored.tolist(),
        strict=True,
    )
    scale = cell.setting.item_scale
    return {
        item: Fraction(earned, trials * scale) if scored == trials else None
        for item, earned, trials, scored in rows
    }


def items_that_differ(
    a: Mapping[str, ReadAnswers], b: Mapping[str, ReadAnswers], items: Iterable[str]
) -> list[str]:
    """Those of the items on which two models earned different shares, the largest difference first; of equal
    ones those that both models' answers show, then in the order of the items."""
    apart = {}
    for item in items:
        one, other = a[item].share, b[item].share
        if one is not None and other is not None and one != other:
            apart[item] = abs(one - other)
    return sorted(apart, key=lambda item: (-apart[item], not _both_read(a[item].first, b[item].first)))


def _both_read(one: OneAnswer, other: OneAnswer) -> bool:
    return one.choice is not None and other.choice is not None


@dataclass(frozen=True, slots=True)
class AskedItem:
    """What an item asks, empty where the store has no prompt, and the options that its prompt shows."""

    question: str
    options: Options


def asked_item_of(store: Store, plan: Plan, cell: Cell, item: Item) -> AskedItem:
    """What the user says last in the first prompt of an item in a cell, and the options in it."""
    messages = store.first_messages(plan.study_digest, cell.key, item.id)
    said = [text for role, text in messages if role in ("user", LOGGED) and text != NO_PROMPT]
    prompt = said[-1] if said else ""
    options = options_in_prompt(prompt, len(item.options)) if len(item.options) > 1 else ()
    return AskedItem(question_in(prompt, bool(options)), options)


def read_as(plan: Plan, cell: Cell, choice: int | None, options: Options) -> str:
    """What an answer was read as, in words."""
    names = METHODS[cell.setting.method].names(
        plan.study.spec.verdicts(cell.setting.judge), cell.setting.scores
    )
    if choice is None:
        return "unreadable"
    if names is not None:
        return names[choice] if 0 <= choice < len(names) else f"label {choice + 1}"
    return ". ".join(options[choice]) if 0 <= choice < len(options) else f"option {choice + 1}"
