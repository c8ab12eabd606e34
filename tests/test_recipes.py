"""Every recipe is part of a spec that can be planned."""

import json
import re
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan

ROOT = Path(__file__).resolve().parents[1]
BASE = (ROOT / "tests" / "golden" / "diagnostics" / "base.toml").read_text("utf-8")
TEXT = (ROOT / "docs" / "recipes.md").read_text("utf-8")
RECIPES = re.findall(r"^## (.+?)$.*?^```toml ?(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
BENCHMARK = 'loader = "bbq"\nsource = "builtin:pocket_bbq.jsonl"'
ROWS = """loader = "rows"
source = "path:items.jsonl"
loading = { gold = "index", fields = { id = "id", query = "q", options = ["a", "b"], gold = "gold" } }
variants = [{ id = "de", source = "path:items.de.jsonl" }]"""


def spec_with(recipe: str, kind: str, folder: Path) -> str:
    """The small study with a recipe: what the recipe sets itself is taken out of the study."""
    text = BASE
    if kind == "extension":
        (folder / "base.toml").write_text(BASE)
        return recipe
    if kind == "variants":
        text = text.replace(BENCHMARK, ROWS).replace('sample = { n = 8, seed = 1, unit = "cluster" }\n', "")
        for name in ("items.jsonl", "items.de.jsonl"):
            rows = [
                {"id": f"{n}", "q": f"{name} {n}?", "a": "yes", "b": "no", "gold": n % 2} for n in range(4)
            ]
            (folder / name).write_text("\n".join(map(json.dumps, rows)))
    if kind == "declared":
        text = text.replace(
            'purpose = "comparative"', 'purpose = "comparative"\ntiers = ["core", "plausible", "stress"]'
        )
        text = text.replace(
            'option_order = "file"', 'option_order = "file"\nexemplars = { pool = "rest", seed = 1 }'
        )
    if "prompt = " in recipe:
        begin, end = text.index('[[axis]]\nid = "template"'), text.index('[[axis]]\nid = "scoring"')
        text = text[:begin] + text[end:]
    return text + "\n" + recipe


@pytest.mark.parametrize(("title", "kind", "recipe"), RECIPES, ids=[title for title, _, _ in RECIPES])
def test_a_recipe_is_planned(title: str, kind: str, recipe: str, tmp_path: Path) -> None:
    (tmp_path / "gridcard.toml").write_text(spec_with(recipe, kind, tmp_path), "utf-8")
    plan = Plan(compile_spec(tmp_path / "gridcard.toml").study)
    assert plan.counts().unique > 0


def test_every_recipe_was_found() -> None:
    assert len(RECIPES) == TEXT.count("\n## ") == TEXT.count("```toml") >= 7
