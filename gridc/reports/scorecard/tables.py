"""The tables of a scorecard, as they are printed."""

from collections.abc import Iterable, Iterator, Mapping
from math import ceil

from gridc.reports.printed import Printed
from gridc.schema.scorecard import ChangeRow, Held, MatrixRow, ModelScore, Needed, Scorecard

HELD: Mapping[Held, str] = {
    "yes": "yes",
    "partly": "in part",
    "no": "no",
    "not_measured": "not measured",
    "not_applicable": "does not apply",
}
STATED = {
    "before_stamp": "before the stamp",
    "changed_after": "changed after the stamp",
    "added_after": "added after the stamp",
    "post_hoc": "after the data",
    "always": "in every study",
}
KEPT = {
    "same": "same side of 0",
    "reversed": "reversed",
    "only_left": "only by the first",
    "only_right": "only by the second",
    "neither": "by neither",
}
NEEDED = {"harm": "NNH", "benefit": "NNB"}
NEEDED_NOTE = (
    "NNH, the number needed to harm, says how many answers it takes until one more is worse than under the "
    "reference; NNB, to benefit, until one more is better. Where the interval of the difference holds 0, "
    "it runs through infinity (Altman 1998)."
)


def scorecard_tables(card: Scorecard) -> Iterator[Printed]:
    """Every table, in the order of the page."""
    yield methodology_table(card)
    for model in card.models:
        yield matrix_table(model)
    yield sensitivity_table(card.models)
    yield integrity_table(card)
    yield Printed(
        "threats", "Threats to validity", ("threat", "what was done", "what remains"),
        tuple((row.threat, row.met, row.left) for row in card.threats),
    )  # fmt: skip
    yield Printed(
        "checklist", "Checklist", ("recommendation", "followed", "what is shown"),
        tuple((row.recommendation, HELD[row.holds], row.said) for row in card.checklist),
    )  # fmt: skip
    yield claims_table(card)


def methodology_table(card: Scorecard) -> Printed:
    return Printed(
        "methodology", "Methodology stamp", ("question", "answer", "what is shown", "evidence"),
        tuple((row.question, HELD[row.holds], row.said, row.evidence) for row in card.methodology),
    )  # fmt: skip


def matrix_table(model: ModelScore) -> Printed:
    """Every cell of a model."""
    columns = (
        "benchmark",
        "configuration",
        "rate",
        "95 %",
        "readable",
        "per protocol",
        "difference",
        "pp 95 %",
        "needed",
    )
    rows = tuple(
        (
            row.benchmark,
            change_words(row.levels),
            rate(row.rate),
            ends(row.interval),
            "–" if row.readable is None else f"{row.readable:,} of {row.trials:,}",
            rate(row.per_protocol),
            "–" if row.change is None else points(row.change.difference),
            "–" if row.change is None else points_ends(row.change),
            "–" if row.change is None else needed_words(row.change.needed),
        )
        for row in model.matrix
    )  # fmt: skip
    numeric = frozenset(columns) - {"benchmark", "configuration", "needed"}
    return Printed(f"matrix-{model.model}", f"Rates of {model.model}", columns, rows, numeric, NEEDED_NOTE)


def sensitivity_table(models: Iterable[ModelScore]) -> Printed:
    columns = (
        "model",
        "share of configuration, %",
        "mean range, pp",
        "widest range, pp",
        "where",
        "all answers, %",
    )
    rows = tuple(
        (
            model.model,
            "–" if row.share is None else f"{100 * row.share:.2f}",
            f"{100 * row.mean_range:.1f}",
            f"{100 * row.max_range:.1f}",
            row.widest,
            f"{100 * row.rate:.1f}",
        )
        for model in models
        if (row := model.sensitivity) is not None
    )
    note = (
        "The share is eta squared among single answers; the last column depends on how many items each "
        "benchmark has, and is no measure of a model."
    )
    numeric = frozenset(columns) - {"model", "where"}
    return Printed("sensitivity", "Sensitivity to the configuration", columns, rows, numeric, note)


def integrity_table(card: Scorecard) -> Printed:
    columns = (
        "model",
        "benchmark",
        "change",
        "first way",
        "pp",
        "second way",
        "pp (second)",
        "interval clear of 0",
    )
    rows = tuple(
        (
            row.model,
            row.benchmark,
            change_words(row.change),
            row.left,
            f"{points(row.by_left)} {_points_ends(row.left_interval)}",
            row.right,
            f"{points(row.by_right)} {_points_ends(row.right_interval)}",
            KEPT[row.kept],
        )
        for row in card.integrity
    )
    note = (
        "Changes of one level that two ways of measuring the same answers see; where both see the same "
        "it is not listed."
    )
    return Printed("integrity", "Integrity of the measurement", columns, rows, frozenset(), note)


def claims_table(card: Scorecard) -> Printed:
    columns = ("id", "claim", "stated", "answer", "cases x models x configurations", "reaches")
    rows = tuple(
        (
            row.id,
            row.claim,
            STATED[row.stated],
            row.answer,
            f"{row.cases:,} x {row.models} x {row.configurations}",
            row.reach,
        )
        for row in card.claims
    )
    return Printed("claims", "Scope of the claims", columns, rows)


def change_words(levels: Mapping[str, str]) -> str:
    """What a configuration changes of the reference."""
    return ", ".join(f"{axis} = {level}" for axis, level in levels.items()) or "reference"


def rate(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def ends(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def points(value: float) -> str:
    """A difference in percentage points, with its sign."""
    shown = f"{100 * value:+.1f}"
    return "0.0" if shown in ("+0.0", "-0.0") else shown.replace("-", "\N{MINUS SIGN}")


def points_ends(row: ChangeRow) -> str:
    return _points_ends(row.interval)


def _points_ends(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{points(interval[0])} to {points(interval[1])}"


def needed_words(row: Needed) -> str:
    """`NNH 14 (13 to 17)`, `NNH 166 (NNH 63 to ∞ to NNB 261)`, `no difference`."""
    shown = "no difference" if row.kind == "none" else f"{NEEDED[row.kind]} {row.shown:,}"
    if row.interval is not None:
        return f"{shown} ({_rounded(row.interval[0])} to {_rounded(row.interval[1])})"
    if row.through_infinity is not None:
        harm, benefit = row.through_infinity
        parts = [
            *([f"{NEEDED['harm']} {_rounded(harm)}"] if harm is not None else []),
            "\N{INFINITY}",
            *([f"{NEEDED['benefit']} {_rounded(benefit)}"] if benefit is not None else []),
        ]
        return f"{shown} ({' to '.join(parts)})"
    return shown


def _rounded(value: float | None) -> str:
    """The end of an interval, rounded up; it is known to ten digits."""
    return "\N{INFINITY}" if value is None else f"{ceil(value * (1 - 1e-9)):,}"


def first_columns(model: ModelScore) -> list[dict[str, str]]:
    """The columns of the matrix on the page: the reference, then each change of one level, as the rows
    have them."""
    found: dict[tuple[tuple[str, str], ...], None] = {}
    for row in model.matrix:
        if len(row.levels) < 2:
            found.setdefault(tuple(row.levels.items()), None)
    return [dict(each) for each in sorted(found, key=len)]


def by_benchmark(model: ModelScore) -> dict[str, dict[str, MatrixRow]]:
    """The rows of the matrix on the page, by benchmark and by what they change."""
    found: dict[str, dict[str, MatrixRow]] = {}
    for row in model.matrix:
        found.setdefault(row.benchmark, {})[change_words(row.levels)] = row
    return found
