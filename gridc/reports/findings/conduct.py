"""How a study was carried out, from its event chain and its calls: the basis of a methodology stamp."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.forms import read_by
from gridc.compiler.instrument.judging import Judgment
from gridc.compiler.instrument.thoughts import RESPONSE_ENDS
from gridc.compiler.lowering.counting import differing_axes
from gridc.compiler.lowering.judging import Bench, benches
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.runtime.blinding import JUDGING
from gridc.runtime.store.earlier import RECORDED_AS, earlier_answers
from gridc.runtime.store.events import (
    Body,
    Event,
    InterimLook,
    Locked,
    Merged,
    ModelLoaded,
    ReferenceCompared,
    RunStarted,
    Sealed,
    Stamped,
    Unblinded,
    bodies_of,
)
from gridc.runtime.store.reader import JudgementRow
from gridc.runtime.store.store import CUTS, Store
from gridc.schema.canonical import digest
from gridc.schema.certificate import EndingsRow, FormRow, ThoughtsRow
from gridc.schema.deviation import EarlierAnswersRow
from gridc.statistics.raters import Kappa, kappa


@dataclass(frozen=True, slots=True)
class Judging:
    """What the store shows of judges. `replies` is how many they gave, `first` when the first of these
    was there. `sealed` is the number of the event that sealed the map from identifiers to conditions, and its
    time or, where a merge took replies, the earliest at which they were sealed; `locked` and `unblinded` are
    the numbers of the events that ended the labelling and opened the map. `agreements` are of the first and
    the second judge's last labels of the same responses, of every judge that has a second one."""

    replies: int
    failures: int
    first: str | None
    sealed: tuple[int, str] | None
    locked: int | None
    unblinded: int | None
    agreements: tuple[Kappa, ...]

    @property
    def agreement(self) -> Kappa | None:
        """The lowest."""
        return min(self.agreements, key=lambda one: 2.0 if one.kappa is None else one.kappa, default=None)


@dataclass(frozen=True, slots=True)
class Conduct:
    """`stamped` and `started` are the numbers of the events that recorded the lock and the first run;
    None where there is none. `versions` are those of gridc that ran the study, in order. `looks` are the
    interim looks: reports of an unfinished run. `observed` are the departures from the plan that the run saw,
    a sentence each; `judging` is None where nobody was asked to judge. `others` are the other stamps that
    were run, or under which another plan was, in the same store. `tasks` says by benchmark whether its
    prompts are those of the package whose task it is."""

    stamped: int | None = None
    started: int | None = None
    looks: tuple[int, ...] = ()
    observed: tuple[str, ...] = ()
    judging: Judging | None = None
    versions: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()
    tasks: Mapping[str, str] = field(default_factory=dict)


UNKNOWN = Conduct()


def ran_by(bodies: Iterable[Body]) -> tuple[str, ...]:
    """The versions of gridc that ran a study, in order, each once, from the events of its stamp."""
    return tuple(dict.fromkeys(body.gridc for body in bodies if isinstance(body, RunStarted)))


def conduct(store: Store, plan: Plan) -> Conduct:
    """What a store shows of one study. A later report of the finished run changes none of it."""
    stamp = plan.study_digest
    events = store.events()
    mine = [event for event in events if event.body.stamp == stamp]
    return Conduct(
        stamped=_first(mine, Stamped),
        started=_first(mine, RunStarted),
        versions=ran_by(event.body for event in mine),
        looks=tuple(event.seq for event in mine if event.kind == InterimLook.kind),
        observed=tuple(store.observed(stamp)) if plan.study.recorded is None else (),
        judging=_judging(store, plan, mine),
        tasks=next((event.body.tasks for event in mine if isinstance(event.body, RunStarted)), {}),
        others=frozenset(
            named
            for body in bodies_of(events, Stamped)
            if body.stamp != stamp
            for named in (body.stamp, body.registered)
        ),
    )


def _first(events: Sequence[Event], kind: type) -> int | None:
    return next((event.seq for event in events if isinstance(event.body, kind)), None)


def _judging(store: Store, plan: Plan, events: Sequence[Event]) -> Judging | None:
    stamp = plan.study_digest
    rows = list(store.judgements(stamp))
    if not rows:
        return None
    about = [event for event in events if getattr(event.body, "about", None) == JUDGING]
    seal = next((event for event in about if isinstance(event.body, Sealed)), None)
    elsewhere = [
        event.body.sealed for event in events if isinstance(event.body, Merged) and event.body.sealed
    ]
    return Judging(
        replies=sum(row.label is not None or row.failure is not None for row in rows),
        failures=sum(row.failure is not None for row in rows),
        first=store.first_judgement(stamp),
        sealed=None if seal is None else (seal.seq, min([seal.at, *elsewhere])),
        locked=_first(about, Locked),
        unblinded=_first(about, Unblinded),
        agreements=tuple(_agreements(rows, plan)),
    )


