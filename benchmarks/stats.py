"""Confirmatory statistics beside the fastest ways of other libraries, from rows to estimates, in one run.

    python -m benchmarks.stats              # a study of 62,808 rows, then 1,000,000 rows
    python -m benchmarks.stats --large      # and 10,000,000 rows

Every way (`benchmarks/peers.py`) starts from rows as gridc reads them from a store (case, pattern,
outcome), or from a pandas table of them, made before the clock starts, and ends with the numbers that are
compared. Ways take turns for some rounds, and the least seconds of each count: of the processor, one thread
each. What is too slow is measured in part, once, and multiplied. The ratio is another way's seconds over
gridc's: above 1, gridc is ahead. `written` is how it is commonly written, which is not the fastest. Ways
agree to a largest relative difference.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks import peers
from benchmarks.peers import Fitted, Rows
from gridc.statistics.case_totals import CaseTotals, DesignMatrix, case_table, collapse, factor, treatment
from gridc.statistics.clustered_logit import Jackknife, NotEstimable, fit, maximum, unit
from gridc.statistics.curve import ArmPairs, Entries, Specification, estimates, refits, shuffles
from gridc.statistics.risk import arm_sums, resampled_rates

SEED = 3
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

    def rows(self, kept: Any = slice(None)) -> Rows:
        return Rows(self.case[kept], self.pattern[kept], self.outcome[kept])

    @property
    def readings(self) -> dict[str, Rows]:
        return {"itt": self.rows(), "read": self.rows(self.read)}


def design(kept: Any, fixed: str = "mb", interactions: bool = False) -> DesignMatrix:
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
    def design(self) -> DesignMatrix:
        return design(self.kept, self.fixed)

    @property
    def specification(self) -> Specification:
        laid = self.design
        return Specification(self.kept, laid.matrix, unit(laid.places("arm"), len(laid.columns)), self.rows)

    @property
    def formula(self) -> str:
        terms = {"m": "model", "b": "bench"}
        return " + ".join(["safe ~ arm", *(terms[name] for name in self.fixed)])

    def of(self, rows: Rows) -> Rows:
        """The rows that it keeps, their patterns numbered as those of its design."""
        kept = self.kept
        some, place = kept[rows.pattern], np.cumsum(kept) - 1
        return Rows(rows.case[some], place[rows.pattern[some]], rows.outcome[some])

    def on_table(self, tables: dict[str, Any]) -> Fitted:
        """numpy's fit on the rows and sums by case and pattern of its reading."""
        numbers, sums = (table[:, self.kept] for table in tables[self.rows])
        return peers.table_logit(numbers, sums, self.design.matrix)

    def of_table(self, table: Any) -> Any:
        """The rows of a pandas table that it keeps."""
        chosen = [
            ("bench", BENCHMARKS, self.benchmarks), ("model", MODELS, self.models), ("arm", ARMS, self.arms)
        ]  # fmt: skip
        some = table[table["read"]] if self.rows == "read" else table
        for name, levels, kept in chosen:
            some = some[some[name].isin([levels[at] for at in kept])]
        return some.assign(**{name: some[name].cat.remove_unused_categories() for name, _, _ in chosen})

    def contrasts(self, fitted: Fitted) -> Any:
        """Estimates and errors of its contrasts, which come first in every formula and design."""
        places = slice(1, len(self.arms))
        return np.concatenate([fitted.coefficients[places], np.sqrt(np.diag(fitted.covariance))[places]])


EVERY = Choices(range(4), range(6), range(4), "itt")
FORMULA = "safe ~ arm + model + bench"


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


class Way(NamedTuple):
    """A way to do a task: its numbers. `times` above 1: only a part is done, so many of which are the whole;
    `part` picks gridc's numbers of it."""

    name: str
    numbers: Callable[[], Any]
    times: float = 1
    part: Any = ()


class Line(NamedTuple):
    task: str
    ours: float
    peer: str
    theirs: float
    agreement: float


