"""What a plan costs and has gained: against plain sums, a real tokenizer, and litellm's own table."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.lock.deviations import against
from gridc.compiler.lowering.estimate import estimate_cost
from gridc.compiler.lowering.plan import Plan

Compile = Callable[..., Compiled]


def test_what_each_model_is_sent_is_summed_over_its_distinct_calls(compiled: Compile) -> None:
    plan = Plan(compiled().study)
    calls = {
        (cell.model, request.id): request
        for cell in plan.cells()
        for sample in plan.samples(cell)
        for request in sample.requests
    }
    counts = plan.counts()
    for name in ("left", "right"):
        mine = [request for (model, _), request in calls.items() if model == name]
        found = counts.models[name]
        assert found.calls == len(mine)
        assert found.prompts == len({request.prompt.id for request in mine})
        assert found.stored is None
        longest = sum(request.parameters.get("max_tokens", 0) for request in mine)
        assert found.generated_tokens == longest
        sent = sum(
            sum(len(text) for _, text in request.prompt.messages)
            + sum(map(len, request.parameters.get("continuations", ())))
            for request in mine
        )
        assert found.prompt_characters == sent


def test_calls_that_a_store_has_are_counted_and_cost_no_time(compiled: Compile) -> None:
    plan = Plan(compiled().study)
    cell = next(cell for cell in plan.cells() if cell.model == "right")
    known = {each.id: each.as_json() for sample in plan.samples(cell) for each in sample.requests}
    (one, *_) = known.values()
    others = [{**one, **other} for other in ({"max_tokens": 7}, {"prompt": "0" * 64}, {"replicate": 0})]
    counts = plan.counts([*known.values(), *others])
    assert counts.models["right"].stored == len(known)
    assert counts.models["left"].stored == 0
    speeds = {plan.study.models["right"].digest: 2.0}
    found = estimate_cost(plan.study, counts, plan.prompts(), speeds)
    assert found["right"].seconds == 2.0 * (counts.models["right"].calls - len(known))
    assert found["left"].seconds is None
    assert found["left"].usd is None


def test_tokens_are_counted_with_the_models_own_tokenizer(card: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    study = compile_spec(card).study
    plan = Plan(study)
    found = estimate_cost(study, plan.counts(), plan.prompts(), {})["llama"]
    assert found.basis == "its tokenizer on 100 prompts"
    folder = study.models["llama"].folder
    assert folder is not None
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    requests = {
        request.id: request
        for cell in plan.cells()
        if cell.model == "llama"
        for sample in plan.samples(cell)
        for request in sample.requests
    }
    texts = [
        "".join([request.prompt.messages[-1][1], *request.parameters.get("continuations", ())])
        for request in list(requests.values())[::50]
    ]
    tokens = sum(len(each.ids) for each in tokenizer.encode_batch(texts, add_special_tokens=False))
    assert found.prompt_tokens / len(requests) == pytest.approx(tokens / len(texts), rel=0.1)


def test_prompts_without_a_character_have_an_estimate_too(compiled: Compile) -> None:
    """As texts behind nothing have."""
    study = compiled().study
    plan = Plan(study)
    bases = {row.basis for row in estimate_cost(study, plan.counts(), ["", ""], {}).values()}
    assert bases == {"4 characters per token"}


def test_money_is_that_of_litellms_table(compiled: Compile) -> None:
    litellm = pytest.importorskip("litellm")
    name = "gpt-4o-mini-2024-07-18"
    api = f'engine = "api"\nsource = "{name}"'
    study = compiled(('engine = "hf"\nsource = "path:models/right"', api)).study
    plan = Plan(study)
    counts = plan.counts()
    found = estimate_cost(study, counts, plan.prompts(), {})["right"]
    prices = json.loads(
        (Path(litellm.__file__).parent / "model_prices_and_context_window_backup.json").read_text("utf-8")
    )[name]
    asked = counts.models["right"]
    assert found.prompt_tokens == round(asked.prompt_characters / 4)
    cost = (
        found.prompt_tokens * prices["input_cost_per_token"]
        + asked.generated_tokens * prices["output_cost_per_token"]
    )
    assert found.usd == pytest.approx(cost)
    assert estimate_cost(study, counts, plan.prompts(), {})["left"].usd is None


def test_a_plan_is_compared_with_an_earlier_stamp_cell_by_cell(compiled: Compile) -> None:
    before = compiled().study
    after = compiled(
        ("temperature = 0.7", "temperature = 0.9"),
        ('id = "file"\ntier = "stress"', 'id = "page"\ntier = "stress"'),
    ).study
    found = against(after, "x", before.stamped())
    keys = [{cell.key for cell in Plan(each).cells()} for each in (before, after)]
    assert (found.added, found.removed) == (len(keys[1] - keys[0]), len(keys[0] - keys[1])) == (6, 6)
    assert set(found.cells["added"]) == keys[1] - keys[0]
    assert set(found.cells["changed"]) == {key for key in keys[0] & keys[1] if "decoding=warm" in key}
    assert found.changed == 2
    assert [each.path for each in found.paths] == [
        "axis[template].level[file]",
        "axis[template].level[page]",
        "axis[decoding].level[warm].temperature",
    ]
    same = against(before, "x", before.stamped())
    assert (same.added, same.removed, same.changed, same.paths) == (0, 0, 0, ())
