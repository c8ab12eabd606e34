"""Small edits of a spec's shape, names and meaning, and what each is answered with."""

from hashlib import sha256
from pathlib import Path

import pytest

from gridc.compiler.frontend.source import parse_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.instrument.setting import Setting
from gridc.diagnostics.errors import SpecError
from tests.compiler.edits import (
    CALM,
    EXCLUDED,
    FACTS,
    FILE,
    LEFT,
    TESTED,
    TITLE,
    Compile,
    Edits,
    assert_finding,
    findings,
    under_caret,
)

SLICE = '[[slice]]\nid = "calm"\ndeclared = "post_hoc"\nwhere = { template = "plain" }\n'
MODEL = '[[model]]\nid = "left"\nengine = "hf"\nsource = "path:models/left"\n'
NONE_OF_LEFT = '[[exclude]]\nwhen = { model = "left" }\nwhy = "no reason"\n'

GOLDEN: list[tuple[str, Edits, str, str, str]] = [
    # the shape
    ("unknown key like none", (("[sampling]", "[zzz]"),), "GC101", "zzz", "known here: `gridcard`"),
    ("text for a number", (("shots = 2", 'shots = "2"'),), "GC102", '"2"', "0; write it without quotes: 2"),
    ("a number for text", ((TITLE, "title = 2"),), "GC102", "2", 'report; write it between quotes: "2"'),
    ("a text for a list", (('["left", "right"]', '"left"'),), "GC102", '"left"', 'write a list: ["left"]'),
    (
        "a text for tables",
        (("gridcard = 1", 'gridcard = 1\nwaive = "x"'),),
        "GC102",
        '"x"',
        "[[waive]] with `code`, `why`",
    ),
    ("a whole number with a point", (("shots = 2", "shots = 2.0"),), "GC102", "2.0", ""),
    ("true for a number", (("temperature = 0.7", "temperature = true"),), "GC102", "true", "greedy"),
    ("a table for an array", (('order = ["left", "right"]', "order = {}"),), "GC102", "{}", "Models"),
    (
        "no study",
        (('[study]\nid = "small"\ntitle = "Two models on invented items"\npurpose = "comparative"\n', ""),),
        "GC103",
        "g",
        "",
    ),
    (
        "no seed inline",
        (("sample = { n = 4, seed = 1 }", "sample = { n = 4 }"),),
        "GC105",
        "{ n = 4 }",
        "",
    ),
    ("an order of no kind", (('"shuffled:1"', '"sideways"'),), "GC104", '"sideways"', "gold_at:LETTER"),
    ("a shuffle without a seed", (('"shuffled:1"', '"shuffled"'),), "GC104", '"shuffled"', "SEED"),
    (
        "a gold rule that the loader does not know",
        (('option_order = "shuffled:1"', 'option_order = "file"\nloading = { gold = "human" }'),),
        "GC105",
        "benchmark",
        "",
    ),
    ("bad loader", (('"truthfulqa_mc1"', '"truthfulqa"'),), "GC104", '"truthfulqa"', "`truthfulqa_mc1`"),
    ("out of range", (("temperature = 0.7", "temperature = -0.7"),), "GC104", "-0.7", "greedy"),
    ("a probability above one", (("at = 0.5", "at = 1.5"),), "GC104", "1.5", "passes"),
    ("an id with a slash", (('id = "small"', 'id = "sm/all"'),), "GC104", '"sm/all"', '"sm_all"'),
    ("an empty title", ((TITLE, 'title = ""'),), "GC104", '""', "One line"),
    ("a source without scheme", ((FACTS, '"facts.json"'),), "GC104", '"facts.json"', "data:FILE"),
    ("one model ranked", (('order = ["left", "right"]', 'order = ["left"]'),), "GC104", '["left"]', "Models"),
    # names
    ("the same model twice", (("[[benchmark]]", f"{MODEL}[[benchmark]]"),), "GC201", '"left"', ""),
    ("the same axis twice", (('id = "template"', 'id = "decoding"'),), "GC201", '"decoding"', ""),
    ("a model ranked twice", (('["left", "right"]', '["left", "left"]'),), "GC201", '"left"', ""),
    (
        "unknown level in a list",
        ((CALM, '{ template = ["plain", "fil"] }'),),
        "GC202",
        '"fil"',
        "did you mean `file`?",
    ),
    ("unknown benchmark", ((TESTED, '{ benchmark = "fact" }'),), "GC202", '"fact"', "did you mean `facts`?"),
    ("a model in a slice", ((CALM, '{ model = "left" }'),), "GC202", "model", "leave `model` out"),
    # the meaning
    (
        "an empty grid",
        (('when = { scoring = "rank", decoding = { not = "greedy" } }', "when = {}"),),
        "GC301",
        "benchmark",
        "",
    ),
    (
        "a grid emptied for one model",
        (("[sampling]", f"{NONE_OF_LEFT}[sampling]"),),
        "GC301",
        "model",
        "leave the model out",
    ),
    (
        "no prompt",
        (('prompt = "path:prompts/mine.jinja"\n', "shots = 1\n"), ("[harness]\nshots = 2\n", "")),
        "GC302",
        "benchmark",
        "`prompt`",
    ),
    (
        "no method",
        (('method = "extract"\n', 'candidates = "letter"\n'), (EXCLUDED, '{ decoding = "warm" }')),
        "GC302",
        "benchmark",
        "`method`",
    ),
    (
        "levels that greedy decoding makes equal",
        (("temperature = 0.7\nreplicates = 2", "temperature = 0.0\ntop_p = 0.9"),),
        "GC303",
        '"warm"',
        "remove one",
    ),
    (
        "sampled likelihoods",
        ((EXCLUDED, '{ scoring = "rank", decoding = "warm", template = "plain" }'),),
        "GC313",
        "replicates",
        "[[exclude]]",
    ),
    (
        "greedy replicates",
        (("temperature = 0.7\nreplicates = 2", "replicates = 2"),),
        "GC313",
        "replicates",
        "replicates",
    ),
]


