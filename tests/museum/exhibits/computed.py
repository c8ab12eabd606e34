"""What is computed: calls, batches, standard errors, shares of variance."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.compiler.frontend.lookup import BUILTIN_MODELS
from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument import item
from gridc.compiler.lowering import requests as asking
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings import components, scores
from gridc.runtime.engines.protocol import Call
from gridc.schema.spec import EngineSettings
from gridc.statistics import variance
from tests.museum.exhibit import EARLIER, FINDINGS, REPRO, exhibit, without
from tests.museum.studied import CHOICES, facts, first_right, letter, shares_of


@exhibit(
    "a cache collapses replicates: five answers are one",
    "provider and harness caches keyed by the prompt",
    "calls differ by replicate (`Request.id`)",
    lambda patch: patch.setattr(asking.Asker, "_generation", collapsed),
)
def replicates_collapse(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(('method = "extract"', 'method = "extract"\ntemperature = 0.7\nreplicates = 5'))
    plan = Plan(room.compiled().study)
    (cell,) = plan.cells()
    calls = [each.id for sample in plan.samples(cell) for each in sample.requests]
    return {"calls differ by replicate (`Request.id`)"} if len(set(calls)) == len(calls) == 5 * 48 else set()


def collapsed(self: asking.Asker, cell: Cell) -> Callable[[item.Item, int], dict[str, Any]]:
    setting = cell.setting
    same: dict[str, Any] = {
        "max_tokens": setting.max_tokens,
        "temperature": setting.temperature,
        "top_p": setting.top_p,
    }
    return lambda asked, replicate: same


ALONE = "a call's random numbers are its own (`sampling.uniforms`)"


@exhibit(
    "what a model answers depends on the batch it is in",
    "serving stacks and harnesses that seed a batch",
    ALONE,
    lambda patch: patch.setattr("gridc.runtime.engines.hf.engine.uniforms", shared_numbers()),
)
def batch_decides(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(
        ('method = "extract"', 'method = "extract"\ntemperature = 1.0\nmax_tokens = 12'), ("n = 48", "n = 6")
    )
    plan = Plan(room.compiled().study)
    (cell,) = plan.cells()
    calls = [
        Call(each.id, each.kind, each.prompt, each.parameters)
        for sample in plan.samples(cell)
        for each in sample.requests
    ]
    return {ALONE} if answers(calls) == answers(calls[::-1][:4]) | answers(calls[:2]) else set()


def answers(calls: Sequence[Call]) -> dict[str, str]:
    from gridc.runtime.engines.hf.engine import HfEngine

    engine = HfEngine("pocket", BUILTIN_MODELS / "pocket-llama", "fp32", EngineSettings())
    done = (engine.answer(batch, frozenset(batch.calls))[0] for batch in engine.batches(calls))
    return {each.call: each.content["text"] for some in done for each in some}


def shared_numbers() -> Callable[[str, int], Sequence[float]]:
    """One stream for all calls, as where the generator is the process's."""
    generator = np.random.default_rng(1)
    return lambda _, count: list(generator.random(count))


ROBUST = "standard errors are over families (`scores.standard_error`)"


@exhibit(
    "standard errors ignore that items come in families",
    f"{FINDINGS}, FINDINGS 1",
    ROBUST,
    without(scores, "unit_number_of_items", lambda items, clusters: np.arange(len(items))),
)
def unclustered_errors(room: Any, patch: MonkeyPatch) -> set[str]:
    """The four items of a family are right or wrong together."""
    rows = [{**row, "family": f"f{n // 4}"} for n, row in enumerate(facts(80))]

    def say(cell: Cell, sample: PlannedSample) -> str:
        number = int(sample.item.id.removeprefix("q"))
        return letter(number, number // 4 % 2 == 0)

    (found,) = room.filled(CHOICES, rows, say).study.findings().findings.benchmarks
    error = found.models[0].anchor.standard_error
    binomial = (0.25 / 80) ** 0.5
    return {ROBUST} if error is not None and error > 1.9 * binomial else set()


HAYS = "omega squared has MS_res below the line (`variance.decompose`)"


@exhibit(
    "omega squared is divided by the total sum of squares alone",
    f"{REPRO}, B7",
    HAYS,
    lambda patch: patch.setattr(components, "decompose", divided_by_the_total(variance.decompose)),
)
def omega_without_its_residual(room: Any, patch: MonkeyPatch) -> set[str]:
    """Hays's formula on the sums of squares of 40 items under two frames of two models."""
    done = first_right(room, 40, {"plain": 30, "exam": 20}, "", one={}, other={"plain": 20, "exam": 5})
    found = shares_of(done).shares
    (model,) = (each for each in found.terms if each.term == ("model",))
    mean_square = found.residual / found.residual_df
    hays = (model.sum_of_squares - mean_square) / (found.total + mean_square)
    return {HAYS} if model.omega2 == pytest.approx(hays) else set()


def divided_by_the_total(decompose: Callable[..., Any]) -> Callable[..., Any]:
    def damaged(*asked: Any) -> Any:
        found = decompose(*asked)
        mean_square = found.residual / found.residual_df
        terms = (
            replace(each, omega2=(each.sum_of_squares - each.df * mean_square) / found.total)
            for each in found.terms
        )
        return replace(found, terms=tuple(terms))

    return damaged


LOWEST = "of equally likely tokens the one with the lowest id is taken (`sampling.greedy`)"


def last_of_equals(patch: MonkeyPatch) -> None:
    from gridc.runtime.engines.hf import sampling

    def damaged(logits: Any) -> Any:
        first, second = logits.topk(2, dim=-1).values.unbind(-1)
        return logits.shape[-1] - 1 - logits.flip(-1).argmax(dim=-1), first, first - second

    patch.setattr(sampling, "greedy", damaged)


@exhibit(
    "two tokens are equally likely, and which one is greedy depends on the machine",
    f"{EARLIER}: 2 to 9 % of steps in bf16 are ties",
    LOWEST,
    last_of_equals,
)
def tied_tokens(room: Any, patch: MonkeyPatch) -> set[str]:
    """A model to which all tokens are alike."""
    from safetensors.numpy import load_file, save_file

    weights = room.model() / "model.safetensors"
    alike = {name: np.zeros_like(values) for name, values in load_file(weights).items()}
    save_file(alike, weights, {"format": "pt"})
    room.change(("n = 48", "n = 2"), ('method = "extract"', 'method = "extract"\nmax_tokens = 3'))
    study = gridc.open(room.spec)
    study.run()
    found = study.sql("SELECT DISTINCT json_extract(answer, '$.tokens') FROM call").rows
    return {LOWEST} if [tuple(row) for row in found] == [("[0,0,0]",)] else set()
