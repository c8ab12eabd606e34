"""A study as files that name its inputs by digest: they go with its answers wherever its items are left out.

Items are listed without their texts. Options are known by number, as the store shows them. Tags are listed
where the spec selects items by them, and a text of an option only where it is a label that an outcome of the
spec names.

A bundle has these files beside its store, and an export beside the logs. What is read back is a study of
which everything that follows from its outcomes can be computed, and no prompt can be rendered.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.checks.levels import countable
from gridc.compiler.frontend.expansion import ExpandedSpec, expanded_text
from gridc.compiler.frontend.lookup import ReferenceFolders
from gridc.compiler.frontend.measurands import expand
from gridc.compiler.frontend.read import CheckedSpec, for_each
from gridc.compiler.frontend.references import References
from gridc.compiler.frontend.source import read_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.inputs.draw import draw_sample, unit_level
from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.inputs.models import ModelIdentity, identify
from gridc.compiler.inputs.resolve import Study, decides_by
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.lock.deviations import log_path, reconcile
from gridc.compiler.lock.lock import Lock, lock_path, read_lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, VerificationError
from gridc.reports.findings.findings import dated
from gridc.runtime.store.earlier import earlier_answers
from gridc.runtime.store.items import named_of, shown_as
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.deviation import EarlierAnswersRow
from gridc.schema.items import Sample, UnitLevel
from gridc.schema.models import engine_kind
from gridc.schema.rows import Count
from gridc.schema.spec import Spec

ABSENT = "(not in the bundle)"


@dataclass(frozen=True)
class RecordedFiles(LoadedItems):
    """A benchmark's files, of which the digests and the number of rows are known; an older gridc did not list
    the number, and it is 0."""

    recorded_rows: int = 0

    @property
    def rows(self) -> int:
        return self.recorded_rows


@dataclass(frozen=True)
class RecordedItems(Items):
    """Items without their texts. `recorded` has them by order and name, as the store says they were shown;
    it is empty where the store does not say it."""

    recorded: Mapping[str, Mapping[str, Item]] = field(default_factory=dict)

    def asked(
        self, order: str | None = None, subset: Sample | None = None, variant: str | None = None
    ) -> tuple[Item, ...]:
        chosen = self.sampled if subset is None else draw_sample(self.sampled, subset)
        here = self.recorded.get(shown_as(order, variant), {})
        return tuple(here.get(item.id, item) for item in chosen)


def listed_items(items: Items, spec: Spec, benchmark: str) -> dict[str, Any]:
    """The items of a benchmark by name, groups and digest, as the stamp has them, and what `named_of` says of
    them. No other text of an item."""
    asked_again = {item.id: item.question for item in items.sampled if item.question}
    return {
        "levels": {item.id: [item.family, item.template, item.category] for item in items.sampled},
        "exemplars": [item.id for item in items.exemplars],
        "manifest": items.manifest,
        **({"questions": asked_again} if asked_again else {}),
        **named_of(items, spec, benchmark),
    }


LISTED = frozenset(["levels", "exemplars", "manifest", "rows", "tags", "labels", "questions"])
"""The keys of a benchmark in items.json; an older gridc listed the first three. `questions` has those of
items that ask what others ask."""


def unread(listed: Mapping[str, Any]) -> list[str]:
    """The keys of a benchmark in items.json that nothing is read from: of no part, or of an item that is not
    listed."""
    items = listed["levels"].keys()
    named = {"tags": listed.get("tags", {}), "questions": listed.get("questions", {})} | {
        f"labels.{order}": labelled for order, labelled in listed.get("labels", {}).items()
    }
    return sorted(listed.keys() - LISTED) + [
        f"{part}.{item}" for part, rows in named.items() for item in sorted(rows.keys() - items)
    ]


def listed_digest(manifests: Mapping[str, Mapping[str, Any]]) -> str:
    """The digest that the run recorded (`named_digest`), of what items.json lists."""
    return digest(
        {
            name: {key: manifest.get(key) for key in ("rows", "tags", "labels")}
            for name, manifest in manifests.items()
        }
    )


def recorded_items(
    listed: Mapping[str, Any],
    shown: Iterable[tuple[Any, ...]],
    questions: Mapping[str, tuple[str | None, ...]],
    unit: UnitLevel | None,
) -> RecordedItems:
    """A benchmark's items from what items.json lists and what the store says of them in every order (rows of
    `Store.shown` without the benchmark). In the place of a text stand the digests of `questions` (rows of
    `Store.questions`, by item), so that two that ask the same still do. Which options are right, matching and
    `unknown` says the store, each by its number as shown, so that nothing has to be put in order again."""
    tags, labels, questions_of = (listed.get(key, {}) for key in ("tags", "labels", "questions"))
    named = (*listed["levels"].values(), questions_of.values())
    if any(type(group) is not str for groups in named for group in groups):
        raise TypeError("a group of an item is not a text")
    plain = {
        name: Item(
            name,
            _asks(name, questions.get(name, ())),
            family=family,
            template=template,
            category=category,
            tags=tags.get(name, {}),
            question=questions_of.get(name, ""),
        )
        for name, (family, template, category) in listed["levels"].items()
    }
    recorded: dict[str, dict[str, Item]] = {}
    for name, order, _, options, points, gold, matching, unknown, expected in shown:
        if not 0 <= options <= len(LETTERS):
            raise ValueError(f"item {name} has {options} options")
        texts = labels.get(order, {}).get(name, {})
        item = replace(
            plain[name],
            options=tuple(texts.get(str(number), ABSENT) for number in range(options)),
            gold=gold,
            matching=matching,
            unknown=unknown,
            expected=expected,
        )
        if json.loads(points) != sorted(item.right):
            raise ValueError(f"item {name}, options {order}: the right options are not those of its roles")
        recorded.setdefault(order, {})[name] = item
    # Which rates an item has does not hang on the order of its options, so any order but a variant's says it.
    own = next((items for order, items in recorded.items() if "/" not in order), {})
    sampled = tuple(own.get(name, item) for name, item in plain.items())
    left_out = tuple(listed["manifest"].get("left_out", ()))
    files = RecordedFiles((), listed["manifest"]["files"], left_out, recorded_rows=listed.get("rows", 0))
    exemplars = tuple(Item(item, ABSENT) for item in listed["exemplars"])
    repeats = listed["manifest"].get("units", {}).get("repeats", 1)
    return RecordedItems(
        sampled, exemplars, files, unit=unit_level(sampled, unit), repeats=repeats, recorded=recorded
    )


def _asks(name: str, question: tuple[str | None, ...]) -> str:
    """What stands for the text of an item: equal where two ask the same text and choices. Of one of which
    nothing is known its name."""
    known = [part for part in question[:2] if part is not None]
    return f"{ABSENT} {' '.join(map(str, question[:2])) if known else name}"


SPEC, LOCK, LOG = "gridcard.toml", "gridcard.lock", "deviations.toml"
STUDY, ITEMS, SHOWN = "manifests/study.json", "manifests/items.json", "manifests/shown.json"
QUESTIONS, EVENTS, RUN = "manifests/questions.json", "manifests/events.json", "manifests/run.json"

RowsOf = Callable[[str], Iterable[tuple[Any, ...]]]
"""Rows of a table of the store, of a study by its stamp."""


@dataclass(frozen=True, slots=True)
class RecordedStudy(Study):
    """A study whose inputs are known by digest only: what was stamped is taken as it was recorded."""

    content: Mapping[str, Any]

    def stamped(self) -> dict[str, Any]:
        return dict(self.content)


class RunFacts(BaseModel):
    """What calls alone show of a run: how many there were (`Progress`), how many of their choices nearly
    tied, when the first ended and how many before the stamp, what departed from the plan, which are
    shared by cells (`Store.shared_calls`), and what other studies of the store had answered `earlier`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    answered: Count
    total: Count
    unscored: Count
    near_ties: Count
    first_call: str | None
    before_stamp: Count
    observed: list[str]
    shared_calls: list[tuple[list[str], int]]
    earlier: list[EarlierAnswersRow] = []

    @field_validator("first_call")
    @classmethod
    def _is_date(cls, text: str | None) -> str | None:
        if text is not None and datetime.fromisoformat(text).tzinfo is None:
            raise ValueError("a date without its zone")
        return text

    @classmethod
    def of(cls, store: Store, plan: Plan, lock: Lock) -> "RunFacts":
        stamp = plan.study_digest
        first_call, before_stamp = dated(store, stamp, lock)
        return cls(
            **asdict(store.progress(stamp)),
            near_ties=store.near_ties(stamp),
            first_call=first_call,
            before_stamp=before_stamp,
            observed=list(store.observed(stamp)),
            shared_calls=list(store.shared_calls(stamp)),
            earlier=list(earlier_answers(store, plan, lock)),
        )


