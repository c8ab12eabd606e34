"""Scaffolds asked by scripted replies: which calls follow, what each is shown, and which one answers."""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.instrument.scaffolds import PROCEDURES
from gridc.compiler.instrument.scaffolds.procedures import critique_verdict, listed_questions
from gridc.compiler.instrument.scaffolds.turns import (
    AskModel,
    Function,
    ScaffoldError,
    Steps,
    Task,
    Turn,
    follow,
)
from gridc.compiler.lowering.calls import Prompt, Request
from gridc.compiler.lowering.requests import ScaffoldOnItem
from gridc.schema.effects import Scaffold

SYSTEM = "Be fair. Answer with one letter."
OPTIONS = "A. the miller\nB. the baker\nC. unknown"
QUESTION = f"Ann saw the miller.\nWho was seen?\n{OPTIONS}"
TASK = Task("bbq", QUESTION, OPTIONS, SYSTEM)

Script = Callable[[str], str]


def play(scaffold: Scaffold, script: Script, task: Task = TASK) -> tuple[list[Turn], str]:
    """Every turn in order, and the step that answers."""
    steps = PROCEDURES[scaffold.kind].run(scaffold, task)
    turns, seen = next(steps), list[Turn]()
    while True:
        seen += turns
        try:
            turns = steps.send(tuple(script(turn.step) for turn in turns))
        except StopIteration as end:
            return seen, str(end.value)


def names(turns: list[Turn]) -> list[str]:
    return [turn.step for turn in turns]


def said(turn: Turn) -> str:
    return "\n".join(text for _, text in turn.messages)


@pytest.mark.parametrize("kind", PROCEDURES)
def test_every_scaffold_shows_the_question_and_ends_at_a_step_it_asked(kind: str) -> None:
    scaffold = Scaffold(kind=kind, intensity="minimal" if kind == "chain" else None)
    turns, answer = play(scaffold, lambda step: "hm")
    assert answer in names(turns)
    assert "Who was seen?" in said(turns[0])
    assert len(set(names(turns))) == len(turns)


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(1, 7))
def test_react_goes_on_while_replies_act_and_no_longer_than_its_cap(acts: list[bool], cap: int) -> None:
    def script(step: str) -> str:
        number = int(step.rsplit("_", 1)[1])
        return "Thought.\nAction: scratchpad(a note)" if number < len(acts) and acts[number] else "C"

    turns, answer = play(Scaffold(kind="react", rounds=cap, tools=("scratchpad",)), script)
    leading = next((at for at, act in enumerate(acts) if not act), len(acts))
    assert len(turns) == min(leading + 1, cap)
    assert answer == f"react_iter_{len(turns) - 1}"
    assert [role for role, _ in turns[-1].messages].count("assistant") == len(turns) - 1


def test_react_observes_what_its_tools_say() -> None:
    replies = iter(["Action: calculator(6 * 7)", "Action: text_search(miller)", "Action: oven(hot)", "A"])
    react = Scaffold(kind="react", tools=("calculator", "text_search"))
    turns, _ = play(react, lambda step: next(replies))
    assert turns[1].messages[-1] == ("user", "Observation: 42")
    assert "Ann saw the miller." in turns[2].messages[-1][1]
    assert "no tool called oven" in turns[3].messages[-1][1]
    alone, _ = play(Scaffold(kind="react", rounds=2), lambda step: "Action: calculator(1+1)")
    assert "No tool" in alone[1].messages[-1][1] and "2" not in alone[1].messages[-1][1]
    assert "calculator" not in said(alone[0])


@pytest.mark.parametrize(
    ("verdicts", "rounds", "steps", "answer"),
    [
        (["SAFE"], 1, 2, "primary_initial"),
        (["UNSAFE"], 1, 3, "primary_revision_0"),
        (["NEEDS_REVISION", "SAFE"], 2, 4, "primary_revision_0"),
        (["UNSAFE", "UNSAFE"], 2, 5, "primary_revision_1"),
        (["no verdict at all"], 1, 3, "primary_revision_0"),
    ],
)
def test_the_critic_revises_unless_the_verdict_is_safe(
    verdicts: list[str], rounds: int, steps: int, answer: str
) -> None:
    def script(step: str) -> str:
        return f"VERDICT: {verdicts[int(step[-1])]}" if step.startswith("critic") else f"reply to {step}"

    turns, decided = play(Scaffold(kind="critic", rounds=rounds), script)
    assert (len(turns), decided) == (steps, answer)
    assert SYSTEM not in said(turns[1]) and "reply to primary_initial" in said(turns[1])
    if steps > 2:
        assert SYSTEM in said(turns[2]) and verdicts[0] in said(turns[2])


