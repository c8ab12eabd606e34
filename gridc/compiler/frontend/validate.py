"""Validates the source of a spec and makes it a typed `Spec`, or explains everything that is wrong with it.

The typed models decide. JSON Schema is asked only where they refuse, because its errors say which rule is
broken at which place; here they become diagnostics in the words of the language.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel
from pydantic import ValidationError as ModelError

from gridc.compiler.frontend.foreign_words import key_meant, value_meant
from gridc.compiler.frontend.source import Source
from gridc.diagnostics.errors import Collector, Diagnostic, KeyPath
from gridc.numbers import counted
from gridc.schema.base import ID
from gridc.schema.items import LOADER_KINDS, FieldValue, LoaderKind, OptionList, SplitColumn
from gridc.schema.jsonschema import RANGE, toml_value
from gridc.schema.models import ENGINES, EngineKind
from gridc.schema.spec import Spec

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


T = TypeVar("T", bound=BaseModel)

_TYPES = {"object": "a table", "array": "an array", "string": "text", "number": "a number",
          "integer": "a whole number", "boolean": "true or false"}  # fmt: skip


def typed(source: Source) -> Spec:
    """The spec that the source says. Raises `SpecError` with all findings of the first stage to fail."""
    return typed_as(Spec, "gridcard", source)


def typed_as(model: type[T], schema: str, source: Source) -> T:
    """The document in the source as its typed model; `schema` is the name of the published JSON Schema.

    Raises `SpecError` with all findings of the first stage to fail. The model accepts nothing that the JSON
    Schema refuses (a test keeps them in step), so the schema is asked only where the model refuses.
    """
    try:
        return model.model_validate_json(json.dumps(source.values), strict=True)
    except (TypeError, ValueError, RecursionError) as failure:
        collector, refused = Collector(), failure
    validator = _validator(schema)
    for error in validator.iter_errors(source.values):
        for diagnostic in _explain(error, source, validator.schema):
            collector.add(diagnostic)
    unknown = [finding for finding in collector.diagnostics if finding.code == "GC101"]
    collector.diagnostics = [
        finding for finding in collector.diagnostics if not any(_follows(finding, other) for other in unknown)
    ]
    collector.diagnostics.sort(
        key=lambda diagnostic: (diagnostic.span.line, diagnostic.span.column) if diagnostic.span else (0, 0)
    )
    collector.raise_if_any()
    if isinstance(refused, ModelError):
        errors = [refusal for refusal in refused.errors() if refusal["type"] not in _SEEN]
        pointed = {
            _existing(refusal["loc"], source) for refusal in errors if refusal["type"].startswith("int_")
        }
        for model_error in errors:
            path = _existing(model_error["loc"], source)
            if path in pointed and not model_error["type"].startswith("int_"):
                continue  # another type that the value could have had: the finding about the number is enough
            # JSON Schema takes 1.0 for a whole number, so only the model refuses it.
            if model_error["type"].startswith("int_"):
                message = f"{_name(path, source)} must be a whole number, written without a point"
                written = cast("float", _at(path, source.values))
                collector.add(source.diagnose("GC102", path, message, f"write it as {written:.0f}"))
            else:
                help = getattr(model_error.get("ctx", {}).get("error"), "help", None)
                collector.add(
                    source.diagnose("GC105", path, model_error["msg"].removeprefix("Value error, "), help)
                )
        collector.raise_if_any()
    raise refused


def _follows(finding: Diagnostic, unknown: Diagnostic) -> bool:
    """Whether a finding only follows from an unknown key: the help for that key already names what the table
    lacks. Or `[[axis.level]]` after a misspelt `[[axes]]` makes a table of `axis`, where a list is wanted."""
    table, _, lacking = finding.message.partition(" lacks ")
    named = f"{lacking or table.partition(' ')[0]}".strip("`")
    same_table = unknown.message.endswith(f" in {table}") or (unknown.help or "").endswith(_HEAD)
    if finding.code not in ("GC102", "GC103") or (lacking and not same_table):
        return False
    return re.search(rf"`\[*{re.escape(named)}(?:\]*`| = )", unknown.help or "") is not None


_SEEN = ("too_short", "model_type", "model_attributes_type", "tuple_type")
"""Types of pydantic's errors that follow from others, which the schema reports: a list with a wrong row
counts as too short, and where a table or a list of tables is allowed, both are tried."""


def _existing(path: Iterable[str | int], source: Source) -> KeyPath:
    """The parts of a pydantic path that the document has: pydantic also names the variants of unions."""
    value: Any = source.values
    keys: list[str | int] = []
    for part in path:
        try:
            value = value[part]
        except (LookupError, TypeError):
            continue
        keys.append(part)
    return tuple(keys)


def _at(path: KeyPath, values: Any) -> object:
    for part in path:
        values = values[part]
    return values


def did_you_mean(name: str, names: Iterable[str], others: Iterable[str] = ()) -> str:
    """A help line: the nearest known name, or else the first twelve, after `others` that may stand there."""
    from difflib import get_close_matches

    names = list(names)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    shown = ", ".join([*others, *(f"`{known_name}`" for known_name in names[:12])])
    return f"known here: {shown}{' and more' if len(names) > 12 else ''}" if names else "none is declared"


@lru_cache
def _validator(schema: str) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator

    from gridc.schema import jsonschema as published

    return Draft202012Validator(published.model_schema(schema))


def _explain(error: "ValidationError", source: Source, whole: Any) -> Iterator[Diagnostic]:
    """One error of the `whole` schema as diagnostics: at its place, in the words of the language."""
    path: KeyPath = tuple(error.absolute_path)
    rule: Any = error.validator_value
    schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    where = _name(path, source)
    match error.validator:
        case "additionalProperties":
            known_keys = list(schema.get("properties", {}))
            table: Any = error.instance
            unknown = {name: value for name, value in table.items() if name not in known_keys}
            for key in unknown:
                message = f"unknown key `{key}` in {where}"
                meant = (
                    _in_top_table(key, table[key], path, schema, whole)
                    or _lacking(table[key], unknown, table, schema, whole)
                    or (_of_calls(whole) and key_meant(path, key, table[key], source.values, known_keys))
                )
                help = meant or _belongs(key, unknown, schema, whole) or did_you_mean(key, known_keys)
                yield source.diagnose("GC101", (*path, key), message, help, at_key=True)
        case "required":
            missing = next(key for key in rule if f"'{key}' is a required" in error.message)
            wanted = schema.get("properties", {}).get(missing, {})
            meaning = wanted.get("description")
            if meaning and wanted.get("type") == "boolean":
                meaning = f"{missing} = true: {meaning}"
            yield source.diagnose("GC103", path, f"{where} lacks `{missing}`", meaning, at_key=True)
        case "type":
            names = rule if isinstance(rule, list) else [rule]
            expected = " or ".join(_TYPES[name] for name in names)
            meant = _of_calls(whole) and value_meant(path, error.instance, source.values)
            if meant := meant or _headed(path, error.instance, schema, names, whole):
                yield source.diagnose("GC102", path, f"{where} must be {expected}", meant)
                return
            retyped = _retyped(error.instance, schema, names)
            if names == ["object"] and "{" not in (_meaning(error) or ""):
                retyped = _tabled(path, error.instance, schema, whole)
            explanations = [(_meaning(error) or "").rstrip("."), retyped]
            explanation = (
                "; ".join(filter(None, explanations))
                if all(explanations)
                else _meaning(error) or explanations[1]
            )
            yield source.diagnose("GC102", path, f"{where} must be {expected}", explanation)
        case "oneOf" if "discriminator" in schema:
            yield from _explain_variant(error, source, path, whole)
        case "anyOf" if known_keys := [name for variant in rule for name in variant.get("enum", ())]:
            listed: Any = error.instance
            other_values = _other_values(rule, whole)
            near = (
                _other_name(str(listed), known_keys)
                or value_meant(path, listed, source.values)
                or did_you_mean(str(listed), known_keys, other_values)
            )
            way_out = near if other_values or isinstance(listed, str) else _meaning(error)
            yield source.diagnose("GC104", path, f"{where} cannot be {listed!r}", way_out)
        case "anyOf" if (table := _table_of(error)) is not None:
            yield from (diagnostic for inner in table for diagnostic in _explain(inner, source, whole))
        case "anyOf" if (inner := _of_one_or_several(error)) is not None:
            yield from (diagnostic for finding in inner for diagnostic in _explain(finding, source, whole))
        case "anyOf":
            if any(isinstance(error.instance, int | float) and "maximum" in variant for variant in rule):
                yield from _explain((error.context or [])[0], source, whole)
                return
            selects = any("$ref" in variant and variant["$ref"] not in TABLES_OF_FIELDS for variant in rule)
            types = " or ".join(
                dict.fromkeys(_TYPES[variant["type"]] for variant in rule if "type" in variant)
            )
            types += " or a table" if any(variant.get("$ref") in TABLES_OF_FIELDS for variant in rule) else ""
            expected = "a name, a list of names, or { not = ... }" if selects else types
            lists: Mapping[str, Any] = next(
                (variant for variant in rule if variant.get("type") == "array"), {}
            )
            meaning = _meaning(error)
            retyped = _retyped(error.instance, lists, ["string"] if selects else ["array"])
            way_out = f"{meaning.rstrip('.')}; {retyped}" if meaning and retyped else meaning or retyped
            yield source.diagnose("GC102", path, f"{where} must be {expected}", way_out)
        case "enum":
            help = value_meant(path, error.instance, source.values) or did_you_mean(str(error.instance), rule)
            yield source.diagnose("GC104", path, f"{where} cannot be {error.instance!r}", help)
        case "maximum" | "minimum" | "exclusiveMaximum" | "exclusiveMinimum":
            ends = " ".join(f"{word} {schema[end]:,}" for end, word in RANGE.items() if end in schema)
            share = error.validator == "maximum" and rule == 1 and cast("float", error.instance) <= 100
            percent = f": {error.instance} % is {cast('float', error.instance) / 100:g}" if share else ""
            number = f"write a number {ends}{percent}"
            help = "; ".join(filter(None, ((_meaning(error) or "").rstrip("."), number)))
            yield source.diagnose("GC104", path, f"{where}: {error.message}", help)
        case "maxProperties":
            several: Any = error.instance
            listed = ", ".join(f"`{name}`" for name in several)
            message = f"{where} has {listed}, of which there may be {rule}"
            yield source.diagnose("GC104", path, message, _meaning(error))
        case "const":
            yield source.diagnose(
                "GC104", path, f"{where} must be {rule!r}, not {error.instance!r}", _meaning(error)
            )
        case "minItems" | "minLength":
            items = error.validator == "minItems"
            least = f"at least {counted(rule, 'entry', 'entries')}" if items and rule > 1 else ""
            help = "; ".join(filter(None, ((_meaning(error) or "").rstrip("."), least)))
            yield source.diagnose("GC104", path, f"{where} is empty or too short", help or None)
        case "pattern" if rule == ID:
            near = re.sub(r"[^A-Za-z0-9_.\-]+", "_", str(error.instance)).strip("_.-")
            allowed = "letters, digits, `_`, `.` and `-`, the first a letter or a digit"
            shape = f"An id has {allowed}" + (f': "{near}"' if near else "")
            help = " ".join(filter(None, (_meaning(error), shape)))
            yield source.diagnose("GC104", path, f"{where} cannot be {error.instance!r}", help)
        case "pattern" if _of_calls(whole) and (meant := value_meant(path, error.instance, source.values)):
            yield source.diagnose("GC104", path, f"{where} cannot be {error.instance!r}", meant)
        case "pattern":
            bare = path[-1:] == ("source",) and ":" not in str(error.instance)
            advice = f'did you mean "path:{error.instance}"? {_meaning(error)}' if bare else _meaning(error)
            yield source.diagnose("GC104", path, f"{where} cannot be {error.instance!r}", advice)
        case _:
            yield source.diagnose("GC104", path, f"{where}: {error.message}", _meaning(error))


def _other_values(variants: Iterable[Mapping[str, Any]], whole: Any) -> list[str]:
    """What may stand in place of a name: true and false, or a table."""
    other_values = []
    for variant in variants:
        if variant.get("type") == "boolean":
            other_values += ["true", "false"]
        if "$ref" in variant:
            table = whole["$defs"][variant["$ref"].rpartition("/")[2]]
            other_values += [f"{{ {name} = ... }}" for name in table.get("properties", ())]
    return other_values


def _other_name(given: str, known: Iterable[str]) -> str | None:
    """The loader or engine that other packages call by this word, as a help line."""
    rows: dict[str, LoaderKind | EngineKind] = {**LOADER_KINDS, **ENGINES}
    meant = (name for name, row in rows.items() if given.lower() in row.also and name in known)
    return next((f"did you mean `{name}`?" for name in meant), None)


TABLES_OF_FIELDS = frozenset(f"#/$defs/{table.__name__}" for table in (FieldValue, OptionList, SplitColumn))
"""What may stand in place of a column's name."""


