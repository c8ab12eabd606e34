"""Curves, variance components and corrected p-values of a whole study, again from its exported samples.

It reads the table of samples as CSV and the spec as TOML, with csv, tomllib, pandas and statsmodels on single
rows; nothing of gridc is imported. `expected` gives the estimates by the ids of estimates.json, and `tests`
the p-values of the hypotheses, which are differences of an axis, in families.
"""

import csv
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from tests.recount.arms import gaffke
from tests.recount.effects import LeftOut, claimed
from tests.recount.effects import corrected as step_down

Frame = Any
Spec = Mapping[str, Any]


def samples(path: Path) -> Frame:
    """One row for each sample: outcome 0 or 1, and whether it could be read."""
    with path.open(newline="") as file:
        rows = [
            {
                "model": row["model"],
                "benchmark": row["benchmark"],
                **{name.removeprefix("axis_"): value for name, value in row.items() if name[:5] == "axis_"},
                "item": f"{row['benchmark']} {row['item']}",
                "unit": f"{row['benchmark']} {row['unit']}",
                "read": row["parsed"].lower() in ("true", "1"),
                "y": int(row["score"]),
            }
            for row in csv.DictReader(file)
        ]
    return pd.DataFrame(rows)


def expected(spec: Spec, rows: Frame) -> Iterator[tuple[str, Mapping[str, float]]]:
    yield from components(spec, rows)
    yield from shares(rows)
    for curve in spec["curve"]:
        for hypothesis in spec["hypothesis"]:
            if hypothesis["id"] in curve["hypotheses"]:
                yield from curve_rows(spec, curve, hypothesis, rows)


def curve_rows(
    spec: Spec, curve: Spec, hypothesis: Spec, rows: Frame
) -> Iterator[tuple[str, Mapping[str, float]]]:
    level, reference = hypothesis["level"], hypothesis["reference"]
    name = f"curve/{curve['id']}/{hypothesis['id']}/{level}-{reference}"
    forks = [fork for fork in spec["fork"] if fork["id"] in curve["forks"]]
    forks.sort(key=lambda fork: curve["forks"].index(fork["id"]))
    alpha = next((each["alpha"] for each in spec["family"] if each["id"] == hypothesis["family"]), 0.05)
    specifications = [
        (levels, [fork.get("choice", {}).get(one, {}) for fork, one in zip(forks, levels, strict=True)])
        for levels in product(*(fork["levels"] for fork in forks))
    ]
    found = [estimate(rows, hypothesis, *each) for each in specifications]
    for number, row in enumerate(found):
        yield f"{name}/specification/{number}", row
    yield from whole(name, found, alpha)
    own = [levels for levels, _ in specifications].index(tuple(fork["default"] for fork in forks))
    for model in rows["model"].unique():
        kept = rows[rows["model"] != model]
        found = [estimate(kept, hypothesis, *each) for each in specifications]
        yield f"{name}/without/{model}", found[own]
        for key, value in whole(f"{name}/without/{model}", found, alpha):
            if not key.endswith(("quartile", "same_sign")):
                yield key, value


def whole(
    name: str, found: Sequence[Mapping[str, float]], alpha: float
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """What the specifications of a curve come to together."""
    values, p = (np.array([row[key] for row in found]) for key in ("estimate", "p"))
    low, median, high = np.percentile(values, [25, 50, 75])
    for key, value in (
        ("log_odds_median", median),
        ("log_odds_first_quartile", low),
        ("log_odds_third_quartile", high),
        ("share_significant_below", np.mean((p <= alpha) & (values < 0))),
        ("share_significant_above", np.mean((p <= alpha) & (values > 0))),
        ("share_same_sign", np.mean(np.sign(values) == np.sign(median))),
    ):
        yield f"{name}/{key}", {"estimate": float(value)}


def estimate(
    rows: Frame, hypothesis: Spec, levels: Sequence[str], choices: Sequence[Spec]
) -> Mapping[str, float]:
    """A logit of the two arms on the rows that the choices keep, by statsmodels on single rows."""
    kept, left_out = rows[rows["scaffold"].isin([hypothesis["level"], hypothesis["reference"]])], set()
    for choice in choices:
        for axis, other in choice.get("where", {}).items():
            kept = kept[kept[axis] != other["not"]]
        left_out |= set(choice.get("without_terms", []))
    if "pp" in levels:  # items that are readable in both arms
        pair = kept.groupby([name for name in kept if name not in ("scaffold", "read", "y", "unit")])["read"]
        assert (pair.transform("size") == 2).all()
        kept = kept[pair.transform("all")]
    found, at = logit(kept, hypothesis, left_out)
    low, high = found.conf_int()[at]
    return {
        "estimate": float(found.params[at]),
        "low": float(low),
        "high": float(high),
        "p": float(found.pvalues[at]),
        "n": len(kept),
    }


def logit(kept: Frame, hypothesis: Spec, left_out: set[str]) -> tuple[Any, int]:
    import statsmodels.api as sm

    columns = [np.ones(len(kept)), (kept["scaffold"] == hypothesis["level"]).to_numpy(float)]
    for name in ("model", "benchmark"):
        if name not in left_out:
            for one in kept[name].unique()[1:]:
                columns.append((kept[name] == one).to_numpy(float))
    model = sm.GLM(kept["y"].to_numpy(float), np.column_stack(columns), family=sm.families.Binomial())
    groups = pd.factorize(kept["unit"])[0]
    return model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True, tol=1e-15, maxiter=200), 1


