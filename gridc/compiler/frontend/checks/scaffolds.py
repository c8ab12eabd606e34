"""Scaffolds have the keys of their kind, and answer in a text that is read."""

from collections.abc import Iterator

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.configurations import effect_tables, stated_at, stated_scaffolds
from gridc.compiler.grid.passes import cells
from gridc.compiler.instrument.methods import METHODS
from gridc.diagnostics.errors import Diagnostic
from gridc.diagnostics.places import KeyPath
from gridc.schema.base import PLUGIN
from gridc.schema.scaffold import ASKED_BY, TAKES, USER_TURNS, Scaffold
from gridc.schema.spec import Spec


def scaffolds(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A scaffold has the keys of its kind, names benchmarks that exist, and a chain knows its prompts."""
    for place, _, _, table in effect_tables(spec):
        scaffold: Scaffold | None = getattr(table, "scaffold", None)
        if scaffold is None:
            continue
        path, takes = (*place, "scaffold"), TAKES.get(scaffold.kind, tuple(Scaffold.model_fields))
        for key in Scaffold.model_fields:
            if key != "kind" and getattr(scaffold, key) and key not in takes:
                message = f"`{key}` does not apply to the scaffold `{scaffold.kind}`"
                takers = [kind for kind, keys in TAKES.items() if key in keys]
                help = f"leave it out; it is a key of {' and '.join(f'`{kind}`' for kind in takers)}"
                yield source.diagnose("GC105", (*path, key), message, help, at_key=True)
        yield from _benchmarks(spec, source, path, scaffold)
        if "intensity" in TAKES.get(scaffold.kind, ()):  # a plug-in knows its own prompts
            yield from _chain(spec, source, path, scaffold)


def _benchmarks(spec: Spec, source: Source, path: KeyPath, scaffold: Scaffold) -> Iterator[Diagnostic]:
    benchmarks = [benchmark.id for benchmark in spec.benchmark]
    for key in ("wording", "property"):
        for name in getattr(scaffold, key) or {}:
            if name not in benchmarks:
                message, help = f"no benchmark is called `{name}`", did_you_mean(name, benchmarks)
                yield source.diagnose("GC202", (*path, key, name), message, help, at_key=True)


def _chain(spec: Spec, source: Source, path: KeyPath, scaffold: Scaffold) -> Iterator[Diagnostic]:
    """A chain has prompts of its own on every benchmark, or gridc's at an intensity."""
    if scaffold.intensity is not None:
        if scaffold.wording is not None:
            message = "a chain has its own wording or an intensity, not both"
            yield source.diagnose("GC105", (*path, "intensity"), message, "remove one", at_key=True)
        return
    for key in ("property", "length"):
        if getattr(scaffold, key):
            message = f"`{key}` needs an intensity: a chain of its own wording says it in its prompts"
            yield source.diagnose("GC105", (*path, key), message, 'intensity = "moderate"', at_key=True)
    for benchmark in spec.benchmark:
        if benchmark.id not in (scaffold.wording or {}):
            message = f"the chain has no prompts for `{benchmark.id}`"
            help = f'wording = {{ {benchmark.id} = ["..."] }}, or intensity = "minimal"'
            yield source.diagnose("GC103", path, message, help, at_key=True)


def items_asked_whole(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """What only a scaffold asks of an item is asked by some cell, and who asks turns has some."""
    fields = [benchmark.loading.fields for benchmark in spec.benchmark]
    says_more = any(scaffold.kind in USER_TURNS for scaffold in stated_scaffolds(spec))
    if not says_more and not any(own and (own.turns or own.tools or own.messages) for own in fields):
        return
    kinds: dict[str, set[str]] = {benchmark.id: set() for benchmark in spec.benchmark}
    for cell in cells(spec):
        scaffold, number = cell.setting.scaffold, list(kinds).index(cell.benchmark)
        kinds[cell.benchmark].add("" if scaffold is None else scaffold.kind)
        place = {**cell.levels, "benchmark": cell.benchmark, "model": cell.model}
        own = fields[number]
        if scaffold is not None and scaffold.kind in USER_TURNS:
            follows = (own is not None and own.turns) or cell.benchmark in (scaffold.wording or {})
            if not follows:
                path = stated_at(spec, "scaffold", place) or ("harness",)
                message = f"on `{cell.benchmark}` nothing is said after the first reply"
                help = (
                    f'turns = "COLUMN" in place of `query` in its `loading.fields`, or wording = {{ '
                    f'{cell.benchmark} = ["Are you sure?"] }}'
                )
                yield source.diagnose("GC105", path, message, help)
                return
        if cell.setting.shots and own is not None and own.messages:
            path = stated_at(spec, "shots", place) or ("harness",)
            message = f"exemplars are questions with answers, and items of `{cell.benchmark}` conversations"
            yield source.diagnose("GC105", path, message, "shots = 0")
            return
    for number, benchmark in enumerate(spec.benchmark):
        for key, (who, otherwise) in ASKED_BY.items():
            asked = any(kind in who or kind.startswith(PLUGIN) for kind in kinds[benchmark.id])
            if getattr(fields[number], key, None) and not asked:
                path = ("benchmark", number, "loading", "fields", key)
                message = f"no configuration asks the `{key}` of `{benchmark.id}`"
                help = (
                    f'scaffold = {{ kind = "{who[0]}" }} in [harness] or a level of an axis; or {otherwise}'
                )
                yield source.diagnose("GC105", path, message, help, at_key=True)


def texts_to_read(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Under a scaffold the answer is read from a text, and prompts are asked whole."""
    reported: set[KeyPath] = set()
    for cell in cells(spec) if not all(stated.plain for stated in stated_scaffolds(spec)) else ():
        setting, scaffold = cell.setting, cell.setting.scaffolding
        if scaffold is None:
            continue
        place = {**cell.levels, "benchmark": cell.benchmark, "model": cell.model}
        if setting.ranks or METHODS[setting.method].one_token:
            key = "method"
            message = f"`{scaffold.kind}` answers in text, which the method `{setting.method}` does not read"
        elif setting.shots and setting.overflow == "drop_exemplars":
            key, message = "overflow", "the prompts of a scaffold are asked whole: no exemplar can be dropped"
        else:
            continue
        path = stated_at(spec, key, place) or ("harness",)
        if path not in reported:
            reported.add(path)
            help = f"[[exclude]] these cells, or set another `{key}`"
            yield source.diagnose("GC105", path, message, help)