def _table_of(error: "ValidationError") -> list["ValidationError"] | None:
    """What is wrong with a table that stands in place of a column's name; None where it is no such table."""
    for branch, variant in enumerate(cast("list[dict[str, Any]]", error.validator_value)):
        if variant.get("$ref") in TABLES_OF_FIELDS and isinstance(error.instance, dict):
            return [inner for inner in error.context or () if inner.relative_schema_path[0] == branch]
    return None


def _of_one_or_several(error: "ValidationError") -> list["ValidationError"] | None:
    """What is wrong with a table where there may be one or a list of them; None where it is neither."""
    variants = cast("list[dict[str, Any]]", error.validator_value)
    listed = [number for number, variant in enumerate(variants) if "$ref" in variant.get("items", {})]
    if len(variants) != 2 or not listed or {"$ref": variants[listed[0]]["items"]["$ref"]} not in variants:
        return None
    if not isinstance(error.instance, dict | list):
        return None
    branch = listed[0] if isinstance(error.instance, list) else 1 - listed[0]
    return [inner for inner in error.context or () if inner.relative_schema_path[0] == branch]


def _of_calls(schema: Any) -> bool:
    """Whether a schema is that of a spec: only a spec has keys of calls, which other packages name too."""
    return "harness" in schema["properties"]


