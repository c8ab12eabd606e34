"""Plans the calls of judges: which judge is asked about which response, given the replies so far.

It is a pure function of responses and stored replies, and is run again whenever a reply comes in, as
scaffolds are. That is how a run resumes, how a store is verified, and how the calls of a re-ask become known.
All judges are asked about all responses at once. Only three things wait for replies: re-asks, the backup
judge, and the second judge on all other responses where agreement is too low.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any, Literal

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.judging import (
    Judgment,
    Rubric,
    ask_again,
    consensus,
    decide,
    guess_rubric,
    preference,
    read_reply,
)
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.render import render_prompt
from gridc.compiler.instrument.scaffolds.turns import Messages, transcript
from gridc.compiler.instrument.score import Ruling
from gridc.compiler.lowering.calls import AnswerLookup, Extent, Prompt, Request, Size
from gridc.compiler.lowering.requests import USUAL
from gridc.schema.judging import BACKUP, GUESS, MOST_TOKENS, REASKS, REFERENCE, SECOND, SWAPPED, Judge
from gridc.statistics.raters import Kappa, kappa
from gridc.statistics.reproducibility import first, in_drawn_order

Key = tuple[str, str, int]
"""A sample: the key of its cell, its item and its replicate."""


@dataclass(frozen=True, slots=True)
class Response:
    """A sample's response as judges see it, and the text that it is compared with, where a judge compares.
    No judge is asked about an empty response or about two equal ones."""

    cell: Cell
    item: Item
    replicate: int
    text: str
    other: str | None = None

    @property
    def key(self) -> Key:
        return self.cell.key, self.item.id, self.replicate


_AGAIN = 200
"""About how many characters the request for a reply in the right form has."""


SAME = "the same text"
"""Stands in place of a judge where a response equals the text that it is compared with: nobody is asked, and
it is a tie."""


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One call of a judge about one response. `judge` is the name under which the reply is stored, `assessor`
    the judge whose model is asked, `attempt` counts re-asks from 0, and `verdict` is what the reply was read
    to, None until there is one."""

    key: Key
    judge: str
    assessor: str
    attempt: int
    request: Request
    verdict: Judgment | None


@dataclass(frozen=True, slots=True)
class SecondJudge:
    """How the second judge agrees with the first: on how many responses both were asked, their `agreement`
    where both gave a label, and whether the second judge's labels count (`rescored`). `above` says whether
    kappa reaches what the spec asks for, `passes` whether its lower limit does. `passes` is None where both
    only ever gave one and the same label, for which kappa is not defined."""

    asked: int
    agreement: Kappa | None
    passes: bool | None
    above: bool
    rescored: bool


@dataclass(frozen=True, slots=True)
class Guess:
    """Which configuration a blinded judge guessed for a response (`guessed`; None where its replies name
    none). `unit` is the unit of its item: responses of different units are independent."""

    key: Key
    unit: tuple[str, str]
    benchmark: str
    arm: str
    guessed: str | None
    judge: str


@dataclass(frozen=True, slots=True)
class JudgingState:
    """What is known of judging so far. `rulings`, `second_judges` and `guesses` are empty until every reply
    that they need is there. `second_judges` is keyed by the name of the first judge."""

    asks: tuple[JudgeCall, ...]
    complete: bool
    rulings: Mapping[Key, Ruling]
    second_judges: Mapping[str, SecondJudge] = field(default_factory=dict)
    guesses: tuple[Guess, ...] = ()


def is_judged(cell: Cell) -> bool:
    """Whether judges label the responses of a cell."""
    return METHODS[cell.setting.method].judged


def arms_of(cells: Iterable[Cell]) -> dict[str, dict[str, str]]:
    """The names of configurations for guessing, by benchmark and configuration: their levels on the axes that
    vary among these cells."""
    levels: dict[str, dict[str, Mapping[str, str]]] = {}
    for cell in cells:
        levels.setdefault(cell.benchmark, {})[cell.configuration] = cell.levels
    return {
        benchmark: {
            configuration: ", ".join(
                levels_of[axis]
                for axis in levels_of
                if len({other[axis] for other in configurations.values()}) > 1
            )
            for configuration, levels_of in configurations.items()
        }
        for benchmark, configurations in levels.items()
    }


