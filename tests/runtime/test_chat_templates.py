"""A model's chat template is rendered as transformers renders it, and no stranger's takes gridc down."""

import time
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.instrument.template_limits import Limit

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from gridc.runtime.engines.hf.chat_template import AsksForDateError, CompiledTemplate  # noqa: E402

POCKET = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
CHATS = (
    [{"role": "user", "content": " Who sang?\n"}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who <b>sang</b> 'it'? é"},
        {"role": "assistant", "content": "<think>Hm.</think>The Lomer."},
        {"role": "user", "content": "And then?"},
    ],
)
HEADERS = """\
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- bos_token ~ '<|start|>' + system_message }}
{%- if tools is not none %}{{ tools | tojson(indent=4) }}{%- endif %}
{% for message in messages %}
    {%- if message.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}
    {{- '<|' ~ message['role'] ~ '|>' }}{{ message.content | trim }}<|end|>{{ '\\n' if not loop.last }}
{% endfor %}
{% if add_generation_prompt %}<|assistant|>{% endif %}
"""
THINKING = """\
{% macro block(role, text, mark=false) -%}
<{{ role }}{% if mark %} marked{% endif %}>{{ text }}</{{ role }}>
{%- endmacro %}
{% set ns = namespace(last=-1, users=0) %}
{% for message in messages[::-1] %}
  {% set index = (messages | length - 1) - loop.index0 %}
  {% if message.role == 'user' and ns.last < 0 %}{% set ns.last = index %}{% endif %}
{% endfor %}
{% for message in messages if message.role != 'system' %}
  {% if message.role == 'assistant' and '</think>' in message.content %}
    {% set said = message.content.split('</think>')[-1].lstrip('\\n') %}
    {% generation %}{{ block('answer', said) }}{% endgeneration %}
    {% continue %}
  {% endif %}
  {{ block(message.role | upper, message['content'], loop.index0 == ns.last) }}
{% endfor %}
{{ ns.last }}{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}
"""
DATA = """\
{{ messages | map(attribute='role') | join(', ') }}
{{ messages | selectattr('role', 'equalto', 'user') | list }}
{{ messages[0] | tojson }}|{{ {'a': [1, 2.5, none, true]} }}
{{ '%s has %d' % (messages[0].role, 3) }}|{{ 7 ** 2 }}|{{ 7 // 2 }}|{{ 'ab' * 2 }}|{{ [1, 2] + [3] }}
{{ '{}-{}'.format(1, 'b') }}|{{ 'a b'.title().replace('B', 'c') }}
{% filter upper %}quiet{% endfilter %}{% set text %}kept {{ eos_token }}{% endset %}{{ text }}
{% for key, value in messages[0].items() %}{{ key }}={{ value | replace('a', 'o') }};
  {% if loop.index > 1 %}{% break %}{% endif %}
{% endfor %}
{{ missing }}|{{ missing is defined }}|{{ messages | length }}|{{ [3, 1] | sort | first }}
{{- cycler('x', 'y').next() }}{{ ('a,b'.split(',') | last) | indent(2, true) }}
{{ 'é' | tojson }}|{{ dict(a=1)['a'] }}
{% macro wrapped() %}[{{ caller('in') }}]{% endmacro %}{% call(x) wrapped() %}{{ x }}{% endcall %}
"""


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return transformers.PreTrainedTokenizerFast.from_pretrained(POCKET)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("source", [None, HEADERS, THINKING, DATA])
def test_a_chat_reads_as_transformers_renders_it(source: str | None, chat: Any, tokenizer: Any) -> None:
    source = source or str(tokenizer.chat_template)
    arguments = {"enable_thinking": False}
    expected = tokenizer.apply_chat_template(
        chat, chat_template=source, add_generation_prompt=True, tokenize=False, **arguments
    )
    assert CompiledTemplate(source).render(chat, {**tokenizer.special_tokens_map, **arguments}) == expected


GROWING = (
    "{%% set ns = namespace(x=%s) %%}{%% for i in range(60) %%}{%% set ns.x = %s %%}{%% endfor %%}{{ %s }}"
)
BOMBS = {
    "a long text": "{{ 'A' * 10**10 }}",
    "a long loop": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a large number": "{{ 7**(10**8) }}",
    "numbers that grow": GROWING % ("7", "ns.x * ns.x", "ns.x"),
    "texts that grow": GROWING % ("'A'", "ns.x ~ ns.x", "ns.x"),
    "lists that grow": GROWING % ("[1]", "ns.x + ns.x", "ns.x | length"),
    "a block that is set": "{% set ns = namespace(x='A') %}{% for i in range(60) %}"
    "{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}",
    "a macro that calls itself": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}"
    "{{ f(60) }}",
    "a macro with much text": "{% macro f() %}"
    + "A" * 500_000
    + "{% endmacro %}{% for i in range(9000) %}{% set x = f() %}{% endfor %}",
    "a wide number": "{{ '%1000000000d' % 1 }}",
    "a width that is given": "{{ '{:{}}'.format(1, 1000000000) }}",
    "a wide margin": "{{ 'a' | center(10**10) }}",
    "a deep margin": "{{ ('a\\n' * 100000) | indent(10**6) }}",
    "an indented list": "{{ [[1]] | tojson(indent=10**9) }}",
    "a filled batch": "{{ [1] | batch(10**9, 0) | list }}",
    "a long joint": "{{ ('A' * 1000000).join([''] * 1000000) }}",
    "many replacements": "{{ ('a' * 2000000).replace('a', 'b' * 2000000) }}",
    "slices": "{% set b = 'A' * 4000000 %}" + "".join(f"{{% set a{n} = b[1:] %}}" for n in range(900)),
    "a block within itself": "{% block a %}{{ self.a() }}{% endblock %}",
    "an address": "{{ [messages.copy] }}",
}
SLOW_BOMBS = {
    "lists of lists": GROWING % ("[1]", "[ns.x, ns.x]", "ns.x | tojson"),
    "lists that are compared": "{% set a = [1] %}{% set b = [1] %}"
    + "{% set a = [a, a] %}{% set b = [b, b] %}" * 60
    + "{{ a == b }}",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_template_that_would_not_end_or_not_fit_is_refused_at_once(bomb: str) -> None:
    begun = time.process_time()
    with pytest.raises(Limit):
        CompiledTemplate(BOMBS[bomb]).render(CHATS[0], {})
    assert time.process_time() - begun < 3


@pytest.mark.slow
@pytest.mark.parametrize("bomb", SLOW_BOMBS)
def test_a_template_that_only_the_clock_stops_is_stopped_by_it(bomb: str) -> None:
    with pytest.raises(Limit, match="5 seconds"):
        CompiledTemplate(SLOW_BOMBS[bomb]).render(CHATS[0], {})


@pytest.mark.parametrize("drawn", ["{{ [1, 2] | random }}", "{{ lipsum() }}"])
def test_nothing_is_drawn_by_lot(drawn: str) -> None:
    with pytest.raises(Exception, match=r"random|lipsum"):
        CompiledTemplate(drawn).render(CHATS[0], {})


def test_the_date_cannot_be_asked_for_under_another_name() -> None:
    with pytest.raises(AsksForDateError):
        CompiledTemplate("{% set f = strftime_now %}{{ f('%Y') }}").render(CHATS[0], {})
    assert len(CompiledTemplate("{{ strftime_now('%Y') }}").render(CHATS[0], {}, dated=True)) == 4
