"""Read a spec's text: values by `tomllib`, the place of every key and value by `tree-sitter-toml`."""

import json
import math
import sys
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridc.diagnostics.errors import DECEIVING, Diagnostic, KeyPath, Span, SpecError
from gridc.files import read_regular

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


MAX_BYTES = 4 * 1024 * 1024
MAX_KEY_PARTS = 64
"""Parts of a dotted key. tomllib's time and memory grow with their square."""
MAX_INTEGER = 2**53 - 1
STDIN = Path("-")
BYTE_ORDER_MARK = "\ufeff"
"""Some editors begin a file with it. It says nothing."""


@dataclass(frozen=True)
class Source:
    """A spec's text, its values, and where each of them stands."""

    path: Path
    text: str = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    rows: tuple[int, ...] | None = field(default=None, repr=False, kw_only=True)
    """Of the hypotheses as they are written out (`each`), the number of the one that is written."""

    @cached_property
    def _places(self) -> tuple[Mapping[KeyPath, Span], Mapping[KeyPath, Span]]:
        """Found once, and only for a spec with findings: nothing else needs to know."""
        try:
            return _index(self.text)
        except RecursionError:
            return {}, {(): Span(1, 1)}

    @cached_property
    def _lines(self) -> list[str]:
        return lines_of(self.text)

    @property
    def keys(self) -> Mapping[KeyPath, Span]:
        """Where each key stands."""
        return self._places[0]

    @property
    def spans(self) -> Mapping[KeyPath, Span]:
        """Where each value stands."""
        return self._places[1]

    def key(self, path: KeyPath) -> Span | None:
        """Where the key at `path` is written, or its nearest enclosing table."""
        return self._nearest(self.keys, path)

    def value(self, path: KeyPath) -> Span | None:
        """Where the value at `path` is written, or its nearest enclosing table."""
        return self._nearest(self.spans, path)

    @property
    def others(self) -> "tuple[Source, ...]":
        """The other files that it is written in: those that it extends, and those that hold levels."""
        return ()

    def origin(self, path: KeyPath) -> "tuple[Source, KeyPath]":
        """The file that `path` is written in, and its path there."""
        return self, self.as_written(path)

    def as_written(self, path: KeyPath) -> KeyPath:
        """A path of the spec with its hypotheses written out, as a path of the document."""
        if self.rows is None or path[:1] != ("hypothesis",) or len(path) < 2:
            return path
        return ("hypothesis", self.rows[int(path[1])], *path[2:])

    def diagnose(
        self, code: str, path: KeyPath, message: str, help: str | None = None, *, at_key: bool = False
    ) -> Diagnostic:
        """A diagnostic at the place of `path`, in the file that has it."""
        source, there = self.origin(path)
        span = source.key(there) if at_key else source.value(there)
        line = None if span is None else source._lines[span.line - 1]
        return Diagnostic(code, message, str(source.path), span, help, line)

    def _nearest(self, index: Mapping[KeyPath, Span], path: KeyPath) -> Span | None:
        if path in index:
            return index[path]
        return next((self.spans[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.spans), None)


def read_source(path: Path) -> Source:
    """The source at `path`, or on standard input. Raises `SpecError` with every finding of this stage."""
    name = Path("<stdin>") if path == STDIN else path
    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1) if path == STDIN else read_regular(path, MAX_BYTES)
        if len(data) > MAX_BYTES:
            raise ValueError
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError([_undecodable(error, name)]) from None
    except ValueError:
        message = f"the spec is larger than {MAX_BYTES:,} bytes"
        raise SpecError([Diagnostic("GC002", message, str(name))]) from None
    except OSError as error:
        message = f"cannot read the spec: {error.strerror or 'it is not a regular file'}"
        raise SpecError([Diagnostic("GC002", message, str(name), help=_nearby(path))]) from None
    return parse_source(text, name)


