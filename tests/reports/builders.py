"""Findings of small invented studies, made without a store: the counts are given, all else is derived."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.lock.attestation import Attestation
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.analysis import LARGEST_RHO, MAXIMA, largest_rho, maxima
from gridc.reports.findings.conduct import ENVIRONMENT
from gridc.reports.findings.curves import CURVES, curve_findings
from gridc.reports.findings.findings import Findings, weighed_findings
from gridc.reports.findings.hypotheses import decisions
from gridc.reports.findings.noise import floors_of, model_noise
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.paired import PRECISIONS, precision_reports
from gridc.reports.findings.run_record import Finding
from gridc.reports.findings.scores import cell_scores
from gridc.reports.findings.verdicts import VERDICTS, verdicts_of
from gridc.runtime.store.events import NoiseMeasured, ReferenceCompared
from gridc.runtime.store.reader import Progress
from gridc.schema.canonical import digest
from gridc.schema.deviation import DeviationEntry
from gridc.schema.spec import Spec

ITEMS = 20


def held(**families: str) -> Items:
    """Items of a benchmark, by id with the family of each."""
    sampled = tuple(Item(name, f"{name}?", ("x", "y"), 0, family=family) for name, family in families.items())
    return Items(sampled, (), LoadedItems(sampled, {}))


AXES: dict[str, list[dict[str, Any]]] = {
    "frame": [{"id": "plain", "prompt": "{{ question }}"}, {"id": "exam", "prompt": "Exam. {{ question }}"}],
    "shots": [{"id": "0", "shots": 0}, {"id": "5", "shots": 5, "tier": "stress"}],
    "reading": [{"id": "text", "method": "extract"}, {"id": "rank", "method": "loglikelihood"}],
}

Counts = Callable[[Cell], int | None]
"""How many of the items a cell has right; None where it is not measured."""


def spec_of(
    models: Mapping[str, str | None],
    title: str = "A small study",
    axes: Mapping[str, list[dict[str, Any]]] = AXES,
    direction: str | float = "higher_is_better",
    **more: Any,
) -> Spec:
    """A spec with these models (id -> note) and axes, one benchmark, two hypotheses' worth of order."""
    names = list(models)
    return Spec.model_validate(
        {
            "gridcard": 1,
            "study": {"id": "small", "title": title, "purpose": "comparative", "not_varied": ["items"]},
            "model": [
                {"id": name, "engine": "hf", "source": "builtin:none", "note": note}
                for name, note in models.items()
            ],
            "benchmark": [
                {
                    "id": "facts",
                    "loader": "truthfulqa_mc1",
                    "source": "builtin:none",
                    "direction": direction,
                    "option_order": "file",
                }
            ],
            "harness": {"prompt": "{{ question }}", "method": "extract"},
            "axis": [
                {
                    "id": axis,
                    "level": [{"tier": "core", "provenance": f"on {axis}", **level} for level in levels],
                }
                for axis, levels in axes.items()
            ],
            "hypothesis": [{"id": "H1", "kind": "ranking", "order": [names[0], names[-1]]}],
            "analysis": {"thresholds": [{"at": 0.5, "declared": "post_hoc", "source": "nobody"}]},
            **more,
        }
    )