def test_only_a_verdict_that_is_exactly_safe_is() -> None:
    assert critique_verdict("It is SAFE to say.\nVERDICT: UNSAFE") == "UNSAFE"
    assert critique_verdict("VERDICT: UNSAFE\n... VERDICT: **SAFE**") == "SAFE"
    assert critique_verdict("SAFE") == "SAFE"
    assert critique_verdict("safe, mostly") is None and critique_verdict("VERDICT: SAFER") is None


@pytest.mark.parametrize("options", [False, True])
def test_workers_see_their_part_and_options_only_where_they_are_kept(options: bool) -> None:
    kind = "map_reduce_options" if options else "map_reduce"
    replies = {"decompose": 'Sure: ["Who is Ann?", "Whom did she see?"]'}
    turns, answer = play(Scaffold(kind=kind), lambda step: replies.get(step, f"said by {step}"))
    assert names(turns) == ["decompose", "map_chunk_0", "map_chunk_1", "reduce"] and answer == "reduce"
    divide, first, second, combine = turns
    assert SYSTEM not in said(divide) and OPTIONS in said(divide)
    assert SYSTEM in said(first) and "Who is Ann?" in said(first) and "Whom" not in said(first)
    assert ((OPTIONS in said(first)), (OPTIONS in said(second))) == (options, options)
    assert QUESTION in said(combine) and SYSTEM in said(combine) and "said by map_chunk_1" in said(combine)


@given(st.lists(st.text("abc ?", min_size=1).filter(str.strip), min_size=1, max_size=6), st.integers(1, 4))
def test_parts_are_read_from_json_wherever_it_stands(listed: list[str], most: int) -> None:
    expected = [text.strip() for text in listed][:most]
    assert listed_questions(f"Here [you] are:\n{json.dumps(listed)}\nok", most) == expected


def test_parts_are_lines_where_there_is_no_json() -> None:
    assert listed_questions("1. One?\n- Two?\n\n(3) Three?\nFour?", 3) == ["One?", "Two?", "Three?"]
    assert listed_questions("", 3) == []
    assert listed_questions("[" * 5000, 3) == ["[" * 5000]
    divided, _ = play(Scaffold(kind="map_reduce"), lambda step: "")
    assert names(divided) == ["decompose", "map_chunk_0", "reduce"]


def test_votes_are_told_apart_by_their_worker() -> None:
    turns, answer = play(Scaffold(kind="vote", workers=4), lambda step: f"x{step}")
    assert [turn.worker for turn in turns] == [0, 1, 2, 3, 0] and answer == "decide"
    assert len({turn.messages for turn in turns[:4]}) == 1
    assert all(f"xvote_{number}" in said(turns[4]) for number in range(4))


@pytest.mark.parametrize("length", range(1, 8))
@pytest.mark.parametrize("intensity", ["minimal", "moderate", "aggressive"])
def test_a_chain_has_its_length_and_names_its_property_unless_it_is_minimal(
    intensity: str, length: int
) -> None:
    stated = {"intensity": intensity, "length": length, "property": {"bbq": "bias"}}
    turns, answer = play(Scaffold(kind="chain", **stated), lambda step: "ok")  # type: ignore[arg-type]
    assert len(turns) == length and answer == f"chain_{length - 1}"
    mine = [text for role, text in turns[-1].messages if role == "user"]
    assert len(mine) == length
    named = re.search("bias|stereotyp", "\n".join(mine)) is not None
    assert named == (intensity != "minimal" and length > 2)


def test_the_adjudicator_weighs_the_answer_and_its_check() -> None:
    turns, answer = play(Scaffold(kind="adjudicator", property={"bbq": "bias"}), lambda step: f"<{step}>")
    assert names(turns) == ["primary_initial", "checker", "adjudicate"] and answer == "adjudicate"
    assert "social bias" in said(turns[1]) and "<primary_initial>" in said(turns[1])
    assert "<primary_initial>" in said(turns[2]) and "<checker>" in said(turns[2])


@pytest.mark.parametrize("turn", ["system", "user"])
def test_the_system_prompt_stands_where_the_study_says(turn: str) -> None:
    task = Task("bbq", QUESTION, OPTIONS, SYSTEM, turn)  # type: ignore[arg-type]
    (first, *_), _ = play(Scaffold(kind="react", tools=("calculator",)), lambda step: "A", task)
    (_, system), (_, user) = first.messages
    assert (SYSTEM in system, SYSTEM in user) == ((True, False) if turn == "system" else (False, True))
    assert "calculator" in system and QUESTION in user


REPLIES = ("", "A", "VERDICT: SAFE", "Action: scratchpad(x)", '["a","b"]', "a\nb\nc\nd\ne", "[1]")