def judged_by(study: Study, responses: Sequence[Response], answers: AnswerLookup) -> JudgingState:
    """The state of all judging in a study: each judge on the responses of its cells, in their order."""
    parts = [
        bench.judged([response for response in responses if bench.labels(response.cell)], answers)
        for bench in benches(study)
    ]
    complete = all(part.complete for part in parts)
    asks = tuple(ask for part in parts for ask in part.asks)
    if not complete:
        return JudgingState(asks, False, {})
    return JudgingState(
        asks,
        True,
        {key: ruling for part in parts for key, ruling in part.rulings.items()},
        {name: second for part in parts for name, second in part.second_judges.items()},
        tuple(guess for part in parts for guess in part.guesses),
    )


def benches(study: Study) -> list["Bench"]:
    """Every judge of a study, with those who judge beside it."""
    return [Bench(study, judge) for judge in study.spec.declared_judges]


class Bench:
    """A judge with its panel, backup and second judge, and what they are asked. Pure."""

    def __init__(self, study: Study, judge: Judge) -> None:
        self.judge = judge
        self.name, self.guesser = judge.name, judge.office(GUESS)
        self.backup, self.second = judge.office(BACKUP), judge.office(SECOND)
        self.assessors = judge.assessors
        self._only = len(study.spec.declared_judges) == 1
        self._models = {name: identity.digest for name, identity in study.judges.items()}
        self._precisions = {judge.id: judge.own_precision for judge in study.spec.judges}
        self._candidates = {name: identity.digest for name, identity in study.models.items()}
        self._prompts = study.prompts
        self._seed = study.spec.sampling.seed
        self._items = study.items
        self._units: dict[str, dict[str, str]] = {}
        self._lengths: dict[tuple[object, ...], int] = {}

    def labels(self, cell: Cell) -> bool:
        """Whether the judge labels the responses of a cell."""
        named = cell.setting.judge
        return is_judged(cell) and (named == self.judge.id or (named is None and self._only))

    @cached_property
    def rubrics(self) -> dict[str, Rubric]:
        """By the name of the judge."""
        judge = self.judge
        panel_rubrics = {judge.office(panelist.id): panelist.rubric for panelist in judge.panel or ()}
        rubric_texts = {name: panel_rubrics.get(name) or judge.rubric for name in self.assessors}
        shape: Literal["words", "numbers", "places"] = (
            "places" if judge.compares is not None else "numbers" if judge.scale is not None else "words"
        )
        return {
            name: Rubric(
                self._prompts.get(text, text),
                judge.replies,
                judge.confidence,
                shape,
                judge.counts,
                judge.reply or "json",
            )
            for name, text in rubric_texts.items()
        }

    def rows(self, name: str) -> list[str]:
        """The names under which the replies of a judge are stored, one for each order."""
        return [f"{name}.{SWAPPED}" if swapped else name for swapped in self.orders]

    @property
    def orders(self) -> tuple[bool, ...]:
        """Whether two responses are swapped, for each order in which they are shown; one order for a single
        response."""
        return (False, True) if self.judge.compares is not None and self.judge.compares.swap else (False,)

    def readings(self, cells: Iterable[Cell]) -> dict[tuple[str, str], Rubric]:
        """The rubric that reads replies, by (the name under which they are stored, benchmark). `cells` are
        those with a response. Where a rubric's file is not here, its text is the reference to it."""
        arms = arms_of(cell for cell in cells if self.labels(cell))
        read = {
            (row, benchmark): self.rubrics[name]
            for benchmark in arms
            for name in self.assessors
            for row in self.rows(name)
        }
        guessed = {
            (self.guesser, benchmark): self._guess_rubric(arm_names) for benchmark, arm_names in arms.items()
        }
        return read | guessed

    def _guess_rubric(self, arm_names: Mapping[str, str]) -> Rubric:
        """The rubric by which these names of configurations are guessed, in an order drawn by the seed."""
        return guess_rubric(in_drawn_order(set(arm_names.values()), self._seed, "guess", str))

    def judged(self, responses: Sequence[Response], answers: AnswerLookup) -> JudgingState:
        """Ask all judges about all responses, in this order, as far as the replies so far allow."""
        asks: list[JudgeCall] = []
        seats: dict[str, dict[Key, tuple[str, Judgment] | None]] = {}
        for name in self.judge.jury:
            seats[name] = {
                response.key: self._assess(name, response, answers, asks) for response in responses
            }
        sample = self._second_sample(responses)
        seconds = {response.key: self._assess(self.second, response, answers, asks) for response in sample}
        guesses, guessed = self._guesses(responses, answers, asks)
        missing = any(None in given.values() for given in seats.values())
        if missing or not guessed or None in seconds.values():
            return JudgingState(tuple(asks), False, {})
        rulings = {
            response.key: self._ruling([given[response.key] for given in seats.values()])
            for response in responses
        }
        if self.judge.validation is None:
            return JudgingState(tuple(asks), True, rulings, {}, guesses)
        second = self._second_judge(
            rulings, seconds, {response.key: self.unit_of(response) for response in sample}
        )
        if second.rescored:
            rest = [
                response
                for response in responses
                if response.key not in seconds and self._may_second(response)
            ]
            seconds |= {response.key: self._assess(self.second, response, answers, asks) for response in rest}
            if None in seconds.values():
                return JudgingState(tuple(asks), False, {})
            rulings |= {key: self._ruling([given]) for key, given in seconds.items()}
        return JudgingState(tuple(asks), True, rulings, {self.name: second}, guesses)

    def _guesses(
        self, responses: Sequence[Response], answers: AnswerLookup, asks: list[JudgeCall]
    ) -> tuple[tuple[Guess, ...], bool]:
        """The judge's guesses for a share of every cell's responses, and whether all replies are there. A
        benchmark with one configuration has nothing to guess."""
        arms = arms_of([response.cell for response in responses])
        share = self.judge.blinding.guess_share if self.judge.blinding is not None else 0.0
        # Rounded first: .07 * 100 is 7.000000000000001 in floating point, and would give 8.
        drawn = self._stratified(responses, lambda cell, n: ceil(round(share * n, 9)), "guess")
        guesses, whole = [], True
        for shown in drawn if share else ():
            arm_of = arms[shown.cell.benchmark]
            if len(set(arm_of.values())) < 2 or not shown.text.strip():
                continue
            rubric = self._guess_rubric(arm_of)
            asked = rubric, self._messages(rubric, shown)
            given = self._ask_until_read(self.guesser, self.name, asked, shown.key, answers, asks)
            whole = whole and given is not None
            label = None if given is None else given.label
            arm = arm_of[shown.cell.configuration]
            guesses.append(Guess(shown.key, self.unit_of(shown), shown.cell.benchmark, arm, label, self.name))
        return (tuple(guesses) if whole else ()), whole

    def _assess(
        self, name: str, response: Response, answers: AnswerLookup, asks: list[JudgeCall]
    ) -> tuple[str, Judgment] | None:
        """(who decided, judgment) of a response by a judge, or by the backup in its place; None while a reply
        is missing. Every call is added to `asks`."""
        if not response.text.strip():
            return name, Judgment(None, failure="no response")
        compares = self.judge.compares
        if compares is None:
            return self._in_order(name, False, response, answers, asks)
        if response.other is None:
            return name, Judgment(None, failure="no other response")
        if response.other == response.text:
            return SAME, Judgment("tie")
        given = [self._in_order(name, swapped, response, answers, asks) for swapped in self.orders]
        replies = [reply for reply in given if reply is not None]
        if len(replies) < len(given):
            return None
        who = next((who for who, _ in replies if who != name), name)
        return who, self.verdict_of([judgment for _, judgment in replies])

    def verdict_of(self, given: Sequence[Judgment]) -> Judgment:
        """The verdict of a judge's replies about a response: the only reply, or the preference in which both
        orders agree."""
        compares = self.judge.compares
        if compares is None:
            return given[0]
        preferred = [
            replace(judgment, label=None if judgment.label is None else preference(judgment.label, swapped))
            for judgment, swapped in zip(given, self.orders, strict=True)
        ]
        return consensus(preferred)

    def _in_order(
        self, name: str, swapped: bool, response: Response, answers: AnswerLookup, asks: list[JudgeCall]
    ) -> tuple[str, Judgment] | None:
        """The same as `_assess` in one order of the two responses; the label is as the judge replied."""
        verdict = Judgment(None)
        for who in (name, *([self.backup] if name == self.name and self.judge.backup else [])):
            rubric = self.rubrics[who]
            asked = rubric, self._messages(rubric, response, swapped)
            row = f"{who}.{SWAPPED}" if swapped else who
            judgment = self._ask_until_read(row, who, asked, response.key, answers, asks)
            if judgment is None:
                return None
            if judgment.failure is None:
                return who, judgment
            verdict = judgment
        return name, verdict

    def _ask_until_read(
        self,
        row: str,
        who: str,
        asked: tuple[Rubric, Messages],
        key: Key,
        answers: AnswerLookup,
        asks: list[JudgeCall],
    ) -> Judgment | None:
        """The first reply that can be read, or else the last one; None while it is missing. Every call is
        added to `asks` under the name `row`."""
        verdict, (rubric, messages) = None, asked
        for attempt in range(self.reasks + 1):
            request = self._request(who, messages, attempt)
            answer = answers(request.id)
            verdict = None if answer is None else read_reply(rubric, answer)
            asks.append(JudgeCall(key, row, who, attempt, request, verdict))
            if answer is None or verdict is None or verdict.failure is None:
                return verdict
            if "error" in answer:
                break  # the engine has retried already
            messages = ask_again(messages, answer.get("text", ""), rubric.form)
        return verdict

    def ask(self, name: str, response: Response) -> Messages:
        """The first prompt of a judge about a response."""
        return self._messages(self.rubrics[name], response)

    def _messages(self, rubric: Rubric, response: Response, swapped: bool = False) -> Messages:
        setting = response.cell.setting
        question = render_prompt("{{ question }}", response.item, (), setting.options, setting.look)
        if response.item.messages:
            question = transcript((*response.item.messages, ("user", question)))
        if rubric.shape != "places":
            return rubric.ask(response.item, question, response.text)
        texts = response.text, response.other or ""
        return rubric.ask_of_two(response.item, question, *(texts[::-1] if swapped else texts))

    @property
    def reasks(self) -> int:
        return REASKS if self.judge.reasks is None else self.judge.reasks

    def most_tokens(self, name: str) -> int:
        """Tokens of the longest reply of a judge."""
        return self.assessors[name].max_tokens or MOST_TOKENS

    def model(self, name: str) -> tuple[str, str]:
        """A judge's model (the digest of its identity) and precision."""
        return self._models[name], self._precisions[name]

    def _request(self, name: str, messages: Messages, attempt: int) -> Request:
        model, precision = self.model(name)
        parameters: dict[str, Any] = {"max_tokens": self.most_tokens(name), "temperature": 0.0}
        if attempt:
            # Makes it another call: after an empty reply the prompt is the same, and so would be its digest.
            parameters["attempt"] = attempt
        return Request("generate", model, precision, Prompt(messages, True), parameters)

    def extents(self, judged: Iterable[tuple[Cell, Sequence[Item]]]) -> dict[str, Extent]:
        """How much each judge is asked, by name, about judged cells with their items. At least nothing: every
        response may be empty. Commonly every judge is asked once about each response, and texts are half as
        long as they may be. At most every reply is unreadable, and texts are as long as they may be."""
        total = dict.fromkeys(self.assessors, Extent())
        for cell, items in judged:
            responses = len(items) * cell.setting.replicates
            longest = round(cell.setting.held("max_tokens") * USUAL)
            texts = 1 if self.judge.compares is None or self._reference_given else 2
            for name in self.assessors:
                expected, most = self._counts(name, cell, responses)
                shown = self._characters(name, cell, items) / max(len(items), 1)
                shown += (texts - 1) * longest / 2
                tokens = self.most_tokens(name)
                again = sum(range(self.reasks + 1)) / (self.reasks + 1) * (tokens * USUAL + _AGAIN)
                total[name] += Extent(
                    Size(),
                    Size(expected, expected * (shown + longest / 2), expected * tokens / 2),
                    Size(most, most * (shown + longest + again), most * tokens),
                )
        return total

    def _counts(self, name: str, cell: Cell, responses: int) -> tuple[int, int]:
        """How many calls a judge commonly has about a cell's responses, and how many at most."""
        validation, attempts, orders = self.judge.validation, self.reasks + 1, len(self.orders)
        compares, guesses = self.judge.compares, 0
        if name == self.name and self.judge.blinding is not None:
            guesses = ceil(round(self.judge.blinding.guess_share * responses, 9))
        if compares is not None and cell.model == compares.against:  # the same text twice: nobody is asked
            responses = 0
        if name == self.second and validation is not None:
            share = self.second_share(cell, responses) * orders
            everything = validation.below == "rescore" and self.may_second(cell)
            return share, (responses * orders if everything else share) * attempts
        asked = responses * orders + guesses
        return (0 if name == self.backup else asked), asked * attempts

    @property
    def _reference_given(self) -> bool:
        """Whether responses are compared with a reference text of the item."""
        return self.judge.compares is not None and self.judge.compares.against == REFERENCE

    def _characters(self, name: str, cell: Cell, items: Sequence[Item]) -> int:
        """Characters of a judge's first prompts about a cell's items, without the responses."""
        setting = cell.setting
        key = (
            name,
            cell.benchmark,
            setting.options,
            setting.look,
            setting.option_order,
            setting.items,
            setting.variant,
        )
        if key not in self._lengths:
            given = self._reference_given
            empty = (Response(cell, item, 0, "", item.best if given else None) for item in items)
            self._lengths[key] = sum(len(self.ask(name, response)[0][1]) for response in empty)
        return self._lengths[key]

    def _ruling(self, given: Sequence[tuple[str, Judgment] | None]) -> Ruling:
        verdicts = [judged for judged in given if judged is not None]
        if len(verdicts) == 1:
            ((who, verdict),) = verdicts
            return Ruling(self.judge.verdicts, verdict.label, who, verdict.confidence, verdict.failure)
        label = decide([verdict.label for _, verdict in verdicts], self.judge.verdict)
        why = None if label is not None else f"not {self.judge.verdict}"
        return Ruling(self.judge.verdicts, label, "panel", None, why)

    def may_second(self, cell: Cell) -> bool:
        """Whether the second judge may assess a cell's responses: it may not assess its own."""
        return self._models[self.second] != self._candidates[cell.model]

    def _may_second(self, response: Response) -> bool:
        return self.may_second(response.cell)

    def second_share(self, cell: Cell, responses: int) -> int:
        """How many of a cell's responses the second judge labels: its share, at least one."""
        if self.judge.validation is None or not self.may_second(cell):
            return 0
        return ceil(round(self.judge.validation.share * responses, 9))

    def _second_sample(self, responses: Iterable[Response]) -> list[Response]:
        """The same share of every cell, drawn by the study's seed."""
        return self._stratified(responses, self.second_share, "second judge")

    def _stratified(
        self, responses: Iterable[Response], count: Callable[[Cell, int], int], purpose: str
    ) -> list[Response]:
        """`count(cell, number of responses)` responses of every cell, drawn by the study's seed."""
        strata: dict[str, list[Response]] = {}
        for response in responses:
            strata.setdefault(response.cell.key, []).append(response)
        return [
            member
            for stratum in strata.values()
            for member in first(
                count(stratum[0].cell, len(stratum)), stratum, self._seed, purpose, lambda it: repr(it.key)
            )
        ]

    def unit_of(self, response: Response) -> tuple[str, str]:
        """The unit of a response: its benchmark, and there its item's unit."""
        name = response.cell.benchmark
        if name not in self._units:
            self._units[name] = self._items[name].units
        return name, self._units[name][response.item.id]

    def _second_judge(
        self,
        rulings: Mapping[Key, Ruling],
        seconds: Mapping[Key, tuple[str, Judgment] | None],
        units: Mapping[Key, tuple[str, str]],
    ) -> SecondJudge:
        validation = self.judge.validation
        assert validation is not None
        pairs = [
            (rulings[key].label, given[1].label, units[key])
            for key, given in sorted(seconds.items())
            if given is not None and given[0] != SAME
        ]
        labelled = [pair for pair in pairs if pair[0] is not None and pair[1] is not None]
        lefts, rights = ([str(labels[side]) for labels in labelled] for side in (0, 1))
        agreement = kappa(lefts, rights, [unit for *_, unit in labelled]) if labelled else None
        value = None if agreement is None else agreement.kappa
        low = None if agreement is None else agreement.low
        undefined = agreement is not None and value is None
        above = value is not None and value >= validation.kappa
        passes = None if undefined else above and low is not None and low >= validation.kappa
        rescored = validation.below == "rescore" and not undefined and not above
        return SecondJudge(len(pairs), agreement, passes, above, rescored)
