"""What newcomers write in the place of the newer keys, and what each help says: followed literally, the spec
is read as it was meant."""

import json
import re
from pathlib import Path

import pytest

from gridc.compiler.frontend.foreign_words import key_meant, value_meant
from gridc.compiler.frontend.read import read_spec
from gridc.diagnostics.errors import SpecError

STUDY = """\
gridcard = 1
study = { id = "try", title = "Try", purpose = "descriptive", not_varied = ["all else"] }
model = [{ id = "ant", engine = "hf", source = "builtin:pocket-qwen2" }]

[[benchmark]]
id = "caps"
loader = "rows"
source = "path:items.jsonl"
direction = "higher"
loading.fields = { query = "q", references = ["a"], extra = ["region"] }

[harness]
prompt = "{{ question }}"
temperature = 0.7
replicates = 5
"""
MATCH = 'method = "match"\n'
CONTAINS = MATCH + 'match = { as = "contains" }\n'
TURNS = 'scaffold = { kind = "turns", wording = { caps = ["Are you sure?"] } }\n'
JUDGE = '[judge]\nsource = "builtin:pocket-mistral"\nrubric = "Is it {{ right }}?"\n'
AXIS = CONTAINS + '\n[[axis]]\nid = "a"\ntier = "core"\nprovenance = "ours"\n'
LEVELS = 'levels = { source = "path:p.csv", id = "id", prompt = "text" }\n'

MISTAKES = {
    "match as a text": (
        MATCH + 'match = "number"\n',
        "GC102",
        'match = { as = "number" }',
        MATCH + 'match = { as = "number" }\n',
    ),
    "a scorer as a text": (
        'method = "scorer"\nscorer = "python:s.py:brief"\n',
        "GC102",
        'scorer = { function = "python:s.py:brief" }',
        'method = "scorer"\nscorer = { function = "python:s.py:brief" }\n',
    ),
    "a function as the method": (
        'method = "python:s.py:brief"\n',
        "GC104",
        '`method = "scorer"` and `scorer = { function = "python:s.py:brief" }`',
        'method = "scorer"\nscorer = { function = "python:s.py:brief" }\n',
    ),
    "a scaffold as a text": (
        CONTAINS + TURNS.replace('{ kind = "turns", wording = { caps = ["Are you sure?"] } }', '"cot"'),
        "GC102",
        'scaffold = { kind = "cot" }',
        CONTAINS + 'scaffold = { kind = "cot" }\n',
    ),
    "a scale as a list": (
        'method = "judge"\n' + JUDGE + "scale = [1, 10]\n",
        "GC102",
        "scale = { from = 1, to = 10 }",
        'method = "judge"\n' + JUDGE + "scale = { from = 1, to = 10 }\n",
    ),
    "a model to compare with, as a text": (
        'method = "judge"\n' + JUDGE + 'compares = "ant"\n',
        "GC102",
        'compares = { against = "ant", swap = true }',
        'method = "judge"\n' + JUDGE + 'compares = { against = "ant", swap = true }\n',
    ),
    "nothing of both orders": (
        'method = "judge"\n' + JUDGE + 'compares = { against = "ant" }\n',
        "GC103",
        "swap = true",
        'method = "judge"\n' + JUDGE + 'compares = { against = "ant", swap = true }\n',
    ),
    "percents as scores": (
        'method = "judge"\nscores = { good = 100, bad = 0 }\n' + JUDGE + 'labels = ["good", "bad"]\n',
        "GC104",
        "from 0 to 1",
        'method = "judge"\nscores = { good = 1, bad = 0 }\n' + JUDGE + 'labels = ["good", "bad"]\n',
    ),
    "pass@5 as a text": (
        CONTAINS + 'aggregate = "pass@5"\n',
        "GC104",
        "aggregate = { pass_at = 5 }",
        CONTAINS + "aggregate = { pass_at = 5 }\n",
    ),
    "a table as the name of one of its keys": (
        CONTAINS + 'aggregate = "pass_all"\n',
        "GC104",
        "aggregate = { pass_all = 5 }",
        CONTAINS + "aggregate = { pass_all = 5 }\n",
    ),
    "an image": (
        CONTAINS + 'image = "picture.png"\n',
        "GC101",
        "only texts; for pictures and sound use Inspect or VLMEvalKit",
        CONTAINS,
    ),
    "code that is to be run": (
        'method = "unit_tests"\n',
        "GC104",
        "gridc runs no code: Inspect or EvalPlus do",
        CONTAINS,
    ),
    "thinking on": (
        CONTAINS + 'thinking = "on"\n',
        "GC104",
        "thinking = true",
        CONTAINS + "thinking = true\n",
    ),
    "tokens to think": (
        CONTAINS + "thinking = 1024\n",
        "GC105",
        "max_tokens = 2048, or a smaller budget",
        CONTAINS + "thinking = 1024\nmax_tokens = 2048\n",
    ),
    "an effort misspelt": (
        CONTAINS + 'thinking = "meduim"\n',
        "GC104",
        "did you mean `medium`?",
        CONTAINS + 'thinking = "medium"\n',
    ),
    "tokens to think in quotes": (
        CONTAINS + 'max_tokens = 2048\nthinking = "1024"\n',
        "GC104",
        "thinking = 1024",
        CONTAINS + "max_tokens = 2048\nthinking = 1024\n",
    ),
    "tokens to think as another package says it": (
        CONTAINS + "max_tokens = 2048\nbudget_tokens = 1024\n",
        "GC101",
        "thinking = 1024",
        CONTAINS + "max_tokens = 2048\nthinking = 1024\n",
    ),
    "a column without extra": (
        CONTAINS.replace("method", 'prompt = "{{ region }}: {{ question }}"\nmethod'),
        "GC310",
        "{{ extra.region }}",
        CONTAINS.replace("method", 'prompt = "{{ extra.region }}: {{ question }}"\nmethod'),
    ),
    "values as a list": (
        AXIS + "values = [0.3, 0.7]\n",
        "GC102",
        "values = { temperature = [0.3, 0.7] }",
        AXIS + "values = { temperature = [0.3, 0.7] }\n",
    ),
    "values that no prompt prints": (
        AXIS + 'values = { vars = { tone = ["a", "b"] } }\n',
        "GC303",
        "print {{ tone }} in a prompt",
        'prompt = "{{ tone }} {{ question }}"\n' + AXIS + 'values = { vars = { tone = ["a", "b"] } }\n',
    ),
    "where a file's levels come from, as words": (
        AXIS + LEVELS.replace(" }", ', provenance = "a colleague" }'),
        "GC202",
        "leave it out here and write provenance =",
        AXIS + LEVELS,
    ),
    "a judge that no table has": (
        'method = "judge"\n',
        "GC103",
        "[judge] with `source`",
        'method = "judge"\nscores = { good = 1, bad = 0 }\n' + JUDGE + 'labels = ["good", "bad"]\n',
    ),
    "a judge's temperature": (
        'method = "judge"\n' + JUDGE + "scale = { from = 1, to = 10 }\ntemperature = 0\n",
        "GC101",
        "leave it out",
        'method = "judge"\n' + JUDGE + "scale = { from = 1, to = 10 }\n",
    ),
    "what is said later, as a text": (
        CONTAINS + 'scaffold = { kind = "turns", wording = "Are you sure?" }\n',
        "GC102",
        '["Are you sure?"]',
        CONTAINS + TURNS,
    ),
}  # fmt: skip


