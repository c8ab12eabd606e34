"""`python -m tests.worlds [--budget N] [--seed N] [--keep] [WORDS ...]`: the worst world of every game whose
name has one of these words in it. `--keep` writes them down, for the tests and for tables.md.

`--families N [--studies N]` plays the intervals in N studies of the papers' sizes instead, and shows what
misses too often."""

import argparse
import time
from collections.abc import Sequence

from tests.worlds import games, scores
from tests.worlds.families import families
from tests.worlds.kept import Kept, keep
from tests.worlds.search import INTERVAL, Game, search


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.worlds", description=__doc__)
    parser.add_argument("--budget", type=int, default=3000, help="simulated studies of each game")
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--families", type=int, default=0, help="studies of the papers' sizes")
    parser.add_argument("--studies", type=int, default=200, help="simulated studies of each family and kind")
    parser.add_argument("words", nargs="*")
    stated = parser.parse_args()
    chosen = [
        game
        for name, game in games.GAMES.items()
        if not stated.words or any(word in name for word in stated.words)
    ]
    if stated.families:
        _families(chosen, stated.families, stated.studies, stated.seed)
        return
    for game in chosen:
        start = time.process_time()
        worst = search(game, stated.budget, stated.seed)
        print(f"{worst}, {time.process_time() - start:.0f} s", flush=True)
        if stated.keep:
            keep(Kept.of(worst))


def _families(chosen: Sequence[Game], count: int, studies: int, seed: int) -> None:
    """Of the intervals of many units, whose rare kinds are seen."""
    left_out = scores.UNSEEN, scores.FEW_UNITS
    intervals = [game for game in chosen if game.most == INTERVAL and not game.name.endswith(left_out)]
    played, above = 0, 0
    worst: dict[str, float] = {}
    for statement in families(intervals, count, studies, seed):
        share, name = statement.share, statement.game.name
        if not share.printed:
            continue
        played += 1
        worst[name] = max(worst.get(name, 0.0), share.of_printed)
        if share.of_printed > INTERVAL:
            above += 1
            print(statement, flush=True)
    for name, largest in worst.items():
        print(f"{name}: at most {largest:.3f}")
    print(f"{above} of {played} intervals in {count} families miss more than {INTERVAL:g}")


if __name__ == "__main__":
    main()
