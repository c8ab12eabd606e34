"""Confirmatory statistics on totals beside the plain way with statsmodels on rows, in one run.

    python -m benchmarks.stats              # a study of 62,808 rows, both ways; then up to 1,000,000 rows
    python -m benchmarks.stats --large      # and 10,000,000 rows

The plain way is what a user of statsmodels writes: the rows as a pandas table, `smf.logit` with a formula and
errors clustered by case, the fit asked for its estimates and errors; a resample takes the table's rows by
case. `matrices` is statsmodels at its fastest: `sm.Logit` on a design matrix that was made before the clock
started. Slower tasks are measured in part and multiplied, and the line says which part: of a curve, one
specification drawn from each kind (fixed effects x arms x reading), since that is what a fit's time hangs on.
Each line is `name: value`; `ratio` is plain over collapsed. Seconds are those of the processor, on one thread
both ways, so that other work on the machine does not count. Estimates of both ways are compared first.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

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

    def table(self) -> Any:
        """The rows as a pandas table."""
        import pandas as pd  # type: ignore[import-untyped]

        names = (("arm", ARMS), ("model", MODELS), ("bench", BENCHMARKS))
        levels = {name: pd.Categorical.from_codes(getattr(self, name), list(of)) for name, of in names}
        return pd.DataFrame({**levels, "safe": self.outcome, "case": self.case, "read": self.read})

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


class Choices(NamedTuple):
    """A specification as a user would write it: what is left in, and the fixed effects."""

    benchmarks: Sequence[int]
    models: Sequence[int]
    arms: Sequence[int]
    rows: str
    fixed: str = "mb"

    @property
    def kept(self) -> Any:
        return np.isin(BENCH, self.benchmarks) & np.isin(MODEL, self.models) & np.isin(ARM, self.arms)

    @property
    def design(self) -> Design:
        return design(self.kept, self.fixed)

    @property
    def specification(self) -> Specification:
        laid = self.design
        return Specification(self.kept, laid.matrix, unit(laid.places("arm"), len(laid.columns)), self.rows)

    @property
    def formula(self) -> str:
        terms = {"m": "C(model)", "b": "C(bench)"}
        return " + ".join(["safe ~ C(arm)", *(terms[name] for name in self.fixed)])

    def of(self, table: Any) -> Any:
        """The rows of a table that it keeps."""
        chosen = [
            ("bench", BENCHMARKS, self.benchmarks), ("model", MODELS, self.models), ("arm", ARMS, self.arms)
        ]  # fmt: skip
        some = table[table["read"]] if self.rows == "read" else table
        for name, levels, kept in chosen:
            some = some[some[name].isin([levels[at] for at in kept])]
        return some.assign(**{name: some[name].cat.remove_unused_categories() for name, _, _ in chosen})


EVERY = Choices(range(4), range(6), range(4), "itt")


def curve_18() -> list[Choices]:
    """Three benchmark sets x three model sets x two readings, a two-arm logit for each contrast."""
    return [
        Choices(benchmarks, models, [0, arm], rows)
        for benchmarks, models, rows, arm in product(
            ([0, 1, 2, 3], [0, 1, 2], [0, 2, 3]),
            (range(6), range(1, 6), range(5)),
            ("itt", "read"),
            (1, 2, 3),
        )
    ]


def curve_384() -> list[Choices]:
    """As many specifications as the study's larger curve: fixed effects in or out, parts left out."""
    return [
        Choices(benchmarks, models, arms, rows, fixed)
        for benchmarks, models, rows, fixed, arms in product(
            ([0, 1, 2, 3], [0, 1, 2], [0, 2, 3], [1, 2, 3]),
            (range(6), range(1, 6), range(5), range(1, 5), [0, 2, 4], [1, 3, 5]),
            ("itt", "read"),
            ("", "m", "b", "mb"),
            ([0, 1, 2, 3], [0, 1, 2]),
        )
    ]


def one_of_each_kind(curve: Sequence[Choices]) -> list[Choices]:
    """A seeded draw of one specification from each kind: fixed effects, how many arms, which reading."""
    kinds: dict[tuple[str, int, str], list[Choices]] = {}
    for each in curve:
        kinds.setdefault((each.fixed, len(each.arms), each.rows), []).append(each)
    random = np.random.default_rng(5)
    return [of[random.integers(len(of))] for of in kinds.values()]


def seconds(task: Callable[[], object], times: int = 1) -> float:
    start = time.process_time()
    for _ in range(times):
        task()
    return (time.process_time() - start) / times


def plain_fit(table: Any, choices: Choices, formula: str = "") -> Any:
    """The rows that are kept, a formula, errors clustered by case; asked for estimates and errors."""
    import statsmodels.formula.api as smf

    some = choices.of(table)
    model = smf.logit(formula or choices.formula, some)
    fitted = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": some["case"]})
    return fitted.params, fitted.bse, fitted


