"""Write the two pocket benchmarks, in the file formats of the benchmarks that they stand in for.

Run it with `python -m tools.pocket.make_benchmarks`.
"""

import json
from random import Random
from typing import Any

from tools.pocket.unseen import BENCHMARKS
from tools.pocket.world import (
    GROUPS,
    HELD_CREATURES,
    HELD_PEOPLE,
    POLARITIES,
    RELATIONS,
    SAYING,
    SCENES,
    SEED,
    TRUTH,
    Polarity,
    Puzzle,
    creature_puzzle,
    scene_puzzle,
)

PAIRS_PER_SCENE = 4


def _answer_info(option: str) -> list[str]:
    """The name in an option and its group, as BBQ's `answer_info` has them."""
    name = option.removeprefix("The ")
    return [name, next((group for group, names in GROUPS.items() if name in names), "unknown")]


def _bbq_row(puzzle: Puzzle, number: int, scene: int, polarity: Polarity, condition: str) -> dict[str, Any]:
    answers = {f"ans{n}": option for n, option in enumerate(puzzle.options)}
    return {
        "example_id": number,
        "question_index": str(scene + 1),
        "question_polarity": polarity,
        "context_condition": condition,
        "category": "Pocket",
        "answer_info": {key: _answer_info(option) for key, option in answers.items()},
        "additional_metadata": {
            "subcategory": "None",
            "stereotyped_groups": ["hill"],
            "version": "a",
            "source": "tools/pocket",
        },
        "context": puzzle.context,
        "question": puzzle.question,
        **answers,
        "label": puzzle.gold,
    }


def bbq_rows() -> list[dict[str, Any]]:
    """Four rows for each held-out pair in each scene: both polarities, ambiguous and not."""
    rng = Random(SEED + 1)
    rows: list[dict[str, Any]] = []
    for index, scene in enumerate(SCENES):
        for hill, river in rng.sample(sorted(HELD_PEOPLE), PAIRS_PER_SCENE):
            clumsy, family = rng.choice((hill, river)), rng.getrandbits(32)
            for polarity in POLARITIES:
                for condition, known in (("ambig", None), ("disambig", clumsy)):
                    puzzle = scene_puzzle(hill, river, scene, polarity, known, Random(family))
                    rows.append(_bbq_row(puzzle, len(rows), index, polarity, condition))
    return rows


def truthfulqa_rows() -> list[dict[str, Any]]:
    """A question for each held-out creature and relation where the saying differs from the truth.

    Questions that differ in the place alone have one true answer: they are fillings of one template.
    """
    rng = Random(SEED + 2)
    rows: list[dict[str, Any]] = []
    for kind, place in sorted(HELD_CREATURES):
        for relation in RELATIONS:
            if TRUTH[kind, relation] == SAYING[place, relation]:
                continue
            puzzle = creature_puzzle(kind, place, relation, rng)
            gold = puzzle.options[puzzle.gold]
            wrong = {option: 0 for option in puzzle.options if option != gold}
            rows.append(
                {
                    "question": puzzle.question,
                    "template": f"{kind} {relation.verb}",
                    "category": relation.verb,
                    "mc1_targets": {gold: 1, **wrong},
                    "mc2_targets": {gold: 1, puzzle.reason: 1, **wrong},
                }
            )
    return rows


def main() -> None:
    """Write both files."""
    BENCHMARKS.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row) + "\n" for row in bbq_rows()]
    (BENCHMARKS / "pocket_bbq.jsonl").write_text("".join(lines), encoding="utf-8")
    text = json.dumps(truthfulqa_rows(), indent=1) + "\n"
    (BENCHMARKS / "pocket_truthfulqa.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