def _headed(
    path: KeyPath, value: object, schema: Mapping[str, Any], types: Iterable[str], whole: Any
) -> str | None:
    """The header to write where a single table stands for a list of tables, or a list for a single one."""
    name = ".".join(part for part in path if isinstance(part, str))
    rows = schema.get("items", {})
    entry = whole["$defs"].get(rows.get("$ref", "").rpartition("/")[2], rows)
    if "array" in types and ("properties" in entry or "oneOf" in entry):
        keys = ", ".join(f"`{key}`" for key in entry.get("required", ()))
        table = f"[[{name}]]{f' with {keys}' if keys else ''}"
        return f"write `[[{name}]]` here" if isinstance(value, dict) else f"write a table for each: {table}"
    several = isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    return f"write `[{name}]` here" if "object" in types and several else None


def _retyped(value: object, schema: Mapping[str, Any], types: Iterable[str]) -> str | None:
    """The value in the type that is wanted, where only quotes or brackets have to be added or removed."""
    if isinstance(value, str) and not {"string", "array"} & set(types):
        literal = re.fullmatch(r"-?\d+(\.\d+)?|true|false", value)
        percent = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", value)
        if percent is not None and "number" in types:
            return f"write a part of 1, without quotes: {float(percent[1]) / 100:g}"
        return f"write it without quotes: {value}" if literal else None
    if "string" in types and isinstance(value, int | float | date | time):
        return f'write it between quotes: "{value if isinstance(value, date | time) else json.dumps(value)}"'
    several = re.split(r"\s*(?:>|,|;|\n)\s*", value) if isinstance(value, str) else []
    if "array" in types and len(several) > 1 and all(re.fullmatch(ID, part) for part in several):
        return f"write a list: {json.dumps(several, ensure_ascii=False)}"
    entry_type = {"string": str, "number": int | float}.get(schema.get("items", {}).get("type"))
    if "array" in types and entry_type is not None and isinstance(value, entry_type):
        return f"write a list: [{json.dumps(value, ensure_ascii=False)}]"
    return None


