"""The page for each address: a study, a cell, an item, a sample, two responses side by side. What a page
shows follows from its address and the stores alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from markupsafe import Markup

from gridc.diagnostics.errors import FileError, GridcError
from gridc.registry import Registry
from gridc.reports import page_links
from gridc.viewer import differences, downloads, figures
from gridc.viewer.conditions import ALLOWED, ConditionError, Conditions
from gridc.viewer.differences import differing_items_page, differing_page, partners_of
from gridc.viewer.figures import MOST_SQUARES, flip_surface, largest, score_surface, total
from gridc.viewer.labels import ChangedMeanwhileError, GivenLabel
from gridc.viewer.lists import (
    AXIS,
    OUTCOMES,
    READ,
    SORTS,
    WITHIN,
    Filters,
    ListPage,
    ListPosition,
    listed_samples,
    outcomes,
    read_filters,
    response,
)
from gridc.viewer.matrix import ORDERS, ROWS, default_query, read_matrix
from gridc.viewer.samples import SampleView, neighbours, sample_view
from gridc.viewer.store import Moment, StoredCell, StoredStudy, absent, model_pairs
from gridc.viewer.view import ANSWERED, Link, OpenStore, PageExtent, PageRequest, View, fill

PREVIEWED = 4
"""Benchmarks of which the first page shows questions."""
CONFIGURATIONS = 100
"""Configurations of a page about a pair of models."""
VARIANTS = 96
"""Answers of a page about an item."""
PAGES: Registry[Callable[[View], dict[str, Any]]] = Registry()
"""By the path of an address, and the name of the template: what fills it; as `csv` what makes its table."""


class AfterLabel(NamedTuple):
    """Where a form leads on to; or the page again, with what was typed, where nothing was kept."""

    to: str
    page: str | None = None


class Viewer:
    """The pages of one store, or of two that are compared."""

    def __init__(self, sources: Sequence[OpenStore]) -> None:
        self.sources = tuple(sources)

    def close(self) -> None:
        for source in self.sources:
            source.close()

    def page(self, request: PageRequest) -> str:
        """A page as HTML. Raises `StoreError`: GC615 for what is not there, GC605 for what cannot be read."""
        name = request.page or "study"
        if name not in PAGES:
            raise absent(f"there is no page `{name}`")
        with self._looking(request) as view:
            return self._filled(f"{name}.html.jinja", view, PAGES[name](view))

    def table(self, request: PageRequest) -> str:
        """The table of a page as a CSV, all of its rows. Raises as `page`, and where a page has none."""
        with self._looking(request) as view:
            table = PAGES[request.page](view).get("csv") if request.page in PAGES else None
            if table is None:
                raise absent(f"there is no table of a page `{request.page}`")
            return downloads.as_csv(table())

    def first_page(self) -> str:
        """The address to begin with where two stores are open."""
        with self._looking(PageRequest("compare", {}, str, live=True)) as view:
            return differences.first_page(view)

    @contextmanager
    def _looking(self, request: PageRequest) -> Iterator[View]:
        with ExitStack() as stack:
            moments = [stack.enter_context(source.reader.moment()) for source in self.sources]

            def second() -> View:
                if len(self.sources) < 2:
                    raise absent("one store is open, and there is nothing to compare it with")
                return self._view(request, 1, moments[1], request.query.get("other", ""), second)

            number = self._number(request.query.get("store", ""))
            yield self._view(request, number, moments[number], request.query.get("study", ""), second)

    def label(self, form: Mapping[str, str]) -> "AfterLabel":
        """Keep what a person says of an answer. Raises `StoreError` (GC615) for an answer that is not there,
        or that nobody can label here."""
        where = {name: form.get(name, "") for name in ("study", "store", "cell", "item", "replicate", "list")}
        request = PageRequest("sample", {k: v for k, v in where.items() if v}, lambda path: path, live=True)
        with self._looking(request) as view:
            cell, item, replicate, labels = view.cell(), view.asked("item"), view.replicate, view.labels
            sample = sample_view(view.moment, cell, item, replicate)
            if labels is None or _label_form(view, sample) is None:
                raise absent("this answer cannot be labelled here")
            said = [form.get(name, "") for name in ("annotator", "label", "comment", "seen")]
            try:
                labels.give(cell, item, replicate, *said)
            except ChangedMeanwhileError:
                problem = "This answer was labelled in another window meanwhile. Saving again replaces that."
            except FileError as error:
                problem = "; ".join(filter(None, (error.diagnostics[0].message, error.diagnostics[0].help)))
            else:
                _, after = _around(view, cell, item, replicate)
                goes_on = form.get("go") == "next" and after is not None
                to = after if goes_on and after is not None else SamplePlace(cell, item, replicate)
                return AfterLabel(
                    page_links.sample_link(
                        view.study.stamp, to.cell.key, to.item, to.replicate, view.side, where["list"]
                    )
                )
            values = sample_page(view) | {"form": _label_form(view, sample, form, problem)}
            return AfterLabel("", self._filled("sample.html.jinja", view, values))

    def failed(self, error: GridcError, to: Link) -> str:
        """A page that says what is wrong, as the command line would."""
        return fill("failed.html.jinja", diagnostics=error.diagnostics, to=to, live=True, view=None)

    def _filled(self, template: str, view: View, values: Mapping[str, Any]) -> str:
        bound = partial(page_links.samples, view.study.stamp, view.side)
        return fill(
            template,
            view=view,
            study=view.study,
            to=lambda path: view.request.to(Markup(path).unescape() if isinstance(path, Markup) else path),
            live=view.request.live,
            stamp=view.study.stamp,
            side=view.side,
            samples_at=bound,
            compares=len(self.sources) > 1,
            stores=[source.path for source in self.sources],
            query=view.request.query.get("q", ""),
            models_in=lambda cells: list(dict.fromkeys(cell.model for cell in cells)),
            **values,
        )

    def _number(self, store: str) -> int:
        if store not in ("", "2") or (store == "2" and len(self.sources) < 2):
            raise absent(f"there is no store {store}")
        return 1 if store == "2" else 0

    def _view(
        self, request: PageRequest, number: int, moment: Moment, stamp: str, second: Callable[[], View]
    ) -> View:
        source = self.sources[number]
        study = source.studies.study(moment, stamp)
        items = source.items(moment, study)
        return View(request, "2" if number else "", source, moment, study, items, second)


@PAGES.add("study")
def study_page(view: View) -> dict[str, Any]:
    """The benchmarks of a study with the flip surfaces of their first pairs."""
    study = view.study
    sections: list[dict[str, Any]] = []
    for benchmark in study.benchmarks:
        roster = list(model_pairs(study, benchmark))
        drawn = roster[:3] if _small(study, benchmark) else []
        limit = largest(study, benchmark, tuple(roster[:100]))
        models = [name for name in study.models if any(_cells_of(study, benchmark, name))]
        sections.append(
            {
                "benchmark": benchmark,
                "items": view.items.asked(benchmark),
                "totals": [total(study, benchmark, a, b) for a, b in roster[:100]],
                "more": len(roster) - 100,
                "models": models,
                "cells": sum(cell.benchmark == benchmark for cell in study.cells),
                "first": default_query(study, benchmark),
                "matrix": read_matrix(view, default_query(study, benchmark), ANSWERED)
                if len(sections) < PREVIEWED
                else None,
                "surfaces": [_flips(view, benchmark, a, b, limit) for a, b in drawn]
                or ([_scores(view, benchmark, models[0])] if len(models) == 1 else []),
            }
        )
    stated = view.source.curves
    return {
        "csv": partial(downloads.cells_table, study.cells),
        "sections": sections,
        "stamps": view.source.studies.stamps(view.moment),
        "curves": stated is not None and stated.stamp == study.stamp,
    }


@PAGES.add("questions")
def questions_page(view: View) -> dict[str, Any]:
    """The questions of a benchmark by variants: models and configurations."""
    matrix = read_matrix(view, view.request.query)
    shown, part = view.part(matrix.rows, ROWS)
    return {
        "csv": partial(downloads.questions_table, view, matrix),
        "matrix": matrix,
        "rows": shown,
        "axes": view.study.axes,
        "axis_prefix": AXIS,
        "orders": ORDERS,
        "categories": view.items.categories([matrix.benchmark]),
        "tags": view.items.tags([matrix.benchmark]),
        **part,
    }


@PAGES.add("surface")
def surface_page(view: View) -> dict[str, Any]:
    """The surface of one pair, or the scores of one model."""
    study, benchmark = view.study, view.asked("benchmark")
    a, b = view.request.query.get("a", ""), view.request.query.get("b", "")
    known = [name for name in study.models if any(_cells_of(study, benchmark, name))]
    for name in (a, b):
        if name and name not in known:
            raise absent(f"`{name}` has no cell of `{benchmark}`")
    if not known:
        raise absent(f"the study has no benchmark `{benchmark}`")
    a = a or known[0]
    roster = list(model_pairs(study, benchmark))
    cells = [cell for cell in study.cells if cell.benchmark == benchmark and cell.model == a]
    others = [study.at(b, benchmark, cell.configuration) if b else None for cell in cells]
    shown, part = view.part(list(zip(cells, others, strict=True)), CONFIGURATIONS)
    drawn = None
    if len(cells) <= MOST_SQUARES:
        limit = largest(study, benchmark, tuple(roster[:100]))
        drawn = _flips(view, benchmark, a, b, limit) if b else _scores(view, benchmark, a)
    return {
        "benchmark": benchmark,
        "a": a,
        "b": b,
        "models": known,
        "pairs": roster[:500],
        "surface": drawn,
        "csv": partial(downloads.pair_table, list(zip(cells, others, strict=True)), a, b),
        "rows": shown,
        **part,
    }


@PAGES.add("cell")
def cell_page(view: View) -> dict[str, Any]:
    """A cell with its samples."""
    study, cell = view.study, view.cell()
    filters = read_filters({**view.request.query, "sort": "", "model": "", "benchmark": ""}, study)
    page = listed_samples(view.moment, study, view.items, filters, _place(view), [cell])
    return {
        "csv": partial(downloads.samples_table, view, filters, [cell]),
        "cell": cell,
        "filters": filters,
        "page": page,
        "extent": _extent(page, cell.counts.of(filters.outcome, filters.read)),
        "switches": switches(study, cell),
        "siblings": study.siblings(cell),
        "tabs": [
            ("all", "", "", cell.counts.trials),
            ("scored points", "earned", "", cell.counts.of("earned", "")),
            ("scored nothing", "nothing", "", cell.counts.of("nothing", "")),
            ("unreadable", "", "unreadable", cell.counts.of("", "unreadable")),
            ("no score" if study.recorded else "not scored yet", "waiting", "", cell.counts.waiting),
        ],
    }


@PAGES.add("pair")
def pair_page(view: View) -> dict[str, Any]:
    """The items on which two models differ under one configuration."""
    study, benchmark, configuration = view.study, view.asked("benchmark"), view.asked("configuration")
    sides = [study.at(view.asked(name), benchmark, configuration) for name in ("a", "b")]
    left, right = sides
    if left is None or right is None:
        raise absent(f"two models with a cell under `{configuration}` are needed")
    return {
        "left": left,
        "right": right,
        **differing_page(view.request.query, (view.moment, left), (view.moment, right)),
        "switches": [
            (axis, [(level, other if study.at(right.model, benchmark, other.configuration) else None, here)
                    for level, other, here in places if other is not None])
            for axis, places in switches(study, left)
        ],
    }  # fmt: skip


@PAGES.add("item")
def item_page(view: View) -> dict[str, Any]:
    """Every answer to one item, of the models and configurations that pass the filters. Of few models a row
    is a configuration with an answer of each; of more it is one answer, so that no table is too wide."""
    study, benchmark, item = view.study, view.asked("benchmark"), view.asked("item")
    matrix = read_matrix(view, {**view.request.query, "item": ""})
    before, after = matrix.neighbours(item)
    asks = asks_item(view.moment, item)
    every = [cell for cell in study.cells if cell.benchmark == benchmark and asks(cell)]
    if not every:
        raise absent(f"no cell asks item `{item}` of `{benchmark}`")
    places = {cell.configuration: place for place, cell in reversed(list(enumerate(every)))}
    passing = {cell.id for cell in matrix.filters.cells(study)}
    answers = [cell for cell in every if cell.id in passing]
    answers.sort(key=lambda cell: (places[cell.configuration], cell.id))
    here, part = view.part(answers, VARIANTS)
    models = list(dict.fromkeys(cell.model for cell in here))
    beside = len(models) <= ANSWERED
    rows: dict[str, dict[str, AnsweredVariant]] = {}
    for cell in here:
        found = outcomes(view.moment, cell, item)
        answer = AnsweredVariant(cell, found, response(view.moment, cell.id, item, found[0][0]))
        row = rows.setdefault(cell.configuration if beside else cell.key, {})
        row[cell.model if beside else ""] = answer
    return {
        "csv": partial(downloads.item_table, view, item, answers),
        "benchmark": benchmark,
        "item": item,
        "about": view.items.item(benchmark, item),
        "columns": models if beside else [""],
        "rows": list(rows.values()),
        "shown": sample_view(view.moment, (here or every)[0], item, 0),
        "within": matrix.within if view.request.live else {},
        "filters": matrix.filters,
        "axes": study.axes,
        "axis_prefix": AXIS,
        "every": len(every),
        "before": before,
        "after": after,
        "source": study.sources.get(benchmark, ""),
        **part,
    }


class AnsweredVariant(NamedTuple):
    """The answer of a cell to an item: (replicate, choice, score) of each, and the first one's text, None
    where nothing was generated."""

    cell: StoredCell
    outcomes: tuple[tuple[int, int | None, int | None], ...]
    text: str | None


@PAGES.add("sample")
def sample_page(view: View) -> dict[str, Any]:
    """One item asked once in a cell."""
    cell, item, replicate = view.cell(), view.asked("item"), view.replicate
    sample = sample_view(view.moment, cell, item, replicate)
    before, after = _around(view, cell, item, replicate)
    return {
        "cell": cell,
        "sample": sample,
        "within": view.request.query.get("list", "") if view.request.live else "",
        "form": _label_form(view, sample) if view.request.live else None,
        "about": view.items.item(cell.benchmark, item),
        "switches": switches(view.study, cell, asks_item(view.moment, item)),
        "siblings": list(filter(asks_item(view.moment, item), view.study.siblings(cell))),
        "replicates": outcomes(view.moment, cell, item),
        "before": before,
        "after": after,
    }


class SamplePlace(NamedTuple):
    """Where a sample is that a page leads to."""

    cell: StoredCell
    item: str
    replicate: int


def _around(
    view: View, cell: StoredCell, item: str, replicate: int
) -> tuple[SamplePlace | None, SamplePlace | None]:
    """The samples before and behind one: in the list that the address names, or else in its cell."""
    listed = dict(parse_qsl(view.request.query.get("list", "")))
    if not listed:
        found = neighbours(view.moment, cell, item, replicate)
        before, after = (None if place is None else SamplePlace(cell, *place) for place in found)
        return before, after
    try:
        filters = _filters(view, listed)
    except ConditionError as error:
        raise absent(f"the list of this address has a condition that is none: {error}") from None

    def nearest(back: bool) -> SamplePlace | None:
        place = ListPosition(cell.id, item, replicate, back)
        rows = listed_samples(view.moment, view.study, view.items, filters, place, most=1).rows
        return SamplePlace(rows[0].cell, rows[0].item, rows[0].replicate) if rows else None

    return nearest(True), nearest(False)


class LabelForm(NamedTuple):
    """What a page asks of a person about an answer. `label`, `comment` and `annotator` are filled in, `seen`
    tells what is replaced, `others` are what other people said. `problem` says why nothing was kept."""

    allowed: tuple[str, ...]
    label: str
    comment: str
    annotator: str
    seen: str
    others: tuple[GivenLabel, ...]
    problem: str = ""


def _label_form(
    view: View, sample: SampleView, typed: Mapping[str, str] | None = None, problem: str = ""
) -> LabelForm | None:
    """The form for an answer that people can label, with what they typed or said before."""
    labels = view.labels
    answered = sample.calls and all(call.answered and call.error is None for call in sample.calls)
    allowed = labels.allowed(sample.cell.key, sample.item) if labels and answered else ()
    if labels is None or not allowed:
        return None
    try:
        given = labels.of(sample.cell, sample.item, sample.replicate)
    except FileError as error:
        given, problem = [], problem or error.diagnostics[0].message
    who = typed.get("annotator", "") if typed else labels.annotator
    mine = next((each for each in given if each.annotator == " ".join(who.split())), None)
    said = (mine.label, mine.comment) if mine else ("", "")
    if typed:
        said = typed.get("label", ""), typed.get("comment", "")
    others = tuple(each for each in given if each is not mine)
    return LabelForm(allowed, *said, who, mine.seen if mine else "", others, problem)


@PAGES.add("labels")
def labels_page(view: View) -> dict[str, Any]:
    """What people said of answers, and how it becomes an audit's labels."""
    labels = view.labels
    if labels is None:
        raise absent("labels are kept only of the study whose spec was opened")
    problem, given = None, list[GivenLabel]()
    try:
        given = list(labels.given().values())
    except FileError as error:
        problem = error
    rows, part = view.part(given, ROWS)
    return {
        "csv": partial(downloads.labels_table, given),
        "rows": [(each, view.study.at(*each.place[:3])) for each in rows],
        "count": sum(bool(each.label) for each in given),
        "path": labels.path,
        "command": labels.command,
        "problem": problem,
        **part,
    }


