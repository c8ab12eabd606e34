"""The published JSON Schemas (draft 2020-12), generated from the typed models, and their reference.

`gridcard` is the language, shorthand included, and `extension` the same for a spec that says only in what it
differs from another; `deviations` is the log beside it. `certificate`, `estimates`, `card`, `scorecard` and
`deviation-report` are what a study gives; `policy` says what a run may lose against another one, `comparison`
what it lost, `logs` what logs of other packages certify, and `studies` is one report over several.

The reference is Markdown: each table with its keys, what they take and the defaults. It is generated too, so
it cannot say something else than the schema that editors check a spec by.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gridc.files import write_atomic
from gridc.schema.shorthand import keys_in_short, written

NAMES = (
    "gridcard", "extension", "deviations",
    "certificate", "estimates", "card", "scorecard", "deviation-report", "policy", "comparison", "logs",
    "studies",
)  # fmt: skip

EXTENDING: dict[str, Any] = {
    "extends": {
        "type": "string",
        "minLength": 1,
        "description": "The spec beside this one whose tables stand here unless they are written again. "
        "Tables are merged key by key, entries with an `id` into the entry of that id; other entries are "
        "added behind the base's, and any other value stands in the place of the base's.",
        "examples": ["base.toml"],
    },
    "remove": {
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "description": "What is left out of the base before it is merged: keys and ids as in `binds`; a "
        "waiver by its code. Default: nothing.",
        "examples": [["axis.template.level.T4", "benchmark.bbq.exemplars", "exclude", "waive.GC513"]],
    },
}
"""The keys of an extension that no other spec has. They say how the spec is read, and are no part of it."""


INPUTS = ("gridcard", "extension", "deviations", "policy")
"""The documents that people write, in TOML."""
VERSIONS = {"certificate": 3, "estimates": 2, "card": 3, "scorecard": 2, "deviation-report": 2, "logs": 2}
"""The documents whose format is not the first one."""


def file_name(name: str) -> str:
    """The file that a schema is committed as, by the version of its format."""
    return f"{name}.v{VERSIONS.get(name, 1)}.schema.json"


def generate(name: str = "gridcard") -> dict[str, Any]:
    """The schema that is published, as the models and the shorthand of the language define it now."""
    if name == "extension":
        return written(_extension(model_schema("gridcard")))
    return written(model_schema(name)) if name == "gridcard" else model_schema(name)


def model_schema(name: str) -> dict[str, Any]:
    """The schema as the models define it: a spec without shorthand."""
    # The models of the documents are imported here, because validating a spec needs none of them.
    from gridc.schema.card import CardDeck
    from gridc.schema.certificate import Certificate
    from gridc.schema.comparison import Policy, RunComparison
    from gridc.schema.deviation import DeviationLog, DeviationReport
    from gridc.schema.estimates import Estimates
    from gridc.schema.recorded import LogCertificate
    from gridc.schema.scorecard import Scorecard, StudiesTogether
    from gridc.schema.spec import Spec

    models: dict[str, tuple[type[BaseModel], str]] = {
        "gridcard": (Spec, "GRID card"),
        "deviations": (DeviationLog, "gridc deviation log"),
        "certificate": (Certificate, "gridc certificate"),
        "estimates": (Estimates, "gridc estimates"),
        "card": (CardDeck, "GRID cards of a study"),
        "scorecard": (Scorecard, "gridc scorecard"),
        "deviation-report": (DeviationReport, "gridc deviation log as a report"),
        "policy": (Policy, "gridc release policy"),
        "comparison": (RunComparison, "gridc comparison of two runs"),
        "logs": (LogCertificate, "gridc certificate of logs"),
        "studies": (StudiesTogether, "gridc report over several studies"),
    }
    model, title = models[name]
    schema = model.model_json_schema(by_alias=True, mode="validation")
    for definition in (schema, *schema["$defs"].values()):
        _tidy(definition, name in INPUTS)
        _describe(definition, schema["$defs"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:gridc:schema:{name}:1",
        **schema,
        "title": title,
    }


def schema_text(name: str = "gridcard") -> str:
    """The schema as it is committed and printed."""
    return json.dumps(generate(name), indent=2, ensure_ascii=False) + "\n"


def write_schema(name: str, folder: Path) -> Path:
    """Write the schema into a folder in one step; its path. Raises `OSError`."""
    path = folder / file_name(name)
    write_atomic(path, schema_text(name))
    return path


def load(name: str = "gridcard") -> dict[str, Any]:
    """The committed schema; a test holds it equal to `generate()`."""
    source = resources.files("gridc.schema").joinpath(file_name(name)).read_text("utf-8")
    schema: dict[str, Any] = json.loads(source)
    return schema


def _extension(schema: dict[str, Any]) -> dict[str, Any]:
    """The language's schema where every table may leave out what its base says: `id` names an entry, and what
    has none is an entry of its own."""
    fields = list(schema["properties"].values())
    sections = [table for field in fields if "items" not in field for table in _held(field, schema)]
    entries = [table for field in fields if "items" in field for table in _held(field, schema)]
    nested = [
        table for section in entries for field in section["properties"].values()
        if "items" in field for table in _held(field, schema)
    ]  # fmt: skip
    for table in sections:
        table["required"] = []
    for table in (*entries, *nested):
        if "id" in table.get("required", ()):
            table["required"] = ["id"]
            for rule in ("if", "else"):  # what is needed beside others may be in the base
                table.pop(rule, None)
    hypotheses = schema["properties"]["hypothesis"]["items"]
    schema["properties"]["hypothesis"]["items"] = {"anyOf": hypotheses["oneOf"]}
    head = {key: schema[key] for key in ("$schema", "$defs", "additionalProperties", "type")}
    return {
        **head,
        "$id": "urn:gridc:schema:extension:1",
        "title": "GRID card that extends another",
        "description": "A spec that says only in what it differs from another one.",
        "properties": EXTENDING | schema["properties"],
        "required": ["gridcard", "extends"],
    }


def _held(field: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables that a key holds, one or several."""
    if "$ref" in field:
        return [schema["$defs"][field["$ref"].rpartition("/")[2]]]
    inner = [
        *field.get("anyOf", ()),
        *field.get("oneOf", ()),
        *([field["items"]] if "items" in field else []),
    ]
    return [table for branch in inner for table in _held(branch, schema)]


