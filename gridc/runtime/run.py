"""Executes the plan of a study within its caps, stage by stage, into a store, and scores the answers."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from gridc import __version__
from gridc.compiler.compile import Compiled
from gridc.compiler.grid.cells import Cell
from gridc.compiler.grid.configurations import has_judged
from gridc.compiler.inputs.addresses import reach_of
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.prices import TokenPrice, prices_of
from gridc.compiler.inputs.resolve import require_files
from gridc.compiler.inputs.scorers import scorer_errors_coded
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.score import Outcome, Ruling, score_sample
from gridc.compiler.lock.deviations import Reconciliation
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.judging import JudgingState, is_judged
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.lowering.task_prompts import prompt_proofs
from gridc.compiler.preflight.consent import NONE_GIVEN, Consents
from gridc.diagnostics.errors import BudgetError, Diagnostic, StoreError, UnavailableError, UnreadError
from gridc.runtime import blinding, early, judging
from gridc.runtime import noise as reference
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.api.attempts import CallCost, PaidEngine, Terms
from gridc.runtime.engines.hf.memory import USUAL_KV_MIB
from gridc.runtime.engines.protocol import Call, Engine, PendingBatch, environments_words
from gridc.runtime.noise import measure, noise_sentences
from gridc.runtime.stages import WHOLE, Open, Say, Shard, Stage, open_stages, wave_stages
from gridc.runtime.store import events
from gridc.runtime.store.items import named_digest
from gridc.runtime.store.progress import not_honoured
from gridc.runtime.store.reader import AnswerWork
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer
from gridc.schema.models import engine_kind
from gridc.schema.spec import Budget, Spec


@dataclass(frozen=True, slots=True)
class RunCost:
    """US dollars that a run has cost; `whole` is False where some requests had no price."""

    usd: float
    whole: bool


class Meter:
    """Counts what a run spends. Time counts from when the meter is made.

    `reached` is the cap that the next task or request would have passed, as it is told; None while there is
    none. Calls, tokens and time are those of this run; `spent_usd` is what earlier runs into the same store
    have spent or may have spent, because money is gone whichever run it was. `answered` are the calls that
    got their answer in this run.
    """

    def __init__(self, budget: Budget, spent_usd: float = 0.0, stops_early: bool = False) -> None:
        self.stops_early = stops_early
        self.reached: str | None = None
        self.stopped: UnreadError | None = None
        self._budget = budget
        self._calls = self._tokens = 0
        self._held_tokens, self._held_usd, self._usd = 0, 0.0, spent_usd
        self._awaited_calls = self._awaited_tokens = 0
        self._begun, self._earlier_usd = time.monotonic(), spent_usd
        self._priced = self._unpriced = False
        self.answered = 0

    def admit(self, task: PendingBatch) -> bool:
        """Whether a task may begin, which then counts as spent. After one that may not, none may.

        Tokens are counted as a batch's bound on them, which is never less than what it takes. What has begun
        is finished, so time may be passed by the tasks that are answered at once.
        """
        self.reached = self.reached or self._passed_by(
            len(task.unanswered), self._tokens + task.batch.cost, 0.0
        )
        if self.reached is None:
            self._calls += len(task.unanswered)
            self._tokens += task.batch.cost
            self._arrived(len(task.unanswered), task.batch.cost)
        return self.reached is None

    def stop(self, why: UnreadError) -> None:
        """Let nothing begin any more, for this reason. What has begun is finished."""
        self.stopped = self.stopped or why
        self.reached = self.reached or "unreadable answers"

    def expect(self, calls: int, tokens: int) -> None:
        """Note how many calls and tokens of the study are still to come."""
        self._awaited_calls += calls
        self._awaited_tokens += tokens

    def _arrived(self, calls: int, tokens: int) -> None:
        self._awaited_calls = max(self._awaited_calls - calls, 0)
        self._awaited_tokens = max(self._awaited_tokens - tokens, 0)

    def spare(self, task: PendingBatch) -> bool:
        """Whether there is room for a task that the study can do without, beside all that is still to come.
        It then counts as spent."""
        calls, tokens = len(task.unanswered), self._tokens + task.batch.cost
        if self._passed_by(calls + self._awaited_calls, tokens + self._awaited_tokens, 0.0) is not None:
            return False
        self._calls, self._tokens = self._calls + calls, tokens
        return True

    def hold(self, most: CallCost) -> bool:
        """Whether a request that may cost so much can be sent. If so it counts at that, until what it took is
        known, so no cap is passed whatever the requests that are open turn out to cost."""
        usd = most.usd or 0.0
        spent = self._tokens + most.tokens, self._usd + usd
        if self._passed_by(1, spent[0] + self._held_tokens, spent[1] + self._held_usd):
            self.reached = self.reached or self._passed_by(
                1, *spent
            )  # else what is open may come back as less
            return False
        self._calls += 1
        self._arrived(1, most.tokens)
        self._held_tokens += most.tokens
        self._held_usd += usd
        return True

    def charge(self, most: CallCost, took: CallCost) -> None:
        """Count a finished request at what it `took`, and no longer at `most`."""
        self._held_tokens -= most.tokens
        # Once nothing is open the sum starts from 0 again, without what rounding left of it.
        self._held_usd = max(0.0, self._held_usd - (most.usd or 0.0)) if self._held_tokens else 0.0
        self._tokens += took.tokens
        self._usd += took.usd or 0.0
        self._priced |= took.usd is not None
        self._unpriced |= took.usd is None

    @property
    def cost(self) -> "RunCost | None":
        """What this run has cost so far; None while no request had a price."""
        return RunCost(max(0.0, self._usd - self._earlier_usd), not self._unpriced) if self._priced else None

    def returned(self, most: CallCost, took: CallCost) -> None:
        """Count a finished request of an earlier run at what it `took`; the money spent included its
        `most`."""
        self._usd = max(0.0, self._usd - (most.usd or 0.0) + (took.usd or 0.0))

    def time_left(self) -> float | None:
        """Seconds until `wall_s` is reached; None where there is no such cap."""
        cap = self._budget.wall_s
        return None if cap is None else self._begun + cap - time.monotonic()

    def _passed_by(self, calls: int, tokens: int, usd: float) -> str | None:
        """The cap that so many more calls, or so many tokens and dollars in all, would pass."""
        cap, left = self._budget, self.time_left()
        if cap.calls is not None and self._calls + calls > cap.calls:
            return f"calls = {cap.calls:,}"
        if cap.tokens is not None and tokens > cap.tokens:
            return f"tokens = {cap.tokens:,}"
        if cap.usd is not None and usd > cap.usd:
            return f"usd = {cap.usd:g}"
        if left is not None and left <= 0:
            return f"wall_s = {cap.wall_s:g}"
        return None


def connecting(
    open_engine: Open,
    lock: Lock,
    store: Writer,
    meter: Meter,
    spec: Spec,
    consents: Consents,
    say: Say,
    repeat_lost: bool = False,
    parted: bool = False,
) -> Open:
    """Opens engines as `open_engine` does, and connects those that pay for requests. `consents` says to what
    the person consented, `say` is told by which model something is waited for; `repeat_lost`: calls of a
    batch that may have been paid and cannot be found are asked again; `parted`: other machines do other parts
    of the run.

    Raises `UnavailableError` (GC637) where money is limited and a model has no price.
    """
    prices = prices_of(spec, lock.prices)
    require_prices(spec, prices)
    reached = [reach for model in spec.asked_models if (reach := reach_of(model)) is not None]
    keys = tuple(sorted({reach.variable for reach in reached if reach.variable is not None}))

    def open_connected(name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
        engine = open_engine(name, identity, precision, _with_room(spec, store, identity, precision, parted))
        if isinstance(engine, PaidEngine):
            reach = reach_of(identity)
            consent = None if reach is None else consents.get(reach.pair)
            terms = Terms(consent, repeat_lost, store.folder, partial(say, name), keys)
            engine.connect(store, meter, prices.get(name), terms)
        return engine

    return open_connected


def _with_room(spec: Spec, store: Writer, identity: ModelIdentity, precision: str, parted: bool) -> Spec:
    """The spec, with the `kv_mib` that an earlier run into the store took for a model where nobody states it.
    Batches follow from it, so a resumed run forms those that were missing, and parts of a run take the usual
    one, in which they agree."""
    if spec.engine.kv_mib is not None:
        return spec
    kept = [
        load.as_json().get("kv_mib")
        for load in store.bodies_of(events.ModelLoaded)
        if (load.identity, load.precision) == (identity.digest, precision)
    ]
    known = kept[-1] if kept else USUAL_KV_MIB if parted else None
    if not isinstance(known, int):
        return spec
    return spec.model_copy(update={"engine": spec.engine.model_copy(update={"kv_mib": known})})


def require_prices(spec: Spec, prices: Mapping[str, TokenPrice]) -> None:
    """Raise `UnavailableError` (GC637) where money is limited and a model that is asked has no price."""
    unpriced = [
        model.id
        for model in (spec.asked_models if has_judged(spec) else spec.model)
        if engine_kind(model.engine).provider and model.id not in prices
    ]
    if spec.budget.usd is not None and unpriced:
        message = f"[budget] usd = {spec.budget.usd:g}, and no price is known of {', '.join(unpriced)}"
        help_line = 'price = { input = 0, output = 0, as_of = "2026-01-31" } for a server that costs nothing'
        raise UnavailableError([Diagnostic("GC637", message, help=help_line)])


@dataclass(frozen=True, slots=True)
class RunStep:
    """How far a run is: the most tokens of the batches that are done, and of all that were missing. `doing`
    says what goes on before a model (empty: before any) is asked, and is empty while it is asked. What is
    `found` is to stay on a screen. `calls` got their answers so far, in this run, which has cost `cost`."""

    model: str
    done: int
    total: int
    doing: str = ""
    found: bool = False
    calls: int = 0
    cost: RunCost | None = None

    @property
    def tokens(self) -> str:
        """How many of the tokens are done, empty where their number is not known yet."""
        return f"{self.done:,} of at most {self.total:,} tokens" if self.total else ""

    def __str__(self) -> str:
        text = self.doing or self.tokens
        return ": ".join(part for part in (self.model, text) if part)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to. `executed` counts the calls that this process answered, `reused` those whose
    answer was in the store; `results` is the digest of the stored results."""

    stamp: str
    executed: int
    reused: int
    near_ties: int
    spent: tuple[AnswerWork, ...]
    results: str


