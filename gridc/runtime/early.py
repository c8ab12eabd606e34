"""Stops a run of which most of the first answers cannot be read, before the rest is paid for.

A wrong prompt, reader or judge shows in fifty answers as well as in fifty thousand. Some answers say
nothing of that and do not count: refused, empty and cut ones, and calls that failed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from gridc.compiler.instrument.judging import JudgeFailure
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.refusals import refuses
from gridc.compiler.instrument.score import before_stop, score_sample
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, UnreadError
from gridc.runtime import judging
from gridc.runtime.stages import Stage
from gridc.runtime.store.write import Writer

ENOUGH = 50
"""Answers of one model after which it is looked whether they can be read."""
MOST_READ = 1000
"""Answers that are read for it, where a batch holds many."""
SHOWN = 5
MOST_SHOWN = 200
"""Characters of an answer that is shown."""
SILENT: tuple[JudgeFailure, ...] = (
    "no answer",
    "no response",
    "no other response",
    "refused",
    "empty",
    "cut off",
)
"""Failures of a judge that say nothing of how its replies are read."""


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """One of a model's first answers: where it was given, its text, and why it cannot be read; None where it
    can."""

    where: str
    text: str
    unread: str | None

    def __str__(self) -> str:
        text = " ".join(self.text.split())
        short = text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."
        return f"{self.where}: {self.unread}: {short}"


@dataclass(frozen=True, slots=True)
class UnreadableAnswers:
    """Those of a model's first answers that cannot be read, where they are most of them, and how many were
    looked at."""

    unread: tuple[FirstAnswer, ...]
    of: int

    @property
    def shown(self) -> tuple[FirstAnswer, ...]:
        """A few of them, spread over all."""
        step = max(len(self.unread) // SHOWN, 1)
        return self.unread[::step][:SHOWN]

    def error(self, name: str, ways: str) -> UnreadError:
        """What is said of them where the run stops (GC623)."""
        counted = f"{self.of:,} answers of `{name}` that are neither refused, empty nor cut"
        message = f"of the first {counted}, {len(self.unread):,} cannot be read"
        help = f"{ways}. What was answered is kept: `gridc run` again goes on, and --go-on does not stop here"
        return UnreadError([Diagnostic("GC623", message, help=help)])


@dataclass(slots=True)
class FirstAnswers:
    """Counts the answers of one model, and looks at them once there are enough. Where the store had `before`
    answers of it, and these are enough, nothing is looked at: a run that was stopped goes on when it is run
    again."""

    before: int
    read: Callable[[], Iterable[FirstAnswer]]
    ways: str
    _answered: int = 0
    _next: int = field(default=ENOUGH)

    def add(self, answered: int) -> UnreadableAnswers | None:
        """What cannot be read, where that is most of the first answers; None before there are enough, and
        ever after."""
        self._answered += answered
        if self.before >= ENOUGH or self.before + self._answered < self._next:
            return None
        first = tuple(islice(self.read(), MOST_READ))
        if len(first) < ENOUGH:
            self._next = self.before + self._answered + ENOUGH - len(first)
            return None
        self.before = ENOUGH
        unread = tuple(answer for answer in first if answer.unread is not None)
        return UnreadableAnswers(unread, len(first)) if 2 * len(unread) > len(first) else None


def first_answers(plan: Plan, store: Writer, stage: Stage, most: int | None = None) -> Iterator[FirstAnswer]:
    """The answers of a stage that are there and count, in the order of the plan, `most` or all: of cells
    whose answers are read from text by gridc alone. One that several cells read, each in its way, can be read
    if one of them does: studies compare strict readers on purpose."""
    found: dict[tuple[str, str, str], FirstAnswer] = {}
    for cell in plan.cells():
        method = METHODS[cell.setting.method]
        answered_by = plan.study.models[cell.model].digest, cell.setting.precision
        reads = method.reads_option or method.reads_answer
        if answered_by != (stage.identity, stage.precision) or not reads:
            continue
        items = {item.id: item for item in plan.items(cell)}
        for item, _, answers in store.answers(plan.study_digest, cell.key):
            last = answers[-1]
            outcome = score_sample(cell.setting, items[item], answers)
            text = "" if "error" in last else before_stop(last["text"], cell.setting.held("stop"))
            unread = None if outcome.choice is not None else str(outcome.evidence.get("unread"))
            declined, cut = last.get("refused") or refuses(text), last.get("finish") == "length"
            key = cell.benchmark, item, str(last.get("text"))
            if unread is None:
                found[key] = FirstAnswer(f"{item} ({cell.key})", text, None)
            elif not (declined or cut or not text.strip()):
                found.setdefault(key, FirstAnswer(f"{item} ({cell.key})", text, unread))
            if len(found) == most:
                yield from found.values()
                return
    yield from found.values()


def first_replies(plan: Plan, store: Writer, stage: Stage) -> Iterator[FirstAnswer]:
    """The same of what a judge replied."""
    for ask in judging.calls_so_far(plan, store):
        mine = (ask.request.model, ask.request.precision) == (stage.identity, stage.precision)
        if mine and ask.verdict is not None and ask.verdict.failure not in SILENT:
            answer = store.answer_to(ask.request.id) or {}
            yield FirstAnswer(f"call {ask.request.id[:12]}", str(answer.get("text", "")), ask.verdict.failure)


OF_FORMS = (
    "the model does not keep the form that it is asked for (`answer`): look at these, and ask for another "
    "form or for none"
)
OF_MODELS = 'answer = "line" asks for a form; or have the prompt ask for what `reader` or `match` reads'
OF_JUDGES = "state where its label stands (`reply`), and have the rubric ask for that"


def watch_model(plan: Plan, store: Writer, stage: Stage) -> FirstAnswers:
    """The first answers of a model of the study."""
    before = sum(1 for _ in first_answers(plan, store, stage, ENOUGH))
    asks_form = any(
        cell.setting.form is not None
        for cell in plan.cells()
        if plan.study.models[cell.model].digest == stage.identity
    )
    ways = OF_FORMS if asks_form else OF_MODELS
    return FirstAnswers(before, lambda: first_answers(plan, store, stage), ways)


def watch_judge(plan: Plan, store: Writer, stage: Stage) -> FirstAnswers:
    """The first replies of a judge."""
    before = sum(1 for _ in first_replies(plan, store, stage))
    return FirstAnswers(before, lambda: first_replies(plan, store, stage), OF_JUDGES)
