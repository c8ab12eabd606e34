"""The scorecard as a page and as Markdown."""

from collections.abc import Callable
from typing import Any

from gridc.reports.printed import as_markdown
from gridc.reports.scorecard import tables
from gridc.reports.templates import markdown, render
from gridc.schema.scorecard import Scorecard

FOLLOWING = ("sensitivity", "hypotheses", "curves", "integrity", "threats", "checklist", "claims")
"""The tables behind the models, in order."""
SHOWN: tuple[Callable[..., Any], ...] = (
    tables.first_columns, tables.by_benchmark, tables.change_words, tables.matrix_table,
    tables.ends, tables.points,
)  # fmt: skip
"""What the page's template calls."""


def as_html(card: Scorecard) -> str:
    """The page."""
    shown = {table.id: table for table in tables.scorecard_tables(card)}
    return render(
        "scorecard.html.jinja",
        card=card,
        held=tables.HELD,
        needed_note=tables.NEEDED_NOTE,
        tables={name: shown[name] for name in FOLLOWING},
        **{function.__name__: function for function in SHOWN},
    )


def as_text(card: Scorecard) -> str:
    """The scorecard in Markdown."""
    ran = "" if card.stamp == card.registered else f", as it ran `{card.stamp}`"
    head = [
        f"# Scorecard: {markdown(card.title)}",
        "",
        f"Study {markdown(card.study)}, stamp `{card.registered}`{ran}, results `{card.results}`.",
        "",
    ]
    if not card.complete:
        head += ["**The run is incomplete. Every number here is an interim look.**", ""]
    body = [as_markdown(table) for table in tables.scorecard_tables(card)]
    rest = ["## Not varied", "", *[f"- {markdown(dimension)}" for dimension in card.not_varied], ""]
    return "\n".join([*head, *body, *rest])
