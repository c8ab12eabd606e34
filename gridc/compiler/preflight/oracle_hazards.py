"""Hazards that only show when synthetic responders answer every item of every distinct cell.

Functions that score are tried too: on answers that the function itself says are perfect or worst, and on
responses of which the spec says what they give.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.scorers import scorer_errors_coded
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import names_each, own_letters
from gridc.compiler.instrument.points import SINGLE, Replies, best_options, given_reading, points_earned
from gridc.compiler.instrument.score import Outcome
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazard import Hazard
from gridc.compiler.preflight.oracles import FailedSample, Trial, indifferent, try_oracles
from gridc.diagnostics.errors import KeyPath
from gridc.schema.effects import Scorer
from gridc.schema.scores import UNIT, Scores
from gridc.statistics.exact_tests import poisson_binomial_tails


class ScorerProblem(NamedTuple):
    """What a trial of a function shows, by the code of the hazard, with the way out."""

    code: str
    problem: str
    help: str


def try_scorer(plan: Plan, cell: Cell) -> Iterator[ScorerProblem]:
    """Every trial of a function on the items of a cell. Raises `UnavailableError` (GC668) where it fails, and
    `UsageError` (GC643) where it may not run here."""
    trial = _ScorerTrial(plan, cell)
    with scorer_errors_coded():
        yield from trial.responders()
        yield from trial.blank()
        yield from trial.examples()


class _ScorerTrial:
    """A function, and a cell whose items it is tried on."""

    def __init__(self, plan: Plan, cell: Cell) -> None:
        assert cell.setting.scorer is not None, "GC302 comes first"
        self._plan, self._cell, self._scorer = plan, cell, cell.setting.scorer
        self._items = plan.items(cell)

    def responders(self) -> Iterator[ScorerProblem]:
        """Answers that have to earn everything, or nothing, as the function itself says."""
        scorers, name = self._plan.study.scorers, self._scorer.function
        asked = {item.id: scorers.responders(self._scorer, item) for item in self._items}
        given = {item: texts for item, texts in asked.items() if texts is not None}
        if not given and not self._scorer.examples:
            problem = f"nothing says what `{name}` gives for a response that is known to be right or wrong"
            help = (
                f"def {name.rpartition(':')[2]}_responders(item) beside it gives "
                '{"perfect": TEXT, "worst": TEXT}; or state `scorer.examples`'
            )
            yield ScorerProblem("GC538", problem, help)
        for role, code in (("perfect", "GC511"), ("worst", "GC517")):
            texts = {item: text for item, by_role in given.items() if (text := by_role.get(role)) is not None}
            yield from self._role(texts, role, code)

    def _role(self, texts: Mapping[str, Replies], role: str, code: str) -> Iterator[ScorerProblem]:
        wrong = []
        for item in (item for item in self._items if item.id in texts):
            wanted = self._bounds(item)[role == "perfect"]
            outcome = self._outcome(item, texts[item.id])
            if outcome.score != wanted:
                wrong.append((item, outcome.score, wanted))
        if wrong:
            item, earned, wanted = wrong[0]
            text, scale = texts[item.id][-1], self._cell.setting.scale
            shown = text if len(text) < SHOWN else f"{text[: SHOWN - 3]}..."
            problem = (
                f"what its responders call a {role} answer does not earn {wanted / scale:g} on "
                f"{len(wrong):,} of {len(texts):,} items (first item {item.id}: {shown!r} earns "
                f"{earned / scale:g})"
            )
            most = "perfect earns the most, worst the least, also of a cost"
            help = f"correct the function, or what its responders say: {most}"
            yield ScorerProblem(code, problem, help)

    def blank(self) -> Iterator[ScorerProblem]:
        """An empty response that earns as much as any."""
        outcomes = {item.id: (self._outcome(item, ("",)), self._bounds(item)) for item in self._items}
        full = [
            item
            for item, (outcome, (least, most)) in outcomes.items()
            if outcome.choice is not None and outcome.score == most > least
        ]
        if full:
            problem = (
                f"an empty response earns as much as any on {len(full):,} of {len(outcomes):,} items "
                f"(first item {full[0]})"
            )
            help = f"`{self._scorer.function}` returns None, or 0, where the response has no word"
            yield ScorerProblem("GC513", problem, help)

    def examples(self) -> Iterator[ScorerProblem]:
        """Stated responses that have to give what is stated of them; also on items that are not sampled."""
        every = {item.id: item for item in self._plan.study.items[self._cell.benchmark].source.every}
        here = every | {item.id: item for item in self._items}
        for example in self._scorer.examples or ():
            if example.item not in here:
                known = ", ".join([item.id for item in self._items][:4])
                problem = f"the example of item `{example.item}` is of none of `{self._cell.benchmark}`"
                yield ScorerProblem("GC539", problem, f"name an item that is there, such as {known}")
                continue
            item = here[example.item]
            raw = self._plan.study.scorers(self._scorer, item, example.response)
            given = given_reading(self._scorer, self._cell.setting.scores, item.id, raw)
            stated = _stated(self._scorer, example.gives)
            if not _alike(given, stated):
                problem = (
                    f"of item {item.id}, {example.response[:SHOWN]!r} gives {_words(given)}, and the example "
                    f"says {_words(stated)}"
                )
                yield ScorerProblem("GC539", problem, "correct the function, or the example")

    def _bounds(self, item: Item) -> tuple[int, int]:
        """The least and the most that an answer to an item earns."""
        setting = self._cell.setting
        if setting.scores is None:
            return 0, setting.scale
        names = setting.scores.labels
        earned = [points_earned(setting.scores, item, choice, names) for choice in range(len(names))]
        return min(earned), max(earned)

    def _outcome(self, item: Item, replies: Replies) -> Outcome:
        """What these replies come to; a plain call has the last of them."""
        whole = (*replies, replies[-1]) if self._cell.setting.scaffolding is not None else replies[-1:]
        return self._plan.score(self._cell, item, [{"text": text} for text in whole])


SHOWN = 40
"""How many letters of a response a message shows."""


def _stated(scorer: Scorer, gives: Any) -> Any:
    """What an example says, as `reading` has what a function gives."""
    if isinstance(gives, int | float):
        gives = {scorer.score or SINGLE: gives}
    return (
        {name: round(value * UNIT) for name, value in gives.items()} if isinstance(gives, Mapping) else gives
    )


def _alike(given: Any, stated: Any) -> bool:
    if not isinstance(given, Mapping) or not isinstance(stated, Mapping):
        return bool(given == stated)
    return all(given.get(name) == value for name, value in stated.items())


def _words(given: Any) -> str:
    if given is None:
        return "no answer"
    if isinstance(given, Mapping):
        return ", ".join(f"{name} = {value / UNIT:g}" for name, value in given.items())
    return repr(given)


CHANCE = 1e-6
"""How improbable a constant answer's score must be by chance before it is a hazard. A benchmark has up to
26 letters, each tried on both sides; the bound is divided among them."""


def trial_hazards(plan: Plan) -> Iterator[Hazard]:
    """Try each way of asking and scoring once for each benchmark; decoding and model do not matter to it."""
    seen: set[tuple[str, bytes | str, Scores | None]] = set()
    for cell in plan.cells():
        scores = cell.setting.scores
        setting = trial_setting(cell.setting)
        scored = METHODS[setting.method].scored
        key = (cell.benchmark, _scoring(cell.setting) if scored else setting.key, scores)
        if key in seen or cell.benchmark in plan.study.absent or METHODS[setting.method].judged:
            continue  # what a judge makes of a response is not the instrument's to try
        seen.add(key)
        if scored:
            for code, problem, help in try_scorer(plan, cell):
                yield _hazard(plan, cell, code, problem, help, "scorer")
            continue
        once = replace(cell, setting=setting)
        options = METHODS[setting.method].names((), None) is None
        samples = [with_best_right(sample, scores if options else None) for sample in plan.samples(once)]
        codes: set[str] = set()
        unseen = False
        for trial in try_oracles(setting, samples):
            if trial.first is not None and trial.first.said is None:
                if unseen:
                    continue  # what the first responder does not see, no other one does
                unseen = True
            if trial.first is not None and trial.oracle.code not in codes:
                codes.add(trial.oracle.code)
                text = _failure(trial, trial.first)
                way_out = trial.oracle.way_out
                blamed, help = (
                    (trial.oracle.fix_in_key, way_out)
                    if way_out
                    else ("prompt", _prompt_words(plan, once, trial.first))
                )
                hazard = _hazard(plan, once, trial.oracle.code, text, help, blamed)
                yield replace(hazard, item=trial.first.sample.item.id)
        if options:
            yield from _constant(plan, once, samples)
            yield from _unexplained(plan, once, samples)
        yield from _unsaid_words(plan, once, samples)
        yield from _tied(plan, once, samples)


def trial_setting(setting: Setting) -> Setting:
    """The setting with what a trial needs not: how answers are drawn, and what they earn."""
    return replace(
        setting,
        temperature=0.0,
        top_p=1.0,
        replicates=1,
        precision="fp32",
        system=None,
        scores=None,
        unreadable="zero",
    )


def _scoring(setting: Setting) -> str:
    """What a function's scores of a response depend on: it does not see the prompt."""
    parts = (setting.scorer, setting.held("stop"), setting.option_order, setting.variant, setting.items)
    return " ".join(map(str, parts))


