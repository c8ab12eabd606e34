"""Traces of how a prompt is laid out: fixed items in fixed templates."""

from collections.abc import Callable, Mapping
from functools import partial

from gridc.compiler.instrument import options, render
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.render import OptionStyle, PromptLayout
from gridc.schema.effects import Candidates, Casing
from tests.instrument.examples import CHOICE, EXEMPLARS, OPINION, PAIR, QUESTION

_TEMPLATES = (
    "{{ question }}\nAnswer:{% if answer %} {{ answer }}{% endif %}",
    "{{ context }}|{{ query }}|{{ stem }}|"
    "{% for letter, text in choices %}[{{ letter }}] {{ text }};{% endfor %}\n{{ options }}\n"
    "{{ answer | upper }}\n",
    "Be {{ tone }}: {{ question }} ({{ count }})",
)
_VARS = (("count", 3), ("tone", "brief"))
_LOOKS = (PromptLayout(vars=_VARS), PromptLayout("(A)", "as_written", ": ", ", ", " -> ", "\n---\n", _VARS))


LETTERS = (
    Item("listed", "Which melts?\n(a) iron\n(b) ice\nAnswer:", ("(a)", "(b)"), gold=1),
    Item("named", "Is answer A or answer B better?", ("A", "B"), gold=0),
    Item("vitamin", "Which vitamin does the skin make?", ("A", "B", "C", "D"), gold=3),
)
"""Items whose options are nothing but letters."""


def _style(style: OptionStyle) -> list[str]:
    asked = ((CHOICE, EXEMPLARS), (OPINION, ()), (PAIR, ()), (QUESTION, (QUESTION,)))
    lettered = tuple((item, LETTERS) for item in LETTERS)
    ranked: tuple[Candidates, ...] = ("option_text", "letter")
    return [
        *(
            render.render_prompt(template, item, exemplars, style, look)
            for template in _TEMPLATES
            for item, exemplars in (*asked, *lettered)
            for look in _LOOKS
        ),
        *(
            block
            for kind in ranked
            for block in render.exemplar_blocks(_TEMPLATES[0], EXEMPLARS, style, _LOOKS[1], kind)
        ),
    ]


def _casing(casing: Casing) -> list[str]:
    look = PromptLayout(casing=casing, vars=_VARS)
    return [
        render.render_prompt(template, CHOICE, EXEMPLARS, "lettered", look)
        for template in (*_TEMPLATES, "Answer the QUESTION below, or don't. {# a note #}{{ question }}")
    ]


_AROUND = ("{}.", "({})", "{}", "**{}**:")
_COUNTS = (1, 2, 4, 26)


def _enumerator(token: str) -> list[object]:
    written = [around.format(token) for around in _AROUND]
    return [
        [options.label_marks(mark, count), options.bare_labels(mark, count)]
        for mark in written
        for count in _COUNTS
    ]


def _wrapper() -> list[str]:
    sources = ("Before.\n{{ prompt }}\nAfter.\n", "{{ tone }} {{ prompt }}{{ prompt }}")
    return [render.wrap(source, " Which is it?\nA. this\n", PromptLayout(vars=_VARS)) for source in sources]


def _joined() -> list[str]:
    parts = {"a": "First.\n", "b": "{{ question }}", "c": "Last.\n\n"}
    orders = (("a",), ("a", "b"), ("c", "b", "a"))
    wholes = (render.composite(joint, order) for joint in ("\n\n", " / ") for order in orders[1:])
    return [render.composite("\n", orders[0]), *(render.joined(whole, parts) for whole in wholes)]


TRACES: Mapping[str, Callable[[], object]] = {
    "options:lettered": partial(_style, "lettered"),
    "options:listed": partial(_style, "listed"),
    "options:none": partial(_style, "none"),
    "casing:upper": partial(_casing, "upper"),
    "casing:lower": partial(_casing, "lower"),
    "casing:title": partial(_casing, "title"),
    "enumerator:A": partial(_enumerator, "A"),
    "enumerator:a": partial(_enumerator, "a"),
    "enumerator:1": partial(_enumerator, "1"),
    "enumerator:I": partial(_enumerator, "I"),
    "enumerator:i": partial(_enumerator, "i"),
    "enumerator:bullet": partial(_enumerator, "-"),
    "prompt:wrapper": _wrapper,
    "prompt:parts": _joined,
}
