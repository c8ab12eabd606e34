"""What a study prints, read back: every number with the quantity that it is of.

A document that is data is read by its fields, a text by its tables and lines. Nothing of gridc is imported.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

Quantity = tuple[str, ...]
NUMBER = r"[-+−]?\d+(?:,\d{3})*(?:\.\d+)?"
SHOWN = re.compile(NUMBER)


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it stands somewhere: `value` in units of 1, and `half` a unit of its last digit."""

    where: str
    quantity: Quantity
    value: float
    half: float


def exact(where: str, value: float | None, *quantity: str) -> Iterator[Printed]:
    """A number of a document that is data."""
    if value is not None:
        yield Printed(where, quantity, float(value), 6e-10)


def shown(where: str, text: str, scale: float, *quantity: str) -> Iterator[Printed]:
    """A number as a text has it; `scale` is 100 of a percentage or of points. A dash is none."""
    found = SHOWN.search(text)
    if found is not None:
        digits = found[0].replace(",", "").replace("−", "-")
        places = len(digits.partition(".")[2])
        half = 0.5001 * 10**-places / scale if places or scale > 1 else 6e-10  # a count is exact
        yield Printed(where, quantity, float(digits) / scale, half)


def ends(where: str, text: str, *quantity: str) -> Iterator[Printed]:
    """`11.2 to 17.4` and `[11.2, 17.4]`, in percent."""
    found = re.search(rf"({NUMBER}) ?%?(?: to |, )({NUMBER})", text)
    if found is not None:
        yield from shown(where, found[1], 100, *quantity, "low")
        yield from shown(where, found[2], 100, *quantity, "high")


def interval(where: str, pair: Iterable[float] | None, *quantity: str) -> Iterator[Printed]:
    for name, end in zip(("low", "high"), pair or (), strict=False):
        yield from exact(where, end, *quantity, name)


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def asked(where: str, text: str, benchmark: str) -> Iterator[Printed]:
    """`42 of 60 items` or `60 items`."""
    found = re.search(rf"({NUMBER})(?: of ({NUMBER}))? items", text)
    if found is not None:
        yield from shown(where, found[1], 1, "items", benchmark)
        if found[2]:
            yield from shown(where, found[2], 1, "held", benchmark)


# data


def certificate(path: Path) -> Iterator[Printed]:
    document, where = read(path), path.name
    yield from exact(where, document["answered"], "calls answered")
    for row in document["benchmarks"]:
        name = row["benchmark"]
        yield from exact(where, row["items"], "items", name)
        yield from exact(where, row["held"], "held", name)
        yield from exact(where, row["units"], "units", name)
        yield from exact(where, len(row["envelope"]), "configurations", name)
        for place in row["envelope"]:
            for model, score in place["scores"].items():
                at = (name, model, place["configuration"])
                if score["scored"] == score["trials"]:
                    yield from exact(where, score["correct"] / score["trials"] / score["scale"], "score", *at)
                yield from interval(where, score["interval"], "score", *at)
                yield from exact(where, score["trials"], "answers", *at)
                yield from exact(where, score["standard_error"], "standard error", *at)
                if place["method"] != "loglikelihood":
                    yield from exact(where, score["trials"] - score["parsed"], "unreadable", *at)
        for gap in row["intervals"]["gaps"]:
            for place, value in gap["by_configuration"].items():
                apart = ("gap", name, gap["a"], gap["b"], place)
                yield from exact(where, value["value"], *apart)
                yield from interval(where, value["interval"], *apart)
        for pair in row["scopes"][0]["pairs"]:
            key = (name, pair["a"], pair["b"])
            yield from exact(where, pair["plus"], "first higher", *key)
            yield from exact(where, pair["minus"], "second higher", *key)
            yield from exact(where, pair["ties"], "ties", *key)
        for rate in row["rates"]:
            for model, places in rate["models"].items():
                for place, value in places.items():
                    of = ("rate", rate["name"], name, model, place)
                    yield from exact(where, value["value"], *of)
                    yield from interval(where, value["interval"], *of)


