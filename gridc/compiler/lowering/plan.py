"""The plan: every cell of a study and every call it needs. A run executes it, no more and no less."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

from gridc.compiler.grid.cells import BenchmarkSample, Cell, Envelope, Survey, cells_of, survey
from gridc.compiler.grid.specifications import PlannedCurve, planned_curve
from gridc.compiler.inputs.prices import TokenPrice
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.points import ScorerError
from gridc.compiler.instrument.score import Answers, Outcome, Ruling, score_sample
from gridc.compiler.lock.lock import stamp_of
from gridc.compiler.lowering.asked import AskedByCells, asked_by_cells
from gridc.compiler.lowering.calls import Extent
from gridc.compiler.lowering.counting import CallCounts, ModelCounts, count_calls
from gridc.compiler.lowering.estimate import Estimate, estimate_cost
from gridc.compiler.lowering.judging import benches
from gridc.compiler.lowering.requests import Asker
from gridc.schema.items import Sample as Subset

FORMAT = "gridc-plan/3"


@dataclass(frozen=True, slots=True)
class PrimaryCells:
    """The cells that tests are made on; `observations` is None while the number of items is unknown."""

    cells: int
    observations: int | None


@dataclass(frozen=True, slots=True)
class AskedEnvelope(Envelope):
    """A benchmark's part of the grid with the items it asks and items x runs; None where unknown. Where some
    items ask the same, they are `distinct` questions; 0 where none do."""

    items: int | None
    distinct: int
    observations: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A plan in numbers. `counts` and `estimates` (by model) are None without items; they are of the calls
    that are known before the run. What follows from answers, as all that judges are asked, is bounded in
    `later` of each. `unpinned` lists inputs that are not here, with the reason."""

    stamp: str
    study: str
    models: tuple[str, ...]
    cells: int
    runs: int
    observations: int | None
    primary: PrimaryCells
    envelopes: tuple[AskedEnvelope, ...]
    curves: Mapping[str, PlannedCurve]
    counts: CallCounts | None
    estimates: Mapping[str, Estimate] | None
    unpinned: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """As `gridc plan --json` prints it: who is not asked a benchmark stands where somebody is not."""
        document = {"format": FORMAT, **asdict(self)}
        envelopes = [
            {
                key: value
                for key, value in envelope.items()
                if key != "models" and (value or key != "not_asked")
            }
            for envelope in document["envelopes"]
        ]
        return {**document, "models": list(self.models), "envelopes": envelopes}


