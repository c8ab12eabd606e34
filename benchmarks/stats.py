"""Confirmatory statistics on totals beside the plain way with statsmodels on rows, in one run.

    python -m benchmarks.stats              # a study of 62,808 rows, both ways; then up to 1,000,000 rows
    python -m benchmarks.stats --large      # and 10,000,000 rows

The plain way of the slower tasks is measured on a share of them and multiplied; the line says which share.
Each line is `name: value`; `ratio` is plain over collapsed. Estimates of both ways are compared first.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from gridc.statistics.case_totals import CaseTotals, collapse
from gridc.statistics.clustered_logit import fit, unit, wald
from gridc.statistics.curve import Entries, Pairs, Specification, estimates, permutation_p, refits, shuffles
from gridc.statistics.designs import Design, factor, treatment
from gridc.statistics.risk import arm_sums, resampled_rates

ARMS, MODELS, BENCHMARKS = "dxcm", "abcdef", "pqrs"
SHAPE = (len(BENCHMARKS), len(MODELS), len(ARMS))
BENCH, MODEL, ARM = (at.astype(np.int64) for at in np.unravel_index(np.arange(int(np.prod(SHAPE))), SHAPE))


class Study:
    """Rows as the scaffold study has them: each case under every model and arm, in one of four benchmarks."""

    def __init__(self, cases: int, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        width = len(MODELS) * len(ARMS)
        self.case = np.repeat(np.arange(cases), width)
        self.bench = self.case * len(BENCHMARKS) // cases
        self.model, self.arm = np.divmod(np.tile(np.arange(width), cases), len(ARMS))
        latent = random.normal(0, 0.8, cases)[self.case] + 0.2 * self.model - 0.4 * (self.arm == 3) + 0.5
        self.outcome = (random.random(len(self.case)) < 1 / (1 + np.exp(-latent))).astype(np.float64)
        self.pattern = (self.bench * len(MODELS) + self.model) * len(ARMS) + self.arm
        self.read = random.random(len(self.case)) > 0.04

    def totals(self, read: bool = False) -> CaseTotals:
        kept = self.read if read else np.ones(len(self.case), np.bool_)
        return collapse(self.case[kept], self.pattern[kept], self.outcome[kept], len(ARM))


def design(kept: Any, fixed: str = "mb", interactions: bool = False) -> Design:
    factors = [factor("arm", ARMS, [ARMS[at] for at in ARM[kept]])]
    if "m" in fixed:
        factors.append(factor("model", MODELS, [MODELS[at] for at in MODEL[kept]]))
    if "b" in fixed:
        factors.append(factor("benchmark", BENCHMARKS, [BENCHMARKS[at] for at in BENCH[kept]]))
    return treatment(factors, [("arm", "model")] if interactions else [])


def curve_18() -> list[Specification]:
    """Three benchmark sets x three model sets x two readings, a two-arm logit for each contrast."""
    return [
        specification(np.isin(BENCH, benchmarks) & np.isin(MODEL, models) & np.isin(ARM, [0, arm]), rows)
        for benchmarks, models, rows, arm in product(
            ([0, 1, 2, 3], [0, 1, 2], [0, 2, 3]),
            (range(6), range(1, 6), range(5)),
            ("itt", "read"),
            (1, 2, 3),
        )
    ]


def curve_384() -> list[Specification]:
    """As many specifications as the study's larger curve: fixed effects in or out, parts left out."""
    return [
        specification(np.isin(BENCH, benchmarks) & np.isin(MODEL, models) & np.isin(ARM, arms), rows, fixed)
        for benchmarks, models, rows, fixed, arms in product(
            ([0, 1, 2, 3], [0, 1, 2], [0, 2, 3], [1, 2, 3]),
            (range(6), range(1, 6), range(5), range(1, 5), [0, 2, 4], [1, 3, 5]),
            ("itt", "read"),
            ("", "m", "b", "mb"),
            ([0, 1, 2, 3], [0, 1, 2]),
        )
    ]


def specification(kept: Any, rows: str, fixed: str = "mb") -> Specification:
    laid = design(kept, fixed)
    return Specification(kept, laid.matrix, unit(laid.places("arm"), len(laid.columns)), rows)


