"""Whether everything that a spec names is where it says, and every template is one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gridc.compiler.frontend.locate import NotFound, Places
from gridc.compiler.frontend.measurands import owner_of
from gridc.compiler.frontend.source import Source
from gridc.compiler.grid.configurations import effect_tables
from gridc.compiler.instrument.render import (
    PLACEHOLDER,
    VARIABLES,
    WRAPPER_VARIABLES,
    check_template,
    check_wrapper,
)
from gridc.diagnostics.errors import Collector
from gridc.diagnostics.places import KeyPath
from gridc.schema.canonical import digest_bytes
from gridc.schema.spec import Spec


@dataclass(frozen=True, slots=True)
class References:
    """What a spec names: the text of each template by its reference, and, by benchmark id, why the data of
    a benchmark is not here."""

    prompts: Mapping[str, str]
    absent: Mapping[str, str]


def find_references(spec: Spec, source: Source, places: Places) -> References:
    """Look up templates, benchmark files and model folders, and read the templates.

    Raises `SpecError` with everything that is missing. Data that is looked up under a data folder may be
    absent, because cells can be counted without it.
    """
    found = Collector()
    prompts: dict[str, str] = {}
    for path, reference in prompt_references(spec):
        try:
            prompts[reference] = places.prompt(reference)
        except NotFound as error:
            owner = owner_of(reference)
            help = owner.prompt_from if owner else error.help
            found.add(source.diagnose(error.code, path, error.problem, help))
            continue
        if reference.startswith("builtin:"):
            continue  # they ship with gridc, and its tests check them
        owner = owner_of(reference) if reference.startswith("data:") else None
        if owner and digest_bytes(prompts[reference].encode()) != owner.prompt_digest:
            message = f"`{reference}` is not the prompt of {owner.package}"
            found.add(source.diagnose("GC316", path, message, owner.prompt_from))
        check, variables = _CHECKS[str(path[-1])]
        for problem in check(prompts[reference]):
            place = "" if reference == prompts[reference] else f" (line {problem.line} of `{reference}`)"
            single = PLACEHOLDER.search(prompts[reference])
            if single is not None and single[1] in variables:
                help = f"write {{{{ {single[1]} }}}}: Jinja's placeholders have two braces"
            else:
                help = f"a {path[-1]} may use {', '.join(f'`{name}`' for name in variables)}"
            found.add(source.diagnose("GC310", path, problem.message + place, help))
    absent: dict[str, str] = {}
    for number, benchmark in enumerate(spec.benchmark):
        if benchmark.source.startswith("hf:"):
            continue  # it is looked up when it is needed
        try:
            places.benchmark(benchmark.source)
        except NotFound as error:
            if benchmark.source.startswith("data:") and error.code == "GC309":
                absent[benchmark.id] = error.problem
            else:
                here = ("benchmark", number, "source")
                found.add(source.diagnose(error.code, here, error.problem, error.help))
    for number, model in enumerate(spec.model):
        if not model.source.startswith(("builtin:", "path:")):
            continue
        try:
            places.model(model.source)
        except NotFound as error:
            here = ("model", number, "source")
            found.add(source.diagnose(error.code, here, error.problem, error.help))
    found.raise_if_any()
    return References(prompts, absent)


def prompt_references(spec: Spec) -> Iterator[tuple[KeyPath, str]]:
    """Every template that the spec names, with its place."""
    for path, _, _, table in effect_tables(spec):
        for key in _CHECKS:
            reference = getattr(table, key, None)
            if reference is not None:
                yield (*path, key), reference


_CHECKS = {"prompt": (check_template, VARIABLES), "wrapper": (check_wrapper, WRAPPER_VARIABLES)}
