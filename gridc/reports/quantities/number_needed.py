"""The number needed to harm or to benefit, as documents hold and print it. Its definition is
`statistics.risk.number_needed`."""

from math import ceil, isfinite, isinf

from gridc.numbers import between, bracketed, number
from gridc.reports.quantities import INDEPENDENT, estimate
from gridc.schema.estimates import EstimateRow
from gridc.schema.hypotheses import NumberNeededRow

SHORT = {"harm": "NNH", "benefit": "NNB"}
INFINITY = "\N{INFINITY}"
NOTE = (
    "NNH, the number needed to harm, says how many answers it takes, on average, until one more is worse "
    "than under the reference; NNB, to benefit, until one more is better. Where the interval of the "
    "difference holds 0, it runs through infinity (Altman 1998)."
)


def in_words(needed: NumberNeededRow) -> str:
    """`number needed to harm 14 [11.2, 17.4]`; in Altman's form where the difference may be 0."""
    if needed.kind == "none":
        words = "no number needed to harm or benefit, as there is no difference"
    else:
        words = f"number needed to {needed.kind} {needed.displayed:,}"
    if needed.low is not None:
        return f"{words} {bracketed((needed.low, needed.high), _end)}"
    if needed.harm is not None or needed.benefit is not None:
        harm = "" if _infinite(needed.harm) else f"{_end(needed.harm)} to harm through "
        benefit = "" if _infinite(needed.benefit) else f" to {_end(needed.benefit)} to benefit"
        return f"{words}, 95 % from {harm}infinity{benefit}" if harm or benefit else words
    return words


def _end(value: float | None) -> str:
    return "infinity" if _infinite(value) else number(value, 1)


def _finite(value: float | None) -> float | None:
    return None if _infinite(value) else value


def _infinite(value: float | None) -> bool:
    """Infinite, which a document writes as null, or not there."""
    return value is None or isinf(value)


def in_a_cell(row: NumberNeededRow) -> str:
    """`NNH 14 (13 to 17)`, `NNH 166, either way (NNH 63 or more, NNB 261 or more)`, `no difference`."""
    shown = "no difference" if row.kind == "none" else f"{SHORT[row.kind]} {row.displayed:,}"
    if row.low is not None:
        return f"{shown} ({between((row.low, row.high), _rounded)})"
    ends = {"harm": row.harm, "benefit": row.benefit}
    open_ends = [f"{SHORT[kind]} {_rounded(end)} or more" for kind, end in ends.items() if not _infinite(end)]
    if not open_ends:
        return shown
    either = ", either way" if len(open_ends) > 1 and row.kind != "none" else ""
    return f"{shown}{either} ({', '.join(open_ends)})"


def _rounded(value: float | None) -> str:
    """The end of an interval, rounded up; it is known to ten digits."""
    return INFINITY if value is None or isinf(value) else f"{ceil(value * (1 - 1e-9)):,}"


def needed_row(name: str, about: str, needed: NumberNeededRow, rows: str, n: int) -> EstimateRow:
    """A row of the document of estimates."""
    ends = (needed.harm, needed.benefit) if needed.low is None else (needed.low, needed.high)
    known = not all(map(_infinite, ends))
    through = "; from harm through infinity to benefit (Altman 1998)" if known and needed.low is None else ""
    finite = isfinite(needed.number)
    return estimate(
        "number_needed",
        id=f"{name}/number_needed",
        about=f"number needed to {needed.kind}, {about}" if finite else f"number needed, {about}",
        estimate=needed.number if finite else None,
        interval=(_finite(ends[0]), _finite(ends[1])) if known else None,
        method=f"1 / |difference|{through}",
        interval_assumes=INDEPENDENT,
        rows=rows,
        n=n,
        error="infinite: there is no difference",
    )
