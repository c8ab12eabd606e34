"""The prompt of an item in a configuration, before or after the run."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel

from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.cells import Cell
from gridc.compiler.grid.configurations import grid_place
from gridc.compiler.inputs.scorers import scorer_failure
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import spoken_options
from gridc.compiler.instrument.points import ScorerError
from gridc.compiler.instrument.score import Outcome
from gridc.compiler.instrument.setting import DEFAULTS, KEYS, Setting
from gridc.compiler.lowering.calls import AnswerLookup, PlannedSample, Prompt, Request, unanswered
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.oracle_hazards import trial_setting, with_best_right
from gridc.compiler.preflight.oracles import replies
from gridc.diagnostics.errors import Diagnostic, GridcError, SpecError, UsageError
from gridc.runtime.store.store import Store
from gridc.schema.base import Not, Selector, selector_of
from gridc.schema.models import engine_kind
from gridc.schema.spec import Spec
from gridc.study.place import Place

if TYPE_CHECKING:
    from gridc.runtime.engines.hf.prompts import Tokenized


MOST_WORDS = 2_000
"""Words of a changed passage that are compared one by one; a longer one is replaced as a whole."""


class Piece(NamedTuple):
    """A stretch of text: in both, in the first alone, or in the second alone."""

    side: Literal["both", "a", "b"]
    text: str


def text_diff(a: str, b: str) -> list[Piece]:
    """The pieces of two texts. Those of `both` and `a` make the first text, those of `both` and `b` the
    second."""
    return list(_merged(_lines(a, b)))


def _lines(a: str, b: str) -> Iterator[Piece]:
    first, second = a.splitlines(keepends=True), b.splitlines(keepends=True)
    for mine, yours in _blocks(first, second):
        if mine == yours:
            yield Piece("both", mine)
        else:
            yield from _words(mine, yours)


def _words(a: str, b: str) -> Iterator[Piece]:
    first, second = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (a, b))
    if max(len(first), len(second)) > MOST_WORDS:
        yield from (Piece("a", a), Piece("b", b))
        return
    for mine, yours in _blocks(first, second):
        if mine == yours:
            yield Piece("both", mine)
        else:
            yield from (Piece("a", mine), Piece("b", yours))


def _blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What stands for what, in order."""
    for _, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        yield "".join(a[i:j]), "".join(b[k:m])


