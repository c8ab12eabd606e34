"""Labels that people gave to responses of a study outside of gridc: which responses they are of.

A row names its response by item and model, and where that leaves a choice by benchmark, configuration and
replicate. Nothing is guessed: what could be two responses is an error that says which column tells them
apart.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, FileError
from gridc.reports.exchange.audit_sheet import SHOWN, FilledRow, meant
from gridc.runtime.blinding import SampleKey, Sheet, allowed_labels, auditable, places_of
from gridc.runtime.store.store import Store
from gridc.schema.models import Model

Votes = dict[SampleKey, dict[str, str]]
"""Labels by the place of the response and by who gave it."""


class ReadVotes(NamedTuple):
    """The labels of a file that are new. `before` counts those that are in the study already, as they are
    here, and `comments` the rows that have a comment and no label."""

    votes: Votes
    before: int
    comments: int


_NAMED = 8
"""Names that a way out lists."""
_Choice = TypeVar("_Choice")


class _Wrong(Exception):
    """What is wrong with a row: code, message, and the way out."""


class _AskedCell(NamedTuple):
    """A cell, its items by name, and where its responses stand."""

    cell: Cell
    items: Mapping[str, Item]
    places: frozenset[SampleKey]


class _Responses:
    """The responses of a study that people can label, as rows name them."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan, self._store = plan, store
        self._spec = plan.study.spec

    @cached_property
    def _asked(self) -> list[_AskedCell]:
        return [
            _AskedCell(
                cell,
                {item.id: item for item in self._plan.items(cell)},
                frozenset(places_of(self._plan, self._store, cell)),
            )
            for cell in auditable(self._plan)
        ]

    def labelled(self, row: FilledRow) -> tuple[SampleKey, str]:
        """The place of the response of a row, and its label. Raises `_Wrong`."""
        model, item = self._model(row.cells.get("model", "")), row.cells.get("item", "")
        asked = [each for each in self._asked if each.cell.model == model]
        asked = _chosen("benchmark", row, asked, [each.cell.benchmark for each in asked])
        having = [each for each in asked if item in each.items]
        if not having:
            known = [name for each in asked for name in each.items]
            message = f"no item that {model} was asked is called `{item[:60]}`"
            raise _Wrong("GC662", message, _one_of(known) or "take the row out: people can label none of it")
        having = _chosen("benchmark", row, having, [each.cell.benchmark for each in having], True)
        having = _chosen("configuration", row, having, [each.cell.configuration for each in having], True)
        (found,) = having
        replicates = [str(number) for number in range(found.cell.setting.replicates)]
        (replicate,) = _chosen("replicate", row, replicates, replicates, True)
        place = found.cell.key, item, int(replicate)
        if place not in found.places:
            message = f"there is no response to `{item[:60]}`, because a call of {model} failed"
            raise _Wrong("GC662", message, "take the row out")
        return place, self._label(row.label, found.cell, found.items[item])

    def _model(self, name: str) -> str:
        """The id of the model that a row names by its id or by its source."""
        models = self._spec.model
        named = [model.id for model in models if model.id == name] or [
            model.id for model in models if name and name in _sources(model)
        ]
        if len(named) == 1:
            return named[0]
        if named:
            message = f"`{name}` is the source of {' and of '.join(named)}"
            raise _Wrong("GC662", message, "name the model as the study does")
        raise _Wrong(
            "GC662", f"no model of this study is called `{name[:60]}`", _one_of([m.id for m in models])
        )

    def _label(self, label: str, cell: Cell, item: Item) -> str:
        allowed = allowed_labels(self._spec, cell, item)
        known = meant(label, allowed)
        if known is not None:
            return known
        help = f"one of: {', '.join(allowed)}"
        if label.isdecimal():
            help = f"a number may count from 0 or from 1: write {help}"
        if not label:
            raise _Wrong("GC663", f"`{item.id}` has no label here", f"take the row out, or write {help}")
        raise _Wrong("GC663", f"`{label[:40]}` is none of the labels of `{item.id}`", help)