@PAGES.add("beside")
def beside_page(view: View) -> dict[str, Any]:
    """The responses of two cells to one item, side by side: in one store, or in two if the address names a
    study of the `other`."""
    second = view.second() if view.request.query.get("other") else view
    cells = view.cell("left"), second.study.cell(view.asked("right"))
    if second is view and cells[0].benchmark != cells[1].benchmark:
        raise absent("the two cells are not of one benchmark")
    item, replicate = view.asked("item"), view.replicate
    partners = None if second is view else partners_of(view, second, *cells)
    names = item, item if partners is None else partners.get(item, item)
    left, right = (view.moment, cells[0]), (second.moment, cells[1])
    asked = [outcomes(*side, name) for side, name in zip((left, right), names, strict=True)]
    samples: list[SampleView] = []
    for side, name, found in zip((left, right), names, asked, strict=True):
        held = [number for number, *_ in found]
        samples.append(sample_view(*side, name, replicate if replicate in held else 0))
    after = differing_items_page(left, right, "score", after=item, partners=partners).rows
    before = differing_items_page(left, right, "score", before=item, partners=partners).rows
    return {
        "samples": samples,
        "sides": (view, second),
        "item": item,
        "replicate": replicate,
        "replicates": sorted({number for found in asked for number, *_ in found}),
        "before": before[-1] if before else None,
        "after": after[0] if after else None,
        "other": second.study.stamp if second is not view else "",
        "switches": ()
        if second is not view
        else switches(view.study, cells[1], asks_item(view.moment, item)),
        "about": view.items.item(cells[0].benchmark, item),
    }


