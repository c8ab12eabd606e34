"""How gridc prints numbers, in the terminal and in every document: one form for each kind."""

from collections.abc import Callable, Sequence
from math import exp, floor, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

    Real = float | Fraction

ABSENT = "–"


def number(value: "Real | None", digits: int = 3) -> str:
    """`0.3333` as `0.333`, what is not defined as a dash, and nothing as `0.000`, not `-0.000`."""
    return ABSENT if value is None else f"{round(float(value), digits) + 0.0:.{digits}f}"


def hundredths(share: "Real | None", digits: int = 1) -> str:
    """A share or a size in points without its unit, which stands beside it: `0.333` as `33.3`."""
    return number(None if share is None else 100 * float(share), digits)


def percent(share: "Real | None", digits: int = 1) -> str:
    """`0.333` as `33.3 %`, and what is not defined as a dash."""
    return ABSENT if share is None else f"{hundredths(share, digits)} %"


def in_unit(value: "Real | None", unit: str) -> str:
    """A value with what it is counted in: `33.3 %`, `4.0 pp`, `1,234 tokens`, `0.0123 US dollars per score`;
    without a unit `0.333`."""
    if value is None or unit in ("", "%"):
        return number(value) if unit == "" else percent(value)
    return f"{hundredths(value)} pp" if unit == "pp" else f"{amount(value)} {unit}"


def span_in_unit(ends: "Sequence[Real]", unit: str) -> str:
    """An interval with what it is counted in: `30.4 to 62.4 pp`, `3.68 to 4.23 tokens`."""
    form = {"": number, "%": hundredths, "pp": hundredths}.get(unit, amount)
    return f"{interval_words(ends, form)} {unit}".strip()


def amount(value: "Real") -> str:
    """Three figures of a number of any size, or all of its whole ones: `0.0123`, `4.57`, `1,234`."""
    size = abs(float(value))
    if size >= 100 or size == 0:
        return f"{float(value):,.0f}"
    return f"{float(value):.{max(0, 2 - floor(log10(size)))}f}"


def as_typed(value: "Real") -> str:
    """A number that somebody chose, with the digits that they chose: `0.05`, `5`."""
    return f"{float(value):.10g}"


def stated_percent(share: "Real") -> str:
    """A share that somebody chose: `95 %`, `99.5 %`."""
    return f"{as_typed(100 * share)} %"


def with_sign(value: "Real | None", digits: int = 1) -> str:
    """`+3.2`, `-0.4`, and `0.0` where no digit is left of it."""
    if value is None:
        return ABSENT
    shown = f"{float(value):+.{digits}f}"
    return shown if float(shown) else shown[1:]


def in_points(difference: "Real | None") -> str:
    """A difference of shares in percentage points: `+3.2`."""
    return with_sign(None if difference is None else 100 * difference)


def figures(value: float | None, most: int = 3) -> str:
    """So many figures of it, as of a ratio or a statistic: `1.23`, `0.0456`."""
    return ABSENT if value is None else f"{value:.{most}g}"


def odds_ratio(log_odds: float) -> str:
    """Of log odds, `0.0` as `1`."""
    return figures(exp(log_odds))


def interval_words(ends: Sequence[Any] | None, form: Callable[..., str], *digits: int) -> str:
    """An interval in a table, each end in its form: `11.2 to 17.4`, and none as a dash."""
    return ABSENT if ends is None else " to ".join(form(end, *digits) for end in ends)


FEW_UNITS = (
    "Few units: the items come from groups that are worth fewer than 20 of equal size, so an interval for "
    "new groups is wide. The interval marked “these units” is for new items of the same groups."
)
"""What a table says where a benchmark has few units."""


def over_units(value: Any, form: Callable[..., str], *digits: int) -> str:
    """The interval of a score, a gap or a rate over units: `11.2 to 17.4`; of few units `2.1 to 80.4; these
    units 11.2 to 17.4`."""
    own = f"; these units {interval_words(value.on_units, form, *digits)}" if value.on_units else ""
    return f"{interval_words(value.interval, form, *digits)}{own}"


def bracketed(ends: Sequence[Any], form: Callable[..., str], *digits: int) -> str:
    """An interval beside its estimate: `[11.2, 17.4]`."""
    return f"[{', '.join(form(end, *digits) for end in ends)}]"


def p_value(p: float | None) -> str:
    """`0.012`, `< 0.0001`, `1`, and what was not tested as a dash."""
    if p is None:
        return ABSENT
    if p < 0.0001:
        return "< 0.0001"
    return "1" if p >= 1 else f"{p:.2g}" if p < 0.01 else f"{p:.3f}"


def p_in_text(p: float | None) -> str:
    """A p-value with its sign: `p = 0.012`, `p < 0.0001`, `no p`."""
    if p is None:
        return "no p"
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def count(value: int) -> str:
    """`12,345`."""
    return f"{value:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 reversal`, `15 reversals`, `2 hypotheses`."""
    return f"{count(number)} {noun if number == 1 else plural or f'{noun}s'}"


def asked_items(asked: int, held: int = 0, distinct: int = 0) -> str:
    """How many items are asked: `40 of 120 items`, or `40 items` where that is every item that the files
    hold, or nobody recorded how many they hold. Where some ask the same: `40 items (12 distinct
    questions)`."""
    items = f"{count(asked)} of {counted(held, 'item')}" if held > asked else counted(asked, "item")
    return f"{items} ({counted(distinct, 'distinct question')})" if distinct else items


FORMS: dict[str, Any] = {
    form.__name__: form
    for form in (
        number, in_unit, span_in_unit, hundredths, percent, as_typed, stated_percent, with_sign, in_points,
        figures, odds_ratio, interval_words, over_units, bracketed, p_value, p_in_text, count, asked_items,
    )
}  # fmt: skip
"""By name, as templates know them."""