def _merged(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Without empty pieces, and neighbours of one side as one."""
    held: Piece | None = None
    for piece in pieces:
        if not piece.text:
            continue
        if held is not None and held.side == piece.side:
            held = Piece(held.side, held.text + piece.text)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


def selector(spec: Spec, texts: Iterable[str]) -> Selector:
    """The selector that these texts write (`selector_of`). Raises `UsageError` for a name that the spec does
    not have."""
    try:
        chosen = selector_of(texts)
    except ValueError as error:
        help = "--where template=T1, --where template=T1,T2, --where decoding!=greedy"
        raise UsageError([Diagnostic("GC000", str(error), help=help)]) from None
    known = {axis.id: [level.id for level in axis.level] for axis in spec.axis}
    known["model"] = [model.id for model in spec.model]
    known["benchmark"] = [benchmark.id for benchmark in spec.benchmark]
    known["tier"] = list(spec.tiers)
    for dimension in chosen.root:
        if dimension not in known:
            message = f"the study has no axis `{dimension}`"
            raise UsageError([Diagnostic("GC000", message, help=did_you_mean(dimension, known))])
    for _, dimension, name in chosen.mentions():
        if name not in known[dimension]:
            what = dimension if dimension in ("model", "benchmark", "tier") else f"level of `{dimension}`"
            message = f"`{name}` is no {what}"
            raise UsageError([Diagnostic("GC000", message, help=did_you_mean(name, known[dimension]))])
    return chosen


def cells_in(plan: Plan, chosen: Selector) -> list[Cell]:
    """The planned cells of a part of the grid. Raises `UsageError` where there is none, with the exclusion
    that is to blame."""
    cells = [cell for cell in plan.cells() if chosen.matches(_place(cell))]
    if not cells:
        reasons = [exclusion.why for exclusion in plan.study.spec.exclude]
        help = f"the study excludes combinations: {'; '.join(reasons)}" if reasons else None
        raise UsageError([Diagnostic("GC000", "no planned cell is in that part of the grid", help=help)])
    return cells


def _place(cell: Cell) -> dict[str, str]:
    return grid_place(cell.levels, cell.tier, cell.benchmark, cell.model)


class Finder:
    """Finds the item that a text names: by its id, or where no item has that id by its number, from 1, in the
    order in which a benchmark's items are asked. Without a text it is the first one."""

    def __init__(self, plan: Plan, cells: Sequence[Cell], text: str | None) -> None:
        self._plan, self._text = plan, text
        self._found: dict[object, Item | None] = {}
        ids = {item.id for cell in cells for item in self._items(cell)} if text else set()
        self._by_number = text is not None and text not in ids and len(text) < 10 and text.isdecimal()
        if text and not self._by_number and text not in ids:
            help = did_you_mean(text, sorted(ids)) if ids else "the items are not here"
            message = f"no item that is asked there has the id `{text}`"
            raise UsageError([Diagnostic("GC000", message, help=help)])

    def _items(self, cell: Cell) -> Sequence[Item]:
        return () if cell.benchmark in self._plan.study.absent else self._plan.items(cell)

    def item(self, cell: Cell) -> Item | None:
        """The item in a cell; None where the cell does not ask it."""
        setting = cell.setting
        alike = (cell.benchmark, setting.option_order, setting.items, setting.variant)
        if alike not in self._found:
            self._found[alike] = self._look(self._items(cell))
        return self._found[alike]

    def _look(self, items: Sequence[Item]) -> Item | None:
        number = int(self._text) if self._by_number and self._text else 1
        if self._text is None or self._by_number:
            return items[number - 1] if 0 < number <= len(items) else None
        return next((item for item in items if item.id == self._text), None)


FORMAT = "gridc-show/1"


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call as it is asked: the digests of the call and of its prompt, the messages as (role, text), whether
    a chat template frames them, and every parameter. The first `shared` characters of each message are those
    of every item of the cell, so an engine with a cache computes them once; None for what is asked later.
    `answer` is the stored one, and `sent` says how it was asked. `functions` are those that the model may
    call."""

    step: str | None
    call: str
    prompt: str
    kind: str
    messages: tuple[tuple[str, str], ...]
    chat_template: bool
    parameters: Mapping[str, Any]
    shared: tuple[int, ...] | None
    tokens: "Tokenized | None"
    answer: Mapping[str, Any] | None
    sent: Mapping[str, Any] | None
    functions: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ShownReply:
    """What a synthetic responder says to the item, what it has to come to (`right`, `no point`, `unread`),
    what was read (an option's index) by which rule, and whether that passes."""

    oracle: str
    expected: str
    said: str | None
    choice: int | None
    rule: str | None
    passes: bool


@dataclass(frozen=True, slots=True)
class ShownScaffold:
    """What follows the first calls of a scaffold: its kind, the steps where it asks least and where it asks
    most, and how many calls come after the first at least, commonly and at most."""

    kind: str
    least: tuple[str, ...]
    most: tuple[str, ...]
    later: tuple[float, float, float]


SAID = ("cell", "model", "benchmark", "tier", "labels", "choices", "decides")
"""The fields of a sample that are JSON as they are."""


@dataclass(frozen=True, slots=True)
class ShownSample:
    """One item in one cell, asked once. `labels` are those that options are shown under, and `choices` what
    each choice of an outcome means. `setting` has every key that is stated and matters; `outcome` is None
    while a call has no answer, and `decides` is the call whose answer was read. `failure` says why the item
    cannot be asked, and then there are no calls."""

    cell: str
    model: str
    benchmark: str
    levels: Mapping[str, str]
    tier: str
    item: Item
    labels: tuple[str, ...]
    choices: tuple[str, ...]
    replicate: int
    replicates: int
    setting: Mapping[str, Any]
    scale: int
    ranks: bool
    exemplars: tuple[str, ...]
    calls: tuple[ShownCall, ...]
    scaffold: ShownScaffold | None
    oracles: tuple[ShownReply, ...]
    outcome: Outcome | None
    decides: str | None
    failure: tuple[Diagnostic, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the item, or what its question shows under the letters that they are."""
        return spoken_options(self.item)

    def as_json(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in SAID}
        return {
            **shown,
            "levels": dict(self.levels),
            "item": {**self.item.as_json(), "right": sorted(self.item.right)},
            "replicate": self.replicate,
            "replicates": self.replicates,
            "setting": dict(self.setting),
            "scale": self.scale,
            "exemplars": self.exemplars,
            "calls": [asdict(call) for call in self.calls],
            "scaffold": None if self.scaffold is None else asdict(self.scaffold),
            "oracles": [asdict(reply) for reply in self.oracles],
            "outcome": None if self.outcome is None else asdict(self.outcome),
            "failure": [diagnostic.as_json() for diagnostic in self.failure],
        }


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """How two configurations ask the item: the keys of their settings that differ, the messages that differ
    (of the first call), and what is asked beside them."""

    a: str
    b: str
    settings: Mapping[str, tuple[Any, Any]]
    messages: tuple[tuple[str, tuple[Piece, ...]], ...]
    parameters: Mapping[str, tuple[Any, Any]]

    def as_json(self) -> dict[str, Any]:
        texts = [
            {"role": role, "pieces": [piece._asdict() for piece in pieces]} for role, pieces in self.messages
        ]
        return {
            "a": self.a,
            "b": self.b,
            "settings": {key: list(values) for key, values in self.settings.items()},
            "messages": texts,
            "parameters": {key: list(values) for key, values in self.parameters.items()},
        }


@dataclass(frozen=True, slots=True)
class Showing:
    """What was asked for: `samples` with different prompts, of the `matching` cells that ask the item.
    `others` has the first cell of each prompt that is not among them, by the dimensions in which it departs
    from the first. `tokens` says why no tokens are shown, and `stored` why there is no answer."""

    samples: tuple[ShownSample, ...]
    matching: int
    others: tuple[str, ...]
    difference: ShownDifference | None
    tokens: str | None
    stored: str | None

    def as_json(self) -> dict[str, Any]:
        """As `gridc show --json` prints it."""
        return {
            "format": FORMAT,
            "matching": self.matching,
            "others": list(self.others),
            "tokens": self.tokens,
            "stored": self.stored,
            "samples": [sample.as_json() for sample in self.samples],
            "difference": None if self.difference is None else self.difference.as_json(),
        }


def show(
    place: Place,
    item: str | None,
    where: Sequence[str],
    against: Sequence[str],
    every: bool,
    replicate: int,
    with_tokens: bool,
) -> Showing:
    """What an item is asked in the first cell that `where` selects; with `every` in one cell for each prompt.
    `against` names levels that another configuration has instead, which is compared. Makes no call.

    Raises `UsageError` for what does not exist, and `SpecError` where the benchmark's items are not here.
    """
    compiled = place.resolved()
    plan = Plan(compiled.study)
    cells = cells_in(plan, selector(compiled.spec, where))
    finder = Finder(plan, cells, item)
    asking = [(cell, asked_item) for cell in cells if (asked_item := finder.item(cell)) is not None]
    if not asking:
        raise _not_here(plan, cells, item)
    if replicate >= (most := asking[0][0].setting.replicates):
        message = f"{asking[0][0].key} asks each item {most} times, so there is no replicate {replicate}"
        raise UsageError([Diagnostic("GC000", message, help="replicates are counted from 0")])
    with ExitStack() as stack:
        path = place.store(compiled)
        store = stack.enter_context(Store.open(path)) if path.is_file() else None
        viewer = SampleDisplay(plan, store, with_tokens)
        first, *rest = _distinct(plan, asking)
        if against:
            other = _other(plan, first[0], against)
            asked_item = finder.item(other)
            if asked_item is None:
                raise UsageError([Diagnostic("GC000", f"{other.key} does not ask the item {first[1].id}")])
            rest = [(other, asked_item)]
        shown = [first, *(rest if every or against else [])]
        samples = tuple(viewer.sample(cell, asked_item, replicate) for cell, asked_item in shown)
        left = [] if every or against else [_departing(first[0], cell) for cell, _ in rest]
        stored = None if path.is_file() else "there is no store yet: `gridc run` makes one"
        difference = _difference(*samples) if against else None
    return Showing(samples, len(asking), tuple(left), difference, viewer.no_tokens, stored)


def _not_here(plan: Plan, cells: Sequence[Cell], item: str | None) -> GridcError:
    absent = {cell.benchmark: plan.study.absent.get(cell.benchmark) for cell in cells}
    reasons = [reason for reason in absent.values() if reason is not None]
    if reasons:
        help = "`--data FOLDER` says where the benchmark's files are"
        return SpecError([Diagnostic("GC309", reason, help=help) for reason in reasons])
    most = max(len(plan.items(cell)) for cell in cells)
    return UsageError([Diagnostic("GC000", f"there is no item number {item}; {most:,} are asked")])


def _distinct(plan: Plan, asking: Sequence[tuple[Cell, Item]]) -> list[tuple[Cell, Item]]:
    """The first cell of each prompt. One that cannot be rendered stands for itself."""
    first: dict[object, tuple[Cell, Item]] = {}
    rendered: dict[object, object] = {}
    for cell, item in asking:
        alike = (cell.benchmark, repr(cell.setting.shown))
        if alike not in rendered:
            try:
                sample = next(iter(plan.samples_of(cell, item)))
                rendered[alike] = tuple(request.prompt.id for request in sample.requests)
            except GridcError:
                rendered[alike] = alike
        first.setdefault(rendered[alike], (cell, item))
    return list(first.values())


def _departing(first: Cell, other: Cell) -> str:
    """`template=T2`: where another cell departs from the first, in the order of the grid."""
    here = {**first.levels, "benchmark": first.benchmark, "model": first.model}
    there = {**other.levels, "benchmark": other.benchmark, "model": other.model}
    return ",".join(f"{name}={level}" for name, level in there.items() if here.get(name) != level)


def _other(plan: Plan, cell: Cell, against: Sequence[str]) -> Cell:
    """The cell that has these levels, and else those of another one."""
    changed = selector(plan.study.spec, against).root
    place = {**cell.levels, "benchmark": cell.benchmark, "model": cell.model}
    for dimension, names in changed.items():
        if isinstance(names, Not | str) or dimension == "tier" or len(names) != 1:
            help = "for each axis that differs, name one level: --diff template=T4"
            raise UsageError([Diagnostic("GC000", "exactly two configurations can be compared", help=help)])
        place[dimension] = names[0]
    texts = [f"{dimension}={name}" for dimension, name in place.items()]
    return cells_in(plan, selector_of(texts))[0]


class SampleDisplay:
    """Shows samples of one plan, with the answers of one store and, where they are asked for, the tokens."""

    def __init__(self, plan: Plan, store: Store | None, tokens: bool) -> None:
        self._plan, self._store, self._tokens = plan, store, tokens
        self._engines: dict[tuple[str, str], Any] = {}
        self.no_tokens: str | None = None if tokens else "not asked for: --tokens loads the model's tokenizer"

    def sample(self, cell: Cell, item: Item, replicate: int) -> ShownSample:
        about = partial(self._about, cell, item)
        try:
            samples = list(self._plan.samples_of(cell, item))
        except GridcError as error:
            return about(replicate, (), None, (), None, None, error.diagnostics)
        sample = samples[min(replicate, len(samples) - 1)]
        trace = sample.trace(self._answers)
        prompts = self._prompts(cell)
        first = len(sample.requests)
        calls = tuple(
            self._call(cell, step, request, prompts if number < first else None)
            for number, (step, request) in enumerate(trace.calls)
        )
        scaffold = None if sample.scaffolded is None else _scaffold(cell, sample)
        answers = [self._answers(request.id) for _, request in trace.rows]
        known = [answer for answer in answers if answer is not None]
        ended = sample.scaffolded is None or trace.decides is not None
        may = ended and len(known) == len(answers)
        may = may and self._plan.study.scorers.refused(cell.setting.scorer) is None
        try:
            outcome = self._plan.score(cell, item, known) if may else None
        except ScorerError as error:
            return about(sample.replicate, calls, scaffold, (), None, None, (scorer_failure(error),))
        decides = trace.rows[-1][1].id if ended else None
        return about(sample.replicate, calls, scaffold, _oracles(cell, sample), outcome, decides)

    def _about(
        self,
        cell: Cell,
        item: Item,
        replicate: int,
        calls: tuple[ShownCall, ...],
        scaffold: ShownScaffold | None,
        oracles: tuple[ShownReply, ...],
        outcome: Outcome | None,
        decides: str | None,
        failure: tuple[Diagnostic, ...] = (),
    ) -> ShownSample:
        setting = cell.setting
        labels = setting.labels_of(item)
        names = METHODS[setting.method].names(self._plan.study.spec.verdicts(setting.judge), setting.scores)
        return ShownSample(
            cell.key,
            cell.model,
            cell.benchmark,
            cell.levels,
            cell.tier,
            item,
            labels,
            tuple(f"option {name}" for name in labels or item.options) if names is None else tuple(names),
            replicate,
            setting.replicates,
            stated_keys(setting),
            setting.scale,
            setting.ranks,
            tuple(exemplar.id for exemplar in self._plan.exemplars_of(cell, item)),
            calls,
            scaffold,
            oracles,
            outcome,
            decides,
            failure,
        )

    @property
    def _answers(self) -> AnswerLookup:
        return unanswered if self._store is None else self._store.answer_to

    def _prompts(self, cell: Cell) -> list[Prompt] | None:
        """The first prompt of every item of the cell; None where one of them cannot be rendered."""
        try:
            return [sample.requests[0].prompt for sample in self._plan.samples(cell) if sample.replicate == 0]
        except GridcError:
            return None

    def _call(
        self, cell: Cell, step: str | None, request: Request, prompts: Sequence[Prompt] | None
    ) -> ShownCall:
        answer = self._answers(request.id)
        sent = None
        if answer is not None and self._store is not None:
            sent, _ = self._store.answered_with(request.id)
        return ShownCall(
            step,
            request.id,
            request.prompt.id,
            request.kind,
            request.prompt.messages,
            request.prompt.chat_template,
            request.parameters,
            None if prompts is None else tuple(_shared(request.prompt, prompts)),
            None if prompts is None else self._tokenized(cell, request, prompts),
            answer,
            sent,
            tuple(json.loads(request.prompt.functions or "[]")),
        )

    def _tokenized(self, cell: Cell, request: Request, prompts: Sequence[Prompt]) -> "Tokenized | None":
        if not self._tokens:
            return None
        study = self._plan.study
        (engine,) = (model.engine for model in study.spec.model if model.id == cell.model)
        if not engine_kind(engine).shows_tokens or study.models[cell.model].folder is None:
            self.no_tokens = f"the tokenizer of `{cell.model}` is not here"
            return None
        from gridc.runtime.engines import open_engine
        from gridc.runtime.engines.protocol import Call

        key = (cell.model, cell.setting.precision)
        if key not in self._engines:
            self._engines[key] = open_engine(cell.model, study.models[cell.model], key[1], study.spec)
        from gridc.runtime.engines.hf.prompts import tokenized

        call = Call(request.id, request.kind, request.prompt, request.parameters)
        return tokenized(self._engines[key].prompts, call, prompts)


def stated_keys(setting: Setting) -> dict[str, Any]:
    """The keys of a setting that matter and are not at their default, and the method and the prompt."""
    effective = setting.effective()
    values = {key: getattr(effective, key) for key in KEYS}
    return {key: _json_value(value) for key, value in values.items() if value != DEFAULTS.get(key, object())}


def _json_value(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    return [_json_value(part) for part in value] if isinstance(value, tuple) else value


def _shared(prompt: Prompt, others: Sequence[Prompt]) -> Iterator[int]:
    """How many characters of each message begin the same message of every prompt."""
    alike = True
    for number, (_, text) in enumerate(prompt.messages):
        texts = [text, *(other.messages[number][1] for other in others if number < len(other.messages))]
        shared = _common(min(texts), max(texts)) if alike else 0
        alike = alike and shared == len(text)
        yield shared


def _common(first: str, last: str) -> int:
    """How many characters begin both; of the first and last of many in order: of all."""
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(last)))


def _scaffold(cell: Cell, sample: PlannedSample) -> ShownScaffold | None:
    scaffold = cell.setting.scaffolding
    if sample.scaffolded is None or scaffold is None:
        return None
    extent = sample.scaffolded.extent()
    later = (extent.least.calls, extent.expected.calls, extent.most.calls)
    return ShownScaffold(scaffold.kind, *sample.scaffolded.steps(), later)


def _oracles(cell: Cell, sample: PlannedSample) -> tuple[ShownReply, ...]:
    """What the synthetic responders answer, tried as `validate --check` tries them."""
    shown = []
    for reply in replies(trial_setting(cell.setting), with_best_right(sample, cell.setting.scores)):
        evidence = {} if reply.outcome is None else reply.outcome.evidence
        rule = evidence.get("rule") or evidence.get("unread")
        choice = None if reply.outcome is None else reply.outcome.choice
        shown.append(ShownReply(reply.oracle.name, reply.expected, reply.said, choice, rule, reply.passes))
    return tuple(shown)


def _difference(a: ShownSample, b: ShownSample) -> ShownDifference:
    settings = _differing(a.setting, b.setting)
    first, second = (sample.calls[0].messages if sample.calls else () for sample in (a, b))
    mine, yours = _numbered(first), _numbered(second)
    messages = tuple(
        (role, tuple(text_diff(mine.get((role, number), ""), yours.get((role, number), ""))))
        for role, number in {**mine, **yours}
        if mine.get((role, number)) != yours.get((role, number))
    )
    beside = [
        {"kind": sample.calls[0].kind, "chat_template": sample.calls[0].chat_template,
         "calls": len(sample.calls), **sample.calls[0].parameters} if sample.calls else {}
        for sample in (a, b)
    ]  # fmt: skip
    return ShownDifference(a.cell, b.cell, settings, messages, _differing(*beside))


def _numbered(messages: Sequence[tuple[str, str]]) -> dict[tuple[str, int], str]:
    """The texts by role, and by their number among those of the role."""
    texts: dict[tuple[str, int], str] = {}
    for role, text in messages:
        texts[role, sum(other == role for other, _ in texts)] = text
    return texts


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {key: (a.get(key), b.get(key)) for key in {**a, **b} if a.get(key) != b.get(key)}