def card(path: Path, anchors: Mapping[str, str]) -> Iterator[Printed]:
    document, where = read(path), path.name
    for each in document["cards"]:
        name, model, point = each["benchmark"], each["model"], each["point_score"]
        at = (name, model, anchors[name])
        yield from exact(where, each["items"], "items", name)
        yield from exact(where, each["held"], "held", name)
        yield from exact(where, each["units"], "units", name)
        yield from exact(where, each["anchor_items"], "anchor items", name)
        yield from exact(where, point["score"], "score", *at)
        yield from exact(where, point["trials"], "answers", *at)
        yield from exact(where, point["standard_error"], "standard error", *at)
        yield from interval(where, point["interval"], "score", *at)
        if point["readable"] is not None:
            yield from exact(where, point["trials"] - point["readable"], "unreadable", *at)
        for row in each["score_neighbourhood"]:
            if row["kind"] == "full":
                yield from exact(where, row["least"], "least", name, model)
                yield from exact(where, row["greatest"], "greatest", name, model)
                yield from exact(where, row["configurations"], "configurations", name)
        for pair in each["ranking_stability"]["pairs"]:
            yield from of_pair(where, name, model, pair["other"], pair["higher"], pair["lower"], pair["ties"])
        for rate in each["rates"]:
            yield from exact(where, rate["value"], "rate", rate["name"], *at)
            yield from interval(where, rate["interval"], "rate", rate["name"], *at)


def of_pair(
    where: str, name: str, one: str, other: str, higher: float, lower: float, ties: float
) -> Iterator[Printed]:
    """Counts of a pair, from either side."""
    yield from exact(where, higher, "first higher", name, one, other)
    yield from exact(where, lower, "second higher", name, one, other)
    yield from exact(where, lower, "first higher", name, other, one)
    yield from exact(where, higher, "second higher", name, other, one)
    for key in ((one, other), (other, one)):
        yield from exact(where, ties, "ties", name, *key)


def scorecard(path: Path) -> Iterator[Printed]:
    document, where = read(path), path.name
    for model in document["models"]:
        for row in model["matrix"]:
            at = (row["benchmark"], model["model"], row["configuration"])
            yield from exact(where, row["rate"], "score", *at)
            yield from exact(where, row["trials"], "answers", *at)
            yield from interval(where, row["interval"], "score", *at)
            if row["readable"] is not None:
                yield from exact(where, row["trials"] - row["readable"], "unreadable", *at)
            if row["change"] is not None:
                yield from exact(where, row["change"]["difference"], "change", *at)
                yield from interval(where, row["change"]["interval"], "change", *at)
    for row in document["claims"]:
        if row["id"].startswith("pairs/"):
            yield from exact(where, row["cases"], "items", row["id"].removeprefix("pairs/"))


def estimates(path: Path) -> Iterator[Printed]:
    where = path.name
    for row in read(path)["estimates"]:
        kind, *rest = row["id"].split("/")
        at: tuple[str, ...]
        if kind in ("score", "change") and len(rest) == 3:
            model, name, place = rest
            at = (kind, name, model, place)
            if kind == "score":
                yield from exact(where, row["n"], "answers", name, model, place)
        elif kind == "rate" and len(rest) == 4:
            rate, model, name, place = rest
            at = ("rate", rate, name, model, place)
        else:
            continue
        yield from exact(where, row["estimate"], *at)
        yield from interval(where, row["interval"], *at)


# texts


