"""Fill the report templates. Everything that a model or a spec wrote is escaped where it is printed."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from gridc.compiler.instrument.refusal import ERROR
from gridc.numbers import FORMS, figures, percent
from gridc.reports.quantities import number_needed
from gridc.reports.words import better, model_at
from gridc.schema.certificate import Floor
from gridc.schema.spread import PairedRow


def render(template: str, **values: Any) -> str:
    """A template of `gridc/templates/reports`, filled. HTML templates escape by default."""
    return _environment().get_template(template).render(**values)


def shown_points(value: Fraction) -> int | float:
    """A sum of scores as people write it: whole where it is."""
    return int(value) if value.denominator == 1 else float(value)


def floor(measured: Floor | None) -> str:
    """A noise floor in a line, what was not measured as such."""
    if measured is None:
        return "not measured"
    moved = (
        ""
        if measured.max_moved is None
        else f"; log-likelihoods moved by at most {figures(measured.max_moved, 2)} nats"
    )
    outcomes = f"{measured.changed} of {measured.outcomes} outcomes of {measured.calls} calls"
    texts = f"{measured.texts_changed} of {measured.texts} texts"
    return f"{outcomes} (95 % limit {percent(measured.limit)}) and {texts} changed{moved}"


def unbroken(text: str) -> str:
    """Shares that a narrow column does not part from their sign."""
    return text.replace(" %", "\u00a0%")


def in_configurations(row: PairedRow) -> str:
    """What a paired report says of the models' orders, in a sentence."""
    if len(row.by_model) < 2:
        return "One model has no order to compare."
    if not row.orderings:
        return "No configuration has every model on both sides, so no order is compared."
    flips = f"{row.flips} strict {'order' if row.flips == 1 else 'orders'} of a pair"
    return (
        f"The order of all models is the same in {row.same_order} of {row.orderings} configurations; "
        f"{flips} {'is' if row.flips == 1 else 'are'} reversed."
    )


def markdown(text: object) -> str:
    """Text that Markdown shows as it is, on one line."""
    escaped = "".join(
        f"\\{character}" if character in "\\`*_{}[]<>()#+!|~$" else character for character in str(text)
    )
    return " ".join(escaped.split())


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("gridc", "templates/reports"),
        autoescape=select_autoescape(["html.jinja", "html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= FORMS | {
        "better": better,
        "refusal_error": ERROR,
        "needed_note": number_needed.NOTE,
    }
    environment.filters |= FORMS | {
        "shown_points": shown_points,
        "md": markdown,
        "model_at": model_at,
        "floor": floor,
        "unbroken": unbroken,
        "needed": number_needed.in_a_cell,
        "in_configurations": in_configurations,
    }
    return environment
