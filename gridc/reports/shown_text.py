"""Text of specs, items and models on a page: shown as it is, never obeyed."""

import re

from markupsafe import Markup, escape

from gridc.diagnostics.errors import DECEIVING, visible

SHORT = 160
"""Characters of a question in a list."""

_OBEYED = re.compile(f"{DECEIVING.pattern}|[\\r\u0085\u2028\u2029]")


def lines(text: object) -> str:
    """Text of several lines with its control characters shown; line ends and tabs stay."""
    return _OBEYED.sub(lambda match: visible(match.group()), str(text))


def bdi(text: object) -> Markup:
    """A text of one line, kept apart from the direction of the writing around it."""
    return Markup(f'<bdi dir="auto">{escape(visible(str(text)))}</bdi>')


def shortened(text: str) -> str:
    """A question on one line of at most `SHORT` characters. Of several lines the last one asks."""
    line = " ".join(text.split())
    if len(line) <= SHORT:
        return line
    *context, asks = (" ".join(part.split()) for part in text.splitlines() if part.strip())
    if context and len(asks) < SHORT - 40:
        return f"{context[0][: SHORT - len(asks) - 4]} … {asks}"
    return f"{line[: SHORT - 2]} …"
