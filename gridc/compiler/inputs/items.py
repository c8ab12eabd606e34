"""The items of a study: loaded, drawn, kept apart from each other, and put in each order that is asked."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from gridc.compiler.frontend.lookup import NotFound, ReferenceFolders
from gridc.compiler.frontend.plugins import PluginError
from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.tasks import StoredTask
from gridc.compiler.grid import cells
from gridc.compiler.grid import configurations as grid
from gridc.compiler.inputs.dataset_hub import dataset_files
from gridc.compiler.inputs.draw import (
    UndocumentedUnit,
    documented,
    draw_exemplars,
    draw_sample,
    families_of,
    joined_at,
    unit_level,
    with_questions,
)
from gridc.compiler.inputs.loaders import complete_loading, load_items
from gridc.compiler.inputs.loaders.parsing import BadRow, File, Malformed, Misread
from gridc.compiler.inputs.questions import plain_question
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import arranged, own_letters
from gridc.compiler.instrument.render import EXTRA, extra_columns, template_variables
from gridc.diagnostics.errors import Collector, KeyPath
from gridc.numbers import counted
from gridc.schema.canonical import digest, digest_bytes
from gridc.schema.items import UNIT_LEVELS, Sample, UnitLevel
from gridc.schema.spec import Benchmark, Spec
from gridc.schema.tasks import TaskFile
from gridc.statistics.reproducibility import DrawError

ExemplarDraws = Mapping[int, Mapping[str, tuple[int, ...]]]
"""Places of exemplars, by number of shots and item."""

SHOWN = 5
"""How many malformed rows of a file are told one by one."""


@dataclass(frozen=True)
class LoadedItems:
    """A benchmark's items as its files hold them, with the files' digests, the rows that were left out
    because they are malformed, and the hub's commit, if any. `found` is what the spec leaves to the data,
    such as how the gold column names an option, and `said` what a person should know about the reading.
    `task` says which task of which package they are (`TaskFile.origin`), and `prompts` has by item and form
    the digest of what that package sends; both are empty for items of anyone's file."""

    every: tuple[Item, ...]
    files: Mapping[str, str]
    left_out: tuple[str, ...] = ()
    hub: Mapping[str, str] | None = None
    found: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    task: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows the files hold, with those that were left out."""
        return len(self.left_out) + len(self.every)


@dataclass(frozen=True)
class VariantItems:
    """The items of a benchmark in other words, by the id of the item that each stands for, with the digests
    of their files. What an item belongs to (family, template, category, tags) is said by the benchmark."""

    items: Mapping[str, Item]
    files: Mapping[str, str]


class UnpairedVariant(ValueError):
    """A variant's items are not those of its benchmark. `help` is the way out."""

    def __init__(self, problem: str, help: str) -> None:
        super().__init__(problem)
        self.help = help


def variant_items(items: Sequence[Item], loaded: LoadedItems) -> VariantItems:
    """The items that a variant has for these. Raises `UnpairedVariant` where one is missing or of another
    shape."""
    by_id = {item.id: item for item in loaded.every}
    missing = [item.id for item in items if item.id not in by_id]
    if missing:
        more = "" if len(missing) == 1 else f", and {len(missing) - 1:,} others"
        raise UnpairedVariant(
            f"it has no item `{missing[0]}`{more}",
            "a variant has each item of the benchmark under the same id: `loading.fields.id` names it",
        )
    paired = {}
    for item in items:
        other = by_id[item.id]
        if len(other.options) != len(item.options):
            raise UnpairedVariant(
                f"its item `{item.id}` has {len(other.options)} options, not {len(item.options)}",
                "a variant says the same in other words: each of its items has as many options",
            )
        if other.expected != item.expected:
            theirs = f"{_expected(other)}, and {_expected(item)} in the benchmark"
            raise UnpairedVariant(
                f"`expected` of its item `{item.id}` is {theirs}",
                "a variant's prompt asks for the same, in other words: correct the row, or the column that "
                "`loading.fields.expected` names",
            )
        paired[item.id] = replace(
            other, family=item.family, template=item.template, category=item.category, tags=item.tags,
            question=item.question,
        )  # fmt: skip
    return VariantItems(paired, loaded.files)


def _expected(item: Item) -> str:
    return "not stated" if item.expected is None else f"`{item.expected}`"