def described(compiled: Compiled) -> dict[str, bytes]:
    """The files of a study by name: its source (what it extends, and the levels of its axes, written
    out), its lock, what departed from it, what was stamped, and its items by name and digest."""
    study, source = compiled.study, compiled.source
    files = {
        SPEC: _spec(compiled),
        LOCK: compiled.lock_path.read_bytes(),
        STUDY: json_bytes(study.stamped()),
        ITEMS: json_bytes(
            {name: listed_items(items, study.spec, name) for name, items in study.items.items()}
        ),
    }
    if (log := log_path(source.path)).is_file():
        files[LOG] = log.read_bytes()
    return files


def _spec(compiled: Compiled) -> bytes:
    """The spec as it was written; with what it extends, the levels of its axes and what its tasks state
    written out, so that nothing else is needed to read it."""
    source = compiled.source
    if compiled.checked.tasks:
        import tomlkit

        tables = {"benchmark", "axis", "harness"}
        stated = compiled.spec.model_dump(mode="json", by_alias=True, exclude_none=True, include=tables)
        return tomlkit.dumps({**source.values, **stated}).encode()
    return expanded_text(source).encode() if isinstance(source, ExpandedSpec) else source.path.read_bytes()


def described_run(compiled: Compiled, lock: Lock, store: Store) -> dict[str, bytes]:
    """The same, with what the store has of the run beside its answers: the items as they were shown and what
    they ask, the events, and what calls alone show (`RunFacts`)."""
    plan = Plan(compiled.study)
    stamp = plan.study_digest
    return {
        **described(compiled),
        SHOWN: json_bytes(list(store.shown(stamp))),
        QUESTIONS: json_bytes(list(store.questions(stamp))),
        EVENTS: json_bytes([event.row() for event in store.events()]),
        RUN: json_bytes(RunFacts.of(store, plan, lock).model_dump(exclude_defaults=True)),
    }