def written(text: str, folder: Path) -> Path:
    """The study with these keys: what the mistakes state twice stands in its place."""
    head = re.sub(r"prompt = .*\n", "", STUDY) if 'prompt = "' in text.split("[", 1)[0] else STUDY
    (folder / "gridcard.toml").write_text(head + text, "utf-8")
    (folder / "items.jsonl").write_text('{"q": "Which?", "a": "this", "region": "north"}\n', "utf-8")
    (folder / "s.py").write_text("def brief(item, response):\n    return 1\n", "utf-8")
    (folder / "p.csv").write_text("id,text\none,{{ question }}\ntwo,Q: {{ question }}\n", "utf-8")
    return folder / "gridcard.toml"


@pytest.mark.parametrize("name", MISTAKES)
def test_the_help_is_what_was_meant(name: str, tmp_path: Path) -> None:
    wrong, code, help, right = MISTAKES[name]
    with pytest.raises(SpecError) as caught:
        read_spec(written(wrong, tmp_path))
    assert any(
        finding.code == code and help in (finding.help or "") for finding in caught.value.diagnostics
    ), [(finding.code, finding.message, finding.help) for finding in caught.value.diagnostics]
    read_spec(written(right, tmp_path))


def test_numbers_within_a_word_are_kept() -> None:
    assert value_meant(("aggregate",), "pass@10") == "write `aggregate = { pass_at = 10 }` here"
    assert value_meant(("aggregate",), "any") == "write `aggregate = { pass_at = 5 }` here"
    assert value_meant(("scaffold", "tools", 0), "look") is not None, "an entry of a list"
    assert value_meant(("method",), "anything") is None
    assert key_meant(("harness",), "other", 0, {}, ()) is None


def test_what_a_spec_states_and_nothing_uses_is_noted(tmp_path: Path) -> None:
    from gridc.compiler.frontend.lint import lint

    def notes(text: str) -> str:
        return json.dumps([*lint(read_spec(written(text, tmp_path)).spec)])

    assert "labels nothing" in notes(CONTAINS + JUDGE + 'labels = ["good", "bad"]\n')
    assert "whole responses" in notes(MATCH + 'match = { as = "text" }\n')
    assert notes(CONTAINS) == notes(MATCH + 'match = { as = "text", after = "Answer:" }\n') == "[]"