def seconds(task: Callable[[], object], times: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(times):
        task()
    return (time.perf_counter() - start) / times


def plain_fit(study: Study, kept: Any, laid: Design, rows: str = "itt") -> Any:
    """Logit on rows, errors clustered by case."""
    import statsmodels.api as sm

    some = kept[study.pattern] & (study.read if rows == "read" else True)
    place = np.cumsum(kept) - 1
    model = sm.Logit(study.outcome[some], laid.matrix[place[study.pattern[some]]])
    return model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": study.case[some]})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true", help="also 10,000,000 rows")
    parser.add_argument("--shuffles", type=int, default=500)
    args = parser.parse_args()
    study = Study(2617)
    every = np.ones(len(ARM), np.bool_)
    laid, crossed = design(every), design(every, interactions=True)
    totals = {"itt": study.totals(), "read": study.totals(read=True)}
    say("rows", len(study.case))

    ours, theirs = fit(laid.matrix, totals["itt"]), plain_fit(study, every, laid)
    say("largest difference of an estimate", f"{np.abs(ours.coefficients - theirs.params).max():.1e}")
    say("largest relative difference of an error", f"{np.abs(ours.errors / theirs.bse - 1).max():.1e}")
    beside("collapse the rows", None, seconds(lambda: study.totals(), 3))
    beside(
        "one fit",
        seconds(lambda: plain_fit(study, every, laid), 3),
        seconds(lambda: fit(laid.matrix, totals["itt"]), 20),
    )

    restriction = unit(crossed.places("arm", "model"), len(crossed.columns))
    beside(
        "interaction and its Wald test",
        seconds(lambda: plain_fit(study, every, crossed).wald_test(restriction, use_f=False, scalar=True)),
        seconds(lambda: wald(fit(crossed.matrix, totals["itt"]), restriction), 10),
    )

    sums = arm_sums(study.case, study.arm, study.outcome, len(ARMS))
    beside(
        "10,000 bootstraps by case (plain: 100 of them)",
        100 * seconds(lambda: plain_bootstrap(study, 100)),
        seconds(lambda: resampled_rates(sums, 10_000, 1)),
    )

    large = curve_384()
    some = [large[at] for at in np.random.default_rng(5).permutation(len(large))[:12]]
    plain = seconds(
        lambda: [plain_fit(study, each.kept, Design((), each.design), each.rows) for each in some]
    )
    beside(
        f"curve of {len(large)} specifications (plain: {len(some)} of them)",
        plain / len(some) * len(large),
        seconds(lambda: estimates(large, totals)),
    )

    small = curve_18()
    plain = seconds(
        lambda: [plain_fit(study, each.kept, Design((), each.design), each.rows) for each in small[:6]]
    )
    beside(
        f"{args.shuffles} shuffles of a curve of {len(small) // 3} (plain: 6 of its {len(small)} fits, once)",
        plain / 6 * len(small) * args.shuffles,
        seconds(lambda: [permute(study, small[arm - 1 :: 3], arm, args.shuffles) for arm in (1, 2, 3)]),
    )

    for cases in (2_617, 41_667, *([416_667] if args.large else [])):
        grown = Study(cases)
        total = grown.totals()
        beside(f"{len(grown.case):,} rows: collapse", None, seconds(grown.totals))
        beside(f"{len(grown.case):,} rows: fit", None, seconds(partial(fit, laid.matrix, total), 5))


def permute(study: Study, curve: list[Specification], arm: int, count: int) -> float:
    """Both arms of a contrast exchanged within each case and model, under both readings at once."""
    shape = (-1, len(ARMS))
    patterns = study.pattern.reshape(shape)[:, [0, arm]]
    outcome = study.outcome.reshape(shape)[:, [0, arm]]
    read = study.read.reshape(shape)[:, [0, arm]]
    case, model = (each.reshape(shape)[:, 0] for each in (study.case, study.model))
    entries = {
        "itt": Entries(np.ones(outcome.shape), outcome),
        "read": Entries(read.astype(np.float64), outcome * read),
    }
    pairs = Pairs(case, case * len(MODELS) + model, patterns)
    totals = {
        name: collapse(np.repeat(case, 2), patterns.ravel(), each.sums.ravel(), len(ARM), each.rows.ravel())
        for name, each in entries.items()
    }
    log_odds, _ = refits(curve, shuffles(pairs, entries, len(ARM), count, 3), totals, count)
    return permutation_p(0.05, np.abs(np.median(log_odds[:, :, 0], axis=1)))


def plain_bootstrap(study: Study, count: int) -> None:
    """The direct way: draw cases, take their rows, average."""
    random, width = np.random.default_rng(1), len(MODELS) * len(ARMS)
    for _ in range(count):
        drawn = random.integers(0, len(study.case) // width, len(study.case) // width)
        rows = (drawn[:, None] * width + np.arange(width)).ravel()
        [study.outcome[rows][study.arm[rows] == arm].mean() for arm in range(len(ARMS))]


def beside(name: str, plain: float | None, collapsed: float) -> None:
    if plain is not None:
        say(f"{name}, plain seconds", f"{plain:.4g}")
    say(f"{name}, collapsed seconds", f"{collapsed:.4g}")
    if plain is not None:
        say(f"{name}, ratio", f"{plain / collapsed:.1f}")


def say(name: str, value: object) -> None:
    print(f"{name}: {value}", flush=True)


if __name__ == "__main__":
    main()