@dataclass(frozen=True)
class Items:
    """What a benchmark asks: the sampled items in file order and the exemplars in shot order, both with
    their options as the file has them, and the orders and subsets in which the study shows those.
    `unit` is the level at which items are independent of each other. Where that is the question, and each is
    asked in the same calls so many times, `repeats` says how often. Where each item shows exemplars of its
    own, `draws` has their places among `exemplars`, by number of shots and item."""

    sampled: tuple[Item, ...]
    exemplars: tuple[Item, ...]
    source: LoadedItems
    orders: tuple[str | None, ...] = (None,)
    subsets: tuple[Sample, ...] = ()
    seed: int = 0
    unit: UnitLevel = "family"
    variants: Mapping[str, VariantItems] = field(default_factory=dict)
    repeats: int = 1
    draws: ExemplarDraws = field(default_factory=dict)

    def asked(
        self, order: str | None = None, subset: Sample | None = None, variant: str | None = None
    ) -> tuple[Item, ...]:
        """The items of a cell, in file order, as they are shown there. Raises `DrawError`."""
        chosen = self.sampled if subset is None else draw_sample(self.sampled, subset)
        return tuple(arranged(item, order) for item in self._worded(chosen, variant))

    def shown(self, order: str | None = None, variant: str | None = None) -> tuple[Item, ...]:
        """The exemplars as they are shown. Where the asked item has its right option at a fixed letter,
        theirs are shuffled by the exemplars' seed: otherwise each would give the answer away."""
        if order is not None and order.startswith("gold_at:"):
            order = f"shuffled:{self.seed}"
        return tuple(arranged(item, order) for item in self._worded(self.exemplars, variant))

    def drawn(self, item: str, shots: int) -> tuple[int, ...]:
        """The places of the exemplars that an item shows, among those that are `shown`."""
        return self.draws[shots][item] if shots and self.draws else self._first(shots)

    def seen(self, shots: int) -> frozenset[int]:
        """The places of all exemplars that some item shows."""
        if not self.draws:
            return frozenset(self._first(shots))
        return frozenset(place for item in self.sampled for place in self.drawn(item.id, shots))

    def _first(self, shots: int) -> tuple[int, ...]:
        return tuple(range(min(shots, len(self.exemplars))))

    def _worded(self, items: Sequence[Item], variant: str | None) -> Sequence[Item]:
        return items if variant is None else [self.variants[variant].items[item.id] for item in items]

    @property
    def held(self) -> int:
        """How many items the files hold, asked or not."""
        return self.source.rows - len(self.source.left_out)

    @property
    def units(self) -> dict[str, str]:
        """The unit that each sampled item belongs to, by item id."""
        return {item.id: item.at(self.unit) for item in self.sampled}

    @cached_property
    def copies(self) -> frozenset[str]:
        """The items that ask what an earlier one asks."""
        first: dict[str, str] = {}
        asked_again = (item for item in self.sampled if item.question)
        return frozenset(
            item.id for item in asked_again if first.setdefault(item.question, item.id) != item.id
        )

    @property
    def oddities(self) -> Iterator[str]:
        """What a person should know of the items that are asked, because it is unusual."""
        options = [item.options for item in self.sampled]
        sizes = Counter(map(len, options))
        if len(sizes) > 1:
            listed = ", ".join(f"{items:,} with {count}" for count, items in sorted(sizes.items()))
            yield f"the items have different numbers of options: {listed}"
        for odd, what in _ODD_OPTIONS:
            if count := sum(map(odd, options)):
                yield f"{counted(count, 'item has', 'items have')} an option {what}"

    @property
    def distinct(self) -> int:
        """How many questions are asked, where some are asked several times; 0 where none is."""
        return len(self.sampled) - len(self.copies) if self.copies else 0

    @property
    def contradicting(self) -> int:
        """How many copies have another right answer than the first."""
        answers = {item.id: (plain_question(item.best or ""), item.expected) for item in self.sampled}
        return sum(answers[item.id] != answers[item.question] for item in self.sampled if item.question)

    @property
    def stamped_units(self) -> dict[str, Any]:
        """The units as the stamp has them; nothing where an item's own digest names its unit."""
        named = self.unit in ("item", "family")
        repeats = {"repeats": self.repeats} if self.repeats > 1 else {}
        return {} if named else {"level": self.unit, "digest": digest(self.units), **repeats}

    def groups(self, level: UnitLevel) -> int:
        """How many groups of a level the sampled items are of."""
        return len({item.at(level) for item in self.sampled})

    def holds(self, level: UnitLevel, finer: UnitLevel) -> bool:
        """Whether some group of a level holds several of a finer one."""
        order = UNIT_LEVELS.index(finer) < UNIT_LEVELS.index(level)
        return order and self.groups(level) < self.groups(finer)

    @property
    def coarser(self) -> tuple[UnitLevel, ...]:
        """Levels coarser than the unit, and no category, that the data document all the same."""
        levels = [level for level in documented(self.sampled) if level != "category"]
        return tuple(levels[levels.index(self.unit) + 1 :]) if self.unit in levels else ()

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The digest of every file, of every item and exemplar in every order that it is shown in, and of
        the names in every subset; and of the units, where an item's own digest does not name them."""
        rare = {
            "units": self.stamped_units,
            "questions": self.distinct,
            "hub": dict(self.source.hub or {}),
            "found": dict(self.source.found),
            "left_out": list(self.source.left_out),
            "draws": {str(shots): digest(drawn) for shots, drawn in self.draws.items()},
            "task": dict(self.source.task),
            "subsets": {
                str(subset): digest([item.id for item in self.asked(None, subset)]) for subset in self.subsets
            },
            "variants": {
                name: {
                    "files": dict(variant.files),
                    "items": {item.id: item_digest(item) for item in self.asked(variant=name)},
                    "exemplars": [[item.id, item_digest(item)] for item in self.shown(variant=name)],
                }
                for name, variant in self.variants.items()
            },
        }
        return {
            "files": dict(self.source.files),
            **{name: value for name, value in rare.items() if value},
            "items": {
                order or "file": {item.id: item_digest(item) for item in self.asked(order)}
                for order in self.orders
            },
            "exemplars": {
                order or "file": [[item.id, item_digest(item)] for item in self.shown(order)]
                for order in self.orders
            },
        }