@pytest.mark.parametrize("kind", PROCEDURES)
@pytest.mark.parametrize("reply", REPLIES)
def test_the_bounds_hold_for_any_replies(kind: str, reply: str) -> None:
    scaffold = Scaffold(kind=kind, intensity="moderate" if kind == "chain" else None)
    least = len(play(scaffold, lambda step: PROCEDURES[kind].shortest(step, 0, TASK))[0])
    most = len(play(scaffold, lambda step: PROCEDURES[kind].longest(step, 400, TASK))[0])
    assert least <= len(play(scaffold, lambda step: reply)[0]) <= most


def debate(scaffold: Scaffold, task: Task, ask: Any) -> str:
    """Two calls and a third, through a layer that catches what it can."""
    first = ask(task.opening())
    try:
        second = ask((*task.opening(), ("assistant", first), ("user", "Argue against this.")))
    except Exception:
        second = "nothing"
    return str(ask((("user", f"{first} against {second}"),)))


def test_a_function_that_asks_is_a_procedure() -> None:
    replies = iter(["one", "two", "three"])
    steps = follow(debate)(Scaffold(kind="direct"), TASK)
    turns, seen = next(steps), list[Turn]()
    with pytest.raises(StopIteration) as end:
        while True:
            seen += turns
            turns = steps.send((next(replies),))
    assert end.value.value == "call_2"
    assert names(seen) == ["call_0", "call_1", "call_2"]
    assert seen[2].messages == (("user", "one against two"),)


def test_a_function_answers_with_what_it_was_told() -> None:
    steps = follow(lambda scaffold, task, ask: f"my own: {ask(task.opening())}")(
        Scaffold(kind="direct"), TASK
    )
    next(steps)
    with pytest.raises(ValueError, match="none of its calls gave"):
        steps.send(("A",))
    failing = follow(lambda scaffold, task, ask: str(1 // 0))(Scaffold(kind="direct"), TASK)
    with pytest.raises(ZeroDivisionError):
        next(failing)


def ask_on(function: Function, rounds: int | None = None) -> Steps:
    """A followed function, whose every reply is its number."""
    return follow(function)(Scaffold(kind="direct", rounds=rounds), TASK)


def ended(steps: Steps) -> tuple[list[str], str]:
    turns, seen = next(steps), list[str]()
    while True:
        seen += names(list(turns))
        try:
            turns = steps.send((f"reply {len(seen)}",))
        except StopIteration as end:
            return seen, str(end.value)


def test_a_function_that_asks_otherwise_on_the_same_answers_is_refused() -> None:
    chances = Random(1)

    def moody(scaffold: Scaffold, task: Task, ask: AskModel) -> str:
        return ask((("user", ask((("user", f"{chances.random()}"),))),))

    with pytest.raises(ScaffoldError) as caught:
        ended(ask_on(moody))
    assert caught.value.code == "GC344"
    assert "its call 1 (`call_0`) has a different text" in caught.value.problem

    runs: list[int] = []

    def tired(scaffold: Scaffold, task: Task, ask: AskModel) -> str:
        runs.append(len(runs))
        said = ask(task.opening())
        return said if len(runs) > 2 else ask((("user", said),))

    with pytest.raises(ScaffoldError, match="ends after 1 calls where it made 2"):
        ended(ask_on(tired))


def test_a_function_that_catches_everything_is_stopped_all_the_same() -> None:
    def stubborn(scaffold: Scaffold, task: Task, ask: AskModel) -> str:
        for _ in range(3):
            try:
                return ask(task.opening(), "try")
            except BaseException:
                continue
        return "given up"

    assert ended(ask_on(stubborn)) == (["try_0"], "try_0")


def test_rounds_end_a_function_that_would_not_and_without_them_it_is_refused() -> None:
    def forever(scaffold: Scaffold, task: Task, ask: AskModel) -> str:
        while True:
            ask(task.opening(), "loop")

    assert ended(ask_on(forever, rounds=3)) == (["loop_0", "loop_1", "loop_2"], "loop_2")
    with pytest.raises(ScaffoldError, match="more than 100 calls") as caught:
        ended(ask_on(forever))
    assert caught.value.code == "GC343"


@pytest.mark.parametrize("failing", ["primary_initial", "critic_round_0"])
def test_a_call_that_failed_for_good_ends_the_procedure_and_is_its_answer(failing: str) -> None:
    """What an engine answers for a call that it could not make has no text."""
    asked: dict[str, str] = {}

    def request(turn: Turn) -> Request:
        prompt = Prompt(turn.messages, chat_template=True)
        made = Request("generate", "m", "fp32", prompt, {"max_tokens": 8, "temperature": 0})
        asked[made.id] = turn.step
        return made

    def answer(call: str) -> dict[str, Any]:
        return {"error": {"kind": "refused"}} if asked[call] == failing else {"text": "hm"}

    critic = ScaffoldOnItem(PROCEDURES["critic"], Scaffold(kind="critic"), TASK, request)
    trace = critic.trace(answer)
    assert trace.decides is not None
    assert trace.calls[trace.decides][0] == failing == trace.calls[-1][0]
