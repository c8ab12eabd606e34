"""How prompts are laid out: marks, separators, casing, parameters and named parts. Each is seen in the
rendered text, and what is read back out of an answer fits what was shown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import bare_labels, label_marks
from gridc.compiler.instrument.render import PromptLayout, render_prompt
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import PlannedSample, Prompt, Request
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.compiler.preflight.oracles import try_oracles
from gridc.schema.effects import Separators

ITEM = Item("i", "Who took the key?", ("The baker", "The miller", "Not known"), gold=1)
T1 = "{{ question }}\n\nAnswer:{% if answer %} {{ answer }}{% endif %}"
BASE = (Path(__file__).parents[1] / "golden" / "diagnostics" / "base.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("enumerator", "shown"),
    [
        ("A.", ("A. The baker", "B. The miller", "C. Not known")),
        ("(a)", ("(a) The baker", "(b) The miller", "(c) Not known")),
        ("1)", ("1) The baker", "2) The miller", "3) Not known")),
        ("[I]", ("[I] The baker", "[II] The miller", "[III] Not known")),
        ("i.", ("i. The baker", "ii. The miller", "iii. Not known")),
        ("-", ("- The baker", "- The miller", "- Not known")),
    ],
)
def test_options_are_shown_behind_their_marks(enumerator: str, shown: tuple[str, ...]) -> None:
    text = render_prompt(T1, ITEM, look=PromptLayout(enumerator=enumerator))
    assert text == "\n".join(("Who took the key?", *shown)) + "\n\nAnswer:"


def test_an_exemplar_answers_with_the_label_that_it_shows() -> None:
    for enumerator, answer in (("(a)", "b"), ("1.", "2"), ("I)", "II"), ("-", "The miller")):
        text = render_prompt(T1, ITEM, [ITEM], look=PromptLayout(enumerator=enumerator))
        assert text.split("\n\n")[1] == f"Answer: {answer}"


def test_separators_stand_where_they_say() -> None:
    look = PromptLayout(label=" - ", options="; ", question=" | ", blocks="\n###\n")
    text = render_prompt("Q: {{ question }} A:{{ answer }}", ITEM, [ITEM], look=look)
    block = "Q: Who took the key? | A. - The baker; B. - The miller; C. - Not known A:"
    assert text == f"{block}B\n###\n{block}"
    assert render_prompt(
        "{{ options }}{{ stem }}", ITEM, style="listed", look=PromptLayout(options=" / ")
    ).startswith("The baker / The miller / Not known")


@pytest.mark.parametrize(
    ("casing", "shown"),
    [("upper", "THE QUESTION: Who took the key? (Sic)"), ("lower", "the question: Who took the key? (Sic)"),
     ("title", "The Question: Who took the key? (Sic)"),
     ("as_written", "The question: Who took the key? (Sic)")],
)  # fmt: skip
def test_the_templates_own_words_change_their_case_and_nothing_else(casing: Any, shown: str) -> None:
    template = "The question: {{ stem }} {{ '(Sic)' }}"
    assert render_prompt(template, ITEM, look=PromptLayout(casing=casing)) == shown


def test_roman_numbers_are_roman_numbers() -> None:
    values = {"i": 1, "v": 5, "x": 10}
    for place, name in enumerate(bare_labels("i.", 26), start=1):
        digits = [values[letter] for letter in name]
        total = sum(-d if d < max(digits[n:]) else d for n, d in enumerate(digits))
        assert total == place
    assert len(set(bare_labels("I.", 26))) == 26
    assert label_marks("<A>", 2) == ("<A>", "<B>") and bare_labels("*", 3) == ()


OPTIONS = ("The baker", "The miller", "Not known")


@pytest.mark.parametrize(
    ("enumerator", "response", "option"),
    [
        ("1.", "2", 1),
        ("1.", "2.", 1),
        ("1.", "(2)", 1),
        ("1.", "The answer is 2.", 1),
        ("1.", "Answer: 2 because he had it", 1),
        ("1.", "2. The miller", 1),
        ("1.", "1. First, look at the text. It names 3 people.\n2. Then decide.\n\nAnswer: 2", 1),
        ("1.", "1. First, look at the text.\n2. Then decide.", None),
        ("1.", "There were 2 people in the room.", None),
        ("1.", "2 people were there.", None),
        ("1.", "The answer is 1,945.", None),
        ("1.", "About 2% of them.", None),
        ("1.", "It is (1) wrong and (2) late.", None),
        ("1.", "The answer is 1 or 2.", None),
        ("1.", "Not 1, so 2.", 1),
        ("1.", "B", None),
        ("i.", "ii", 1),
        ("i.", "Answer: ii", 1),
        ("i.", "The answer is (i).", 0),
        ("i.", "I think it is the miller.", 1),
        ("I.", "I cannot say.", None),
        ("I)", "Answer: III", 2),
        ("a)", "b", 1),
        ("a)", "Answer: b", 1),
        ("a)", "The answer is B.", 1),
        ("a)", "It is a question of taste.", None),
        ("-", "The miller", 1),
        ("-", "Answer: the miller.", 1),
        ("-", "Answer: B", None),
        ("-", "- The miller", 1),
    ],
)  # fmt: skip
def test_what_is_read_is_what_was_shown(enumerator: str, response: str, option: int | None) -> None:
    assert extract(response, OPTIONS, labels=bare_labels(enumerator, 3)).option == option


ITEMS = [
    ITEM,
    Item("b", "Which is heavier?", ("red", "dark red", "One", "One hundred", "Two"), gold=3),
    Item("c", "Who is late?", tuple(f"It weighs {n} stone" for n in range(13)), gold=8),
    Item("d", "Is it?", ("Yes", "No"), gold=1),
]


@pytest.mark.parametrize(
    "enumerator", ("A.", "(A)", "a)", "<a>", "1.", "(1)", "1:", "i)", "[i]", "I.", "-", "*", "•")
)
@pytest.mark.parametrize("gap", (None, " - ", "\t"))
@pytest.mark.parametrize("between", (None, "; ", "\n\n"))
def test_no_responder_is_misread_under_any_mark(
    enumerator: str, gap: str | None, between: str | None
) -> None:

    setting = Setting(
        prompt="p", method="extract", enumerator=enumerator, separators=Separators(label=gap, options=between)
    )
    for reader in ("last_answer", *(("answer_line", "whole_response") if setting.labelled else ())):
        setting = replace(setting, reader=reader)
        for trial in try_oracles(setting, sampled(setting)):
            assert not trial.failures, (reader, trial.oracle.name, trial.first)


def sampled(setting: Setting) -> list[PlannedSample]:
    found = []
    for item in ITEMS:
        prompt = Prompt((("user", render_prompt(T1, item, style=setting.options, look=setting.look)),), True)
        found.append(PlannedSample(item, 0, (Request("generate", "m", "fp32", prompt, {}),)))
    return found


def study(folder: Path, *changes: tuple[str, str]) -> Plan:
    text = BASE
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "gridcard.toml").write_text(text)
    compiled = compile_spec(folder / "gridcard.toml")
    prove_hazards(compiled.study, compiled.source)
    return Plan(compiled.study)


def messages(plan: Plan) -> dict[str, tuple[tuple[str, str], ...]]:
    """The messages of each configuration's first call."""
    return {
        cell.configuration: next(iter(plan.samples(cell))).requests[0].prompt.messages
        for cell in plan.cells()
        if cell.model == "left"
    }


