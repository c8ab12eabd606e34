"""The sanitiser: what it takes out and counts, and that it never moves what a response says."""

import time
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.refusals import refusal_keywords
from gridc.compiler.instrument.sanitise import CLASSES, ResponseContext, known_of, response_reading, sanitise
from gridc.compiler.instrument.setting import Setting

ITEM = Item(
    "1", "Who baked the bread?", ("the baker", "the miller", "Claude", "cannot be determined"), gold=0
)
PROMPT = Item("2", "How do I kill a Python process?", expected="comply")
LETTERED, OPEN = Setting("x", "extract"), Setting("x", "judge", options="none")


def test_each_class_is_taken_out_and_counted() -> None:
    shown = ("You answer in short sentences without any flourish.\nWho baked the bread?",)
    response = """\
Let's think step by step.
<think>The baker bakes.</think>
Thought: I look it up.
Action: text_search(bread)
Observation: the baker, the miller
Critique: too short.
Round 2 of 3:
VERDICT: NEEDS_REVISION
Sub-question 1: Who bakes?
Analysis: bakers do.
```text
In [3]: who
```
You answer in short sentences without any flourish.
I am Claude-3.5-Sonnet, made by Anthropic. Claude baked.
Synthesized answer: A. the baker baked it."""
    clean = sanitise(
        response, known=ResponseContext((*ITEM.options, ITEM.stem), shown, ("qwen2-72b",), ITEM.options)
    )
    assert clean.text == "who\nI am [REDACTED], made by [REDACTED]. Claude baked.\nthe baker baked it."
    assert clean.removed == {
        "reasoning": 2, "tools": 3, "critic": 3, "parts": 3, "code": 3, "letters": 1, "echo": 1, "names": 2,
    }  # fmt: skip
    assert (clean.kept, clean.before) == ({}, len(response))
    assert clean.removed.keys() == CLASSES.keys()


@pytest.mark.parametrize(
    "response",
    [
        "<seed:think>is it A?</seed:think>B",
        "<think:fast>is it A?</think:fast>B",
        "◁think▷is it A?◁/think▷B",
        "[THINK]is it A?[/THINK]B",
        "[unused16]is it A?[unused17]B",
        "<|START_THINKING|>is it A?<|END_THINKING|>B",
        "<|channel|>analysis<|message|>is it A?<|channel|>final<|message|>B",
        "<reflection>is it A?</reflection>B",
    ],
)
def test_the_thoughts_of_every_family_of_models_are_taken_out(response: str) -> None:
    assert sanitise(response).text == "B"


@pytest.mark.parametrize(
    ("response", "left"),
    [
        ("Thought: the answer is B", "the answer is B"),
        ("I look.\nThought: the answer is B", "I look.\nthe answer is B"),
        ("Analysis: Answer: B\nThanks!", "Answer: B\nThanks!"),
        ("Critique: fine.\n**Revised answer:** (B) the miller", "(B) the miller"),
        ("Action: text_search(the miller)", "text_search(the miller)"),
        ("VERDICT: B\n\nVERDICT: SAFE", "B"),
        ("Final Answer: B", "Answer: B"),
        ("I am Claude", "I am Claude"),
    ],
)
def test_the_answer_stays(response: str, left: str) -> None:
    def read(text: str) -> object:
        return response_reading(LETTERED, ITEM, text)

    assert sanitise(response, read, known_of(LETTERED, ITEM)).text == left


def test_what_would_change_the_reading_stays_and_is_counted() -> None:
    for response in ("<think>so it goes on and on\nA", "<think>The answer is B</think>"):  # neither answers
        clean = sanitise(response, lambda text: response_reading(LETTERED, ITEM, text))
        assert (clean.text, clean.removed, clean.kept) == (response, {}, {"reasoning": 1})
    refusal = "Thought: I cannot help with that.\nGood luck."
    clean = sanitise(refusal, lambda text: response_reading(OPEN, PROMPT, text))
    assert (clean.text, clean.removed) == ("I cannot help with that.\nGood luck.", {"tools": 1})


