"""The documents say what the code does."""

import re
import tomllib
from pathlib import Path

import pytest

from gridc.compiler.frontend.foreign_words import key_meant
from gridc.compiler.inputs.loaders.parsing import LOADERS
from gridc.compiler.instrument.render import VARIABLES, WRAPPER_VARIABLES
from gridc.diagnostics import errors
from gridc.reports.exchange.tables import COLUMNS
from gridc.reports.scorecard.methodology import LINES
from gridc.schema import jsonschema
from gridc.schema.effects import Effects
from gridc.schema.jsonschema import reference
from gridc.schema.spec import Benchmark
from gridc.study import OpenStudy
from tests.adversary.test_adversary import CATALOGUE
from tests.adversary.test_every_column import COLUMNS as STORED
from tests.adversary.test_every_column import NOBODY_KNOWS, OF_BUNDLES, TAKES_ITEMS
from tests.conftest import Golden

DOCS = Path(__file__).resolve().parents[1] / "docs"
BENCHMARKS = (DOCS / "benchmarks.md").read_text("utf-8")
THREATS = (DOCS / "threat-model.md").read_text("utf-8")
LANGUAGE = (DOCS / "language.md").read_text("utf-8")


def test_every_loader_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)` (?:\|[^|\n]+){4}\|$", BENCHMARKS, re.MULTILINE)
    assert sorted(rows) == sorted(LOADERS)


TESTED = (
    "Who may lie",
    "What leaves the machine, to whom, under whose consent",
    "What was verified is what is shown",
)
"""The parts of the threat model of which each row names its test."""


def rows_with_tests() -> list[tuple[str, str]]:
    """(first cell, last cell) of each row of these parts."""
    parts = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", THREATS, re.MULTILINE))
    tables = [
        table
        for part in TESTED
        for table in re.findall(r"^\|(.+)\|\n\|[-|]+\|\n((?:\|.+\|\n)+)", parts[part], re.MULTILINE)
    ]
    assert all(head.split("|")[-1].strip() == "test" for head, _ in tables)
    rows = [re.split(r"(?<!\\) ?\| ?", row)[1:-1] for _, body in tables for row in body.splitlines()]
    return [(cells[0], cells[-1]) for cells in rows]


@pytest.mark.parametrize(("promise", "tests"), rows_with_tests(), ids=[row[0] for row in rows_with_tests()])
def test_each_row_of_the_threat_model_names_tests_that_there_are(promise: str, tests: str) -> None:
    named = re.findall(r"`([^`]+)`", tests)
    assert named or re.search(r"\b(by hand|not tested)\b", tests), promise
    for name in named:
        path, _, function = name.partition("::")
        if "/" not in path:
            assert name in {attack.id for attack in CATALOGUE}, name
        else:
            text = (DOCS.parent / path).read_text("utf-8")
            assert not function or f"def {function}(" in text, name


def test_the_threat_model_counts_the_columns_that_pass() -> None:
    assert f"but for {len(NOBODY_KNOWS)} columns" in THREATS
    assert f"Of a bundle {len(TAKES_ITEMS) + len(STORED) - len(OF_BUNDLES)} more pass" in THREATS


MARK = "<!-- The columns below"


def test_the_columns_are_those_of_the_tables(golden: Golden) -> None:
    path = DOCS / "python.md"
    said = path.read_text("utf-8")
    head = said[: said.index(MARK)] + said[said.index(MARK) :].split("\n", 1)[0] + "\n"
    tables = []
    for name, columns in COLUMNS.items():
        names = ", ".join(f"`{column.name}`" for column in columns)
        tables.append(f"- `{name}()`: {names}\n")
    golden.check(path, head + "\n" + "".join(tables))


def test_every_call_of_the_api_is_documented() -> None:
    said = (DOCS / "python.md").read_text("utf-8")
    calls = [name for name in vars(OpenStudy) if not name.startswith("_")]
    assert [name for name in calls if f"{name}(" not in said and f"`{name}`" not in said] == []
    for name in re.findall(r"^\| `(\w+)\(", said, re.MULTILINE):
        assert name in calls, name


def test_the_hierarchy_of_errors_is_the_real_one() -> None:
    for text in ((DOCS / "python.md").read_text("utf-8"), errors.__doc__ or ""):
        drawn = re.findall(r"^ *(│   )?[├└]── (\w+) *(?:\((\d+)\))?", text, re.MULTILINE)
        assert {name for _, name, _ in drawn} == {
            name
            for name, kind in vars(errors).items()
            if isinstance(kind, type)
            and issubclass(kind, errors.GridcError)
            and kind is not errors.GridcError
        }
        for inner, name, code in drawn:
            kind = getattr(errors, name)
            assert kind.__base__ is (errors.IncompleteError if inner else errors.GridcError)
            assert not code or kind.exit_code == int(code)


def test_the_reference_is_the_one_of_the_schema(golden: Golden) -> None:
    golden.check(DOCS / "reference.md", reference("gridcard"))


@pytest.mark.parametrize("name", jsonschema.NAMES)
def test_the_reference_has_every_table_and_every_key(name: str) -> None:
    schema, said = jsonschema.load(name), reference(name)
    for title, table in (("top", schema), *schema["$defs"].items()):
        for key in table.get("properties", {}):
            assert f"`{key}`" in said, (title, key)
    headings = re.findall(r"^## (.+)$", said, re.MULTILINE)
    tops = 2 if name == "gridcard" else 1  # the language's own, and an extension's
    assert len(headings) == len(set(headings)) == len(schema["$defs"]) + tops
    anchors = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", said)) <= anchors


def test_every_line_of_the_scorecard_is_explained() -> None:
    text = (DOCS / "scorecard.md").read_text("utf-8")
    assert [f"`{line.id}`: {line.question}" for line in LINES] == re.findall(
        r"^\| (`\w+`: [^|]+?) \|", text, re.M
    )


def test_every_variable_of_a_template_is_explained() -> None:
    table = LANGUAGE[LANGUAGE.index("## What a template may use") : LANGUAGE.index("## How a part")]
    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert rows == [*VARIABLES, *WRAPPER_VARIABLES]


PLAIN = """
    after all_of anchor at_least at_most backup benchmark benchmarks blinding bootstrap
    characters choice compares confidence control counts criterion dose draw estimator examples
    extra fails filters finish gives gold_after guess_share header hypotheses ignore independent
    index items items_of judge labels levels loading margin match nnh number others outcome_of
    over panel passes permutations pool predicted premise primary refusal_phrases regexes
    responses rows sample scale score scorer share stop system tiers tokens tools units
    validation values variant variants vars where within without_terms yes_when
"""
"""Keys that mean none, all, or the plainest where they are left out, as `gridc explain` says of each."""


def test_every_default_says_where_it_comes_from() -> None:
    table = LANGUAGE[LANGUAGE.index("## Where each default") : LANGUAGE.index("## Upgrading")]
    explained = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)))
    )
    stated = set()
    schema = jsonschema.load()
    for each in (schema, *schema["$defs"].values()):
        for key, field in each.get("properties", {}).items():
            if "Default: " in field.get("description", "") or field.get("default") not in (None, [], {}):
                stated.add(key)
    assert explained - stated == set()
    assert sorted(stated - explained) == PLAIN.split()


