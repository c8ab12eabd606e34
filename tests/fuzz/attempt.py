"""What must hold whatever a spec's bytes are: it compiles or is refused with findings that can be shown."""

import json
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.source import parse_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics import sarif
from gridc.diagnostics.errors import Diagnostic, HazardError, SpecError, StampError, diagnostic
from gridc.schema import jsonschema
from gridc.schema.spec import Spec
from tests.fuzz.mutate import toml


def attempt(path: Path, data: bytes) -> tuple[Diagnostic, ...]:
    """Compile these bytes as the spec at `path`, and check what is promised. The findings: none where it is
    accepted."""
    path.write_bytes(data)
    require_that_the_schema_takes_what_the_model_takes(data)
    try:
        compiled = compile_spec(path)
    except (SpecError, StampError, HazardError) as error:
        assert error.diagnostics
        for each in error.diagnostics:
            require_that_it_can_be_shown(each)
        json.dumps([each.as_json() for each in error.diagnostics])
        json.dumps(sarif.sarif(error.diagnostics, path.parent)["runs"][0]["results"])
        return error.diagnostics
    written = tomllib.loads(data.decode())
    require_valid("extension" if "extends" in written else "gridcard", written)
    plan = Plan(compiled.study)
    assert plan.study_digest == Plan(compile_spec(path).study).study_digest
    again = typed(parse_source(toml(dict(compiled.source.values)), path))
    assert again.stamped() == typed(compiled.source).stamped(), "written otherwise, it means something else"
    assert Spec.model_validate(compiled.spec.stamped()).stamped() == compiled.spec.stamped()
    return ()


def codes(found: Iterable[Diagnostic]) -> str:
    """What a spec came to, in a word: the codes of its findings, or `accepted`."""
    return " ".join(sorted({each.code for each in found})) or "accepted"


def kinds(found: Iterable[Diagnostic]) -> set[str]:
    """The sentences that were said, without the names and numbers in them."""
    return {f"{each.code} {re.sub(r'`[^`]*`|[0-9][0-9,.]*', '_', each.message)}" for each in found}


def require_that_it_can_be_shown(found: Diagnostic) -> None:
    """A finding has words, and its place lies in the text."""
    assert found.message
    assert found.span is None or (found.span.line > 0 and found.span.column > 0 and found.span.length > 0)
    assert (found.span is None) == (found.line is None)
    assert found.span is None or found.line is None or found.span.column <= len(found.line) + 1
    shown = diagnostic(found)
    shown.encode()
    assert re.sub(r"[\n\x80-\U0010ffff]+", "", shown).isprintable()


def require_that_the_schema_takes_what_the_model_takes(data: bytes) -> None:
    """`gridc.compiler.frontend.validate` asks the schema only where the typed model refuses."""
    try:
        values = tomllib.loads(data.decode())
        text = json.dumps(values)
        Spec.model_validate_json(text, strict=True)
    except (ValueError, TypeError, RecursionError, ValidationError):
        return
    errors = [f"{error.json_path}: {error.message}" for error in _models().iter_errors(values)]
    assert not errors, f"the model takes what its schema refuses: {errors[:3]}"


def require_valid(name: str, written: object) -> None:
    """What gridc accepts passes the published schema as it is written."""
    errors = [f"{error.json_path}: {error.message}" for error in _published(name).iter_errors(written)]
    assert not errors, f"gridc accepts what the published schema refuses: {errors[:3]}"


@cache
def _models() -> Any:
    return Draft202012Validator(jsonschema.model_schema("gridcard"))


@cache
def _published(name: str) -> Any:
    return Draft202012Validator(jsonschema.generate(name))
