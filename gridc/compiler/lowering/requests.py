"""Turns a cell into its samples and their calls: the second half of lowering.

`Asker` renders the prompts of a study and makes the calls of plain cells. `ScaffoldOnItem` makes those of a
scaffold, whose later calls depend on the answers to earlier ones.
"""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import count
from typing import Any, TypeVar

from gridc.compiler.frontend.plugins import GROUPS, Plugin
from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.resolve import Study, show_command
from gridc.compiler.instrument.forms import ANSWER_FORMS, form_of
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import NoCandidates, item_candidates
from gridc.compiler.instrument.render import (
    BLANK_LINE,
    SandboxError,
    exemplar_blocks,
    options_apart,
    reference_answer,
    render_behind,
    render_said,
    wrap,
)
from gridc.compiler.instrument.scaffolds import PROCEDURES, Procedure, StepReply, ends_with
from gridc.compiler.instrument.scaffolds.turns import Messages, ScaffoldError, ScriptedTool, Steps, Task, Turn
from gridc.compiler.instrument.score import before_stop
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import (
    AnswerLookup,
    CallParts,
    Extent,
    PlannedSample,
    Prompt,
    Request,
    SampleCalls,
    Size,
    unanswered,
)
from gridc.diagnostics.errors import Diagnostic, SpecError, UnavailableError
from gridc.schema.base import PLUGIN
from gridc.schema.effects import Scaffold
from gridc.schema.models import engine_kind

T = TypeVar("T")

USUAL = 4.0
"""Characters per token of English text, assumed where no tokenizer can be asked."""