def _agreements(rows: Sequence[JudgementRow], plan: Plan) -> Iterator[Kappa]:
    """Of every judge that has a second one. Rows come by attempt, so that the last label of a judge about a
    response is the one that stands; of two orders of two responses it is the first."""
    benchmarks = {cell.key: cell.benchmark for cell in plan.cells()}
    units = {name: held.units for name, held in plan.study.items.items()}
    for bench in benches(plan.study):
        first, second = bench.name, bench.second
        labels = {name: _labels(rows, bench, name) for name in (first, second)}
        both = sorted(labels[first].keys() & labels[second].keys())
        if both:
            yield kappa(
                [labels[first][place] for place in both],
                [labels[second][place] for place in both],
                [(benchmarks[cell], units[benchmarks[cell]][item]) for cell, item, _ in both],
            )


def _labels(rows: Sequence[JudgementRow], bench: Bench, name: str) -> dict[tuple[str, str, int], str]:
    """The last label of a judge about each response; of a pair what its replies in every order come to."""
    orders = bench.rows(name)
    last: dict[tuple[str, str, int], dict[str, str]] = {}
    for row in rows:
        if row.judge in orders and row.label is not None:
            last.setdefault((row.cell, row.item, row.replicate), {})[row.judge] = row.label
    return {
        place: str(bench.verdict_of([Judgment(replies[order]) for order in orders]).label)
        for place, replies in last.items()
        if len(replies) == len(orders)
    }


def _environment(record: RunRecord) -> tuple[dict[str, Any], ...]:
    """Each distinct model and environment that actually ran, for this study or one that shares its calls."""
    names = {identity.digest: name for name, identity in record.plan.study.models.items()}
    distinct = {}
    for load in record.store.bodies_of(ModelLoaded):
        if load.identity in names:
            ran = load.ran | {"model": names[load.identity]}
            distinct[digest(ran)] = ran
    return tuple(distinct.values())


def shared_draws(plan: Plan, calls_of_cells: Iterable[tuple[Sequence[str], int]]) -> dict[str, int]:
    """`CallCounts.shared_draws` of the calls that were made, those of scaffolds that follow from answers
    included: rows of `Store.shared_calls`."""
    drawing = {cell.key: cell for cell in plan.cells() if plan.draws(cell)}
    shared: Counter[str] = Counter()
    for keys, calls in calls_of_cells if len(drawing) > 1 else ():
        among = set(keys)
        cells = [cell for key, cell in drawing.items() if key in among]
        for other in cells[1:]:
            shared[differing_axes(cells[0], other)] += calls
    return dict(shared.most_common())


CONDUCT: Finding[Conduct] = Finding(
    "conduct",
    lambda record: conduct(record.store, record.plan),
    UNKNOWN,
    about="How the study was carried out, as its chain of events shows it.",
)


def _earlier(record: RunRecord) -> tuple[EarlierAnswersRow, ...]:
    return () if record.lock is None else earlier_answers(record.store, record.plan, record.lock)


EARLIER: Finding[tuple[EarlierAnswersRow, ...]] = Finding(
    RECORDED_AS,
    _earlier,
    (),
    recorded=tuple[EarlierAnswersRow, ...],
    about="What its models had answered to its items, under other stamps, before its own first call.",
)
ENVIRONMENT: Finding[tuple[dict[str, Any], ...]] = Finding("environment", _environment, ())
SHARED_DRAWS: Finding[dict[str, int]] = Finding(
    "shared_draws",
    lambda record: shared_draws(record.plan, record.store.shared_calls(record.plan.study_digest)),
    {},
    about="How many sampled calls several cells share, by the cells that share them.",
)


FAILED = "failed "
"""Begins the ending of a sample whose call failed for good; the kind of failure follows."""


def count_endings(
    models: Sequence[str], rows: Iterable[tuple[str, str, str, int]]
) -> dict[str, tuple[EndingsRow, ...]]:
    """By benchmark, in the order of the models, from `Store.endings`."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for model, benchmark, ended, number in rows:
        counts.setdefault(benchmark, {}).setdefault(model, {})[ended] = number
    return {
        benchmark: tuple(_endings_row(model, ended[model]) for model in models if model in ended)
        for benchmark, ended in counts.items()
    }


MANY_CUT = 0.05
"""The share of a benchmark's answers from which on it is an alarm."""


def cut_share(endings: Sequence[EndingsRow]) -> float:
    """The share of the answers that end at their budget and from which none is read."""
    return sum(model.cut for model in endings) / max(sum(model.samples for model in endings), 1)