def _undecodable(error: UnicodeDecodeError, name: Path) -> Diagnostic:
    if b"\0" in error.object:
        return Diagnostic(
            "GC002", "the file is not text, so it cannot be a spec", str(name), help="name a gridcard.toml"
        )
    lines = lines_of(error.object[: error.start].decode("utf-8"))
    whole = lines_of(error.object.decode("utf-8", "replace"))[len(lines) - 1]
    span = Span(len(lines), len(lines[-1]) + 1)
    return Diagnostic("GC002", "this byte is not UTF-8", str(name), span, "save the file as UTF-8", whole)


def _nearby(path: Path) -> str | None:
    """Where a spec is, if it is not at `path`."""
    if path == STDIN or path.exists():
        return None
    return near_files(path) or "`gridc init` writes a first spec"


def near_files(path: Path, beside: Path | None = None) -> str | None:
    """The specs in the folder of a path at which there is none, `beside` left out; None where it has none."""
    specs = sorted(file.name for file in path.parent.glob("*.toml") if file != beside)
    if not specs:
        return None
    from difflib import get_close_matches

    near = get_close_matches(path.name, specs, n=1, cutoff=0.75)
    if not near:
        return f"in its folder: {', '.join(specs[:12])}"
    return f"did you mean `{near[0] if beside else path.with_name(near[0])}`?"


def parse_source(text: str, path: Path) -> Source:
    """The source with this text. Raises `SpecError` with every finding of this stage."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    try:
        long = _long_key(text)
        if long is not None:
            message, help = f"a key of more than {MAX_KEY_PARTS} parts", "put things into tables of their own"
            span = Span(long + 1, 1)
            raise SpecError([Diagnostic("GC001", message, str(path), span, help)])
        values = tomllib.loads(text)
        source = Source(path, text, values)
        diagnostics = list(_unfit(source))
    except RecursionError:
        raise SpecError([Diagnostic("GC001", "tables are nested too deeply", str(path))]) from None
    except ValueError as error:
        from gridc.compiler.frontend.syntax import syntax_error  # only a text with a mistake needs it

        raise SpecError([syntax_error(str(error), text, path)]) from None
    if diagnostics:
        raise SpecError(diagnostics)
    return source


def _long_key(text: str) -> int | None:
    """The line (0-based) of the first key with too many parts; None where there is none."""
    if all(line.count(".") < MAX_KEY_PARTS for line in text.split("\n")):
        return None  # nearly always; the tree, which knows keys from texts, need not be asked
    waiting = [syntax_tree(text)]
    while waiting:
        node, parts = waiting.pop(), 0
        key = node
        while key.type == "dotted_key":
            key, parts = key.named_children[0], parts + 1
        if parts >= MAX_KEY_PARTS:
            return node.start_point[0]
        waiting += [] if parts else reversed(node.named_children)
    return None


def _unfit(source: Source) -> Iterator[Diagnostic]:
    """Values that TOML allows and canonical JSON does not, or not in one form only."""
    for where, value, at_key in _scalars(source.values):
        if isinstance(value, float) and not math.isfinite(value):
            help = "leave it out, and it has its default, or write a number"
            yield source.diagnose("GC003", where, f"{value} is not a finite number", help)
        elif isinstance(value, int) and abs(value) > MAX_INTEGER:
            help = f"write a smaller number: {MAX_INTEGER} is the largest"
            yield source.diagnose("GC003", where, "whole numbers beyond 2^53 - 1 are not exact in JSON", help)
        elif isinstance(value, str) and not unicodedata.is_normalized("NFC", value):
            message = "this text is not in Unicode normal form C"
            yield source.diagnose("GC004", where, message, at_key=at_key)
        elif isinstance(value, str) and (hidden := DECEIVING.search(value)):
            code = f"U+{ord(hidden[0]):04X}"
            message = f"this text contains {code}, a character that acts on terminals and is not visible"
            help = "remove it, or put a prompt that needs it into a file (`path:`)"
            yield source.diagnose("GC005", where, message, help, at_key=at_key)


def lines_of(text: str) -> list[str]:
    """Lines end at a line feed, which a carriage return may precede, and nowhere else."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def _scalars(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object, bool]]:
    """(place, value, whether it is a key) of everything in the document that is not a container."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), key, True
            yield from _scalars(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _scalars(inner, (*path, number))
    else:
        yield path, value, False


def _index(text: str) -> tuple[Mapping[KeyPath, Span], Mapping[KeyPath, Span]]:
    """Where each key stands, and where each value does."""
    return _Index(text).document(syntax_tree(text))


def syntax_tree(text: str) -> "Node":
    """The root of a document's syntax tree."""
    return _parser().parse(text.encode()).root_node


