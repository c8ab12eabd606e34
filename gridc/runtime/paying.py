"""What engines that pay for requests are given: where to write them down, what they may spend, and the
price."""

from collections.abc import Mapping
from functools import partial

from gridc.compiler.grid.configurations import has_judged
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.prices import TokenPrice, prices_of
from gridc.compiler.inputs.reach import reach_of
from gridc.compiler.lock.lock import Lock
from gridc.compiler.preflight.consent import Consents
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.budget import Meter
from gridc.runtime.engines.api.records import Paying, Terms
from gridc.runtime.engines.protocol import Engine
from gridc.runtime.stages import Open, Say
from gridc.runtime.store.write import Writer
from gridc.schema.engines import engine_kind
from gridc.schema.spec import Spec


def connecting(
    open_engine: Open,
    lock: Lock,
    store: Writer,
    meter: Meter,
    spec: Spec,
    consents: Consents,
    say: Say,
    repeat_lost: bool = False,
) -> Open:
    """Opens engines as `open_engine` does, and connects those that pay for requests. `consents` says to what
    the person consented, `say` is told by which model something is waited for; `repeat_lost`: calls of a
    batch that may have been paid and cannot be found are asked again.

    Raises `UnavailableError` (GC637) where money is limited and a model has no price.
    """
    prices = prices_of(spec, lock.prices)
    require_prices(spec, prices)

    def open_connected(name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
        engine = open_engine(name, identity, precision, spec)
        if isinstance(engine, Paying):
            reach = reach_of(identity)
            consent = None if reach is None else consents.get(reach.pair)
            terms = Terms(consent, repeat_lost, partial(say, name))
            engine.connect(store, meter, prices.get(name), terms)
        return engine

    return open_connected


def require_prices(spec: Spec, prices: Mapping[str, TokenPrice]) -> None:
    """Raise `UnavailableError` (GC637) where money is limited and a model that is asked has no price."""
    unpriced = [
        model.id
        for model in (spec.asked_models if has_judged(spec) else spec.model)
        if engine_kind(model.engine).provider and model.id not in prices
    ]
    if spec.budget.usd is not None and unpriced:
        message = f"[budget] usd = {spec.budget.usd:g}, and no price is known of {', '.join(unpriced)}"
        help_line = 'price = { input = 0, output = 0, as_of = "2026-01-31" } for a server that costs nothing'
        raise UnavailableError([Diagnostic("GC637", message, help=help_line)])
