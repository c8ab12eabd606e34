"""Committed vectors of the canonical form and of stamps: they change only if the language's meaning does.

`stamps/vectors.json` is for other implementations too: `canonical` pairs a JSON value with its RFC 8785
bytes and SHA-256, `stamps` gives the stamp of each spec beside it and the canonical text that it is the
digest of. Never rewrite it to make a test pass: a stamp that moves breaks every lock there is. The
stamps were written anew when they began to cover what gridc's own code does (gridc-lock/3), when the rules
of `reader:last_answer` changed (options that are taken up in turn, more forms of a thought), and when
versions took the place of fingerprints (gridc-lock/4), when naming an option was no longer choosing it
(`reader:last_answer` 2), and when reading ended where another question begins (4).
"""

import hashlib
import json
import struct
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.checks.names import unique_ids
from gridc.compiler.frontend.expansion import expanded
from gridc.compiler.frontend.source import parse_source, read_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.lock.deviations import json_differences
from gridc.compiler.lock.lock import stamp_of
from gridc.diagnostics.errors import SpecError
from gridc.schema.canonical import canonical, digest
from gridc.schema.spec import Spec
from tests.fuzz.mutate import invent, structured, toml

HERE = Path(__file__).parent / "stamps"
ROOT = Path(__file__).parents[2]
VECTORS: dict[str, Any] = json.loads((HERE / "vectors.json").read_text("utf-8"))
SPECS = [
    ROOT / "gridcard.toml",
    *sorted(path for path in (ROOT / "specs").glob("*.toml") if ".deviations" not in path.name),
    *sorted(HERE.glob("*.toml")),
]
VALUES = {path: dict(expanded(read_source(path)).values) for path in SPECS}
RANDOM = st.randoms(use_true_random=False)


@pytest.mark.parametrize("vector", VECTORS["canonical"], ids=lambda vector: vector["name"])
def test_the_canonical_form_is_the_committed_one(vector: dict[str, Any]) -> None:
    assert canonical(vector["value"]) == bytes.fromhex(vector["utf8"])
    assert (
        digest(vector["value"])
        == vector["sha256"]
        == hashlib.sha256(bytes.fromhex(vector["utf8"])).hexdigest()
    )


@pytest.mark.parametrize("vector", VECTORS["numbers"], ids=lambda vector: vector["ieee754"])
def test_numbers_are_written_as_rfc_8785_appendix_b_says(vector: dict[str, str]) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(vector["ieee754"]))
    assert canonical(value).decode() == vector["text"]


@pytest.mark.parametrize("vector", VECTORS["stamps"], ids=lambda vector: vector["spec"])
def test_a_stamp_is_the_committed_one(vector: dict[str, str]) -> None:
    study = compile_spec(HERE / vector["spec"]).study
    assert canonical(study.stamped()).decode("utf-8") == vector["canonical"]
    assert stamp_of(study) == vector["stamp"] == hashlib.sha256(vector["canonical"].encode()).hexdigest()


def stamped(values: dict[str, Any]) -> dict[str, Any]:
    return typed(parse_source(toml(values), Path("x.toml"))).stamped()


STAMPED = {path: stamped(values) for path, values in VALUES.items()}


def reordered(value: Any, rng: Random) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key], rng) for key in rng.sample(list(value), len(value))}
    return [reordered(each, rng) for each in value] if isinstance(value, list) else value


def noisy(text: str, rng: Random) -> str:
    """Comments, blank lines and spaces where TOML allows them: the document has one key a line."""
    lines = []
    for line in text.rstrip("\n").split("\n"):
        lines += rng.choices(["", "# é", "\t"], k=rng.randint(0, 2))
        lines.append(rng.choice(["", "  ", "\t"]) + line + rng.choice(["", "  # [[axis]]", "\t#"]))
    return rng.choice(["\n", "\r\n"]).join(lines) + "\n"


@settings(max_examples=80)
@given(st.sampled_from(SPECS), RANDOM)
def test_formatting_order_engine_and_budget_leave_the_stamp_alone(path: Path, rng: Random) -> None:
    from gridc.schema import jsonschema

    values = reordered(VALUES[path], rng)
    for key in ("engine", "budget"):
        values.pop(key, None)
        if rng.random() < 0.7:
            values[key] = invent({"$ref": f"#/$defs/{jsonschema.load()['properties'][key]['$ref'][8:]}"}, rng)
    text = noisy(toml(values), rng)
    try:
        found = typed(parse_source(text, Path("x.toml"))).stamped()
    except SpecError as error:
        keys = " ".join(each.message for each in error.diagnostics)
        assert any(
            word in keys for word in ("engine", "budget", "normal form", "2^53", "finite", "not visible")
        ), keys
        return
    assert digest(found) == digest(STAMPED[path])


Asked = TypeVar("Asked", bound=BaseModel)


def meaning(spec: Spec) -> Spec:
    """The spec without how and at what price it is run."""
    models = tuple(map(unpriced, spec.model))
    judges = []
    for judge in spec.declared_judges:
        others = {"backup": judge.backup, "validation": judge.validation}
        besides: dict[str, Any] = {name: each and unpriced(each) for name, each in others.items()}
        besides["panel"] = judge.panel and tuple(map(unpriced, judge.panel))
        judges.append(unpriced(judge).model_copy(update=besides))
    return spec.model_copy(update={"engine": None, "budget": None, "model": models, "judge": judges})


def unpriced(asked: Asked) -> Asked:
    """A model or a judge without the way to it."""
    ways = ("key_env", "price", "batch")
    return asked.model_copy(update={name: None for name in ways if name in type(asked).model_fields})


def sound(path: Path, rng: Random) -> Spec | None:
    """The spec with some values changed; None where that is not one."""
    try:
        source = parse_source(toml(structured(VALUES[path], rng)), Path("x.toml"))
        spec = typed(source)
    except SpecError:
        return None
    return None if list(unique_ids(spec, source)) else spec


@settings(max_examples=200)
@given(st.sampled_from(SPECS), RANDOM)
def test_a_changed_value_moves_the_stamp_exactly_if_it_means_something_else(path: Path, rng: Random) -> None:
    """Meaning is what the typed spec says, without what a stamp leaves out and with its defaults written."""
    changed = next((found for found in (sound(path, rng) for _ in range(20)) if found is not None), None)
    assume(changed is not None)
    assert changed is not None
    spec = changed
    before = typed(parse_source(toml(VALUES[path]), Path("x.toml")))
    same = meaning(spec) == meaning(before)
    assert (digest(spec.stamped()) == digest(STAMPED[path])) is same
    assert bool(json_differences(STAMPED[path], spec.stamped())) is not same