def _tidy(definition: dict[str, Any], is_input: bool) -> None:
    """Optional keys are left out of a TOML file, never null, and are null in what gridc writes; generated
    titles only repeat the key."""
    for name, field in definition.get("properties", {}).items():
        field.pop("title", None)
        if isinstance(field.get("default"), dict):
            field["default"] = {key: value for key, value in field["default"].items() if value is not None}
        if field.get("default", ...) is not None:
            continue
        del field["default"]
        if not is_input:
            continue
        branches = [branch for branch in field.get("anyOf", ()) if branch != {"type": "null"}]
        if len(branches) > 1:
            field["anyOf"] = branches
        if len(branches) == 1:
            del field["anyOf"]
            definition["properties"][name] = branches[0] | field


def _describe(definition: dict[str, Any], tables: dict[str, Any]) -> None:
    """A key that is a table of its own says what the table says, because editors show the key's words."""
    for field in definition.get("properties", {}).values():
        if "$ref" in field and "description" not in field:
            field["description"] = tables[field["$ref"].rpartition("/")[2]]["description"]


Node = Mapping[str, Any]

HEAD = """# {title}: reference

<!-- Generated by `gridc schema {name} --markdown` from the descriptions in gridc/schema. -->

Every table and every key. *Required* keys have no default; a key that is optional and states no default
has no value unless it is given. Where a row names a table, the table has a section of its own.
"""
EXTENSION = (
    "A spec may say only in what it differs from another one; `gridc validate --expanded` prints the whole. "
    "Editors check it by `extension.v1.schema.json`."
)
SHARED = "Effects"
"""The table whose keys several other tables share: they link to it instead of repeating its rows."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the format, the heading that it stands under, and the places where it may be written."""

    name: str
    heading: str
    places: tuple[str, ...]

    @property
    def link(self) -> str:
        """A link to it, under the anchor that GitHub gives its heading."""
        anchor = re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")
        return f"[{self.heading.replace('[', '').replace(']', '')}](#{anchor})"