def read_described(folder: Path, shown: RowsOf, questions: RowsOf) -> tuple[Compiled, Lock]:
    """The study that the files in a folder describe, its items known by name, groups, roles and digest, and
    by what the store has of them as they were shown and of what they ask (`Store.shown`, `.questions`).
    Raises `VerificationError` (GC701) where one is missing or does not fit the others."""
    path = folder / SPEC
    lock = read_lock(lock_path(path))
    if lock is None:
        raise VerificationError([Diagnostic("GC701", "the study that is described has no lock", str(folder))])
    try:
        content = json.loads((folder / STUDY).read_text("utf-8"))
        manifests = json.loads((folder / ITEMS).read_text("utf-8"))
        models = {name: _identity(model) for name, model in content["inputs"]["models"].items()}
        source = read_source(path)
        spec = typed(source)
        too_large = list(countable(spec, source))
        if too_large:
            raise VerificationError(too_large)
        written, source = for_each(expand(spec, source), source)
        judges = dict(_judges(written, content["inputs"].get("judges", {})))
        stated = {benchmark.id: benchmark.unit for benchmark in written.benchmark}
        of_benchmark: dict[str, list[tuple[Any, ...]]] = {}
        for benchmark, *row in shown(digest(content)):
            of_benchmark.setdefault(benchmark, []).append(tuple(row))
        asked: dict[str, dict[str, tuple[str | None, ...]]] = {}
        for benchmark, item, *parts in questions(digest(content)):
            asked.setdefault(benchmark, {})[item] = tuple(parts)
        items = {
            name: recorded_items(manifest, of_benchmark.get(name, []), asked.get(name, {}), stated[name])
            for name, manifest in manifests.items()
        }
    except (LookupError, RecursionError, TypeError, ValueError, AttributeError) as error:
        message = f"a manifest cannot be read ({type(error).__name__}: {error})"
        raise VerificationError([Diagnostic("GC701", message, str(folder))]) from None
    study = RecordedStudy(
        written, {}, items, {}, models, content, judges=judges, decides_by=decides_by(content)
    )
    checked = CheckedSpec(source, written, ReferenceFolders(folder, None), References({}, {}))
    return Compiled(checked, study, lock), lock


