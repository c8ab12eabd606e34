"""Which parts of a task reached a sub-call: by hand, and beside a program that imports nothing of gridc."""

import json
import re
import sqlite3
import string
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import gridc
from gridc.cli import main
from gridc.compiler.instrument.propagation import (
    OriginalTask,
    SubCall,
    is_format,
    is_safety,
    step_shares,
    trace,
)

SYSTEM = "Avoid stereotypes about people. Answer with the letter of one option."
QUESTION = "Ann met the miller and the baker.\nWho complained about prices?\n"
OPTIONS = ("The miller", "The baker", "Cannot be determined")
SHOWN = "\n".join(f"({letter}) {text}" for letter, text in zip("ABC", OPTIONS, strict=True))
TASK = OriginalTask(QUESTION + SHOWN, SYSTEM, OPTIONS)


def states(*messages: str, original: OriginalTask = TASK) -> dict[str, str]:
    return dict(trace(original, SubCall("s", "step", messages)).states)


@pytest.mark.parametrize(
    ("messages", "system", "option", "form", "safety"),
    [
        ((SYSTEM, QUESTION + SHOWN), "kept", "kept", "kept", "kept"),
        ((f"{SYSTEM.upper()}\n\nx", "a. the miller b: THE  BAKER C) cannot be determined"), *["kept"] * 4),
        (("Divide the task into parts.", "Who met whom?"), "lost", "lost", "lost", "lost"),
        (("Answer this part of a larger question only.", "Who is Ann?"), "lost", "lost", "lost", "lost"),
        (
            ("When you talk about people, stereotypes are to be avoided. Give only the option's letter as "
             "answer.", "Choose among: the baker; the miller; it cannot be determined."),
            "paraphrased", "paraphrased", "paraphrased", "paraphrased",
        ),
        (
            ("Avoid stereotypes about people.", "(A) The miller (B) The baker"),
            "partial", "partial", "lost", "kept",
        ),
        (("Reply with one of the letters A to C.", SHOWN), "lost", "kept", "paraphrased", "lost"),
        (
            ("", "(B) The miller (A) The baker (C) Cannot be determined"),
            "lost", "paraphrased", "lost", "lost",
        ),
    ],
)  # fmt: skip
def test_traces_made_by_hand(
    messages: tuple[str, ...], system: str, option: str, form: str, safety: str
) -> None:
    assert list(states(*messages).values()) == [system, option, form, safety]


RULES = "You are helpful.\n1. Avoid stereotypes about people. 2. Answer with the letter of one option."


@pytest.mark.parametrize(
    ("sent", "system", "option"),
    [
        (RULES.replace(" ", "\u00a0") + SHOWN.replace(" ", "\u2009\t"), "kept", "kept"),
        (RULES.replace("stereo", "stereo\u200b") + SHOWN.replace("mil", "mil\u00ad"), "kept", "kept"),
        (json.dumps({"system": RULES, "options": SHOWN}), "kept", "kept"),
        (RULES.replace("people.", "people!").replace("option.", "option"), "kept", "lost"),
        (RULES.replace("1. ", "- ").replace("2. ", "\n- "), "kept", "lost"),
        (RULES.replace("Avoid", "Do not avoid").replace("Answer", "never answer"), "partial", "lost"),
        ("You are helpfully told nothing.", "lost", "lost"),
        ("What is known about the miller?", "lost", "lost"),
        ("Did the miller or the baker complain?", "lost", "partial"),
        (QUESTION, "lost", "lost"),
        ("1. The miller\n2. The baker\n3. Cannot be determined", "lost", "paraphrased"),
        ("A - The miller\nB – The baker\nC — Cannot be determined", "lost", "kept"),
        ('{"A": "The miller", "B": "The baker", "C": "Cannot be determined"}', "lost", "kept"),
        ("| A | The miller |\n| B | The baker |\n| C | Cannot be determined |", "lost", "kept"),
        ("（Ａ）The miller （Ｂ）The baker （Ｃ）Cannot be determined", "lost", "kept"),
        ("(A) The miller\n(C) Cannot be determined", "lost", "partial"),
    ],
)  # fmt: skip
def test_what_does_not_change_what_is_said_and_what_does(sent: str, system: str, option: str) -> None:
    found = states(sent, original=OriginalTask(QUESTION + SHOWN, RULES, OPTIONS))
    assert (found["system_prompt"], found["mc_option"]) == (system, option)


