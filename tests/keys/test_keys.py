"""No key of the language is unread: another valid value of it is seen in what is asked, stored or said.

A key without an example fails here: give it one in `examples.py`, at a place where it applies.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import GridcError
from gridc.schema import jsonschema
from gridc.schema.spec import Spec
from tests.fuzz.mutate import toml
from tests.keys import studies
from tests.keys.examples import LEFT_OUT, TRIED, Beside, Seen, Tried
from tests.keys.studies import BASES, SEE

SCHEMA = jsonschema.generate()
TABLES = {"Spec": SCHEMA, **SCHEMA["$defs"], "Extension": {"properties": jsonschema.EXTENDING}}
EXAMPLES = {f"{tried.table}.{key}": tried for tried in TRIED for key in tried.values}
QUICK: tuple[Seen, ...] = ("asked", "opened", "tried", "refused")
"""What is seen without a run."""

Look = Callable[[Any, Seen], str]


def keys() -> set[str]:
    """Every key of the language that has another value: all but those that must be there and be one word."""
    return {
        f"{table}.{key}"
        for table, stated in TABLES.items()
        for key, field in stated.get("properties", {}).items()
        if "const" not in field or key not in stated.get("required", ())
    }


@cache
def values_of(base: str) -> Any:
    return tomllib.loads((BASES / f"{base}.toml").read_text("utf-8"))


def put(values: Any, place: str, value: Any) -> None:
    """Set or leave out what stands at a place such as `axis.0.id`; one behind the last entry is added."""
    steps: list[Any] = [int(step) if step.isdigit() else step for step in place.split(".")]
    *path, last = steps
    for step in path:
        values = values[step] if isinstance(values, list) else values.setdefault(step, {})
    if value is LEFT_OUT:
        values.pop(last, None)
    elif isinstance(values, list) and last == len(values):
        values.append(value)
    else:
        values[last] = value


def before_and_after(tried: Tried, key: str) -> tuple[Any, Any]:
    """The study without the change, and with it."""
    value = tried.values[key]
    before = deepcopy(values_of(tried.base))
    if isinstance(value, Beside):
        for place, stated in value.stated.items():
            put(before, place, stated if stated is LEFT_OUT else deepcopy(stated))
        value = value.value
    after = deepcopy(before)
    put(after, f"{tried.place}.{key}".lstrip("."), value)
    return before, after


def masked(document: Any) -> str:
    """As text, without what holds the whole spec (digests) and what differs between runs (times)."""
    text = json.dumps(document, default=str, sort_keys=True)
    return re.sub(r"(?<![.\w])(?:[0-9a-f]{64}|[0-9a-f]{12})(?!\w)|\d{4}-\d\d-\d\d[T ][\d:.+]+", "#", text)


def refusal(spec: Path) -> str:
    """The codes with which a spec is refused."""
    try:
        compile_spec(spec)
    except GridcError as error:
        return " ".join(sorted({each.code for each in error.diagnostics}))
    return ""


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Look:
    """What is seen of a study."""
    folder, known = tmp_path_factory.mktemp("keys"), dict[tuple[str, str], str]()
    studies.write_files(folder)

    def see(values: Any, by: Seen) -> str:
        text = toml(values)
        if (by, text) not in known:
            spec = folder / "gridcard.toml"
            spec.write_text(text, "utf-8")
            known[by, text] = refusal(spec) if by == "refused" else masked(SEE[by](compile_spec(spec)))
        return known[by, text]

    return see


def test_every_key_has_an_example() -> None:
    assert sorted(keys() - EXAMPLES.keys()) == [], "give these an example in tests/keys/examples.py"
    assert sorted(EXAMPLES.keys() - keys()) == [], "the language has no such keys"
    twice = Counter(f"{tried.table}.{key}" for tried in TRIED for key in tried.values)
    assert [name for name, count in twice.items() if count > 1] == []


def run_of(seen: Seen, *values: Any) -> Any:
    return pytest.param(
        *values, marks=() if seen in QUICK else pytest.mark.slow, id=".".join(map(str, values))
    )


@pytest.mark.parametrize("name", [run_of(tried.seen, name) for name, tried in EXAMPLES.items()])
def test_another_value_of_a_key_is_seen(name: str, look: Look) -> None:
    tried, key = EXAMPLES[name], name.partition(".")[2]
    before, after = (look(values, tried.seen) for values in before_and_after(tried, key))
    if tried.seen == "refused":
        assert not before, f"the study is refused without the change too: {before}"
    assert before != after, f"{name}: another value changes nothing that is {tried.seen}: who reads it?"


@pytest.mark.parametrize(
    ("base", "by"),
    [
        run_of(by, base, by)
        for base, by in sorted({(tried.base, tried.seen) for tried in TRIED})
        if by != "refused"
    ],
)
def test_what_nobody_reads_is_seen_nowhere(
    base: str, by: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stamp that moves is not enough: this study has another one, for a key that nobody knows."""
    studies.write_files(tmp_path)
    spec = tmp_path / "gridcard.toml"
    spec.write_text(toml(values_of(base)), "utf-8")
    before, stamped = masked(SEE[by](compile_spec(spec))), Spec.stamped

    def more(spec: Spec) -> Mapping[str, object]:
        return {**stamped(spec), "unread": True}

    monkeypatch.setattr(Spec, "stamped", more)
    assert masked(SEE[by](compile_spec(spec))) == before