def matrix_fit(study: Study, choices: Choices) -> Callable[[], Any]:
    """The same on matrices that are made before."""
    import statsmodels.api as sm

    kept = choices.kept
    some = kept[study.pattern] & (study.read if choices.rows == "read" else True)
    matrix = choices.design.matrix[(np.cumsum(kept) - 1)[study.pattern[some]]]
    outcome, groups = study.outcome[some], study.case[some]

    def fitted() -> Any:
        found = sm.Logit(outcome, matrix).fit(disp=0, cov_type="cluster", cov_kwds={"groups": groups})
        return found.params, found.bse

    return fitted


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

    ours, table = fit(laid.matrix, totals["itt"]), study.table()
    estimates_, errors = matrix_fit(study, EVERY)()
    say("largest difference of an estimate", f"{np.abs(ours.coefficients - estimates_).max():.1e}")
    say("largest relative difference of an error", f"{np.abs(ours.errors / errors - 1).max():.1e}")
    beside("collapse the rows", seconds(lambda: study.totals(), 3))
    beside(
        "one fit",
        seconds(lambda: fit(laid.matrix, totals["itt"]), 20),
        plain=seconds(lambda: plain_fit(table, EVERY), 3),
        matrices=seconds(matrix_fit(study, EVERY), 3),
    )

    def interaction() -> None:
        fitted = plain_fit(table, EVERY, "safe ~ C(arm) * C(model) + C(bench)")[2]
        names = [name for name in fitted.params.index if ":" in name]
        fitted.wald_test(", ".join(f"{name} = 0" for name in names), use_f=False, scalar=True)

    restriction = unit(crossed.places("arm", "model"), len(crossed.columns))
    beside(
        "interaction and its Wald test",
        seconds(lambda: wald(fit(crossed.matrix, totals["itt"]), restriction), 10),
        plain=seconds(interaction),
    )

    sums = arm_sums(study.case, study.arm, study.outcome, len(ARMS))
    beside(
        "10,000 bootstraps by case (plain: 40 of them)",
        seconds(lambda: resampled_rates(sums, 10_000, 1), 3),
        plain=250 * seconds(lambda: plain_bootstrap(table, 40)),
    )

    large = curve_384()
    made = [each.specification for each in large]
    some = one_of_each_kind(large)
    beside(
        f"curve of {len(large)} specifications (plain: one of each kind, {len(some)})",
        seconds(lambda: estimates(made, totals)),
        plain=seconds(lambda: [plain_fit(table, each) for each in some]) / len(some) * len(large),
        matrices=sum(seconds(matrix_fit(study, each)) for each in some) / len(some) * len(large),
    )

    small = curve_18()
    made = [each.specification for each in small]
    beside(
        f"{args.shuffles} shuffles of a curve of {len(small) // 3}, three contrasts (plain: one shuffle)",
        seconds(lambda: [permute(study, made[arm - 1 :: 3], arm, args.shuffles) for arm in (1, 2, 3)]),
        plain=args.shuffles * seconds(lambda: plain_shuffle(table, small)),
        matrices=args.shuffles * sum(seconds(matrix_fit(study, each)) for each in small),
    )

    for cases in (2_617, 41_667, *([416_667] if args.large else [])):
        grown = Study(cases)
        total = grown.totals()
        beside(f"{len(grown.case):,} rows: collapse", seconds(grown.totals))
        beside(f"{len(grown.case):,} rows: fit", seconds(partial(fit, laid.matrix, total), 5))


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


def plain_shuffle(table: Any, curve: Sequence[Choices]) -> None:
    """Labels of the arms shuffled within each case and model, and the curve fitted again."""
    random = np.random.default_rng(1)
    codes = table["arm"].cat.codes.to_numpy().reshape(-1, len(ARMS))
    table = table.assign(arm=random.permuted(codes, axis=1).ravel())
    table["arm"] = table["arm"].map(dict(enumerate(ARMS))).astype("category")
    for each in curve:
        plain_fit(table, each)


def plain_bootstrap(table: Any, count: int) -> None:
    """Draw cases, take their rows, average by arm."""
    random = np.random.default_rng(1)
    by_case = table.set_index("case")
    cases = by_case.index.unique()
    for _ in range(count):
        drawn = by_case.loc[random.choice(cases, len(cases))]
        drawn.groupby("arm", observed=True)["safe"].mean()


def beside(name: str, collapsed: float, **others: float) -> None:
    """Seconds of a task, and how many times as long the other ways take."""
    say(f"{name}, collapsed seconds", f"{collapsed:.4g}")
    for way, other in others.items():
        say(f"{name}, {way} seconds", f"{other:.4g}")
        say(f"{name}, ratio{'' if way == 'plain' else f' to {way}'}", f"{other / collapsed:.1f}")


def say(name: str, value: object) -> None:
    print(f"{name}: {value}", flush=True)


if __name__ == "__main__":
    main()
