"""The published JSON Schemas (draft 2020-12), generated from the typed models, and their reference.

`gridcard` is the language, shorthand included, and `extension` the same for a spec that says only in what it
differs from another; `deviations` is the log beside it. `certificate`, `estimates`, `card`, `scorecard` and
`deviation-report` are what a study gives; `policy` says what a run may lose against another one, `comparison`
what it lost, `logs` what logs of other packages certify, and `studies` is one report over several.

The reference is Markdown: each table with its keys, their defaults, what they take and, in short, what they
mean. It is generated too, so it cannot say something else than the schema that editors check a spec by.
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

Every table and key: its default, what it takes (text, unless stated), and in short what it means.
{whole}
Defaults stand in brackets; a key without one has no value until it is given.
"""
WHOLE = (
    "`gridc explain KEY` prints all of it, with examples; so does an editor that checks by "
    "`gridc schema --write`.",
    "`gridc schema {name}` prints all of it.",
)
"""Where the rest stands: of the language, and of other documents."""
EXTENSION = (
    "A spec may say only in what it differs from another one; `gridc validate --expanded` prints the whole."
)
SHARED = "Effects"
"""The keys of a call, which tables before it share."""
FEWEST_SHARED = 3
"""A table that has so many keys of another one links to that instead of repeating them."""


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
    whole = WHOLE[name != "gridcard"].format(name=name)
    parts = [HEAD.format(title=schema["title"], name=name, whole=whole)]
    parts.append(_section("Top level", schema["description"], schema, links, {}))
    if name == "gridcard":
        parts.append(_section("Top level of an extension", EXTENSION, {"properties": EXTENDING}, {}, {}))
    shared: dict[str, Node] = {SHARED: tables[SHARED]} if SHARED in tables else {}
    for section in sections:
        table = tables[section.name]
        words = first_sentence(table.get("description", ""))
        if section.heading[0] != "`":
            words += f" {section.places[0]}"
        others = {name: table for name, table in shared.items() if name != section.name}
        parts.append(_section(section.heading, words, table, links, others))
        shared.setdefault(section.name, {**table, "properties": _own(table, others)[0]})
    return _once("\n".join(parts))


def _once(text: str) -> str:
    """The text, in which a long list of values is written out where it stands first."""
    seen: set[str] = set()

    def again(found: re.Match[str]) -> str:
        if found[0] not in seen:
            seen.add(found[0])
            return found[0]
        return f"{found[0].partition(',')[0]}, ... (as above)"

    return re.sub(r'(`"[^`]+"`, ){8,}`"[^`]+"`', again, text)


LONG, LEAST = 9, 4
"""A first sentence with more words is cut at a colon or semicolon that has at least so many before it."""


def first_sentence(text: str) -> str:
    """What a description says first, in few words."""
    first = re.split(r"(?<=[.?])(?<!app\.)(?<!al\.)(?<!\.\.)\s+", " ".join(text.split()), maxsplit=1)[0]
    if len(first.split()) <= LONG:
        return first
    of_one_value = re.match(r"\w+: ", first)
    if of_one_value and len(first.split()) > 3 * LONG:
        return ""
    for mark in re.finditer(r"(?<!path)(?<!models)(?<!hf)[:;] ", first):
        before = first[: mark.start()]
        closed = all(before.count(one) == before.count(other) for one, other in PAIRS)
        if len(before.split()) >= LEAST and closed and not of_one_value:
            return f"{before}."
    return first


PAIRS = ("(", ")"), ("[", "]"), ("{", "}")
GUESSED = "true/false", "integer", "number"
"""What need not be stated beside a default."""


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


