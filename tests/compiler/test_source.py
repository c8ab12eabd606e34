"""Positions: every key and every value points at exactly its text, whatever way it is written."""

import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridc.compiler.frontend.source import Source, parse_source, read_source
from gridc.diagnostics.errors import Diagnostic, KeyPath, Span, SpecError

FILE = Path("spec.toml")

DOCUMENTS = {
    "bare pairs": 'a = 1\nb = "two"\n  c=3.5 # note\n',
    "every type": "s = 'x'\ni = -1_000\nf = 6.02e+23\nb = true\nd = 1979-05-27\nt = 07:32:00\nh = 0xDEAD\n",
    "nested tables": "[a]\nx = 1\n[a.b]\ny = 2\n[a.b.c]\nz = 3\n",
    "arrays of tables": "[[a]]\nx = 1\n[[a]]\nx = 2\n[[a]]\n",
    "arrays in arrays": "[[a]]\nid='p'\n[[a.b]]\nx=1\n[[a.b]]\nx=2\n[[a]]\nid='q'\n[[a.b]]\nx=3\n",
    "a table in an array": "[[a]]\n[a.t]\nx = 1\n[[a]]\n[a.t]\nx = 2\n",
    "inline tables": "a = { x = 1, y = { z = 'q' } }\n[t]\nb = {c={d=[1,2]}}\n",
    "arrays": "a = [1, 'two', [3, 4], { five = 5 }]\nb = []\nc = {}\n",
    "array over lines": "a = [\n  1, # one\n  # nothing here\n  2,\n\n  { x = 3 }, # three\n]\n",
    "dotted keys": "a.b.c = 1\na.b.d = 2\n[t]\nu . v = 3\n",
    "dotted inside inline": "a = { b.c = 1, b.d = 2 }\n",
    "quoted keys": '"a b" = 1\n\'c.d\' = 2\n"e\\tf" = 3\n"" = 4\n["x.y".\'z w\']\nk = 5\n',
    "quoted dotted keys": "a.\"b.c\".d = 1\n'e'.f = 2\n",
    "unicode before": 'a = { "ключ" = "знак", b = 2 }\nc = ["ééé", "𝔸", 1] \n"日本" = { x = "後", y = 1 }\n',
    "escapes": 'a = "tab\\t quote\\" end"\nb = ["\\u00e9", \'\\n\']\n',
    "long strings": 'a = """\none\ntwo"""\nb = \'\'\'three\'\'\'\nc = """four "quoted""""\n',
    "windows lines": "a = 1\r\n[t]\r\nb = 'x'\r\nc = [\r\n 1,\r\n 2]\r\n",
    "spaces and tabs": "\ta  =\t1\n [ t ] \n  b = 2\n [[ u . v ]] # x\n c = 3\n",
    "comments": "# first\n#second\n[t] # after\n# between\na = 1 # end\n[[u]] # after\n# between\nb = 1",
    "no last line": "a = 1\nb = [1,\n2]",
    "empty tables": "[a]\n[b]\n[[c]]\n[c.d]\n",
    "table after its child": "[a.b]\nx = 1\n[a]\ny = 2\n",
    "unusual separators": "a = '\u2028'\nb = \"\u0085\"\nc = ['\u000b', 1]".replace("\u000b", "\u2029"),
}


def text_at(source: Source, span: Span) -> str:
    line = source.text.replace("\r\n", "\n").split("\n")[span.line - 1]
    return line[span.column - 1 : span.column - 1 + span.length]