@pytest.mark.parametrize(
    ("edits", "code", "caret", "help"), [each[1:] for each in GOLDEN], ids=[each[0] for each in GOLDEN]
)
def test_an_edit_is_answered_with_its_finding(
    compiled: Compile, small: Path, edits: Edits, code: str, caret: str, help: str
) -> None:
    assert_finding(findings(compiled, *edits, data=small.parent), code, caret, help)


def test_the_small_spec_itself_has_no_finding(compiled: Compile) -> None:
    assert compiled().spec.study.id == "small"


BAD = [
    pytest.param(
        (("shots = 2", 'shots = "2"\nsots = 3'), ("n = 4", "m = 4"), ('method = "extract"', 'method = "x"')),
        ["GC101", "GC102", "GC101", "GC104"],
        id="shape",
    ),
    pytest.param(
        (('id = "right"', 'id = "left"'), ('not = "greedy"', 'not = "x"'), (TESTED, '{ y = "z" }')),
        ["GC201", "GC202", "GC202", "GC202"],
        id="names",
    ),
    pytest.param(
        (
            (FILE, '"path:../x"'),
            ("{{ question }}\\nAnswer", "{{ questin }}\\nAnswer"),
            (FACTS, '"path:x.json"'),
            (LEFT, '"path:x"'),
        ),
        ["GC310", "GC308", "GC309", "GC309"],
        id="files",
    ),
    pytest.param(
        (
            ("temperature = 0.7\nreplicates = 2", "temperature = 0.0"),
            ('method = "extract"', 'method = "extract"\ntemperature = 0.3'),
        ),
        ["GC304", "GC303"],
        id="meaning",
    ),
]


@pytest.mark.parametrize(("edits", "codes"), BAD)
def test_all_findings_of_a_stage_are_reported_together(
    compiled: Compile, edits: Edits, codes: list[str]
) -> None:
    assert sorted(each.code for each in findings(compiled, *edits)) == sorted(codes)


@pytest.mark.parametrize("salt", range(8))
def test_what_coincides_is_named_in_the_order_of_the_grid_whatever_its_digests(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch, salt: int
) -> None:
    key = vars(Setting)["key"].fget
    monkeypatch.setattr(Setting, "key", property(lambda self: sha256(bytes([salt]) + key(self)).digest()))
    tokens = "".join(
        f'[[axis.level]]\nid = "{most}"\ntier = "core"\nmax_tokens = {most}\nprovenance = "ours"\n'
        for most in (16, 32, 64)
    )
    (only,) = findings(compiled, ("[[slice]]", f'[[axis]]\nid = "tokens"\n{tokens}\n[[slice]]'))
    assert only.message == "on `facts`, `tokens` changes nothing"
    assert only.help == '[[exclude]] when = { scoring = "rank", tokens = { not = "16" } } and a `why`'
    assert under_caret(only) == '"tokens"'


