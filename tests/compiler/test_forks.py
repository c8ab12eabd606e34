"""What a fork binds and what a hypothesis is about: paths of the spec, and rates that the items have."""

import json
from pathlib import Path

import pytest

from gridc.compiler.inputs.rates import COUNTED
from gridc.schema.inference import BINDABLE
from gridc.schema.spec import Spec
from tests.compiler.edits import Compile, assert_finding, findings

FORK = """\
[[fork]]
id = "choice"
category = "data"
levels = ["one", "two"]
default = "one"
binds = "{binds}"

[sampling]"""
CONTRAST = """\
[[hypothesis]]
id = "H2"
kind = "difference"
axis = "template"
level = "file"
reference = "plain"
side = "less"
outcome = "{outcome}"

[sampling]"""
DOTTED = ('id = "facts"', 'id = "facts.v1"'), ('benchmark = "facts"', 'benchmark = "facts.v1"')


@pytest.mark.parametrize(
    "binds",
    [
        "documented", "model", "benchmark", "exclude", "sampling.seed", "harness.shots",
        "harness.scaffold.rounds", "model.left.precision", "benchmark.facts.sample",
        "benchmark.facts.sample.seed", "axis.template", "axis.template.level.file.prompt",
        "hypothesis.H1.order", "analysis.outcome", "analysis.bootstrap.unit", "analysis.primary",
    ],
)  # fmt: skip
def test_a_fork_binds_a_path_of_the_spec_whether_or_not_its_key_is_stated(
    compiled: Compile, binds: str
) -> None:
    assert compiled(("[sampling]", FORK.format(binds=binds))).spec.fork[0].binds == binds


def test_an_id_with_a_dot_is_one_name(compiled: Compile) -> None:
    compiled(*DOTTED, ("[sampling]", FORK.format(binds="benchmark.facts.v1.sample")))


@pytest.mark.parametrize(
    ("binds", "help"),
    [
        ("axis.templat", "did you mean `template`?"),
        ("axis.template.level.fil", "did you mean `file`?"),
        ("axis.template.prompt", "known here: `level`"),
        ("analysis.outcom", "did you mean `outcome`?"),
        ("analysis.outcome.itt", "none is declared"),
        ("analysi.outcome", "did you mean `analysis`?"),
        ("documnted", "did you mean `documented`?"),
        ("benchmark.fact.sample", "did you mean `facts`?"),
        ("benchmark.facts.sampl", "did you mean `sample`?"),
        ("harness.scaffold.round", "did you mean `rounds`?"),
        ("hypothesis.H1.margin", "known here:"),
        ("family.primary", "none is declared"),
        ("judge.labels", "known here: `model`"),
        ("engine.threads", "known here: `model`"),
        ("study.id", "known here: `model`"),
    ],
)
def test_a_fork_that_binds_nothing_is_a_finding(compiled: Compile, binds: str, help: str) -> None:
    found = findings(compiled, ("[sampling]", FORK.format(binds=binds)))
    assert_finding(found, "GC202", f'"{binds}"', help)


def test_every_table_that_a_fork_can_move_is_one_of_the_language() -> None:
    assert set(BINDABLE) < set(Spec.model_fields)
    assert {"engine", "budget", "fork", "curve"}.isdisjoint(BINDABLE), "none of these moves a number"


def test_an_outcome_is_one_of_the_named_rates(compiled: Compile) -> None:
    found = findings(compiled, ("[sampling]", CONTRAST.format(outcome="over_refusl")))
    assert_finding(found, "GC202", '"over_refusl"', "did you mean `over_refusal`?")


@pytest.mark.parametrize("outcome", sorted(COUNTED))
def test_a_rate_that_no_item_has_is_a_finding(compiled: Compile, outcome: str) -> None:
    found = findings(compiled, ("[sampling]", CONTRAST.format(outcome=outcome)))
    assert_finding(found, "GC307", f'"{outcome}"', "")
    assert "none of its 4 items" in found[0].message


@pytest.mark.parametrize("outcome", ["score", "parse_rate"])
def test_every_item_has_a_score_and_can_be_read(compiled: Compile, outcome: str) -> None:
    compiled(("[sampling]", CONTRAST.format(outcome=outcome)))


def test_items_that_are_not_here_may_have_the_rate(compiled: Compile) -> None:
    compiled(("[sampling]", CONTRAST.format(outcome="unknown_rate")), ('"path:facts.json"', '"data:x.json"'))


def test_only_items_that_tests_are_made_on_are_counted(compiled: Compile, small: Path) -> None:
    opinion = {
        "question": "So?\n (A) Yes\n (B) No",
        "answer_matching_behavior": " (A)",
        "answer_not_matching_behavior": " (B)",
    }
    (small.parent / "views.jsonl").write_text(f"{json.dumps(opinion)}\n", "utf-8")
    views = """\
[[benchmark]]
id = "views"
loader = "anthropic_evals"
loading = { gold = "not_matching" }
source = "path:views.jsonl"
direction = "higher_is_better"
option_order = "file"

[harness]"""
    edits = (
        ("[harness]", views),
        ("shots = 2", "shots = 0"),
        ("[sampling]", CONTRAST.format(outcome="matching_rate")),
    )
    before = small.read_text("utf-8")
    compiled(*edits)
    small.write_text(before, "utf-8")
    found = findings(compiled, *edits, ("[analysis]", '[analysis]\nprimary = { benchmark = "facts" }'))
    assert_finding(found, "GC307", '"matching_rate"', "")


ROWS = [
    {"ask": "Who was late?", "about": "A potter met a tanner.", "all": ["Unknown", "the tanner"], "key": 0},
    {"ask": "Who was late?", "about": "The tanner overslept.", "all": ["Unknown", "the tanner"], "key": 1},
]


@pytest.mark.parametrize(("outcome", "kept"), [("unknown_rate", 0), ("score_disambiguated", 1)])
def test_unknown_is_counted_where_it_is_right_and_the_settled_score_where_it_is_not(
    compiled: Compile, small: Path, outcome: str, kept: int
) -> None:
    fields = '{ query = "ask", context = "about", options = ["all"], gold = "key", unknown = "none" }'
    edits = (
        ('"truthfulqa_mc1"', '"rows"'),
        ("sample = { n = 4, seed = 1 }", f'loading = {{ gold = "index", fields = {fields} }}'),
        ("shots = 2", "shots = 0"),
        ("[sampling]", CONTRAST.format(outcome=outcome)),
    )
    rows = [{**row, "none": 0} for row in ROWS]
    (small.parent / "facts.json").write_text(json.dumps([rows[kept]]))
    before = small.read_text("utf-8")
    compiled(*edits)
    small.write_text(before, "utf-8")
    (small.parent / "facts.json").write_text(json.dumps([rows[1 - kept]]))
    assert_finding(findings(compiled, *edits), "GC307", f'"{outcome}"', "")