@dataclass(frozen=True, slots=True)
class ScaffoldOnItem:
    """A scaffold on one item. `request` makes a call of a turn of the procedure; `stops` are the strings that
    end a reply."""

    procedure: Procedure
    scaffold: Scaffold
    task: Task
    request: Callable[[Turn], Request]
    stops: tuple[str, ...] = ()

    @property
    def converses(self) -> bool:
        return self.procedure.converses

    def trace(self, answers: AnswerLookup, waves: int | None = None) -> SampleCalls:
        """Run the procedure on the answers that are known, for at most `waves` waves of calls.

        A call that failed for good has an answer without a text. The procedure ends with it, and it is the
        sample's answer.
        """
        calls: list[tuple[str | None, Request]] = []
        steps = self.procedure.run(self.scaffold, self.task)
        turns = next(steps)
        for wave in count(1):
            requests = [(turn.step, self.request(turn)) for turn in turns]
            contents = [answers(request.id) for _, request in requests]
            calls += requests
            given = [content for content in contents if content is not None]
            if len(given) < len(requests):
                return SampleCalls(tuple(calls), wave, None)
            failed = [at for at, content in enumerate(given) if "text" not in content]
            if failed:
                return SampleCalls(tuple(calls), wave, len(calls) - len(requests) + failed[0])
            texts = tuple(before_stop(content["text"], self.stops) for content in given)
            try:
                turns = steps.send(texts)
            except StopIteration as end:
                decides = max(at for at, (step, _) in enumerate(calls) if step == end.value)
                return SampleCalls(tuple(calls), wave, decides)
            if wave == waves:
                return SampleCalls(tuple(calls), wave, None)
        raise AssertionError("count() does not end")

    def extent(self) -> Extent:
        """How much the scaffold asks after its first calls, by made-up replies that lead to the fewest and
        to the most calls. A reply is expected to be half as long as its limit, and at most as long."""
        kind = self.procedure
        least, most = self._size(kind.shortest, 0), self._size(kind.longest, 1)
        middle = self._size(kind.longest, 0.5)

        def between(low: float, high: float) -> float:
            return low + kind.usual * (high - low)

        expected = Size(
            between(least.calls, middle.calls),
            between(least.prompt_characters, middle.prompt_characters),
            between(least.generated_tokens, middle.generated_tokens),
        )
        return Extent(least, expected, most)

    def steps(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The steps of the calls where the scaffold asks least and where it asks most, by the same made-up
        replies."""
        kind = self.procedure
        return self._steps(kind.shortest, 0), self._steps(kind.longest, 1)

    def _steps(self, reply: StepReply, filled: float) -> tuple[str, ...]:
        steps = self.procedure.run(self.scaffold, self.task)
        turns, named = next(steps), []
        while True:
            named += [turn.step for turn in turns]
            characters = round(filled * self._limit(turns[0]) * USUAL)
            try:
                turns = steps.send(tuple(reply(turn.step, characters, self.task) for turn in turns))
            except StopIteration:
                return tuple(named)

    def _size(self, reply: StepReply, filled: float) -> Size:
        """How much is asked after the first wave if replies fill the share `filled` of their limit."""
        steps = self.procedure.run(self.scaffold, self.task)
        turns, size, first = next(steps), Size(), True
        while True:
            if not first:
                size += self._asked(turns, filled)
            characters = round(filled * self._limit(turns[0]) * USUAL)
            try:
                turns, first = (
                    steps.send(tuple(reply(turn.step, characters, self.task) for turn in turns)),
                    False,
                )
            except StopIteration:
                return size

    def _asked(self, turns: Sequence[Turn], filled: float) -> Size:
        characters = sum(len(text) for turn in turns for _, text in turn.messages)
        generated = sum(max(1, filled * self._limit(turn)) for turn in turns)
        return Size(len(turns), characters, generated)

    def _limit(self, turn: Turn) -> int:
        limit: int = self.request(turn).parameters["max_tokens"]
        return limit


def scaffold_procedure(scaffold: Scaffold, plugins: Mapping[str, Plugin]) -> Procedure:
    """The procedure of a scaffold's kind. A plug-in that fails raises `UnavailableError` (GC342)."""
    if not scaffold.kind.startswith(PLUGIN):
        return PROCEDURES[scaffold.kind]
    plugin = plugins[f"{GROUPS['scaffold']}:{scaffold.kind.removeprefix(PLUGIN)}"]
    run = plugin.load()

    def guarded(scaffold: Scaffold, task: Task) -> Steps:
        try:
            decides: str = yield from run(scaffold, task)
            return decides
        except ScaffoldError as error:
            about = f"the scaffold `{scaffold.kind}` of {plugin.distribution} {plugin.version}"
            diagnostic = Diagnostic(error.code, f"{about} cannot be used: {error.problem}", help=error.help)
            raise UnavailableError([diagnostic]) from None
        except Exception as error:  # a plug-in can fail as any program can
            failed = plugin.failed(error)
            raise UnavailableError([Diagnostic(failed.code, failed.problem, help=failed.help)]) from None

    goes_on = getattr(run, "longest", "")  # of what `follow` made
    return Procedure(guarded, longest=ends_with(goes_on)) if goes_on else Procedure(guarded)


Requests = Callable[[Item, Prompt, int], tuple[Request, ...]]
"""Makes the calls of a sample from its item, the item's prompt and the replicate."""


class Asker:
    """Lowers the cells of one study. Cells that ask the same prompts share the rendered ones."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._models = {name: identity.digest for name, identity in study.models.items()}
        self._provided = {model.id for model in study.spec.model if engine_kind(model.engine).provider}
        self._prompts = lru_cache(maxsize=16)(self._render)
        self._blocks = lru_cache(maxsize=16)(self._exemplar_blocks)
        self._turns_of = lru_cache(maxsize=16)(self._exemplar_turns)
        self._asked = lru_cache(maxsize=16)(lambda name, *how: study.items[name].asked(*how))

    def items(self, cell: Cell) -> tuple[Item, ...]:
        """The items of a cell in file order, with their options in the order in which they are shown."""
        setting = cell.setting
        return self._asked(cell.benchmark, setting.option_order, setting.items, setting.variant)

    def samples(self, cell: Cell, by_id: bool = False) -> Iterator[PlannedSample]:
        """Every sample of a cell, replicate by replicate for each item. Items come in file order, or with
        `by_id` in the order of their ids, as in a store."""
        requests = self._requests(cell)
        prompted = list(zip(self.items(cell), self._prompts(*_rendered(cell)), strict=True))
        for item, prompt in sorted(prompted, key=lambda one: one[0].id) if by_id else prompted:
            yield from self._of(cell, item, prompt, requests)

    def samples_of(self, cell: Cell, item: Item) -> Iterator[PlannedSample]:
        """One item of the cell (`items`), replicate by replicate. No other item's prompt is rendered."""
        yield from self._of(cell, item, self._prompt(*_rendered(cell), item), self._requests(cell))

    def samples_once(self, cell: Cell) -> Iterator[PlannedSample]:
        """The first replicate of every sample of a cell, in file order. One prompt is held at a time."""
        once = replace(cell, setting=replace(cell.setting, replicates=1))
        for item in self.items(once):
            yield from self.samples_of(once, item)

    def words(self, cell: Cell) -> Hashable:
        """A key that is equal for cells whose calls say the same about each item (`CallParts.words`)."""
        setting = cell.setting
        asked: tuple[object, ...] = ()
        if setting.scaffolding is not None:  # it may hold tables, which have no hash
            asked = repr(setting.scaffolding), self.draws(cell), setting.ranks
        elif setting.ranks:
            asked = (
                METHODS[setting.method].weighs,
                setting.held("candidates"),
                setting.held("normalise") == "unconditional",
                setting.continuation_delimiter,
                setting.seam,
                setting.premise,
            )
        return cell.benchmark, setting.shaping, asked

    def sender(self, cell: Cell) -> bytes:
        """`CallParts.sender` of each call of a cell."""
        kind = "loglikelihood" if cell.setting.ranks else "generate"
        asked = {"kind": kind, "model": self._models[cell.model], "precision": cell.setting.precision}
        return CallParts.of({**asked, **self._decoding(cell)}).sender

    def exemplars_of(self, cell: Cell, item: Item) -> tuple[Item, ...]:
        """The items that an item's prompt shows with their answers, in order."""
        setting, here = cell.setting, self.study.items[cell.benchmark]
        shown = here.shown(setting.option_order, setting.variant)
        return tuple(shown[place] for place in here.drawn(item.id, setting.shots))

    def exemplars(self, cell: Cell) -> tuple[Item, ...]:
        """The items that any prompt of a cell shows with their answers, in the study's order."""
        setting, here = cell.setting, self.study.items[cell.benchmark]
        shown = here.shown(setting.option_order, setting.variant)
        return tuple(shown[place] for place in sorted(here.seen(setting.shots)))

    def draws(self, cell: Cell) -> bool:
        """Whether a repeated call could get another answer: answers are sampled, or a provider gives them,
        whose answers may differ even at temperature 0."""
        return not cell.setting.ranks and bool(cell.setting.temperature or cell.model in self._provided)

    def _of(self, cell: Cell, item: Item, prompt: Prompt, requests: Requests) -> Iterator[PlannedSample]:
        if cell.setting.scaffolding is not None:
            yield from self._scaffolded(cell, cell.setting.scaffolding, item, prompt)
            return
        for replicate in range(cell.setting.replicates):
            yield PlannedSample(item, replicate, requests(item, prompt, replicate))

    def _scaffolded(
        self, cell: Cell, scaffold: Scaffold, item: Item, prompt: Prompt
    ) -> Iterator[PlannedSample]:
        """The samples of one item under a scaffold."""
        setting, procedure = cell.setting, scaffold_procedure(scaffold, self.study.plugins)
        if setting.ranks:
            message = f"{cell.key}: a scaffold answers in text, and `{setting.method}` reads none"
            help = f'[[exclude]] these cells, or method = "extract" where `{scaffold.kind}` answers'
            raise SpecError([Diagnostic("GC105", message, help=help)])
        options, system = options_apart(item, setting.options, setting.look), setting.system or None
        task = Task(
            cell.benchmark, prompt.messages[-1][1], options, system, setting.system_turn,
            self._before(*_rendered(cell), item), item.turns, _scripted(item), form_of(setting, item),
        )  # fmt: skip
        scaffold = self._worded(cell, scaffold, item)
        drawn = self._generation(cell)
        for replicate in range(setting.replicates):
            request = partial(self._turn, cell, drawn(item, replicate))
            scaffolded = ScaffoldOnItem(procedure, scaffold, task, request, setting.held("stop"))
            first = tuple(request for _, request in scaffolded.trace(unanswered).calls)
            yield PlannedSample(item, replicate, first, scaffolded)

    def _worded(self, cell: Cell, scaffold: Scaffold, item: Item) -> Scaffold:
        """The scaffold with its own prompts rendered for an item."""
        sources = (scaffold.wording or {}).get(cell.benchmark)
        if sources is None:
            return scaffold
        try:
            said = tuple(
                render_said(source, item, cell.setting.options, cell.setting.look) for source in sources
            )
        except SandboxError as error:
            raise self._not_rendered("wording", cell.benchmark, item, error) from None
        if said == sources:
            return scaffold
        return scaffold.model_copy(update={"wording": {cell.benchmark: said}})

    def _turn(self, cell: Cell, parameters: Mapping[str, Any], turn: Turn) -> Request:
        """The call of a turn."""
        # Equal requests are one call, and workers who ask the same must draw independently.
        if turn.worker and self.draws(cell):
            parameters = {**parameters, "worker": turn.worker}
        asked = cell.setting.effective()
        prompt = Prompt(turn.messages, asked.chat_template, thinking=asked.thinking)
        return Request("generate", self._models[cell.model], cell.setting.precision, prompt, parameters)

    def _requests(self, cell: Cell) -> Requests:
        """The function that makes the calls of a cell without a scaffold. Common parts are computed once."""
        setting, model = cell.setting, self._models[cell.model]
        if not setting.ranks:
            drawn = self._generation(cell)

            def generate(item: Item, prompt: Prompt, replicate: int) -> tuple[Request, ...]:
                return (Request("generate", model, setting.precision, prompt, drawn(item, replicate)),)

            return generate
        twice = setting.held("normalise") == "unconditional"

        def rank(item: Item, prompt: Prompt, replicate: int) -> tuple[Request, ...]:
            ranking = _ranking(setting, item, cell)
            if item.contexts and twice:
                message = f"{cell.key} subtracts the likelihood of an option alone, and options of {item.id} "
                message += "differ in what stands before them"
                raise SpecError([Diagnostic("GC313", message, help='normalise = "none", "char" or "byte"')])
            if item.contexts:
                worded = (replace(item, query=context) for context in item.contexts)
                prompts = tuple(self._prompt(*_rendered(cell), one) for one in worded)
                return tuple(
                    Request("loglikelihood", model, setting.precision, wording, ranking)
                    for wording in prompts
                )
            alone = METHODS[setting.method].weighs and not item.references
            behind = prompt.saying(setting.premise)
            prompts = (behind,) if alone else (prompt, behind) if twice else (prompt,)
            return tuple(
                [Request("loglikelihood", model, setting.precision, wording, ranking) for wording in prompts]
            )

        return rank

    def _generation(self, cell: Cell) -> Callable[[Item, int], Mapping[str, Any]]:
        """The parameters of a generation by item and replicate; greedy ones do not depend on these."""
        decoding = self._decoding(cell)
        if cell.setting.temperature == 0:
            return lambda item, replicate: decoding
        return lambda item, replicate: {**decoding, "item": item.id, "replicate": replicate}

    def _decoding(self, cell: Cell) -> dict[str, Any]:
        """The parameters that all generations of a cell share; empty where the cell ranks."""
        setting = cell.setting
        if setting.ranks:
            return {}
        greedy: dict[str, Any] = {
            "max_tokens": setting.held("max_tokens"),
            "temperature": setting.temperature,
        }
        apart = self.study.spec.sampling.independent
        # Equal requests are one call: the levels of these axes would otherwise share one draw.
        if apart and self.draws(cell):
            greedy["arm"] = ",".join(f"{axis}={cell.levels[axis]}" for axis in apart)
        if setting.held("stop"):
            greedy["stop"] = list(setting.held("stop"))
        # Neither top_p nor the seed changes a greedy answer; with them, equal calls would be made twice.
        if setting.temperature == 0:
            return greedy
        return {**greedy, "top_p": setting.top_p, "seed": self.study.spec.sampling.seed}

    def _render(self, benchmark: str, shown: Setting) -> list[Prompt]:
        items = self._asked(benchmark, shown.option_order, shown.items, shown.variant)
        return [self._prompt(benchmark, shown, item) for item in items]

    def _prompt(self, benchmark: str, shown: Setting, item: Item) -> Prompt:
        try:
            before = self._before(benchmark, shown, item)
            opening, *shorter = (
                Task(benchmark, text, "", shown.system, shown.system_turn, before).opening()
                for text in self._texts(benchmark, shown, item)
            )
        except SandboxError as error:
            raise self._not_rendered(shown.prompt, benchmark, item, error) from None
        rest = tuple(messages[-1][1] for messages in shorter)
        functions = json.dumps(item.functions, ensure_ascii=False) if item.functions else ""
        thinking = shown.thinking if shown.chat_template else None
        form = form_of(shown, item)
        schema = "" if form is None or form.name != "json_schema" else form.schema
        return Prompt(opening, shown.chat_template, rest, thinking, functions, schema)

    def _not_rendered(self, template: str, benchmark: str, item: Item, error: SandboxError) -> SpecError:
        message = f"`{template}` cannot be rendered for item {item.id} of {benchmark}: {error}"
        help = f"`{show_command(self.study.origin, {'benchmark': benchmark}, item.id)}` shows the item"
        return SpecError([Diagnostic("GC310", message, help=help)])

    def _texts(self, benchmark: str, shown: Setting, item: Item) -> Iterator[str]:
        """The text of the prompt. Where exemplars may be dropped, also the texts with one less each time."""
        template, look, form = self.study.prompts[shown.prompt], shown.look, form_of(shown, item)
        blocks = [] if shown.in_turns else self._drawn(self._blocks(benchmark, shown), benchmark, shown, item)
        least = 0 if shown.overflow == "drop_exemplars" else len(blocks)
        for kept in range(len(blocks), least - 1, -1):
            text = render_behind(blocks[:kept], template, item, shown.options, look)
            if form is not None:
                text = f"{form.request}{BLANK_LINE}{text}"
            if item.preamble and not shown.chat_template:
                text = item.preamble + text
            if shown.wrapper is not None:
                text = wrap(self.study.prompts[shown.wrapper], text, look)
            yield text

    def _exemplar_blocks(self, benchmark: str, shown: Setting) -> dict[int, str]:
        """The rendered exemplars that any item shows, by their place among the items."""
        places, exemplars = self._exemplars(benchmark, shown)
        template, style, look = self.study.prompts[shown.prompt], shown.options, shown.look
        blocks = exemplar_blocks(template, exemplars, style, look, shown.ranked_candidates, _written(shown))
        return dict(zip(places, blocks, strict=True))

    def _exemplar_turns(self, benchmark: str, shown: Setting) -> dict[int, Messages]:
        """The exemplars as a user's and an assistant's turn of a chat, by their place among the items."""
        places, exemplars = self._exemplars(benchmark, shown)
        template, style, look = self.study.prompts[shown.prompt], shown.options, shown.look
        return {
            place: (
                ("user", render_behind((), template, exemplar, style, look)),
                (
                    "assistant",
                    _written(shown)(reference_answer(exemplar, style, look, shown.ranked_candidates)),
                ),
            )
            for place, exemplar in zip(places, exemplars, strict=True)
        }

    def _exemplars(self, benchmark: str, shown: Setting) -> tuple[list[int], list[Item]]:
        here = self.study.items[benchmark]
        exemplars, places = here.shown(shown.option_order, shown.variant), sorted(here.seen(shown.shots))
        return places, [exemplars[place] for place in places]

    def _before(self, benchmark: str, shown: Setting, item: Item) -> Messages:
        """The messages before an item: in a chat its preamble, then its own messages, then exemplars that are
        shown as turns."""
        preamble = (("system", item.preamble),) if item.preamble and shown.chat_template else ()
        turns = (
            self._drawn(self._turns_of(benchmark, shown), benchmark, shown, item) if shown.in_turns else ()
        )
        return (*preamble, *item.messages, *(message for turn in turns for message in turn))

    def _drawn(self, shown_as: Mapping[int, T], benchmark: str, shown: Setting, item: Item) -> list[T]:
        places = self.study.items[benchmark].drawn(item.id, shown.shots)
        return [shown_as[place] for place in places]


def _rendered(cell: Cell) -> tuple[str, Setting]:
    """The benchmark and the part of the setting that determine a cell's prompts."""
    shown = cell.setting.shown
    scaffolded = cell.setting.scaffolding is not None
    # A scaffold puts the system prompt into its own turns, so the prompt itself must not have it.
    return cell.benchmark, replace(shown, system=None, scaffold=None) if scaffolded else shown


def _written(shown: Setting) -> Callable[[str], str]:
    """Puts the answer of an exemplar into the form that is asked for."""
    return str if shown.form is None else ANSWER_FORMS[shown.form].write


def _scripted(item: Item) -> tuple[ScriptedTool, ...]:
    """The tools that an item brings with it."""
    return tuple(
        ScriptedTool(tool["name"], tool["description"], tuple(tool["results"].items())) for tool in item.tools
    )


def _ranking(setting: Setting, item: Item, cell: Cell) -> Mapping[str, Any]:
    delimiter = setting.continuation_delimiter
    # What follows each context is the same text.
    texts = [item.references[0]] if item.contexts else _ranked(setting, item, cell)
    parameters = {"continuations": [delimiter + text for text in texts]}
    return parameters if setting.seam == "shared_prefix" else {**parameters, "seam": setting.seam}


def _ranked(setting: Setting, item: Item, cell: Cell) -> list[str]:
    try:
        ranked = item_candidates(setting.held("candidates"), item, setting.enumerator)
    except NoCandidates as error:
        message = f"{cell.key} ranks {setting.held('candidates')}, and {error}"
        raise SpecError([Diagnostic("GC313", message)]) from None
    return [candidate.text for candidate in ranked]
