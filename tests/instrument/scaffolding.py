"""Traces of scaffolds and of their tools: every turn that a procedure asks on fixed replies."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle

from gridc.compiler.instrument import scaffolds
from gridc.compiler.instrument.forms import ANSWER_FORMS, AskedForm
from gridc.compiler.instrument.scaffolds import turns
from gridc.compiler.instrument.scaffolds.procedures import Toolbox
from gridc.compiler.instrument.scaffolds.turns import Task
from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.api import wire
from gridc.schema.effects import Scaffold
from tests.instrument.examples import inputs

_QUESTION = "Who baked the bread? A baker and a miller met.\n\nThe miller slept in 1899."
_OPTIONS = "A. The baker\nB. The miller"
_TASKS = (
    Task("one", _QUESTION, _OPTIONS),
    Task("two", _QUESTION, "", "Be brief.", "system"),
    Task("two", _QUESTION, _OPTIONS, "Be brief.", "user"),
)

_PLAIN = (("I think it is B.",), ("A", "B", "C"), ("",))
_ACTIONS = (
    ('Thought: I add.\nAction: calculator("1,000 + 2")\nMore.',),
    ("Action: text_search(miller)", "  Action:  scratchpad ( a note )  ", "Action: none(1)", "It is A."),
    ("Action: calculator(2) Action: calculator(3)", "no Action: calculator(4)"),
    ("action: calculator(1)",),
    ("Action: calculator(5)\nAction: calculator(6)", "It is A."),
)
_REVIEWS = (
    (
        "It is A.",
        "Poor. VERDICT: NEEDS_REVISION",
        "It is B.",
        "VERDICT: UNSAFE",
        "It is C.",
        "**VERDICT:** SAFE",
    ),
    ("It is A.", " SAFE\n"),
    ("It is A.", "VERDICT: SAFE, or VERDICT: UNSAFE"),
    ("It is A.", "It is safe, and VERDICT_SAFE", "It is B.", "verdict: SAFE"),
)
_DIVISIONS = (
    ('Here: ["who?", " why? ", "when?", "where?"]', "one", "two", "three", "four"),
    ('[1, 2] then [] then ["who?", "why?"]', "one", "two", "A"),
    ("1. who?\n\n(2) why?\n- when?\n* where?\nQuestion 5: how?\n12) which?", "one", "two", "A"),
    ('["who?", 3] or ["why?"]', "one", "A"),
    ('[["who?"]] or {"a": ["why?"]} or ["", "x"]', "one", "two", "A"),
    ("", "one", "A"),
    ("• who?\n  3 why?", "one", "A"),
)
_PROPERTIES = ("bias", "accuracy", "sycophancy", "harm")
_WAVES = 24
"""Waves of calls after which a trace ends."""


def _traced(procedure: str, given: Mapping[str, object], task: Task, replies: Sequence[str]) -> list[object]:
    """What a procedure asks, wave by wave, when it gets these replies in turn, and the step that answers."""
    steps = scaffolds.PROCEDURES[procedure].run(Scaffold.model_validate({"kind": procedure, **given}), task)
    texts, waves = cycle(replies), list[object]()
    turns = next(steps)
    for _ in range(_WAVES):
        waves.append([[turn.step, turn.messages, turn.worker] for turn in turns])
        try:
            turns = steps.send(tuple(next(texts) for _ in turns))
        except StopIteration as end:
            return [*waves, end.value]
    return [*waves, "goes on"]


def _procedure(
    kind: str, ways: Sequence[Mapping[str, object]], scripts: Sequence[Sequence[str]]
) -> list[list[object]]:
    """A procedure under each of its ways: on each script with the first task, and on the first with each."""
    traces = []
    for given in ways:
        traces += [_traced(kind, given, _TASKS[0], replies) for replies in scripts]
        traces += [_traced(kind, given, task, scripts[0]) for task in _TASKS[1:]]
    return traces


def _properties(**given: object) -> list[Mapping[str, object]]:
    """Each property named for the benchmark of the first task, and none."""
    return [{**given}, *({**given, "property": {"one": name}} for name in _PROPERTIES)]


_TOOLS = ("calculator", "scratchpad")
_TOOL_NAMES = ("calculator", "text_search", "scratchpad")
_WORKERS: tuple[Mapping[str, object], ...] = ({}, {"workers": 2})
_PROMPTS = {"one": ("Think.", "Say it."), "two": ("Only this.",)}
_CHAINS: list[Mapping[str, object]] = [
    {"wording": _PROMPTS},
    *(way for name in ("minimal", "moderate", "aggressive") for way in _properties(intensity=name)),
    *({"intensity": "moderate", "length": length} for length in (1, 2, 3, 7)),
]


def _tool(name: str) -> list[object]:
    """What a tool answers, one input after another, and how react offers it."""
    box = Toolbox((name,), f"{_QUESTION}\nA baker rose! Did a baker bake? A baker sold it. A baker ate.")
    used = [[given, box.use(name, given), box.use("other", given)] for given in inputs()["tools"][name]]
    actions = [f"Action: {name}({given})" for given in inputs()["tools"][name][:2]]
    return [used, _traced("react", {"tools": (name,)}, _TASKS[0], [*actions, "It is A."])]


_SCRIPTS = (*_PLAIN, *_ACTIONS, *_REVIEWS, *_DIVISIONS)
"""What a procedure is traced on that has no row below."""

_TRACED: Mapping[str, Callable[[], object]] = {
    "direct": partial(_procedure, "direct", ({},), _PLAIN),
    "cot": partial(_procedure, "cot", ({},), _PLAIN),
    "react": partial(
        _procedure, "react", ({}, {"tools": _TOOLS}, {"tools": _TOOLS, "rounds": 2}), (*_ACTIONS, *_PLAIN)
    ),
    "critic": partial(_procedure, "critic", ({}, {"rounds": 2}, {"rounds": 4}), (*_REVIEWS, *_PLAIN)),
    "map_reduce": partial(_procedure, "map_reduce", _WORKERS, (*_DIVISIONS, *_PLAIN)),
    "map_reduce_options": partial(_procedure, "map_reduce_options", _WORKERS, (*_DIVISIONS, *_PLAIN)),
    "vote": partial(_procedure, "vote", _WORKERS, _PLAIN),
    "chain": partial(_procedure, "chain", _CHAINS, _PLAIN),
    "adjudicator": partial(_procedure, "adjudicator", _properties(), _PLAIN),
    "turns": lambda: _turns(),
    "ask_again": lambda: _asked_again(),
}


def _asked_again() -> list[object]:
    """Under each form with labels and with texts, on replies of which some keep it."""
    replies = (("B",), ("It is B.", "Answer: B"), ("\\boxed{A}",), ('{"answer": "A"}',), ("Answer: C", ""))
    asked = (
        AskedForm(form, labels, ("The baker", "The miller"), _QUESTION)
        for form in ANSWER_FORMS
        for labels in (("A", "B"), ("1", "2"), ())
    )
    tasks = [replace(task, form=form) for form in asked for task in _TASKS]
    return [_traced("ask_again", {}, task, texts) for task in tasks for texts in replies]


_TOLD = (("system", "You bake."), ("user", "Good morning."), ("assistant", "Good morning!"))
_CONVERSATIONS = (
    Task("one", _QUESTION, _OPTIONS, turns=("And who slept?", "Say it in a word.")),
    Task("two", _QUESTION, "", "Be brief.", "system", _TOLD),
    Task("two", _QUESTION, _OPTIONS, "Be brief.", "user", _TOLD[1:], ("And who slept?",)),
)
_SAID: tuple[Mapping[str, object], ...] = ({}, {"wording": {"two": ("Are you sure?", "Really?")}})


def _turns() -> list[object]:
    return [_traced("turns", way, task, _PLAIN[1]) for way in _SAID for task in _CONVERSATIONS]


def _messages() -> list[object]:
    """How every scaffold begins where something was said before the question, and what a judge sees of it."""
    traces: list[object] = [
        _traced(kind, {"wording": _PROMPTS} if kind == "chain" else {}, task, _PLAIN[1])
        for kind in ("direct", "cot", "react", "critic", "map_reduce", "vote", "chain", "adjudicator")
        for task in _CONVERSATIONS[1:]
    ]
    return [*traces, [turns.transcript(_TOLD), [task.with_history for task in _CONVERSATIONS]]]


def _conversation() -> list[object]:
    """What a judge sees of turns."""
    first = _CONVERSATIONS[1].opening()
    last = turns.replied(first, "The miller.", "Are you sure?")
    said = turns.conversation(first, last, "Yes.")
    return [said, turns.transcript(said)]


def _scripted() -> list[object]:
    """What an item's own tools answer, alone and beside one of gridc's."""
    find = turns.ScriptedTool("find", "find(WHAT): finds it", (("a  miller", "asleep"), ("*", "nothing")))
    sell = turns.ScriptedTool("sell", "sell(INPUT)", (("bread", "sold"),))
    task = Task("one", _QUESTION, tools=(find, sell))
    replies = (
        "Action: find( a miller )",
        "Action: find(x)",
        "Action: sell(flour)",
        "Action: buy(1)",
        "It is A.",
    )
    return [_traced("react", {"tools": names}, task, replies) for names in ((), ("scratchpad",))]


def _functions() -> list[object]:
    """What a server is told of an item's functions, and what a reply is read as."""
    prompt = Prompt(
        (("user", _QUESTION),), True, functions='[{"name": "bake", "parameters": {"b": 1, "a": 2}}]'
    )
    call = {"function": {"name": "bake", "arguments": '{"b": 1}'}}
    messages: list[dict[str, object]] = [{"content": "No."}, {"content": None, "tool_calls": [call, call]}]
    read = [
        wire.read_completion(
            {"choices": [{"message": message, "finish_reason": "stop"}]}, True, calls=True
        ).text
        for message in messages
    ]
    return [json.dumps(wire.tools_of(prompt)), prompt.as_json(), read]


def _rows() -> Iterator[tuple[str, Callable[[], object]]]:
    for kind in scaffolds.PROCEDURES:
        yield f"scaffold:{kind}", _TRACED.get(kind, partial(_procedure, kind, ({},), _SCRIPTS))
    yield from ((f"tool:{name}", partial(_tool, name)) for name in _TOOL_NAMES)
    yield "prompt:functions", _functions
    yield from (("prompt:messages", _messages), ("tool:scripted", _scripted), ("judge:turns", _conversation))


TRACES: Mapping[str, Callable[[], object]] = dict(_rows())