UNFILLED = ("nan", "null", "<na>")
"""What programs write for an empty cell."""

_ODD_OPTIONS: tuple[tuple[Callable[[Sequence[str]], bool], str], ...] = (
    (
        lambda options: any(option != option.strip() for option in options),
        "that begins or ends with white space, which is shown as it is",
    ),
    (
        lambda options: any(option.strip().casefold() in UNFILLED for option in options),
        "`nan` or `null`, as a program writes an empty cell: it is shown as an option",
    ),
    (lambda options: len(set(options)) < len(options), "twice"),
)
"""Options that are asked as they are, each with what is said of them."""


def task_items(stored: StoredTask) -> LoadedItems:
    """The items of a task file. Each is of the category that its member of the group is."""
    task = stored.task
    several = len(task.members) > 1
    every = tuple(
        Item(
            id=item.id,
            query=item.query,
            options=item.options,
            gold=item.gold[0] if item.gold else None,
            golds=item.gold[1:],
            references=item.references,
            contexts=item.contexts,
            preamble=item.preamble,
            extra=item.extra,
            category=item.member if several else "",
            tags={"task": item.member} if several else {},
        )
        for item in task.items
    )
    about = f"{task.title} of {task.package} {task.version}"
    prompts = {item.id: item.prompts for item in task.items}
    files = {stored.name: stored.sha256}
    return LoadedItems(every, files, said=(about, *task.left_out), task=task.origin, prompts=prompts)


def task_exemplars(task: TaskFile) -> tuple[Item, ...]:
    """All exemplars of a task file, in its order."""
    return tuple(
        Item(exemplar.id, exemplar.query, references=(exemplar.answer,), extra=exemplar.extra)
        for exemplar in task.exemplars
    )


def task_draws(task: TaskFile, sampled: Sequence[Item]) -> ExemplarDraws:
    """Which exemplars each sampled item shows."""
    asked = {item.id for item in sampled}
    drawn: dict[int, dict[str, tuple[int, ...]]] = {shots: {} for shots in task.shots if shots}
    for item in task.items:
        for shots, places in item.draws.items() if item.id in asked else ():
            drawn[int(shots)][item.id] = places
    return drawn


def item_digest(item: Item) -> str:
    """SHA-256 of an item as it is asked, its options in the order in which they are shown."""
    return digest(item.as_json())