def reference(name: str = "gridcard") -> str:
    """The reference of the schema of this name, as it is committed and printed."""
    schema = keys_in_short(model_schema(name)) if name == "gridcard" else generate(name)
    tables: Mapping[str, Node] = schema["$defs"]
    sections = list(sections_of(schema))
    links = {section.name: section.link for section in sections}
    parts = [HEAD.format(title=schema["title"], name=name)]
    parts.append(_rows("Top level", schema["description"], schema, links, None))
    if name == "gridcard":
        parts.append(_rows("Top level of an extension", EXTENSION, {"properties": EXTENDING}, {}, None))
    for section in sections:
        table = tables[section.name]
        shared = tables.get(SHARED) if section.name != SHARED else None
        words = table.get("description", "")
        if len(section.places) > 1 or section.places[0] != section.heading:
            words += f"\n\nWritten as {', '.join(section.places)}."
        parts.append(_rows(section.heading, words, table, links, shared))
    return "\n".join(parts)


def sections_of(schema: Node) -> list[Section]:
    """Every table that is reachable from the top, each once, behind the one that names it first."""
    places: dict[str, list[str]] = {}

    def visit(path: str, table: Node) -> None:
        keys = table.get("properties") or {"NAME": {"anyOf": [table.get("additionalProperties", {})]}}
        for key, field in keys.items():
            where = f"{path}.{key}" if path else key
            for name, listed in _tables(field):
                known = places.setdefault(name, [])
                known.append(f"`[[{where}]]`" if listed else f"`[{where}]`")
                if len(known) == 1:
                    visit(where, schema["$defs"][name])

    visit("", schema)
    return [
        Section(name, _heading(name, where, schema), tuple(dict.fromkeys(where)))
        for name, where in places.items()
    ]


def _tables(field: Node, listed: bool = False) -> Iterator[tuple[str, bool]]:
    """The tables that a key may hold, and whether it holds a list of them."""
    if "$ref" in field:
        yield field["$ref"].rpartition("/")[2], listed
    if "items" in field:
        yield from _tables(field["items"], True)
    for branch in (*field.get("anyOf", ()), *field.get("oneOf", ())):
        yield from _tables(branch, listed)
    for key in ("additionalProperties", "patternProperties"):
        inner = field.get(key)
        if isinstance(inner, dict):
            for pattern in [inner] if key == "additionalProperties" else inner.values():
                yield from _tables(pattern, listed)


