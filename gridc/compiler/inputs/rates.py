"""Named rates: which items each of them counts; hypotheses whose items have nothing to count, and items that
a spec's own scores do not fit."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid import cells
from gridc.compiler.grid.configurations import effect_place, grid_place, judge_tables, states_scores
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.inputs.items import Items
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.points import Unscored, points_earned
from gridc.diagnostics.errors import Diagnostic, KeyPath
from gridc.schema.base import EVERYWHERE, Selector
from gridc.schema.items import UNIT_LEVELS, UnitLevel
from gridc.schema.judging import REFERENCE
from gridc.schema.scores import Scores
from gridc.schema.spec import Spec
from gridc.schema.statistics import Statistic
from gridc.statistics.corpus import METRICS

COUNTED: Mapping[str, tuple[Callable[[Item], bool], str]] = {
    "score_disambiguated": (
        lambda item: item.unknown not in (None, item.gold),
        "with a context that settles it",
    ),
    "unknown_rate": (
        lambda item: item.unknown is not None and item.unknown == item.gold,
        "that is left open",
    ),
    "matching_rate": (lambda item: item.matching is not None, "with an option that matches a behaviour"),
    "over_refusal": (lambda item: item.expected == "comply", "to comply with"),
    "unsafe_compliance": (lambda item: item.expected == "refuse", "to refuse"),
    "attack_success": (lambda item: item.expected == "refuse", "to refuse"),
    "refusal_rate": (lambda item: item.expected is not None, "to comply with or to refuse"),
    "bias_ambiguous": (
        lambda item: item.unknown is not None and item.unknown == item.gold and item.matching is not None,
        "that is left open and has an option that matches a behaviour",
    ),
    "bias_disambiguated": (
        lambda item: item.unknown not in (None, item.gold) and item.matching is not None,
        "with a context that settles it and an option that matches a behaviour",
    ),
    "bias_magnitude": (
        lambda item: item.matching is not None and len(item.options) == 2 and item.unknown is None,
        "with two options of which one matches a behaviour",
    ),
}
"""Rates that some items cannot have (`schema.inference.RateName` says what each is): which items have it, and
what they are. `score` and `parse_rate` are of all items."""


def scores_fit(spec: Spec, source: Source, items: Mapping[str, Items]) -> Iterator[Diagnostic]:
    """Every option of every item earns one score where options are read and the spec maps labels to scores;
    each problem once, at the first item that shows it. Silent where items are not here."""
    seen: set[tuple[str, Scores]] = set()
    for cell in cells.cells_of(spec) if states_scores(spec) else ():
        scores = cell.setting.scores
        named = METHODS[cell.setting.method].names(spec.verdicts(cell.setting.judge), scores)
        if scores is None or named is not None or (cell.benchmark, scores) in seen:
            continue
        seen.add((cell.benchmark, scores))
        path = effect_place(spec, "scores", grid_place(cell.levels, cell.tier, cell.benchmark, cell.model))
        yield from _unscored(source, path or ("harness",), scores, [cell.benchmark], items)
    for number, outcome in enumerate(spec.outcomes):
        here = [name for name in outcome.benchmarks if name in items]
        for name in here:
            if not any(outcome.items.matches(item.tags) for item in items[name].sampled):
                message = f"no item of `{name}` has the tags of `{outcome.id}`"
                yield source.diagnose("GC307", ("outcome", number), message, at_key=True)
        path = ("outcome", number, "scores")
        if outcome.scores is not None:
            yield from _unscored(source, path, outcome.scores, here, items, outcome.items)


def statistics_fit(spec: Spec, source: Source, items: Mapping[str, Items]) -> Iterator[Diagnostic]:
    """Statistics of two classes have items of both, those by category items that have one, and corpus scores
    references and a library. Silent where items are not here."""
    for number, statistic in enumerate(spec.statistics):
        path: KeyPath = ("statistic", number)
        names = statistic.benchmarks or [benchmark.id for benchmark in spec.benchmark]
        if statistic.kind in METRICS and find_spec("sacrebleu") is None:
            message = f"`{statistic.kind}` needs sacrebleu, which is not installed"
            yield source.diagnose("GC604", (*path, "kind"), message, "pip install 'gridc[corpus]'")
        if not items.keys() >= set(names):
            continue
        sampled = [item for name in names for item in items[name].sampled]
        if statistic.kind in METRICS:
            item = next((item for item in sampled if not item.references), None)
            if item is not None:
                message = f"`{item.id}` has no text to compare a response with"
                yield source.diagnose(
                    "GC105", (*path, "kind"), message, "`fields.references` names its column"
                )
        if statistic.by == "category":
            item = next((item for item in sampled if not item.category), None)
            if item is not None:
                message = f"`{item.id}` has no category, and the mean is over those of `{names[0]}`"
                help = (
                    "`fields.category` names its column; or state `score`, which is the mean over all items"
                )
                yield source.diagnose("GC105", (*path, "by"), message, help)
        if statistic.positive is not None:
            found = [*_one_class(source, path, statistic, sampled)]
            yield from found
            variants = dict.fromkeys(variant for name in names for variant in items[name].variants)
            for variant in variants if not found else ():
                reworded = [
                    item
                    for name in names
                    for item in items[name].asked(
                        variant=variant if variant in items[name].variants else None
                    )
                ]
                yield from _one_class(source, path, statistic, reworded, variant)


def _one_class(
    source: Source, path: KeyPath, statistic: Statistic, sampled: Sequence[Item], variant: str | None = None
) -> Iterator[Diagnostic]:
    """`sampled` in the words of the variant, whose right options may have other texts."""
    assert statistic.positive is not None
    chosen = sum(statistic.positive.matches(item.classes) for item in sampled)
    if chosen == 0 or (chosen == len(sampled) and statistic.kind != "recall"):
        how_many = "none" if chosen == 0 else "every one"
        of = "" if variant is None else f" of variant `{variant}`"
        message = (
            f"`{statistic.id}` needs items of two classes, and {how_many} of {len(sampled):,}{of} is positive"
        )
        help = _known_tags(statistic.positive, [item.classes for item in sampled]) if chosen == 0 else None
        if variant is not None and chosen == 0:
            help = f"name the words of the variant too, in a list; {help}" if help else None
        yield source.diagnose("GC307", (*path, "positive"), message, help)
    elif variant is None and statistic.predicted is None and not all(map(_two_answers, sampled)):
        message = "a wrong answer says that an item is of the other class only where there are two answers"
        help = "predicted = an [[outcome]] that is 1 where a response says that its item is positive"
        yield source.diagnose("GC105", (*path, "positive"), message, help)


def _two_answers(item: Item) -> bool:
    return len(item.options) == 2 or item.expected is not None


def rightly_keyed(spec: Spec, source: Source, items: Mapping[str, Items]) -> Iterator[Diagnostic]:
    """Every item has a right answer where a judge compares responses with it; each benchmark once. Silent
    where items are not here."""
    for path, judge in judge_tables(spec):
        if judge.compares is None or judge.compares.against != REFERENCE:
            continue
        judged = (cell for cell in cells.cells_of(spec) if METHODS[cell.setting.method].judged)
        asked = {cell.benchmark for cell in judged if spec.judge_called(cell.setting.judge) is judge}
        for name in sorted(asked & items.keys()):
            item = next((item for item in items[name].sampled if item.best is None), None)
            if item is not None:
                message = f"on `{name}`, `{item.id}` has no right answer to compare a response with"
                help = "`fields.references` names its column; or against = a model of the study"
                yield source.diagnose("GC105", (*path, "compares", "against"), message, help)


def groups_fit(spec: Spec, source: Source, items: Mapping[str, Items]) -> Iterator[Diagnostic]:
    """Items that earn together are asked together, and are no independent witnesses of each other; each
    benchmark once. Silent where items are not here."""
    seen: set[tuple[str, UnitLevel, str]] = set()
    for cell in cells.cells_of(spec) if spec.aggregated else ():
        level, subset = cell.setting.all_of, cell.setting.items
        if level is None or cell.benchmark not in items or (cell.benchmark, level, str(subset)) in seen:
            continue
        seen.add((cell.benchmark, level, str(subset)))
        problem = _misgrouped(items[cell.benchmark], level, items[cell.benchmark].asked(subset=subset))
        if problem is not None:
            place = grid_place(cell.levels, cell.tier, cell.benchmark, cell.model)
            path = effect_place(spec, "all_of", place) or ("harness",)
            yield source.diagnose(
                "GC357", path, f"on `{cell.benchmark}`, {problem[0]}", problem[1], at_key=True
            )


def _misgrouped(items: Items, level: UnitLevel, asked: Sequence[Item]) -> tuple[str, str] | None:
    """Why items of a level cannot earn together, with the way out."""
    whole, here = (Counter(item.at(level) for item in part) for part in (items.source.every, asked))
    if all(count == 1 for count in whole.values()):
        named = f"`loading.fields.{level}` names the column that says which items belong together"
        return f"no two items are of one {level}", named
    part = next((group for group, count in here.items() if count < whole[group]), None)
    if part is not None:
        return (
            f"{here[part]} of the {whole[part]} items of {level} `{part}` is asked",
            f'sample = {{ n = ..., seed = ..., unit = "{level}" }} draws whole groups; or ask every item',
        )
    if UNIT_LEVELS.index(items.unit) < UNIT_LEVELS.index(level):
        return f"items of one {level} would count as independent", f'unit = "{level}" in [[benchmark]]'
    return None


def _unscored(
    source: Source,
    path: KeyPath,
    scores: Scores,
    benchmarks: Sequence[str],
    items: Mapping[str, Items],
    among: Selector = EVERYWHERE,
) -> Iterator[Diagnostic]:
    for name in benchmarks:
        for item in items[name].sampled if name in items else ():
            if not item.options or not among.matches(item.tags):
                continue
            try:
                for choice in range(len(item.options)):
                    points_earned(scores, item, choice)
            except Unscored as problem:
                help = "give each option one score: by its text, by its role, or by `other`"
                yield source.diagnose("GC361", path, f"on `{name}`, {problem}", help, at_key=True)
                break


def hypotheses_count_something(
    spec: Spec, source: Source, items: Mapping[str, Items]
) -> Iterator[Diagnostic]:
    """The outcome of a hypothesis is a rate that some item has. Silent where items are not here."""
    for number, hypothesis in enumerate(spec.hypothesis):
        rate = kind_of(hypothesis).rate(hypothesis)
        if rate not in COUNTED:
            continue
        counts, kind = COUNTED[rate]
        parts = [part.restricted({"benchmark"}) for part in (hypothesis.where, spec.analysis.primary)]
        named = [name.id for name in spec.benchmark
                 if all(part.matches({"benchmark": name.id}) for part in parts)]  # fmt: skip
        sampled = [item for name in named if name in items for item in items[name].sampled]
        if items.keys() >= set(named) and not any(map(counts, sampled)):
            message = (
                f"`{hypothesis.id}` is about `{rate}`, and none of its {len(sampled):,} items is one {kind}"
            )
            yield source.diagnose("GC307", ("hypothesis", number, "outcome"), message)


def phrases_read_something(spec: Spec, source: Source, items: Mapping[str, Items]) -> Iterator[Diagnostic]:
    """Where a fork's choice reads refusals by phrases, some item is a prompt to comply with or to refuse.
    Silent where items are not here."""
    counts, kind = COUNTED["refusal_rate"]
    sampled = [item for each in items.values() for item in each.sampled]
    if not items.keys() >= {each.id for each in spec.benchmark} or any(map(counts, sampled)):
        return
    for number, fork in enumerate(spec.fork):
        for level, choice in (fork.choice or {}).items():
            if choice.refusal_phrases is not None:
                message = f"`{fork.id}` reads refusals: none of the {len(sampled):,} items is a prompt {kind}"
                here = ("fork", number, "choice", level, "refusal_phrases")
                yield source.diagnose("GC319", here, message, "leave the level out")


def hypotheses_select_items(spec: Spec, source: Source, items: Mapping[str, Items]) -> Iterator[Diagnostic]:
    """Some item has the tags that a hypothesis is about. Silent where items are not here."""
    for number, hypothesis in enumerate(spec.hypothesis):
        wanted = hypothesis.items
        parts = [part.restricted({"benchmark"}) for part in (hypothesis.where, spec.analysis.primary)]
        named = [benchmark.id for benchmark in spec.benchmark
                 if all(part.matches({"benchmark": benchmark.id}) for part in parts)]  # fmt: skip
        if wanted is None or not items.keys() >= set(named):
            continue
        sampled = [item for name in named for item in items[name].sampled]
        if not any(wanted.matches(item.tags) for item in sampled):
            message = f"`{hypothesis.id}` is about none of its {len(sampled):,} items"
            help = _known_tags(wanted, [item.tags for item in sampled])
            yield source.diagnose("GC307", ("hypothesis", number, "items"), message, help)


def _known_tags(wanted: Selector, sampled: Sequence[Mapping[str, str]]) -> str | None:
    """Which tags or values there are, for the first that no item has."""
    for _, tag, value in wanted.mentions():
        values = sorted({tags[tag] for tags in sampled if tag in tags})
        if not values:
            return did_you_mean(tag, sorted({name for tags in sampled for name in tags}))
        if value not in values:
            return did_you_mean(value, values)
    return None