class ItemLoader:
    """Loads and draws the items of every benchmark of a spec, and keeps what is wrong with them."""

    def __init__(
        self,
        spec: Spec,
        source: Source,
        places: ReferenceFolders,
        pins: Mapping[str, str],
        online: bool,
        templates: Iterable[str] = (),
        tasks: Mapping[str, StoredTask] = MappingProxyType({}),
    ) -> None:
        self._spec, self._source, self._places = spec, source, places
        self._pins, self._online = pins, online
        self._templates, self._tasks = tuple(templates), tasks
        self._wrong = Collector()
        self._loaded: dict[str, LoadedItems] = {}
        self._drawn: dict[str, tuple[Item, ...] | None] = {}
        self._renderings = _renderings(spec)
        self.items: dict[str, Items] = {}
        self.absent: dict[str, str] = {}

    def load(self) -> Collector:
        """Fill `items` and `absent`; what is returned holds every finding."""
        for number, benchmark in enumerate(self._spec.benchmark):
            self._load(number, benchmark)
        for number, benchmark in enumerate(self._spec.benchmark):
            if benchmark.id in self._loaded:
                self._draw_samples(number, benchmark)
        return self._wrong

    def _load(self, number: int, benchmark: Benchmark) -> None:
        path: KeyPath = ("benchmark", number, "source")
        if benchmark.id in self._tasks:
            try:
                self._loaded[benchmark.id] = task_items(self._tasks[benchmark.id])
            except ValueError as error:
                help = "name another task: an item of gridc has a question, and 2 to 26 options or none"
                self._wrong.add(self._source.diagnose("GC347", path, str(error), help))
            return
        try:
            loaded = self._read(number, benchmark)
            if loaded is not None:
                self._loaded[benchmark.id] = loaded
        except NotFound as error:
            elsewhere = benchmark.source.startswith("hf:") or (
                benchmark.source.startswith("data:") and self._places.data_folder is None
            )
            if elsewhere and error.code == "GC309" and not error.anywhere:
                self.absent[benchmark.id] = error.problem
            else:
                self._wrong.add(self._source.diagnose(error.code, path, error.problem, error.help))

    def _read(self, number: int, benchmark: Benchmark) -> LoadedItems | None:
        """What the files of a benchmark hold; None where a finding says that they are malformed."""
        before = len(self._wrong.diagnostics)
        hub, how = None, tuple[str, ...]()
        if benchmark.source.startswith("hf:"):
            hosted = dataset_files(benchmark.source, self._pins.get(benchmark.source), self._online)
            paths, how = hosted.files, hosted.said
            hub = {"source": benchmark.source, "revision": hosted.commit}
        else:
            paths = self._places.benchmark(benchmark.source)
        files = [File(name, path.read_bytes()) for name, path in paths]
        every: dict[str, Item] = {}
        left_out: list[str] = []
        loading = benchmark.loading
        inferred: Mapping[str, str] = {}
        remarks: tuple[str, ...] = ()
        try:
            completed = complete_loading(benchmark.loader, files, loading)
            loading, inferred, remarks = completed.loading, completed.found, completed.said
        except Misread as error:
            here: KeyPath = ("benchmark", number, "loading", *error.path)
            self._wrong.add(self._source.diagnose(error.code, here, error.problem, error.help))
            return None
        except Malformed:
            pass  # each file is read once more below, and what is wrong with it is told by its name
        for file in files:
            bad: tuple[BadRow, ...] = ()
            try:
                items = load_items(benchmark.loader, file, loading)
            except PluginError as error:
                here = ("benchmark", number, "loader")
                self._wrong.add(self._source.diagnose(error.code, here, error.problem, error.help))
                return None
            except Malformed as error:
                items, bad = list(error.items), error.rows
                if not (error.readable and loading.malformed == "leave_out"):
                    self._report(number, file.name, bad, error.readable)
            left_out += [f"{file.name}, {row}" for row in bad]
            twins = [BadRow(1, f"`{item.id}` is already an item of an earlier file") for item in items
                     if item.id in every]  # fmt: skip
            if twins or not (items or bad):
                self._report(number, file.name, twins or [BadRow(1, "there is no item in it")], False)
            every |= {item.id: item for item in items}
        if len(self._wrong.diagnostics) == before and not every:
            first = f"; the first is {left_out[0]}" if left_out else ""
            problem = f"all {len(left_out):,} rows do not follow the format, and none is left{first}"
            here = ("benchmark", number, "source")
            help = "correct `loading`, which says how the rows are read: one that reads none of them is wrong"
            self._wrong.add(self._source.diagnose("GC312", here, problem, help))
        if len(self._wrong.diagnostics) > before:
            return None
        digests = {file.name: digest_bytes(file.data) for file in files}
        return LoadedItems(tuple(every.values()), digests, tuple(left_out), hub, inferred, (*how, *remarks))

    def _report(self, number: int, name: str, rows: Sequence[BadRow], readable: bool) -> None:
        """The first few malformed rows of a file as findings, and how many more there are."""
        where: KeyPath = ("benchmark", number, "source")
        leave_out = '`loading.malformed` = "leave_out" leaves such rows out, and every report counts them'
        for place, row in enumerate(rows[:SHOWN], start=1):
            more = f" (and {len(rows) - SHOWN} more rows)" if place == SHOWN < len(rows) else ""
            help = row.help or (leave_out if readable else None)
            self._wrong.add(self._source.diagnose("GC312", where, f"{name}, {row}{more}", help))

    def _draw_samples(self, number: int, benchmark: Benchmark) -> None:
        """Draw a benchmark's sample and exemplars, and see that each cell can ask what it should."""
        path: KeyPath = ("benchmark", number, "sample")
        try:
            sampled = self._draw(benchmark, ())
            if sampled is None:
                return
            task = self._tasks.get(benchmark.id)
            exemplars = self._exemplars(benchmark, sampled) if task is None else task_exemplars(task.task)
            further = any(item.extra for item in sampled)
            sampled = with_questions(sampled, _shown_columns(self._templates) if further else ())
            unit = unit_level(sampled, benchmark.unit)
            sampled = joined_at(sampled, unit)
        except UndocumentedUnit as error:
            levels = ", ".join(f'"{level}"' for level in error.known)
            help = f"the items of `{benchmark.source}` document {levels}"
            where: KeyPath = ("benchmark", number, "unit")
            self._wrong.add(self._source.diagnose("GC332", where, str(error), help))
            return
        except NotFound as error:
            self._wrong.add(self._source.diagnose(error.code, path, error.problem, error.help))
            return
        except DrawError as error:
            way_out = error.help or self._fewer(benchmark, str(error))
            self._wrong.add(self._source.diagnose("GC311", path, str(error), way_out))
            return
        except ValueError as error:
            help = '`unit` names the level at which items are independent, such as "item" or "family"'
            self._wrong.add(self._source.diagnose("GC332", ("benchmark", number, "unit"), str(error), help))
            return
        renderings = self._renderings[benchmark.id]
        orders = tuple(sorted({order for order, _ in renderings}, key=lambda order: order or ""))
        subsets = tuple(sorted({sample for _, sample in renderings if sample is not None}, key=str))
        seed = benchmark.exemplars.seed if benchmark.exemplars else 0
        try:
            variants = self._paired(number, benchmark, (*sampled, *exemplars))
        except NotFound as error:
            self.absent[benchmark.id] = error.problem
            return
        alike = unit == "question" and not (subsets or variants) and self._is_fixed(benchmark)
        repeats = _repeats(sampled) if alike else 1
        items = Items(
            sampled, exemplars, self._loaded[benchmark.id], orders, subsets, seed, unit, variants, repeats,
            {} if task is None else task_draws(task.task, sampled),
        )  # fmt: skip
        if len(variants) == len(benchmark.variants or ()) and self._renders(items, number, renderings):
            self.items[benchmark.id] = items

    def _is_fixed(self, benchmark: Benchmark) -> bool:
        """Whether what is asked and answered depends on the text of an item alone: no order is drawn by its
        id, and no answer."""
        settings = [cell.setting for cell in cells.cells_of(self._spec) if cell.benchmark == benchmark.id]
        drawn = (setting.temperature > 0 and not setting.ranks for setting in settings)
        return not any(drawn) and not any((s.option_order or "").startswith("shuffled") for s in settings)

    def _fewer(self, benchmark: Benchmark, problem: str) -> str | None:
        """The way out where more items are asked for than there are."""
        if "were asked for" not in problem:
            return None
        every = len(self._loaded[benchmark.id].every)
        return f"there are {every:,} items in all: lower `sample.n`, or leave `sample` out to ask every one"

    def _paired(self, number: int, benchmark: Benchmark, items: Sequence[Item]) -> dict[str, VariantItems]:
        """Each variant's items for those of the benchmark; one is left out where a finding says why. Raises
        `NotFound` where the data of one are not here."""
        by_variant: dict[str, VariantItems] = {}
        for rank, variant in enumerate(benchmark.variants or ()):
            path: KeyPath = ("benchmark", number, "variants", rank, "source")
            changes = {"source": variant.source, "loading": variant.loading or benchmark.loading}
            before = len(self._wrong.diagnostics)
            loaded = self._read(number, benchmark.model_copy(update=changes))
            diagnostics = self._wrong.diagnostics[before:]
            self._wrong.diagnostics[before:] = [
                self._source.diagnose(diagnostic.code, path, diagnostic.message, diagnostic.help)
                for diagnostic in diagnostics
            ]
            if loaded is None:
                continue
            try:
                by_variant[variant.id] = variant_items(items, loaded)
            except UnpairedVariant as error:
                problem = f"`{variant.id}` does not pair with `{benchmark.id}`: {error}"
                self._wrong.add(self._source.diagnose("GC335", path, problem, error.help))
        return by_variant

    def _draw(self, benchmark: Benchmark, above: tuple[str, ...]) -> tuple[Item, ...] | None:
        """The sampled items; None where those that they must be disjoint from are not here."""
        if benchmark.id in above:
            raise DrawError(f"`disjoint_from` is circular: {' -> '.join((*above, benchmark.id))}")
        if benchmark.id not in self._drawn:
            loaded, sample = self._loaded[benchmark.id], benchmark.sample
            if sample is None:
                self._drawn[benchmark.id] = loaded.every
            else:
                barred = self._barred(benchmark, sample, above)
                self._drawn[benchmark.id] = (
                    None if barred is None else tuple(draw_sample(loaded.every, sample, barred))
                )
        return self._drawn[benchmark.id]

    def _barred(self, benchmark: Benchmark, sample: Sample, above: tuple[str, ...]) -> set[str] | None:
        """The families that share an item with what the sample must be disjoint from."""
        barred: set[str] = set()
        for name in sample.disjoint_from:
            if name.startswith("path:"):
                barred |= self._listed(benchmark, name)
                continue
            other = next(declared for declared in self._spec.benchmark if declared.id == name)
            drawn = self._draw(other, (*above, benchmark.id)) if name in self._loaded else None
            if drawn is None:
                self.absent[benchmark.id] = f"the items of `{name}`, which it must not share, are not here"
                return None
            barred |= families_of(self._loaded[benchmark.id].every, {item.stem for item in drawn})
        return barred

    def _listed(self, benchmark: Benchmark, reference: str) -> set[str]:
        """The families of the items that a lock or a list names."""
        text = self._places.listing(reference).read_text("utf-8", "replace")
        if reference.endswith(".toml"):
            raise DrawError(f"`{reference}` is a spec; the items that a study asks are in its lock")
        loaded = self._loaded[benchmark.id]
        ids = _locked(text, loaded, reference) if text.lstrip().startswith("{") else set(text.split("\n"))
        names = {name.strip() for name in ids} - {""}
        families = {item.id: item.family for item in loaded.every}
        unknown = sorted(names - families.keys())
        if unknown or not names:
            names_item = f"`{unknown[0]}`, which is not an item" if unknown else "no item"
            raise DrawError(f"`{reference}` names {names_item} of `{benchmark.source}`")
        return {families[name] for name in names}

    def _exemplars(self, benchmark: Benchmark, sampled: tuple[Item, ...]) -> tuple[Item, ...]:
        needed = grid.most_shots(self._spec, benchmark)
        if needed == 0 or benchmark.exemplars is None:  # the checks have refused the one without the other
            return ()
        every = self._loaded[benchmark.id].every
        drawn = draw_exemplars(every, sampled, benchmark.exemplars.seed)
        if len(drawn) < needed:
            left = len(sampled) - (needed - len(drawn))
            draw = benchmark.sample
            seed = 42 if draw is None or draw.seed is None else draw.seed
            fewer = (
                f"`sample = {{ n = {left}, seed = {seed} }}` leaves as many to show, where no two items are "
                "of one family; or use fewer `shots`"
            )
            raise DrawError(
                f"{needed} exemplars are asked for; only {len(drawn)} items with an answer to show share no "
                "family with the sample",
                fewer if left > 0 else "use fewer `shots`: there are not enough items with an answer to show",
            )
        return tuple(drawn[:needed])

    def _renders(self, items: Items, number: int, renderings: Set[tuple[str | None, Sample | None]]) -> bool:
        """Whether every cell of the benchmark has items and a way to show them."""
        before = len(self._wrong.diagnostics)
        name = self._spec.benchmark[number].id
        lettered = [item for item in items.sampled if own_letters(item) is not None]
        orderly = [item for item in items.sampled if own_letters(item) is None]
        if None in items.orders and any(item.options and item.stem for item in orderly):
            message = f"`option_order` is not set for the calls of `{name}`"
            help = 'option_order = "shuffled:42" here or in [harness], or in every level of an axis'
            where: KeyPath = ("benchmark", number)
            self._wrong.add(self._source.diagnose("GC302", where, message, help, at_key=True))
        if lettered and not orderly and len(items.orders) > 1:
            where = _stated_at(self._spec, name, "option_order", items.orders[-1])
            shown = ", ".join(lettered[0].options)
            message = f"no order changes what is asked of `{name}`: its options are labels ({shown})"
            help = (
                'state option_order = "file" once, for all calls; or name the columns that hold the texts of '
                "the options"
            )
            self._wrong.add(self._source.diagnose("GC331", where, message, help))
        for order, subset in sorted(renderings, key=str):
            try:
                chosen = items.sampled if subset is None else draw_sample(items.sampled, subset)
            except DrawError as error:
                where = _stated_at(self._spec, name, "items", subset)
                self._wrong.add(self._source.diagnose("GC311", where, str(error)))
                continue
            try:
                for item in chosen:
                    arranged(item, order)
            except DrawError as error:
                where = _stated_at(self._spec, name, "option_order", order)
                self._wrong.add(self._source.diagnose("GC331", where, str(error), error.help))
        return len(self._wrong.diagnostics) == before