def _section(
    heading: str, words: str, table: Node, links: Mapping[str, str], others: Mapping[str, Node]
) -> str:
    """A section: its heading, what it is, and a line for each key that none of the other tables has."""
    lines = [f"## {heading}", "", words, ""]
    own, borrowed = _own(table, others)
    lines += [_line(key, field, key in table.get("required", ()), links) for key, field in own.items()]
    if own:
        lines.append("")
    elif not borrowed and isinstance(table.get("additionalProperties"), dict):
        lines += [f"Any key; each value is {_briefly(table['additionalProperties'], links)}.", ""]
    said = []
    for name, keys in borrowed.items():
        left = [key for key in others[name]["properties"] if key not in keys]
        names = ", ".join(f"`{key}`" for key in min(keys, left, key=len))
        every = f"all keys of {links[name]}{names and f' but {names}'}"
        said.append(f"{names} of {links[name]}" if len(keys) <= len(left) else every)
    if said:
        lines += [f"It {'also takes' if own else 'takes'} {'; '.join(said)}.", ""]
    return "\n".join(lines)


def _own(table: Node, others: Mapping[str, Node]) -> tuple[dict[str, Node], dict[str, list[str]]]:
    """The keys that only this table has, and those that others have with the same meaning, by table."""
    own = dict(table.get("properties", {}))
    borrowed: dict[str, list[str]] = {}
    needed = table.get("required", ())
    for name, other in others.items():
        fields, also = other.get("properties", {}), other.get("required", ())
        alike = [
            key for key, field in own.items() if field == fields.get(key) and (key in needed) == (key in also)
        ]
        if len(alike) >= FEWEST_SHARED:
            borrowed[name] = alike
            own = {key: field for key, field in own.items() if key not in alike}
    return own, borrowed


def _line(key: str, field: Node, required: bool, links: Mapping[str, str]) -> str:
    """A key in a line: what it takes, unless its meaning names each value; its default; what it means."""
    meaning, default = meaning_of({**field, "examples": ()}, required)
    first, taken = first_sentence(meaning), _briefly(field, links)
    values = re.findall(r'`"([^"`]+)"`', taken)
    default = default.partition(";")[0]
    if re.split(r"[:,]", first)[0] in values and ";" in meaning:
        first = ""  # each value is explained
    elif values and not re.search(r"\[| or ", taken):
        if all(re.search(rf"\b{re.escape(value)}\b", first) for value in values):
            taken = ""
        else:
            first = re.sub(rf"(\w): ({'|'.join(map(re.escape, values))})\b.*", r"\1.", first)
    elif taken == "text" or (default and not required and taken in GUESSED):
        taken = ""
    shown = default if required else "" if default in ("", "none") else f"({default})"
    name = f"`{key}`"
    if link := re.match(rf"\[`(?:[\w.]+\.)?{key}`\](\(#\w+\))(?:$|, )", taken):
        name, taken = f"[`{key}`]{link[1]}", taken[link.end() :]
    head = " ".join(filter(None, [name, shown]))
    return f"- {': '.join(filter(None, [head, '. '.join(filter(None, [taken, first]))]))}"


def _briefly(field: Node, links: Mapping[str, str]) -> str:
    """What a key takes, in fewer words than `takes`."""
    said = takes(field, links)
    for long, short in BRIEF:
        said = re.sub(long, short, said)
    return said


BRIEF = (
    (r"`true`, `false`", "true/false"),
    (r"a list of: text", "texts"),
    (r"a list of: \[", "["),
    (r"a list of: ", "list of "),
    (r" \(at (least|most) \d+\)", ""),
    (r"a table of names, each with ", "table of "),
    (r"text like `", "`"),
    (r"\[`[\w.]+` of kind ", "["),
    (r"whole number", "integer"),
    (r" from ([\d.,]+) to ([\d.,]+)", r" \1–\2"),
    (r" from [01]\b| above 0\b(?! (to|below))", ""),
    (r" above 0 to ", " up to "),
    (r"(?<=\)) or (?=\[)", ", "),
    (r" from (\d+)", r" ≥ \1"),
    (r"text or texts", "text(s)"),
    (r"(\[[^]]*\]\([^)]*\)) or \1", r"\1, one or several"),
)


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