def cut_words(benchmark: str, endings: Sequence[EndingsRow]) -> str:
    """How many answers of a benchmark cannot be read, and how many of them the budget cut, by model."""
    cut, every = (sum(getattr(model, name) for model in endings) for name in ("cut", "samples"))
    unread = sum(model.unread + model.cut + model.refused for model in endings)  # a failed call has no answer
    of = "; ".join(
        f"{model.model} {model.cut:,} of {model.samples:,}"
        f"{f', {model.cut_in_thought:,} in the thought' * bool(model.cut_in_thought)}"
        for model in endings
        if model.cut
    )
    thought = any(model.cut_in_thought for model in endings)
    way_out = ": raise `max_tokens`, or ask for less `thinking`" if thought else ""
    share = f"{unread:,} of {every:,} answers cannot be read{':' if cut == unread else f', {cut:,} of them'}"
    return f"On {benchmark}, {share} cut off at a token limit ({of}){way_out}"


def cut_off_words(endings: Mapping[str, Sequence[EndingsRow]]) -> tuple[str, ...]:
    """`cut_words` of the benchmarks of which answers were cut off."""
    return tuple(cut_words(benchmark, rows) for benchmark, rows in endings.items() if cut_share(rows))


def _endings_row(model: str, ended: Mapping[str, int]) -> EndingsRow:
    failed = {name.removeprefix(FAILED): number for name, number in ended.items() if name.startswith(FAILED)}
    plain = {name: ended.get(name, 0) for name in ("read", "unread", "cut_in_thought", "refused", "waiting")}
    cut = sum(ended.get(name, 0) for name in CUTS)
    return EndingsRow(model=model, failed=failed, cut=cut, **plain)


def thoughts_of(record: RunRecord, cells: Iterable[Cell], limited: frozenset[str]) -> Iterator[ThoughtsRow]:
    """Of the cells that ask for a text, as `BenchmarkRow.thoughts` says; `limited` is of `Store.limited`."""
    stamp, models = record.plan.study_digest, record.plan.study.models
    for cell in cells:
        setting = cell.setting.effective()
        # The answers of a log are stored under the name that it has for the model.
        clean = limited.isdisjoint((models[cell.model].digest, cell.model))
        if setting.ranks or (setting.thinking is None and clean):
            continue
        rows = list(record.store.response_ends(stamp, cell.key))
        ends = {end: sum(count for ended, count, *_ in rows if ended == end) for end in RESPONSE_ENDS}
        written, thought = map(_sum_known, ([row[2] for row in rows], [row[3] for row in rows]))
        if setting.thinking is not None or thought or ends["cut_in_thought"]:
            yield ThoughtsRow(
                model=cell.model,
                configuration=cell.configuration,
                written=written,
                thought=thought,
                counted=sum(row[4] for row in rows),
                **ends,
            )


def forms_of(record: RunRecord, cells: Iterable[Cell]) -> Iterator[FormRow]:
    """Of the cells that ask for a form, how many responses keep it."""
    for cell in cells:
        form = cell.setting.form
        if form is None:
            continue
        rows = list(record.store.forms_kept(record.plan.study_digest, cell.key))
        # An answer in the form that cannot be compared, such as a word for a number, keeps it too.
        kept = [(again, count) for rule, _, again, count in rows if rule.partition(":")[0] == read_by(form)]
        yield FormRow(
            model=cell.model,
            configuration=cell.configuration,
            form=form,
            responses=sum(count for *_, count in rows),
            kept=sum(count for again, count in kept if not again),
            kept_again=sum(count for again, count in kept if again),
            by_phrases=sum(count for rule, read, _, count in rows if read and rule != read_by(form)),
        )


def form_words(benchmark: str, rows: Sequence[FormRow]) -> str | None:
    """How many responses of a benchmark do not keep the form that was asked for, by model; None where all
    do."""
    out = sum(row.out_of_form for row in rows)
    if not out:
        return None
    models = dict.fromkeys(row.model for row in rows if row.out_of_form)
    of = "; ".join(
        f"{model} {sum(row.out_of_form for row in rows if row.model == model):,} of "
        f"{sum(row.responses for row in rows if row.model == model):,}"
        for model in models
    )
    read = sum(row.by_phrases for row in rows)
    how = f"; {read:,} of them are read by phrases" if read else ""
    every = sum(row.responses for row in rows)
    return f"On {benchmark}, {out:,} of {every:,} responses do not keep the form asked for ({of}){how}"


def _sum_known(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A model of the study, and what came of repeating a sample of its calls."""

    model: str
    precision: str
    compared: ReferenceCompared


def _references(record: RunRecord) -> tuple[ModelReference, ...]:
    """The last comparison of each model at each precision."""
    names = {identity.digest: name for name, identity in record.plan.study.models.items()}
    last = {(noted.identity, noted.precision): noted for noted in record.store.references()}
    return tuple(
        ModelReference(names[identity], precision, noted)
        for (identity, precision), noted in last.items()
        if identity in names
    )


REFERENCES: Finding[tuple[ModelReference, ...]] = Finding("references", _references, ())
