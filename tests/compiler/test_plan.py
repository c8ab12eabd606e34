"""Counts of a plan, derived a second time from the spec's values by plain loops."""

import json
import tomllib
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.grid.cells import Cell
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import SpecError

Compile = Callable[..., Compiled]
Row = dict[str, dict[str, Any]]
"""A configuration: axis id -> the level's table."""


def rows(values: dict[str, Any]) -> Iterator[Row]:
    """The configurations that the card's one exclusion leaves: no sampled likelihood rankings."""
    axes = [(axis["id"], axis["level"]) for axis in values["axis"]]
    for levels in product(*(levels for _, levels in axes)):
        row = {name: level for (name, _), level in zip(axes, levels, strict=True)}
        if not (row["scoring"]["id"] == "logprob" and row["decoding"]["id"] != "greedy"):
            yield row


def stems(card: Path, benchmark: dict[str, Any]) -> list[str]:
    """The question texts of a file that ships with gridc."""
    text = (
        card.parent / "gridc" / "builtin" / "benchmarks" / benchmark["source"].removeprefix("builtin:")
    ).read_text("utf-8")
    if benchmark["loader"] == "bbq":
        lines = [json.loads(line) for line in text.splitlines()]
        return [f"{line['context']}\n{line['question']}" for line in lines]
    return [row["question"] for row in json.loads(text)]


def test_the_counts_of_the_repositorys_card_follow_from_its_values(card: Path) -> None:
    values = tomllib.loads(card.read_text("utf-8"))
    models, kept = len(values["model"]), list(rows(values))
    (why,) = [each["why"] for each in values["exclude"]]
    every = 1
    for axis in values["axis"]:
        every *= len(axis["level"])
    replicates = [row["decoding"].get("replicates", 1) for row in kept]
    stress = [any(level["tier"] == "stress" for level in row.values()) for row in kept]
    calm = [
        row["template"]["id"] in ("T1", "T3")
        and row["decoding"]["id"] == "greedy"
        and row["few_shot"]["id"] == "0"
        for row in kept
    ]
    ranked = [row["scoring"]["id"] == "logprob" for row in kept]
    shown = [(row["template"]["id"], row["few_shot"]["id"]) for row in kept]
    # Exemplars answer with a letter, and with a text where texts are ranked.
    prompts = {(*each, is_ranked and each[1] != "0") for each, is_ranked in zip(shown, ranked, strict=True)}
    items = sum(each["sample"]["n"] for each in values["benchmark"])

    compiled = compile_spec(card)
    found = Plan(compiled.study).manifest().as_json()

    assert found["models"] == [each["id"] for each in values["model"]]
    assert found["cells"] == models * len(kept) * len(values["benchmark"])
    assert found["runs"] == models * sum(replicates) * len(values["benchmark"])
    assert found["envelopes"] == [
        {
            "benchmark": each["id"],
            "items": each["sample"]["n"],
            "distinct": 0,
            "observations": each["sample"]["n"] * models * sum(replicates),
            "cells": models * len(kept),
            "runs": models * sum(replicates),
            "size": len(kept),
            "tiers": {"core": stress.count(False), "stress": stress.count(True)},
            "slices": {
                "conservative_core": sum(calm),
                "free_form": ranked.count(False),
                "logprob": ranked.count(True),
            },
            "excluded": {why: models * (every - len(kept))},
        }
        for each in values["benchmark"]
    ]
    for each in values["benchmark"]:
        texts = stems(card, each)
        assert len(set(texts)) == len(texts), "equal questions would share their calls"
    samples = models * sum(replicates) * items
    assert found["curves"] == {}
    by_model = found["counts"].pop("models")
    assert sum(each["calls"] for each in by_model.values()) == samples
    assert found["counts"] == {
        "cells": found["cells"],
        "runs": found["runs"],
        "samples": samples,
        "calls": samples,
        "unique": samples,
        "prompts": models * len(prompts) * items,
        "by_kind": {
            "generate": models
            * items
            * sum(n for n, is_ranked in zip(replicates, ranked, strict=True) if not is_ranked),
            "loglikelihood": models * items * sum(ranked),
        },
        "shared_draws": {},
    }
    assert found["unpinned"] == {}


def test_the_card_has_the_papers_numbers_of_configurations(card: Path) -> None:
    found = Plan(compile_spec(card).study).envelope("pocket_bbq")
    assert (found.size, dict(found.tiers)) == (48, {"core": 27, "stress": 21})
    assert dict(found.slices) == {"conservative_core": 4, "free_form": 36, "logprob": 12}


def cells(compiled: Compiled) -> list[Cell]:
    return list(Plan(compiled.study).cells())


