"""What the pages say is what happens: their specs compile, their programs run, their commands print what is shown."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.plugins import GROUPS
from gridc.compiler.lowering.plan import Plan
from gridc.schema.deviation import DeviationLog
from tests.e2e.conftest import command, make_study
from tests.e2e.pages.blocks import PAGES, ROOT, Block, Page, commands, read
from tests.e2e.pages.parsing import PROGRAMS, check
from tests.plugins import install

STUDIES = Path(__file__).parent / "studies"
BASE = ROOT / "tests" / "golden" / "diagnostics" / "base.toml"
READ = [read(path) for path in PAGES]
REASONS = {
    "a drawing",
    "another package's environment",
    "needs a cluster",
    "needs a network",
    "needs a provider's key",
    "runs until it is stopped",
    "takes minutes",
}
"""Why a block is not run. A new reason is a decision."""


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

    def __post_init__(self) -> None:
        self.patch.delenv("GRIDC_DATA", raising=False)
        self.patch.delenv("GRIDC_MODELS", raising=False)
        self.folder = self.root

    def do(self, block: Block) -> None:
        for words, value in block.mark.get("replace", {}).items():
            block = replace(block, text=block.text.replace(words, value))
        if "start" in block.mark or (self.folder == self.root and block.language in ("sh", "python", "sql")):
            self.start(block.mark.get("start", "finished"))
        if "file" in block.mark:
            self.file(block)
        elif block.language in SHELLS or block.reason() is None:
            DOES[block.mark.get("as", block.language)](self, block)

    def start(self, kind: str) -> None:
        """Go on in another folder: with a new study, a finished one, or nothing."""
        self.folder = self.new_folder()
        if kind == "finished":
            shutil.copytree(self.finished(), self.folder, dirs_exist_ok=True)
        elif kind == "new":
            make_study(self.folder)

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
        path.write_text(text, "utf-8")

    def toml(self, block: Block) -> None:
        """A whole spec, or what completes another one, has a plan."""
        folder = shutil.copytree(STUDIES, self.new_folder(), dirs_exist_ok=True)
        shutil.copy(BASE, folder)
        text = block.text
        if not text.startswith("gridcard = "):
            head = {"gridcard": 1, "extends": "base.toml", **block.mark}
            text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in head.items()) + text
        (folder / "gridcard.toml").write_text(text, "utf-8")
        assert Plan(compile_spec(folder / "gridcard.toml").study).counts().unique > 0

    def package(self, block: Block) -> None:
        """The package of a `pyproject.toml` is installed, and has what it offers."""
        offered = tomllib.loads(block.text)["project"]["entry-points"]
        groups = [
            "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())])
            for group, entries in offered.items()
        ]
        install(self.new_folder(), self.patch, offers="\n".join(groups))
        for group, entries in offered.items():
            assert group in GROUPS.values()
            assert all(entry_points(group=group)[name].load() for name in entries)

    def deviations(self, block: Block) -> None:
        DeviationLog.model_validate(tomllib.loads(block.text))

    def sub_call(self, block: Block) -> None:
        assert gridc.propagation([json.loads(block.text)]).rows()

    def shell(self, block: Block) -> None:
        for shown in commands(block):
            arguments = shlex.split(shown.line, comments=True)
            reason = block.reason(shown.line)
            if reason is None:
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
            path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
            done = subprocess.run(
                [sys.executable, *words[1:]],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
        assert (done.returncode == 0) == ("error[" not in shown), f"{shlex.join(words)}\n{done.stderr}"
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


SHELLS = ("console", "sh")
DOES: dict[str, Callable[[Session, Block], None]] = {
    **dict.fromkeys(SHELLS, Session.shell),
    "deviations": Session.deviations,
    "package": Session.package,
    "python": Session.python,
    "sql": Session.sql,
    "sub-call": Session.sub_call,
    "toml": Session.toml,
}
"""What is done with a block of each language, or `as` something else."""


@pytest.mark.parametrize("page", [page for page in READ if page.blocks], ids=lambda page: page.name)
def test_a_page_is_what_happens(
    page: Page, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Session(tmp_path, lambda: request.getfixturevalue("finished"), monkeypatch)
    for block in page.blocks:
        try:
            reader.do(block)
        except BaseException as error:
            error.add_note(block.place)
            raise


def test_every_block_is_run_or_says_why_not() -> None:
    for page in READ:
        assert page.strays == [], f"{page.name}: give the block a fence, or the mark a block"
        for block in page.blocks:
            reasons = block.mark.get("not_run", {})
            stated = {reasons} if isinstance(reasons, str) else set(reasons.values())
            assert stated <= REASONS, block.place
            runs = "file" in block.mark or block.mark.get("as", block.language) in DOES
            assert runs or block.reason(), block.place


NAMED = sorted({(page.name, span) for page in READ for span in page.spans if span.split()[0] in PROGRAMS})


@pytest.mark.parametrize(("page", "span"), NAMED)
def test_a_command_in_the_text_exists(page: str, span: str) -> None:
    check(shlex.split(span), whole=False)