def beside(task: str, rounds: int, ours: Callable[[], Any], *ways: Way) -> Line:
    """gridc and the other ways of a task, in turn; a first round compares what they find."""
    numbers, apart = np.asarray(ours()), {}
    took = {"gridc": np.inf} | {way.name: np.inf for way in ways}
    for way in ways:
        spent, found = timed(way.numbers)
        expected = numbers[way.part]
        apart[way.name] = np.nan if found is None else float(np.abs(np.asarray(found) / expected - 1).max())
        if way.times > 1:
            took[way.name] = spent * way.times
    whole = [Way("gridc", ours), *(way for way in ways if way.times == 1)]
    for way in whole * rounds:
        took[way.name] = min(took[way.name], timed(way.numbers)[0])
    print(f"\n{task}\n  {'gridc':38}{took['gridc']:10.4f} s", flush=True)
    for way in sorted(ways, key=lambda way: took[way.name]):
        ratio, agreement = took[way.name] / took["gridc"], apart[way.name]
        compared = "" if np.isnan(agreement) else f"   agrees to {agreement:.0e}"
        part = "" if way.times == 1 else f"   measured in part, times {way.times:,.0f}"
        print(f"  {way.name:38}{took[way.name]:10.4f} s   ratio {ratio:8.2f}{compared}{part}", flush=True)
    best = min(ways, key=lambda way: took[way.name])
    return Line(task, took["gridc"], best.name, took[best.name], apart[best.name])