def test_the_small_spec_by_hand(compiled: Compile) -> None:
    """2 templates x (greedy read, greedy rank, warm read with 2 replicates) for 2 models on 4 items.
    Exemplars answer with a letter, and with a text where texts are ranked."""
    found = Plan(compiled().study).manifest().as_json()
    assert (found["cells"], found["runs"]) == (12, 16)
    assert list(found["counts"].pop("models")) == ["left", "right"]
    assert found["counts"] == {
        "cells": 12,
        "runs": 16,
        "samples": 64,
        "calls": 64,
        "unique": 64,
        "prompts": 32,
        "by_kind": {"generate": 48, "loglikelihood": 16},
        "shared_draws": {},
    }
    (envelope,) = found["envelopes"]
    assert envelope == {
        "benchmark": "facts",
        "items": 4,
        "distinct": 0,
        "observations": 64,
        "cells": 12,
        "runs": 16,
        "size": 6,
        "tiers": {"core": 3, "stress": 3},
        "slices": {"calm": 4},
        "excluded": {"a ranking is not sampled": 4},
    }


def test_levels_that_only_read_an_answer_differently_share_its_calls(compiled: Compile) -> None:
    level = '[[axis.level]]\nid = "{0}"\ntier = "core"\nnormalise = "{0}"\nprovenance = "ours"\n'
    axis = '[[axis]]\nid = "normalise"\n' + level.format("none") + level.format("char")
    idle = '\n[[exclude]]\nwhen = { normalise = "char", scoring = "read" }\nwhy = "nothing is ranked"\n'
    counts = Plan(compiled(("[[exclude]]", axis + idle + "\n[[exclude]]")).study).counts()
    assert (counts.cells, counts.samples) == (16, 80)
    assert counts.unique == 64


READERS = """[[axis]]
id = "reader"
[[axis.level]]
id = "last"
tier = "core"
reader = "last_answer"
provenance = "ours"
[[axis.level]]
id = "line"
tier = "core"
reader = "answer_line"
provenance = "ours"

[[exclude]]
when = { reader = "line", scoring = "rank" }
why = "nothing is read"

[[exclude]]"""


def test_levels_that_share_a_drawn_answer_are_counted_or_draw_apart(compiled: Compile) -> None:
    """2 models x 2 templates x 4 items x 2 replicates are drawn, and read in two ways."""
    shared = Plan(compiled(("[[exclude]]", READERS)).study).counts()
    assert shared.shared_draws == {"reader": 2 * 2 * 4 * 2}
    apart = ("seed = 7", 'seed = 7\nindependent = ["reader"]')
    plan = Plan(compiled(apart).study)
    counts = plan.counts()
    assert (counts.shared_draws, counts.unique) == ({}, shared.unique + 32)
    arms = {
        request.parameters["arm"]
        for cell in plan.cells()
        for sample in plan.samples(cell)
        for request in sample.requests
        if "arm" in request.parameters
    }
    assert arms == {"reader=last", "reader=line"}
    with pytest.raises(SpecError, match="GC202 no axis is called `reders`"):
        compiled(('["reader"]', '["reders"]'))


def test_two_names_of_the_same_files_are_one_model_to_the_calls(compiled: Compile) -> None:
    counts = Plan(compiled(('"path:models/right"', '"path:models/left"')).study).counts()
    assert (counts.calls, counts.unique) == (64, 32)


def test_templates_that_render_alike_share_their_calls(compiled: Compile, small: Path) -> None:
    (small.parent / "prompts" / "mine.jinja").write_text("{{ stem }}\n{{ options }}\nAnswer:{{ answer }}")
    counts = Plan(compiled().study).counts()
    assert (counts.calls, counts.unique) == (64, 32)


def test_what_is_sampled_is_asked_once_for_each_replicate_and_greedy_answers_once(compiled: Compile) -> None:
    plan = Plan(compiled().study)
    for cell in plan.cells():
        samples = list(plan.samples(cell))
        requests = {request.id for sample in samples for request in sample.requests}
        assert len(requests) == len(samples) == 4 * cell.setting.replicates
        parameters = [request.parameters for sample in samples for request in sample.requests]
        sampled = cell.setting.temperature > 0
        assert all(
            ("seed" in each) is ("replicate" in each) is ("top_p" in each) is sampled for each in parameters
        )


def test_a_configuration_that_one_model_lacks_is_outside_the_envelope(compiled: Compile) -> None:
    when = '{ model = "left", template = "file", decoding = "warm" }'
    lacks = f'[[exclude]]\nwhen = {when}\nwhy = "too long"\n\n[[slice]]'
    plan = Plan(compiled(("[[slice]]", lacks)).study)
    envelope = plan.envelope("facts")
    assert (envelope.size, dict(envelope.tiers)) == (5, {"core": 3, "stress": 2})
    assert dict(envelope.excluded) == {"a ranking is not sampled": 4, "too long": 1}
    names = {(cell.model, cell.configuration): cell.shared for cell in plan.cells()}
    assert len(names) == 11
    assert [key for key, shared in names.items() if not shared] == [
        ("right", "template=file,decoding=warm,scoring=read")
    ]


