"""Every row of the table of both papers in docs/studies.md: its command is run, once for each study on a
small study of that shape, and what the row names is found in what the command writes or prints."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gridc.cli import main
from tests.paper_studies import lay_out, paper_study
from tests.studies import Finished, carried_out

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "studies.md"
ITEMS = {"scaffold_safety": 16, "scaffold_sensitivity": 16, "safetyrepro": 6}
FEW = 8
CHANGED: dict[str, dict[str, Any]] = {
    name: {
        "analysis": {"permutations": 9},
        "curve": [{"id": name, "hypotheses": ["H1c"]} for name in ("primary", "exploratory")],
    }
    for name in ("scaffold_safety", "scaffold_sensitivity")
} | {"scaffold_safety_registered": {"analysis": {"estimator": "cluster_logit", "permutations": 9},
                                    "curve": [{"id": "primary", "hypotheses": ["H1c"]}]}}  # fmt: skip
"""What makes a report of so many specifications quicker."""


@dataclass(frozen=True)
class Part:
    """Something that a row names: what is to be found, and in which file, if it says so."""

    text: str
    file: str | None


@dataclass(frozen=True)
class Row:
    """A row of the table: what it is about, its studies, and each command with the parts that it gives. A
    `joint` one is about what a command says of all studies together."""

    about: str
    studies: tuple[str, ...]
    commands: tuple[tuple[str, tuple[Part, ...]], ...]
    joint: bool


COMMAND = re.compile(r"`(gridc [^`]+)`")
NAMED = re.compile(r"((?:\*\*[^*]+\*\*(?:, )?)+)(?: in `(\w+\.json)`)?")


def rows() -> Iterator[Row]:
    part = PAGE.read_text("utf-8").split("## Every table and figure of both papers")[1].split("\n## ")[0]
    for line in part.splitlines():
        if not line.startswith(("| sus", "| sr")):
            continue
        about, studies, given = line.strip("| ").split(" | ")
        _, *pieces = COMMAND.split(given)
        commands = [
            (command, tuple(Part(text, file or None) for names, file in NAMED.findall(said)
                            for text in re.findall(r"\*\*([^*]+)\*\*", names)))
            for command, said in zip(pieces[::2], pieces[1::2], strict=True)
        ]  # fmt: skip
        yield Row(
            about,
            tuple(re.findall(r"`(\w+)`", studies)),
            tuple(commands),
            any(said.startswith((" of all", " of both")) for said in pieces[1::2]),
        )


ROWS = list(rows())


def headings(page: str) -> list[str]:
    """The headings, captions and heads of columns and rows of a page."""
    found = re.finditer(r"<(h[1-6]|summary|caption|th)\b[^>]*>(.*?)</\1>", page, re.DOTALL)
    return [html.unescape(" ".join(re.sub(r"<[^>]+>", " ", match[2]).split())) for match in found]


@dataclass
class Studies:
    """Small studies, each carried out when a row first asks for it, and what commands said of them."""

    folder: Path
    done: dict[str, Finished] = field(default_factory=dict)
    said: dict[tuple[str, ...], str] = field(default_factory=dict)

    def of(self, name: str) -> Finished:
        if name not in self.done:
            with paper_study(self.folder, ITEMS.get(name, FEW), name, **CHANGED.get(name, {})) as study:
                self.done[name] = carried_out(study)
        return self.done[name]

    def spec(self, name: str) -> str:
        self.of(name)
        return str(self.folder / "specs" / f"small_{name}.toml")

    def run(self, *arguments: str, **environment: str | None) -> str:
        """What a command prints."""
        if arguments not in self.said:
            found = CliRunner().invoke(main, list(arguments), catch_exceptions=False, env=environment)
            assert found.exit_code == int(arguments[0] == "diff"), found.output
            self.said[arguments] = found.output
        return self.said[arguments]


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studies]:
    folder = tmp_path_factory.mktemp("papers")
    lay_out(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRIDC_DATA", str(folder / "data"))
        patch.chdir(folder / "specs")
        yield Studies(folder)


def kinds(path: Path) -> set[str]:
    """What a JSON file holds: the kinds of its estimates, and its keys."""
    document = json.loads(path.read_text("utf-8"))
    return {row["kind"] for row in document.get("estimates", ())} | keys(document)


def keys(document: Any) -> set[str]:
    """The keys that hold something."""
    if isinstance(document, dict):
        held = {key for key, value in document.items() if value not in (None, [], {})}
        return held.union(*map(keys, document.values()))
    return set().union(*map(keys, document)) if isinstance(document, list) else set()


def has(studies: Studies, row: Row, command: str, part: Part, name: str) -> bool:
    words = command.split()[1:]
    if words[0] == "report" and "--json" not in words:
        results = studies.of(name).results
        if row.joint:
            out = studies.folder / "-".join(row.studies)
            studies.run("report", *map(studies.spec, row.studies), "--out", str(out))
            return any(part.text in each for each in headings((out / "studies.html").read_text()))
        if len(words) > 1:
            studies.run(*words, studies.spec(name))
        if part.file is not None:
            return part.text in kinds(results / part.file)
        files = (each.name for each in results.rglob("*"))
        return any(part.text in each for each in (*headings((results / "report.html").read_text()), *files))
    if words[0] == "deviations":  # the study itself, which the small one is not
        return part.text in studies.run(*words[:1], f"{name}.toml", *words[1:], GRIDC_DATA=None)
    if words[0] == "diff":
        stores = [str(studies.of(each).results / "store.sqlite") for each in row.studies]
        return part.text in studies.run("diff", *stores)
    if words[:2] == ["scaffolds", "--calls"]:
        sub_call = {"item": "a", "scaffold": "map_reduce", "step": "map_chunk_0", "user": "Which?",
                    "task": {"system": "One letter.", "question": "Which? A. one B. two"}}  # fmt: skip
        Path(words[2]).write_text(json.dumps(sub_call) + "\n", "utf-8")
        return part.text in studies.run(*words)
    return part.text in studies.run(*words, studies.spec(name))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.about)
def test_what_a_row_names_is_in_what_its_command_gives(studies: Studies, row: Row) -> None:
    assert row.commands and all(parts for _, parts in row.commands), "a part of each command is named"
    missing = [
        (name, command, part.text)
        for name in row.studies
        for command, parts in row.commands
        for part in parts
        if not has(studies, row, command, part, name)
    ]
    assert not missing