def of_description(compiled: Compiled, folder: Path) -> Iterator[Diagnostic]:
    """The spec against what is recorded as run, and the manifests against the digests in it."""
    study = compiled.study
    content = study.stamped()
    if digest(compiled.checked.spec.stamped()) != digest(content["spec"]):
        yield Diagnostic("GC701", f"gridcard.toml is not the spec that {STUDY} records", str(folder))
    manifests = json.loads((folder / ITEMS).read_text("utf-8"))
    for name, manifest in manifests.items():
        for key in unread(manifest):
            message = f"`{key}` of {name} in {ITEMS} is nothing that gridc reads"
            yield Diagnostic("GC701", message, str(folder))
    for name, recorded in content["inputs"]["benchmarks"].items():
        if "unpinned" in recorded:
            continue
        listed = manifests.get(name, {"levels": {}, "exemplars": [], "manifest": None})
        names = {item for order in recorded["items"].values() for item in order}
        shown = [[item for item, _ in order] for order in recorded["exemplars"].values()]
        same = listed["manifest"] == recorded and listed["levels"].keys() == names
        held = study.items.get(name)
        if held is not None:
            same = same and held.stamped_units == recorded.get("units", {})
            same = same and held.distinct == recorded.get("questions", 0)
        if not same or any(listed["exemplars"] != order for order in shown):
            yield Diagnostic("GC701", f"the items of {name} are not those of the stamp", str(folder))


def of_deviations(compiled: Compiled, lock: Lock, folder: Path) -> Iterator[Diagnostic]:
    """What ran departs from the stamp only where the log explains it."""
    yield from reconcile(lock, compiled.study, folder / LOG).findings


def of_shown(plan: Plan, shown: Iterable[tuple[Any, ...]], whole: bool) -> Iterator[Diagnostic]:
    """The items in the store, as shown, against the digests of the stamp. Only a store that
    is not `whole`, as an older gridc ended it, may have none."""
    stored = {row[:3]: row for row in shown}
    expected: dict[tuple[str, ...], str] = {}
    for benchmark, manifest in plan.study.stamped()["inputs"]["benchmarks"].items():
        for order, items in manifest.get("items", {}).items():
            expected |= {(benchmark, item, order): value for item, value in items.items()}
        for variant, content in manifest.get("variants", {}).items():
            named = {
                (benchmark, item, shown_as(None, variant)): value for item, value in content["items"].items()
            }
            expected |= {key: value for key, value in named.items() if key in stored}
    for where in sorted(stored.keys() | expected.keys()) if stored or whole else ():
        benchmark, name, order = where
        row, stamped = stored.get(where), expected.get(where)
        of_variant = stamped is None and "/" in order  # the stamp has a variant's items in file order only
        if row is None or not (row[3] == stamped or of_variant):
            message = (
                f"{benchmark}, item {name}, options {order}: the store does not have the item of the stamp"
            )
            yield Diagnostic("GC704", message)


def _judges(spec: Spec, recorded: Mapping[str, Any]) -> Iterator[tuple[str, ModelIdentity]]:
    """The judges by name. What was stamped holds those with files or commits; the others are what the spec
    says."""
    for judge in spec.judges:
        if judge.id in recorded:
            yield judge.id, _identity(recorded[judge.id])
        elif judge.weights is None and engine_kind(judge.engine).provider:
            yield judge.id, identify(judge, ReferenceFolders(Path(), None))


def _identity(manifest: Mapping[str, Any]) -> ModelIdentity:
    """The identity of which this is the `manifest`: calls and noise floors are found by its digest."""
    return ModelIdentity(
        manifest.get("source", ABSENT),
        files=tuple(manifest.get("files", {}).items()),
        revision=manifest.get("revision"),
        unpinned=manifest.get("unpinned"),
        template_args=tuple(manifest.get("chat_template_args", {}).items()),
        weights=None if "weights" not in manifest else _identity(manifest["weights"]),
        base_url=manifest.get("base_url"),
        server=manifest.get("server"),
        omits=tuple(manifest.get("omits", ())),
    )


def json_bytes(document: Any) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