def components(spec: Spec, rows: Frame) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Mean squares of statsmodels on the means of cells."""
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    first, second = spec["analysis"]["generalizability"]
    cells = rows.groupby(["model", first, second], as_index=False)["y"].mean()
    formula = f"y ~ (C(model) + C({first}) + C({second}))**2"
    squares = anova_lm(ols(formula, cells).fit())["mean_sq"]
    i, j = (rows[name].nunique() for name in (first, second))
    rest = squares["Residual"]
    of_first, of_second = squares[f"C(model):C({first})"], squares[f"C(model):C({second})"]
    name = "generalizability/component/models"
    yield name, {"estimate": (squares["C(model)"] - of_first - of_second + rest) / (i * j)}
    yield f"{name}*{first}", {"estimate": (of_first - rest) / j}
    yield f"{name}*{second}", {"estimate": (of_second - rest) / i}
    yield "generalizability/component/rest", {"estimate": rest}
    both = f"generalizability/convention/{first}+{second}"
    yield both, {"estimate": max(1 - rest / squares["C(model)"], 0.0)}


def shares(rows: Frame) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Type II sums of squares of statsmodels on single outcomes."""
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    names = ["model", "benchmark", "scaffold"]
    fitted = ols(f"y ~ ({' + '.join(f'C({name})' for name in names)})**2", rows).fit()
    table, total = anova_lm(fitted, typ=2), float(((rows["y"] - rows["y"].mean()) ** 2).sum())
    mean_square = table["sum_sq"]["Residual"] / table["df"]["Residual"]
    for row in table.index[:-1]:
        term = "*".join(part[2:-1] for part in row.split(":"))
        squares, df = table["sum_sq"][row], table["df"][row]
        yield f"variance/{term}/eta2", {"estimate": squares / total}
        omega = max((squares - df * mean_square) / (total + mean_square), 0.0)
        yield f"variance/{term}/omega2", {"estimate": omega}


def corrected(spec: Spec, rows: Frame) -> dict[str, tuple[float, float, float]]:
    """Of each hypothesis the raw p of its contrast in a logit on all scaffolds, with errors by leaving out
    units, and both its p-values, corrected over the claims of its family."""
    import statsmodels.api as sm

    raw: dict[str, tuple[float, float]] = {}
    for hypothesis in spec["hypothesis"]:
        levels = hypothesis["level"]
        levels = [levels] if isinstance(levels, str) else levels
        columns = [np.ones(len(rows))]
        others = [one for one in rows["scaffold"].unique() if one != hypothesis["reference"]]
        columns += [(rows["scaffold"] == one).to_numpy(float) for one in others]
        for name in ("model", "benchmark"):
            columns += [(rows[name] == one).to_numpy(float) for one in rows[name].unique()[1:]]
        x, y = np.column_stack(columns), rows["y"].to_numpy(float)
        params = sm.GLM(y, x, family=sm.families.Binomial()).fit(tol=1e-15, maxiter=200).params
        left_out = LeftOut(x, y, pd.factorize(rows["unit"])[0], np.asarray(params))
        at = [1 + others.index(one) for one in levels]
        *_, p = left_out.joint(np.eye(x.shape[1])[at])  # of one level the square of its t
        margin = (hypothesis.get("margin") or {}).get("pp", 0) / 100
        pairs = [(one, hypothesis["reference"]) for one in levels]
        within = [beyond(rows, *pair, -margin) for one in pairs for pair in (one, one[::-1])]
        raw[hypothesis["id"]] = p, max(within) if margin else 1.0
    found: dict[str, tuple[float, float, float]] = {}
    for family in spec["family"]:
        members = [each for each in spec["hypothesis"] if each["family"] == family["id"]]
        claims = [
            (each["id"], side, raw[each["id"]][side == "refute"], claimed(each)[1])
            for each in members
            for side in claimed(each)[0]
        ]
        values = {
            (name, side): value
            for (name, side, *_), value in zip(claims, step_down(claims, family["correction"]), strict=True)
        }
        for each in members:
            name = each["id"]
            found[name] = raw[name][0], values[name, "support"], values.get((name, "refute"), 1.0)
    return found


def beyond(rows: Frame, level: str, reference: str, bound: float) -> float:
    """p of: the rate of a scaffold less that of another is above the bound."""
    held = rows.pivot_table(index="unit", columns="scaffold", values="y", aggfunc=["count", "sum"])
    share = {one: held["count"][one] / held["count"][one].sum() for one in (level, reference)}
    weight = (share[level] + share[reference]) / 2
    moved = sum(
        sign * held["sum"][one] / held["count"][one].sum() for one, sign in ((level, 1), (reference, -1))
    )
    return gaffke((moved - bound * weight).to_numpy(), -float((share[reference] + bound * weight).max()))


def read(path: Path) -> Spec:
    return tomllib.loads(path.read_text("utf-8"))
