"""`python -m tests.worlds [--budget N] [--seed N] [--keep] [WORDS ...]`: the worst world of every game whose
name has one of these words in it. `--keep` writes them down, for the tests and for docs/sizes.md."""

import argparse
import time

from tests.worlds.games import GAMES
from tests.worlds.kept import Kept, keep
from tests.worlds.search import search


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.worlds", description=__doc__)
    parser.add_argument("--budget", type=int, default=3000, help="simulated studies of each game")
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("words", nargs="*")
    stated = parser.parse_args()
    for name, game in GAMES.items():
        if not stated.words or any(word in name for word in stated.words):
            start = time.process_time()
            worst = search(game, stated.budget, stated.seed)
            print(f"{worst}, {time.process_time() - start:.0f} s", flush=True)
            if stated.keep:
                keep(Kept.of(worst))


if __name__ == "__main__":
    main()
