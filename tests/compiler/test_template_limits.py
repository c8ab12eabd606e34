"""A template from a stranger ends, and ends small; what prompts need is there."""

import resource
import time
from dataclasses import replace

import pytest

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.render import SandboxError, check_template, render_prompt, wrap

ITEM = Item("i", "Which is it?", ("this", "that"), gold=0, family="i")
DOUBLED = "{% set x = x ~ x %}"

BOMBS = {
    "power": "{% if 7**(10**8) %}{% endif %}",
    "text times a number": "{{ 'A' * 9999999999 }}",
    "list times a number": "{% set x = ['a'] * 99999999 %}",
    "doubling by ~": "{% set x = 'abcdefgh' %}" + DOUBLED * 60,
    "doubling by +": "{% set x = 'abcdefgh' %}" + "{% set x = x + x %}" * 60,
    "doubling a list": "{% set x = ['a'] %}" + "{% set x = x + x %}" * 60,
    "doubling by a block": "{% set x %}{{ question }}{{ question }}{% endset %}{{ x }}",
    "nested loops": "{% for a in 'ABCDEFGHIJ' %}" * 9 + "x" + "{% endfor %}" * 9,
    "long loops": "{% for a in question * 10000 %}" + "y" * 1000 + "{% endfor %}",
    "constants in a loop": "{% for a in question * 500 %}{{ '" + "y" * 10_000 + "' }}{% endfor %}",
    "recursion": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "recursive loop": "{% for a in choices recursive %}{{ loop(choices) }}{% endfor %}",
    "printf": "{{ '%999999999d' % 1 }}",
    "format": "{{ '{:>999999999}'.format(1) }}",
    "the same text many times as JSON": "{% set x = [" + "question, " * 5000 + "] %}{{ [x, x, x] | tojson }}",
    "padding by a method": "{{ 'x'.zfill(999999999) }}",
    "padding by a filter": "{{ 'x' | center(999999999) }}",
    "replacing": "{{ ('a' * 1000000) | replace('a', 'b' * 1000) }}",
    "joining": "{{ ('a' * 100000) | join('b' * 100000) }}",
    "mapping": "{% set x = 'abcdefgh' %}"
    + DOUBLED * 18
    + "{{ ["
    + "x," * 999
    + "x] | map('upper') | join }}",
    "a huge number": "{{ (2 * 4611686018427387904) * 9 }}",
    "printing a list": "{{ [question] * 9 }}",
    "many expressions": "{{ question }}" * 6000,
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_refused_quickly_and_in_little_memory(bomb: str) -> None:
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    assert check_template("{{ question }}" + bomb)
    with pytest.raises(SandboxError):
        render_prompt("{{ question }}" + bomb, ITEM)
    assert time.process_time() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024  # KiB


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (
            "{% for l, t in choices %}{{ l ~ ') ' ~ t }};{% endfor %}{{ stem }}",
            "A) this;B) that;Which is it?",
        ),
        (
            "{{ stem | upper }}{{ '-' * 3 }}{{ choices | map(attribute=1) | join('/') }}",
            "WHICH IS IT?---this/that",
        ),
        ("{{ stem.split() | first }}{{ 1 + 2 }}{{ stem | replace('is', 'was') }}", "Which3Which was it?"),
        ("{{ '' if answer else stem }}{% for a in 'ab' %}{{ loop.index }}{% endfor %}", "Which is it?12"),
    ],
)
def test_what_prompts_need_is_there(template: str, text: str) -> None:
    assert check_template(template) == []
    assert render_prompt(template, ITEM) == text


def test_a_long_document_may_wrap_a_prompt() -> None:
    assert len(wrap("word " * 100_000 + "{{ prompt }}", "Which?")) == 500_006


def test_each_render_has_a_budget_of_its_own() -> None:
    template = "{{ stem }}{% for a in 'x' * 9000 %}{% endfor %}"
    assert [render_prompt(template, ITEM, [ITEM]) for _ in range(3)]


def test_a_list_is_printed_as_json_and_not_by_itself() -> None:
    item = replace(ITEM, extra={"tags": ["naïve", {"n": 1, "<": None}]})
    assert render_prompt("{{ extra.tags | tojson }}", item) == '["naïve", {"n": 1, "<": null}]'
    with pytest.raises(SandboxError, match="`tojson` and `join` print it"):
        render_prompt("{{ extra.tags }}", item)
    with pytest.raises(SandboxError):
        render_prompt("{{ [[question * 9], [question * 9]] | tojson }}", replace(item, query="x" * 10**6))
