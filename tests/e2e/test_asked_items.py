"""How many items of how many are asked: said by every command and document that counts the items."""

import csv
import json
import random
import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import command

HELD, ASKED = 60, 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("asked")
    draw = random.Random(3)
    with (here / "mine.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "A", "B", "answer"])
        for number in range(HELD):
            options = [number, number + 1]
            draw.shuffle(options)
            rows.writerow([f"What is {number} and 1?", *options, "AB"[options.index(number + 1)]])
    return here


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, str]:
    """What each command prints, in the order in which a newcomer gives them."""
    model = ("--model", "builtin:pocket-llama", "--model", "builtin:pocket-qwen2")
    arguments = {"init": ("--benchmark", "mine.csv", "--yes", *model), "run": ("--go-on",)}
    names = ("init", "plan", "stamp", "run", "report")
    return {name: command(name, *arguments.get(name, ()), cwd=folder).stdout for name in names}


@pytest.mark.parametrize("name", ["init", "plan", "stamp", "run", "report"])
def test_a_command_says_of_how_many_items_those_are_that_are_asked(name: str, said: dict[str, str]) -> None:
    assert f"mine: {ASKED} of {HELD} items" in said[name]


def test_documents_say_it_where_they_count_the_items(said: dict[str, str], folder: Path) -> None:
    results = next(folder.glob("results/*/certificate.json")).parent
    (row,) = json.loads((results / "certificate.json").read_text("utf-8"))["benchmarks"]
    cards = json.loads((results / "gridcard.json").read_text("utf-8"))["cards"]
    assert {(each["items"], each["held"]) for each in (row, *cards)} == {(ASKED, HELD)}
    page = re.sub(r"\s+", " ", (results / "report.html").read_text("utf-8"))
    assert f"mine: {ASKED} of {HELD} items under 6 configurations" in page
    assert f"<strong>mine</strong>, {ASKED} of {HELD} items, each taken as independent" in page
    assert f"{ASKED} of {HELD} items, 6 configurations" in page
    assert f"{ASKED} of {HELD} items of mine" in page
    assert not re.search(rf"(?<!of )(?<!the )(?<!these ){ASKED} items", page)
    card = (results / "gridcard.md").read_text("utf-8")
    assert f"| {ASKED} of {HELD} items, each taken as independent |" in card
    assert f"{ASKED} of {HELD} items, one draw with seed 42" in card


def test_a_bundle_verifies_it_without_the_file(said: dict[str, str], folder: Path, tmp_path: Path) -> None:
    command("export", "bundle", "--to", str(tmp_path / "bundle"), cwd=folder)
    assert command("verify", str(tmp_path / "bundle"), cwd=tmp_path).returncode == 0


def test_a_study_that_asks_every_item_says_nothing_of_a_part(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "mine.csv", tmp_path)
    command("init", "--benchmark", "mine.csv", "--yes", "--model", "builtin:pocket-llama", cwd=tmp_path)
    spec = tmp_path / "gridcard.toml"
    spec.write_text(re.sub(r"sample = .*", "", spec.read_text("utf-8")), "utf-8")
    text = command("run", cwd=tmp_path).stdout
    assert f"mine: {HELD} items; chance 50.0 %" in text and f"of {HELD} items" not in text