def timed(task: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = task()
    return time.process_time() - start, found


def totals_of(rows: Rows) -> CaseTotals:
    return collapse(rows.case, rows.pattern, rows.outcome, len(ARM))


def one_fit(rows: Rows, matrix: Any) -> Any:
    fitted = fit(matrix, totals_of(rows))
    return EVERY.contrasts(Fitted(fitted.coefficients, fitted.covariance))


def one_jackknife(rows: Rows, matrix: Any) -> Any:
    """As hypotheses are decided: the degrees of freedom too."""
    cases = case_table(rows.case, rows.pattern, rows.outcome, len(ARM))
    errors = Jackknife(matrix, cases, maximum(matrix, cases))
    found = [errors.combination(unit(at, matrix.shape[1])) for at in range(1, len(ARMS))]
    return [each.estimate for each in found] + [each.error for each in found]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true", help="also 10,000,000 rows")
    parser.add_argument("--shuffles", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    study = Study(2617)
    rows, table, rounds = study.rows(), study.table(), args.rounds
    print(f"{len(rows.case):,} rows of {2617:,} cases in {len(ARM)} patterns", flush=True)
    lines = [
        *single(rows, table, rounds),
        bootstraps(study, table, rounds),
        curve(study, table, rounds),
        permutation(study, table, args.shuffles),
    ]
    matrix = EVERY.design.matrix
    for cases in (41_667, *([416_667] if args.large else [])):
        grown = Study(cases).rows()
        lines.append(
            beside(
                f"one fit of {len(grown.case):,} rows",
                3,
                partial(one_fit, grown, matrix),
                *logits(grown, matrix),
            )
        )
    print("\n| task | gridc, s | best other way | s | ratio | agrees to |\n|---|---|---|---|---|---|")
    for line in lines:
        ratio, agreement = line.theirs / line.ours, f"{line.agreement:.0e}"
        print(
            f"| {line.task} | {line.ours:.3g} | {line.peer} | {line.theirs:.3g} | {ratio:.2g} | {agreement} |"
        )


def logits(rows: Rows, matrix: Any) -> list[Way]:
    """One fit by the ways that are fastest."""
    return [
        Way("numpy", lambda: EVERY.contrasts(peers.numpy_logit(rows, matrix))),
        Way("numba", lambda: EVERY.contrasts(peers.numba_logit(rows, matrix))),
    ]


def single(rows: Rows, table: Any, rounds: int) -> list[Line]:
    """One fit, one Wald test of many coefficients, one jackknife."""
    matrix, crossed = EVERY.design.matrix, design(EVERY.kept, interactions=True)
    places, formula = crossed.places("arm", "model"), "safe ~ arm * model + bench"

    def interaction(way: Callable[[Rows, Any], Fitted]) -> Callable[[], float]:
        return lambda: peers.wald(way(rows, crossed.matrix), places)

    def contrasts(way: Callable[[Rows, Any], Fitted]) -> Callable[[], Any]:
        return lambda: EVERY.contrasts(way(rows, matrix))

    cases, plain = int(rows.case.max()) + 1, (table, FORMULA)
    return [
        beside(
            "one fit with errors by case", rounds, partial(one_fit, rows, matrix), *logits(rows, matrix),
            Way("statsmodels on patterns, numpy", contrasts(peers.patterns_logit)),
            Way("statsmodels on a matrix", contrasts(peers.rows_logit)),
            Way("glum", lambda: EVERY.contrasts(peers.glum_logit(table, FORMULA))),
            Way("pyfixest", lambda: EVERY.contrasts(peers.pyfixest_logit(table, FORMULA))),
            Way("written: statsmodels, formula", lambda: EVERY.contrasts(peers.written_logit(*plain))),
        ),
        beside(
            "interaction and its Wald test", rounds,
            interaction(collapsed),
            Way("numpy", interaction(peers.numpy_logit)),
            Way("numba", interaction(peers.numba_logit)),
            Way("statsmodels on patterns, numpy", interaction(peers.patterns_logit)),
            Way("statsmodels on a matrix", interaction(peers.rows_logit)),
            Way("written: statsmodels, formula", lambda: written_wald(table, formula)),
        ),
        beside(
            "cluster jackknife", rounds, partial(one_jackknife, rows, matrix),
            Way("numpy, one step, no degrees of freedom", contrasts(peers.one_step_jackknife)),
            Way("numpy, refits on patterns", contrasts(peers.refitted_jackknife)),
            Way(
                "statsmodels, refits on patterns",
                lambda: peers.patterns_refits(rows, matrix, 99), cases / 99,
            ),
            Way("written: statsmodels, refits", lambda: peers.rows_refits(rows, matrix, 3), cases / 3),
        ),
    ]  # fmt: skip


def collapsed(rows: Rows, matrix: Any) -> Fitted:
    found = fit(matrix, totals_of(rows))
    return Fitted(found.coefficients, found.covariance)


def written_wald(table: Any, formula: str) -> float:
    fitted = peers.written_model(table, formula)
    named = ", ".join(f"{name} = 0" for name in fitted.params.index if ":" in name)
    return float(fitted.wald_test(named, use_f=False, scalar=True).statistic)


def bootstraps(study: Study, table: Any, rounds: int) -> Line:
    """Standard errors of the three differences from the first arm; gridc draws the rates of all arms."""
    by_arm, count = Rows(study.case, study.arm, study.outcome), 10_000

    def drawn() -> Any:
        rates = resampled_rates(arm_sums(*by_arm[:2], by_arm.outcome, len(ARMS)), count, 1)
        return (rates[:, 1:] - rates[:, :1]).std(axis=0)

    return beside(
        "10,000 bootstraps by case", min(rounds, 3), drawn,
        Way("scipy.stats.bootstrap, values by case", lambda: peers.scipy_bootstrap(by_arm, len(ARMS), count)),
        Way("numpy, values by case", lambda: peers.numpy_bootstrap(by_arm, len(ARMS), count)),
        Way("numpy, multinomial of few values", lambda: peers.kinds_bootstrap(by_arm, len(ARMS), count)),
        Way("numba", lambda: peers.numba_bootstrap(by_arm, len(ARMS), count)),
        Way("written: pandas, .loc", lambda: peers.written_bootstrap(table, 10), count / 10),
    )  # fmt: skip


def curve(study: Study, table: Any, rounds: int) -> Line:
    """Of every specification the first contrast and its error."""
    every, readings = curve_384(), study.readings
    made = [each.specification for each in every]
    some = one_of_each_kind(every)
    part, times = [every.index(each) for each in some], len(every) / len(some)

    def ours() -> Any:
        found = estimates(made, {name: totals_of(rows) for name, rows in readings.items()})
        return [(each[0].estimate, each[0].error) for each in found if not isinstance(each, NotEstimable)]

    def by(way: Callable[[Rows, Any], Fitted], of: Sequence[Choices]) -> Any:
        return [first(way(each.of(readings[each.rows]), each.design.matrix)) for each in of]

    def shared() -> Any:
        tables = {name: peers.by_case(rows, len(ARM)) for name, rows in readings.items()}
        return [first(each.on_table(tables)) for each in every]

    return beside(
        f"curve of {len(every)} specifications", min(rounds, 2), ours,
        Way("numpy, one table by case for all", shared),
        Way("numpy", lambda: by(peers.numpy_logit, every)),
        Way("numba", lambda: by(peers.numba_logit, every)),
        Way("statsmodels on patterns, numpy", lambda: by(peers.patterns_logit, some), times, part),
        Way("statsmodels on a matrix", lambda: by(peers.rows_logit, some), times, part),
        Way(
            "written: statsmodels, formula",
            lambda: [first(peers.written_logit(each.of_table(table), each.formula)) for each in some],
            times, part,
        ),
    )  # fmt: skip


def first(fitted: Fitted) -> tuple[float, float]:
    return float(fitted.coefficients[1]), float(np.sqrt(fitted.covariance[1, 1]))


def permutation(study: Study, table: Any, count: int) -> Line:
    """Both arms of each of three contrasts exchanged within whole cases, under both readings at once, and all
    specifications fitted again, with errors: their log odds in every shuffle, (3, count, specifications)."""
    every = [curve_18()[arm - 1 :: 3] for arm in (1, 2, 3)]

    def ours() -> Any:
        return [refitted(study, arm, of, count) for arm, of in enumerate(every, 1)]

    def by(way: Callable[[Rows, Any], Fitted]) -> Any:
        found = []
        for arm, of in enumerate(every, 1):
            shuffled = exchanged(study, arm)
            fits = [way(each.of(shuffled[each.rows]), each.design.matrix) for each in of]
            found.append([fitted.coefficients[1] for fitted in fits])
        return found

    def shared() -> Any:
        found = []
        for arm, of in enumerate(every, 1):
            tables = {name: peers.by_case(rows, len(ARM)) for name, rows in exchanged(study, arm).items()}
            found.append([each.on_table(tables).coefficients[1] for each in of])
        return found

    def written() -> Any:
        found = []
        for arm, of in enumerate(every, 1):
            shuffled = exchanged_table(study, table, arm)
            fits = [peers.written_logit(each.of_table(shuffled), each.formula) for each in of]
            found.append([fitted.coefficients[1] for fitted in fits])
        return found

    one = (slice(None), 0)
    return beside(
        f"{count} shuffles of a curve of {len(every[0])}, three contrasts", 1, ours,
        Way("numpy, one table by case for all", shared, count, one),
        Way("numpy", lambda: by(peers.numpy_logit), count, one),
        Way("numba", lambda: by(peers.numba_logit), count, one),
        Way("statsmodels on patterns, numpy", lambda: by(peers.patterns_logit), count, one),
        Way("statsmodels on a matrix", lambda: by(peers.rows_logit), count, one),
        Way("written: statsmodels, formula", written, count, one),
    )  # fmt: skip


def in_pairs(study: Study, arm: int) -> tuple[Any, Any, Any, Any]:
    """The case of each pair of the first arm and another, (N,); of both its entries the pattern, the outcome,
    and whether both can be read, (N, 2)."""
    case, *entries = (
        values.reshape(-1, len(ARMS))[:, [0, arm]]
        for values in (study.case, study.pattern, study.outcome, study.read)
    )
    pattern, outcome, read = entries
    return case[:, 0], pattern, outcome, np.repeat(read.all(axis=1, keepdims=True), 2, axis=1)


def refitted(study: Study, arm: int, curve: Sequence[Choices], count: int) -> Any:
    case, pattern, outcome, read = in_pairs(study, arm)
    entries = {
        "itt": Entries(np.ones(outcome.shape), outcome),
        "read": Entries(read.astype(np.float64), outcome * read),
    }
    totals = {
        name: collapse(np.repeat(case, 2), pattern.ravel(), held.sums.ravel(), len(ARM), held.rows.ravel())
        for name, held in entries.items()
    }
    batches = shuffles(ArmPairs(case, pattern), entries, len(ARM), count, SEED)
    return refits([each.specification for each in curve], batches, totals, count)[0][:, :, 0]


def coins(study: Study) -> Any:
    """Which cases the first shuffle of gridc exchanges."""
    return np.random.default_rng(SEED).integers(0, 2, int(study.case.max()) + 1).astype(np.bool_)


def exchanged(study: Study, arm: int) -> dict[str, Rows]:
    case, pattern, outcome, read = in_pairs(study, arm)
    pattern = np.where(coins(study)[case, None], pattern[:, ::-1], pattern)
    rows = Rows(np.repeat(case, 2), pattern.ravel(), outcome.ravel())
    return {"itt": rows, "read": Rows(*(column[read.ravel()] for column in rows))}


def exchanged_table(study: Study, table: Any, arm: int) -> Any:
    """The labels of the two arms exchanged in whole cases, as a pandas table."""
    place = table["arm"].cat.codes.to_numpy()
    both = table[(place == 0) | (place == arm)]
    codes, swapped = both["arm"].cat.codes.to_numpy(), coins(study)[both["case"]]
    levels = both["arm"].cat.categories
    labels = type(both["arm"].array).from_codes(np.where(swapped, arm - codes, codes), levels)
    return both.assign(arm=labels, read=in_pairs(study, arm)[3].ravel())


if __name__ == "__main__":
    main()