def findings_of(
    spec: Spec,
    correct: Counts,
    environment: tuple[dict[str, Any], ...] = (),
    changed: Mapping[str, int] | None = None,
    parsed: int | Counts | None = None,
    deviations: tuple[dict[str, Any], ...] = (),
) -> Findings:
    """The findings of a study whose cells have these counts. `changed` gives, by precision, how many of 100
    outcomes of every model the noise sample changed; `parsed`, how many answers of a (or every) cell are
    readable."""
    items = {
        each.id: tuple(
            Item(f"q{number}", f"{each.id} {number}?", ("yes", "no"), 0, f"q{number}")
            for number in range(ITEMS)
        )
        for each in spec.benchmark
    }
    study = Study(
        spec,
        prompts={},
        items={name: Items(each, (), LoadedItems(each, {"items": "0" * 64})) for name, each in items.items()},
        absent={},
        models={
            each.id: ModelIdentity(each.source, files=(("weights", digest(each.id)),)) for each in spec.model
        },
    )
    plan = Plan(study)
    stored = {
        cell.key: outcomes_of(correct(cell), parsed(cell) if callable(parsed) else parsed)
        for cell in plan.cells()
    }
    scores = cell_scores(plan, stored)
    done = sum(each.complete for each in scores)
    noise = model_noise(
        plan,
        [
            noise_event(study.models[each.id].digest, precision, number)
            for each in spec.model
            for precision, number in (changed or {}).items()
        ],
    )
    floors = floors_of(noise)
    samples = Samples(plan, stored)
    benchmarks, measured = weighed_findings(samples, scores, done == len(scores), floors)
    return Findings(
        plan=plan,
        lock=Lock(plan.study_digest, study.stamped(), "2026-01-01T00:00:00+00:00", "0.1.0", None, None),
        anchors=(Attestation("none", "the lock is not committed"),),
        results_anchors=(),
        progress=Progress(done * ITEMS, len(scores) * ITEMS, (len(scores) - done) * ITEMS),
        results=digest([each.rows for each in scores]),
        near_ties=0,
        first_call="2026-01-02T00:00:00+00:00",
        before_stamp=0,
        steps_back=(),
        deviations=tuple(map(DeviationEntry.of_manifest, deviations)),
        benchmarks=benchmarks,
        hypotheses=tuple(decisions(measured)),
        noise=noise,
        computed={
            ENVIRONMENT.name: environment,
            CURVES.name: curve_findings(samples) if done == len(scores) else (),
            MAXIMA.name: maxima(spec, [scores]),
            LARGEST_RHO.name: largest_rho(spec, [scores]),
            PRECISIONS.name: precision_reports(spec, scores),
            VERDICTS.name: verdicts_of(benchmarks, measured, lambda *_: {}),
        },
    )


def having(findings: Findings, finding: Finding[Any], result: Any) -> Findings:
    """The same with another result of one finding."""
    return replace(findings, computed={**findings.computed, finding.name: result})


def noise_event(identity: str, precision: str, changed: int, outcomes: int = 100) -> NoiseMeasured:
    """The body of a `noise` event."""
    return NoiseMeasured(
        stamp="0" * 64,
        identity=identity,
        precision=precision,
        shape="each call alone",
        calls=outcomes // 2,
        outcomes=outcomes,
        outcomes_changed=changed,
        texts=20,
        texts_changed=changed,
        rankings=10,
        loglikelihoods=30,
        max_moved=0.05,
        mean_moved=0.01,
    )


def compared_event(changed: int) -> ReferenceCompared:
    """The body of a `reference` event."""
    made = noise_event("0" * 64, "bf16", changed).as_json()
    del made["shape"]
    return ReferenceCompared(**made)


def reversing(cell: Cell) -> int:
    """Counts with both orders and a tie: every model has its own pattern over the configurations."""
    place = sum(map(ord, cell.configuration))
    return (place * (3 + len(cell.model)) + sum(map(ord, cell.model))) % (ITEMS + 1)


def outcomes_of(correct: int | None, parsed: int | None = None) -> CellOutcomes:
    """The outcomes of a cell that is asked once and has the first `correct` of its items right, and of the
    first `parsed` an answer that can be read."""
    names = tuple(sorted(f"q{number}" for number in range(ITEMS)))
    scored = np.full(ITEMS, correct is not None, dtype=np.int64)
    right = (np.arange(ITEMS) < (correct or 0)).astype(np.int64)
    read = scored * (np.arange(ITEMS) < max(ITEMS if parsed is None else parsed, correct or 0))
    unread = scored - read
    return CellOutcomes(names, np.ones_like(scored), scored, read, right, right + scored - 1, unread=unread)