def with_best_right(sample: PlannedSample, scores: Scores | None) -> PlannedSample:
    """The sample with the option right that earns most by the spec's own scores: what a responder says must
    be read as what it says, whatever it earns. Where options earn alike there is nothing to tell apart."""
    item = sample.item
    if scores is None or not item.options or not (tops := best_options(scores, item)):
        return sample
    return replace(sample, item=replace(item, gold=min(tops)))


def _failure(trial: Trial, first: FailedSample) -> str:
    share = f"{trial.failures} of {trial.samples} items"
    where = f"first item {first.sample.item.id}"
    if first.said is None or first.outcome is None:
        needs = "the prompt does not show what the answer needs"
        return f"a {trial.oracle.name} responder cannot answer {share}: {needs} ({where})"
    read = first.outcome.evidence.get("unread") or f"option {first.outcome.choice}"
    text = first.said if len(first.said) < 40 else f"...{first.said[-30:]}"
    said_by = f"what a {trial.oracle.name} responder says {trial.oracle.fault}"
    return f"{said_by} on {share} ({where}: {text!r} is read as {read})"


def _prompt_words(plan: Plan, cell: Cell, first: FailedSample) -> str:
    """The prompt as a model would read it, beside the answer that it should allow."""
    item = first.sample.item
    prompt = first.sample.requests[0].prompt.messages[-1][1]
    cut = prompt if len(prompt) <= LONGEST else f"...{prompt[-LONGEST:]}"
    right = min(item.right, default=None)
    answer = "" if right is None else f", and the right answer is `{item.options[right]}`"
    name = cell.setting.prompt
    whose = f"`{name}`" if name == plan.study.prompts[name] or "\n" not in name else "the template"
    return f"{whose} makes of it: `{cut}`{answer}"