PERSONA = """[[axis]]
id = "persona"

[[axis.level]]
id = "none"
tier = "core"
provenance = "ours"

[[axis.level]]
id = "nurse"
tier = "core"
system = { persona = "You are a nurse." }
provenance = "ours"

[[axis]]
id = "scoring"
"""


def test_two_axes_make_one_system_prompt_in_the_declared_order(tmp_path: Path) -> None:
    plan = study(
        tmp_path,
        ('option_order = "file"', 'option_order = "file"\nsystem_order = ["persona", "length"]'),
        ('prompt = "builtin:T4"', 'prompt = "builtin:T1"\nsystem = { length = "Be brief." }'),
        ('[[axis]]\nid = "scoring"\n', PERSONA),
    )
    found = {
        name: [text for role, text in shown if role == "system"] for name, shown in messages(plan).items()
    }
    read = {name.removesuffix(",scoring=read"): text for name, text in found.items() if "read" in name}
    assert read == {
        "template=T1,persona=none": [],
        "template=T1,persona=nurse": ["You are a nurse."],
        "template=T4,persona=none": ["Be brief."],
        "template=T4,persona=nurse": ["You are a nurse.\n\nBe brief."],
    }


def test_two_axes_make_one_prompt_and_the_order_can_be_an_axis_too(tmp_path: Path) -> None:
    plan = study(
        tmp_path,
        ('option_order = "file"', 'option_order = "file"\nseparators = { parts = "\\n--\\n" }'),
        ('prompt = "builtin:T1"', 'prompt = { item = "Q: {{ question }}" }\nprompt_order = ["task", "item"]'),
        ('prompt = "builtin:T4"', 'prompt = { item = "Q: {{ question }}" }\nprompt_order = ["item", "task"]'),
        ('id = "read"\ntier = "core"', 'id = "read"\ntier = "core"\nprompt = { task = "Choose." }'),
        ('id = "rank"\ntier = "core"', 'id = "rank"\ntier = "core"\nprompt = { task = "Take your time." }'),
    )
    shown = {name: text for name, ((_, text),) in messages(plan).items()}
    item = shown["template=T1,scoring=read"].removeprefix("Choose.\n--\n")
    assert item.startswith("Q: ")
    assert shown == {
        "template=T1,scoring=read": f"Choose.\n--\n{item}",
        "template=T4,scoring=read": f"{item}\n--\nChoose.",
        "template=T1,scoring=rank": f"Take your time.\n--\n{item}",
        "template=T4,scoring=rank": f"{item}\n--\nTake your time.",
    }
    assert len(plan.study.inputs()["templates"]) == 3


def test_parameters_reach_the_templates_that_print_them(tmp_path: Path) -> None:
    plan = study(
        tmp_path,
        ('option_order = "file"', 'option_order = "file"\nvars = { polite = "", sign = ":" }'),
        ('prompt = "builtin:T1"', 'prompt = "{{ polite }}Q{{ sign }} {{ question }}"'),
        ('prompt = "builtin:T4"', 'prompt = "{{ polite }}Question{{ sign }} {{ question }}"'),
        ('id = "read"\ntier = "core"', 'id = "read"\ntier = "core"\nvars = { polite = "Please: " }'),
    )
    begins = {name: text.split(" ")[0] for name, ((_, text),) in messages(plan).items()}
    assert begins == {
        "template=T1,scoring=read": "Please:",
        "template=T1,scoring=rank": "Q:",
        "template=T4,scoring=read": "Please:",
        "template=T4,scoring=rank": "Question:",
    }


def test_a_key_at_its_default_leaves_the_stamped_document_as_it_was(tmp_path: Path) -> None:
    stated = study(tmp_path).study.stamped()["spec"]
    text = str(stated)
    for key in ("enumerator", "separators", "casing", "vars", "prompt_order", "system_order"):
        assert key not in text
