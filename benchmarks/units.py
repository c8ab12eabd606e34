"""How often `gridc certify` says that two equal models are apart, where items come in families, with `--unit`
and without. Of `gridc compare` the same is in `benchmarks.gate`.

    python -m benchmarks.units [DRAWS]     # or: make bench-units

Families have 4 items. Three quarters of them succeed or fail as a whole, and the items of the others each by
itself; both models are right with the same probability. Each row of the Markdown table is of 2,000 draws.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import gridc

FAMILIES, SIZE = (15, 50), 4
DRAWS = 2_000
Drawn = np.ndarray[tuple[int, int], np.dtype[np.int64]]


def scores(rng: np.random.Generator, families: int, rate: float) -> Drawn:
    """(families, items), 0 or 1."""
    whole, of_family = rng.random(families) < 0.75, rng.random(families) < rate
    of_item = rng.random((families, SIZE)) < rate
    return np.where(whole[:, None], of_family[:, None], of_item).astype(np.int64)


def write(path: Path, **models: Drawn) -> Path:
    rows = [
        f"{model},f{family}-{item},f{family},{score}"
        for model, drawn in models.items()
        for family, items in enumerate(drawn)
        for item, score in enumerate(items)
    ]
    path.write_text("\n".join(["model,item,family,score", *rows]) + "\n")
    return path


def apart(folder: Path, rng: np.random.Generator, families: int) -> tuple[bool, bool]:
    """Whether two equal models are said to be apart: with units, and without."""
    a, b = scores(rng, families, 0.6), scores(rng, families, 0.6)
    path = write(folder / "both.csv", a=a, b=b)
    reports = gridc.certify(path, unit="family"), gridc.certify(path, ignore=["family"])
    orders = [report.certificate.benchmarks[0].standings for report in reports]
    with_units, without = (order is not None and order.neighbours[0].apart for order in orders)
    return with_units, without


def main(draws: int = DRAWS) -> None:
    print("| families of 4 | falsely apart | without units |")
    print("|---|---|---|")
    with TemporaryDirectory() as name:
        for families in FAMILIES:
            rng, folder = np.random.default_rng(20261127 + families), Path(name)
            shares = np.mean([apart(folder, rng, families) for _ in range(draws)], axis=0)
            cells = [f"{share:.3f}".removeprefix("0") for share in shares]
            print(f"| {families} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