LONGEST = 400
"""How many letters of a prompt a finding shows, from its end."""


def _constant(plan: Plan, cell: Cell, samples: Sequence[PlannedSample]) -> Iterator[Hazard]:
    """A letter that is right far more or far less often than chance gives it."""
    items = [sample.item for sample in samples]
    if not cell.setting.labelled or not all(item.right for item in items):
        return
    widest = max(len(item.options) for item in items)
    names = cell.setting.labels(widest)
    for place in range(widest):
        having = [item for item in items if place < len(item.options)]
        hits = sum(place in item.right for item in having)
        if min(poisson_binomial_tails([_chance(item) for item in having], hits)) * 2 * widest < CHANCE:
            problem = f"always answering {names[place]} is right on {hits} of {len(having)} items"
            fixed = any(own_letters(item) is not None for item in having)
            help = 'option_order = "shuffled:42" spreads the right ones over the letters'
            if fixed:
                help = "options that are letters keep their order: ask items whose right ones are spread"
            yield _hazard(plan, cell, "GC514", problem, help, "option_order")
            return


def _unexplained(plan: Plan, cell: Cell, samples: Sequence[PlannedSample]) -> Iterator[Hazard]:
    """Options that are letters, in prompts that nowhere say what these stand for. Among options of other
    kinds letters are themselves the answer, as in "Which vitamin?"."""
    owns = [own_letters(sample.item) for sample in samples]
    named = [own for own in owns if own is not None]
    if METHODS[cell.setting.method].weighs or len(named) < len(owns):
        return
    prompts = ["\n".join(text for _, text in sample.requests[0].prompt.messages) for sample in samples]
    without = [
        (sample, own)
        for sample, own, prompt in zip(samples, named, prompts, strict=True)
        if not own.named and not names_each(_LABEL_ALONE.sub("", prompt), own.labels)
    ]
    if without:
        sample, own = without[0]
        problem = (
            f"the options of {len(without):,} of {len(samples):,} items are letters "
            f"({', '.join(own.labels)}), and their prompts do not say what each stands for"
        )
        help = (
            "name the columns that hold the texts of the options (`fields.options` of `rows`), or ask "
            "questions that list them"
        )
        hazard = _hazard(plan, cell, "GC547", problem, help)
        yield replace(hazard, item=sample.item.id, path=_where_options_are_stated(plan, cell))


