"""Findings -> figures: SVG text, drawn without network, fonts or a browser.

Every figure says in words what it shows (`title`, `words`), and nothing is told by colour alone: the flip
surface prints the signed gap in each cell, the others print their numbers or have a labelled scale.

They are drawn here and not with Vega-Lite or Observable Plot. A report is recomputed by `gridc verify` and
compared byte by byte, so a figure may not depend on the version of a renderer or on a machine's fonts; and
the page shows all of it offline, in print and where scripts are off. Both would need a script that draws, or
a renderer of tens of megabytes at report time. What they would add `gridc view` gives: there a surface
leads to its items, and a specification curve can be zoomed and each of its specifications chosen.
"""

from gridc.reports.figures.drawing import Figure
from gridc.reports.figures.scores import (
    flip_curves,
    flip_rates,
    order_counts,
    order_name,
    parse_rates,
    score_ranges,
    variance_name,
    variance_shares,
)
from gridc.reports.figures.specifications import specification_curve
from gridc.reports.figures.standings import pairs_told_apart, standings_figure
from gridc.reports.figures.surface import flip_surfaces
from gridc.reports.figures.tradeoffs import score_against

__all__ = [
    "Figure",
    "flip_curves",
    "flip_rates",
    "flip_surfaces",
    "order_counts",
    "order_name",
    "pairs_told_apart",
    "parse_rates",
    "score_against",
    "score_ranges",
    "specification_curve",
    "standings_figure",
    "variance_name",
    "variance_shares",
]
