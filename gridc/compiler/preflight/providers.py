"""Parameters that a provider does not take: found before anything is stamped or paid for.

litellm knows for each model which parameters its provider takes, and says so without a call. One that would
be dropped makes another study than the one that was stamped, so it is an error: leave it out of the study, or
name it in the model's `omits`, which is stamped.
"""

import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from gridc.compiler.frontend.source import Source
from gridc.compiler.grid import cells
from gridc.compiler.grid import configurations as grid
from gridc.compiler.inputs.addresses import base_of, is_local
from gridc.diagnostics.errors import Diagnostic, KeyPath, SpecError
from gridc.schema.judging import MOST_TOKENS
from gridc.schema.models import Model, Server, engine_kind, switched
from gridc.schema.spec import Spec

UNKNOWN = "litellm is not installed (`pip install 'gridc[api]'`): what its provider would drop is not known"

Placed = tuple[KeyPath, Model]
"""A model with its place in the spec."""

BATCHED = ("openai", "anthropic")
"""Providers, as litellm calls them, whose batches gridc knows how to ask for."""

APART: Mapping[str, tuple[str, str]] = {"anthropic": ("temperature", "top_p")}
"""Pairs that a provider takes only one of, which litellm does not know."""


FENCES = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
"""What litellm is told before it is imported: to read no `.env` file, and to fetch no table of its own."""


def require_taken(spec: Spec, source: Source) -> dict[str, str]:
    """Raise `SpecError` with every parameter that a provider would drop, every ranking that it cannot make,
    every batch that it does not take, every key that would be sent unencrypted, and every address at which
    nothing is asked. Returns what could not be
    checked here, by model, with the reason."""
    provided = [model for model in grid.asked_models(spec) if engine_kind(model[1].engine).provider]
    diagnostics = [*_bases(provided, source), *_open_keys(provided, source), *_batches(spec, source)]
    diagnostics += [*_rankings(spec, provided, source), *_switches(spec, provided, source)]
    through = [(path, model) for path, model in provided if model.base_url is None]
    unchecked: dict[str, str] = {}
    if through and find_spec("litellm") is None:
        unchecked = {model.id: UNKNOWN for _, model in through}
    elif through:
        diagnostics += _dropped(spec, through, source)
    if diagnostics:
        raise SpecError(diagnostics)
    return unchecked


def _dropped(spec: Spec, through: Iterable[Placed], source: Source) -> Iterator[Diagnostic]:
    parameters = _asked(spec)
    for path, model in through:
        here = (*path, "source")
        seen: set[str] = set()
        for stated in parameters.get(model.id, ()):
            try:
                refused = list(_refused(model, stated))
            except LookupError:
                message = f"litellm knows no provider of `{model.source}`"
                yield source.diagnose("GC351", here, message, "PROVIDER/MODEL, as litellm lists them")
                break
            for name in refused:
                if name not in seen:
                    seen.add(name)
                    value = stated[name]
                    shown = f"{name} = {value if isinstance(value, str) else f'{value:g}'}"
                    shown = "a seed" if name == "seed" else shown
                    message = (
                        f"the provider of `{model.source}` does not take {shown}, and would be sent the rest"
                    )
                    help = f'omits = ["{name}"] in this model, or ask without it'
                    if name == "reasoning_effort":
                        help = "leave `thinking` out where this model is asked"
                    yield source.diagnose("GC351", here, message, help)


def _asked(spec: Spec) -> dict[str, list[dict[str, Any]]]:
    """The different sets of parameters that the calls of each model have, those that judge among them."""
    by_model: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
    assessors = {name: one for judge in spec.declared_judges for name, one in judge.assessors.items()}
    for name, judge in assessors.items():
        by_model[name] = {(): {"max_tokens": judge.max_tokens or MOST_TOKENS, "temperature": 0.0}}
    for cell in cells.cells_of(spec):
        setting = cell.setting
        if setting.ranks:
            continue
        stated: dict[str, Any] = {
            "max_tokens": setting.held("max_tokens"),
            "temperature": setting.temperature,
        }
        if setting.temperature > 0:
            stated |= {"seed": 1} | ({"top_p": setting.top_p} if setting.top_p < 1 else {})
        stated |= switched(setting.thinking, None) or {}
        by_model.setdefault(cell.model, {})[tuple(stated.items())] = stated
    return {name: list(sets.values()) for name, sets in by_model.items()}