TURN = """[[axis]]
id = "turn"
level = [
  { id = "own", tier = "core", system_turn = "system", provenance = "ours" },
  { id = "ahead", tier = "core", system_turn = "user", provenance = "ours" },
]

[[slice]]"""
RIGHT = 'id = "right"\nengine = "hf"\n'
SECOND = """[[benchmark]]
id = "other"
loader = "truthfulqa_mc1"
source = "path:facts.json"
direction = "higher_is_better"
system = "Be brief."
option_order = "shuffled:1"
exemplars = { pool = "rest", seed = 1 }
sample = { n = 4, seed = 1 }

[harness]"""
BRIEF = "temperature = 0.7\n", 'temperature = 0.7\nsystem = "Be brief."\n'
CORE = 'tier = "core"\nprompt', 'tier = "core"\nsystem = "Be brief."\nprompt'


@pytest.mark.parametrize(
    ("edits", "conditions"),
    [
        ((("[[slice]]", TURN), BRIEF), 'decoding = "greedy", turn = { not = "own" }'),
        ((("[[slice]]", TURN), CORE), 'template = "file", turn = { not = "own" }'),
        ((("[[slice]]", TURN), (RIGHT, RIGHT + 'system = "Be brief."\n')),
         'model = "left", turn = { not = "own" }'),
        ((("[[slice]]", TURN), ("[harness]", SECOND)), 'benchmark = "facts", turn = { not = "own" }'),
    ],
)  # fmt: skip
def test_the_exclusion_that_the_help_writes_covers_an_idle_axis(
    compiled: Compile, edits: Edits, conditions: str
) -> None:
    (only,) = findings(compiled, *edits)
    when = f"when = {{ {conditions} }}"
    assert only.help == f"[[exclude]] {when} and a `why`"
    compiled(("[[slice]]", f'[[exclude]]\n{when}\nwhy = "it does nothing there"\n\n[[slice]]'))


def test_an_axis_that_never_does_anything_is_removed(compiled: Compile) -> None:
    (only,) = findings(compiled, ("[[slice]]", TURN))
    assert only.help == "remove the axis `turn`"


def test_shape_findings_stand_in_the_order_of_the_text(compiled: Compile) -> None:
    found = findings(
        compiled, ("shots = 2", "shots = true"), ('tier = "stress"', "tier = true"), ("n = 4", "n = 0")
    )
    lines = [each.span.line for each in found if each.span]
    assert lines == sorted(lines)


@pytest.mark.parametrize("old", ["n = 4", "seed = 1 }\noption"])
@pytest.mark.parametrize("value", ["9007199254740993", "0x" + "f" * 5000])
def test_a_number_that_no_stamp_can_hold_is_refused(compiled: Compile, old: str, value: str) -> None:
    key, _, rest = old.partition(" = ")
    found = findings(compiled, (old, f"{key} = {value}{rest[1:]}"))
    assert {each.code for each in found} == {"GC003"}


@pytest.mark.parametrize(
    ("line", "help"),
    [
        ("fields = { query = 'q' }", """it is a key of `loading`: loading = { fields = { query = "q" } }"""),
        ("claim = 'a'", "it is a key of [[hypothesis]]"),
        ("direktion = 1", "did you mean `direction`?"),
    ],
)
def test_a_key_in_the_wrong_table_is_told_where_it_belongs(line: str, help: str) -> None:
    source = parse_source(f"gridcard = 1\n[[benchmark]]\n{line}\n", Path("gridcard.toml"))
    with pytest.raises(SpecError) as caught:
        typed(source)
    assert help in [each.help for each in caught.value.diagnostics if each.code == "GC101"]


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("level = 'a'", "`difference`, `equivalence`, `noninferiority`, `null_control` or `statistic`"),
        ("direction = 'increasing'", "`trend`"),
    ],
)
def test_a_key_of_another_kind_is_told_which_kinds_take_it(line: str, kinds: str) -> None:
    stated = "id = 'H1'\nkind = 'interaction'\naxis = 'shots'\nby = 'model'"
    source = parse_source(f"gridcard = 1\n[[hypothesis]]\n{stated}\n{line}\n", Path("gridcard.toml"))
    with pytest.raises(SpecError) as caught:
        typed(source)
    (help,) = [each.help for each in caught.value.diagnostics if each.code == "GC101"]
    assert help == f"it is a key of kind {kinds}"