def leaves(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from leaves(inner, (*path, number))
    else:
        yield path, value


def containers(value: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from containers(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield (*path, number)
            yield from containers(inner, (*path, number))


def check_leaves(source: Source) -> None:
    """Each leaf's span, read as TOML, is its value; each key's span, read as a key, ends in its key.

    Text over several lines is cut at its first, and an empty table may be only a header.
    """
    for path, value in leaves(source.values):
        text = text_at(source, source.spans[path])
        if value != {} and not text.startswith(('"""', "'''")):
            assert tomllib.loads(f"v = {text}")["v"] == value, path
        if isinstance(path[-1], str):
            assert last_key(text_at(source, source.keys[path])) == path[-1], path


def last_key(text: str) -> str:
    node: Any = tomllib.loads(f"{text} = 0")
    name = ""
    while isinstance(node, dict):
        (name, node), *_ = node.items()
    return name


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_leaf_and_its_key_point_at_exactly_their_text(name: str) -> None:
    source = parse_source(DOCUMENTS[name], FILE)
    assert list(leaves(source.values))
    check_leaves(source)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_of_a_document_has_a_place_that_is_in_the_text(name: str) -> None:
    source = parse_source(DOCUMENTS[name], FILE)
    for path in containers(source.values):
        for span in (source.key(path), source.value(path)):
            assert span is not None
            assert text_at(source, span), path


def test_a_table_is_at_its_header_and_an_array_of_tables_at_each_of_its_headers() -> None:
    source = parse_source("[a.b]\nx = 1\n  [[c.d]]\n  [[c.d]]\ny = 1\n", FILE)
    assert source.value(("a", "b")) == source.key(("a", "b")) == Span(1, 2, 3)
    assert source.value(("c", "d", 0)) == Span(3, 5, 3)
    assert source.value(("c", "d", 1)) == source.key(("c", "d", 1)) == Span(4, 5, 3)


def test_columns_count_characters() -> None:
    source = parse_source('a = ["𝔸é", { "ключ" = "x" }]\n', FILE)
    assert source.spans[("a", 0)] == Span(1, 6, 4)
    assert source.keys[("a", 1, "ключ")] == Span(1, 14, 6)
    assert source.spans[("a", 1, "ключ")] == Span(1, 23, 3)


def test_a_value_over_several_lines_is_at_its_first_line() -> None:
    source = parse_source('[t]\na = """one\ntwo"""\nb = [\n 1,\n 2]\n', FILE)
    assert source.spans[("t", "a")] == Span(2, 5, 6)
    assert source.spans[("t", "b")] == Span(4, 5, 1)
    assert source.spans[("t", "b", 1)] == Span(6, 2, 1)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 1\n[t]\nb = 2\n", ("t", "missing"), 2),
        ("a = 1\n[[t]]\n[[t]]\nb = 2\n", ("t", 1, "missing", "deeper"), 3),
        ("a = 1\nb = { c = 2 }\n", ("b", "missing"), 2),
        ("a = 1\nb = [1, 2]\n", ("b", 7), 2),
        ("x = 1\na.b = 1\n", ("a",), 2),
        ("x = 1\n[t]\na.b = 1\n", ("t", "a", "missing"), 3),
        ("x = 1\n[a.b]\ny = 1\n", ("a", "missing"), 2),
        ("x = 1\n", ("missing",), 1),
    ],
)
def test_what_is_not_written_is_at_the_nearest_table_that_is(text: str, path: KeyPath, line: int) -> None:
    source = parse_source(text, FILE)
    key, value = source.key(path), source.value(path)
    assert key is not None
    assert value is not None
    assert (key.line, value.line) == (line, line)


def failures(text: str) -> list[Diagnostic]:
    with pytest.raises(SpecError) as caught:
        parse_source(text, FILE)
    return list(caught.value.diagnostics)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a = \n", 1, 5),
        ("a = 1\nb = = 2\n", 2, 5),
        ("a = 1\na = 2\n", 2, 1),
        ("[t]\na = 1\n[t]\n", 3, 3),
        ("[[t]]\na = 1\n[t]\n", 3, 3),
        ("a = 1\n[a.b]\n", 2, 2),
        ('x = 1\na = "open\nb = 2\n', 2, 10),
        ("a = 01\n", 1, 6),
        ("a = [1, 2\n", 1, 10),
        ("a = { b = 1", 1, 12),
        ("a = [1,\r\n\r\n", 1, 8),
        ("é = 1\n", 1, 1),
        ("a = 2021-13-45\n", 1, 9),
        ("a = '\u2028' # x\u2028y\nb = [1,\n", 2, 8),
        ("\ufeffa = \n", 1, 5),
    ],
)
def test_a_syntax_error_has_its_place(text: str, line: int, column: int) -> None:
    (only,) = failures(text)
    assert only.code == "GC001"
    assert only.span is not None
    assert only.span.line == line
    assert abs(only.span.column - column) <= 1
    assert only.place == f"spec.toml:{only.span.line}:{only.span.column}"
    assert "(at " not in only.message


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "a = " + "{a=" * 5000 + "1" + "}" * 5000,
        "a" + ".a" * 3000 + " = 1\n",
        "[" + "a." * 3000 + "a]\nb = 1\n",
        "a = " + "9" * 5000,
        "a = " + "1" * 5000 + ".5",
        "a = 0x" + "f" * 6000,
        "a = " + "[" * 400 + "]" * 400,
        'a = "' + "\\u0000" + '"',
        "a = 1\rb = 2",
        "a\x00 = 1",
        'a = "\\ud800"',
    ],
    ids=[
        "deep arrays", "deep tables", "long dotted key", "long header", "huge integer", "huge float",
        "huge hexadecimal", "rather deep arrays", "nul", "bare carriage return", "nul in a key", "surrogate",
    ],
)  # fmt: skip
def test_hostile_text_is_read_or_refused_with_a_finding(text: str) -> None:
    try:
        parse_source(text, FILE)
    except SpecError as error:
        assert error.diagnostics