@PAGES.add("samples")
def samples_page(view: View) -> dict[str, Any]:
    """Samples by filters, or the texts that have some words. A condition that is none is said in its place,
    and nothing is looked for."""
    study, query = view.study, view.request.query
    where, problem = query.get("where", "").strip(), None
    try:
        filters = _filters(view, query)
    except ConditionError as error:
        filters, problem = _filters(view, {**query, "where": ""}), error
    benchmarks = [filters.benchmark] if filters.benchmark else study.benchmarks
    values: dict[str, Any] = {
        "filters": filters,
        "axes": study.axes,
        "axis_prefix": AXIS,
        "outcomes": OUTCOMES,
        "readings": READ,
        "sorts": SORTS,
        "withins": WITHIN,
        "categories": view.items.categories(benchmarks),
        "tags": view.items.tags(benchmarks),
        "where": where,
        "problem": problem,
        "columns": Conditions(view.moment, study).columns,
        "allowed": ALLOWED,
        "page": None,
        "hits": None,
        "progress": None,
    }
    if problem:
        return values
    if not filters.q:
        page = listed_samples(view.moment, study, view.items, filters, _place(view))
        counts = view.source.counted(view.moment, study, view.items, filters)
        table = partial(downloads.samples_table, view, filters)
        return {
            **values,
            "page": page,
            "extent": _extent(page, counts.found, counts.reached is None),
            "csv": table,
        }
    progress = view.source.index.ensure(view.moment.version)
    after = view.integer("after", "`{}` is not a place in a search", digits=18)
    hits = view.source.index.search(view.moment, study, view.items, filters, after)
    return {**values, "hits": hits, "progress": progress, "first": not after}


