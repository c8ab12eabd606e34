"""The code blocks and commands of README.md, CONTRIBUTING.md, SECURITY.md and docs, with their marks.

A mark is a comment above a block, which no reader of the page sees. It is TOML:

    <!-- test: extends = "tiers.toml" -->

    file = "a.csv"              the block is written as this file; `above = "line"` puts it into the file instead
    start = "new"               the page goes on in a folder with a new study, "finished" or "empty"
    replace = { ITEM = "1" }    what stands in the place of a reader's own words
    environment = { A = "1" }   variables of the commands
    not_run = "needs a GPU"     why the block is not run, or the lines that begin so: { "gridc view" = "a server" }
    as = "pyproject"            a TOML block that is no part of a spec
    anything else               stands at the head of the spec that a TOML block completes
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[3]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted(ROOT.glob("docs/*.md"))]
PARSER = MarkdownIt("commonmark").enable("table")
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
    for before, token in zip([None, *tokens], [*tokens, None]):
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