def _tabled(path: KeyPath, value: object, schema: Mapping[str, Any], whole: Any) -> str | None:
    """The table that is wanted, with the value at the first key that takes it."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    given = [*value] if isinstance(value, list) else [value]
    entries = []
    for name in schema.get("required", [*properties][:1]):
        wanted = properties[name]
        fits = given and _allows(wanted, given[0], whole)
        entries.append(f"{name} = {toml_value(given.pop(0)) if fits else _any_value(wanted)}")
    if not properties and (name := next(iter(schema.get("examples", [{}])[0]), "NAME")):
        inner: Any = schema.get("additionalProperties") or next(
            iter(schema.get("patternProperties", {}).values()), {}
        )
        entries.append(f"{name} = {toml_value(value if _allows(inner, value, whole) else [value])}")
    key = f"{path[-1]} = " if isinstance(path[-1], str) else ""
    return f"write a table: {key}{{ {', '.join(entries)} }}" if entries else None


def _allows(schema: Any, value: object, whole: Any) -> bool:
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator({**schema, "$defs": whole["$defs"]}).is_valid(value))


def _any_value(schema: Mapping[str, Any]) -> str:
    """One value that a key takes, or dots."""
    values = [
        *schema.get("enum", ()),
        *schema.get("examples", ()),
        *([True] if schema.get("type") == "boolean" else []),
    ]
    return toml_value(values[0]) if values else "..."


def _belongs(key: str, unknown: Mapping[str, object], schema: Mapping[str, Any], whole: Any) -> str | None:
    """Where an unknown key belongs: in a table inside this one (shown with the other unknown keys that belong
    there), in this table of another kind, or in a table of the top level."""
    for name, value in schema.get("properties", {}).items():
        if key in (keys := _keys(value, whole)):
            moved = {name: value for name, value in unknown.items() if name in keys}
            return f"it is a key of `{name}`: {name} = {toml_value(moved)}"
    tables = {
        name: value for name, value in whole.get("properties", {}).items() if key in _keys(value, whole)
    }
    for value in tables.values():
        mapping = value.get("items", {}).get("discriminator", {}).get("mapping", {})
        kinds = {kind: _keys({"$ref": ref}, whole) for kind, ref in mapping.items()}
        if set(schema.get("properties", ())) in kinds.values():
            takers = [f"`{kind}`" for kind in kinds if key in kinds[kind]]
            return f"it is a key of kind {' or '.join(filter(None, [', '.join(takers[:-1]), takers[-1]]))}"
    headers = [f"[[{name}]]" if "items" in value else f"[{name}]" for name, value in tables.items()]
    return f"it is a key of {' or '.join(headers[:3])}" if headers else None


def _in_top_table(
    key: str, value: object, path: KeyPath, schema: Mapping[str, Any], whole: Any
) -> str | None:
    """What to write for a table of the top level that stands inside another one or is misspelt, and for a key
    of the top level that stands below a header."""
    from difflib import get_close_matches

    top: Mapping[str, Any] = whole["properties"]
    near = get_close_matches(key, top, n=1, cutoff=0.85)
    name = key if key in top else None if path or not near else near[0]
    if name is None:
        return None
    rows = isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
    if not _keys(top[name], whole):
        assignment = f"`{name} = {toml_value(value)}`"
        return f"write {assignment} {_HEAD}" if path else None
    if not isinstance(value, dict) and not rows:
        return None
    if name == "harness" and path and isinstance(value, dict) and value.keys() <= schema["properties"].keys():
        return "leave this header out: the keys below it belong to the table that stands above it"
    return f"write `[[{name}]]` here" if "items" in top[name] else f"write `[{name}]` here"


_HEAD = "at the head of the file, above its first [table]"


def _lacking(
    value: object, unknown: Mapping[str, object], table: Mapping[str, object], schema: Any, whole: Any
) -> str | None:
    """The one key that a table lacks, where the value of its one unknown key would fit."""
    lacking = [name for name in schema.get("required", ()) if name not in table]
    tables = not isinstance(value, list) or any(isinstance(row, dict) for row in value)
    if len(unknown) != 1 or len(lacking) != 1 or tables:
        return None
    fits = _allows(schema["properties"][lacking[0]], value, whole)
    return f"write `{lacking[0]} = {toml_value(value)}` here" if fits else None


def _keys(schema: Any, whole: Any) -> set[str]:
    """The keys of all tables that a schema allows."""
    if "$ref" in schema:
        return _keys(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    inner = [
        *schema.get("anyOf", ()),
        *schema.get("oneOf", ()),
        *([schema["items"]] if "items" in schema else []),
    ]
    return set(schema.get("properties", ())).union(*(_keys(part, whole) for part in inner))


def _explain_variant(
    error: "ValidationError", source: Source, path: KeyPath, whole: Any
) -> Iterator[Diagnostic]:
    """A table whose kind decides its keys. Only findings of its stated kind are shown: against every other
    kind nearly each of its keys would be wrong."""
    schema: Any = error.schema
    refs: Any = error.validator_value
    key, variants = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
    table: Any = error.instance
    if not isinstance(table, dict):
        yield source.diagnose("GC102", path, f"{_name(path, source)} must be a table")
    elif key not in table:
        help = f"one of {', '.join(f'`{name}`' for name in variants)}"
        yield source.diagnose("GC103", path, f"{_name(path, source)} lacks `{key}`", help, at_key=True)
    elif not isinstance(table[key], str) or table[key] not in variants:
        help = did_you_mean(str(table[key]), variants)
        message = f"{_name((*path, key), source)} cannot be {table[key]!r}"
        yield source.diagnose("GC104", (*path, key), message, help)
    else:
        branch = [ref["$ref"] for ref in refs].index(variants[table[key]])
        for inner in error.context or ():
            if inner.relative_schema_path[0] == branch:
                yield from _explain(inner, source, whole)


def _meaning(error: "ValidationError") -> str | None:
    description = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    return " ".join(description.split()) if isinstance(description, str) else None


def _name(path: KeyPath, source: Source) -> str:
    """`axis[template].level[T4]`, or `the spec` at the top. An entry without a plain id goes by its
    number."""
    text, value = "", source.values
    for part in path:
        value = value[part]  # type: ignore[index]
        name = value.get("id") if isinstance(value, dict) else None
        plain = isinstance(name, str) and re.fullmatch(r"[\w.\-]{1,80}", name)
        text += f"[{name if plain else part}]" if isinstance(part, int) else f".{part}"
    return f"`{text.removeprefix('.')}`" if text else "the spec"
