"""One rule says what two runs have in common: `gridc diff`, `gridc compare` and the viewer pair alike."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from benchmarks.synthetic import fill
from gridc.compiler.compile import compile_spec
from gridc.viewer.pages import Viewer
from gridc.viewer.view import OpenStore, PageRequest
from tests.e2e.conftest import command
from tests.studies import axis, benchmark, head, pocket

FIELDS = 'id = "id", query = "question", options = ["a", "b", "c"], gold = "answer"'
Axes = Mapping[str, Mapping[str, str]]
PLAIN: Axes = {"template": {"T1": 'prompt = "builtin:T1"', "T4": 'prompt = "builtin:T4"'}}
SHOTS = {"few": "max_tokens = 8", "many": "max_tokens = 16"}


def questions(*numbers: int, prefix: str = "q") -> dict[str, str]:
    """What is asked, by id."""
    return {f"{prefix}{number}": f"What is {number} and 1?" for number in numbers}


@dataclass(frozen=True)
class Asked:
    """A study: what it calls its models, its benchmarks and the levels of its axes, and its items."""

    models: Sequence[str] = ("ant",)
    benchmarks: Sequence[str] = ("sums",)
    axes: Axes = field(default_factory=lambda: PLAIN)
    items: Mapping[str, str] = field(default_factory=lambda: questions(1, 2, 3, 4))
    fields: str = ""

    def store(self, folder: Path) -> Path:
        """Its results, in which every answer is drawn."""
        folder.mkdir()
        rows = [
            {"id": id, "question": text, "a": "one", "b": "two", "c": "three", "answer": "b"}
            for id, text in self.items.items()
        ]
        (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
        parts = [head("asked", pocket(**dict.fromkeys(self.models, "qwen2")))]
        for name in self.benchmarks:
            parts.append(benchmark(name, FIELDS + self.fields, 'method = "extract"\noption_order = "file"'))
        parts += [axis(name, levels) for name, levels in self.axes.items()]
        (folder / "gridcard.toml").write_text("\n".join(parts))
        store = folder / "store.sqlite"
        fill(compile_spec(folder / "gridcard.toml"), store)
        return store


@dataclass(frozen=True)
class Pairing:
    """What two runs have in common: by cell of the first its cell in the second and the items of both; how
    many cells one has alone, and the sentences about other names."""

    cells: Mapping[str, tuple[str, int]]
    only_a: int = 0
    only_b: int = 0
    said: Sequence[str] = field(default_factory=list)


BASE = Asked()
FOUR = {f"ant/sums/template={name}": (f"ant/sums/template={name}", 4) for name in ("T1", "T4")}


def moved(old: str, new: str) -> dict[str, tuple[str, int]]:
    """All cells, a part of whose names is another one in the second run."""
    return {one: (other.replace(old, new), count) for one, (other, count) in FOUR.items()}


def items(count: int) -> dict[str, tuple[str, int]]:
    return {one: (other, count) for one, (other, _) in FOUR.items()}


CASES = {
    "the same names": (BASE, BASE, Pairing(FOUR)),
    "the only model has another name": (
        BASE,
        Asked(models=("bee",)),
        Pairing(moved("ant/", "bee/"), said=["its only model, ant, stands as bee"]),
    ),
    "of several models one has another name": (
        Asked(models=("ant", "bee")),
        Asked(models=("ant", "cat")),
        Pairing(FOUR, 2, 2),
    ),
    "the only benchmark has another name": (
        BASE,
        Asked(benchmarks=("totals",)),
        Pairing(moved("/sums/", "/totals/"), said=["its only benchmark, sums, stands as totals"]),
    ),
    "of several benchmarks one has another name": (
        Asked(benchmarks=("sums", "tests")),
        Asked(benchmarks=("sums", "totals")),
        Pairing(FOUR, 2, 2),
    ),
    "a level with the same settings has another name": (
        BASE,
        Asked(axes={"template": {"T1": 'prompt = "builtin:T1"', "thought": 'prompt = "builtin:T4"'}}),
        Pairing(
            moved("=T4", "=thought"),
            said=["template=T4 stands as template=thought (their settings are equal)"],
        ),
    ),
    "a level with other settings has another name": (
        BASE,
        Asked(axes={"template": {"T1": 'prompt = "builtin:T1"', "T3": 'prompt = "builtin:T3"'}}),
        Pairing({key: FOUR[key] for key in FOUR if "T1" in key}, 1, 1),
    ),
    "the axes stand in another order": (
        Asked(axes={**PLAIN, "length": SHOTS}),
        Asked(axes={"length": SHOTS, **PLAIN}),
        Pairing(
            {
                f"ant/sums/template={name},length={length}": (f"ant/sums/length={length},template={name}", 4)
                for name in ("T1", "T4")
                for length in SHOTS
            }
        ),
    ),
    "the same items have other ids": (
        BASE,
        Asked(items=questions(1, 2, 3, 4, prefix="item ")),
        Pairing(FOUR, said=["4 items of sums have other ids: content decides"]),
    ),
    "an id stands for another question": (
        BASE,
        Asked(items={**questions(1, 2, 3), "q4": "What is 9 and 1?"}),
        Pairing(items(3), said=["1 id of sums names another question"]),
    ),
    "two ids changed places": (
        BASE,
        Asked(items={**BASE.items, "q3": BASE.items["q4"], "q4": BASE.items["q3"]}),
        Pairing(FOUR, said=["2 items of sums have other ids: content decides"]),
    ),
    "a field differs that no prompt shows": (
        BASE,
        Asked(fields=', family = "answer"'),
        Pairing(FOUR, said=["4 items of sums ask the same, and other fields differ"]),
    ),
    "each has items of its own": (BASE, Asked(items=questions(2, 3, 4, 5, 6)), Pairing(items(3))),
}  # fmt: skip


def by_diff(a: Path, b: Path) -> Pairing:
    told = json.loads(command("diff", str(a), str(b), "--json", cwd=a.parent).stdout)
    cells = {one["cell"]: (one["cell_b"] or one["cell"], one["items"]) for one in told["cells"]}
    return Pairing(cells, len(told["only_a"]), len(told["only_b"]), told["pairing"])


def by_viewer(a: Path, b: Path) -> Pairing:
    with closing(Viewer([OpenStore(a), OpenStore(b)])) as viewer:

        def page(address: str) -> str:
            name, _, query = address.strip("/").partition("?")
            return unescape(viewer.page(PageRequest(name, dict(parse_qsl(query)), str, live=True)))

        start = page("/compare")
        cells = {}
        for address in re.findall(r'href="(/compare\?[^"]*cell=[^"]*)"', start):
            shown = page(address)
            (count,) = re.findall(r"items both were asked</dt><dd>([\d,]+)<", shown)
            (other,) = re.findall(r'<dt>second</dt><dd><a[^>]* href="([^"]*)"', shown)
            cells[_cell(address)] = _cell(other), int(count)
    alone = {side: int(count) for count, side in re.findall(r"(\d+) cells are in the (\w+) alone", start)}
    said = [re.sub("<[^>]*>", "", one) for one in re.findall(r"The first store: (.*?)\.</p>", start)]
    return Pairing(cells, alone.get("first", 0), alone.get("second", 0), said)


def _cell(address: str) -> str:
    return dict(parse_qsl(address.partition("?")[2]))["cell"]


def by_compare(a: Path, b: Path) -> dict[str, Any]:
    """By benchmark of the candidate: configurations of both, and items of both."""
    told = json.loads(command("compare", str(a), str(b), "--margin", "99", "--json", cwd=a.parent).stdout)
    rows = {f"{one['model']}/{one['benchmark']}": one for one in told["benchmarks"]}
    return {
        "places": {name: (one["configurations"], one["matched"]) for name, one in rows.items()},
        "only_a": sum(one["configurations_only_a"] for one in rows.values()),
        "only_b": sum(one["configurations_only_b"] for one in rows.values()),
        "warnings": told["warnings"],
    }


@pytest.mark.parametrize("name", CASES)
def test_diff_compare_and_viewer_pair_alike(name: str, tmp_path: Path) -> None:
    first, second, expected = CASES[name]
    a, b = first.store(tmp_path / "a"), second.store(tmp_path / "b")
    assert by_diff(a, b) == expected
    assert by_viewer(a, b) == expected
    compared = by_compare(a, b)
    cells = defaultdict(list)
    for other, count in expected.cells.values():
        cells[other.rpartition("/")[0]].append(count)
    assert compared["places"] == {place: (len(counts), counts[0]) for place, counts in cells.items()}
    alone = [one for one in compared["warnings"] if one.startswith("only in ")]
    places = sum(one.count(", ") + 1 for one in alone)
    missing = compared["only_a"] + compared["only_b"] + places * len(PLAIN["template"])
    assert missing == expected.only_a + expected.only_b
    for sentence in expected.said:
        if "benchmark" in sentence or "settings" in sentence:
            assert any(one.endswith(sentence) for one in compared["warnings"])


def test_what_else_is_known_of_items_is_part_of_the_instrument(tmp_path: Path) -> None:
    first, second, _ = CASES["a field differs that no prompt shows"]
    names = [str(first.store(tmp_path / "a")), str(second.store(tmp_path / "b")), "--margin", "99"]
    barred = command("compare", *names, cwd=tmp_path)
    assert barred.returncode == 11
    assert "NO: other fields of matched items: 4 of 4 differ" in barred.stdout
    waived = command("compare", *names, "--may-differ", "other fields of matched items", cwd=tmp_path)
    assert waived.returncode != 11
    first, second, _ = CASES["the same items have other ids"]
    names[1] = str(second.store(tmp_path / "c"))
    renamed = command("compare", *names, cwd=tmp_path)
    assert renamed.returncode != 11
    assert "other fields of items whose ids differ" in renamed.stdout.partition("not recorded: ")[2]
