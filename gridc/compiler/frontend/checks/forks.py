"""Forks: what each one moves is in the spec."""

from collections.abc import Iterator, Mapping
from inspect import isclass
from typing import get_args

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.specifications import meaning
from gridc.diagnostics.errors import Diagnostic
from gridc.schema.base import Table
from gridc.schema.inference import BINDABLE, DOCUMENTED, RATES, Choice
from gridc.schema.spec import Spec


def forks_bind(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A fork binds a part of the spec, or says that it is only documented."""
    for number, fork in enumerate(spec.fork):
        if fork.binds == DOCUMENTED:
            continue
        before, rest = "", fork.binds
        here: object = _movable(spec)
        while rest:
            parts = _parts(here)
            # An id may hold dots, so the longest name that fits is the one that is meant.
            fits = [name for name in parts if rest == name or rest.startswith(f"{name}.")]
            if not fits:
                wrong = rest.partition(".")[0]
                known = parts if before else (*parts, DOCUMENTED)
                where = f"`{before}`" if before else "what a fork can move"
                message = f"`{fork.id}` binds `{fork.binds}`, and {where} has no `{wrong}`"
                yield source.diagnose("GC202", ("fork", number, "binds"), message, did_you_mean(wrong, known))
                break
            name = max(fits, key=len)
            before, rest, here = f"{before}.{name}".lstrip("."), rest[len(name) + 1 :], parts[name]


def choices_change(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """What a fork's levels change is named once in a curve, and needs no new data."""
    for number, fork in enumerate(spec.fork):
        choices = fork.choice or {}
        if choices and fork.binds == DOCUMENTED:
            message = f"`{fork.id}` is documented alone, and says what its levels change"
            yield source.diagnose("GC319", ("fork", number, "binds"), message, "name what it moves")
        rates = [*RATES, *(outcome.id for outcome in spec.outcomes)]
        terms = ["model", "benchmark", *(axis.id for axis in spec.axis)]
        for level, choice in choices.items():
            here = ("fork", number, "choice", level)
            if level not in fork.levels:
                help = did_you_mean(level, fork.levels)
                yield source.diagnose("GC202", here, f"`{fork.id}` has no level `{level}`", help, at_key=True)
            if choice.outcome is not None and choice.outcome not in rates:
                message = f"no outcome is called `{choice.outcome}`"
                help = did_you_mean(choice.outcome, rates)
                yield source.diagnose("GC202", (*here, "outcome"), message, help)
            for rank, term in enumerate(choice.without_terms):
                if term not in terms:
                    message, help = f"no fixed effect is called `{term}`", did_you_mean(term, terms)
                    yield source.diagnose("GC202", (*here, "without_terms", rank), message, help)
    for number, curve in enumerate(spec.curve):
        sets: dict[str, str] = {}
        for fork in (declared for declared in spec.fork if declared.id in curve.forks):
            meanings = [meaning(spec, fork, level) for level in fork.levels]
            for key in ("reading", "outcome"):
                if any(isinstance(meant, Choice) and getattr(meant, key) is not None for meant in meanings):
                    if key in sets:
                        message = f"`{sets[key]}` and `{fork.id}` both set the {key} of one specification"
                        help = "one fork with a level for each combination says which of them holds"
                        yield source.diagnose("GC319", ("curve", number, "forks"), message, help)
                    sets[key] = fork.id


def _movable(spec: Spec) -> dict[str, object]:
    """The tables that a fork can move, less those that the spec does not contain."""
    return {name: table for name in BINDABLE if (table := getattr(spec, name)) is not None}


def _parts(here: object) -> Mapping[str, object]:
    """What a path can name in a part of the spec: the ids of a list, the keys of a table, stated or not."""
    if isinstance(here, dict):
        return here
    if isinstance(here, tuple):
        return {row.id: row for row in here if hasattr(row, "id")}
    table = here if isclass(here) else type(here)
    if not issubclass(table, Table):
        return {}
    parts: dict[str, object] = {}
    for key, field in table.model_fields.items():
        value = getattr(here, key, None) if isinstance(here, Table) else None
        if value is None:
            kinds = (kind for kind in get_args(field.annotation) if isclass(kind) and issubclass(kind, Table))
            value = next(kinds, None)
        parts[key] = value
    parts.pop("id", None)
    return parts
