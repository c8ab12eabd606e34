"""Each kind of addition is made once, as docs/additions.md says, in a copy.

Complete it passes, and with any one file left out a test fails."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import superiority
from tests.replaced import replaced

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = "gridc/schema/gridcard.v1.schema.json"
CERTIFICATE = "gridc/schema/certificate.v3.schema.json"
DONE = "tests/golden/stamps/instrument.json"
TABLE = (ROOT / "docs" / "additions.md").read_text("utf-8")

Edit = tuple[str, str]
"""A text of a file, standing there once, and what replaces it; ("", text) makes a new file."""


@dataclass(frozen=True)
class Addition:
    """The edits of an addition by file, and the tests that tie them together. `behaves` is a test of what it
    does, and `mistakes` are edits of a complete one that make it wrong."""

    edits: dict[str, tuple[Edit, ...]]
    tests: tuple[str, ...]
    generated: bool = True
    behaves: str = ""
    mistakes: Mapping[str, tuple[str, Edit]] = field(default_factory=dict)


def after(line: str, more: str) -> Edit:
    return line, line + more


REGISTRIES, LISTED = "tests/test_registries.py", "docs/registries.md"
REGISTRY, EFFECTS = "tests/compiler/test_registry.py", "tests/compiler/test_effects.py"
PUBLISHED, TRACED = "tests/schema/test_jsonschema.py", "tests/instrument/test_versions.py"
BEHAVES = "tests/test_added.py"
BOXED = r'''


@reader("boxed", 1, AnswerForm("\\boxed{{{}}}", labels_alone=True, behind_text=False))
def boxed(response: str, options: Sequence[str], labels: Sequence[str]) -> Extraction:
    """The last `\boxed{X}`, X being one of the item's labels."""
    boxes = list(_BOX.finditer(response))
    if not boxes:
        return Extraction(None, "no box" if response.strip() else "empty")
    known, last = [label.upper() for label in labels], boxes[-1]
    if last[1].upper() not in known:
        return Extraction(None, "not one of the answers")
    return Extraction(known.index(last[1].upper()), "box", "stated", *last.span(1))


_BOX = re.compile(r"\\boxed\{\s{0,4}(\w{1,4})\s{0,4}\}")'''

NEWS = '''"""News."""

from gridc.compiler.inputs.loaders.parsing import LOADERS, File, items, json_lines
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Loading


@LOADERS.add("news")
def load(file: File, loading: Loading) -> list[Item]:
    """The items in file order."""
    return items(
        json_lines(file), lambda number, row: Item(f"n{number}", row["ask"], tuple(row["list"]), row["key"])
    )
'''
WEEKDAYS = '''"""On which days of the week a study was asked."""

from gridc.reports.findings.run_record import Finding, RunRecord


def weekdays(record: RunRecord) -> tuple[str, ...]:
    """The days, each once."""
    return ()


WEEKDAYS: Finding[tuple[str, ...]] = Finding("weekdays", weekdays, ())
'''
SAID = '''"""What is said of the days of the week."""

from collections.abc import Iterator

from gridc.reports.findings.findings import Findings
from gridc.reports.findings.weekdays import WEEKDAYS
from gridc.reports.statements.statement import Statement, of_study


@of_study("weekdays", "limits", 195)
def weekdays(findings: Findings) -> Iterator[Statement]:
    """On which days of the week the study was asked."""
    for day in findings[WEEKDAYS]:
        yield Statement(f"The study was asked on a {day}.", "limit")
'''
ALONE = '''"""What is said of the first day."""

from collections.abc import Iterator

from gridc.reports.findings.findings import Findings
from gridc.reports.statements.statement import Statement, of_study


@of_study("weekdays", "limits", 195)
def weekdays(findings: Findings) -> Iterator[Statement]:
    """When the study was first asked."""
    if findings.first_call:
        yield Statement(f"The study was asked from {findings.first_call} on.", "limit")
