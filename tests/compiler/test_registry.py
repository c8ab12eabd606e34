"""One row per kind: whatever the language names has its row, and each row does what it says.

Each test goes red when an entry is left out. docs/additions.md says which files an addition takes.
"""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner
from pydantic import TypeAdapter

import gridc
from gridc.cli.export import export
from gridc.compiler.compile import compile_spec
from gridc.compiler.hypotheses import KINDS
from gridc.compiler.hypotheses.tested import DECIDES_NOTHING, MODELS
from gridc.compiler.inputs.loaders.parsing import LOADERS
from gridc.compiler.inputs.rates import COUNTED
from gridc.compiler.instrument.readers import FORMS, READERS
from gridc.compiler.instrument.scaffolds import PROCEDURES
from gridc.compiler.preflight import task_files
from gridc.diagnostics.errors import UsageError
from gridc.reports.exchange import EXPORTS, TRACKERS
from gridc.reports.findings.hypotheses import DECISIONS
from gridc.reports.findings.hypotheses.regression import ESTIMATORS
from gridc.reports.findings.rates import NAMED, mean_called
from gridc.runtime.engines import OPENERS
from gridc.schema.base import Id
from gridc.schema.certificate import PairRow
from gridc.schema.effects import TAKES, ReaderName
from gridc.schema.hypotheses import EffectRow
from gridc.schema.inference import RATES, Analysis, AnyHypothesis
from gridc.schema.items import LOADER_KINDS
from gridc.schema.models import ENGINES
from gridc.study.exports import TABLES

CLASSES = {
    kind: cls
    for cls in get_args(get_args(AnyHypothesis)[0])
    for kind in get_args(cls.model_fields["kind"].annotation)
}
ID_PATTERN = TypeAdapter(Id).json_schema()["pattern"]


def test_every_hypothesis_kind_has_a_row_and_a_decision() -> None:
    assert CLASSES.keys() == KINDS.keys()
    assert KINDS.keys() == DECISIONS.keys()


def id_fields(cls: Any) -> set[str]:
    """The keys of a table whose values are ids, by its JSON Schema."""
    properties = cls.model_json_schema()["properties"]
    return {key for key, stated in properties.items() if json.dumps(ID_PATTERN) in json.dumps(stated)}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_id_of_a_hypothesis_is_looked_up(kind: str, small: Path) -> None:
    """A key that holds ids of other tables and that no row reads would let any word pass."""
    spec = compile_spec(small).spec
    keys = id_fields(CLASSES[kind]) - {"id", "family"}
    right = {"axis": "template"} if "axis" in keys else {}
    needed = {"direction": "increasing"} if kind == "trend" else {}
    wrong = {key: ["x", "y", "z"] if key == "order" else "nowhere" for key in keys}
    for stated in (wrong | right, wrong):
        hypothesis = CLASSES[kind].model_validate({"id": "h", "kind": kind, **needed, **stated})
        unknown = {
            each.key[0] for each in KINDS[kind].references(hypothesis, spec) if each.name not in each.known
        }
        keys -= unknown
    assert not keys


def test_every_loader_has_what_it_takes_and_how_it_reads() -> None:
    tasks = {name for name, kind in LOADER_KINDS.items() if kind.task}
    assert LOADER_KINDS.keys() - tasks == LOADERS.keys()
    assert tasks == task_files.LOADERS.keys()


def test_every_engine_is_opened() -> None:
    assert ENGINES.keys() == OPENERS.keys()


def test_every_scaffold_has_a_procedure() -> None:
    assert set(TAKES) == set(PROCEDURES)


def test_every_estimator_has_its_fit_and_its_power_or_why_it_decides_nothing() -> None:
    declared = get_args(Analysis.model_fields["estimator"].annotation)
    assert declared == get_args(EffectRow.model_fields["estimator"].annotation)
    assert list(declared) == list(ESTIMATORS)
    assert sorted(declared) == sorted([*DECIDES_NOTHING, *MODELS])


def test_every_outcome_says_what_it_counts() -> None:
    assert RATES.keys() == COUNTED.keys() | {"score", "parse_rate"}
    for name, kind in RATES.items():
        counted = {rate.name for rate in NAMED} & {kind.counted_as or name}
        assert bool(counted) is (name in COUNTED)
        assert name not in COUNTED or kind.mean is (mean_called(name, ()) is not None)
        assert kind.counted_as is None or kind.better == RATES[kind.counted_as].better


def test_every_reader_has_the_form_of_its_answers() -> None:
    assert READERS.keys() == FORMS.keys() == {*get_args(ReaderName)}


def test_every_form_of_export_is_a_command_with_its_help(small: Path) -> None:
    assert list(export.commands) == [*EXPORTS, *TRACKERS, *TABLES]
    helps = [(name, form.help) for name, form in EXPORTS.items()]
    helps += [(name, tracker.help) for name, tracker in TRACKERS.items()]
    for name, help in helps:
        assert help in CliRunner().invoke(export, [name, "--help"]).output.replace("\n ", "")
    for form in EXPORTS.values():
        assert form.suffix and form.suffix not in {each.suffix for each in EXPORTS.values() if each != form}
    with pytest.raises(UsageError, match="no form of export is called `bundel`"):
        gridc.open(small).export("bundel")


@pytest.mark.parametrize(
    "shelf",
    (
        "adapters/benchmarks",
        "adapters/exports",
        "compiler/inputs/loaders",
        "compiler/frontend/checks",
        "compiler/preflight",
        "reports/exchange",
        "runtime/engines",
        "statistics",
    ),
)
def test_every_module_of_a_shelf_is_used(shelf: str) -> None:
    """A module that registers nothing does nothing where no row, no other module and no plug-in of the docs
    names it."""
    root = Path(gridc.__file__).parent
    sources = {path: path.read_text("utf-8") for path in root.rglob("*.py")}
    plugins = (root.parent / "docs" / "plugins.md").read_text("utf-8")
    modules = [form.module for form in EXPORTS.values()] + [row.module for row in TRACKERS.values()]
    exports = {root / f"{module.replace('.', '/')}.py" for module in modules}
    for path in (root / shelf).glob("[a-z]*.py"):
        others = "".join([plugins, *(text for other, text in sources.items() if other != path)])
        name = path.stem
        imported = rf"import [^\n]*\b{name}\b|\.{name} import|^    {name},$"
        used = re.search(imported, others, re.MULTILINE) or path in exports
        assert used or "LOADERS.add(" in sources[path], path


def test_every_number_of_a_pair_is_on_the_page_and_no_other() -> None:
    """`verdicts` and `disagreement` are read off N+, N- and N0, which are shown."""
    folder = Path(gridc.__file__).parent / "templates" / "reports" / "page"
    names = "pair_macros.html.jinja", "pairs.html.jinja"
    pages = "".join((folder / name).read_text("utf-8") for name in names)
    shown = set(re.findall(r"\bpair\.(\w+)", pages))
    assert shown <= PairRow.model_fields.keys()
    assert PairRow.model_fields.keys() - shown <= {"verdicts", "disagreement"}
