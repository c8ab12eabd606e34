"""Parameters that a provider does not take: found before anything is stamped or paid for.

litellm knows for each model which parameters its provider takes, and says so without a call. One that would
be dropped makes another study than the one that was stamped, so it is an error: leave it out of the study, or
name it in the model's `omits`, which is stamped.
"""

import json
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
from gridc.schema.effects import EFFORTS, Effort
from gridc.schema.judging import MOST_TOKENS
from gridc.schema.models import Model, Server, engine_kind, switched
from gridc.schema.spec import Spec

UNKNOWN = "litellm is not installed (`pip install 'gridc[api]'`): what its provider would drop is not known"

Placed = tuple[KeyPath, Model]
"""A model with its place in the spec."""

BATCHED = ("openai", "anthropic")
"""Providers, as litellm calls them, whose batches gridc knows how to ask for."""

APART: Mapping[str, tuple[str, str]] = {"anthropic": ("temperature", "top_p")}
"""Parameters of which a provider accepts only one, by provider. litellm does not know this."""


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
        asked = parameters.get(model.id, ())
        try:
            refused = {name: stated for stated in reversed(asked) for name in _refused(model, stated)}
        except LookupError:
            message = f"litellm knows no provider of `{model.source}`"
            yield source.diagnose("GC351", here, message, "PROVIDER/MODEL, as litellm lists them")
            continue
        for name, stated in refused.items():
            value = stated[name]
            shown = f"{name} = {value if isinstance(value, str) else f'{value:g}'}"
            shown = "a seed" if name == "seed" else shown
            message = f"the provider of `{model.source}` does not take {shown}, and would be sent the rest"
            yield source.diagnose(
                "GC351", here, message, f'omits = ["{name}"] in this model, or ask without it'
            )
        for message, help in _thoughts(model, asked):
            yield source.diagnose("GC351", here, message, help)


THINKING = "thinking"
"""What the spec says of thinking, among the parameters of a call; litellm's own `thinking` is another."""


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
        thinking = setting.effective().thinking
        stated |= {} if thinking is None else {THINKING: thinking}
        by_model.setdefault(cell.model, {})[tuple(stated.items())] = stated
    return {name: list(sets.values()) for name, sets in by_model.items()}


def _refused(model: Model, call: Mapping[str, Any]) -> Iterator[str]:
    """The parameters that would not arrive, but for what is said of thinking. Raises `LookupError` for a name
    of no provider."""
    translate = _Translation(model)
    stated = {key: value for key, value in call.items() if key not in (*(model.omits or ()), THINKING)}
    for key, value in stated.items():
        if translate({key: value}) in (None, translate({})):
            yield key
    if all(key in stated for key in APART.get(translate.provider, ("",))):
        yield APART[translate.provider][1]


class _Translation:
    """What litellm makes of parameters for the provider of a model; None where it refuses them. Raises
    `LookupError` for a name of no provider."""

    def __init__(self, model: Model) -> None:
        self._litellm = quiet_litellm()
        try:
            self._name, self.provider, _, _ = self._litellm.get_llm_provider(model.source)
        except Exception:  # litellm's own, which is also raised for a name with no provider at all
            raise LookupError(model.source) from None

    def __call__(self, parameters: Mapping[str, Any]) -> Any:
        try:
            return self._litellm.utils.get_optional_params(
                model=self._name, custom_llm_provider=self.provider, drop_params=False, **parameters
            )
        except Exception:  # UnsupportedParamsError, or what a provider's own translation raises
            return None


LEAST_BUDGET: Mapping[str, int] = {"anthropic": 1024}
"""The smallest budget of thought that a provider takes, which litellm does not know (Anthropic's "Extended
thinking", November 2026)."""
ONLY_SAMPLED = ("anthropic",)
"""Providers whose models think only at their own temperature, 1, as the same page says."""


def _thoughts(model: Model, asked: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """What is wrong with what is said of thinking, and the way out: what does not arrive as it is said, and
    two levels that arrive as the same. Raises `LookupError` for a name of no provider."""
    by_value: dict[str, Mapping[str, Any]] = {}
    for stated in asked:
        if THINKING in stated:
            by_value.setdefault(json.dumps(stated[THINKING]), stated)
    if not by_value:
        return
    translate = _Translation(model)
    sent: dict[str, Any] = {}
    for shown, stated in by_value.items():
        thinking, room = stated[THINKING], {"max_tokens": stated["max_tokens"]}
        said = switched(thinking, None, model.source)
        if said is None:
            continue  # `_switches` says so
        told = translate({**room, **said})
        arrives = told not in (None, translate(room))
        off = thinking is False or thinking == "none"
        if said == {"reasoning_effort": "none"}:  # Mistral's translation takes any effort for "on"
            arrives = arrives and told != translate({**room, "reasoning_effort": "high"})
        elif not off and not isinstance(thinking, str):
            arrives = arrives and thinking in _numbers(told)
        if not arrives:
            message = f"the provider of `{model.source}` does not take thinking = {shown}"
            yield message, _taken(translate) or "leave `thinking` out where this model is asked"
            continue
        unlike = None if off else _unlike(translate.provider, stated, model)
        twin = next((other for other, found in sent.items() if found == told), None)
        if unlike is not None:
            yield f"`{model.source}` cannot be asked with thinking = {shown} {unlike[0]}", unlike[1]
        elif twin is not None:
            message = f"`{model.source}` would be asked the same with thinking = {twin} and {shown}"
            yield message, "remove one of the levels, or exclude it for this model"
        else:
            sent[shown] = told


def _unlike(provider: str, stated: Mapping[str, Any], model: Model) -> tuple[str, str] | None:
    """What a provider does not take beside a thought, and the way out."""
    budget, least = stated[THINKING], LEAST_BUDGET.get(provider, 0)
    if isinstance(budget, int) and not isinstance(budget, bool) and budget < least:
        return f"(its smallest budget is {least:,} tokens)", f"thinking = {least} or more, or false"
    temperature = stated["temperature"]
    if provider in ONLY_SAMPLED and temperature != 1 and "temperature" not in (model.omits or ()):
        return (
            f"at temperature = {temperature:g} (it thinks only at 1)",
            'temperature = 1 where it thinks, or omits = ["temperature"] in this model',
        )
    return None


USUAL: tuple[Effort, ...] = ("low", "medium", "high")
"""The efforts that are named first: most models take them."""


def _taken(translate: _Translation) -> str | None:
    """How a provider can be told how much to think."""
    efforts: dict[str, Any] = {
        name: translate({"reasoning_effort": name})
        for name in sorted(EFFORTS, key=lambda effort: effort not in USUAL)
    }
    different = list[str]()
    for name, told in efforts.items():
        if told not in (None, translate({}), *(efforts[other] for other in different)):
            different.append(name)
    return f"thinking = {' or '.join(map(json.dumps, different))}" if len(different) > 1 else None


def _numbers(told: Any) -> Iterator[int]:
    """Every whole number in what is sent."""
    if isinstance(told, Mapping):
        told = list(told.values())
    if isinstance(told, list):
        for each in told:
            yield from _numbers(each)
    elif isinstance(told, int):
        yield told


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
        if switched(thinking, _server(model), model.source) is not None:
            continue
        del places[cell.model]
        message = f"nothing tells `{model.id}` thinking = {json.dumps(thinking)} (first in {cell.key})"
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