def _where_options_are_stated(plan: Plan, cell: Cell) -> KeyPath:
    """The field map of a cell's benchmark; without one, its source."""
    benchmarks = {benchmark.id: number for number, benchmark in enumerate(plan.study.spec.benchmark)}
    number = benchmarks[cell.benchmark]
    mapped = plan.study.spec.benchmark[number].loading.fields is not None
    return (
        ("benchmark", number, "loading", "fields", "options") if mapped else ("benchmark", number, "source")
    )


_LABEL_ALONE = re.compile(r"^\W*\w{1,5}\W*$", re.MULTILINE)


def _unsaid_words(plan: Plan, cell: Cell, samples: Sequence[PlannedSample]) -> Iterator[Hazard]:
    """Words behind which answers are read and that responses do not say: no prompt has them, or the prompt
    itself ends with them."""
    setting = cell.setting
    reads = METHODS[setting.method].reads_answer and setting.scaffolding is None
    if not reads or setting.match is None or setting.match.after is None:
        return
    after = setting.match.after
    prompts = ["\n".join(text for _, text in sample.requests[0].prompt.messages) for sample in samples]
    asked = [" ".join(prompt.casefold().split()) for prompt in prompts]
    words = " ".join(after.casefold().split())
    lacking = sum(words not in prompt for prompt in asked)
    begun = sum(prompt.rstrip(" :").endswith(words.rstrip(" :")) for prompt in asked)
    if not lacking and not begun:
        return
    problem = (
        f"answers are read after {after!r}, and {lacking:,} of {len(asked):,} prompts do not ask for it"
        if lacking
        else f"answers are read after {after!r}, and {begun:,} of {len(asked):,} prompts end with it already"
    )
    help = "ask for these words in the prompt" if lacking else "leave `after` out: responses begin after it"
    yield _hazard(plan, cell, "GC536", problem, help, "match")


def _tied(plan: Plan, cell: Cell, samples: Sequence[PlannedSample]) -> Iterator[Hazard]:
    """A tie rule under which a ranking without any preference scores above chance."""
    if not cell.setting.ranks or cell.setting.held("ties") == "against_gold":
        return
    points = indifferent(cell.setting, samples)
    chances = [_chance(sample.item) for sample in samples]
    if poisson_binomial_tails(chances, points)[1] < CHANCE:
        rule = f'`ties = "{cell.setting.ties}"`'
        problem = "candidates that all tie earn points above chance with " + rule
        yield _hazard(plan, cell, "GC516", problem, 'set ties = "against_gold"', "ties")


def _chance(item: Item) -> float:
    return len(item.right) / len(item.options)


def _hazard(plan: Plan, cell: Cell, code: str, problem: str, help: str, key: str = "prompt") -> Hazard:
    """A hazard at the effect that is to blame, where the spec states it."""
    where = grid.place_values(plan.study.spec, cell.levels, cell.benchmark, cell.model)
    return Hazard(code, problem, where, cell.key, help, grid.effect_place(plan.study.spec, key, where))