@cache
def _parser() -> "Parser":
    import tree_sitter_toml
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_toml.language()))


class _Index:
    """Walks the syntax tree once and notes where each key and each value stands."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode().split(b"\n")
        self._keys: dict[KeyPath, Span] = {}
        self._spans: dict[KeyPath, Span] = {(): Span(1, 1)}
        self._counts: dict[KeyPath, int] = {}

    def document(self, root: "Node") -> tuple[dict[KeyPath, Span], dict[KeyPath, Span]]:
        for node in root.named_children:
            if node.type == "pair":
                self._pair(node, ())
            elif node.type in ("table", "table_array_element"):
                self._table(node)
        return self._keys, self._spans

    def _table(self, node: "Node") -> None:
        header, *body = node.named_children
        parts = list(key_parts(header))
        path: KeyPath = ()
        for part in parts[:-1]:
            path = (*path, part)
            self._keys.setdefault(path, self._span(header))
            self._spans.setdefault(path, self._span(header))
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        path = (*path, parts[-1])
        self._keys[path] = self._span(header)
        if node.type == "table_array_element":
            self._counts[path] = self._counts.get(path, 0) + 1
            self._spans.setdefault(path, self._span(header))
            path = (*path, self._counts[path] - 1)
            self._keys[path] = self._span(header)
        self._spans[path] = self._span(header)
        for child in body:
            if child.type == "pair":
                self._pair(child, path)

    def _pair(self, node: "Node", base: KeyPath) -> None:
        key, value = node.named_children[:2]
        parts = list(key_parts(key))
        for length in range(1, len(parts)):
            self._keys.setdefault((*base, *parts[:length]), self._span(key))
            self._spans.setdefault((*base, *parts[:length]), self._span(key))
        path = (*base, *parts)
        self._keys[path] = self._span(key)
        self._value(value, path)

    def _value(self, node: "Node", path: KeyPath) -> None:
        self._spans[path] = self._span(node)
        children = [child for child in node.named_children if child.type != "comment"]
        if node.type == "inline_table":
            for child in children:
                self._pair(child, path)
        elif node.type == "array":
            for number, child in enumerate(children):
                self._value(child, (*path, number))

    def _span(self, node: "Node") -> Span:
        """Columns count characters, while the tree counts bytes."""
        row, start = node.start_point
        end_row, end = node.end_point
        line = self._lines[row]
        last = end if end_row == row else len(line)
        length = len(line[start:last].decode("utf-8", "replace"))
        return Span(row + 1, len(line[:start].decode("utf-8", "replace")) + 1, max(length, 1))


def key_parts(node: "Node") -> list[str]:
    """The parts of a key. A dotted key nests to the left, however long it is."""
    parts = []
    while node.type == "dotted_key":
        node, last = node.named_children
        parts.append(_bare(last))
    return [_bare(node), *reversed(parts)]


def _bare(node: "Node") -> str:
    text = (node.text or b"").decode()
    if node.type == "bare_key":
        return text
    if "\\" not in text and text[:1] == '"':
        return text[1:-1]
    return next(iter(tomllib.loads(f"{text} = 0")))


def basic_string(text: str) -> str:
    """A text as TOML writes it. JSON's escapes are TOML's, except that TOML wants DEL escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