'''

ADDITIONS = {
    "a loader": Addition(
        {
            "gridc/schema/items.py": (after('    "mmlu": LoaderKind(),\n', '    "news": LoaderKind(),\n'),),
            "gridc/adapters/benchmarks/news.py": (("", NEWS),),
            "tests/compiler/test_gold.py": (
                ('FORMATS = (\n',
                 'FORMATS = (\n    Format(\n        "news", "news.jsonl", jsonl,\n'
                 '        lambda n, drawn: {\n'
                 '            "ask": drawn.question, "list": list(drawn.options), "key": drawn.right,\n'
                 "        },\n    ),\n"),
            ),
            "docs/benchmarks.md": (("| `mmlu` | CSV", "| `news` | a | b | c | d |\n| `mmlu` | CSV"),),
        },
        (REGISTRIES, REGISTRY, "tests/compiler/test_gold.py", "tests/test_docs.py", PUBLISHED),
        mistakes={
            "the first option is always right": (
                "gridc/adapters/benchmarks/news.py", ('row["key"])', "0)"),
            ),
            "the options stand the other way round": (
                "gridc/adapters/benchmarks/news.py", ('tuple(row["list"])', 'tuple(row["list"][::-1])'),
            ),
            "it is not registered": (
                "gridc/adapters/benchmarks/news.py", ('@LOADERS.add("news")\n', ""),
            ),
        },
    ),
    "a finding": Addition(
        {
            "gridc/reports/findings/weekdays.py": (("", WEEKDAYS),),
            "gridc/reports/statements/weekdays.py": (("", SAID),),
            "tests/reports/test_statements.py": (
                ("CORNERS: Mapping[str, tuple[World, Mapping[str, World]]] = {\n",
                 "from gridc.reports.findings.weekdays import WEEKDAYS  # noqa: E402\n\n"
                 "CORNERS: Mapping[str, tuple[World, Mapping[str, World]]] = {\n"
                 '    "weekdays": (\n        lambda: having(pair(), WEEKDAYS, ("Monday",)),\n'
                 '        {"nothing was asked": pair},\n    ),\n'),
            ),
        },
        (REGISTRIES, "tests/reports/test_statements.py"),
        generated=False,
        mistakes={
            "its name is taken": (
                "gridc/reports/findings/weekdays.py", ('Finding("weekdays"', 'Finding("doses"'),
            ),
        },
    ),
    "a sentence": Addition(
        {
            "gridc/reports/statements/weekdays.py": (("", ALONE),),
            "tests/reports/test_statements.py": (
                ('CORNERS: Mapping[str, tuple[World, Mapping[str, World]]] = {\n',
                 'CORNERS: Mapping[str, tuple[World, Mapping[str, World]]] = {\n    "weekdays": (\n'
                 '        lambda: replace(pair(), first_call="2026-01-05"),\n'
                 '        {"nothing was asked": lambda: replace(pair(), first_call=None)},\n    ),\n'),
            ),
        },
        (REGISTRIES, "tests/reports/test_statements.py"),
        generated=False,
        mistakes={
            "it is said in a corner": (
                "gridc/reports/statements/weekdays.py", ("    if findings.first_call:", "    if findings:"),
            ),
            "it is not registered": (
                "gridc/reports/statements/weekdays.py", ('@of_study("weekdays", "limits", 195)\n', ""),
            ),
        },
    ),
    "an engine": Addition(
        {
            "gridc/schema/models.py": (
                after("Mapping[str, EngineKind] = {\n", '    "echo": EngineKind("an echo"),\n'),
            ),
            "gridc/runtime/engines/__init__.py": (
                ('@OPENERS.add("api")\n',
                 '@OPENERS.add("echo")\ndef open_echo(\n'
                 "    name: str, identity: ModelIdentity, precision: str, settings: EngineSettings,\n"
                 "    waived: frozenset[str],\n) -> Engine:\n"
                 '    """An echo."""\n    from gridc.runtime.engines.echo import opened\n\n'
                 '    return opened(name)\n\n\n@OPENERS.add("api")\n'),
            ),
            "gridc/runtime/engines/echo.py": (
                ("", "def opened(name: str) -> None:\n    raise NotImplementedError\n"),
            ),
        },
        (REGISTRIES, REGISTRY, PUBLISHED),
        behaves="""\
import pytest

from gridc.runtime.engines import opener


def test_it_is_opened() -> None:
    model = {"id": "m", "engine": "echo"}
    with pytest.raises(NotImplementedError):
        opener(model["engine"])("m", None, "", None, frozenset())
""",
    ),
    "an effect key": Addition(
        {
            "gridc/schema/effects.py": (
                ("    scaffold: Annotated[\n        Scaffold | None,",
                 "    min_p: Annotated[\n"
                 '        float | None, Field(ge=0, le=1, description="Least share.")\n'
                 "    ] = None\n    scaffold: Annotated[\n        Scaffold | None,"),
            ),
            "gridc/compiler/instrument/setting.py": (
                after("    scaffold: Scaffold | None = None\n", "    min_p: float = 0.0\n"),
                after('    "scaffold": KeyEffect("prompt", _direct),\n',
                      '    "min_p": KeyEffect("request", lambda setting: setting.temperature == 0),\n'),
            ),
            "gridc/compiler/lowering/requests.py": (
                ('{**greedy, "top_p"', '{**greedy, "min_p": setting.min_p, "top_p"'),
            ),
        },
        (EFFECTS, PUBLISHED),
    ),
    "a scoring method": Addition(
        {
            "gridc/schema/effects.py": (
                after('    "refusal_keywords",\n', '    "pledge",\n'),
                ("phrases of refusal; judge:", "phrases of refusal; pledge: a pledge; judge:"),
            ),
            "gridc/compiler/instrument/methods.py": (
                ('Literal["option", ', 'Literal["option", "pledge", '),
                after('    "refusal_keywords": ScoringMethod(reads="behaviour"),\n',
                      '    "pledge": ScoringMethod(reads="pledge"),\n'),
                ('            case "behaviour":\n', '            case "behaviour" | "pledge":\n'),
                after('    "method:refusal_keywords": 3,\n', '    "method:pledge": 1,\n'),
            ),
            "gridc/compiler/instrument/score.py": (
                after('    "behaviour": _read_behaviour,\n', '    "pledge": _read_behaviour,\n'),
            ),
            DONE: (),
        },
        (EFFECTS, TRACED, PUBLISHED),
        mistakes={
            "nobody says what it can be read to": (
                "gridc/compiler/instrument/methods.py", ('"behaviour" | "pledge"', '"behaviour"'),
            ),
        },
    ),
    "a reader of `extract`": Addition(
        {
            "gridc/schema/effects.py": (
                ('"answer_line"]', '"answer_line", "boxed"]'),
                ("answer_line, the last line `ANSWER: X`.", "answer_line, the last line `ANSWER: X`; boxed."),
            ),
            "gridc/compiler/instrument/readers.py": (
                ("\n\ndef _unwrapped(", BOXED + "\n\n\ndef _unwrapped("),
            ),
            DONE: (),
            "docs/measurands.md": (("`answer_line` | how", "`answer_line`, `boxed` | how"),),
        },
        (REGISTRIES, REGISTRY, "tests/compiler/test_oracles.py", "tests/compiler/test_measurands.py", TRACED,
         PUBLISHED),
        mistakes={
            "nobody says how it wants its answer": (
                "gridc/compiler/instrument/readers.py", ("boxed{{{}}}", "boxed {}"),
            ),
            "it reads nothing": ("gridc/compiler/instrument/readers.py", (", boxes[-1]", ", boxes[9:]")),
        },
    ),
    "a scaffold kind": Addition(
        {
            DONE: (),
            "gridc/schema/effects.py": (after('    "cot": (),\n', '    "echo": (),\n'),),
            "gridc/compiler/instrument/scaffolds/procedures.py": (
                ('@scaffold("cot"',
                 '@scaffold("echo", 1)\ndef echo(scaffold: Scaffold, task: Task) -> Steps:\n'
                 '    """One call."""\n    yield (Turn("echo", task.opening()),)\n    return "echo"\n\n\n'
                 '@scaffold("cot"'),
            ),
            "docs/scaffolds.md": (("| `cot` | 1", "| `echo` | 1 | a |\n| `cot` | 1"),),
        },
        (REGISTRIES, REGISTRY, TRACED, PUBLISHED),
    ),
    "a hypothesis kind": Addition(
        {
            "gridc/schema/inference.py": (
                after('Literal["difference", ', '"superiority", '),
                ('description="difference: the outcome moves;',
                 'description="superiority: it moves beyond the margin; difference: the outcome moves;'),
            ),
            "gridc/compiler/hypotheses/superiority.py": (("", superiority.COMPILED),),
            "tests/reports/test_rules.py": (after("EXPECTED = [\n", superiority.RULES),),
            "docs/statistics.md": (
                ("| noninferiority | it is", "| superiority | it is | it is not |\n| noninferiority | it is"),
            ),
        },
        ("tests/test_kinds.py", "tests/reports/test_rules.py", REGISTRY, PUBLISHED),
        behaves=superiority.BEHAVES,
        mistakes=superiority.MISTAKES,
    ),
    "a form of export": Addition(
        {
            "gridc/reports/exchange/__init__.py": (
                after("EXPORTS: Mapping[str, Export] = {\n",
                      '    "echo": Export("Echo.", ".echo", "{}", "adapters.exports.echo"),\n'),
            ),
            "gridc/adapters/exports/echo.py": (
                ("", '"""Echo."""\n\nfrom pathlib import Path\n\n\n'
                     "def export(compiled: object, lock: object, results: Path, target: Path) -> Path:\n"
                     "    return target\n"),
            ),
            "docs/sharing.md": (
                ("| `.eval_results` of", "| Echo | `gridc export echo` | a | b |\n| `.eval_results` of"),
            ),
        },
        (REGISTRIES, REGISTRY),
        generated=False,
        behaves="""\
from pathlib import Path

from gridc.reports.exchange import EXPORTS


def test_it_is_written() -> None:
    arguments = ("export", "echo")
    assert EXPORTS[arguments[1]].write(None, None, Path("a"), Path("b")) == Path("b")
""",
    ),
    "a statistic of a pair": Addition(
        {
            "gridc/statistics/envelope.py": (
                ("    @property\n    def ceiling(self) -> Fraction:\n",
                 "    @property\n    def larger_side(self) -> int:\n"
                 "        return max(self.plus, self.minus)\n\n"
                 "    @property\n    def ceiling(self) -> Fraction:\n"),
            ),
            "gridc/schema/certificate.py": (
                ("    d1: Annotated[\n        bool | None, Field(description=\"No strict reversal;",
                 '    larger_side: Annotated[int, Field(description="The larger of N+ and N-.")]\n'
                 "    d1: Annotated[\n        bool | None, Field(description=\"No strict reversal;"),
            ),
            CERTIFICATE: (),
            "gridc/templates/reports/page/pair_macros.html.jinja": (
                ("{{ pair.ceiling | number }}", "{{ pair.ceiling | number }} {{ pair.larger_side }}"),
            ),
        },
        (REGISTRY, "tests/reports/test_certificate.py", PUBLISHED),
        generated=False,
    ),
    "a hazard": Addition(
        {
            "gridc/compiler/preflight/codes.toml": (
                ("[GC521]\n", '[GC599]\ntitle = "an echo"\nexplanation = "It echoes."\n\n[GC521]\n'),
            ),
            "gridc/compiler/preflight/hazards.py": (
                ("SETTING_CHECKS = (\n",
                 "def echoes(setting: Setting, template: str) -> Found:\n"
                 '    if setting.prompt == "builtin:T3":\n'
                 '        yield "GC599", "prompt", "it echoes", "do not"\n\n\n'
                 "SETTING_CHECKS = (\n    echoes,\n"),
            ),
            "tests/golden/diagnostics/GC5-hazards.txt": (
                ("=== GC501-no-options\n",
                 '=== GC599-echo\n@@@ gridcard.toml\n id = "T4"\n tier = "stress"\n'
                 '-prompt = "builtin:T4"\n+prompt = "builtin:T3"\n>>>\nANSWER\n\n=== GC501-no-options\n'),
            ),
        },
        ("tests/golden/test_golden.py",),
        generated=False,
    ),
}  # fmt: skip


STRANGERS = ("a finding", "a loader", "a sentence")
"""What people add who do not know gridc: four files are enough, beside those that are generated."""


@pytest.mark.parametrize("kind", ADDITIONS)
def test_its_files_are_those_of_contributing(kind: str) -> None:
    row = re.search(rf"^\| {kind} \|(.*)$", TABLE, re.MULTILINE)
    assert row, f"docs/additions.md has no row for {kind}"
    listed = set(re.findall(r"`([\w./-]+)`", row[1].split("|")[0]))
    listed |= {DONE} if "its version" in row[1] else set()
    made = {file for file in ADDITIONS[kind].edits if not (ROOT / file).exists()}
    for file in ADDITIONS[kind].edits.keys() - made:
        text = (ROOT / file).read_text("utf-8")
        for old, new in ADDITIONS[kind].edits[file]:
            assert replaced(text, (old, new)) != text
    for file in ADDITIONS[kind].edits.keys() - made:
        assert file in listed or file.startswith("docs/"), f"{file} is not listed"
    code = {file for file in ADDITIONS[kind].edits if not file.startswith(("docs/", "tests/"))}
    assert len(code | ({SCHEMA} if ADDITIONS[kind].generated else set())) <= 4
    if kind in STRANGERS:
        assert len(ADDITIONS[kind].edits) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ADDITIONS)
def test_complete_it_passes_and_with_a_file_left_out_a_test_fails(kind: str, tmp_path: Path) -> None:
    addition = ADDITIONS[kind]
    parts = [*addition.edits, *([SCHEMA] if addition.generated else [])]
    parts += [LISTED] if REGISTRIES in addition.tests else []
    if len(addition.edits) == 1:
        parts.remove(*addition.edits)  # without its only row nothing is added
    complete = copy(tmp_path / "complete", addition, None)
    done = checked(complete, addition)
    assert done.returncode == 0, done.stdout[-3000:]
    for mistake, (file, edit) in addition.mistakes.items():
        path = complete / file
        whole = path.read_text("utf-8")
        path.write_text(replaced(whole, edit), "utf-8")
        assert checked(complete, addition).returncode != 0, f"nothing fails where {mistake}"
        path.write_text(whole, "utf-8")
    for number, part in enumerate(parts):
        lacking = copy(tmp_path / f"lacking-{number}", addition, part)
        assert checked(lacking, addition).returncode != 0, f"nothing fails without {part}"


def copy(folder: Path, addition: Addition, without: str | None) -> Path:
    """The repository with an addition, less one of its files."""
    ignored = shutil.ignore_patterns(".git", ".venv*", "results", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, folder, ignore=ignored)
    for file, edits in addition.edits.items():
        path = folder / file
        for old, new in edits if file != without else ():
            path.write_text(replaced(path.read_text("utf-8"), (old, new)) if old else new, "utf-8")
    if addition.behaves:
        (folder / BEHAVES).write_text(addition.behaves, "utf-8")
    if addition.generated and without != SCHEMA:
        for name in ("gridcard", "extension"):
            run(folder / "gridc" / "schema", folder, "-m", "gridc", "schema", name, "--write")
        reference = run(folder, folder, "-m", "gridc", "schema", "gridcard", "--markdown")
        (folder / "docs" / "reference.md").write_text(reference.stdout, "utf-8")
    if CERTIFICATE in addition.edits and without != CERTIFICATE:
        run(folder / "gridc" / "schema", folder, "-m", "gridc", "schema", "certificate", "--write")
    if REGISTRIES in addition.tests and without != LISTED:
        run(folder, folder, "-m", "pytest", "-q", REGISTRIES, "--update-golden")
    if DONE in addition.edits and without != DONE:
        run(folder, folder, "-m", "pytest", "-q", TRACED, "--update-golden")
    if "GC599" in repr(addition) and without is None:
        run(folder, folder, "-m", "pytest", "-q", "tests/golden", "-k", "GC599", "--update-golden")
    return folder


def checked(folder: Path, addition: Addition) -> "subprocess.CompletedProcess[str]":
    tests = (*addition.tests, *([BEHAVES] if addition.behaves else []))
    return run(folder, folder, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests)


def run(where: Path, root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(root), "GRIDC_CACHE": ""}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