def board(where: str, text: str, anchors: Mapping[str, str]) -> Iterator[Printed]:
    """The tables that a run ends with and a report begins with."""
    name, columns, head = "", [], ""
    for line in text.splitlines():
        title = re.match(r"(\S+): (.* items\b.*)", line)
        if title and title[1] in anchors:
            name = title[1]
            yield from asked(where, title[2], name)
            own = re.search(r"(\d+) of them under the anchor", title[2])
            yield from shown(where, own[1], 1, "anchor items", name) if own else ()
        elif line.startswith("model ") and name:
            head = line
            columns = [(found.start(), found.end()) for found in re.finditer(r"\S+(?: \S+)*", line)]
        elif columns and line.strip() and not line.startswith(" "):
            cells, at = re.split(r"\s{2,}", line.strip()), (name, line.split()[0], anchors[name])
            titles = re.split(r"\s{2,}", head.strip())
            for column, cell in zip(titles, cells, strict=True):
                if column == "score %":
                    yield from shown(where, cell, 100, "score", *at)
                elif column == "95 %":
                    yield from ends(where, cell, "score", *at)
                elif re.fullmatch(r"over \d+ configurations?", column):
                    yield from shown(where, column, 1, "configurations", name)
                    yield from spread(where, cell, name, at[1])
                elif column == "unreadable" and " of " in cell:
                    yield from shown(where, cell, 1, "unreadable", *at)
                    yield from shown(where, cell.partition(" of ")[2], 1, "answers", *at)
                elif (rate := re.match(r"(.+?) %", column)) and re.match(NUMBER, cell):
                    yield from shown(where, cell, 100, "rate", rate[1].replace(" ", "_"), *at)
                    yield from ends(where, cell.partition("(")[2], "rate", rate[1].replace(" ", "_"), *at)
        elif not line.strip():
            columns = []


def spread(where: str, text: str, name: str, model: str) -> Iterator[Printed]:
    """`16.7 to 20.0`: the least and the greatest score."""
    for end in ends(where, text, "range"):
        yield Printed(
            where, ("least" if end.quantity[-1] == "low" else "greatest", name, model), end.value, end.half
        )


def answered(where: str, text: str, anchors: Mapping[str, str]) -> Iterator[Printed]:
    """What terminal and page say in sentences."""
    flat = " ".join(text.split())
    for name, place in anchors.items():
        # On a terminal `ann and bob, facts: differ; ...`, on the page `ann, bob facts differ`, then values.
        pair = rf"(?:\S+ and \S+, |\S+, \S+ ){name}\b[^%]{{0,160}}? "
        values = rf"(\S+) ({NUMBER}) %, (\S+) ({NUMBER}) %: ({NUMBER}) points apart"
        values += rf"(?: \(95 % interval ({NUMBER} to {NUMBER});)?"
        for found in re.finditer(pair + values, flat):
            one, other = found[1], found[3]
            yield from shown(where, found[2], 100, "score", name, one, place)
            yield from shown(where, found[4], 100, "score", name, other, place)
            yield from shown(where, found[5], 100, "gap", name, one, other, place)
            yield from ends(where, found[6] or "", "gap", name, one, other, place)
        yield from asked(
            where, (re.search(rf"({NUMBER} (?:of {NUMBER} )?items) of {name}\b", flat) or [""])[0], name
        )
        for did, kind in (("complied with", "unsafe_compliance"), ("refused", "over_refusal")):
            own = re.search(rf"[Oo]n {name}, [^.]*?(\w+) {did} (\d+) of (\d+) \w+ prompts", flat)
            if own and own[1] in ("ann", "bob"):
                value = int(own[2]) / int(own[3])
                yield Printed(where, ("rate", kind, name, own[1], place), value, 6e-10)


