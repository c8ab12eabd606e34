"""Documents as text: filled templates, tables in Markdown and LaTeX, and notebook output."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

import gridc
from gridc.compiler.instrument.refusals import ERROR_ON_WRITTEN, ERRORS
from gridc.diagnostics.errors import visible
from gridc.numbers import FEW_UNITS, FORMS, figures, percent
from gridc.reports import quantities
from gridc.reports.shown_text import bdi, lines, shortened
from gridc.reports.told import told_rows, untold
from gridc.reports.words import STRENGTHS, better_score_words, model_at
from gridc.schema.canonical import digest, digest_bytes
from gridc.schema.certificate import Certificate, Floor, PairedRow


def render_template(template: str, **values: Any) -> str:
    """A template of `gridc/templates/reports`, filled. HTML templates escape by default."""
    return _environment().get_template(template).render(**values)


@lru_cache(maxsize=1)
def report_code_digest() -> str:
    """SHA-256 over the code that writes reports: every module, template and table of gridc, and the version
    of the template engine. Where it is the same, so is every byte of a report."""
    package, listed = Path(gridc.__file__).parent, []
    for path in sorted(package.rglob("*")):
        if path.suffix in CODE and "__pycache__" not in path.parts:
            # Line ends are git's, which may write others on another system.
            text = path.read_bytes().replace(b"\r\n", b"\n")
            listed.append([path.relative_to(package).as_posix(), digest_bytes(text)])
    return digest([jinja2.__version__, listed])


CODE = frozenset([".py", ".jinja", ".toml", ".css", ".js", ".json"])
"""How the files end that decide what a report says."""


def shown_points(value: Fraction) -> int | float:
    """A sum of scores as people write it: whole where it is."""
    return int(value) if value.denominator == 1 else float(value)


def refusal_error_words() -> str:
    """How many refusals the phrases miss and how many answers they take for refusals, by whose texts they
    read."""
    return ", ".join(
        f"{each.model} {each.missed} of {each.refusals} and {each.taken} of {each.answers}"
        for each in (*ERRORS, ERROR_ON_WRITTEN)
    )


def noise_floor_line(measured: Floor | None) -> str:
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


def escape_markdown(text: object) -> str:
    """Text that Markdown shows as it is, on one line."""
    escaped = "".join(
        f"\\{character}" if character in "\\`*_{}[]<>()#+!|~$" else character for character in str(text)
    )
    return unlinked(" ".join(_ENTITY.sub(r"\\&", escaped).split()))


def unlinked(text: str) -> str:
    """Markdown in which the page makes no mention of anybody and no link of a bare address."""
    return _MENTION.sub(f"@{_NO_WIDTH}", _LINKED.sub(r"\g<0>\\", text))


_NO_WIDTH = "\u2060"
"""Behind an `@`: what mentions people and finds addresses looks at the text that is shown, where a backslash
is gone."""
_MENTION = re.compile(r"(?<!\w)@(?=\w)|@(?=[\w-]+\.\w)")
_LINKED = re.compile(r"(?:https?|ftp)(?=://)|(?:mailto|xmpp)(?=:)|www(?=\.)", re.IGNORECASE)
_ENTITY = re.compile(r"&(?=[A-Za-z][A-Za-z0-9]*;)")


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
        "better": better_score_words,
        "refusal_error": refusal_error_words(),
        "needed_note": quantities.NUMBER_NEEDED,
        "few_units": FEW_UNITS,
        "told_rows": told_rows,
        "untold": untold,
    }
    environment.filters |= FORMS | {
        "shown_points": shown_points,
        "md": escape_markdown,
        "bdi": bdi,
        "lines": lines,
        "shortened": shortened,
        "model_at": model_at,
        "floor": noise_floor_line,
        "unbroken": unbroken,
        "needed": quantities.needed_cell,
        "in_configurations": in_configurations,
        "strength": STRENGTHS.__getitem__,
    }
    return environment


PROSE = 28
"""A column with a text of more characters than this is set as a paragraph in LaTeX."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of text. `numeric` names the columns that are set flush right; `note` stands below."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    note: str = ""


def table_markdown(table: TextTable, heading: str = "##") -> str:
    """The table under its title. Text is shown as it is, on one line a row."""
    lines = [f"{heading} {escape_markdown(table.title)}", ""]
    if not table.rows:
        lines += ["None.", ""]
    else:
        rule = ["---:" if name in table.numeric else "---" for name in table.columns]
        lines += [_markdown_row(map(escape_markdown, table.columns)), _markdown_row(rule)]
        lines += [_markdown_row(map(escape_markdown, row)) for row in table.rows]
        lines.append("")
    if table.note and table.rows:
        lines += [escape_markdown(table.note), ""]
    return "\n".join(lines)


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_latex(tables: Sequence[TextTable], title: str) -> str:
    """The tables as a file to `\\input`, each a `longtable` with `booktabs` rules."""
    lines = [
        f"% {_comment(title)}",
        "% \\usepackage{booktabs,longtable,array,textcomp}",
    ]
    for table in tables:
        lines += ["", *_longtable(table)]
    return "\n".join(lines) + "\n"


def _longtable(table: TextTable) -> list[str]:
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


def _column(table: TextTable, place: int) -> str:
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


def plan_html(manifest: Mapping[str, Any]) -> str:
    """A plan: envelopes, exclusions, counts, and what each model will cost."""
    return render_template("notebook/plan.html.jinja", plan=manifest)


MOST_ROWS = 20
"""Rows of a list that a notebook shows."""


def json_html(name: str, document: Any) -> str:
    """A document of JSON as tables: its keys, and a row for each entry of a list, `MOST_ROWS` at most."""

    def safe(value: Any) -> Any:
        """The document with every text as `visible` shows it."""
        if isinstance(value, Mapping):
            return {visible(str(name)): safe(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [safe(each) for each in value]
        return visible(value) if isinstance(value, str) else value

    def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
        return list(dict.fromkeys(column for row in rows if isinstance(row, Mapping) for column in row))

    return render_template(
        "notebook/json.html.jinja", name=name, document=safe(document), most=MOST_ROWS, columns_of=columns_of
    )


def findings_html(certificate: Certificate, leading: Sequence[str], caveats: Sequence[str]) -> str:
    """Findings: the most important sentences, what limits them, and every pair on its full envelope."""
    return render_template(
        "notebook/findings.html.jinja", certificate=certificate, leading=leading, caveats=caveats
    )


def certificate_html(certificate: Certificate) -> str:
    """A certificate: its sentences, every pair on its full envelope, and the hypotheses."""
    return render_template("notebook/certificate.html.jinja", certificate=certificate)