def _refused(model: Model, call: Mapping[str, Any]) -> Iterator[str]:
    """The parameters that would not arrive. Raises `LookupError` for a name of no provider."""
    litellm = quiet_litellm()
    try:
        name, provider, _, _ = litellm.get_llm_provider(model.source)
    except Exception:  # litellm's own, which is also raised for a name with no provider at all
        raise LookupError(model.source) from None
    stated = {key: value for key, value in call.items() if key not in (model.omits or ())}

    def translated(parameters: Mapping[str, Any]) -> Any:
        try:
            return litellm.utils.get_optional_params(
                model=name, custom_llm_provider=provider, drop_params=False, **parameters
            )
        except Exception:  # UnsupportedParamsError, or what a provider's own translation raises
            return None

    for key, value in stated.items():
        alone = translated({key: value})
        if alone is None or alone == translated({}):
            yield key
    if all(key in stated for key in APART.get(provider, ("",))):
        yield APART[provider][1]


def quiet_litellm() -> Any:
    """litellm, which reads no `.env` file, asks the network for nothing of its own, and does not print.

    Otherwise it looks for a `.env` from its own folder upwards, so that with `.venv` in a clone the clone's
    would count. This is the only place that imports it.
    """
    os.environ.update(FENCES)
    import litellm

    for logger in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    # pydantic warns of a type of litellm's own, on the terminal of whoever runs a study.
    warnings.filterwarnings("ignore", r"Item '\w+' on TypedDict class", UserWarning)
    litellm.suppress_debug_info = True
    litellm.drop_params = False
    return litellm


def _rankings(spec: Spec, provided: Iterable[Placed], source: Source) -> Iterator[Diagnostic]:
    places = {model.id: (path, model) for path, model in provided}
    for cell in cells.cells_of(spec):
        if cell.model not in places or not cell.setting.ranks:
            continue
        path, model = places[cell.model]
        as_text = model.weights is None
        if as_text and (model.base_url is None or cell.setting.chat_template):
            del places[cell.model]
            message = f"`{model.id}` cannot rank given candidates (first in {cell.key})"
            help = (
                "exclude these cells; a server at base_url may score plain text, with chat_template = false, "
                "or tokens, with `weights`"
            )
            yield source.diagnose("GC636", (*path, "source"), message, help)


def _switches(spec: Spec, provided: Iterable[Placed], source: Source) -> Iterator[Diagnostic]:
    """Every model that nothing could tell whether to think, as its cells ask."""
    places = {model.id: (path, model) for path, model in provided}
    for cell in cells.cells_of(spec):
        if cell.model not in places:
            continue
        path, model = places[cell.model]
        thinking = cell.setting.effective().thinking
        if switched(thinking, _server(model)) is not None:
            continue
        del places[cell.model]
        message = f"nothing tells `{model.id}` thinking = {str(thinking).lower()} (first in {cell.key})"
        help = 'thinking = "low", "medium" or "high"'
        if model.base_url is not None:
            help += ', or server = "vllm", "sglang" or "llama.cpp" where one of them answers'
        yield source.diagnose("GC351", (*path, "source"), message, help)


def _server(model: Model) -> Server | None:
    return None if model.base_url is None else model.server or "openai"


def _batches(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Every model whose calls are to go in batches, and cannot."""
    ranked = {cell.model for cell in cells.cells_of(spec) if cell.setting.ranks}
    for path, model in grid.asked_models(spec):
        why = _unbatched(model, model.id in ranked) if model.batch else None
        if why is not None:
            message = f"the calls of `{model.id}` cannot go in batches: {why}"
            help = "leave `batch` out: its calls then go one by one"
            yield source.diagnose("GC353", (*path, "batch"), message, help, at_key=True)


def _unbatched(model: Model, ranks: bool) -> str | None:
    """Why a model has no batches; None where it has, or nobody here knows."""
    if ranks:
        return "it ranks given candidates"
    if model.base_url is not None:
        own = model.server not in (None, "openai")
        return f"`{model.server}` serves none" if own else None
    if find_spec("litellm") is None:
        return None
    try:
        _, provider, _, _ = quiet_litellm().get_llm_provider(model.source)
    except Exception:  # a name with no provider at all, which is an error of its own
        return None
    return None if provider in BATCHED else f"gridc knows no batches of `{provider}`"


def _bases(provided: Iterable[Placed], source: Source) -> Iterator[Diagnostic]:
    for path, model in provided:
        if model.base_url is not None and (base := base_of(model.base_url)) != model.base_url:
            message = f"`base_url` of `{model.id}` is not the address below which requests are made"
            help = f'write `base_url = "{base}"` here: `/chat/completions` and the like are added to it'
            yield source.diagnose("GC104", (*path, "base_url"), message, help)


def _open_keys(provided: Iterable[Placed], source: Source) -> Iterator[Diagnostic]:
    for path, model in provided:
        if model.base_url is None or model.key_env is None:
            continue
        address = urlsplit(model.base_url)
        if address.scheme == "http" and not is_local(model.base_url):
            message = f"the key of `{model.id}` would be sent unencrypted"
            help = "use an https:// address, or no key"
            yield source.diagnose("GC352", (*path, "base_url"), message, help)
