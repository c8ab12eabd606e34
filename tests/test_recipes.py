"""Every recipe is part of a spec that can be stamped, run, reported and verified."""

import json
import re
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from tests.e2e.conftest import command

ROOT = Path(__file__).resolve().parents[1]
BASE = (ROOT / "tests" / "golden" / "diagnostics" / "base.toml").read_text("utf-8")
TEXT = (ROOT / "docs" / "recipes.md").read_text("utf-8")
RECIPES = re.findall(r"^## (.+?)$.*?^```toml ?(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
FAST = ("One template, other words", "A verdict for each model")
BENCHMARK = """loader = "bbq"
source = "builtin:pocket_bbq.jsonl"
direction = "higher_is_better"
sample = { n = 8, seed = 1, unit = "cluster" }
option_order = "file"
"""
ROWS = """loader = "rows"
source = "path:items.jsonl"
direction = "higher_is_better"
option_order = "file"

[benchmark.loading]
gold = "index"
fields = { id = "id", query = "q", options = ["a", "b"], gold = "gold", tags = ["condition"] }

"""


def spec_with(recipe: str, kind: str, folder: Path) -> str:
    """The small study with a recipe: what the recipe sets itself is taken out of the study."""
    if kind == "extension":
        (folder / "base.toml").write_text(BASE)
        return recipe
    text = BASE
    if kind in ("variants", "tested"):
        tried = 64 if kind == "tested" else 4
        text = text.replace(BENCHMARK, ROWS)
        for name in ("items.jsonl", "items.de.jsonl"):
            rows = [
                {
                    "id": f"{n}",
                    "q": f"{name} {n}?",
                    "a": "yes",
                    "b": "no",
                    "gold": n // 2 % 2,
                    "condition": ("ambig", "disambig")[n % 2],
                }
                for n in range(tried + 8)
            ]
            (folder / name).write_text("\n".join(map(json.dumps, rows)))
        more = (
            f'sample = {{ n = {tried}, seed = 1 }}\nexemplars = {{ pool = "rest", seed = 1 }}\n'
            if kind == "tested"
            else 'variants = [{ id = "de", source = "path:items.de.jsonl" }]\n'
        )
        text = text.replace("\n[benchmark.loading]", more + "\n[benchmark.loading]")
    if '"plausible"' in recipe:
        comparative = 'purpose = "comparative"'
        text = text.replace(comparative, comparative + '\ntiers = ["core", "plausible", "stress"]')
    if "prompt = " in recipe:
        begin, end = text.index('[[axis]]\nid = "template"'), text.index('[[axis]]\nid = "scoring"')
        text = text[:begin] + text[end:]
    return text + "\n" + recipe


@pytest.mark.parametrize(("title", "kind", "recipe"), RECIPES, ids=[title for title, _, _ in RECIPES])
def test_a_recipe_is_planned(title: str, kind: str, recipe: str, tmp_path: Path) -> None:
    (tmp_path / "gridcard.toml").write_text(spec_with(recipe, kind, tmp_path), "utf-8")
    plan = Plan(compile_spec(tmp_path / "gridcard.toml").study)
    assert plan.counts().unique > 0


@pytest.mark.parametrize(
    ("kind", "recipe"),
    [
        pytest.param(kind, recipe, id=title, marks=() if title in FAST else pytest.mark.slow)
        for title, kind, recipe in RECIPES
    ],
)
def test_a_recipe_is_followed_to_its_end(kind: str, recipe: str, tmp_path: Path) -> None:
    (tmp_path / "gridcard.toml").write_text(spec_with(recipe, kind, tmp_path), "utf-8")
    for step in ("stamp", "run", "report", "verify"):
        done = command(step, cwd=tmp_path)
        assert done.returncode == 0, f"{step}: {done.stdout}{done.stderr}"
    assert "verified: " in done.stdout


def test_every_recipe_was_found() -> None:
    assert len(RECIPES) == TEXT.count("\n## ") == TEXT.count("```toml") >= 7
    assert {title for title, _, _ in RECIPES}.issuperset(FAST)