class Plan(Asker):
    """A study, lowered. Cells and samples are streamed: nothing of the size of the grid is held.

    `study_digest` names the study as it runs, everywhere: in the store, the certificate and the card. It is
    the lock's stamp until the study departs from what was stamped, which the deviation log then explains.
    """

    @cached_property
    def study_digest(self) -> str:
        """The name of the study as it runs."""
        return stamp_of(self.study)

    def cells(self) -> Iterator[Cell]:
        """Every cell, in the order of the spec."""
        return cells_of(self.study.spec)

    @cached_property
    def survey(self) -> Survey:
        """What the grid holds, whether or not the items are here."""
        return survey(self.study.spec)

    def score(self, cell: Cell, item: Item, answers: Answers, ruling: Ruling | None = None) -> Outcome:
        """The outcome of a sample of a cell from the answers to its calls. Raises `ScorerError`, also where a
        function does not give a number that an outcome counts."""
        outcome = score_sample(cell.setting, item, answers, ruling, self.study.scorers)
        scorer = cell.setting.scorer
        if scorer is not None and cell.setting.gives_numbers and outcome.choice is not None:
            numbers = outcome.evidence.get("numbers", {})
            for name in self._numbers_of(cell.benchmark):
                if name not in numbers:
                    problem = f"gives no number called `{name}`, which an outcome counts"
                    raise ScorerError(scorer, item.id, problem)
        return outcome

    def _numbers_of(self, benchmark: str) -> Iterator[str]:
        """The numbers of a function that outcomes of a benchmark count."""
        for outcome in self.study.spec.outcomes:
            if outcome.number is not None and benchmark in outcome.benchmarks:
                yield outcome.number

    def envelope(self, benchmark: str) -> Envelope:
        """A benchmark's part of the grid."""
        return next(envelope for envelope in self.survey.envelopes if envelope.benchmark == benchmark)

    def asked(self, benchmark: str) -> AskedByCells:
        """The items of a benchmark that its cells ask."""
        if benchmark not in self._asked_by_cells:
            here = asked_by_cells(self.survey, benchmark, self.study.items[benchmark])
            self._asked_by_cells[benchmark] = here
        return self._asked_by_cells[benchmark]

    @cached_property
    def _asked_by_cells(self) -> dict[str, AskedByCells]:
        return {}

    def observations(self, runs: Mapping[BenchmarkSample, int]) -> int | None:
        """Items x runs: how many samples some runs have; None where the number of items is not known."""
        item_counts = {run: sample_size(self.study, *run) for run in runs}
        if None in item_counts.values():
            return None
        return sum(runs[run] * (items or 0) for run, items in item_counts.items())

    def counts(self, answered: Iterable[Mapping[str, Any]] | None = None) -> CallCounts:
        """How much is asked. Needs the items of every benchmark.

        `answered` are the requests (`Request.as_json`) that a store has answers to, each once.
        """
        counts = count_calls(self, self.cells(), answered)
        judges = self.judging()
        return replace(counts, models={**counts.models, **judges}) if judges else counts

    def judging(self) -> dict[str, ModelCounts]:
        """How much every judge of the study is asked: all of it follows from responses."""
        extents: dict[str, Extent] = {}
        for bench in benches(self.study):
            extents |= bench.extents((cell, self.items(cell)) for cell in self.cells() if bench.labels(cell))
        return {name: ModelCounts(0, 0, None, 0, 0, later.rounded()) for name, later in extents.items()}

    def prompts(self) -> Iterator[str]:
        """The text of each prompt of the plan, as it comes; the same one comes with every sample."""
        for cell in self.cells():
            for item in self.items(cell):
                for sample in self.samples_of(cell, item):
                    yield from (
                        "\n".join(text for _, text in request.prompt.messages) for request in sample.requests
                    )

    def manifest(
        self,
        answered: Iterable[Mapping[str, Any]] | None = None,
        speeds: Mapping[str, float] | None = None,
        prices: Mapping[str, TokenPrice] | None = None,
    ) -> Manifest:
        """The plan in numbers. `speeds` gives seconds per call by model digest, `prices` what tokens cost by
        model."""
        spec, survey = self.study.spec, self.survey
        counts = estimates = None
        if not self.study.absent:
            counts = self.counts(answered)
            estimates = estimate_cost(self.study, counts, self.prompts(), speeds or {}, prices)
        return Manifest(
            stamp=self.study_digest,
            study=spec.study.id,
            models=tuple(model.id for model in spec.model),
            cells=survey.cells,
            runs=survey.runs,
            observations=self.observations(survey.asked),
            primary=PrimaryCells(survey.primary, self.observations(survey.tested)),
            envelopes=tuple(self._envelope(envelope) for envelope in survey.envelopes),
            curves={curve.id: planned_curve(spec, curve) for curve in spec.curve},
            counts=counts,
            estimates=estimates,
            unpinned=self.study.unpinned(),
        )

    def _envelope(self, envelope: Envelope) -> AskedEnvelope:
        here = {run: runs for run, runs in self.survey.asked.items() if run[0] == envelope.benchmark}
        counted = {field.name: getattr(envelope, field.name) for field in fields(envelope)}
        held = self.study.items.get(envelope.benchmark)
        return AskedEnvelope(
            **counted,
            items=self._asked_count(envelope.benchmark),
            distinct=0 if held is None else self.asked(envelope.benchmark).distinct,
            observations=self.observations(here),
        )

    def _asked_count(self, benchmark: str) -> int | None:
        """How many items a benchmark asks; None where they are absent and the spec does not say."""
        if benchmark in self.study.items:
            return len(self.asked(benchmark).items)
        parts = [part for name, part in self.survey.asked if name == benchmark]
        if len(parts) > 1 and None not in parts:
            return None
        return sample_size(self.study, benchmark, None if None in parts else parts[0]) if parts else 0


def sample_size(study: Study, benchmark: str, subset: Subset | None = None) -> int | None:
    """How many items a benchmark's sample has, or a subset of it: as drawn here, or, while its items are
    absent, as the spec says; None where it does not."""
    items = study.items.get(benchmark)
    if items is not None:
        return len(items.asked(None, subset))
    (declared,) = (stated.sample for stated in study.spec.benchmark if stated.id == benchmark)
    named = subset or declared
    return named.n if named else None