def _sources(model: Model) -> tuple[str, str, str]:
    """A source, the same without the word in front that says what it is, and its last part."""
    return model.source, model.source.partition(":")[2], re.split(r"[/:]", model.source)[-1]


def _one_of(names: Sequence[str]) -> str:
    some = list(dict.fromkeys(names))
    rest = f", and {len(some) - _NAMED:,} more" if len(some) > _NAMED else ""
    return f"one of: {', '.join(some[:_NAMED])}{rest}" if some else ""


def _chosen(
    column: str, row: FilledRow, choices: Sequence[_Choice], names: Sequence[str], single: bool = False
) -> list[_Choice]:
    """Those that a column names, or all where it says nothing; one of them, where it has to be `single`.
    Raises `_Wrong`."""
    wanted = row.cells.get(column, "")
    if wanted:
        found = [choice for choice, name in zip(choices, names, strict=True) if name == wanted]
        if not found:
            message = f"no {column} of a response to this item is called `{wanted[:80]}`"
            raise _Wrong("GC662", message, _one_of(names))
        return found
    if single and len(set(names)) > 1:
        help = f"say which in a column `{column}`, {_one_of(names)}"
        raise _Wrong("GC662", f"there are responses of several {column}s to this item", help)
    return list(choices)


def votes_in(plan: Plan, store: Store, filled: Sequence[FilledRow], earlier: Sequence[Sheet]) -> ReadVotes:
    """The labels of the rows. `earlier` are the sheets there are: what somebody gave before is locked, and
    the same again adds nothing to it.

    Raises `FileError` with what is wrong in them (GC662, GC663, GC665), each at its line, and where no label
    is new (GC663, GC665).
    """
    votes: Votes = {}
    labelled = [row for row in filled if row.label or not row.cells.get("comment")]
    before = _before(plan, store, earlier)
    problems = list(_problems(_Responses(plan, store), labelled, before, votes))
    if problems:
        raise FileError(problems[:SHOWN])
    new = sum(len(given) for given in votes.values())
    if not new:
        path = str(filled[0].file)
        if not labelled:
            raise FileError([Diagnostic("GC663", "no row has a label", path, help="label a response")])
        names = ", ".join(sorted({about for about, _ in before.values()}))
        message = f"every label was read before, as {names}, and is locked"
        raise FileError([Diagnostic("GC665", message, path, help="`gridc report` has the agreement")])
    return ReadVotes(votes, len(labelled) - new, len(filled) - len(labelled))


def _before(
    plan: Plan, store: Store, earlier: Sequence[Sheet]
) -> dict[tuple[SampleKey, str], tuple[str, str]]:
    """Who labelled which response in what was given before: the name of that, and the label."""
    return {
        (sheet.blind.places[uuid], annotator): (sheet.about, label)
        for sheet in earlier
        if sheet.design.given
        for uuid, given in store.labels(plan.study_digest, sheet.about).items()
        for annotator, label in given.items()
    }


def _problems(
    responses: _Responses,
    filled: Sequence[FilledRow],
    before: Mapping[tuple[SampleKey, str], tuple[str, str]],
    votes: Votes,
) -> Iterator[Diagnostic]:
    """What is wrong, the same thing once; labels that are right are added to the votes."""
    lines: dict[tuple[SampleKey, str], int] = {}
    told: set[tuple[str, str]] = set()
    for row in filled:
        try:
            place, label = responses.labelled(row)
            key = place, row.annotator
            if key in before and before[key][1] != label:
                about, locked = before[key]
                message = f"the label of this response was read before, as {about}, and is locked: `{locked}`"
                raise _Wrong("GC665", message, "put that label back, or take the row out")
            if key in lines:
                message = f"this response stands here and on line {lines[key]}"
                help = "keep only the row whose label counts; who labelled stands in a column `annotator`"
                raise _Wrong("GC665", message, help)
        except _Wrong as wrong:
            code, message, help = wrong.args
            if (message, help) not in told:
                told.add((message, help))
                yield row.problem(code, message, help)
            continue
        lines[key] = row.line
        if key not in before:
            votes.setdefault(place, {})[row.annotator] = label