Watch = Callable[[RunStep], None]
"""Called when something begins that takes a while, and after every task."""


WAITING = "waiting for its provider"
"""What a model does that cannot go on by itself."""


def _ignore(step: RunStep) -> None:
    """The progress callback of a run that nobody watches."""


def _preparing(plan: Plan, model: str) -> str:
    """What an engine does before its first task."""
    identity = plan.study.asked_models.get(model)
    if identity is None or identity.folder is None:
        return "connecting"
    return "starting its server" if identity.server else "loading, and proving how it is computed"


def _announcing(open_engine: Open, watch: Watch) -> Open:
    """Opens engines and says so: their libraries take seconds to load, and every prompt is tokenized next."""

    def opens(name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
        watch(RunStep(name, 0, 0, "reading its prompts"))
        return open_engine(name, identity, precision, spec)

    return opens


def run_study(
    compiled: Compiled,
    lock: Lock,
    departures: Reconciliation,
    path: Path,
    watch: Watch,
    shard: Shard = WHOLE,
    open_engine: Open = open_engine,
    repeat_lost: bool = False,
    consents: Consents = NONE_GIVEN,
    references: int | None = None,
    go_on: bool = False,
) -> RunResult:
    """Execute the plan of a stamped study, or a part of it, into the store at `path`, with the engines that
    `open_engine` opens. `repeat_lost`: ask the calls of provider batches again that may have been paid and
    cannot be found. `consents`: to what the person consented. `references`: repeat so many calls of each
    model in fp32 where its weights are known; None: `noise.USUAL` of each model behind a server, once the
    study is complete. `go_on`: also where most of the first answers of a model cannot be read.

    Raises `SpecError` when items are missing, `HazardError` before the first call when a prompt cannot
    be asked as it is, `StoreError` when the store cannot be used and `UnavailableError` when a model cannot.
    """
    require_files(compiled.study, compiled.source)
    plan = Plan(compiled.study)
    with Writer(path) as store:
        store.ingest(plan, lock)
        store.note_lost()
        note_deviations(store, plan.study_digest, departures)
        reused = store.progress(plan.study_digest).answered
        meter = Meter(plan.study.spec.budget, store.paid_usd(), not go_on)

        def say(model: str, sentence: str) -> None:
            watch(RunStep(model, 0, 0, sentence, found=True))

        announced = _announcing(open_engine, watch)
        opens = connecting(
            announced, lock, store, meter, compiled.spec, consents, say, repeat_lost, shard.of > 1
        )
        stages = open_stages(plan, store, shard, opens, say)
        tasks = {proof.benchmark: str(proof) for proof in prompt_proofs(plan)}
        start = events.RunStarted(
            stamp=plan.study_digest,
            gridc=__version__,
            answered=reused,
            **({"tasks": tasks} if tasks else {}),
        )
        if any(stage.tasks for stage in stages):
            store.record(start)
        _execute(stages, store, plan, watch, meter)
        with closing(judging.stages(plan, store, opens)) as judges:
            loaded: set[Engine] = set()
            for wave in judges:
                if store.conclusion(plan.study_digest) is not None:
                    store.record(start)
                _take_turns(_judge(stage, store, plan, watch, meter, loaded, len(wave) > 1) for stage in wave)
        progress = store.progress(plan.study_digest)
        if references or (references is None and progress.answered == progress.total):
            models = reference.reference_models(plan, store, references)
            if models:
                watch(RunStep("", 0, 0, "computing the reference in fp32"))
            for sentence in reference.compare_with_reference(plan, store, references, models):
                watch(RunStep("", 0, 0, sentence, found=True))
        return conclude(plan, store, reused)


def conclude(plan: Plan, store: Writer, reused: int) -> RunResult:
    """Score what has been answered and record the digests. `reused` calls had their answer before.

    Raises `IncompleteError` (GC622) where no reply of a judge could be read.
    """
    judged = blinding.judging_state(plan, store)
    if judged is not None and judged.complete:
        judging.close(plan, store, judged, lambda: score_answers(plan, store, judged))
    else:
        score_answers(plan, store)
    finish = end_of(plan, store)
    if store.conclusion(plan.study_digest) != finish:
        store.record(finish)
    new = store.progress(plan.study_digest).answered - reused
    spent = tuple(store.spent(plan.study_digest))
    if judged is not None and judged.complete:
        judging.require_read(plan, judged)
    return RunResult(
        plan.study_digest, new, reused, store.near_ties(plan.study_digest), spent, finish.results
    )


def end_of(plan: Plan, store: Store) -> events.RunFinished:
    """What is recorded of a study at the end of a run."""
    stamp = plan.study_digest
    progress, columns = store.progress(stamp), store.covered()
    tables = {
        table: events.TableDigest(columns=columns[table], sha256=value)
        for table, value in store.table_digests(stamp, columns).items()
        if value is not None
    }
    return events.RunFinished(
        stamp=stamp,
        results=store.results_digest(stamp),
        tables=tables,
        answered=progress.answered,
        attempts=store.attempts_made(stamp),
        total=progress.total,
        named=named_digest(plan),
    )


def preflight(compiled: Compiled, load: bool = True, watch: Watch = _ignore) -> None:
    """Tokenize every prompt of the models whose files are here, and with `load` load each local model and
    prove how it is computed.

    Raises `HazardError` for a prompt that cannot be asked as it is, and `UnavailableError` where the engine
    or a model cannot be used.
    """
    plan = Plan(compiled.study)
    wanted: dict[tuple[str, str], dict[tuple[object, ...], Call]] = {}
    for cell in plan.cells():
        identity = plan.study.models[cell.model]
        if (identity.weights or identity).folder is None or cell.benchmark in plan.study.absent:
            continue
        calls = wanted.setdefault((cell.model, cell.setting.precision), {})
        for sample in plan.samples(cell):
            for request in sample.requests if sample.replicate == 0 else ():
                # How an answer is drawn is no matter of tokens: one call stands for all on its prompt.
                parameters = request.parameters
                texts = tuple(parameters.get("continuations", ()))
                key = (request.prompt, texts, parameters.get("seam"), parameters.get("max_tokens"))
                calls.setdefault(key, Call(str(len(calls)), request.kind, request.prompt, parameters))
    opens = _announcing(open_engine, watch)
    for (name, precision), calls in wanted.items():
        with closing(opens(name, plan.study.models[name], precision, plan.study.spec)) as engine:
            engine.batches(list(calls.values()))
            if load and plan.study.models[name].folder is not None:
                watch(RunStep(name, 0, 0, _preparing(plan, name)))
                engine.effective()


def note_deviations(store: Writer, stamp: str, departures: Reconciliation) -> None:
    """Record how the study departs from its stamp, when that is not what was recorded last."""
    log = departures.manifest()
    noted = store.bodies_of(events.Deviated, stamp)
    if (noted[-1].log if noted else []) != log:
        store.record(events.Deviated(stamp=stamp, log=log))


def _execute(stages: Sequence[Stage], store: Writer, plan: Plan, watch: Watch, meter: Meter) -> None:
    total = sum(stage.cost for stage in stages)
    for stage in stages[:0:-1]:  # a model that would be refused is, before any call of another
        watch(RunStep(stage.name, 0, total, _preparing(plan, stage.name)))
        stage.engine.effective()
        stage.engine.rest()
    progress = _Progress(watch, total, meter)
    for stage in stages:
        meter.expect(store.unanswered(stage.number), stage.cost)
    with ExitStack() as opened:
        for stage in stages:
            if isinstance(stage.engine, PaidEngine):  # whose connections a failure must not leave open
                opened.callback(stage.engine.close)
        _take_turns(_finish(stage, store, plan, progress, meter) for stage in stages)


def _take_turns(stages: Iterable[Generator[None, None, None]]) -> None:
    """Do all stages: while one waits for somebody, another has its turn."""
    with ExitStack() as opened:
        running = [opened.enter_context(closing(stage)) for stage in stages]
        while running:
            running = [stage for stage in running if next(stage, _OVER) is not _OVER]


_OVER = object()
"""In place of a turn of a stage that has none left."""


@dataclass(slots=True)
class _Progress:
    """The most tokens of the batches that are done, and of all that are known to be wanted."""

    watch: Watch
    total: int
    meter: Meter
    done: int = 0

    def tell(self, model: str, doing: str = "") -> None:
        """Say how far the run is."""
        calls, cost = self.meter.answered, self.meter.cost
        self.watch(RunStep(model, self.done, self.total, doing, calls=calls, cost=cost))


def _finish(
    stage: Stage, store: Writer, plan: Plan, progress: _Progress, meter: Meter
) -> Generator[None, None, None]:
    """Ask everything of a stage, wave by wave. Other stages have their turn while it waits for somebody."""
    progress.tell(stage.name, _preparing(plan, stage.name))
    for note in _record_load(stage, store, plan):
        progress.watch(RunStep("", progress.done, progress.total, note, found=True))
    if stage.tasks:
        progress.tell(stage.name)
    first = early.watch_model(plan, store, stage)
    for part in chain([stage], wave_stages(stage, plan.study_digest, store)):
        progress.total += 0 if part is stage else part.cost
        yield from _ask(part, store, plan, progress, meter, first)
    for note in (yield from _record_work(part, store, plan, meter)):
        progress.watch(RunStep("", progress.done, progress.total, note, found=True))
    store.flush()
    stop_at_cap(meter, store, plan.study_digest)
    stage.engine.close()


def _judge(
    stage: Stage, store: Writer, plan: Plan, watch: Watch, meter: Meter, loaded: set[Engine], rests: bool
) -> Generator[None, None, None]:
    """Ask a judge what a wave has for it. `loaded` are the engines that were asked before; one that `rests`
    makes room for another judge's model."""
    watch(RunStep(stage.name, 0, stage.cost))
    if stage.engine not in loaded:
        loaded.add(stage.engine)
        watch(RunStep(stage.name, 0, stage.cost, _preparing(plan, stage.name)))
        _record_load(stage, store, plan)
    first = early.watch_judge(plan, store, stage)
    yield from _ask(stage, store, plan, _Progress(watch, stage.cost, meter), meter, first)
    if rests:
        stage.engine.rest()


def _ask(
    part: Stage,
    store: Writer,
    plan: Plan,
    progress: _Progress,
    meter: Meter,
    first: early.FirstAnswers,
) -> Iterator[None]:
    """Ask what is left of a stage; a turn each time that it has to wait."""
    for tasks in part.left():
        for answered in part.engine.answers(tasks, meter.admit):
            if not answered.answers:
                progress.tell(part.name, WAITING)
                yield
                continue
            store.answer(answered.answers, answered.spending)
            progress.done += answered.task.batch.cost
            meter.answered += len(answered.answers)
            progress.tell(part.name)
            unreadable = first.add(len(answered.answers)) if meter.stops_early else None
            if unreadable is not None:
                for answer in unreadable.shown:
                    progress.watch(RunStep(part.name, 0, 0, str(answer), found=True))
                meter.stop(unreadable.error(part.name, first.ways))
        store.flush()
        stop_at_cap(meter, store, plan.study_digest)


def _record_load(stage: Stage, store: Writer, plan: Plan) -> Iterable[str]:
    """Record what is really run; what of it a person must know before the first call."""
    ran, stamp = stage.engine.effective(), plan.study_digest
    store.record(events.ModelLoaded(stamp=stamp, identity=stage.identity, **ran))
    if ran.get("unlike"):
        detail = environments_words(stage.name, ran["unlike"])
        store.record(events.Observed(stamp=stamp, what="environments", detail=detail))
    return not_honoured(stage.name, ran.get("honours"))


def _record_work(stage: Stage, store: Writer, plan: Plan, meter: Meter) -> Generator[None, None, list[str]]:
    """Where every call of a stage has its answer: the least work that it could have taken, and its noise, of
    which what a person is to be told comes back. A turn each time that it has to wait."""
    if store.unanswered(stage.number):
        return []
    about: dict[str, Any] = {
        "stamp": plan.study_digest,
        "identity": stage.identity,
        "precision": stage.precision,
    }
    least = stage.least(store)
    store.record(events.Worked(**about, least=least))
    if plan.study.spec.engine.noise_sample != 0:
        measured = yield from measure(plan, store, stage, least, meter.spare)
        if measured is None:
            return [f"{stage.name}: no noise floor is measured: [budget] leaves no room for it"]
        noise = events.NoiseMeasured(**about, **measured)
        store.record(noise)
        return list(noise_sentences(stage.name, noise))
    return []


def stop_at_cap(meter: Meter, store: Writer, stamp: str) -> None:
    """Where a cap was reached record it, and raise `BudgetError`; raise `UnreadError` where answers stopped
    the run."""
    if meter.stopped is not None:
        raise meter.stopped
    if meter.reached is None:
        return
    cap = meter.reached
    progress = store.progress(stamp)
    text = f"[budget] {cap} was reached after {progress.answered:,} of {progress.total:,} calls"
    store.record(events.Observed(stamp=stamp, what="budget", detail=text))
    help = "raise the cap, and run `gridc run` to resume"
    raise BudgetError([Diagnostic("GC611", text, help=help)])


def score_answers(plan: Plan, store: Writer, judged: JudgingState | None = None) -> None:
    """Give every sample that has its answers an outcome, and one that judges label when they have come to
    their `rulings`. Scoring is pure: doing it again changes nothing."""
    rulings = {} if judged is None else judged.rulings
    for cell in plan.cells():
        _require_one_answer(plan, store, cell)
    with store.all_or_nothing():
        for cell in plan.cells():
            if is_judged(cell) and judged is None:
                continue
            items = {item.id: item for item in plan.items(cell)}
            store.score(
                cell.key,
                plan.study_digest,
                (
                    (
                        item,
                        replicate,
                        _outcome(plan, cell, items[item], answers, rulings.get((cell.key, item, replicate))),
                    )
                    for item, replicate, answers in store.answers(plan.study_digest, cell.key)
                ),
            )


TWICE = 50
"""How many answers of a cell a function scores a second time."""


def _require_one_answer(plan: Plan, store: Store, cell: Cell) -> None:
    """Score some answers of a cell a second time, the last one first and in another process, where a function
    scores them. Raises `UnavailableError` (GC669) where it then gives something else."""
    if not METHODS[cell.setting.method].scored:
        return
    items = {item.id: item for item in plan.items(cell)}
    some = list(islice(store.answers(plan.study_digest, cell.key), TWICE))
    once = [_outcome(plan, cell, items[item], answers, None) for item, _, answers in some]
    again = plan.study.scorers.again
    for (item, _, answers), outcome in zip(reversed(some), reversed(once), strict=True):
        with scorer_errors_coded():
            twice = score_sample(cell.setting, items[item], answers, scorers=again)
        if twice != outcome:
            name = cell.setting.scorer and cell.setting.scorer.function
            given = " and ".join(_outcome_words(each) for each in (outcome, twice))
            message = f"`{name}` gives {given} for one answer to item {item}"
            help = "a function may not draw numbers, read a clock or keep anything from call to call"
            raise UnavailableError([Diagnostic("GC669", message, help=help)])


def _outcome_words(outcome: Outcome) -> str:
    """What a scoring function returned, in short."""
    if outcome.choice is None:
        return "nothing"
    return str(outcome.evidence.get("label") or outcome.evidence.get("numbers") or outcome.score)


def _outcome(plan: Plan, cell: Cell, item: Item, answers: list[Any], ruling: Ruling | None) -> Outcome:
    """Raises `StoreError` (GC605) where a stored answer is of no form that gridc writes, and
    `UnavailableError` (GC668) where a scoring function fails."""
    try:
        with scorer_errors_coded():
            return plan.score(cell, item, answers, ruling)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        message = f"{cell.key}, item {item.id}: a stored answer cannot be scored ({type(error).__name__})"
        raise StoreError([Diagnostic("GC605", message)]) from None