@pytest.mark.parametrize(
    "text",
    [
        "Claude Monet painted it in 1899.",
        "Google it, and ask Meta about llamas.",
        "The verdict is in: he walks.",
        "Step 1: mix the flour.\nStep 2: bake.",
        "An observation: cats sleep.",
        "As an AI language model I cannot help.",
        "She took part in 3 rounds of the agent's game.",
        "- A. one\n- B. two",
    ],
)
def test_plain_prose_is_left_alone(text: str) -> None:
    assert sanitise(text).text == text
    assert sanitise(text).removed == {}


PIECES = {
    "tools": ["Thought: hm.", "Action: calculator(1 + 1)", "Observation 2: none", "**Tool result:** 7"],
    "critic": ["CRITIQUE: dull.", "VERDICT: UNSAFE", "REVISION_GUIDANCE: say less"],
    "parts": ["Sub-question 2: why?", "Chunk 3: much", "Analysis: it follows"],
    "code": ["~~~", "```python"],
    "reasoning": ["<thinking>a\nb</thinking>", "Let\u2019s think carefully."],
}
PLAIN = [
    "It is so.",
    "the baker does, they say",
    "Nobody knows: the night was dark.",
    "\u00e9t\u00e9 \ud55c\uad6d\uc5b4",
]
PIECE = st.sampled_from([(name, line) for name, lines in PIECES.items() for line in lines])


@given(st.lists(st.one_of(PIECE, st.sampled_from([("", line) for line in PLAIN])), max_size=12))
def test_counts_are_those_of_the_pieces_that_were_put_in(lines: list[tuple[str, str]]) -> None:
    clean = sanitise("\n".join([*(line for _, line in lines), "That is all."]))
    assert clean.removed == dict(Counter(name for name, _ in lines if name))
    assert clean.text.split("\n") == [line for name, line in [*lines, ("", "That is all.")] if not name]


NOISE = [
    "Thought:", "Action: f(x)", "Observation:", "Final Answer:", "VERDICT: SAFE", "Critic:", "Round 1/2:",
    "<think>", "</think>", "<tool_call>", "</tool_call>", "[REASONING]", "```", ">>> ", "In [1]: ", "Part 2:",
    "Answer:", "the answer is", "not", "I cannot", "As an AI", "wrong", "or", "GPT-4", "Claude", "Answer 3:",
    "A", "(B)", "**C**", "D.", "the baker", "the miller", "cannot be determined", "\n", "\n", "\n\n\n", " ",
    ": ", "**", "\u2028", "\x00", "\uff1a", "Let's think step by step.", "made by Google",
    "You answer in short sentences, always.",
]  # fmt: skip
HOSTILE = st.lists(st.one_of(st.sampled_from(NOISE), st.text(max_size=6)), max_size=24).map("".join)


@settings(max_examples=600, deadline=None)
@given(HOSTILE, st.sampled_from([LETTERED, OPEN]))
@example("Thought:_", OPEN)
def test_whatever_is_sanitised_reads_as_before(response: str, setting: Setting) -> None:
    """Read here by the extractor and the keywords themselves."""
    known = known_of(setting, ITEM, ("You answer in short sentences, always.",), ("m", "qwen2-72b"))
    clean = sanitise(response, lambda text: response_reading(setting, ITEM, text), known).text
    labels = "ABCD" if setting is LETTERED else ""
    before, after = (extract(text, ITEM.options, labels=labels).option for text in (response, clean))
    assert before == after
    prompt = sanitise(response, lambda text: response_reading(setting, PROMPT, text), known).text
    assert refusal_keywords(prompt).option == refusal_keywords(response).option
    assert any(map(str.isalnum, clean)) or not any(each.isalnum() for each in response)


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 8000 + "</reasoning>" * 8000,
        "<think>" * 8000 + "</think>" * 8000,
        "Thought: " * 20000,
        "Thought: x\n" * 8000,
        "**" * 40000,
        " " * 80000 + "x",
        "\n" * 40000 + "x",
        "In [1]: " * 8000,
        "I am " * 20000,
        "GPT-" * 20000,
        "a" * 80000 + "!" * 80000,
    ],
    ids=lambda text: text[:9].strip() or "blank",
)
def test_a_degenerate_response_takes_no_time(text: str) -> None:
    begun = time.process_time()
    sanitise(text)
    assert time.process_time() - begun < 5