@PAGES.add("curves")
def curves_page(view: View) -> dict[str, Any]:
    """One specification curve of the study with each of its specifications, and the names of the others."""
    stated, study = view.source.curves, view.study
    if stated is None or stated.stamp != study.stamp:
        raise absent("the viewer knows no curve of this study: open its spec, which states them")
    if study.waiting:
        return {"names": (), "shown": None}
    by_name = {curve.name: curve for curve in stated.of(study)}
    name = view.request.query.get("curve") or next(iter(by_name), "")
    if by_name and name not in by_name:
        raise absent(f"the study has no curve `{name[:80]}`")
    if not by_name:
        return {"names": (), "shown": None}
    table = partial(downloads.curve_table, by_name[name])
    return {"names": tuple(by_name), "shown": figures.shown_curve(by_name[name]), "csv": table}


PAGES.add("compare")(differences.differences_page)

Switch = list[tuple[str, StoredCell | None, bool]]


def switches(
    study: StoredStudy, cell: StoredCell, leads: Callable[[StoredCell], bool] = lambda _: True
) -> list[tuple[str, Switch]]:
    """For every axis with several levels: each level, the cell that differs by it alone, if the page `leads`
    there, and whether that is this one."""

    def moved(axis: str, level: str) -> StoredCell | None:
        other = study.moved(cell, axis, level)
        return other if other is not None and leads(other) else None

    return [
        (axis, [(level, moved(axis, level), level == cell.levels.get(axis)) for level in levels])
        for axis, levels in study.axes.items()
        if len(levels) > 1 and axis in cell.levels
    ]


