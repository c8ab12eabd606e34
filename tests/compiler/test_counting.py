"""What a plan counts without making every call, beside a walk that makes every call of drawn cells."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridc.compiler.compile import compile_spec
from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import Extent, Request
from gridc.compiler.lowering.counting import CallCounts, ModelCounts, count_calls, differing_axes
from gridc.compiler.lowering.plan import Plan
from gridc.schema.canonical import digest
from gridc.schema.effects import Scaffold
from gridc.schema.items import Sample
from tests.replaced import replaced

ALIKE = "What is number 5?"
"""A prompt that is the same of every item."""

LEVELS: Mapping[str, Sequence[Any]] = {
    "method": ("extract", "extract", "loglikelihood", "pair_likelihood", "text_likelihood"),
    "prompt": ("path:prompts/mine.jinja", "{{ question }}\nAnswer:{{ answer }}", ALIKE),
    "shots": (0, 2),
    "options": ("lettered", "none"),
    "option_order": ("shuffled:1", "shuffled:2"),
    "items": (None, Sample(n=3, seed=1)),
    "temperature": (0.0, 0.0, 0.7, 1),
    "replicates": (1, 2, 3),
    "max_tokens": (8, 16),
    "stop": ((), ("\n",)),
    "precision": ("fp32", "bf16"),
    "chat_template": (True, False),
    "system": (None, "Be brief."),
    "reader": ("last_answer", "answer_line"),
    "candidates": ("option_text", "letter", "whole_text"),
    "normalise": ("none", "char", "unconditional"),
    "ties": ("against_gold", "first"),
    "premise": ("", "Answer:"),
    "seam": ("shared_prefix", "context_length"),
    "delimiter": (None, " "),
    "scaffold": (
        None,
        None,
        Scaffold(kind="direct"),
        Scaffold(kind="map_reduce", workers=2),
        Scaffold(kind="vote", workers=2),
        Scaffold(kind="chain", wording={"facts": ("Think.", "Answer.")}),
    ),
}
"""Some are stated twice so that not every cell has a rare one."""

NARROW = ("temperature", "replicates", "max_tokens", "reader")
"""Cells that differ in these alone share many calls."""

RANKED = ("method", "candidates", "normalise", "ties", "premise", "seam", "delimiter")
"""What is beside the prompt in the calls of cells that rank."""


RIGHT = 'engine = "hf"\nsource = "path:models/right"'
MODELS = {
    "two models": RIGHT,
    "two names of one model": 'engine = "hf"\nsource = "path:models/left"',
    "one behind an address": 'engine = "api"\nsource = "gpt-4o-mini-2024-07-18"',
}


@pytest.fixture(scope="module", params=MODELS)
def plan(request: pytest.FixtureRequest, workshop: Path) -> Plan:
    """The small study, its second model stated in several ways."""
    spec = workshop.with_name("counted.toml")
    spec.write_text(replaced(workshop.read_text("utf-8"), (RIGHT, MODELS[request.param])), "utf-8")
    study = compile_spec(spec).study
    return Plan(replace(study, prompts={**study.prompts, ALIKE: ALIKE}))


@st.composite
def drawn_cells(draw: st.DrawFn) -> list[Cell]:
    """Cells that differ from a first one in a few keys."""
    first = {key: draw(st.sampled_from(levels)) for key, levels in LEVELS.items()}
    varied = draw(st.sampled_from([NARROW, RANKED, tuple(LEVELS)]))
    first |= {"method": "loglikelihood"} if varied is RANKED else {}
    cells = []
    for _ in range(draw(st.integers(1, 8))):
        keys = draw(st.lists(st.sampled_from(varied), max_size=3, unique=True))
        stated = first | {key: draw(st.sampled_from(LEVELS[key])) for key in keys}
        if stated["method"] != "extract":
            stated["scaffold"] = None
        levels = {key: str(stated[key]) for key in LEVELS}
        cells.append(Cell(draw(st.sampled_from(["left", "right"])), "facts", levels, Setting(**stated)))
    return cells


def by_walk(plan: Plan, cells: Sequence[Cell], answered: Sequence[Mapping[str, Any]]) -> CallCounts:
    """Every sample's calls, one after the other, in sets."""
    digests = {name: identity.digest for name, identity in plan.study.models.items()}
    named = {digest: name for name, digest in reversed(digests.items())}
    every: list[Request] = []
    own: dict[str, list[Request]] = {name: [] for name in named.values()}
    first: dict[str, Cell] = {}
    shared: Counter[str] = Counter()
    later: dict[str, Extent] = {}
    extents: dict[bytes, Extent] = {}
    samples = 0
    for cell in cells:
        here: dict[str, Request] = {}
        extent = Extent()
        for sample in plan.samples(cell):
            samples += 1
            every += sample.requests
            own[named[digests[cell.model]]] += sample.requests
            here |= {request.id: request for request in sample.requests}
            if sample.scaffolded is not None:
                extent += sample.scaffolded.extent()
        for call in here if plan.draws(cell) else ():
            if call in first:
                shared[differing_axes(first[call], cell)] += 1
            first.setdefault(call, cell)
        if cell.setting.scaffolding is not None:
            name = named[digests[cell.model]]
            extent = extents.setdefault(cell.setting.key, extent)
            later[name] = later.get(name, Extent()) + extent
    distinct = {request.id: request for request in every}
    stored = {digest(request) for request in answered} & distinct.keys()
    models = {}
    for name, requests in own.items():
        calls = {request.id for request in requests}
        share = len(calls) / len(requests) if requests else 0.0
        characters = sum(
            request.prompt.characters + sum(map(len, request.parameters.get("continuations", ())))
            for request in requests
        )
        most = sum(request.parameters.get("max_tokens", 0) for request in requests)
        models[name] = ModelCounts(
            len(calls),
            len({(request.precision, request.prompt.id) for request in requests}),
            len(calls & stored),
            round(characters * share),
            round(most * share),
            later[name].rounded() if name in later else None,
        )
    kinds = Counter(request.kind for request in distinct.values())
    return CallCounts(
        len(cells),
        sum(cell.setting.replicates for cell in cells),
        samples,
        len(every),
        len(distinct),
        len({(request.model, request.precision, request.prompt.id) for request in every}),
        dict(sorted(kinds.items())),
        models,
        dict(shared.most_common()),
    )