def test_every_number_that_is_not_finite_is_found_at_its_place() -> None:
    found = failures("a = nan\nb = [1.0, -inf]\n[t]\nc = { d = +inf }\ne = 1e999\n")
    assert [each.code for each in found] == ["GC003"] * 4
    spans = [(each.span.line, each.span.column) for each in found if each.span]
    assert spans == [(1, 5), (2, 11), (4, 11), (5, 5)]


def test_text_that_is_not_in_normal_form_is_found_at_its_place() -> None:
    found = failures('a = "cafe\u0301"\nb = ["caf\u00e9", "e\u0301"]\n# e\u0301 in a comment is nothing\n')
    assert [(each.code, each.span) for each in found] == [
        ("GC004", Span(1, 5, 7)),
        ("GC004", Span(2, 14, 4)),
    ]


@pytest.mark.parametrize(
    "text", ['x = 1\n"e\u0301" = 1\n', 'x = 1\n["e\u0301"]\ny = 1\n', 'x = 1\nt = { "e\u0301" = 1 }\n']
)
def test_a_key_that_is_not_in_normal_form_is_found_at_the_key(text: str) -> None:
    (only,) = failures(text)
    assert only.code == "GC004"
    assert only.span is not None
    assert only.span.line == 2
    line = text.split("\n")[1]
    assert line[only.span.column - 1 :].startswith('"e\u0301"')


def test_an_escape_cannot_hide_text_that_is_not_in_normal_form() -> None:
    assert [each.code for each in failures('a = "e\\u0301"\n')] == ["GC004"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a = '\xff'", "this byte is not UTF-8"),
        (b"SQLite\0\xff", "the file is not text"),
        (b"#" * (16 * 1024 * 1024 + 1), "larger than"),
    ],
)
def test_bytes_that_cannot_be_read_are_refused(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "gridcard.toml"
    path.write_bytes(data)
    with pytest.raises(SpecError) as caught:
        read_source(path)
    (only,) = caught.value.diagnostics
    assert only.code == "GC002"
    assert words in only.message


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_path_without_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_source(tmp_path / name)
    assert [each.code for each in caught.value.diagnostics] == ["GC002"]


KEYS = st.text("abz_-9 .é𝔸\"'\\#=", max_size=4)
SCALARS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(min_value=date(1900, 1, 1)),
    st.text("abé𝔸 #=[]{}\"'\\\t", max_size=8),
)
TABLES = st.dictionaries(
    KEYS,
    st.recursive(SCALARS, lambda each: st.lists(each, max_size=3) | st.dictionaries(KEYS, each, max_size=3)),
)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{escaped}"'


def written(value: object, comments: bool) -> str:
    """A value as inline TOML."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return quoted(value)
        case dict():
            inside = ", ".join(f"{quoted(key)} = {written(each, False)}" for key, each in value.items())
            return f"{{ {inside} }}"
        case list():
            between = ", # a comment, é\n  " if comments else ", "
            return f"[{between.join(written(each, comments) for each in value)}]"
        case _:
            return str(value)


@settings(max_examples=60)
@given(TABLES, st.booleans())
def test_any_document_that_is_written_inline_is_found_again(table: dict[str, Any], comments: bool) -> None:
    text = "".join(f"{quoted(key)} = {written(value, comments)}\n" for key, value in table.items())
    source = parse_source(text, FILE)
    assert source.values == table
    for path in containers(table):
        assert path in source.spans
        if isinstance(path[-1], str):
            assert last_key(text_at(source, source.keys[path])) == path[-1]
    for path, value in leaves(table):
        if path and value not in ({}, []):
            assert text_at(source, source.spans[path]) == written(value, comments)


@pytest.mark.parametrize("hidden", ["\\u001b[2J", "\\u0007", "\\u202e", "\u202e", "\u2066", "\\u009b"])
@pytest.mark.parametrize("text", ['title = "a{}b"', '"a{}b" = 1', "title = ['ok', \"{}\"]"])
def test_what_a_reviewer_would_not_see_is_refused(hidden: str, text: str) -> None:
    assert [each.code for each in failures(text.format(hidden))] == ["GC005"]


@pytest.mark.parametrize(
    "text",
    [
        "\u0634\u0644\u0648\u0645",
        "\u05e9\u05dc\u05d5\u05dd",
        "a\\tb\\nc",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    ],
)
def test_right_to_left_scripts_tabs_and_line_ends_are_text(text: str) -> None:
    assert parse_source(f'title = "{text}"', Path("gridcard.toml")).values
