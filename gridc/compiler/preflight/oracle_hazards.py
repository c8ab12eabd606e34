"""Hazards that only a trial shows: synthetic responders answer every item of every distinct cell."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cell import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.points import best
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazard import Hazard
from gridc.compiler.preflight.oracles import FailedSample, Trial, indifferent, try_oracles
from gridc.compiler.preflight.scorer_hazards import try_scorer
from gridc.schema.scores import Scores
from gridc.statistics.poisson_binomial import tails

CHANCE = 1e-6
"""How improbable a constant answer's score must be by chance before it is a hazard. A benchmark has up to
26 letters, each tried on both sides; the bound is divided among them."""


def trial_hazards(plan: Plan) -> Iterator[Hazard]:
    """Try each way of asking and scoring once for each benchmark; decoding and model do not matter to it."""
    seen: set[tuple[str, bytes | str, Scores | None]] = set()
    for cell in plan.cells():
        scores = cell.setting.scores
        setting = tried(cell.setting)
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
                text = _told(trial, trial.first)
                way_out = trial.oracle.way_out
                blamed, help = ("reader", way_out) if way_out else ("prompt", _shown(plan, once, trial.first))
                hazard = _hazard(plan, once, trial.oracle.code, text, help, blamed)
                yield replace(hazard, item=trial.first.sample.item.id)
        if options:
            yield from _constant(plan, once, samples)
        yield from _unsaid(plan, once, samples)
        yield from _tied(plan, once, samples)


def tried(setting: Setting) -> Setting:
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
    if scores is None or not item.options or not (tops := best(scores, item)):
        return sample
    return replace(sample, item=replace(item, gold=min(tops)))


def _told(trial: Trial, first: FailedSample) -> str:
    share = f"{trial.failures} of {trial.samples} items"
    where = f"first item {first.sample.item.id}"
    if first.said is None or first.outcome is None:
        needs = "the prompt does not show what the answer needs"
        return f"a {trial.oracle.name} responder cannot answer {share}: {needs} ({where})"
    read = first.outcome.evidence.get("unread") or f"option {first.outcome.choice}"
    text = first.said if len(first.said) < 40 else f"...{first.said[-30:]}"
    said_by = f"what a {trial.oracle.name} responder says {trial.oracle.fault}"
    return f"{said_by} on {share} ({where}: {text!r} is read as {read})"


def _shown(plan: Plan, cell: Cell, first: FailedSample) -> str:
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
        if min(tails([_chance(item) for item in having], hits)) * 2 * widest < CHANCE:
            problem = f"always answering {names[place]} is right on {hits} of {len(having)} items"
            help = 'option_order = "shuffled:42" spreads the right ones over the letters'
            yield _hazard(plan, cell, "GC514", problem, help, "option_order")
            return


def _unsaid(plan: Plan, cell: Cell, samples: Sequence[PlannedSample]) -> Iterator[Hazard]:
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
        f"answers are read behind {after!r}, and {lacking:,} of {len(asked):,} prompts do not ask for it"
        if lacking
        else f"answers are read behind {after!r}, and {begun:,} of {len(asked):,} prompts end with it already"
    )
    help = "ask for these words in the prompt" if lacking else "leave `after` out: responses begin behind it"
    yield _hazard(plan, cell, "GC536", problem, help, "match")


def _tied(plan: Plan, cell: Cell, samples: Sequence[PlannedSample]) -> Iterator[Hazard]:
    """A tie rule under which a ranking without any preference scores above chance."""
    if not cell.setting.ranks or cell.setting.held("ties") == "against_gold":
        return
    points = indifferent(cell.setting, samples)
    chances = [_chance(sample.item) for sample in samples]
    if tails(chances, points)[1] < CHANCE:
        rule = f'`ties = "{cell.setting.ties}"`'
        problem = "candidates that all tie earn points above chance with " + rule
        yield _hazard(plan, cell, "GC516", problem, 'set ties = "against_gold"', "ties")


def _chance(item: Item) -> float:
    return len(item.right) / len(item.options)


def _hazard(plan: Plan, cell: Cell, code: str, problem: str, help: str, key: str = "prompt") -> Hazard:
    """A hazard at the effect that is to blame, where the spec states it."""
    where = grid.place(plan.study.spec, cell.levels, cell.benchmark, cell.model)
    return Hazard(code, problem, where, cell.key, help, grid.stated_at(plan.study.spec, key, where))
