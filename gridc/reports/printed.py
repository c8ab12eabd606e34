"""Tables as people print them: one description, in Markdown and in LaTeX."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gridc.reports.templates import markdown

PROSE = 28
"""A column with a text of more characters than this is set as a paragraph in LaTeX."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A table of text. `numeric` names the columns that are set flush right; `note` stands below."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    note: str = ""


def as_markdown(table: Printed, heading: str = "##") -> str:
    """The table under its title. Text is shown as it is, on one line a row."""
    lines = [f"{heading} {markdown(table.title)}", ""]
    if not table.rows:
        lines += ["None.", ""]
    else:
        rule = ["---:" if name in table.numeric else "---" for name in table.columns]
        lines += [_markdown_row(map(markdown, table.columns)), _markdown_row(rule)]
        lines += [_markdown_row(map(markdown, row)) for row in table.rows]
        lines.append("")
    if table.note and table.rows:
        lines += [markdown(table.note), ""]
    return "\n".join(lines)


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_latex(tables: Sequence[Printed], title: str) -> str:
    """The tables as a file to `\\input`, each a `longtable` with `booktabs` rules."""
    lines = [
        f"% {_comment(title)}",
        "% \\usepackage{booktabs,longtable,array,textcomp}",
    ]
    for table in tables:
        lines += ["", *_longtable(table)]
    return "\n".join(lines) + "\n"


def _longtable(table: Printed) -> list[str]:
    columns = "".join(_column(table, place) for place in range(len(table.columns)))
    head = f"{' & '.join(latex(name) for name in table.columns)} \\\\"
    body = [f"{' & '.join(latex(cell) for cell in row)} \\\\" for row in table.rows]
    empty = f"\\multicolumn{{{len(table.columns)}}}{{l}}{{None.}} \\\\"
    note = [f"\\par\\noindent{{\\footnotesize {latex(table.note)}}}"] if table.note and table.rows else []
    return [
        f"\\begin{{longtable}}{{@{{}}{columns}@{{}}}}",
        f"\\caption{{{latex(table.title)}}}\\label{{tab:{_label(table.id)}}}\\\\",
        "\\toprule", head, "\\midrule", "\\endhead", "\\bottomrule", "\\endfoot",
        *(body or [empty]),
        "\\end{longtable}",
        *note,
    ]  # fmt: skip


def _column(table: Printed, place: int) -> str:
    if table.columns[place] in table.numeric:
        return "r"
    widths = [max((len(row[at]) for row in table.rows), default=0) for at in range(len(table.columns))]
    prose = [at for at in range(len(table.columns)) if widths[at] > PROSE]
    if place not in prose:
        return "l"
    width = 0.8 / (len(prose) + 0.3 * (len(widths) - len(prose)))
    return f">{{\\raggedright\\arraybackslash}}p{{{width:.2f}\\linewidth}}"


_SPECIAL = {
    "\\": "\\textbackslash{}",
    "{": "\\{",
    "}": "\\}",
    "$": "\\$",
    "&": "\\&",
    "#": "\\#",
    "%": "\\%",
    "_": "\\_",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "\\textquotedbl{}",
    "`": "\\textasciigrave{}",
    "'": "\\textquotesingle{}",
    "-": "{-}",  # no dashes out of hyphens: `--figures` stays what it is
    "[": "{[}",  # after a line's end it would open an optional argument
    "]": "{]}",
    "*": "{*}",
    "\N{EN DASH}": "--",
    "\N{MINUS SIGN}": "$-$",
    "\N{INFINITY}": "$\\infty$",
    "\N{ALMOST EQUAL TO}": "$\\approx$",
    "\N{LESS-THAN OR EQUAL TO}": "$\\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": "$\\geq$",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
}

_MINUS = re.compile(r"(?<![^\s(\[])-(?=[\d.])")
"""The sign of a number, not the hyphen of a name."""


def latex(text: object) -> str:
    """Text that LaTeX sets as it is, on one line: nothing in it is a command, whoever wrote it.
    Characters that LaTeX cannot set are left to its engine; control characters become spaces."""
    shown = "".join(character if character.isprintable() else " " for character in str(text))
    signed = _MINUS.sub("\N{MINUS SIGN}", " ".join(shown.split()))
    return "".join(_SPECIAL.get(character, character) for character in signed)


def _comment(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _label(name: str) -> str:
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in name)