def test_the_keys_of_a_first_study_are_those_of_its_example() -> None:
    """And where another package's word for one is answered, it is by that key."""
    page = (DOCS / "keys.md").read_text("utf-8")
    spec = tomllib.loads(page.partition("```toml\n")[2].partition("```")[0])
    (sums,) = spec["benchmark"]
    sums["loading.fields"] = sums.pop("loading")["fields"]
    tables = [spec["study"], spec["harness"], spec["sampling"], *spec["model"], sums, *spec["axis"]]
    stated = {key for table in [*tables, *spec["axis"][0]["level"]] for key in table} - {"level"}
    rows = re.findall(r"^\| `([\w.]+)`[^|]* \|[^|]+\|(.+)\|$", page, re.MULTILINE)
    assert {key for key, _ in rows} == stated
    assert len(rows) == 25
    answered = 0
    for key, elsewhere in rows:
        for word in re.findall(r"`([\w-]+)(?:\(\))?`", elsewhere):
            name = word.replace("-", "_")
            if name in Effects.model_fields or key == "id":
                continue
            value: object = {"match": "x", "higher_is_better": True}.get(name, 2)
            helps = {
                key_meant((table, 0), name, stated_value, {}, keys)
                for table, keys in (("harness", Effects.model_fields), ("benchmark", Benchmark.model_fields))
                for stated_value in (value, "a.csv", "exact", "Q: {{ question }}", "a/b")
            }
            said = [help for help in helps if help and help.startswith("write `")]
            answered += bool(said)
            assert not said or any(key.partition(".")[0] in help for help in said), (key, word, said)
    assert answered >= 12
