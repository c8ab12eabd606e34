"""Conduct: scaffolds have the keys of their kind, and judges assess others than themselves."""

from collections.abc import Iterator

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.configurations import effect_tables
from gridc.compiler.instrument.methods import METHODS
from gridc.diagnostics.errors import Diagnostic
from gridc.schema.scaffold import TAKES, Scaffold
from gridc.schema.spec import Spec


def scaffolds(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A scaffold has the keys of its kind, and a chain its prompts on every benchmark."""
    benchmarks = [each.id for each in spec.benchmark]
    for place, _, _, table in effect_tables(spec):
        scaffold: Scaffold | None = getattr(table, "scaffold", None)
        if scaffold is None:
            continue
        path, takes = (*place, "scaffold"), TAKES.get(scaffold.kind, tuple(Scaffold.model_fields))
        for key in Scaffold.model_fields:
            if key != "kind" and getattr(scaffold, key) and key not in takes:
                message = f"`{key}` does not apply to the scaffold `{scaffold.kind}`"
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
    for path, _, _, table in effect_tables(spec):
        method = getattr(table, "method", None)
        if method is not None and METHODS[method].reads == "label" and spec.judge is None:
            yield source.diagnose("GC103", (*path, "method"), "there is no [judge] to assess the responses")
    for model in spec.model:
        if spec.judge is not None and spec.judge.source == model.source:
            help = "a model that judges itself favours itself: choose another"
            yield source.diagnose(
                "GC105", ("judge", "source"), f"the judge is the candidate `{model.id}`", help
            )