def _heading(name: str, places: list[str], schema: Node) -> str:
    """The place where there is only one that only this table may stand at; else what the table is called."""
    table = schema["$defs"][name]
    kind = table.get("properties", {}).get("kind", {})
    kinds = [kind["const"]] if "const" in kind else kind.get("enum", [])
    if places[0] in ("`[[hypothesis]]`", "`[[benchmark.match.filters]]`") and kinds:
        return f"{places[0]} of kind {', '.join(kinds)}"
    if len(places) == 1 and "NAME" not in places[0]:
        return places[0]
    if places[0].count(".") == 0:
        return places[0]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _rows(heading: str, words: str, table: Node, links: Mapping[str, str], shared: Node | None) -> str:
    """A section: its heading, what it is, and a row for each key that is its own."""
    lines = [f"## {heading}", "", words, ""]
    keys: Mapping[str, Node] = table.get("properties", {})
    borrowed = [key for key in keys if shared and keys[key] == shared.get("properties", {}).get(key)]
    own = [key for key in keys if key not in borrowed]
    if own:
        lines += ["| key | takes | default | meaning |", "|---|---|---|---|"]
        lines += [_row(key, keys[key], key in table.get("required", ()), links) for key in own]
        lines.append("")
    elif not keys and isinstance(table.get("additionalProperties"), dict):
        lines += [f"Any key; each value is {takes(table['additionalProperties'], links)}.", ""]
    if borrowed and shared:
        others = [key for key in shared["properties"] if key not in borrowed]
        names = ", ".join(f"`{key}`" for key in min(borrowed, others, key=len))
        lines += [
            f"It also takes {names} of {links[SHARED]}."
            if len(borrowed) <= len(others)
            else f"It also takes all keys of {links[SHARED]}{names and f' but {names}'}.",
            "",
        ]
    return "\n".join(lines)


def _row(key: str, field: Node, required: bool, links: Mapping[str, str]) -> str:
    meaning, default = meaning_of(field, required)
    cells = (f"`{key}`", takes(field, links), default, meaning)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def meaning_of(field: Node, required: bool) -> tuple[str, str]:
    """What a key means, with examples, and its default."""
    meaning = field.get("description", "")
    stated = re.search(r"\s*Default: (.+?)\.(?=\s|$)", meaning)
    default = "*required*" if required else ""
    if stated:
        default, meaning = stated[1], meaning[: stated.start()] + meaning[stated.end() :]
    elif field.get("default") not in (None, [], {}):
        default = f"`{json.dumps(field['default'], ensure_ascii=False)}`"
    examples = field.get("examples", ())
    if examples:
        meaning += f" Such as {', '.join(f'`{toml_value(example)}`' for example in examples)}."
    return meaning.strip(), default


def takes(field: Node, links: Mapping[str, str]) -> str:
    """What a key takes, in words."""
    if "$ref" in field:
        return links[field["$ref"].rpartition("/")[2]]
    if "const" in field:
        return f"`{toml_value(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{toml_value(value)}`" for value in field["enum"])
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(dict.fromkeys(takes(branch, links) for branch in field[several]))
    match field.get("type"):
        case "array":
            return f"a list of: {takes(field.get('items', {}), links)}{_bounds(field, 'Items')}"
        case "string":
            return f"text like `{_plain(field['pattern'])}`" if _telling(field) else "text"
        case "integer":
            return f"whole number{_range(field)}"
        case "number":
            return f"number{_range(field)}"
        case "boolean":
            return "`true`, `false`"
        case "object":
            inner = [*field.get("patternProperties", {}).values(), field.get("additionalProperties")]
            values = [takes(branch, links) for branch in inner if isinstance(branch, dict)]
            return f"a table of names, each with {values[0]}" if values else "a table"
        case _:
            return "any value"


def _telling(field: Node) -> bool:
    """Whether a pattern says more than that the text is an id or is not empty."""
    pattern = field.get("pattern", "")
    return bool(pattern) and pattern.startswith(("^plugin:", "^GC"))


def _plain(pattern: str) -> str:
    return "plugin:NAME" if "plugin:" in pattern else pattern.strip("^$").replace(r"\d", "0")


RANGE = {
    "minimum": "from",
    "exclusiveMinimum": "above",
    "maximum": "to",
    "exclusiveMaximum": "below",
}


def _range(field: Node) -> str:
    return "".join(f" {word} {field[key]:,}" for key, word in RANGE.items() if key in field)


def _bounds(field: Node, what: str) -> str:
    least, most = field.get(f"min{what}", 0), field.get(f"max{what}")
    limits = [f"at least {least}"] if least > 1 else []
    limits += [f"at most {most}"] if most else []
    return f" ({', '.join(limits)})" if limits else ""


def toml_value(value: object) -> str:
    """A value as a spec writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_value(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)