@given(st.data())
@settings(max_examples=150)
def test_drawn_cells_are_counted_as_a_walk_counts_them(plan: Plan, data: st.DataObject) -> None:
    cells = data.draw(drawn_cells())
    calls = [request for cell in cells for sample in plan.samples(cell) for request in sample.requests]
    answered = {request.id: request.as_json() for request in data.draw(st.lists(st.sampled_from(calls)))}
    for member, value in (("max_tokens", 7), ("item", "another"), ("replicate", 3), ("prompt", "0" * 64)):
        other = {**calls[0].as_json(), member: value}
        answered[digest(other)] = other
    found, walked = count_calls(plan, cells, answered.values()), by_walk(plan, cells, [*answered.values()])
    assert found == walked
    assert list(found.by_kind) == list(walked.by_kind)
    assert list(found.shared_draws.values()) == sorted(walked.shared_draws.values(), reverse=True)
    assert count_calls(plan, cells).models["left"].stored is None


def test_a_call_is_the_parts_that_it_shares_and_no_other(plan: Plan) -> None:
    """Of every cell the parts of all its calls are known before one is made."""
    for cell in plan.cells():
        for sample in plan.samples(cell):
            for request in sample.requests:
                assert request.parts.sender == plan.sender(cell)
                drawn = cell.setting.temperature > 0
                place = (sample.item.id, sample.replicate) if drawn else (None, None)
                assert (request.parts.item, request.parts.replicate) == place


def test_replicates_are_counted_without_being_asked(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same prompts are rendered for two replicates and for a billion."""
    rendered = Counter[int]()
    render = Plan._prompt

    def counted(*arguments: Any) -> Any:
        rendered[replicates] += 1
        return render(*arguments)

    monkeypatch.setattr(Plan, "_prompt", counted)
    cell = next(cell for cell in plan.cells() if cell.setting.temperature)
    for replicates in (2, 10**9):
        many = replace(cell, setting=replace(cell.setting, replicates=replicates))
        found = count_calls(plan, [many, replace(many, levels={**cell.levels, "template": "again"})])
        items = len(plan.items(cell))
        assert (found.calls, found.unique) == (2 * items * replicates, items * replicates)
        assert found.shared_draws == {"template": items * replicates}
    assert set(rendered.values()) == {len(plan.items(cell))}


def test_equal_shares_come_in_the_order_of_the_cells(plan: Plan) -> None:
    cell = next(cell for cell in plan.cells() if cell.setting.temperature)
    names = [("plain", "warm", "read"), ("plain", "warm", "b"), ("c", "warm", "read"), ("c", "warm", "b")]
    cells = [replace(cell, levels=dict(zip(cell.levels, name, strict=True))) for name in names]
    assert list(count_calls(plan, cells).shared_draws) == ["scoring", "template", "template, scoring"]


UNWRITTEN: Sequence[dict[str, Any]] = (
    {"replicate": "0"},
    {"replicate": -1},
    {"replicate": 2**40},
    {"item": 3},
    {"item": None},
    {"temperature": float("nan")},
    {"prompt": None},
)


@pytest.mark.parametrize("change", UNWRITTEN)
def test_a_stored_request_that_gridc_does_not_write_is_none_of_the_plan(
    plan: Plan, change: dict[str, Any]
) -> None:
    cell = next(cell for cell in plan.cells() if cell.setting.temperature)
    call = next(plan.samples(cell)).requests[0].as_json()
    assert count_calls(plan, [cell], [call]).models["left"].stored == 1
    assert count_calls(plan, [cell], [call | change]).models["left"].stored == 0