def asks_item(moment: Moment, item: str) -> Callable[[StoredCell], bool]:
    """Whether a cell asks an item: not all of a benchmark do, in logs and where an axis chooses items."""
    statement = "SELECT 1 FROM sample WHERE cell = ? AND item = ? LIMIT 1"
    return lambda cell: moment.row(statement, [cell.id, item]) is not None


def _cells_of(study: StoredStudy, benchmark: str, model: str) -> list[StoredCell]:
    return [cell for cell in study.cells if cell.benchmark == benchmark and cell.model == model]


def _small(study: StoredStudy, benchmark: str) -> bool:
    configurations = {cell.configuration for cell in study.cells if cell.benchmark == benchmark}
    return len(configurations) <= MOST_SQUARES


def _flips(view: View, benchmark: str, a: str, b: str, limit: float) -> Any:
    def path(one: StoredCell, other: StoredCell) -> str:
        return page_links.pair_link(view.study.stamp, benchmark, one.configuration, a, b, view.side)

    return flip_surface(view.study, benchmark, a, b, limit, path)


def _scores(view: View, benchmark: str, model: str) -> Any:
    def path(cell: StoredCell) -> str:
        return page_links.cell(view.study.stamp, cell.key, view.side)

    return score_surface(view.study, benchmark, model, path)


def _filters(view: View, query: Mapping[str, str]) -> Filters:
    """The filters of an address with its condition. Raises as `read_filters`, and `ConditionError`."""
    filters, where = read_filters(query, view.study), query.get("where", "").strip()
    return filters.but(where=Conditions(view.moment, view.study).read(where)) if where else filters


def _extent(page: ListPage, total: int, whole: bool = True) -> PageExtent:
    """Which rows of a list a page has. A run that writes meanwhile may add rows in front of it."""
    last = page.first + len(page.rows) - 1
    return PageExtent(page.first if page.rows else last, last, max(total, last), whole)


def _place(view: View) -> ListPosition | None:
    return ListPosition.read(view.request.query.get("after", ""))
