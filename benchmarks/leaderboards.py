"""What certifying a leaderboard with its reports costs: CPU seconds, seconds by the clock, the most memory,
and the sizes of the largest files.

    python -m benchmarks.leaderboards FOLDER [MODELS ...]     # or: make bench-leaderboards

FOLDER is filled with tables of 58 and of 220 models on 805 items, and with their reports. Scores lie between
0 and 1, most of them near an end, as of judges that compare answers. They are drawn; where `GRIDC_REAL` names
the folder of real leaderboards, those of 58 models are AlpacaEval's, and more are mixed from them. MB are
1,000,000 bytes.
"""

import csv
import gzip
import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.report import cost_of
from gridc.statistics.arrays import Floats

ITEMS = 805
SIZES = (58, 220)
REAL = "alpaca_eval_2_annotations.csv.gz"
SHOWN = ("certificate.json", "gridcard.json", "logs.json", "report.html", "store.sqlite")


def drawn_scores(models: int) -> Floats:
    """Scores of models, (models, items): the abler model is preferred more often on the easier items."""
    random = np.random.default_rng(models)
    ability, ease = random.normal(-2.0, 1.5, (models, 1)), random.normal(0.0, 1.0, ITEMS)
    # A judge that is nearly sure of most of its preferences.
    scores: Floats = 1 / (1 + np.exp(-4 * (ability + ease + random.normal(0.0, 1.5, (models, ITEMS)))))
    return scores.round(4)


def real_scores(path: Path, models: int) -> Floats:
    """Those of a leaderboard. Of more models each has most scores of one, the rest of another, and noise."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [(row["model"], row["item"], float(row["score"] or 0)) for row in csv.DictReader(file)]
    names, items = (list(dict.fromkeys(row[place] for row in rows)) for place in (0, 1))
    scores = np.zeros((len(names), len(items)))
    for name, item, score in rows:
        scores[names.index(name), items.index(item)] = score
    if models <= len(names):
        return scores[:models].round(4)
    random = np.random.default_rng(models)
    first, second = random.integers(0, len(names), (2, models))
    shape = (models, len(items))
    mixed = np.where(random.random(shape) < 0.75, scores[first], scores[second])
    noise = random.normal(0.0, 0.03, shape) * (random.random(shape) < 0.5)
    made: Floats = np.clip(mixed + noise, 0, 1).round(4)
    return made


def write(path: Path, scores: Floats) -> None:
    """A table of scores."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["model", "item", "score"])
        for model, row in enumerate(scores.tolist()):
            table.writerows((f"model-{model:03}", f"item-{item:04}", score) for item, score in enumerate(row))


def main(folder: Path, sizes: tuple[int, ...]) -> None:
    real = Path(os.environ.get("GRIDC_REAL", ""), REAL)
    for models in sizes:
        table = folder.resolve() / f"leaderboard-{models}.csv"
        write(table, real_scores(real, models) if real.is_file() else drawn_scores(models))
        reports = table.with_suffix("")
        cost = cost_of(["gridc", "certify", "--from", str(table), "--out", str(reports)], folder)
        files = ", ".join(f"{name} {(reports / name).stat().st_size / 1e6:.1f}" for name in SHOWN)
        pairs = models * (models - 1) // 2
        print(
            f"{models} models, {pairs:,} pairs: {cost.cpu:.1f} s CPU, {cost.clock:.1f} s, "
            f"{cost.memory:,.0f} MB; MB of {files}",
            flush=True,
        )


if __name__ == "__main__":
    chosen = tuple(int(text) for text in sys.argv[2:]) or SIZES
    main(Path(sys.argv[1]), chosen)
