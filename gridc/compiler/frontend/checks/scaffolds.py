"""Conduct: scaffolds have the keys of their kind, and judges assess others than themselves."""

from collections.abc import Iterator

from gridc.compiler.frontend.checks.base import effect_tables
from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.diagnostics.errors import Diagnostic
from gridc.schema.spec import Effects, Spec

TAKES = {
    "react": ("rounds", "tools"),
    "critic": ("rounds",),
    "map_reduce": ("workers",),
    "map_reduce_options": ("workers",),
    "vote": ("workers",),
    "chain": ("wording",),
}
"""The keys that mean something to each kind of scaffold; the other kinds take none."""


def scaffolds(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A scaffold has the keys of its kind, and a chain its prompts on every benchmark."""
    benchmarks = [each.id for each in spec.benchmark]
    for place, _, table in effect_tables(spec):
        if not isinstance(table, Effects) or table.scaffold is None:
            continue
        scaffold, path = table.scaffold, (*place, "scaffold")
        for key in ("rounds", "workers", "tools", "wording"):
            if getattr(scaffold, key) and key not in TAKES.get(scaffold.kind, ()):
                message = f"`{key}` means nothing to the scaffold `{scaffold.kind}`"
                yield source.diagnose("GC105", (*path, key), message, at_key=True)
        if scaffold.kind == "chain":
            wording = scaffold.wording or {}
            for name in wording:
                if name not in benchmarks:
                    message, help = f"no benchmark is called `{name}`", did_you_mean(name, benchmarks)
                    yield source.diagnose("GC202", (*path, "wording", name), message, help, at_key=True)
            for name in benchmarks:
                if name not in wording:
                    message = f"the chain has no prompts for `{name}`"
                    help = f'wording = {{ {name} = ["..."] }}'
                    yield source.diagnose("GC103", path, message, help, at_key=True)


def judges(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Where responses are judged there is a judge, and it is none of the candidates."""
    for path, _, table in effect_tables(spec):
        if table.method == "judge" and spec.judge is None:
            yield source.diagnose("GC103", (*path, "method"), "there is no [judge] to assess the responses")
    for model in spec.model:
        if spec.judge is not None and spec.judge.source == model.source:
            help = "a model that judges itself favours itself: name another"
            yield source.diagnose(
                "GC105", ("judge", "source"), f"the judge is the candidate `{model.id}`", help
            )
