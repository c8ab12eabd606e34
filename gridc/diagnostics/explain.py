"""The long form of a code: what is wrong, why gridc cares, the way out, and where it helps an example."""

import textwrap

from gridc.diagnostics.codes import CODES

WIDTH = 90


def text(code: str) -> str:
    """As `gridc explain` prints it."""
    entry = CODES[code]
    paragraphs = [f"{code}: {entry.title}", textwrap.fill(entry.explanation, WIDTH)]
    if entry.example is not None:
        paragraphs.append(textwrap.indent(entry.example.strip("\n"), "    "))
    return "\n\n".join(paragraphs)


def markdown(code: str) -> str:
    """The same for code scanning services and documents."""
    entry = CODES[code]
    example = "" if entry.example is None else f"\n\n```toml\n{entry.example.strip()}\n```"
    return f"{entry.explanation}{example}"