def markdown_tables(text: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Each table under its heading: the columns, and the rows."""
    heading, rows = "", list[list[str]]()
    for line in [*text.splitlines(), ""]:
        if line.startswith(("#", "<details>")):
            heading = re.sub(r"<[^>]+>|#", "", line).strip()
        if line.startswith("|"):
            rows.append(
                [cell.strip().replace("\\", "").replace("**", "") for cell in line.strip("|").split("|")]
            )
        elif rows:
            yield heading, rows[0], rows[2:]
            rows = []


def card_text(path: Path, anchors: Mapping[str, str]) -> Iterator[Printed]:
    where = path.name
    for _, columns, rows in markdown_tables(path.read_text("utf-8")):
        for row in rows:
            cells = dict(zip(columns, row, strict=True))
            name, model = cells.get("benchmark", ""), cells.get("model", "")
            if name not in anchors:
                continue
            at = (name, model, anchors[name])
            if "score [95 %]" in cells:
                yield from shown(where, cells["score [95 %]"], 100, "score", *at)
                yield from ends(where, cells["score [95 %]"].partition("[")[2], "score", *at)
                yield from spread(where, cells["range"], name, model)
            if "items" in cells:
                yield from asked(where, cells["items"], name)
                own = re.search(r"\((\d+) under this", cells["items"])
                yield from shown(where, own[1], 1, "anchor items", name) if own else ()
            if "points" in cells and "of" in cells["points"]:
                yield from shown(where, cells["score"], 100, "score", *at)
                yield from ends(where, cells["95 %"], "score", *at)
                yield from shown(where, cells["points"].partition(" of ")[2], 1, "answers", *at)
                yield from shown(where, cells["standard error"], 100, "standard error", *at)
            if cells.get("scope") == "full envelope":
                yield from shown(where, cells["min"], 100, "least", name, model)
                yield from shown(where, cells["max"], 100, "greatest", name, model)
            if "higher" in cells and "against" in cells:
                counts = (float(SHOWN.search(cells[key])[0]) for key in ("higher", "lower", "ties"))  # type: ignore[index]
                yield from of_pair(where, name, model, cells["against"], *counts)


def scorecard_text(path: Path, named: Mapping[tuple[str, str], str]) -> Iterator[Printed]:
    """`named` has the configurations by benchmark and what differs from the reference."""
    where = path.name
    for heading, columns, rows in markdown_tables(path.read_text("utf-8")):
        model = heading.removeprefix("Rates of ")
        for row in rows if heading != model else ():
            cells = dict(zip(columns, row, strict=True))
            place = named[cells["benchmark"], cells["configuration"]]
            at = (cells["benchmark"], model, place)
            yield from shown(where, cells["rate"], 100, "score", *at)
            yield from ends(where, cells["95 %"], "score", *at)
            yield from shown(where, cells["difference"], 100, "change", *at)
            yield from ends(where, cells["pp 95 %"], "change", *at)
            if " of " in cells["readable"]:
                yield from shown(where, cells["readable"].partition(" of ")[2], 1, "answers", *at)


class Page(HTMLParser):
    """The tables of a page: caption or label, and rows of cells; the lists, each with its items; its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[tuple[str, list[list[str]]]] = []
        self.lists: list[list[str]] = []
        self.text = ""
        self._label, self._open, self._cell, self._skip = "", list[list[str]](), False, 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self._skip += tag in ("style", "script", "svg")
        if held.get("role") == "region":
            self._label = held.get("aria-label") or ""
        if tag == "table":
            self.tables.append((held.get("aria-label") or self._label, []))
        elif tag == "tr" and self.tables:
            self.tables[-1][1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1][1]:
            self.tables[-1][1][-1].append("")
            self._cell = True
        elif tag in ("ul", "ol"):
            self._open.append([])
        elif tag == "li" and self._open:
            self._open[-1].append("")
        self.text += " "

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("style", "script", "svg")
        self._cell &= tag not in ("td", "th")
        if tag in ("ul", "ol") and self._open:
            self.lists.append([" ".join(item.split()) for item in self._open.pop()])
        self.text += "\n" if tag in ("p", "li", "tr", "h1", "h2", "h3") else " "

    def handle_data(self, data: str) -> None:
        if self._skip:
            return
        self.text += data
        if self._cell:
            self.tables[-1][1][-1][-1] += data
        for items in self._open:
            if items:
                items[-1] += data


def page(
    path: Path, anchors: Mapping[str, str], shown_as: Mapping[tuple[str, str], str]
) -> Iterator[Printed]:
    """`shown_as` has the configurations by benchmark and how tables of the page name them."""
    where, read_page = path.name, Page(path.read_text("utf-8"))
    yield from answered(where, read_page.text, anchors)
    for found in re.finditer(rf"(\S+): ({NUMBER} (?:of {NUMBER} )?items)\s+under", read_page.text):
        yield from asked(where, found[2], found[1])
    for label, rows in read_page.tables:
        for row in rows:
            cells = [" ".join(cell.split()) for cell in row]
            name = cells[0].split()[0] if cells and cells[0] else ""
            every = re.match(r"Every gap on (\S+), part", label)
            if every and (every[1], cells[0]) in shown_as:
                for title, cell in zip(rows[0][1:], cells[1:], strict=True):
                    one, other = (part.strip() for part in title.split("−"))
                    apart = ("gap", every[1], one, other, shown_as[every[1], cells[0]])
                    yield from shown(where, cell, 100, *apart)
                    yield from ends(where, cell.partition("[")[2], *apart)
            charted = re.match(r"Scores on (\S+)", label)
            if charted and charted[1] in anchors and len(cells) > 4 and name != "model":
                at = (charted[1], name, anchors[charted[1]])
                yield from shown(where, cells[2], 100, "score", *at)
                yield from ends(where, cells[3], "score", *at)
                if re.fullmatch(rf"{NUMBER} to {NUMBER}", cells[4]):
                    yield from spread(where, cells[4], charted[1], name)
                if " of " in cells[5]:
                    yield from shown(where, cells[5], 1, "unreadable", *at)
                    yield from shown(where, cells[5].partition(" of ")[2], 1, "answers", *at)


def scorecard_page(path: Path, named: Mapping[tuple[str, str], str]) -> Iterator[Printed]:
    for label, rows in Page(path.read_text("utf-8")).tables:
        model = label.removeprefix("Rates of ")
        for row in rows[1:] if model != label and rows[0][0] == "benchmark" else ():
            for title, cell in zip(rows[0][1:], row[1:], strict=True):
                place = named.get((row[0].split()[0], " ".join(title.split())))
                found = re.match(rf"({NUMBER}) % (?:({NUMBER} to {NUMBER}))?", " ".join(cell.split()) + " ")
                if place and found:
                    at = ("score", row[0].split()[0], model, place)
                    yield from shown(path.name, found[1], 100, *at)
                    yield from ends(path.name, found[2] or "", *at)


def viewer(pages: Mapping[str, str]) -> Iterator[Printed]:
    """The pages of the viewer, by name: of the study, and of each of its cells by key."""
    study = Page(pages["study"]).text
    for found in re.finditer(rf"^\s*(\S+)\s+({NUMBER}) items", study, re.MULTILINE):
        yield from shown("viewer", found[2], 1, "items", found[1])
    for key, text in pages.items():
        if key != "study":
            model, name, place = key.split("/", 2)
            flat = " ".join(Page(text).text.split())
            score = re.search(rf"score ({NUMBER}) %", flat)
            yield from shown(f"viewer, {key}", score[1], 100, "score", name, model, place) if score else ()


def compared(text: str, document: Any, anchors: Mapping[str, str]) -> Iterator[Printed]:
    """What `gridc compare` prints of a run and itself."""
    for row in document["benchmarks"]:
        name, model = row["benchmark"], row["model"]
        if row["anchor"] is not None:
            yield from exact("compare --json", row["anchor"][0] / 100, "score", name, model, anchors[name])
        yield from exact("compare --json", row["items"], "items", name)
        said = re.search(rf"{model}/{name}: .*they are ({NUMBER}) %", text)
        yield from shown("compare", said[1], 100, "score", name, model, anchors[name]) if said else ()
        line = re.search(rf"{model}/{name} \(watched\)\s+({NUMBER}) items", text)
        yield from shown("compare", line[1], 1, "items", name) if line else ()


def disagreements(printed: Iterable[Printed]) -> list[str]:
    """The quantities that have two values: each number is a rounding of the most precise one."""
    by_quantity: dict[Quantity, list[Printed]] = {}
    for one in printed:
        by_quantity.setdefault(one.quantity, []).append(one)
    wrong = []
    for quantity, several in by_quantity.items():
        sharpest = min(several, key=lambda one: one.half)
        for one in several:
            if abs(one.value - sharpest.value) > one.half + sharpest.half + 1e-12:
                two = " and ".join(f"{other.value:g} in {other.where}" for other in (one, sharpest))
                wrong.append(f"{' '.join(quantity)}: {two}")
    return wrong


def repeated(name: str, text: str) -> list[str]:
    """What stands twice in one list of a document."""
    if not name.endswith((".html", ".md")):
        return []
    lists = Page(text).lists if name.endswith(".html") else bullet_lists(text)
    return [item for items in lists for item, count in Counter(items).items() if count > 1]


def bullet_lists(text: str) -> Iterator[list[str]]:
    items: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("- "):
            items.append(line)
        elif items:
            yield items
            items = []
