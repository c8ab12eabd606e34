"""Field (vi) of a card: what a study does not vary, and what identifies how it was made.

The author's own words come first. All else follows from the grid, the plan and the run, so that nobody has to
remember it: the axes that SafetyRepro (app. B and W) asks a card to name, levels that never gave another
score, combinations that were left out, and seeds, digests and versions.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from gridc.compiler.grid.configurations import drawn_words
from gridc.compiler.instrument.setting import Setting
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.words import selected
from gridc.schema.base import PLUGIN
from gridc.schema.benchmarks import Benchmark
from gridc.schema.card import HeldFixed, ScopeStatement
from gridc.schema.engines import engine_kind
from gridc.schema.models import Model
from gridc.schema.spec import Spec
from gridc.statistics.contrasts import pair_levels

PROVIDERS = "as the provider has it; not seen from here"
PLUGINS = "as the plug-in has it; not seen from here"


def scope_statement(findings: Findings, benchmark: BenchmarkFinding, name: str) -> ScopeStatement:
    """What the study leaves as it is for this model on this benchmark."""
    spec = findings.plan.study.spec
    model = next(declared for declared in spec.model if declared.id == name)
    source = next(declared for declared in spec.benchmark if declared.id == benchmark.benchmark)
    return ScopeStatement(
        stated=spec.study.not_varied,
        held=tuple(_held(findings, benchmark, model, source)),
        observed=(*_left_out(findings, source.id), *_idle(spec, benchmark, name)),
        made_with=dict(_made_with(findings, source)),
    )


def varied_axes(spec: Spec) -> dict[str, tuple[str, ...]]:
    """The axes with several levels, and the names of those."""
    return {axis.id: tuple(level.id for level in axis.level) for axis in spec.axis if len(axis.level) > 1}


def _held(
    findings: Findings, benchmark: BenchmarkFinding, model: Model, source: Benchmark
) -> Iterator[HeldFixed]:
    """Everything that the field has to name and that this grid holds at one value, with the value."""
    spec, cells = (
        findings.plan.study.spec,
        [score for score in benchmark.cells if score.cell.model == model.id],
    )
    settings = [score.cell.setting for score in cells]
    named = {_plain(axis) for axis in varied_axes(spec)}

    def held(what: str, at: str, *values: object) -> Iterator[HeldFixed]:
        """The row, unless the values of the grid differ, or an axis has the name of what is held."""
        if len({repr(value) for value in values}) < 2 and _plain(what) not in named:
            yield HeldFixed(what=what, at=at)

    yield HeldFixed(
        what="models and sizes", at=f"{', '.join(declared.id for declared in spec.model)}, and no other"
    )
    for axis in spec.axis:
        if len(axis.level) == 1:
            yield HeldFixed(what=axis.id, at=f"{axis.level[0].id} throughout")
    provider = engine_kind(model.engine).provider
    elsewhere = PROVIDERS if provider else PLUGINS if model.engine.startswith(PLUGIN) else None
    precisions = sorted({setting.precision for setting in settings})
    precise = PROVIDERS if provider else f"{', '.join(precisions)} throughout"
    yield from held("quantization", precise, *precisions)
    yield from held("item subset", _items(benchmark, source), *(setting.items for setting in settings))
    if any(setting.shots for setting in settings) and source.exemplars is not None:
        yield from held("draw of the exemplars", f"one, seed {source.exemplars.seed}")
    yield from held("seeds of sampled answers", _seeds(spec, settings, elsewhere is None))
    systems = [setting.system for setting in settings]
    yield from held("system prompt", "none" if systems[:1] == [None] else "one text throughout", *systems)
    scaffolds = [None if setting.scaffold is None else setting.scaffold.kind for setting in settings]
    kind = next(iter(scaffolds), None) or "none: the model is asked directly"
    yield from held("scaffold", kind, *scaffolds)
    local = "none: the weights run locally"
    yield from held("moderation", elsewhere or "none between the model and the score")
    yield from held("routing", elsewhere or local)
    yield from held("API version", f"{model.source}, {elsewhere}" if elsewhere else local)
    yield from held("region", elsewhere or local)
    yield HeldFixed(what="harness", at=f"gridc {findings.lock.gridc} alone")


def _items(benchmark: BenchmarkFinding, source: Benchmark) -> str:
    drawn = source.sample
    if drawn is None or (drawn.n is None and drawn.share is None):
        return f"the same {benchmark.items:,} items throughout"
    return f"{benchmark.items:,} items, one draw with seed {drawn.seed}"


def _seeds(spec: Spec, settings: Sequence[Setting], here: bool) -> str:
    """How often a sampled call is answered, and whether its seed decides the answer: that is sure `here`."""
    replicates = sorted({setting.replicates for setting in settings if setting.temperature > 0})
    if not replicates:
        return "none: no answer is sampled"
    times = "one answer each" if replicates == [1] else f"{' or '.join(map(str, replicates))} answers each"
    seed = f"from seed {spec.sampling.seed}"
    return f"{times}, {seed} alone" if here else f"{times}, {seed} as far as it is followed there"


def _made_with(findings: Findings, source: Benchmark) -> Iterator[tuple[str, str]]:
    """What identifies the study's making: versions, seeds, digests, and the anchor as it was declared."""
    study, spec = findings.plan.study, findings.plan.study.spec
    yield "harness", f"gridc {findings.lock.gridc}"
    anchor = spec.analysis.anchor
    yield (
        "anchor",
        "the first configuration of the spec; none is declared" if anchor is None else selected(anchor),
    )
    yield "seed of the answers", str(spec.sampling.seed)
    drawn = source.sample
    if drawn is not None and drawn.seed is not None:
        yield "seed of the items", str(drawn.seed)
    if source.exemplars is not None:
        yield "seed of the exemplars", str(source.exemplars.seed)
    for name, digest in sorted(study.stamped()["inputs"]["templates"].items()):
        yield f"template {name}", digest
    words = drawn_words(spec)
    if words is not None:
        yield "configurations", words.rstrip(".")


def _left_out(findings: Findings, benchmark: str) -> Iterator[str]:
    """Combinations that were excluded, and rows of the files of which no item was made."""
    plan = findings.plan
    excluded = plan.envelope(benchmark).excluded
    yield from (
        f"{exclusion.why}: not run" for exclusion in plan.study.spec.exclude if excluded.get(exclusion.why)
    )
    unread = len(plan.study.left_out().get(benchmark, ()))
    if unread:
        yield f"{unread:,} of the rows of its files, which do not follow the format: left out"


def _idle(spec: Spec, benchmark: BenchmarkFinding, model: str) -> Iterator[str]:
    """Pairs of levels that never gave this model another score, all else the same."""
    scored = [
        (score.cell.levels, score.score)
        for score in benchmark.cells
        if score.cell.model == model and score.score is not None
    ]
    for axis in spec.axis:
        for before, after in combinations([level.id for level in axis.level], 2):
            deltas = pair_levels(scored, axis.id, before, after).deltas
            if deltas and not any(delta.delta for delta in deltas):
                over = f"{len(deltas)} {'pair' if len(deltas) == 1 else 'pairs'} of configurations"
                yield f"{axis.id} {before} and {after}: varied, the same score in {over}"


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split()).removesuffix("s")
