"""What the pages say is what happens: specs compile, programs run, commands print what is shown."""

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import entry_points
from itertools import dropwhile
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

import gridc
from gridc.cli import main
from gridc.compiler.frontend.plugins import GROUPS
from gridc.schema.deviation import DeviationLog
from tests.e2e.conftest import Done, command, make_study
from tests.e2e.pages.blocks import PAGES, ROOT, Block, commands, read
from tests.e2e.pages.parsing import PROGRAMS, check, options_of, options_of_programs
from tests.plugins import CODE, install

STUDIES = Path(__file__).parent / "studies"
BASE = ROOT / "tests" / "golden" / "diagnostics" / "base.toml"
READ = {page.name: page for page in map(read, PAGES)}
FEW_ITEMS = """
[[waive]]
code = "GC521"
why = "a test has few items"
[[waive]]
code = "GC522"
why = "a test has few items"
"""
MANY = [
    {"id": f"{n} {tag}", "q": f"{n} {tag}?", "a": "yes", "b": "no", "gold": n // 2 % 2, "condition": tag}
    for n in range(36)
    for tag in ("ambig", "disambig")
]
REASONS = {
    "a drawing",
    "a test of its own runs it",
    "another package's environment",
    "installs vLLM",
    "needs a cluster",
    "needs a network",
    "needs a person",
    "runs until it is stopped",
    "takes minutes",
}
"""Why a block is not run. A new reason is a decision."""


def interpreter(*arguments: str, cwd: Path) -> Done:
    """Run Python in a process of its own that finds this repository."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@dataclass
class Session:
    """A reader who does what a page says, from its first block to its last."""

    root: Path
    finished: Callable[[], Path]
    """The folder of a study that was stamped, run and reported."""
    patch: pytest.MonkeyPatch
    folder: Path = field(init=False)
    """Where the reader is now."""
    names: dict[str, Any] = field(default_factory=dict)
    """What the Python of the page has defined."""
    offered: dict[str, dict[str, str]] = field(default_factory=dict)
    """What the reader's package offers, by group, when all blocks of its `pyproject.toml` are together."""

    def __post_init__(self) -> None:
        self.patch.delenv("GRIDC_DATA", raising=False)
        self.patch.delenv("GRIDC_MODELS", raising=False)
        self.folder = self.root

    def do(self, block: Block) -> None:
        if block.reason() and block.does not in SHELLS:
            return
        if "start" in block.mark or (self.folder == self.root and block.does in (*SHELLS, "python", "sql")):
            self.start(block.mark.get("start", "finished"))
        DOES[block.does](self, block.replaced())

    def start(self, kind: str) -> None:
        """Go on in another folder: with a new study, a finished one, or nothing."""
        self.folder = self.new_folder()
        if kind == "finished":
            shutil.copytree(self.finished(), self.folder, dirs_exist_ok=True)
        elif kind == "new":
            spec = make_study(self.folder, items=4)
            text = spec.read_text("utf-8").replace('evidence = "descriptive"', 'evidence = "supported"')
            spec.write_text(text + FEW_ITEMS, "utf-8")
            (self.folder / "README.md").write_text("# A model\n", "utf-8")
        elif kind == "logs":
            command("docs", "--examples", ".", cwd=self.folder)
        elif kind == "inspect":
            shutil.copytree(ROOT / "tests" / "logs" / "inspect", self.folder / "logs")

    def new_folder(self) -> Path:
        folder = self.root / str(len(list(self.root.iterdir())))
        folder.mkdir()
        return folder

    def file(self, block: Block) -> None:
        path, above = self.folder / block.mark["file"], block.mark.get("above")
        text = block.text
        if above:
            before, line, after = path.read_text("utf-8").partition(above)
            assert line, f"{path.name} has no {above}"
            text = f"{before}{text}\n{line}{after}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")

    def toml(self, block: Block) -> None:
        """A whole spec, or what completes another one, has a plan."""
        assert gridc.open(self.study(block)).plan().manifest.cells > 0

    def study(self, block: Block) -> Path:
        """The spec, or what completes another one, in a folder with what it may name."""
        folder = shutil.copytree(STUDIES, self.new_folder(), dirs_exist_ok=True)
        shutil.copy(BASE, folder)
        (folder / "many.jsonl").write_text("\n".join(map(json.dumps, MANY)), "utf-8")
        text = block.text
        if not text.startswith("gridcard = "):
            head = {"gridcard": 1, "extends": "base.toml", **block.head}
            text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in head.items()) + text
        spec = folder / "gridcard.toml"
        spec.write_text(text, "utf-8")
        consent = sha256((STUDIES / "scorers.py").read_bytes()).hexdigest()
        self.patch.setenv("GRIDC_ALLOW", f"sha256:{consent}")
        return spec

    def scorers(self, block: Block) -> None:
        """What a page shows of the functions that its studies score by."""
        assert block.text in (STUDIES / "scorers.py").read_text("utf-8")

    def package(self, block: Block) -> None:
        """The package of a `pyproject.toml` is installed, with the reader's code, and has what it offers."""
        offered = tomllib.loads(block.text)["project"]["entry-points"]
        self.offered |= offered
        groups = [
            "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())])
            for group, entries in self.offered.items()
        ]
        written = self.folder / "acme_gridc.py"
        code = written.read_text("utf-8") if written.is_file() else CODE
        install(self.new_folder(), self.patch, offers="\n".join(groups), code=code)
        for group, entries in offered.items():
            assert group in GROUPS.values()
            assert all(entry_points(group=group)[name].load() for name in entries)

    def folders(self, block: Block) -> None:
        """A folder is drawn with all that are in it, or with none."""
        drawn, above = set(), list[str]()
        for line in block.text.splitlines():
            name = line.split()[0]
            above[(len(line) - len(line.lstrip())) // 2 :] = [name]
            if name.endswith("/"):
                drawn.add(ROOT.joinpath(*above))
        opened = {folder.parent for folder in drawn} - {ROOT}
        inside = {folder for parent in opened for folder in parent.iterdir() if folder.is_dir()}
        there = {folder for folder in inside if folder.name != "__pycache__"}
        differ = sorted(str(folder.relative_to(ROOT)) for folder in there ^ (drawn - {*ROOT.iterdir()}))
        assert not differ, f"drawn or there, and not both: {differ}"

    def shown(self, block: Block) -> None:
        """What `gridc status` prints of the reader's study, but for what another processor may round
        otherwise."""
        printed = " ".join(command("status", cwd=self.folder).stdout.split())
        pattern = re.sub(r"\d+(\\\.\d+)?", r"\\d+(\.\\d+)?", re.escape(" ".join(block.text.split())))
        assert re.search(pattern, printed), printed

    def deviations(self, block: Block) -> None:
        DeviationLog.model_validate(tomllib.loads(block.text))

    def sub_call(self, block: Block) -> None:
        assert gridc.propagation([json.loads(block.text)]).rows()

    def shell(self, block: Block) -> None:
        for shown in commands(block):
            words = shlex.split(shown.line, comments=True)
            arguments = list(dropwhile(ASSIGNMENT.match, words))
            if block.reason(shown.line) is None:
                self.run(arguments, shown.output)
            elif Path(arguments[0]).name in PROGRAMS:
                check(arguments, whole=True)

    def run(self, words: list[str], shown: str) -> None:
        """Run a command, which prints what is shown, `...` for any text, or fails as is shown."""
        file = words[words.index(">") + 1] if ">" in words else None
        words = words[: words.index(">")] if file else words
        if Path(words[0]).name == "gridc":
            done = command(*words[1:], cwd=self.folder)
        else:
            assert words[0] == "python", f"mark {words[0]} with the reason why it is not run"
            done = interpreter(*words[1:], cwd=self.folder)
        fails = "error[" in shown or re.search(r"^exit [1-9]", shown, re.MULTILINE) is not None
        assert (done.returncode == 0) != fails, f"{shlex.join(words)}\n{done.stderr}\n{shown}"
        if file:
            (self.folder / file).write_text(done.stdout, "utf-8")
        if shown:
            printed = " ".join(f"{done.stdout} {done.stderr}".split())
            pattern = ".*".join(re.escape(" ".join(part.split())) for part in shown.split("..."))
            assert re.fullmatch(pattern, printed), f"{shlex.join(words)}\n{printed}"

    def python(self, block: Block) -> None:
        with chdir(self.folder):
            exec(compile(block.text, block.place, "exec"), self.names)

    def sql(self, block: Block) -> None:
        self.run(["gridc", "sql", "--", block.text], "")


ASSIGNMENT = re.compile("[A-Z_]+=")
"""A variable in front of a command."""
SHELLS = ("console", "sh")
"""Languages whose commands are parsed even where they are not run."""
DOES: dict[str, Callable[[Session, Block], None]] = {
    **dict.fromkeys(SHELLS, Session.shell),
    "deviations": Session.deviations,
    "file": Session.file,
    "folders": Session.folders,
    "package": Session.package,
    "shown": Session.shown,
    "python": Session.python,
    "scorers": Session.scorers,
    "sql": Session.sql,
    "sub-call": Session.sub_call,
    "toml": Session.toml,
}
"""What is done with a block of each language, or `as` something else."""


@pytest.fixture(scope="session")
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Does what a page says, once; where that ended."""

    @cache
    def do(name: str) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            root = tmp_path_factory.mktemp("page")
            reader = Session(root, lambda: request.getfixturevalue("finished"), patch)
            for block in READ[name].blocks:
                try:
                    reader.do(block)
                except BaseException as error:
                    error.add_note(block.place)
                    raise
        return reader.folder

    return do


@pytest.fixture
def reader(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(tmp_path, lambda: request.getfixturevalue("finished"), monkeypatch)


@pytest.mark.parametrize("page", [name for name, page in READ.items() if page.blocks])
def test_a_page_is_what_happens(page: str, done: Callable[[str], Path]) -> None:
    done(page)


# tests/e2e/test_reasoning.py serves the models that are behind an address.
RECIPES = [
    block
    for page in (READ["docs/recipes.md"], read(Path(__file__).with_name("recipes.md")))
    for block in page.blocks
    if block.does == "toml" and "base_url" not in block.text
]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(recipe, id=recipe.place, marks=() if "vars" in recipe.text else pytest.mark.slow)
        for recipe in RECIPES
    ],
)
def test_a_recipe_is_followed_to_its_end(block: Block, reader: Session) -> None:
    spec = reader.study(block)
    for step in ("stamp", "run", "report", "verify"):
        finished = command(step, cwd=spec.parent)
        if step == "run" and "judge" in block.text and "GC622" in finished.stderr:
            return  # the judge here is a model of some megabytes, which gives no label: nothing is scored
        assert finished.returncode == 0, f"{step}: {finished.stdout}{finished.stderr}"
    assert "verified: " in finished.stdout


def test_what_the_tutorial_leaves_out_is_counted_wherever_results_stand(
    done: Callable[[str], Path],
) -> None:
    results = done("docs/language.md") / "results" / "capitals"
    certificate = json.loads((results / "certificate.json").read_text("utf-8"))
    assert [row["left_out"] for row in certificate["benchmarks"]] == [1]
    sentence = "Of the 9 rows of the files of capitals, 1 does not follow the format and is left out"
    assert any(sentence in statement for statement in certificate["statements"])
    assert sentence in (results / "report.html").read_text("utf-8")
    card = (results / "gridcard.md").read_text("utf-8")
    assert "1 of the rows of its files, which do not follow the format: left out" in card
    with sqlite3.connect(results / "store.sqlite") as store:
        ((content,),) = store.execute("SELECT content FROM study")
    benchmark = json.loads(content)["inputs"]["benchmarks"]["capitals"]
    assert benchmark["left_out"] == ["capitals.csv, row 10: `answer`: it is empty"]
    assert benchmark["found"] == {"gold": "index"}


def test_two_clicks_of_the_tutorial_show_two_models_and_two_more_show_two_templates(
    done: Callable[[str], Path], tmp_path: Path
) -> None:
    """The links of the pages that `gridc view` shows, followed as the tutorial says."""
    gridc.view_pages(tmp_path / "pages", done("docs/tutorial.md"))

    def links(page: str, text: str) -> list[str]:
        html = (tmp_path / "pages" / page).read_text("utf-8")
        found = re.findall(r'<a\b[^>]*href="([^"#]+)"[^>]*>(.*?)</a>', html, re.DOTALL)
        return [to for to, inside in found if re.search(text, re.sub(r"<[^>]+>", "", inside))]

    def shown(page: str) -> list[tuple[str, str]]:
        """Of both responses side by side: whose it is, and how it ended."""
        html = (tmp_path / "pages" / page).read_text("utf-8")
        parts = re.findall(
            r'<section aria-label="(?:first|second) response">(.*?)</section>', html, re.DOTALL
        )
        plain = [" ".join(re.sub(r"<[^>]+>", " ", part).split()) for part in parts]
        heads = [text.partition(" Request and answer")[0] for text in plain]
        return [
            (name, ended) for name, ended in (re.split(r" (?=[✓✗?])", head, maxsplit=1) for head in heads)
        ]

    squares = links("index.html", r"^[+\u2212][\d.]+$")
    assert squares, "no square of the first page says that one model scores higher"
    pages = [links(square, r"\?$")[0] for square in squares]
    for beside in pages:
        (a, first), (b, second) = shown(beside)
        assert a != b and first != second
    alone = next(link for beside in pages for link in links(beside, "^pocket-llama$"))
    both = shown(links(alone, "⇄")[0])
    assert [name.replace("T3", "T1") for name, _ in both] == [both[0][0].replace("T3", "T1")] * 2
    assert {"T1" in name for name, _ in both} == {True, False}


def test_given_results_have_the_estimator_of_pass_at_k(done: Callable[[str], Path]) -> None:
    """1 - prod((n - c - i) / (n - i)) of the files (Chen et al. 2021), by numpy."""
    folder = done("docs/plugins.md")
    certificate = json.loads((folder / "results" / "given" / "certificate.json").read_text("utf-8"))
    for row in certificate["benchmarks"][0]["envelope"]:
        k = int(row["configuration"].removeprefix("score=pass"))
        for model, score in row["scores"].items():
            runs = json.loads((folder / f"{model}_runs" / "answers.json").read_text("utf-8")).values()
            missed = [
                np.prod([(results.count("failed") - i) / (len(results) - i) for i in range(k)])
                for results in runs
            ]
            printed = score["correct"] / (score["trials"] * score["scale"])
            assert printed == pytest.approx(1 - np.mean(missed), abs=5e-5)


def test_every_block_is_run_or_says_why_not() -> None:
    for page in READ.values():
        assert page.strays == [], f"{page.name}: give the block a fence, or the mark a block"
        for block in page.blocks:
            reasons = block.mark.get("not_run", {})
            if isinstance(reasons, dict):
                lines = [shown.line for shown in commands(block.replaced())]
                assert all(any(map(re.compile(re.escape(start)).match, lines)) for start in reasons), (
                    block.place
                )
                reasons = reasons.values()
            assert block.does in DOES or block.reason(), block.place
            assert not block.head or block.does == "toml", block.place
            assert {*([reasons] if isinstance(reasons, str) else reasons)} <= REASONS, block.place


@pytest.mark.parametrize(
    ("language", "mark", "text", "message"),
    [
        ("toml", {}, "[study]\ntittle = 'a key that there is not'", "unknown key `tittle`"),
        (
            "toml",
            {"as": "deviations"},
            "deviations = 1\n[[deviation]]\nwhy = 'no such key'",
            "why\n  Extra inputs",
        ),
        (
            "toml",
            {"as": "package"},
            "[project.entry-points.'gridc.loader']\nfacts = 'acme_gridc:load'",
            "gridc.loader' in",
        ),
        ("text", {"as": "folders"}, "gridc/\n  compiler/\n  runtime/", "gridc/schema"),
        ("json", {"as": "sub-call"}, '{"item": "1", "scaffold": "cot"}', "no `task`"),
        ("sh", {"not_run": "takes minutes"}, "gridc run --for-nothing", "No such option"),
        ("sh", {"not_run": "takes minutes"}, "gridc run --shard", "needs a value"),
        ("sh", {"not_run": "takes minutes"}, "gridc card attach", "readme is missing"),
        ("sh", {"not_run": "takes minutes"}, "gridc schema nothing", "is not one of"),
        ("sh", {"not_run": "takes minutes"}, "make nothing", "returned non-zero"),
        ("sh", {"not_run": "takes minutes"}, "python -m tools.architecture_of", "No such file"),
        ("sh", {"not_run": "takes minutes"}, "python -m benchmarks.plan --no", "2"),
        ("sh", {"not_run": "takes minutes"}, "pip install 'gridc[nothing]'", "nothing"),
        ("sh", {"start": "empty"}, "gridc report", "GC002"),
        ("sh", {"start": "empty"}, "curl nowhere", "mark curl"),
        ("console", {"start": "empty"}, "$ gridc explain GC202\nsomething else\n...\n", "fullmatch"),
        (
            "console",
            {"start": "empty"},
            "$ gridc explain GC202\nGC202...\n\n$ gridc explain GC203\nGC204...\n",
            "GC204",
        ),
        ("python", {"start": "empty"}, "import gridc\ngridc.opened", "no attribute"),
        ("sql", {}, "SELECT nothing FROM samples", "SQLite says"),
        ("sql", {"replace": {"STUDY": "small"}}, "SELECT item FROM samples", "no STUDY"),
    ],
)
def test_what_is_false_is_seen(
    language: str, mark: dict[str, Any], text: str, message: str, reader: Session
) -> None:
    with pytest.raises(BaseException, match=message):
        reader.do(Block("a page", 1, language, mark, text))


NAMED = sorted(
    {(page.name, span) for page in READ.values() for span in page.spans if span.split()[0] in PROGRAMS}
)


@pytest.mark.parametrize(("page", "span"), NAMED)
def test_a_command_in_the_text_exists(page: str, span: str) -> None:
    check(shlex.split(span), whole=False)


CI = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
FOLLOWED = (
    "README.md",
    "docs/check.md",
    "docs/tutorial.md",
    "docs/refusals.md",
    "docs/logs.md",
    "docs/compare.md",
    "docs/gate.md",
    "docs/from-lm-eval.md",
    "docs/from-inspect.md",
)
"""The pages that a newcomer follows: of these each command within a sentence is run too."""
COMPLETED: dict[str, tuple[str, str]] = {
    "gridc baseline": ("logs", "gridc baseline logs/base --to base.gridc"),
    "gridc baseline RUN --to base.gridc": ("logs", "gridc baseline logs/base --to base.gridc"),
    "gridc baseline A --to base.gridc": ("logs", "gridc baseline logs/base --to base.gridc"),
    "gridc certify --out FOLDER": ("logs", "gridc certify --from logs --out certified"),
    "gridc certify --from": ("logs", "gridc certify --from logs"),
    "gridc certify --from logs": ("logs", "gridc certify --from logs"),
    "gridc certify --from logs --out certified": ("logs", "gridc certify --from logs --out certified"),
    "gridc certify --out": ("logs", "gridc certify --from logs --out certified"),
    "gridc compare": ("logs", "gridc compare logs/base logs/candidate --margin 5"),
    "gridc compare A B": ("finished", "gridc compare results/small results/small"),
    "gridc compare B --baseline A1 A2 A3": (
        "finished",
        "gridc compare results/small --baseline results/small results/small",
    ),
    "gridc card attach README.md --from FOLDER --model MODEL": (
        "certified",
        "gridc card attach README.md --from certified --model example/base",
    ),
    "gridc compare logs/base logs/candidate --margin 5pp": (
        "logs",
        "gridc compare logs/base logs/candidate --margin 5pp",
    ),
    "gridc compare logs/old.eval logs/new.eval --margin 5pp": (
        "inspect",
        "gridc compare logs/plain.eval logs/other.eval --margin 5pp",
    ),
    "gridc docs --examples .": ("empty", "gridc docs --examples ."),
    "gridc docs tutorial": ("empty", "gridc docs tutorial"),
    "gridc explain GC671": ("empty", "gridc explain GC671"),
    "gridc export bundle": ("finished", "gridc export bundle --to shared"),
    "gridc init": ("empty", "gridc init --yes"),
    "gridc init --yes": ("empty", "gridc init --yes"),
    "gridc report": ("finished", "gridc report"),
    "gridc run": ("finished", "gridc run"),
    "gridc plan": ("finished", "gridc plan"),
    "gridc schema comparison": ("empty", "gridc schema comparison"),
    "gridc schema logs": ("empty", "gridc schema logs"),
    "gridc schema policy": ("empty", "gridc schema policy"),
    "gridc sql --store": (
        "certified",
        "gridc sql --store certified/store.sqlite 'SELECT count(*) FROM samples'",
    ),
    "gridc stamp --supersede": ("finished", "gridc stamp --supersede"),
    "gridc verify": ("finished", "gridc verify"),
}
"""Where a reader runs a command of a sentence, and with what in the place of their own words."""
UNFINISHED = {
    "gridc init --task lm-eval:NAME": "another package's environment",
    "gridc view base --with worse": "runs until it is stopped",
    "gridc view A --with B": "runs until it is stopped",
    "gridc view --with": "runs until it is stopped",
    "gridc baseline --key": "a test of its own runs it",
    "gridc diff": "a test of its own runs it",
    "gridc audit grim": "a test of its own runs it",
    "gridc view shared": "runs until it is stopped",
    "gridc view certified": "runs until it is stopped",
    "gridc view FOLDER": "runs until it is stopped",
    "make bench-gate": "takes minutes",
    "make bench-units": "takes minutes",
    "make bench-logs": "takes minutes",
    "make bench-leaderboards": "takes minutes",
    "make docs": "takes minutes",
    "pip install 'gridc[view]'": "needs a network",
    "pip install gridc": "needs a network",
}
SPOKEN = sorted({span for name, span in NAMED if name in FOLLOWED})


@pytest.mark.parametrize("span", SPOKEN)
def test_a_command_in_a_sentence_is_run(span: str, reader: Session) -> None:
    if span in UNFINISHED:
        assert UNFINISHED[span] in REASONS
        return
    if span.startswith("make "):
        assert span in CI, "continuous integration runs it"
        return
    start, line = COMPLETED[span]
    reader.start("logs" if start == "certified" else start)
    if start == "certified":
        made = command("certify", "--from", "logs", "--out", "certified", cwd=reader.folder)
        assert made.returncode == 0, made.stderr
        (reader.folder / "README.md").write_text("# A model\n", "utf-8")
    assert line.split()[:2] == span.split()[:2]
    done = command(*shlex.split(line)[1:], cwd=reader.folder)
    answers = (0, 1, 10, 11) if line.startswith("gridc compare") else (0,)
    assert done.returncode in answers, f"{line}\n{done.stdout}{done.stderr}"


def test_an_option_in_the_text_exists() -> None:
    options = {*options_of(main), *options_of_programs()}
    for page in READ.values():
        for span in page.spans:
            if span.startswith("--") and span != "--":
                assert span.split()[0] in options, f"{page.name}: {span}"


PATH = re.compile(r"(?:benchmarks|docs|gridc|specs|tests|tools)/[\w./*-]+")
"""A file or folder of this repository."""
NAME = re.compile(r"(gridc(?:\.\w+)+)(?:\(.*\))?", re.DOTALL)
"""A module, or a name of one."""


@pytest.mark.parametrize("page", READ)
def test_what_the_text_names_is_there(page: str) -> None:
    for span in READ[page].spans:
        if PATH.fullmatch(span):
            assert [*ROOT.glob(span)], span
        name = NAME.fullmatch(span)
        if name and name[1] not in GROUPS.values():
            resolve_name(name[1])