def test_cells_come_in_the_order_of_the_spec_with_their_names(compiled: Compile) -> None:
    found = cells(compiled())
    assert [each.key for each in found[:3]] == [
        "left/facts/template=plain,decoding=greedy,scoring=read",
        "left/facts/template=plain,decoding=greedy,scoring=rank",
        "left/facts/template=plain,decoding=warm,scoring=read",
    ]
    assert len({each.key for each in found}) == len(found)
    assert [each.model for each in found] == ["left"] * 6 + ["right"] * 6


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ((), "fp32"),
        ((("[harness]", '[harness]\nprecision = "bf16"'),), "bf16"),
        (
            (
                ("[harness]", '[harness]\nprecision = "bf16"'),
                ('source = "path:models/left"', 'source = "path:models/left"\nprecision = "fp16"'),
            ),
            "fp16",
        ),
        (
            (
                ('source = "path:models/left"', 'source = "path:models/left"\nprecision = "fp16"'),
                ('method = "extract"', 'method = "extract"\nprecision = "nf4"'),
            ),
            "nf4",
        ),
    ],
    ids=["default", "harness", "model over harness", "axis over model"],
)
def test_a_key_is_taken_from_the_nearest_place_that_sets_it(
    compiled: Compile, edits: tuple[tuple[str, str], ...], expected: str
) -> None:
    assert cells(compiled(*edits))[0].setting.precision == expected


def test_a_study_without_its_items_has_cells_and_no_calls(compiled: Compile) -> None:
    found = Plan(compiled(('"path:facts.json"', '"data:facts.json"')).study).manifest().as_json()
    assert (found["cells"], found["counts"]) == (12, None)
    assert list(found["unpinned"]) == ["facts"]
    assert found["envelopes"][0]["items"] == 4, "the sample says how many"
    assert found["observations"] == 64


def test_observations_are_unknown_where_nothing_says_how_many_items_there_are(compiled: Compile) -> None:
    edits = (('"path:facts.json"', '"data:facts.json"'), ("sample = { n = 4, seed = 1 }\n", ""))
    found = Plan(compiled(*edits).study).manifest().as_json()
    assert (found["runs"], found["observations"]) == (16, None)


def test_a_level_that_asks_a_part_of_the_items_makes_fewer_observations(compiled: Compile) -> None:
    part = (
        'prompt = "path:prompts/mine.jinja"',
        'prompt = "path:prompts/mine.jinja"\nitems = { n = 3, seed = 1 }',
    )
    here = Plan(compiled(part).study).manifest().as_json()
    assert here["observations"] == here["counts"]["samples"] == 8 * 4 + 8 * 3
    absent = Plan(compiled(('"path:facts.json"', '"data:facts.json"')).study).manifest().as_json()
    assert (absent["observations"], absent["counts"]) == (8 * 4 + 8 * 3, None)


def test_tests_are_made_on_the_primary_part_of_the_grid(compiled: Compile) -> None:
    primary = ("[analysis]", '[analysis]\nprimary = { decoding = "warm" }')
    found = Plan(compiled(primary).study).manifest().as_json()
    assert (found["cells"], found["observations"]) == (12, 64)
    assert found["primary"] == {"cells": 4, "observations": 2 * 4 * 4}


@pytest.mark.parametrize("turn", ["system", "user"])
def test_a_system_prompt_stands_in_its_own_turn_or_ahead_of_the_users_text(
    compiled: Compile, turn: str
) -> None:
    system = f'[harness]\nsystem = "Be brief."\nsystem_turn = "{turn}"'
    plan = Plan(compiled(("[harness]", system)).study)
    (plain,) = {each.requests[0].prompt.messages for each in list(plan.samples(next(plan.cells())))[:1]}
    text = next(content for role, content in plain if role == "user")
    if turn == "system":
        assert plain == (("system", "Be brief."), ("user", text))
        assert "Be brief." not in text
    else:
        assert plain == (("user", text),)
        assert text.startswith("Be brief.\n\n")


def test_where_a_system_prompt_stands_means_nothing_without_one(compiled: Compile) -> None:
    axis = '[[axis]]\nid = "turn"\n\n' + "\n".join(
        f'[[axis.level]]\nid = "{turn}"\ntier = "core"\nsystem_turn = "{turn}"\nprovenance = "ours"\n'
        for turn in ("system", "user")
    )
    with pytest.raises(SpecError, match="`turn` changes nothing"):
        compiled(('[[axis]]\nid = "scoring"', axis + '\n[[axis]]\nid = "scoring"'))
