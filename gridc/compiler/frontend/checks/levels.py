"""Levels: what each does to a call is stated once, completely, and differs from its siblings."""

import re
from collections.abc import Iterator, Set
from math import prod

from gridc.compiler.frontend.checks.envelope import grid_selectors, most_cells
from gridc.compiler.frontend.source import Source, basic_string
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid import configurations as grid
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.render import VARIABLES, WRAPPER_VARIABLES
from gridc.compiler.instrument.setting import REQUIRED
from gridc.diagnostics.errors import Diagnostic, KeyPath
from gridc.schema.effects import Effects
from gridc.schema.items import loader_kind
from gridc.schema.models import FILES, TAKE_TOKENS, Model, engine_kind
from gridc.schema.spec import Benchmark, Spec


def sources(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """An engine runs one kind of source, and none runs what another package recorded."""
    for path, model in grid.asked_models(spec):
        if not engine_kind(model.engine).asked:
            message = f"another package asked `{model.source}`, and gridc asks nothing of it"
            yield source.diagnose("GC613", (*path, "engine"), message, "name an engine that runs the model")
        kind, here = engine_kind(model.engine), (*path, "source")
        of_server = "base_url" in kind.refuses and model.base_url is not None
        if kind.schemes and not model.source.startswith(kind.schemes) and not of_server:
            message = f"`{model.source}` is not a source of engine `{model.engine}`"
            help = 'hf:, path:, models: or builtin: and a name; a provider\'s model needs engine = "api"'
            if re.fullmatch(r"[\w.\-]+/[\w.\-]+", model.source):
                help = (
                    f'write `source = "hf:{model.source}"` here; or `engine = "api"`, if a provider runs it'
                )
            yield source.diagnose("GC105", here, message, help)
        if kind.provider and model.source.startswith(FILES):
            message = f"`{model.source}` is not a provider's model"
            help = "a litellm name, such as `anthropic/claude-opus-4-6`"
            if model.base_url is not None:
                help = "the name that the server at `base_url` knows it by, as GET /models there lists it"
            yield source.diagnose("GC105", here, message, help)
        colon = _PROMPTFOO.fullmatch(model.source)
        if kind.provider and model.base_url is None and colon is not None:
            message = f"`{model.source}` is not a litellm name"
            help = f'write `source = "{colon[1]}/{colon[2]}"` here'
            yield source.diagnose("GC105", here, message, help)
        if model.digest is not None and not model.source.startswith(("path:", "models:")):
            message = f"the files of `{model.source}` are not in a folder of your own"
            help = "`revision` pins a model of the hub; leave `digest` out"
            yield source.diagnose("GC105", (*path, "digest"), message, help, at_key=True)
        yield from _weights(path, model, source)
        of_weights = FILE_KEYS if model.weights is not None else ()
        refused = [key for key in kind.refuses if key not in of_weights and getattr(model, key) is not None]
        for key in refused[:1]:
            whose = "a provider's model" if kind.provider else "a local model"
            message = f"the `{key}` cannot be set for {whose}"
            help = "leave it out"
            if key == "base_url":
                help = 'write `engine = "api"` beside it; the `source` is its name on that server'
            yield source.diagnose("GC105", (*path, key), message, help, at_key=True)
    for table in grid.effect_tables(spec):
        method = getattr(table.table, "method", None)
        if method is not None and METHODS[method].recorded:
            message = "no call of gridc is scored so: these scores are read from logs of other packages"
            help = "`gridc certify --from LOGS` reads them; here, name how answers are scored"
            yield source.diagnose("GC613", (*table.path, "method"), message, help)
    served = [model.id for model in spec.model if engine_kind(model.engine).provider]
    for table in grid.effect_tables(spec) if served else ():
        if getattr(table.table, "precision", None) is not None and table.path[0] != "model":
            message = f"`precision` cannot be set for `{served[0]}`, a provider's model"
            help = "set it in each local [[model]]; compare several in a study of local models"
            yield source.diagnose("GC105", (*table.path, "precision"), message, help, at_key=True)


_PROMPTFOO = re.compile(
    r"(openai|anthropic|azure|bedrock|cohere|deepseek|gemini|groq|mistral|ollama|openrouter|replicate|vertex)"
    r":(?:chat:|messages:|completion:)?([^:/]\S*)"
)
"""A provider's model as promptfoo names it: litellm has a slash between the two."""

FILE_KEYS = ("revision", "chat_template_args")
"""Keys of a model that say something of its files."""


def _weights(path: KeyPath, model: Model, source: Source) -> Iterator[Diagnostic]:
    """Files are stated of a server that takes their tokens."""
    if model.weights is None or not engine_kind(model.engine).provider:
        return
    here = (*path, "weights")
    if not model.weights.startswith(FILES):
        message = f"`{model.weights}` names no files of a model"
        yield source.diagnose("GC105", here, message, "hf:, path:, models: or builtin: and a name")
    if model.base_url is None or model.server not in TAKE_TOKENS:
        message = f"`{model.id}` is not asked by its tokens, for which `weights` are stated"
        help = f"state `base_url` and a `server` that takes them: {', '.join(TAKE_TOKENS)}"
        yield source.diagnose("GC105", here, message, help, at_key=True)


def disjoint_axes(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A key belongs to one axis, and of a key with named parts each part does."""
    owners: dict[str, Set[tuple[str, str | None]]] = {}
    for number, axis in enumerate(spec.axis):
        own: set[tuple[str, str | None]] = set()
        for rank, level in enumerate(axis.level):
            for key, part in grid.named_parts(level):
                taken = next((axis for axis, theirs in owners.items() if _clash((key, part), theirs)), None)
                own.add((key, part))
                if taken is not None:
                    where: KeyPath = ("axis", number, "level", rank, key)
                    named = key if part is None else f"{key}.{part}"
                    message = f"`{named}` is already set by axis `{taken}`"
                    help = "one key belongs to one axis"
                    if key in grid.ORDERS:
                        help += f"; two axes may set named parts of it: {key} = {{ {axis.id} = ... }}"
                    where = where if part is None else (*where, part)
                    yield source.diagnose("GC304", where, message, help, at_key=True)
        owners[axis.id] = own


def _clash(stated: tuple[str, str | None], theirs: Set[tuple[str, str | None]]) -> bool:
    """Whether a key, or a part of one, is among those of another axis. A whole key has every part."""
    key, part = stated
    return any(key == held and (None in (part, other) or part == other) for held, other in theirs)


def parts_in_order(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Named parts stand in the order that is declared, and several of them need one."""
    tables = list(grid.effect_tables(spec))
    for key, named in grid.ORDERS.items():
        held = {
            table.path: value
            for table in tables
            if isinstance(value := getattr(table.table, key, None), dict)
        }
        orders = {
            table.path: value for table in tables if (value := getattr(table.table, named, None)) is not None
        }
        parts = list(dict.fromkeys(name for value in held.values() for name in value))
        for path, order in orders.items():
            for rank, name in enumerate(order):
                if name not in parts:
                    message, help = f"no part of `{key}` is called `{name}`", did_you_mean(name, parts)
                    yield source.diagnose("GC202", (*path, named, rank), message, help)
                elif name in order[:rank]:
                    yield source.diagnose("GC201", (*path, named, rank), f"`{name}` is named twice")
        for path, value in held.items():
            if not orders and len(parts) > 1:
                help = f"{named} = [{', '.join(map(basic_string, parts))}], in [harness]"
                message = f"`{key}` has several named parts, and no `{named}`"
                yield source.diagnose("GC302", (*path, key), message, help, at_key=True)
                break
            for name in value:
                if orders and not all(name in order for order in orders.values()):
                    message = f"the part `{name}` has no place in `{named}`"
                    yield source.diagnose("GC302", (*path, key, name), message, "name it there", at_key=True)


def free_parameters(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A parameter of a template has a name of its own."""
    for path, _, _, table in grid.effect_tables(spec):
        for name in getattr(table, "vars", None) or {}:
            if name in (*VARIABLES, *WRAPPER_VARIABLES):
                message = f"`{name}` is a variable that every template has"
                yield source.diagnose("GC201", (*path, "vars", name), message, "choose another", at_key=True)


def distinct_levels(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    for number, axis in enumerate(spec.axis):
        if axis.id in _NUMBERS and not any(axis.id in level.stated() for level in axis.level):
            for rank, level in enumerate(axis.level):
                stated = re.search(r"\d+(\.\d+)?", level.id)
                message = (
                    f"`{level.id}` of the axis `{axis.id}` does not set `{axis.id}`: its name does nothing"
                )
                help = f"write `{axis.id} = {stated[0] if stated else '...'}` beside it"
                yield source.diagnose("GC303", ("axis", number, "level", rank, "id"), message, help)
            continue
        seen: dict[tuple[tuple[str, str], ...], str] = {}
        for rank, level in enumerate(axis.level):
            effects = level.stated()
            if effects.get("temperature") == 0:
                effects.pop("top_p", None)
            key = tuple(sorted((name, repr(value)) for name, value in effects.items()))
            twin = seen.setdefault(key, level.id)
            if twin != level.id:
                message = f"`{level.id}` has the same effects as `{twin}`"
                help = "make them differ, or remove one"
                yield source.diagnose("GC303", ("axis", number, "level", rank, "id"), message, help)


_NUMBERS = ("temperature", "top_p", "max_tokens", "shots", "replicates")
"""Keys of numbers, for which nobody names an axis that varies something else."""


def held_fixed(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """What the scope statement says was held fixed is varied by no axis."""
    varied: dict[str, str] = {}
    for axis in spec.axis:
        if len(axis.level) > 1:
            keys = [
                key
                for key in Effects.model_fields
                if len({repr(getattr(level, key)) for level in axis.level}) > 1
            ]
            varied |= {_folded_name(name): axis.id for name in (axis.id, *keys)}
    for number, entry in enumerate(spec.study.not_varied):
        owner = varied.get(_folded_name(entry))
        if owner is not None:
            message, help = f"`{entry}` is not held fixed", f"remove it: the axis `{owner}` varies it"
            yield source.diagnose("GC105", ("study", "not_varied", number), message, help)


def _folded_name(name: str) -> str:
    """A name as it reads: whatever its case, its number and what joins its words."""
    return " ".join(re.split(r"[\s_\-]+", name.strip().casefold())).removesuffix("s")


SELECTORS_PER_CELL = 20
"""Each selector is put to each cell: of a grid of the most cells so many are."""


def countable(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """The grid is small enough to be walked, which every later check does."""
    most = most_cells()
    sizes = [len(axis.level) for axis in spec.axis] if spec.draw is None else [spec.draw.n]
    cells = len(spec.model) * len(spec.benchmark) * prod(sizes)
    if cells > most:
        widest = max(range(len(sizes)), key=sizes.__getitem__, default=0)
        place: KeyPath = ("axis", widest) if spec.draw is None else ("draw", "n")
        product = " x ".join(f"{size:,}" for size in (len(spec.model), len(spec.benchmark), *sizes))
        message = f"the grid has {cells:,} cells ({product}); {most:,} is the most"
        help = f"remove levels; if you mean all of them, set GRIDC_MAX_CELLS={cells}"
        yield source.diagnose("GC318", place, message, help, at_key=spec.draw is None)
        return
    selectors = list(grid_selectors(spec))
    if cells * len(selectors) > SELECTORS_PER_CELL * most:
        message = (
            f"{len(selectors):,} hypotheses, slices and other selectors are put to {cells:,} cells; "
            f"{SELECTORS_PER_CELL * most:,} is the most"
        )
        enough = -(-cells * len(selectors) // SELECTORS_PER_CELL)
        help = f"state fewer; if you mean all of them, set GRIDC_MAX_CELLS={enough}"
        yield source.diagnose("GC318", selectors[0][0][:2], message, help, at_key=True)


def drawable(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """There are as many configurations as are drawn."""
    if spec.draw is None:
        return
    total, available = grid.combinations(spec), len(grid.drawn_levels(spec))
    if available < spec.draw.n:
        left = (
            "" if available == min(total, spec.draw.n) else f", of which exclusions leave about {available:,}"
        )
        message = f"{spec.draw.n:,} configurations are drawn of {total:,}{left}"
        help = "draw fewer, or take [draw] out to run every combination"
        yield source.diagnose("GC301", ("draw", "n"), message, help)


def exemplars_from(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Where exemplars are asked for, the benchmark says where they come from."""
    for number, benchmark in enumerate(spec.benchmark):
        needed = grid.most_shots(spec, benchmark)
        if needed and benchmark.exemplars is None:
            message = (
                f"{needed} exemplars are asked for, but `{benchmark.id}` does not say where they come from"
            )
            help = 'exemplars = { pool = "rest", seed = 42 }'
            yield source.diagnose("GC311", ("benchmark", number), message, help, at_key=True)


EXAMPLES = {"prompt": 'prompt = "builtin:T1"', "method": 'method = "extract"'}
"""A value of each required key, as it is written."""


def required_keys(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each call has its required keys. A key that no table sets anywhere is missed once."""
    for key in REQUIRED:
        varied = any(all(getattr(level, key) is not None for level in axis.level) for axis in spec.axis)
        if varied or getattr(spec.harness, key) is not None:
            continue
        nowhere = all(getattr(table.table, key, None) is None for table in grid.effect_tables(spec))
        for number, benchmark in enumerate(spec.benchmark):
            if getattr(benchmark, key) is None:
                examples = {_example(key, declared) for declared in spec.benchmark}
                alike = nowhere and len(examples) == 1
                whose = "the calls" if alike else f"the calls of `{benchmark.id}`"
                message = f"`{key}` is not set for {whose}"
                here = "in [harness] or here" if len(examples) == 1 else "here"
                example = _example(key, benchmark)
                help = f"set, for example, `{example}` {here}, or `{key}` in every level of an axis"
                yield source.diagnose("GC302", ("benchmark", number), message, help, at_key=True)
                if alike:
                    break


def _example(key: str, benchmark: Benchmark) -> str:
    """A value that a required key can have on a benchmark."""
    kind = loader_kind(benchmark.loader)
    classified = benchmark.loading is not None and benchmark.loading.classifies
    if key == "method" and kind.prompts and not classified:
        return 'method = "refusal_keywords"'
    if key == "method" and kind.sentences:
        return 'method = "pair_likelihood"'
    fields = benchmark.loading.fields
    if key == "method" and fields is not None and fields.references and not fields.options:
        return 'method = "match"'
    return EXAMPLES[key]
