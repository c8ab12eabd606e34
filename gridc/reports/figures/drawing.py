"""What all figures share: a canvas that writes SVG, colours, scales and the frame with the title.

Shapes are placed in pixels and written in the order they are drawn, with two decimals; no margin is
measured from a font. So the same findings give the same bytes on every machine, in milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from gridc.reports.findings.findings import ScopeFinding

CHARACTER = 5.6
TITLE_CHARACTER, SUBTITLE_CHARACTER = 6.8, 5.6
"""Width of a character of a label, a title and a subtitle, roughly; browsers bring their own fonts."""

INK, MUTED, RULE, TIE, GRID, PAPER = "#1f1f1d", "#5b5b57", "#c9c8c2", "#d4d3cd", "#e7e6e1", "#f4f3ef"
ON_PALE = "#1a1a18"
"""Ink on a colour that is as pale on a dark screen: the page's dark mode leaves it as it is."""
HIGHER, LOWER = ("#fbe0c3", "#b35806"), ("#d6e6f4", "#2166ac")
"""Pale to strong: a higher (orange), b higher (blue); told apart with any colour vision."""

LINES = ("#1f1f1d", "#b35806", "#2166ac", "#1b7837", "#762a83", "#8c6d00")
DASHES = ("", "6 3", "2 2", "8 3 2 3", "4 4", "1 3")
"""Models are told apart by dash as well as by colour."""

FONT = "Arial, 'Helvetica Neue', Helvetica, sans-serif"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as stand-alone SVG, with the name of its file, its title and its text alternative."""

    name: str
    title: str
    words: str
    svg: str
    width: int

    @property
    def least(self) -> int:
        """Narrower than this, it is hard to read."""
        return self.width * 4 // 5

    @property
    def inline(self) -> Markup:
        """The SVG for the body of an HTML page, where it needs no namespaces. All text in it was
        escaped when it was drawn. It shrinks to its least width, then its container scrolls."""
        head, body = self.svg.split(">", 1)
        kept = " ".join(part for part in head.split(" ") if not part.startswith("xmlns"))
        style = f"width:{self.width}px;min-width:{self.least}px"
        label = escape(f"{self.title}. {self.words}")
        return Markup(f'{kept} role="img" aria-label="{label}" style="{style}">{body}')


@dataclass(slots=True)
class Canvas:
    """Shapes in pixels, x to the right and y down."""

    parts: list[str] = field(default_factory=list)

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "", thick: float = 1
    ) -> None:
        self._shape("rect", fill, stroke, thick, x=x, y=y, width=width, height=height)

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = RULE, thick: float = 1) -> None:
        self._shape("line", "", stroke, thick, x1=x1, y1=y1, x2=x2, y2=y2)

    def circle(self, x: float, y: float, radius: float, fill: str) -> None:
        self._shape("circle", fill, "", 1, cx=x, cy=y, r=radius)

    def diamond(self, x: float, y: float, size: float, fill: str) -> None:
        self.area(((x, y - size), (x + size, y), (x, y + size), (x - size, y)), fill)

    def area(self, corners: Sequence[tuple[float, float]], fill: str) -> None:
        self.parts.append(f'<polygon points="{_points(corners)}" fill="{fill}"/>')

    def path(
        self, points: Sequence[tuple[float, float]], stroke: str, dash: str = "", thick: float = 1.6
    ) -> None:
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline points="{_points(points)}" fill="none" stroke="{stroke}" '
            f'stroke-width="{_number(thick)}"{dashed}/>'
        )

    def link(self, x: float, y: float, width: float, height: float, href: str, title: str) -> None:
        """A rectangle that shows nothing and leads somewhere."""
        self.parts.append(f'<a href="{escape(href)}" tabindex="-1"><title>{escape(title)}</title>')
        self.rect(x, y, width, height, "transparent")
        self.parts.append("</a>")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 10,
        fill: str = MUTED,
        anchor: str = "start",
        bold: bool = False,
        upright: bool = False,
    ) -> None:
        """Text whose middle is at height y; `upright` turns it to read from the bottom up."""
        turned = f' transform="rotate(-90 {_number(x)} {_number(y)})"' if upright else ""
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{_number(x)}" y="{_number(y)}" dy=".35em" font-size="{_number(size)}" fill="{fill}" '
            f'text-anchor="{anchor}"{weight}{turned}>{escape(text)}</text>'
        )

    def _shape(self, name: str, fill: str, stroke: str, thick: float, **places: float) -> None:
        where = " ".join(f'{key}="{_number(value)}"' for key, value in places.items())
        edge = f' stroke="{stroke}" stroke-width="{_number(thick)}"' if stroke else ""
        inside = f' fill="{fill or "none"}"' if name != "line" else ""
        self.parts.append(f"<{name} {where}{inside}{edge}/>")


@dataclass(frozen=True, slots=True)
class Scale:
    """Values to pixels, straight."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Margins:
    """Room around the plot, in pixels; the title stands in the top margin."""

    left: float
    right: float = 8
    top: float = 40
    bottom: float = 8


def draw_axis(
    canvas: Canvas, scale: Scale, ticks: Sequence[tuple[float, str]], top: float, bottom: float, label: str
) -> None:
    """A horizontal axis below the plot with faint lines through it; drawn before the data."""
    for value, text in ticks:
        canvas.line(scale(value), top, scale(value), bottom, GRID)
        canvas.text(scale(value), bottom + 9, text, anchor="middle")
    canvas.text((scale.start + scale.end) / 2, bottom + 23, label, anchor="middle")


def distinct_scopes(scopes: Sequence[ScopeFinding]) -> list[ScopeFinding]:
    """The scopes, those with the configurations of an earlier one left out."""
    first: dict[tuple[str, ...], ScopeFinding] = {}
    for scope in scopes:
        first.setdefault(scope.scope.configurations, scope)
    return list(first.values())


def mixed(pale: str, strong: str, share: float) -> str:
    """The colour at `share` of the way from pale to strong."""
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (pale, strong)]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*ends, strict=True))


def figure(
    name: str,
    canvas: Canvas,
    size: tuple[float, float],
    title: tuple[str, str],
    words: str,
    margins: Margins,
) -> Figure:
    """Frame a plot of this width and height under a title and a subtitle. `name` is that of its file."""
    heads = len(title[0]) * TITLE_CHARACTER, len(title[1]) * SUBTITLE_CHARACTER
    right = max(margins.right, max(heads) - margins.left - size[0])
    width = round(margins.left + size[0] + right)
    height = round(margins.top + size[1] + margins.bottom)
    head = Canvas()
    head.text(2, 9, title[0], 12, INK, bold=True)
    head.text(2, 24, title[1], 10.5)
    plot = f'<g transform="translate({_number(margins.left)} {_number(margins.top)})">'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONT}">'
        f"{''.join(head.parts)}{plot}{''.join(canvas.parts)}</g></svg>"
    )
    return Figure(name, ", ".join(title), words, svg, width)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"