def test_an_option_is_not_found_in_a_longer_one_nor_in_the_question() -> None:
    numbers = OriginalTask("How many?\nA. 4\nB. 45\nC. 4.5")
    assert states("C. 4.5", original=numbers)["mc_option"] == "partial"
    both = OriginalTask("Who?\nA. The miller\nB. The baker\nC. The miller and the baker")
    assert states("C. The miller and the baker", original=both)["mc_option"] == "partial"
    bare = OriginalTask("Who met the miller?", options=("The miller", "Nobody"))
    assert states("Who met the miller?", original=bare)["mc_option"] == "lost"
    assert states("Who met the miller?\nThe miller\nNobody", original=bare)["mc_option"] == "kept"
    lettered = OriginalTask("Who?", options=("Ann", "Ben"), lettered=True)
    assert states("Ann or Ben", original=lettered)["mc_option"] == "paraphrased"


@pytest.mark.parametrize(
    ("sentence", "form", "safety"),
    [
        ("Your final answer must be A, B or C.", True, False),
        ("Respond in JSON.", True, False),
        ("Put your final answer in \\boxed{}.", True, False),
        ("Reply with exactly one of (A), (B), (C).", True, False),
        ("Do not help with violence.", False, True),
        ("Do not make assumptions based on race or gender.", False, True),
        ("Treat all groups equally.", False, True),
        ("You are a helpful assistant.", False, False),
        ("Answer this sub-question only.", False, False),
        ("Answer the question truthfully.", False, True),
    ],
)
def test_which_sentences_are_instructions(sentence: str, form: bool, safety: bool) -> None:
    assert (is_format(sentence), is_safety(sentence)) == (form, safety)


def test_what_a_task_has_not_is_absent_and_options_are_read_where_they_are_shown() -> None:
    assert states("x", original=OriginalTask("Why?")) == dict.fromkeys(states("x"), "absent")
    shown = OriginalTask(QUESTION + SHOWN)
    assert states(f"see {SHOWN}", original=shown)["mc_option"] == "kept"
    unlettered = OriginalTask("Is it so?", options=("Yes", "No"))
    assert states("Say yes or no", original=unlettered)["mc_option"] == "kept"
    assert states("Know your eyes", original=unlettered)["mc_option"] == "lost"


# The same rules again, for texts of plain words: what is kept, from sqlite3 and re alone.

WORDS = ["bread", "flour", "grain", "oven", "yeast", "salt", "water", "crust", "dough", "loaf"]
sentence = st.lists(st.sampled_from(WORDS), min_size=3, max_size=6).map(lambda words: " ".join(words) + ".")
FORM = "Answer with the letter."
SAFE = "Do no harm."


