"""The code blocks and commands of README.md, CONTRIBUTING.md, SECURITY.md and docs, with their marks.

A mark is a comment above a block, which a reader of the page does not see. It is TOML:

    <!-- test: extends = "tiers.toml" -->

    start = "new"             goes on in a folder with a new study, a "finished" one, "logs", or "empty"
    file = "a.csv"            is written as this file, or into it, above a line: `above = "[study]"`
    replace = { ITEM = "1" }  what stands in the place of a reader's own words
    not_run = "takes minutes" why it is not run, or why lines that begin so are not: { "gridc view" = "..." }
    as = "deviations"         what it is, where its language does not say it

Any other key stands at the head of the spec that a TOML block completes: it extends the base of
tests/golden/diagnostics unless `extends` names a study of tests/e2e/pages/studies.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(ROOT.glob("docs/*.md")),
]
PARSER = MarkdownIt("commonmark").enable("table")
KEYS = {"start", "file", "above", "replace", "not_run", "as"}
MARK = re.compile(r"<!-- test:(.*?)-->\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: `line` counts from 1 and is that of its fence."""

    page: str
    line: int
    language: str
    mark: dict[str, Any]
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def does(self) -> str:
        """What is done with it."""
        return "file" if "file" in self.mark else str(self.mark.get("as", self.language))

    @property
    def head(self) -> dict[str, Any]:
        """What stands at the head of a spec that the block completes."""
        return {key: value for key, value in self.mark.items() if key not in KEYS}

    def replaced(self) -> "Block":
        """The block without the reader's own words."""
        text = self.text
        for words, value in self.mark.get("replace", {}).items():
            assert words in text, f"{self.place}: there is no {words}"
            text = text.replace(words, value)
        return replace(self, text=text)

    def reason(self, command: str = "") -> str | None:
        """Why a command of the block, or the block, is not run."""
        reasons = self.mark.get("not_run", {})
        if isinstance(reasons, str):
            return reasons
        return next((reason for start, reason in reasons.items() if command.startswith(start)), None)


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    blocks: list[Block]
    spans: list[str]
    """What stands between backticks in its text."""
    strays: list[int]
    """Lines of blocks without a fence, and of marks that stand above no block."""


def read(path: Path) -> Page:
    tokens = PARSER.parse(path.read_text("utf-8"))
    page = Page(path.relative_to(ROOT).as_posix(), [], [], [])
    for before, token in zip([None, *tokens], [*tokens, None], strict=True):
        mark = MARK.fullmatch(before.content) if before and before.type == "html_block" else None
        if token and token.type == "fence":
            line, settings = token.map[0] + 1 if token.map else 0, tomllib.loads(mark[1] if mark else "")
            page.blocks.append(Block(page.name, line, token.info.strip(), settings, token.content))
        elif mark and before and before.map:
            page.strays.append(before.map[0] + 1)
        if token and token.type == "code_block" and token.map:
            page.strays.append(token.map[0] + 1)
        page.spans.extend(_spans(token))
    return page


def _spans(token: Token | None) -> Iterator[str]:
    for child in (token and token.children) or []:
        if child.type == "code_inline":
            yield child.content


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a shell block. `output` is what the page shows of what it prints."""

    line: str
    output: str


def commands(block: Block) -> list[Command]:
    """The commands of a block: every line, or in a `console` block those behind `$ `. A line that ends within
    quotes goes on in the next one."""
    if block.language == "console":
        shown = re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
        return [Command(line, output) for line, output in shown]
    lines: list[str] = []
    for line in block.text.splitlines():
        if lines and lines[-1].count('"') % 2:
            lines[-1] += "\n" + line
        elif line.strip() and not line.startswith("#"):
            lines.append(line)
    return [Command(line, "") for line in lines]
