"""The worst worlds that were found, as a file, and the table of tables.md that is made of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.worlds.search import Share, World, Worst

FILE = Path(__file__).with_name("worst.json")
PAGE = Path(__file__).with_name("tables.md")
SHOWN = 0.02
"""The page says what a world is like from this share on."""
OPEN, CLOSE = "<!-- worlds -->", "<!-- /worlds -->"


@dataclass(frozen=True, slots=True)
class Kept:
    """The worst world of the game `name`: how many of `studies` printed there, and what of that was false."""

    name: str
    world: World
    false: int
    printed: int
    studies: int
    budget: int
    seed: int

    @property
    def share(self) -> Share:
        return Share(self.false, self.printed, self.studies)

    @classmethod
    def of(cls, worst: Worst) -> "Kept":
        return cls(
            worst.game.name,
            dict(worst.world),
            worst.share.false,
            worst.share.printed,
            worst.share.studies,
            worst.budget,
            worst.seed,
        )


def kept() -> dict[str, Kept]:
    """By the name of the game."""
    return {each["name"]: Kept(**each) for each in json.loads(FILE.read_text("utf-8"))}


def keep(worst: Kept) -> None:
    """Write a world down in place of the one of its game, and the table anew."""
    rows = {**(kept() if FILE.exists() else {}), worst.name: worst}
    text = json.dumps([asdict(each) for each in rows.values()], indent=1)
    FILE.write_text(f"{text}\n", "utf-8")
    page = PAGE.read_text("utf-8")
    before, rest = page.split(OPEN)
    PAGE.write_text(before + OPEN + table(rows) + CLOSE + rest.split(CLOSE)[1], "utf-8")


def table(rows: Mapping[str, Kept]) -> str:
    """The rows of tables.md; what would say the same of several is one row, in the place of the first."""
    found: dict[str, list[str]] = {}
    for each in rows.values():
        share_of = each.share
        low, high = share_of.interval
        share = f"{share_of.of_printed:.3f} [{low:.2f}, {high:.2f}] | {share_of.of_all:.3f}"
        world = words(each.world) if share_of.of_printed >= SHOWN else ""
        found.setdefault(f"{share} | {world} | {each.budget:,}, {each.seed}", []).append(each.name)
    lines = [
        "",
        "| printed, and false | of printed | of all | its world | budget, seed |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(f"| {'; '.join(names)} | {what} |" for what, names in found.items()), ""])


def words(world: World) -> str:
    """What a world is like, in a few words; `worst.json` has all of it."""
    told = []
    if "units" in world:
        told.append(f"{world['units']:.0f} x {world.get('items', 1):.0f} items")
        pareto, giant = world.get("pareto", 0.0), world.get("giant", 0.0)
        unequal = [f"rank^-{pareto:g}"] * (pareto > 0)
        unequal += [f"one of {100 * giant:.0f} %"] * (giant > 0)
        told += [f"sizes {' and '.join(unequal)}"] * bool(unequal)
    if "depth" in world:
        rate = 1 - world["base"] if world["mirror"] else world["base"]
        told.append(f"rate {100 * rate:.0f} %")
        if world["depth"] > 0:
            told.append(f"{world['odd']:.2g} odd units")
        told += [name for name in ("alike", "inside", "even", "tied") if world[name] > 0.5]
        told += [f"asked {world['repeats']:.0f} x"] * (world["repeats"] > 1)
    told += [
        f"{name} {world[name]:g}"
        for name in (
            *(("models", "levels") if "levels" in world else ()),
            "margin",
            "changing",
            "one_way",
            "deep",
            "noise",
            "apart",
            "missing",
            "loss",
            "wrong",
            "p",
            "psb",
            "success",
            "dearer",
            "heavy",
        )
        if name in world
    ]
    return ", ".join(told)