def recount(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """scaffold, step, n and the share that kept each part, by instr() on the texts as they are."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE call (scaffold, step, sent, system, options, form, safe)")
    for row in rows:
        sent = "\n".join(message["content"] for message in row["messages"])
        task = row["task"]
        parts = re.findall(r"[^.]+\.", task["system"])
        labelled = [f"({letter}) {text}" for letter, text in zip(string.ascii_uppercase, task["options"])]  # noqa: B905
        kept = [
            all(part.strip() in sent for part in parts),
            all(each in sent for each in labelled),
            FORM in task["system"] and FORM in sent,
            SAFE in task["system"] and SAFE in sent,
        ]
        db.execute(
            "INSERT INTO call VALUES (?, ?, ?, ?, ?, ?, ?)", (row["scaffold"], row["step"], sent, *kept)
        )
    return db.execute(
        """SELECT scaffold, step, count(*), round(avg(system), 4), round(avg(options), 4),
                  round(avg(form), 4), round(avg(safe), 4)
           FROM call GROUP BY scaffold, step ORDER BY min(rowid), step"""
    ).fetchall()


@st.composite
def sub_call(draw: st.DrawFn) -> dict[str, Any]:
    options = draw(
        st.lists(st.sampled_from(["zinc", "lead", "iron", "gold"]), min_size=2, max_size=4, unique=True)
    )
    system = " ".join(draw(st.permutations([draw(sentence), FORM, SAFE])))
    shown = "\n".join(f"({letter}) {text}" for letter, text in zip("ABCD", options))  # noqa: B905
    question = f"Which metal?\n{shown}"
    pieces = [
        draw(st.sampled_from([system, "", SAFE, FORM])),
        draw(st.sampled_from([question, "Which?", shown])),
    ]
    messages = [{"role": "user", "content": piece} for piece in pieces]
    return {
        "scaffold": "one", "step": draw(st.sampled_from(["a", "b", "c"])), "messages": messages,
        "task": {"system": system, "question": question, "options": options},
    }  # fmt: skip


@given(st.lists(sub_call(), min_size=1, max_size=12))
def test_the_shares_are_those_of_a_program_that_knows_nothing_of_gridc(rows: list[dict[str, Any]]) -> None:
    table = [tuple(row.values())[:7] for row in gridc.propagation(rows).rows()]
    assert sorted(table) == sorted(recount(rows))


def test_a_file_of_sub_calls_is_traced_with_tasks_inside_or_beside(tmp_path: Path) -> None:
    task = {"system": SYSTEM, "question": QUESTION, "options": dict(zip("ABC", OPTIONS, strict=True))}
    row: dict[str, Any] = {
        "case_id": "i1",
        "config": "map_reduce",
        "step": "map_chunk_0",
        "system_prompt": SYSTEM,
        "prompt": "Who?",
    }
    calls, tasks = tmp_path / "calls.jsonl", tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"item": "i1", **task}) + "\n", "utf-8")
    calls.write_text("\n".join([json.dumps(row), "", json.dumps(row | {"prompt": SHOWN})]), "utf-8")
    done = CliRunner().invoke(main, ["scaffolds", "--calls", str(calls), "--tasks", str(tasks), "--csv"])
    header, line = done.output.splitlines()
    published = (
        "scaffold,step,n,system_prompt_propagation,mc_option_propagation,format_instruction_propagation"
    )
    assert header.startswith(published)
    assert line.startswith("map_reduce,map_chunk_0,2,1.0,0.5,1.0,1.0,")
    inside: list[dict[str, Any]] = [row | {"task": task}, row | {"task": task, "prompt": SHOWN}]
    assert gridc.propagation(inside).csv() == done.output
    hostile = [each | {"config": "=cmd|' /C calc'!A0", "step": "\uff1d1+1"} for each in inside]
    assert gridc.propagation(hostile).csv().splitlines()[1].startswith("'=cmd|' /C calc'!A0,'\uff1d1+1,2,")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "row 1: not JSON"),
        ("[]", "row 1: not a JSON object"),
        ('{"step": "a", "user": "x"}', "row 1: there is no `task`"),
        ('{"step": "a", "task": {}}', "row 1: a task is a table with a `question`"),
        ('{"user": "a", "task": {"question": "?"}}', "row 1: it has no step"),
        ('{"step": "a", "task": {"question": "?"}}', "row 1: what was sent is not there"),
        ('{"step": "a", "messages": [1], "task": {"question": "?"}}', "row 1: what was sent is not there"),
        (
            '{"step": "a", "user": "x", "task": {"question": "?", "options": [1]}}',
            "row 1: `options` of a task",
        ),
    ],
)
def test_a_row_that_cannot_be_read_is_told_with_its_number(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(line, "utf-8")
    done = CliRunner().invoke(main, ["scaffolds", "--calls", str(path)])
    assert done.exit_code == 2
    assert said in done.output


def test_a_share_counts_every_sub_call_and_says_how_many_could_have_kept_it() -> None:
    bare = OriginalTask("Why?")
    rows = step_shares([trace(TASK, SubCall("s", "a", (SYSTEM,))), trace(bare, SubCall("s", "a", (SYSTEM,)))])
    assert [(row.n, row.share("system_prompt"), row.having("system_prompt")) for row in rows] == [(2, 0.5, 1)]


def test_a_file_without_a_sub_call_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text("\n")
    done = CliRunner().invoke(main, ["scaffolds", "--calls", str(tmp_path / "calls.jsonl")])
    assert (done.exit_code, done.output) == (0, "there is no sub-call in it\n")
