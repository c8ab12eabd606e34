"""What a code, a word of the language (a key, a table, a value that a key takes) or a term means."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from gridc.diagnostics.errors import CODES, WIDTH, Diagnostic, UsageError
from gridc.diagnostics.errors import code_text as text_of_code
from gridc.schema.jsonschema import meaning_of, model_schema, sections_of, takes
from gridc.schema.shorthand import keys_in_short
from gridc.study.documentation import pages


def explained(word: str) -> str:
    """What there is to say of a code, of a key, a table or a value of the language, or of a term of
    docs/terms.md. Raises `UsageError` for a word that is none of these."""
    if word.upper() in CODES:
        return text_of_code(word.upper())
    wanted = word.strip("`[]").removeprefix(".")
    every = [*_meanings(), *_terms()]
    found = [meaning for meaning in every if wanted in (meaning.word, *meaning.dotted)]
    found = found or [meaning for meaning in every if wanted.lower() == meaning.word.lower()]
    found.sort(key=lambda meaning: meaning.what.startswith("a value"))
    if not found:
        known = dict.fromkeys([*CODES, *(meaning.word for meaning in every)])
        tried = () if re.fullmatch(r"GC\d*", wanted.upper()) else (wanted, wanted.lower())
        near = [name for each in tried for name in get_close_matches(each, known, n=1)]
        help = "`gridc explain` alone lists them all, and `gridc docs reference` has every key"
        if near:
            help = f"did you mean `gridc explain {near[0]}`?"
        message = f"no code, no word of a spec and no term is called {word}"
        raise UsageError([Diagnostic("GC000", message, help=help)])
    return "\n\n".join(_printed(found))


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a word is (`what`: a key, a table, a value of a key), in which `places`, and what it means."""

    word: str
    what: str
    places: tuple[str, ...]
    text: str

    @property
    def dotted(self) -> Iterator[str]:
        """The word with the table that it stands in, as in `harness.max_tokens`."""
        return (f"{place.partition(' ')[0].strip('[]')}.{self.word}" for place in self.places)


TOP = "the top level"


def _meanings() -> Iterator[_Meaning]:
    """Everything that can be explained: tables, keys, and the values that keys name."""
    schema: Mapping[str, Any] = keys_in_short(model_schema("gridcard"))
    sections = sections_of(schema)
    links = {section.name: section.heading.replace("`", "") for section in sections}
    tables: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((TOP,), schema)]
    for section in sections:
        table = schema["$defs"][section.name]
        kind = "of kind" in section.heading
        places = (section.heading.replace("`", ""),) if kind else tuple(p.strip("`") for p in section.places)
        tables.append((places, table))
        for place in dict.fromkeys(section.places):
            name = place.strip("`[]")
            if "NAME" not in name:
                keys = ", ".join(table.get("properties", ()))
                words = f"{table.get('description', '')}\n\nIts keys: {keys}." if keys else ""
                above, _, last = name.rpartition(".")
                yield _Meaning(last, f"a table, {place.strip('`')}", (above,), words)
    for places, table in tables:
        for key, field in table.get("properties", {}).items():
            meaning, default = meaning_of(field, key in table.get("required", ()))
            stated = f"Takes {takes(field, links)}."
            stated += " Required." if default == "*required*" else f" Default: {default}." if default else ""
            yield _Meaning(key, "a key", places, f"{meaning}\n\n{stated}")
            for value in _values(field):
                words = table.get("description", "") if field.get("const") == value else meaning
                yield _Meaning(value, f"a value of `{key}`", places, words)


def _terms() -> Iterator[_Meaning]:
    """The terms that all pages use, with the definitions of docs/terms.md."""
    (page,) = pages("terms")
    for row in re.findall(r"^\| (?!word \|)([^|]+) \| (.+) \|$", page.markdown, re.MULTILINE):
        text = re.sub(r" ?\(?\[[^\]]+\]\(([a-z]+)\.md[^)]*\)\)?", r" (`gridc docs \1`)", row[1])
        terms = row[0].split(", ")
        for term in terms:
            yield _Meaning(term, "a term" if len(terms) == 1 else f"one of {row[0]}", (), text)


def _values(field: Mapping[str, Any]) -> Iterator[str]:
    """The names that a key takes."""
    for value in (field.get("const"), *field.get("enum", ())):
        if isinstance(value, str):
            yield value
    for inner in (*field.get("anyOf", ()), *field.get("oneOf", ()), field.get("items")):
        if isinstance(inner, dict):
            yield from _values(inner)


def _printed(found: list[_Meaning]) -> Iterator[str]:
    """Each meaning once, with all the places that share it."""
    shared: dict[tuple[str, str], list[str]] = {}
    for meaning in found:
        shared.setdefault((meaning.what, meaning.text), []).extend(meaning.places)
    for (what, words), places in shared.items():
        where = (
            ""
            if not "".join(places) or what.startswith("a table")
            else f" of {', '.join(dict.fromkeys(places))}"
        )
        head = f"{found[0].word}: {what}{where}"
        parts = [head, *words.split("\n\n")]
        yield "\n\n".join(textwrap.fill(" ".join(part.split()), WIDTH) for part in parts if part)
