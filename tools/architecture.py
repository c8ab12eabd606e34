"""Draws docs/architecture.svg: the rooms of gridc with the imports between them, and three ways through them.

    python -m tools.architecture            # draws it
    python -m tools.architecture --check    # says whether it is what the code is today

The arrows are read from the imports. The stops of a way are named here; each must import, or be
imported by, one of the stops before it, so that a way that the code no longer takes is an error.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import grimp

import gridc

ROOT = Path(gridc.__file__).parent.parent
DRAWING = ROOT / "docs" / "architecture.svg"

ROOMS: Sequence[Mapping[str, str]] = (
    {"cli": "arguments in, text out"},
    {"study": "the Python API"},
    {"viewer": "pages in the browser", "reports": "Store to findings to documents"},
    {"runtime": "Plan to Store"},
    {"compiler": "text to Study, Lock and Plan"},
    {"schema": "the language", "diagnostics": "codes, errors", "statistics": "arrays to numbers"},
)
"""From the command line down: a room imports what stands below it, and at most its neighbour."""

WAYS: Mapping[str, Sequence[tuple[str, str]]] = {
    "a spec": (
        ("compiler.frontend.source", "text, and the place of each value"),
        ("compiler.frontend.validate", "Spec: the typed model"),
        ("compiler.inputs.resolve", "Study: every item, template and model"),
        ("compiler.compile", "Compiled: the study and its lock"),
        ("compiler.lowering.plan", "Plan: cells, samples, calls"),
        ("compiler.preflight.hazards", "nothing, or a hazard"),
        ("runtime.run", "Store: every answer"),
    ),
    "a response": (
        ("runtime.engines.protocol", "Answer: the text, and how it was made"),
        ("runtime.store.write", "a row, durable before it is counted"),
        ("runtime.store.reader", "CellOutcomes: what each item earned"),
        ("reports.findings.scores", "CellScore: a score, and the digest of its rows"),
        ("reports.findings.findings", "Findings"),
    ),
    "a p-value": (
        ("reports.findings.observations", "Observations: a row for each item of a cell"),
        ("reports.findings.hypotheses.comparison", "Comparison: units by arm"),
        ("compiler.hypotheses", "Rule: what supports a kind, and what refutes it"),
        ("statistics.margins", "p of what is claimed, and of what refutes it"),
        ("reports.findings.hypotheses.finding", "p corrected over its family"),
        ("reports.findings.hypotheses", "HypothesisFinding: the verdict"),
        ("reports.certificate", "Certificate, page, estimates"),
    ),
}
WIDTH, ROOMY, ROW, BOX, EDGE = 1100, 400, 96, 52, 20
Place = tuple[float, float, float]
"""Left, top and width of a box."""


class Stray(ValueError):
    """A stop of a way that no import joins to the stops before it."""


def graph() -> grimp.ImportGraph:
    return grimp.build_graph("gridc", cache_dir=None)


def strays(imports: grimp.ImportGraph) -> Iterator[str]:
    """Stops that are no module, or that no import joins to one before them."""
    for way, stops in WAYS.items():
        before: list[str] = []
        for stop, _ in stops:
            module = f"gridc.{stop}"
            if module not in imports.modules:
                yield f"{way}: there is no module {module}"
                continue
            joined = any(
                imports.chain_exists(*pair, as_packages=True)
                for other in before
                if not (module.startswith(f"{other}.") or other.startswith(f"{module}."))
                for pair in ((module, other), (other, module))
            )
            inside = any(module.startswith(f"{other}.") or other.startswith(f"{module}.") for other in before)
            if before and not joined and not inside:
                yield f"{way}: no import joins {module} to a stop before it"
            before.append(module)


def arrows(imports: grimp.ImportGraph) -> set[tuple[str, str]]:
    """The rooms of which one imports the other, but for those that another room stands between."""
    rooms = [room for row in ROOMS for room in row]
    joined = {
        (room, other)
        for room in rooms
        for other in rooms
        if room != other
        and imports.direct_import_exists(
            importer=f"gridc.{room}", imported=f"gridc.{other}", as_packages=True
        )
    }
    between = {(room, other) for room, middle in joined for start, other in joined if start == middle}
    return joined - between


def drawn(imports: grimp.ImportGraph) -> str:
    """The drawing. Raises `Stray`."""
    if wrong := list(strays(imports)):
        raise Stray("; ".join(wrong))
    body: list[str] = []
    places: dict[str, Place] = {}
    for number, row in enumerate(ROOMS):
        width = (ROOMY - EDGE * (len(row) - 1)) / len(row)
        for place, (room, about) in enumerate(row.items()):
            x, y = EDGE + place * (width + EDGE), 40 + number * ROW
            places[room] = x, y, width
            body.append(box(x, y, width, room, about))
    body += [arrow(places[room], places[other]) for room, other in sorted(arrows(imports))]
    x = EDGE + ROOMY + 3 * EDGE
    wide = (WIDTH - x - EDGE * 3) / 3
    for column, (way, stops) in enumerate(WAYS.items()):
        left = x + column * (wide + EDGE)
        body.append(f'<text x="{left}" y="24" class="way">The way of {escape(way)}</text>')
        for number, (stop, passes) in enumerate(stops):
            y = 40 + number * ROW
            body.append(stop_box(left, y, wide, stop, passes))
            if number:
                body.append(f'<path class="step" d="M{left + wide / 2:.0f} {y - ROW + 70} V{y - 4}"/>')
    height = 40 + ROW * max(len(ROOMS), *(len(stops) for stops in WAYS.values()))
    return PAGE.format(width=WIDTH, height=height, body="\n".join(body))


def box(x: float, y: float, width: float, name: str, about: str) -> str:
    return (
        f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{BOX}" rx="4"/>'
        f'<text x="{x + 10:.0f}" y="{y + 21}" class="name">{escape(name)}</text>'
        f'<text x="{x + 10:.0f}" y="{y + 40}">{escape(about)}</text>'
    )


def stop_box(x: float, y: float, width: float, stop: str, passes: str) -> str:
    room, _, module = stop.partition(".")
    words = passes.split(" ")
    first = ""
    while words and len(first) + len(words[0]) < 26:
        first = f"{first} {words.pop(0)}".strip()
    return (
        f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="70" rx="4"/>'
        f'<text x="{x + 8:.0f}" y="{y + 18}" class="name">{escape(room)}</text>'
        f'<text x="{x + 8:.0f}" y="{y + 33}">{escape(module)}</text>'
        f'<text x="{x + 8:.0f}" y="{y + 49}" class="type">{escape(first)}</text>'
        f'<text x="{x + 8:.0f}" y="{y + 63}" class="type">{escape(" ".join(words))}</text>'
    )


def arrow(start: Place, end: Place) -> str:
    """From the bottom of a box to the top of another, or to its neighbour."""
    (x, y, width), (to_x, to_y, to_width) = start, end
    if y == to_y:
        shape = f"M{x + width:.0f} {y + 26} H{to_x - 2:.0f}"
    else:
        shape = f"M{x + width / 2:.0f} {y + BOX} L{to_x + to_width / 2:.0f} {to_y - 2}"
    return f'<path class="arrow" marker-end="url(#head)" d="{shape}"/>'


PAGE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">
<style>
svg {{ font: 11px sans-serif; }}
rect {{ fill: #fff; stroke: #456; }}
text {{ fill: #234; }}
.name {{ font-weight: bold; font-size: 13px; }}
.way {{ font-weight: bold; font-size: 13px; }}
.type {{ fill: #765; font-style: italic; font-size: 10px; }}
.arrow {{ fill: none; stroke: #89a; }}
.step {{ fill: none; stroke: #456; stroke-width: 1.5; }}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L8 4 L0 8 Z" fill="#89a"/></marker></defs>
<rect x="0" y="0" width="{width}" height="{height}" style="stroke: none"/>
<text x="20" y="24" class="way">Rooms, and the imports between them</text>
{body}
</svg>
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args()
    made = drawn(graph())
    if not given.check:
        DRAWING.write_text(made, "utf-8")
    elif not DRAWING.exists() or DRAWING.read_text("utf-8") != made:
        raise SystemExit(f"docs/{DRAWING.name} is of another code: python -m tools.architecture")


if __name__ == "__main__":
    main()