def _locked(text: str, loaded: LoadedItems, reference: str) -> set[str]:
    """The items that a lock holds of the same files."""
    try:
        benchmarks = json.loads(text)["content"]["inputs"]["benchmarks"].values()
        same = [
            benchmark
            for benchmark in benchmarks
            if set(benchmark.get("files", {}).values()) & set(loaded.files.values())
        ]
        names = {name for entry in same for order in entry["items"].values() for name in order}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise DrawError(f"`{reference}` is neither a lock nor a list of item ids") from None
    if not names:
        raise DrawError(f"`{reference}` is the lock of a study on other files")
    return names


def _renderings(spec: Spec) -> dict[str, set[tuple[str | None, Sample | None]]]:
    """The orders and subsets in which the cells of each benchmark show its items."""
    renderings: dict[str, set[tuple[str | None, Sample | None]]] = {
        benchmark.id: set() for benchmark in spec.benchmark
    }
    for cell in cells.cells_of(spec):
        renderings[cell.benchmark].add((cell.setting.option_order, cell.setting.items))
    return renderings


def _shown_columns(templates: Iterable[str]) -> frozenset[str] | None:
    """The further columns of items that templates print; None where one may print any."""
    columns: set[str] = set()
    for text in templates:
        named = {column for _, column in extra_columns(text)}
        if not named and EXTRA in template_variables(text):
            return None
        columns |= named
    return frozenset(columns)


def _repeats(items: Sequence[Item]) -> int:
    """How often each question is asked in the very same words; 1 where some are asked more often, or in
    other words."""
    texts: dict[str, set[str]] = {}
    for item in items:
        bare = replace(item, id="-", family="-", tags={}, question="", template="", category="")
        texts.setdefault(item.at("question"), set()).add(item_digest(bare))
    often = set(Counter(item.at("question") for item in items).values())
    return often.pop() if len(often) == 1 and all(len(digests) == 1 for digests in texts.values()) else 1


def _stated_at(spec: Spec, benchmark: str, key: str, value: object) -> KeyPath:
    """Where the spec first gives this value to an effect of a benchmark's calls: in an axis, else in the
    benchmark, else in `[harness]`."""
    stating = [
        table.path
        for table in grid.effect_tables(spec)
        if table.where.get("benchmark", benchmark) == benchmark and getattr(table.table, key, None) == value
    ]
    return (*next(path for path in stating if path[0] == stating[-1][0]), key)
